"""Which part of a checkpoint is the state dict: what was saved beside it, and what is no data at all.

People save a state dict; or a dict with one inside, beside optimisers, counters and settings; or a whole
model. Where only one state dict can be meant it is taken, and what else was there is said; where there
are several, nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, Final

from packager._quick_dataclasses import dataclass, replace
from packager._texts import counted, listed
from packager.errors import LegacyFormatError

from .legacy_bounds import MAX_CONTAINER_DEPTH, MAX_DEPTH, MAX_PARTS
from .legacy_tensors import LegacyTensor
from .nested_values import is_nested
from .pickle_machine import Named, Opaque
from .torch_names import LegacyLayout

TENSORS: Final = (LegacyTensor, LegacyLayout)
"""What tensors of an old file are."""

_WHOLE: Final = frozenset(
    "state_dict model_state_dict model module net network weights params model_state".split()
)
_USUAL: Final = _WHOLE | frozenset(
    "state_dict_ema model_ema ema ema_state_dict params_ema generator discriminator teacher student "
    "backbone".split()
)
"""How state dicts are called: that of all weights, and those of averages and of one model among several."""


_OF_TRAINING: Final = (frozenset({"last_epoch", "_last_lr"}), frozenset({"scale", "_growth_tracker"}))
"""What the states of schedulers hold, and that of a scaler of gradients: numbers alone."""

_FACTS: Final = (str, int, float, bool, type(None))
_CONTAINERS: Final = (dict, list, tuple, set, frozenset)

_EXTRA_STATE: Final = "_extra_state"
"""How keys end under which a module of PyTorch keeps what else it knows, tensors too."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Something of a file that is not part of the state dict: where it is, what it is, and why."""

    path: str
    what: str
    why: str


@dataclass(frozen=True, slots=True)
class Contents:
    """The state dict that was found, under which names it lay, and what was left out.

    `others` are the paths of state dicts that could have been taken, where none was named.
    """

    state: Mapping[str, Any]
    container: str
    left_out: tuple[LeftOut, ...] = ()
    versions: Mapping[str, Mapping[str, Any]] | None = None
    others: tuple[str, ...] = ()


def state_dict_in(root: object, what: str, *, unwrap: str | None, everything: bool) -> Contents:
    """Return the state dict in what a pickle held.

    Raises LegacyFormatError where there is none, where there are several and `unwrap` names none, and for
    what is nested deeper, or shared more often, than checkpoints are.
    """
    search = _Search(what)
    if everything:
        return search.all_tensors(root)
    return search.taken(root, unwrap) if unwrap is not None else search.only(root)


def tensors_in(root: object, what: str) -> Mapping[str, Any]:
    """Return every tensor in what a pickle held, by dotted path; empty where it holds none.

    Raises LegacyFormatError for two of one path, and as `state_dict_in` for what is nested too deep.
    """
    return _Search(what).leaves(root)[0]


class _Search:
    """One search through what a pickle held. Shared parts can be reached in endlessly many ways: what is
    looked at is counted."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._left = MAX_PARTS
        self._modules: dict[int, dict[str, Any]] = {}

    def only(self, root: Any) -> Contents:
        """Return the state dict that alone can be meant."""
        if self._is_state_dict(root) or self._is_of_training(root):
            return self._contents(root, root, "")
        candidates = dict(self._candidates(root))
        usual = [path for path in candidates if path.rpartition(".")[2] in _USUAL]
        is_whole = any(path.rpartition(".")[2] in _WHOLE for path in usual)
        lists = [part for part in self._entries(root).values() if usual and isinstance(part, (list, tuple))]
        if candidates and any(map(self._has_arrays, [root] if is_whole else [root, *lists])):
            candidates = {"": root, **candidates}  # as torchtitan writes: weights beside "optimizer"
        if not is_whole and len(candidates) > len(usual):
            usual = []  # what averages the weights beside it, or is one more model, is no more meant
        chosen = usual or list(candidates)
        if len(chosen) == 1:
            others = tuple(path for path in candidates if path != chosen[0])
            return replace(self._contents(root, candidates[chosen[0]], chosen[0]), others=others)
        if chosen:
            raise LegacyFormatError.listing(
                f"{self._what}: found {counted(len(chosen), 'state dict')}. Name one (unwrap=, --unwrap), "
                "or take everything (everything=True, --everything):",
                (f"{path or repr(path)}: {self._shown(candidates[path])}" for path in chosen),
            )
        raise LegacyFormatError(
            f"{self._what}: found no state dict, but {self._shown(root)}; "
            + (
                f"everything=True (--everything) takes tensors wherever they are{self._too_deep(root)}"
                if self._hold_tensors((root,))
                else "it holds no tensor. Name the file that holds the weights"
            )
        )

    def taken(self, root: Any, unwrap: str) -> Contents:
        """Return what lies under the dotted names `unwrap`."""
        value, rest, path = root, unwrap, ""
        while rest:
            entries = self._parts(value)
            # Names may hold dots themselves: the longest that is there.
            name = next((found for found in _starts(rest) if found in entries), None)
            if name is None:
                there = listed([*map(repr, entries)]) or "nothing by name"
                raise LegacyFormatError(
                    f"{self._what}: nothing lies under {unwrap!r}; {path or 'the file'} holds {there}"
                ).holding(entries)
            value, rest = entries[name], rest[len(name) + 1 :]
            path = f"{path}.{name}" if path else name
        has_tensors = any(isinstance(inner, TENSORS) for inner in self._entries(value).values())
        if not has_tensors and not self._is_of_training(value):
            raise LegacyFormatError(f"{self._what}: {unwrap!r} is no state dict, but {self._shown(value)}")
        return self._contents(root, value, unwrap)

    def all_tensors(self, root: Any) -> Contents:
        """Return every tensor under its dotted path."""
        state, left_out = self.leaves(root)
        if not state:
            raise LegacyFormatError(
                f"{self._what}: found no tensor in it; give a file that holds a state dict or its tensors"
            )
        return Contents(state, "", tuple(left_out), _versions(root))

    def leaves(self, root: Any) -> tuple[dict[str, Any], list[LeftOut]]:
        """Return the tensors by dotted path, and what else there is."""
        state: dict[str, Any] = {}
        left_out = []
        for path, value in self._leaves(root):
            if not isinstance(value, TENSORS):
                left_out.append(LeftOut(path, self._shown(value), "not a tensor"))
            elif path in state:
                raise LegacyFormatError(
                    f"{self._what}: two tensors would have the key {path!r}; unwrap one of them"
                )
            else:
                state[path] = value
        return state, left_out

    def _contents(self, root: Any, value: Any, container: str) -> Contents:
        state, left_out = {}, []
        prefix = f"{container}." if container else ""
        for key, inner in self._entries(value).items():
            if isinstance(inner, TENSORS) or self._is_plain(inner):
                state[key] = inner
            else:
                why = "not a tensor and not plain data"
                left_out.append(LeftOut(f"{prefix}{key}", self._shown(inner), why))
        if isinstance(value, Opaque):
            why = "its parameters and buffers alone are data"
            left_out.append(LeftOut(container, f"object of {value.name}", why))
        beside = self._beside(root, container) if container else ()
        return Contents(state, container, (*left_out, *beside), _versions(value))

    def _beside(self, root: Any, container: str) -> Iterator[LeftOut]:
        """Yield everything at the level of the container, or above it, that is not the way to it."""
        value, prefix = root, ""
        while True:
            inside = None
            for name, inner in self._parts(value).items():
                path = prefix + name
                if inside is None and (container == path or container.startswith(f"{path}.")):
                    inside = name, inner
                else:
                    yield LeftOut(path, self._shown(inner), f"not part of the state dict {container!r}")
            if inside is None or container == prefix + inside[0]:
                return
            value, prefix = inside[1], f"{prefix}{inside[0]}."

    def _candidates(self, root: Any) -> Iterator[tuple[str, Any]]:
        """Yield the outermost state dicts, by dotted path; not inside of dicts with other keys than names."""
        work = [("", root, 0)]
        while work:
            path, value, depth = work.pop()
            self._spend(path, depth)
            if path and self._is_state_dict(value):
                yield path, value
            elif depth < MAX_CONTAINER_DEPTH:
                prefix = f"{path}." if path else ""
                inner = [(f"{prefix}{name}", part, depth + 1) for name, part in self._entries(value).items()]
                work += reversed(inner)

    def _too_deep(self, root: Any) -> str:
        """Say how deep the first state dict lies; nothing where none is met before the search ends."""
        level, depth = [root], 0
        try:
            while level and not any(map(self._is_state_dict, level)):
                depth += 1
                level = [part for value in level for part in self._entries(value).values()]
                for _ in level:
                    self._spend("", depth)
        except LegacyFormatError:
            return ""
        if not level:
            return ""
        return f": a state dict lies {depth} levels deep, and {MAX_CONTAINER_DEPTH} are searched"

    def _is_state_dict(self, value: Any) -> bool:
        """Return whether there are tensors by name, and nothing else that holds tensors; or a module."""
        entries = self._entries(value)
        if not any(isinstance(inner, TENSORS) for inner in entries.values()):
            return False
        inner = (part for name, part in entries.items() if not name.endswith(_EXTRA_STATE))
        return not self._hold_tensors(part for part in inner if isinstance(part, dict))

    def _has_arrays(self, value: Any) -> bool:
        """Return whether there are tensors with axes by name."""
        return any(isinstance(one, LegacyTensor) and one.shape for one in self._parts(value).values())

    def _is_of_training(self, value: Any) -> bool:
        """Return whether this is a state that PyTorch keeps beside the weights, without tensors by name."""
        known = isinstance(value, dict) and any(names <= value.keys() for names in _OF_TRAINING)
        return _is_optimizer(value) or (known and _named(value) and self._is_plain(value))

    def _hold_tensors(self, values: Iterable[Any]) -> bool:
        """Return whether a tensor is anywhere in these; parts that are shared are looked at once."""
        return any(isinstance(part, TENSORS) for part in self._all_in(values))

    def _leaves(self, root: Any) -> Iterator[tuple[str, Any]]:
        """Yield everything that is no container, by dotted path; of objects what can be read."""
        work: list[tuple[str, Any, int]] = [("", root, 0)]
        while work:
            path, value, depth = work.pop()
            self._spend(path, depth)
            inner = self._inside(value)
            if not isinstance(value, (dict, list, tuple)):
                yield path, value
            work += [(f"{path}.{name}" if path else name, part, depth + 1) for name, part in reversed(inner)]

    def _inside(self, value: Any) -> list[tuple[str, Any]]:
        """Return what a container holds, by the names that paths have for it."""
        if isinstance(value, dict):
            return [(_name(name), part) for name, part in value.items()]
        if isinstance(value, (list, tuple)):
            return [(str(place), part) for place, part in enumerate(value)]
        return list(self._entries(value).items()) if isinstance(value, Opaque) else []

    def _parts(self, value: Any) -> Mapping[str, Any]:
        """Return what lies in a list by place, else as `_entries` does."""
        return dict(self._inside(value)) if isinstance(value, (list, tuple)) else self._entries(value)

    def _entries(self, value: Any) -> Mapping[str, Any]:
        """Return what lies in a dict by name, or in a module by attribute path."""
        if isinstance(value, Opaque):
            if id(value) not in self._modules:
                state = value.state if isinstance(value.state, dict) and _named(value.state) else {}
                self._modules[id(value)] = self._module_state(value) or state
            return self._modules[id(value)]
        return value if isinstance(value, dict) and _named(value) else {}

    def _module_state(self, root: Opaque) -> dict[str, Any]:
        """Return the parameters and persistent buffers of a module that was pickled whole.

        Source: Module.state_dict of PyTorch, without its hooks.
        """
        found: dict[str, Any] = {}
        work: list[tuple[str, Any, int]] = [("", root, 0)]
        while work:
            prefix, module, depth = work.pop()
            self._spend(prefix, depth)
            state = module.state if isinstance(module, Opaque) else None
            if not isinstance(state, dict) or not isinstance(state.get("_modules"), dict):
                continue
            hidden = state.get("_non_persistent_buffers_set")
            for table in ("_parameters", "_buffers"):
                entries = state.get(table)
                for name, value in entries.items() if isinstance(entries, dict) else ():
                    kept = table == "_parameters" or not isinstance(hidden, set) or name not in hidden
                    if isinstance(value, TENSORS) and type(name) is str and kept:
                        found[f"{prefix}{name}"] = value
            inner = [(f"{prefix}{_name(name)}.", part, depth + 1) for name, part in state["_modules"].items()]
            work += reversed(inner)
        return found

    def _is_plain(self, value: Any) -> bool:
        """Return whether a value is made of numbers, texts, tensors and containers, as archives keep it."""
        return all(
            isinstance(part, _CONTAINERS) or type(part) in (*_FACTS, bytes, complex) or is_nested(part)
            for part in self._all_in((value,), keys=True)
        )

    def _shown(self, value: Any) -> str:
        """Return a value in a few words."""
        if isinstance(value, LegacyLayout):
            return value.text
        if isinstance(value, LegacyTensor):
            return f"tensor of {value.dtype} {list(value.shape)}"
        if isinstance(value, Opaque):
            return f"object of {value.name}"
        if isinstance(value, Named):
            return f"name {value.name.replace(' ', '.')}"
        if isinstance(value, _CONTAINERS):
            count = self._count_tensors(value)
            return f"{type(value).__name__} of {len(value)}" + (
                f" with {counted(count, 'tensor')}" if count else ""
            )
        short = isinstance(value, int) and value.bit_length() < 64
        if isinstance(value, (float, type(None))) or short:
            return repr(value)
        return f"{value[:40]!r}" if isinstance(value, str) else type(value).__name__

    def _count_tensors(self, value: Any) -> int:
        """Return how many tensors are in a container; one that is shared counts once."""
        return sum(isinstance(part, TENSORS) for part in self._all_in((value,)))

    def _all_in(self, values: Iterable[Any], *, keys: bool = False) -> Iterator[Any]:
        """Yield these and everything inside of them; parts that are shared once.

        With `keys` those of dicts are among them, and it is an error where something is nested too deep.
        """
        levels, seen = (
            [iter(values)],
            set(),
        )  # of what is inside each other, so that long lists are never copied
        while levels:
            for part in levels[-1]:
                self._spend("", len(levels) - 1 if keys else 0)
                if id(part) in seen:
                    continue
                if not keys and isinstance(part, (Opaque, *_CONTAINERS, *TENSORS)):
                    seen.add(id(part))
                yield part
                if isinstance(part, (dict, Opaque)):
                    inner = part if isinstance(part, dict) else self._entries(part)
                    levels.append(chain(inner if keys else (), inner.values()))
                    break
                if isinstance(part, _CONTAINERS):
                    levels.append(iter(part))
                    break
            else:
                levels.pop()

    def _spend(self, path: str, depth: int) -> None:
        self._left -= 1
        where = f"{self._what}: {path[:200]}"
        if depth > MAX_DEPTH:
            raise LegacyFormatError(f"{where}: nested {depth} deep; at most {MAX_DEPTH} is read")
        if self._left < 0:
            looked = MAX_PARTS - self._left
            raise LegacyFormatError(f"{where}: {looked} parts and more; at most {MAX_PARTS} are looked at")


def _is_optimizer(value: Any) -> bool:
    """Return whether this is the state of an optimiser, as PyTorch has it: by number, beside its groups."""
    known = isinstance(value, dict) and value.keys() == {"state", "param_groups"}
    return known and isinstance(value["state"], dict) and isinstance(value["param_groups"], list)


def _versions(value: Any) -> dict[str, Mapping[str, Any]] | None:
    """Return what `_metadata` of a state dict says of modules, as far as it is data."""
    known = getattr(value, "_metadata", None) if isinstance(value, dict) else None
    if not isinstance(known, dict):
        return None
    return {
        path: {name: fact for name, fact in facts.items() if type(name) is str and type(fact) in _FACTS}
        for path, facts in known.items()
        if type(path) is str and isinstance(facts, dict)
    }


def _named(value: Mapping[Any, Any]) -> bool:
    return all(type(name) is str for name in value)


def _name(key: Any) -> str:
    return key if type(key) is str else key.name if isinstance(key, (Named, Opaque)) else str(key)


def _starts(names: str) -> Iterator[str]:
    """Yield dotted names, and then fewer and fewer of them."""
    yield names
    while "." in names:
        names = names.rpartition(".")[0]
        yield names
