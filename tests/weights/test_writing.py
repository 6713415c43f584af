"""Checkpoints are written whole or not at all, with their ties, and with what else a format can hold."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from packager import PackageImporter
from packager._archive import ArchiveIOError, ArchiveReader, verify
from packager._weights import CheckpointMetadata, open_checkpoint, write_checkpoint, writing
from packager.errors import ArchiveError, ArgumentError, CheckpointError, LegacyFormatError

GOLDEN = Path(__file__).resolve().parents[2] / "fixtures" / "legacy" / "zip.pt"
STATE = {"w": np.arange(6, dtype="f4").reshape(2, 3), "steps": np.array(3), "none": np.zeros((0, 4), "f2")}


def test_a_kellet_is_sound_and_loads(tmp_path):
    metadata = CheckpointMetadata({"": {"version": 1}, "bn": {"version": 2}}, {"origin": "here"}, ("first",))
    written = write_checkpoint(
        tmp_path / "a.kellet", {**STATE, "note": "a text"}, metadata=metadata, fsync=False
    )
    with ArchiveReader(tmp_path / "a.kellet") as reader:
        assert verify(reader).problems == ()
        assert reader.identity == written.identity
        (record,) = reader.manifest.state_dicts
        assert (record.package, record.resource, record.migrations) == ("model", "weights", ("first",))
        assert record.versions == (("", 1), ("bn", 2))
    with PackageImporter(tmp_path / "a.kellet") as importer:
        state = importer.load_state_dict("model", "weights")
        assert list(state) == ["w", "steps", "none", "note"]
        assert state["w"].tolist() == STATE["w"].tolist()
        assert state["note"] == "a text"
        assert state.versions == {"": 1, "bn": 2}


def test_the_same_content_gives_the_same_bytes(tmp_path):
    first, second = (
        write_checkpoint(tmp_path / name, open_checkpoint(GOLDEN), fsync=False).path.read_bytes()
        for name in ("a.kellet", "b.kellet")
    )
    assert first == second


def test_ties_and_views_are_stored_once(tmp_path):
    written = write_checkpoint(tmp_path / "a.kellet", open_checkpoint(GOLDEN), fsync=False)
    assert set(written.tied[0]) == {"tied", "again", "transposed", "row", "step"}
    with PackageImporter(written.path) as importer:
        state = importer.load_state_dict("model", "weights", as_="kellet")
        state["tied"].numpy()[0, 0] = 42.0
        assert state["transposed"].numpy()[0, 0] == 42.0


def test_only_the_bytes_that_are_used_are_stored(tmp_path):
    np.save(tmp_path / "a.npy", np.arange(100_000))
    part = open_checkpoint(tmp_path / "a.npy")["a"][500:510]
    written = write_checkpoint(tmp_path / "a.kellet", {"part": part, "inside": part[2:4]}, fsync=False)
    assert written.size < 2000
    with PackageImporter(written.path) as importer:
        assert importer.load_state_dict("model", "weights")["inside"].tolist() == [502, 503]


def test_safetensors_says_what_it_has_no_place_for(tmp_path):
    metadata = CheckpointMetadata({"": {"version": 1}}, {"origin": "here"})
    written = write_checkpoint(tmp_path / "a.safetensors", {**STATE, "n": 3}, metadata=metadata, fsync=False)
    assert [(part.path, part.what) for part in written.left_out] == [
        ("n", "int"),
        ("", "versions of 1 module"),
    ]
    again = open_checkpoint(written.path)
    assert again.metadata.strings == {"format": "pt", "origin": "here"}
    assert set(again) == set(STATE)


def test_what_cannot_be_written_is_told_together_and_leaves_the_old_file(tmp_path):
    (tmp_path / "a.safetensors").write_bytes(b"old")
    state = {"a": np.zeros(2, "c16"), "b": np.zeros(2, "c16"), "c": np.zeros(2)}
    with pytest.raises(
        CheckpointError, match=r"cannot store 2 tensors[\s\S]*'a': complex128\n    'b': complex128"
    ):
        write_checkpoint(tmp_path / "a.safetensors", state)
    with pytest.raises(CheckpointError, match=r"'t': dtype .* is not one of numbers"):
        write_checkpoint(tmp_path / "a.kellet", {"t": np.array(["text"])})
    with pytest.raises(CheckpointError, match=r"'x': \w"):
        write_checkpoint(tmp_path / "a.kellet", {"x": np.array([None])})
    with pytest.raises(CheckpointError, match=r"a\.zip: which format"):
        write_checkpoint(tmp_path / "a.zip", STATE)
    with pytest.raises(ArgumentError, match=r"^path='a\\x00\.kellet': expected a path, which has no NUL"):
        write_checkpoint("a\0.kellet", STATE)
    with pytest.raises(ArchiveError, match="NUL"):
        write_checkpoint(tmp_path / "a.kellet", {"a\0b": np.zeros(2)})
    with pytest.raises(ArchiveIOError, match="no such folder"):
        write_checkpoint(tmp_path / "missing" / "a.kellet", STATE)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"a.safetensors": b"old"}


@pytest.mark.parametrize("first", [496, 501, 503])
def test_parts_of_a_storage_keep_their_places_to_each_other(tmp_path, first):
    np.save(tmp_path / "a.npy", np.arange(1000))
    whole = open_checkpoint(tmp_path / "a.npy")["a"]
    state = {"part": whole[first : first + 20], "inside": whole[first + 3 : first + 9 : 2]}
    written = write_checkpoint(tmp_path / "a.kellet", state, fsync=False)
    assert written.tied == (("part", "inside"),)
    with PackageImporter(written.path) as importer:
        loaded = importer.load_state_dict("model", "weights")
        assert loaded["part"].tolist() == list(range(first, first + 20))
        assert loaded["inside"].tolist() == [first + 3, first + 5, first + 7]


def test_what_has_no_dtype_is_no_tensor(tmp_path):
    for what in ("shape", "dtype"):
        odd = SimpleNamespace(**{what: (2,)})
        written = write_checkpoint(tmp_path / "a.safetensors", {"w": np.ones(2), "odd": odd}, fsync=False)
        assert [(part.path, part.what) for part in written.left_out] == [("odd", "SimpleNamespace")]
        assert written.keys == ("w",)


def test_versions_are_those_of_the_state_that_was_migrated_or_else_of_its_file():
    metadata = CheckpointMetadata({"": {"version": 1}}, {"origin": "here"}, ("first",))
    for known, expected in (({"": {"version": 2}}, 2), (None, 1)):
        found = writing._after_migration(metadata, SimpleNamespace(_metadata=known, ran=("second",)))
        assert (found.versions, found.strings) == ({"": {"version": expected}}, {"origin": "here"})
        assert found.migrations == ("first", "second")


@pytest.mark.parametrize("more", [-1, 1])
def test_a_value_of_other_bytes_than_its_shape_says_is_refused(more):
    value = SimpleNamespace(nbytes=8, pieces=lambda: iter([memoryview(b"abcd"), memoryview(bytes(4 + more))]))
    with pytest.raises(CheckpointError, match=rf"^'w': its bytes are {more} more than its shape and dtype"):
        list(writing._exact_pieces("w", value))


@pytest.mark.parametrize("ending", ["kellet", "safetensors"])
def test_a_source_that_fails_midway_leaves_nothing(tmp_path, ending):
    np.save(tmp_path / "a.npy", np.zeros(3_000_000))
    checkpoint = open_checkpoint(tmp_path / "a.npy")

    def cut(done: int, total: int) -> None:
        os.truncate(tmp_path / "a.npy", 1000)

    with pytest.raises(LegacyFormatError, match="1000 bytes"):
        write_checkpoint(tmp_path / f"new.{ending}", checkpoint, progress=cut)
    assert [path.name for path in tmp_path.iterdir()] == ["a.npy"]


def test_a_disk_that_is_too_small_is_told_beforehand(tmp_path, monkeypatch):

    monkeypatch.setattr("shutil.disk_usage", lambda path: SimpleNamespace(free=10))
    for ending in ("kellet", "safetensors"):
        with pytest.raises(
            ArchiveIOError, match="and 10 are free on the disk; nothing was written"
        ) as caught:
            write_checkpoint(tmp_path / f"a.{ending}", STATE)
        assert caught.value.errno == 28
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("ending", ["kellet", "safetensors"])
def test_a_mebibyte_of_the_disk_stays_free(tmp_path, monkeypatch, ending):
    def write(free: int) -> None:
        monkeypatch.setattr("shutil.disk_usage", lambda path: SimpleNamespace(free=free))
        write_checkpoint(tmp_path / f"a.{ending}", {"w": np.zeros(12)}, fsync=False)

    with pytest.raises(ArchiveIOError, match=r"it will have \d+ bytes, and 0 are free") as refused:
        write(0)
    size = int(str(refused.value).partition("it will have ")[2].partition(" ")[0])
    with pytest.raises(ArchiveIOError, match=f"it will have {size} bytes, and {size + 1048575} are free"):
        write(size + (1 << 20) - 1)
    write(size + (1 << 20))


def test_values_that_cannot_be_stored_are_told_up_to_ten(tmp_path):
    state = {f"k{n}": lambda: None for n in range(51)}
    with pytest.raises(CheckpointError) as refused:
        write_checkpoint(tmp_path / "a.kellet", state, fsync=False)
    first, *lines = str(refused.value).splitlines()
    assert (first, len(lines)) == ("a.kellet: values that cannot be stored:", 11)
    assert (lines[-1], len(refused.value.problems)) == ("    and 41 more", 51)


@pytest.mark.unix  # where Windows is, a file that somebody has open is left as it is, and the error says so
@pytest.mark.parametrize("ending", ["kellet", "safetensors"])
def test_a_file_can_be_written_over_itself(tmp_path, ending):
    path = tmp_path / f"a.{ending}"
    write_checkpoint(path, STATE, fsync=False)
    before = path.read_bytes()
    write_checkpoint(path, open_checkpoint(path), fsync=False)
    assert path.read_bytes() == before or ending == "kellet"
    assert open_checkpoint(path)["w"].numpy().tolist() == STATE["w"].tolist()


def test_progress_ends_at_the_total(tmp_path):
    for ending in ("kellet", "safetensors"):
        seen: list[tuple[int, int]] = []
        write_checkpoint(
            tmp_path / f"a.{ending}",
            STATE,
            progress=lambda done, total: seen.append((done, total)),
            fsync=False,
        )
        assert seen[-1][0] == seen[-1][1] > 24
