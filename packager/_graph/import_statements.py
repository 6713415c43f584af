"""The import statements of one source, each with when it runs, and the names that it offers to others.

They are read by one parse, and nothing is run. A record says nothing of the module's name or place, so it is
kept by the digest of the source.

Nothing here knows a particular package. A module is lazy when it has a `__getattr__`, or puts something else
into its place in `sys.modules`. Its table is read off dict literals (name -> module, module -> [names]) at
the top level and in that `__getattr__`, and off `d["module"] = [...]`. What it imports under TYPE_CHECKING
belongs to the table too, and is among the import statements.
"""

from __future__ import annotations

import ast
import re
import warnings
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

_ALIAS = re.compile(rb"import_module\s+as\s+(\w+)")
_OWN_PACKAGE = ("__package__", "__spec__.parent")
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

    What stands under `if __name__ == "__main__"` is not in the record. `level` counts the leading dots.
    `names` are (name, bound as) pairs; `import a.b` has none.
    """

    line: int
    kind: str
    function: str
    level: int
    module: str
    names: tuple[tuple[str, str], ...] = ()


class Computed(NamedTuple):
    """An import whose name is computed, or a look for entry points: its text, and the function around it."""

    line: int
    text: str
    function: str


class ModuleNames(NamedTuple):
    """What a module offers, as far as it stands in its text.

    `bound` are the names that its top level binds always, or by an import. `exports` is a literal `__all__`,
    with "*" where part of it is computed; None without one. `lazy` is None for ordinary modules, else (name,
    module, line) of the lazy table, where the module is spelt as in the source, perhaps with `:attribute`.
    """

    bound: tuple[str, ...]
    exports: tuple[str, ...] | None
    lazy: tuple[tuple[str, str, int], ...] | None


NO_NAMES = ModuleNames((), None, None)


class Statements(NamedTuple):
    """What is read of one source. `error` is (line, message) where Python cannot parse it, or None."""

    error: tuple[int, str] | None
    imports: tuple[Statement, ...] = ()
    computed: tuple[Computed, ...] = ()
    names: ModuleNames = NO_NAMES

    @classmethod
    def from_row(
        cls,
        error: tuple[int, str] | None,
        imports: Iterable[Any],
        computed: Iterable[Any],
        names: Iterable[Any],
    ) -> Statements:
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
        said = getattr(error, "msg", None) or str(error) or type(error).__name__
        advice = "; save it as UTF-8, or name its encoding in the first line: # coding: latin-1"
        return line, f"{said}{advice}" if "codec can't decode" in said else said


def statements_in(text: str) -> list[ast.stmt]:
    """Return the statements of a text; none where it is no Python."""
    tree = parsed(text)
    return tree.body if isinstance(tree, ast.Module) else []


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

    A relative name starts from `__package__`, or a literal package.
    """
    is_statement = function == "__import__"
    order = ("name", "globals", "locals", "fromlist", "level") if is_statement else ("name", "package")
    given = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
    given.update(zip(order, call.args, strict=False))
    spelt = _text(given.get("name"))
    name = spelt.lstrip(".")
    level = len(spelt) - len(name)
    if not all(name.split(".")):
        return None
    if is_statement:
        at, listed = given.get("level"), given.get("fromlist")
        asked = [_text(one) for one in listed.elts] if isinstance(listed, ast.List | ast.Tuple) else []
        level = at.value if isinstance(at, ast.Constant) and isinstance(at.value, int) else 0
        return Statement(call.lineno, *_told(around), level, name, tuple((one, one) for one in asked if one))
    package = given.get("package")
    if level and not (package and dotted(package) in _OWN_PACKAGE):
        parts = _text(package).split(".")
        if len(parts) < level or not parts[0]:
            return None
        level, name = 0, ".".join([*parts[: len(parts) - level + 1], name])
    return Statement(call.lineno, *_told(around), level, name)


def _text(node: ast.expr | None) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


# --- names ---


def names_of(tree: ast.Module) -> ModuleNames:
    """Read what a module offers.

    >>> names_of(ast.parse("__all__ = ['a']\\ndef __getattr__(name): ...\\n_table = {'a': '.b'}"))[1:]
    (('a',), (('a', '.b', 3), ('.b', 'a', 3)))
    """
    bound: dict[str, None] = {}
    exports: list[str] | None = None
    lazy = False
    statements = [*_top_level(tree)]
    for node, runs in statements:
        for name in _bound_by(node) if runs or isinstance(node, ast.Import | ast.ImportFrom) else ():
            bound[name] = None
        added = _added_to_all(node)
        if added is not None:
            exports = [*(exports or ()), *_literals(added)]
        lazy = lazy or _replaces_itself(node)
    lazy = lazy or "__getattr__" in bound
    return ModuleNames(
        tuple(bound),
        None if exports is None else tuple(dict.fromkeys(exports)),
        tuple(dict.fromkeys(_table([node for node, _ in statements]))) if lazy else None,
    )


def is_typing_test(test: ast.expr) -> bool:
    """Say whether this is `TYPE_CHECKING`, however it was imported, or that `or` some switch of the user."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or):
        return any(is_typing_test(value) for value in test.values)
    return dotted(test).rpartition(".")[2] == "TYPE_CHECKING"


def dotted(node: ast.AST) -> str:
    """Return the dotted name that `node` spells, "" for any other expression."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""


def _top_level(tree: ast.Module) -> Iterator[tuple[ast.stmt, bool]]:
    """Yield the statements outside of functions and classes that may run, and whether they always do."""
    waiting = [(node, True) for node in reversed(tree.body)]
    while waiting:
        node, runs = waiting.pop()
        yield node, runs
        inner: list[tuple[ast.stmt, bool]] = []
        if isinstance(node, ast.If) and is_typing_test(node.test):
            inner = [(one, runs) for one in node.orelse]
        elif isinstance(node, ast.With | ast.For):
            inner = [(one, runs) for one in (*node.body, *getattr(node, "orelse", ()))]
        elif isinstance(node, ast.If | ast.While | ast.Try | ast.TryStar):
            handlers = [one for handler in getattr(node, "handlers", ()) for one in handler.body]
            inner = [(one, False) for one in (*node.body, *handlers, *node.orelse)]
            inner += [(one, runs) for one in getattr(node, "finalbody", ())]
        waiting += reversed(inner)


def _bound_by(node: ast.stmt) -> Iterator[str]:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Import(names=names):
            yield from (alias.asname or alias.name.partition(".")[0] for alias in names)
        case ast.ImportFrom(names=names):
            yield from (alias.asname or alias.name for alias in names)
        case ast.Assign(targets=targets):
            yield from (name for target in targets for name in _names_in(target))
        case ast.AnnAssign(target=target, value=ast.expr()) | ast.AugAssign(target=target):
            yield from _names_in(target)


def _names_in(target: ast.expr) -> Iterator[str]:
    if isinstance(target, ast.Name):
        yield target.id
    elif isinstance(target, ast.Tuple | ast.List):
        yield from (one.id for one in target.elts if isinstance(one, ast.Name))


def _replaces_itself(node: ast.stmt) -> bool:
    """Say whether this puts something into `sys.modules[__name__]`."""
    match node:
        case ast.Assign(targets=targets):
            return any(
                isinstance(target, ast.Subscript)
                and dotted(target.value) in ("sys.modules", "modules", "_sys.modules")
                and dotted(target.slice) == "__name__"
                for target in targets
            )
        case ast.Expr(value=ast.Call(func=function)):
            return dotted(function) == "sys.modules.update"
    return False


def _added_to_all(node: ast.stmt) -> ast.expr | None:
    """Return what a statement puts into `__all__`, None for all other statements."""
    match node:
        case ast.Assign(targets=targets, value=value):
            names = [name for target in targets for name in _names_in(target)]
            return value if "__all__" in names else None
        case (
            ast.AugAssign(target=ast.Name(id="__all__"), value=value)
            | ast.AnnAssign(target=ast.Name(id="__all__"), value=ast.expr() as value)
            | ast.Expr(
                value=ast.Call(
                    func=ast.Attribute(value=ast.Name(id="__all__"), attr="extend" | "append"), args=[value]
                )
            )
        ):
            return value
    return None


def _literals(value: ast.expr) -> Iterator[str]:
    """Yield the strings of a literal, or of several added up; "*" for a part that is computed."""
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        yield value.value
    elif isinstance(value, ast.BinOp):
        yield from (*_literals(value.left), *_literals(value.right))
    elif isinstance(value, ast.List | ast.Tuple | ast.Set):
        for one in value.elts:
            yield from _literals(one)
    else:
        yield "*"


def _table(statements: list[ast.stmt]) -> Iterator[tuple[str, str, int]]:
    """Yield (name, module, line) for all dict literals that look like a table, in source order.

    Both directions are given for a dict of strings to strings: which side is a module the finder can tell.
    """
    for node in statements:
        match node:
            case ast.Assign(targets=[ast.Subscript(slice=ast.Constant(value=str(module)))], value=value):
                yield from ((name, module, node.lineno) for name in _strings(value))
            case ast.Expr(
                value=ast.Call(
                    func=ast.Attribute(
                        value=ast.Subscript(slice=ast.Constant(value=str(module))), attr="extend" | "update"
                    ),
                    args=[value],
                )
            ):
                yield from ((name, module, node.lineno) for name in _strings(value))
            case ast.Assign() | ast.AnnAssign() | ast.Expr() | ast.FunctionDef(name="__getattr__"):
                for one in ast.walk(node):
                    if isinstance(one, ast.Dict):
                        yield from _entries(one)


def _entries(table: ast.Dict) -> Iterator[tuple[str, str, int]]:
    for key, value in zip(table.keys, table.values, strict=True):
        if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
            continue
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            yield key.value, value.value, key.lineno
            yield value.value, key.value, key.lineno
        strings = _strings(value)
        if isinstance(value, ast.Tuple) and 1 <= len(strings) <= 2:
            yield key.value, ":".join(strings), key.lineno  # "Conv": (".layers", "Conv2d")
        yield from ((name, key.value, key.lineno) for name in strings)


def _strings(value: ast.expr) -> list[str]:
    elements = value.elts if isinstance(value, ast.List | ast.Set | ast.Tuple) else ()
    return [one.value for one in elements if isinstance(one, ast.Constant) and isinstance(one.value, str)]
