"""A stored state dict, read: a mapping that touches a tensor when it is asked for, and not before."""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeAlias

from packager._archive import TensorReader, TensorSpec, storages_of
from packager._arguments import check_choice, check_kind
from packager._codecs import LIBRARIES, array_layout, in_place, tensor_in
from packager._process import gc_paused
from packager._quick_dataclasses import replace
from packager._tensors import (
    ITEMSIZE,
    StoredTensor,
    is_dtype_name,
    part_of,
    span,
    stored_as,
)
from packager._texts import counted, did_you_mean, few_of, in_lines, one_line
from packager.errors import ArchiveError, ArgumentError, DeviceNotHereError, KeyNotStoredError

EXTRA: Final = "extras:"
"""The start of the keys of tensors inside extras, which are not keys of the state dict."""

_SHOWN: Final = 5
_COMPARED: Final = 4096  # names that one key is compared with: a few tenths of a second

if TYPE_CHECKING:
    from packager._archive import UsualTensors
    from packager._audit import AuditedObject, Names, TrustContext
    from packager._codecs import CodecRegistry

    _LazyDict: TypeAlias = dict[str, Any]
else:

    class _LazyDict(Mapping, dict):
        """A dict whose own entries nobody asks for: Mapping's methods come first."""


class StateMapping(_LazyDict):
    """A read-only state dict; each value is read when it is asked for.

    `isinstance(state, dict)` holds, as `safetensors.torch.save` asks for. `copy()`, `copy.deepcopy`, pickle
    and `torch.save` take an OrderedDict of all its values, with its `_metadata`, as PyTorch's modules give
    their state: files written from it need no packager.

    Source: torch.nn.Module.state_dict, which returns such an OrderedDict.
    """

    _metadata: Any
    """What is known of each module by its path, or None."""

    def copy(self) -> OrderedDict[str, Any]:
        """Return an OrderedDict of all values, which can be changed. Reads all of them."""
        made = OrderedDict(self.items())
        if self._metadata is not None:
            made._metadata = self._metadata  # type: ignore[attr-defined]  # as PyTorch keeps it
        return made

    def stored(self) -> Mapping[str, Any]:
        """Return what an archive stores of it: itself, where its values are arrays or tensors."""
        return self

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.copy().__reduce_ex__(protocol)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __or__(self, other: Any) -> Any:
        return self.copy() | other

    def __ror__(self, other: Any) -> Any:
        return other | dict(self.items())

    def _refuse(self, *args: Any, **values: Any) -> NoReturn:
        """Raise ArgumentError: a state dict in a file is read-only."""
        raise ArgumentError(
            "a state dict in a file is read-only; to change it, copy it: state = state.copy()"
        )

    __setitem__ = __delitem__ = __ior__ = pop = popitem = clear = update = setdefault = _refuse


def open_state_dict(
    tensors: TensorReader,
    extras: bytes | None,
    *,
    as_: str | None = None,
    trust_context: TrustContext | None = None,
    trust: Collection[str] = (),
    resolve: Callable[[AuditedObject], Names] | None = None,
    device: object = None,
    registry: CodecRegistry | None = None,
    what: str = "state dict",
) -> StateDictView:
    """Open a stored state dict: a mapping of its keys to its values, of which only the index is read.

    With `as_="numpy"` tensors are read-only arrays on the mapped file; with "kellet" and "torch" they
    lie on a private copy-on-write map, share memory where they did, and can be trained. Without, they are of
    the library whose tensors were saved, where it is installed. `device` is `map_location`, for torch.
    `trust_context` and `trust` are those of `audit`, for the extras, which are audited and
    built when they are first needed; `resolve` then gives the objects behind their names, all at once.

    Raises ValueError for another `as_`.
    """
    _require_library(as_)
    if registry is None and extras and as_ != "torch":
        from packager._tensors import is_installed

        if not is_installed("torch"):
            from packager._codecs import registry_without_torch  # where torch is, it is not needed

            registry = registry_without_torch(as_ or "numpy")

    def read() -> Mapping[str, Any]:
        if not extras:
            return {"values": {}, "places": [], "raw": {}, "metadata": None}
        from packager._audit import TrustContext, audit, resolve_names
        from packager._objects import build

        specs = {key.removeprefix(EXTRA): spec for key, spec in tensors.items() if key.startswith(EXTRA)}
        audited = audit(
            extras,
            trust_context or TrustContext.data_only(),
            trust,
            storages=storages_of(tensors, EXTRA),
            registry=registry,
            what=what,
            root="extras",
        )
        found: Any = build(
            audited,
            resolve(audited) if resolve else resolve_names(audited, _import_nothing),
            lambda name: tensors.storage(specs[name].storage, private=True),
            map_location=device,
        )
        whole = isinstance(found, dict) and _is_content(found, len(tensors) - len(specs))
        if not whole or any(key in tensors for key in found["values"]):
            raise ArchiveError(
                f"{what}: its extras are not those of a state dict; the archive is damaged, get it again"
            )
        return found  # type: ignore[no-any-return]  # of the form that was looked at

    return StateDictView(tensors, _Extras(read), as_, device, what)


class _Extras:
    """What lies beside the tensors, read when it is first needed."""

    def __init__(self, read: Callable[[], Mapping[str, Any]]) -> None:
        self._read = read

    @cached_property
    def content(self) -> Mapping[str, Any]:
        """Values, places, raw dtypes and metadata. Raises what `audit` and `build` raise."""
        return self._read()


class StateDictView(StateMapping):
    """A stored state dict. Each access makes a new tensor over the same memory.

    A loop over a mapped file has the digests of tensors checked ahead on all cores: as many bytes as it has
    used so far, at most 64 MiB. A damaged tensor raises when it is used. Values stay valid when the archive
    is closed, and keep its file open until the last of them is gone.
    """

    def __init__(
        self,
        tensors: TensorReader,
        extras: _Extras,
        as_: str | None,
        device: Any,
        what: str,
    ) -> None:
        self._tensors = tensors
        self._extras = extras
        self._asked = as_
        self._device = device
        self._what = what
        self._storages: dict[int, memoryview] = {}
        self._made_of: dict[Any, Any] = {}
        self._usual: UsualTensors | None = None
        self._looked_for_usual = False

    @cached_property
    def library(self) -> str:
        """The library of the tensors: the one asked for, else the one that was saved, if it is installed."""
        format = self._tensors.metadata.get("format")
        if self._asked or format is None:
            return self._asked or "numpy"
        from packager._tensors import library_here

        return library_here(format)

    def using(self, library: str) -> StateDictView:
        """Return the same state dict with tensors of a library. Raises ArgumentError for an unknown one."""
        _require_library(library)
        return StateDictView(self._tensors, self._extras, library, self._device, self._what)

    def copy(self) -> OrderedDict[str, Any]:
        self._tensors.will_use_all()
        return super().copy()

    def __kellet_state_dict__(self) -> StateDictView:
        """Return what modules of kellet load."""
        return self.using("kellet")

    def __getitem__(self, key: str) -> Any:
        usual, place = self._usual, None
        if usual is not None and type(key) is str:
            place = usual.places.get(key)
            if place is not None and place[0]:
                (shape, dtype, make), start, stop, number = place
                usual.use(start, stop, number)
                return in_place(make(shape, dtype, usual.memory, start))
        elif not self._looked_for_usual and self._tensors.many_are_asked:
            self._find_usual()
        values = self._extras.content["values"]
        if key in values:
            return values[key]
        spec = self.spec(key)
        if self.library == "numpy":
            return self._alone(spec)
        if usual is not None and place is not None and spec.storage not in self._storages:
            usual.use(*place[1:])  # what is held already needs no file
        return self._tied(spec)

    def many(self, keys: Iterable[str]) -> dict[str, Any]:
        """Return the values of many keys, in the order in which they are asked for; no others are read.

        The values are the same as those of one key at a time, and share memory alike. They are read in the
        order of the file, neighbours at once; their digests are checked in one pass, on several threads. Of
        a file with `mmap=False`, arrays of NumPy keep up to 64 MiB that were read with them.

        Raises KeyNotStoredError, a KeyError, for all missing keys together (`.missing_keys`), before anything
        is read; ArgumentError for one string in place of a list; and the errors of single keys.

        >>> import io, numpy
        >>> from packager import PackageExporter, PackageImporter
        >>> file = io.BytesIO()
        >>> with PackageExporter(file) as exporter:
        ...     exporter.save_state_dict("model", "weights", {name: numpy.ones(2) for name in "abc"})
        >>> with PackageImporter(file) as importer:
        ...     importer.load_state_dict("model", "weights").many(["c", "a"])
        {'c': array([1., 1.]), 'a': array([1., 1.])}

        Source: `torch.distributed.checkpoint.load` reads what is asked for in one call; there, the first key
        that is missing ends it.
        """
        given: Any = keys
        if isinstance(given, str | bytes) or not isinstance(given, Iterable):
            raise ArgumentError(
                f"keys={one_line(repr(keys)[:80])}: expected a list of keys, as ['fc.weight']"
            )
        wanted = dict.fromkeys(keys)
        values = self._extras.content["values"]
        with gc_paused():  # many small objects, none of which is garbage
            is_numpy = self.library == "numpy"
            if is_numpy and not self._looked_for_usual and self._tensors.is_many(len(wanted)):
                self._find_usual()
            usual = self._usual if is_numpy else None
            places = {} if usual is None else usual.places
            others = wanted.keys() - places.keys()
            made = self._several(self._specs(key for key in wanted if key in others and key not in values))
            if usual is not None:
                made |= self._straight(usual, {key: places[key] for key in wanted if key not in others})
        if not others:
            return made
        return {key: values[key] if key in values else made[key] for key in wanted}

    def __iter__(self) -> Iterator[str]:
        values, places = self._extras.content["values"], self._extras.content["places"]
        if not values and not self._tensors.count_keys(EXTRA):
            return iter(self._tensors)
        keys = (key for key in self._tensors if not key.startswith(EXTRA))
        return _merged(keys, list(values), places)

    def __len__(self) -> int:
        return len(self._tensors) - self._tensors.count_keys(EXTRA) + len(self._extras.content["values"])

    def __contains__(self, key: object) -> bool:
        if not isinstance(key, str) or key.startswith(EXTRA):
            return False
        return key in self._tensors or key in self._extras.content["values"]

    @cached_property
    def _metadata(self) -> dict[str, dict[str, Any]] | None:
        """The metadata of each module by its path, its version first, as load hooks get it."""
        columns = self._extras.content["metadata"]
        if columns is None:
            return None
        known = {
            path: {} if version is None else {"version": version}
            for path, version in zip(columns["paths"], columns["versions"], strict=True)
        }
        return {path: dict(columns["more"].get(path, facts)) for path, facts in known.items()}

    @property
    def versions(self) -> dict[str, int]:
        """The versions of modules by path, where they have one."""
        return {
            path: known["version"] for path, known in (self._metadata or {}).items() if "version" in known
        }

    @property
    def raw_dtypes(self) -> dict[str, str]:
        """The NumPy dtypes of the tensors that are stored as rows of bytes, by key."""
        return dict(self._extras.content["raw"])

    def spec(self, key: str) -> TensorSpec:
        """Return how a tensor is stored, without reading it. Raises KeyNotStoredError for other keys."""
        given: Any = key
        if not isinstance(given, str) or key.startswith(EXTRA):
            raise missing_keys(self._what, [key], list(self))
        return self._tensors[key]

    def is_raw(self, key: str) -> bool:
        """Return whether safetensors lacks a tensor's dtype, so that it is stored as rows of bytes."""
        return key in self._extras.content["raw"]

    def part(self, key: str, *index: Any) -> Any:
        """Read a part of a tensor: `index` holds ints, slices with any step, and `...`, one for each axis.

        Of a file with `digests="crc"` only the chunks between the part's first element and its last are
        read and checked. For PyTorch, which has no negative steps, a reversed part is a copy.

        Raises KeyNotStoredError for a key that is not a tensor's, IndexError for other indices.

        >>> import io, numpy
        >>> from packager import PackageExporter, PackageImporter
        >>> file = io.BytesIO()
        >>> with PackageExporter(file) as exporter:
        ...     exporter.save_state_dict("model", "weights", {"w": numpy.arange(6).reshape(2, 3)})
        >>> with PackageImporter(file) as importer:
        ...     importer.load_state_dict("model", "weights").part("w", ..., slice(1, 3))
        array([[1, 2],
               [4, 5]])
        """
        spec = self.spec(key)
        row = spec.shape[-1:] if self.is_raw(key) else ()  # elements that are rows of bytes
        rank = len(spec.shape) - len(row)
        shape, strides, offset = part_of(spec.shape[:rank], spec.strides[:rank], spec.offset, index)
        turned = [axis for axis, stride in enumerate(strides) if stride < 0 and self.library == "torch"]
        offset += sum((shape[axis] - 1) * strides[axis] for axis in turned if 0 not in shape)
        strides = tuple(abs(stride) if axis in turned else stride for axis, stride in enumerate(strides))
        shape, strides = (*shape, *row), (*strides, *spec.strides[rank:])
        found = self._alone(replace(spec, shape=shape, strides=strides, offset=offset))
        return found.flip(turned) if turned else found

    def rows(self, key: str, start: int, stop: int) -> Any:
        """Read rows `start` to `stop` of a tensor; no other bytes are read or checked.

        Raises ArgumentError for rows that the tensor lacks, and for a tensor that is not contiguous.
        """
        spec = self.spec(key)
        check_kind("start", start, int, "the number of a row")
        check_kind("stop", stop, int, "the number of a row")
        buffer = self._tensors.rows(key, start, stop, private=self.library != "numpy")
        return self._made(spec, (stop - start, *spec.shape[1:]), 0, buffer)

    def shards(self, rank: int, size: int, axis: int | Callable[[str], int | None] = 0) -> dict[str, Any]:
        """Return the part of the state dict for one of `size` processes; any number may have written it.

        A tensor becomes a `Shard`, its slice along `axis` (`Shard.tensor`, made as by `part`). A tensor
        without this axis is returned whole, as is a value of another type. `axis` may be a function that
        takes a key and returns its axis, or None for a tensor to be left whole. Only the bytes between the
        first element of a slice and its last are read, in chunks of a MiB: along axis 0, its own alone.

        Raises ArgumentError for a rank outside 0 to `size` - 1.

        >>> import io, numpy
        >>> from packager import PackageExporter, PackageImporter
        >>> file = io.BytesIO()
        >>> with PackageExporter(file) as exporter:
        ...     exporter.save_state_dict("model", "weights", {"w": numpy.arange(6).reshape(3, 2)})
        >>> with PackageImporter(file) as importer:
        ...     mine = importer.load_state_dict("model", "weights").shards(rank=1, size=2)
        >>> mine["w"].tensor, mine["w"].box
        (array([[4, 5]]), ((2, 3), (0, 2)))
        """
        return {key: self._shard(key, rank, size, axis) for key in self}

    def _shard(self, key: str, rank: int, size: int, axis: int | Callable[[str], int | None]) -> Any:
        found = axis(key) if callable(axis) else axis
        if key not in self._tensors or found is None:
            return self[key]
        spec = self.spec(key)
        shape = spec.shape[: len(spec.shape) - self.is_raw(key)]
        if not -len(shape) <= found < len(shape):
            return self[key]
        from packager._tensors import Shard, rank_range

        at = found % len(shape)
        start, stop = rank_range(shape[at], rank, size)
        tensor = self.part(key, *[slice(None)] * at, slice(start, stop))
        return Shard(tensor, shape, tuple(start if n == at else 0 for n in range(len(shape))))

    def matching(self, *patterns: str) -> dict[str, Any]:
        """Return the values whose keys match a pattern (`"encoder.*"`); no others are read."""
        from fnmatch import fnmatchcase

        for pattern in patterns:
            check_kind("pattern", pattern, str, "a pattern of keys, as 'encoder.*'")
        return self.many(key for key in self if any(fnmatchcase(key, pattern) for pattern in patterns))

    def __repr__(self) -> str:
        return f"<{self._what}: {counted(len(self), 'key')} as {self.library}>"

    def _repr_html_(self) -> str:
        """Return the page that a notebook shows: keys, dtypes and shapes; no tensor is read."""
        from packager._notebook_page import notebook_page

        values, raw = self._extras.content["values"], self.raw_dtypes
        specs = [self.spec(key) for key in self if key not in values]
        rows = ((one.key, raw.get(one.key, one.dtype), str(list(one.shape))) for one in specs)
        others = ((key, type(value).__name__) for key, value in values.items())
        said = f"{counted(len(self), 'key')} as {self.library}; no tensor has been read"
        return notebook_page(self._what, said, [("tensors", rows), ("other values", others)])

    def _specs(self, keys: Iterable[str]) -> dict[str, TensorSpec]:
        """Return how tensors are stored, by key. Raises KeyNotStoredError for all keys that there are not."""
        specs: dict[str, TensorSpec] = {}
        unknown: list[Any] = []
        for key in keys:
            try:
                specs[key] = self.spec(key)
            except KeyError:
                unknown.append(key)
        if unknown:
            raise missing_keys(self._what, unknown, list(self))
        return specs

    def _several(self, specs: Mapping[str, TensorSpec]) -> dict[str, Any]:
        """Return tensors by key, neighbours read together."""
        if self.library == "numpy":
            buffers = self._tensors.parts([self._tensors.part_of(spec) for spec in specs.values()])
            return {
                spec.key: self._spanned(spec, buffer)
                for spec, buffer in zip(specs.values(), buffers, strict=True)
            }
        numbers = sorted({spec.storage for spec in specs.values()} - self._storages.keys())
        self._storages.update(zip(numbers, self._tensors.private_storages(numbers), strict=True))
        return {key: self._tied(spec) for key, spec in specs.items()}

    def _find_usual(self) -> None:
        """Find where the usual tensors lie: to make arrays of NumPy over a map, or to check them ahead."""
        self._looked_for_usual = True
        is_numpy = self.library == "numpy"
        if not is_numpy and not self._tensors.are_checked:
            return
        others = {*self._extras.content["values"], *self._extras.content["raw"]}
        with contextlib.suppress(ArchiveError):  # which each key that it concerns raises by itself
            self._usual = self._tensors.usual(array_layout if is_numpy else _made_alone, others, EXTRA)

    def _straight(self, usual: UsualTensors, places: dict[str, Any]) -> dict[str, Any]:
        """Return usual tensors by key, all of which are checked before the first one is made."""
        usual.use_many(places.values())
        memory = usual.memory
        return {
            key: in_place(make(shape, dtype, memory, start))
            for key, ((shape, dtype, make), start, _, _) in places.items()
        }

    def _tied(self, spec: TensorSpec) -> Any:
        """Return a tensor over its whole storage, which it shares with others of that storage."""
        buffer = self._storage(spec.storage)
        return self._made(spec, spec.shape, spec.offset * _itemsize(spec), buffer, self._made_of)

    def _alone(self, spec: TensorSpec) -> Any:
        """Return a tensor over the bytes from its first element to its last; no others are read."""
        return self._spanned(spec, self._tensors.data_of(spec, private=self.library != "numpy"))

    def _spanned(self, spec: TensorSpec, buffer: memoryview) -> Any:
        """Return a tensor over `buffer`, the bytes from its first element to its last."""
        first = -span(spec.shape, spec.strides, 0)[0]
        return self._made(spec, spec.shape, first * _itemsize(spec), buffer)

    def _storage(self, number: int) -> memoryview:
        if number not in self._storages:
            self._storages[number] = self._tensors.storage(number, private=True)
        return self._storages[number]

    def _made(
        self,
        spec: TensorSpec,
        shape: tuple[int, ...],
        offset: int,
        buffer: memoryview,
        made_of: dict[Any, Any] | None = None,
    ) -> Any:
        stored = StoredTensor(spec.dtype, shape, spec.strides, offset, buffer)
        raw = self._extras.content["raw"].get(spec.key)
        try:
            return tensor_in(stored, raw, self.library, self._device, made_of)
        except ArgumentError:  # of map_location
            raise
        except DeviceNotHereError as error:
            raise DeviceNotHereError(f"{self._what}: tensor {spec.key!r}: {error}") from error
        except (ValueError, TypeError) as error:
            raise ArchiveError(f"{self._what}: tensor {spec.key!r} cannot be read: {error}") from error


def _made_alone(dtype: str, shape: tuple[int, ...]) -> tuple[()]:
    """Return what is kept of a layout whose tensors are checked with others, and made one by one: nothing."""
    return ()


def _require_library(name: str | None) -> None:
    if name is not None:
        check_choice("as_", name, LIBRARIES)


def _is_content(content: dict[str, Any], tensors: int) -> bool:
    """Whether the extras have the form that `encode_state_dict` gives them."""
    if list(content) != ["values", "places", "raw", "metadata"]:
        return False
    values, places, raw, metadata = content.values()
    if not (
        type(values) is dict and type(places) is list and type(raw) is dict and len(places) == len(values)
    ):
        return False
    if not all(type(key) is str for key in [*values, *raw]):
        return False
    if not all(is_dtype_name(name) and stored_as(name)[1] for name in raw.values()):
        return False
    if not all(type(place) is int for place in places):
        return False
    rising = all(low < high for low, high in zip([-1, *places], places, strict=False))
    if not rising or (places and places[-1] >= tensors + len(values)):
        return False
    return metadata is None or _are_columns(metadata)


def _are_columns(metadata: Any) -> bool:
    if type(metadata) is not dict or list(metadata) != ["paths", "versions", "more"]:
        return False
    paths, versions, more = metadata.values()
    return (
        type(paths) is list
        and type(versions) is list
        and len(paths) == len(versions)
        and all(type(path) is str for path in paths)
        and len(set(paths)) == len(paths)
        and type(more) is dict
        and all(type(known) is dict for known in more.values())
    )


def _merged(keys: Iterator[str], others: list[str], places: list[int]) -> Iterator[str]:
    """Keys of tensors in order, with the other keys in their places."""
    waiting = dict(zip(places, others, strict=True))
    place = 0
    while True:
        while place in waiting:
            yield waiting[place]
            place += 1
        try:
            yield next(keys)
        except StopIteration:
            return
        place += 1


def _itemsize(spec: TensorSpec) -> int:
    size = ITEMSIZE.get(spec.dtype)
    if size is None:
        raise ArchiveError(
            f"tensor {spec.key!r}: no array can have the dtype {spec.dtype}. To have its bytes in a file: "
            "kellet extract ARCHIVE FOLDER"
        )
    return size


def _import_nothing(module: str) -> Any:
    raise ImportError("no importer was given")


def missing_keys(what: str, missing: Sequence[Any], keys: Sequence[str]) -> KeyNotStoredError:
    """Return the error for keys of `missing` that are not among `keys`; what they belong to is `what`.

    >>> print(missing_keys("state dict net/weights", ["encodr.bias"], ["encoder.bias", "encoder.weight"]))
    state dict net/weights has 2 keys, but lacks 1 requested key:
        'encodr.bias'; did you mean encoder.bias?
    """
    lines = [
        f"{key!r}{did_you_mean(key, _candidates(key, keys))}" if isinstance(key, str) else repr(key)[:80]
        for key in missing[:_SHOWN]
    ]
    lines = few_of([*lines, *map(repr, missing[_SHOWN:])], _SHOWN)
    head = f"{what} has {counted(len(keys), 'key')}, but lacks {counted(len(missing), 'requested key')}:"
    return KeyNotStoredError(in_lines(head, in_lines(*lines, indent="    ")), tuple(missing))


def _candidates(key: str, keys: Sequence[str]) -> Sequence[str]:
    """Return names that may be meant: of many, those that share the key's first or last part."""
    if len(keys) > _COMPARED:
        first, last = f"{key.partition('.')[0]}.", f".{key.rpartition('.')[2]}"
        keys = [name for name in keys if name.endswith(last)] or [
            name for name in keys if name.startswith(first)
        ]
    return keys[:_COMPARED]
