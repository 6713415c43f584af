"""A state dict as one safetensors member, with what safetensors cannot hold beside it.

Every value that is nothing but a tensor is an entry of the member under its own key; ties and views
share memory there. The extras are a stored object like any other (records.py): values that are no
tensors, the versions of modules, dtypes that safetensors has no word for, and the order of keys.
There are none where there is nothing of that.

A tensor that lies in memory in another order than that of its axes is stored in the order of its
axes, so that every reader of safetensors sees it as it is; one that shares memory is stored with it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from packager.archive import SharedStorage, StorageColumn, TensorColumns, TensorSpec
from packager.codecs import CannotStore, CodecRegistry, columns_out, default_registry, tensor_out
from packager.collector import gc_paused
from packager.errors import ArgumentError
from packager.graph import Importer, sys_importer
from packager.libraries import FORMATS, library_of
from packager.quick_dataclasses import dataclass, field, replace
from packager.tensors import ITEMSIZE, Shard, TensorData, lay_out

from .encoder import Encoder
from .encoding import KINDS
from .naming import NameUse
from .recording import EncodedObject, Finding, settled
from .state_mapping import EXTRA, StateMapping

_GIVING = ("__iter__", "__getitem__", "items", "values")
_ALONE = (
    "is a Shard, a slice of a tensor whose other slices other processes have",
    ("make the exporter with PackageExporter(..., group=...)", "save the whole tensor"),
)


@dataclass(frozen=True, slots=True)
class EncodedStateDict:
    """A state dict, ready for `packager.archive.add_tensors`; or, with `refusals`, the reasons why it is not.

    `extras` are records, empty where the member says everything. `versions` are those of modules, by
    path, for the manifest. `metadata` is that of the member: the library whose tensors they all are.
    `codecs` are the rows of the codec table of the extras.
    """

    tensors: Sequence[TensorSpec]
    storages: Sequence[memoryview | SharedStorage] = field(repr=False)
    extras: bytes = field(repr=False)
    names: tuple[NameUse, ...] = ()
    versions: tuple[tuple[str, int], ...] = ()
    warnings: tuple[Finding, ...] = ()
    refusals: tuple[Finding, ...] = ()
    metadata: Mapping[str, str] = field(default_factory=dict)
    codecs: tuple[tuple[str, int], ...] = ()

    @property
    def modules(self) -> tuple[str, ...]:
        """The modules that hold named things of the extras, sorted, each once."""
        return tuple(sorted({use.module for use in self.names}))

    @property
    def storages_of_extras(self) -> dict[str, tuple[str, int]]:
        """The dtype and the bytes of each storage of the extras, by the name that their records use."""
        if isinstance(self.tensors, TensorColumns):  # they are all of the state dict itself
            return {}
        return {
            spec.key.removeprefix(EXTRA): (spec.dtype, self.storages[spec.storage].nbytes)
            for spec in self.tensors
            if spec.key.startswith(EXTRA)
        }

    def with_sources(self, is_stored: Callable[[str], bool]) -> EncodedStateDict:
        """Return it as it is in an archive with the sources of the modules that `is_stored` knows."""
        names, warnings, refusals = settled(self.names, self.warnings, self.refusals, is_stored)
        extras, codecs = (b"", ()) if refusals else (self.extras, self.codecs)
        return replace(self, extras=extras, codecs=codecs, names=names, warnings=warnings, refusals=refusals)


def encode_state_dict(
    module_or_mapping: Any,
    *,
    importer: Importer = sys_importer,
    exporter: Any = None,
    registry: CodecRegistry | None = None,
    root: str = "state",
) -> EncodedStateDict:
    """Lay out the tensors of a state dict, and encode the rest of it. Nothing is changed or copied.

    A module's own `state_dict()` is called, with all its hooks. Keys are strings.

    Raises ArgumentError for what is neither a mapping nor has `state_dict()`; what cannot be stored is in
    `.refusals` of the result.

    >>> import numpy
    >>> encoded = encode_state_dict({"w": numpy.ones((2, 2)), "note": "custom"})
    >>> [tensor.key for tensor in encoded.tensors], len(encoded.extras) > 0
    (['w'], True)
    """
    state = mapping_of(module_or_mapping)
    registry = default_registry() if registry is None else registry
    registry.load_all()
    with gc_paused():
        usual = _usual(state)
        context = Encoder(importer, exporter, registry, root, KINDS)
        encoded = None if usual is None else _encoded_at_once(state, *usual, context, root)
        if encoded is not None:
            return encoded
        context = Encoder(importer, exporter, registry, root, KINDS)
        return _encoded_one_by_one(state, context, root)


def _usual(state: Mapping[str, Any]) -> tuple[TensorColumns, StorageColumn] | None:
    """Return the tensors of a state dict as columns, where it holds usual ones alone; None for any other."""
    if not _is_plain_dict(type(state)):  # what makes its values when they are asked for is asked once
        return None
    items = list(state.items())  # at once: another thread may change it meanwhile
    keys, values = [key for key, _ in items], [value for _, value in items]
    if {*map(type, keys)} != {str}:
        return None
    joined = "\0".join(["", *keys])
    if joined.count("\0") != len(keys) or f"\0{EXTRA}" in joined or "__metadata__" in state:
        return None
    return columns_out(keys, values)


def _is_plain_dict(kind: type) -> bool:
    """Return whether objects of a class give their keys and values as dicts do."""
    return any(
        issubclass(kind, base) and all(getattr(kind, name) is getattr(base, name) for name in _GIVING)
        for base in (OrderedDict, dict)
    )


def _encoded_at_once(
    state: Mapping[str, Any],
    tensors: TensorColumns,
    storages: StorageColumn,
    context: Encoder,
    root: str,
) -> EncodedStateDict | None:
    """Encode what is usual; None where what is known of its modules holds tensors, too."""
    versions, metadata = metadata_columns(getattr(state, "_metadata", None))
    extras = extras_of(context, state, {}, {}, metadata, root)
    if extras.storages:
        return None
    return EncodedStateDict(
        tensors,
        storages,
        extras.records,
        extras.names,
        versions,
        extras.warnings,
        extras.refusals,
        format_of(libraries_of(state.values())),
        extras.codecs,
    )


def _encoded_one_by_one(state: Mapping[str, Any], context: Encoder, root: str) -> EncodedStateDict:
    tensors, raw, others, refusals, warnings = sorted_out(state, context, root)
    placed, storages = lay_out(list(tensors.values()), by_axes=True)
    specs = [
        TensorSpec(
            key, data.dtype, data.shape, place.strides, place.offset // ITEMSIZE[data.dtype], place.storage
        )
        for (key, data), place in zip(tensors.items(), placed, strict=True)
    ]
    versions, metadata = metadata_columns(getattr(state, "_metadata", None))
    extras = extras_of(context, state, others, raw, metadata, root)
    refusals += extras.refusals
    for number, storage in enumerate(extras.storages, len(storages)):
        specs.append(storage.spec(EXTRA, number))
    buffers = [*(storage.buffer for storage in storages), *(storage.buffer for storage in extras.storages)]
    return EncodedStateDict(
        tuple(specs),
        tuple(buffers),
        extras.records,
        extras.names,
        versions,
        (*warnings, *extras.warnings),
        tuple(refusals),
        format_of(libraries_of(state[key] for key in tensors)),
        extras.codecs,
    )


def encode_extras(
    state: Mapping[str, Any],
    others: dict[str, Any],
    raw: dict[str, str],
    metadata: Any,
    registry: CodecRegistry | None = None,
) -> tuple[EncodedObject, tuple[tuple[str, int], ...]]:
    """Encode the extras of a state dict whose tensors lie elsewhere; return them, and versions of modules.

    `others` are the values of `state` that are no tensors, `raw` the dtypes that safetensors has no word
    for, `metadata` what is known of modules by path, or None.
    """
    if registry is None:
        registry = default_registry()
        registry.load_all()
    versions, columns = metadata_columns(metadata)
    context = Encoder(sys_importer, None, registry, "state", KINDS)
    encoded = extras_of(context, state, others, raw, columns, "state")
    return encoded.with_sources(lambda module: False), versions


def mapping_of(module_or_mapping: Any) -> Mapping[str, Any]:
    """Return a mapping as it is to be stored, or the state dict of a module, with all its hooks.

    Raises ArgumentError for what is neither.
    """
    state = module_or_mapping
    if not isinstance(state, Mapping):
        state_dict = getattr(state, "state_dict", None)
        state = state_dict() if callable(state_dict) else None
    if not isinstance(state, Mapping):
        found = type(module_or_mapping).__name__
        raise ArgumentError(f"expected a module or a mapping of names to values, got {found}")
    return state.stored() if isinstance(state, StateMapping) else state


def libraries_of(tensors: Iterable[Any]) -> set[str]:
    """Return the libraries that tensors are of."""
    one_of_each = {type(tensor): tensor for tensor in tensors}
    return set(map(library_of, one_of_each.values()))


def format_of(libraries: set[str]) -> dict[str, str]:
    """Say which library tensors are of, as safetensors does; nothing for arrays of NumPy, and for several."""
    format = FORMATS.get(*libraries) if len(libraries) == 1 else None
    return {} if format is None else {"format": format}


def sorted_out(
    state: Mapping[str, Any], context: Encoder, root: str
) -> tuple[dict[str, TensorData], dict[str, str], dict[str, Any], list[Finding], list[Finding]]:
    """Return tensors, raw dtypes of some, everything else, what is no key, and what is said of tensors."""
    tensors, raw, others, refusals, warnings = {}, {}, {}, [], []
    for key, value in state.items():
        if fault := _fault_of(key):
            refusals.append(Finding(f"{root}[{key!r}]", *fault))
            continue
        if isinstance(value, Shard):  # those of several processes have been looked into
            refusals.append(Finding(f"{root}[{key!r}]", *_ALONE))
            continue
        try:
            found = tensor_out(value, context)
        except CannotStore as error:
            refusals.append(Finding(f"{root}[{key!r}]", error.reason, tuple(error.options)))
            continue
        if told := context.take_warnings():
            warnings += [replace(said, path=f"{root}[{key!r}]") for said in told]
        if found is None:
            others[key] = value
            continue
        tensors[key], raw_name = found
        if raw_name is not None:
            raw[key] = raw_name
    return tensors, raw, others, refusals, warnings


def _fault_of(key: object) -> tuple[str, tuple[str, ...]] | None:
    """Why a state dict cannot have this key, with what to do; None where it can."""
    if type(key) is not str:
        found = type(key).__name__
        return f"its key is of type {found}; a state dict has strings as keys", (f"use str({key!r})",)
    if key.startswith(EXTRA) or "\0" in key or key == "__metadata__":
        return "is no key of a state dict", ("use another string",)
    return None


def metadata_columns(metadata: Any) -> tuple[tuple[tuple[str, int], ...], dict[str, Any] | None]:
    """Return what is known of modules: versions for the manifest, and all of it as columns."""
    if metadata is None:
        return (), None
    versions = tuple((str(path), known["version"]) for path, known in metadata.items() if _has_version(known))
    more = {
        path: dict(known)
        for path, known in metadata.items()
        if set(known) != {"version"} or not _has_version(known)
    }
    columns = {"paths": list(metadata), "versions": [known.get("version") for known in metadata.values()]}
    return versions, {**columns, "more": more}


def _has_version(known: Mapping[str, Any]) -> bool:
    return type(known.get("version")) is int


def extras_of(
    context: Encoder,
    keys: Iterable[str],
    others: dict[str, Any],
    raw: dict[str, str],
    metadata: dict[str, Any] | None,
    root: str,
) -> EncodedObject:
    """Encode the values that are no tensors, and what is known of the others; `keys` are all, in order."""
    if not others and not raw and metadata is None:
        return EncodedObject(b"", (), ())
    places = [place for place, key in enumerate(keys) if key in others]
    encoded = context.encode({"values": others, "places": places, "raw": raw, "metadata": metadata})

    def known(found: Any) -> Any:  # the user's state has no "values"
        return replace(found, path=found.path.replace(f"{root}['values']", root, 1))

    return replace(
        encoded,
        names=tuple(map(known, encoded.names)),
        warnings=tuple(map(known, encoded.warnings)),
        refusals=tuple(map(known, encoded.refusals)),
    )
