"""What a trace keeps of one value: a digest of all of it, and numbers enough to tell how far another is off.

Section 5.7 of the format. Two values with one digest are equal. Where digests differ, the rest decides
whether that is rounding: the least and the greatest element, elements at fixed positions, and the means of
elements that are a fixed number of places apart, in which one changed element among thousands shows.
"""

from __future__ import annotations

import math
import struct
from typing import Final

from packager.quick_dataclasses import dataclass

SAMPLES: Final = 32
"""How many elements are kept of an array; all of them where it has no more."""
FOLDS: Final = 16
"""How many means are kept of an array with more elements than are sampled."""


@dataclass(frozen=True, slots=True)
class Summary:
    """One value: its dtype and shape, a sha256 of its bytes, and numbers of it.

    `numbers` are the least and the greatest element, then samples; `means` the mean of all, then those of
    elements `FOLDS` places apart. Both are empty for what is no number. Numbers that are not finite count as
    zero in means, and not for the least and the greatest; `finite` counts the others. The parts of complex
    numbers count as elements.
    """

    dtype: str
    shape: tuple[int, ...]
    digest: bytes
    finite: int = 0
    numbers: tuple[float | int, ...] = ()
    means: tuple[float, ...] = ()

    def __str__(self) -> str:
        return f"{self.dtype} {list(self.shape)}" if self.numbers or self.shape else self.dtype


class NoSummary(Exception):
    """A value that a trace keeps nothing of."""


def code_of(dtype: str) -> str:
    """Return how `struct` spells the numbers of a dtype: "d", "q" or "Q"; "" for one that has no numbers."""
    for start, code in (("bool", "Q"), ("uint", "Q"), ("int", "q"), ("float", "d"), ("bfloat", "d")):
        if dtype.startswith(start) and dtype not in ("int", "float", "bool_"):
            return code
    return "d" if dtype in ("complex64", "complex128") else ""


def packed_numbers(summary: Summary) -> tuple[bytes, bytes]:
    """Return numbers and means, eight bytes each, little-endian."""
    code = code_of(summary.dtype)
    return (
        struct.pack(f"<{len(summary.numbers)}{code or 'd'}", *summary.numbers),
        struct.pack(f"<{len(summary.means)}d", *summary.means),
    )


def elements_of(dtype: str, shape: tuple[int, ...]) -> int:
    """Return how many elements count of an array: two for a complex number."""
    return math.prod(shape) * (2 if dtype.startswith("complex") else 1)
