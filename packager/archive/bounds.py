"""Every bound on an archive: how much a file may hold, or ask a reader for.

Section 13 of `docs/spec/archive-format.md` has the same names and numbers, with the section of each;
a test compares the two. A bound is checked before what it bounds is allocated, built or walked. Raising one
changes the format (section 8); lowering one refuses archives that were legal.
"""

from __future__ import annotations

from typing import Final

# Entries. A list of hostile names costs as much as its names may have bytes and parts, and as many folders as
# they lie in: a short name can lie in 31.
MAX_ENTRIES: Final = 1 << 20
MAX_FOLDERS: Final = 1 << 17
MAX_NAME_BYTES: Final = 1024
MAX_NAME_PARTS: Final = 32
CHUNK: Final = 1 << 20

# What is read as a whole: packed entries and the manifest; the line with its digest; a signature.
MAX_PACKED: Final = 1 << 30
MAX_DIGEST_LINE: Final = 1 << 10
MAX_SIGNATURE: Final = 1 << 20

# Values of msgpack. One costs 64 bytes and more: those of a file cost about 16 MiB and four times its size,
# and what is made of them as much again.
MAX_DEPTH: Final = 64
FREE_VALUES: Final = 1 << 18
BYTES_PER_VALUE: Final = 16

# Tensors. NumPy draws the same line for dimensions, the safetensors library for headers, whose dimensions of
# a tensor may be more where others wrote them. JSON of lists and maps alone would cost far more than tensors.
MAX_TENSORS: Final = 1 << 18
MAX_RANK: Final = 64
MAX_HEADER: Final = 100_000_000
MAX_HEADER_RANK: Final = 255
FREE_HEADER: Final = 1 << 20
BYTES_PER_CONTAINER: Final = 10

# Views. A copy of one takes memory for each of its elements, however few bytes the storage has.
FREE_VIEW: Final = 1 << 26
VIEW_PER_BYTE: Final = 8

# Stored objects. A record takes a hundred bytes or so in memory, and one per ten to twenty bytes of table.
MAX_RECORD_DEPTH: Final = 4
FREE_RECORDS: Final = 1 << 19
BYTES_PER_RECORD: Final = 8
MAX_EXTENT: Final = 1 << 48
MAX_NUMPY_EXTENT: Final = 1 << 31
MAX_NUMPY_RANK: Final = 32
MAX_SEED_POOL: Final = 4096

# Modules. Forty, each of which holds the next one twice, have more paths than can be counted.
MAX_MODULE_PATH: Final = 10_000
FREE_MODULE_PATHS: Final = 50_000
PATHS_PER_MODULE: Final = 16

# Characters of a requirement; Python takes long for numbers of more digits.
MAX_REQUIREMENT: Final = 1000


def most_values(nbytes: int) -> int:
    """Return how many values of msgpack a file of so many bytes may hold."""
    return FREE_VALUES + nbytes // BYTES_PER_VALUE


def most_records(nbytes: int) -> int:
    """Return how many records a table of so many bytes may have."""
    return FREE_RECORDS + nbytes // BYTES_PER_RECORD


def largest_view(nbytes: int) -> int:
    """Return how many bytes a view of so many bytes may seem to have.

    >>> largest_view(1000)
    67116864
    """
    return FREE_VIEW + VIEW_PER_BYTE * nbytes
