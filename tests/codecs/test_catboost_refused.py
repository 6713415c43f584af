"""Models of CatBoost in which one number is another: each is refused before the library reads it."""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Callable
from typing import Any

import pytest

from packager._libraries.catboost import check_model, has_parts
from tests.tables import one_test


class Table:
    """Fields of a FlatBuffer by their numbers: scalars as (layout, value), all else as bytes or tables."""

    def __init__(self, **fields: Any) -> None:
        self.fields = {int(name[1:]): value for name, value in fields.items()}


def numbers(layout: str, *values: Any) -> bytes:
    count = len(values)
    return struct.pack("<I", count) + struct.pack(f"<{count}{layout}", *values)


def steps(*values: int) -> bytes:
    """Steps to the left and to the right, for each node."""
    return struct.pack("<I", len(values) // 2) + struct.pack(f"<{len(values)}H", *values)


def text(value: str) -> bytes:
    return numbers("B", *value.encode()) + b"\0"


def written(root: Table) -> bytes:
    """The bytes of a table: each one is followed by what it refers to."""
    out = bytearray(4)

    def table(one: Table) -> int:
        count = max(one.fields, default=-1) + 1
        layout = len(out)
        out.extend(struct.pack("<HH", 4 + 2 * count, 4 + 8 * count) + bytes(2 * count))
        at = len(out)
        out.extend(struct.pack("<i", at - layout) + bytes(8 * count))
        for number, value in one.fields.items():
            place = at + 4 + 8 * number
            struct.pack_into("<H", out, layout + 4 + 2 * number, place - at)
            if isinstance(value, tuple):
                struct.pack_into(*value[:1], out, place, value[1])
            else:
                found = below(value)
                struct.pack_into("<I", out, place, found - place)
        return at

    def below(value: Any) -> int:
        if isinstance(value, Table):
            return table(value)
        if isinstance(value, list):
            start = len(out)
            out.extend(numbers("I", *[0] * len(value)))
            for at, one in enumerate(value):
                place = start + 4 + 4 * at
                struct.pack_into("<I", out, place, below(one) - place)
            return start
        start = len(out)
        out.extend(value)
        return start

    struct.pack_into("<I", out, 0, table(root))
    return bytes(out)


def floats(index: int = 0, flat: int = 0, *borders: float, missing: int = 0) -> Table:
    return Table(_1=("<i", index), _2=("<i", flat), _3=numbers("f", *borders), _5=("<b", missing))


CLASSES = {"class_label_type": "Integer", "class_names": [4, 9], "class_to_label": [0, 1], "classes_count": 0}


def model(
    *,
    behind: bytes = b"",
    parts: Any = (),
    classes: Any = CLASSES,
    format: str = "FlabuffersModel_v1",
    **trees: Any,
) -> bytes:
    """A model of two trees of one level over two features, one of numbers and one of categories."""
    fields: dict[str, Any] = {
        "_0": ("<i", 1),
        "_1": numbers("i", 0, 2),
        "_2": numbers("i", 1, 1),
        "_3": numbers("i", 0, 1),
        "_4": [Table(_0=("<i", 0), _1=("<i", 1))],
        "_5": [floats(0, 0, 0.5, 1.5)],
        "_6": [Table(_0=("<i", 0), _1=numbers("i", 77))],
        "_8": numbers("d", 1, 2, 3, 4),
        "_9": numbers("d", 1, 1, 1, 1),
        **trees,
    }
    information = [Table(_0=text("class_params"), _1=text(json.dumps(classes)))]
    named = {"_3": [text(part) for part in parts]} if parts else {}
    kept = {name: value for name, value in fields.items() if value is not None}
    core = written(Table(_0=text(format), _1=Table(**kept), _2=information, **named))
    return b"CBM1" + struct.pack("<I", len(core)) + core + behind


UNEVEN = {
    "_1": numbers("i", 0, 0, 0, 0),
    "_2": numbers("i", 3, 1),
    "_3": numbers("i", 0, 3),
    "_10": steps(1, 2, 0, 0, 0, 0, 0, 0),
    "_11": numbers("I", (1 << 32) - 1, 0, 1, 2),
    "_8": numbers("d", 1, 2, 3),
    "_9": None,
}
"""Trees whose sides differ: one of three nodes and one of a leaf."""


def of_classes(**other: Any) -> Callable[[], bytes]:
    return lambda: model(classes={**CLASSES, **other})


REFUSED: dict[str, tuple[Callable[[], bytes], str]] = {
    "no bytes": (lambda: b"", "a binary model of CatBoost"),
    "another mark": (lambda: b"CBM2" + model()[4:], "a binary model of CatBoost"),
    "a size behind": (lambda: b"CBM1" + struct.pack("<I", 1 << 20) + model()[8:], "a table of 1048576 bytes"),
    "half a table": (lambda: b"CBM1" + struct.pack("<I", 40) + model()[8:48], "at byte"),
    "another format": (lambda: model(format="FlabuffersModel_v2"), "the format FlabuffersModel_v1"),
    "no outputs": (lambda: model(_0=("<i", 0)), "1 to 65536 outputs, found 0"),
    "more outputs": (lambda: model(_0=("<i", 2)), "4 leaves of 2 values, found 4"),
    "parts without a name": (lambda: model(behind=b"x"), "names of the parts that follow"),
    "a name without parts": (lambda: model(parts=["static_provider_v1"]), "names of the parts that follow"),
    "a split behind": (lambda: model(_1=numbers("i", 0, 3)), "splits from 0 to 2"),
    "a split before": (lambda: model(_1=numbers("i", -1, 2)), "splits from 0 to 2"),
    "a tree less": (lambda: model(_2=numbers("i", 1)), "trees of 2 splits together, found 1"),
    "a size below": (lambda: model(_2=numbers("i", 3, -1)), "sizes of trees from 0"),
    "trees that overlap": (lambda: model(_3=numbers("i", 0, 0)), "trees one behind another"),
    "a deep tree": (
        lambda: model(_1=numbers("i", *[0] * 17), _2=numbers("i", 17), _3=numbers("i", 0)),
        "trees of at most 16 levels",
    ),
    "a leaf less": (lambda: model(_8=numbers("d", 1, 2, 3)), "4 leaves of 1 values, found 3"),
    "a weight less": (lambda: model(_9=numbers("d", 1)), "4 weights of leaves, found 1"),
    "a bias more": (lambda: model(_16=numbers("d", 1, 2)), "1 biases, found 2"),
    "an endless bias": (lambda: model(_15=("<d", float("inf"))), "a finite bias"),
    "one bias of two": (
        lambda: model(_0=("<i", 2), _8=numbers("d", *[1] * 8), _15=("<d", 1.0)),
        "2 biases, not one",
    ),
    "no number": (lambda: model(_14=("<d", float("nan"))), "a finite bias"),
    "a feature twice": (
        lambda: model(_5=[floats(0, 0, 0.5), floats(0, 2, 1)]),
        "places of float features that grow",
    ),
    "a feature before": (lambda: model(_5=[floats(-1, 0, 0.5, 1)]), "places of float features that grow"),
    "a feature far away": (
        lambda: model(_5=[floats(0, 1 << 25, 0.5, 1)]),
        "places of float features that grow",
    ),
    "a place twice": (lambda: model(_4=[Table(_0=("<i", 0), _1=("<i", 0))]), "each place of a row once"),
    "borders that fall": (lambda: model(_5=[floats(0, 0, 1.5, 0.5)]), "borders of a feature that grow"),
    "a border that is none": (
        lambda: model(_5=[floats(0, 0, 0.5, float("nan"))]),
        "borders of a feature that grow",
    ),
    "an odd treatment": (
        lambda: model(_5=[floats(0, 0, 0.5, 1.5, missing=3)]),
        "a known treatment of missing",
    ),
    "categories of none": (
        lambda: model(_6=[Table(_0=("<i", 7), _1=numbers("i", 7))]),
        "categories of known features",
    ),
    "categories twice": (
        lambda: model(_6=[Table(_0=("<i", 0), _1=numbers("i", 7)), Table(_0=("<i", 0))]),
        "each feature of categories once",
    ),
    "tables that are not there": (lambda: model(_7=[Table()]), "no features whose tables are not there"),
    "a step behind": (
        lambda: model(**{**UNEVEN, "_10": steps(1, 3, 0, 0, 0, 0, 0, 0)}),
        "steps to nodes of the same tree",
    ),
    "a leaf of another tree": (
        lambda: model(**{**UNEVEN, "_11": numbers("I", 9, 0, 2, 1)}),
        "leaves of a tree one behind another",
    ),
    "nodes without leaves": (lambda: model(**{**UNEVEN, "_11": numbers("I", 9)}), "4 nodes"),
    "an empty tree": (
        lambda: model(**{**UNEVEN, "_2": numbers("i", 3, 0), "_1": numbers("i", 0, 0, 0)}),
        "3 nodes",
    ),
    "labels of others": (of_classes(class_to_label=[0, 2]), "labels from 0 to 1, each once"),
    "a label twice": (of_classes(class_to_label=[1, 1]), "labels from 0 to 1, each once"),
    "a label between": (of_classes(class_to_label=[0, 0.5]), "labels from 0 to 1, each once"),
    "a label less": (of_classes(class_to_label=[0]), "2 labels of classes, found 1"),
    "odd names": (of_classes(class_names=[[1], 2]), "names and numbers of classes"),
    "another count": (of_classes(classes_count=5), "5 names of classes, found 2"),
    "no labels": (of_classes(class_to_label=None), "labels, names and a number of classes"),
    "a text that is no JSON": (lambda: model().replace(b'{"class_label', b'{{"class_labe'), "property name"),
}


@one_test
@pytest.mark.parametrize(("make", "message"), REFUSED.values(), ids=REFUSED)
def test_a_model_in_which_one_number_is_another_is_refused(make: Callable[[], bytes], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        check_model(memoryview(make()))


@pytest.mark.parametrize(
    "data",
    [
        model(),
        model(**UNEVEN),
        model(_9=None),
        model(_0=("<i", 2), _8=numbers("d", *[1] * 8), _16=numbers("d", 1, 2)),
        model(classes={**CLASSES, "class_names": [], "classes_count": 4, "class_to_label": [0, 3]}),
    ],
)
def test_an_honest_model_passes(data: bytes) -> None:
    check_model(memoryview(data))
    assert not has_parts(memoryview(data))


def test_what_follows_is_seen_and_left_to_the_library() -> None:
    data = memoryview(model(behind=b"tables", parts=["static_provider_v1"], _7=[Table()]))
    check_model(data)
    assert has_parts(data)
