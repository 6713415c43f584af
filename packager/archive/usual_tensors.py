"""The usual tensors of a mapped member, many at a time: each in C order, alone in a storage or its first one.

What the index says of them is checked for all at once, and digests are checked in few large batches. Who asks
for one tensor after another has those of the following ones checked, too, never more bytes than were used
until then: a loop that stops early has paid at most twice for what it took.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Set
from itertools import islice

from .bounds import CHUNK

TYPE_CHECKING = False  # as in packager.lazy
if TYPE_CHECKING:
    from typing import Any, Final

    from .reader import ArchiveReader

    Row = tuple[tuple[str, tuple[int, ...]], int, int] | None
    UsualPlace = tuple[Any, int, int, int]

_AHEAD: Final = 64  # chunks that are checked at most before they are used


class UsualTensors:
    """Where the usual tensors of a member lie in a map, by key.

    `kept(dtype, shape)` says what is to be kept of a layout, or None where its tensors are not usual after
    all; those of `without` are left out. What is left out may be damaged: it is read one by one.
    """

    memory: memoryview
    """The bytes of the member, of which none are checked before `use`."""

    places: dict[str, UsualPlace]
    """By key: what is kept of a layout, where a tensor starts and ends in `memory`, and its number here."""

    def __init__(
        self,
        reader: ArchiveReader,
        member: str,
        memory: memoryview,
        rows: Iterable[tuple[str, Row]],
        kept: Callable[[str, tuple[int, ...]], Any],
        without: Set[str],
    ) -> None:
        self.memory = memory
        places: dict[str, UsualPlace] = {}
        self.places = places
        self._reader = reader
        self._member = member
        self._is_right = reader.right_in(member)
        self._last = -1
        self._paid = 0
        known: dict[Any, Any] = {}  # tensors share few layouts
        for key, row in rows:
            if row is None or key in without:
                continue
            layout, start, stop = row
            if layout not in known:
                known[layout] = kept(*layout)
            if known[layout] is not None:
                places[key] = known[layout], start, stop, len(places)
        self._ranges = [(start, stop) for _, start, stop, _ in places.values()]

    def use(self, start: int, stop: int, number: int) -> None:
        """Check the bytes of a tensor, unless that has been done. Raises what `ArchiveReader.view` raises."""
        if not self._is_right(start, stop):
            self._check(start, stop, number)
        self._last = number

    def _check(self, start: int, stop: int, number: int) -> None:
        """Check a tensor, and in a loop those that follow, no more chunks than it has checked until now."""
        if number != self._last + 1:
            self._paid = 0
        chunks = -(-stop // CHUNK) - start // CHUNK
        if self._paid:
            following = islice(self._ranges, number, None)  # this one is checked with them
            most = chunks + min(self._paid, _AHEAD)
            self._paid += self._reader.check_ahead(self._member, following, most)
        else:
            self._paid = chunks
        self._reader.view(self._member, start, stop)  # says what is wrong with this one

    def use_many(self, places: Iterable[UsualPlace]) -> None:
        """Check the bytes of many tensors as `use` does, neighbours and others in one pass."""
        self._reader.check_ranges(self._member, ((start, stop) for _, start, stop, _ in places))
