"""Sizes for people: numbers of bytes in binary units."""

from __future__ import annotations

__all__ = ["size_text"]

_UNITS = ("KiB", "MiB", "GiB", "TiB")


def size_text(count: int) -> str:
    """Return a number of bytes as text.

    >>> size_text(999), size_text(2048), size_text(3 * 1024**3)
    ('999 B', '2.0 KiB', '3.0 GiB')
    """
    if count < 1024:
        return f"{count} B"
    steps = min((count.bit_length() - 1) // 10, len(_UNITS))
    return f"{count / 1024**steps:.1f} {_UNITS[steps - 1]}"
