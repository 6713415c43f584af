"""A codec for objects of several kinds, each with a row of its own: `Choice`."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from typing import Any

from .base import Child, Codec, Decoding, Encoding, Node, PartsCodec, expect, kinds


class Choice(Codec):
    """A codec for objects of several kinds, each with a row of its own, whose name begins the literal.

    `rows` give the rest of the literal, None for nothing, and the children. A row is found by the class of an
    object, or by `kind_of`. `once` says that equal literals without children are stored once.

    >>> from packager.libraries import LiteralCodec
    >>> codec = Choice("numbers", LiteralCodec("real", ("builtins:float",), kinds(float), "a float",
    ...                                   lambda obj: [obj], lambda parts: parts[0]))
    >>> codec.check(["real", 1], (), 1)
    Traceback (most recent call last):
    ValueError: expected a float
    """

    def __init__(
        self,
        name: str,
        *rows: PartsCodec,
        types: tuple[str, ...] = (),
        claimed: Callable[[type], bool] | None = None,
        kind_of: Callable[[Any], str] | None = None,
        once: bool = False,
        is_data: str = "library",
    ) -> None:
        self.name, self.is_data = name, is_data
        self.types = types or tuple(one for row in rows for one in row.types)
        self._rows = {row.name: row for row in rows}
        self._kinds = {one.partition(":")[2]: row.name for row in rows for one in row.types}
        self._claimed, self._kind_of, self._once = claimed, kind_of, once

    def claims(self, cls: type) -> bool:
        return super().claims(cls) if self._claimed is None else self._claimed(cls)

    def encode(self, obj: Any, context: Encoding) -> Node:
        kind = self._kinds[type(obj).__qualname__] if self._kind_of is None else self._kind_of(obj)
        node = self._rows[kind].out(obj)
        literal = [kind, *(node.literal if isinstance(node.literal, list) else ())]
        return Node(literal, node.children, key=tuple(literal) if self._once and not node.children else None)

    def check(self, literal: Any, children: Sequence[Child], version: int) -> None:
        kind = str(literal[0]) if isinstance(literal, list) and literal else ""
        expect(kind in self._rows, f"a kind of {self.name}", kind[:40])
        self._rows[kind].check(literal[1:] or None, children, version)

    def decode(self, literal: Any, children: Sequence[Any], version: int, context: Decoding) -> Any:
        row = self._rows[literal[0]]
        return row.back(*children) if row.form is None else row.back(literal[1:], *children)


def one_of(known: Container[str]) -> Callable[[Any], bool]:
    """Return the form of literals that are a list of one of these words.

    >>> one_of(["cpu"])(["cpu"]), one_of(["cpu"])("cpu")
    (True, False)
    """
    return lambda literal: kinds(str)(literal) and literal[0] in known
