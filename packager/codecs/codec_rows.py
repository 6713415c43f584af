"""Codecs as rows, for objects that take a few expressions and no class: `Literal`, `Parts` and `Choice`."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence

from packager.quick_dataclasses import dataclass

from .base import Child, Codec, Decoding, Encoding, Node, expect

TYPE_CHECKING = False  # as in packager.lazy
if TYPE_CHECKING:
    from typing import Any


@dataclass(frozen=True, eq=False)
class Parts(Codec):
    """A codec for objects that their parts say all of, beside a literal if there is a `form` of it.

    `kinds` has a word for each part, or several with "|" between them: a kind of `Child`, the name of a
    codec, which has a dot, "payload", "none" or "any"; a last word with a "*" is for any number. `what`
    names all that for errors. `out` gives the node of an object, and `back` makes the object of its parts,
    after the literal if there is one. `also` checks what kinds cannot say. `claimed` replaces `claims`.

    >>> codec = Parts("collections.chainmap", ("collections:ChainMap",), "any any*", "mappings",
    ...               lambda obj: Node(None, tuple(obj.maps)), lambda *maps: maps)
    >>> codec.check(None, (), 1)
    Traceback (most recent call last):
    ValueError: expected mappings
    """

    name: str
    types: tuple[str, ...]
    kinds: str
    what: str
    out: Callable[[Any], Node]
    back: Callable[..., Any]
    form: Callable[[Any], object] | None = None
    claimed: Callable[[type], bool] | None = None
    creates: bool = False
    also: Callable[[Any, Sequence[Child]], object] | None = None
    takes_items: bool = False
    takes_pairs: bool = False
    takes_attributes: bool = False
    is_data: str = ""
    takes_apart: bool = False

    def claims(self, cls: type) -> bool:
        return Codec.claims(self, cls) if self.claimed is None else self.claimed(cls)

    def encode(self, obj: Any, context: Encoding) -> Node:
        return self.out(obj)

    def check(self, literal: Any, children: Sequence[Child], version: int) -> None:
        wanted = self.kinds.split()
        if wanted and wanted[-1].endswith("*"):
            last = wanted.pop()
            wanted += [last[:-1]] * (len(children) - len(wanted))
        known = literal is None if self.form is None else bool(self.form(literal))
        expect(known and len(children) == len(wanted), self.what)
        for child, words in zip(children, wanted, strict=True):
            what = "a class" if words == "global" else self.what
            expect(_is_of(child, words), what, child.codec or child.kind)
        expect(self.also is None or bool(self.also(literal, children)), self.what)

    def decode(self, literal: Any, children: Sequence[Any], version: int, context: Decoding) -> Any:
        return self.back(*children) if self.form is None else self.back(literal, *children)


def _is_of(child: Child, words: str) -> bool:
    if words == "payload":
        from .payloads import expect_payload  # which most codecs do without

        expect_payload(child)
    missing = child.kind == "scalar" and child.value is None
    known = ("any", "payload", child.kind, child.codec if child.codec and "." in child.codec else None)
    return any(word in known or (word == "none" and missing) for word in words.split("|"))


class Literal(Parts):
    """A codec for objects that a literal says all of.

    `out` gives the literal of an object, `form` says whether one may stand in an archive, and `back` makes
    the object of it. `once` says that equal literals are stored once.

    >>> codec = Literal("complex", ("builtins:complex",), kinds(float, float), "two floats",
    ...                 lambda obj: [obj.real, obj.imag], lambda parts: complex(*parts))
    >>> codec.check([1.0, 2], (), 1)
    Traceback (most recent call last):
    ValueError: expected two floats
    """

    def __init__(
        self,
        name: str,
        types: tuple[str, ...],
        form: Callable[[Any], object],
        what: str,
        out: Callable[[Any], Any],
        back: Callable[[Any], Any],
        *,
        once: bool = False,
        claimed: Callable[[type], bool] | None = None,
        is_data: str = "",
    ) -> None:
        def node(obj: Any) -> Node:
            literal = out(obj)
            return Node(literal, key=literal if once else None)

        super().__init__(name, types, "", what, node, back, form, claimed, is_data=is_data)


class Choice(Codec):
    """A codec for objects of several kinds, each with a row of its own, whose name begins the literal.

    `rows` give the rest of the literal, None for nothing, and the children. A row is found by the class of an
    object, or by `kind_of`. `once` says that equal literals without children are stored once.

    >>> codec = Choice("numbers", Literal("real", ("builtins:float",), kinds(float), "a float",
    ...                                   lambda obj: [obj], lambda parts: parts[0]))
    >>> codec.check(["real", 1], (), 1)
    Traceback (most recent call last):
    ValueError: expected a float
    """

    def __init__(
        self,
        name: str,
        *rows: Parts,
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


def kinds(*types: type) -> Callable[[Any], bool]:
    """Return the form of literals that are lists of parts of exactly these types.

    >>> kinds(str, int)(["a", 1]), kinds(str, int)(["a", True])
    (True, False)
    """
    return lambda literal: isinstance(literal, list) and list(map(type, literal)) == list(types)


def words(known: Container[str]) -> Callable[[Any], bool]:
    """Return the form of literals that are one of these words.

    >>> words(["cpu"])("cpu"), words(["cpu"])(["cpu"])
    (True, False)
    """
    return lambda literal: type(literal) is str and literal in known


def one_of(known: Container[str]) -> Callable[[Any], bool]:
    """Return the form of literals that are a list of one of these words.

    >>> one_of(["cpu"])(["cpu"]), one_of(["cpu"])("cpu")
    (True, False)
    """
    return lambda literal: kinds(str)(literal) and literal[0] in known
