"""Lists in messages: none is longer than ten items and the number of the others."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["first_of"]


def first_of(items: Sequence[str], most: int = 10) -> list[str]:
    """Return the first items of a list in a message, and how many more there are.

    >>> first_of(["a", "b", "c"], 2)
    ['a', 'b', 'and 1 more']
    """
    rest = len(items) - most
    short = [
        one if len(one) <= 400 else f"{one[:160]}... ({len(one):,} characters) ...{one[-160:]}"
        for one in items[:most]
    ]
    return [*short, *([f"and {rest:,} more"] if rest > 0 else [])]
