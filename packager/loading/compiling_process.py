"""The process that compiles a share of sources for another one; it imports little and runs none of them.

It is handed sources on standard input, and answers on standard output with what goes into the cache.
"""

from __future__ import annotations

import marshal
import sys
from collections.abc import Iterator

from packager.process import syntax_unwarned

from .bytecode import basis, packed_code

Sources = list[tuple[str, bytes]]
"""Digests, and the sources that have them."""


def main() -> None:
    """Answer the sources on standard input with their packed code by digests, as `marshal` writes it.

    Before it stands what the code depends on, since `sys.executable` may be another Python than the one that
    asks: a program that embeds Python finds one on the path, and a new one may have been installed meanwhile.
    """
    sources: Sources = marshal.loads(sys.stdin.buffer.read())
    with syntax_unwarned():
        answer = (basis(), dict(compiled_here(sources)))
    sys.stdout.buffer.write(marshal.dumps(answer))


def compiled_here(sources: Sources) -> Iterator[tuple[str, bytes]]:
    """Yield the packed code of sources by their digests, without those that do not compile."""
    for digest, source in sources:
        try:
            yield digest, packed_code(source, "<compiled ahead>")
        except (SyntaxError, ValueError, RecursionError, OverflowError, MemoryError):
            continue  # importing it says what is wrong; a parser out of stack is out of memory
