"""Chains of what lazy arrays can do, drawn at random, against NumPy: shape, dtype and every value."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from packager._tensors import raw_dtype
from packager._weights import as_lazy, constant, joined, made_whole, open_checkpoint, write_checkpoint
from packager._weights.lazy_arrays import LazyArray

DTYPES = ["bool", "int8", "int64", "float16", "float32", "bfloat16", "float8_e5m2", "complex64"]
SHAPES: list[tuple[int, ...]] = [(), (0,), (1,), (4,), (2, 3), (3, 0), (2, 1, 3)]
Both = tuple[LazyArray, np.ndarray]


def dtype_of(name: str) -> Any:
    return np.dtype(getattr(ml_dtypes, name, name))


def array(shape: tuple[int, ...], name: str) -> np.ndarray:
    return np.arange(math.prod(shape)).reshape(shape).astype(dtype_of(name))


ARRAYS = {f"{name}.{number}": array(shape, name) for name in DTYPES for number, shape in enumerate(SHAPES)}
Source = Callable[[str], Any]


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Source]:
    """Where each of the arrays lies: in memory, and in a file of every kind that NumPy alone can write."""
    folder: Path = tmp_path_factory.mktemp("sources")
    found: dict[str, Source] = {
        "memory": ARRAYS.__getitem__,
        "memory, turned": lambda key: turned(ARRAYS[key]),
        "memory, backwards": lambda key: np.flip(np.flip(ARRAYS[key]).copy()),
        "memory, of the other byte order": lambda key: other_order(ARRAYS[key]),
    }
    for ending in ("safetensors", "kellet"):
        write_checkpoint(folder / f"a.{ending}", ARRAYS)
        found[ending] = open_checkpoint(folder / f"a.{ending}").__getitem__
    plain = {key: value for key, value in ARRAYS.items() if value.dtype.isbuiltin == 1}
    for name, change in (("npz", np.asarray), ("npz, turned", turned), ("npz, big", other_order)):
        np.savez(folder / f"{name}.npz", **{key: change(value) for key, value in plain.items()})
        of_numpy = open_checkpoint(folder / f"{name}.npz")
        found[name] = lambda key, of_numpy=of_numpy: of_numpy[key] if key in of_numpy else ARRAYS[key]
    return found


def turned(value: np.ndarray) -> np.ndarray:
    return np.asarray(value, order="F")


def other_order(value: np.ndarray) -> np.ndarray:
    return value.astype(value.dtype.newbyteorder(">")) if value.dtype.isbuiltin == 1 else value


def check(lazy: LazyArray, wanted: np.ndarray, draw: Callable[[Any], Any]) -> None:
    name = str(wanted.dtype)
    assert (lazy.shape, lazy.dtype, lazy.nbytes) == (wanted.shape, name, wanted.nbytes)
    whole = tuple((0, extent) for extent in wanted.shape)
    for box in (whole, tuple(tuple(sorted(draw(ends(extent)))) for extent in wanted.shape)):
        part = wanted[tuple(slice(*at) for at in box)]
        read = lazy.read(box)
        assert (type(read), read.shape, read.dtype) == (np.ndarray, part.shape, raw_dtype(name))
        assert read.tobytes() == part.tobytes()
        assert (lazy.typed(box).dtype, lazy.typed(box).tobytes()) == (wanted.dtype, part.tobytes())
    assert b"".join(lazy.pieces(draw(st.sampled_from([None, 1, 8])))) == wanted.tobytes()


def ends(extent: int) -> Any:
    return st.tuples(st.integers(0, extent), st.integers(0, extent))


@given(data=st.data())
def test_every_read_of_a_chain_is_numpys(sources: Mapping[str, Source], data: st.DataObject) -> None:
    draw = data.draw
    lazy, wanted = drawn_source(sources, draw, draw(st.sampled_from(DTYPES)), draw(st.sampled_from(SHAPES)))
    for _ in range(draw(st.integers(0, 5))):
        steps = [joins, stacks, casts, scales, made_at_once]
        steps += [turns, moves, cuts, reshapes] if wanted.ndim else [reshapes]
        step = draw(st.sampled_from(steps))
        lazy, wanted = step(lazy, wanted, sources, draw)
        assert lazy.shape == wanted.shape, step.__name__
    check(lazy, wanted, draw)


def drawn_source(sources: Mapping[str, Source], draw: Any, name: str, shape: tuple[int, ...]) -> Both:
    key = f"{name}.{SHAPES.index(shape)}"
    lazy = as_lazy(sources[draw(st.sampled_from(sorted(sources)))](key))
    assert isinstance(lazy, LazyArray)
    return lazy, ARRAYS[key]


def beside(wanted: np.ndarray, sources: Mapping[str, Source], draw: Any) -> Both:
    """Another array of the same shape and dtype: a constant, or one that is read and reshaped."""
    name = str(wanted.dtype)
    same_size = [shape for shape in SHAPES if math.prod(shape) == wanted.size]
    if name not in DTYPES or not same_size or draw(st.booleans()):
        return constant(wanted.shape, 1.0, name), np.full(wanted.shape, 1, wanted.dtype)
    lazy, other = drawn_source(sources, draw, name, draw(st.sampled_from(same_size)))
    return lazy.reshape(wanted.shape), other.reshape(wanted.shape)


def joins(lazy: LazyArray, wanted: np.ndarray, sources: Mapping[str, Source], draw: Any) -> Both:
    if not wanted.ndim:
        return stacks(lazy, wanted, sources, draw)
    axis = draw(st.integers(-wanted.ndim, wanted.ndim - 1))
    start, stop = sorted(draw(ends(wanted.shape[axis])))
    index = (*(slice(None),) * (axis % wanted.ndim), slice(start, stop))
    other, of_numpy = beside(wanted, sources, draw)
    parts = [(lazy, wanted), (other[index], of_numpy[index]), (lazy[index], wanted[index])]
    parts = draw(st.permutations(parts))[: draw(st.integers(1, 3))]
    return joined([one for one, _ in parts], axis, stack=False), np.concatenate(
        [one for _, one in parts], axis
    )


def stacks(lazy: LazyArray, wanted: np.ndarray, sources: Mapping[str, Source], draw: Any) -> Both:
    axis = draw(st.integers(-wanted.ndim - 1, wanted.ndim))
    parts = draw(st.permutations([(lazy, wanted), beside(wanted, sources, draw)]))
    return joined([one for one, _ in parts], axis, stack=True), np.stack([one for _, one in parts], axis)


def casts(lazy: LazyArray, wanted: np.ndarray, sources: Mapping[str, Source], draw: Any) -> Both:
    of_numbers = ["int64", "float32", "bfloat16", "complex64"]
    name = "complex128" if wanted.dtype.kind == "c" else draw(st.sampled_from(of_numbers))
    return lazy.astype(dtype_of(name)), wanted.astype(dtype_of(name))


def scales(lazy: LazyArray, wanted: np.ndarray, sources: Mapping[str, Source], draw: Any) -> Both:
    factor = draw(st.sampled_from([0.5, -1.0]))
    return lazy * factor, np.asarray((wanted * factor).astype(wanted.dtype))


def made_at_once(lazy: LazyArray, wanted: np.ndarray, sources: Mapping[str, Source], draw: Any) -> Both:
    shape = (*wanted.shape[::-1], 1)

    def mirrored(value: np.ndarray) -> np.ndarray:
        assert value.shape == wanted.shape
        assert value.flags.c_contiguous
        return value.T[..., None]

    return made_whole(lazy, mirrored, shape, str(wanted.dtype)), wanted.T[..., None]


def turns(lazy: LazyArray, wanted: np.ndarray, sources: Mapping[str, Source], draw: Any) -> Both:
    order = draw(st.permutations(range(wanted.ndim)))
    return lazy.transpose(order), wanted.transpose(order)


def moves(lazy: LazyArray, wanted: np.ndarray, sources: Mapping[str, Source], draw: Any) -> Both:
    axis, by = draw(st.integers(0, wanted.ndim - 1)), draw(st.integers(-5, 5))
    return lazy.roll(by, axis), np.roll(wanted, by, axis)


def cuts(lazy: LazyArray, wanted: np.ndarray, sources: Mapping[str, Source], draw: Any) -> Both:
    index: list[Any] = []
    for extent in wanted.shape[: draw(st.integers(0, wanted.ndim))]:
        if extent and draw(st.booleans()):
            index.append(draw(st.integers(-extent, extent - 1)))
        else:
            drawn = draw(st.slices(extent))
            index.append(slice(drawn.start, drawn.stop))
    where = (..., *index) if len(index) == wanted.ndim and draw(st.booleans()) else tuple(index)
    return lazy[where], np.asarray(wanted[where])


def reshapes(lazy: LazyArray, wanted: np.ndarray, sources: Mapping[str, Source], draw: Any) -> Both:
    size = wanted.size
    parts = [n for n in range(1, size + 1) if size % n == 0] or [0, 2]
    first = draw(st.sampled_from(parts))
    shape = draw(st.sampled_from([(size,), (first, size // max(first, 1)), (1, size, 1), wanted.shape]))
    return lazy.reshape(shape), wanted.reshape(shape)


@pytest.mark.parametrize("make", [lambda value: value * np.float32(3), lambda value: np.float32(7)])
def test_a_function_of_a_whole_scalar_gets_and_gives_a_scalar(
    sources: Mapping[str, Source], make: Callable[[Any], Any]
) -> None:
    for source in sources.values():
        lazy = made_whole(as_lazy(source("float32.0")), make, (), "float32")
        assert lazy.read(()).shape == ()
        assert b"".join(lazy.pieces()) == np.float32(make(ARRAYS["float32.0"])).tobytes()
