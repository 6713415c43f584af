"""Every rule with a derivative is checked against numbers, at first and second order.

The samples are in conftest.py. A rule without one fails `test_every_differentiable_rule_has_a_sample`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import kellet
from kellet.autograd import grad, gradcheck, gradgradcheck
from kellet.core.dispatch import tensor_level
from kellet.rules import RULES, every_rule
from kellet.rules.rule import Context, raw
from tests.rules.conftest import of_each_sample
from tests.tables import one_test


def call_and_tensors(made: Any) -> tuple[Any, list[Any]]:
    """The rule as a function of the inputs that may carry a gradient, and those inputs."""
    values = [kellet.from_numpy(v.copy()) if isinstance(v, np.ndarray) else v for v in made.inputs]

    def call(*tensors: Any) -> Any:
        inputs = [*values]
        for i, tensor in zip(made.free, tensors, strict=True):
            inputs[i] = tensor
        return getattr(tensor_level, made.rule)(*inputs, **made.options)

    return call, [values[i].requires_grad_() for i in made.free]


@one_test
@of_each_sample
def test_first_derivative_agrees_with_differences(made: Any) -> None:
    call, tensors = call_and_tensors(made)
    assert gradcheck(call, tensors, atol=1e-6, rtol=1e-5)


@one_test
@of_each_sample
def test_second_derivative_agrees_with_differences(made: Any) -> None:
    call, tensors = call_and_tensors(made)
    assert gradgradcheck(call, tensors, atol=1e-5, rtol=1e-4)


@one_test
@of_each_sample
def test_recorded_gradients_equal_those_of_arrays(made: Any) -> None:
    """The fused short cuts on arrays against the composed form that `create_graph=True` runs."""
    call, tensors = call_and_tensors(made)
    results = call(*tensors)
    outputs = [out for out in (results if isinstance(results, tuple) else [results]) if out.requires_grad]
    flowing = [kellet.ones_like(out) * 0.7 for out in outputs]
    fast = grad(outputs, tensors, flowing, retain_graph=True, allow_unused=True)
    composed = grad(outputs, tensors, flowing, create_graph=True, allow_unused=True)
    for one, other in zip(fast, composed, strict=True):
        assert (one is None) == (other is None)
        if one is not None:
            np.testing.assert_allclose(one.numpy(), other.detach().numpy(), rtol=1e-10, atol=1e-12)


@one_test
@of_each_sample
def test_each_input_gets_the_same_gradient_when_asked_for_alone(made: Any) -> None:
    """A derivative may read only what was saved for the gradients that are asked for."""
    call, tensors = call_and_tensors(made)
    together = gradients(call, tensors, tensors)
    for i in range(len(tensors)):
        single = [tensor.detach() for tensor in tensors]
        single[i].requires_grad_()
        (alone,) = gradients(call, single, [single[i]])
        if alone is not None:
            np.testing.assert_array_equal(alone.numpy(), together[i].numpy())


def gradients(call: Any, tensors: list[Any], wanted: list[Any]) -> Any:
    results = call(*tensors)
    outputs = [out for out in (results if isinstance(results, tuple) else [results]) if out.requires_grad]
    flowing = [kellet.ones_like(out) * 0.7 for out in outputs]
    return grad(outputs, wanted, flowing, allow_unused=True)


@one_test
@of_each_sample
def test_inputs_are_left_as_they_are(made: Any) -> None:
    call, tensors = call_and_tensors(made)
    before = [tensor.detach().numpy().copy() for tensor in tensors]
    results = call(*tensors)
    outputs = [out for out in (results if isinstance(results, tuple) else [results]) if out.requires_grad]
    flowing = [kellet.ones_like(out) for out in outputs]
    grad(outputs, tensors, flowing, allow_unused=True)
    for tensor, array in zip(tensors, before, strict=True):
        np.testing.assert_array_equal(tensor.detach().numpy(), array)
    assert all((one.numpy() == 1).all() for one in flowing)


@one_test
@of_each_sample
def test_single_precision_stays_single(made: Any) -> None:
    """On the way back too, before a gradient is cast to the dtype of its value."""
    found, inputs = RULES[made.rule], [single(value) for value in made.inputs]
    options = {name: single(value) for name, value in made.options.items()}
    kept: dict[str, Any] = {}
    with np.errstate(all="ignore"):
        results = found.forward(*([kept] if found.keeps else []), *inputs, **options)
    outputs = [np.asarray(out) for out in (results if isinstance(results, tuple) else [results])]
    context = Context()
    context.inputs, context.outputs, context.options, context.kept = (
        tuple(inputs),
        tuple(outputs),
        options,
        kept,
    )
    context.shapes = tuple(np.shape(value) for value in inputs)
    context.needs = tuple(i in made.free for i in range(len(inputs)))
    flowing = [np.ones_like(out) if out.dtype.kind in "fc" else None for out in outputs]
    with np.errstate(all="ignore"):
        grads = [np.asarray(g) for g in found.backward(raw, context, *flowing) if g is not None]
    double = (np.float64, np.complex128)
    assert [a.dtype for a in (*outputs, *grads) if a.dtype in double and a.ndim] == []


def single(value: Any) -> Any:
    half = {np.dtype(np.float64): np.float32, np.dtype(np.complex128): np.complex64}
    if isinstance(value, np.ndarray):
        return value.astype(half.get(value.dtype, value.dtype))
    return np.dtype(half.get(value, value)) if isinstance(value, np.dtype) else value


def test_every_differentiable_rule_has_a_sample(samples: list[Any]) -> None:
    sampled = {made.rule for made in samples}
    assert [
        name for name, rule in every_rule().items() if rule.backward is not None and name not in sampled
    ] == []
