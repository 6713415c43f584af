"""A trace: which submodules ran in a golden call, in which order, and what each took and gave.

Section 5.7 of the format: `pack_trace` and `unpack_trace` are how it is stored.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator, Sequence
from typing import Any, Final

from packager._archive import (
    MAX_MODULE_PATH,
    MAX_RANK,
    MAX_TRACE,
    MAX_TRACED_CALLS,
    MAX_TRACED_VALUES,
    ArchiveReader,
    most_values,
    pack,
    unpack,
)
from packager._quick_dataclasses import dataclass
from packager.errors import ArchiveError

Parts = tuple[tuple[str, int], ...]
"""Parts of what was taken or given by name, each with the number of its value."""


@dataclass(frozen=True, slots=True)
class TracedModule:
    """A submodule: its path from the object that is called, and its class as "package.module:Name"."""

    path: str
    kind: str


@dataclass(frozen=True, slots=True)
class TracedCall:
    """One call of a submodule.

    `module` is its number; `method` is empty for modules, and the name of what was called of others;
    `parent` is the number of the call in which it ran. `terms` is how many products or elements a sum in it
    is taken over, as far as that can be told.
    """

    module: int
    method: str
    parent: int | None
    terms: int
    inputs: Parts
    outputs: Parts


@dataclass(frozen=True)
class Trace:
    """All calls of a golden call, numbered as they began.

    `order` has the number of each call twice: where it began, and where it ended. `is_cut` says whether there
    were more than are kept.
    """

    modules: tuple[TracedModule, ...] = ()
    values: tuple[Summary, ...] = ()
    calls: tuple[TracedCall, ...] = ()
    order: tuple[int, ...] = ()
    is_cut: bool = False

    def keys(self) -> list[tuple[str, str, int]]:
        """Return of each call the path, the method, and how often it had been called before."""
        seen: dict[tuple[str, str], int] = {}
        found = []
        for call in self.calls:
            name = self.modules[call.module].path, call.method
            found.append((*name, seen.get(name, 0)))
            seen[name] = found[-1][2] + 1
        return found


def pack_trace(trace: Trace) -> bytes:
    """Return a trace as it is stored."""
    return pack(
        {
            "calls": [
                [
                    call.module,
                    call.method,
                    call.parent,
                    call.terms,
                    [list(part) for part in call.inputs],
                    [list(part) for part in call.outputs],
                ]
                for call in trace.calls
            ],
            "cut": trace.is_cut,
            "modules": [[one.path, one.kind] for one in trace.modules],
            "order": list(trace.order),
            "values": [
                [one.dtype, list(one.shape), one.digest, one.finite, *packed_numbers(one)]
                for one in trace.values
            ],
        }
    )


def unpack_trace(data: bytes | memoryview, *, what: str) -> Trace:
    """Return the trace that is stored in some bytes.

    Raises ArchiveError for what `pack_trace` does not write.
    """
    if len(data) > MAX_TRACE:
        raise ArchiveError(f"{what}: {len(data):,} bytes; at most {MAX_TRACE:,} are read")
    # As many values as the longest has: one of many small ones has more than other data of its length.
    top = unpack(data, what=what, max_nodes=min(len(data), most_values(MAX_TRACE)))
    if type(top) is not dict or top.keys() != {"calls", "cut", "modules", "order", "values"}:
        raise _odd(what, "no map, or other keys", "calls, cut, modules, order and values")
    _require(all(type(top[key]) is list for key in top if key != "cut"), what, "something else than a list")
    _require(type(top["cut"]) is bool, f"{what}, cut", "something else than true or false")
    for key, most in (
        ("calls", MAX_TRACED_CALLS),
        ("values", MAX_TRACED_VALUES),
        ("modules", MAX_TRACED_CALLS),
    ):
        _require(len(top[key]) <= most, f"{what}, {key}", f"{len(top[key]):,}, and at most {most:,} are read")
    modules = tuple(_module(row, f"{what}, module {n}") for n, row in enumerate(top["modules"]))
    values = tuple(_value(row, f"{what}, value {n}") for n, row in enumerate(top["values"]))
    calls = tuple(
        _call(row, n, len(modules), len(values), f"{what}, call {n}") for n, row in enumerate(top["calls"])
    )
    order = tuple(top["order"])
    _require(_is_order(order, calls), f"{what}, order", "no order in which the calls can have run")
    return Trace(modules, values, calls, order, top["cut"])


def stored_trace(reader: ArchiveReader, check: str) -> Trace:
    """Return the trace of a golden call that has one. Raises ArchiveError for what no exporter writes."""
    record = next(one for one in reader.manifest.traces if one.check == check)
    what = f"trace of check {check}"
    if record.entry not in reader or reader.entry(record.entry).kind != "check":
        raise ArchiveError(f"{what}: found {record.entry!r}; expected an entry of kind check")
    if (size := reader.entry(record.entry).size) > MAX_TRACE:
        raise ArchiveError(f"{what}: {size:,} bytes; at most {MAX_TRACE:,} are read")
    return unpack_trace(reader.read(record.entry), what=what)


_LONGEST: Final = 200
"""Characters of the name of a part, a method or a dtype."""


def _module(row: Any, what: str) -> TracedModule:
    path, kind = _row(row, 2, what)
    _require(_is_text(path, MAX_MODULE_PATH) and _is_text(kind, MAX_MODULE_PATH), what, "no path and class")
    return TracedModule(path, kind)


def _value(row: Any, what: str) -> Summary:
    dtype, shape, digest, finite, numbers, means = _row(row, 6, what)
    _require(_is_text(dtype, _LONGEST), what, "no name of a dtype")
    sizes = type(shape) is list and len(shape) <= MAX_RANK and all(_is_count(size) for size in shape)
    _require(sizes, what, "no shape")
    _require(type(digest) is bytes and len(digest) == 32, what, "no sha256")
    _require(type(numbers) is bytes and type(means) is bytes, what, "numbers that are no bytes")
    size = elements_of(dtype, tuple(shape)) if code_of(dtype) else 0
    kept = (2 + min(size, SAMPLES), 1 + (FOLDS if size > SAMPLES else 0)) if size else (0, 0)
    _require((len(numbers), len(means)) == (8 * kept[0], 8 * kept[1]), what, "other numbers than it has")
    _require(_is_count(finite) and finite <= size, what, "more finite numbers than numbers")
    return Summary(
        dtype,
        tuple(shape),
        digest,
        finite,
        struct.unpack(f"<{kept[0]}{code_of(dtype) or 'd'}", numbers),
        struct.unpack(f"<{kept[1]}d", means),
    )


def _call(row: Any, number: int, modules: int, values: int, what: str) -> TracedCall:
    module, method, parent, terms, inputs, outputs = _row(row, 6, what)
    _require(_is_count(module) and module < modules, what, "no number of a module")
    _require(_is_text(method, _LONGEST), what, "no name of a method")
    _require(parent is None or (_is_count(parent) and parent < number), what, "no call before it as parent")
    _require(_is_count(terms), what, "no number of terms")
    return TracedCall(
        module, method, parent, terms, *(tuple(_parts(parts, values, what)) for parts in (inputs, outputs))
    )


def _parts(parts: Any, values: int, what: str) -> Iterator[tuple[str, int]]:
    _require(type(parts) is list and len(parts) <= MAX_PARTS, what, f"no list of {MAX_PARTS} parts at most")
    for part in parts:
        name, value = _row(part, 2, what)
        _require(_is_text(name, _LONGEST) and _is_count(value) and value < values, what, "no part and value")
        yield name, value


MAX_PARTS: Final = 64
"""How many parts are kept of what one call takes, or gives."""


def _is_order(order: Sequence[Any], calls: Sequence[TracedCall]) -> bool:
    """Say whether each call begins and ends, in the order of their numbers, and within its parent."""
    running: set[int] = set()
    begun = 0
    for number in order:
        if type(number) is not int:
            return False
        if number == begun and begun < len(calls):
            parent = calls[number].parent
            if parent is not None and parent not in running:
                return False
            running.add(number)
            begun += 1
        elif number in running:
            running.remove(number)
        else:
            return False
    return begun == len(calls) and not running


def _row(row: Any, size: int, what: str) -> list[Any]:
    _require(type(row) is list and len(row) == size, what, "something else than its fields")
    return list(row)


def _is_text(value: Any, most: int) -> bool:
    return type(value) is str and len(value) <= most


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 2**63


def _require(holds: bool, what: str, found: str) -> None:
    if not holds:
        raise _odd(what, found, "what section 5.7 of the format says")


def _odd(what: str, found: str, expected: str) -> ArchiveError:
    return ArchiveError(f"{what}: found {found}; expected {expected}")


SAMPLES: Final = 32
"""How many elements are kept of an array; all of them where it has no more."""
FOLDS: Final = 16
"""How many means are kept of an array with more elements than are sampled."""


@dataclass(frozen=True, slots=True)
class Summary:
    """One value: its dtype and shape, a sha256 of its bytes, and numbers of it.

    `numbers` are the least and the greatest element, then samples; `means` the mean of all, then those of
    elements `FOLDS` places apart. Both are empty for what is no number. Numbers that are not finite count as
    zero in means, and not for the least and the greatest; `finite` counts the others. The parts of complex
    numbers count as elements.
    """

    dtype: str
    shape: tuple[int, ...]
    digest: bytes
    finite: int = 0
    numbers: tuple[float | int, ...] = ()
    means: tuple[float, ...] = ()

    def __str__(self) -> str:
        return f"{self.dtype} {list(self.shape)}" if self.numbers or self.shape else self.dtype


class NoSummary(Exception):
    """A value that a trace keeps nothing of."""


def code_of(dtype: str) -> str:
    """Return how `struct` spells the numbers of a dtype: "d", "q" or "Q"; "" for one that has no numbers."""
    for start, code in (("bool", "Q"), ("uint", "Q"), ("int", "q"), ("float", "d"), ("bfloat", "d")):
        if dtype.startswith(start) and dtype not in ("int", "float", "bool_"):
            return code
    return "d" if dtype in ("complex64", "complex128") else ""


def packed_numbers(summary: Summary) -> tuple[bytes, bytes]:
    """Return numbers and means, eight bytes each, little-endian."""
    code = code_of(summary.dtype)
    return (
        struct.pack(f"<{len(summary.numbers)}{code or 'd'}", *summary.numbers),
        struct.pack(f"<{len(summary.means)}d", *summary.means),
    )


def elements_of(dtype: str, shape: tuple[int, ...]) -> int:
    """Return how many elements count of an array: two for a complex number."""
    return math.prod(shape) * (2 if dtype.startswith("complex") else 1)
