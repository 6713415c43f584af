"""Mutants tried in processes that have collected the tests already: a trial costs the tests it runs."""

from __future__ import annotations

import gc
import os
import resource
import select
import shutil
import signal
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from types import CodeType, FunctionType

import pytest

from .faults import PACKAGES, Fault
from .nearness import Nearness

TESTS = 1000  # of those near to a fault, at most
HANGS = 60  # seconds of processor time more end a test that does not end
WAITS = 600.0  # seconds on the clock end one that waits


@dataclass(frozen=True)
class Verdict:
    """How many tests were asked about a fault, and the one that failed; None where none did."""

    fault: Fault
    asked: int
    caught_by: str | None


class Asking:
    """A pytest plugin that, instead of running the tests, asks them about faults, each in a child process."""

    def __init__(
        self,
        root: Path,
        faults: Sequence[Fault],
        jobs: int,
        seconds: float,
        told: Callable[[Verdict], None],
    ) -> None:
        self._root = root
        self._faults = faults
        self._jobs = jobs
        self._seconds = seconds
        self._told = told
        self.verdicts: list[Verdict] = []
        self.outside: list[tuple[Fault, list[str]]] = []  # not in a function that is loaded
        self._sound: dict[str, bool] = {}  # tests that were asked about the code as it is

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self._items = {item.nodeid: item for item in session.items}
        nearness = Nearness(self._root, session.items)
        for module in sorted(
            {fault.module for fault in self._faults}
        ):  # some are loaded when they are needed
            with suppress(ImportError):  # of a library that is not here
                import_module(module)
        gc.unfreeze()  # what was put aside when the tests were collected is not listed
        gc.collect()
        self._functions = _functions_below(*(self._root / package for package in PACKAGES))
        gc.freeze()  # what is here stays shared with the children
        waiting = [(fault, nearness.tests_of(fault)[:TESTS]) for fault in self._faults]
        waiting.reverse()
        running: dict[int, _Child] = {}
        while waiting or running:
            while waiting and len(running) < self._jobs:
                fault, tests = waiting.pop()
                child = self._start(fault, tests)
                running[child.said] = child
            ready, _, _ = select.select(list(running), [], [], 1.0)
            for said in ready:
                data = os.read(said, 1 << 16)
                running[said].heard += data
                if not data:
                    self._end(running.pop(said), waiting)
            for child in running.values():
                if time.monotonic() - child.started > WAITS:
                    os.killpg(child.pid, signal.SIGKILL)
        return True

    def _start(self, fault: Fault | None, tests: list[str]) -> _Child:
        reading, writing = os.pipe()
        folder = tempfile.mkdtemp(prefix="kellet-mutant-")
        pid = os.fork()
        if not pid:
            os.close(reading)
            try:
                self._ask(fault, tests, writing, folder)
            finally:
                os._exit(3)
        os.close(writing)
        return _Child(pid, reading, fault, tests, folder, time.monotonic())

    def _ask(self, fault: Fault | None, tests: list[str], said: int, folder: str) -> None:
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDWR)
        for standard in (0, 1, 2):
            os.dup2(nothing, standard)
        os.environ["PYTEST_DEBUG_TEMPROOT"] = os.environ["TMPDIR"] = tempfile.tempdir = folder
        most = int(self._seconds) + HANGS
        resource.setrlimit(resource.RLIMIT_CPU, (most, most + 5))
        tell = partial(os.write, said)
        if fault is not None and not self._put_in(fault):
            tell(b"! cannot be put in\n")
            os._exit(0)
        items = [self._items[test] for test in tests]
        begun = time.monotonic()
        items[0].config.pluginmanager.register(_FirstFailure(tell))
        for at, item in enumerate(items):
            # Its own and that of what it has started; to wait costs, too.
            if max(sum(os.times()[:4]), (time.monotonic() - begun) / 3) > self._seconds:
                break
            tell(f"> {item.nodeid}\n".encode())
            following = items[at + 1] if at + 1 < len(items) else None
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        tell(b"= none failed\n")
        os._exit(0)

    def _put_in(self, fault: Fault) -> bool:
        """Give the function that a fault is in its changed code; False where it is not in a function."""
        file = self._root / fault.file
        source = file.read_text(encoding="utf-8")
        before = _outermost(compile(source, str(file), "exec", dont_inherit=True))
        after = _outermost(compile(fault.applied(source), str(file), "exec", dont_inherit=True))
        different = [(old, new) for old, new in zip(before, after, strict=True) if old != new]
        if len(different) != 1:
            return False
        put = []
        if not _have_the_same_inner(*different[0]):
            return False  # a function inside of it is gone, and those that were made of it live on
        for old, new in _with_inner(*different[0]):
            functions = self._functions[_place(old)]
            if any(function.__code__.co_freevars != new.co_freevars for function in functions):
                return False
            put += [(function, new) for function in functions]
        if not put:
            return False
        for function, new in put:
            function.__code__ = new
        return True

    def _end(self, child: _Child, waiting: list[tuple[Fault, list[str]]]) -> None:
        os.close(child.said)
        os.waitpid(child.pid, 0)
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)  # what its tests have started
        shutil.rmtree(child.folder, ignore_errors=True)
        lines = child.heard.decode().splitlines()
        asked = [line[2:] for line in lines if line.startswith("> ")]
        fault = child.fault
        if fault is None:
            self._sound[child.tests[0]] = bool(lines) and lines[-1].startswith("=")
            return
        if lines and lines[-1].startswith("!"):
            self.outside.append((fault, child.tests))
        elif lines and lines[-1].startswith("="):
            self._judge(Verdict(fault, len(asked), None))
        elif not asked:
            raise RuntimeError(f"a process that was to ask tests has ended: {fault}")
        elif self._is_sound(asked[-1]):
            self._judge(Verdict(fault, len(asked), asked[-1]))
        else:
            waiting.append((fault, [test for test in child.tests if self._sound.get(test, True)]))

    def _judge(self, verdict: Verdict) -> None:
        self.verdicts.append(verdict)
        self._told(verdict)

    def _is_sound(self, test: str) -> bool:
        """Whether a test that has failed passes where the code is as it is, in a process like the other."""
        if test not in self._sound:
            child = self._start(None, [test])
            while data := self._heard(child):
                child.heard += data
            self._end(child, [])
        return self._sound[test]

    def _heard(self, child: _Child) -> bytes:
        ready, _, _ = select.select([child.said], [], [], WAITS)
        if not ready:
            os.killpg(child.pid, signal.SIGKILL)
        return os.read(child.said, 1 << 16)


class _Child:
    def __init__(
        self, pid: int, said: int, fault: Fault | None, tests: list[str], folder: str, started: float
    ) -> None:
        self.pid, self.said, self.fault = pid, said, fault
        self.tests, self.folder, self.started = tests, folder, started
        self.heard = b""


class _FirstFailure:
    def __init__(self, tell: Callable[[bytes], int]) -> None:
        self._tell = tell

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._tell(b"x\n")
            os._exit(0)


def _functions_below(*folders: Path) -> dict[tuple[str, int, str], list[FunctionType]]:
    below = tuple(f"{folder}{os.sep}" for folder in folders)
    found: dict[tuple[str, int, str], list[FunctionType]] = defaultdict(list)
    for thing in gc.get_objects():
        if type(thing) is FunctionType and thing.__code__.co_filename.startswith(below):
            found[_place(thing.__code__)].append(thing)
    return found


def _place(code: CodeType) -> tuple[str, int, str]:
    return code.co_filename, code.co_firstlineno, code.co_name


def _with_inner(old: CodeType, new: CodeType) -> Iterator[tuple[CodeType, CodeType]]:
    """A function that has changed, and those in it that have: what was made of them before is alive."""
    yield old, new
    for before, after in zip(_inner(old), _inner(new), strict=True):
        if before != after:
            yield from _with_inner(before, after)


def _have_the_same_inner(old: CodeType, new: CodeType) -> bool:
    before, after = _inner(old), _inner(new)
    return len(before) == len(after) and all(map(_have_the_same_inner, before, after))


def _inner(code: CodeType) -> list[CodeType]:
    return [one for one in code.co_consts if isinstance(one, CodeType)]


def _outermost(module: CodeType) -> Iterator[CodeType]:
    """The functions of a module and of its classes."""
    for constant in module.co_consts:
        if isinstance(constant, CodeType):
            if constant.co_flags & 0x2:  # CO_NEWLOCALS: a function, not the body of a class
                yield constant
            else:
                yield from _outermost(constant)
