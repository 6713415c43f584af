"""Plain data and dataclasses as JSON, piece by piece, so that a long list is never in memory as a whole.

What JSON leaves as it is and a terminal would obey is spelled out: names come out of files.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from packager._texts import HIDDEN

_HIDDEN: Final = f"[{HIDDEN}]"


def json_pieces(value: object, line: str = "\n") -> Iterator[str]:
    """Yield a value as JSON, keys in their order; bytes become their length; `line` begins a line.

    An iterator is a list whose items are spelled one by one.

    >>> "".join(json_pieces({"a": iter([1, 2]), "b": "x\\x9b"}))
    '{\\n  "a": [\\n    1,\\n    2\\n  ],\\n  "b": "x\\\\u009b"\\n}'
    """
    if isinstance(value, Iterator):
        yield from _items("[", (("", inner) for inner in value), "]", line)
    elif isinstance(value, Mapping) and any(
        isinstance(inner, Iterator | Mapping) for inner in value.values()
    ):
        yield from _items("{", ((_json(str(key)) + ": ", value[key]) for key in value), "}", line)
    else:
        yield _json(_plain(value)).replace("\n", line)


def spelled_out(match: re.Match[str]) -> str:
    """Return a matched character as an escape of JSON."""
    return json.dumps(match[0])[1:-1]


def _items(first: str, items: Iterable[tuple[str, Any]], last: str, line: str) -> Iterator[str]:
    empty = True
    for name, inner in items:
        yield f"{first if empty else ','}{line}  {name}"
        yield from json_pieces(inner, f"{line}  ")
        empty = False
    yield f"{first}{last}" if empty else f"{line}{last}"


def _json(value: Any) -> str:
    text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
    return text if text.isascii() and "\x7f" not in text else re.sub(_HIDDEN, spelled_out, text)


def _plain(value: Any) -> Any:
    if hasattr(type(value), "__dataclass_fields__"):
        import dataclasses  # most values are plain

        fields = (field for field in dataclasses.fields(value) if field.repr)
        return {field.name: _plain(getattr(value, field.name)) for field in fields}
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, tuple | list | set | frozenset):
        return [_plain(inner) for inner in value]
    if isinstance(value, bytes | memoryview):
        return len(value)
    if isinstance(value, float) and not math.isfinite(value):  # JSON has no number for it
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value
