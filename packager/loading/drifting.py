"""Where an answer of a golden call drifted: the submodule, its code, and distributions of other versions.

The call is made again with hooks, and compared with the stored trace. Where versions differ from the
recorded ones, it is made once more, to see whose code that submodule runs.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import CodeType, FrameType, ModuleType
from typing import Any, Final

from packager.archive import MAX_TRACE, ArchiveReader, Manifest
from packager.calls import (
    Around,
    Deviation,
    Drift,
    Recorder,
    Trace,
    first_drift,
    tracing,
    ulps_apart,
    unpack_trace,
)
from packager.environment import Distributions, RecordedEnvironment
from packager.errors import ArchiveError
from packager.names import demangle, is_from_archive, normalized_name
from packager.quick_dataclasses import dataclass, replace

Call = Callable[[Around], Mapping[str, Any]]
"""Loads the object of a golden call, and calls it inside of what an `Around` makes."""


@dataclass(frozen=True)
class VersionChange:
    """A distribution with another version than the recorded one; `found` is None where it is absent.

    `runs` says whether code of it runs in the submodule that drifted.
    """

    name: str
    recorded: str
    found: str | None
    runs: bool = False

    def __str__(self) -> str:
        return f"{self.name} {self.recorded} was recorded, {self.found or 'none'} is here" + (
            ": its code runs there" if self.runs else ""
        )


@dataclass(frozen=True)
class FoundDrift:
    """The first submodule that differs, the file and line of the code that computes its answer, and versions.

    `first` says which that is, and how far it is off. `file` is empty and `line` 0 where that is no code of
    Python. `distributions` are those whose versions differ, first those that run in it.
    """

    first: Drift
    file: str
    line: int
    distributions: tuple[VersionChange, ...]

    def lines(self) -> Iterator[str]:
        """Yield it as text."""
        place = f", {self.file}:{self.line}" if self.file else ""
        yield f"first differs: {self.first.path or 'the object itself'} ({self.first.kind}{place})"
        yield f"  {self.first}"
        for change in self.distributions:
            yield f"  {change}"


def stored_trace(reader: ArchiveReader, check: str) -> Trace:
    """Return the trace of a golden call that has one. Raises ArchiveError for what no exporter writes."""
    record = next(one for one in reader.manifest.traces if one.check == check)
    what = f"trace of check {check}"
    if record.entry not in reader or reader.entry(record.entry).kind != "check":
        raise ArchiveError(f"{what}: found {record.entry!r}; expected an entry of kind check")
    if (size := reader.entry(record.entry).size) > MAX_TRACE:
        raise ArchiveError(f"{what}: {size:,} bytes; at most {MAX_TRACE:,} are read")
    return unpack_trace(reader.read(record.entry), what=what)


def find_drift(
    reader: ArchiveReader,
    check: str,
    call: Call,
    expected: Mapping[str, Any],
    off: Deviation,
    tolerance: float,
) -> FoundDrift:
    """Return where a golden call drifted whose answer is `off`: the object itself where no part differs.

    Raises what the call raises.
    """
    trace = stored_trace(reader, check)
    recorders: list[Recorder] = []
    roots: list[Any] = []

    @contextmanager
    def recorded(thing: Any, modules: Sequence[Any] | None) -> Iterator[None]:
        roots.append(thing)
        with tracing(thing, modules) as recorder:
            recorders.append(recorder)
            yield

    answer = call(recorded)
    drift = first_drift(trace, recorders[0].trace(), tolerance=tolerance)
    if drift is None:
        drift = _of_all(roots[0], expected, answer, off)
    part = recorders[0].part(drift.path) if drift.path else roots[0]
    changed = _changed_versions(reader.manifest)
    if changed:
        running = _distributions_run(drift, call)
        changed = sorted(
            (replace(one, runs=one.name in running) for one in changed),
            key=lambda one: (running.index(one.name) if one.runs else len(running), one.name),
        )
    return FoundDrift(drift, *_place_of(reader.manifest, part, drift.method), tuple(changed))


def _of_all(thing: Any, expected: Mapping[str, Any], found: Mapping[str, Any], off: Deviation) -> Drift:
    """Return what differs of an answer where no submodule does: it comes of the code of the object itself."""
    sides = [side.get(off.name) for side in (expected, found)]
    ulps = None
    if off.largest is not None and all(hasattr(side, "dtype") for side in sides):
        ulps = ulps_apart(*sides)
    message = str(off) if ulps is None else f"{off}, {ulps:,} ulps"
    return Drift("", _class_of(thing), "", 0, off.name, ulps, off.largest, True, message)


def _class_of(thing: Any) -> str:
    cls = type(thing)
    return f"{demangle(cls.__module__)}:{cls.__qualname__}"


def _place_of(manifest: Manifest, part: Any, method: str) -> tuple[str, int]:
    """Return file and line of the method that gives a part's answer; "" and 0 where that is not Python.

    The file of stored code is that of the archive.
    """
    for name in (method, "forward", "__call__", "predict", "transform"):
        found = inspect.unwrap(getattr(type(part), name, None) or len)  # `len` is no Python, either
        found = inspect.unwrap(getattr(found, "fn", found))  # what is there under a condition
        code = getattr(found, "__code__", None)
        if isinstance(code, CodeType):
            module = found.__globals__.get("__name__", "")
            if is_from_archive(module):
                stored = {one.name: one.entry for one in manifest.modules}
                return stored.get(demangle(module)) or code.co_filename, code.co_firstlineno
            return code.co_filename, code.co_firstlineno
    return "", 0


# --- versions ---


def _changed_versions(manifest: Manifest) -> list[VersionChange]:
    installed = Distributions()
    recorded = RecordedEnvironment.of(manifest).all_versions
    found = [VersionChange(name, then, installed.version(name)) for name, then in recorded.items()]
    return [one for one in found if one.recorded != one.found]


def _distributions_run(drift: Drift, call: Call) -> list[str]:
    """Return the distributions whose code a submodule runs or names.

    First comes the one that defines its class, last those that others of them require.
    """
    seen = _CodeSeen()

    @contextmanager
    def watched(thing: Any, modules: Sequence[Any] | None) -> Iterator[None]:
        with tracing(thing, modules) as recorder:
            if drift.path and recorder.part(drift.path) is not None:
                with seen.ended():
                    recorder.surround(drift.path, seen)
                    yield
            else:
                with seen:
                    yield

    call(watched)
    installed = Distributions()
    own = installed.origin(drift.kind.partition(":")[0].partition(".")[0]).distribution or ""
    owners = {normalized_name(installed.origin(top).distribution or "") for top in seen.tops} - {""}
    required = {name for owner in owners for name in installed.required(owner) if name != owner}
    return sorted(owners, key=lambda name: (name != normalized_name(own), name in required, name))


_OURS: Final = frozenset({"packager"})


class _CodeSeen:
    """A block that notes the top-level modules whose code runs, and those that such code names."""

    def __init__(self) -> None:
        self.tops: set[str] = set()
        self._codes: set[CodeType] = set()
        self._depth = 0
        self._before: Any = None

    def __enter__(self) -> None:
        self._depth += 1
        if self._depth == 1:
            self._before = sys.getprofile()
            sys.setprofile(self._note)

    def __exit__(self, *error: object) -> None:
        self._depth -= 1
        if not self._depth:
            sys.setprofile(self._before)

    @contextmanager
    def ended(self) -> Iterator[None]:
        """Leave the block with this one, also where a call in it failed and never left."""
        try:
            yield
        finally:
            if self._depth:
                self._depth = 0
                sys.setprofile(self._before)

    def _note(self, frame: FrameType, event: str, argument: Any) -> None:
        if event == "c_call":
            self._add(getattr(argument, "__module__", None))
        elif event == "call" and frame.f_code not in self._codes:
            self._codes.add(frame.f_code)
            self._add(frame.f_globals.get("__name__"))
            for name in frame.f_code.co_names:
                self._add_named(frame.f_globals, name)

    def _add_named(self, names: Mapping[str, Any], name: str) -> None:
        if name not in names:
            if name in sys.modules:  # imported inside of the function
                self._add(name)
            return
        value = names[name]
        self._add(value.__name__ if type(value) is ModuleType else getattr(value, "__module__", None))

    def _add(self, module: object) -> None:
        if isinstance(module, str) and not is_from_archive(module):
            top = module.partition(".")[0]
            if top not in sys.stdlib_module_names and top not in _OURS:
                self.tops.add(top)
