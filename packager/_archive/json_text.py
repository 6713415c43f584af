"""JSON that others wrote, read once its lists, texts and values were counted.

What is built takes memory for each of these, however few bytes they have: 12 MB of nested lists took 540 MiB.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable
from operator import gt

from packager.errors import ArchiveError

from .archive_errors import damaged
from .bounds import MAX_DEPTH
from .packed import Packed

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    from typing import Any, Final


_DIGITS: Final = 4300  # of an int that is read; more take a time that grows with their square
_DEEP: Final = 3_000  # calls: where no more are allowed, Python itself ends a reader of deep values
_TEXT: Final = re.compile(rb'(?s)"(?:[^"\\]++|\\.)*+"')
_COUNTED: Final = ("maps and lists", "texts", "commas")
_NO_BRACKETS: Final = bytes({*range(256)} - {*b"{}[]"})


class OddJson(ValueError):
    """What is refused while it is read; the text says what was found."""


def shown_key(key: str) -> str:
    """Return a key as errors show it; one may be as long as the file.

    >>> shown_key("net.weight"), len(shown_key("x" * 1000))
    ("'net.weight'", 205)
    """
    return repr(key) if len(key) <= 200 else f"{key[:200]!r}..."


def as_map(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the pairs of a map. Raises OddJson for a key that stands in it twice."""
    found = dict(pairs)
    if len(found) != len(pairs):
        counts = Counter(key for key, _ in pairs)
        twice = next(key for key, count in counts.items() if count > 1)
        raise OddJson(f"the key {shown_key(twice)} twice")
    return found


def read_json(
    data: Packed,
    *,
    what: str,
    most: tuple[int, int, int],
    free_texts: int | None = None,
    rows_of: tuple[str, ...] = (),
    first: int = 0,
    made_of: Callable[[list[tuple[str, Any]]], Any] = as_map,
) -> Any:
    """Read JSON that starts at byte `first` of the file that errors call `what`.

    `most` says how many maps and lists, how many texts, and how many commas it may have; more texts than
    `free_texts` need maps and lists, five for three. `rows_of` are spellings that stand once in each such
    row, with nine quotes in all: who writes them without a row pays for as many texts as they would allow.
    `made_of` makes what stands for a map of its pairs.

    Raises ArchiveError, with the byte of the file, for anything but one value of JSON, for a key that stands
    twice in one map, and for an unpaired surrogate.

    >>> read_json(b'{"a": [1, "two"]}', what="example", most=(2, 2, 1))
    {'a': [1, 'two']}
    """
    import json  # most archives are read without

    try:
        text = str(data, "utf-8")  # a copy, which nobody writes to
    except UnicodeDecodeError as error:
        raise _other_json(f"{what}, byte {first + error.start}", "a text that is not UTF-8") from None
    found = text.count("{") + text.count("["), text.count('"') // 2, text.count(",")
    free = most[1] if free_texts is None else free_texts
    rows = min(map(text.count, rows_of)) if rows_of and found[1] > free else 0
    if any(map(gt, (*found, found[1]), (*most, free + 5 * rows))) or sys.getrecursionlimit() > _DEEP:
        raw = text.encode()
        del text  # one of both at a time
        _look_through(raw, what, most, free)  # there are fewer, where texts hold such marks
        text = str(raw, "utf-8")
        del raw
    limited = 0 < sys.get_int_max_str_digits() <= _DIGITS
    try:
        value = json.loads(text, object_pairs_hook=made_of, parse_int=None if limited else _int)
        if "\\u" in text:
            json.dumps(value, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        at = first + len(error.doc[: error.pos].encode())
        raise _other_json(f"{what}, byte {at}", error.msg) from None
    except UnicodeEncodeError:
        raise _other_json(what, "a text with an unpaired surrogate") from None
    except RecursionError:
        raise _other_json(what, f"values nested deeper than {MAX_DEPTH} levels") from None
    except OddJson as error:
        raise _other_json(what, str(error)) from None
    except ValueError:
        raise _other_json(what, f"a number of more than {_DIGITS} digits") from None
    return value


def _look_through(data: bytes, what: str, most: tuple[int, int, int], free: int) -> None:
    """Raise ArchiveError for too much outside of texts, or values nested too deep for Python."""
    maps = texts = commas = depth = at = 0
    while at < len(data):
        start = data.find(b'"', at)
        text = _TEXT.match(data, start) if start >= 0 else None  # one without an end is looked at once
        between = data[at:start] if text else data[at:]
        at = text.end() if text else len(data)
        texts, commas = texts + 1, commas + between.count(b",")
        for bracket in between.translate(None, _NO_BRACKETS):
            opens = bracket in b"{["
            maps, depth = maps + opens, depth + (1 if opens else -1)
            if depth > MAX_DEPTH:
                raise _other_json(what, f"values nested deeper than {MAX_DEPTH} levels")
        limits = most[0], min(most[1], free + 5 * maps // 3 + 1), most[2]
        for count, limit, name in zip((maps, texts, commas), limits, _COUNTED, strict=True):
            if count > limit:
                raise damaged(what, f"more than {limit} {name}", f"at most {limit}")


def _int(digits: str) -> int:
    if len(digits) > _DIGITS:
        raise ValueError
    return int(digits)


def _other_json(where: str, found: str) -> ArchiveError:
    return damaged(where, f"invalid JSON ({found})", "a JSON object with each key once")
