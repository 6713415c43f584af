"""Every bound on a file of weights from elsewhere: what no checkpoint has, and only an attack would.

What such a file makes us build is bounded by its size: every operation of a pickle has a price in memory,
and a pickle may spend so much for its bytes. What is free, the shards of an index have together. Archives
have their own table, `packager/_archive/bounds.py`.
"""

from __future__ import annotations

from typing import Final

# Pickles: bytes of memory that any may spend, for each of its bytes, and in all; and what an entry of a dict
# or set costs. 20,000 tensors spend 70 MB, and have a pickle of 3 MB, which may spend 160.
FREE_MEMORY: Final = 64 << 20
MEMORY_PER_BYTE: Final = 32
MAX_MEMORY: Final = 1 << 30
COST_OF_PART: Final = 112

# Characters of a name, names that are not data, bytes of a number.
MAX_NAME: Final = 1000
MAX_UNKNOWN_NAMES: Final = 1000
MAX_INT_BYTES: Final = 256

# Keys of dicts and members of sets: parts of one that is a tuple, all of which are hashed. A dict is looked
# through for keys that collide each time that it was given 512 that might (FREE_KEYS), or a sixteenth of what
# it holds and no more than so many. A look takes a millionth of a second for each key, and two arrays of
# eight bytes: 60,000 numbers without an order take 0.5 s, and spend 20 MB.
MAX_TUPLE_KEY: Final = 8
MAX_UNSEEN_KEYS: Final = 1 << 11
COST_OF_LOOK: Final = 16

# What a pickle held: nesting, nesting above a state dict, and looks at a part, of which a checkpoint needs
# a few for each of its tensors. Shared parts can be reached in endlessly many ways.
MAX_DEPTH: Final = 64
MAX_CONTAINER_DEPTH: Final = 4
MAX_PARTS: Final = 2_000_000

# Deflated pickles of a zip file: bytes that all of them together may unpack to, and further ones for each
# byte of the file. torch.save deflates nothing; 20,000 tensors have 3 MB of pickle.
FREE_INFLATED: Final = 4 << 20
INFLATED_PER_BYTE: Final = 4

# An index of shards: its bytes, of which the largest that was seen has 13 MB; entries beside its map; and the
# files that it names, each of which is held open: the largest checkpoints have 191, and a process may mostly
# have 1,024 open.
MAX_SHARD_INDEX: Final = 64 << 20
MAX_SHARD_FIELDS: Final = 1000
MAX_SHARDS: Final = 900

# Folders of torch.distributed.checkpoint: what the pickle of their metadata may spend, which holds names,
# sizes and places alone (PyTorch's own spends 68 for each byte, so that 230,000 chunks are read); its bytes
# for each value and chunk, of which parts that are shared would have none; containers and empty places of
# lists that paths may make for each value, and MAX_DEPTH more; and cuts behind one another that part the
# chunks of a tensor, of which a mesh makes one for each of its axes.
DCP_MEMORY_PER_BYTE: Final = 128
MAX_DCP_MEMORY: Final = 2 << 30
DCP_BYTES_PER_PART: Final = 16
DCP_NODES_PER_VALUE: Final = 16
MAX_CUTS: Final = 64

# Files of torch.package: bytes of the list of modules that are left to the machine. The longest names have a
# hundred characters, and an environment some thousands of modules.
MAX_EXTERN_MODULES: Final = 1 << 20

# Other formats: bytes of the header of a `.npy` file, as many as NumPy reads where it does not trust one, and
# brackets in it; bytes of the directory of a zip file; bytes that deflate can make of one, so that a claim
# beyond it is a lie.
MAX_NUMPY_HEADER: Final = 10_000
MAX_NUMPY_BRACKETS: Final = 200
MAX_ZIP_DIRECTORY: Final = 32 << 20
MAX_EXPANSION: Final = 1032

# A conversion: bytes that it may write, and further ones for each byte of the storages that it reads. Keys
# that share one storage, and views that repeat elements, are each written in full; the checkpoints that
# are known write a storage three times at most.
FREE_WRITTEN: Final = 1 << 30
WRITTEN_PER_BYTE: Final = 64
