"""State dicts of any kind on either side: renamed keys are found by what they hold."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from packager import ArchiveError, PackageExporter
from packager._cli import main
from packager._differences import compare_files, compare_states
from tests.migrations import test_twenty_cases as cases

NAMES = [name for name in vars(cases) if name.startswith("test_") and name[5:7].isdecimal()]


def states_of(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> list[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """Return what a case migrates, and what that becomes: each call of `migrate` that it makes."""
    found = []
    migrate = cases.migrate

    def watched(migration: Any, state: Any, *more: Any, **options: Any) -> Any:
        after = migrate(migration, state, *more, **options)
        found.append(
            ({key: np.asarray(state[key]) for key in state}, {key: np.asarray(after[key]) for key in after})
        )
        return after

    monkeypatch.setattr(cases, "migrate", watched)
    getattr(cases, name)()
    return found


def alone(state: Mapping[str, Any], others: Mapping[str, Any]) -> dict[tuple[Any, ...], list[str]]:
    """Return the keys that are not among `others`, by what they hold."""
    found: dict[tuple[Any, ...], list[str]] = {}
    for key, value in state.items():
        if key not in others:
            found.setdefault((str(value.dtype), value.shape, value.tobytes()), []).append(key)
    return found


def test_there_are_twenty_cases() -> None:
    assert len({name[5:7] for name in NAMES}) == 20
    assert not any(inspect.signature(getattr(cases, name)).parameters for name in NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_renames_of_the_twenty_layouts_are_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for before, after in states_of(name, monkeypatch):
        keys, _ = compare_states(before, after)
        renamed = {change.key: change.old_keys for change in keys if change.kind == "renamed"}
        olds, news = alone(before, after), alone(after, before)
        for content, new in news.items():
            if len(new) == len(olds.get(content, ())):
                assert sorted(renamed[key][0] for key in new) == sorted(olds[content]), name
        told = [
            key for change in keys for key in ((change.key,) if change.kind != "renamed" else change.old_keys)
        ]
        gone = {key for key in before if key not in after}
        assert gone <= {*told, *(key for old in renamed.values() for key in old)} | _explained(before, after)
        again, tensors = compare_states(after, dict(after))
        assert (again, tensors) == ([], [])


def _explained(before: Mapping[str, Any], after: Mapping[str, Any]) -> set[str]:
    """Return the old keys of pairs that a draft is sure of, and whose values differ."""
    _, tensors = compare_states(before, after)
    return {change.old_key for change in tensors}


def test_values_that_are_turned_round_joined_or_split_are_found() -> None:
    draw = np.random.default_rng(3).normal
    before = {
        "h.0.attn.c_attn.weight": draw(size=(4, 12)),
        "fc.kernel": draw(size=(2, 3)),
        "fc.b": draw(size=3),
    }
    parts = np.split(before["h.0.attn.c_attn.weight"], 3, axis=1)
    names = [f"h.0.attn.{part}_proj.weight" for part in "qkv"]
    after = {
        **dict(zip(names, parts, strict=True)),
        "fc.weight": before["fc.kernel"].T,
        "fc.bias": before["fc.b"],
    }
    keys, tensors = compare_states(before, after)
    found = {change.key: (change.kind, change.old_keys) for change in keys}
    assert found["fc.weight"] == ("renamed", ("fc.kernel",))
    assert found["fc.bias"] == ("renamed", ("fc.b",))
    assert tensors == []


def test_a_renamed_key_with_other_values_is_one_change() -> None:
    before = {"module.fc.weight": np.ones((2, 3)), "module.fc.bias": np.zeros(2)}
    after = {"fc.weight": np.full((2, 3), 2.0), "fc.bias": np.zeros(2)}
    keys, tensors = compare_states(before, after)
    assert [(one.old_keys, one.key) for one in keys] == [(("module.fc.bias",), "fc.bias")]
    assert [(one.old_key, one.key, one.largest) for one in tensors] == [
        ("module.fc.weight", "fc.weight", 1.0)
    ]
    assert str(tensors[0]).startswith("module.fc.weight -> fc.weight  float64 [2, 3]; norm ")


def test_zeros_of_several_layers_are_told_apart_by_their_ends() -> None:
    before = {"a.ln.bias": np.zeros(4), "a.fc.bias": np.zeros(4), "a.fc.weight": np.ones((4, 4))}
    after = {"b.fc.weight": np.ones((4, 4)), "b.fc.bias": np.zeros(4), "b.ln.bias": np.zeros(4)}
    keys, _ = compare_states(before, after)
    assert {one.key: one.old_keys[0] for one in keys} == {
        "b.fc.weight": "a.fc.weight",
        "b.fc.bias": "a.fc.bias",
        "b.ln.bias": "a.ln.bias",
    }


def test_of_keys_that_end_alike_the_most_alike_are_one() -> None:
    zero = np.zeros(4)
    before = dict.fromkeys(["w", "a.x.w", "a.y.w", "deep.a.y.w", "left.q"], zero)
    after = dict.fromkeys(["b.a.y.w", "c.x.w", "z", "new.y.w", "v.w"], zero)
    keys, _ = compare_states(before, after)
    assert {one.key: one.old_keys[0] for one in keys} == {
        "b.a.y.w": "a.y.w",
        "new.y.w": "deep.a.y.w",
        "c.x.w": "a.x.w",
        "v.w": "w",
        "z": "left.q",
    }


@pytest.mark.parametrize("rest", ["", ".a" * 3000])
def test_many_keys_with_one_content_are_each_looked_at_a_few_times(rest: str) -> None:
    class Key(str):
        looks = 0

        def split(self, *cut: Any) -> list[str]:  # type: ignore[override]  # counts
            Key.looks += 1
            return super().split(*cut)

        def rsplit(self, *cut: Any) -> list[str]:  # type: ignore[override]  # counts
            Key.looks += 1
            return super().rsplit(*cut)

    value, count = np.zeros(4), 900
    before, after = ({Key(f"{side}{rest}.{at}.w"): value for at in range(count)} for side in ("old", "new"))
    keys, _ = compare_states(before, after)
    assert {one.key: one.old_keys for one in keys} == {
        new: (old,) for old, new in zip(before, after, strict=True)
    }
    assert Key.looks <= 20 * count


def test_plain_values_are_compared_and_anything_else_is_told() -> None:
    class Odd:
        def __eq__(self, other: object) -> bool:
            raise AssertionError("compared")

        __hash__ = None  # type: ignore[assignment]  # none is needed

    odd = Odd()
    before = {"epoch": 3, "name": "a", "nest": [1, {"x": 2.0}], "odd": odd, "kind": 1}
    after = {"epoch": 4, "name": "a", "nest": [1, {"x": 2.0}], "odd": odd, "kind": np.ones(1)}
    keys, tensors = compare_states(before, after)
    assert keys == []
    assert [(one.key, one.note) for one in tensors] == [
        ("epoch", "another value"),
        ("odd", "another value"),
        ("kind", "another kind of value"),
    ]


# --- files of every kind on either side ---


def write(folder: Path, kind: str, state: Mapping[str, Any]) -> Path:
    path = folder / f"{kind.replace('.', '_')}.{kind.rpartition('.')[2]}"
    if kind == "npz":
        np.savez(path, **state)
    elif kind == "safetensors":
        from safetensors.numpy import save_file

        save_file(dict(state), path)
    elif kind == "npy":
        path = folder / "arrays"
        path.mkdir()
        for key, value in state.items():
            np.save(path / f"{key}.npy", value)
    elif kind == "state.kellet":
        with PackageExporter(path, prove=False) as exporter:
            exporter.save_state_dict("net", "weights", state)
    return path


@pytest.mark.parametrize("before", ["npz", "safetensors", "npy", "state.kellet"])
@pytest.mark.parametrize("after", ["npz", "state.kellet"])
def test_files_of_every_kind_are_compared_with_each_other(tmp_path: Path, before: str, after: str) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    state = {"w": np.arange(6.0, dtype="f4"), "b": np.ones(2)}
    one = write(tmp_path / "a", before, state)
    same = compare_files(one, write(tmp_path / "b", after, state))
    assert not same, str(same)
    found = compare_files(one, write(tmp_path, "npz", {"w": state["w"] + 1, "bias": state["b"]}))
    assert [(change.key, change.largest) for change in found.tensors] == [("w", 1.0)]
    assert [change.old_keys for change in found.keys] == [("b",)]


def test_files_of_torch_are_compared_in_both_their_formats() -> None:
    legacy = Path(__file__).resolve().parents[2] / "fixtures" / "legacy"
    found = compare_files(legacy / "zip.pt", legacy / "stream.pt")
    assert not found, str(found)


def test_the_state_dict_is_named_where_an_archive_holds_several(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "two.kellet"
    with PackageExporter(path, prove=False) as exporter:
        exporter.save_state_dict("net", "a", {"w": np.ones(2)})
        exporter.save_state_dict("net", "b", {"w": np.zeros(2)})
    np.savez(tmp_path / "w.npz", w=np.zeros(2))
    with pytest.raises(ArchiveError, match=r"which state dict\? The archive holds net/a, net/b; name one"):
        compare_files(path, tmp_path / "w.npz")
    assert main(["diff", str(path), str(path), "--unwrap", "net/a"]) == 0
    assert " ".join(capsys.readouterr().out.split()).endswith(" are equal")
