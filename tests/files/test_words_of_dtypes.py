"""The core and packager write one layout from two tables, as the core imports no packager: they agree."""

from __future__ import annotations

from pathlib import Path

import pytest

import kellet
from kellet.files.tensor_file import WORDS
from packager._migrations import load_checkpoint
from packager._tensors.dtypes import DTYPES
from tests.tables import one_test


@one_test
@pytest.mark.parametrize("name", WORDS)
def test_both_call_a_dtype_by_one_word(name: str) -> None:
    assert WORDS[name] == DTYPES[name].word


def test_a_file_of_the_core_is_a_checkpoint(tmp_path: Path) -> None:
    net, other = kellet.nn.Linear(3, 2), kellet.nn.Linear(3, 2)
    kellet.save(net.state_dict(), tmp_path / "net.safetensors")
    load_checkpoint(other, tmp_path / "net.safetensors")
    assert [bool((a == b).all()) for a, b in zip(net.parameters(), other.parameters(), strict=True)] == [
        True
    ] * 2
