"""The project's modules that a branch imports which does not run here, for what is or is not installed.

`try: import fast` and `except ImportError: from . import slow`: where `fast` is here, `slow` is not needed;
at a target without it, it is. So modules of the project go along with the branch that is not taken, as far as
they bring nothing with them that is not in already: no distribution, no module that is absent here, no
computed import, no file. All of these would be questions for the sake of code that does not run.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator

from .blocks import Blocks
from .idioms import Guard
from .import_follower import SOFT_KINDS, circumstance
from .module_table import ModuleTable, SourceModule
from .scan import Import

_MOST_MODULES = 50  # that one branch may bring
_PROBES = frozenset(["find", "probe", "call", "name", "notnone"])
_NEVER = frozenset(["type_checking", "main"])


def other_branches(module: SourceModule, blocks: Blocks) -> Iterator[Import]:
    """Yield the imports of a module that what is installed here keeps from running, outside of functions."""
    scan = module.scan
    for statement in scan.imports:
        around = list(_around(module, statement))
        if any(scan.blocks[at].kind in _NEVER or scan.blocks[at].function for at in around):
            continue
        hangs = any(
            block.kind in ("except", "else", "try") or (block.kind == "guard" and _asks(block.test))
            for block in (scan.blocks[at] for at in around)
        )
        if hangs and blocks.reached(module, statement.block, statement.order)[0] is False:
            yield statement


def modules_with(
    name: str, table: ModuleTable, decided: Collection[str], takes_in: Callable[[str], bool]
) -> list[str]:
    """Return `name` and the modules of its package that it needs besides; nothing where they need others."""
    own = name.partition(".")[0]
    needed: dict[str, None] = {}
    waiting = [name]
    while waiting:
        wanted = waiting.pop()
        if wanted in decided or wanted in needed:
            continue
        module = table[wanted]
        if table.exists(wanted) is not True or not takes_in(wanted) or module.source is None:
            return []
        needed[wanted] = None
        scan = module.scan
        asks = scan.dynamics or scan.literals or scan.own_path  # for modules, or for files
        if module.problem[0] or asks or len(needed) > _MOST_MODULES:
            return []
        for target, _ in _needs(module, table):
            top = target.partition(".")[0]
            if top == own:
                waiting.append(target)
            elif top not in sys.stdlib_module_names and target not in decided:
                return []
    return list(needed)


def stands_alone(
    name: str, table: ModuleTable, decided: Collection[str], takes_in: Callable[[str], bool]
) -> bool:
    """Say whether module `name` of a library and all that it needs besides can be stored without a question.

    That is its own package, the standard library, and what is decided already; what is absent here as well
    where a `try` stands around it. Files and computed imports are no hindrance, unlike in `modules_with`:
    code of a library may ask for both, and finds what is stored.
    """
    own = name.partition(".")[0]
    seen: set[str] = set()
    waiting = [name]
    while waiting:
        wanted = waiting.pop()
        if wanted in decided or wanted in seen:
            continue
        seen.add(wanted)
        module = table[wanted]
        if table.exists(wanted) is not True or not takes_in(wanted):
            return False
        if module.source is None or module.problem[0]:
            return False
        above = wanted.rpartition(".")[0]
        waiting += [above] if above else ()
        for target, statement in _needs(module, table):
            top = target.partition(".")[0]
            if top == own:
                waiting.append(target)
            elif top not in sys.stdlib_module_names and target not in decided:
                is_absent = target != "." and table.exists(target) is False
                if not is_absent or circumstance(module, statement)[0] not in SOFT_KINDS:
                    return False
    return True


def _around(module: SourceModule, statement: Import) -> Iterator[int]:
    at = statement.block
    while at >= 0:
        yield at
        at = module.scan.blocks[at].parent


def _asks(guard: Guard) -> bool:
    """Say whether a test asks what is installed, in any part."""
    if guard[0] in ("and", "or"):
        return any(_asks(part) for part in guard[1])
    return _asks(guard[1]) if guard[0] == "not" else guard[0] in _PROBES


def _needs(module: SourceModule, table: ModuleTable) -> Iterator[tuple[str, Import]]:
    """Yield the modules that any import of a module names, submodules too, each with the import."""
    for statement in module.scan.imports:
        if any(module.scan.blocks[at].kind in _NEVER for at in _around(module, statement)):
            continue
        target = module.target(statement)
        if target is None:  # it climbs out of the package
            yield ".", statement
            continue
        yield target, statement
        for name, _ in statement.names:
            if table.has_submodule(table[target], name):
                yield f"{target}.{name}", statement
