"""A value that is set later, and callbacks that run once it is set.

Source: torch.futures, in whose place these names stand. Nothing here knows of processes: the futures of
collective operations (`kellet.distributed.Work`) say themselves where their callbacks run.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, TypeVar

__all__ = ["Future", "collect_all", "wait_all"]

T = TypeVar("T")
_LATER = object()


class Future(Generic[T]):
    """A value that will be set once.

    `devices` is accepted and ignored.

    Source: torch.futures.Future.

    >>> from kellet.futures import Future
    >>> answer = Future()
    >>> doubled = answer.then(lambda future: future.value() * 2)
    >>> answer.done()
    False
    >>> answer.set_result(21)
    >>> doubled.wait()
    42
    """

    def __init__(self, *, devices: Sequence[Any] | None = None) -> None:
        self._condition = threading.Condition()
        self._value: Any = _LATER
        self._error: BaseException | None = None
        self._callbacks: list[Callable[[], None]] = []

    def done(self) -> bool:
        """Say whether the value, or an error, has been set."""
        with self._condition:
            return self._is_set()

    def wait(self) -> T:
        """Wait until it is set; return the value, or raise the error."""
        with self._condition:
            while not self._is_set():
                self._condition.wait()
        return self._outcome()

    def value(self) -> T:
        """Return the value, or raise the error, of a future that is done.

        Raises RuntimeError for one that is not: `wait()` waits.
        """
        if not self.done():
            raise RuntimeError("value() can only be called after the future is done; wait() waits for it")
        return self._outcome()

    def set_result(self, result: T) -> None:
        """Set the value and run the callbacks, in this thread.

        Raises RuntimeError where one has been set before.
        """
        self._set(result, None)

    def set_exception(self, result: BaseException) -> None:
        """Set an error, which `wait()` and `value()` raise, in place of the value.

        Raises TypeError for a value that is not an exception, RuntimeError where something has been set
        before.
        """
        if not isinstance(result, BaseException):
            raise TypeError(f"{result!r} is of type {type(result).__name__}, not an Exception")
        self._set(None, result)

    def add_done_callback(self, callback: Callable[[Future[T]], Any]) -> None:
        """Call `callback(future)` when it is set; at once if it is set already. Its return value is ignored.

        An error that it raises is raised where the value is set; the other callbacks run before.

        Raises TypeError for a value that is not callable.
        """
        _require_callable(callback)
        self._when_set(lambda: callback(self))

    def then(self, callback: Callable[[Future[T]], Any]) -> Future[Any]:
        """Return a future of `callback(future)`, which is called when this one is set; at once where it is.

        An exception of the callback becomes the error of the new future. The callback is called for an error,
        too: `future.value()` raises it there.

        Raises TypeError for a value that is not callable.
        """
        _require_callable(callback)
        child: Future[Any] = Future()
        self._when_set(lambda: child._set_by(lambda: callback(self)))
        return child

    # --- for subclasses ---------------------------------------------------------------------------

    def _is_set(self) -> bool:
        return self._value is not _LATER or self._error is not None

    def _outcome(self) -> T:
        if self._error is not None:
            raise self._error
        value: T = self._value
        return value

    def _set(self, value: Any, error: BaseException | None) -> None:
        with self._condition:
            if self._is_set():
                raise RuntimeError("Future can only be set once; make a new Future for another value")
            self._value, self._error = value, error
            callbacks, self._callbacks = self._callbacks, []
            self._condition.notify_all()
        _call_all(callbacks)

    def _set_by(self, work: Callable[[], T]) -> None:
        try:
            value = work()
        except BaseException as error:
            self._set(None, error)
        else:
            self._set(value, None)

    def _when_set(self, call: Callable[[], None]) -> None:
        with self._condition:
            if not self._is_set():
                self._callbacks.append(call)
                return
        call()


def collect_all(futures: Iterable[Future[Any]]) -> Future[list[Future[Any]]]:
    """Return a future of the list of all futures, set when the last one is.

    Errors stay in their futures: the `value()` of each one raises its own.

    Source: torch.futures.collect_all.

    >>> from kellet.futures import Future, collect_all
    >>> first, second = Future(), Future()
    >>> both = collect_all([first, second])
    >>> first.set_result(1), both.done(), second.set_result(2), both.done()
    (None, False, None, True)
    >>> [future.value() for future in both.wait()]
    [1, 2]
    """
    all_of_them = list(futures)
    collected: Future[list[Future[Any]]] = Future()
    left = [len(all_of_them)]
    lock = threading.Lock()

    def one_is_set(_: Future[Any]) -> None:
        with lock:
            left[0] -= 1
            last = left[0] == 0
        if last:
            collected.set_result(all_of_them)

    for future in all_of_them:
        future.add_done_callback(one_is_set)
    if not all_of_them:
        collected.set_result([])
    return collected


def wait_all(futures: Iterable[Future[Any]]) -> list[Any]:
    """Wait for all futures; return the list of their values.

    Raises the first error, in the order of the list, when all are done.

    Source: torch.futures.wait_all.

    >>> from kellet.futures import Future, wait_all
    >>> ready = Future()
    >>> ready.set_result("here")
    >>> wait_all([ready, ready])
    ['here', 'here']
    """
    return [future.wait() for future in collect_all(futures).wait()]


def _require_callable(callback: object) -> None:
    """Raise TypeError for a callback that cannot be called.

    >>> _require_callable(print)
    """
    if not callable(callback):
        raise TypeError(f"a callback of a Future must be callable, got {type(callback).__name__}")


def _call_all(callbacks: Sequence[Callable[[], None]]) -> None:
    """Call each of them, and raise the first error at the end."""
    failure: BaseException | None = None
    for callback in callbacks:
        try:
            callback()
        except BaseException as error:
            failure = failure or error
    if failure is not None:
        raise failure
