"""Every bound on a file of weights from elsewhere: what no checkpoint has, and only an attack would.

What such a file makes us build is bounded by its size: every operation of a pickle has a price in memory,
and a pickle may spend so much for its bytes. Archives have their own table, `packager/archive/bounds.py`.
"""

from __future__ import annotations

from typing import Final

# Pickles: bytes of memory that any may spend, for each of its bytes, and in all.
FREE_MEMORY: Final = 64 << 20
MEMORY_PER_BYTE: Final = 32
MAX_MEMORY: Final = 1 << 30

# Characters of a name, names that are not data, bytes of a number.
MAX_NAME: Final = 1000
MAX_UNKNOWN_NAMES: Final = 1000
MAX_INT_BYTES: Final = 256

# Keys of dicts. Large numbers wrap around when they are hashed, and the hash of a tuple can be computed
# backwards.
MAX_KEY_BITS: Final = 60
MAX_TUPLE_KEY: Final = 8
MAX_TUPLE_KEYS: Final = 10_000

# What a pickle held: nesting, nesting above a state dict, and looks at a part, of which a checkpoint needs
# a few for each of its tensors. Shared parts can be reached in endlessly many ways.
MAX_DEPTH: Final = 64
MAX_CONTAINER_DEPTH: Final = 4
MAX_PARTS: Final = 2_000_000

# Other formats: bytes of an index of shards; bytes and brackets of the header of a `.npy` file; bytes of the
# directory of a zip file; bytes that deflate can make of one, so that a claim beyond it is a lie.
MAX_SHARD_INDEX: Final = 64 << 20
MAX_NUMPY_HEADER: Final = 1 << 16
MAX_NUMPY_BRACKETS: Final = 200
MAX_ZIP_DIRECTORY: Final = 32 << 20
MAX_EXPANSION: Final = 1032
