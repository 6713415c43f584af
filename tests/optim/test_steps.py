"""The steps of SGD, Adam and AdamW, against the formulas written out in plain numbers."""

import math

import pytest

import kellet
from kellet.optim import SGD, Adam, AdamW
from tests.tables import one_test

GRADIENTS = [1.0, -2.0, 0.5, 3.0]


def run(kind, **options):
    """The values of one weight, from 1.0, after each of four steps."""
    weight = kellet.tensor([1.0], dtype=kellet.float64, requires_grad=True)
    optimizer = kind([weight], **options)
    values = []
    for gradient in GRADIENTS:
        weight.grad = kellet.tensor([gradient], dtype=kellet.float64)
        optimizer.step()
        values.append(weight.item())
    return values


def sgd(lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False, sign=1.0):
    value, buffer, values = 1.0, None, []
    for gradient in GRADIENTS:
        direction = sign * gradient + weight_decay * value
        if momentum:
            buffer = direction if buffer is None else momentum * buffer + (1 - dampening) * direction
            direction = direction + momentum * buffer if nesterov else buffer
        value -= lr * direction
        values.append(value)
    return values


def adam(lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0, amsgrad=False, decoupled=False, sign=1.0):
    value, mean, square, largest, values = 1.0, 0.0, 0.0, 0.0, []
    for step, given in enumerate(GRADIENTS, 1):
        gradient = sign * given
        if decoupled:
            value *= 1 - lr * weight_decay
        else:
            gradient += weight_decay * value
        mean = betas[0] * mean + (1 - betas[0]) * gradient
        square = betas[1] * square + (1 - betas[1]) * gradient**2
        largest = max(largest, square) if amsgrad else square
        scale = math.sqrt(largest) / math.sqrt(1 - betas[1] ** step) + eps
        value -= lr / (1 - betas[0] ** step) * mean / scale
        values.append(value)
    return values


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"weight_decay": 0.1},
        {"momentum": 0.9},
        {"momentum": 0.9, "dampening": 0.5, "weight_decay": 0.1},
        {"momentum": 0.9, "nesterov": True},
    ],
)
def test_sgd(options):
    assert run(SGD, lr=0.1, **options) == pytest.approx(sgd(0.1, **options), rel=1e-12)
    assert run(SGD, lr=0.1, maximize=True, **options) == pytest.approx(
        sgd(0.1, sign=-1.0, **options), rel=1e-12
    )


@pytest.mark.parametrize(
    "options",
    [{}, {"betas": (0.5, 0.7), "eps": 0.1}, {"weight_decay": 0.1}, {"amsgrad": True, "betas": (0.9, 0.5)}],
)
def test_adam(options):
    assert run(Adam, lr=0.1, **options) == pytest.approx(adam(0.1, **options), rel=1e-12)
    assert run(Adam, lr=0.1, maximize=True, **options) == pytest.approx(
        adam(0.1, sign=-1.0, **options), rel=1e-12
    )


@pytest.mark.parametrize("weight_decay", [0.0, 0.01, 0.5])
def test_adamw_decays_the_weight_apart_from_the_gradient(weight_decay):
    expected = adam(0.1, weight_decay=weight_decay, decoupled=True)
    assert run(AdamW, lr=0.1, weight_decay=weight_decay) == pytest.approx(expected, rel=1e-12)
    assert run(Adam, lr=0.1, weight_decay=weight_decay, decoupled_weight_decay=True) == pytest.approx(
        expected
    )


def test_adamw_decays_by_a_hundredth_of_the_step_unless_told():
    assert run(AdamW, lr=0.1) == run(AdamW, lr=0.1, weight_decay=0.01)


@pytest.mark.parametrize("kind", [SGD, Adam, AdamW])
def test_parameters_without_a_gradient_stay(kind):
    weight = kellet.ones(2, requires_grad=True)
    optimizer = kind([weight], lr=0.1, weight_decay=0.5)
    optimizer.step()
    assert weight.tolist() == [1.0, 1.0]
    assert not optimizer.state


@pytest.mark.parametrize("kind", [SGD, Adam, AdamW])
def test_step_calls_the_closure_with_gradients_on_and_answers_its_loss(kind):
    weight = kellet.ones(1, requires_grad=True)
    optimizer = kind([weight], lr=0.1)

    def closure():
        optimizer.zero_grad()
        loss = (weight * weight).sum()
        loss.backward()
        return loss

    with kellet.no_grad():
        assert optimizer.step(closure).item() == 1.0
    assert weight.item() < 1.0


@pytest.mark.parametrize("kind", [SGD, Adam, AdamW])
def test_step_keeps_dtype_memory_and_leaf_and_moves_the_version(kind):
    weight = kellet.ones(2, requires_grad=True)
    alias, version = weight.detach(), weight._version
    weight.grad = kellet.ones(2)
    kind([weight], lr=0.5, weight_decay=0.1).step()
    assert weight.dtype == kellet.float32
    assert weight.is_leaf
    assert alias.tolist() == weight.tolist() != [1.0, 1.0]
    assert weight._version > version


@pytest.mark.parametrize("kind", [SGD, Adam, AdamW])
def test_learning_rate_may_be_a_tensor(kind):
    assert run(kind, lr=kellet.tensor(0.25)) == run(kind, lr=0.25)


@one_test
@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        (SGD, {"lr": -1.0}, "Invalid learning rate: -1.0"),
        (SGD, {"momentum": -1.0}, "Invalid momentum: -1.0"),
        (SGD, {"weight_decay": -1.0}, "Invalid weight decay: -1.0"),
        (SGD, {"nesterov": True}, "Nesterov momentum requires a momentum and zero dampening"),
        (SGD, {"differentiable": True}, "differentiable steps are not supported"),
        (Adam, {"lr": float("nan")}, "Invalid learning rate: nan"),
        (Adam, {"eps": -1.0}, "Invalid epsilon value: -1.0"),
        (AdamW, {"betas": (1.0, 0.5)}, "Invalid beta parameter at index 0: 1.0"),
        (AdamW, {"betas": (0.5, -0.1)}, "Invalid beta parameter at index 1: -0.1"),
    ],
)
def test_options_out_of_range_are_refused(kind, options, message):
    with pytest.raises(ValueError, match=message):
        kind([kellet.ones(1, requires_grad=True)], **options)


@pytest.mark.parametrize("kind", [SGD, Adam, AdamW])
def test_parameters_without_dimensions_move_like_others(kind):
    options = {"lr": 0.1, "weight_decay": 0.1} | ({"momentum": 0.9} if kind is SGD else {"amsgrad": True})
    flat, single = kellet.tensor([1.0], requires_grad=True), kellet.tensor(1.0, requires_grad=True)
    optimizer = kind([flat, single], **options)
    for gradient in GRADIENTS:
        flat.grad, single.grad = kellet.tensor([gradient]), kellet.tensor(gradient)
        optimizer.step()
    assert single.shape == ()
    assert single.item() == pytest.approx(flat.item())
    assert single.item() != 1.0
