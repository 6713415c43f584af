"""Which imports of NumPy and kellet come first when an archive's first object is loaded, as far as is known.

They take longer than all else in a proof, and can run beside the export where nothing could tell: where the
code that is loaded first begins with imports alone, and so has neither set a variable nor looked for a module
before them. They are read off its text, from the beginning to the first line that is anything else.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterable, Iterator

from packager.archive import ArchiveReader
from packager.graph import source_text
from packager.objects import Kind, unpack_table

Statement = tuple[str, tuple[str, ...]]
"""A module that is imported, and the names that are taken from it."""

Sources = Callable[[str], "tuple[str, bool] | None"]
"""Gives the text of a module that is stored, and whether it is a package; None for others."""

_AWAITED = frozenset({"kellet", "numpy"})
_NAMED = frozenset({Kind.GLOBAL, Kind.FUNCTION})


def first_imports(modules: Iterable[str], sources: Sources) -> list[Statement]:
    """Return what is imported of NumPy and kellet as these modules are, until anything else might happen.

    Imports of Python's own library are passed over: they bring neither.

    >>> text = "import os\\nimport numpy as np\\nfrom kellet import nn\\nnp.seterr()\\nimport kellet.data\\n"
    >>> first_imports(["net"], {"net": (text, False)}.get)
    [('numpy', ()), ('kellet', ('nn',))]
    """
    reading = _Reading(sources)
    for name in modules:
        if not reading.goes_on_after(name):
            break
    return reading.found


def first_imports_of(reader: ArchiveReader) -> list[Statement]:
    """Return the first imports of a load of all objects of an archive, in the order of a proof."""
    if not reader.manifest.objects:
        return []
    first = reader.manifest.objects[0]
    own = {one.name: one for one in reader.manifest.modules if one.action in ("intern", "mock")}
    if {name.partition(".")[0] for name in own} & (_AWAITED | sys.stdlib_module_names):
        return []  # what has these names is not what others have
    _, records, _ = unpack_table(reader.read(first.entry), "encoded object")
    named = [record for record in records if record[0] in _NAMED]
    used = {use.name for use in first.types}
    if not all(f"{name}:{rest[0]}" in used for kind, name, *rest in named if kind == Kind.GLOBAL):
        return []  # it is not known which of the names are imported
    factory = [] if first.factory is None else [first.factory.partition(":")[0]]

    def source_of(name: str) -> tuple[str, bool] | None:
        record = own.get(name)
        if record is None or record.action == "mock":
            return None
        if record.entry is None:  # a folder alone
            return ("", True) if record.is_package else None
        return source_text(reader.read(record.entry), name), record.is_package

    return first_imports(dict.fromkeys([*(name for _, name, *_ in named), *factory]), source_of)


class _Reading:
    """The imports that were found so far, and the modules that are imported by then."""

    def __init__(self, sources: Sources) -> None:
        self.found: list[Statement] = []
        self._sources = sources
        self._done: set[str] = set()

    def goes_on_after(self, name: str, names: tuple[str, ...] = ()) -> bool:
        """Import a module, and names from it; say whether it is known what comes next."""
        top = name.partition(".")[0]
        if top in _AWAITED:
            self.found.append((name, names))
            return True
        if top in sys.stdlib_module_names:
            return True
        parts = name.split(".")
        if not all(self._is_plain(".".join(parts[:count])) for count in range(1, len(parts) + 1)):
            return False
        inner = (f"{name}.{one}" for one in names)
        return all(self._sources(one) is None or self._is_plain(one) for one in inner)

    def _is_plain(self, name: str) -> bool:
        """Run a module; say whether it is nothing but imports."""
        if name in self._done:
            return True
        self._done.add(name)
        found = self._sources(name)
        if found is None:
            return False
        text, is_package = found
        package = name if is_package else name.rpartition(".")[0]
        is_known = False  # whether TYPE_CHECKING is that of `typing` here
        for statement in _statements(text):
            match statement:
                case ast.If(ast.Name("TYPE_CHECKING"), orelse=[]) if is_known:
                    continue
                case ast.Import(names) | ast.ImportFrom(names=names):
                    if "TYPE_CHECKING" in {one.asname or one.name for one in names}:
                        is_known = _is_of_typing(statement)
            if not self._runs(statement, package):
                return False
        return True

    def _runs(self, statement: ast.stmt | None, package: str) -> bool:
        match statement:
            case ast.Expr(ast.Constant()) | ast.ImportFrom(module="__future__", level=0):
                return True
            case ast.Import(names):
                return all(self.goes_on_after(one.name) for one in names)
            case ast.ImportFrom(names=[ast.alias("*")]):
                return False
            case ast.ImportFrom(module, names, level):
                home = ".".join(filter(None, [_above(package, level or 0), module or ""]))
                return bool(home) and self.goes_on_after(home, tuple(one.name for one in names))
        return False


def _is_of_typing(statement: ast.Import | ast.ImportFrom) -> bool:
    """Say whether what binds TYPE_CHECKING takes that of `typing`, which is False where code runs."""
    match statement:
        case ast.ImportFrom("typing", names, 0):
            bound = [one.name for one in names if (one.asname or one.name) == "TYPE_CHECKING"]
            return bound == ["TYPE_CHECKING"]
    return False


def _above(package: str, level: int) -> str:
    """Return the package that a relative import of this many dots starts from; "" for an absolute one."""
    return package.rsplit(".", level - 1)[0] if level else ""


def _statements(text: str) -> Iterator[ast.stmt | None]:
    """Yield the statements at the beginning of a text, and None where anything else comes."""
    lines = text.splitlines(keepends=True)
    ends = (at for at, line in enumerate(lines) if line.startswith(("class ", "def ", "async ", "@")))
    end = next(ends, len(lines))
    try:
        yield from ast.parse("".join(lines[:end])).body
    except (
        SyntaxError,
        ValueError,
        RecursionError,
        MemoryError,
    ):  # a text in quotes goes on
        yield None
    if end < len(lines):
        yield None
