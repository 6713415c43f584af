"""`importlib.metadata` as packaged code sees it: the archive's distributions first, then those of the target.

Classes stand in for classes: what their class methods look for, and what an entry point loads, is the
archive's.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from importlib.metadata import Distribution, EntryPoint
from typing import Any

from .packaged_code import PROBED, ImportRules, PackagedCode
from .stored_distributions import (
    StoredEntryPoint,
    distribution_for,
    distributions_for,
    entry_points_for,
    packages_distributions_for,
)


def metadata_names(
    code: PackagedCode, rules: ImportRules, import_module: Callable[[str], Any]
) -> dict[str, Any]:
    """Return what stands in the place of names of `importlib.metadata`; `import_module` is the archive's.

    What the code looked for when the archive was made, and did not find, stays absent, as undeclared
    modules do.
    """
    absent = frozenset[str]() if rules.undeclared == "allow" else code.absent_distributions

    def distribution(distribution_name: str) -> Any:
        sys.audit(PROBED, "distribution", distribution_name)
        return distribution_for(code, import_module, distribution_name, absent)

    def distributions(**params: Any) -> Iterator[Distribution]:
        sys.audit(PROBED, "distributions", params.get("name") or "*")
        return distributions_for(code, import_module, absent, **params)

    def of_distribution(name: str) -> Callable[[str], Any]:
        return lambda distribution_name: getattr(distribution(distribution_name), name)

    def entry_points(**params: Any) -> Any:
        sys.audit(PROBED, "entry points", params.get("group") or "*")
        return entry_points_for(code, import_module, **params)

    def packages_distributions() -> dict[str, list[str]]:
        return packages_distributions_for(code, import_module, rules.suffix)

    def from_name(cls: type, /, name: str) -> Any:
        return distribution(name)

    def discover(cls: type, /, **params: Any) -> Iterator[Distribution]:
        return distributions(**params)

    def make(self: Any, name: str, value: str, group: str) -> None:
        StoredEntryPoint.__init__(self, name, value, group)
        self.of(None, import_module)

    found = {"from_name": classmethod(from_name), "discover": classmethod(discover)}
    return {
        "distribution": distribution,
        "distributions": distributions,
        **{name: of_distribution(name) for name in ("metadata", "version", "requires", "files")},
        "entry_points": entry_points,
        "packages_distributions": packages_distributions,
        "Distribution": _standing_for(Distribution, Distribution, found),
        "EntryPoint": _standing_for(EntryPoint, StoredEntryPoint, {"__init__": make}),
    }


def _standing_for(real: type, base: type, names: dict[str, Any]) -> type:
    """Return a class with other functions, which is `real` where `isinstance` and `issubclass` ask."""

    class StandsFor(type(real)):  # type: ignore[misc]  # a class that is known when it is run
        def __instancecheck__(cls, instance: Any) -> bool:
            return isinstance(instance, real) if cls is made else super().__instancecheck__(instance)

        def __subclasscheck__(cls, subclass: type) -> bool:
            return issubclass(subclass, real) if cls is made else super().__subclasscheck__(subclass)

    made: type = StandsFor(real.__name__, (base,), {"__module__": real.__module__, **names})
    return made
