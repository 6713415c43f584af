"""Which small faults a file can have: a comparison, check, constant or condition, changed in one place."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PACKAGES = ("packager", "src/kellet")

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {ast.Add: ast.Sub, ast.Sub: ast.Add}


@dataclass(frozen=True)
class Fault:
    """One change to one file: what stands between two offsets is replaced.

    `where` names the class and function around it ("" in neither), and `before` and `after` are its lines.
    """

    file: str
    line: int
    last_line: int
    start: int
    end: int
    old: str
    new: str
    where: str = ""
    before: str = ""
    after: str = ""

    @property
    def room(self) -> str:
        """The room that the file is in, or the file itself: its tests are in the folder of that name."""
        return self.file.removeprefix("src/").split("/")[1].removesuffix(".py")

    @property
    def module(self) -> str:
        """The dotted name that the file is imported by."""
        return self.file.removeprefix("src/").removesuffix(".py").removesuffix("/__init__").replace("/", ".")

    def applied(self, source: str) -> str:
        """Return the source with the fault in it."""
        data = source.encode()
        return (data[: self.start] + self.new.encode() + data[self.end :]).decode()

    def __str__(self) -> str:
        return f"{self.file}:{self.line}\n    - {self.old}\n    + {self.new}"


def faults_in(root: Path, file: Path) -> list[Fault]:
    """Return every fault that a file can have, in the order of its lines."""
    source = file.read_text(encoding="utf-8")
    data = source.encode()
    starts = [0]
    for line in data.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found = []
    module = ast.parse(source)
    names = _names(module)
    for node, new in _changes(module):
        last = node.end_lineno or 0
        start, end = starts[node.lineno - 1] + node.col_offset, starts[last - 1] + (node.end_col_offset or 0)
        text = f"({new})" if isinstance(node, ast.Compare | ast.BoolOp) else new
        head, tail = data[starts[node.lineno - 1] : start].decode(), data[end : starts[last]].decode()
        old = data[start:end].decode()
        where = ".".join(name for name, lines in names if node.lineno in lines)
        before, after = (f"{head}{middle}{tail}".strip() for middle in (old, text))
        relative = str(file.relative_to(root))
        found.append(Fault(relative, node.lineno, last, start, end, old, text, where, before, after))
    return sorted(found, key=lambda fault: (fault.start, fault.end, fault.new))


def _names(module: ast.Module) -> list[tuple[str, range]]:
    """The names of classes and functions with their lines, outer ones first."""
    return [
        (node.name, range(node.lineno, (node.end_lineno or 0) + 1))
        for node in ast.walk(module)
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
    ]


_Change = tuple[ast.stmt | ast.expr, str]


def _changes(module: ast.Module) -> Iterator[_Change]:
    for statement in module.body:
        if isinstance(statement, ast.If) and "TYPE_CHECKING" in ast.unparse(statement.test):
            continue
        yield from _in_statement(statement)


def _in_statement(node: ast.AST) -> Iterator[_Change]:
    if isinstance(node, ast.expr):
        change = _of_expression(node)
        if change is not None:
            yield node, change
    elif isinstance(node, ast.If) and any(isinstance(inner, ast.Raise) for inner in node.body):
        if not node.orelse:
            yield node.test, "False"  # the check is left out
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield node, "pass"
    for child in _inner(node):
        yield from _in_statement(child)


def _of_expression(node: ast.expr) -> str | None:
    match node:
        case ast.Compare(left, [first, *rest], comparators):
            turned = _COMPARISONS[type(first)]()
            return ast.unparse(ast.Compare(left, [turned, *rest], comparators))
        case ast.BoolOp(operator, values):
            other = ast.And() if isinstance(operator, ast.Or) else ast.Or()
            return ast.unparse(ast.BoolOp(other, values))
        case ast.UnaryOp(ast.Not(), operand):
            return ast.unparse(operand)
        case ast.BinOp(left, operator, right) if type(operator) in _ARITHMETIC:
            if any(isinstance(inner, ast.JoinedStr) or _is_text(inner) for inner in ast.walk(node)):
                return None
            return f"({ast.unparse(ast.BinOp(left, _ARITHMETIC[type(operator)](), right))})"
        case ast.Constant(bool(value)):
            return repr(not value)
        case ast.Constant(int(value)):
            return repr(value + 1)
    return None


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)


def _inner(node: ast.AST) -> Iterator[ast.AST]:
    """What lies below a node and is run: no annotations, no messages of errors, no decorators."""
    match node:
        case ast.Raise() | ast.JoinedStr():
            return
        case ast.AnnAssign(_, _, value):
            if value is not None:
                yield value
            return
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            yield from node.args.defaults
            yield from (default for default in node.args.kw_defaults if default is not None)
            yield from node.body
            return
        case ast.ClassDef():
            yield from node.body
            return
    yield from ast.iter_child_nodes(node)
