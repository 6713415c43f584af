"""Code that reads the folders of a package of several: `len(acme.__path__)`. In an archive it has one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from packager.graph import Walk
from packager.quick_dataclasses import dataclass

from .deciding import Decisions

_MOST_PLACES: Final = 4


@dataclass(frozen=True)
class FoldersRead:
    """A line of `module` that reads `__path__` of `package`; `place` says where."""

    module: str
    package: str
    place: str


def folders_read(walk: Walk, decisions: Decisions) -> Iterator[FoldersRead]:
    """Yield each read of the `__path__` of a stored package that has several folders here.

    What only lists the modules in them finds all of these in an archive, and is none.
    """
    modules = walk.modules
    stored = [name for name, decision in decisions.standing.items() if decision.action == "intern"]
    packages = (name for name in stored if name in modules and modules[name].is_package)
    spread = {name for name in packages if _count_of_folders(name, decisions) > 1}
    if not spread:
        return
    from packager.graph import paths_read  # few projects have packages in several folders

    for module in modules.values():
        if module.source is None or not module.followed:
            continue
        own = module.name if module.is_package else ""
        package = own or module.name.rpartition(".")[0]
        for name, line, begins, function in paths_read(module.source, package, spread, own):
            if not function or walk.is_live(module.name, begins):
                inside = f" in {function}" if function else ""
                yield FoldersRead(module.name, name, f"{module.file}:{line}{inside}")


def told_of_folders(package: str, places: Sequence[str], decisions: Decisions) -> str:
    """Say of a package how many folders it has here and there, where that is read, and what is the same."""
    more = f", and at {len(places) - _MOST_PLACES} more places" if len(places) > _MOST_PLACES else ""
    return (
        f"it lies in {_count_of_folders(package, decisions)} folders here, and in one in an archive, so that "
        f"its __path__, which is read at {', '.join(places[:_MOST_PLACES])}{more}, has one entry there; its "
        f"modules are all found, by pkgutil.iter_modules({package}.__path__), too"
    )


def _count_of_folders(package: str, decisions: Decisions) -> int:
    return len(decisions.sources.find(package).search)
