"""`nn.utils` against torch's: norms, clipped gradients, and parameters as a vector."""

import pytest

pytest.importorskip("torch")

import math

import numpy as np
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import kellet
from kellet import nn

BOTH = ((kellet, nn), (torch, torch.nn))
SHAPES = st.lists(st.sampled_from([(), (0,), (1,), (3,), (2, 3), (4, 1, 2)]), min_size=1, max_size=4)


def leaves(library, shapes, dtype, scale, seed=0):
    rng = np.random.default_rng(seed)
    made = []
    for place, shape in enumerate(shapes):
        value = np.asarray(rng.standard_normal(shape) * scale, dtype)
        weight = library.from_numpy(np.zeros(shape, dtype)).requires_grad_()
        if place != 1:  # one of them was not used
            weight.grad = library.from_numpy(value)
        made.append(weight)
    return made


def gradients(weights):
    return [None if weight.grad is None else weight.grad.numpy() for weight in weights]


def same(ours, theirs, dtype):
    tolerance = 2e-6 if dtype == "f4" else 1e-12
    assert len(ours) == len(theirs)
    for mine, other in zip(ours, theirs, strict=True):
        assert (mine is None) == (other is None)
        if mine is not None:
            assert mine.dtype == other.dtype
            np.testing.assert_allclose(mine, other, rtol=tolerance, atol=tolerance)


@settings(max_examples=80, deadline=None)
@given(
    SHAPES,
    st.sampled_from(["f4", "f8"]),
    st.sampled_from([0.01, 1.0, 1000.0]),
    st.sampled_from([1.0, 2.0, 3.5, math.inf]),
    st.sampled_from([0.5, 2, 100.0]),
)
def test_norms_and_what_is_clipped_by_them_are_torchs(shapes, dtype, scale, order, most):
    assume(order != math.inf or (0,) not in shapes)  # torch has no such norm
    found = []
    for library, layers in BOTH:
        weights = leaves(library, shapes, dtype, scale)
        total = layers.utils.clip_grad_norm_(iter(weights), most, norm_type=order)
        found.append(([total.numpy()], gradients(weights)))
    (norm, ours), (expected, theirs) = found
    same(norm, expected, "f4" if dtype == "f4" else "f8")
    same(ours, theirs, dtype)


@settings(max_examples=40, deadline=None)
@given(SHAPES, st.sampled_from(["f4", "f8"]), st.sampled_from([0.1, 1, 3.0]))
def test_values_are_clipped_as_in_torch(shapes, dtype, most):
    found = []
    for library, layers in BOTH:
        weights = leaves(library, shapes, dtype, 2.0)
        assert layers.utils.clip_grad_value_(weights, most) is None
        found.append(gradients(weights))
    same(*found, dtype)


@pytest.mark.parametrize(("library", "layers"), BOTH, ids=["kellet", "torch"])
def test_a_norm_that_is_not_finite_is_refused_where_asked_before_anything_changed(library, layers):
    weights = leaves(library, [(2,)], "f4", 1.0)
    weights[0].grad[1] = math.nan
    before = weights[0].grad.numpy().copy()
    with pytest.raises(RuntimeError, match="for gradients from `parameters` is non-finite"):
        layers.utils.clip_grad_norm_(weights, 1.0, error_if_nonfinite=True)
    np.testing.assert_array_equal(weights[0].grad.numpy(), before)
    assert math.isnan(layers.utils.clip_grad_norm_(weights, 1.0).item())
    assert np.isnan(weights[0].grad.numpy()).all()


@pytest.mark.parametrize(("library", "layers"), BOTH, ids=["kellet", "torch"])
def test_one_tensor_is_taken_as_well_as_several_and_none_has_norm_zero(library, layers):
    (weight,) = leaves(library, [(3,)], "f8", 10.0)
    expected = np.linalg.norm(weight.grad.numpy())
    assert layers.utils.clip_grad_norm_(weight, 1.0).item() == pytest.approx(expected)
    assert np.linalg.norm(weight.grad.numpy()) == pytest.approx(1.0, rel=1e-5)
    assert layers.utils.clip_grad_norm_([], 1.0).item() == 0.0


@pytest.mark.parametrize(("library", "layers"), BOTH, ids=["kellet", "torch"])
def test_parameters_go_into_a_vector_and_back(library, layers):
    net = layers.Sequential(layers.Linear(2, 3), layers.Linear(3, 1))
    vector = layers.utils.parameters_to_vector(net.parameters())
    assert tuple(vector.shape) == (13,)
    (vector * vector).sum().backward()
    np.testing.assert_allclose(net[0].weight.grad.numpy(), 2 * net[0].weight.detach().numpy(), rtol=1e-6)
    fresh = library.from_numpy(np.arange(13, dtype="f4"))
    layers.utils.vector_to_parameters(fresh, net.parameters())
    assert net[0].weight.tolist() == [[0, 1], [2, 3], [4, 5]]
    assert net[1].bias.tolist() == [12]
    fresh[12] = -1.0
    assert net[1].bias.tolist() == [-1]


def test_a_vector_of_another_length_is_refused():
    weight = kellet.zeros(2, requires_grad=True)
    with pytest.raises(ValueError, match="found a vector of 3 values; the parameters have 2"):
        nn.utils.vector_to_parameters(kellet.zeros(3), [weight])
    with pytest.raises(TypeError, match="expected Tensor, but got: list"):
        nn.utils.vector_to_parameters([1.0, 2.0], [weight])
