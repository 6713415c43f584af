"""What classes assign, read from their source as text."""

from __future__ import annotations

from pathlib import Path

import pytest

from packager._libraries.learned.source_names import ClassSource, class_named, classes_of
from tests.tables import one_test

STORES = """
class A:
    def fit(self, x):
        self.a, (self.b, *self.c) = x
        self.d += 1
        self.e: int = 2
        for self.f in x: pass
        with x as self.g: pass
        setattr(self, 'h', 3)
        x.other = self.read
        setattr(self, x, 3)
"""
PARAMETERS = """
class A:
    def __init__(this, one, *, two=2, **more):
        this.one, this.two, this.three = 1, 2, 3
"""
BELOW = """
try:
    import x
except ImportError:
    pass
else:
    class A:
        def fit(self): self.a = 1
"""
SOURCES = {
    "all that is stored": (STORES, ClassSource((), ("a", "b", "c", "d", "e", "f", "g", "h"))),
    "parameters": (PARAMETERS, ClassSource((), ("one", "three", "two"))),
    "private names": (
        "class _A:\n    def fit(self):\n        self.__rows = self.__kept__ = 1\n",
        ClassSource((), ("_A__rows", "__kept__")),
    ),
    "methods without arguments": (
        "class A:\n    @staticmethod\n    def fit(): pass\n",
        ClassSource((), ()),
    ),
    "fields": (
        "@dataclass(frozen=True)\nclass A:\n    low: float\n    high: int = 2\n",
        ClassSource((), ("high", "low")),
    ),
    "annotations of the class": ("class A:\n    low: float = 1\n", ClassSource((), ())),
    "below a condition": (BELOW, ClassSource((), ("a",))),
}


@one_test
@pytest.mark.parametrize(("text", "expected"), SOURCES.values(), ids=SOURCES)
def test_a_class_assigns(text: str, expected: ClassSource) -> None:
    (found,) = classes_of("m", text).values()
    assert found == expected


def test_bases_are_told_by_where_they_come_from() -> None:
    text = (
        "import far.away as away\nfrom .near import Near as N\nfrom .. import above\nfrom whole import One\n"
        "class Here: pass\nclass A(Here, N, above.Up, away.Far, One, made()): pass\n"
    )
    found = classes_of("top.inner.m", text)["A"]
    assert found.bases == (
        "top.inner.m:Here",
        "top.inner.near:Near",
        "top.above:Up",
        "far.away:Far",
        "whole:One",
    )


def test_a_class_is_found_where_imports_lead(tmp_path: Path) -> None:
    (tmp_path / "top" / "inner").mkdir(parents=True)
    (tmp_path / "top" / "__init__.py").write_text("from .inner import Line\nfrom os import path\n")
    (tmp_path / "top" / "inner" / "__init__.py").write_text("from ._line import Line\n")
    (tmp_path / "top" / "inner" / "_line.py").write_text("class Line:\n    def fit(self): self.coef_ = 1\n")
    expected = ("top.inner._line:Line", ClassSource((), ("coef_",)))
    assert class_named(tmp_path, "top", "Line") == expected
    assert class_named(tmp_path, "top", "path") is None
    assert class_named(tmp_path, "top", "Other") is None
    assert class_named(tmp_path, "gone", "Line") is None
