"""What a codec is: the translation between one family of Python types and plain data.

A codec turns an object into a `Node` (a literal, and the child objects that the encoder goes on
with) and a checked node back into the object. It never sees records, references or the archive;
`packager.objects` turns an object graph into a table of records.

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
   see docs/guides/your-library.md.
5. Let a test class inherit `packager.testing.CodecContract`; it is done when that passes.

Most of packager's own codecs take a few expressions, and are rows: see codec_rows.py.

The codecs that packager brings import the library they are for inside their functions only, so they are
always all there. Those of a library are found with all that is known of it (library.py).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from importlib import import_module

from packager.archive import MAX_EXTENT
from packager.names import is_from_archive
from packager.quick_dataclasses import dataclass, field
from packager.tensors import StoredTensor as StoredTensor
from packager.tensors import TensorData as TensorData

from .c_state import StateCheck
from .families import FAMILIES, FILE_OF, FILE_OF_TYPE
from .library import NO_LIBRARIES, CodecError, Library, find_library, library_names, offered_libraries

TYPE_CHECKING = False  # as in packager.lazy
if TYPE_CHECKING:
    from typing import Any, ClassVar, Literal, Protocol, TypeAlias, TypeVar

    _T = TypeVar("_T")
else:
    Protocol = object

Scalar: TypeAlias = "bool | int | float | str | bytes | None"
LiteralValue: TypeAlias = "Scalar | list[Scalar]"
Role: TypeAlias = "Literal['create', 'call', 'value']"
"""What is done with a named thing: made and then given its state, called, or merely referred to."""


class CannotStore(Exception):
    """An object that has no place in an archive: the reason, and what the user can do instead.

    The encoder catches it, adds the attribute path, and goes on, so that everything that cannot be
    stored is reported at once.
    """

    def __init__(self, reason: str, *options: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.options = options


@dataclass(frozen=True, slots=True)
class Node:
    """What a codec makes of an object.

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
    """The translation between one family of types and nodes. Inherit it; see the top of this file."""

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

    def unread(self, literal: Any) -> tuple[str, str]:
        """Return what of a node no check reads, and the name that `trust=` may vouch by; "" for nothing."""
        return "", ""

    def variant(self, obj: Any) -> Codec:
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

    def attributes(self, obj: Any, context: Encoding) -> Mapping[str, object]:
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

    def check_made(self, obj: Any) -> None:
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


def shares_methods(cls: type, base: type, *names: str) -> bool:
    """Check whether a class has these methods of another one unchanged, or neither has them.

    >>> shares_methods(bool, int, "__add__", "__setstate__"), shares_methods(bool, int, "__and__")
    (True, False)
    """
    return all(getattr(cls, name, None) is getattr(base, name, None) for name in names)


# --- all codecs ---


class CodecRegistry:
    """Codecs by name and by class, and libraries. Those of other distributions are searched for once.

    >>> registry = default_registry()
    >>> registry.find("complex").name, registry.for_class(complex).name
    ('complex', 'complex')
    >>> registry.for_class(list) is None
    True
    """

    def __init__(
        self,
        codecs: Iterable[Codec] = (),
        *,
        below: Callable[[], CodecRegistry] | None = None,
    ) -> None:
        self._by_name: dict[str, Codec] = {}
        self._by_type: dict[str, tuple[Codec, ...]] = {}
        self._opened: dict[str, Library | None] = {}
        self._below = below  # what gives the registry that this one begins as
        for codec in codecs:
            self.add(codec)

    def __iter__(self) -> Iterator[Codec]:
        self._begin()
        for library in library_names():
            self._open(library)
        return iter(self._by_name.values())

    def add(self, codec: Codec) -> None:
        """Add a codec. Raises CodecError when its name is taken or malformed."""
        name = getattr(codec, "name", None)
        if not isinstance(name, str) or not name or codec.version < 1:
            raise CodecError(f"codec {codec!r}: expected a name and a version of 1 or more, found {name!r}")
        self._begin()
        if name in self._by_name:
            raise CodecError(
                f"codec {name!r} is there twice: {self._by_name[name]!r} and {codec!r}; rename one"
            )
        self._by_name[name] = codec
        for type_name in codec.types:
            # Later ones first: a codec that somebody adds may take over a class, and leave it by `claims`.
            self._by_type[type_name] = (codec, *self._by_type.get(type_name, ()))

    def replace(self, codecs: Iterable[Codec]) -> None:
        """Let codecs take the place of those of their names, for what is decoded."""
        self._begin()
        self._by_name.update({codec.name: codec for codec in codecs})

    def copy(self) -> CodecRegistry:
        """Return a registry with the same codecs; what is added to one of the two is not in the other."""
        copied = CodecRegistry(below=self._below)
        copied._by_name, copied._by_type = dict(self._by_name), dict(self._by_type)
        copied._opened = dict(self._opened)
        return copied

    def settled(self) -> CodecRegistry:
        """Return a copy that looks for no more libraries of other distributions: while data is built."""
        copied = self.copy()
        copied._points = vars(self).get("_points", {})
        return copied

    def find(self, name: str) -> Codec | None:
        """Return the codec of that name, from a library if not built in; None when there is none.

        Raises CodecError for an entry point that gives no library.
        """
        if self._below is not None:
            if name in FILE_OF:
                return _built_in_codec(name)
            self._begin()
        if name not in self._by_name:
            self._open(name.partition(".")[0])
        return self._by_name.get(name)

    def for_class(self, cls: type) -> Codec | None:
        """Return the codec for instances of `cls`: that of the nearest base class that claims it."""
        for base in cls.__mro__[:-1]:
            self._open(str(base.__module__).partition(".")[0])
            name = f"{base.__module__}:{base.__qualname__}"
            known = self._by_type.get(name, ()) if self._below is None else _built_in_for(name)
            for codec in known:
                if codec.claims(cls):
                    return codec
        return None

    def library(self, name: str) -> Library | None:
        """Return what is known of the library of a top-level package; None where nothing is."""
        self._open(name)
        return self._opened[name]

    @cached_property
    def _points(self) -> Mapping[str, object]:
        return offered_libraries()

    def _begin(self) -> None:
        """Take over the codecs of the registry that this one begins as."""
        if self._below is not None:
            below, self._below = self._below(), None
            self._by_name, self._by_type = dict(below._by_name), dict(below._by_type)

    def _open(self, name: str) -> None:
        """Add the codecs of a library that were not asked for before, behind those that are there."""
        if name in self._opened:
            return
        # None of these is a library.
        library = self._opened[name] = None if name in NO_LIBRARIES else find_library(name, self._points)
        if library is None or not library.codecs:
            return
        wrong = [codec for codec in library.codecs if not _is_of(codec, name)]
        if wrong:
            raise CodecError(
                f"library {name!r}: {wrong[0]!r} is no codec whose name begins with {name + '.'!r}; rename it"
            )
        self._begin()
        for codec in library.codecs:
            before = {type_name: self._by_type.get(type_name, ()) for type_name in codec.types}
            self.add(codec)
            self._by_type.update({type_name: (*known, codec) for type_name, known in before.items()})


def default_registry() -> CodecRegistry:
    """Return a registry with everything that packager brings and that is installed here.

    It is the caller's own: what is added to it is in no other one.
    """
    return CodecRegistry(below=_built_in)


@lru_cache(maxsize=1)
def _built_in() -> CodecRegistry:
    families = (import_module(f"{__package__}.{name}") for name in FAMILIES)
    return CodecRegistry(codec for family in families for codec in family.CODECS)


@lru_cache(maxsize=len(FILE_OF))
def _built_in_codec(name: str) -> Codec:
    """Return the codec of one of these names; its file alone is imported."""
    found: Iterable[Codec] = import_module(f"{__package__}.{FILE_OF[name]}").CODECS
    return next(codec for codec in found if codec.name == name)


def _built_in_for(type_name: str) -> Iterable[Codec]:
    """Return the codecs of a type, in the order in which they are asked; their file alone is imported."""
    if type_name not in FILE_OF_TYPE:
        return ()
    codecs: Sequence[Any] = import_module(f"{__package__}.{FILE_OF_TYPE[type_name]}").CODECS
    return [codec for codec in reversed(codecs) if type_name in codec.types]


def _is_of(codec: object, library: str) -> bool:
    return isinstance(codec, Codec) and str(codec.name).startswith(f"{library}.")


def state_checks(cls: type, find: Callable[[str], Library | None] = find_library) -> tuple[StateCheck, ...]:
    """Return the checks of a class, and of all that it inherits from.

    >>> state_checks(dict)
    ()
    """
    found: list[StateCheck] = []
    for base in cls.__mro__:
        module = f"{base.__module__}"
        library = None if is_from_archive(module) else find(module.partition(".")[0])
        row = (
            None if library is None or library.rows is None else library.rows.find(module, base.__qualname__)
        )
        found += [check for check in (row.c_state if row is not None else ()) if check not in found]
    return tuple(found)


def stored_state(cls: type, state: Any) -> Any:
    """Return the state of an object of a class as it is stored, by the checks of the class.

    >>> stored_state(dict, (1, 2))
    (1, 2)
    """
    for check in state_checks(cls):
        state = check.stored_state(state)
    return state
