"""Tests of `if` statements, read as small expressions with three values.

An expression is a tuple that begins with its form:

    ("const", value)                    True, False, None
    ("not", e) ("and", (e, ...)) ("or", (e, ...))
    ("notnone", e)                      e is not None
    ("version", op, (3, 9), n)          the first n parts of sys.version_info
    ("platform", op, text)              sys.platform; op also "startswith" and "in" (a tuple of texts)
    ("os", op, text)                    os.name
    ("system", op, text)                platform.system()
    ("find", module)                    importlib.util.find_spec(module) found something
    ("probe", name)                     a package, or a distribution, of that name is installed
    ("call", dotted name)               a call without arguments of a function such as is_x_available
    ("name", dotted name)               the value of a name
    ("?",)                              nothing that can be read

The walk evaluates them; what it cannot tell is None, and None is always followed.
"""

from __future__ import annotations

import ast
import os
import platform
import re
import sys
from collections.abc import Callable
from typing import Any

Guard = tuple[Any, ...]
UNKNOWN: Guard = ("?",)

_AVAILABLE = re.compile(r"_?ha(?:s|ve)_\w+|\w+_(?:available|installed|importable)", re.I)
_PROBE = re.compile(
    r"_?(?:is|has|have)_\w*package\w*|_?(?:package|module)_(?:available|installed|exists)", re.I
)
_FLAG = re.compile(r"_?[A-Z][A-Z0-9_]+|_?(?:has|have|is|use|with|no)_\w+|\w*(?:available|installed)\w*", re.I)
_AVAILABILITY = re.compile(r"_?(?:is|has|have)_\w+|\w+_available")
_LOOKED_FOR = re.compile(r"find_spec|package|available|installed|import_module|distribution|^version$")
_SYSTEM: dict[str, tuple[str, Callable[[], str]]] = {
    "platform": ("sys.platform", lambda: sys.platform),
    "os": ("os.name", lambda: os.name),
    "system": ("platform.system()", platform.system),
}
_IMPORT_ERRORS = frozenset({"ImportError", "ModuleNotFoundError"})
_BROAD_ERRORS = frozenset({"Exception", "BaseException"})
_COMPARISONS = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.In: "in",
    ast.NotIn: "not in",
}


def is_typing_test(test: ast.expr) -> bool:
    """Say whether this is `TYPE_CHECKING`, however it was imported, or that `or` some switch of the user."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or):
        return any(is_typing_test(value) for value in test.values)
    return dotted(test).rpartition(".")[2] == "TYPE_CHECKING"


def is_main_test(test: ast.expr) -> bool:
    """Say whether this is `__name__ == "__main__"`."""
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not isinstance(test.ops[0], ast.Eq):
        return False
    sides = (test.left, test.comparators[0])
    return any(dotted(side) == "__name__" for side in sides) and any(
        isinstance(side, ast.Constant) and side.value == "__main__" for side in sides
    )


def read_test(test: ast.expr) -> Guard:
    """Return the expression for `test`; UNKNOWN where no part of it can be read."""
    match test:
        case ast.Constant(value=value):
            return ("const", value if value is None else bool(value))
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return _negated(read_test(operand))
        case ast.BoolOp(op=op, values=values):
            parts = tuple(read_test(value) for value in values)
            form = "and" if isinstance(op, ast.And) else "or"
            return UNKNOWN if all(part == UNKNOWN for part in parts) else (form, parts)
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return _read_comparison(left, op, right)
        case ast.Call():
            return _read_call(test)
        case ast.Name() | ast.Attribute():
            return _read_name(test)
    return UNKNOWN


def availability(node: ast.FunctionDef | ast.AsyncFunctionDef) -> tuple[Guard | None, tuple[str, ...]] | None:
    """Read what `is_x_available` returns, where that can be read, and the modules it looks for; else None."""
    if _AVAILABILITY.fullmatch(node.name) is None:
        return None
    probes = []
    for part in ast.walk(node):
        match part:
            case ast.Call(func=function, args=[ast.Constant(value=str(name)), *_]):
                if _LOOKED_FOR.search(dotted(function).rpartition(".")[2]) and name.isidentifier():
                    probes.append(name)
    last = node.body[-1]
    returned = read_test(last.value) if isinstance(last, ast.Return) and last.value is not None else UNKNOWN
    return (None if returned == UNKNOWN else returned), tuple(probes)


def evaluate(guard: Guard, ask: Callable[[str, str], tuple[bool | None, str]]) -> tuple[bool | None, str]:
    """Return the value of `guard` here, and why; (None, "") where that cannot be told.

    `ask(form, name)` answers for the forms "find", "probe", "call", "name" and "notnone", which need to
    know the modules of this environment.
    """
    form = guard[0]
    if form == "const":
        return bool(guard[1]), "a constant"
    if form == "not":
        value, because = evaluate(guard[1], ask)
        return (None if value is None else not value), because
    if form in ("and", "or"):
        return _evaluate_many(form == "or", guard[1], ask)
    if form == "notnone" and guard[1][0] == "name":
        return ask("notnone", guard[1][1])
    if form in ("find", "probe", "call", "name"):
        return ask(form, guard[1])
    if form == "version":
        because = f"Python is {sys.version_info[0]}.{sys.version_info[1]} here"
        return _compare(tuple(sys.version_info[: guard[3]]), guard[1], guard[2]), because
    if form in _SYSTEM:
        subject, here = _SYSTEM[form][0], _SYSTEM[form][1]()
        return _compare(here, guard[1], guard[2]), f"{subject} is {here!r} here"
    return None, ""


def dotted(node: ast.AST) -> str:
    """Return the dotted name that `node` spells, "" for any other expression."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    parts.append(node.id)
    return ".".join(reversed(parts))


def caught_by(caught: ast.expr | None) -> str:
    """Return what a handler catches: "import" errors alone, "any" error, or "other" ones."""
    if caught is None:
        return "any"
    kinds = caught.elts if isinstance(caught, ast.Tuple) else [caught]
    names = {dotted(kind).rpartition(".")[2] for kind in kinds}
    if names <= _IMPORT_ERRORS:
        return "import"
    return "any" if names & (_IMPORT_ERRORS | _BROAD_ERRORS) else "other"


def _negated(guard: Guard) -> Guard:
    if guard == UNKNOWN:
        return UNKNOWN
    return guard[1] if guard[0] == "not" else ("not", guard)


def _read_call(call: ast.Call) -> Guard:
    name = dotted(call.func)
    last = name.rpartition(".")[2]
    if last in ("find_spec", "find_loader") and len(call.args) == 1:
        return _find(call.args[0])
    if last == "bool" and len(call.args) == 1:
        return read_test(call.args[0])
    if name.startswith("sys.platform.") and last in ("startswith", "endswith") and call.args:
        return _comparison("platform", last, _literal(call.args[0]))
    if call.args and _PROBE.fullmatch(last):
        named = _literal(call.args[0])
        return ("probe", named) if isinstance(named, str) and named.isidentifier() else UNKNOWN
    if not call.args and not call.keywords and _AVAILABLE.fullmatch(last):
        return ("call", name)
    return UNKNOWN


def _read_name(node: ast.expr) -> Guard:
    name = dotted(node)
    last = name.rpartition(".")[2]
    if last == "TYPE_CHECKING":
        return ("const", False)
    return ("name", name) if name and _FLAG.fullmatch(last) else UNKNOWN


def _read_comparison(left: ast.expr, op: ast.cmpop, right: ast.expr) -> Guard:
    if isinstance(right, ast.Constant) and right.value is None and isinstance(op, (ast.Is, ast.IsNot)):
        found = _not_none(left)
        return found if isinstance(op, ast.IsNot) else _negated(found)
    sign = _COMPARISONS.get(type(op))
    if sign is None:
        return UNKNOWN
    subject, value = dotted(left), _literal(right)
    if subject == "sys.platform":
        return _comparison("platform", sign, value)
    if subject == "os.name":
        return _comparison("os", sign, value)
    if isinstance(left, ast.Call) and dotted(left.func) == "platform.system":
        return _comparison("system", sign, value)
    return _version_comparison(left, sign, value)


def _not_none(left: ast.expr) -> Guard:
    if isinstance(left, ast.Call):
        found = _read_call(left)
        return found if found[0] == "find" else UNKNOWN
    name = dotted(left)
    return ("notnone", ("name", name)) if name and not name.startswith("self.") else UNKNOWN


def _version_comparison(left: ast.expr, sign: str, value: Any) -> Guard:
    """Read a comparison of sys.version_info, of its first parts, or of its major number."""
    width = 0
    if dotted(left) == "sys.version_info":
        width = 5
    elif dotted(left) == "sys.version_info.major":
        width, value = 1, (value,)
    elif isinstance(left, ast.Subscript) and dotted(left.value) == "sys.version_info":
        match left.slice:
            case ast.Slice(lower=None, upper=ast.Constant(value=int(upper)), step=None) if upper > 0:
                width = upper
            case ast.Constant(value=0):
                width, value = 1, (value,)
    numbers = isinstance(value, tuple) and all(isinstance(part, int) for part in value)
    return ("version", sign, value, width) if width and numbers and "in" not in sign else UNKNOWN


def _comparison(form: str, sign: str, value: Any) -> Guard:
    if sign in ("in", "not in", "startswith", "endswith"):
        many = value if isinstance(value, tuple) else (value,)
        fits, value = all(isinstance(part, str) for part in many), many
    else:
        fits = isinstance(value, str)
    return (form, sign, value) if fits else UNKNOWN


def _literal(node: ast.expr) -> Any:
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
        return tuple(part.value if isinstance(part, ast.Constant) else None for part in node.elts)
    return None


def _find(node: ast.expr) -> Guard:
    return ("find", node.value) if isinstance(node, ast.Constant) and isinstance(node.value, str) else UNKNOWN


def _evaluate_many(
    decisive: bool, parts: tuple[Guard, ...], ask: Callable[[str, str], tuple[bool | None, str]]
) -> tuple[bool | None, str]:
    answers = [evaluate(part, ask) for part in parts]
    for value, because in answers:
        if value is decisive:
            return value, because
    if any(value is None for value, _ in answers):
        return None, ""
    return not decisive, "; ".join(dict.fromkeys(because for _, because in answers))


def _compare(here: Any, sign: str, value: Any) -> bool:
    match sign:
        case "==":
            return bool(here == value)
        case "!=":
            return bool(here != value)
        case "<":
            return bool(here < value)
        case "<=":
            return bool(here <= value)
        case ">":
            return bool(here > value)
        case ">=":
            return bool(here >= value)
        case "in":
            return here in value
        case "not in":
            return here not in value
        case "startswith":
            return bool(here.startswith(value))
        case "endswith":
            return bool(here.endswith(value))
    raise ValueError(f"a guard compares with {sign!r}, which no reader writes")
