"""Optimisers of kedge and PyTorch: the class, and what it gives as its state when it is pickled.

Parameters are the objects that the model holds; hooks on optimisers are left out, as pickle leaves
them out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .base import Child, Codec, Decoding, Encoding, LiteralValue, Node, Role
from .checks import expect

__all__ = ["OptimizerCodec"]


class OptimizerCodec(Codec):
    """What the optimisers of both have in common."""

    def base(self) -> Any:
        """The class `Optimizer` of the framework."""
        raise NotImplementedError

    def hooks_of(self, optimizer: Any) -> list[str]:
        """The attributes that hold hooks."""
        raise NotImplementedError

    def claims(self, cls: type) -> bool:
        base = self.base()
        return cls.__reduce_ex__ is base.__reduce_ex__ and cls.__reduce__ is base.__reduce__

    def encode(self, obj: Any, context: Encoding) -> Node:
        hooks = self.hooks_of(obj)
        if hooks:
            context.warn(
                f"hooks of an optimiser ({', '.join(hooks)}) are left out; register them after loading"
            )
        return Node(None, (type(obj), obj.__getstate__()))

    def check(self, literal: LiteralValue, children: Sequence[Child], version: int) -> None:
        expect(literal is None and len(children) == 2, "a class and a state")
        expect(children[0].kind == "global" and children[1].kind == "dict", "a class and a state")

    def decode(self, literal: Any, children: Sequence[Any], version: int, context: Decoding) -> Any:
        cls, state = children
        if not (isinstance(cls, type) and issubclass(cls, self.base())):
            raise ValueError(f"{cls!r} is not an optimiser")
        made: Any = cls.__new__(cls)  # type: ignore[call-overload]  # a class of optimisers, not of classes
        made.__setstate__(state)
        return made

    def roles(self, literal: LiteralValue, count: int, version: int) -> Sequence[Role]:
        return ("create", "value")
