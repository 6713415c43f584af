"""By which name an archive remembers a class or a function, and what a name leads to.

The name is public: the shortest package that lists the thing in its `__all__`, so that a file can
move without a migration. It is always a home: the object itself says it lives in that module, or in
one below it. Stored names never carry the mark of the archive that something was loaded from.

Functions that no import leads to (nested ones, lambdas) are stored by module, qualified name and source. No
code object is stored: the loader compiles the source that the archive holds and picks the code object of that
qualified name whose source has the stored digest; defaults, cells and attributes are data. So a nested
function of an archive can run nothing that its modules could not run.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Collection
from functools import lru_cache
from types import (
    BuiltinFunctionType,
    CodeType,
    EllipsisType,
    FunctionType,
    MethodType,
    ModuleType,
    NoneType,
    NotImplementedType,
)

from packager._codecs import CannotStore, Role
from packager._names import demangle, is_mangled, is_record_name, walk_classes, why_never_stored
from packager._quick_dataclasses import dataclass, field
from packager._texts import listed
from packager._version import is_namesake
from packager.errors import ArchiveError

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    import ast
    from collections.abc import Sequence
    from typing import Any, Final

    from packager._graph import Importer

_TYPES_WITHOUT_HOME: Final = {
    NoneType: "NoneType",
    EllipsisType: "EllipsisType",
    NotImplementedType: "NotImplementedType",
}

# Where functions without a home of their own (built in C) are looked for.
_COMMON_HOMES: Final = ("builtins", "math", "numpy", "scipy.special", "torch", "torch.nn.functional")


@dataclass(frozen=True, slots=True)
class NameUse:
    """One name in a stored object, what is done with it, and where it is met first.

    `qualname` is "" for a module itself. One that is not `in_records` says only which source has to be
    stored: no record names it.
    """

    module: str
    qualname: str
    role: Role
    path: str
    in_records: bool = True

    def __str__(self) -> str:
        return f"{self.module}:{self.qualname}"


@dataclass(frozen=True, slots=True)
class FormUse:
    """Something in a stored object that is refused for what it is made of: where, why, what helps.

    `trust` is the name that `trust=` may vouch for, "" where there is none.
    """

    path: str
    reason: str
    trust: str = ""

    def __str__(self) -> str:
        name = self.trust
        remedy = (
            f"; if you trust it, open the archive with trust=({name!r},) (--trust {name})" if name else ""
        )
        return f"{self.path}: {self.reason}{remedy}"


def require_said(found: Collection[tuple[str, str]], said: Collection[tuple[str, str]], what: str) -> None:
    """Demand that a manifest says the names in the records of an object, and no others.

    Both are pairs of "module:name" and a role. Raises ArchiveError with what each has beyond the other.

    >>> require_said({("numpy:dtype", "call")}, [("numpy:dtype", "call")], "object m/o")
    >>> require_said((), [("os:getcwd", "call")], "object m/o")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    packager.errors.ArchiveError: object m/o: the manifest lists os:getcwd, which its records do not name; ...
    """
    unsaid, unused = set(found) - set(said), set(said) - set(found)
    if not unsaid and not unused:
        return
    as_other = {name for name, _ in unsaid} & {name for name, _ in unused}

    def shown(pairs: set[tuple[str, str]]) -> str:
        names = sorted({f"{name} ({role})" if name in as_other else name for name, role in pairs})
        return listed(names, 5)

    differences = [f"its records name {shown(unsaid)}, which the manifest does not list"] if unsaid else []
    if unused:
        differences.append(f"the manifest lists {shown(unused)}, which its records do not name")
    raise ArchiveError(
        f"{what}: {'; '.join(differences)}; the archive was not written by packager: do not load it"
    ).holding(sorted(unsaid | unused))


def require_record_name(module: str, qualname: str) -> None:
    """Raise CannotStore for a name that no record can hold, as one that no `import` statement could spell."""
    if not is_record_name(module, qualname):
        raise CannotStore(
            f"{module}:{qualname} cannot be stored as a name: expected letters, digits and underscores, and "
            "no digit first",
            "give the file or the class a name that Python can import, as net.models:Net",
        )


class NameFinder:
    """Finds names of live objects through an importer, each once.

    What was loaded from an archive has the name that it was stored under there.
    """

    def __init__(self, importer: Importer) -> None:
        self._importer = importer
        self._found: dict[tuple[int, str | None], tuple[str, str]] = {}
        self._kept: list[object] = []

    def find(self, obj: object, name: str | None = None) -> tuple[str, str]:
        """Return the public module and qualified name of a class, function or (with `name`) any global.

        Raises CannotStore when it cannot be found again by a name.
        """
        key = (id(obj), name)
        if key not in self._found:
            self._found[key] = self._find(obj, name)
            self._kept.append(obj)
        return self._found[key]

    def _find(self, obj: Any, name: str | None) -> tuple[str, str]:
        module, qualname = self._named(obj, name)
        if why := why_never_stored(module, qualname):
            file = getattr(sys.modules.get(module), "__file__", None)
            if file and is_namesake(module, file):
                raise CannotStore(
                    f"{module}:{qualname} ({file}): a name that {why}, and that loaders refuse",
                    f"give the module {module.partition('.')[0]} another name",
                )
            raise CannotStore(
                f"{module}:{qualname} {why}, and is refused in every archive",
                "write a small function of your own package around it, and refer to that"
                if not isinstance(obj, type)
                else "remove what holds it before saving (__getstate__), or build it when it is used",
                "build the object by a factory: PackageExporter.save_object(..., factory=, config=)",
            )
        require_record_name(module, qualname)
        return module, qualname

    def _named(self, obj: Any, name: str | None) -> tuple[str, str]:
        if isinstance(obj, type) and obj in _TYPES_WITHOUT_HOME:
            return "types", _TYPES_WITHOUT_HOME[obj]
        if isinstance(obj, (MethodType, BuiltinFunctionType)) and isinstance(obj.__self__, type):
            return self._common_home(obj) or self._of_class(obj, obj.__self__)
        qualname = name or getattr(obj, "__qualname__", None) or getattr(obj, "__name__", None)
        if not isinstance(qualname, str):
            raise CannotStore(f"this {type(obj).__name__} has no name to import it by")
        if "<" in qualname:
            raise _without_home(obj, qualname)
        return self._public(obj, *self._ask(obj, qualname))

    def _ask(self, obj: Any, qualname: str) -> tuple[str, str]:
        """The name that the importer gives, or a common home for what is built in C."""
        home = self._common_home(obj)
        if home is not None:
            return home
        try:
            return _under_its_own_name(*self._importer.get_name(obj, qualname))
        except Exception as error:  # lazy modules raise whatever they like when they are asked for a name
            raise CannotStore(
                f"{type(obj).__name__} {qualname!r} cannot be imported by its name: {error}",
                *_ways_out(obj, error),
            ) from error

    def _common_home(self, obj: Any) -> tuple[str, str] | None:
        """Where a function built in C is found that says nothing of its home, or what is not true."""
        if isinstance(obj, (BuiltinFunctionType, _numpy_ufunc())):
            name: str = getattr(obj, "__name__", "")
            for home in _COMMON_HOMES:
                if walk_classes(sys.modules.get(home), name) is obj:
                    return home, name
        return None

    def _of_class(self, method: Any, cls: type) -> tuple[str, str]:
        """A class method bound to its class: the dotted name that leads to it."""
        module, qualname = self.find(cls)
        name: str = method.__name__
        found = getattr(cls, name, None)
        if type(found) is not type(method) or found != method:  # an array would compare its elements
            raise CannotStore(f"a class method that {qualname}.{name} does not return")
        return module, f"{qualname}.{name}"

    def _public(self, obj: Any, module: str, qualname: str) -> tuple[str, str]:
        """The shortest package that lists the object, under its qualified name or its own."""
        parts = module.split(".")
        own = getattr(obj, "__name__", None)
        for length in range(1, len(parts)):
            package = ".".join(parts[:length])
            loaded = self._loaded(package)
            listed = vars(loaded).get("__all__") if loaded is not None else None
            if not isinstance(listed, (list, tuple)):
                continue
            for name in (qualname, own):
                if (
                    isinstance(name, str)
                    and name.partition(".")[0] in listed
                    and _walked(loaded, name) is obj
                ):
                    return package, name
        return module, qualname

    def _loaded(self, name: str) -> ModuleType | None:
        try:
            return self._importer.import_module(name)
        except ImportError:
            return None


def _under_its_own_name(module: str, qualname: str) -> tuple[str, str]:
    """Return a name in the module that a second name of it leads to: Cython's classes may say that one."""
    found = sys.modules.get(module)
    own = getattr(found, "__name__", module)
    is_another = type(own) is str and own not in _SCRIPTS and sys.modules.get(own) is found
    return own if is_another else module, qualname


_SCRIPTS: Final = frozenset({"__main__", "__mp_main__"})  # one module under two names, of which both count


def _walked(package: ModuleType | None, name: str) -> Any:
    """Return what a listed name leads to, also where a lazy package has not been asked for it yet.

    Else the name of a class would depend on what a process has used: `transformers:BertModel` in one.
    """
    if package is not None and name.partition(".")[0] not in vars(package):
        try:
            getattr(package, name.partition(".")[0])
        except Exception:  # a lazy package raises whatever it likes
            return None
    return walk_classes(package, name)


def _ways_out(obj: Any, error: Exception) -> tuple[str, ...]:
    """Return what helps where a name does not lead to what has it; an error that says so needs no more."""
    from packager._graph import ObjMismatchError

    if isinstance(error, ObjMismatchError) and "loaded again" in str(error):
        return ()
    # An enumeration that C++ made, as those of pybind11, often has another name there.
    if isinstance(obj, type) and isinstance(getattr(obj, "__members__", None), dict):
        return ("store int(member), and make the member again where it is used",)
    return ("make it a top-level name of an importable module",)


def _without_home(obj: Any, qualname: str) -> CannotStore:
    what = "a lambda" if qualname.endswith("<lambda>") else f"{type(obj).__name__} {qualname!r}"
    return CannotStore(
        f"{what} cannot be imported: it is made inside a function",
        "define it at the top level of a module",
        "for a function: intern its module, which stores its source",
        "build the object by a factory: PackageExporter.save_object(..., factory=, config=)",
    )


def _numpy_ufunc() -> type:
    """Return NumPy's type of universal functions, which say of themselves only how they are called."""
    import numpy

    return numpy.ufunc


_LINES: Final = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


def digest_of_live(function: FunctionType) -> str:
    """Return the digest of the source of a live function.

    Raises CannotStore when the source is not there, or has changed since it was imported.
    """
    from packager._graph import same_code

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
            f"{where} was made by `exec` or `eval` of a text: the source of {demangle(str(home))} lacks it",
            "store what it is made from, and make it where it is used or in `__setstate__`",
            "write it as a function of the module",
            "build the object by a factory: PackageExporter.save_object(..., factory=, config=)",
        )
    if digest is None:
        raise CannotStore(
            f"{where} is not as in the source of its module",
            "import the module again if its source was changed",
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
        "a lambda at the top level of a script that no name there refers to, so that its statement cannot "
        "be found",
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
    from packager._graph import cells_of, statements_apart

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

    from packager._graph import codes_in

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
