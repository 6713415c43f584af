"""Where code reads the `__path__` of a package: a list of folders, of which an archive has one."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence
from typing import Final

from .idioms import dotted
from .syntax import imported_names

_LISTERS: Final = frozenset(["iter_modules", "walk_packages", "extend_path"])
_PATHS: Final = frozenset(["__path__", "submodule_search_locations"])
_IMPORTS: Final = frozenset(["import_module", "__import__", "find_spec"])


def paths_read(
    source: bytes, package: str, names: Collection[str], own: str = ""
) -> Iterator[tuple[str, int, int, str]]:
    """Yield each read of `__path__` of one of `names`: the name, the line, the function's line and name.

    `package` is what relative imports of `source` start from, `own` the package that it is the text of, if
    it is one. A read that only lists the modules in the folders
    finds all of them, however many folders there are, and is none. At the top of a module there is no
    function: line 0 and "".

    >>> code = b"import lab as x\\nclass A:\\n  def f(self): return len(x.__path__), iter_modules(x.__path__)"
    >>> list(paths_read(code, "", ["lab"]))
    [('lab', 3, 3, 'A.f')]
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return
    packages = _Packages(list(ast.walk(tree)), package, own)
    waiting: list[tuple[ast.AST, int, str, str]] = [(tree, 0, "", "")]
    while waiting:
        node, line, function, prefix = waiting.pop(0)
        name = packages.of_read(node)
        if name in names:
            yield name, node.lineno, line, function  # type: ignore[attr-defined]  # of expressions alone
        listed: list[ast.AST] = []
        if isinstance(node, ast.Call) and _called(node.func) in _LISTERS:
            listed = [*node.args, *node.keywords]
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            prefix = f"{prefix}{node.name}."
            if not isinstance(node, ast.ClassDef) and not function:
                line, function = node.lineno, prefix[:-1]
        inside = [one for one in ast.iter_child_nodes(node) if one not in listed]
        waiting += [(one, line, function, prefix) for one in inside]


class _Packages:
    """Which package an expression of one text is: by what imports bind, and by what imports a name."""

    def __init__(self, nodes: Sequence[ast.AST], package: str, own: str) -> None:
        self._package, self._own = package, own
        self._imported = imported_names(nodes, package)
        self._bound: dict[str, str] = {}
        for node in nodes:
            match node:
                case (
                    ast.Assign(targets=[ast.Name(id=name)], value=value)
                    | ast.NamedExpr(target=ast.Name(id=name), value=value)
                ):
                    if name not in self._imported and (found := self._of(value)):
                        self._bound[name] = found

    def of_read(self, node: ast.AST) -> str:
        """Return the package whose folders an expression reads, "" where it reads those of none."""
        match node:
            case ast.Attribute(attr=attr, value=owner) if attr in _PATHS:
                return self._of(owner)
            case ast.Name(id=name, ctx=ast.Load()) if name == "__path__" or name in self._imported:
                package, _, last = self._imported.get(name, f"{self._own}.{name}").rpartition(".")
                return package if last in _PATHS else ""
            case ast.Call(func=ast.Name(id="getattr"), args=[owner, ast.Constant(value=str(attr)), *_]):
                return self._of(owner) if attr in _PATHS else ""
            case ast.Subscript(value=owner, slice=ast.Constant(value="__path__")):
                inner = owner.args[0] if isinstance(owner, ast.Call) and owner.args else owner
                return self._of(inner)
        return ""

    def _of(self, node: ast.expr) -> str:
        """Return the package or module that an expression is, "" where that is unknown."""
        match node:
            case ast.Attribute(value=owner, attr="__spec__" | "__dict__"):
                return self._of(owner)
            case ast.Subscript(value=owner, slice=key) if dotted(owner).rpartition(".")[2] == "modules":
                return self._named(key)
            case ast.Call(func=function, args=[key, *_]) if _called(function) in _IMPORTS:
                return self._named(key)
        first, _, rest = dotted(node).partition(".")
        known = self._imported.get(first) or self._bound.get(first, "")
        return ".".join(part for part in (known, rest) if part) if known else ""

    def _named(self, node: ast.expr) -> str:
        """Return what an expression names: a literal, or the first part of the own name."""
        match node:
            case ast.Constant(value=str(name)):
                return name
            case ast.Name(id="__package__"):
                return self._package
            case ast.Subscript(value=ast.Call(func=ast.Attribute(value=owner, attr="split" | "partition"))):
                return self._package.partition(".")[0] if dotted(owner) in ("__package__", "__name__") else ""
        return ""


def _called(function: ast.expr) -> str:
    """Return the last part of what is called: also of `__import__("pkgutil").extend_path(...)`."""
    return function.attr if isinstance(function, ast.Attribute) else dotted(function)
