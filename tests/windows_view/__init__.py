"""How a Windows machine looks to kellet and packager, on a machine that is none.

Only what *their* modules see is changed: `os`, `mmap`, `signal` and `subprocess` without what Windows
lacks, no `fcntl`, `pwd`, `grp` or `resource`, files that cannot be renamed or removed while they are open,
and paths that are the same in capitals. The standard library keeps the real ones, which it needs.

`make windows-view` runs tests under it. It is put on by a line in the environment's site-packages that looks
at `KELLET_VIEW`, so that every process the tests start has it, too: those of the proof among them.
"""

from __future__ import annotations

from .view import put_on

__all__ = ["put_on"]
