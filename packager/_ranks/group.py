"""Several processes that make one archive: what they tell each other, and how a failure reaches all of them.

Every process, a *rank*, calls the same code. Where they have to agree each gives a value to an `exchange` and
gets those of all; one that fails says so in the exchange that the others are at, or come to next.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from packager._archive import pack, unpack
from packager._texts import few_of, in_lines
from packager.errors import ArgumentError, PackagingError

_MOST_TEXT = 2000


class Group(Protocol):
    """Processes that work together, as a `kellet.distributed.ProcessGroup` is one.

    What its methods raise where a process is gone, or does not come in time, goes through to the caller.

    >>> class Alone:
    ...     def rank(self): return 0
    ...     def size(self): return 1
    ...     def all_gather_bytes(self, data): return [data]
    >>> Ranks(Alone()).exchange("counting", 1)
    [1]
    """

    def rank(self) -> int:
        """Return the number of this process, from 0."""

    def size(self) -> int:
        """Return how many processes there are."""

    def all_gather_bytes(self, data: bytes) -> list[bytes]:
        """Return what every process has given, in the order of ranks; lengths may differ."""


class RanksDisagreeError(PackagingError):
    """The parts of several ranks do not fit together. All ranks raise it.

    `problems` has a line for each difference.
    """

    def __init__(self, what: str, problems: Sequence[str]) -> None:
        shown = in_lines(*few_of(problems), indent="  ")
        super().__init__(in_lines(f"{what}: the ranks do not agree; nothing is written:", shown))
        self.problems = tuple(problems)


class OtherRankError(PackagingError):
    """Another rank could not go on; `rank` is its number, and its error is in the message."""

    def __init__(self, what: str, rank: int, text: str) -> None:
        super().__init__(
            f"{what}: rank {rank} has failed, and this one cannot go on without it; mend what it says, and "
            f"export again on all ranks: {text}"
        )
        self.rank = rank


class Ranks:
    """This process among those of a group; without a group it is alone, and exchanges nothing.

    Raises ArgumentError for what is no group.
    """

    def __init__(self, group: Group | None) -> None:
        for name in ("rank", "size", "all_gather_bytes") if group is not None else ():
            if not callable(getattr(group, name, None)):
                raise ArgumentError(
                    f"group={group!r}: expected an object with rank(), size() and all_gather_bytes(), as "
                    f"kellet.distributed.group.WORLD is after init_process_group(); found no {name}()"
                )
        self._group = group
        self.rank = 0 if group is None else group.rank()
        self.size = 1 if group is None else group.size()
        self._is_broken = False
        self._told: BaseException | None = None

    @property
    def is_of_group(self) -> bool:
        """Whether there is a group, of one process or more."""
        return self._group is not None

    @property
    def is_first(self) -> bool:
        """Whether this is the rank that writes what all have in common, and puts the archive in place."""
        return self.rank == 0

    def exchange(self, step: str, value: object) -> list[Any]:
        """Return the values of all ranks, plain data, in their order. `step` says what they are doing.

        Raises OtherRankError where a rank has failed, RanksDisagreeError where they do different things: each
        on all ranks that have not failed themselves.
        """
        if self.size == 1:
            return [value]
        rows = self._gathered([step, "", value])
        for rank, (_, failure, _) in enumerate(rows):
            if failure:
                raise self._everywhere(OtherRankError(step, rank, failure))
        if len({found for found, _, _ in rows}) > 1:
            lines = [f"rank {rank}: {found}" for rank, (found, _, _) in enumerate(rows)]
            raise self.disagreement(
                "exporting", ["each does another thing, but all have to do the same", *lines]
            )
        return [found for _, _, found in rows]

    def from_first(self, step: str, value: object) -> Any:
        """Return the value of rank 0; those of the others are not looked at."""
        return self.exchange(step, value if self.is_first else None)[0]

    def disagreement(self, what: str, problems: Sequence[str]) -> RanksDisagreeError:
        """Return the error for what every rank has found in the values of all: it need not be told of."""
        error = RanksDisagreeError(what, problems)
        self._everywhere(error)
        return error

    @contextmanager
    def telling(self) -> Iterator[None]:
        """Let the others know, at their next exchange, of an error in the block that they may not have."""
        try:
            yield
        except Exception as error:
            self.tell(error)
            raise

    def tell(self, error: BaseException) -> None:
        """Do so for an error; nothing where all ranks have it, were told of it, or the group is broken."""
        if self.size == 1 or self._is_broken or error is self._told or not isinstance(error, Exception):
            return
        self._everywhere(error)
        text = f"{type(error).__name__}: {error}"[:_MOST_TEXT]
        try:
            self._gathered(["", text.encode("utf-8", "replace").decode(), None])
        except Exception:
            self._is_broken = True  # what was told of counts more than that nobody heard it

    def _gathered(self, value: list[Any]) -> list[list[Any]]:
        assert self._group is not None
        data = pack(value)
        try:
            found = self._group.all_gather_bytes(data)
        except BaseException:
            self._is_broken = True
            raise
        return [unpack(one, what="what a rank has said", max_nodes=len(one)) for one in found]

    def _everywhere(self, error: Exception) -> Exception:
        self._told = error
        return error
