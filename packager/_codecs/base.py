"""What a codec is: the translation between one family of Python types and plain data.

A codec turns an object into a `Node` (a literal, and the child objects that the encoder goes on
with) and a checked node back into the object. It never sees records, references or the archive;
`packager._objects` turns an object graph into a table of records.

Writing a codec of your own
---------------------------
1. Inherit `Codec`; give it a `name` ("yourpackage.thing"), and in `types` the classes it is for, as
   "module:Qualified.Name", so that nothing has to be imported to find it. Where nodes have items,
   pairs or attributes, say so by `takes_items`, `takes_pairs` or `takes_attributes`: other objects
   are given none, so that no archive changes an object that the whole process shares. Where the first
   child is a class, of which `decode` makes an instance, say `creates`. `is_data` says what its objects may
   stand in: "plain" in all data, "tensors" where arrays may, "library" where somebody knows the library; ""
   where they are attributes, items and members of what has a row. Where `decode` compares, converts or
   prints its children, `takes_apart` keeps these to plain data and tensors.
2. `encode` answers with a `Node`; `check` looks at a node from a file *without importing anything*
   and raises ValueError when `encode` could not have made it; `decode` builds the object.
3. When the layout changes, raise `version`. `check` and `decode` are told the version that the file
   was written with and go on reading every older one, for ever.
4. Let its name begin with that of your library, and list it in the `codecs` of the `Library` that you offer:
   see docs/reference/your-library.md.
5. Let a test class inherit `packager.testing.CodecContract`; it is done when that passes.

Most of packager's own codecs take a few expressions, and are rows: see `PartsCodec` and `LiteralCodec` below.

The codecs that packager brings import the library they are for inside their functions only, so they are
always all there. Those of a library are found with all that is known of it (registry.py).
"""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Iterable, Mapping, Sequence

from packager._archive import MAX_EXTENT
from packager._quick_dataclasses import dataclass, field
from packager._tensors import StoredTensor as StoredTensor
from packager._tensors import TensorData as TensorData

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    import typing
    from typing import Any, ClassVar, Final, Protocol, TypeAlias, TypeVar

    _T = TypeVar("_T")
else:
    Protocol = object

Scalar: TypeAlias = "bool | int | float | str | bytes | None"
LiteralValue: TypeAlias = "Scalar | list[Scalar]"
Role: TypeAlias = "typing.Literal['create', 'call', 'value']"
"""What is done with a named thing: made and then given its state, called, or merely referred to."""


class CannotStore(Exception):
    """Raised by a codec for an object that cannot be stored: the reason, and what to do instead.

    The encoder catches it, adds the attribute path, and goes on, so that everything that cannot be
    stored is reported at once.
    """

    def __init__(self, reason: str, *options: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.options = options


@dataclass(frozen=True, slots=True)
class Node:
    """The stored form of an object, as a codec returns it.

    `literal` is a scalar or a flat list of scalars; `children` are objects that the encoder goes on
    with (`TensorData` among them). `items` are appended to the decoded object, `pairs` assigned to
    it, and `attributes` set, when everything that they refer to exists: they may lead back to the
    object. Objects with an equal `key` are stored once: for values that decoding makes unique, such
    as dtypes.
    """

    literal: LiteralValue = None
    children: Sequence[object] = ()
    items: Sequence[object] = ()
    pairs: Mapping[Any, object] = field(default_factory=dict)
    attributes: Mapping[str, object] = field(default_factory=dict)
    key: Hashable = None


@dataclass(frozen=True, slots=True)
class Finish:
    """The second phase of a codec: what `Codec.finish` gets when all objects exist.

    `labels`, where given, are what each child is called in attribute paths, "" for no name.
    """

    literal: LiteralValue = None
    children: Sequence[object] = ()
    labels: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Child:
    """What `Codec.check` may know about a child: nothing of it has been imported or built.

    `kind` is "scalar", "tensor", "global", "codec", "object", or the name of a built-in container;
    `codec` names the codec of a "codec"; `value` is the scalar, or, for a "tensor", its
    (dtype, shape, strides, offset).
    """

    kind: str
    codec: str | None = None
    value: Any = None


class Encoding(Protocol):
    """What a codec may ask for while it encodes."""

    def warn(self, reason: str) -> None:
        """Add a warning with the attribute path of the object at hand to the plan."""

    def refuse(self, reason: str, *options: str) -> None:
        """Record that something of the object at hand cannot be stored, and go on looking for more."""

    def name_of(self, obj: object) -> tuple[str, str]:
        """Return the module and qualified name by which an archive remembers a class or function.

        Raises CannotStore when it has none.
        """

    def stored(self, obj: object) -> bool:
        """Check whether this very object has been stored by now."""

    def path(self) -> str:
        """Return the attribute path of the object at hand."""

    def forbid(self, memory: TensorData, reason: str) -> None:
        """Refuse from now on views that overlap this memory, for the reason given."""

    def allow(self, memory: TensorData) -> None:
        """Take back `forbid` for this memory."""

    def defer(self, stage: int, obj: object, finish: Callable[[], Finish | None]) -> None:
        """Ask `finish` for the second phase of `obj` when everything else is stored.

        Lower stages come first. `finish` may raise CannotStore, warn, and answer None.
        """

    def number(self, family: str, identity: Hashable) -> int:
        """Return a number for an id that means something in this process only: 0, 1, 2, ... as they come."""

    def shared_state(self, make: Callable[[], _T]) -> _T:
        """Return what codecs remember during one encoding: one instance of `make` for all of them."""


class Decoding(Protocol):
    """What a codec may ask for while it decodes."""

    @property
    def map_location(self) -> Any:
        """The device that the caller of `load_object` asked for, or None."""

    def number(self, family: str, number: int, make: Callable[[], int]) -> int:
        """Return the id that stands for a stored number in this process, made by `make` when it is new."""

    def shared_state(self, make: Callable[[], _T]) -> _T:
        """Return what codecs remember during one decoding: one instance of `make` for all of them."""


class Codec:
    """The translation between a family of types and nodes.

    Inherit it where neither `LiteralCodec` nor `PartsCodec` fits.

    `encode` takes an object apart, `check` looks at a node before anything is built, `decode` builds.

    >>> import textwrap
    >>> class WrapperCodec(Codec):
    ...     name, types, is_data = "gauges.wrapper", ("textwrap:TextWrapper",), "plain"
    ...     def encode(self, obj, context):
    ...         return Node(obj.width)
    ...     def check(self, literal, children, version):
    ...         if type(literal) is not int or children:
    ...             raise ValueError("expected a width")
    ...     def decode(self, literal, children, version, context):
    ...         return textwrap.TextWrapper(literal)
    >>> WrapperCodec().claims(textwrap.TextWrapper)
    True
    """

    name: str
    version: int = 1
    types: tuple[str, ...] = ()
    takes_items: bool = False
    takes_pairs: bool = False
    takes_attributes: bool = False
    creates: bool = False
    is_data: str = ""
    takes_apart: bool = False

    def claims(self, cls: type) -> bool:
        """Check whether this codec takes instances of `cls`, which is one of `types` or a subclass of one."""
        return f"{cls.__module__}:{cls.__qualname__}" in self.types

    def unread(self, literal: object) -> tuple[str, str]:
        """Return the part of a node that no check reads, and the name in `trust=` that allows it; "" for
        nothing."""
        return "", ""

    def variant(self, obj: object) -> Codec:
        """Return the codec for this very object, where instances of one class need different ones."""
        return self

    def encode(self, obj: Any, context: Encoding) -> Node:
        """Return the node of `obj`. Raises CannotStore when this very object cannot be stored."""
        raise NotImplementedError

    def check(self, literal: LiteralValue, children: Sequence[Child], version: int) -> None:
        """Raise ValueError unless `encode` of this version could have made such a node."""
        raise NotImplementedError

    def decode(self, literal: LiteralValue, children: Sequence[Any], version: int, context: Decoding) -> Any:
        """Build the object of a checked node. Raises ValueError when its children do not fit."""
        raise NotImplementedError

    def check_finish(self, literal: LiteralValue, children: Sequence[Child], version: int) -> None:
        """Raise ValueError unless a `Finish` of this version could look like this."""
        raise ValueError("this codec has no second phase")

    def finish(
        self, obj: Any, literal: LiteralValue, children: Sequence[Any], version: int, context: Decoding
    ) -> None:
        """Run the second phase on a decoded object. Raises ValueError when its children do not fit."""
        raise NotImplementedError

    def roles(self, literal: LiteralValue, count: int, version: int) -> Sequence[Role]:
        """Return what decoding does with each child that is a named thing, by `creates` if not overridden."""
        return tuple("create" if self.creates and at == 0 else "value" for at in range(count))

    def finish_roles(self, literal: LiteralValue, count: int, version: int) -> Sequence[Role]:
        """Return the same for the second phase."""
        return tuple("value" for _ in range(count))


class ObjectCodec(Codec):
    """A codec for objects that are a class and attributes, and that may refer to themselves.

    Such an object is made first and filled later, and takes part in cycles as plain objects do. It
    has no literal; the encoder writes its class and what `attributes` gives. Attributes named in
    `tables` are passed over in attribute paths, what they hold reads as attributes.
    """

    tables: ClassVar[frozenset[str]] = frozenset()

    def uses_setstate(self, cls: type) -> bool:
        """Check whether attributes are handed to `__setstate__` of the class, instead of to `fill`."""
        return False

    def attributes(self, obj: object, context: Encoding) -> Mapping[str, object]:
        """Return what is stored: attributes by name, in an order that depends on nothing else."""
        raise NotImplementedError

    def make(self, cls: type, version: int) -> Any:
        """Make an instance without any state of its own; `__init__` of the class does not run."""
        raise NotImplementedError

    def fill(self, obj: Any, attributes: Mapping[str, object], version: int) -> None:
        """Set what `attributes` gave, or a part of it."""
        raise NotImplementedError

    def set_state(self, obj: Any, state: Any, version: int) -> None:
        """Hand to `__setstate__` of the class what `attributes` gave."""
        type(obj).__setstate__(obj, state)

    def check_made(self, obj: object) -> None:
        """Raise ValueError unless an object, when all is built, holds what its class relies on.

        Asked in data alone only: code may do with its own objects what it likes.
        """


# --- for `check` and `claims` of codecs ---


def expect(condition: bool, what: str, found: object = None) -> None:
    """Raise ValueError saying what was expected, and what was found where that is given."""
    if not condition:
        raise ValueError(f"expected {what}" + ("" if found is None else f", found {found}"))


def expect_sizes(values: Iterable[Any], what: str = "a shape", limit: int = MAX_EXTENT) -> None:
    """Raise ValueError unless all values are ints from 0 to below `limit`."""
    for value in values:
        if type(value) is not int or not 0 <= value < limit:
            expect(False, f"{what}: ints from 0 to {limit - 1}", repr(value)[:40])


def expect_class(cls: Any, base: Any, what: str) -> None:
    """Raise ValueError, saying what was expected, unless `cls` is `base` or inherits from it."""
    if not (isinstance(cls, type) and issubclass(cls, base)):
        raise ValueError(f"{cls!r} is not {what}")


def expect_tensor(child: Child, dtype: str | None = None) -> tuple[str, list[int]]:
    """Return the dtype and shape of a child that must be a tensor. Raises ValueError for another one."""
    expect(
        child.kind == "tensor" and (dtype is None or child.value[0] == dtype),
        f"a tensor of {dtype or 'bytes'}",
    )
    found, shape = child.value[:2]
    return found, shape


_MOST_TEXT: Final = 1 << 30


def expect_payload(child: Child, most: int = _MOST_TEXT) -> int:
    """Return how many bytes a child has that must be bytes. Raises ValueError for another one."""
    _, shape = expect_tensor(child, "U8")
    strides = child.value[2]
    expect(len(shape) == 1 and strides in (None, [1]), "bytes in a row")
    expect(shape[0] <= most, f"at most {most} bytes", shape[0])
    return int(shape[0])


def shares_methods(cls: type, base: type, *names: str) -> bool:
    """Check whether a class has these methods of another one unchanged, or neither has them.

    >>> shares_methods(bool, int, "__add__", "__setstate__"), shares_methods(bool, int, "__and__")
    (True, False)
    """
    return all(getattr(cls, name, None) is getattr(base, name, None) for name in names)


@dataclass(frozen=True, eq=False)
class PartsCodec(Codec):
    """A codec for objects that their parts describe, and a literal if `form` is given.

    `kinds` has a word for each part, or several with "|" between them: a kind of `Child`, the name of a
    codec, which has a dot, "payload", "none" or "any"; a last word with a "*" is for any number. `what`
    describes them in errors. `out` returns the node of an object, and `back` returns the object of its parts,
    after the literal if there is one. `also` makes further checks. `claimed` replaces `claims`.

    >>> codec = PartsCodec("collections.chainmap", ("collections:ChainMap",), "any any*", "mappings",
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

    def check(self, literal: object, children: Sequence[Child], version: int) -> None:
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
        expect_payload(child)
    missing = child.kind == "scalar" and child.value is None
    known = ("any", "payload", child.kind, child.codec if child.codec and "." in child.codec else None)
    return any(word in known or (word == "none" and missing) for word in words.split("|"))


class LiteralCodec(PartsCodec):
    """A codec for objects that one literal describes.

    `out` returns the literal of an object, `form` checks a literal of an archive, and `back` returns the
    object of a literal. With `once` equal literals are stored once.

    >>> codec = LiteralCodec("complex", ("builtins:complex",), kinds(float, float), "two floats",
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
