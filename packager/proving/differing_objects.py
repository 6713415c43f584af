"""Where two tables of one object part, said for people: which attribute, which entry, what it was and is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from packager.objects import Kind, is_reference, paths_to
from packager.texts import listed

_MOST_TEXT: Final = 80
_MOST_NAMES: Final = 8
_BY_CODE: Final = (
    "code of its class sets or takes away attributes while it is loaded (__init__, __new__, __setstate__, "
    "set_extra_state, a hook of the state dict): let it leave the object as it was saved, or store the call "
    "that makes it, save_object(..., factory=, config=)"
)


def first_difference(stored: Any, again: Any, root: str) -> tuple[str, str] | None:
    """Say where two unpacked tables part, and what helps; None where they are equal.

    `root` is what the object is called.

    >>> first_difference([[], [[7, "width", 3]], -1], [[], [[7, "width", 4]], -1], "net")
    ("net: 'width' was 3 and is 4", '')
    >>> first_difference([[], [[6, 1]], -1], [[], [[6, 1]], -1], "net") is None
    True
    """
    (_, before, top), (_, now, _) = stored, again
    for number, (first, second) in enumerate(zip(before, now, strict=False)):
        if first != second:
            if first[0] == second[0] == Kind.SHAPE and first[1:3] == second[1:3]:
                return _attributes(before, top, number, second, root), _BY_CODE
            where = paths_to(before, top, {number}, root)[number]
            mappings = first[0] == second[0] and first[0] in (Kind.DICT, Kind.PACKED_DICT)
            if mappings and (keys := _new_or_lost(first[1::2], second[1::2])):
                return f"{where} {keys}", _BY_CODE
            return f"{where}: {_parted(first, second)}", ""
    if len(before) != len(now):
        return f"{len(before)} records were stored, and {len(now)} came back", ""
    return None if stored == again else ("its parts hang together otherwise", "")


def _attributes(records: Sequence[Any], top: Any, number: int, second: Any, root: str) -> str:
    """Say which attributes an object has got or lost, by the first object of its shape."""
    kept, now = records[number][3:], second[3:]
    holders = [at for at, one in enumerate(records) if one[0] == Kind.OBJ and one[1] == -1 - number]
    where = paths_to(records, top, {holders[0]}, root)[holders[0]] if holders else f"record {number}"
    return f"{where} {_new_or_lost(kept, now) or 'has its attributes in another order'}"


def _new_or_lost(kept: Sequence[Any], now: Sequence[Any]) -> str:
    """Say which keys came in addition, and which are missing; "" where they are the same."""
    new, lost = ([one for one in a if one not in b] for a, b in ((now, kept), (kept, now)))
    texts = [f"has {_names(new)}, which it had not when it was stored"] if new else []
    texts += [f"lacks {_names(lost)}, which it had when it was stored"] if lost else []
    return " and ".join(texts)


def _names(names: Sequence[Any]) -> str:
    return listed([*map(repr, names)], _MOST_NAMES)


def _parted(first: Sequence[Any], second: Sequence[Any]) -> str:
    """Say in what two records differ: the first entry, where both are of one kind and length."""
    if first[0] == second[0] and len(first) == len(second):
        at = next(at for at, (one, other) in enumerate(zip(first, second, strict=True)) if one != other)
        if not is_reference(first[at]) and not is_reference(second[at]):
            keyed = first[0] in (Kind.DICT, Kind.PACKED_DICT) and at % 2 == 0
            key = f"{first[at - 1]!r} " if keyed and not is_reference(first[at - 1]) else ""
            return f"{key}was {_short(first[at])} and is {_short(second[at])}"
    return f"was {_short(first[1:])} and is {_short(second[1:])}"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _MOST_TEXT else f"{text[: _MOST_TEXT - 3]}..."
