"""Arguments of public calls, checked before anything is done: one word for what was found and expected."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .errors import ArgumentError

__all__ = ["check_choice", "check_file", "check_kind", "check_names"]


def check_kind(name: str, value: object, kinds: type | tuple[type, ...], expected: str) -> None:
    """Raise ArgumentError unless the argument `name` is of one of `kinds`, which `expected` describes.

    >>> check_kind("text", b"x", str, "a str")
    Traceback (most recent call last):
    packager.errors.ArgumentError: text=b'x': expected a str, found bytes
    """
    if not isinstance(value, kinds):
        raise ArgumentError(f"{name}={_shown(value)}: expected {expected}, found {type(value).__name__}")


def check_choice(name: str, value: object, choices: Iterable[str]) -> None:
    """Raise ArgumentError unless the argument `name` is one of `choices`."""
    if value not in (known := tuple(choices)):
        raise ArgumentError(f"{name}={_shown(value)}: expected one of {', '.join(map(repr, known))}")


def check_names(name: str, mapping: object) -> None:
    """Raise ArgumentError unless the argument `name` is a mapping whose keys are strings."""
    check_kind(name, mapping, Mapping, "a mapping")
    assert isinstance(mapping, Mapping)
    odd = [key for key in mapping if not isinstance(key, str)]
    if odd:
        raise ArgumentError(f"{name}: expected names as keys, found {', '.join(map(_shown, odd[:5]))}")


def check_file(name: str, file: Any, *, method: str) -> None:
    """Raise ArgumentError unless the argument `name` is a path, or a binary file object with `method`."""
    import io
    import os

    if isinstance(file, str | os.PathLike):
        return
    if isinstance(file, io.TextIOBase):
        raise ArgumentError(f"{name}: the file is open for text; open it in binary mode")
    if not callable(getattr(file, method, None)):
        raise ArgumentError(
            f"{name}={_shown(file)}: expected a path or a binary file object, found {type(file).__name__}"
        )


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
