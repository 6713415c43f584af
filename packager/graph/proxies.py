"""Objects that stand for modules: `fmt = Lazy(__name__ + ".fmt")`, where a method of `Lazy` imports that.

The name is computed where it is imported, and mostly a text where the object is made. So the calls of the
class are looked at, in all modules that have it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from .expressions import name_pattern
from .idioms import dotted
from .module_table import ModuleTable, SourceModule


def modules_given(
    table: ModuleTable, home: SourceModule, function: str, modules: Iterable[SourceModule]
) -> tuple[list[str], bool]:
    """Return the modules that a class is given by name where it is called, and whether that is all of them.

    `function` is the method in `home` that imports; nothing is known of one that is in no class.
    """
    cls, dot, _ = function.partition(".")
    if not dot or all(one.kind != "class" for one in home.scan.bindings.get(cls, ())):
        return [], False
    found: list[str] = []
    is_whole = True
    for module in modules:
        kinds = {one.kind for one in module.scan.bindings.get(cls, ())}
        has_it = module is home or "import" in kinds
        source = module.source if has_it else None
        if source is None:
            continue
        for call in ast.walk(ast.parse(source)):
            if isinstance(call, ast.Call) and dotted(call.func) == cls:
                names = [name for name in _named(module, call) if table.exists(name)]
                found += names
                is_whole = is_whole and bool(names)
    return list(dict.fromkeys(found)), is_whole and bool(found)


def _named(module: SourceModule, call: ast.Call) -> Iterator[str]:
    """Yield what the arguments of a call name, where they are texts that may be names of modules."""
    for argument in (*call.args, *(keyword.value for keyword in call.keywords)):
        pattern, anchor = name_pattern(argument)
        name = pattern.lstrip(".")
        if not name or not all(part.isidentifier() for part in name.split(".")):
            continue
        level = len(pattern) - len(name) if not anchor else 1
        base = module.name if anchor == "name" else module.package
        if level:
            parts = base.split(".")
            name = ".".join([*parts[: len(parts) - level + 1], name])
        yield name
