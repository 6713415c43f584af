"""The encoder: an object graph becomes a table, iteratively, each object once, in one canonical order.

Everything rests on the order. Children are encoded before what holds them, so that every reference
points backwards. When a child refers to an object that is still open, a container or a plain object
is written at once with what is known of it, and filled when it is complete; a tuple or the
arguments of a constructor are entered again, as pickle does, and refused when that does not end.

What cannot be stored leaves a gap and a refusal with its path, and the encoder goes on, so that all
refusals are reported together.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Collection, Hashable
from typing import Any, Final, TypeVar

from packager._archive import check_weight, most_records
from packager._codecs import CannotStore, Codec, CodecRegistry, Finish
from packager._graph import Importer
from packager._quick_dataclasses import dataclass
from packager.errors import ArchiveError

from .recording import EncodedObject, Finding, Frame, Recorder, Steps
from .records import MISSING, RUN_FROM, Kind, Operand, Record, is_inline, is_packable, pack_table

_T = TypeVar("_T")
_SHALLOW: Final = 3
"""How deep small objects lie that are written without frames."""

_CONTAINERS: Final[dict[type, tuple[int, int]]] = {
    tuple: (Kind.PACKED_TUPLE, Kind.TUPLE),
    list: (Kind.PACKED_LIST, Kind.LIST),
    dict: (Kind.PACKED_DICT, Kind.DICT),
}
_SPELLED_ONCE: Final = frozenset({int, str, bytes})
_TEXT: Final = frozenset({str})
_INLINE: Final = frozenset({type(None), bool, float})


@dataclass(frozen=True)
class Kinds:
    """How each kind of object is encoded: at once or by steps, and in the second phase of its codec."""

    begin: Callable[[Encoder, Frame, Any], Steps | int]
    finish: Callable[[Encoder, Frame, Codec, Callable[[], Finish | None]], Steps]


class Encoder(Recorder):
    """One encoding: the table as it grows, and the stack of objects that are open.

    `kinds` knows the steps that each kind of object takes. Codecs see this as `packager._codecs.Encoding`.
    """

    def __init__(
        self,
        importer: Importer,
        exporter: Any,
        registry: CodecRegistry,
        root: str,
        kinds: Kinds,
    ) -> None:
        super().__init__(importer, exporter, registry, root)
        self._kinds = kinds
        self._open: dict[int, Frame] = {}
        self._later: list[tuple[int, int, Frame]] = []
        self._counter = itertools.count()
        self._numbers: dict[str, dict[Hashable, int]] = {}
        self._shared_state: dict[Callable[[], object], object] = {}
        self._ordering: frozenset[int] = frozenset()

    def encode(self, obj: object) -> EncodedObject:
        """Encode the whole graph below `obj`, once."""
        operand = self._run(_root_frame(obj, self._root))
        while self._later:
            self._run(heapq.heappop(self._later)[2])
        storages = self.place_tensors()
        names = tuple(self._uses.values())
        warnings, refusals = tuple(self._warnings), tuple(self._refusals)
        if any(not refusal.unless for refusal in refusals):
            return EncodedObject(b"", (), names, warnings, refusals)
        records = pack_table(self._codec_rows, self.records, operand)
        if reason := _too_much(len(self.records), records):
            refusal = Finding(self._root, reason, ("use an array",))
            return EncodedObject(b"", (), names, warnings, (*refusals, refusal))
        codecs = tuple((str(name), int(version)) for name, version in self._codec_rows)
        return EncodedObject(records, storages, names, warnings, refusals, codecs)

    def order_of(self, item: object) -> tuple[int, Any]:
        """Return a sort key for an element of a set: as it was written, else by its own encoding.

        Raises CannotStore for one that leads back to its set, or cannot be stored.
        """
        ref = self.reference(item)
        if ref is not None:
            return (0, -ref)
        if id(item) in self._ordering:
            raise CannotStore(
                "a set whose elements refer back to it and cannot be ordered", "use a list or a dict"
            )
        alone = Encoder(self.importer, self.exporter, self._registry, self._root, self._kinds)
        alone._ordering = self._ordering | {id(item)}
        encoded = alone.encode(item)
        for refusal in encoded.refusals:
            if not refusal.unless:
                raise CannotStore(refusal.reason, *refusal.options)
        from hashlib import sha256  # most sets have an order of their own

        digest = sha256(encoded.records)
        for storage in encoded.storages:
            digest.update(storage.buffer)
        return (1, digest.digest())

    # --- for codecs, beside what the recorder has of packager._codecs.Encoding ---

    def stored(self, obj: object) -> bool:
        """Return whether this very object has been stored by now."""
        return self.reference(obj) is not None

    def defer(self, stage: int, obj: object, finish: Callable[[], Finish | None]) -> None:
        """Ask for the second phase of `obj` when everything else is stored; lower stages come first."""
        codec = self.codec_for(type(obj))
        assert codec is not None
        frame = Frame(obj, base=self.path())
        frame.steps = self._kinds.finish(self, frame, codec, finish)
        heapq.heappush(self._later, (stage, next(self._counter), frame))

    def number(self, family: str, identity: Hashable) -> int:
        """Return a number for an id of this process, or for several: 0, 1, 2, ... as they come."""
        numbers = self._numbers.setdefault(family, {})
        return numbers.setdefault(identity, len(numbers))

    def shared_state(self, make: Callable[[], _T]) -> _T:
        """Return what codecs share during this encoding: one instance of `make` for all of them."""
        return self._shared_state.setdefault(make, make())  # type: ignore[return-value]  # keyed by its maker

    # --- what takes no steps ---

    def at_once(self, obj: object, depth: int = _SHALLOW) -> Any:
        """Return the operand of what was written before, or is small and shallow; MISSING for all else.

        The small objects that most graphs are made of need no frame. What is written is what their steps
        would write, and in that order; also where it ends with MISSING, and the steps go on from there.
        """
        ref = self._by_id.get(id(obj), MISSING)
        if ref is not MISSING:
            if ref in self._named_refs:
                if depth < _SHALLOW:
                    return MISSING  # whose use has a path, which only frames tell
                self.use_again(ref)
            return ref
        cls = type(obj)
        if cls in _SPELLED_ONCE:
            return self._kinds.begin(self, self.stack[-1], obj)
        if cls in _CONTAINERS:
            record = self._container(obj, cls, depth)
        elif cls in self.plain_classes and cls in self._class_refs:
            record = self._plain_object(obj, cls, depth)
        else:
            return MISSING
        if record is None:
            return MISSING
        records, kept = self.records, self._kept
        records.append(record)
        kept.append(obj)
        ref = self._by_id[id(obj)] = -len(records)
        return ref

    def _container(self, obj: Any, cls: type, depth: int) -> Record | None:
        """The record of a small tuple, list or dict; None where it takes steps."""
        if len(obj) >= RUN_FROM // 2 or (cls is tuple and not obj):
            return None
        packed, kind = _CONTAINERS[cls]
        values = [*itertools.chain.from_iterable(obj.items())] if cls is dict else obj
        if is_packable(values):
            return [packed, *values]
        operands = self._operands(values, depth)
        return None if operands is None else [kind, *operands]

    def _plain_object(self, obj: Any, cls: type, depth: int) -> Record | None:
        """The record of an object that has nothing but attributes; None where it takes steps."""
        attributes = vars(obj)
        if not set(map(type, attributes)) <= _TEXT:
            return None
        operands = self._operands(attributes.values(), depth)
        if operands is None:
            return None
        shape = (Kind.SHAPE, self._class_refs[cls], None, *attributes)
        return [Kind.OBJ, self.write_once(shape, list(shape)), *operands]

    def _operands(self, values: Collection[Any], depth: int) -> list[Operand] | None:
        operands: list[Operand] = []
        for value in values:
            if type(value) not in _INLINE and not is_inline(value):
                value = self.at_once(value, depth - 1) if depth else MISSING
                if value is MISSING:
                    return None
            operands.append(value)
        return operands

    # --- the loop ---

    def _run(self, frame: Frame) -> Operand:
        """Take all steps of a frame, and of everything that turns up on the way."""
        bottom = len(self.stack)
        self._push(frame)
        operand: Operand = None
        while len(self.stack) > bottom:
            top = self.stack[-1]
            try:
                child = top.steps.send(operand)
            except StopIteration as done:
                self._leave(top)
                operand = done.value
                continue
            except CannotStore as error:
                self._leave(top)
                self._refuse(top.obj, error)
                operand = None
                continue
            operand = self._enter(child)
        return operand

    def _enter(self, obj: Any) -> Operand:
        """The operand of `obj` when that takes no steps; else its frame is pushed, and None returned."""
        key = id(obj)
        if key in self._by_id:
            ref = self._by_id[key]
            self.use_again(ref)
            return ref
        if is_inline(obj):
            return obj  # type: ignore[no-any-return]  # an operand
        opened = self._open.get(key)
        if opened is not None and opened.head is not None:
            return self._write_early(opened)
        frame = Frame(obj, opened)
        if opened is not None and opened.outer is not None and opened.count == len(self.records):
            self._refuse(obj, _endless(obj))
            return None
        try:
            steps = self._kinds.begin(self, frame, obj)
        except CannotStore as error:
            self._refuse(obj, error)
            return None
        if isinstance(steps, int):
            return steps
        frame.steps = steps
        self._push(frame)
        return None

    def _push(self, frame: Frame) -> None:
        frame.count = len(self.records)
        self.stack.append(frame)
        self._open[id(frame.obj)] = frame

    def _leave(self, frame: Frame) -> None:
        self.stack.pop()
        if frame.outer is None:
            del self._open[id(frame.obj)]
        else:
            self._open[id(frame.obj)] = frame.outer

    def _write_early(self, frame: Frame) -> int:
        """Write an open object with what is known of it, because something inside refers to it."""
        frame.written = len(frame.operands) - len(frame.operands) % frame.step
        frame.ref = self.remember(
            frame.obj, self.write(self.record_of(frame, frame.operands[: frame.written]))
        )
        return frame.ref

    def _refuse(self, obj: Any, error: CannotStore) -> None:
        self._refusals.append(Finding(self.path(), error.reason, tuple(error.options)))
        self._by_id[id(obj)] = None
        self._kept.append(obj)


def _root_frame(obj: Any, root: str) -> Frame:
    """A frame below everything, whose only child is the object that was asked for."""

    def only_child() -> Steps:
        return (yield obj)

    frame = Frame(None, base=root)
    frame.steps = only_child()
    return frame


def _too_much(count: int, records: bytes) -> str | None:
    """Say why a reader would refuse a table for its many tiny values; None where it would not."""
    if count > most_records(len(records)):
        return f"it has {count} tiny objects, too many for its size"
    try:
        check_weight(records, what="its table")
    except ArchiveError as error:
        return str(error).partition(";")[0]
    return None


def _endless(obj: Any) -> CannotStore:
    return CannotStore(
        f"this {type(obj).__name__} refers to itself through tuples, frozensets or arguments of "
        "constructors alone, so that none can be made first",
        "make one of them a list, a dict or an attribute",
    )
