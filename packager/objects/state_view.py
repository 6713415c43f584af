"""A stored state dict, read: a mapping that touches a tensor when it is asked for, and not before."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cached_property
from typing import Any

from packager.archive import TensorReader, TensorSpec, storages_of
from packager.codecs import LIBRARIES, CodecRegistry, StoredTensor, tensor_in
from packager.errors import ArchiveError
from packager.tensors import ITEMSIZE, is_dtype_name, span, stored_as
from packager.texts import counted

from .auditing import AuditedObject, Names, audit, resolve_names
from .building import build
from .state_dicts import EXTRA
from .trust import TrustContext


def open_state_dict(
    tensors: TensorReader,
    extras: bytes | None,
    *,
    as_: str = "numpy",
    trust_context: TrustContext | None = None,
    trust: Collection[str] = (),
    resolve: Callable[[AuditedObject], Names] | None = None,
    device: Any = None,
    registry: CodecRegistry | None = None,
    what: str = "state dict",
) -> StateDictView:
    """Open a stored state dict: a mapping of its keys to its values, of which only the index is read.

    With `as_="numpy"` tensors are read-only arrays on the mapped file; with "kellet" and "torch" they
    lie on a private copy-on-write map, share memory where they did, and can be trained. `device` is
    for torch. `trust_context` and `trust` are those of `audit`, for the extras, which are audited and
    built when they are first needed; `resolve` then gives the objects behind their names, all at once.

    Raises ValueError for another `as_`.
    """
    if as_ not in LIBRARIES:
        raise ValueError(f"as_={as_!r}: expected one of {', '.join(map(repr, LIBRARIES))}")
    extra = _Extras(
        tensors, extras, trust_context or TrustContext.data_only(), trust, resolve, registry, what
    )
    return StateDictView(tensors, extra, as_, device, what)


class _Extras:
    """What lies beside the tensors, built when it is first needed."""

    def __init__(
        self,
        tensors: TensorReader,
        records: bytes | None,
        trust_context: TrustContext,
        trust: Collection[str],
        resolve: Callable[[AuditedObject], Names] | None,
        registry: CodecRegistry | None,
        what: str,
    ) -> None:
        self._tensors = tensors
        self._records = records
        self._options: Any = (trust_context, trust, resolve, registry, what)

    @property
    def there(self) -> bool:
        """Whether there is anything beside the tensors."""
        return bool(self._records)

    @cached_property
    def content(self) -> dict[str, Any]:
        """Values, places, raw dtypes and metadata. Raises what `audit` and `build` raise."""
        if not self._records:
            return {"values": {}, "places": [], "raw": {}, "metadata": None}
        trust_context, trust, resolve, registry, what = self._options
        specs = _specs_of_extras(self._tensors)
        storages = storages_of(self._tensors, EXTRA)
        audited = audit(
            self._records,
            trust_context,
            trust,
            storages=storages,
            registry=registry,
            what=what,
            root="extras",
        )
        content = build(
            audited,
            resolve(audited) if resolve else resolve_names(audited, _import_nothing),
            lambda name: self._tensors.storage(specs[name].storage, private=True),
        )
        if not isinstance(content, dict) or not _is_content(content, len(self._tensors) - len(specs)):
            raise ArchiveError(f"{what}: its extras are not those of a state dict; the archive is damaged")
        return content


class StateDictView(Mapping[str, Any]):
    """A stored state dict. Values are made anew each time they are asked for, over the same memory.

    Values stay valid when the archive is closed, and keep its file until the last of them is gone.
    """

    def __init__(self, tensors: TensorReader, extras: _Extras, as_: str, device: Any, what: str) -> None:
        self._tensors = tensors
        self._extras = extras
        self._as = as_
        self._device = device
        self._what = what
        self._storages: dict[int, memoryview] = {}

    def __getitem__(self, key: str) -> Any:
        if self._extras.there and key in self._extras.content["values"]:
            return self._extras.content["values"][key]
        spec = self.spec(key)
        if self._as == "numpy":
            buffer = self._tensors.data_of(spec)
            start = -span(spec.shape, spec.strides, 0)[0]
        else:
            buffer = self._storage(spec.storage)
            start = spec.offset
        return self._made(spec, spec.shape, start * _itemsize(spec), buffer)

    def __iter__(self) -> Iterator[str]:
        keys = (key for key in self._tensors if not key.startswith(EXTRA))
        return _merged(keys, list(self._extras.content["values"]), self._extras.content["places"])

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, key: object) -> bool:
        if not isinstance(key, str) or key.startswith(EXTRA):
            return False
        return key in self._tensors or (self._extras.there and key in self._extras.content["values"])

    @cached_property
    def _metadata(self) -> dict[str, dict[str, Any]] | None:
        """What is known of each module by its path, its version first: what load hooks are handed."""
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
        return dict(self._extras.content["raw"]) if self._extras.there else {}

    def spec(self, key: str) -> TensorSpec:
        """Return how a tensor is stored, without reading it. Raises KeyError for other keys."""
        if key.startswith(EXTRA):
            raise KeyError(key)
        return self._tensors[key]

    def is_raw(self, key: str) -> bool:
        """Return whether a tensor has a dtype that safetensors has no word for, and lies in rows of bytes."""
        return self._extras.there and key in self._extras.content["raw"]

    def rows(self, key: str, start: int, stop: int) -> Any:
        """Read rows `start` to `stop` of a tensor; the bytes of no others are read or checked.

        Raises ValueError for a tensor whose rows do not lie side by side.
        """
        spec = self.spec(key)
        buffer = self._tensors.rows(key, start, stop, private=self._as != "numpy")
        return self._made(spec, (stop - start, *spec.shape[1:]), 0, buffer)

    def matching(self, *patterns: str) -> dict[str, Any]:
        """Return the values whose keys match one of the patterns (`"encoder.*"`); the others are not read."""
        return {
            key: self[key] for key in self if any(fnmatch.fnmatchcase(key, pattern) for pattern in patterns)
        }

    def __repr__(self) -> str:
        return f"<{self._what}: {counted(len(self), 'key')} as {self._as}>"

    def _storage(self, number: int) -> memoryview:
        if number not in self._storages:
            self._storages[number] = self._tensors.storage(number, private=True)
        return self._storages[number]

    def _made(self, spec: TensorSpec, shape: tuple[int, ...], offset: int, buffer: memoryview) -> Any:
        stored = StoredTensor(spec.dtype, shape, spec.strides, offset, buffer)
        raw = self._extras.content["raw"].get(spec.key) if self._extras.there else None
        try:
            return tensor_in(stored, raw, self._as, self._device)
        except (ValueError, TypeError) as error:
            raise ArchiveError(f"{self._what}: tensor {spec.key!r} cannot be read: {error}") from error


def _specs_of_extras(tensors: TensorReader) -> dict[str, TensorSpec]:
    return {key.removeprefix(EXTRA): spec for key, spec in tensors.items() if key.startswith(EXTRA)}


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
            f"tensor {spec.key!r}: no array here has the dtype {spec.dtype}; its bytes can be read, by "
            "packager.archive.TensorReader"
        )
    return size


def _import_nothing(module: str) -> Any:
    raise ImportError("no importer was given")
