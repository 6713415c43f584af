"""No copy is made that need not be, and nothing is read that is only renamed."""

import sys
from types import ModuleType

import ml_dtypes
import numpy as np
import pytest

from packager import PackageExporter, PackageImporter
from packager._migrations import (
    Migration,
    NamedFunction,
    Permute,
    Reshape,
    Roll,
    Slice,
    Transpose,
    drop,
    merge,
    migrate,
    plan_migration,
    rename,
    split,
)
from packager._weights import open_checkpoint, write_checkpoint

VIEWS = {
    "rename": rename("w", "v"),
    "transpose": rename("w", "v", Transpose()),
    "slice": rename("w", "v", Slice(0, 1, 3)),
    "reshape": rename("w", "v", Reshape((2, 12))),
    "split": split("w", ["v", "u"]),
    "transpose of a slice": rename("w", "v", Slice(1, 2), Transpose((1, 0))),
    "split over a number": split("w", "v.{n}", over="n"),
}
COPIES = {
    "roll": rename("w", "v", Roll(0, 1)),
    "permute": rename("w", "v", Permute(0, (2, 2), (1, 0))),
    "merge": merge(["w", "x"], "v"),
}


def values(step):
    state = {"w": np.arange(24.0).reshape(4, 6), "x": np.zeros((4, 6))}
    migrated = migrate(Migration("one", [step]), state)
    return state["w"], [migrated[key] for key in migrated if key != "x"]


@pytest.mark.parametrize("step", VIEWS.values(), ids=VIEWS)
def test_renames_splits_slices_and_transposes_are_views(step):
    source, made = values(step)
    assert all(np.shares_memory(value, source) for value in made)


@pytest.mark.parametrize("step", COPIES.values(), ids=COPIES)
def test_what_must_be_copied_does_not_change_what_entered(step):
    source, (made,) = values(step)
    before = source.copy()
    assert not np.shares_memory(made, source)
    made[...] = 7
    assert source.tolist() == before.tolist()


class Counted(dict):
    """A state dict that knows the headers of its values, and counts who reads these."""

    def __init__(self, *args):
        super().__init__(*args)
        self.read = []

    def header(self, key):
        from packager._migrations.transforms import header_of

        return header_of(dict.__getitem__(self, key))

    def __getitem__(self, key):
        self.read.append(key)
        return super().__getitem__(key)


def test_only_what_is_asked_for_is_read():
    state = Counted({f"l.{n}.w": np.full(2, n) for n in range(100)} | {"gone": np.zeros(1)})
    steps = [rename("l.{n:int}.w", "l.{n+1}.w"), drop("gone"), merge(["l.1.w", "l.2.w"], "both")]
    migrated = migrate(Migration("m", steps), state)
    assert (len(migrated), "gone" in migrated, migrated.header("both").shape) == (99, False, (4,))
    assert state.read == []
    assert migrated["l.51.w"].tolist() == [50, 50]
    assert state.read == ["l.50.w"]
    assert migrated["both"].tolist() == [0, 0, 1, 1]
    assert state.read == ["l.50.w", "l.0.w", "l.1.w"]


def test_a_state_dict_of_an_archive_is_migrated_without_reading_a_tensor(tmp_path, monkeypatch):
    state = {f"l.{n}.w": np.full((2, 3), n, np.float32) for n in range(5)} | {"note": "text"}
    with PackageExporter(tmp_path / "a.kellet", policy="auto", prove=False) as exporter:
        exporter.save_state_dict("model", "weights", state)
    with PackageImporter(tmp_path / "a.kellet") as importer:
        stored = importer.load_state_dict("model", "weights")
        read = []
        original = type(stored).__getitem__
        monkeypatch.setattr(
            type(stored), "__getitem__", lambda self, key: read.append(key) or original(self, key)
        )
        steps = [
            rename("l.{n:int}.w", "m.{n}.w"),
            rename("note", "remark"),
            rename("m.1.w", "m.1.w", Transpose()),
        ]
        plan = plan_migration(Migration("m", steps), stored)
        assert str(plan.values["m.1.w"].header) == "float32[3, 2]"
        assert plan.values["remark"].header is None
        assert read == []
        migrated = migrate(Migration("m", steps), stored)
        assert read == []
        assert (migrated["m.1.w"].tolist(), migrated["remark"]) == ([[1, 1]] * 3, "text")
        assert read == ["l.1.w", "note"]
        assert np.shares_memory(migrated["m.2.w"], stored["l.2.w"])


def test_a_checkpoint_on_disk_is_planned_from_its_header_alone(tmp_path, monkeypatch):
    from packager._weights.legacy_tensors import LegacyFile

    path = tmp_path / "old.safetensors"
    write_checkpoint(path, {f"l.{n}.w": np.full((64, 64), n, np.float32) for n in range(50)})
    read = []
    original = LegacyFile.read
    monkeypatch.setattr(
        LegacyFile, "read", lambda self, start, stop: read.append(stop - start) or original(self, start, stop)
    )
    migrated = migrate(
        Migration("m", [rename("l.{n:int}.{r}", "m.{n}.{r}", Transpose())]), open_checkpoint(path)
    )
    assert len(migrated) == 50
    assert sum(read) < 20_000  # the header, of 800 kB


def test_a_function_gets_arrays_out_of_a_file_as_it_does_out_of_memory(tmp_path, monkeypatch):
    got = []
    functions = ModuleType("functions")
    functions.middle = lambda value: got.append((type(value), value.dtype.name, value.shape)) or value.mean()
    monkeypatch.setitem(sys.modules, "functions", functions)
    state = {"a": np.ones((2, 3), "float16"), "b": np.ones((), ml_dtypes.bfloat16), "c": np.ones((3, 2)).T}
    migration = Migration("m", [rename("{k}", "new.{k}", NamedFunction("functions:middle"))])
    in_memory = {key: value.dtype for key, value in migrate(migration, state).items()}
    from_memory, got[:] = list(got), []
    write_checkpoint(tmp_path / "old.safetensors", state)
    migrated = migrate(migration, open_checkpoint(tmp_path / "old.safetensors"))
    assert {key: value.dtype for key, value in migrated.items()} == in_memory
    assert sorted(got, key=str) == sorted(from_memory, key=str)
    assert {kind for kind, *_ in got} == {np.ndarray}
