"""The machine that reads pickles of data: its stack, its memo, its budget, and what it does with names.

What it holds is data, a name that stands for nothing but itself, or an `Opaque`. Names are mentioned,
called, given a state, and none is ever imported: one that is on the list selects a function that makes
plain data, and what is done with any other is noted in an `Opaque`. The opcodes are in
`packager._weights.pickle_opcodes`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, BinaryIO, Final, NoReturn

from packager._archive import FREE_KEYS
from packager._objects import require_spread
from packager._quick_dataclasses import dataclass, field
from packager.errors import LegacyFormatError

from .legacy_bounds import (
    COST_OF_LOOK,
    COST_OF_PART,
    MAX_NAME,
    MAX_TUPLE_KEY,
    MAX_UNKNOWN_NAMES,
    MAX_UNSEEN_KEYS,
)

Handler = Callable[..., Any]
"""Makes data from the arguments that a pickle passes to a name."""


class CheckpointPickleError(LegacyFormatError):
    """A pickle that is damaged, or that holds more than data: the opcode or name, and its offset."""


@dataclass(frozen=True, slots=True)
class Named:
    """A name of a pickle, standing for nothing but itself until it is applied."""

    name: str
    known: bool = True


class Opaque:
    """An object of a class that is not data. `arguments`, `state` and `entries` are what it would be given.

    They are data themselves (or Opaque); nothing has been done with them.

    >>> Opaque("mymodel.net.Config", 12, (8,))
    Opaque('mymodel.net.Config', offset 12)
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

    def set_state(self, state: object) -> None:
        raise NotImplementedError


class Record(HasState):
    """An object of a listed class that is made without arguments, and given its attributes by BUILD.

    They are kept as they came. Two records are never equal, so that one may be the key of a dict.
    """

    __slots__ = ("attributes",)

    def __init__(self) -> None:
        self.attributes: Any = None

    def set_state(self, state: object) -> None:
        self.attributes = state


class NotReadHere(ValueError):
    """Data that this reader has no form for; its text names it. It is left out as what is unknown is."""


@dataclass(slots=True, repr=False)  # written out, shared data may be endless
class Machine:
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
    unseen: dict[int, tuple[Any, int]] = field(default_factory=dict)  # containers with keys not looked at
    position: int = 0  # of the opcode at hand
    next: int = 0
    most: int = field(init=False)  # what there was to spend

    def __post_init__(self) -> None:
        self.most = self.budget

    def take(self, count: int) -> bytes:
        """Return the next bytes of the pickle."""
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

    def spend(self, nbytes: int) -> None:
        """Take the price of something from what the pickle may spend, before it is made."""
        self.budget -= nbytes
        if self.budget < 0:
            self.fail(
                "the pickle makes far more objects than a checkpoint of its size has: "
                f"{self.most - self.budget} bytes of memory and more, at most {self.most}"
            )

    def line(self) -> str:
        """Return the next line, of a name."""
        data = self.stream.readline(MAX_NAME + 1)
        self.next += len(data)
        if len(data) > MAX_NAME and not data.endswith(b"\n"):
            self.fail(f"a name of {len(data)} bytes and more; no checkpoint has one of more than {MAX_NAME}")
        if not data.endswith(b"\n"):
            self.fail("a name without an end; the pickle is cut short")
        return self.text(data[:-1])

    def text(self, data: bytes) -> str:
        """Decode a text of the pickle."""
        try:
            return data.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            self.fail("a text that is not UTF-8; the pickle is damaged")

    def fail(self, message: str) -> NoReturn:
        """Raise CheckpointPickleError with the offset of the opcode at hand."""
        raise CheckpointPickleError(f"{self.what}, offset {self.position}: {message}")

    def refusal(self) -> CheckpointPickleError:
        """Return the error for names that are not data, all of them."""
        (first, place), *rest = self.unknown.items()
        names = [f"offset {at}: {name!r}" for name, at in self.unknown.items()]
        said = f"{self.what}, offset {place}: the pickle names {first!r}, which is not plain data"
        advice = (
            "Read the tensors and plain data alone: skip_unknown=True, --skip-unknown. Or, if you trust the "
            "file, load it with the program that wrote it and save a state dict of tensors"
        )
        others = (f"offset {at}: {name!r}, neither" for name, at in rest)
        return CheckpointPickleError.listing(said, others, advice).holding(names)

    def pop(self) -> Any:
        """Take the value on top of the stack."""
        if not self.stack:
            self.fail("an operation finds the stack empty; the pickle is damaged")
        return self.stack.pop()

    def pop_mark(self) -> list[Any]:
        """Take all values above the last mark."""
        if not self.marks:
            self.fail("an operation finds no mark; the pickle is damaged")
        items, self.stack = self.stack, self.marks.pop()
        return items

    def top(self, kind: type | tuple[type, ...], operation: str) -> Any:
        """Return what is on top of the stack, of one of these very types or an Opaque."""
        if not self.stack or not isinstance(self.stack[-1], (kind, Opaque)):
            found = type(self.stack[-1]).__name__ if self.stack else "nothing"
            self.fail(f"{operation} on {found}; the pickle is damaged or holds more than data")
        return self.stack[-1]

    def require_keys(self, target: Any, keys: list[Any], *, in_set: bool = False) -> None:
        """Demand keys, before a dict or set is given them, that are quick to hash and do not crowd together.

        A pickle fills a dict little by little. It is looked through as a whole each time that it is given
        more than a few keys which might collide, which is paid for.
        """
        if all(type(key) is str for key in keys):
            return
        try:
            for key in keys:
                require_key(key)
            loose = sum(_may_collide(key, place) for place, key in enumerate(keys, len(target)))
            if not loose:
                return
            self.spend(COST_OF_PART * loose)
            loose += self.unseen.get(id(target), (target, 0))[1]
            if loose <= max(FREE_KEYS, min(len(target) // 16, MAX_UNSEEN_KEYS)):
                self.unseen[id(target)] = target, loose  # held, so that nothing else gets its number
                return
            self.unseen.pop(id(target), None)
            self.budget -= COST_OF_LOOK * (len(target) + len(keys))
            if self.budget < 0:
                self.fail("a dict or set with far more numbers or tuples as keys than a checkpoint has")
            require_spread([*target, *keys], in_set=in_set)
        except ValueError as error:
            self.fail(str(error))

    def opaque(self, name: str, arguments: object) -> Opaque:
        return Opaque(name, self.position, arguments)

    def mention_lines(self) -> None:
        """Carry out GLOBAL: the name stands in the pickle, on two lines."""
        module, name = self.line(), self.line()
        self._push_name(f"{module} {name}")

    def mention(self) -> None:
        """Carry out STACK_GLOBAL: the name lies on the stack, as two texts."""
        name, module = self.pop(), self.pop()
        if type(name) is not str or type(module) is not str:
            self.fail("STACK_GLOBAL without two texts; the pickle is damaged")
        if len(name) + len(module) > MAX_NAME:
            found = len(name) + len(module)
            self.fail(f"a name of {found} characters; no checkpoint has one of more than {MAX_NAME}")
        self._push_name(f"{module} {name}")

    def _push_name(self, name: str) -> None:
        known = name in self.names
        if not known:
            self._note_unknown(name.replace(" ", "."))
        self.stack.append(Named(name, known))

    def _note_unknown(self, name: str) -> None:
        self.unknown.setdefault(name, self.position)
        if len(self.unknown) > MAX_UNKNOWN_NAMES:
            self.fail(
                f"the pickle names {len(self.unknown)} things and more that are not plain data; at most "
                f"{MAX_UNKNOWN_NAMES} are read"
            )

    def call(self) -> None:
        """Carry out REDUCE: only a function of the list is called; any other call is noted."""
        arguments, function = self.pop(), self.pop()
        if isinstance(function, Opaque):  # a computed function: what it gives is as unknown as itself
            self.stack.append(self.opaque(function.name, arguments))
            return
        if not isinstance(function, Named) or type(arguments) is not tuple:
            self.fail("a call of something that is no name, or not with a tuple")
        self.stack.append(self._applied(function, arguments))

    def _applied(self, function: Named, arguments: tuple[Any, ...]) -> Any:
        shown = function.name.replace(" ", ".")
        if not function.known:
            return self.opaque(shown, arguments)
        handler = self.names[function.name]
        if handler is None:
            self.fail(f"{shown!r} may be mentioned in data, but not called")
        # A part that lies in the memo can be passed again and again, and is copied each time.
        price = 16 * len(arguments)
        for part in arguments:
            if type(part) in _COPIED:
                price += _COPIED[type(part)] * len(part)
        self.spend(price)
        try:
            return handler(*arguments)
        except NotReadHere as error:
            self._note_unknown(str(error))
            return self.opaque(str(error), arguments)
        except (TypeError, ValueError, KeyError, OverflowError, AttributeError) as error:
            if any(_is_opaque(argument) for argument in arguments):
                return self.opaque(shown, arguments)
            self.fail(f"{shown} with arguments that do not fit: {error}")

    def new_object(self, opcode: str, count: int) -> None:
        """Make a bare record, or note an object of an unknown class with so many arguments."""
        arguments = [self.pop() for _ in range(count)]
        kind = self.pop()
        made = self.names.get(kind.name) if isinstance(kind, Named) else None
        if isinstance(made, type) and issubclass(made, Record) and arguments == [()]:
            self.stack.append(made())
            return
        if not _is_opaque(kind):
            self.fail(f"opcode {opcode} is not among those that data needs")
        self.stack.append(self.opaque(kind.name.replace(" ", "."), tuple(reversed(arguments))))

    def set_state(self) -> None:
        """Carry out BUILD: of an OrderedDict's attributes, `_metadata` of a state dict alone is kept."""
        state = self.pop()
        target = self.top((OrderedDict, HasState), "BUILD")
        if isinstance(target, Opaque):
            target.state = state
        elif isinstance(target, HasState):
            try:
                target.set_state(state)
            except (TypeError, ValueError, KeyError, OverflowError) as error:
                if type(state) is not tuple or not any(_is_opaque(part) for part in state):
                    self.fail(f"a state that does not fit: {error}")
                self._give_up(target, state)
        elif type(state) is dict and set(state) <= {"_metadata"}:
            target.__dict__.update(state)
        else:
            self.fail("BUILD sets attributes of a dict other than _metadata")

    def _give_up(self, target: Any, state: tuple[Any, ...]) -> None:
        """Put an Opaque in the place of data whose state is none, on the stack and in the memo."""
        kind = next(part.name for part in state if _is_opaque(part))
        found = self.stack[-1] = self.opaque(f"numpy.ndarray of {kind}", ())
        found.state = state
        for place in reversed(self.memo):  # it was put there just before its state came
            self.spend(1)
            if self.memo[place] is target:
                self.memo[place] = found
                break

    def find_storage(self) -> None:
        """Carry out BINPERSID: the reader of the file says what lies under a persistent id."""
        if self.persistent is None:
            self.fail("a persistent id, in a pickle that has none")
        pid = self.pop()
        try:
            self.stack.append(self.persistent(pid))
        except (TypeError, ValueError, KeyError, OverflowError, AttributeError) as error:
            if type(pid) is tuple and any(_is_opaque(part) for part in pid):
                self.stack.append(self.opaque("a storage of an unknown class", pid))
            else:
                self.fail(f"the storage of a tensor cannot be read: {error}")


# What a part of an argument costs at most, where a name makes a copy: shapes, entries of dicts, text.
_COPIED: Final[Mapping[type, int]] = {tuple: 16, list: COST_OF_PART, dict: COST_OF_PART, str: 4}
_KEYS: Final = (str, bytes, int, float, bool, type(None), Named, Opaque)


def require_key(key: object) -> None:
    """Demand a key that is quick to hash: a plain value, or a short flat tuple of such.

    Hashing these runs nothing and does not go deep. Raises ValueError for any other.

    >>> require_key(("a", 1))
    >>> require_key([1])
    Traceback (most recent call last):
    ValueError: a key of type list; keys of data are plain values
    """
    parts = key if type(key) is tuple else (key,)
    if len(parts) > MAX_TUPLE_KEY:
        raise ValueError(
            f"a key that is a tuple of {len(parts)}; no checkpoint has one of more than {MAX_TUPLE_KEY}"
        )
    if not all(type(part) in _KEYS or isinstance(part, Record) for part in parts):
        raise ValueError(f"a key of type {type(key).__name__}; keys of data are plain values")


def _may_collide(key: Any, place: int) -> bool:
    """Return whether a key could be made to collide: not texts, nor numbers that count from 0 or 1."""
    kind = type(key)
    counts = kind is int and 0 <= key - place <= 1
    return not (kind is str or kind is bytes or counts or isinstance(key, Record))


def _is_opaque(value: Any) -> bool:
    return isinstance(value, Opaque) or (isinstance(value, Named) and not value.known)
