"""From a record back to its attribute path: read off the table when there is something to say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from .records import Kind, Record


def paths_to(
    records: Sequence[Record], root: Any, wanted: set[int], start: str = "obj", limit: int = 200_000
) -> dict[int, str]:
    """The shortest attribute path from the root to each wanted record.

    A record that the root does not reach is called by its number. At most `limit` records are
    looked at, breadth first.
    """
    found: dict[int, str] = {}
    fills = fills_by_target(records)
    queue: list[tuple[int, str]] = [(-1 - root, start)] if _is_reference(root) else []
    seen = {record for record, _ in queue}
    for index, path in queue:
        if index in wanted:
            found[index] = path
        if len(found) == len(wanted) or len(queue) > limit:
            break
        for child, step in _children(records, index, fills):
            if child not in seen:
                seen.add(child)
                queue.append((child, _short(path + step)))
    return {index: found.get(index, f"record {index}") for index in wanted}


def _children(
    records: Sequence[Record], index: int, fills: dict[int, list[int]]
) -> Iterator[tuple[int, str]]:
    for record in [records[index], *(records[fill] for fill in fills.get(index, ()))]:
        for operand, step in _operands(records, record):
            if _is_reference(operand):
                yield -1 - operand, step


def _operands(records: Sequence[Record], record: Record) -> Iterator[tuple[Any, str]]:
    kind, *operands = record
    if kind in (Kind.DICT, Kind.UPDATE):
        pairs = operands[kind == Kind.UPDATE :]
        for key, value in zip(pairs[::2], pairs[1::2], strict=False):
            yield key, "<key>"
            yield value, f"[{key!r}]" if not _is_reference(key) else "[<key>]"
    elif kind == Kind.OBJ:
        shape = records[-1 - operands[0]]
        yield shape[1], ""
        for name, value in zip(shape[3:], operands[1:], strict=False):
            yield value, f".{name}"
    elif kind == Kind.FILL:
        for name, value in zip(operands[1::2], operands[2::2], strict=False):
            yield value, f".{name}"
    elif kind in (Kind.LIST, Kind.TUPLE):
        yield from ((operand, f"[{at}]") for at, operand in enumerate(operands))
    elif kind not in _WITHOUT_OPERANDS:
        yield from ((operand, "") for operand in operands if _is_reference(operand))


_WITHOUT_OPERANDS = frozenset(
    {
        Kind.GLOBAL,
        Kind.INT,
        Kind.STR,
        Kind.BYTES,
        Kind.TENSOR,
        Kind.PACKED_TUPLE,
        Kind.PACKED_LIST,
        Kind.PACKED_DICT,
    }
)
FILLS = frozenset({Kind.FILL, Kind.EXTEND, Kind.UPDATE, Kind.ADD, Kind.SETCELL, Kind.STATE, Kind.FINISH})


def fills_by_target(records: Sequence[Record]) -> dict[int, list[int]]:
    """The fills of a table by the record that they fill."""
    fills: dict[int, list[int]] = {}
    for index, record in enumerate(records):
        if record[0] in FILLS:
            fills.setdefault(-1 - record[1], []).append(index)
    return fills


def _short(path: str) -> str:
    """Without the tables of modules, and without the middle of a path that nobody would read."""
    for table in ("._modules['", "._parameters['", "._buffers['"):
        if table in path:
            head, tail = path.rsplit(table, 1)
            path = f"{head}.{tail.removesuffix(chr(39) + ']')}"
    return path if len(path) <= 240 else f"{path[:120]} ... {path[-100:]}"


def _is_reference(operand: Any) -> bool:
    return type(operand) is int and operand < 0
