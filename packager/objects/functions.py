"""Functions that no import leads to (nested ones, lambdas): stored by module, qualified name and source.

No code object is stored. The loader compiles the source that the archive holds and picks the code
object of that qualified name whose source has the stored digest; defaults, cells and attributes
are data. So a nested function of an archive can run nothing that its modules could not run.
"""

from __future__ import annotations

import sys
from functools import lru_cache
from types import CodeType, FunctionType, ModuleType

from packager.codecs import CannotStore
from packager.late_patterns import late_pattern
from packager.names import demangle, is_mangled
from packager.quick_dataclasses import dataclass, field

TYPE_CHECKING = False  # as in packager.lazy
if TYPE_CHECKING:
    import ast
    from collections.abc import Sequence
    from typing import Any, Final

_LINES: Final = late_pattern(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


def digest_of_live(function: FunctionType) -> str:
    """Return the digest of the source of a live function.

    Raises CannotStore when the source is not there, or has changed since it was imported.
    """
    from packager.graph import same_code

    code = function.__code__
    home = function.__globals__.get("__name__")
    where = f"function {home}:{code.co_qualname}"
    module = sys.modules.get(str(home))
    sources = _sources(module) if module is not None else ()
    if not sources:
        raise CannotStore(
            f"{where}: the source of its module is not available", "make it a top-level function"
        )
    matching = (
        digest
        for source, is_whole in sources
        for candidate, digest in _definitions(source, code.co_qualname)
        # A magic such as `%%time` has counted the lines of its cell anew.
        if (candidate.co_firstlineno == code.co_firstlineno or not is_whole) and same_code(candidate, code)
    )
    digest = next(matching, None)
    if digest is None and _is_made_of_text(code, module):
        raise CannotStore(
            f"{where} was made by `exec` or `eval` of a text, which no source of {demangle(str(home))} holds",
            "keep what the text is made of, and make the function where it is used or in `__setstate__`",
            "write it as a function of the module",
            "build the object by a factory: save_object(..., factory=, config=)",
        )
    if digest is None:
        raise CannotStore(
            f"{where}: the source of its module does not define it as it is in memory",
            "import the module again after changing its source",
            "make it a top-level function",
        )
    return digest


def _is_made_of_text(code: CodeType, module: ModuleType | None) -> bool:
    """Say whether code was compiled of a text that is neither the module's file nor a cell of a notebook."""
    file, home = code.co_filename, getattr(module, "__file__", None)
    return home is not None and file != home and file.startswith("<") and not file.startswith("<ipython")


def name_in_script(function: FunctionType) -> str | None:
    """Return a name of the running script that leads to a function in no named definition of it.

    A script is not stored whole, but what stored names need; the names of a lambda outside of all functions
    and classes do not say which statement makes it. None for a function that needs no such name.

    Raises CannotStore where no name of the script leads to it.
    """
    first = function.__code__.co_qualname.partition(".")[0]
    home = str(function.__globals__.get("__name__"))
    if demangle(home) != "__main__" or not first.startswith("<"):
        return None
    is_loaded = is_mangled(home)  # from an archive, where a function is made anew
    names = [
        name
        for name, value in function.__globals__.items()
        if value is function or (is_loaded and getattr(value, "__code__", None) == function.__code__)
    ]
    if names or is_loaded:
        # A notebook keeps its last result as `_`.
        return min(names, key=lambda name: name.startswith("_"), default=None)
    raise CannotStore(
        "a lambda outside of the functions and classes of a script, which no name there leads to, so that "
        "what makes it cannot be told from the rest of the script",
        "define it by `def`, or give it a name in the script",
        "move it into a module",
    )


@dataclass(frozen=True, slots=True)
class FunctionHome:
    """What the functions of a module are made from: its namespace, its source where it has one, its file.

    It is read before anything is built, so that no loader is asked in between.
    """

    namespace: dict[str, Any] = field(repr=False)
    source: str | None = field(repr=False)
    file: str | None

    @classmethod
    def of(cls, module: ModuleType) -> FunctionHome:
        """Return that of a module, whose loader is asked for the source."""
        return cls(vars(module), source_of(module), getattr(module, "__file__", None))

    def code_of(self, qualname: str, digest: str) -> CodeType | None:
        """Return the code object of that qualified name and digest; None when there is none."""
        if self.source is None:
            return None
        found = (code for code, known in _definitions(self.source, qualname, self.file) if known == digest)
        return next(found, None)


def source_of(module: ModuleType | None) -> str | None:
    """Return the source of a module: from its loader, else from where tracebacks find it."""
    spec = getattr(module, "__spec__", None)
    if module is not None and spec is not None and hasattr(spec.loader, "get_source"):
        try:
            source = spec.loader.get_source(spec.name)
        except (ImportError, OSError):
            source = None
        if isinstance(source, str):
            return source
    import linecache  # most archives hold no functions that need their source

    file = getattr(module, "__file__", None)
    return "".join(linecache.getlines(file)) or None if isinstance(file, str) else None


def _sources(module: ModuleType) -> Sequence[tuple[str, bool]]:
    """Return the source of a running module, and whether it is whole; of a notebook its cells, last first."""
    source = source_of(module)
    if source is not None:
        return [(source, True)]
    if module.__name__ != "__main__":
        return ()
    from packager.graph import cells_of, statements_apart

    # The last that ran comes first; `%%time` compiles a cell whole, else each statement is on its own.
    parts = (part for cell in reversed(cells_of(module)) for part in (*statements_apart(cell)[::-1], cell))
    return [(part, False) for part in parts if _compiles(part)]


def _compiles(cell: str) -> bool:
    """Say whether a cell is Python that stands alone: one that awaits is not, and holds no such function."""
    try:
        return bool(_parsed(cell, "<module>"))
    except (SyntaxError, ValueError):
        return False


def _definitions(source: str, qualname: str, file: str | None = None) -> list[tuple[CodeType, str]]:
    """Every code object of that qualified name, with the digest of its source."""
    return _parsed(source, file or "<module>").get(qualname, [])


@lru_cache(maxsize=8)
def _parsed(source: str, file: str) -> dict[str, list[tuple[CodeType, str]]]:
    """All code objects of a module by qualified name, each with its digest.

    The digest of a function is that of its definition, decorators included. A lambda has no place of
    its own in every Python: its digest is that of the statement it stands in, and of its number
    among the lambdas there.
    """
    import ast
    import hashlib

    from packager.graph import codes_in

    lines = _LINES.findall(source)  # those of the parser: a form feed ends none
    definitions, statements = _spans(ast.parse(source))
    found: dict[str, list[tuple[CodeType, str]]] = {}
    lambdas: dict[tuple[str, int, int], list[CodeType]] = {}
    for code in codes_in(compile(source, file, "exec", dont_inherit=True)):
        if code.co_name == "<lambda>":
            first, last = _innermost(statements, code.co_firstlineno)
            alike = lambdas.setdefault((code.co_qualname, first, last), [])
            if code not in alike:
                alike.append(code)
            text = f"{''.join(lines[first - 1 : last])}\0{alike.index(code)}"
        else:
            first = code.co_firstlineno
            text = "".join(lines[first - 1 : definitions.get((first, code.co_name), 0)])
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        found.setdefault(code.co_qualname, []).append((code, digest))
    return found


def _spans(tree: ast.Module) -> tuple[dict[tuple[int, str], int], list[tuple[int, int]]]:
    """The last line of each function by first line and name; first and last lines of all statements."""
    import ast

    definitions, statements = {}, []
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt):
            decorators = getattr(node, "decorator_list", [])
            first, last = (
                min([node.lineno, *(one.lineno for one in decorators)]),
                node.end_lineno or node.lineno,
            )
            statements.append((first, last))
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                definitions[first, node.name] = last
    return definitions, statements


def _innermost(statements: list[tuple[int, int]], line: int) -> tuple[int, int]:
    around = [(last - first, first, last) for first, last in statements if first <= line <= last]
    _, first, last = min(around, default=(0, line, line))
    return first, last
