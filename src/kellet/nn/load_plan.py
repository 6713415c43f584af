"""The plan of a load: the values to write, the problems found, and copies to restore the old values."""

from __future__ import annotations

import contextlib
import copy
import warnings
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..autograd.variable import bump, counter_of
from ..core import Tensor
from ..errors import StateDictError
from ..listing import first_of
from .parameter import Parameter
from .state_dict import EXTRA_STATE, StateSaving

if TYPE_CHECKING:
    from .module import Module

Array = np.ndarray[Any, Any]

_MISSING = object()


class IncompatibleKeys(NamedTuple):
    """The keys that a load missed and those it could not place.

    >>> net = kellet.nn.Linear(2, 1)
    >>> net.load_state_dict({"weight": kellet.ones(1, 2)}, strict=False)
    IncompatibleKeys(missing_keys=['bias'], unexpected_keys=[])
    """

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return (
            f"IncompatibleKeys(missing_keys={self.missing_keys!r}, unexpected_keys={self.unexpected_keys!r})"
        )


class LoadPlan:
    """The writes that a state dict asks for, in the order of the modules, and the errors found.

    `match` compares one module's own names with the state and adds to the plan; `write` carries
    the plan out: it writes each of `arrays` into the tensor in the same place of `targets`.
    `error_msgs` is the list that load hooks may add to.
    """

    def __init__(self, assign: bool) -> None:
        self.assign = assign
        self.missing_keys: list[str] = []
        self.unexpected_keys: list[str] = []
        self.error_msgs: list[str] = []
        self.matched = 0
        self._mismatched: dict[str, str] = {}
        # The tensors to write into and, in the same order, what each gets.
        self.targets: list[Tensor] = []
        self.arrays: list[Array] = []
        # With `assign`: where each new value goes, and the one that takes the place of a tensor
        # under all its names.
        self._places: list[tuple[dict[str, Any], str, Tensor]] = []
        self._successors: dict[int, Tensor] = {}

    def match(
        self, own: Mapping[str, Any], state: Mapping[str, Any], prefix: str, missing_keys: list[str]
    ) -> None:
        """Plan the writes into a module's parameters and persistent buffers; `own` is its `__dict__`."""
        members = own["_parameters"]
        for name, target in members.items():
            self.match_one(members, name, target, state, prefix + name, missing_keys)
        members, transient = own["_buffers"], own["_non_persistent_buffers_set"]
        for name, target in members.items():
            if name not in transient:
                self.match_one(members, name, target, state, prefix + name, missing_keys)

    def match_one(
        self,
        members: dict[str, Any],
        name: str,
        target: Tensor | None,
        state: Mapping[str, Any],
        key: str,
        missing_keys: list[str],
    ) -> None:
        """Plan the write of the value under `key` into one parameter or buffer, which is `members[name]`."""
        if target is None:
            return
        value = state.get(key, _MISSING)
        if value is _MISSING:
            missing_keys.append(key)
            return
        self.matched += 1
        self._match_value(members, name, target, key, value)

    def _match_value(
        self, members: dict[str, Any], name: str, target: Tensor, key: str, value: object
    ) -> None:
        if not isinstance(value, Tensor):
            self.error_msgs.append(
                f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like object '
                f"from checkpoint but received {type(value)}; wrap arrays with kellet.from_numpy"
            )
            return
        if target.shape == () and value.shape == (1,):
            # One element saved before zero-dimensional tensors existed.
            value = value.detach()[0]
        if value.shape != target.shape:
            self._mismatch(key, value, target)
        elif self.assign:
            self._plan_assign(members, name, key, target, value)
        else:
            self._plan_copy(key, target, value._array)

    def match_extra_state(
        self, module: Module, state: Mapping[str, Any], prefix: str, missing_keys: list[str]
    ) -> bool:
        """Say whether the module's class takes extra state and the state dict has it."""
        if not has_extra_state(type(module)):
            return False
        if prefix + EXTRA_STATE in state:
            self.matched += 1
            return True
        missing_keys.append(prefix + EXTRA_STATE)
        return False

    def _mismatch(self, key: str, value: Tensor, target: Tensor) -> None:
        message = (
            f"size mismatch for {key}: copying a param with shape {value.shape} from checkpoint, "
            f"the shape in current model is {target.shape}."
        )
        self._mismatched[key] = message
        self.error_msgs.append(message)

    def _plan_copy(self, key: str, target: Tensor, array: Array) -> None:
        if array.dtype.kind == "c" and target._array.dtype.kind != "c":
            # Said here and not by NumPy in the middle of writing.
            warnings.warn(
                f"loading the complex {key!r} into {target.dtype} discards its imaginary part", stacklevel=8
            )
            array = array.real
        self.targets.append(target)
        self.arrays.append(array)

    def _plan_assign(self, owner: dict[str, Any], name: str, key: str, target: Tensor, value: Tensor) -> None:
        if isinstance(target, Parameter):
            if target.requires_grad and value._array.dtype.kind not in "fcV":
                self.error_msgs.append(
                    f'While assigning the parameter named "{key}": a parameter that requires grad takes '
                    f"floating point or complex values, the checkpoint has {value.dtype}"
                )
                return
            if not isinstance(value, Parameter):
                value = Parameter(value, requires_grad=target.requires_grad)
        self._places.append((owner, name, target))
        self._successors[id(target)] = value

    def write(self) -> None:
        """Write every value planned so far."""
        with np.errstate(invalid="ignore", over="ignore"):
            for target, array in zip(self.targets, self.arrays, strict=True):
                old = target._array
                try:
                    old[...] = array
                except ValueError:
                    # Read-only, mapped from a file say: that stays, and the tensor gets memory of its own.
                    target._array = array.astype(old.dtype)
                counter = target._counter
                if counter is None:
                    counter = counter_of(target)
                counter.value += 1
        for owner, name, target in self._places:
            value = self._successors[id(target)]
            if value.requires_grad is not target.requires_grad and isinstance(value, Parameter):
                value.requires_grad_(target.requires_grad)
            owner[name] = value
        self.targets.clear()
        self.arrays.clear()
        self._places.clear()

    def refuse(self, root: Module, strict: bool) -> None:
        """Raise StateDictError that names everything wrong, if there is something."""
        missing, unexpected = (self.missing_keys, self.unexpected_keys) if strict else ([], [])
        lines = []
        if missing:
            lines.append(f"Missing key(s) in state_dict: {_quoted(missing)}. ")
        if unexpected:
            lines.append(f"Unexpected key(s) in state_dict: {_quoted(unexpected)}. ")
        lines += first_of(self.error_msgs)
        if lines:
            shapes = set(self._mismatched.values())
            raise StateDictError(
                f"Error(s) in loading state_dict for {type(root).__name__}:\n\t" + "\n\t".join(lines),
                missing_keys=missing,
                unexpected_keys=unexpected,
                mismatched=list(self._mismatched),
                messages=[message for message in self.error_msgs if message not in shapes],
            ).holding(self.error_msgs)


def has_extra_state(cls: type[StateSaving]) -> bool:
    """Say whether modules of the class take extra state when loading."""
    return cls.set_extra_state is not StateSaving.set_extra_state


def _quoted(keys: list[str]) -> str:
    return ", ".join(first_of([f'"{key}"' for key in keys]))


class Undo:
    """Copies of the values below some modules: the objects, what their memory held, the extra state."""

    def __init__(self) -> None:
        self._members: dict[int, tuple[Module, list[tuple[dict[str, Any], dict[str, Any]]]]] = {}
        self._values: dict[int, tuple[Tensor, Array, Array]] = {}
        self._extra_states: list[tuple[Module, Any]] = []

    def remember(self, root: Module) -> None:
        """Copy the values of `root` and all below that are not remembered yet."""
        for module in root.modules():
            if id(module) in self._members:
                continue
            places: list[dict[str, Any]] = [module._parameters, module._buffers, module._modules]
            self._members[id(module)] = (module, [(place, dict(place)) for place in places])
            for value in (*module._parameters.values(), *module._buffers.values()):
                if value is not None and id(value) not in self._values:
                    self._values[id(value)] = (value, value._array, value._array.copy())
            if (
                has_extra_state(type(module))
                and type(module).get_extra_state is not StateSaving.get_extra_state
            ):
                self._remember_extra_state(module)

    def _remember_extra_state(self, module: Module) -> None:
        """Keep a copy; or the very object, where it has none; or nothing, before there is any state."""
        try:
            state = module.get_extra_state()
        except Exception:  # code of the user's that knows no state yet: there is nothing to put back
            return
        with contextlib.suppress(Exception):  # a lock, an open file: what is put back is this very object
            state = copy.deepcopy(state)
        self._extra_states.append((module, state))

    def restore(self) -> None:
        """Put everything remembered back, in place."""
        for _, places in self._members.values():
            for place, remembered in places:
                # The dictionary itself stays: other code may hold it.
                place.clear()
                place.update(remembered)
        # The other way round: what was remembered late may share memory with what was written before.
        for _, array, values in reversed(self._values.values()):
            if array.flags.writeable:
                array[...] = values
        for tensor, array, values in self._values.values():
            # What is read-only here may have been written through another array of the same memory.
            whole = array.flags.writeable or array.tobytes() == values.tobytes()
            tensor._array = array if whole else values
            bump(tensor)
        for module, state in self._extra_states:
            module.set_extra_state(state)


def is_unexpected(module: Module, rest: str) -> bool:
    """Say whether `rest`, a key of the state without the module's prefix, is a name that the module lacks."""
    name, dot, _ = rest.partition(".")
    if dot:
        return module._modules.get(name) is None
    if name == EXTRA_STATE:
        return not has_extra_state(type(module))
    if module._parameters.get(name) is not None:
        return False
    return module._buffers.get(name) is None or name in module._non_persistent_buffers_set


def deepest(key: str, places: Mapping[str, object]) -> tuple[str, str]:
    """Split a key into the path of the deepest module that it leads to, and the rest.

    >>> deepest("net.0.weight", {"net": None, "net.0": None})
    ('net.0', 'weight')
    """
    path, rest = "", key
    while True:
        name, dot, behind = rest.partition(".")
        deeper = f"{path}.{name}" if path else name
        if not dot or deeper not in places:
            return path, rest
        path, rest = deeper, behind


def unseen(keys: Iterable[str], seen: set[str]) -> list[str]:
    """Return the keys that are not in `seen`, and add them to it.

    >>> unseen(["a", "b"], {"a"})
    ['b']
    """
    new = [key for key in keys if key not in seen]
    seen.update(new)
    return new
