"""Values read piece by piece are the values made at once, whatever transforms they go through."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from packager._migrations import (
    Cast,
    Migration,
    NamedFunction,
    Permute,
    Reshape,
    Roll,
    Scale,
    Slice,
    Transpose,
    default,
    merge,
    migrate,
    rename,
    split,
)
from packager._migrations.transforms import Header
from packager._weights import LegacyTensor, as_lazy, open_checkpoint, write_checkpoint


def transforms_of(shape: tuple[int, ...]) -> st.SearchStrategy:
    """Transforms that a value of this shape can go through."""
    axis = st.integers(0, max(len(shape) - 1, 0))
    some = [st.just(Reshape((-1,))), st.just(Cast("float64")), st.just(Scale(0.5))]
    if shape:
        some += [
            st.permutations(range(len(shape))).map(lambda order: Transpose(tuple(order))),
            st.builds(Roll, axis, st.integers(-7, 7)),
            st.builds(Slice, axis, st.integers(0, 2), st.integers(2, 5)),
        ]
        even = [at for at, extent in enumerate(shape) if extent and extent % 2 == 0]
        some += [st.builds(Permute, st.just(at), st.just((2, -1)), st.just((1, 0))) for at in even]
    if len(shape) > 1:
        some.append(st.just(Reshape((shape[0] * shape[1], *shape[2:]))))
    return st.one_of(some)


@given(
    shape=st.lists(st.integers(1, 5), max_size=4).map(tuple),
    data=st.data(),
    size=st.sampled_from([1, 16, 4096]),
)
def test_pieces_of_a_migrated_value_are_its_bytes(shape, data, size, tmp_path_factory):
    array = np.arange(np.prod(shape, dtype=int), dtype="f4").reshape(shape)
    chosen, header = [], shape
    for _ in range(data.draw(st.integers(0, 4))):
        transform = data.draw(transforms_of(header))
        header = transform.header(Header(header, "float32")).shape
        chosen.append(transform)
    migration = Migration("m", [rename("w", "v", *chosen)])
    path = tmp_path_factory.getbasetemp() / "w.npy"
    np.save(path, array)
    for state in ({"w": array}, open_checkpoint(path)):
        migrated = migrate(migration, state)
        expected = np.asarray(migrated["v"])
        lazy = migrated.lazy("v")
        assert (lazy.shape, lazy.dtype) == (expected.shape, str(expected.dtype))
        assert b"".join(lazy.pieces(size)) == expected.tobytes()


STATE = {
    "qkv": np.arange(36, dtype="f4").reshape(12, 3),
    "a.0.w": np.arange(4, dtype="f4"),
    "a.1.w": np.arange(4, dtype="f4") + 10,
    "a.2.w": np.arange(4, dtype="f4") + 20,
    "left": np.arange(6, dtype="f2").reshape(2, 3),
    "right": np.arange(4, dtype="f2").reshape(2, 2),
    "note": "a text",
}
STEPS = [
    split("qkv", ["q", "k", "v"]),
    merge(["a.{n:int}.w"], "stacked", over="n"),
    merge(["left", "right"], "both", axis=1, sizes=[3, 2]),
    rename("q", "qt", Transpose(), Roll(1, 1)),
    default("new", like="k", fill=2),
]


@pytest.mark.parametrize("size", [1, 8, 1 << 20])
def test_splits_merges_and_defaults_are_streamed(size):
    migrated = migrate(Migration("m", STEPS), STATE)
    assert migrated.lazy("note") == "a text"
    for key in migrated:
        if key != "note":
            assert (
                b"".join(as_lazy(migrated.lazy(key)).pieces(size)) == np.asarray(migrated[key]).tobytes()
            ), key


@pytest.mark.parametrize("ending", ["kellet", "safetensors"])
def test_a_migrated_checkpoint_is_written_and_read_again(tmp_path, ending):
    migrated = migrate(Migration("m", STEPS), STATE)
    written = write_checkpoint(tmp_path / f"new.{ending}", migrated, fsync=False)
    again = open_checkpoint(written.path)
    for key, value in migrated.items():
        if key == "note":
            assert again[key] == "a text" if ending == "kellet" else key not in again
            continue
        assert np.asarray(again[key]).tolist() == np.asarray(value).tolist()
    if ending == "kellet":
        assert again.metadata.migrations == ("m",)
    else:
        assert [(part.path, part.why) for part in written.left_out] == [
            ("note", "safetensors holds only tensors")
        ]


def test_renamed_tensors_of_a_file_stay_views_of_it(tmp_path):
    np.save(tmp_path / "w.npy", np.arange(6.0))
    migrated = migrate(
        Migration("m", [rename("w", "v", Transpose(), Slice(0, 1, 3))]), open_checkpoint(tmp_path / "w.npy")
    )
    assert isinstance(migrated.lazy("v"), LegacyTensor)
    assert b"".join(migrated.lazy("v").pieces()) == np.arange(6.0)[1:3].tobytes()


def test_functions_of_the_users_own_are_called_once():
    calls = []

    def double(value):
        calls.append(value.shape)
        return value * 2

    function = NamedFunction("somewhere:double", find=lambda module, name: double)
    migrated = migrate(Migration("m", [rename("w", "v", function)]), {"w": np.arange(8.0)})
    assert b"".join(as_lazy(migrated.lazy("v")).pieces(8)) == (np.arange(8.0) * 2).tobytes()
    assert calls == [(8,)]


@pytest.mark.parametrize("result", [None, (), (1,)])
def test_a_function_of_a_scalar_is_given_a_scalar_wherever_it_lies(tmp_path, result):
    def spread(value):
        assert (type(value), value.shape, value.dtype) == (np.ndarray, (), np.float32)
        return np.multiply(value, np.float32(2), dtype=value.dtype).reshape(
            result or ()
        )  # NumPy 1 widens scalars

    function = NamedFunction("somewhere:spread", result, find=lambda module, name: spread)
    steps = Migration("m", [rename("w", "v", function, Scale(0.5), Scale(2.0))])
    states = [{"w": np.array(3, np.float32)}]
    np.savez(tmp_path / "w.npz", **states[0])
    for ending in ("safetensors", "kellet"):
        write_checkpoint(tmp_path / f"w.{ending}", states[0])
    states += [open_checkpoint(tmp_path / f"w.{ending}") for ending in ("npz", "safetensors", "kellet")]
    for state in states:
        assert np.shape(migrate(steps, {"w": np.asarray(state["w"])})["v"]) == (result or ())
        for ending in ("safetensors", "kellet"):
            write_checkpoint(tmp_path / f"v.{ending}", migrate(steps, state))
            found = open_checkpoint(tmp_path / f"v.{ending}")["v"]
            assert (found.shape, found.dtype, found.numpy().tolist()) == (
                result or (),
                "float32",
                np.full(result or (), 6.0).tolist(),
            )


def test_parts_of_one_dtype_are_joined_wherever_they_lie(tmp_path):
    made = np.arange(4).astype(ml_dtypes.bfloat16)
    write_checkpoint(tmp_path / "w.safetensors", {"a": made})
    state = {"a": open_checkpoint(tmp_path / "w.safetensors")["a"], "b": made, "c": made.astype("f4")}
    steps = [
        default("d", 1, shape=(2,), dtype="bfloat16"),
        rename("c", "e", Cast("bfloat16")),
        merge(["a", "b", "d", "e"], "v", sizes=[4, 4, 2, 4]),
    ]
    write_checkpoint(tmp_path / "v.safetensors", migrate(Migration("m", steps), state))
    found = open_checkpoint(tmp_path / "v.safetensors")["v"]
    assert (found.dtype, found.numpy().tolist()) == ("bfloat16", [*range(4), *range(4), 1, 1, *range(4)])


def test_what_functions_make_is_kept_up_to_a_bound_and_made_again_beyond(monkeypatch):
    monkeypatch.setattr("packager._migrations.migrated_values._MOST_KEPT", 100)
    calls = []

    def twice(value):
        calls.append(len(value))
        return np.repeat(value, 2)

    function = NamedFunction("somewhere:twice", find=lambda module, name: twice)
    state = {f"w{n}": np.full(n, n, np.float64) for n in (5, 3)}
    migrated = migrate(Migration("m", [rename("w{n}", "v{n}", function)]), state)
    lazy = {key: as_lazy(migrated.lazy(key)) for key in migrated}
    assert calls == [5, 3]
    assert {key: value.shape for key, value in lazy.items()} == {"v5": (10,), "v3": (6,)}
    assert {key: b"".join(value.pieces()) for key, value in lazy.items()} == {
        "v5": np.full(10, 5.0).tobytes(), "v3": np.full(6, 3.0).tobytes(),
    }  # fmt: skip
    assert calls == [5, 3, 3]


def test_arrays_of_kellet_are_read_in_pieces():
    import kellet

    value = as_lazy(kellet.tensor(np.arange(6.0).reshape(2, 3)))
    assert b"".join(value.pieces(8)) == np.arange(6.0).tobytes()
