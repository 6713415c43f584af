"""Time zones are stored by their names, and by nothing that leads elsewhere."""

from __future__ import annotations

import io
from datetime import datetime
from zoneinfo import TZPATH, ZoneInfo

import pytest

from packager._objects import encode
from packager.testing import round_trip
from tests.contracts.built_in import by_name
from tests.tables import one_test


def test_moments_of_a_zone_come_back_from_data_alone() -> None:
    moment = datetime(2024, 7, 1, 12, tzinfo=ZoneInfo("Europe/Berlin"))
    loaded = round_trip([moment, moment.tzinfo]).object
    assert loaded[0] == moment
    assert loaded[0].tzinfo is loaded[1] is moment.tzinfo


@one_test
@pytest.mark.parametrize("key", ["../../etc/passwd", "/etc/localtime", "a.b", "", "a//b", 1, None])
def test_what_is_no_name_of_a_zone_is_refused(key: object) -> None:
    with pytest.raises(ValueError, match="the key of a time zone"):
        by_name("zoneinfo").check(key, (), 1)  # type: ignore[arg-type]  # as a file may say


def test_a_zone_that_is_not_here_says_what_to_install() -> None:
    with pytest.raises(ValueError, match=r"no time zone 'Atlantis/Old' here; install tzdata"):
        by_name("zoneinfo").decode("Atlantis/Old", (), 1, None)  # type: ignore[arg-type]  # asks for nothing


def test_a_zone_from_a_file_of_its_own_is_refused() -> None:
    with open(f"{TZPATH[0]}/Europe/Berlin", "rb") as file:
        zone = ZoneInfo.from_file(io.BytesIO(file.read()))
    refusals = encode(zone).refusals
    assert [refusal.reason for refusal in refusals] == ["a time zone without a usual key"]
