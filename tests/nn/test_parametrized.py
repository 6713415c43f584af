"""Parametrised weights: older state dicts, copies, buffers, and what is refused."""

import copy

import pytest

import kellet
import kellet.nn
from tests.answers.parametrized import classes


def test_state_dicts_of_the_older_form_load():
    old = kellet.nn.utils.weight_norm(kellet.nn.Linear(4, 3))
    new = kellet.nn.Sequential(kellet.nn.utils.parametrizations.weight_norm(kellet.nn.Linear(4, 3)))
    new.load_state_dict({f"0.{name}": value for name, value in old.state_dict().items()})
    x = kellet.ones(2, 4)
    assert kellet.allclose(new(x), old(x))


def test_a_copy_has_weights_of_its_own():
    net = kellet.nn.utils.parametrizations.weight_norm(kellet.nn.Linear(2, 2))
    other = copy.deepcopy(net)
    with kellet.no_grad():
        other.parametrizations.weight.original0.mul_(2)
    assert kellet.allclose(other.weight, net.weight * 2)


def test_a_buffer_can_be_parametrised():
    net = kellet.nn.BatchNorm1d(2)
    kellet.nn.utils.parametrize.register_parametrization(net, "running_mean", classes(kellet)[2]())
    assert net.running_mean.tolist() == [1.0, 1.0]
    assert "parametrizations.running_mean.original" in dict(net.named_buffers())


def test_what_does_not_fit_is_refused():
    parametrize = kellet.nn.utils.parametrize
    net = kellet.nn.Linear(2, 3)
    with pytest.raises(ValueError, match="may not change the dtype or the shape"):
        parametrize.register_parametrization(net, "weight", kellet.nn.Flatten(0))
    with pytest.raises(ValueError, match=r"does not have a parameter, a buffer, .* with name 'other'"):
        parametrize.register_parametrization(net, "other", kellet.nn.Identity())
    with pytest.raises(ValueError, match="does not have a parametrization on weight"):
        parametrize.remove_parametrizations(net, "weight")
    assert list(net.state_dict()) == ["weight", "bias"]
    parametrize.register_parametrization(net, "weight", classes(kellet)[2]())
    with pytest.raises(RuntimeError, match="Bare does not implement right_inverse"):
        net.weight = kellet.ones(3, 2)
    normed = kellet.nn.utils.parametrizations.weight_norm(kellet.nn.Linear(2, 3))
    with pytest.raises(ValueError, match="Cannot leave unparametrized"):
        parametrize.remove_parametrizations(normed, "weight", leave_parametrized=False)
    with pytest.raises(ValueError, match="Expected n_power_iterations to be positive"):
        kellet.nn.utils.parametrizations.spectral_norm(kellet.nn.Linear(2, 3), n_power_iterations=0)
    with pytest.raises(IndexError, match="Dimension out of range"):
        kellet.nn.utils.parametrizations.spectral_norm(kellet.nn.Linear(2, 3), dim=2)
    old = kellet.nn.utils.weight_norm(kellet.nn.Linear(2, 3))
    with pytest.raises(RuntimeError, match="Cannot register two weight_norm hooks"):
        kellet.nn.utils.weight_norm(old)
    with pytest.raises(ValueError, match="weight_norm of 'bias' not found"):
        kellet.nn.utils.remove_weight_norm(old, "bias")
    divided = kellet.nn.utils.spectral_norm(kellet.nn.Linear(2, 3))
    with pytest.raises(RuntimeError, match="Cannot register two spectral_norm hooks"):
        kellet.nn.utils.spectral_norm(divided)
    with pytest.raises(ValueError, match="spectral_norm of 'bias' not found"):
        kellet.nn.utils.remove_spectral_norm(divided, "bias")
    with pytest.raises(ValueError, match="Expected n_power_iterations to be positive"):
        kellet.nn.utils.spectral_norm(kellet.nn.Linear(2, 3), n_power_iterations=0)
