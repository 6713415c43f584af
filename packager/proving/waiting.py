"""The clean process while it waits: it imports what it is told to, no archive; it never computes."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from packager.codecs import default_registry

from .clean_environment import enter_clean_environment
from .messages import unpacker
from .proof import ProofOrder

_PATIENCE = 1000
"""Milliseconds after which a process that waits for its order looks whether its parent is still there."""
_AHEAD = "packager.audit.auditing packager.objects.building packager.loading.stored_objects"
"""What loading any object of a class imports of ours."""
_MEANWHILE = (
    "packager.loading.packaged_code packager.loading.loaded_archive pathlib packager.loading.stored_states"
)
"""What loading one with code imports besides, each of which is imported while there is no order yet."""


class Waiting:
    """Waits for messages from the pipe `order`, as long as `parent` may send one."""

    def __init__(self, order: int, ended: int, parent: int, forks: bool) -> None:
        import select
        import signal

        signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # who ignores it is not told how a child has ended
        for pipe in (order, ended):
            os.set_inheritable(pipe, False)  # what this process starts does not keep them open
        self._order, self._ended, self._parent, self._forks = order, ended, parent, forks
        self._unpacker = unpacker()
        self._poll = select.poll()
        self._poll.register(order, select.POLLIN)
        self._found: list[tuple[tuple[str, ...], Mapping[str, tuple[str, ...]]]] = []

    def run(self, loads_objects: bool) -> str:
        """Return the folder of a run, in the process that is to do it; it is a fork, or this one."""
        if loads_objects:
            self._import_ahead()
        while True:
            message = self._message()
            if "import" in message:
                self._import(message)
                continue
            folder = str(message["run"])
            child = _fork() if self._forks else 0
            if not child:
                os.close(self._order)
                return folder
            _, status = os.waitpid(child, 0)
            os.write(self._ended, b"%d" % os.waitstatus_to_exitcode(status))

    def was_in_time(self, order: ProofOrder) -> bool:
        """Say whether loading the archive would have found what was imported early, in the same places."""
        tops = {name.partition(".")[0] for name in [*sys.modules]} - sys.stdlib_module_names
        return not self._found or (
            tops.isdisjoint(order.hidden)
            and all(
                path == tuple(order.path)
                and all(tuple(order.places.get(top, ())) == places.get(top, ()) for top in tops)
                for path, places in self._found
            )
        )

    def _is_told(self) -> bool:
        return bool(self._poll.poll(0))

    def _message(self) -> Any:
        """Return the next message; end where nobody is left who could send one."""
        while True:
            for message in self._unpacker:
                return message
            while not self._poll.poll(_PATIENCE):
                if os.getppid() != self._parent:  # what was forked from it may have kept the pipe open
                    os._exit(0)
            data = os.read(self._order, 1 << 16)
            if not data:
                os._exit(0)
            self._unpacker.feed(data)

    def _import_ahead(self) -> None:
        """Import of our own packages, and of Python's, what loading an object of any class imports.

        What only some of them import comes after it, until the order is told.
        """
        for name in _AHEAD.split():
            import_module(name)
        default_registry()
        for name in _MEANWHILE.split():
            if self._is_told():
                return
            import_module(name)

    def _import(self, message: Mapping[str, Any]) -> None:
        """Import modules of the environment; one that fails is tried again by who needs it."""
        path = tuple(message["path"])
        places = {name: tuple(found) for name, found in message["places"].items()}
        enter_clean_environment(path, places, ())
        self._found.append((path, places))
        import_module("packager.proving.asking")
        for name in message["import"]:
            try:
                import_module(name)
            except Exception:  # a run that needs it fails anew, and tells; nothing half imported stays
                for left in [one for one in sys.modules if f"{one}.".startswith(f"{name}.")]:
                    del sys.modules[left]


def _fork() -> int:
    """Fork; where there is no room for another process, this one goes on as if it were the child."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # threads that BLAS keeps have nothing to do yet
        try:
            return os.fork()
        except OSError:
            return 0
