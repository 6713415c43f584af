"""Starting a backward pass, and the functions that code inside a pass may call.

`passes.py` says what happens in a pass, step by step.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from ..errors import GradientError
from ..hooks import require_callable
from .anomaly_mode import WatchedPass
from .modes import Task, modes, set_grad, set_packing, state
from .node import Target
from .passes import Pass
from .variable import Variable
from .wanted import Wanted

NESTED_IN_ONE_THREAD = 32
"""Passes started by hooks and custom functions of passes: deeper ones move to a fresh thread, whose
stack is empty."""


def run_pass(
    roots: Sequence[tuple[Target, Any]], *, graph: bool, keep: bool, wanted: Wanted | None = None
) -> list[Any]:
    """Run one backward pass from `roots`, each with its gradient (Tensors when `graph`, else arrays).

    `keep` retains the saved values of the nodes. `wanted` restricts the pass to the way to some inputs.
    Returns the captured gradients.
    """
    task = _pass_class()(graph, keep, wanted)
    depth = len(state.passes)
    if depth and depth % NESTED_IN_ONE_THREAD == 0:
        _in_fresh_thread(lambda: task.run(roots))
    else:
        task.run(roots)
    return task.captured


def _pass_class() -> type[Pass]:
    return WatchedPass if modes.odd and modes.anomaly == (True,) else Pass


def queue_callback(callback: Callable[[], Any]) -> None:
    """Call `callback()` at the end of the backward pass that is running, the innermost one.

    By then all gradients are stored. A callback may queue another. When the pass fails they are
    dropped; when a callback raises, the rest do not run.

    Raises GradientError outside of backward, TypeError for a value that is not callable.

    Source: Variable._execution_engine.queue_callback of PyTorch.

    >>> x = kellet.ones(1, requires_grad=True)
    >>> handle = x.register_hook(lambda grad: kellet.autograd.queue_callback(lambda: print("the end")))
    >>> (x * 2).backward()
    the end
    """
    require_callable(callback)
    if not state.passes:
        raise GradientError(
            "Final callbacks can only be installed during backward pass; queue them from a hook or from "
            "the backward of a custom Function"
        )
    state.passes[-1].queue(callback)


class ExecutionEngine:
    """`Variable._execution_engine`, where code written for PyTorch looks for `queue_callback`."""

    queue_callback = staticmethod(queue_callback)


Variable._execution_engine = ExecutionEngine()


def current_pass() -> Task | None:
    """Return the innermost pass that called the running hook or function."""
    return state.passes[-1] if state.passes else None


def _in_fresh_thread(work: Callable[[], None]) -> None:
    """Run `work` on an empty stack, with the state of this thread, and wait for it."""
    passes, packing, refused, enabled = state.passes, state.packing, state.packing_refused, state.grad
    failure: list[BaseException] = []

    def body() -> None:
        state.passes, state.packing_refused = passes, refused
        set_packing(packing)
        set_grad(enabled)
        try:
            work()
        except BaseException as error:
            failure.append(error)
        finally:
            set_packing(())
            set_grad(True)

    thread = threading.Thread(target=body, name="kellet-nested-backward")
    thread.start()
    thread.join()
    if failure:
        raise failure[0]
