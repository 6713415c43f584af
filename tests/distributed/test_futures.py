"""A Future is set once; what waits for it, and what follows from it, sees the value or the error."""

from __future__ import annotations

import threading

import pytest

from kellet.futures import Future, collect_all, wait_all


def test_wait_returns_what_another_thread_sets() -> None:
    future: Future[int] = Future()
    thread = threading.Thread(target=lambda: future.set_result(3))
    thread.start()
    assert future.wait() == 3
    thread.join()
    assert future.done()


def test_value_of_a_future_that_is_not_done_is_an_error() -> None:
    future: Future[int] = Future()
    assert not future.done()
    with pytest.raises(RuntimeError, match=r"value\(\) can only be called after the future is done"):
        future.value()


def test_none_is_a_value() -> None:
    future: Future[None] = Future()
    future.set_result(None)
    assert future.done()
    assert future.wait() is None


def test_a_future_is_set_once() -> None:
    future: Future[int] = Future()
    future.set_result(1)
    with pytest.raises(RuntimeError, match="can only be set once"):
        future.set_result(2)
    with pytest.raises(RuntimeError, match="can only be set once"):
        future.set_exception(ValueError("no"))
    assert future.value() == 1


def test_an_error_is_raised_by_wait_and_value() -> None:
    future: Future[int] = Future()
    future.set_exception(ValueError("of the hook"))
    with pytest.raises(ValueError, match="of the hook"):
        future.wait()
    with pytest.raises(ValueError, match="of the hook"):
        future.value()


def test_only_an_exception_can_be_set_as_one() -> None:
    with pytest.raises(TypeError, match="'no' is of type str, not an Exception"):
        Future().set_exception("no")


def test_then_calls_with_the_future_and_takes_what_is_returned() -> None:
    future: Future[int] = Future()
    chained = future.then(lambda done: done.value() + 1).then(lambda done: done.value() * 10)
    assert not chained.done()
    future.set_result(1)
    assert chained.value() == 20
    assert future.then(lambda done: done is future).value()


def test_an_error_goes_through_then() -> None:
    future: Future[int] = Future()
    chained = future.then(lambda done: done.value() + 1)
    seen = future.then(lambda done: "called")
    future.set_exception(KeyError("k"))
    with pytest.raises(KeyError, match="k"):
        chained.wait()
    assert seen.value() == "called"


def test_callbacks_run_in_order_and_an_error_of_one_keeps_none_back() -> None:
    future: Future[int] = Future()
    seen: list[int] = []
    future.add_done_callback(lambda done: seen.append(1))
    future.add_done_callback(lambda done: 1 // 0)
    future.add_done_callback(lambda done: seen.append(done.value()))
    with pytest.raises(ZeroDivisionError):
        future.set_result(7)
    assert seen == [1, 7]
    future.add_done_callback(lambda done: seen.append(9))
    assert seen == [1, 7, 9]


@pytest.mark.parametrize("method", ["then", "add_done_callback"])
def test_what_is_not_callable_is_refused(method: str) -> None:
    with pytest.raises(TypeError, match="must be callable, got int"):
        getattr(Future(), method)(3)


def test_collect_all_waits_for_the_last_and_keeps_errors_in_their_futures() -> None:
    one: Future[int] = Future()
    other: Future[int] = Future()
    both = collect_all([one, other])
    other.set_exception(ValueError("of the other"))
    assert not both.done()
    one.set_result(1)
    assert both.value() == [one, other]
    with pytest.raises(ValueError, match="of the other"):
        wait_all([one, other])
    assert collect_all([]).value() == []
