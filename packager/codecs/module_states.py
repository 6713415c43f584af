"""The state of modules as their state-dict hooks make it, on saving and on loading.

`state_dict()` of each module that no other stored module holds is run with all its hooks. Where it
is what the module holds, nothing more is stored than that (a natural state); else the state itself
is, and values of the module that are not in it are not stored in any form: the slot keeps dtype and
shape. On loading `load_state_dict(..., assign=True)` runs with all hooks, while each slot keeps its
own object (kept_tensors.py), so that ties and optimisers stay whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from .base import CannotStore, Child, Encoding, Finish, LiteralValue, expect
from .kept_tensors import kept_tensors
from .module_frameworks import EmptySlots, ModuleFramework, SavedModules, Slot

STATE = 2
"""The stage of the second phase at which states are stored and loaded: the last."""


class ModuleStates(ModuleFramework):
    """The part of a module's codec that speaks of its state."""

    # --- saving ---

    def capture_state(self, root: Any, saved: SavedModules, context: Encoding) -> None:
        """Take the state of a module that no other one holds, with all its hooks."""
        try:
            state = root.state_dict()
        except Exception as error:
            raise CannotStore(
                f"state_dict() of {type(root).__qualname__} failed: {type(error).__name__}: {error}",
                "repair the hook or the override of state_dict that raised it",
            ) from error
        modules = list(root.modules())
        modules += [inner for inner in map(self.stands_for, modules) if inner is not None]
        saved.captured |= set(map(id, modules))
        saved.kept += [root, state, *modules]
        slots = list(self.slots(root))
        natural = self._is_natural(root, state, slots)
        if not natural:
            self._drop(state, slots, saved, context)
        given = None if natural else state
        versions = self._versions(modules)
        if not natural or versions or any(map(self.loads_by_itself, modules)):
            context.defer(STATE, root, lambda: self._finish_state(given, slots, versions, context))

    def _drop(self, state: Any, slots: list[Slot], saved: SavedModules, context: Encoding) -> None:
        """Note the slots whose values no entry of the state holds."""
        kept = {self.memory_of(value) for value in state.values() if self.is_tensor(value)}
        for slot in slots:
            if self.memory_of(slot.value) in kept:
                continue
            if context.stored(slot.value):
                raise CannotStore(
                    f"a state-dict hook replaces {slot.key!r}, whose values another object had stored before",
                    "store the module before what shares its tensors",
                )
            saved.dropped[id(slot.value)] = slot.key
            for memory in self.memory(slot.value, context):
                context.forbid(
                    memory, f"it shares memory with {slot.key!r}, whose values a state-dict hook takes out"
                )

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
        """The layout versions of classes that may be others where the object is loaded.

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
        """Whether the state is what the module holds, as it stands."""
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

    # --- loading ---

    def check_state(self, literal: LiteralValue, children: Sequence[Child]) -> None:
        """Raise ValueError unless this is the second phase of a module's state."""
        expect(isinstance(literal, list) and literal[:1] == ["state"], "hooks or a state")
        natural, versions, keys = split_literal(literal)
        expect(len(children) == len(versions) + (0 if natural else len(keys) + 1), "classes and values")
        expect(all(child.kind == "global" for child in children[: len(versions)]), "classes")

    def load_state(self, root: Any, literal: Any, children: Sequence[Any], empty: EmptySlots) -> None:
        """Load the stored state with all hooks."""
        self.check_tree(root)
        natural, versions, keys = split_literal(literal)
        classes, values = children[: len(versions)], children[len(versions) :]
        self._compare_versions(classes, versions)
        if natural:
            if any(self.loads_by_itself(module) for _, module in self.walk(root)):
                items = {slot.key: slot.value.detach() for slot in self.slots(root)}
                self._load(root, self.make_state(items, self._natural_metadata(root)), EmptySlots())
            return
        *values, metadata = values
        if not _is_metadata(metadata):
            raise ValueError("the metadata of a state is a dict of dicts, or None")
        pairs = zip(keys, values, strict=True)
        items = {key: value.detach() if self.is_tensor(value) else value for key, value in pairs}
        self._load(root, self.make_state(items, metadata), empty)

    def _compare_versions(self, classes: Sequence[Any], versions: Sequence[int]) -> None:
        changed = [
            f"{cls.__qualname__}: version {version} in the archive, {getattr(cls, '_version', None)} here"
            for cls, version in zip(classes, versions, strict=True)
            if getattr(cls, "_version", None) != version
        ]
        if changed:
            raise ValueError(
                f"classes of the module have another layout here: {'; '.join(changed)}. Make the module by "
                "today's code, and load the stored state into it, which migrates it: "
                "module.load_state_dict(importer.load_state_dict(...))"
            )

    def _load(self, root: Any, state: Any, empty: EmptySlots) -> None:
        """Load with all hooks; each slot keeps its own object, which takes over the values it is given."""
        before = [(slot.key, slot.value) for slot in self.slots(root)]
        with kept_tensors(self, root) as given:
            answer = root.load_state_dict(state, strict=False, assign=True)
        lost = [
            key for key, original in before if key in answer.missing_keys and id(original) in empty.tensors
        ]
        if lost:
            raise ValueError(
                f"no load hook brought back {', '.join(map(repr, lost))}, which a state-dict hook took out "
                "on saving; register the load hook that belongs to it in the module's __init__"
            )
        for _, original in before:
            if id(original) in empty.tensors and id(original) not in given:
                # A load hook forgave that it is missing; it is as large as its shape from here on.
                original.data = original.detach().clone()


def split_literal(literal: Any) -> tuple[bool, list[int], list[str]]:
    """Whether the state is natural; the versions of classes; the keys of a state that is not."""
    _, natural, count, *rest = literal
    if type(natural) is not bool or type(count) is not int or not 0 <= count <= len(rest):
        raise ValueError("expected whether the state is natural, and the number of classes")
    versions, keys = rest[:count], rest[count:]
    if not all(type(version) is int for version in versions) or not all(type(key) is str for key in keys):
        raise ValueError("expected versions and keys")
    return natural, versions, keys


def _is_metadata(metadata: Any) -> bool:
    return metadata is None or (
        type(metadata) is dict and all(type(known) is dict for known in metadata.values())
    )
