"""A state dict as one safetensors member, and beside it the values that safetensors cannot hold.

Every value that is nothing but a tensor is an entry of the member under its own key; ties and views
share memory there. The extras are a stored object like any other (objects/records.py): values that are no
tensors, the versions of modules, dtypes that safetensors has no word for, and the order of keys.
There are none where there is nothing of that.

A tensor that lies in memory in another order than that of its axes is stored in the order of its
axes, so that every reader of safetensors sees it as it is; one that shares memory is stored with it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from packager._archive import SharedStorage, TensorIndex, TensorSpec
from packager._codecs import CannotStore, CodecRegistry, columns_out, tensor_out
from packager._graph import Importer, sys_importer
from packager._objects import EncodedObject, Encoder, Finding, NameUse, encoder_for, settled
from packager._process import gc_paused
from packager._quick_dataclasses import dataclass, field, replace
from packager._tensors import FORMATS, ITEMSIZE, Shard, TensorData, lay_out, library_of
from packager.errors import ArgumentError

from .viewing import EXTRA, StateMapping

_GIVING = ("__iter__", "__getitem__", "items", "values")
_ALONE = (
    "is a Shard, one process's slice of a tensor",
    ("make the exporter with PackageExporter(..., group=...)", "save the whole tensor"),
)


@dataclass(frozen=True, slots=True)
class EncodedStateDict:
    """A state dict, ready for `add_tensors`; or, with `refusals`, the reasons why it is not.

    `extras` are records, empty where the member says everything. `versions` are those of modules, by
    path, for the manifest. `metadata` is that of the member: the library whose tensors they all are.
    `codecs` are the rows of the codec table of the extras.
    """

    tensors: TensorIndex
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
        if f"\0{EXTRA}" not in f"\0{self.tensors.names}":
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


@dataclass(frozen=True)
class SortedState:
    """A state dict taken apart: its tensors, everything else, and what is said of either.

    `raw` names dtypes that safetensors has no word for, `metadata` is what is known of modules, as columns,
    `libraries` are those of the tensors.
    """

    keys: tuple[str, ...]
    tensors: Mapping[str, TensorData] = field(repr=False)
    raw: Mapping[str, str]
    others: Mapping[str, Any] = field(repr=False)
    metadata: Mapping[str, Any] | None
    libraries: frozenset[str]
    warnings: tuple[Finding, ...]
    refusals: tuple[Finding, ...]


def encode_state_dict(
    module_or_mapping: object,
    *,
    importer: Importer = sys_importer,
    exporter: object = None,
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
    known = getattr(state, "_metadata", None)
    with gc_paused():
        usual = _usual(state)
        if usual is not None:
            coding = encoder_for(importer, exporter, registry, root)
            extras = extras_of(coding, state, {}, {}, columns_of(known), root)
            if not extras.storages:  # what is known of modules holds no tensors
                return with_extras(*usual, extras, versions_of(known), libraries_of(state.values()))
        coding = encoder_for(importer, exporter, registry, root)
        found = sorted_out(state, known, coding, root)
        tensors, storages = laid_out(found.tensors)
        extras = extras_of(coding, found.keys, found.others, found.raw, found.metadata, root)
        said = found.warnings, found.refusals
        return with_extras(tensors, storages, extras, versions_of(known), found.libraries, *said)


def encode_extras(
    state: Mapping[str, Any],
    others: dict[str, Any],
    raw: dict[str, str],
    known: object,
    registry: CodecRegistry | None = None,
) -> tuple[EncodedObject, tuple[tuple[str, int], ...]]:
    """Encode the extras of a state dict whose tensors lie elsewhere; return them, and versions of modules.

    `others` are the values of `state` that are no tensors, `raw` the dtypes that safetensors has no word
    for, `known` what is known of modules by path, or None.
    """
    coding = encoder_for(sys_importer, None, registry, "state")
    encoded = extras_of(coding, state, others, raw, columns_of(known), "state")
    return encoded.with_sources(lambda module: False), versions_of(known)


def mapping_of(module_or_mapping: object) -> Mapping[str, Any]:
    """Return a mapping as it is to be stored, or the state dict of a module, with all its hooks.

    Raises ArgumentError for what is neither.
    """
    state = module_or_mapping
    if isinstance(state, type):
        raise ArgumentError(
            f"expected a module or a mapping of names to values, found the class {state.__name__}; pass an "
            f"instance, {state.__name__}(...)"
        )
    if not isinstance(state, Mapping):
        state_dict = getattr(state, "state_dict", None)
        state = state_dict() if callable(state_dict) else None
    if not isinstance(state, Mapping):
        found = type(module_or_mapping).__name__
        raise ArgumentError(f"expected a module or a mapping of names to values, found {found}")
    return state.stored() if isinstance(state, StateMapping) else state


# --- tensors, and everything else ---


def _usual(state: Mapping[str, Any]) -> tuple[TensorIndex, list[memoryview]] | None:
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


def sorted_out(state: Mapping[str, Any], known: object, coding: Encoder, root: str) -> SortedState:
    """Take a state dict apart; `known` is what is known of its modules by path, or None."""
    tensors, raw, others, refusals, warnings = {}, {}, {}, [], []
    one_of_each: dict[type, Any] = {}
    keys = []
    for key, value in state.items():
        where = f"{root}[{key!r}]"
        if fault := _fault_of(key) or (_ALONE if isinstance(value, Shard) else None):
            refusals.append(Finding(where, *fault))
            continue
        keys.append(key)
        try:
            found = tensor_out(value, coding)
        except CannotStore as error:
            refusals.append(Finding(where, error.reason, tuple(error.options)))
            continue
        warnings += [replace(said, path=where) for said in coding.take_warnings()]
        if found is None:
            others[key] = value
            continue
        one_of_each[type(value)] = value
        tensors[key], raw_name = found
        if raw_name is not None:
            raw[key] = raw_name
    libraries = libraries_of(one_of_each.values())
    columns = columns_of(known)
    return SortedState(
        tuple(keys), tensors, raw, others, columns, libraries, tuple(warnings), tuple(refusals)
    )


def _fault_of(key: object) -> tuple[str, tuple[str, ...]] | None:
    """Why a state dict cannot have this key, with what to do; None where it can."""
    if type(key) is not str:
        found = type(key).__name__
        return f"its key is of type {found}; expected a string", (f"use {str(key)!r}",)
    if key.startswith(EXTRA) or "\0" in key or key == "__metadata__":
        return (
            f"its key is reserved: __metadata__, keys with a NUL, and keys that begin with {EXTRA}",
            ("rename the key",),
        )
    return None


def libraries_of(tensors: Iterable[Any]) -> frozenset[str]:
    """Return the libraries that tensors are of."""
    one_of_each = {type(tensor): tensor for tensor in tensors}
    return frozenset(map(library_of, one_of_each.values()))


def laid_out(tensors: Mapping[str, TensorData]) -> tuple[TensorIndex, tuple[memoryview, ...]]:
    """Return how tensors lie in storages, and the storages."""
    placed, storages = lay_out(list(tensors.values()), by_axes=True)
    specs = [
        TensorSpec(
            key, data.dtype, data.shape, place.strides, place.offset // ITEMSIZE[data.dtype], place.storage
        )
        for (key, data), place in zip(tensors.items(), placed, strict=True)
    ]
    buffers = tuple(storage.buffer for storage in storages)
    return TensorIndex.of(specs, [buffer.nbytes for buffer in buffers]), buffers


# --- the extras ---


def versions_of(known: Any) -> tuple[tuple[str, int], ...]:
    """Return the versions of modules by path, for the manifest."""
    return tuple(
        (str(path), facts["version"]) for path, facts in (known or {}).items() if _has_version(facts)
    )


def columns_of(known: Any) -> dict[str, Any] | None:
    """Return all that is known of modules by path as columns."""
    if known is None:
        return None
    more = {
        path: dict(facts)
        for path, facts in known.items()
        if set(facts) != {"version"} or not _has_version(facts)
    }
    return {
        "paths": list(known),
        "versions": [facts.get("version") for facts in known.values()],
        "more": more,
    }


def _has_version(facts: Mapping[str, Any]) -> bool:
    return type(facts.get("version")) is int


def extras_of(
    coding: Encoder,
    keys: Iterable[str],
    others: Mapping[str, Any],
    raw: Mapping[str, str],
    metadata: Mapping[str, Any] | None,
    root: str,
) -> EncodedObject:
    """Encode the values that are no tensors, and what is known of the others; `keys` are all, in order."""
    if not others and not raw and metadata is None:
        return EncodedObject(b"", (), ())
    places = [place for place, key in enumerate(keys) if key in others]
    encoded = coding.encode({"values": others, "places": places, "raw": raw, "metadata": metadata})

    def known(found: Any) -> Any:  # the user's state has no "values"
        return replace(found, path=found.path.replace(f"{root}['values']", root, 1))

    return replace(
        encoded,
        names=tuple(map(known, encoded.names)),
        warnings=tuple(map(known, encoded.warnings)),
        refusals=tuple(map(known, encoded.refusals)),
    )


def with_extras(
    tensors: TensorIndex,
    storages: Sequence[memoryview | SharedStorage],
    extras: EncodedObject,
    versions: tuple[tuple[str, int], ...],
    libraries: frozenset[str],
    warnings: tuple[Finding, ...] = (),
    refusals: tuple[Finding, ...] = (),
) -> EncodedStateDict:
    """Return a state dict of these tensors and extras; storages of the extras come behind those of tensors.

    Its format is that of the library that all tensors are of, as safetensors has it; none for arrays of
    NumPy, and for several.
    """
    if extras.storages:
        inside = extras.storages
        specs = [storage.spec(EXTRA, number) for number, storage in enumerate(inside, len(storages))]
        storages = (*storages, *(one.buffer for one in inside))
        tensors = TensorIndex.of([*tensors, *specs], [one.nbytes for one in storages])
    format = FORMATS.get(*libraries) if len(libraries) == 1 else None
    return EncodedStateDict(
        tensors,
        storages,
        extras.records,
        extras.names,
        versions,
        (*warnings, *extras.warnings),
        (*refusals, *extras.refusals),
        {} if format is None else {"format": format},
        extras.codecs,
    )
