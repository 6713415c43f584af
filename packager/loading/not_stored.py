"""Modules that are asked for from outside and are not in an archive: what is said, with names that are near.

No packaged code is to blame for these: the name is that of whoever called `import_module`.
"""

from __future__ import annotations

from collections.abc import Iterable

from packager.errors import ModuleNotStoredError, UndeclaredImportError
from packager.texts import did_you_mean, listed

from .packaged_code import PackagedCode


def undeclared(code: PackagedCode, name: str, top: str, archive: str) -> UndeclaredImportError:
    """Return the error for a module of which the archive has nothing, and which it did not declare either."""
    error = UndeclaredImportError(
        f"no module {name!r} is in {archive}, which has {_shown(code.owned)}, and {top!r} was not declared "
        f'extern when it was made{_near(name, code)} Export again with intern("{top}.**") or '
        f'extern("{top}.**"), or load with undeclared="allow"',
        name=top,
    )
    error.module = name
    return error.holding(sorted(code.owned))


def not_stored(code: PackagedCode, name: str, archive: str) -> ModuleNotStoredError:
    """Return the error for a module that the archive does not have, or leaves to others."""
    parent = name.rpartition(".")[0]
    children: list[str] = []
    if not parent:
        told = (
            f"No module named {name!r} here; {archive} has none, and leaves it to the environment: install it"
        )
    elif code.modules[parent].is_package:
        children = [record.name for record in code.children(parent)]
        told = (
            f"No module named {name!r} in {archive}; below {parent!r} there are {_shown(children)}"
            f'{_near(name, code)} If the project has it, export again with save_module("{name}")'
        )
    else:
        told = f"No module named {name!r} in {archive}; {parent!r} is not a package"
    return ModuleNotStoredError(told, name=name).holding(sorted(children))


def _near(name: str, code: PackagedCode) -> str:
    there = (own.name for own in code.modules.values() if own.name.partition(".")[0] in code.owned)
    return did_you_mean(name, there) or "."


def _shown(names: Iterable[str]) -> str:
    return listed(sorted(names)) or "none"
