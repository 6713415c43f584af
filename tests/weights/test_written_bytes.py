"""A conversion writes what is in proportion to the bytes that it reads, however often keys name them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from packager._migrations import Migration, merge, migrate
from packager._weights import open_checkpoint, write_checkpoint, writing
from packager._weights.legacy_tensors import LegacyStorage, LegacyTensor
from packager.errors import CheckpointError


def storage(nbytes: int) -> LegacyStorage:
    """A storage that cannot be read: what is refused is refused before."""
    return LegacyStorage("0", "uint8", nbytes, lambda start, stop: pytest.fail("it was read"))


def over(one: LegacyStorage, count: int) -> dict[str, LegacyTensor]:
    """Keys that each name the whole storage."""
    shape = (one.nbytes,)
    return {f"k{number}": LegacyTensor(one, "uint8", shape, (1,), 0) for number in range(count)}


def said(path: Path, state: Any) -> str:
    with pytest.raises(CheckpointError) as caught:
        write_checkpoint(path, state, fsync=False)
    assert not path.exists()
    return str(caught.value)


def test_three_hundred_keys_of_one_storage_are_refused_before_the_file_is_begun(tmp_path: Path) -> None:
    assert said(tmp_path / "a.safetensors", over(storage(100 << 20), 300)) == (
        "a.safetensors: 300 tensors over 104857600 distinct bytes would be written as 31457280000 bytes; "
        "the limit is 7784628224: 64 for each, and 1073741824. Nothing was written; write a .kellet, which "
        "stores shared bytes once, or take fewer keys"
    )


def test_a_kellet_of_views_that_repeat_elements_is_refused_too(tmp_path: Path) -> None:
    views = {f"k{number}": LegacyTensor(storage(1), "uint8", (1 << 26,), (0,), 0) for number in range(17)}
    assert "17 tensors over 17 distinct bytes would be written as 1140850688 bytes" in said(
        tmp_path / "a.kellet", views
    )


@pytest.mark.parametrize("suffix", ["safetensors", "kellet"])
def test_as_much_as_the_limit_is_written(
    tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With 1,000 bytes that are free: 64 keys of a thousand bytes and one more are within, 66 are not."""
    monkeypatch.setattr(writing, "FREE_WRITTEN", 1000)
    path = tmp_path / f"new.{suffix}"
    np.save(tmp_path / "a.npy", np.zeros(1000, "u1"))
    tensor = open_checkpoint(tmp_path / "a.npy")["a"]
    keys = {f"k{number}": tensor for number in range(65)}
    write_checkpoint(path, keys, fsync=False)
    path.unlink()
    keys["one"] = tensor
    if suffix == "kellet":  # what keys share is there once; rows that are one row are not
        keys = {"k": LegacyTensor(tensor.storage, "uint8", (66, 1000), (0, 1), 0)}
    assert "written as 66000 bytes; the limit is 65000" in said(path, keys)


def test_what_migrations_make_counts_as_the_file_that_it_is_made_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "FREE_WRITTEN", 0)
    np.save(tmp_path / "a.npy", np.zeros(1000, "u1"))
    tensor = open_checkpoint(tmp_path / "a.npy")["a"]
    keys = {f"k{number}": tensor for number in range(65)}
    state = migrate(Migration("net", [merge("k{n:int}", "k", over="n")]), keys)
    assert "1 tensor over 1000 distinct bytes would be written as 65000" in said(tmp_path / "a.kellet", state)


def test_arrays_in_memory_are_their_own_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "FREE_WRITTEN", 0)
    one = np.zeros(100, "u1")
    write_checkpoint(tmp_path / "a.safetensors", {f"k{number}": one for number in range(100)}, fsync=False)
    assert len(open_checkpoint(tmp_path / "a.safetensors")) == 100
