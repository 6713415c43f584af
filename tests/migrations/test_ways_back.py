"""What does not come back is told: values that a step rounds, of every dtype, from memory and from files."""

import sys
import tracemalloc
import warnings
from types import ModuleType

import ml_dtypes
import numpy as np
import pytest

from packager._migrations import (
    Cast,
    Migration,
    NamedFunction,
    Reshape,
    Scale,
    Transpose,
    cannot_go_back,
    drop,
    lost_values,
    merge,
    migrate,
    rename,
    split,
)
from packager._weights import open_checkpoint, write_checkpoint


def of(values, dtype):
    return np.array(values, np.dtype(getattr(ml_dtypes, dtype, dtype)))


def migration(*transforms):
    return Migration("m", [rename("w", "v", *transforms)])


LOST = {
    "the smallest float16": (Scale(0.5), of([6e-8, 1], "float16"), "1 of 2", "6e-08 as 0.0"),
    "a subnormal that is odd": (Scale(0.25), of([2**-149 * 5, 1], "float32"), "1 of 2", "7e-45 as 6e-45"),
    "too large for float32": (Scale(2.0), of([3e38, 1], "float32"), "1 of 2", "3e+38 as inf"),
    "and below zero": (Scale(-2.0), of([1, -3e38], "float32"), "1 of 2", "-3e+38 as -inf"),
    "too large for float16": (Scale(2.0**15), of([1, 2, 3], "float16"), "2 of 3", "2.0 as inf"),
    "too large for bfloat16": (Scale(4.0), of([1, 3e38], "bfloat16"), "1 of 2", "3.00406e+38 as inf"),
    "too small for bfloat16": (Scale(2.0**-10), of([1e-40, 1], "bfloat16"), "1 of 2", "9.18355e-41 as 0"),
    "too small for float64": (Scale(0.5), of([5e-324, 1], "float64"), "1 of 2", "5e-324 as 0.0"),
    "a part of a complex number": (Scale(2.0), of([1, 1 + 3e38j], "complex64"), "1 of 2", "(1+3e+38j) as "),
    "a whole number in a float": (
        Cast("float64", "int64"),
        of([2**53, 2**53 + 1], "int64"),
        "1 of 2",
        "9007199254740993 as 9007199254740992",
    ),
    "after another change": (Scale(2.0**100), of([1, 1e20], "float32"), "1 of 2", "1e+20 as inf"),
}
KEPT = {
    "all that float16 has": (Scale(1.0), np.arange(1 << 16).astype("u2").view("f2")),
    "signs of zeros, infinity and NaN": (Scale(-0.5), of([0.0, -0.0, np.inf, np.nan], "float32")),
    "a subnormal that is even": (Scale(0.5), of([2**-23, 1], "float16")),
    "half precision in single": (Cast("float32", "float16"), np.arange(1 << 16).astype("u2").view("f2")),
    "bfloat16 in single": (Cast("float32", "bfloat16"), of([1e-40, 3e38], "bfloat16")),
    "whole numbers that fit": (Cast("float64", "int64"), of([-(2**53), 2**53], "int64")),
    "real numbers in complex ones": (Cast("complex64", "float32"), of([1, -2.5], "float32")),
    "no values": (Scale(0.5), np.zeros((0, 3), "f4")),
    "a scalar": (Scale(0.5), of(3, "float32")),
}


def sources(tmp_path, array):
    """The array in memory, and in files that are read piece by piece."""
    yield {"w": array}
    for ending in ("safetensors", "kellet"):
        write_checkpoint(tmp_path / f"w.{ending}", {"w": array})
        yield open_checkpoint(tmp_path / f"w.{ending}")


@pytest.mark.parametrize(("transform", "array", "count", "example"), LOST.values(), ids=LOST)
def test_values_that_do_not_come_back_are_told(tmp_path, transform, array, count, example):
    for state in sources(tmp_path, array):
        for tell in (cannot_go_back, lost_values):
            (told,) = tell(migration(transform), state)
            assert told.startswith(f"rename w -> v: {count} values of 'w' would not come back: {example}")


@pytest.mark.parametrize(("transform", "array"), KEPT.values(), ids=KEPT)
def test_values_that_come_back_are_none_to_tell_of(tmp_path, transform, array):
    for state in sources(tmp_path, array):
        assert cannot_go_back(migration(transform), state) == ()
        assert lost_values(migration(transform), state) == ()
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
        back = dict(migrate(migration(transform).inverse(), migrate(migration(transform), {"w": array})))
    assert np.array_equal(back["w"].astype("f8"), array.astype("f8"), equal_nan=True)


@pytest.mark.parametrize("by", [0.0, -0.0, np.inf, -np.inf, np.nan, 3.0, 5e-324])
def test_a_scale_that_nothing_undoes_has_no_inverse(by):
    assert Scale(by).inverse() is None
    assert cannot_go_back(migration(Scale(by)), {"w": np.ones(2)}) == ("rename w -> v: it has no inverse",)


def test_each_step_of_a_chain_tells_of_its_own_values():
    steps = [
        rename("w", "a", Transpose(), Scale(0.5), Reshape((4,), (2, 2))),
        split("a", ["b", "c"]),
        rename("b", "d", Scale(2.0), Scale(2.0)),
        merge(["d", "c"], "e"),
    ]
    chained = Migration("chained", steps)
    with np.errstate(all="ignore"):
        assert lost_values(chained, {"w": of([[6e-8, 1], [3e4, 1]], "float16")}) == cannot_go_back(
            chained, {"w": of([[6e-8, 1], [3e4, 1]], "float16")}
        )
    assert cannot_go_back(chained, {"w": of([[6e-8, 1], [4e4, 1]], "float16")}) == (
        "rename w -> a: 1 of 4 values of 'w' would not come back: 6e-08 as 0.0",
        f"rename b -> d: 1 of 2 values of 'b' would not come back: {np.float16(4e4)!s} as inf",
    )
    assert cannot_go_back(chained, {"w": of([[1, 2], [3, 4]], "float16")}) == ()


def test_only_what_changes_its_values_is_read_and_no_function_called():
    class Unread(dict):
        def header(self, key):
            return migration_header(dict.__getitem__(self, key))

        def __getitem__(self, key):
            assert key == "scaled"
            return super().__getitem__(key)

    from packager._migrations.transforms import header_of as migration_header

    def refuse(value):
        raise AssertionError("called")

    sys.modules["calls_refused"] = module = ModuleType("calls_refused")
    module.refuse = refuse
    steps = [
        rename("moved", "m", Transpose()),
        rename("scaled", "s", Scale(0.5)),
        rename("made", "n", NamedFunction("calls_refused:refuse")),
        rename("n", "o", Scale(0.5)),
        drop("gone"),
    ]
    state = Unread({key: np.ones((2, 2)) for key in ("moved", "scaled", "made", "gone")})
    assert cannot_go_back(Migration("m", steps), state) == (
        "rename made -> n: it has no inverse",
        "drop gone: it has no inverse",
    )


def test_what_a_function_made_and_a_later_step_loses_is_told_where_it_is_written():
    sys.modules["doubles"] = module = ModuleType("doubles")
    module.twice = lambda value: value * 2
    steps = [rename("w", "x", NamedFunction("doubles:twice")), rename("x", "y", Scale(0.5))]
    assert lost_values(Migration("m", steps), {"w": of([3e-8 * 2, 1], "float16")}) == ()
    steps = [rename("w", "x", NamedFunction("doubles:twice")), rename("x", "y", Scale(0.25))]
    assert lost_values(Migration("m", steps), {"w": of([6e-8, 1], "float16")}) == (
        "rename x -> y: 1 of 2 values of 'x' would not come back: 1e-07 as 0.0",
    )


UNDONE = {
    "a cast that rounds": (
        [rename("w", "w", Cast("float32", "float16"))],
        of([0.1, 0.5], "float32"),
        "1 of 2 values of 'w' would not come back: 0.1 as 0.099975586",
    ),
    "fractions in whole numbers": (
        [rename("w", "w", Cast("float64", "int64"))],
        of([0.5, 2.0], "float64"),
        "1 of 2 values of 'w' would not come back: 0.5 as 0.0",
    ),
    "a scale that is too much": (
        [rename("w", "w", Scale(0.5), Transpose())],
        of([3e38, 1], "float32"),
        "1 of 2 values of 'w' would not come back: 3e+38 as inf",
    ),
    "a part that is not real": (
        [rename("w", "w", Cast("complex64", "float32"))],
        of([1, 2 + 3j], "complex64"),
        "1 of 2 values of 'w' would not come back: (2+3j) as (2+0j)",
    ),
    "a step that had not run": (
        [rename("w", "w", Scale(0.5), if_all="flag")],
        of([3, 1], "float32"),
        "2 of 2 values of 'w' would not come back: 3.0 as 6.0",
    ),
}


@pytest.mark.parametrize(("steps", "array", "told"), UNDONE.values(), ids=UNDONE)
def test_an_undo_that_changes_values_for_good_is_told(tmp_path, steps, array, told):
    known = Migration("m", steps)
    for state in sources(tmp_path, array):
        assert lost_values(known.inverse(), state, undone=[known]) == (told,)


def test_an_undo_of_what_was_migrated_loses_nothing(tmp_path):
    cast = rename("z", "t", Cast("float64", "float32"))
    known = Migration("m", [rename("w", "x", Scale(0.5)), split("x", ["y", "z"]), cast])
    for state in sources(tmp_path, of([[1, 2], [3, 4]], "float32")):
        write_checkpoint(tmp_path / "new.kellet", migrate(known, state))
        new = open_checkpoint(tmp_path / "new.kellet")
        assert lost_values(known.inverse(), new, undone=[known]) == ()


def test_a_large_tensor_is_compared_in_little_memory(tmp_path):
    write_checkpoint(tmp_path / "w.safetensors", {"w": np.ones((8192, 4096), np.float32)})
    state = open_checkpoint(tmp_path / "w.safetensors")
    tracemalloc.start()
    try:
        assert cannot_go_back(migration(Scale(0.5), Transpose()), state) == ()
        assert tracemalloc.get_traced_memory()[1] < 64 << 20  # the tensor has 128 MiB
    finally:
        tracemalloc.stop()
