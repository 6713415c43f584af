"""The error for keys that a state dict does not have: all of them, with the names that are nearest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from packager.archive import MissingKeysError
from packager.texts import counted, did_you_mean, few_of, in_lines

_SHOWN: Final = 5
_COMPARED: Final = 4096  # names that one key is compared with: a few tenths of a second


def missing_keys(what: str, missing: Sequence[Any], keys: Sequence[str]) -> MissingKeysError:
    """Return the error for keys of `missing` that are not among `keys`; what they belong to is `what`.

    >>> print(missing_keys("state dict net/weights", ["encodr.bias"], ["encoder.bias", "encoder.weight"]))
    state dict net/weights has no 1 of the keys that were asked for; it has 2 keys:
        'encodr.bias'; did you mean encoder.bias?
    """
    lines = [
        f"{key!r}{did_you_mean(key, _candidates(key, keys))}" if isinstance(key, str) else repr(key)[:80]
        for key in missing[:_SHOWN]
    ]
    lines = few_of([*lines, *map(repr, missing[_SHOWN:])], _SHOWN)
    head = (
        f"{what} has no {len(missing):,} of the keys that were asked for; it has {counted(len(keys), 'key')}:"
    )
    return MissingKeysError(in_lines(head, in_lines(*lines, indent="    ")), tuple(missing))


def _candidates(key: str, keys: Sequence[str]) -> Sequence[str]:
    """Return names that may be meant: of many, those that share the key's first or last part."""
    if len(keys) > _COMPARED:
        first, last = f"{key.partition('.')[0]}.", f".{key.rpartition('.')[2]}"
        keys = [name for name in keys if name.endswith(last)] or [
            name for name in keys if name.startswith(first)
        ]
    return keys[:_COMPARED]
