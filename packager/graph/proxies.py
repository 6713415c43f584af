"""What is given the name of a module: `fmt = Lazy(__name__ + ".fmt")`, where a method of `Lazy` imports that,
and `fast = optional("pkg.fast")`, where the function `optional` does.

The name is computed where it is imported, and mostly a text where the class or the function is called. So
those calls are looked at, in all modules that have it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from .idioms import dotted
from .module_table import ModuleTable, SourceModule
from .name_patterns import name_pattern
from .syntax import nodes_of

_CALLED = rb"(?:[\s)\\]|#[^\r\n]*[\r\n])*\("  # what may stand between a name and its parenthesis


def modules_given(
    table: ModuleTable, home: SourceModule, function: str, modules: Iterable[SourceModule]
) -> tuple[list[str], bool]:
    """Return the modules that calls name which give a name to import, and whether that is all of them.

    `function` in `home` imports. Where it is a method, its class is what is called. A function of the module
    is often given names of other packages, of which nothing is stored: just those of its callers' own are
    named, and never all.
    """
    called, dot, _ = function.partition(".")
    kind = "class" if dot else "def"
    if not called or all(one.kind != kind for one in home.scan.bindings.get(called, ())):
        return [], False
    found: list[str] = []
    is_whole = bool(dot)
    for module in modules:
        for call in _calls(module, home, called):
            names = [name for name in _named(module, call) if table.exists(name)]
            if not dot:
                top = module.name.partition(".")[0]
                names = [name for name in names if name.partition(".")[0] == top]
            found += names
            is_whole = is_whole and bool(names)
    return list(dict.fromkeys(found)), is_whole and bool(found)


def _calls(module: SourceModule, home: SourceModule, called: str) -> Iterator[ast.Call]:
    """Yield the calls of a name of `home` in a module: by itself, or as an attribute of what is imported."""
    source = module.source
    if source is None or not _may_call(source, called):
        return
    kinds = {one.kind for one in module.scan.bindings.get(called, ())}
    for call in nodes_of(ast.parse(source)):
        if not isinstance(call, ast.Call):
            continue
        owner, _, name = dotted(call.func).rpartition(".")
        if name != called:
            continue
        imported = {one.kind for one in module.scan.bindings.get(owner.partition(".")[0], ())}
        if "import" in imported if owner else module is home or "import" in kinds:
            yield call


def _may_call(source: bytes, called: str) -> bool:
    """Say whether a source may call a name; it is parsed then. Where it is defined it is not called."""
    places = re.finditer(rb"%b%b" % (re.escape(called.encode()), _CALLED), source)
    starts = (one.start() for one in places)
    return any(not source.endswith((b"class ", b"def "), max(0, at - 6), at) for at in starts)


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
