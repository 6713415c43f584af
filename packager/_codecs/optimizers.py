"""Optimisers of kellet and PyTorch: the class, and what it gives as its state when it is pickled.

Parameters are the objects that the model holds; hooks on optimisers are left out, as pickle leaves
them out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from importlib import import_module
from typing import Any, Final

from packager._texts import listed

from .base import Child, Codec, Decoding, Encoding, LiteralValue, Node, expect, expect_class

_STATE: Final = frozenset({"defaults", "param_groups", "state"})
# What the frameworks' own classes convert, and what they ask for its truth, when they take up a state.
_CONVERTED: Final = frozenset({"eta", "mu", "mu_product", "step"})
_ASKED: Final = frozenset({"capturable", "fused"})


class OptimizerCodec(Codec):
    """The optimisers of kellet, or of PyTorch: `family` is the name of the library, and of its codecs."""

    creates = True

    def __init__(self, family: str) -> None:
        self.name, self.types = f"{family}.optimizer", (f"{family}.optim.optimizer:Optimizer",)
        self._family = family

    def base(self) -> Any:
        """Return the class `Optimizer` of the framework."""
        return import_module(f"{self._family}.optim").Optimizer

    def claims(self, cls: type) -> bool:
        base = self.base()
        return cls.__reduce_ex__ is base.__reduce_ex__ and cls.__reduce__ is base.__reduce__

    def encode(self, obj: Any, context: Encoding) -> Node:
        hooks = _hooks_of(obj)
        if hooks:
            context.warn(
                f"hooks of an optimiser ({listed([*hooks])}) are left out; register them after loading"
            )
        return Node(None, (type(obj), obj.__getstate__()))

    def check(self, literal: LiteralValue, children: Sequence[Child], version: int) -> None:
        expect(literal is None and len(children) == 2, "a class and a state")
        expect(children[0].kind == "global" and children[1].kind == "dict", "a class and a state")

    def decode(self, literal: Any, children: Sequence[Any], version: int, context: Decoding) -> Any:
        cls, state = children
        expect_class(cls, self.base(), "an optimiser")
        if cls.__module__.startswith(f"{self.base().__module__.partition('.')[0]}.optim"):
            self._check_state(cls, state)
        made: Any = cls.__new__(cls)
        type(made).__setstate__(made, state)
        return made

    def _check_state(self, cls: type, state: Any) -> None:
        """Raise ValueError unless a state is what the framework's own classes give, and rely on.

        Hooks, and whatever else would come before the methods of the class, are not in it.
        """
        if not (_is_named(state) and set(state) <= _STATE):
            raise ValueError(f"the state of {cls.__qualname__} may only have {', '.join(sorted(_STATE))}")
        defaults, groups, values = (state.get(name) for name in ("defaults", "param_groups", "state"))
        if not (defaults is None or _is_named(defaults)):
            raise ValueError(f"the defaults of {cls.__qualname__} must be options by name")
        if type(groups) is not list or not all(map(self._is_group, groups)):
            raise ValueError(
                f"the groups of {cls.__qualname__} must be lists of tensors with options by name"
            )
        per_tensor = type(values) in (dict, defaultdict) and all(map(self.is_key, values))
        if not per_tensor or not all(map(_is_named, values.values())):
            raise ValueError(f"the state of {cls.__qualname__} must be a dict by tensor")
        found = [part for known in values.values() for part in known.items() if part[0] in _CONVERTED]
        odd = [name for name, value in found if not (_is_number(value) or self.is_key(value))]
        odd += [name for group in groups for name in _ASKED & group.keys() if type(group[name]) not in _FLAGS]
        if odd:
            raise ValueError(
                f"{', '.join(sorted(set(odd)))} in the state of {cls.__qualname__} must be a number"
            )

    def _is_group(self, group: Any) -> bool:
        members = group.get("params") if _is_named(group) else None
        return type(members) is list and all(map(self.is_key, members))

    def is_key(self, value: object) -> bool:
        """Check whether a value is a tensor of the framework, for which an optimiser keeps a state."""
        return isinstance(value, import_module(self._family).Tensor)


def _hooks_of(optimizer: Any) -> list[str]:
    """Return the attributes that hold hooks: registries of kellet, or dicts of PyTorch."""
    return [
        name
        for name, held in vars(optimizer).items()
        if type(held).__name__ == "HookRegistry" or (name.endswith("_hooks") and isinstance(held, dict))
        if held
    ]


def _is_named(value: Any) -> bool:
    """Check whether a value is a dict itself, and all its keys are strings."""
    return type(value) is dict and all(type(name) is str for name in value)


_FLAGS: Final = (bool, int, float, type(None))


def _is_number(value: Any) -> bool:
    """Check whether a value is a number itself: anything else is converted by a method of its own."""
    import numpy

    return type(value) in (bool, int, float) or isinstance(value, numpy.number | numpy.bool_)


CODECS: Final = (OptimizerCodec("kellet"), OptimizerCodec("torch"))
