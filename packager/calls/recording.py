"""Recording a trace: forward hooks on modules, and the methods of estimators wrapped, for one call.

The hooks are those that anybody can register, and are removed after the call. They change nothing: what a
module takes is looked at before it runs, since it may write to it, and what it gives after its own hooks.
"""

from __future__ import annotations

import dataclasses
import math
import threading
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import wraps
from typing import Any, Final

from packager.archive import MAX_MODULE_PATH, MAX_TRACED_CALLS, MAX_TRACED_VALUES
from packager.names import demangle

from .array_calls import PLAIN
from .summaries import NoSummary, Summary, summary_of
from .traced_parts import TracedPart, traced_parts
from .traces import MAX_PARTS, Parts, Trace, TracedCall, TracedModule

_REMEMBERED: Final = 8
_NAME: Final = 200
_DEEPEST: Final = 20
_NOT_KEPT: Final = -1
_OF_SPARSE: Final = ("data", "indices", "indptr")


@contextmanager
def tracing(thing: Any) -> Iterator[Recorder]:
    """Record every call of the modules and estimators in `thing` that the block makes.

    Nothing of `thing` is changed after the block. What a compiled graph calls within itself is not seen.

    >>> import kellet
    >>> from kellet.nn import Linear, ReLU, Sequential
    >>> net = Sequential(Linear(2, 2), ReLU())
    >>> with tracing(net) as recorder:
    ...     answer = net(kellet.ones(1, 2))
    >>> [module.path for module in recorder.trace().modules]
    ['', '0', '1']
    """
    recorder = Recorder()
    with ExitStack() as undo:
        for part in traced_parts(thing):
            recorder.watch(part, undo)
        yield recorder


class Recorder:
    """What is seen of a call, from any thread. `trace()` gives it as a record."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._own = threading.local()
        self._modules: list[TracedModule] = []
        self._parts: list[TracedPart] = []
        self._calls: list[TracedCall] = []
        self._order: list[int] = []
        self._values: dict[Summary, int] = {}
        self._recent: deque[tuple[Any, int, int]] = deque(maxlen=_REMEMBERED)
        self._is_cut = False
        self._surrounded: dict[int, AbstractContextManager[Any]] = {}

    def trace(self) -> Trace:
        """Return what was recorded; a call that failed ended where the one around it did."""
        with self._lock:
            unended = [number for number, times in Counter(self._order).items() if times == 1]
            order = (*self._order, *reversed(unended))
            return Trace(tuple(self._modules), tuple(self._values), tuple(self._calls), order, self._is_cut)

    def part(self, path: str) -> Any:
        """Return the part of a path; None where there is none."""
        return next((one.part for one in self._parts if one.path == path), None)

    def surround(self, path: str, block: AbstractContextManager[Any]) -> None:
        """Enter a block whenever the part of that path begins, and leave it when it ends."""
        self._surrounded[next(number for number, one in enumerate(self._parts) if one.path == path)] = block

    def watch(self, part: TracedPart, undo: ExitStack) -> None:
        """Register hooks on a part, or wrap its methods; `undo` takes them off again."""
        number = len(self._modules)
        if part.methods:
            wrapped = [name for name in part.methods if self._wrap(number, part.part, name, undo)]
            if not wrapped:
                return
        elif not self._hook(number, part.part, undo):
            return
        cls = type(part.part)
        kind = f"{demangle(cls.__module__)}:{cls.__qualname__}"[:MAX_MODULE_PATH]
        self._modules.append(TracedModule(part.path, kind))
        self._parts.append(part)

    def _hook(self, number: int, module: Any, undo: ExitStack) -> bool:
        def before(module: Any, args: Any, kwargs: Any) -> None:
            self._begin(number, "", args, kwargs, module)

        def after(module: Any, args: Any, kwargs: Any, output: Any) -> None:
            self._end(number, "", output)

        try:
            handle = module.register_forward_pre_hook(before, with_kwargs=True)
            undo.callback(handle.remove)
            handle = module.register_forward_hook(after, with_kwargs=True)
        except (RuntimeError, AttributeError):  # compiled parts of PyTorch take none
            return False
        undo.callback(handle.remove)
        return True

    def _wrap(self, number: int, thing: Any, name: str, undo: ExitStack) -> bool:
        """Put a method that records in the place of one, as an attribute of the object."""
        try:
            held = object.__getattribute__(thing, "__dict__")
            method = getattr(thing, name)
        except AttributeError:  # no place for it, or the method is not there in this state
            return False
        if name in held:
            return False

        @wraps(method)
        def recorded(*args: Any, **kwargs: Any) -> Any:
            self._begin(number, name, args, kwargs, thing)
            answer = method(*args, **kwargs)
            self._end(number, name, answer)
            return answer

        held[name] = recorded
        undo.callback(held.pop, name, None)
        return True

    # --- one call ---

    def _running(self) -> list[tuple[int, int, str]]:
        """Return the calls of this thread that have begun: each its number, of which module and method."""
        if not hasattr(self._own, "running"):
            self._own.running = []
        running: list[tuple[int, int, str]] = self._own.running
        return running

    def _begin(self, module: int, method: str, args: Any, kwargs: Mapping[str, Any], part: Any) -> None:
        running = self._running()
        inputs = {f"arg{index}": value for index, value in enumerate(args)} | dict(kwargs)
        with self._lock:
            if len(self._calls) == MAX_TRACED_CALLS or len(self._values) > MAX_TRACED_VALUES - 2 * MAX_PARTS:
                self._is_cut = True
                running.append((_NOT_KEPT, module, method))
                return
            parent = next((call for call, *_ in reversed(running) if call >= 0), None)
            found = self._parts_of(inputs)
            number = len(self._calls)
            self._calls.append(TracedCall(module, method, parent, _terms(part, inputs), found, ()))
            self._order.append(number)
        running.append((number, module, method))
        if module in self._surrounded:
            self._surrounded[module].__enter__()

    def _end(self, module: int, method: str, output: Any) -> None:
        if module in self._surrounded:
            self._surrounded[module].__exit__(None, None, None)
        running = self._running()
        with self._lock:
            number, *which = running.pop()
            while which != [module, method]:  # it failed within this one, which went on
                self._order.append(number)
                number, *which = running.pop()
            if number == _NOT_KEPT:
                return
            self._order.append(number)
            call = self._calls[number]
            found = self._parts_of({"output": output})
            self._calls[number] = TracedCall(
                call.module, call.method, call.parent, call.terms, call.inputs, found
            )

    def _parts_of(self, named: Mapping[str, Any]) -> Parts:
        found: list[tuple[str, int]] = []
        for whole, inside in named.items():
            for name, value in _leaves(whole, inside):
                if len(found) == MAX_PARTS:
                    return tuple(found)
                try:
                    found.append((name[:_NAME], self._number_of(value)))
                except NoSummary:
                    continue
        return tuple(found)

    def _number_of(self, value: Any) -> int:
        """Return the number of a value; one that was seen just now, and not written to since, is not read."""
        version = _version_of(value)
        if version is not None:
            for known, then, number in self._recent:
                if known is value and then == version:
                    return number
        number = self._values.setdefault(summary_of(value), len(self._values))
        if version is not None:
            self._recent.append((value, version, number))
        return number


def _version_of(value: Any) -> int | None:
    """Return how often a tensor has been written to; None where that cannot be told."""
    try:
        version = value._version
    except (AttributeError, RuntimeError):  # in inference mode PyTorch does not count
        return None
    return version if type(version) is int else None


def _terms(part: Any, inputs: Mapping[str, Any]) -> int:
    """Return how many terms the sums in a call have: of its own weights, or along an axis of an input."""
    own = getattr(part, "_parameters", None)
    if isinstance(own, dict):
        sizes = [
            tuple(map(int, weight.shape))
            for weight in own.values()
            if weight is not None and len(getattr(weight, "shape", ())) > 1
        ]
        if sizes:
            return max(math.prod(shape) // max(shape[0], 1) for shape in sizes)
    shapes = [tuple(shape) for value in inputs.values() if isinstance(shape := _shape(value), tuple)]
    return max((size for shape in shapes for size in shape[1:] or shape), default=1)


def _shape(value: Any) -> Any:
    try:
        return tuple(map(int, value.shape))
    except (AttributeError, TypeError, ValueError):
        return None


def _leaves(name: str, value: Any, depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Yield what lies in a value, with names as in answers; lists of plain values are one value."""
    if depth > _DEEPEST:
        return
    inner: Iterable[tuple[object, Any]]
    if isinstance(value, Mapping):
        inner = value.items()
    elif isinstance(value, tuple | list):
        if value and set(map(type, value)) <= set(PLAIN):
            yield name, value
            return
        inner = enumerate(value)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        inner = [(field.name, getattr(value, field.name)) for field in dataclasses.fields(value)]
    elif all(hasattr(value, part) for part in _OF_SPARSE):  # a matrix of SciPy in rows or columns
        inner = [(part, getattr(value, part)) for part in _OF_SPARSE]
    else:
        yield name, value
        return
    for key, one in inner:
        yield from _leaves(f"{name}.{key}", one, depth + 1)
