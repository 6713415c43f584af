"""A Swin transformer of timm in the layout before: the migration does what timm's own conversion does."""

import json
from pathlib import Path

import numpy as np
import pytest

from packager._drafting import suggest_migration
from packager._migrations import migrate, plan_migration, read_migration

FOLDER = Path(__file__).resolve().parents[2] / "fixtures" / "timm_swin"
KEYS = json.loads((FOLDER / "keys.json").read_text())
SWIN = read_migration(FOLDER / "swin.toml")


@pytest.fixture
def old():
    """The state dict in the older layout; every value has a number of its own."""
    return {key: np.full(shape, at, np.float32) for at, (key, shape) in enumerate(KEYS["old"].items())}


def test_the_result_is_that_of_timms_own_conversion(old):
    migrated = migrate(SWIN, old)
    assert {key: list(old)[int(migrated[key].flat[0])] for key in migrated} == KEYS["converted"]
    assert {key: list(migrated[key].shape) for key in migrated} == {
        new: KEYS["old"][source] for new, source in KEYS["converted"].items()
    }
    assert all(migrated[new] is old[source] for new, source in KEYS["converted"].items())


def test_a_state_dict_of_today_stays_as_it_is(old):
    today = {new: old[source] for new, source in KEYS["converted"].items()}
    assert sorted(today) == sorted(KEYS["today"])
    migrated = migrate(SWIN, today)
    assert all(migrated[key] is value for key, value in today.items())
    reasons = {row.skipped for row in plan_migration(SWIN, today).rows}
    assert "'layers.0.downsample.reduction.weight' is not there" in reasons


def test_a_draft_finds_the_same_by_itself(old):
    today = {new: old[source] for new, source in KEYS["converted"].items()}
    draft = suggest_migration(old, today)
    assert draft.is_complete
    migrated = migrate(draft.migration, old)
    assert {key: list(old)[int(migrated[key].flat[0])] for key in migrated} == KEYS["converted"]
