"""Threads: each with its own graphs, with common leaves, with one common graph."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import kellet

THREADS = 8
ROUNDS = 200


def together(work: Callable[[int], Any]) -> list[Any]:
    """Run `work(number)` in several threads at once; return what each returned."""
    start = threading.Barrier(THREADS)
    found: list[Any] = [None] * THREADS

    def body(number: int) -> None:
        start.wait()
        try:
            found[number] = work(number)
        except BaseException as error:
            found[number] = error

    threads = [threading.Thread(target=body, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def test_graphs_of_their_own() -> None:
    def work(number: int) -> float:
        x = kellet.tensor(float(number), requires_grad=True)
        for _ in range(ROUNDS):
            (x * x).backward()
        return x.grad.item()

    assert together(work) == [2.0 * number * ROUNDS for number in range(THREADS)]


def test_backward_into_common_leaves_loses_nothing() -> None:
    x = kellet.zeros(5, requires_grad=True)
    w = kellet.ones(5, requires_grad=True)

    def work(number: int) -> None:
        for _ in range(ROUNDS):
            (x + w).sum().backward()
            ((x + 1) * (w + 0)).sum().backward()

    assert together(work) == [None] * THREADS
    assert x.grad.tolist() == [2.0 * THREADS * ROUNDS] * 5
    assert w.grad.tolist() == [2.0 * THREADS * ROUNDS] * 5


def test_common_graph_that_is_retained() -> None:
    x = kellet.tensor(3.0, requires_grad=True)
    y = (x * x).exp().log()

    def work(number: int) -> None:
        for _ in range(ROUNDS):
            y.backward(retain_graph=True)

    assert together(work) == [None] * THREADS
    assert abs(x.grad.item() - 6.0 * THREADS * ROUNDS) < 0.5


def test_hooks_and_callbacks_belong_to_the_pass_of_their_thread() -> None:
    def work(number: int) -> list[Any]:
        x = kellet.tensor(float(number), requires_grad=True)
        seen: list[Any] = []

        def hook(grad: Any) -> None:
            kellet.autograd.queue_callback(lambda: seen.append((number, x.grad.item())))

        x.register_hook(hook)
        for _ in range(20):
            x.grad = None
            (x * 3).backward()
        return seen

    assert together(work) == [[(number, 3.0)] * 20 for number in range(THREADS)]


def test_hooks_come_and_go_while_others_run() -> None:
    x = kellet.tensor(1.0, requires_grad=True)

    def work(number: int) -> None:
        for _ in range(ROUNDS):
            with x.register_hook(lambda grad: grad * 1):
                (x * 2).backward()

    assert together(work) == [None] * THREADS
    assert x.grad.item() == 2.0 * THREADS * ROUNDS
    assert len(x._backward_hooks) == 0
