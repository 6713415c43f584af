"""What holds for the running thread: grad mode, saved-tensor hooks, the passes under way.

Every thread starts with gradients on and no saved-tensor hooks. `modes.odd` counts, over all
threads, how often that has been changed and not changed back: while it is 0 an operation need not
look at the thread's own state, which costs more than everything else it asks.
"""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable, Generator
from typing import Any, TypeVar

from ..rules.quiet import thread

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

PackHooks = tuple[Callable[[Any], Any], Callable[[Any], Any]]


class _Modes:
    __slots__ = ("anomaly", "odd")

    def __init__(self) -> None:
        self.odd = 0
        self.anomaly: tuple[bool, ...] = ()  # watched: whether for NaN; empty where it is not


class _State(threading.local):
    def __init__(self) -> None:  # once in every thread
        self.grad = True
        self.packing: tuple[PackHooks, ...] = ()
        self.packing_refused: tuple[str, ...] = ()
        self.passes: tuple[Task, ...] = ()


modes = _Modes()
state = _State()
_lock = threading.Lock()


def change_odd(by: int) -> None:
    """Count a change of some thread's state (1) or its undoing (-1)."""
    with _lock:
        modes.odd += by


def set_grad(enabled: bool) -> bool:
    """Switch gradients on or off in this thread; return what held before."""
    before = state.grad
    if before is not enabled:
        state.grad = enabled
        change_odd(-1 if enabled else 1)
    return before


def set_packing(packing: tuple[PackHooks, ...]) -> None:
    """Make these the saved-tensor hooks of this thread, the innermost last."""
    before = len(state.packing)
    state.packing = packing
    if len(packing) != before:
        change_odd(len(packing) - before)


class Task:
    """One run of backward, as the nodes that run in it see it: of one node alone, or a `Pass` over a graph.

    With `graph` gradients are Tensors that are recorded themselves, else they are ndarrays. With `keep`
    the nodes keep their saved values. `counts` says how many gradients still have to come for
    each node and leaf that takes part.
    """

    entered = False
    _callbacks: list[Callable[[], Any]] | None = None
    _grad_before = True
    _packing_before: tuple[PackHooks, ...] = ()

    def __init__(self, graph: bool, keep: bool) -> None:
        self.graph = graph
        self.keep = keep
        self.quietly = thread.run
        self.counts: dict[Any, int] = {}

    def queue(self, callback: Callable[[], Any]) -> None:
        """Call `callback` at the end."""
        if self._callbacks is None:
            self._callbacks = []
        self._callbacks.append(callback)

    def run_callbacks(self) -> None:
        """Call the queued functions, in order, and those that they queue."""
        for callback in self._callbacks or ():  # a list may grow while it is walked
            callback()

    def enter(self) -> None:
        """Set grad mode and show the task, before the first hook, custom function or Tensor operation.

        Here and in `leave` the thread's state is looked for once, and not by each of its names and by
        `set_grad`: 0.9 us in place of 1.2 for every pass that calls code of a user.
        """
        if self.entered:
            return
        self.entered = True
        own = state.__dict__
        self._packing_before = own["packing"]
        own["passes"] = (*own["passes"], self)
        self._grad_before = own["grad"]
        if self._grad_before is not self.graph:
            own["grad"] = self.graph
            change_odd(-1 if self.graph else 1)

    def leave(self) -> None:
        """Put back what `enter` changed, and what the code that ran left behind."""
        if not self.entered:
            return
        own = state.__dict__
        own["passes"] = own["passes"][:-1]
        if own["grad"] is not self._grad_before:
            own["grad"] = self._grad_before
            change_odd(-1 if self._grad_before else 1)
        if own["packing"] is not self._packing_before:
            set_packing(self._packing_before)


def is_grad_enabled() -> bool:
    """Say whether operations of this thread record a graph.

    >>> kellet.is_grad_enabled()
    True
    """
    return state.grad


class _GradMode:
    """A grad mode as a context manager and as a decorator of functions and generator functions."""

    _enabled: bool
    _before: bool

    def __new__(cls, function: Any = None) -> Any:
        """`@no_grad` without parentheses decorates at once."""
        made = super().__new__(cls)
        return made(function) if callable(function) else made

    def __enter__(self) -> None:
        self._before = set_grad(self._enabled)

    def __exit__(self, *exc: object) -> None:
        set_grad(self._before)

    def _fresh(self) -> _GradMode:
        """One context for each call, so that a decorated function may be re-entered."""
        fresh: _GradMode = type(self)()
        return fresh

    def __call__(self, function: Decorated) -> Decorated:
        if not callable(function):
            raise TypeError(f"{type(self).__name__} decorates functions, got {type(function).__name__}")
        wrapped: Any
        if inspect.isgeneratorfunction(function):

            @functools.wraps(function)
            def wrapped(*args: Any, **kwargs: Any) -> Any:
                return _steps(function(*args, **kwargs), self._fresh)

        else:

            @functools.wraps(function)
            def wrapped(*args: Any, **kwargs: Any) -> Any:
                with self._fresh():
                    return function(*args, **kwargs)

        return wrapped  # type: ignore[no-any-return]  # functools.wraps keeps the signature, unseen by types


def _steps(generator: Any, fresh: Callable[[], _GradMode]) -> Generator[Any, Any, Any]:
    """Run a generator with the mode on only while it computes, not while it is suspended."""
    send: Callable[[], Any] = lambda: next(generator)  # noqa: E731  # replaced at every step
    while True:
        try:
            with fresh():
                value = send()
        except StopIteration as stop:
            return stop.value
        try:
            sent = yield value
        except GeneratorExit:
            with fresh():
                generator.close()
            raise
        except BaseException as error:
            send = functools.partial(generator.throw, error)
        else:
            send = functools.partial(generator.send, sent)


class no_grad(_GradMode):
    """Record no graph: results do not require a gradient. A context manager or a decorator.

    Source: torch.no_grad.

    >>> import kellet
    >>> x = kellet.ones(2, requires_grad=True)
    >>> with kellet.no_grad():
    ...     (x * 2).requires_grad
    False
    """

    _enabled = False


class enable_grad(_GradMode):
    """Record a graph again, inside `no_grad`. A context manager or a decorator.

    Source: torch.enable_grad.

    >>> with kellet.no_grad(), kellet.enable_grad():
    ...     kellet.is_grad_enabled()
    True
    """

    _enabled = True


class inference_mode(_GradMode):
    """`no_grad` under the name of torch.inference_mode; `inference_mode(False)` changes nothing.

    Differs from PyTorch: tensors made inside may be used in a graph later.

    >>> with kellet.inference_mode():
    ...     kellet.is_grad_enabled()
    False
    """

    def __init__(self, mode: bool = True) -> None:
        self._mode = mode

    def __enter__(self) -> None:
        self._before = set_grad(state.grad and not self._mode)

    def _fresh(self) -> _GradMode:
        fresh: _GradMode = type(self)(self._mode)
        return fresh


class set_grad_enabled(_GradMode):
    """Switch gradients on or off at once; as a context manager, put back at the end.

    Source: torch.set_grad_enabled.

    >>> import kellet
    >>> with kellet.set_grad_enabled(False):
    ...     kellet.is_grad_enabled()
    False
    """

    def __init__(self, mode: bool) -> None:
        self._enabled = bool(mode)
        self._before = set_grad(self._enabled)

    def __enter__(self) -> None:
        set_grad(self._enabled)

    def __call__(self, function: Decorated) -> Decorated:
        set_grad(self._before)  # as a decorator it acts in calls only
        return super().__call__(function)

    def _fresh(self) -> _GradMode:
        return type(self)(self._enabled)
