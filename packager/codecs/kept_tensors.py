"""Keeping the tensors of modules while a state is loaded into them.

Loading with `assign=True` copies nothing, but it puts other tensors in the place of those that were
built. Whatever else holds a tensor of a module (`_flat_weights` of an RNN, a tied module, a list of
parameters, an optimiser) has to go on holding the module's own, and so has what a load hook or
an override collects meanwhile. So the tables of the modules are such, as long as the load takes,
that a tensor stays where it is and takes over the memory of the one that is assigned.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .module_frameworks import ModuleFramework


@contextmanager
def kept_tensors(framework: ModuleFramework, root: Any) -> Iterator[set[int]]:
    """Let each tensor that is state of `root`, or below it, keep its place and identity.

    Yields the ids of the tensors that were given the values of others, a set that grows.
    """
    given: set[int] = set()
    tables: dict[int, _KeptTable] = {}
    places: list[tuple[Any, str, _KeptTable]] = []
    for module in _modules(framework, root):
        for attribute in ("_parameters", "_buffers"):
            table = vars(module)[attribute]
            if id(table) not in tables:
                left_out = module._non_persistent_buffers_set if attribute == "_buffers" else frozenset()
                tables[id(table)] = _KeptTable(framework, table, left_out, given)
            places.append((module, attribute, tables[id(table)]))
    for module, attribute, kept in places:
        vars(module)[attribute] = kept
    try:
        yield given
        for module, _, kept in places:
            _repeat_assignments(framework, module, kept)
    finally:
        for module, attribute, kept in places:
            vars(module)[attribute] = kept.table
        for kept in tables.values():
            kept.table.clear()
            kept.table.update(kept)


class _KeptTable(dict[str, Any]):
    """A table of tensors in which those that stood there from the beginning stay under their names."""

    def __init__(
        self, framework: ModuleFramework, table: dict[str, Any], left_out: Any, given: set[int]
    ) -> None:
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


def _modules(framework: ModuleFramework, root: Any) -> Iterator[Any]:
    """`root` and all below it, and what mere wrappers among them stand for."""
    for _, module in framework.walk(root):
        while module is not None:
            yield module
            module = framework.stands_for(module)


def _repeat_assignments(framework: ModuleFramework, module: Any, kept: _KeptTable) -> None:
    """Show a class that looks at assignments, as an RNN does, the tensors that are there."""
    if type(module).__setattr__ is framework.base().__setattr__:
        return
    for name in [name for name in kept.assigned if kept.get(name) is not None]:
        setattr(module, name, kept[name])
