"""The codec for models of CatBoost: the binary model that the library itself writes, and its parameters.

The form is a table of FlatBuffers, whose offsets the library verifies, and then believes what it says:
numbers of splits, sizes of trees, places of leaves. So those are read here, each with bounds, and must fit
together, before the library reads it. Tables for categories, for texts and for embeddings follow in forms of
their own, which nothing here checks: a model that has some needs the name of its class in `trust=`.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final

from packager._codecs import (
    CannotStore,
    Library,
    Node,
    PartsCodec,
    StoredTensor,
    expect,
    kinds,
    parsed_json,
    payload,
    view_of,
)

_CLASSES: Final = "CatBoost CatBoostClassifier CatBoostRanker CatBoostRegressor".split()
_KEPT: Final = ("_prediction_values_change", "_loss_value_change")
_TIMES: Final = 4
WITH_PARTS: Final = "with parts"
"""The word of the literal of a model that has tables of its own."""

_WORDS: Final = ("untrained", "plain", WITH_PARTS)
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
    core = _Table(_core_of(data))
    expect(core.text(0) == _FORMAT, f"the format {_FORMAT}")
    trees = core.table(1)
    expect(bool(len(core.array(3, "<u4"))) == has_parts(data), "names of the parts that follow")
    outputs = trees.number(_APPROX, "<i", 0)
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
        places.append((feature.number(1, "<i", -1), feature.number(2, "<i", -1)))
        borders = feature.array(3, "<f4")
        rising = numpy.isfinite(borders).all() and (borders[1:] > borders[:-1]).all()
        expect(bool(rising), "borders of a feature that grow")
        expect(0 <= feature.number(5, "<b", 0) <= 2, "a known treatment of missing values")
        bins += len(borders)
    _rising(places, "float features")
    known = [(one.number(0, "<i", -1), one.number(1, "<i", -1)) for one in trees.tables(_CATS)]
    _rising(known, "features of categories")
    flat = [place for _, place in (*places, *known)]
    expect(len(set(flat)) == len(flat), "each place of a row once")
    chosen = []
    for feature in trees.tables(_ONE_HOTS):
        chosen.append(feature.number(0, "<i", -1))
        values = feature.array(1, "<i4")
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
    scale, bias = trees.number(_SCALE, "<d", 1.0), trees.number(_BIAS, "<d", 0.0)
    biases = trees.array(_BIASES, "<f8")
    expect(math.isfinite(scale) and math.isfinite(bias) and all(map(math.isfinite, biases)), "a finite bias")
    expect(len(biases) in (0, outputs), f"{outputs} biases", len(biases))
    expect(outputs == 1 or len(biases) > 0 or bias == 0, f"{outputs} biases, not one")


# --- trees ---


def _trees(trees: _Table, outputs: int, bins: int) -> None:
    import numpy

    splits, sizes = trees.array(_SPLITS, "<i4"), trees.array(_SIZES, "<i4").astype(numpy.int64)
    starts, leaves = trees.array(_STARTS, "<i4"), trees.array(_LEAVES, "<f8")
    weights, steps = trees.array(_WEIGHTS, "<f8"), trees.array(_STEPS, ("<u2", (2,)))
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
        count = 0
        for start, size in zip(starts.tolist(), sizes.tolist(), strict=True):
            tree = slice(start, start + size)
            count += _nodes(steps[tree].astype(numpy.int64), nodes[tree], outputs, count)
    expect(len(leaves) == count * outputs, f"{count} leaves of {outputs} values", len(leaves))
    expect(len(weights) in (0, count), f"{count} weights of leaves", len(weights))


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
    if not (isinstance(labels, list) and isinstance(names, list) and type(count) is int):
        raise ValueError("expected labels, names and a number of classes")
    classes = max(outputs, 2)
    expect(len(labels) == classes, f"{classes} labels of classes", len(labels))
    expect(all(type(one) in (int, float, str, bool) for one in names), "names and numbers of classes")
    expect(len(names) == 0 or count in (0, len(names)), f"{count} names of classes", len(names))
    stop = count or len(names) or classes
    whole = all(type(one) in (int, float) and one == one // 1 and 0 <= one < stop for one in labels)
    expect(whole and len(set(labels)) == len(labels), f"labels from 0 to {stop - 1}, each once")


# --- FlatBuffers, read with bounds ---


def _read(data: memoryview, layout: str, at: int) -> Any:
    size = struct.calcsize(layout)
    expect(0 <= at <= len(data) - size, f"a number at byte {at}")
    return struct.unpack(layout, data[at : at + size])[0]


class _Table:
    """A table that a place points at: its fields by their numbers, and what is said where one is left out."""

    def __init__(self, data: memoryview, place: int = 0) -> None:
        self._data = data
        self._at = place + _read(data, "<I", place)
        self._layout = self._at - _read(data, "<i", self._at)
        self._fields = (_read(data, "<H", self._layout) - 4) // 2
        expect(self._fields >= 0, "a table with a layout")

    def _place(self, field: int) -> int:
        """Return where a field is, 0 for one that is left out."""
        step = _read(self._data, "<H", self._layout + 4 + 2 * field) if field < self._fields else 0
        return self._at + int(step) if step else 0

    def number(self, field: int, layout: str, default: Any) -> Any:
        place = self._place(field)
        return _read(self._data, layout, place) if place else default

    def array(self, field: int, dtype: Any) -> Any:
        import numpy

        place, size = self._place(field), numpy.dtype(dtype).itemsize
        start = place + _read(self._data, "<I", place) if place else 0
        count = int(_read(self._data, "<I", start)) if place else 0
        expect(start + 4 + count * size <= len(self._data), f"{count} elements at byte {start}")
        return numpy.frombuffer(self._data, dtype, count, start + 4) if count else numpy.zeros(0, dtype)

    def text(self, field: int) -> str | None:
        return bytes(self.array(field, "u1")).decode() if self._place(field) else None

    def table(self, field: int) -> _Table:
        place = self._place(field)
        expect(place > 0, "a table")
        return _Table(self._data, place)

    def tables(self, field: int) -> list[_Table]:
        place = self._place(field)
        start = place + _read(self._data, "<I", place) + 4 if place else 0
        return [_Table(self._data, start + 4 * at) for at in range(len(self.array(field, "<u4")))]


# --- the codec ---


class CatBoostCodec(PartsCodec):
    """Models: the class, the binary model where it was trained, parameters, and importances."""

    def unread(self, literal: Any) -> tuple[str, str]:
        kind, word = literal
        if word != WITH_PARTS:
            return "", ""
        reason = "a model of CatBoost with tables for categories or texts, which the library reads unchecked"
        return (
            f"{reason}; train it with one_hot_max_size=255, or with numbers only",
            f"catboost:{kind}",
        )


def _model_of(obj: Any) -> Node:
    """Return the model. Raises CannotStore for one that would not be read again."""
    kept = {name: list(value) for name in _KEPT if (value := getattr(obj, name, None)) is not None}
    beside = {"parameters": dict(obj._init_params), "kept": kept}
    name = type(obj).__name__
    if not obj.is_fitted():
        return Node([name, "untrained"], (beside,))
    data = _settled(obj._serialize_model())
    try:
        check_model(memoryview(data))
    except ValueError as error:
        raise CannotStore(
            f"the model could not be loaded again: {error}",
            "save the model as a file, model.save_model(file), and report this with the version of CatBoost",
        ) from error
    word = WITH_PARTS if has_parts(memoryview(data)) else "plain"
    return Node([name, word], (beside, payload(data)))


def _is_known(literal: Any) -> bool:
    return kinds(str, str)(literal) and literal[0] in _CLASSES and literal[1] in _WORDS


def _model(literal: Any, beside: Any, *stored: StoredTensor) -> Any:
    """Build a model. Raises ValueError for bytes that are no model of CatBoost."""
    expect(type(beside) is dict and beside.keys() == {"parameters", "kept"}, "parameters and importances")
    parameters, kept = beside["parameters"], beside["kept"]
    expect(type(parameters) is dict and all(type(name) is str for name in parameters), "a dict of parameters")
    expect(type(kept) is dict and kept.keys() <= set(_KEPT), f"{' and '.join(_KEPT)} alone")
    state = dict(parameters)
    expect(not any(name.startswith("_test_eval") or name == "__model" for name in parameters), "parameters")
    if stored:
        data = view_of(stored[0])
        check_model(data)
        expect(has_parts(data) == (literal[1] == WITH_PARTS), "a model as its node says")
        state["__model"] = bytes(data)
    import catboost

    cls = getattr(catboost, literal[0])
    made = cls.__new__(cls)
    try:
        made.__setstate__(state)
    except catboost.CatBoostError as error:
        raise ValueError(f"CatBoost does not read it: {error!s:.300}") from None
    vars(made).update(kept)
    return made


def _settled(data: bytes) -> bytes:
    """Return a model as the library writes it again and again: the first time its order is that of a hash."""
    from catboost import CatBoost

    for _ in range(_TIMES):
        copy = CatBoost()
        copy._deserialize_model(data)
        again = bytes(copy._serialize_model())
        if again == data:
            break
        data = again
    return data


CODECS: Final = (
    CatBoostCodec("catboost.model", tuple(f"catboost.core:{name}" for name in _CLASSES), "dict payload*",
                  "a class of CatBoost, whether it was trained, parameters, and a model", _model_of, _model,
                  _is_known, takes_apart=True,
                  also=lambda literal, children: len(children) == (1 if literal[1] == "untrained" else 2)),
)  # fmt: skip

LIBRARY: Final = Library("catboost", "catboost", codecs=CODECS)
