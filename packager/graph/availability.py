"""What a function such as `is_x_available` answers, read off its statements as a guard.

The statements are followed one after the other: what an `if` decides, what an import or a look at metadata
would raise and a handler answers, and what local names stand for. What cannot be read is UNKNOWN, and
three values keep the rest: `x is here and <unknown>` is False where x is absent.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence

from .idioms import UNKNOWN, Guard, caught_by, dotted, negated, read_test

_NAMED = re.compile(r"_?(?:is|has|have)_\w+|\w+_available")
_RAISING = frozenset(["version", "distribution", "import_module", "__import__"])
_MOST_STATEMENTS = 30
_NO: Guard = ("const", False)
_YES: Guard = ("const", True)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


def availability(node: ast.FunctionDef | ast.AsyncFunctionDef) -> tuple[Guard | None, tuple[str, ...]] | None:
    """Read what `is_x_available` returns, where that can be read, and the modules it looks for; else None."""
    if _NAMED.fullmatch(node.name) is None:
        return None
    if sum(isinstance(part, ast.stmt) for part in ast.walk(node)) > _MOST_STATEMENTS:
        return None, ()
    arguments = node.args
    unknown = dict.fromkeys(
        (one.arg for one in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)), UNKNOWN
    )
    answer = _answer(node.body, unknown, ("const", None))
    return (None if answer == UNKNOWN else answer), tuple(dict.fromkeys(_probed(answer)))


def _answer(statements: Sequence[ast.stmt], names: Mapping[str, Guard], after: Guard) -> Guard:
    """Return what running `statements` returns; `after` where they return nothing."""
    if not statements:
        return after
    node, rest = statements[0], statements[1:]
    match node:
        case ast.Return(value=value):
            return _all(_needed(node), _read(value, names))
        case ast.Raise():
            return _NO
        case ast.If(test=test, body=body, orelse=orelse):
            guard = _read(test, names)
            later = _answer(rest, _without(names, node), after)
            yes, no = _answer(body, names, later), _answer(orelse, names, later)
            return _all(_needed(test), _either(guard, yes, no))
        case ast.Try(handlers=handlers, body=body, orelse=orelse, finalbody=[]):
            later = _answer(rest, _without(names, node), after)
            caught = [one for one in handlers if caught_by(one.type) in ("import", "any")] or handlers
            failed = _answer(caught[0].body, names, later) if caught else _NO
            passed = [need for one in body for need in _needed(one)]
            passed += [UNKNOWN] if any(map(_may_fail, body)) else []
            return _either(_all(passed, _YES), _answer([*body, *orelse], names, later), failed)
        case ast.Assign(targets=[target], value=value):
            known = {**_without(names, node), **_bound(target, value, names)}
            return _all(_needed(node), _answer(rest, known, after))
        case (
            ast.For() | ast.While() | ast.With() | ast.Match() | ast.AsyncFor() | ast.AsyncWith() | ast.Try()
        ):
            if any(isinstance(part, ast.Return) for part in ast.walk(node)):
                return UNKNOWN
    return _all(_needed(node), _answer(rest, _without(names, node), after))


def _bound(target: ast.expr, value: ast.expr, names: Mapping[str, Guard]) -> dict[str, Guard]:
    """Return what an assignment says of a name: of the first, in `found, version = look_for("x")`."""
    if isinstance(target, ast.Name):
        return {target.id: _read(value, names)}
    if isinstance(target, ast.Tuple) and target.elts and isinstance(target.elts[0], ast.Name):
        guard = _read(value, names)
        return {target.elts[0].id: guard if guard[0] == "probe" else UNKNOWN}
    return {}


def _needed(node: ast.AST) -> list[Guard]:
    """Return what must be here so that a statement, or an expression, does not raise."""
    if isinstance(node, ast.Import):
        return [("find", alias.name) for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [("find", node.module)] if node.module and not node.level else []
    if not isinstance(node, (ast.Expr, ast.Assign, ast.Return, ast.expr)):
        return []
    calls = [part for part in ast.walk(node) if isinstance(part, ast.Call)]
    if any(isinstance(part, (*_FUNCTIONS, ast.BoolOp, ast.IfExp)) for part in ast.walk(node)):
        return []  # it need not be run
    return [
        ("probe", call.args[0].value)
        for call in calls
        if dotted(call.func).rpartition(".")[2] in _RAISING
        and call.args
        and isinstance(call.args[0], ast.Constant)
        and isinstance(call.args[0].value, str)
        and call.args[0].value.isidentifier()
    ]


def _may_fail(statement: ast.stmt) -> bool:
    """Say whether a statement calls what may raise for other reasons than that something is not here."""
    calls = [part for part in ast.walk(statement) if isinstance(part, ast.Call)]
    return any(
        dotted(call.func).rpartition(".")[2] not in _RAISING and read_test(call) == UNKNOWN for call in calls
    )


def _read(value: ast.expr | None, names: Mapping[str, Guard]) -> Guard:
    return ("const", None) if value is None else _with_names(read_test(value, names), names)


def _with_names(guard: Guard, names: Mapping[str, Guard]) -> Guard:
    """Put what local names stand for into a guard."""
    match guard:
        case ("name" | "call", name):
            return names.get(name.partition(".")[0], guard)
        case ("notnone", ("name", name)):
            known = names.get(name.partition(".")[0], guard)
            return known if known == guard or known[0] == "find" else UNKNOWN
        case ("not", inner):
            return negated(_with_names(inner, names))
        case ("and" | "or" as form, parts):
            return _joined(form, [_with_names(part, names) for part in parts])
    return guard


def _either(test: Guard, yes: Guard, no: Guard) -> Guard:
    """Return `yes if test else no`."""
    if yes == no:
        return yes
    if test in (_YES, _NO):
        return yes if test == _YES else no
    return _joined("or", [_joined("and", [test, yes]), _joined("and", [negated(test), no])])


def _all(needed: Sequence[Guard], answer: Guard) -> Guard:
    return _joined("and", [*needed, answer]) if needed else answer


def _joined(form: str, parts: Sequence[Guard]) -> Guard:
    """Join guards, without what decides nothing."""
    neutral, decisive = (_YES, _NO) if form == "and" else (_NO, _YES)
    parts = [_NO if part == ("const", None) else part for part in parts]
    kept = [part for part in dict.fromkeys(parts) if part != neutral]
    if decisive in kept:
        return decisive
    if not kept:
        return neutral
    if len(kept) == 1:
        return kept[0]
    return UNKNOWN if all(part == UNKNOWN for part in kept) else (form, tuple(kept))


def _without(names: Mapping[str, Guard], node: ast.AST) -> dict[str, Guard]:
    """Return what is known of names after a statement: nothing of those that it may bind."""
    bound = {
        part.id
        for part in ast.walk(node)
        if isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Load)
    }
    return {**names, **dict.fromkeys(bound, UNKNOWN)}


def _probed(guard: Guard) -> list[str]:
    """Return the modules that a guard looks for."""
    match guard:
        case ("find" | "probe", name):
            return [name]
        case ("not", inner):
            return _probed(inner)
        case ("and" | "or", parts):
            return [name for part in parts for name in _probed(part)]
    return []
