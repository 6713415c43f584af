"""The clean process while it waits, and what it can import: installed packages as they are, the project gone.

It imports what it is told to, no archive; it never computes. Then it forks for each run.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import warnings
from collections.abc import Collection, Mapping, Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from typing import Any

import msgpack

from packager._codecs import default_registry

from .line import Address, Line
from .proof import ProofOrder

_EDITABLE = ("__editable__", "_editable_impl", "_virtualenv_editable")
"""How modules are named whose finders an editable install has put there."""
_PATIENCE = 1
"""Seconds after which a process that waits for its order looks whether its parent is still there."""
_AHEAD = (
    "packager._audit.auditing packager._objects.building pathlib "
    "packager._loading.stored_objects packager._loading.packaged_code packager._loading.open_archives "
    "packager._loading.stored_states packager._proving.asking"
)
"""What loading an object with code imports of ours, each of which is imported while there is no order yet."""


class HiddenModules:
    """First on `sys.meta_path`: hides modules of some first parts, whoever else would find them."""

    def __init__(self, hidden: Collection[str]) -> None:
        self.hidden = {*hidden}

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """Raise ModuleNotFoundError for a hidden name; find nothing else."""
        top = name.partition(".")[0]
        if top in self.hidden:
            raise ModuleNotFoundError(
                f"No module named {name!r}: {top!r} is stored in the archive, and no other package "
                "provides it",
                name=name,
            )
        return None


class PlacedModules:
    """Last on `sys.meta_path`: finds a few first parts in folders of which nothing else is importable."""

    def __init__(self, places: Mapping[str, Sequence[str]]) -> None:
        self.places = dict(places)

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: object = None
    ) -> ModuleSpec | None:
        """Find a module in its place; None for one that has none."""
        folders = self.places.get(name)
        return None if folders is None else PathFinder.find_spec(name, list(folders))


def enter_clean_environment(
    path: Sequence[str], places: Mapping[str, Sequence[str]], hidden: Collection[str]
) -> tuple[HiddenModules, PlacedModules]:
    """Leave `path`, and what has a place, importable in this process, and nothing else.

    Python has run the `.pth` files of site-packages: folders and finders of editable installs are there, and
    go again. So do finders of an earlier call.
    """
    hiding, placing = HiddenModules(hidden), PlacedModules(places)
    sys.path[:] = path
    kept = [finder for finder in sys.meta_path if not _is_replaced(finder)]
    sys.meta_path[:] = [hiding, *kept, placing]
    sys.path_importer_cache.clear()
    return hiding, placing


def _is_replaced(finder: object) -> bool:
    cls = finder if isinstance(finder, type) else type(finder)
    return cls in (HiddenModules, PlacedModules) or cls.__module__.startswith(_EDITABLE)


class Waiting:
    """Waits for messages on standard input, as long as `parent` may send one."""

    def __init__(self, parent: int, forks: bool) -> None:
        if hasattr(signal, "SIGCHLD"):  # who ignores it is not told how a child has ended
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self._parent, self._forks = parent, forks
        self._unpacker = msgpack.Unpacker(use_list=False, unicode_errors="surrogatepass")
        self._found: list[tuple[tuple[str, ...], Mapping[str, tuple[str, ...]]]] = []

    def run(self, address: Address) -> tuple[str, Line]:
        """Return the folder and the line of a run, in the process that is to do it: a fork, or this one."""
        for name in _AHEAD.split():
            if not self._is_told(0):
                import_module(name)
        default_registry()
        while True:
            message = self._message()
            if "import" in message:
                self._import(**message)
                continue
            line = Line(address, message["token"])
            child = _fork() if self._forks else 0
            if not child:
                return message["run"], line
            _, status = os.waitpid(child, 0)
            line.ask({"ended": os.waitstatus_to_exitcode(status)})

    def was_in_time(self, order: ProofOrder) -> bool:
        """Say whether loading the archive would have found what was imported early, in the same places."""
        tops = {name.partition(".")[0] for name in [*sys.modules]} - sys.stdlib_module_names
        return not self._found or (
            tops.isdisjoint(order.hidden)
            and all(
                path == order.path and all(order.places.get(top) == places.get(top) for top in tops)
                for path, places in self._found
            )
        )

    def _is_told(self, seconds: float) -> bool:
        """Say whether there is a message, or the end; Windows cannot wait for a pipe, and reads it."""
        return not hasattr(os, "fork") or bool(select.select([0], [], [], seconds)[0])

    def _message(self) -> dict[str, Any]:
        """Return the next message; end where nobody is left who could send one."""
        while True:
            for message in self._unpacker:
                return dict(message)
            while not self._is_told(_PATIENCE):
                if os.getppid() != self._parent:  # what was forked from it may have kept the pipe open
                    os._exit(0)
            data = os.read(0, 1 << 16)
            if not data:
                os._exit(0)
            self._unpacker.feed(data)

    def _import(self, path: Any, places: Any, **names: Any) -> None:
        """Import modules of the environment; one that fails is tried again by who needs it."""
        enter_clean_environment(path, places, ())
        self._found.append((path, places))
        for name in names["import"]:
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
