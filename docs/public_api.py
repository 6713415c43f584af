"""The public names and signatures of both packages, and the commands, in one file; a test compares them.

    python docs/public_api.py            write docs/api.txt anew
    python docs/public_api.py --check    end with 1, and print the difference, where it is not as written

A class has what it is made with, its methods and, behind dots, its attributes; public bases have their own.
Annotations are left out, and a default that is no literal is `...`. The text is the same on every Python.
"""

from __future__ import annotations

import argparse
import dataclasses
import difflib
import enum
import importlib
import inspect
import sys
import textwrap
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path
from typing import Any

import reference

from packager._cli.main import _parser

FILE = Path(__file__).with_name("api.txt")
HEAD = """\
The public names and signatures of packager and kellet, and its commands, by `python docs/public_api.py`.
What is promised of them stands in docs/guides/versions.md. "experimental": may change in any version.
"""
_LITERALS = (type(None), type(...), bool, int, float, complex, str, bytes)
_EMPTY = inspect.Parameter.empty


def text_of_api() -> str:
    """Return the whole text."""
    parts = [HEAD]
    for page in reference.pages_of(reference.public_modules()):
        mark = " (experimental)" if reference.is_experimental(page.module) else ""
        parts.append(f"\n== {page.module}{mark}\n" + "".join(_lines_of(page)))
    return "".join(parts) + "\n== the command\n" + "".join(_commands(_parser()))


def _commands(parser: argparse.ArgumentParser) -> Iterator[str]:
    """Yield a line for each command: what it takes, and its options."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield from _commands(command)
            return
    options = sorted(
        {name for action in parser._actions for name in action.option_strings} - {"-h", "--help"}
    )
    taken = [str(action.metavar or action.dest) for action in parser._actions if not action.option_strings]
    yield _wrapped(" ".join([parser.prog, *taken, *options]))


def _lines_of(page: reference.Page) -> Iterator[str]:
    offered = importlib.import_module(page.module)
    for name in sorted(page.own):
        yield from _told(name, getattr(offered, name))
    for name, (home, other) in sorted(page.elsewhere.items()):
        yield f"{name} = {home}.{other}\n"
    for home, names in sorted(reference.GIVEN.get(page.module, {}).items()):
        file = importlib.import_module(f"packager.{home}")
        for name in sorted(names.split()):
            yield from _told(name, getattr(file, name), "given by calls: ")


def _told(name: str, thing: Any, before: str = "") -> Iterator[str]:
    if inspect.isclass(thing):
        bases = [base.__name__ for base in thing.__mro__[1:] if not _is_inner(base)][:1]
        of = f" of {bases[0]}" if bases and bases[0] != "object" else ""
        yield _wrapped(f"{before}class {name}{_made_with(thing)}{of}")
        yield from _members(thing)
    elif inspect.isroutine(thing):
        yield _wrapped(f"{before}{name}{_signature(thing)}")
    else:
        yield f"{before}{name}: {type(thing).__name__.lstrip('_')}\n"


def _members(cls: type) -> Iterator[str]:
    """Yield the methods and attributes that a class has itself, or from bases that are not public."""
    found: dict[str, Any] = {}
    for base in (cls, *takewhile(_is_inner, cls.__mro__[1:])):
        found = {name: thing for name, thing in vars(base).items() if not name.startswith("_")} | found
        fields = getattr(base, "__dataclass_fields__", {})
        found = {name: None for name in fields if not name.startswith("_")} | found
    functions = {name: getattr(thing, "__func__", thing) for name, thing in sorted(found.items())}
    methods = {name: one for name, one in functions.items() if callable(one) and not inspect.isclass(one)}
    for name, method in methods.items():
        drop = not isinstance(inspect.getattr_static(cls, name), staticmethod)
        yield _wrapped(f"    {name}{_signature(method, drop_first=drop)}")
    attributes = [f".{name}" for name in sorted(found.keys() - methods.keys())]
    if attributes:
        yield _wrapped(f"    {' '.join(attributes)}")


def _made_with(cls: type) -> str:
    """Return the signature of what makes an object, where a class of ours says it."""
    if issubclass(cls, enum.Enum) or getattr(cls, "_is_protocol", False):
        return ""
    if dataclasses.is_dataclass(cls):  # those of packager are made from their fields when first used
        taken = [_of_field(one) for one in dataclasses.fields(cls) if one.init]
        return str(inspect.Signature(sorted(taken, key=lambda one: one.kind)))
    for base in cls.__mro__:
        for name in ("__init__", "__new__"):
            if (
                name in vars(base)
                and (reference.is_ours(base) or issubclass(base, tuple))
                and base is not tuple
            ):
                return _signature(getattr(base, name), drop_first=True)
    return ""


def _of_field(field: dataclasses.Field[Any]) -> inspect.Parameter:
    has_none = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    kind = inspect.Parameter.KEYWORD_ONLY if field.kw_only else inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Parameter(field.name, kind, default=_EMPTY if has_none else _Shown(field.default))


def _signature(function: Any, *, drop_first: bool = False) -> str:
    given = [*inspect.signature(function).parameters.values()][int(drop_first) :]
    bare = [
        one.replace(annotation=_EMPTY, default=one.default if one.default is _EMPTY else _Shown(one.default))
        for one in given
    ]
    return str(inspect.Signature(bare))


class _Shown:
    """A default by its literal, or by dots."""

    def __init__(self, value: Any) -> None:
        self.text = repr(value) if _is_literal(value) else "..."

    def __repr__(self) -> str:
        return self.text


def _is_literal(value: Any) -> bool:
    if type(value) in (tuple, list):
        return all(map(_is_literal, value))
    return type(value) in _LITERALS


def _is_inner(base: type) -> bool:
    return reference.is_ours(base) and base not in reference.public_classes()


def _wrapped(line: str) -> str:
    indent = " " * (len(line) - len(line.lstrip()) + 8)
    options: Any = {"break_long_words": False, "break_on_hyphens": False}
    return textwrap.fill(line, 110, subsequent_indent=indent, **options) + "\n"


def difference() -> str:
    """Return how the code differs from the file, as a diff; empty where it does not."""
    written = FILE.read_text(encoding="utf-8") if FILE.exists() else ""
    pair = written.splitlines(), text_of_api().splitlines()
    return "\n".join(difflib.unified_diff(*pair, "docs/api.txt", "the code", lineterm="", n=1))


if __name__ == "__main__":
    if sys.argv[1:] == ["--check"]:
        if found := difference():
            sys.exit(
                f"{found}\nThe public API differs from docs/api.txt: python docs/public_api.py writes it."
            )
    else:
        FILE.write_text(text_of_api(), encoding="utf-8")
