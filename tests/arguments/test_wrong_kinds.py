"""Every public method, with every argument of a wrong kind: an error of ours, never one from inside."""

from __future__ import annotations

import inspect
import io
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from packager import GlobGroup, PackageExporter, PackageImporter, Policy
from packager.errors import PackageError
from tests.tables import one_test

ODD: tuple[Any, ...] = (None, 3, [], {}, b"x", "\0", "a\0b", object(), ("x",), 1.5, "\ud800")
HONEST: dict[str, Any] = {
    "resource": "words.txt",
    "source": "x = 1",
    "include": "net.**",
    "patterns": "net.**",
    "text": "t",
    "binary": b"t",
    "hook": print,
    "inputs": {},
    "module_or_mapping": {},
    "names": "all",
    "pickle_protocol": 4,
}
# Taken as they are: a name asked of any object, what the walk asks a policy, rules, a name of the walk.
INNER = {
    ("PackageImporter", "get_name"),
    ("PackageExporter", "get_name"),
    ("Policy", "decide"),
    ("Policy", "before"),
    ("GlobGroup", "matches"),
}


def archive() -> bytes:
    with PackageExporter(file := io.BytesIO(), prove=False) as exporter:
        exporter.save_source_string("net", "answer = 42\n", is_package=True)
        exporter.save_text("net", "words.txt", "one two")
    return file.getvalue()


ARCHIVE = archive()
MAKERS: dict[type, Callable[[], Any]] = {
    PackageImporter: lambda: PackageImporter(ARCHIVE),
    PackageExporter: lambda: PackageExporter(io.BytesIO(), prove=False),
    Policy: lambda: Policy("auto"),
    GlobGroup: lambda: GlobGroup("net.**"),
}


def methods() -> Iterator[tuple[type, str]]:
    for cls in MAKERS:
        for name, member in inspect.getmembers(cls, callable):
            if (
                not name.startswith("_")
                and (cls.__name__, name) not in INNER
                and inspect.signature(member).parameters
            ):
                yield cls, name


@one_test
@pytest.mark.parametrize(("cls", "name"), list(methods()), ids=lambda part: getattr(part, "__name__", part))
@pytest.mark.parametrize("odd", ODD, ids=[f"{type(odd).__name__}{n}" for n, odd in enumerate(ODD)])
def test_an_argument_of_a_wrong_kind_is_an_error_of_ours(cls: type, name: str, odd: Any) -> None:
    made = MAKERS[cls]()
    method = getattr(made, name)
    positional = [
        p for p in inspect.signature(method).parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD
    ]
    try:
        for place in range(len(positional)):
            arguments = [
                odd if place == at else HONEST.get(p.name, "net" if p.default is p.empty else p.default)
                for at, p in enumerate(positional)
            ]
            try:
                method(*arguments)
            except (PackageError, ImportError, FileNotFoundError, LookupError):
                continue
    finally:
        if cls is PackageImporter:
            made.close()
