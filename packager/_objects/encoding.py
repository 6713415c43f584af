"""Objects become data: `encode`, the steps of values and containers, and who takes care of all else.

`begin` answers with a reference where one record is enough, and with a generator where children
come first. A generator yields each child, is sent its operand, and returns the object's own.
"""

from __future__ import annotations

import enum
import functools
import itertools
import struct
import types
from collections.abc import Callable, Iterable
from typing import Any, Final

from packager._codecs import CodecRegistry, TensorData, default_registry
from packager._graph import Importer, sys_importer
from packager._process import gc_paused

from .encoder import Encoder, Kinds
from .instances import bound_method, builtin, cached, descriptor, finish_steps, function, instance
from .recording import EncodedObject, Frame, Steps
from .records import MISSING, Kind, is_inline, is_packable, spelled_int


def encode(
    obj: object,
    *,
    importer: Importer = sys_importer,
    exporter: object = None,
    registry: CodecRegistry | None = None,
    root: str = "obj",
) -> EncodedObject:
    """Turn an object graph into data. Nothing of it is changed.

    `importer` says by which names classes and functions are found again; `exporter` is handed to
    `__reduce_package__`; `root` names the object in paths. No module is decided meanwhile: what is
    refused unless the source of a module goes into the archive names it; see `with_sources`.

    What cannot be stored is in `.refusals` of the result, all of it, each with its path; nothing is
    raised for it. The garbage collector rests meanwhile.

    >>> encoded = encode({"sizes": [3, 4], "name": "net"})
    >>> len(encoded.records), encoded.storages, encoded.names, encoded.refusals
    (36, (), (), ())
    """
    with gc_paused():
        return encoder_for(importer, exporter, registry, root).encode(obj)  # whose records are gone by now


def encoder_for(importer: Importer, exporter: object, registry: CodecRegistry | None, root: str) -> Encoder:
    """Return what encodes one object, once; `registry` is the default one where none is given."""
    registry = default_registry() if registry is None else registry
    return Encoder(importer, exporter, registry, root, KINDS)


def begin(encoder: Encoder, frame: Frame, obj: object) -> Steps | int:
    """Encode `obj` at once, or say by which steps. Raises CannotStore."""
    steps = _BUILT_IN.get(type(obj))
    if steps is not None:
        return steps(encoder, frame, obj)
    if isinstance(obj, type):
        return encoder.remember(obj, encoder.write_name(obj, encoder.role))
    return instance(encoder, frame, obj)


# --- scalars that need a record ---


def _int(encoder: Encoder, frame: Frame, obj: int) -> int:
    return encoder.write_once((int, obj), [Kind.INT, spelled_int(obj)])


def _str(encoder: Encoder, frame: Frame, obj: str) -> int:
    literal: str | bytes = obj
    try:
        obj.encode()
    except UnicodeEncodeError:
        literal = obj.encode("utf-8", "surrogatepass")
    return encoder.write_once((str, obj), [Kind.STR, literal])


def _bytes(encoder: Encoder, frame: Frame, obj: bytes) -> int:
    return encoder.write_once((bytes, obj), [Kind.BYTES, obj])


def _tensor(encoder: Encoder, frame: Frame, obj: TensorData) -> int:
    return encoder.add_tensor(obj)


# --- containers that can be written before they are complete ---


def _list(encoder: Encoder, frame: Frame, obj: list[Any]) -> Steps | int:
    if (ref := encoder.write_runs(Kind.LONG_LIST, obj)) is not None:
        return encoder.remember(obj, ref)
    if is_packable(obj):
        return encoder.remember(obj, encoder.write([Kind.PACKED_LIST, *obj]))
    frame.head = [Kind.LIST]
    frame.style = "item"
    return _items(encoder, frame, obj, Kind.EXTEND)


def _set(encoder: Encoder, frame: Frame, obj: set[Any]) -> Steps | int:
    items = in_order(obj, encoder.order_of)
    if (ref := encoder.write_runs(Kind.LONG_SET, items)) is not None:
        return encoder.remember(obj, ref)
    frame.head = [Kind.SET]
    frame.style = "element"
    return _items(encoder, frame, items, Kind.ADD)


def _items(encoder: Encoder, frame: Frame, items: list[Any], fill: int) -> Steps:
    yield from _each(encoder, frame, items)
    return encoder.complete(frame, fill)


def _dict(encoder: Encoder, frame: Frame, obj: dict[Any, Any]) -> Steps | int:
    if (ref := encoder.write_runs(Kind.LONG_DICT, obj, obj.values())) is not None:
        return encoder.remember(obj, ref)
    if is_packable(obj) and is_packable(obj.values()):
        flat = [part for pair in obj.items() for part in pair]
        return encoder.remember(obj, encoder.write([Kind.PACKED_DICT, *flat]))
    frame.head = [Kind.DICT]
    frame.step = 2
    return _pairs(encoder, frame, obj)


def _pairs(encoder: Encoder, frame: Frame, obj: dict[Any, Any]) -> Steps:
    operands = frame.operands
    for key, value in obj.items():
        if is_inline(key):
            operands.append(key)
        else:
            frame.style = "key"
            operand = encoder.at_once(key)
            operands.append((yield key) if operand is MISSING else operand)
        if is_inline(value):
            operands.append(value)
        else:
            frame.style, frame.at = "item", key
            operand = encoder.at_once(value)
            operands.append((yield value) if operand is MISSING else operand)
    return encoder.complete(frame, Kind.UPDATE)


def _cell(encoder: Encoder, frame: Frame, obj: types.CellType) -> Steps:
    frame.head = [Kind.CELL]
    frame.style, frame.at = "attr", "cell_contents"
    try:
        content = obj.cell_contents
    except ValueError:  # nothing has been bound yet
        return encoder.complete(frame, Kind.SETCELL)
    frame.operands.append((yield content))
    return encoder.complete(frame, Kind.SETCELL)


# --- containers whose elements must come first ---


def _tuple(encoder: Encoder, frame: Frame, obj: tuple[Any, ...]) -> Steps | int:
    if not obj:  # there is one empty tuple, whatever made it
        return encoder.write_once((tuple, ()), [Kind.PACKED_TUPLE])
    if (ref := encoder.write_runs(Kind.LONG_TUPLE, obj)) is not None:
        return encoder.remember(obj, ref)
    if is_packable(obj):
        return encoder.remember(obj, encoder.write([Kind.PACKED_TUPLE, *obj]))
    frame.style = "item"
    return _elements_first(encoder, frame, Kind.TUPLE, obj)


def _frozenset(encoder: Encoder, frame: Frame, obj: frozenset[Any]) -> Steps | int:
    if not obj:
        return encoder.write_once((frozenset, ()), [Kind.FROZENSET])
    items = in_order(obj, encoder.order_of)
    if (ref := encoder.write_runs(Kind.LONG_FROZENSET, items)) is not None:
        return encoder.remember(obj, ref)
    frame.style = "element"
    return _elements_first(encoder, frame, Kind.FROZENSET, items)


def _elements_first(encoder: Encoder, frame: Frame, kind: int, items: Any) -> Steps:
    yield from _each(encoder, frame, items)
    return encoder.close(frame, [kind, *frame.operands])


# --- the order of sets: one that depends on the elements alone, never on the hash seed ---


def in_order(items: Iterable[Any], other: Callable[[Any], Any]) -> list[Any]:
    """Sort the elements of a set, first by kind, then by value.

    `other(item)` gives a key for what has no order of its own: something that can be compared with
    what it gives for any other element.

    >>> in_order({"b", 2, "a", None, (2, "x"), (1, "y")}, other=id)
    [None, 2, 'a', 'b', (1, 'y'), (2, 'x')]
    """
    items = list(items)
    kinds = set(map(type, items))
    if kinds == {str} or kinds == {int}:
        return sorted(items)
    if kinds == {tuple} and set(map(type, itertools.chain.from_iterable(items))) in ({str}, {int}):
        return sorted(items)
    if not _need_an_order(items):
        return sorted(items, key=lambda item: _key(item, _nothing))
    return sorted(items, key=lambda item: _key(item, other))


def _need_an_order(items: list[Any]) -> bool:
    """Whether more than one thing in the set has no order of its own; asking for one is costly."""
    found: list[Any] = []
    for item in items:
        _key(item, found.append)
    return len(found) > 1


def _nothing(item: Any) -> None:
    return None


def _key(item: Any, other: Callable[[Any], Any]) -> tuple[Any, ...]:
    kind = type(item)
    if item is None:
        return ("",)
    if kind in (bool, int, str, bytes):
        return (kind.__name__, item)
    if kind in (float, complex):
        # The repr orders NaN too; it is exact, but for what different NaN carry.
        return (kind.__name__, repr(item), struct.pack("<2d", item.real, item.imag))
    if kind is tuple:
        return ("tuple", tuple(_key(part, other) for part in item))
    if kind is frozenset:
        return ("tuple of a set", tuple(sorted(_key(part, other) for part in item)))
    if isinstance(item, enum.Enum):
        return ("~enum", kind.__module__, kind.__qualname__, str(item.name), repr(item.value))
    if isinstance(item, type):
        return ("~type", item.__module__, item.__qualname__)
    return ("~other", other(item))


def _each(encoder: Encoder, frame: Frame, items: Any) -> Steps:
    operands = frame.operands
    for at, item in enumerate(items):
        if is_inline(item):
            operands.append(item)
        else:
            frame.at = at
            operand = encoder.at_once(item)
            operands.append((yield item) if operand is MISSING else operand)
    return None


_BUILT_IN: dict[type, Callable[[Encoder, Frame, Any], Steps | int]] = {
    int: _int,
    str: _str,
    bytes: _bytes,
    TensorData: _tensor,
    list: _list,
    dict: _dict,
    set: _set,
    tuple: _tuple,
    frozenset: _frozenset,
    types.CellType: _cell,
    types.FunctionType: function,
    functools._lru_cache_wrapper: cached,
    types.MethodType: bound_method,
    types.BuiltinFunctionType: builtin,
    types.MethodDescriptorType: descriptor,
    types.ClassMethodDescriptorType: descriptor,
    types.WrapperDescriptorType: descriptor,
}

KINDS: Final = Kinds(begin, finish_steps)
