"""All codecs, and all libraries: found by the name of a codec, by a class, by the name of a library.

A table says which file of this room has which codecs, by their names and by the types that they are for. By
either a codec is found without the other files: a model asks for three or four of them. A test compares the
table with the files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from importlib import import_module

from packager._names import is_from_archive

from .base import Codec
from .c_state import StateCheck
from .library import (
    NO_LIBRARIES,
    CodecError,
    Library,
    find_library,
    library_files,
    library_names,
    offered_libraries,
)

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    from typing import Any, Final

FAMILIES: Final = {
    "plain": "complex,bytearray,singleton,slice,enum,fraction,array.array,logging.logger,namedtuple,"
    "scalar subclass,functools.partial,method,getter,functools.cache,collections.mapping,"
    "collections.deque,collections.chainmap",
    "typing_forms": "typing.form,inspect.signature",
    "standard_values": "re.pattern,regex.pattern,io.buffer,zoneinfo,itertools,exception,"
    "weakref.collection,decimal.context,"
    "types.mappingproxy,struct.struct,stateless",
    "arrays": "numpy.dtype,numpy.scalar,numpy.bit_generator,numpy.generator,numpy.seed_sequence,"
    "numpy.random_state,numpy.subclass,numpy.ndarray,numpy.masked",
    "kellet_codec": "kellet.subclass,kellet.tensor,kellet.module,kellet.hooks,kellet.handle,kellet.hook,"
    "kellet.gate,kellet.device,kellet.size",
    "torch_codec": "torch.value,torch.subclass,torch.tensor,torch.sparse,torch.quantized,torch.generator,"
    "torch.module,torch.handle",
    "optimizers": "kellet.optimizer,torch.optimizer",
}
"""The files of codecs that are always there, with the names of these, in the order in which they come."""

_TYPES: Final = {
    "plain": "array:array builtins:NotImplementedType builtins:bytearray builtins:bytes builtins:complex "
    "builtins:ellipsis builtins:float builtins:int builtins:method builtins:range builtins:slice "
    "builtins:str builtins:tuple enum:Enum fractions:Fraction functools:_lru_cache_wrapper functools:partial "
    "logging:Logger operator:attrgetter operator:itemgetter collections:ChainMap collections:Counter "
    "collections:OrderedDict collections:defaultdict collections:deque",
    "typing_forms": "annotationlib:ForwardRef collections.abc:_CallableGenericAlias inspect:Parameter "
    "inspect:Signature types:UnionType typing:ForwardRef typing:Union typing:_AnnotatedAlias "
    "typing:_CallableGenericAlias typing:_CallableType typing:_GenericAlias typing:_LiteralGenericAlias "
    "typing:_SpecialForm typing:_SpecialGenericAlias typing:_TupleType typing:_UnionGenericAlias",
    "standard_values": "re:Pattern _regex:Pattern _io:BytesIO _io:StringIO _struct:Struct "
    "_weakrefset:WeakSet builtins:BaseException "
    "builtins:mappingproxy dataclasses:_KW_ONLY_TYPE dataclasses:_MISSING_TYPE decimal:Context "
    "itertools:count itertools:repeat random:SystemRandom weakref:WeakKeyDictionary "
    "weakref:WeakValueDictionary zoneinfo:ZoneInfo",
    "arrays": "numpy.ma.core:MaskedArray numpy.ma.core:MaskedConstant numpy.ma:MaskedArray "
    "numpy.random._bit_generator:BitGenerator numpy.random._bit_generator:SeedSequence "
    "numpy.random._generator:Generator numpy.random.bit_generator:BitGenerator "
    "numpy.random.bit_generator:SeedSequence numpy.random.mtrand:RandomState numpy:dtype numpy:generic "
    "numpy:ndarray",
    "kellet_codec": "kellet.core.device:Device kellet.core.tensor:Tensor "
    "kellet.hooks:HookRegistry kellet.hooks:RemovableHandle kellet.limits:Size kellet.nn.hook:Hook "
    "kellet.nn.hook:HookGate kellet.nn.module:Module",
    "torch_codec": "torch._C:Generator torch.nn.modules.module:Module torch.utils.hooks:RemovableHandle "
    "torch:Size torch:Tensor torch:device torch:dtype torch:layout torch:memory_format",
    "optimizers": "kellet.optim.optimizer:Optimizer torch.optim.optimizer:Optimizer",
}
"""The types of each file's codecs; no type is in two files."""

FILE_OF: Final = {name: file for file, names in FAMILIES.items() for name in names.split(",")}
FILE_OF_TYPE: Final = {name: file for file, names in _TYPES.items() for name in names.split()}


class CodecRegistry:
    """Codecs by name and by class, and libraries. Those of other distributions are searched for once.

    `with_ours` says that all built-in codecs are there from the beginning.

    >>> registry = default_registry()
    >>> registry.find("complex").name, registry.for_class(complex).name
    ('complex', 'complex')
    >>> registry.for_class(list) is None
    True
    """

    def __init__(self, codecs: Iterable[Codec] = (), *, with_ours: bool = False) -> None:
        self._with_ours = with_ours
        self._by_name: dict[str, Codec] = {}
        self._added: dict[str, tuple[Codec, ...]] = {}  # by type, the latest first
        self._of_libraries: dict[str, tuple[Codec, ...]] = {}
        self._libraries: dict[str, Library | None] = {}
        for codec in codecs:
            self.add(codec)

    def __iter__(self) -> Iterator[Codec]:
        for name in library_names():
            self.library(name)
        ours = (built_in(name) for name in FILE_OF) if self._with_ours else ()
        return iter({codec.name: codec for codec in (*ours, *self._by_name.values())}.values())

    def add(self, codec: Codec) -> None:
        """Add a codec, which may take over a class, and leave it by `claims`.

        Raises CodecError when its name is taken or malformed.
        """
        self._name(codec)
        for type_name in codec.types:
            self._added[type_name] = (codec, *self._added.get(type_name, ()))

    def replace(self, codecs: Iterable[Codec]) -> None:
        """Let codecs take the place of those of their names, for what is decoded."""
        self._by_name.update({codec.name: codec for codec in codecs})

    def settled(self) -> CodecRegistry:
        """Return a copy that looks for no more libraries of other distributions: while data is built."""
        copied = CodecRegistry()
        vars(copied).update(
            {name: dict(held) if type(held) is dict else held for name, held in vars(self).items()}
        )
        vars(copied).setdefault("_points", {})
        return copied

    def find(self, name: str) -> Codec | None:
        """Return the codec of that name, from a library if not built in; None when there is none.

        Raises CodecError for an entry point that gives no library.
        """
        if self._known(name) is None:
            self.library(name.partition(".")[0])
        return self._known(name)

    def for_class(self, cls: type) -> Codec | None:
        """Return the codec for instances of `cls`: that of the nearest base class that claims it."""
        for base in cls.__mro__[:-1]:
            self.library(str(base.__module__).partition(".")[0])
            for codec in self.for_type(f"{base.__module__}:{base.__qualname__}"):
                if codec.claims(cls):
                    return codec
        return None

    def for_type(self, name: str) -> Sequence[Codec]:
        """Return the codecs for a type in the order in which they are asked; our file alone is imported."""
        ours: Sequence[Codec] = ()
        if self._with_ours and name in FILE_OF_TYPE:
            ours = [codec for codec in reversed(_codecs_in(FILE_OF_TYPE[name])) if name in codec.types]
        return (*self._added.get(name, ()), *ours, *self._of_libraries.get(name, ()))

    def library(self, name: str) -> Library | None:
        """Return what is known of the library of a top-level package; None where nothing is.

        Its codecs are found from then on. Raises CodecError for one whose name is not of the library.
        """
        if name in self._libraries:
            return self._libraries[name]
        found = self._libraries[name] = None if name in NO_LIBRARIES else find_library(name, self._points)
        for codec in () if found is None else found.codecs:
            if not isinstance(codec, Codec) or not str(codec.name).startswith(f"{name}."):
                raise CodecError(
                    f"library {name!r}: {codec!r} is no codec whose name begins with {name + '.'!r}; "
                    "rename it"
                )
            self._name(codec)
            for type_name in codec.types:
                self._of_libraries[type_name] = (*self._of_libraries.get(type_name, ()), codec)
        return found

    @cached_property
    def _points(self) -> Mapping[str, object]:
        return offered_libraries()

    def _known(self, name: str) -> Codec | None:
        if name in self._by_name or not (self._with_ours and name in FILE_OF):
            return self._by_name.get(name)
        return built_in(name)

    def _name(self, codec: Codec) -> None:
        """Put a codec under its name. Raises CodecError when that is taken or malformed."""
        name = getattr(codec, "name", None)
        if not isinstance(name, str) or not name or codec.version < 1:
            raise CodecError(f"codec {codec!r}: expected a name and a version of 1 or more, found {name!r}")
        if (known := self._known(name)) is not None:
            raise CodecError(f"codec {name!r} is there twice: {known!r} and {codec!r}; rename one")
        self._by_name[name] = codec


def default_registry() -> CodecRegistry:
    """Return a registry with everything that packager brings and that is installed here.

    It is the caller's own: what is added to it is in no other one.
    """
    return CodecRegistry(with_ours=True)


@lru_cache(maxsize=len(FILE_OF))
def built_in(name: str) -> Codec:
    """Return the codec of one of our names; its file alone is imported."""
    return next(codec for codec in _codecs_in(FILE_OF[name]) if codec.name == name)


def _codecs_in(file: str) -> Sequence[Codec]:
    found: Sequence[Codec] = import_module(f"{__package__}.{file}").CODECS
    return found


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


def stored_state(cls: type, state: object) -> Any:
    """Return the state of an object of a class as it is stored, by the checks of the class.

    >>> stored_state(dict, (1, 2))
    (1, 2)
    """
    for check in state_checks(cls):
        state = check.stored_state(state)
    return state


def carried_files(tops: Iterable[str]) -> tuple[str, ...]:
    """Return the files that are found by names alone, as paths without their ends: what an archive carries.

    `tops` are the top-level packages of what is stored: other libraries are left out.

    >>> files = carried_files(["numpy", "pandas"])
    >>> [f"packager/{name}" in files for name in ("_codecs/arrays", "_libraries/pandas", "_libraries/polars")]
    [True, True, False]
    """
    ours = (f"{__package__.replace('.', '/')}/{name}" for name in FAMILIES)
    return (*ours, *library_files([*tops]))
