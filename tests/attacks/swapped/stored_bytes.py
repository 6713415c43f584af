"""Bytes that a library reads in a form of its own, almost as they were: JSON by value, others by bytes."""

from __future__ import annotations

import json
import re
from random import Random
from typing import Any

from .values import NUMBERS, TEXTS

_SPELLED = [b"-1", b"0", b"1", b"2147483647", b"99999999999", b"1e308", b"7", b"nan", b'"x"', b"[]", b"null"]


def near_bytes(rng: Random, content: bytes) -> tuple[str, bytes]:
    """Return bytes near the given ones, and what was done."""
    if not content:
        return "bytes for none", b"\0" * 8
    if content[:1] in b"{[" and rng.random() < 0.9:
        try:
            return _other_json(rng, json.loads(content))
        except ValueError:
            pass
    is_text = content[:200].isascii() and content[:200].decode().replace("\n", "").isprintable()
    if is_text and rng.random() < 0.8:
        return "a number in the text", _other_number(rng, content)
    at = rng.randrange(len(content))
    stop = at + rng.randrange(1, 9)
    wide = rng.choice([b"\xff" * 8, b"\0" * 8, b"\xff\xff\xff\x7f", (2**31).to_bytes(8, "little")])
    return rng.choice(
        [
            ("a byte", content[:at] + bytes([rng.randrange(256)]) + content[at + 1 :]),
            ("a bit", content[:at] + bytes([content[at] ^ 1 << rng.randrange(8)]) + content[at + 1 :]),
            ("a wide number", content[:at] + wide + content[at + len(wide) :]),
            ("bytes cut out", content[:at] + content[stop:]),
            ("cut short", content[:at]),
            ("twice", content * 2),
        ]
    )


def _other_number(rng: Random, content: bytes) -> bytes:
    found = list(re.finditer(rb"-?\d+(\.\d+)?", content[:200_000]))
    if not found:
        return content[::-1]
    match = rng.choice(found)
    return content[: match.start()] + rng.choice(_SPELLED) + content[match.end() :]


def _other_json(rng: Random, whole: Any) -> tuple[str, bytes]:
    """Exchange one value of a JSON text, or add or drop a key."""
    places: list[tuple[Any, Any]] = []
    waiting = [whole]
    while waiting:
        part = waiting.pop()
        keys = list(part) if isinstance(part, dict) else range(len(part))
        for key in keys:
            places.append((part, key))
            if isinstance(part[key], dict | list):
                waiting.append(part[key])
    if not places:
        return "twice", json.dumps([whole, whole]).encode()
    named = [place for place in places if isinstance(place[0], dict) and not isinstance(place[1], int)]
    part, key = rng.choice(named if named and rng.random() < 0.6 else places)
    kind = "a value of JSON"
    values = [
        *NUMBERS.values(),
        *TEXTS.values(),
        None,
        True,
        [],
        {},
        [1, "a"],
        {"a": 1},
        rng.choice(places)[0],
    ]
    if rng.random() < 0.15:
        kind = "a key of JSON less"
        del part[key]
    elif rng.random() < 0.2 and isinstance(part[key], int | float):
        part[key] = part[key] + rng.choice([1, -1, 1000, -(2**31)])
    else:
        value = rng.choice(values)
        try:
            part[key] = json.loads(json.dumps(value))
        except (ValueError, RecursionError):
            part[key] = None
    return kind, json.dumps(whole).encode("utf-8", "surrogatepass")
