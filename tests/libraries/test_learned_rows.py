"""What rows say that a library taught, and what is taken of a version that is newer than they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from packager._libraries.learned.kinds import Attribute, row_by_name
from packager._libraries.learned.learned_rows import EVERYWHERE, LearnedRows, Said
from packager._libraries.learned.tables import Tables
from tests.tables import one_test

NAMES = "# versions: shapes 1.0 1.2\nBase() size kept_\nshapes:\nRing(Base) inner hole_ steps_\nOther() x_\n"
KINDS = "array: kept_ hole_\nlabels: kept_\nlist of number: steps_\nnumber: size inner\ntext: inner\n"
VALUES = "auto left%20over: inner\n1..9: size\nall: size\n"
SAID = Said(
    groups={"Base": "estimator"},
    refused={"page_": "which is shown"},
    fixed={"input": frozenset({"content"})},
    free=frozenset({"title_"}),
    limits={"threads": (-2, 4)},
)


@pytest.fixture
def tables() -> Tables:
    return Tables(NAMES, KINDS, VALUES)


@pytest.fixture
def rows(tables: Tables) -> LearnedRows:
    return LearnedRows("shapes", tables, SAID)


def test_names_are_those_of_the_class_and_its_bases(rows: LearnedRows) -> None:
    assert rows.names_of("shapes.rings:Ring") == EVERYWHERE | {*("size", "kept_", "inner", "hole_", "steps_")}
    assert rows.names_of("shapes:Gone") == EVERYWHERE


def test_an_archive_may_name_the_classes_that_have_a_home(rows: LearnedRows) -> None:
    row, names = rows.table()
    assert (names, row.learned) == ({"shapes": "Ring Other"}, rows)


def test_groups_are_those_of_a_base(rows: LearnedRows) -> None:
    assert (rows.group_of("shapes:Ring"), rows.group_of("shapes:Other"), rows.group_of("x:Y")) == (
        "estimator",
        "",
        "",
    )


def problem(rows: LearnedRows, attribute: str, kind: str, *scalars: Any) -> str | None:
    """What is wrong with an attribute of a ring; None where nothing is."""
    return next(rows.problems("shapes:Ring", [Attribute(attribute, frozenset({kind}), scalars, ())]), None)


KIND_CASES = {
    "seen": ("kept_", "array", None),
    "none": ("kept_", "none", None),
    "empty": ("steps_", "list", None),
    "of none": ("steps_", "list of none", None),
    "another empty": ("steps_", "dict", "steps_ of Ring has an unexpected type (dict)"),
    "not seen": ("hole_", "labels", "hole_ of Ring has an unexpected type (labels)"),
    "of another class": (
        "x_",
        "array",
        "x_ of Ring is not an attribute of the class; delete it before saving",
    ),
    "refused": ("page_", "array", "page_ of Ring, which is shown"),
}


@one_test
@pytest.mark.parametrize(("attribute", "kind", "expected"), KIND_CASES.values(), ids=KIND_CASES)
def test_a_kind_is_one_that_the_attribute_had(
    rows: LearnedRows, attribute: str, kind: str, expected: str | None
) -> None:
    assert problem(rows, attribute, kind) == expected


VALUE_CASES: dict[str, tuple[str, Any, str | None]] = {
    "inside": ("size", 9, None),
    "below": ("size", 0, "size of Ring is 0, expected 1 to 9"),
    "beyond": ("size", 10**12, "size of Ring is 1000000000000, expected 1 to 9"),
    "nan": ("size", float("nan"), "size of Ring is nan, expected 1 to 9"),
    "a word": ("size", "all", None),
    "a word with a space": ("inner", "left over", None),
    "another word": ("size", "none", "size of Ring is 'none', an unexpected text"),
    "no words": ("kept_", "x", "kept_ of Ring is 'x', an unexpected text"),
    "free": ("title_", "x", None),
    "fixed": ("input", "content", None),
    "not fixed": ("input", "file", "input of Ring is 'file', expected one of ['content']"),
    "a limit": ("threads", 5, "threads of Ring is 5, expected -2 to 4"),
    "a number without limits": ("hole_", 10**9, None),
}


@one_test
@pytest.mark.parametrize(("attribute", "value", "expected"), VALUE_CASES.values(), ids=VALUE_CASES)
def test_a_value_is_one_that_it_may_be(
    rows: LearnedRows, attribute: str, value: Any, expected: str | None
) -> None:
    assert (
        rows._value_problem(
            "shapes:Ring",
            Attribute(attribute, frozenset({"text" if type(value) is str else "number"}), (value,), ()),
        )
        == expected
    )


# --- newer versions ---

NEWER = (
    "class Base:\n    def __init__(self, size, round): self.size = size\n"
    "class Ring(Base):\n    def fit(self): self.fresh_ = self.hole_ = 1\n"
)


@pytest.fixture
def newer(tables: Tables, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LearnedRows:
    """The rows, where version 1.10 of the library is installed."""
    folder = tmp_path / "site"
    (folder / "shapes").mkdir(parents=True)
    (folder / "shapes" / "__init__.py").write_text("from .rings import Ring\n")
    (folder / "shapes" / "rings.py").write_text(NEWER)
    (folder / "shapes-1.10.0.dist-info").mkdir()
    (folder / "shapes-1.10.0.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: shapes\nVersion: 1.10.0\n"
    )
    monkeypatch.syspath_prepend(folder)
    return LearnedRows("shapes", tables, SAID)


_TOLD = "; shapes 1.10 is newer than this packager knows"


@one_test
@pytest.mark.parametrize(
    "kind", ["none", "number", "array", "estimator", "list of list of array", "dict of number"]
)
def test_what_a_newer_source_assigns_is_data(newer: LearnedRows, kind: str) -> None:
    assert problem(newer, "fresh_", kind) is None
    assert problem(newer, "round", kind) is None


@one_test
@pytest.mark.parametrize(
    "kind", ["text", "labels", "function", "list of text", "dict by text", "types:SimpleNamespace"]
)
def test_it_is_no_text_and_nothing_else(newer: LearnedRows, kind: str) -> None:
    assert problem(newer, "fresh_", kind) == (f"fresh_ of Ring has an unexpected type ({kind}){_TOLD}")


def test_what_it_does_not_assign_is_refused(newer: LearnedRows) -> None:
    expected = f"stale_ of Ring is not an attribute of the class; delete it before saving{_TOLD}"
    assert problem(newer, "stale_", "number") == expected


def test_a_text_that_is_new_is_refused_with_the_version(newer: LearnedRows) -> None:
    expected = f"inner of Ring is 'fresh', an unexpected text{_TOLD}"
    assert problem(newer, "inner", "text", "fresh") == expected


def test_a_library_that_is_not_there_is_not_newer(rows: LearnedRows) -> None:
    assert problem(rows, "fresh_", "number") == (
        "fresh_ of Ring is not an attribute of the class; delete it before saving"
    )


def test_options_are_parameters(tables: Tables) -> None:
    said = Said(
        {"Base": "estimator"},
        refused={"path": "which names a file"},
        options=frozenset({"more"}),
        limits={"threads": (1, 4)},
    )
    rows = LearnedRows("shapes", tables, said)

    def problem(key: str, value: Any) -> list[str]:
        return [*rows.problems("shapes:Ring", [Attribute("kept_", frozenset({"array"}), (), ())])] + [
            found
            for found in [
                rows._value_problem("shapes:Ring", Attribute("more", frozenset(), (), ((key, value),)))
            ]
            if found
        ]

    assert problem("size", 3) == []
    assert problem("size", 30) == ["in more: size of Ring is 30, expected 1 to 9"]
    assert problem("path", "x") == ["in more: path, which names a file"]
    assert problem("a b", 1) == ["in more: 'a b' is not a parameter of Ring"]


def test_libraries_that_taught_rows() -> None:
    classes = (
        "sklearn.svm:SVC",
        "lightgbm:LGBMRanker",
        "xgboost:XGBRanker",
        "statsmodels.robust.norms:HuberT",
    )
    assert [name for name in classes if row_by_name(name).learned] == [*classes[:3]]
