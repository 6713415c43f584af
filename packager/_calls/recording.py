"""Recording a trace: forward hooks on modules, and the methods of estimators wrapped, for one call.

The hooks are those that anybody can register, and are removed after the call. They change nothing: what a
module takes is looked at before it runs, since it may write to it, and what it gives after its own hooks.
"""

from __future__ import annotations

import math
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial, wraps
from typing import Any, Final, NamedTuple

from packager._archive import MAX_MODULE_PATH, MAX_TRACED_CALLS, MAX_TRACED_VALUES
from packager._names import demangle
from packager._tensors import library_of_class

from .array_calls import PLAIN, holds_others, members
from .entry_methods import has_method
from .evaluation import CONTAINERS, EXACTLY_PLAIN, is_foreign, module_classes, modules_in
from .traced_values import TracedValues
from .traces import MAX_PARTS, NoSummary, Trace, TracedCall, TracedModule

_NAME: Final = 200
_DEEPEST: Final = 20
_NOT_KEPT: Final = -1
_OF_SPARSE: Final = ("data", "indices", "indptr")


@contextmanager
def tracing(
    thing: object, modules: Sequence[Any] | None = None, *, recorder: Recorder | None = None
) -> Iterator[Recorder]:
    """Record every call of the modules and estimators in `thing` that the block makes.

    They are recorded with `recorder`, by default a new one; `modules` are those that `in_mode` found, by
    default they are looked for. Nothing of `thing` is changed after the block.
    What a compiled graph calls within itself is not seen.

    >>> import kellet
    >>> from kellet.nn import Linear, ReLU, Sequential
    >>> net = Sequential(Linear(2, 2), ReLU())
    >>> with tracing(net) as recorder:
    ...     answer = net(kellet.ones(1, 2))
    >>> [module.path for module in recorder.trace().modules]
    ['', '0', '1']
    """
    recorder = Recorder() if recorder is None else recorder
    undo: list[Callable[[], object]] = []
    parts = traced_parts(thing, modules)  # all of them before there are hooks, which would be walked through
    try:
        for part in parts:
            recorder.watch(part, undo)
        yield recorder
    finally:
        for step in reversed(undo):
            step()


class Recorder:
    """What is seen of a call, from any thread. `trace()` gives it as a record."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._own = threading.local()
        self._parts: list[TracedPart] = []
        self._calls: list[_Call] = []
        self._order: list[int] = []
        self._values = TracedValues()
        self._arrays: dict[type, bool] = {}
        self._is_cut = False
        self._surrounded: dict[int, AbstractContextManager[Any]] = {}

    def trace(self) -> Trace:
        """Return what was recorded; a call that failed ended where the one around it did."""
        with self._lock:
            order = tuple(self._order)
            if len(order) < 2 * len(self._calls):
                unended = [number for number, times in Counter(order).items() if times == 1]
                order = (*order, *reversed(unended))
            terms = _Terms(self._parts)
            calls = tuple(
                [
                    TracedCall(
                        one.module,
                        one.method,
                        one.parent,
                        terms.of(one),
                        tuple(one.inputs),
                        tuple(one.outputs),
                    )
                    for one in self._calls
                ]
            )
            values = tuple(self._values.summaries)
            return Trace(_traced_modules(self._parts), values, calls, order, self._is_cut)

    def part(self, path: str) -> Any:
        """Return the part of a path; None where there is none."""
        return next((one.part for one in self._parts if one.path == path), None)

    def surround(self, path: str, block: AbstractContextManager[Any]) -> None:
        """Enter a block whenever the part of that path begins, and leave it when it ends."""
        self._surrounded[next(number for number, one in enumerate(self._parts) if one.path == path)] = block

    def watch(self, part: TracedPart, undo: list[Callable[[], object]]) -> None:
        """Register hooks on a part, or wrap its methods; what takes them off again goes to `undo`."""
        number = len(self._parts)
        if part.methods:
            wrapped = [name for name in part.methods if self._wrap(number, part.part, name, undo)]
            if not wrapped:
                return
        elif not self._hook(number, part.part, undo):
            return
        self._parts.append(part)

    def _hook(self, number: int, module: Any, undo: list[Callable[[], object]]) -> bool:
        def before(module: Any, args: Any, kwargs: Any) -> None:
            self._begin(number, "", args, kwargs)

        def after(module: Any, args: Any, output: Any) -> None:
            self._end(number, "", output)

        handles = []
        try:
            handles.append(module.register_forward_pre_hook(before, with_kwargs=True))
            handles.append(module.register_forward_hook(after))
        except (RuntimeError, AttributeError):  # compiled parts of PyTorch take none
            return False
        finally:
            undo += [handle.remove for handle in handles]
        return True

    def _wrap(self, number: int, thing: Any, name: str, undo: list[Callable[[], object]]) -> bool:
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
            self._begin(number, name, args, kwargs)
            answer = method(*args, **kwargs)
            self._end(number, name, answer)
            return answer

        held[name] = recorded
        undo.append(partial(held.pop, name, None))
        return True

    # --- one call ---

    def _running(self) -> list[tuple[int, int, str]]:
        """Return the calls of this thread that have begun: each its number, of which module and method."""
        try:
            running: list[tuple[int, int, str]] = self._own.running
        except AttributeError:
            running = self._own.running = []
        return running

    def _begin(self, module: int, method: str, args: Any, kwargs: Mapping[str, Any]) -> None:
        running = self._running()
        with self._lock:
            running.append((self._begun(module, method, args, kwargs, running), module, method))
        if module in self._surrounded:
            self._surrounded[module].__enter__()

    def _begun(
        self, module: int, method: str, args: Any, kwargs: Mapping[str, Any], running: list[Any]
    ) -> int:
        """Note that a call has begun; return its number."""
        number = len(self._calls)
        if number == MAX_TRACED_CALLS or len(self._values.summaries) > MAX_TRACED_VALUES - 2 * MAX_PARTS:
            self._is_cut = True
            return _NOT_KEPT
        # What runs in a call that is not kept is not kept, either.
        parent = running[-1][0] if running else None
        inputs: list[tuple[str, int]] = []
        shapes = []
        for index, value in enumerate(args):
            shapes.append(_shape(value))
            self._add_parts(inputs, f"arg{index}", value)
        for name, value in kwargs.items():
            shapes.append(_shape(value))
            self._add_parts(inputs, name, value)
        self._calls.append(_Call(module, method, parent, shapes, inputs))
        self._order.append(number)
        return number

    def _end(self, module: int, method: str, output: Any) -> None:
        if module in self._surrounded:
            self._surrounded[module].__exit__(None, None, None)
        running = self._running()
        with self._lock:
            number, own, called = running.pop()
            while own != module or called != method:  # it failed within this one, which went on
                self._order.append(number)
                number, own, called = running.pop()
            if number == _NOT_KEPT:
                return
            self._order.append(number)
            self._add_parts(self._calls[number].outputs, "output", output)

    def _add_parts(self, found: list[tuple[str, int]], whole: str, inside: Any) -> None:
        """Put the parts of a value behind those of the call that were found, with the numbers of values."""
        cls = type(inside)
        is_array = self._arrays.get(cls)
        if is_array is None:
            is_array = self._arrays[cls] = library_of_class(cls) != "numpy" and hasattr(cls, "_version")
        if is_array:  # by far the most
            if len(found) < MAX_PARTS:
                try:
                    found.append((whole[:_NAME], self._values.number_of(inside)))
                except NoSummary:
                    return
            return
        for name, value in _leaves(whole, inside):
            if len(found) == MAX_PARTS:
                return
            try:
                found.append((name[:_NAME], self._values.number_of(value)))
            except NoSummary:
                continue


def _traced_modules(parts: Sequence[TracedPart]) -> tuple[TracedModule, ...]:
    kinds: dict[type, str] = {}
    found = []
    for part in parts:
        cls = type(part.part)
        kind = kinds.get(cls)
        if kind is None:
            kind = kinds[cls] = f"{demangle(cls.__module__)}:{cls.__qualname__}"[:MAX_MODULE_PATH]
        found.append(TracedModule(part.path, kind))
    return tuple(found)


class _Call:
    """A call that has begun: as a `TracedCall`, with the shapes of inputs. Outputs are there at its end."""

    __slots__ = ("inputs", "method", "module", "outputs", "parent", "shapes")

    def __init__(
        self,
        module: int,
        method: str,
        parent: int | None,
        shapes: list[tuple[int, ...] | None],
        inputs: list[tuple[str, int]],
    ) -> None:
        self.module, self.method, self.parent, self.shapes = module, method, parent, shapes
        self.inputs = inputs
        self.outputs: list[tuple[str, int]] = []


class _Terms:
    """How many terms the sums in a call have: of its module's own weights, or along an axis of an input."""

    def __init__(self, parts: Sequence[TracedPart]) -> None:
        self._parts = parts
        self._of_weights: dict[int, int] = {}

    def of(self, call: _Call) -> int:
        """Return the number of a call."""
        own = self._of_weights.get(call.module)
        if own is None:
            own = self._of_weights[call.module] = _terms_of_weights(self._parts[call.module].part)
        if own:
            return own
        return max([max(shape[1:] or shape) for shape in call.shapes if shape], default=1)


def _terms_of_weights(part: Any) -> int:
    """Return how many terms a sum with the weights of a module has; 0 for one without."""
    own = getattr(part, "_parameters", None)
    if not own or not isinstance(own, dict):
        return 0
    most = 0
    for weight in own.values():
        shape = None if weight is None else _shape(weight)
        if shape is not None and len(shape) > 1:
            most = max(most, math.prod(shape) // max(shape[0], 1))
    return most


def _shape(value: Any) -> tuple[int, ...] | None:
    try:
        shape = value.shape
        return shape if isinstance(shape, tuple) else tuple(map(int, shape))
    except (AttributeError, TypeError, ValueError):
        return None


def _leaves(name: str, value: Any, depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Yield what lies in a value, with names as in answers; lists of plain values are one value."""
    if depth > _DEEPEST:
        return
    if isinstance(value, tuple | list) and value and set(map(type, value)) <= set(PLAIN):
        yield name, value
    elif holds_others(value):
        for key, one in members(value):
            yield from _leaves(f"{name}.{key}", one, depth + 1)
    elif all(hasattr(value, part) for part in _OF_SPARSE):  # a matrix of SciPy in rows or columns
        for part in _OF_SPARSE:
            yield from _leaves(f"{name}.{part}", getattr(value, part), depth + 1)
    else:
        yield name, value


METHODS: Final = (
    *("transform", "predict", "predict_proba", "predict_log_proba", "decision_function", "score_samples"),
)
"""The methods of estimators that are traced: those that compute what a fitted one answers."""

_MOST_SEEN: Final = 1 << 18
_PLAIN: Final = (str, bytes, int, float, complex, type(None), type)


class TracedPart(NamedTuple):
    """A part, its path, and the methods of it that are traced: none for a module, which is called itself."""

    path: str
    part: Any
    methods: tuple[str, ...] = ()


def traced_parts(thing: object, modules: Sequence[Any] | None = None) -> list[TracedPart]:
    """Return the modules and estimators in `thing`, itself with the path "".

    What is reached in two ways has the shorter path. Modules that only functions lead to, by a closure or a
    global name, come last, under the names of their classes: `modules` are all that `modules_in` finds, for
    who has looked for them already. Nothing of theirs is run.

    >>> from kellet.nn import Linear, ReLU, Sequential
    >>> [one.path for one in traced_parts(Sequential(Linear(2, 2), ReLU()))]
    ['', '0', '1']
    """
    classes = module_classes()
    seen: dict[int, Any] = {}
    found: list[TracedPart] = []
    waiting: deque[tuple[str, Any]] = deque([("", thing)])
    while waiting and len(seen) < _MOST_SEEN and len(found) < MAX_TRACED_CALLS:
        path, one = waiting.popleft()
        if id(one) in seen or len(path) > MAX_MODULE_PATH:
            continue
        seen[id(one)] = one
        cls = type(one)
        is_module = issubclass(cls, classes)
        methods = () if is_module else _methods(cls)
        if is_module or methods:
            found.append(TracedPart(path, one, methods))
        start = f"{path}." if path else ""
        if issubclass(cls, dict | list | tuple):
            waiting.extend((f"{start}{name}", value) for name, value in _members(one) if _may_hold(value))
            if not is_module and not methods:
                continue
        if is_module or methods or not is_foreign(cls.__module__):
            waiting.extend((f"{start}{name}", value) for name, value in _attributes(one))
    for number, module in enumerate(modules_in(thing) if modules is None else modules):
        if id(module) not in seen and len(found) < MAX_TRACED_CALLS:
            found.append(TracedPart(f"<{type(module).__name__} {number}>", module))
    return found


def _methods(cls: type) -> tuple[str, ...]:
    """Return the methods of a class of estimators that are traced; none for one of anything else."""
    if issubclass(cls, type) or not callable(getattr(cls, "fit", None)):
        return ()
    return tuple(name for name in METHODS if has_method(cls, name))


def _members(thing: Any) -> Iterator[tuple[Any, Any]]:
    """Yield what lies in a container by key, by the name that it has in a list of pairs, or by position."""
    if issubclass(type(thing), dict):
        yield from dict.items(thing)
        return
    for number, value in enumerate(thing):
        if type(value) is tuple and len(value) > 1 and type(value[0]) is str:
            yield value[0], value[1]
        else:
            yield number, value


def _attributes(thing: Any) -> Iterator[tuple[Any, Any]]:
    """Yield submodules, and the attributes of a thing in which something may be found."""
    try:
        held = object.__getattribute__(thing, "__dict__")
    except (AttributeError, TypeError):
        return
    inner = dict.get(held, "_modules")
    if inner and isinstance(inner, dict):
        yield from dict.items(inner)
    yield from (
        (name, value)
        for name, value in dict.items(held)
        if _may_hold(value) and name not in ("_parameters", "_buffers", "_modules")
    )


def _may_hold(value: Any) -> bool:
    """Say whether something may be found in a value: not in arrays, texts, numbers and empty containers."""
    cls = type(value)
    if cls in EXACTLY_PLAIN or (cls in CONTAINERS and not value):
        return False
    if issubclass(cls, dict | list | tuple):
        return True
    return not issubclass(cls, _PLAIN) and not hasattr(cls, "dtype")
