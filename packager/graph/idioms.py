"""The idioms that a scan understands: tests of `if`, what handlers catch, packages that import lazily.

A test is read as a small expression with three values, a tuple that begins with its form:

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

blocks.py evaluates them; what it cannot tell is None, and None is always followed.

Nothing here knows a particular package. A module is lazy when it replaces itself in `sys.modules`, has a
module `__getattr__`, or calls an `attach` function. Its table is read off dict literals at module level
(name -> module, module -> [names], `d["module"] = [...]`); what it imports under TYPE_CHECKING belongs to
the table too, and is found among the scan's imports.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator
from typing import Any

Guard = tuple[Any, ...]
UNKNOWN: Guard = ("?",)

_AVAILABLE = re.compile(r"_?ha(?:s|ve)_\w+|\w+_(?:available|installed|importable)", re.I)
_PROBE = re.compile(
    r"_?(?:is|has|have)_\w*package\w*|_?(?:package|module)_(?:available|installed|exists)", re.I
)
_FLAG = re.compile(r"_?[A-Z][A-Z0-9_]+|_?(?:has|have|is|use|with|no)_\w+|\w*(?:available|installed)\w*", re.I)
_IMPORT_ERRORS = frozenset({"ImportError", "ModuleNotFoundError"})
_BROAD_ERRORS = frozenset({"Exception", "BaseException"})
_ATTACH = frozenset(["attach", "attach_stub"])
_SUBJECTS = {"sys.platform": "platform", "os.name": "os", "platform.system": "system"}
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


def read_test(test: ast.expr, local: Collection[str] = ()) -> Guard:
    """Return the expression for `test`; UNKNOWN where no part of it can be read.

    Names are read where they are spelt like flags, and those in `local` however they are spelt.
    """
    match test:
        case ast.Constant(value=value):
            return ("const", value if value is None else bool(value))
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return negated(read_test(operand, local))
        case ast.BoolOp(op=op, values=values):
            parts = tuple(read_test(value, local) for value in values)
            form = "and" if isinstance(op, ast.And) else "or"
            return UNKNOWN if all(part == UNKNOWN for part in parts) else (form, parts)
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return _read_comparison(left, op, right)
        case ast.Call():
            return _read_call(test)
        case ast.Subscript(value=ast.Call() as call, slice=ast.Constant(value=0)):
            return _read_call(call)  # `_is_package_available("x")[0]`
        case ast.Name(id=name) if name in local:
            return ("name", name)
        case ast.Name() | ast.Attribute():
            return _read_name(test)
    return UNKNOWN


def negated(guard: Guard) -> Guard:
    """Return the expression for `not guard`."""
    if guard == UNKNOWN:
        return UNKNOWN
    return guard[1] if guard[0] == "not" else ("not", guard)


def dotted(node: ast.AST) -> str:
    """Return the dotted name that `node` spells, "" for any other expression."""
    if isinstance(node, ast.Name):
        return node.id
    spelt = ""
    while isinstance(node, ast.Attribute):
        spelt = f"{node.attr}.{spelt}" if spelt else node.attr
        node = node.value
    return f"{node.id}.{spelt}" if spelt and isinstance(node, ast.Name) else ""


def caught_by(caught: ast.expr | None) -> str:
    """Return what a handler catches: "import" errors alone, "any" error, or "other" ones."""
    if caught is None:
        return "any"
    kinds = caught.elts if isinstance(caught, ast.Tuple) else [caught]
    names = {dotted(kind).rpartition(".")[2] for kind in kinds}
    if names <= _IMPORT_ERRORS:
        return "import"
    return "any" if names & (_IMPORT_ERRORS | _BROAD_ERRORS) else "other"


def is_lazy(tree: ast.Module) -> bool:
    """Say whether the names of this module appear when they are asked for."""
    for node in _statements(tree):
        match node:
            case ast.FunctionDef(name="__getattr__"):
                return True
            case ast.Assign(targets=targets, value=value):
                if any(_is_own_entry(target) for target in targets) or _is_attach(value):
                    return True
            case ast.Expr(value=ast.Call(func=function)) if dotted(function) == "sys.modules.update":
                return True
    return False


def read_table(tree: ast.Module) -> tuple[tuple[str, str, int], ...]:
    """List (name, module, line) for all dict literals that look like a table, in source order.

    Both directions are given for a dict of strings to strings: which side is a module, the walk
    can tell and this cannot.
    """
    table: list[tuple[str, str, int]] = []
    for node in _statements(tree):
        match node:
            case ast.Assign(targets=[ast.Subscript(slice=ast.Constant(value=str(module)))], value=value):
                table.extend((name, module, node.lineno) for name in _strings(value))
            case ast.Assign(value=value) | ast.AnnAssign(value=ast.expr() as value):
                table.extend(_entries_within(value))
            case ast.Expr(value=ast.Call(func=ast.Attribute(attr="update" | "extend"), args=args) as call):
                module = _subscripted(call)
                for argument in args:
                    if module:
                        table.extend((name, module, node.lineno) for name in _strings(argument))
                    else:
                        table.extend(_entries_within(argument))
    return tuple(dict.fromkeys(table))


def is_rewritable(tree: ast.Module) -> bool:
    """Say whether the module is made of imports, constants, a docstring, `__all__` and TYPE_CHECKING."""
    for index, node in enumerate(tree.body):
        match node:
            case ast.Import() | ast.Pass():
                continue
            case ast.ImportFrom():
                continue
            case ast.Expr(value=ast.Constant(value=str())) if index == 0:
                continue
            case ast.If(test=test, orelse=[]) if is_typing_test(test):
                continue
            case (
                ast.Assign(targets=[ast.Name()], value=value)
                | ast.AnnAssign(target=ast.Name(), value=ast.expr() as value)
            ) if _is_constant(value):
                continue
        return False
    return bool(tree.body)


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
        return found if isinstance(op, ast.IsNot) else negated(found)
    sign = _COMPARISONS.get(type(op))
    if sign is None:
        return UNKNOWN
    called = isinstance(left, ast.Call)
    form = _SUBJECTS.get(dotted(left.func if isinstance(left, ast.Call) else left), "")
    if form and called == (form == "system"):
        return _comparison(form, sign, _literal(right))
    return _version_comparison(left, sign, _literal(right))


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


def _statements(tree: ast.Module) -> Iterator[ast.stmt]:
    """Yield every statement outside functions and classes, and the functions and classes themselves."""
    waiting: list[ast.stmt] = list(reversed(tree.body))
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, (ast.If, ast.Try, ast.For, ast.While, ast.With)):
            if isinstance(node, ast.If) and is_typing_test(node.test):
                waiting.extend(reversed(node.orelse))
                continue
            inner = [*node.body, *getattr(node, "orelse", ()), *getattr(node, "finalbody", ())]
            for handler in getattr(node, "handlers", ()):
                inner.extend(handler.body)
            waiting.extend(reversed(inner))


def _is_own_entry(target: ast.expr) -> bool:
    return (
        isinstance(target, ast.Subscript)
        and dotted(target.value) in ("sys.modules", "modules", "_sys.modules")
        and dotted(target.slice) == "__name__"
    )


def _is_attach(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and dotted(value.func).rpartition(".")[2] in _ATTACH


def _entries_within(value: ast.expr) -> Iterator[tuple[str, str, int]]:
    """Yield the entries of every dict literal in an expression (also an argument of a call)."""
    for node in ast.walk(value):
        if not isinstance(node, ast.Dict):
            continue
        for key, item in zip(node.keys, node.values, strict=True):
            if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
                continue
            if isinstance(item, ast.Constant) and isinstance(item.value, str):
                yield key.value, item.value, key.lineno
                yield item.value, key.value, key.lineno
            elif isinstance(item, (ast.List, ast.Set, ast.Tuple)):
                strings = _strings(item)
                if isinstance(item, ast.Tuple) and 1 <= len(strings) <= 2 and "." in strings[0]:
                    yield key.value, strings[0], key.lineno
                yield from ((name, key.value, key.lineno) for name in strings)


def _strings(value: ast.expr) -> list[str]:
    if not isinstance(value, (ast.List, ast.Set, ast.Tuple)):
        return []
    return [
        part.value for part in value.elts if isinstance(part, ast.Constant) and isinstance(part.value, str)
    ]


def _subscripted(call: ast.Call) -> str:
    """Return `module` in `table["module"].extend(...)`."""
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    if isinstance(owner, ast.Subscript) and isinstance(owner.slice, ast.Constant):
        return owner.slice.value if isinstance(owner.slice.value, str) else ""
    return ""


def _is_constant(value: ast.expr) -> bool:
    return all(
        isinstance(node, (ast.Constant, ast.List, ast.Tuple, ast.Load, ast.UnaryOp, ast.USub))
        for node in ast.walk(value)
    )
