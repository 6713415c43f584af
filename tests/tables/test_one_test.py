from __future__ import annotations

from pathlib import Path

import pytest

from tests.tables import one_test

pytest_plugins = ["pytester"]

TABLE = """
import pytest
from tests.tables import one_test

tried = []

@pytest.fixture(scope="module")
def ten():
    return 10

class TestNumbers:
    @one_test
    @pytest.mark.filterwarnings("ignore")
    @pytest.mark.parametrize("more", [0, 5], ids=["alone", "with five"])
    @pytest.mark.parametrize(("name", "number"), [("three", 3), pytest.param("four", 4, id="4!"), ("six", 6)])
    def test_it_is_small(self, name, ten, number, more):
        tried.append((name, number, more, ten))
        assert number + more < 9, name

def test_all_were_tried():
    assert sorted(tried) == sorted(
        (name, number, more, 10)
        for name, number in (("three", 3), ("four", 4), ("six", 6)) for more in (0, 5)
    )
"""


def test_each_case_is_tried_and_each_that_fails_is_reported(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(TABLE)
    ran = pytester.runpytest_inprocess("-p", "no:cacheprovider", "-p", "no:xdist")
    out = ran.stdout.str()
    ran.assert_outcomes(passed=1, failed=3)  # of them one is the test itself
    for label, name in (("4!-with five", "four"), ("six-6-with five", "six")):
        assert f"SUBFAILED[{label}]" in out
        assert f"AssertionError: {name}" in out
    assert out.count("SUBFAILED") == 2


def test_a_test_without_a_table_is_refused() -> None:
    def test_alone() -> None: ...

    with pytest.raises(TypeError, match="test_alone has no table: one_test stands above"):
        one_test(test_alone)


def test_fixtures_that_begin_anew_for_each_test_are_refused() -> None:
    @pytest.mark.parametrize("case", [1, 2])
    def test_files(case: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None: ...

    with pytest.raises(TypeError, match=r"test_files would share .* anew: \['monkeypatch', 'tmp_path'\]"):
        one_test(test_files)


def test_marks_of_a_case_are_refused() -> None:
    @pytest.mark.parametrize("case", [1, pytest.param(2, marks=pytest.mark.long)])
    def test_long(case: int) -> None: ...

    with pytest.raises(TypeError, match="a case of one_test has marks"):
        one_test(test_long)


class Closed:
    """A value whose text cannot be asked for, as those that attacks make."""

    def __repr__(self) -> str:
        raise RuntimeError("asked for its text")


def test_no_code_of_a_value_runs_for_its_label() -> None:
    @one_test
    @pytest.mark.parametrize(("case", "more"), [(Closed(), 1), ([Closed()], "two"), (len, None)])
    def test_closed(case: object, more: object) -> None: ...

    assert test_closed.labels == ["case0-1", "case1-two", "len-None"]  # type: ignore[attr-defined]  # one_test sets it
