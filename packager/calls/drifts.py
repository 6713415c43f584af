"""Drift: the first submodule that takes what it took when a trace was recorded, and answers something else.

Both traces are walked in the order in which the recorded calls began and ended. What a submodule gives is
compared when it ends, after all that ran within it: so the innermost one is found before those around it.
What it takes is compared when it begins: where that differs already, the code around it has computed it, and
the submodule around it is named.
"""

from __future__ import annotations

from collections.abc import Iterator

from packager.quick_dataclasses import dataclass, replace

from .comparing import DEFAULT_TOLERANCE
from .summaries import Distance, distance, relative
from .traces import Parts, Trace, TracedCall

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
    >>> from packager.calls import tracing
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
                yield self._drift(call.parent, "calls", Distance(message="it is not called here"), number)
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
