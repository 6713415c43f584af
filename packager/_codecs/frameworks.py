"""What kellet and PyTorch say of tensors and modules, in the same words for both; and a module's state.

`state_dict()` of each module that no other stored module holds is run with all its hooks. Where it is
what the module holds, nothing more is stored than that (a natural state); else the state itself is,
and values of the module that are not in it are not stored in any form: the slot keeps dtype and shape.

On loading `load_state_dict(..., assign=True)` runs with all hooks. It copies nothing, but it puts other
tensors in the place of those that were built. Whatever else holds a tensor of a module (`_flat_weights`
of an RNN, a tied module, a list of parameters, an optimiser) has to go on holding the module's own, and
so has what a load hook or an override collects meanwhile. So the tables of the modules are such, as long
as the load takes, that a tensor stays where it is and takes over the memory of the one that is assigned.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from packager._archive import FREE_MODULE_PATHS, MAX_MODULE_PATH, PATHS_PER_MODULE
from packager._names import is_from_archive
from packager._process import failure_of_model
from packager._quick_dataclasses import dataclass, field
from packager._texts import listed
from packager.errors import ArchiveError

from .base import CannotStore, Child, Encoding, Finish, LiteralValue, TensorData, expect

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    from typing import Any, ClassVar

STATE = 2
"""The stage of the second phase at which states are stored and loaded: the last."""


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


@dataclass(slots=True, eq=False)
class Saved:
    """What is known of modules and tensors during one encoding.

    `captured` are modules whose state is taken care of; `dropped` are tensors whose values a hook replaced;
    `registries` maps the registries of hooks to (owner, kind); `kept` keeps all these ids valid.
    """

    captured: set[int] = field(default_factory=set)
    dropped: set[int] = field(default_factory=set)
    registries: dict[int, tuple[Any, str]] = field(default_factory=dict)
    kept: list[Any] = field(default_factory=list)
    warned_of_gradients: bool = False


@dataclass(slots=True, eq=False)
class EmptySlots:
    """Tensors that were built without their values, because a state-dict hook had replaced those."""

    tensors: dict[int, Any] = field(default_factory=dict)


def require_leaf(tensor: Any, context: Encoding) -> None:
    """Warn of what is not stored with a tensor: its gradient, and its hooks.

    Raises CannotStore for a tensor that was computed with gradients.
    """
    saved = context.shared_state(Saved)
    if tensor.grad_fn is None and tensor.grad is not None and not saved.warned_of_gradients:
        saved.warned_of_gradients = True
        context.warn("gradients (.grad) are not stored, here and elsewhere")
    if any(getattr(tensor, name, None) for name in ("_backward_hooks", "_post_accumulate_grad_hooks")):
        context.warn("hooks on a tensor are left out; register them after loading")
    if tensor.grad_fn is not None:
        raise CannotStore(
            "a tensor with a graph of gradients (grad_fn), which cannot be stored",
            "store tensor.detach()",
        )


class Framework:
    """One framework. Its modules keep what they own in `_parameters`, `_buffers` and `_modules`."""

    family: ClassVar[str]

    def base(self) -> Any:
        """Return the class `Module` of the framework."""
        raise NotImplementedError

    def stands_for(self, module: object) -> Any:
        """Return the module that a mere wrapper stands for; None for others."""
        return None

    def is_tensor(self, value: object) -> bool:
        """Check whether a value is a tensor of the framework."""
        raise NotImplementedError

    def memory_of(self, tensor: object) -> Hashable:
        """Return what tensors that are one view of one memory share: address, dtype, shape, strides."""
        raise NotImplementedError

    def memory(self, tensor: object, context: Encoding) -> Sequence[TensorData]:
        """Return the memory of a tensor, where it has any that may overlap with that of others."""
        raise NotImplementedError

    def make_state(self, items: Mapping[str, Any], metadata: object) -> Any:
        """Make a state dict of the framework."""
        raise NotImplementedError

    def loads_by_itself(self, module: object) -> bool:
        """Check whether loading a state into this module runs a hook, or an override."""
        raise NotImplementedError

    def changes_by_loading(self, module: object) -> bool:
        """Check whether loading its own state may change a module of the versions that were stored."""
        return self.loads_by_itself(module)

    # --- walking ---

    def slots(self, root: object) -> Iterator[Slot]:
        """Yield each place whose tensor is state, in the order of a state dict; tied ones under each name."""
        for path, module in self.walk(root):
            prefix = f"{path}." if path else ""
            for table, left_out in _tables(module).values():
                for name, value in table.items():
                    if value is not None and name not in left_out:
                        yield Slot(prefix + name, table, name)

    def walk(self, root: Any, *, strict: bool = False) -> Iterator[tuple[str, Any]]:
        """Yield modules with their paths, parents first; one under several names comes under each.

        With `strict`, raises ValueError for what is no tree of modules.
        """
        pending = [("", root)]
        count, distinct = 0, set()
        while pending:
            path, module = pending.pop()
            if strict:
                count += 1
                distinct.add(id(module))
                most = FREE_MODULE_PATHS + PATHS_PER_MODULE * len(distinct)
                if count > most:
                    raise ValueError(
                        f"{len(distinct)} modules hold each other under at least {count} names; the limit is "
                        f"{most}"
                    )
                if not isinstance(module, self.base()):
                    raise ValueError(f"{path[:80]!r} is not a module")
                if len(path) > MAX_MODULE_PATH:
                    raise ValueError(
                        f"the path of a module, {path[:80]!r}..., has {len(path)} characters; the limit "
                        f"is {MAX_MODULE_PATH}. A module contains itself"
                    )
                if not (isinstance(module._modules, dict) and _are_names(module._modules)):
                    raise ValueError(f"module {path[:80]!r} has no dict of submodules by name")
            yield path, module
            below = [(f"{path}.{name}" if path else name, child) for name, child in module._modules.items()]
            pending += [(name, child) for name, child in reversed(below) if child is not None]

    def require_fit(self, root: object, items: Mapping[str, Any]) -> None:
        """Raise ValueError for values that the framework itself would refuse by asking and printing them."""

    def check_tables(self, module: Any, path: str = "") -> None:
        """Raise ValueError unless the tables of one module hold what they are for."""
        tables = [module._parameters, module._buffers]
        if not all(type(table) is dict and _are_names(table) for table in tables):
            raise ValueError(f"module {path!r} has parameters or buffers without a name")
        values = [value for table in tables for value in table.values()]
        if not all(value is None or self.is_tensor(value) for value in values):
            raise ValueError(f"module {path!r} has parameters or buffers that are not tensors")
        if not isinstance(module._non_persistent_buffers_set, (set, frozenset)):
            raise ValueError(f"module {path!r} has no set of non-persistent buffers")

    def _require_end_of_wrapping(self, module: Any, path: str) -> None:
        met: set[int] = set()
        while module is not None:
            if id(module) in met:
                raise ValueError(f"module {path!r} wraps itself")
            met.add(id(module))
            module = self.stands_for(module)

    # --- saving a state ---

    def capture_state(self, root: Any, context: Encoding) -> None:
        """Take the state of a module that no other one holds, with all its hooks.

        Raises CannotStore when `state_dict()` fails, or replaces values that are stored already.
        """
        try:
            state = root.state_dict()
        except Exception as error:
            raise CannotStore(
                f"state_dict() of {type(root).__qualname__} failed: {failure_of_model(error)}",
                "repair the hook or the override of state_dict that raised it",
            ) from error
        modules = list(root.modules())
        modules += [inner for inner in map(self.stands_for, modules) if inner is not None]
        saved = context.shared_state(Saved)
        saved.captured |= set(map(id, modules))
        saved.kept += [root, state, *modules]
        slots = list(self.slots(root))
        natural = self._is_natural(root, state, slots)
        if not natural:
            saved.dropped |= self._drop(state, slots, context)
        given = None if natural else state
        versions = self._versions(modules)
        if not natural or versions or any(map(self.loads_by_itself, modules)):
            context.defer(STATE, root, lambda: self._finish_state(given, slots, versions, context))

    def _drop(self, state: Any, slots: list[Slot], context: Encoding) -> set[int]:
        """Return the ids of the tensors whose values no entry of the state holds."""
        kept = {self.memory_of(value) for value in state.values() if self.is_tensor(value)}
        dropped = [slot for slot in slots if self.memory_of(slot.value) not in kept]
        for slot in dropped:
            if context.stored(slot.value):
                raise CannotStore(
                    f"a state-dict hook replaces {slot.key!r}, whose values another object stored before",
                    "store the module before the objects that share its tensors",
                )
            for memory in self.memory(slot.value, context):
                context.forbid(
                    memory, f"it shares memory with {slot.key!r}, whose values a state-dict hook removes"
                )
        return {id(slot.value) for slot in dropped}

    def _finish_state(
        self, state: Any, slots: list[Slot], versions: dict[type, int], context: Encoding
    ) -> Finish:
        literal: list[Any] = ["state", state is None, len(versions), *versions.values()]
        if state is None:
            return Finish(literal, tuple(versions))
        for slot in slots:  # a hook may give a part of what it takes out
            for memory in self.memory(slot.value, context):
                context.allow(memory)
        # A value that is a slot's shares its record; loading detaches it from the parameter again.
        mine = {self.memory_of(slot.value): slot.value for slot in reversed(slots)}
        values = [
            mine.get(self.memory_of(value), value) if self.is_tensor(value) else value
            for value in state.values()
        ]
        metadata = getattr(state, "_metadata", None)
        plain = None if metadata is None else {path: dict(known) for path, known in metadata.items()}
        labels = [*[""] * len(versions), *state, ""]
        return Finish([*literal, *state], (*versions, *values, plain), labels)

    def _versions(self, modules: Iterable[Any]) -> dict[type, int]:
        """Return the layout versions of classes that may be others where the object is loaded.

        Left out are the framework's own classes that still have its first version.
        """
        found = {type(module): type(module)._version for module in modules}
        first, own = self.base()._version, f"{self.family}."
        return {
            cls: version
            for cls, version in found.items()
            if type(version) is int and (version != first or not cls.__module__.startswith(own))
        }

    def _is_natural(self, root: Any, state: Any, slots: list[Slot]) -> bool:
        """Check whether the state is what the module holds, as it stands."""
        if type(state) is not type(self.make_state({}, {})) or list(state) != [slot.key for slot in slots]:
            return False
        if getattr(state, "_metadata", None) != self._natural_metadata(root):
            return False
        return all(
            self.is_tensor(value) and self.memory_of(value) == self.memory_of(slot.value)
            for value, slot in zip(state.values(), slots, strict=True)
        )

    def _natural_metadata(self, root: Any) -> dict[str, dict[str, Any]]:
        found = {}
        for path, module in self.walk(root):
            inner = self.stands_for(module)  # may be a container without entries, which is false
            found[path] = {"version": (module if inner is None else inner)._version}
        return found

    # --- loading a state ---

    def load_state(self, root: object, literal: object, children: Sequence[Any], empty: EmptySlots) -> None:
        """Load the stored state with all hooks; each slot keeps its own object.

        Raises ValueError for what is no tree of modules, classes of other versions, and missing values.
        """
        for path, module in self.walk(root, strict=True):
            self.check_tables(module, path)
            self._require_end_of_wrapping(module, path)
        natural, versions, keys = split_literal(literal)
        classes, values = children[: len(versions)], children[len(versions) :]
        self._compare_versions(classes, versions)
        if natural:
            if any(self.changes_by_loading(module) for _, module in self.walk(root)):
                items = {slot.key: slot.value.detach() for slot in self.slots(root)}
                self._load(root, self.make_state(items, self._natural_metadata(root)), {})
            return
        *values, metadata = values
        if metadata is not None and not (
            type(metadata) is dict and all(type(known) is dict for known in metadata.values())
        ):
            raise ValueError("the metadata of a state is a dict of dicts, or None")
        pairs = zip(keys, values, strict=True)
        items = {key: value.detach() if self.is_tensor(value) else value for key, value in pairs}
        self.require_fit(root, items)
        self._load(root, self.make_state(items, metadata), empty.tensors)

    def _compare_versions(self, classes: Sequence[Any], versions: Sequence[int]) -> None:
        """Demand the versions that classes had. Raises ValueError for other ones.

        A class of the archive has the source that it had. A higher version was set on it from outside, and is
        set again.
        """
        for cls, version in zip(classes, versions, strict=True):
            if is_from_archive(cls.__module__) and cls._version < version:
                type.__setattr__(cls, "_version", version)
        changed = [
            f"{cls.__qualname__}: version {version} in the archive, {getattr(cls, '_version', None)} here"
            for cls, version in zip(classes, versions, strict=True)
            if getattr(cls, "_version", None) != version
        ]
        if changed:
            raise ArchiveError(
                f"classes of the module have another version here: {listed(changed, apart='; ')}. Make the "
                "module with the code that is here, and migrate the stored state into it: "
                "module.load_state_dict(importer.load_state_dict(...))"
            ).holding(changed)

    def _load(self, root: Any, state: Any, empty: Mapping[int, Any]) -> None:
        before = [(slot.key, slot.value) for slot in self.slots(root)]
        with self._kept_tensors(root) as given:
            answer = root.load_state_dict(state, strict=False, assign=True)
        lost = [key for key, original in before if key in answer.missing_keys and id(original) in empty]
        if lost:
            raise ArchiveError(
                f"no load hook restored {listed([*map(repr, lost)])}, which a state-dict hook removed on "
                "saving; register the matching load hook in the module's __init__"
            ).holding(lost)
        for _, original in before:
            if id(original) in empty and id(original) not in given:
                # A load hook forgave that it is missing; it is as large as its shape from here on.
                original.data = original.detach().clone()

    @contextmanager
    def _kept_tensors(self, root: Any) -> Iterator[set[int]]:
        """Let each tensor that is state of `root`, or below it, keep its place and identity.

        Yields the ids of the tensors that were given the values of others, a set that grows.
        """
        given: set[int] = set()
        tables: dict[int, _KeptTable] = {}
        places: list[tuple[Any, str, _KeptTable]] = []
        for _, module in self.walk(root):
            while module is not None:
                for attribute, (table, left_out) in _tables(module).items():
                    if id(table) not in tables:
                        tables[id(table)] = _KeptTable(self, table, left_out, given)
                    places.append((module, attribute, tables[id(table)]))
                module = self.stands_for(module)
        for module, attribute, kept in places:
            vars(module)[attribute] = kept
        try:
            yield given
            for module, _, kept in places:
                # Show a class that looks at assignments, as an RNN does, the tensors that are there.
                if type(module).__setattr__ is not self.base().__setattr__:
                    for name in [name for name in kept.assigned if kept.get(name) is not None]:
                        setattr(module, name, kept[name])
        finally:
            for module, attribute, kept in places:
                vars(module)[attribute] = kept.table
            for kept in tables.values():
                kept.table.clear()
                kept.table.update(kept)


class _KeptTable(dict[str, "Any"]):
    """A table of tensors in which those that stood there from the beginning stay under their names."""

    def __init__(self, framework: Framework, table: dict[str, Any], left_out: Any, given: set[int]) -> None:
        super().__init__(table)
        self.table = table
        self.assigned: set[str] = set()
        self._framework = framework
        self._given = given
        self._tensors = {
            name: tensor for name, tensor in table.items() if tensor is not None and name not in left_out
        }

    def __setitem__(self, name: str, value: Any) -> None:
        tensor = self._tensors.get(name)
        if tensor is not None and value is not None and value is not tensor:
            self.assigned.add(name)
            self._given.add(id(tensor))
            if self._framework.memory_of(value) != self._framework.memory_of(tensor):
                tensor.data = value.data
            value = tensor
        super().__setitem__(name, value)

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        # A hook may copy its module: the copy is no part of this load.
        return dict, (dict(self),)


def _tables(module: Any) -> dict[str, tuple[dict[str, Any], Any]]:
    """Return the tables of a module's tensors by attribute, each with the names that are no state."""
    return {
        "_parameters": (module._parameters, ()),
        "_buffers": (module._buffers, module._non_persistent_buffers_set),
    }


def _are_names(table: Any) -> bool:
    return all(type(name) is str for name in table)


# --- the literal of a stored state ---


def check_state(literal: LiteralValue, children: Sequence[Child]) -> None:
    """Raise ValueError unless this is the second phase of a module's state."""
    expect(isinstance(literal, list) and literal[:1] == ["state"], "hooks or a state")
    natural, versions, keys = split_literal(literal)
    expect(len(children) == len(versions) + (0 if natural else len(keys) + 1), "classes and values")
    expect(all(child.kind == "global" for child in children[: len(versions)]), "classes")


def split_literal(literal: Any) -> tuple[bool, list[int], list[str]]:
    """Return whether a state is natural, the versions of classes, and the keys of a state that is not.

    Raises ValueError for what is no literal of a state.
    """
    _, natural, count, *rest = literal
    if type(natural) is not bool or type(count) is not int or not 0 <= count <= len(rest):
        raise ValueError("expected whether the state is natural, and the number of classes")
    versions, keys = rest[:count], rest[count:]
    if not all(type(version) is int for version in versions) or not all(type(key) is str for key in keys):
        raise ValueError("expected versions and keys")
    return natural, versions, keys
