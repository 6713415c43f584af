"""Drift: the first submodule that takes what it took when a trace was recorded, and answers something else.

Both traces are walked in the order in which the recorded calls began and ended. What a submodule gives is
compared when it ends, after all that ran within it: so the innermost one is found before those around it.
What it takes is compared when it begins: where that differs already, the code around it has computed it, and
the submodule around it is named.

The call is made again with hooks for that. Where versions differ from the recorded ones, it is made once
more, to see whose code that submodule runs.
"""

from __future__ import annotations

import inspect
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import CodeType, FrameType, ModuleType
from typing import Any, Final

from packager._archive import ArchiveReader, Manifest
from packager._environment import Distributions, RecordedEnvironment
from packager._names import demangle, is_from_archive, normalized_name
from packager._quick_dataclasses import dataclass, replace

from .comparing import DEFAULT_TOLERANCE, Deviation, ulps_apart
from .evaluation import Around
from .recording import Recorder, tracing
from .traces import Parts, Summary, Trace, TracedCall, code_of, elements_of, stored_trace

_GAIN = 8.0
"""By how much a submodule may enlarge rounding in its inputs, in parts of the greatest element."""


@dataclass(frozen=True)
class Drift:
    """The first submodule that differs from the recorded run by more than rounding.

    `path` leads to it from the object that is called, "" for the object itself; `kind` is its class, here
    or where it was recorded. `method` is what was called of what is no module, `call` how often that had
    been called before, `part` what differs of what it gave. `ulps` and `largest` say how far, None where
    that has no meaning; `is_exact` whether all elements were compared: else it is at least so far. `before`
    is the submodule whose input differed already, where the code between two calls is what differs.
    """

    path: str
    kind: str
    method: str
    call: int
    part: str
    ulps: int | None
    largest: float | int | None
    is_exact: bool
    message: str
    before: str = ""

    def __str__(self) -> str:
        """Return how far it is off, as one line."""
        which = f"call {self.call + 1}, " if self.call else ""
        method = f"{self.method}, " if self.method else ""
        where = f"in what it gives to {self.before}, " if self.before else ""
        return f"{which}{method}{where}{self.part}: {self.message}"


def first_drift(recorded: Trace, found: Trace, *, tolerance: float = DEFAULT_TOLERANCE) -> Drift | None:
    """Return the first submodule whose answer is off by more than `tolerance` and rounding; None for none.

    Rounding is a few ulps, scaled by the greatest element, by the number of terms of sums, and by what
    inputs are off: other numbers of threads are no drift.

    >>> import kellet
    >>> from kellet.nn import Linear, ReLU, Sequential
    >>> from packager._calls import tracing
    >>> def trace(net):
    ...     with tracing(net) as recorder:
    ...         net(kellet.ones(1, 2))
    ...     return recorder.trace()
    >>> net = Sequential(Linear(2, 2), ReLU())
    >>> before = trace(net)
    >>> with kellet.no_grad():
    ...     net[0].bias += 1.0
    >>> first_drift(before, trace(net)).path
    '0'
    """
    return next(_Walk(recorded, found, tolerance).drifts(), None)


class _Walk:
    """Two traces, call by call of the recorded one."""

    def __init__(self, recorded: Trace, found: Trace, tolerance: float) -> None:
        self._recorded, self._found, self._tolerance = recorded, found, tolerance
        self._keys = recorded.keys()
        self._there = dict(zip(found.keys(), found.calls, strict=True))
        self._carried: dict[int, float] = {}

    def drifts(self) -> Iterator[Drift]:
        """Yield what differs, first things first."""
        begun: set[int] = set()
        for number in self._recorded.order:
            here = self._there.get(self._keys[number])
            if number in begun:
                if here is not None:
                    yield from self._ended(number, here)
                continue
            begun.add(number)
            yield from self._began(number, here)

    def _began(self, number: int, here: TracedCall | None) -> Iterator[Drift]:
        call = self._recorded.calls[number]
        if here is None:
            if not self._found.is_cut:
                yield self._drift(call.parent, "calls", Distance(message="not called here"), number)
            return
        carried = 0.0
        for part, one, apart in self._apart(call.inputs, here.inputs, call.terms, 0.0):
            if apart.is_drift:
                yield self._drift(call.parent, part, apart, number)
            elif one is not None:
                carried = max(carried, relative(apart, self._recorded.values[one]))
        self._carried[number] = _GAIN * carried

    def _ended(self, number: int, here: TracedCall) -> Iterator[Drift]:
        call = self._recorded.calls[number]
        for part, _, apart in self._apart(call.outputs, here.outputs, call.terms, self._carried[number]):
            if apart.is_drift:
                yield self._drift(number, part, apart)

    def _apart(
        self, recorded: Parts, found: Parts, terms: int, carried: float
    ) -> Iterator[tuple[str, int | None, Distance]]:
        names, here = [name for name, _ in recorded], dict(found)
        if names != list(here):
            both = set(names) & set(here)
            odd = [name for name in (*names, *here) if name not in both]
            if odd:
                yield odd[0], None, Distance(message=f"it is {'not here' if odd[0] in names else 'new'}")
            else:
                yield (
                    names[0],
                    None,
                    Distance(message=f"its parts are in another order: {', '.join(here)}"[:300]),
                )
        for name, value in recorded:
            if name in here:
                sides = self._recorded.values[value], self._found.values[here[name]]
                yield (
                    name,
                    value,
                    distance(*sides, tolerance=self._tolerance, terms=terms, carried=carried),
                )

    def _drift(self, number: int | None, part: str, apart: Distance, before: int | None = None) -> Drift:
        """Return the drift of a call, or of what is around all calls."""
        path, method, times = ("", "", 0) if number is None else self._keys[number]
        kinds = {one.path: one.kind for trace in (self._recorded, self._found) for one in trace.modules}
        drift = Drift(
            path,
            kinds.get(path, ""),
            method,
            times,
            part,
            apart.ulps,
            apart.largest,
            apart.is_exact,
            str(apart),
        )
        if before is None:
            return drift
        return replace(drift, before=self._keys[before][0] or "it")


@dataclass(frozen=True)
class Distance:
    """How far a value is from the recorded one.

    `largest` is the greatest difference that is known of, `ulps` as many floats as lie between two elements
    at most; both None where they have no meaning. `is_exact` says whether all elements were compared.
    `allowed` is what counts as rounding. `message` says what else differs.
    """

    largest: float | int | None = None
    ulps: int | None = None
    is_exact: bool = True
    allowed: float = 0.0
    message: str = ""

    @property
    def is_drift(self) -> bool:
        """Whether it is more than rounding."""
        return bool(self.message) or (self.largest is not None and not self.largest <= self.allowed)

    def __str__(self) -> str:
        if self.message:
            return self.message
        least = "" if self.is_exact else " at least"
        ulps = "" if self.ulps is None else f", {self.ulps:,} ulps"
        return f"off by {self.largest:.3g}{ulps}{least}"


_FEW: Final = 4
_FEW_OF_SUMS: Final = 8


def distance(recorded: Summary, found: Summary, *, tolerance: float, terms: int, carried: float) -> Distance:
    """Return how far a value is from the recorded one, and how far counts as rounding.

    That is `tolerance`, and for floats, in parts of the greatest element: a few ulps of their dtype, a few of
    single precision, or double for float64, times the root of the number of `terms` of a sum, and what is
    `carried` over from inputs that were off.
    """
    if recorded.dtype != found.dtype or recorded.shape != found.shape:
        return Distance(message=f"stored as {recorded}, found {found}")
    if recorded.digest == found.digest:
        return Distance(0, 0)
    code = code_of(recorded.dtype)
    if not code:
        return Distance(message="another value")
    if recorded.finite != found.finite:
        size = elements_of(recorded.dtype, recorded.shape)
        return Distance(
            message=f"{size - found.finite:,} of {size:,} numbers are not finite; "
            f"{size - recorded.finite:,} were not"
        )
    is_exact = len(recorded.means) == 1
    # Integers are compared as such: those of 64 bits are no floats.
    seen = [_apart(one, other) for one, other in zip(recorded.numbers, found.numbers, strict=True)]
    largest = max(seen)
    off = max(_apart(one, other) for one, other in zip(recorded.means, found.means, strict=True))
    largest = max(largest, off if off > largest else largest)
    if code != "d":
        return Distance(largest, None, is_exact, 0.0, "" if largest else "other values")
    scale = _scale(recorded.numbers + found.numbers)
    eps, of_sums = _precision(recorded.dtype)
    rounding = scale * (_FEW * eps + _FEW_OF_SUMS * of_sums * math.sqrt(max(terms, 1)) + carried)
    return Distance(largest, _ulps(recorded, found, largest), is_exact, tolerance + rounding)


def relative(found: Distance, recorded: Summary) -> float:
    """Return a distance in parts of the greatest element."""
    scale = _scale(recorded.numbers)
    return float(found.largest) / scale if found.largest and scale else 0.0


def _apart(one: float | int, other: float | int) -> float | int:
    if one == other or (one != one and other != other):
        return 0
    difference = abs(one - other)
    return math.inf if difference != difference else difference


def _scale(numbers: tuple[float | int, ...]) -> float:
    return max((abs(float(one)) for one in numbers if math.isfinite(one)), default=0.0)


def _precision(dtype: str) -> tuple[float, float]:
    """Return the relative distance of floats of a dtype, and of those in which sums of them are taken."""
    double, single = 2.0**-52, 2.0**-23
    if dtype in ("float64", "complex128"):
        return double, double
    if dtype in ("float32", "complex64"):
        return single, single
    return {"float16": 2.0**-10, "bfloat16": 2.0**-7}.get(dtype, 0.5), single


def _ulps(recorded: Summary, found: Summary, largest: float | int) -> int | None:
    """Return the ulps between the elements that are kept; where only means differ, those of the greatest."""
    import numpy as np

    dtype = {"complex64": "float32", "complex128": "float64", "bfloat16": "float32"}.get(
        recorded.dtype, recorded.dtype
    )
    if dtype not in ("float16", "float32", "float64"):
        return None
    per = 2**16 if recorded.dtype == "bfloat16" else 1  # the upper half of a float32
    with np.errstate(all="ignore"):  # what is recorded may be no number of its dtype
        sides = [np.array(side.numbers).astype(dtype) for side in (recorded, found)]
    known = np.isfinite(sides[0]) & np.isfinite(sides[1])
    apart = ulps_apart(sides[0][known], sides[1][known]) if known.any() else None
    if apart == 0 and math.isfinite(largest):
        with np.errstate(all="ignore"):
            step = float(np.spacing(np.float64(_scale(found.numbers)).astype(dtype))) * per
        return int(largest / step) or None if math.isfinite(step) and step else None
    return None if apart is None else apart // per


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
        return f"{self.name}: recorded {self.recorded}, found {self.found or 'none'}" + (
            "; its code runs in this submodule" if self.runs else ""
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
