"""Grad modes: as contexts, as decorators, by thread."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

import kedge


@pytest.fixture
def x() -> kedge.Tensor:
    return kedge.ones(1, requires_grad=True)


def test_no_grad_records_nothing_and_enable_grad_records_again(x: kedge.Tensor) -> None:
    with kedge.no_grad():
        assert not (x * 2).requires_grad
        assert not x.exp().requires_grad
        with kedge.enable_grad():
            assert (x * 2).requires_grad
        assert not kedge.is_grad_enabled()
    assert (x * 2).requires_grad


def test_mode_is_put_back_after_an_error() -> None:
    with pytest.raises(KeyError), kedge.no_grad():
        raise KeyError
    assert kedge.is_grad_enabled()


@pytest.mark.parametrize("decorate", [kedge.no_grad(), kedge.no_grad])
def test_decorated_function(x: kedge.Tensor, decorate: object) -> None:
    @decorate  # type: ignore[operator]  # both spellings decorate
    def double(x: kedge.Tensor) -> kedge.Tensor:
        return x * 2

    assert double.__name__ == "double"
    assert not double(x).requires_grad
    assert kedge.is_grad_enabled()


def test_decorated_generator_has_the_mode_only_while_it_computes(x: kedge.Tensor) -> None:
    @kedge.no_grad()
    def steps() -> Iterator[bool]:
        received = yield kedge.is_grad_enabled()
        assert received == "sent"
        yield kedge.is_grad_enabled()

    running = steps()
    assert next(running) is False
    assert kedge.is_grad_enabled()
    assert running.send("sent") is False  # type: ignore[attr-defined]  # a generator
    with pytest.raises(StopIteration):
        next(running)


def test_error_thrown_into_a_decorated_generator_reaches_it() -> None:
    @kedge.no_grad()
    def catches() -> Iterator[str]:
        try:
            yield "ready"
        except KeyError:
            yield f"caught, {kedge.is_grad_enabled()}"

    running = catches()
    next(running)
    assert running.throw(KeyError()) == "caught, False"  # type: ignore[attr-defined]  # a generator
    running.close()  # type: ignore[attr-defined]  # a generator


def test_set_grad_enabled_as_call_context_and_decorator() -> None:
    kedge.set_grad_enabled(False)
    assert not kedge.is_grad_enabled()
    kedge.set_grad_enabled(True)
    with kedge.set_grad_enabled(False):
        assert not kedge.is_grad_enabled()
    assert kedge.is_grad_enabled()

    @kedge.set_grad_enabled(False)
    def mode() -> bool:
        return kedge.is_grad_enabled()

    assert kedge.is_grad_enabled()
    assert mode() is False


def test_every_thread_has_a_mode_of_its_own(x: kedge.Tensor) -> None:
    found = []
    with kedge.no_grad():
        thread = threading.Thread(
            target=lambda: found.append((kedge.is_grad_enabled(), (x * 2).requires_grad))
        )
        thread.start()
        thread.join()
        assert not (x * 2).requires_grad
    assert found == [(True, True)]


def test_decorating_what_cannot_be_called() -> None:
    with pytest.raises(TypeError, match="no_grad decorates functions, got int"):
        kedge.no_grad()(3)


def test_inference_mode(x: kedge.Tensor) -> None:
    with kedge.inference_mode():
        y = x * 2
        assert not kedge.is_grad_enabled()
    with kedge.inference_mode(False):
        assert kedge.is_grad_enabled()

    @kedge.inference_mode()
    def mode() -> bool:
        return kedge.is_grad_enabled()

    assert mode() is False
    assert kedge.is_grad_enabled()
    assert not y.requires_grad
    assert (y * x).requires_grad
