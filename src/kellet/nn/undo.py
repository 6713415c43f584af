"""Putting the values of modules back as they were, when a load is refused after something was written."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd.variable import bump
from ..core.tensor import Tensor
from .load_plan import has_extra_state
from .state_dict import StateSaving

if TYPE_CHECKING:
    from .module import Module

__all__ = ["Undo"]

Array = np.ndarray[Any, Any]


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
                self._extra_states.append((module, copy.deepcopy(module.get_extra_state())))

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
