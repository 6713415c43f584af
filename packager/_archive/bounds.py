"""Every bound on an archive: how much a file may hold, or ask a reader for.

Section 13 of `docs/spec/archive-format.md` has the same names and numbers, with the section of each;
a test compares the two. A bound is checked before what it bounds is allocated, built or walked. Raising one
changes the format (section 8); lowering one refuses archives that were legal.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    from collections.abc import Sequence
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

# Tensors. NumPy draws the same line for dimensions, the safetensors library for headers. A tensor of a header
# costs 500 bytes in memory and 16 for each of its sizes, which may be two bytes of it: where tensors of four
# dimensions have one for each 25 bytes, each 8 may have one. The largest checkpoints have 60,000 tensors;
# texts of a header cost 250 bytes, and the most that were seen are a few hundred.
MAX_TENSORS: Final = 1 << 18
MAX_RANK: Final = 64
MAX_HEADER: Final = 100_000_000
FREE_SIZES: Final = 1 << 20
HEADER_BYTES_PER_SIZE: Final = 8
MAX_METADATA: Final = 1 << 16

# Strides. What libraries hold in 64 bits with a sign; PyTorch takes ints below -2**62 for symbols.
MAX_STRIDE: Final = 1 << 62

# Views. A copy of one takes memory for each of its elements, however few bytes the storage has.
FREE_VIEW: Final = 1 << 26
VIEW_PER_BYTE: Final = 8

# Stored objects. A record takes a hundred bytes or so in memory, and one per ten to twenty bytes of table.
# Tables of a million small instances weigh 8 to 12 bytes for each of their own: see `packed.weigh`.
MAX_RECORD_DEPTH: Final = 4
FREE_RECORDS: Final = 1 << 19
BYTES_PER_RECORD: Final = 8
FREE_WEIGHT: Final = 1 << 26
WEIGHT_PER_BYTE: Final = 12

# Sizes of arrays, dtypes and seeds.
MAX_EXTENT: Final = 1 << 48
MAX_NUMPY_EXTENT: Final = 1 << 31
MAX_NUMPY_RANK: Final = 32
MAX_DTYPE_DEPTH: Final = 32
MAX_DTYPE_FIELDS: Final = 1 << 16
MAX_SEED_POOL: Final = 4096

# Words of 32 bits in the entropy of a seed, and of all seeds of an object with their pools: NumPy takes a
# time that grows with the square, 12 ms for an int of 1,024 words and 50 for the largest pool. Seeds have 4
# to 624.
MAX_SEED_WORDS: Final = 1 << 10
MAX_ALL_SEED_WORDS: Final = 1 << 18

# Nodes from the root of a KDTree of SciPy to a leaf. Its code calls itself for each, with up to 300 bytes of
# stack: 3 MiB of the 8 MiB that a thread has. Halving doubles of one axis again and again takes 2,100.
MAX_TREE_DEPTH: Final = 10_000

# Threads that a stored estimator may start: those of the largest machines. 100,000 end the process.
MAX_STORED_THREADS: Final = 1024

# Keys of dicts and members of sets. Honest ones take up to 83 steps each to find a place, and none more than
# 360 (100,000 multiples of 2**k in a set, 2,000 powers of two in a dict; most take one or two), and a step a
# few nanoseconds; 512 that all collide cost 3 ms. A key is hashed anew each time, with all of its parts, of
# which 4 million take a tenth of a second: a tuple that holds another one twice has twice as many.
FREE_KEYS: Final = 1 << 9
STEPS_PER_KEY: Final = 128
MAX_KEY_DEPTH: Final = 64
FREE_KEY_PARTS: Final = 1 << 22
KEY_PARTS_PER_OPERAND: Final = 16

# Values of Python. The greatest common divisor of two ints of 1,024 bytes takes 50 microseconds, and a record
# that asks for it ten bytes. A logger stays as long as the process, and has a parent for each dot.
MAX_FRACTION_BYTES: Final = 1 << 10
MAX_LOGGER_NAME: Final = 1 << 10
MAX_LOGGERS: Final = 1000

# Steps that compiling all patterns of an object takes: sixteen a character, and one for each character of a
# range. A million take up to half a second; the letters of Unicode, range by range, are 300,000.
MAX_PATTERN_STEPS: Final = 1 << 22

# Modules. Forty, each of which holds the next one twice, have more paths than can be counted.
MAX_MODULE_PATH: Final = 10_000
FREE_MODULE_PATHS: Final = 50_000
PATHS_PER_MODULE: Final = 16

# Migrations: templates, and what steps make of a state dict. Templates in use have six holes at most, and
# keys of checkpoints some hundred characters. 500 steps over 20,000 keys of 60 characters match as many as
# may be; that takes some ten seconds, and a row that tells of a change 400 bytes. A path of attributes of a
# module has a dozen parts in the deepest models, of which each takes ten microseconds to find.
MAX_TEMPLATE: Final = 10_000
MAX_TEMPLATE_HOLES: Final = 64
MAX_MIGRATED_KEY: Final = 10_000
FREE_KEY_TEXT: Final = 1 << 24
KEY_TEXT_PER_CHARACTER: Final = 4
MAX_MATCHING: Final = 1 << 30
MAX_ASKED_PARTS: Final = 64
MAX_MIGRATED_ROWS: Final = 1 << 20

# Bytes of arrays that migrations make: constants, and each time that an array is joined, converted or moved
# before it is there. A table of embeddings has 154 MB; no chain that is known converts an array ten times.
FREE_MADE: Final = 1 << 28
MADE_PER_BYTE: Final = 16
MAX_JOINS: Final = 64

# Characters of a requirement, of an extern or of a wheel; Python takes long for numbers of more digits.
MAX_REQUIREMENT: Final = 1000

# Characters of what a distribution says of its licence; more is a text, of which its name is recorded.
MAX_LICENSE_TEXT: Final = 200

# Wheels in an archive. torch 2.13 has 14,622 files, whose list takes 1.5 MB; the longest METADATA of 140
# distributions has 0.14 MB. A list takes some ten times its bytes in memory.
MAX_WHEEL_DIRECTORY: Final = 1 << 23
MAX_WHEEL_METADATA: Final = 1 << 22

# All wheels of an archive together, as many as 140 distributions for twelve targets are: 1,700. The METADATA
# of 81 distributions has 0.7 MB, and 817 requirements, of one 106. Markers are looked at once for each extra.
MAX_WHEELS: Final = 1 << 13
FREE_WHEEL_TEXT: Final = 1 << 24
WHEEL_TEXT_PER_BYTE: Final = 2
MAX_WHEEL_REQUIREMENTS: Final = 1 << 17
MAX_WHEEL_MARKERS: Final = 1 << 18

# Golden calls. Each loads its object anew, and calls it; archives have one for each entry point.
MAX_CHECKS: Final = 1000

# Characters of the inputs, or of the answer, of a golden call that are no arrays. A list of small lists takes
# 25 bytes a character.
MAX_CHECK_TEXT: Final = 1 << 22

# Traces of golden calls: bytes of one, calls of submodules in it, and values that these take and give. A
# model of 48 layers calls some 900 submodules once, with 1,500 values of 400 to 500 bytes.
MAX_TRACE: Final = 1 << 24
MAX_TRACED_CALLS: Final = 1 << 14
MAX_TRACED_VALUES: Final = 1 << 15

# What an entry point takes and gives: characters and nesting of a type, and values of an entry point. A model
# of transformers takes some twenty, and gives one for each layer.
MAX_TYPE_TEXT: Final = 1 << 16
MAX_TYPE_DEPTH: Final = 16
MAX_SCHEMA_VALUES: Final = 4096


def can_be_strides(strides: Sequence[int], rank: int, bits: int) -> bool:
    """Return whether a tensor of so many dimensions, with elements of so many bits, can have these strides.

    >>> can_be_strides([1 << 60, -3], 2, 8), can_be_strides([1 << 60], 1, 32)
    (True, False)
    """
    return len(strides) == rank and all(abs(stride) * bits < 8 * MAX_STRIDE for stride in strides)


def most_values(nbytes: int) -> int:
    """Return how many values of msgpack a file of so many bytes may hold."""
    return FREE_VALUES + nbytes // BYTES_PER_VALUE


def most_sizes(nbytes: int) -> int:
    """Return how many sizes the shapes of a safetensors header of so many bytes may have together."""
    return FREE_SIZES + nbytes // HEADER_BYTES_PER_SIZE


def most_records(nbytes: int) -> int:
    """Return how many records a table of so many bytes may have."""
    return FREE_RECORDS + nbytes // BYTES_PER_RECORD


def most_weight(nbytes: int) -> int:
    """Return what a table of records of so many bytes may weigh."""
    return FREE_WEIGHT + WEIGHT_PER_BYTE * nbytes


def most_key_text(characters: int) -> int:
    """Return how many characters the keys may have that migrations make of keys with so many."""
    return FREE_KEY_TEXT + KEY_TEXT_PER_CHARACTER * characters


def most_made(nbytes: int) -> int:
    """Return how many bytes of arrays migrations may make of a state dict of so many bytes."""
    return FREE_MADE + MADE_PER_BYTE * nbytes


def most_wheel_text(nbytes: int) -> int:
    """Return how many bytes of lists and texts are read of wheels that have so many bytes together."""
    return FREE_WHEEL_TEXT + WHEEL_TEXT_PER_BYTE * nbytes


def largest_view(nbytes: int) -> int:
    """Return how many bytes a view of so many bytes may seem to have.

    >>> largest_view(1000)
    67116864
    """
    return FREE_VIEW + VIEW_PER_BYTE * nbytes
