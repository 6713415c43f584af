"""Modules that hold modules: one after another, by position, by name."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from itertools import groupby
from typing import Any, Self, overload

from .module import Module


class _ModuleSequence(Module):
    """Submodules in order, called "0", "1", ... unless named: what Sequential and ModuleList share."""

    _modules: dict[str, Module]  # type: ignore[assignment]  # no place is left empty here

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())

    @overload
    def __getitem__(self, index: int) -> Module: ...
    @overload
    def __getitem__(self, index: slice) -> Self: ...
    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return self._part(list(self._modules)[index])
        return self._modules[self._name_at(index)]

    def __setitem__(self, index: int, module: Module) -> None:
        setattr(self, self._name_at(index), module)

    def __delitem__(self, index: int | slice) -> None:
        modules = list(self)
        del modules[index]
        self._renumber(modules)

    def __iadd__(self, modules: Iterable[Module]) -> Self:
        return self.extend(modules)

    def append(self, module: Module) -> Self:
        """Add a module at the end; return the container."""
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules: Iterable[Module]) -> Self:
        """Add modules at the end; return the container."""
        if not isinstance(modules, Iterable):
            raise TypeError(
                f"{type(self).__name__}.extend takes an iterable of modules, got {type(modules).__name__}"
            )
        for module in list(modules):
            self.append(module)
        return self

    def insert(self, index: int, module: Module) -> Self:
        """Put a module before the position `index`; return the container."""
        if not isinstance(module, Module):
            raise TypeError(f"{type(self).__name__}.insert takes a Module, got {type(module).__name__}")
        if not -len(self) <= index <= len(self):
            raise IndexError(f"Index out of range: {index}; there are {len(self)} modules")
        modules = list(self)
        modules.insert(index, module)
        self._renumber(modules)
        return self

    def pop(self, index: int = -1) -> Module:
        """Remove the module at `index` and return it."""
        module = self[index]
        del self[index]
        return module

    def _part(self, names: list[str]) -> Self:
        raise NotImplementedError

    def _name_at(self, index: int) -> str:
        names = list(self._modules)
        try:
            return names[index]
        except IndexError:
            raise IndexError(f"index {index} is out of range: there are {len(names)} modules") from None

    def _renumber(self, modules: Iterable[Module]) -> None:
        modules = list(modules)
        self._modules.clear()
        for position, module in enumerate(modules):
            self._modules[str(position)] = module


class Sequential(_ModuleSequence):
    """Modules that run one after another, each on the output of the one before.

    Made from modules, or from one OrderedDict of name and module.

    >>> from kellet import nn
    >>> nn.Sequential(nn.Linear(3, 2), nn.ReLU())
    Sequential(
      (0): Linear(in_features=3, out_features=2, bias=True)
      (1): ReLU()
    )

    Source: torch.nn.Sequential.
    """

    def __init__(self, *modules: Any) -> None:
        super().__init__()
        if len(modules) == 1 and isinstance(modules[0], OrderedDict):
            for name, module in modules[0].items():
                self.add_module(name, module)
        else:
            self.extend(modules)

    def forward(self, input: object) -> Any:
        for module in self._modules.values():
            input = module(input)
        return input

    def __add__(self, other: Sequential) -> Sequential:
        if not isinstance(other, Sequential):
            raise ValueError(f"only another Sequential can be added to one, got {type(other).__name__}")
        return Sequential(*self, *other)

    def __mul__(self, times: int) -> Sequential:
        if not isinstance(times, int):
            raise TypeError(f"a Sequential is repeated a whole number of times, got {type(times).__name__}")
        if times <= 0:
            raise ValueError(f"a Sequential is repeated at least once, got {times}")
        return Sequential(*(module for _ in range(times) for module in self))

    __rmul__ = __mul__

    def _part(self, names: list[str]) -> Sequential:
        return type(self)(OrderedDict((name, self._modules[name]) for name in names))


class ModuleList(_ModuleSequence):
    """Modules by position, for a `forward` that is written by hand.

    Source: torch.nn.ModuleList.

    >>> layers = kellet.nn.ModuleList([kellet.nn.Linear(4, 4) for _ in range(3)])
    >>> len(layers), len(list(layers.parameters()))
    (3, 6)
    """

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList([*self, *other])

    def _part(self, names: list[str]) -> ModuleList:
        return type(self)(self._modules[name] for name in names)

    def __repr__(self) -> str:
        """Show equal neighbours once, as `(0-2): 3 x Linear(...)`."""
        shown, start = [], 0
        for text, equal in groupby(repr(module) for module in self):
            n = len(list(equal))
            place = f"({start})" if n == 1 else f"({start}-{start + n - 1})"
            shown.append(f"{place}: {text if n == 1 else f'{n} x {text}'}".replace("\n", "\n  "))
            start += n
        return "\n  ".join([f"{self._get_name()}(", *shown]) + "\n)" if shown else f"{self._get_name()}()"


class ModuleDict(Module):
    """Modules by name, in the order in which they came.

    Made from a mapping or from pairs of name and module.

    Source: torch.nn.ModuleDict.

    >>> net = kellet.nn.ModuleDict({"in": kellet.nn.Linear(4, 2), "act": kellet.nn.ReLU()})
    >>> list(net.keys()), net["in"].out_features
    (['in', 'act'], 2)
    """

    _modules: dict[str, Module]  # type: ignore[assignment]  # no name is left empty here

    def __init__(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, name: str) -> Module:
        return self._modules[name]

    def __setitem__(self, name: str, module: Module) -> None:
        self.add_module(name, module)

    def __delitem__(self, name: str) -> None:
        del self._modules[name]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, name: object) -> bool:
        return name in self._modules

    def clear(self) -> None:
        """Remove every module."""
        self._modules.clear()

    def pop(self, name: str) -> Module:
        """Remove the module called `name` and return it."""
        return self._modules.pop(name)

    def keys(self) -> KeysView[str]:
        """Return the names."""
        return self._modules.keys()

    def items(self) -> ItemsView[str, Module]:
        """Return the pairs of name and module."""
        return self._modules.items()

    def values(self) -> ValuesView[Module]:
        """Return the modules."""
        return self._modules.values()

    def update(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]]) -> None:
        """Add modules, in the place of those of the same names.

        Raises TypeError for a value that cannot be iterated over.
        """
        if not isinstance(modules, Iterable):
            raise TypeError(
                "ModuleDict.update takes a mapping or an iterable of (name, module), "
                f"got {type(modules).__name__}"
            )
        pairs = modules.items() if isinstance(modules, Mapping | ModuleDict) else list(modules)
        for name, module in pairs:
            self[name] = module
