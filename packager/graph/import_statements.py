"""The import statements of one source, each with when it runs; read by one parse, and nothing is run.

A record says nothing of the module's name or place, so it is kept by the digest of the source.
"""

from __future__ import annotations

import ast
import re
import warnings
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from .module_names import NO_NAMES, ModuleNames, dotted, is_typing_test, names_of

_ALIAS = re.compile(rb"import_module\s+as\s+(\w+)")
_PACKAGES = ("__package__", "__spec__.parent")
_NAMES = ("__name__", "__spec__.name")
_CATCHES_IMPORTS = frozenset(["ImportError", "ModuleNotFoundError", "Exception", "BaseException"])


class _Around(NamedTuple):
    """When a statement runs: its kind, as in Statement, and the qualified name of what is around it."""

    kind: str
    place: str
    in_function: bool = False


class Statement(NamedTuple):
    """One import statement, or a call of `import_module` or `__import__` with a literal name.

    `kind` says when it runs, and is the kind of its edge:

    ============= ==========================================================================
    top           always: at the top level, also in a class, `for`, `with` and `finally`
    function      perhaps: in the function or lambda `function`
    try, except   perhaps: in a `try` or its `else`, in `with suppress(...)`; in a handler
    guard         perhaps: under `if`, `match` or `while`
    type_checking never: under `if TYPE_CHECKING`, which tells type checkers what names stand for
    ============= ==========================================================================

    What stands under `if __name__ == "__main__"` is not in the record. `level` counts the leading dots;
    they start from the module's own name where `from_name` says so, else from its package. `names` are
    (name, bound as) pairs; `import a.b` has none.
    """

    line: int
    kind: str
    function: str
    level: int
    module: str
    names: tuple[tuple[str, str], ...] = ()
    from_name: bool = False


class Computed(NamedTuple):
    """An import whose name is computed, or a look for entry points: its text, and the function around it."""

    line: int
    text: str
    function: str


class Statements(NamedTuple):
    """What is read of one source. `error` is (line, message) where Python cannot parse it, or None."""

    error: tuple[int, str] | None
    imports: tuple[Statement, ...] = ()
    computed: tuple[Computed, ...] = ()
    names: ModuleNames = NO_NAMES

    @classmethod
    def from_row(cls, error: Any, imports: Any, computed: Any, names: Any) -> Statements:
        """Undo what msgpack has made of a record. Raises TypeError for another shape."""
        return cls(
            error,
            tuple(map(Statement._make, imports)),
            tuple(map(Computed._make, computed)),
            ModuleNames._make(names),
        )


def parsed(source: bytes | str) -> ast.Module | tuple[int, str]:
    """Parse a source; return the line and message where Python cannot."""
    try:
        with warnings.catch_warnings():  # of "\d" in a library nobody here has to hear, nor is it an error
            warnings.simplefilter("ignore")
            return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", None) or 0
        return line, getattr(error, "msg", None) or str(error) or type(error).__name__


def read_statements(source: bytes) -> Statements:
    """Read the import statements of one source. Never raises: what Python cannot parse has `error` set.

    >>> read = read_statements(b"import a.b\\nif a.b:\\n    from .c import d as e")
    >>> [(one.line, one.kind, one.level, one.module, one.names) for one in read.imports]
    [(1, 'top', 0, 'a.b', ()), (3, 'guard', 1, 'c', (('d', 'e'),))]
    """
    tree = parsed(source)
    if isinstance(tree, tuple):
        return Statements(tree)
    words = [b"import", b"entry_points", *_ALIAS.findall(source)]  # a line without them imports nothing
    lines = [at for at, line in enumerate(source.splitlines(), 1) if any(map(line.__contains__, words))]
    reader = _Reader(tree, lines)
    return Statements(None, tuple(reader.imports), tuple(reader.computed), names_of(tree))


class _Reader:
    """Statements with a line among `lines`, outside in and in source order, by an explicit stack."""

    def __init__(self, tree: ast.Module, lines: list[int]) -> None:
        self.imports: list[Statement] = []
        self.computed: list[Computed] = []
        self._lines = lines
        self._importlibs = {"importlib"}
        self._functions = {"import_module", "__import__"}
        self._stack: list[tuple[ast.stmt, _Around]] = []
        self._push(tree.body, _Around("top", ""))
        while self._stack:
            node, around = self._stack.pop()
            if isinstance(node, ast.Import | ast.ImportFrom):
                self._import(node, around)
            else:
                for body, inside in reversed([*_bodies(node, around)]):
                    self._push(body, inside)
                self._read_calls(node, around)

    def _push(self, body: Iterable[ast.stmt], around: _Around) -> None:
        for node in reversed([*body]):
            at = bisect_left(self._lines, node.lineno)
            if at < len(self._lines) and self._lines[at] <= (node.end_lineno or node.lineno):
                self._stack.append((node, around))

    def _import(self, node: ast.Import | ast.ImportFrom, around: _Around) -> None:
        if isinstance(node, ast.Import):
            for alias in node.names:
                self.imports.append(Statement(node.lineno, *_told(around), 0, alias.name))
                if alias.name == "importlib" and alias.asname:
                    self._importlibs.add(alias.asname)
            return
        names = tuple((alias.name, alias.asname or alias.name) for alias in node.names)
        self.imports.append(Statement(node.lineno, *_told(around), node.level, node.module or "", names))
        if node.module == "importlib":
            self._functions.update(bound for name, bound in names if name == "import_module")

    # -- calls --------------------------------------------------------------------------------

    def _read_calls(self, statement: ast.stmt, around: _Around) -> None:
        """Read the calls in the expressions of a statement that import by a name."""
        waiting = [(node, around) for node in _expressions_of(statement)]
        for node, inside in waiting:  # grows while it is walked
            if isinstance(node, ast.Lambda) and inside.kind != "type_checking":
                inside = _Around("function", _inside(inside.place, "<lambda>"), True)
            elif isinstance(node, ast.IfExp | ast.BoolOp) and inside.kind == "top":
                inside = inside._replace(kind="guard")
            elif isinstance(node, ast.Call):
                self._read_call(node, inside)
            waiting += [(one, inside) for one in ast.iter_child_nodes(node)]

    def _read_call(self, call: ast.Call, around: _Around) -> None:
        spelt = dotted(call.func)
        owner, _, name = spelt.rpartition(".")
        if name == "entry_points":
            self.computed.append(Computed(call.lineno, ast.unparse(call), _told(around)[1]))
        elif name in self._functions and (not owner or owner in self._importlibs or name == "__import__"):
            found = _literal_import(call, name, around)
            if found is None:
                self.computed.append(Computed(call.lineno, ast.unparse(call), _told(around)[1]))
            else:
                self.imports.append(found)


def _bodies(node: ast.stmt, around: _Around) -> Iterator[tuple[list[ast.stmt], _Around]]:
    """Yield the statements directly inside of another one, in source order, each with when they run."""

    def perhaps(other: str) -> _Around:
        return around._replace(kind=other) if around.kind == "top" else around

    typing = around._replace(kind="type_checking")
    tried = around if around.kind == "type_checking" else around._replace(kind="try")
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            kind = around.kind if around.kind == "type_checking" else "function"
            yield node.body, _Around(kind, _inside(around.place, node.name), True)
        case ast.ClassDef():
            yield node.body, around._replace(place=_inside(around.place, node.name))
        case ast.If() if is_main_test(node.test):
            yield node.orelse, around
        case ast.If(test=ast.UnaryOp(op=ast.Not(), operand=test)) if is_typing_test(test):
            yield node.body, around
            yield node.orelse, typing
        case ast.If() if is_typing_test(node.test):
            yield node.body, typing
            yield node.orelse, around
        case ast.If() | ast.While():
            yield node.body, perhaps("guard")
            yield node.orelse, perhaps("guard")
        case ast.Match():
            for case in node.cases:
                yield case.body, perhaps("guard")
        case ast.Try() | ast.TryStar():
            yield node.body, tried
            for handler in node.handlers:
                yield handler.body, perhaps("except")
            yield node.orelse, perhaps("try")
            yield node.finalbody, around
        case ast.With() | ast.AsyncWith():
            yield node.body, tried if any(_suppresses(item.context_expr) for item in node.items) else around
        case ast.For() | ast.AsyncFor():
            yield node.body, around
            yield node.orelse, around


def _inside(place: str, name: str) -> str:
    return f"{place}.{name}" if place else name


def _told(around: _Around) -> tuple[str, str]:
    """Return kind and function: the class around a statement that runs with its module is none."""
    return around.kind, around.place if around.in_function or around.kind == "type_checking" else ""


def is_main_test(test: ast.expr) -> bool:
    """Say whether this is `__name__ == "__main__"`."""
    match test:
        case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]):
            sides = [dotted(side) or getattr(side, "value", "") for side in (left, right)]
            return sorted(map(str, sides)) == ["__main__", "__name__"]
    return False


def _suppresses(context: ast.expr) -> bool:
    """Say whether this is `contextlib.suppress` of what an import raises."""
    if not isinstance(context, ast.Call) or dotted(context.func).rpartition(".")[2] != "suppress":
        return False
    return any(dotted(one).rpartition(".")[2] in _CATCHES_IMPORTS for one in context.args)


def _expressions_of(statement: ast.stmt) -> list[ast.AST]:
    """Return the expressions of a statement without the statements inside it."""
    found: list[ast.AST] = []
    for node in ast.iter_child_nodes(statement):
        if isinstance(node, ast.match_case):
            found += [node.guard] if node.guard else []
        elif isinstance(node, ast.ExceptHandler):
            found += [node.type] if node.type else []
        elif not isinstance(node, ast.stmt):
            found.append(node)
    return found


def _literal_import(call: ast.Call, function: str, around: _Around) -> Statement | None:
    """Return the statement that a call with a literal name stands for; None for any other.

    A relative name starts from `__package__`, `__name__`, or a literal package.
    """
    is_statement = function == "__import__"
    order = ("name", "globals", "locals", "fromlist", "level") if is_statement else ("name", "package")
    given = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
    given.update(zip(order, call.args, strict=False))
    anchor, spelt = _spelt(given.get("name"), given.get("package"))
    name = spelt.lstrip(".")
    level = len(spelt) - len(name)
    if not all(name.split(".")):
        return None
    if is_statement and not anchor:
        at, listed = given.get("level"), given.get("fromlist")
        asked = [_text(one) for one in listed.elts] if isinstance(listed, ast.List | ast.Tuple) else []
        level = at.value if isinstance(at, ast.Constant) and isinstance(at.value, int) else 0
        return Statement(call.lineno, *_told(around), level, name, tuple((one, one) for one in asked if one))
    if level and anchor in (*_PACKAGES, *_NAMES):
        return Statement(call.lineno, *_told(around), level, name, (), anchor in _NAMES)
    if level:
        parts = _text(given.get("package")).split(".")
        if len(parts) < level or not parts[0]:
            return None
        name = ".".join([*parts[: len(parts) - level + 1], name])
    return Statement(call.lineno, *_told(around), 0, name)


def _spelt(name: ast.expr | None, package: ast.expr | None) -> tuple[str, str]:
    """Return what a relative name starts from, and the name: `__package__ + ".x"` is relative, too."""
    match name:
        case (
            ast.BinOp(left=left, op=ast.Add(), right=right)
            | ast.JoinedStr(values=[ast.FormattedValue(value=left), right])
        ) if dotted(left) in (*_PACKAGES, *_NAMES) and _text(right).startswith("."):
            return dotted(left), _text(right)
    return dotted(package) if package else "", _text(name)


def _text(node: ast.expr | None) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
