"""A checkpoint whose keys do not fit: the error says what to try next, and that works."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kellet import nn
from kellet.errors import StateDictError
from packager import open_checkpoint
from packager.migrations import load_checkpoint, suggest_migration


@pytest.fixture
def renamed(tmp_path: Path) -> Path:
    np.savez(tmp_path / "last.npz", **{"fc.weight": np.ones((1, 2)), "fc.bias": np.zeros(1)})
    return tmp_path / "last.npz"


def test_missing_keys_come_with_the_next_step(renamed: Path) -> None:
    with pytest.raises(StateDictError, match="Missing key") as caught:
        load_checkpoint(nn.Linear(2, 1), renamed)
    (note,) = caught.value.__notes__
    assert f"suggest_migration(packager.open_checkpoint({str(renamed)!r}), module)" in note
    assert "strict=False" in note


def test_the_next_step_loads_it(renamed: Path) -> None:
    module = nn.Linear(2, 1)
    draft = suggest_migration(open_checkpoint(str(renamed)), module)
    assert not load_checkpoint(module, renamed, draft.migration).missing_keys
    assert load_checkpoint(nn.Linear(2, 1), renamed, strict=False).missing_keys == ["weight", "bias"]
