"""Parametrised weights against torch's: state keys, values, gradients, training, and what is refused."""

import pytest

pytest.importorskip("torch")

import copy

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import kellet

TOLERANCE = {"float32": 1e-5, "float64": 1e-10}
LAYERS = {
    "Linear": (lambda nn: nn.Linear(4, 3), (5, 4)),
    "Conv2d": (lambda nn: nn.Conv2d(2, 3, (3, 2)), (2, 2, 5, 4)),
    "Conv1d": (lambda nn: nn.Conv1d(2, 4, 3, groups=2), (1, 2, 6)),
    "ConvTranspose2d": (lambda nn: nn.ConvTranspose2d(2, 3, 2), (1, 2, 3, 3)),
}


def spoken(library, how, module, **options):
    if how.startswith("old "):
        return getattr(library.nn.utils, how[4:])(module, **options)
    return getattr(library.nn.utils.parametrizations, how)(module, **options)


def made(how, layer, dtype, **options):
    make, shape = LAYERS[layer]
    pair = []
    for library in (torch, kellet):
        module = make(library.nn).to(getattr(library, dtype))
        pair.append(spoken(library, how, module, **options))
    theirs, ours = pair
    state = {name: kellet.from_numpy(v.numpy().copy()) for name, v in theirs.state_dict().items()}
    assert ours.load_state_dict(state) == ([], [])
    x = np.random.default_rng(0).standard_normal(shape).astype(dtype)
    return theirs, ours, x


def train(library, module, x, steps=3):
    optimizer = library.optim.SGD(module.parameters(), lr=0.1)
    values = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = (module(library.from_numpy(x)) ** 2).mean()
        loss.backward()
        optimizer.step()
        values.append(loss.item())
    return values


def same(theirs, ours, dtype):
    expected, found = theirs.state_dict(), ours.state_dict()
    assert list(found) == list(expected)
    for name, value in expected.items():
        tolerance = TOLERANCE[dtype]
        np.testing.assert_allclose(found[name].numpy(), value.numpy(), tolerance, tolerance, err_msg=name)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("how", ["old weight_norm", "old spectral_norm", "weight_norm", "spectral_norm"])
@pytest.mark.filterwarnings("ignore:.*_norm.* is deprecated:FutureWarning")
def test_keys_outputs_and_training_are_torchs(how, layer, dtype):
    theirs, ours, x = made(how, layer, dtype)
    assert [n for n, _ in ours.named_parameters()] == [n for n, _ in theirs.named_parameters()]
    assert repr(ours) == repr(theirs)
    np.testing.assert_allclose(
        train(kellet, ours, x), train(torch, theirs, x), rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype]
    )
    same(theirs, ours, dtype)
    theirs.eval()
    ours.eval()
    np.testing.assert_allclose(
        ours.weight.detach().numpy(), theirs.weight.detach().numpy(), rtol=TOLERANCE[dtype], atol=1e-7
    )


@settings(deadline=None, max_examples=20)
@given(dim=st.sampled_from([None, 0, 1]), how=st.sampled_from(["weight_norm", "spectral_norm"]))
def test_any_axis_is_torchs(dim, how):
    theirs, ours, x = made(how, "Conv2d", "float64", dim=dim)
    np.testing.assert_allclose(train(kellet, ours, x), train(torch, theirs, x), rtol=1e-9)
    same(theirs, ours, "float64")


@pytest.mark.parametrize("how", ["old weight_norm", "old spectral_norm", "weight_norm", "spectral_norm"])
@pytest.mark.filterwarnings("ignore:.*_norm.* is deprecated:FutureWarning")
def test_it_is_taken_off_again_with_the_value_that_it_had(how):
    theirs, ours, x = made(how, "Linear", "float64")
    train(torch, theirs, x)
    train(kellet, ours, x)
    for library, module in ((torch, theirs), (kellet, ours)):
        if how.startswith("old "):
            getattr(library.nn.utils, f"remove_{how[4:]}")(module)
        else:
            library.nn.utils.parametrize.remove_parametrizations(module, "weight")
    same(theirs, ours, "float64")
    assert type(ours) is kellet.nn.Linear
    assert repr(ours) == repr(theirs)
    train(torch, theirs, x)
    train(kellet, ours, x)
    same(theirs, ours, "float64")


def test_state_dicts_of_the_older_form_load():
    old = kellet.nn.utils.weight_norm(kellet.nn.Linear(4, 3))
    new = kellet.nn.Sequential(kellet.nn.utils.parametrizations.weight_norm(kellet.nn.Linear(4, 3)))
    new.load_state_dict({f"0.{name}": value for name, value in old.state_dict().items()})
    x = kellet.ones(2, 4)
    assert kellet.allclose(new(x), old(x))


def classes(library):
    class Symmetric(library.nn.Module):
        def forward(self, x):
            return x.triu() + x.triu(1).mT

        def right_inverse(self, x):
            return x.triu()

    class Doubled(library.nn.Module):
        def forward(self, x):
            return 2 * x

        def right_inverse(self, x):
            return x / 2

    class Bare(library.nn.Module):
        def forward(self, x):
            return x + 1

    return Symmetric, Doubled, Bare


def test_several_are_applied_in_order_and_setting_goes_back_through_them():
    values = []
    start = np.arange(9.0).reshape(3, 3)
    for library in (torch, kellet):
        parametrize = library.nn.utils.parametrize
        symmetric, doubled, _ = classes(library)
        net = library.nn.Linear(3, 3).double()
        with library.no_grad():
            net.weight.copy_(library.from_numpy(start.copy()))
        parametrize.register_parametrization(net, "weight", symmetric())
        parametrize.register_parametrization(net, "weight", doubled())
        first = net.weight.detach().numpy().copy()
        net.weight = library.from_numpy(start + start.T)
        values.append(
            [first, net.weight.detach().numpy(), net.parametrizations.weight.original.detach().numpy()]
        )
        assert parametrize.is_parametrized(net)
        assert parametrize.is_parametrized(net, "weight")
        assert not parametrize.is_parametrized(net, "bias")
        assert parametrize.type_before_parametrizations(net) is library.nn.Linear
        with parametrize.cached():
            assert net.weight is net.weight
        assert net.weight is not net.weight
        parametrize.remove_parametrizations(net, "weight", leave_parametrized=False)
        values[-1].append(net.weight.detach().numpy())
    for a, b in zip(*values, strict=True):
        np.testing.assert_array_equal(b, a)


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
