"""One forged archive: drawn, written, loaded and used, in a process that may die of it."""

from __future__ import annotations

import contextlib
import os
import pickle
import re
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any

from packager import PackageImporter
from packager.errors import PackageError

from .calls import Call, always, ask
from .drawing import Drawer, Swap
from .harvest import Harvest, Honest
from .tables import Changed, NotInOrder, written
from .tracing import Tracer
from .values import MARK, Value
from .watching import Watch, peak, peak_begins

LOAD_SECONDS, USE_SECONDS = 1.0, 0.5
_SCRIPTS = (f"<script>{MARK}", f"<img src=x onerror={MARK}")
_LEAST_MEMORY = 64 << 20
_EVERY = {"html": 3, "mimebundle": 12, "str": 12}
"""What takes half of the time, and mostly does what others do, is asked of each of so many."""


class TooLong(BaseException):
    """A step took too long."""


@dataclass
class Result:
    """What came of one archive. `findings` are (call, what); `told` is what nobody promised against."""

    number: int
    outcome: str = ""
    reason: str = ""
    size: int = 0
    seconds: float = 0.0
    memory: int = 0
    findings: list[tuple[str, str]] = field(default_factory=list)
    told: list[tuple[str, str]] = field(default_factory=list)
    draw: int = 0


class Attack:
    """Everything that is needed to make the archive of a number, and to try it."""

    def __init__(self, harvest: Harvest, parts: list[tuple[str, Value]], seed: int) -> None:
        self.harvest, self._seed = harvest, seed
        self._parts = [*parts, *(part for one in harvest.objects for part in offered(one))]
        names = {name: names_of(name) for name in harvest.classes}
        self._drawers = [Drawer(one.seed, self._parts, names) for one in harvest.objects]
        for drawer in self._drawers:
            _ = drawer.places, drawer.owners  # here, and not in each child again
        self.known: dict[tuple[str, str], float] = {}
        self._last: Any = None
        self._arguments: dict[int, dict[str, Any]] = {}

    def drawn(self, number: int) -> tuple[Honest, list[Swap], int]:
        """Return what the archive of a number is made of: the object, one or two swaps, and which draw it
        is.
        """
        for draw in range(1000):
            honest, swaps = self.draw(number, draw)
            if any(self.known.get((swap.owner, several(swap.attribute)), 0) >= 3 for swap in swaps):
                continue
            try:
                self._last = (honest, swaps, self.file(honest, swaps))
            except NotInOrder:
                continue
            return honest, swaps, draw
        raise RuntimeError(f"no archive for number {number}")

    def draw(self, number: int, draw: int) -> tuple[Honest, list[Swap]]:
        """Return what one draw of a number gives."""
        rng = Random(f"{self._seed}/{self.harvest.library}/{number}/{draw}")
        at = rng.randrange(len(self._drawers))
        swaps = [self._drawers[at].draw(rng) for _ in range(1 if rng.random() < 0.75 else 2)]
        return self.harvest.objects[at], swaps

    def file(self, honest: Honest, swaps: list[Swap]) -> bytes:
        """Return the archive of an object with some swaps."""
        if self._last and self._last[:2] == (honest, swaps):
            return self._last[2]
        changed = Changed()
        for swap in swaps:
            changed = swap.changed.over(changed)
        return written(honest.seed, changed)

    def arguments(self, number: int) -> dict[str, Any]:
        """Return what methods are called with."""
        if number not in self._arguments:
            self._arguments[number] = pickle.loads(self.harvest.arguments[number])
        return self._arguments[number]


def several(attribute: str) -> str:
    """Return what all items of an attribute are called together."""
    return attribute.partition("[")[0]


def names_of(spelled: str) -> list[str]:
    """Return the names that a class has for all its objects; none of what is no class here."""
    module, _, name = spelled.partition(":")
    found = getattr(sys.modules.get(module), name, None)
    return dir(found) if isinstance(found, type) else []


def offered(honest: Honest) -> list[tuple[str, Value]]:
    """Return what an honest object gives to others: itself, under its name."""
    if type(honest.seed.root).__name__ != "Node":
        return []
    return [(f"object {honest.name}", (honest.seed.root, dict(honest.seed.storages)))]


def tell(step: Any, number: int, phase: int, call: int) -> None:
    """Say in shared memory where we are."""
    step[0], step[1], step[2] = number, phase, call


def too_long(signal_number: int, frame: Any) -> None:
    raise TooLong


@contextlib.contextmanager
def within(seconds: float) -> Iterator[None]:
    """Raise TooLong where a step takes more of the processor."""
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def try_one(
    attack: Attack, watch: Watch, step: Any, number: int, honest: Honest, swaps: list[Swap]
) -> Result:
    """Load one archive and use what comes of it."""
    file = attack.file(honest, swaps)
    result = Result(number, size=len(file))
    tell(step, number, 1, 0)
    importer, it = _load(attack, watch, file, result)
    if importer is None:
        return result
    try:
        _use(attack, watch, step, honest, swaps, it, result)
    finally:
        importer.close()
    return result


def _load(attack: Attack, watch: Watch, file: bytes, result: Result) -> tuple[Any, Any]:
    before, start = peak_begins(), time.process_time()
    tracer = Tracer(attack.harvest.functions)
    importer = it = None
    watch.begin("load")
    try:
        with within(LOAD_SECONDS), tracer:
            importer = PackageImporter(file, environment="ignore", bytecode=None)
            it = importer.load_object("m", "m")
        result.outcome = "loaded"
    except PackageError as error:
        result.outcome, result.reason = "refused", _reason(error)
    except TooLong:
        result.outcome = "loaded"
        result.findings.append(("load", f"more than {LOAD_SECONDS} s"))
    except BaseException as error:
        result.outcome = "raw"
        result.findings.append(("load", f"raw {type(error).__name__}: {_reason(error)}"))
    result.findings += [("load", event) for event in watch.end()]
    result.seconds, result.memory = time.process_time() - start, max(0, peak() - before)
    if result.memory > 8 * len(file) + _LEAST_MEMORY:
        result.findings.append(("load", f"memory: {result.memory >> 20} MiB for {len(file)} bytes"))
    if tracer.new and not any("import" in what for _, what in result.findings):
        again = Tracer(attack.harvest.functions)
        try:
            with PackageImporter(file, environment="ignore", bytecode=None) as second, again:
                second.load_object("m", "m")
        except PackageError:
            pass
        result.findings += [("load", f"called {name}") for name in again.new]
    if result.outcome != "loaded" or it is None:
        if importer is not None:
            importer.close()
        importer = None
    return importer, it


def _use(
    attack: Attack, watch: Watch, step: Any, honest: Honest, swaps: list[Swap], it: Any, result: Result
) -> None:
    arguments = attack.arguments(honest.arguments)
    ways = always(watch.given)
    raised = ""
    every = {} if any(swap.kind.startswith("added") for swap in swaps) else _EVERY
    for at, name in enumerate([*ways, *honest.calls]):
        if result.told:  # it takes all time or memory, and will so again
            break
        if result.number % every.get(name, 1):
            continue
        tell(step, result.number, 2, at)
        error = _step(watch, it, name, ways, arguments, result)
        is_usual = isinstance(name, tuple) or name in honest.answers
        if error and is_usual and not raised:
            raised = error
    result.findings += [("use", event) for event in watch.left()]
    result.outcome, result.reason = ("raised", raised) if raised else ("fine", "")


def _step(watch: Watch, it: Any, name: Any, ways: Any, arguments: Any, result: Result) -> str:
    """Ask one thing; return the ordinary error that came, in words."""
    said, answer = "", None
    call = name if isinstance(name, str) else shown(name)
    watch.begin("pickle" if name == "pickle" else "use")
    try:
        with within(USE_SECONDS):
            answer = ways[name](it) if isinstance(name, str) else ask(it, name, arguments)
    except TooLong:
        result.told.append((call, f"more than {USE_SECONDS} s"))
    except MemoryError:
        result.told.append((call, "memory"))
    except Exception as error:
        said = f"{call}: {type(error).__name__}"
    except BaseException as error:
        result.findings.append((call, f"past `except Exception`: {type(error).__name__}: {_reason(error)}"))
    result.findings += [(call, event) for event in watch.end()]
    if call in ("html", "mimebundle") and answer is not None:
        text = str(answer.get("text/html") if isinstance(answer, dict) else answer)
        if any(script in text for script in _SCRIPTS):
            result.findings.append((call, "script in a notebook"))
    return said


def shown(call: Call) -> str:
    """Return a call in words."""
    return call[0] if call[0].startswith(".") else f"{call[0]}({', '.join(call[1])})"


def _reason(error: BaseException) -> str:
    text = str(error).replace("\n", " ")
    text = re.sub(r"'[^']*'|\"[^\"]*\"|\d+", "#", text)
    return re.sub(r"\s+", " ", text)[:150]


def limit(folder: str, memory: int, seconds: int) -> None:
    """Bound what this process may take, and send what it prints away."""
    import resource

    with open("/proc/self/statm") as file:
        size = int(file.read().split()[0]) * 4096
    resource.setrlimit(resource.RLIMIT_AS, (size + memory, size + memory))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_FSIZE, (64 << 20, 64 << 20))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.environ.update({"HOME": folder, "TMPDIR": folder, "XDG_CACHE_HOME": folder, "MPLCONFIGDIR": folder})
    os.chdir(folder)
    signal.signal(signal.SIGPROF, too_long)
