"""Free memory that is really there: rows of saving ask for it before they start their clocks.

A virtual machine may give free blocks of 2 MiB back to its host (free page reporting, two seconds after they
became free), and asks for each of their pages when it uses them again: two seconds a gigabyte instead of a
tenth. Who writes a file in large pieces is given such blocks, who writes in small ones what lies between
them, so that a row would say when the memory became free, and for whom.
"""

from __future__ import annotations

import mmap


def have_free(size: int) -> None:
    """Take memory of `size` bytes and a quarter in blocks of 2 MiB, and let it go again."""
    block, huge = 2 << 20, getattr(mmap, "MADV_HUGEPAGE", None)  # Linux
    if huge is None or size < block:
        return
    with mmap.mmap(-1, size + size // 4, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
        memory.madvise(huge)
        for at in range(0, len(memory), block):
            memory[at] = 1
