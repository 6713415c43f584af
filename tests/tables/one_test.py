"""`one_test` makes one test of a parametrized function; each of its cases is a subtest of pytest."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from itertools import product
from typing import Any, Final

import pytest

Labelled = tuple[str, Mapping[str, Any]]

_OF_EACH_CASE: Final = {
    *("capfd", "caplog", "capsys", "installed", "monkeypatch", "project", "recwarn", "tmp_path"),
}
"""Fixtures that begin anew for each test. Cases of one test would share them."""


def one_test(test: Callable[..., None]) -> Callable[..., None]:
    """Go through all cases of a function in one test. Stands above its `pytest.mark.parametrize`.

    Each case is a subtest: a case that fails is reported with its label and traceback, and the others run.
    The cases share the fixtures of the test, so what they have to find fresh they make themselves.

    Raises TypeError where the function has no table, where a case has marks, and where a fixture begins anew
    for each test.
    """
    marks = getattr(test, "pytestmark", [])
    tables = [mark for mark in marks if mark.name == "parametrize"]
    if not tables:
        raise TypeError(f"{test.__name__} has no table: one_test stands above pytest.mark.parametrize")
    cases = [_joined(parts) for parts in product(*map(_cases_of, tables))]
    own = inspect.signature(test).parameters.values()
    fixtures = [parameter for parameter in own if parameter.name not in cases[0][1]]
    if shared := sorted(_OF_EACH_CASE.intersection(parameter.name for parameter in fixtures)):
        raise TypeError(f"the cases of {test.__name__} would share what each begins anew: {shared}")

    @wraps(test)
    def through(*args: Any, subtests: pytest.Subtests, **given: Any) -> None:
        for label, arguments in cases:
            with subtests.test(label):
                test(*args, **arguments, **given)

    asked = inspect.Parameter("subtests", inspect.Parameter.KEYWORD_ONLY)
    through.__signature__ = inspect.Signature([*fixtures, asked])  # type: ignore[attr-defined]  # of any function
    through.pytestmark = [mark for mark in marks if mark not in tables]  # type: ignore[attr-defined]  # pytest reads it
    through.labels = [label for label, _ in cases]  # type: ignore[attr-defined]  # mutants read it
    return through


def _joined(parts: tuple[Labelled, ...]) -> Labelled:
    label = "-".join(label for label, _ in parts)
    return label, {name: value for _, arguments in parts for name, value in arguments.items()}


def _cases_of(table: pytest.Mark) -> Iterator[Labelled]:
    names, rows = table.args
    names = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    ids = table.kwargs.get("ids")
    listed = list(ids) if ids is not None and not callable(ids) else None
    for at, row in enumerate(rows):
        label = None if listed is None else listed[at]
        if hasattr(row, "marks"):  # pytest.param
            if row.marks:
                raise TypeError(f"a case of one_test has marks: {row}")
            label, row = row.id or label, row.values
        elif len(names) == 1:
            row = (row,)
        said = [ids(value) if callable(ids) else None for value in row]
        told = (
            _told(value, f"{name}{at}") if one is None else str(one)
            for name, value, one in zip(names, row, said, strict=True)
        )
        yield str(label) if label is not None else "-".join(told), dict(zip(names, row, strict=True))


def _told(value: Any, otherwise: str) -> str:
    """Tell a value in one short line, as pytest does: no code of the value itself is run for its name."""
    if value is None or type(value) in (str, bytes, bool, int, float, complex):
        text = value if isinstance(value, str) else repr(value)
    else:
        text = getattr(value, "__name__", None)
        text = text if isinstance(text, str) else otherwise
    return text if len(text) <= 60 and text.isprintable() else f"{ascii(text)[:60]}..."
