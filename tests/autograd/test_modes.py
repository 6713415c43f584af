"""Grad modes: as contexts, as decorators, by thread."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

import kellet


@pytest.fixture
def x() -> kellet.Tensor:
    return kellet.ones(1, requires_grad=True)


def test_no_grad_records_nothing_and_enable_grad_records_again(x: kellet.Tensor) -> None:
    with kellet.no_grad():
        assert not (x * 2).requires_grad
        assert not x.exp().requires_grad
        with kellet.enable_grad():
            assert (x * 2).requires_grad
        assert not kellet.is_grad_enabled()
    assert (x * 2).requires_grad


def test_mode_is_put_back_after_an_error() -> None:
    with pytest.raises(KeyError), kellet.no_grad():
        raise KeyError
    assert kellet.is_grad_enabled()


@pytest.mark.parametrize("decorate", [kellet.no_grad(), kellet.no_grad])
def test_decorated_function(x: kellet.Tensor, decorate: object) -> None:
    @decorate  # type: ignore[operator]  # both spellings decorate
    def double(x: kellet.Tensor) -> kellet.Tensor:
        return x * 2

    assert double.__name__ == "double"
    assert not double(x).requires_grad
    assert kellet.is_grad_enabled()


def test_decorated_generator_has_the_mode_only_while_it_computes(x: kellet.Tensor) -> None:
    @kellet.no_grad()
    def steps() -> Iterator[bool]:
        received = yield kellet.is_grad_enabled()
        assert received == "sent"
        yield kellet.is_grad_enabled()

    running = steps()
    assert next(running) is False
    assert kellet.is_grad_enabled()
    assert running.send("sent") is False  # type: ignore[attr-defined]  # a generator
    with pytest.raises(StopIteration):
        next(running)


def test_error_thrown_into_a_decorated_generator_reaches_it() -> None:
    @kellet.no_grad()
    def catches() -> Iterator[str]:
        try:
            yield "ready"
        except KeyError:
            yield f"caught, {kellet.is_grad_enabled()}"

    running = catches()
    next(running)
    assert running.throw(KeyError()) == "caught, False"  # type: ignore[attr-defined]  # a generator
    running.close()  # type: ignore[attr-defined]  # a generator


def test_set_grad_enabled_as_call_context_and_decorator() -> None:
    kellet.set_grad_enabled(False)
    assert not kellet.is_grad_enabled()
    kellet.set_grad_enabled(True)
    with kellet.set_grad_enabled(False):
        assert not kellet.is_grad_enabled()
    assert kellet.is_grad_enabled()

    @kellet.set_grad_enabled(False)
    def mode() -> bool:
        return kellet.is_grad_enabled()

    assert kellet.is_grad_enabled()
    assert mode() is False


def test_every_thread_has_a_mode_of_its_own(x: kellet.Tensor) -> None:
    found = []
    with kellet.no_grad():
        thread = threading.Thread(
            target=lambda: found.append((kellet.is_grad_enabled(), (x * 2).requires_grad))
        )
        thread.start()
        thread.join()
        assert not (x * 2).requires_grad
    assert found == [(True, True)]


def test_decorating_what_cannot_be_called() -> None:
    with pytest.raises(TypeError, match="no_grad decorates functions, got int"):
        kellet.no_grad()(3)


def test_inference_mode(x: kellet.Tensor) -> None:
    with kellet.inference_mode():
        y = x * 2
        assert not kellet.is_grad_enabled()
    with kellet.inference_mode(False):
        assert kellet.is_grad_enabled()

    @kellet.inference_mode()
    def mode() -> bool:
        return kellet.is_grad_enabled()

    assert mode() is False
    assert kellet.is_grad_enabled()
    assert not y.requires_grad
    assert (y * x).requires_grad
