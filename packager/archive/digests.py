"""Digests of chunks: CRC-32 and sha256 over pieces of one MiB, and what they say about a whole entry.

An entry is cut into chunks of `CHUNK` bytes, the last one shorter. Each chunk has its own digests, so
that chunks can be digested by several threads and a part of an entry can be checked alone. The
CRC-32 of the whole, which ZIP asks for, follows from those of the chunks without a second pass.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Final

from .bounds import CHUNK

try:
    from isal.isal_zlib import crc32 as _crc32
except ImportError:
    from zlib import crc32 as _crc32


crc32: Final[Callable[..., int]] = _crc32
"""CRC-32 as `zlib.crc32` computes it, several times as fast where isal is installed."""

_POLYNOMIAL: Final = 0xEDB88320
_ONE: Final = 1 << 31  # the polynomial 1, bits reflected as CRC-32 has them


def chunk_crc(crcs: bytes, chunk: int) -> int:
    """The CRC-32 of one chunk."""
    return int.from_bytes(crcs[4 * chunk : 4 * chunk + 4], "little")


def crcs_of(view: memoryview) -> bytes:
    """The CRC-32 of every chunk of `view` (a flat view of bytes), four bytes each.

    >>> crcs_of(memoryview(b"")), crcs_of(memoryview(b"kellet")).hex()
    (b'', '3ff6fcfd')
    """
    return b"".join(crc32(piece).to_bytes(4, "little") for piece in _chunks(view))


def sha256s_of(view: memoryview) -> bytes:
    """The sha256 of every chunk of `view`, 32 bytes each."""
    return b"".join(hashlib.sha256(piece).digest() for piece in _chunks(view))


def entry_digest(sha256s: bytes, size: int) -> str | None:
    """The sha256 of an entry, in hexadecimal, from those of its chunks; None where there are none.

    An entry of at most one chunk has the sha256 of its bytes; a larger one has the sha256 of its
    chunks' digests one after another.

    >>> entry_digest(b"", 0) == hashlib.sha256(b"").hexdigest()
    True
    """
    if size == 0:
        return hashlib.sha256(b"").hexdigest()
    if not sha256s:
        return None
    return sha256s.hex() if size <= CHUNK else hashlib.sha256(sha256s).hexdigest()


def combined_crc(crcs: bytes, size: int) -> int:
    """The CRC-32 of a whole entry of `size` bytes, from those of its chunks.

    >>> data = bytes(range(256)) * 10_000
    >>> combined_crc(crcs_of(memoryview(data)), len(data)) == crc32(data)
    True
    """
    chunks = memoryview(crcs).cast("B")
    if size <= CHUNK:
        return int.from_bytes(chunks[:4], "little")
    low, second, third, high = _chunk_tables()
    total = 0
    for start in range(0, len(chunks) - 4, 4):
        total = (
            low[total & 255] ^ second[total >> 8 & 255] ^ third[total >> 16 & 255] ^ high[total >> 24]
        ) ^ int.from_bytes(chunks[start : start + 4], "little")
    # `total` covers all chunks but the last one, whose length is its own.
    last = size - (len(chunks) // 4 - 1) * CHUNK
    return _times(_power_of_x(8 * last), total) ^ int.from_bytes(chunks[-4:], "little")


def _chunks(view: memoryview) -> Iterator[memoryview]:
    return (view[start : start + CHUNK] for start in range(0, len(view), CHUNK))


@lru_cache(maxsize=1)
def _chunk_tables() -> tuple[tuple[int, ...], ...]:
    """For each byte of a CRC, what it becomes when one chunk of zeros follows: four tables of 256."""
    shift = _power_of_x(8 * CHUNK)
    return tuple(tuple(_times(shift, byte << place) for byte in range(256)) for place in (0, 8, 16, 24))


def _power_of_x(exponent: int) -> int:
    """x to a power, modulo the polynomial of CRC-32."""
    power, square = _ONE, _ONE >> 1
    while exponent:
        if exponent & 1:
            power = _times(power, square)
        square = _times(square, square)
        exponent >>= 1
    return power


def _times(a: int, b: int) -> int:
    """The product of two polynomials modulo that of CRC-32, bits reflected."""
    product = 0
    for place in range(31, -1, -1):
        if a >> place & 1:
            product ^= b
        b = (b >> 1) ^ (_POLYNOMIAL if b & 1 else 0)
    return product
