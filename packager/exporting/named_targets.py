"""Modules that texts name for computed imports: `_target_: shop.layers.Net` in a configuration.

Such texts stand in code of the project, in files beside it, and in what is stored. They are looked for where
code of the project imports by a name of which nothing is literal.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from packager.graph import DataFile, Found
from packager.objects import unpack_table
from packager.quick_dataclasses import dataclass

_NAME: Final = re.compile(r"[A-Za-z_]\w*(?:[.:][A-Za-z_]\w*)+")
_IN_A_FILE: Final = re.compile(r"(?<![\w./\\:-])[A-Za-z_]\w*(?:[.:][A-Za-z_]\w*)+(?![\w/\\-])")
_BEGINNING: Final = re.compile(r"(?:[A-Za-z_]\w*\.){2,}")  # of a package alone, all of it would be meant
_BEGINNING_IN_BYTES: Final = re.compile(rb"[A-Za-z_]\w*\.['\"]")
_GOES_ON: Final = (
    # An end, an escape, or a hole of an f-string; or the next of several literals that are one text.
    rb"(?:[A-Za-z_\x80-\xff][\w.:\x80-\xff]*['\"\\{]|\\|['\"](?:[\s\\]|#[^\r\n]*[\r\n])*[A-Za-z]{0,2}['\"])"
)
"""What follows the name of a package in the bytes of a literal that has nothing but a dotted name."""
_CONFIGURATIONS: Final = (".json", ".yaml", ".yml", ".toml", ".ini", ".cfg", ".conf")
_LARGEST: Final = 2**20
_LONGEST_PATH: Final = 4096
_SAYING: Final = frozenset("getLogger get_logger patch warn print info debug ArgumentParser".split())
"""What is called with names of modules that it does not import."""

Target = tuple[str, str]
"""A module, and the name asked of it; "" for the module itself."""


class NamedTargets:
    """Which modules of the project texts name: `find` finds one, `is_own` says whether it is its own."""

    def __init__(self, find: Callable[[str], Found], is_own: Callable[[str], bool]) -> None:
        self._find = find
        self._is_own = is_own
        self._known: dict[str, Target | None] = {}
        self._sources: dict[str, bytes] = {}

    def of(self, texts: Iterable[str]) -> list[Target]:
        """Return the modules with what is asked of them, each once, in the order of the texts."""
        found = (self._target(text) for text in dict.fromkeys(texts))
        return list(dict.fromkeys(target for target in found if target is not None))

    def _target(self, text: str) -> Target | None:
        if text not in self._known:
            self._known[text] = self._read(re.split("[.:]", text))
        return self._known[text]

    def _read(self, parts: list[str]) -> Target | None:
        if not self._is_own(parts[0]):
            return None
        for end in range(len(parts), 0, -1):
            name = ".".join(parts[:end])
            found = self._find(name)
            if found.kind in ("source", "zip"):
                asked = parts[end] if end < len(parts) else ""
                return (name, asked) if not asked or self._has(found, asked) else None
        return None

    def _has(self, found: Found, asked: str) -> bool:
        """Say whether the text of a module has a name: `shop.json` is a file, and no `json` of `shop`."""
        if found.name not in self._sources:
            self._sources[found.name] = b"" if found.read is None else found.read()
        return re.search(rb"\b%b\b" % asked.encode(), self._sources[found.name]) is not None


@dataclass(frozen=True)
class TextsOfCode:
    """The texts of a module that may be `names` of modules, and those that may be `beginnings` of such names.

    What is told or logged is none of them.
    """

    names: tuple[str, ...]
    beginnings: tuple[str, ...]

    @classmethod
    def of(cls, source: bytes) -> TextsOfCode:
        """Read the texts of a module; none where it does not parse.

        >>> TextsOfCode.of(b'log = getLogger("shop.train")\\nTARGET = "shop.layers.Net"').names
        ('shop.layers.Net',)
        >>> TextsOfCode.of(b'PLACES = ("shop.layers.", "", ".")').beginnings
        ('shop.layers.',)
        """
        texts = tuple(_texts(source))
        begins = _BEGINNING_IN_BYTES.search(source) is not None
        return cls(
            tuple(text for text in texts if _NAME.fullmatch(text)),
            tuple(text for text in texts if begins and _BEGINNING.fullmatch(text)),
        )


def _texts(source: bytes) -> Iterator[str]:
    try:
        waiting: list[ast.AST] = [ast.parse(source)]
    except (SyntaxError, ValueError):
        return
    for node in waiting:  # grows while it is walked
        if isinstance(node, ast.Constant):
            if isinstance(node.value, str):
                yield node.value
        elif not (isinstance(node, ast.Call) and _last_part(node.func) in _SAYING):
            for name in node._fields:  # `ast.iter_child_nodes` takes twice as long
                value = getattr(node, name, None)
                if value.__class__ is list:
                    waiting += [one for one in value if isinstance(one, ast.AST)]
                elif isinstance(value, ast.AST):
                    waiting.append(value)


def begins_texts_with(top: str, source: bytes) -> bool:
    """Say whether a text of a module may be, or begin, the name of something below a package.

    That is a look at the bytes, which saves parsing a whole library for the few that name modules of it.

    >>> begins_texts_with("shop", b'"shop.layers"'), begins_texts_with("shop", b"from shop.layers import Net")
    (True, False)
    >>> begins_texts_with("shop", b'"shop.layers are slow"'), begins_texts_with("shop", b'"shop." "layers"')
    (False, True)
    """
    return re.search(rb"['\"}]%b[.:]%b" % (re.escape(top.encode()), _GOES_ON), source) is not None


def texts_of_file(file: DataFile) -> Iterator[str]:
    """Yield the texts of a configuration file that may be names of modules."""
    if file.resource.endswith(_CONFIGURATIONS) and file.bytes <= _LARGEST:
        yield from _IN_A_FILE.findall(bytes(file.read()).decode("utf-8", "replace"))


def texts_of_records(records: bytes) -> Iterator[str]:
    """Yield the texts in what is stored of an object that may be names of modules."""
    waiting: list[Any] = [unpack_table(records, "encoded object")] if records else []
    for value in waiting:  # grows while it is walked
        if isinstance(value, list | tuple):
            waiting += value
        elif isinstance(value, str) and _NAME.fullmatch(value):
            yield value


def paths_in_records(records: bytes) -> Iterator[str]:
    """Yield the absolute paths among the texts in what is stored of an object."""
    waiting: list[Any] = [unpack_table(records, "encoded object")] if records else []
    for value in waiting:  # grows while it is walked
        if isinstance(value, list | tuple):
            waiting += value
        elif isinstance(value, str) and os.path.isabs(value) and len(value) <= _LONGEST_PATH:
            yield value


def _last_part(function: ast.expr) -> str:
    return getattr(function, "attr", "") or getattr(function, "id", "")
