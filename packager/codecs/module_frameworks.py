"""What kellet and PyTorch say of their modules, in words that are the same for both; and walking a tree."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from packager.archive import FREE_MODULE_PATHS, MAX_MODULE_PATH, PATHS_PER_MODULE

from .base import Encoding, TensorData


@dataclass(frozen=True, slots=True)
class Slot:
    """A place of a module that holds a tensor of its state: `table[name]`, under `key` in the state."""

    key: str
    table: dict[str, Any]
    name: str

    @property
    def value(self) -> Any:
        """The tensor in the slot."""
        return self.table[self.name]


@dataclass(frozen=True, slots=True)
class Hook:
    """A registered hook: the kind of registration, its id in this process, and its options."""

    kind: str
    id: int
    hook: Any
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class SavedModules:
    """What is known of modules during one encoding.

    `captured` are modules whose state is taken care of; `dropped` maps tensors whose values a hook
    replaced to the keys they had; `registries` maps the registries of hooks to (owner, kind);
    `kept` keeps all these ids valid.
    """

    captured: set[int] = field(default_factory=set)
    dropped: dict[int, str] = field(default_factory=dict)
    registries: dict[int, tuple[Any, str]] = field(default_factory=dict)
    kept: list[Any] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class EmptySlots:
    """Tensors that were built without their values, because a state-dict hook had replaced those."""

    tensors: dict[int, Any] = field(default_factory=dict)


class ModuleFramework:
    """One framework. Its modules keep what they own in `_parameters`, `_buffers` and `_modules`."""

    family: ClassVar[str]

    def base(self) -> Any:
        """The class `Module` of the framework."""
        raise NotImplementedError

    def stands_for(self, module: Any) -> Any:
        """The module that a mere wrapper stands for; None for others."""
        return None

    # --- tensors ---

    def is_tensor(self, value: Any) -> bool:
        """Whether a value is a tensor of the framework."""
        raise NotImplementedError

    def memory_of(self, tensor: Any) -> Hashable:
        """What two tensors have in common that are one view of one memory: address, dtype, shape, strides."""
        raise NotImplementedError

    def memory(self, tensor: Any, context: Encoding) -> Sequence[TensorData]:
        """The memory of a tensor, where it has any that may overlap with that of others."""
        raise NotImplementedError

    # --- hooks ---

    def hooks_of(self, module: Any) -> list[Hook]:
        """All hooks of one module, in the order in which they are called within their kind."""
        raise NotImplementedError

    def registries_of(self, module: Any) -> Iterator[tuple[Any, str]]:
        """The registries that handles of this module's hooks refer to, with their kinds."""
        raise NotImplementedError

    def hook_attributes(self) -> frozenset[str]:
        """The attributes in which the framework keeps hooks."""
        raise NotImplementedError

    def register(self, module: Any, kind: str, hook: Any, options: Mapping[str, Any]) -> int:
        """Register a hook on a module that has been built; return its id here."""
        raise NotImplementedError

    def owner_of(self, hook: Any) -> Any:
        """The object that a hook is a part of; None for a function, and for an object that can be called."""
        owner = getattr(hook, "__self__", None)
        return None if isinstance(owner, type) else owner

    # --- states ---

    def make_state(self, items: Mapping[str, Any], metadata: Any) -> Any:
        """A state dict of the framework."""
        raise NotImplementedError

    def loads_by_itself(self, module: Any) -> bool:
        """Whether loading a state into this module runs a hook, or an override."""
        raise NotImplementedError

    # --- walking ---

    def slots(self, root: Any) -> Iterator[Slot]:
        """Every place whose tensor is state, in the order of `state_dict()`; tied ones under each name."""
        for path, module in self.walk(root):
            prefix = f"{path}." if path else ""
            transient = module._non_persistent_buffers_set
            for name, value in module._parameters.items():
                if value is not None:
                    yield Slot(prefix + name, module._parameters, name)
            for name, value in module._buffers.items():
                if value is not None and name not in transient:
                    yield Slot(prefix + name, module._buffers, name)

    def walk(self, root: Any, *, strict: bool = False) -> Iterator[tuple[str, Any]]:
        """Modules with their paths, parents first; one under several names comes under each.

        With `strict`, raise ValueError for a tree that is none.
        """
        pending = [("", root)]
        count, distinct = 0, set()
        while pending:
            path, module = pending.pop()
            if strict:
                count += 1
                distinct.add(id(module))
                if count > FREE_MODULE_PATHS + PATHS_PER_MODULE * len(distinct):
                    raise ValueError(f"{len(distinct)} modules hold each other under more than {count} names")
            if strict and (not isinstance(module, self.base()) or len(path) > MAX_MODULE_PATH):
                raise ValueError(f"what stands at {path[:80]!r} is no module, or a module holds itself")
            if strict and not (isinstance(module._modules, dict) and _are_names(module._modules)):
                raise ValueError(f"module {path[:80]!r} has no table of modules by name")
            yield path, module
            below = [(f"{path}.{name}" if path else name, child) for name, child in module._modules.items()]
            pending += [(name, child) for name, child in reversed(below) if child is not None]

    def check_tree(self, root: Any) -> None:
        """Raise ValueError unless the tables of a module from an archive hold what they are for."""
        for path, module in self.walk(root, strict=True):
            self.check_tables(module, path)

    def check_tables(self, module: Any, path: str = "") -> None:
        """Raise ValueError unless the tables of one module hold what they are for."""
        tables = [module._parameters, module._buffers]
        if not all(type(table) is dict and _are_names(table) for table in tables):
            raise ValueError(f"module {path!r} has parameters or buffers without a name")
        values = [value for table in tables for value in table.values()]
        if not all(value is None or self.is_tensor(value) for value in values):
            raise ValueError(f"module {path!r} has parameters or buffers that are no tensors")
        if not isinstance(module._non_persistent_buffers_set, (set, frozenset)):
            raise ValueError(f"module {path!r} has no set of buffers that are not saved")


def _are_names(table: Any) -> bool:
    return all(type(name) is str for name in table)
