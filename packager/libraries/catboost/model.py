"""A model of CatBoost in its own binary form, checked before the library reads it.

The form is a table of FlatBuffers, whose offsets the library verifies, and then believes what it says:
numbers of splits, sizes of trees, places of leaves. So those are read here, each with bounds, and must fit
together. Tables for categories, texts and embeddings, which follow the table in forms of their own, are
read by the library alone: `has_parts` says that there are some.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, Final

from packager.codecs import expect, parsed_json

_MAGIC: Final = b"CBM1"
_MOST_FEATURES: Final = 1 << 24
_MOST_OUTPUTS: Final = 1 << 16
_DEEPEST: Final = 16
_NO_LEAF: Final = (1 << 32) - 1
_FORMAT: Final = "FlabuffersModel_v1"
# The layout of a model's trees: the number of each field.
_APPROX, _SPLITS, _SIZES, _STARTS, _CATS, _FLOATS, _ONE_HOTS, _CTRS, _LEAVES, _WEIGHTS = range(10)
_STEPS, _LEAF_OF_NODE, _TEXTS, _ESTIMATED, _SCALE, _BIAS, _BIASES, _REPACKED, _EMBEDDINGS = range(10, 19)


def has_parts(data: memoryview) -> bool:
    """Return whether something follows the table of a model. Raises ValueError for bytes that are none."""
    return len(_core_of(data)) + 8 != len(data)


def check_model(data: memoryview) -> None:
    """Raise ValueError unless bytes are a model of CatBoost whose numbers fit together."""
    core = _Table(_Buffer(_core_of(data)))
    expect(core.text(0) == _FORMAT, f"the format {_FORMAT}")
    trees = core.table(1)
    expect(trees is not None, "trees")
    expect(bool(core.texts(3)) == has_parts(data), "names of the parts that follow")
    assert trees is not None
    outputs = trees.int32(_APPROX, 0)
    expect(1 <= outputs <= _MOST_OUTPUTS, f"1 to {_MOST_OUTPUTS} outputs", outputs)
    bins = _features(trees, parts=has_parts(data))
    _scale(trees, outputs)
    _trees(trees, outputs, bins)
    for entry in core.tables(2):
        _information(entry, outputs)


def _core_of(data: memoryview) -> memoryview:
    expect(len(data) >= 8 and bytes(data[:4]) == _MAGIC, "a binary model of CatBoost")
    (size,) = struct.unpack("<I", data[4:8])
    expect(8 <= size <= len(data) - 8, f"a table of {size} bytes", len(data) - 8)
    return data[8 : 8 + size]


# --- features ---


def _features(trees: _Table, *, parts: bool) -> int:
    """Check the features. Returns how many splits they have together."""
    import numpy

    bins = 0
    places: list[tuple[int, int]] = []
    for feature in trees.tables(_FLOATS):
        places.append((feature.int32(1, -1), feature.int32(2, -1)))
        borders = feature.array(3, "<f4")
        rising = numpy.isfinite(borders).all() and (borders[1:] > borders[:-1]).all()
        expect(bool(rising), "borders of a feature that grow")
        expect(0 <= feature.int8(5, 0) <= 2, "a known treatment of missing values")
        feature.text(4)
        bins += len(borders)
    _rising(places, "float features")
    known = []
    for feature in trees.tables(_CATS):
        known.append((feature.int32(0, -1), feature.int32(1, -1)))
        feature.text(2)
    _rising(known, "features of categories")
    flat = [place for _, place in (*places, *known)]
    expect(len(set(flat)) == len(flat), "each place of a row once")
    chosen = []
    for feature in trees.tables(_ONE_HOTS):
        chosen.append(feature.int32(0, -1))
        values = feature.array(1, "<i4")
        feature.texts(2)
        bins += len(values)
    expect(set(chosen) <= {index for index, _ in known}, "categories of known features")
    expect(len(set(chosen)) == len(chosen), "each feature of categories once")
    others = [trees.tables(number) for number in (_CTRS, _TEXTS, _ESTIMATED, _EMBEDDINGS)]
    expect(parts or not any(map(len, others)), "no features whose tables are not there")
    for feature in (*others[0], *others[2]):
        bins += len(feature.array(1 if feature in others[0] else 3, "<f4"))
    return bins


def _rising(places: Sequence[tuple[int, int]], what: str) -> None:
    for column in zip(*places, strict=True) if places else ():
        inside = all(0 <= place < _MOST_FEATURES for place in column)
        rises = all(one < other for one, other in pairwise(column))
        expect(inside and rises, f"places of {what} that grow")


def _scale(trees: _Table, outputs: int) -> None:
    scale, bias = trees.float64(_SCALE, 1.0), trees.float64(_BIAS, 0.0)
    biases = trees.array(_BIASES, "<f8")
    expect(math.isfinite(scale) and math.isfinite(bias) and all(map(math.isfinite, biases)), "a finite bias")
    expect(len(biases) in (0, outputs), f"{outputs} biases", len(biases))
    expect(outputs == 1 or len(biases) > 0 or bias == 0, f"{outputs} biases, not one")


# --- trees ---


def _trees(trees: _Table, outputs: int, bins: int) -> None:
    import numpy

    splits, sizes = trees.array(_SPLITS, "<i4"), trees.array(_SIZES, "<i4").astype(numpy.int64)
    starts, leaves = trees.array(_STARTS, "<i4"), trees.array(_LEAVES, "<f8")
    weights, steps = trees.array(_WEIGHTS, "<f8"), trees.array(_STEPS, "<u2", width=2)
    nodes = trees.array(_LEAF_OF_NODE, "<u4")
    trees.array(_REPACKED, "<u4")
    inside = not len(splits) or (splits.min() >= 0 and splits.max() < max(bins, 1))
    expect(bool(inside), f"splits from 0 to {bins - 1}")
    expect(not len(sizes) or int(sizes.min()) >= 0, "sizes of trees from 0")
    expect(int(sizes.sum()) == len(splits), f"trees of {len(splits)} splits together", int(sizes.sum()))
    ends = numpy.add.accumulate(sizes)
    expect(len(starts) == len(sizes) and bool((starts == ends - sizes).all()), "trees one behind another")
    if not len(steps) and not len(nodes):
        expect(bins > 0 or not len(splits), "splits that are there")
        expect(not len(sizes) or int(sizes.max()) <= _DEEPEST, f"trees of at most {_DEEPEST} levels")
        count = int((1 << sizes).sum())
    else:
        expect(len(steps) == len(nodes) == len(splits), f"{len(splits)} nodes")
        count = sum(
            _nodes(
                steps[start : start + size].astype(numpy.int64), nodes[start : start + size], outputs, before
            )
            for start, size, before in _with_leaves(starts, sizes, steps)
        )
    expect(len(leaves) == count * outputs, f"{count} leaves of {outputs} values", len(leaves))
    expect(len(weights) in (0, count), f"{count} weights of leaves", len(weights))


def _with_leaves(starts: Any, sizes: Any, steps: Any) -> Sequence[tuple[int, int, int]]:
    """Return for each tree where its nodes begin, how many there are, and how many leaves stand before."""
    found, before = [], 0
    for start, size in zip(starts.tolist(), sizes.tolist(), strict=True):
        found.append((start, size, before))
        before += int((steps[start : start + size] == 0).any(axis=1).sum())
    return found


def _nodes(steps: Any, nodes: Any, outputs: int, before: int) -> int:
    """Check the nodes of a tree whose sides differ. Returns how many leaves it has."""
    import numpy

    size = len(steps)
    expect(size > 0, "a node in each tree")
    places = numpy.arange(size)
    expect(bool((places[:, None] + steps < size).all()), "steps to nodes of the same tree")
    ends = (steps == 0).any(axis=1)
    found = nodes[ends].astype(numpy.int64)
    wanted = (before + numpy.arange(len(found))) * outputs
    expect(sorted(found.tolist()) == wanted.tolist(), "leaves of a tree one behind another")
    return len(found)


# --- what a model says of itself ---


def _information(entry: _Table, outputs: int) -> None:
    key, value = entry.text(0), entry.text(1)
    expect(key is not None and value is not None, "a name and a text")
    if value is None or value[:1] not in ("{", "["):
        return
    found = parsed_json(value)
    if key == "class_params":
        _classes(found, outputs)
    expect(key != "multiclass_params", "classes as CatBoost writes them since 2020")


def _classes(found: Any, outputs: int) -> None:
    """The library writes an answer for each class where its label says."""
    expect(type(found) is dict, "classes as an object")
    labels, names, count = (found.get(name) for name in ("class_to_label", "class_names", "classes_count"))
    lists = type(labels) is list and type(names) is list and type(count) is int
    expect(lists, "labels, names and a number of classes")
    assert isinstance(labels, list)
    assert isinstance(names, list)
    assert isinstance(count, int)
    classes = max(outputs, 2)
    expect(len(labels) == classes, f"{classes} labels of classes", len(labels))
    expect(all(type(one) in (int, float, str, bool) for one in names), "names and numbers of classes")
    expect(len(names) == 0 or count in (0, len(names)), f"{count} names of classes", len(names))
    stop = count or len(names) or classes
    whole = all(type(one) in (int, float) and one == one // 1 and 0 <= one < stop for one in labels)
    expect(whole and len(set(labels)) == len(labels), f"labels from 0 to {stop - 1}, each once")


# --- FlatBuffers, read with bounds ---


class _Buffer:
    """Bytes, and numbers in them. Every method raises ValueError outside."""

    def __init__(self, data: memoryview) -> None:
        self.data = data

    def number(self, layout: str, at: int) -> Any:
        size = struct.calcsize(layout)
        expect(0 <= at <= len(self.data) - size, f"a number at byte {at}")
        return struct.unpack(layout, self.data[at : at + size])[0]

    def offset(self, at: int) -> int:
        return at + int(self.number("<I", at))


class _Table:
    """A table: its fields by their numbers, and what they are where they are left out."""

    def __init__(self, buffer: _Buffer, at: int | None = None) -> None:
        self._buffer = buffer
        self._at = buffer.offset(0) if at is None else at
        self._layout = self._at - buffer.number("<i", self._at)
        self._fields = (buffer.number("<H", self._layout) - 4) // 2
        expect(self._fields >= 0, "a table with a layout")

    def _place(self, number: int) -> int | None:
        if number >= self._fields:
            return None
        found = self._buffer.number("<H", self._layout + 4 + 2 * number)
        return self._at + found if found else None

    def _scalar(self, number: int, layout: str, default: Any) -> Any:
        place = self._place(number)
        return default if place is None else self._buffer.number(layout, place)

    def int8(self, number: int, default: int) -> int:
        return int(self._scalar(number, "<b", default))

    def int32(self, number: int, default: int) -> int:
        return int(self._scalar(number, "<i", default))

    def float64(self, number: int, default: float) -> float:
        return float(self._scalar(number, "<d", default))

    def _vector(self, number: int, size: int) -> tuple[int, int]:
        """Return where the elements of a vector begin, and how many there are."""
        place = self._place(number)
        if place is None:
            return 0, 0
        start = self._buffer.offset(place)
        count = int(self._buffer.number("<I", start))
        expect(start + 4 + count * size <= len(self._buffer.data), f"{count} elements at byte {start}")
        return start + 4, count

    def array(self, number: int, dtype: str, width: int = 1) -> Any:
        import numpy

        size = numpy.dtype(dtype).itemsize * width
        start, count = self._vector(number, size)
        found = numpy.frombuffer(self._buffer.data[start : start + count * size], dtype)
        return found if width == 1 else found.reshape(count, width)

    def text(self, number: int) -> str | None:
        if self._place(number) is None:
            return None
        start, count = self._vector(number, 1)
        return str(self._buffer.data[start : start + count], "utf-8")

    def _each(self, number: int, make: Callable[[int], Any]) -> list[Any]:
        start, count = self._vector(number, 4)
        return [make(self._buffer.offset(start + 4 * at)) for at in range(count)]

    def table(self, number: int) -> _Table | None:
        place = self._place(number)
        return None if place is None else _Table(self._buffer, self._buffer.offset(place))

    def tables(self, number: int) -> list[_Table]:
        return self._each(number, lambda at: _Table(self._buffer, at))

    def texts(self, number: int) -> list[int]:
        return self._each(number, lambda at: int(self._buffer.number("<I", at)))
