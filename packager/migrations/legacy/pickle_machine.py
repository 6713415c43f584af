"""Reads pickles of data without running them: an interpreter for the opcodes that data needs.

Python's unpickler calls whatever a pickle names. This one knows a list of opcodes and a list of
names; a name is never imported, it selects a function of `names` that makes plain data. Anything else
is an error that gives the opcode or the name, and where it stands. Memory is bounded by the file:
every operation makes one object, and text or bytes are never longer than what is read.
"""

from __future__ import annotations

import io
import pickletools
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NoReturn

from packager.errors import LegacyFormatError

__all__ = ["Handler", "HasState", "Named", "PickleRefused", "read_pickle"]

Handler = Callable[..., Any]
"""Makes data from the arguments that a pickle passes to a name."""


class PickleRefused(LegacyFormatError):
    """A pickle that is damaged, or that holds more than data: the opcode or name, and its offset."""


@dataclass(frozen=True, slots=True)
class Named:
    """A name of a pickle, standing for nothing but itself until it is applied."""

    name: str


class HasState:
    """Data of `names` that takes a state by BUILD inherits this."""

    def set_state(self, state: Any) -> None:
        raise NotImplementedError


@dataclass(slots=True, repr=False)  # written out, shared data may be endless
class _Machine:
    """The state of a run: the stack, the stacks put aside by marks, the memo."""

    names: Mapping[str, Handler | None]
    persistent: Callable[[Any], Any] | None
    what: str
    stack: list[Any] = field(default_factory=list)
    marks: list[list[Any]] = field(default_factory=list)
    memo: dict[int, Any] = field(default_factory=dict)
    position: int = 0

    def fail(self, message: str) -> NoReturn:
        raise PickleRefused(f"{self.what}, offset {self.position}: {message}")

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
        if not self.stack or not isinstance(self.stack[-1], kind):
            found = type(self.stack[-1]).__name__ if self.stack else "nothing"
            self.fail(f"{operation} on {found}; the pickle is damaged or holds more than data")
        return self.stack[-1]


def read_pickle(
    stream: io.BytesIO,
    names: Mapping[str, Handler | None],
    persistent: Callable[[Any], Any] | None = None,
    what: str = "pickle",
) -> Any:
    """Read one pickle from `stream`, which is left right behind it.

    `names` maps "module name" to what is done when the pickle calls it; None where it may only be
    mentioned. `persistent` answers persistent ids. Raises PickleRefused for everything else.
    """
    machine = _Machine(names, persistent, what)
    try:
        for opcode, argument, position in pickletools.genops(stream):
            machine.position = position or 0
            if opcode.name == "STOP":
                break
            operation = _OPERATIONS.get(opcode.name)
            if operation is None:
                machine.fail(f"opcode {opcode.name} is not among those that data needs")
            operation(machine, argument)
    except PickleRefused:
        raise
    except (ValueError, OverflowError, UnicodeDecodeError, MemoryError) as error:
        raise PickleRefused(f"{what}, after offset {machine.position}: {error}") from None
    if len(machine.stack) != 1 or machine.marks:
        machine.fail("the pickle ends with more or less than one object; it is damaged")
    return machine.stack[0]


def _nothing(machine: _Machine, argument: Any) -> None:
    """PROTO and FRAME say nothing about the data."""


def _push(machine: _Machine, argument: Any) -> None:
    machine.stack.append(argument)


def _push_new(make: Callable[[], Any]) -> Callable[[_Machine, Any], None]:
    return lambda machine, argument: machine.stack.append(make())


def _mark(machine: _Machine, argument: Any) -> None:
    machine.marks.append(machine.stack)
    machine.stack = []


def _pop(machine: _Machine, argument: Any) -> None:
    machine.pop()


def _tuple_of(count: int) -> Callable[[_Machine, Any], None]:
    def operation(machine: _Machine, argument: Any) -> None:
        items = [machine.pop() for _ in range(count)]
        machine.stack.append(tuple(reversed(items)))

    return operation


def _tuple(machine: _Machine, argument: Any) -> None:
    items = machine.pop_mark()
    machine.stack.append(tuple(items))


def _list(machine: _Machine, argument: Any) -> None:
    items = machine.pop_mark()
    machine.stack.append(items)


def _dict(machine: _Machine, argument: Any) -> None:
    items = machine.pop_mark()
    made: dict[Any, Any] = {}
    machine.stack.append(made)
    _put_all(machine, made, items)


def _frozenset(machine: _Machine, argument: Any) -> None:
    items = machine.pop_mark()
    machine.stack.append(frozenset(_hashable(machine, item) for item in items))


def _append(machine: _Machine, argument: Any) -> None:
    item = machine.pop()
    machine.top(list, "APPEND").append(item)


def _appends(machine: _Machine, argument: Any) -> None:
    items = machine.pop_mark()
    machine.top(list, "APPENDS").extend(items)


def _additems(machine: _Machine, argument: Any) -> None:
    items = machine.pop_mark()
    machine.top(set, "ADDITEMS").update(_hashable(machine, item) for item in items)


def _setitem(machine: _Machine, argument: Any) -> None:
    value, key = machine.pop(), machine.pop()
    _put_all(machine, machine.top(dict, "SETITEM"), [key, value])


def _setitems(machine: _Machine, argument: Any) -> None:
    items = machine.pop_mark()
    _put_all(machine, machine.top(dict, "SETITEMS"), items)


def _put_all(machine: _Machine, target: dict[Any, Any], items: list[Any]) -> None:
    if len(items) % 2:
        machine.fail("a key without a value; the pickle is damaged")
    for key, value in zip(items[::2], items[1::2], strict=True):
        target[_hashable(machine, key)] = value


_PLAIN: Final = (str, bytes, int, float, bool, complex, type(None), Named)


def _hashable(machine: _Machine, key: Any) -> Any:
    """Keys are plain values and flat tuples of them: hashing runs nothing and does not go deep."""
    parts = key if isinstance(key, tuple) else (key,)
    if not all(isinstance(part, _PLAIN) for part in parts):
        machine.fail(f"a key of type {type(key).__name__}; keys of data are plain values")
    return key


def _put(machine: _Machine, argument: int) -> None:
    if not machine.stack:
        machine.fail("an operation finds the stack empty; the pickle is damaged")
    machine.memo[argument] = machine.stack[-1]


def _memoize(machine: _Machine, argument: Any) -> None:
    _put(machine, len(machine.memo))


def _get(machine: _Machine, argument: int) -> None:
    if argument not in machine.memo:
        machine.fail(f"memo {argument} was never set; the pickle is damaged")
    machine.stack.append(machine.memo[argument])


def _global(machine: _Machine, argument: str) -> None:
    _mention(machine, argument)


def _stack_global(machine: _Machine, argument: Any) -> None:
    name, module = machine.pop(), machine.pop()
    if not isinstance(name, str) or not isinstance(module, str):
        machine.fail("STACK_GLOBAL without two texts; the pickle is damaged")
    _mention(machine, f"{module} {name}")


def _mention(machine: _Machine, name: str) -> None:
    if name not in machine.names:
        machine.fail(
            f"the pickle names {name.replace(' ', '.')!r}, which is not plain data; if you trust the file, "
            "load it with the program that wrote it and save a state dict of tensors alone"
        )
    machine.stack.append(Named(name))


def _reduce(machine: _Machine, argument: Any) -> None:
    arguments, function = machine.pop(), machine.pop()
    if not isinstance(function, Named) or not isinstance(arguments, tuple):
        machine.fail("a call of something that is no name, or not with a tuple")
    machine.stack.append(_applied(machine, function, arguments))


def _applied(machine: _Machine, function: Named, arguments: tuple[Any, ...]) -> Any:
    handler = machine.names[function.name]
    shown = function.name.replace(" ", ".")
    if handler is None:
        machine.fail(f"{shown!r} may be mentioned in data, but not called")
    try:
        return handler(*arguments)
    except (TypeError, ValueError, KeyError, OverflowError, AttributeError) as error:
        machine.fail(f"{shown} with arguments that do not fit: {error}")


def _build(machine: _Machine, argument: Any) -> None:
    """State of an OrderedDict is its attributes, `_metadata` of a state dict; that alone is kept."""
    state = machine.pop()
    target = machine.top((OrderedDict, HasState), "BUILD")
    if isinstance(target, HasState):
        target.set_state(state)
    elif isinstance(state, dict) and set(state) <= {"_metadata"}:
        target.__dict__.update(state)
    else:
        machine.fail("BUILD sets attributes of a dict other than _metadata")


def _persistent(machine: _Machine, argument: Any) -> None:
    if machine.persistent is None:
        machine.fail("a persistent id, in a pickle that has none")
    try:
        machine.stack.append(machine.persistent(machine.pop()))
    except (TypeError, ValueError, KeyError, OverflowError) as error:
        machine.fail(f"a storage that cannot be found: {error}")


_OPERATIONS: Final[Mapping[str, Callable[[_Machine, Any], None]]] = {
    **dict.fromkeys(("PROTO", "FRAME"), _nothing),
    **dict.fromkeys(("BININT", "BININT1", "BININT2", "LONG1", "LONG4", "BINFLOAT"), _push),
    **dict.fromkeys(("BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8"), _push),
    **dict.fromkeys(("BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "BINSTRING", "SHORT_BINSTRING"), _push),
    "NONE": _push,
    "NEWTRUE": lambda machine, argument: machine.stack.append(True),
    "NEWFALSE": lambda machine, argument: machine.stack.append(False),
    "EMPTY_DICT": _push_new(dict),
    "EMPTY_LIST": _push_new(list),
    "EMPTY_TUPLE": _push_new(tuple),
    "EMPTY_SET": _push_new(set),
    "MARK": _mark,
    "POP": _pop,
    "TUPLE": _tuple,
    "TUPLE1": _tuple_of(1),
    "TUPLE2": _tuple_of(2),
    "TUPLE3": _tuple_of(3),
    "LIST": _list,
    "DICT": _dict,
    "FROZENSET": _frozenset,
    "APPEND": _append,
    "APPENDS": _appends,
    "ADDITEMS": _additems,
    "SETITEM": _setitem,
    "SETITEMS": _setitems,
    **dict.fromkeys(("BINPUT", "LONG_BINPUT"), _put),
    "MEMOIZE": _memoize,
    **dict.fromkeys(("BINGET", "LONG_BINGET"), _get),
    "GLOBAL": _global,
    "STACK_GLOBAL": _stack_global,
    "REDUCE": _reduce,
    "BUILD": _build,
    "BINPERSID": _persistent,
}
