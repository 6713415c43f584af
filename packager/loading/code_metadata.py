"""`importlib.metadata` as packaged code sees it: the archive's distributions first, then those of the target.

Classes stand in for classes: what their class methods look for, and what an entry point loads, is the archive's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import metadata
from importlib.metadata import Distribution, EntryPoint
from typing import Any

from .packaged_code import ImportRules, PackagedCode
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
    """Return what stands in the place of names of `importlib.metadata`; `import_module` is the archive's."""

    def distribution(distribution_name: str) -> Any:
        return distribution_for(code, import_module, distribution_name)

    def distributions(**params: Any) -> Iterator[Distribution]:
        return distributions_for(code, import_module, **params)

    def of_distribution(name: str) -> Callable[[str], Any]:
        return lambda distribution_name: getattr(distribution(distribution_name), name)

    def entry_points(**params: Any) -> Any:
        return entry_points_for(code, import_module, **params)

    def packages_distributions() -> dict[str, list[str]]:
        return packages_distributions_for(code, import_module, rules.suffix)

    class CodeDistribution(Distribution, metaclass=_standing_for(Distribution)):
        @classmethod
        def from_name(cls, name: str) -> Distribution:
            return distribution(name)  # type: ignore[no-any-return]  # declared of more than that

        @classmethod
        def discover(cls, **params: Any) -> Iterator[Distribution]:  # type: ignore[override]  # as its callers do
            return distributions(**params)

    class CodeEntryPoint(StoredEntryPoint, metaclass=_standing_for(EntryPoint)):
        def __init__(self, name: str, value: str, group: str) -> None:
            super().__init__(name, value, group)
            self.of(None, import_module)

    return {
        "distribution": distribution,
        "distributions": distributions,
        **{name: of_distribution(name) for name in ("metadata", "version", "requires", "files")},
        "entry_points": entry_points,
        "packages_distributions": packages_distributions,
        "Distribution": _named(CodeDistribution, "Distribution"),
        "EntryPoint": _named(CodeEntryPoint, "EntryPoint"),
    }


def _standing_for(real: type) -> Any:
    """Return a metaclass whose class stands for `real` where `isinstance` and `issubclass` ask."""

    class StandsFor(type(real)):  # type: ignore[misc]  # a class that is known when it is run
        def __instancecheck__(cls, instance: Any) -> bool:
            return isinstance(instance, real) if _is_it(cls) else super().__instancecheck__(instance)

        def __subclasscheck__(cls, subclass: type) -> bool:
            return issubclass(subclass, real) if _is_it(cls) else super().__subclasscheck__(subclass)

    def _is_it(cls: type) -> bool:
        return type(cls.__mro__[1]) is not StandsFor

    return StandsFor


def _named(cls: type, name: str) -> type:
    cls.__name__ = cls.__qualname__ = name
    cls.__module__ = metadata.__name__
    return cls
