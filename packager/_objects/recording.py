"""The table of records as it grows, the frames of the objects that are open, and what comes of it.

The encoder is a recorder that walks; here nothing is walked. What is handed on is frozen, and free of any
live object of the model.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Generator, Hashable, Iterable, Sequence
from typing import Any, Final, TypeAlias

from packager._archive import TensorSpec, largest_view
from packager._codecs import CannotStore, Codec, CodecRegistry, Role
from packager._graph import Importer
from packager._quick_dataclasses import dataclass, field, replace
from packager._tensors import ITEMSIZE, TensorData, contiguous_strides, lay_out, span_of

from .naming import NameFinder, NameUse
from .records import VERSION, Kind, Operand, Record, runs_of


@dataclass(frozen=True, slots=True)
class Storage:
    """One tensor of the safetensors member of an object: the memory that one or several tensors share.

    `name` is the attribute path of the tensor that owns it, `shape` is C-contiguous. `buffer` is the
    memory itself, not a copy, unless it had gaps.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    buffer: memoryview = field(repr=False)

    def spec(self, prefix: str, number: int) -> TensorSpec:
        """Return it as the tensor of a member that is its storage of that number."""
        return TensorSpec(
            f"{prefix}{self.name}", self.dtype, self.shape, contiguous_strides(self.shape), 0, number
        )


@dataclass(frozen=True, slots=True)
class Finding:
    """A refusal or a warning: where, why, and what can be done about it.

    A refusal with `unless` holds only where the archive has no source of the module of that name.
    """

    path: str
    reason: str
    options: tuple[str, ...] = ()
    unless: str = ""

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


@dataclass(frozen=True, slots=True)
class EncodedObject:
    """An object graph as data, ready to be written; or, with `refusals`, the reasons why it is not.

    `records` is the table of `docs/spec/stored-objects.md` in msgpack, empty when anything was refused.
    Where refusals hang on sources being stored, `with_sources` settles them. `modules` are the modules that
    the names are imported from: the walk goes on from them. `codecs` are the rows of the codec table.
    """

    records: bytes
    storages: tuple[Storage, ...]
    names: tuple[NameUse, ...]
    warnings: tuple[Finding, ...] = ()
    refusals: tuple[Finding, ...] = ()
    codecs: tuple[tuple[str, int], ...] = ()

    @property
    def modules(self) -> tuple[str, ...]:
        """The modules that hold the named things, sorted, each once."""
        return tuple(sorted({use.module for use in self.names}))

    def with_sources(self, is_stored: Callable[[str], bool]) -> EncodedObject:
        """Return the object as it is in an archive with the sources of the modules that `is_stored` knows.

        Where a refusal remains, there are neither records nor storages, and nothing is said of what
        lies inside of what is refused for its source.
        """
        names, warnings, refusals = settled(self.names, self.warnings, self.refusals, is_stored)
        if refusals:
            return EncodedObject(b"", (), names, warnings, refusals)
        return replace(self, refusals=())

    def with_buffers(self, buffers: Iterable[memoryview]) -> EncodedObject:
        """Return the object with the same bytes in other memory."""
        pairs = zip(self.storages, buffers, strict=True)
        return replace(self, storages=tuple(replace(storage, buffer=buffer) for storage, buffer in pairs))


def settled(
    names: tuple[NameUse, ...],
    warnings: tuple[Finding, ...],
    refusals: tuple[Finding, ...],
    is_stored: Callable[[str], bool],
) -> tuple[tuple[NameUse, ...], tuple[Finding, ...], tuple[Finding, ...]]:
    """Return the names, warnings and refusals that remain where `is_stored` says which sources there are.

    Nothing is said of what lies inside of what is refused for its source.
    """
    left: list[Finding] = []
    closed: list[str] = []

    def is_open(path: str) -> bool:
        return not any(
            path.startswith(one) and path[len(one) : len(one) + 1] in ("", ".", "[", "<") for one in closed
        )

    for refusal in refusals:
        if is_open(refusal.path) and not (refusal.unless and is_stored(refusal.unless)):
            left.append(refusal)
            if refusal.unless:
                closed.append(refusal.path)
    return (
        tuple(use for use in names if is_open(use.path)),
        tuple(warning for warning in warnings if is_open(warning.path)),
        tuple(left),
    )


Steps: TypeAlias = Generator[Any, Operand, Operand]
"""Yields one child after the other, is sent the operand of each, and returns the object's own."""


class Frame:
    """One object on the encoder's stack.

    `operands` are those of the children that are done. An object that can be written before it is
    complete has `head`, what its record begins with, or its shape, where `names` are its attributes;
    `step` is how many operands belong together, `ref` the record that was written, `written` how many
    operands it has.

    `at` and `style` say which child is being encoded (a style of `path_of`), `role` what is done with
    it, and `tables` which attributes are the tables of a module. `base` is the path of the object
    where the stack below does not tell it. `outer` is the frame of the same object that was entered
    before, `count` the number of records when this one was.
    """

    __slots__ = (
        "at", "base", "count", "head", "names", "obj", "operands", "outer", "ref", "role", "step", "steps",
        "style", "tables", "written",
    )  # fmt: skip

    def __init__(self, obj: Any, outer: Frame | None = None, base: str | None = None) -> None:
        self.obj = obj
        self.outer = outer
        self.base = base
        self.steps: Steps
        self.operands: list[Operand] = []
        self.head: Record | None = None
        self.names: Sequence[str] = ()
        self.step = 1
        self.ref: int | None = None
        self.written = 0
        self.at: Any = None
        self.style = "none"
        self.tables: frozenset[str] = frozenset()
        self.role: Role = "value"
        self.count = 0


def path_of(frames: Sequence[Frame], root: str) -> str:
    """Return the attribute path to the child at which these frames stand, as Python would write it.

    The tables in which a module keeps its parameters and children read as attributes.
    """
    parts, in_table = [root], False
    for frame in frames:
        if frame.base is not None:
            parts = [frame.base]
        if frame.style == "attr" and frame.at in frame.tables:
            in_table = True
            continue
        parts.append(_part(frame, in_table))
        in_table = in_table and frame.style == "none"
    return "".join(parts)


def _part(frame: Frame, in_table: bool) -> str:
    if frame.style == "attr" or (frame.style == "item" and in_table):
        return f".{frame.at}"
    if frame.style == "item":
        plain = isinstance(frame.at, (str, int, float, bytes, type(None)))
        return f"[{frame.at!r}]" if plain else f"[<{type(frame.at).__name__}>]"
    return _OTHER_PARTS[frame.style].format(frame.at)


_OTHER_PARTS: Final = {
    "none": "",
    "element": "<element>",
    "key": "<key>",
    "argument": "<argument {}>",
    "state": "",
    "cell": "<variable {}>",
}


class Recorder:
    """One table: records, what they stand for, the codecs and the names in use, warnings and refusals.

    `stack` holds the frames of the objects that are open; it tells paths. Instances of `plain_classes` are
    known to be nothing but a `__dict__`.
    """

    def __init__(
        self,
        importer: Importer,
        exporter: Any,
        registry: CodecRegistry,
        root: str,
    ) -> None:
        self.importer = importer
        self.exporter = exporter
        self.records: list[Record] = []
        self.stack: list[Frame] = []
        self._registry = registry
        self._root = root
        self._names = NameFinder(importer)
        self._codecs: dict[str, int] = {}
        self._codec_rows: list[list[Any]] = [["records", VERSION]]
        self._codec_of: dict[type, Codec | None] = {}
        self._by_id: dict[int, int | None] = {}
        self._by_value: dict[Any, int] = {}
        self._kept: list[Any] = []  # so that ids stay theirs
        self._named_refs: dict[Operand, tuple[str, str]] = {}
        self._class_refs: dict[type, int] = {}
        self.plain_classes: set[type] = set()
        self._uses: dict[tuple[str, str, str], NameUse] = {}
        self._warnings: list[Finding] = []
        self._refusals: list[Finding] = []
        self._tensors: list[tuple[TensorData, int, str]] = []
        self._forbidden: dict[int, tuple[int, str]] = {}

    # --- records ---

    def write(self, record: Record) -> int:
        """Append a record; return the reference to it."""
        self.records.append(record)
        return -len(self.records)

    def write_runs(self, kind: int, *parts: Collection[Any], target: Operand = None) -> int | None:
        """Append a long container of this kind, or what is given to `target`; None if it takes no runs."""
        runs = runs_of(*parts)
        if runs is None:
            return None
        return self.write([kind, *runs] if target is None else [kind, target, *runs])

    def write_once(self, key: Hashable, record: Record) -> int:
        """Append a record unless one was written for an equal `key`; return the reference to it."""
        ref = self._by_value.get(key)
        if ref is None:
            ref = self._by_value[key] = self.write(record)
        return ref

    def reference(self, obj: object) -> int | None:
        """Return the reference to an object that has been written, if it has."""
        return self._by_id.get(id(obj))

    def remember(self, obj: object, ref: int) -> int:
        """Let every further use of `obj` refer to the record `ref`."""
        self._by_id[id(obj)] = ref
        self._kept.append(obj)
        return ref

    def equal(self, key: Hashable) -> int | None:
        """Return the reference written for an equal key, if any."""
        return self._by_value.get(key)

    def remember_equal(self, key: Hashable, ref: int) -> None:
        """Let everything with an equal key refer to the record `ref`."""
        self._by_value[key] = ref

    def close(self, frame: Frame, record: Record) -> int:
        """Write an object whose children had to come first, unless one of them led to its being written."""
        done = self.reference(frame.obj)
        return self.remember(frame.obj, self.write(record)) if done is None else done

    def record_of(self, frame: Frame, known: list[Operand]) -> Record:
        """Return the record of an object that may be incomplete, from the operands known of it."""
        assert frame.head is not None
        if frame.head[0] != Kind.SHAPE:
            return [*frame.head, *known]
        shape = (*frame.head, *frame.names[: len(known)])
        return [Kind.OBJ, self.write_once(shape, list(shape)), *known]

    def complete(self, frame: Frame, fill: int) -> int:
        """Write an object whose children are done; or what it lacks, when it had to be written early."""
        if frame.ref is None:
            return self.remember(frame.obj, self.write(self.record_of(frame, frame.operands)))
        if len(frame.operands) > frame.written:
            self.write([fill, frame.ref, *frame.operands[frame.written :]])
        return frame.ref

    # --- tensors: one record for each view of memory, completed when all of them are known ---

    def add_tensor(self, data: TensorData) -> int:
        """Write the TENSOR record of a view of memory; it is completed when all tensors are known."""
        key = (Kind.TENSOR, data.address, data.dtype, data.shape, data.strides)
        ref = None if 0 in data.shape else self._by_value.get(key)
        if ref is None:
            self._check_memory(data)
            ref = self.write([Kind.TENSOR])
            self._tensors.append((data, ref, self.path()))
            if 0 not in data.shape:
                self._by_value[key] = ref
        return ref

    def forbid(self, memory: TensorData, reason: str) -> None:
        """Refuse views that overlap this memory from now on, for the reason given."""
        start, stop = span_of(memory)
        self._forbidden.setdefault(start, (stop, reason))

    def allow(self, memory: TensorData) -> None:
        """Take back `forbid` for this memory."""
        self._forbidden.pop(span_of(memory)[0], None)

    def place_tensors(self) -> tuple[Storage, ...]:
        """Decide on storages, complete the TENSOR records, and name the storages by attribute path."""
        placed, storages = lay_out([data for data, _, _ in self._tensors])
        entries: list[Storage] = []
        taken: set[str] = set()
        for storage in storages:
            owner = storage.first if storage.owner is None else storage.owner
            name = storage_path(self._tensors[owner][2], self._root)
            name = name if storage.owner is not None else f"{name}.storage"
            while name in taken:
                name += "'"
            taken.add(name)
            entries.append(Storage(name, storage.dtype, storage.shape, storage.buffer))
        for (data, ref, _), place in zip(self._tensors, placed, strict=True):
            strides = None if place.strides == contiguous_strides(data.shape) else list(place.strides)
            name = entries[place.storage].name
            self.records[-1 - ref] += [name, data.dtype, list(data.shape), strides, place.offset]
        return tuple(entries)

    def _check_memory(self, data: TensorData) -> None:
        """Raise CannotStore for a view of memory whose values must not be in the archive."""
        if 0 in data.shape:
            return
        start, stop = span_of(data)
        size = math.prod(data.shape) * ITEMSIZE[data.dtype]
        if size > largest_view(stop - start):
            raise CannotStore(
                f"a view that repeats {stop - start} bytes as {size}",
                "store its base, and broadcast it where it is used",
            )
        for low, (high, reason) in self._forbidden.items():
            if start < high and low < stop:
                raise CannotStore(reason, "store a copy of it, or leave it out (__getstate__)")

    # --- codecs ---

    def codec_for(self, cls: type) -> Codec | None:
        """Return the codec for instances of `cls`, if there is one."""
        if cls not in self._codec_of:
            self._codec_of[cls] = self._registry.for_class(cls)
        return self._codec_of[cls]

    def codec_number(self, codec: Codec) -> int:
        """Return the codec's row in the codec table, which is added when it is new."""
        if codec.name not in self._codecs:
            self._codecs[codec.name] = len(self._codec_rows)
            self._codec_rows.append([codec.name, codec.version])
        return self._codecs[codec.name]

    # --- names ---

    @property
    def role(self) -> Role:
        """What the object that is being encoded does with the child at hand."""
        return self.stack[-1].role if self.stack else "value"

    def write_name(self, obj: object, role: Role, name: str | None = None) -> int:
        """Write the GLOBAL record of a class or function that is put to use in `role`. Raises CannotStore."""
        module, qualname = self._names.find(obj, name)
        if isinstance(obj, type) and hasattr(obj, "__del__"):
            self.refuse(
                f"class {module}:{qualname} has __del__, which would run with state from the archive",
                "leave the object out (__getstate__), and make a new one after loading",
                "intern its module",
                unless=module,
            )
        return self.write_global(module, qualname, role)

    def write_class(self, cls: type) -> int:
        """Write the GLOBAL record of a class whose instance is made."""
        ref = self._class_refs.get(cls)
        if ref is None:
            ref = self.write_name(cls, "create")
            if not hasattr(cls, "__del__"):  # refused at each place otherwise, unless its source is stored
                self._class_refs[cls] = ref
        return ref

    def write_global(self, module: str, qualname: str, role: Role) -> int:
        """Write the GLOBAL record of a stored name."""
        self.use(module, qualname, role)
        ref = self.write_once((Kind.GLOBAL, module, qualname), [Kind.GLOBAL, module, qualname])
        self._named_refs[ref] = (module, qualname)
        return ref

    def use_again(self, ref: Operand) -> None:
        """Note what is done here with an object that is written already, where its record is a name."""
        if ref in self._named_refs:
            self.use(*self._named_refs[ref], self.role)

    def use(self, module: str, qualname: str, role: Role, *, in_records: bool = True) -> None:
        """Note that a name is put to use here; without `in_records`, that only its source is needed."""
        key = (module, qualname, role)
        if key not in self._uses or (in_records and not self._uses[key].in_records):
            self._uses[key] = NameUse(module, qualname, role, self.path(), in_records)

    def name_of(self, obj: object) -> tuple[str, str]:
        """Return the module and qualified name of a class or function. Raises CannotStore."""
        return self._names.find(obj)

    # --- findings ---

    def path(self) -> str:
        """Return the attribute path of the object at hand."""
        return path_of(self.stack, self._root)

    def warn(self, reason: str, *options: str) -> None:
        """Add a warning about the object at hand."""
        self._warnings.append(Finding(self.path(), reason, options))

    def take_warnings(self) -> tuple[Finding, ...]:
        """Hand over the warnings so far; they are no longer part of the result."""
        if not self._warnings:
            return ()
        taken = tuple(self._warnings)
        self._warnings.clear()
        return taken

    def refuse(self, reason: str, *options: str, unless: str = "") -> None:
        """Add a refusal of the object at hand; one with `unless` is lifted where that module is stored."""
        self._refusals.append(Finding(self.path(), reason, options, unless))


def storage_path(path: str, root: str) -> str:
    """Return the name of a storage from the path of its owner: `obj.layers[0].weight` is `layers.0.weight`.

    >>> storage_path("obj.layers[0]['w'].weight", "obj"), storage_path("obj", "obj")
    ('layers.0.w.weight', 'value')
    """
    inside = path.removeprefix(root).replace("['", ".").replace("']", "").replace("[", ".").replace("]", "")
    return inside.lstrip(".") or "value"
