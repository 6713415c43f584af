"""The group of all processes: how it begins and ends, and which one `group=None` stands for."""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from datetime import timedelta
from types import TracebackType
from typing import Any

from ..errors import DistributedError
from .mpi import MPITransport
from .process_group import ProcessGroup
from .transport import AloneTransport, Transport

DEFAULT_TIMEOUT = timedelta(minutes=30)
LAST_WORDS = 5.0
"""Seconds that a rank which has failed waits for the others to tell of it, before it ends all of them."""

FORWARDING = 0.3
"""Seconds that mpiexec gets to pass on what ranks have written: it drops the rest when it ends them."""

_STARTED_BY_MPIEXEC = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "MPI_LOCALNRANKS")


class GroupMember:
    """`NON_GROUP_MEMBER` is what `new_group` returns on a rank that is not in the new group.

    Source: torch.distributed.GroupMember.

    >>> kellet.distributed.get_rank(kellet.distributed.GroupMember.NON_GROUP_MEMBER)
    -1
    """

    NON_GROUP_MEMBER = object()


class _World:
    """The group of all processes and those made from it."""

    group: ProcessGroup | None = None
    parts: tuple[ProcessGroup, ...] = ()
    transport: Transport | None = None


_world = _World()


class _WithWorld(type):
    @property
    def WORLD(cls) -> ProcessGroup | None:
        """The group of all processes; None before it is made."""
        return _world.group


class group(metaclass=_WithWorld):
    """`group.WORLD` is the group of all processes, None before `init_process_group`.

    Source: torch.distributed.group.

    >>> kellet.distributed.group.WORLD is None
    True
    """


def is_available() -> bool:
    """Return True: a single process is a group, too.

    >>> kellet.distributed.is_available()
    True
    """
    return True


def is_mpi_available() -> bool:
    """Say whether mpi4py is installed, without importing it.

    >>> isinstance(kellet.distributed.is_mpi_available(), bool)
    True
    """
    from importlib.util import find_spec

    return find_spec("mpi4py") is not None


def is_initialized() -> bool:
    """Say whether the group of all processes has been made.

    >>> kellet.distributed.is_initialized()
    False
    """
    return _world.group is not None


def init_process_group(
    backend: str | None = None,
    *,
    timeout: timedelta = DEFAULT_TIMEOUT,
    transport: Transport | None = None,
) -> None:
    """Make the group of all processes that mpiexec started; without mpiexec, of this process alone.

    So one script runs both ways: `mpiexec -n 4 python train.py` and `python train.py`, the latter without
    MPI. `backend="mpi"` asks for MPI in any case. `timeout` is how long an operation waits for the other
    ranks. A `transport` of your own takes the place of both.

    From here on, an error that ends the script on one rank is reported to the others and ends them, too.

    Raises DistributedError if the group exists already, MPIMissingError where mpi4py is wanted and
    cannot be imported, ValueError for another backend.

    Source: torch.distributed.init_process_group.

    >>> import kellet.distributed as dist
    >>> dist.init_process_group()
    >>> dist.get_rank(), dist.get_world_size()
    (0, 1)
    >>> dist.destroy_process_group()
    """
    if backend not in (None, "mpi"):
        raise ValueError(
            f"init_process_group: expected the backend 'mpi', or None to follow how the script was started; "
            f"found {backend!r}"
        )
    if _world.group is not None:
        raise DistributedError(
            "trying to initialize the default process group twice; call destroy_process_group() first"
        )
    if transport is None:
        transport = _transport(backend, timeout.total_seconds())
    _world.transport = transport
    _world.group = ProcessGroup(transport, name="the group of all processes")
    if isinstance(transport, MPITransport) and transport.size > 1:
        _LastWords.install(transport)


def destroy_process_group(group: ProcessGroup | None = None) -> None:
    """End a group; without an argument that of all processes, and with it every other one.

    Every rank has to call it. A script that ends does so by itself.

    Raises RankMismatchError on all ranks if one of them calls another operation, DistributedError
    before `init_process_group`.

    Source: torch.distributed.destroy_process_group.

    >>> import kellet.distributed as dist
    >>> dist.init_process_group()
    >>> dist.destroy_process_group()
    >>> dist.is_initialized()
    False
    """
    found = resolve_group(group)
    if found is not _world.group:
        _world.parts = tuple(part for part in _world.parts if part is not found)
        found.close()
        return
    _LastWords.say_goodbye()
    found.start("destroy_process_group", lambda transport: []).wait()
    for part in _world.parts:
        part.close()
    found.close()
    _LastWords.remove()
    _world.group, _world.parts, _world.transport = None, (), None


def get_rank(group: object = None) -> int:
    """Return the number of this process in the group of all, or in `group`; -1 outside of it.

    Raises DistributedError before `init_process_group`.

    Source: torch.distributed.get_rank.

    >>> import kellet.distributed as dist
    >>> dist.get_rank(dist.ProcessGroup(dist.AloneTransport()))
    0
    """
    return -1 if group is GroupMember.NON_GROUP_MEMBER else resolve_group(group).rank()


def get_world_size(group: object = None) -> int:
    """Return how many processes there are, or are in `group`; -1 where this one is not in that.

    Raises DistributedError before `init_process_group`.

    Source: torch.distributed.get_world_size.

    >>> import kellet.distributed as dist
    >>> dist.get_world_size(dist.ProcessGroup(dist.AloneTransport()))
    1
    """
    return -1 if group is GroupMember.NON_GROUP_MEMBER else resolve_group(group).size()


def new_group(ranks: Sequence[int] | None = None) -> Any:
    """Return a group of some ranks, by default all; `GroupMember.NON_GROUP_MEMBER` for those left out.

    Every process has to call it, with the same ranks, also those that will not be in the group. The ranks of
    the new group are numbered in the order of the list.

    Raises ValueError for ranks that are not there, or twice.

    Source: torch.distributed.new_group, where the ranks are sorted.

    >>> import kellet.distributed as dist
    >>> dist.init_process_group()
    >>> dist.new_group([0]).size()
    1
    >>> dist.destroy_process_group()
    """
    world = resolve_group(None)
    made = world.new_group(list(range(world.size())) if ranks is None else ranks)
    if made is None:
        return GroupMember.NON_GROUP_MEMBER
    _world.parts += (made,)
    return made


def new_subgroups(group_size: int) -> tuple[ProcessGroup, list[Any]]:
    """Return the group of this rank, and all of them, of `group_size` ranks that follow each other.

    Every process has to call it. What this rank is not in is `GroupMember.NON_GROUP_MEMBER`.

    Raises ValueError where the number of processes is not a multiple of the size.

    Source: torch.distributed.new_subgroups.

    >>> import kellet.distributed as dist
    >>> dist.init_process_group()
    >>> mine, every = dist.new_subgroups(1)
    >>> mine.size(), len(every)
    (1, 1)
    >>> dist.destroy_process_group()
    """
    size = get_world_size()
    if group_size < 1 or size % group_size:
        raise ValueError(
            f"new_subgroups: expected a size that divides the number of processes, {size}; found {group_size}"
        )
    groups = [new_group(range(start, start + group_size)) for start in range(0, size, group_size)]
    return groups[get_rank() // group_size], groups


def resolve_group(group: object) -> ProcessGroup:
    """Return `group`, or the group of all processes for None.

    Raises DistributedError before `init_process_group`, or if this rank is not in the group; TypeError for a
    value that is not a group.
    """
    if group is GroupMember.NON_GROUP_MEMBER:
        raise DistributedError("this rank is not in the group; ask get_rank(group) >= 0 first")
    if group is None:
        if _world.group is None:
            raise DistributedError(
                "Default process group has not been initialized; call "
                "kellet.distributed.init_process_group() first"
            )
        return _world.group
    if not isinstance(group, ProcessGroup):
        raise TypeError(f"group must be a ProcessGroup or None, got {type(group).__name__}")
    return group


def _transport(backend: str | None, timeout: float) -> Transport:
    if backend == "mpi" or any(int(os.environ.get(name, 1)) > 1 for name in _STARTED_BY_MPIEXEC):
        return MPITransport(timeout=timeout)
    return AloneTransport()


class _LastWords:
    """What a rank still does when its script ends: say why, so that no other rank waits for it for ever.

    MPI itself waits for all ranks at the end, also in one that has raised.
    """

    installed: _LastWords | None = None

    def __init__(self, transport: MPITransport) -> None:
        self._transport = transport
        self._before: Callable[..., Any] = sys.excepthook
        sys.excepthook = self._on_error
        atexit.register(self._at_exit)

    @classmethod
    def install(cls, transport: MPITransport) -> None:
        cls.installed = cls(transport)

    @classmethod
    def say_goodbye(cls) -> None:
        if cls.installed is not None:
            cls.installed._transport.watch.announce_leaving()

    @classmethod
    def remove(cls) -> None:
        found, cls.installed = cls.installed, None
        if found is not None:
            atexit.unregister(found._at_exit)
            if sys.excepthook == found._on_error:
                sys.excepthook = found._before

    def _on_error(self, kind: type[BaseException], error: BaseException, where: TracebackType | None) -> None:
        self._before(kind, error, where)
        self._end_all("".join(traceback.format_exception_only(kind, error)).strip(), error)

    def _at_exit(self) -> None:
        if self._transport.watch.broken:
            self._end_all("it has given up an operation of the group")
        try:
            destroy_process_group()
        except DistributedError as error:
            traceback.print_exc()
            self._end_all(f"{type(error).__name__}: {error}", error)

    def _end_all(self, message: str, cause: BaseException | None = None) -> None:
        with contextlib.suppress(OSError, ValueError):  # a closed stream
            sys.stderr.flush()
            sys.stdout.flush()
        watch = self._transport.watch
        watch.announce_failure(message, cause)
        watch.wait_for_the_others(LAST_WORDS)
        time.sleep(FORWARDING)
        self._transport.abort()
