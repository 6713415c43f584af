"""Reads pickles of data without running them: what each opcode that data needs does, and its price.

Python's unpickler calls whatever a pickle names. This one knows a list of opcodes and a list of names; a
name is never imported, it selects a function of `names` that makes plain data. A name that is not on the
list becomes an `Opaque`, which stands for an object that is not made: what the pickle would do to it is
noted, not done. Unless the caller asked for that, such names are refused in the end, all together.

Memory is bounded by the file: every operation has a price, and a pickle may spend so much for its size.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from struct import Struct
from typing import Any, BinaryIO, Final

from .legacy_bounds import (
    COST_OF_PART,
    FREE_MEMORY,
    MAX_INT_BYTES,
    MAX_MEMORY,
    MEMORY_PER_BYTE,
)
from .pickle_machine import CheckpointPickleError, Handler, Machine, Opaque


def read_pickle(
    stream: BinaryIO,
    names: Mapping[str, Handler | None],
    persistent: Callable[[Any], Any] | None = None,
    what: str = "pickle",
    *,
    opaque: bool = False,
    size: int | None = None,
    one_of: int = 1,
    memory_per_byte: int | None = None,
    most: int | None = None,
) -> Any:
    """Read one pickle from `stream`, which is left right behind it.

    `names` maps "module name" to what is done when the pickle calls it; None where it may only be
    mentioned. `persistent` answers persistent ids. `size` is how many bytes there are at most, by
    default all that the stream holds; what any pickle may spend is shared by `one_of` files, to which come
    `memory_per_byte`, up to `most` in all. With `opaque=True` other names give Opaque objects.

    Raises CheckpointPickleError for everything else.
    """
    if size is None:
        here = stream.tell()
        size = stream.seek(0, io.SEEK_END) - here
        stream.seek(here)
    budget = FREE_MEMORY // one_of + (memory_per_byte or MEMORY_PER_BYTE) * size
    machine = Machine(stream, names, persistent, what, size, min(budget, most or MAX_MEMORY))
    try:
        value = _run(machine)
    except CheckpointPickleError:
        if machine.unknown and not opaque:  # the reason that a reader can do something about
            raise machine.refusal() from None
        raise
    if machine.unknown and not opaque:
        raise machine.refusal()
    return value


def _run(machine: Machine) -> Any:
    """Carry out operations up to STOP."""
    read, operations = machine.stream.read, _OPERATIONS
    while True:
        machine.position = machine.next
        code = read(1)
        machine.next += 1
        if code == b".":
            break
        found = operations.get(code)
        if found is None:
            machine.fail(_not_listed(code))
        operation, price = found
        machine.budget -= price
        if machine.budget < 0:
            machine.spend(0)  # says so; called for each operation it would take a tenth of the time
        operation(machine)
    if len(machine.stack) != 1 or machine.marks:
        machine.fail("the pickle ends with more or less than one object; it is damaged")
    return machine.stack[0]


def _not_listed(code: bytes) -> str:
    import pickletools

    if not code:
        return "pickle exhausted before its end; it is cut short"
    known = {op.code: op for op in pickletools.opcodes}.get(code.decode("latin-1"))
    if known is None:
        return f"byte {code[0]:#04x} is no opcode; this is no pickle, or it is damaged"
    return f"opcode {known.name} is not among those that data needs"


# --- constants ---


def _nothing(length: int) -> Callable[[Machine], None]:
    """Skip PROTO and FRAME, which say nothing about the data."""
    return lambda machine: _ignore(machine.take(length))


def _ignore(value: object) -> None:
    pass


def _constant(value: object) -> Callable[[Machine], None]:
    return lambda machine: machine.stack.append(value)


def _new(make: Callable[[], object]) -> Callable[[Machine], None]:
    return lambda machine: machine.stack.append(make())


def _number(form: str) -> Callable[[Machine], None]:
    layout = Struct(form)
    return lambda machine: machine.stack.append(layout.unpack(machine.take(layout.size))[0])


def _counted(form: str, decode: Callable[[Machine, bytes], object]) -> Callable[[Machine], None]:
    """Return the operation that reads bytes behind their number."""
    layout = Struct(form)

    def operation(machine: Machine) -> None:
        (count,) = layout.unpack(machine.take(layout.size))
        machine.stack.append(decode(machine, machine.take(count)))

    return operation


def _bytes(machine: Machine, data: bytes) -> bytes:
    return data


def _old_text(machine: Machine, data: bytes) -> str:
    return data.decode("latin-1")  # strings of Python 2: most are names


def _long_int(machine: Machine, data: bytes) -> int:
    if len(data) > MAX_INT_BYTES:
        machine.fail(f"a number of {len(data)} bytes; no data has one of more than {MAX_INT_BYTES}")
    return int.from_bytes(data, "little", signed=True)


# --- the stack and the memo ---


def _mark(machine: Machine) -> None:
    machine.marks.append(machine.stack)
    machine.stack = []


def _pop(machine: Machine) -> None:
    machine.pop()


def _put(form: str) -> Callable[[Machine], None]:
    layout = Struct(form)

    def operation(machine: Machine) -> None:
        if not machine.stack:
            machine.fail("an operation finds the stack empty; the pickle is damaged")
        machine.memo[layout.unpack(machine.take(layout.size))[0]] = machine.stack[-1]

    return operation


def _memoize(machine: Machine) -> None:
    if not machine.stack:
        machine.fail("an operation finds the stack empty; the pickle is damaged")
    machine.memo[len(machine.memo)] = machine.stack[-1]


def _get(form: str) -> Callable[[Machine], None]:
    layout = Struct(form)

    def operation(machine: Machine) -> None:
        (number,) = layout.unpack(machine.take(layout.size))
        if number not in machine.memo:
            machine.fail(f"memo {number} was never set; the pickle is damaged")
        machine.stack.append(machine.memo[number])

    return operation


# --- containers ---


def _tuple_of(count: int) -> Callable[[Machine], None]:
    def operation(machine: Machine) -> None:
        items = [machine.pop() for _ in range(count)]
        machine.stack.append(tuple(reversed(items)))

    return operation


def _tuple(machine: Machine) -> None:
    items = machine.pop_mark()
    machine.stack.append(tuple(items))


def _list(machine: Machine) -> None:
    items = machine.pop_mark()
    machine.stack.append(items)


def _dict(machine: Machine) -> None:
    items = machine.pop_mark()
    made: dict[Any, Any] = {}
    machine.stack.append(made)
    _put_all(machine, made, items)


def _frozenset(machine: Machine) -> None:
    items = machine.pop_mark()
    machine.spend(COST_OF_PART * len(items))
    machine.require_keys((), items, in_set=True)
    machine.stack.append(frozenset(items))


def _append(machine: Machine) -> None:
    item = machine.pop()
    _extend(machine.top(list, "APPEND"), [item])


def _appends(machine: Machine) -> None:
    items = machine.pop_mark()
    _extend(machine.top(list, "APPENDS"), items)


def _extend(target: list[Any] | Opaque, items: list[Any]) -> None:
    (target.entries if isinstance(target, Opaque) else target).extend(items)


def _additems(machine: Machine) -> None:
    items = machine.pop_mark()
    target = machine.top(set, "ADDITEMS")
    if isinstance(target, Opaque):
        target.entries.extend(items)
    else:
        machine.spend(COST_OF_PART * len(items))
        machine.require_keys(target, items, in_set=True)
        target.update(items)


def _setitem(machine: Machine) -> None:
    value, key = machine.pop(), machine.pop()
    _put_all(machine, machine.top(dict, "SETITEM"), [key, value])


def _setitems(machine: Machine) -> None:
    items = machine.pop_mark()
    _put_all(machine, machine.top(dict, "SETITEMS"), items)


def _put_all(machine: Machine, target: dict[Any, Any] | Opaque, items: list[Any]) -> None:
    if len(items) % 2:
        machine.fail("a key without a value; the pickle is damaged")
    if isinstance(target, Opaque):
        target.entries.extend(items)
        return
    machine.spend(COST_OF_PART * len(items) // 2)
    keys = items[::2]
    machine.require_keys(target, keys)
    for key, value in zip(keys, items[1::2], strict=True):
        target[key] = value


def _new_object(opcode: str, count: int) -> Callable[[Machine], None]:
    return lambda machine: machine.new_object(opcode, count)


# What each operation costs, in bytes of memory at most, besides the bytes that it reads.
_OPERATIONS: Final[Mapping[bytes, tuple[Callable[[Machine], None], int]]] = {
    b"\x80": (_nothing(1), 0),
    b"\x95": (_nothing(8), 0),
    b"N": (_constant(None), 8),
    b"\x88": (_constant(True), 8),
    b"\x89": (_constant(False), 8),
    b"J": (_number("<i"), 40),
    b"K": (_number("<B"), 8),
    b"M": (_number("<H"), 40),
    b"G": (_number(">d"), 40),
    b"\x8a": (_counted("<B", _long_int), 48),
    b"\x8b": (_counted("<I", _long_int), 48),
    b"X": (_counted("<I", Machine.text), 64),
    b"\x8c": (_counted("<B", Machine.text), 64),
    b"\x8d": (_counted("<Q", Machine.text), 64),
    b"B": (_counted("<I", _bytes), 48),
    b"C": (_counted("<B", _bytes), 48),
    b"\x8e": (_counted("<Q", _bytes), 48),
    b"\x96": (_counted("<Q", _bytes), 48),
    b"T": (_counted("<I", _old_text), 64),
    b"U": (_counted("<B", _old_text), 64),
    b"(": (_mark, 80),
    b"0": (_pop, 0),
    b"q": (_put("<B"), 100),
    b"r": (_put("<I"), 100),
    b"\x94": (_memoize, 140),
    b"h": (_get("<B"), 8),
    b"j": (_get("<I"), 8),
    b")": (_constant(()), 8),
    b"\x85": (_tuple_of(1), 64),
    b"\x86": (_tuple_of(2), 72),
    b"\x87": (_tuple_of(3), 80),
    b"t": (_tuple, 80),
    b"]": (_new(list), 72),
    b"l": (_list, 72),
    b"}": (_new(dict), 72),
    b"d": (_dict, 250),
    b"\x8f": (_new(set), 232),
    b"\x91": (_frozenset, 232),
    b"a": (_append, 90),
    b"e": (_appends, 8),
    b"s": (_setitem, 250),
    b"u": (_setitems, 250),
    b"\x90": (_additems, 232),
    b"c": (Machine.mention_lines, 250),
    b"\x93": (Machine.mention, 250),
    b"R": (Machine.call, 800),
    b"\x81": (_new_object("NEWOBJ", 1), 250),
    b"\x92": (_new_object("NEWOBJ_EX", 2), 250),
    b"b": (Machine.set_state, 250),
    b"Q": (Machine.find_storage, 500),
}
"""The opcodes of data. Not there: text forms of protocol 0, INST, OBJ, EXT, PERSID, out-of-band buffers."""
