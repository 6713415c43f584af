"""Messages of protocol buffers changed field by field, so that what is read as a message is one."""

from __future__ import annotations

import random
from contextlib import suppress
from typing import Any

from packager._libraries.wire_format import varint

ODD = (0, 1, 2, 3, 7, 127, 128, 255, 1 << 16, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 40, (1 << 64) - 1)


def changed_bytes(data: bytearray, rng: random.Random) -> bytearray:
    """Return a message with one to three of its fields changed, dropped, doubled or exchanged."""
    try:
        tree = _read(memoryview(bytes(data)))
    except ValueError:  # it has been changed to what is none
        return data
    for _ in range(rng.choice((1, 1, 2, 3))):
        _change(tree, rng)
    return bytearray(_written(tree))


def _read(data: memoryview, depth: int = 0) -> list[Any]:
    """The fields of a message: [number, wire type, value], where a value that is a message is such a list."""
    found, at = [], 0
    while at < len(data):
        key, at = varint(data, at)
        number, wire = key >> 3, key & 7
        if number == 0 or wire not in (0, 1, 2, 5):
            raise ValueError("no message")
        if wire == 0:
            value, at = varint(data, at)
            found.append([number, wire, value])
            continue
        size, at = varint(data, at) if wire == 2 else ({1: 8, 5: 4}[wire], at)
        if size > len(data) - at:
            raise ValueError("no message")
        part: Any = bytes(data[at : at + size])
        at += size
        if wire == 2 and part and depth < 9 and len(part) < 1 << 16:
            with suppress(ValueError):
                part = _read(memoryview(part), depth + 1)
        found.append([number, wire, part])
    return found


def _written(tree: list[Any]) -> bytes:
    parts = []
    for number, wire, value in tree:
        parts.append(_number(number << 3 | wire))
        if wire == 0:
            parts.append(_number(value))
            continue
        data = _written(value) if type(value) is list else value
        parts += [_number(len(data)), data] if wire == 2 else [data]
    return b"".join(parts)


def _number(value: int) -> bytes:
    found = []
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    return bytes([*found, value])


def _change(tree: list[Any], rng: random.Random) -> None:
    level = tree
    while True:
        if not level:
            return
        place = rng.randrange(len(level))
        value = level[place][2]
        if type(value) is not list or rng.random() < 0.1:
            break
        level = value
    kind = rng.randrange(8)
    if kind == 0:
        del level[place]
    elif kind == 1:
        level.insert(place, list(level[place]))
    elif kind == 2:
        level[place][2], level[place][1] = level[rng.randrange(len(level))][2], level[place][1]
        level[place][1] = 0 if type(level[place][2]) is int else 2
    elif kind == 3:
        level[place][0] = rng.randrange(1, 27)
    elif type(value) is int:
        level[place][2] = rng.choice((*ODD, value + 1, max(0, value - 1)))
    elif type(value) is bytes and level[place][1] == 2:
        data = bytearray(value)
        if data and rng.random() < 0.6:
            at = rng.randrange(len(data))
            data[at : at + rng.choice((1, 4))] = rng.randbytes(rng.choice((1, 4)))
        else:
            data = data[: rng.randrange(len(data) + 1)] + data[: rng.randrange(len(data) + 1)]
        level[place][2] = bytes(data)
