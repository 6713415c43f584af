"""Faults, planted where an archive is loaded and used, to see that each is found: `python planted.py`."""

from __future__ import annotations

import collections
import ctypes
import itertools
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from swapped import attacking
from swapped.harvest import harvested
from swapped.running import Runner
from swapped.values import MARK


class Panic(BaseException):
    """What `except Exception` lets through."""


def _panics(it: Any) -> None:
    raise Panic


IN_USE: dict[str, Callable[[Any], Any]] = {
    "SIGABRT": lambda it: os.abort(),
    "SIGSEGV": lambda it: ctypes.string_at(8),
    "more than": lambda it: [None for _ in itertools.count()],
    "hangs": lambda it: -1 in itertools.count(),
    "write": lambda it: open(f"{MARK}.out", "w").close(),
    "written": lambda it: ctypes.CDLL(None).creat(b"made", 0o600),
    "code of the archive": lambda it: eval(f"'{MARK}'.upper()"),
    "import of a name of the archive": lambda it: __import__(MARK),
    "a process was started": lambda it: _waited(os.fork() or os._exit(0)),
    "subprocess.Popen": lambda it: subprocess.run(["true"], check=False),
    "os.remove": lambda it: os.remove("nothing"),
    "past `except Exception`": _panics,
    "memory": lambda it: bytearray(3 << 30),
    "script in a notebook": lambda it: f"<b><script>{MARK}()</script></b>",
}


def _waited(child: Any) -> None:
    """Leave a child of a child behind for as long as it takes to look."""
    time.sleep(0.1)


class _Importer(attacking.PackageImporter):
    """An importer that does something else, too."""

    planted: Callable[[], Any]

    def load_object(self, package: str, resource: str) -> Any:
        type(self).planted()
        return super().load_object(package, resource)


def _raw() -> None:
    raise TypeError("planted")


def _library() -> None:
    import sklearn

    sklearn.get_config()


WHILE_LOADING: dict[str, Callable[[], Any]] = {
    "raw TypeError": _raw,
    "SIGABRT": os.abort,
    "more than": lambda: [None for _ in itertools.count()],
    "hangs": lambda: -1 in itertools.count(),
    "memory": lambda: len(bytes(100 << 20).replace(b"\0", b"\1")),
    "write": lambda: open("made", "w").close(),
    "read of a place in the archive": lambda: Path(f"/nothing/{MARK}").read_bytes(),
    "called sklearn/": _library,
}


def results() -> list[tuple[str, str, list[str]]]:
    """Return what was planted where, and what was found then."""
    import sklearn

    _ = sklearn
    honest = harvested("standard", [("deque", collections.deque([1, 2]), {})])
    runner = Runner(attacking.Attack(honest, [], 1))
    found = [("nothing", "", _asked(runner, {"nothing": len}))]
    for name, plant in IN_USE.items():
        found.append(("use", name, _asked(runner, {"html" if "script" in name else name: plant})))
    attacking.PackageImporter = _Importer
    for name, plant in WHILE_LOADING.items():
        _Importer.planted = staticmethod(plant)
        found.append(("load", name, _asked(runner, {"len": len})))
    return found


def _asked(runner: Runner, ways: dict[str, Any]) -> list[str]:
    from swapped import running

    attacking.always = running.always = lambda folder: ways
    result = runner.alone(0, [], 0)
    return [what for _, what in result.findings + result.told]


if __name__ == "__main__":
    for where, name, whats in results():
        is_found = any(name in what for what in whats) if name else not whats
        sys.stdout.write(f"{'found' if is_found else 'MISSED'} {where}: {name or 'nothing'}: {whats}\n")
