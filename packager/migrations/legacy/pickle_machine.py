"""Reads pickles of data without running them: an interpreter for the opcodes that data needs.

Python's unpickler calls whatever a pickle names. This one knows a list of opcodes and a list of names; a
name is never imported, it selects a function of `names` that makes plain data. A name that is not on the
list becomes an `Opaque`, which stands for an object that nobody makes: what the pickle would do to it is
noted, not done. Unless the caller asked for that, such names are refused in the end, all together.

Memory is bounded by the file: every operation has a price, and a pickle may spend so much for its size.
"""

from __future__ import annotations

import io
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from struct import Struct
from typing import Any, BinaryIO, Final, NoReturn

from packager.errors import LegacyFormatError

__all__ = ["Handler", "HasState", "Named", "Opaque", "PickleRefused", "read_pickle"]

Handler = Callable[..., Any]
"""Makes data from the arguments that a pickle passes to a name."""

_FREE: Final = 64 << 20
_PER_BYTE: Final = 32
_MOST: Final = 1 << 30
_MOST_NAMED: Final = 1000  # unknown names that are told apart; more of them is no checkpoint
_LONGEST_INT: Final = 256  # bytes
_LONGEST_NAME: Final = 1000
_MOST_TUPLE_KEYS: Final = 10_000


class PickleRefused(LegacyFormatError):
    """A pickle that is damaged, or that holds more than data: the opcode or name, and its offset."""


@dataclass(frozen=True, slots=True)
class Named:
    """A name of a pickle, standing for nothing but itself until it is applied."""

    name: str
    known: bool = True


class Opaque:
    """An object of a class that is not data. `arguments`, `state` and `entries` are what it would be given.

    They are data themselves (or Opaque); nothing has been done with them.
    """

    __slots__ = ("arguments", "entries", "name", "offset", "state")

    def __init__(self, name: str, offset: int, arguments: Any = ()) -> None:
        self.name = name
        self.offset = offset
        self.arguments = arguments
        self.state: Any = None
        self.entries: list[Any] = []

    def __repr__(self) -> str:
        return f"Opaque({self.name!r}, offset {self.offset})"


class HasState:
    """Data of `names` that takes a state by BUILD inherits this."""

    __slots__ = ()

    def set_state(self, state: Any) -> None:
        raise NotImplementedError


def read_pickle(
    stream: BinaryIO,
    names: Mapping[str, Handler | None],
    persistent: Callable[[Any], Any] | None = None,
    what: str = "pickle",
    *,
    opaque: bool = False,
    size: int | None = None,
) -> Any:
    """Read one pickle from `stream`, which is left right behind it.

    `names` maps "module name" to what is done when the pickle calls it; None where it may only be
    mentioned. `persistent` answers persistent ids. `size` is how many bytes there are at most, by
    default all that the stream holds. With `opaque=True` other names give Opaque objects.

    Raises PickleRefused for everything else.
    """
    if size is None:
        here = stream.tell()
        size = stream.seek(0, io.SEEK_END) - here
        stream.seek(here)
    machine = _Machine(stream, names, persistent, what, size, min(_FREE + _PER_BYTE * size, _MOST))
    try:
        value = machine.run()
    except PickleRefused:
        if machine.unknown and not opaque:  # the reason that a reader can do something about
            raise machine.refusal() from None
        raise
    if machine.unknown and not opaque:
        raise machine.refusal()
    return value


@dataclass(slots=True, repr=False)  # written out, shared data may be endless
class _Machine:
    """The state of a run: the stack, the stacks put aside by marks, the memo, and what is left to spend."""

    stream: BinaryIO
    names: Mapping[str, Handler | None]
    persistent: Callable[[Any], Any] | None
    what: str
    size: int
    budget: int
    stack: list[Any] = field(default_factory=list)
    marks: list[list[Any]] = field(default_factory=list)
    memo: dict[int, Any] = field(default_factory=dict)
    unknown: dict[str, int] = field(default_factory=dict)
    tuple_keys: int = 0
    position: int = 0  # of the opcode at hand
    next: int = 0

    def run(self) -> Any:
        """Carry out operations up to STOP."""
        read, operations = self.stream.read, _OPERATIONS
        while True:
            self.position = self.next
            code = read(1)
            self.next += 1
            if code == b".":
                break
            found = operations.get(code)
            if found is None:
                self.fail(_not_listed(code))
            operation, price = found
            self.budget -= price
            if self.budget < 0:
                self.fail("the pickle makes far more objects than a checkpoint of its size has")
            operation(self)
        if len(self.stack) != 1 or self.marks:
            self.fail("the pickle ends with more or less than one object; it is damaged")
        return self.stack[0]

    def take(self, count: int) -> bytes:
        """The next bytes of the pickle."""
        self.next += count
        if self.next > self.size:
            self.fail(
                f"expected {count} bytes, there are {max(self.size - self.next + count, 0)}; it is cut short"
            )
        self.budget -= count
        data = self.stream.read(count)
        if len(data) != count or self.budget < 0:
            self.fail("the pickle is cut short, or far larger than that of a checkpoint")
        return data

    def line(self) -> str:
        """The next line, of a name."""
        data = self.stream.readline(_LONGEST_NAME + 1)
        self.next += len(data)
        if not data.endswith(b"\n"):
            self.fail("a name that is too long, or without an end")
        return self.text(data[:-1])

    def text(self, data: bytes) -> str:
        try:
            return data.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            self.fail("a text that is not UTF-8; the pickle is damaged")

    def fail(self, message: str) -> NoReturn:
        raise PickleRefused(f"{self.what}, offset {self.position}: {message}")

    def refusal(self) -> PickleRefused:
        """The error for names that are not data, all of them."""
        (first, place), *rest = self.unknown.items()
        lines = [f"{self.what}, offset {place}: the pickle names {first!r}, which is not plain data"]
        lines += [f"    offset {place}: {name!r}, neither" for name, place in rest[:20]]
        if len(rest) > 20:
            lines.append(f"    and {len(rest) - 20} more names")
        advice = (
            "read without them, what is tensors and plain data is kept (skip_unknown=True, --skip-unknown); "
            "or, if you trust the file, load it with the program that wrote it and save a state dict of "
            "tensors alone"
        )
        return PickleRefused("\n".join(lines) + ("\n" if rest else "; ") + advice)

    def pop(self) -> Any:
        if not self.stack:
            self.fail("an operation finds the stack empty; the pickle is damaged")
        return self.stack.pop()

    def pop_mark(self) -> list[Any]:
        if not self.marks:
            self.fail("an operation finds no mark; the pickle is damaged")
        items, self.stack = self.stack, self.marks.pop()
        return items

    def top(self, kind: type | tuple[type, ...], operation: str) -> Any:
        """What is on top of the stack, of one of these very types or an Opaque."""
        if not self.stack or not isinstance(self.stack[-1], (kind, Opaque)):
            found = type(self.stack[-1]).__name__ if self.stack else "nothing"
            self.fail(f"{operation} on {found}; the pickle is damaged or holds more than data")
        return self.stack[-1]

    def opaque(self, name: str, arguments: Any) -> Opaque:
        return Opaque(name, self.position, arguments)


def _not_listed(code: bytes) -> str:
    import pickletools

    if not code:
        return "pickle exhausted before its end; it is cut short"
    known = {op.code: op for op in pickletools.opcodes}.get(code.decode("latin-1"))
    if known is None:
        return f"byte {code[0]:#04x} is no opcode; this is no pickle, or it is damaged"
    return f"opcode {known.name} is not among those that data needs"


# --- constants ---


def _nothing(length: int) -> Callable[[_Machine], None]:
    """PROTO and FRAME say nothing about the data."""
    return lambda machine: _ignore(machine.take(length))


def _ignore(value: object) -> None:
    pass


def _constant(value: object) -> Callable[[_Machine], None]:
    return lambda machine: machine.stack.append(value)


def _new(make: Callable[[], object]) -> Callable[[_Machine], None]:
    return lambda machine: machine.stack.append(make())


def _number(form: str) -> Callable[[_Machine], None]:
    layout = Struct(form)
    return lambda machine: machine.stack.append(layout.unpack(machine.take(layout.size))[0])


def _counted(form: str, decode: Callable[[_Machine, bytes], object]) -> Callable[[_Machine], None]:
    """Bytes behind their number."""
    layout = Struct(form)

    def operation(machine: _Machine) -> None:
        (count,) = layout.unpack(machine.take(layout.size))
        machine.stack.append(decode(machine, machine.take(count)))

    return operation


def _bytes(machine: _Machine, data: bytes) -> bytes:
    return data


def _old_text(machine: _Machine, data: bytes) -> str:
    return data.decode("latin-1")  # strings of Python 2: most are names


def _long_int(machine: _Machine, data: bytes) -> int:
    if len(data) > _LONGEST_INT:
        machine.fail(f"a number of {len(data)} bytes; no data has one of more than {_LONGEST_INT}")
    return int.from_bytes(data, "little", signed=True)


# --- the stack and the memo ---


def _mark(machine: _Machine) -> None:
    machine.marks.append(machine.stack)
    machine.stack = []


def _pop(machine: _Machine) -> None:
    machine.pop()


def _put(form: str) -> Callable[[_Machine], None]:
    layout = Struct(form)

    def operation(machine: _Machine) -> None:
        if not machine.stack:
            machine.fail("an operation finds the stack empty; the pickle is damaged")
        machine.memo[layout.unpack(machine.take(layout.size))[0]] = machine.stack[-1]

    return operation


def _memoize(machine: _Machine) -> None:
    if not machine.stack:
        machine.fail("an operation finds the stack empty; the pickle is damaged")
    machine.memo[len(machine.memo)] = machine.stack[-1]


def _get(form: str) -> Callable[[_Machine], None]:
    layout = Struct(form)

    def operation(machine: _Machine) -> None:
        (number,) = layout.unpack(machine.take(layout.size))
        if number not in machine.memo:
            machine.fail(f"memo {number} was never set; the pickle is damaged")
        machine.stack.append(machine.memo[number])

    return operation


# --- containers ---


def _tuple_of(count: int) -> Callable[[_Machine], None]:
    def operation(machine: _Machine) -> None:
        items = [machine.pop() for _ in range(count)]
        machine.stack.append(tuple(reversed(items)))

    return operation


def _tuple(machine: _Machine) -> None:
    items = machine.pop_mark()
    machine.stack.append(tuple(items))


def _list(machine: _Machine) -> None:
    items = machine.pop_mark()
    machine.stack.append(items)


def _dict(machine: _Machine) -> None:
    items = machine.pop_mark()
    made: dict[Any, Any] = {}
    machine.stack.append(made)
    _put_all(machine, made, items)


def _frozenset(machine: _Machine) -> None:
    items = machine.pop_mark()
    machine.stack.append(frozenset(_hashable(machine, item) for item in items))


def _append(machine: _Machine) -> None:
    item = machine.pop()
    _extend(machine.top(list, "APPEND"), [item])


def _appends(machine: _Machine) -> None:
    items = machine.pop_mark()
    _extend(machine.top(list, "APPENDS"), items)


def _extend(target: list[Any] | Opaque, items: list[Any]) -> None:
    (target.entries if isinstance(target, Opaque) else target).extend(items)


def _additems(machine: _Machine) -> None:
    items = machine.pop_mark()
    target = machine.top(set, "ADDITEMS")
    if isinstance(target, Opaque):
        target.entries.extend(items)
    else:
        target.update(_hashable(machine, item) for item in items)


def _setitem(machine: _Machine) -> None:
    value, key = machine.pop(), machine.pop()
    _put_all(machine, machine.top(dict, "SETITEM"), [key, value])


def _setitems(machine: _Machine) -> None:
    items = machine.pop_mark()
    _put_all(machine, machine.top(dict, "SETITEMS"), items)


def _put_all(machine: _Machine, target: dict[Any, Any] | Opaque, items: list[Any]) -> None:
    if len(items) % 2:
        machine.fail("a key without a value; the pickle is damaged")
    if isinstance(target, Opaque):
        target.entries.extend(items)
        return
    for key, value in zip(items[::2], items[1::2], strict=True):
        target[key if type(key) is str else _hashable(machine, key)] = value


_KEYS: Final = (str, bytes, int, float, bool, type(None), Named, Opaque)


def _hashable(machine: _Machine, key: Any) -> Any:
    """A key that is quick to hash, and that nobody can make collide with many others.

    Plain values and short flat tuples of them: hashing runs nothing and does not go deep. Large numbers
    wrap around when they are hashed, and the hash of a tuple can be computed backwards; so the first are
    refused, and there may be only so many of the second.
    """
    parts = key if type(key) is tuple else (key,)
    if not all(type(part) in _KEYS for part in parts):
        machine.fail(f"a key of type {type(key).__name__}; keys of data are plain values")
    if type(key) is tuple:
        machine.tuple_keys += 1
        if len(key) > 8 or machine.tuple_keys > _MOST_TUPLE_KEYS:
            machine.fail(
                "keys of a kind and number that no checkpoint has: long tuples, or thousands of them"
            )
    if any(type(part) is int and part.bit_length() > 60 for part in parts):
        machine.fail("a key that is a number of more than 60 bits; no checkpoint has one")
    return key


# --- names ---


def _global(machine: _Machine) -> None:
    module, name = machine.line(), machine.line()
    _mention(machine, f"{module} {name}")


def _stack_global(machine: _Machine) -> None:
    name, module = machine.pop(), machine.pop()
    if type(name) is not str or type(module) is not str or len(name) + len(module) > _LONGEST_NAME:
        machine.fail("STACK_GLOBAL without two texts; the pickle is damaged")
    _mention(machine, f"{module} {name}")


def _mention(machine: _Machine, name: str) -> None:
    known = name in machine.names
    if not known:
        machine.unknown.setdefault(name.replace(" ", "."), machine.position)
        if len(machine.unknown) > _MOST_NAMED:
            machine.fail(f"the pickle names more than {_MOST_NAMED} things that are not plain data")
    machine.stack.append(Named(name, known))


def _reduce(machine: _Machine) -> None:
    arguments, function = machine.pop(), machine.pop()
    if isinstance(function, Opaque):  # a computed function: what it gives is as unknown as itself
        machine.stack.append(machine.opaque(function.name, arguments))
        return
    if not isinstance(function, Named) or type(arguments) is not tuple:
        machine.fail("a call of something that is no name, or not with a tuple")
    machine.stack.append(_applied(machine, function, arguments))


def _applied(machine: _Machine, function: Named, arguments: tuple[Any, ...]) -> Any:
    shown = function.name.replace(" ", ".")
    if not function.known:
        return machine.opaque(shown, arguments)
    handler = machine.names[function.name]
    if handler is None:
        machine.fail(f"{shown!r} may be mentioned in data, but not called")
    try:
        return handler(*arguments)
    except (TypeError, ValueError, KeyError, OverflowError, AttributeError) as error:
        if any(_is_opaque(argument) for argument in arguments):
            return machine.opaque(shown, arguments)
        machine.fail(f"{shown} with arguments that do not fit: {error}")


def _is_opaque(value: Any) -> bool:
    return isinstance(value, Opaque) or (isinstance(value, Named) and not value.known)


def _newobj(name: str, count: int) -> Callable[[_Machine], None]:
    """An object of a class: only ever of an unknown one, which is not made."""

    def operation(machine: _Machine) -> None:
        arguments = [machine.pop() for _ in range(count)]
        kind = machine.pop()
        if not _is_opaque(kind):
            machine.fail(f"opcode {name} is not among those that data needs")
        machine.stack.append(machine.opaque(kind.name.replace(" ", "."), tuple(reversed(arguments))))

    return operation


def _build(machine: _Machine) -> None:
    """State of an OrderedDict is its attributes, `_metadata` of a state dict; that alone is kept."""
    state = machine.pop()
    target = machine.top((OrderedDict, HasState), "BUILD")
    if isinstance(target, Opaque):
        target.state = state
    elif isinstance(target, HasState):
        try:
            target.set_state(state)
        except (TypeError, ValueError, KeyError, OverflowError) as error:
            machine.fail(f"a state that does not fit: {error}")
    elif type(state) is dict and set(state) <= {"_metadata"}:
        target.__dict__.update(state)
    else:
        machine.fail("BUILD sets attributes of a dict other than _metadata")


def _persistent(machine: _Machine) -> None:
    if machine.persistent is None:
        machine.fail("a persistent id, in a pickle that has none")
    pid = machine.pop()
    try:
        machine.stack.append(machine.persistent(pid))
    except (TypeError, ValueError, KeyError, OverflowError, AttributeError) as error:
        if type(pid) is tuple and any(_is_opaque(part) for part in pid):
            machine.stack.append(machine.opaque("a storage of an unknown class", pid))
        else:
            machine.fail(f"a storage that cannot be found: {error}")


# What each operation costs, in bytes of memory at most, besides the bytes that it reads.
_OPERATIONS: Final[Mapping[bytes, tuple[Callable[[_Machine], None], int]]] = {
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
    b"X": (_counted("<I", _Machine.text), 64),
    b"\x8c": (_counted("<B", _Machine.text), 64),
    b"\x8d": (_counted("<Q", _Machine.text), 64),
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
    b"c": (_global, 250),
    b"\x93": (_stack_global, 250),
    b"R": (_reduce, 800),
    b"\x81": (_newobj("NEWOBJ", 1), 250),
    b"\x92": (_newobj("NEWOBJ_EX", 2), 250),
    b"b": (_build, 250),
    b"Q": (_persistent, 500),
}
"""The opcodes of data. Not there: text forms of protocol 0, INST, OBJ, EXT, PERSID, out-of-band buffers."""
