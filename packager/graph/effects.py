"""What running a statement of a script changes: the names whose values it writes to, by itself or by calls.

Functions and classes of the script are followed; for others the name tells (`append`, `register`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from .plain_values import FunctionNode, ScriptNames, dotted, root_of
from .statements import globals_written, is_main_guard

_MUTATORS = frozenset(
    "append extend insert remove pop popitem clear sort reverse update setdefault add discard appendleft "
    "extendleft popleft rotate put push fill resize move_to_end subtract difference_update "
    "intersection_update symmetric_difference_update __setitem__ __setattr__ __delitem__".split()
)
_REGISTERING = ("register", "registry", "add_", "set_", "hook", "plugin", "implements")
_CLASS_HOOKS = ("__init_subclass__",)
_META_HOOKS = ("__new__", "__init__", "__call__", "__prepare__")


@dataclass(frozen=True)
class _Summary:
    """What a call of a function changes: global names, and its own parameters by position."""

    names: frozenset[str]
    parameters: frozenset[int]


class Effects:
    """Effects of the statements of one script. `quiet` are names whose methods change nothing to keep."""

    def __init__(self, names: ScriptNames, quiet: frozenset[str]) -> None:
        self._names = names
        self._quiet = quiet
        self._known: dict[int, _Summary] = {}

    def of(self, node: ast.stmt) -> Mapping[str, int]:
        """The names that a statement changes when it runs, each with the line where it does."""
        found: dict[str, int] = {}
        for name, line in self._changes(node, top=True):
            found.setdefault(name, line)
        if is_main_guard(node):
            for part in ast.walk(node):
                if isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Load):
                    found.pop(part.id, None)  # a variable of the program
        return found

    def of_function(self, function: FunctionNode) -> frozenset[str]:
        """The global names that calls of a function change."""
        return self._summary(function).names

    def _changes(self, node: ast.AST, *, top: bool) -> Iterator[tuple[str, int]]:
        """Names that are changed where `node` runs; bodies of functions run when they are called."""
        if top and isinstance(node, FunctionNode | ast.ClassDef):
            yield from self._by_decorators(node)
            if isinstance(node, FunctionNode):
                return
            yield from ((name, node.lineno) for name in self._by_bases(node))
        if top and isinstance(node, ast.Lambda):
            return
        yield from self._own_changes(node)
        for child in ast.iter_child_nodes(node):
            yield from self._changes(child, top=top)

    def _own_changes(self, node: ast.AST) -> Iterator[tuple[str, int]]:
        if isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
            if root := root_of(node):
                yield root, node.lineno
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Del):
            yield node.id, node.lineno
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            yield node.target.id, node.lineno
        elif isinstance(node, ast.Call):
            yield from ((name, node.lineno) for name in self._by_call(node) if name)

    def _by_call(self, call: ast.Call) -> Iterator[str]:
        spelt = dotted(call.func)
        root, _, rest = spelt.partition(".")
        if spelt in ("setattr", "delattr") and call.args:
            yield root_of(call.args[0])
        elif spelt in self._names.functions:
            yield from self._by_function(self._names.functions[spelt], call.args)
        elif spelt in self._names.classes:
            for method in self._names.methods(spelt):
                if method.name in ("__init__", "__new__", "__post_init__"):
                    yield from self._by_function(method, [ast.Constant(None), *call.args])
        elif root in self._names.classes and "." not in rest and rest:
            for method in self._names.methods(root):
                if method.name == rest:
                    yield from self._by_function(method, [ast.Name(root, ast.Load()), *call.args])
            if rest in _MUTATORS or rest.lower().startswith(_REGISTERING):
                yield root
        elif isinstance(call.func, ast.Attribute) and _may_change(call.func.attr):
            inner = root_of(call.func)
            if inner in self._names.imports:  # what is registered with a module, or put into its table
                yield from self._definitions_among(call)
            elif inner not in self._quiet:
                yield inner
        elif root in self._names.imports and _may_change(self._names.full_name(call.func).rpartition(".")[2]):
            yield from self._definitions_among(call)

    def _by_function(self, function: FunctionNode, arguments: list[ast.expr]) -> Iterator[str]:
        summary = self._summary(function)
        yield from summary.names
        for at, argument in enumerate(arguments):
            if at in summary.parameters:
                yield root_of(argument)

    def _definitions_among(self, call: ast.Call) -> Iterator[str]:
        for argument in (*call.args, *(keyword.value for keyword in call.keywords)):
            if isinstance(argument, ast.Name) and (
                argument.id in self._names.functions or argument.id in self._names.classes
            ):
                yield argument.id

    def _by_decorators(self, node: FunctionNode | ast.ClassDef) -> Iterator[tuple[str, int]]:
        for decorator in node.decorator_list:
            called = decorator if isinstance(decorator, ast.Call) else ast.Call(decorator, [], [])
            ast.copy_location(called, decorator)
            for name, line in self._own_changes(called):
                if name != node.name:
                    yield name, line

    def _by_bases(self, node: ast.ClassDef, depth: int = 0) -> Iterator[str]:
        """What hooks of bases and metaclasses of the script change when a class is made."""
        metas = [keyword.value for keyword in node.keywords if keyword.arg == "metaclass"]
        for base, hooks in (
            *((one, _CLASS_HOOKS) for one in node.bases),
            *((one, _META_HOOKS) for one in metas),
        ):
            name = dotted(base)
            if name not in self._names.classes or depth > 50:
                continue
            for method in self._names.methods(name):
                if method.name in hooks:
                    summary = self._summary(method)
                    yield from summary.names
                    if summary.parameters:
                        yield name
                        yield from (dotted(one) for one in node.bases if dotted(one) in self._names.classes)
            yield from self._by_bases(self._names.classes[name], depth + 1)

    def _summary(self, function: FunctionNode) -> _Summary:
        """Changes of a function and of those inside it, which it may return."""
        known = self._known.get(id(function))
        if known is not None:
            return known
        self._known[id(function)] = _Summary(frozenset(), frozenset())  # for one that calls itself
        parameters = [arg.arg for arg in (*function.args.posonlyargs, *function.args.args)]
        written = globals_written(function)
        own = _locals(function) - written
        changed = {name for part in function.body for name, _ in self._changes(part, top=False)}
        summary = _Summary(
            frozenset((changed | written) - own),
            frozenset(at for at, name in enumerate(parameters) if name in changed),
        )
        self._known[id(function)] = summary
        return summary


def _may_change(attribute: str) -> bool:
    in_place = attribute.endswith("_") and not attribute.endswith("__")
    return attribute in _MUTATORS or in_place or attribute.lower().startswith(_REGISTERING)


def _locals(function: FunctionNode) -> set[str]:
    found = {part.arg for part in ast.walk(function) if isinstance(part, ast.arg)}
    for part in ast.walk(function):
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            found.add(part.id)
        elif isinstance(part, FunctionNode | ast.ClassDef) and part is not function:
            found.add(part.name)
        elif isinstance(part, ast.Import | ast.ImportFrom):
            found |= {alias.asname or alias.name.partition(".")[0] for alias in part.names}
    return found
