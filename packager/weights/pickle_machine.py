"""The machine that reads pickles of data: its stack, its memo, its budget, and the errors that it gives.

What it holds is data, a name that stands for nothing but itself, or an `Opaque`. It knows no opcode; those
are in `packager.weights.pickle_opcodes`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Final, NoReturn

from packager.errors import LegacyFormatError

LONGEST_NAME: Final = 1000

Handler = Callable[..., Any]
"""Makes data from the arguments that a pickle passes to a name."""


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
    tuple_keys: int = 0
    position: int = 0  # of the opcode at hand
    next: int = 0

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
        data = self.stream.readline(LONGEST_NAME + 1)
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
