"""Optimisers against torch's: the weights after some steps, the states, and the events of all hooks."""

import pytest

pytest.importorskip("torch")

import importlib

import numpy as np
import torch

import kellet
import kellet.optim
from packager import PackageImporter
from packager.cli import main

OPTIMISERS = {
    "SGD": [
        {},
        {"momentum": 0.9},
        {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1},
        {"maximize": True},
    ],
    "Adam": [
        {},
        {"weight_decay": 0.1},
        {"amsgrad": True, "betas": (0.8, 0.6)},
        {"maximize": True, "eps": 1e-3},
    ],
    "RMSprop": [
        {},
        {"momentum": 0.9, "weight_decay": 0.1},
        {"centered": True, "alpha": 0.8, "eps": 1e-3},
        {"centered": True, "momentum": 0.5, "maximize": True},
    ],
    "Adagrad": [
        {},
        {"lr_decay": 0.1, "weight_decay": 0.1},
        {"initial_accumulator_value": 0.5, "eps": 1e-3, "maximize": True},
    ],
    "AdamW": [{}, {"weight_decay": 0.5}, {"amsgrad": True}, {"maximize": True}],
}
CASES = [(name, options) for name, several in OPTIMISERS.items() for options in several]


def run(library, from_numpy, name, options, steps=5, state=None):
    rng = np.random.default_rng(0)
    weights = [from_numpy(rng.standard_normal(shape)).requires_grad_() for shape in ((3, 2), (4,))]
    groups = [{"params": weights[:1]}, {"params": weights[1:], "lr": 0.5}]
    optimizer = getattr(library.optim, name)(groups, lr=0.1, **options)
    if state is not None:
        optimizer.load_state_dict(state)
    for _ in range(steps):
        for weight in weights:
            weight.grad = from_numpy(rng.standard_normal(tuple(weight.shape)))
        optimizer.step()
    return weights, optimizer


@pytest.mark.parametrize(("name", "options"), CASES)
def test_weights_and_states_are_torchs(name, options):
    expected, theirs = run(torch, torch.from_numpy, name, options)
    found, ours = run(kellet, kellet.from_numpy, name, options)
    for a, b in zip(expected, found, strict=True):
        np.testing.assert_allclose(b.detach().numpy(), a.detach().numpy(), rtol=1e-10, atol=1e-12)
    their_state, our_state = theirs.state_dict(), ours.state_dict()
    assert list(our_state["state"]) == list(their_state["state"])
    for key, values in their_state["state"].items():
        assert list(our_state["state"][key]) == list(values)
        for part, value in values.items():
            mine = our_state["state"][key][part]
            np.testing.assert_allclose(mine.numpy(), value.numpy(), rtol=1e-10, atol=1e-12)
            assert mine.numpy().dtype == value.numpy().dtype
    assert our_state["param_groups"] == their_state["param_groups"]


@pytest.mark.parametrize(("name", "options"), CASES)
def test_training_goes_on_from_a_state_of_torch(name, options):
    _, theirs = run(torch, torch.from_numpy, name, options)
    state = theirs.state_dict()
    state["state"] = {
        key: {part: kellet.from_numpy(value.numpy().copy()) for part, value in values.items()}
        for key, values in state["state"].items()
    }
    expected, _ = run(torch, torch.from_numpy, name, options, state=theirs.state_dict())
    found, _ = run(kellet, kellet.from_numpy, name, options, state=state)
    for a, b in zip(expected, found, strict=True):
        np.testing.assert_allclose(b.detach().numpy(), a.detach().numpy(), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", OPTIMISERS)
def test_complex_parameters_move_as_in_torch(name):
    rng = np.random.default_rng(0)
    start, *gradients = rng.standard_normal((4, 3)) + 1j * rng.standard_normal((4, 3))
    results = []
    for library, from_numpy in ((torch, torch.from_numpy), (kellet, kellet.from_numpy)):
        weight = from_numpy(start.copy()).requires_grad_()
        optimizer = getattr(library.optim, name)([weight], lr=0.1, weight_decay=0.1)
        for gradient in gradients:
            weight.grad = from_numpy(gradient.copy())
            optimizer.step()
        results.append(weight.detach().numpy())
    np.testing.assert_allclose(results[1], results[0], rtol=1e-10)


def events(library, tensor):
    optimizer_module = importlib.import_module(f"{library.__name__}.optim.optimizer")
    seen = []
    weight = tensor([1.0]).requires_grad_()
    weight.grad = tensor([1.0])
    optimizer = library.optim.SGD([weight], lr=0.5, momentum=0.5)

    def note(name):
        return lambda *args: seen.append((name, len(args), weight.tolist()))

    handles = [
        optimizer_module.register_optimizer_step_pre_hook(note("global pre")),
        optimizer_module.register_optimizer_step_post_hook(note("global post")),
        optimizer.register_step_pre_hook(note("pre")),
        optimizer.register_step_post_hook(note("post")),
        optimizer.register_state_dict_pre_hook(note("save pre")),
        optimizer.register_state_dict_pre_hook(note("save pre, first"), prepend=True),
        optimizer.register_state_dict_post_hook(note("save post")),
        optimizer.register_load_state_dict_pre_hook(note("load pre")),
        optimizer.register_load_state_dict_post_hook(note("load post")),
        optimizer.register_load_state_dict_post_hook(note("load post, first"), prepend=True),
    ]
    optimizer.step()
    state = optimizer.state_dict()
    optimizer.load_state_dict(state)
    optimizer.step()
    for handle in handles:
        handle.remove()
    optimizer.step()
    optimizer.state_dict()
    seen.append(weight.tolist())
    return seen


def test_hooks_around_steps_and_states_run_as_in_torch():
    expected = events(torch, torch.tensor)
    assert events(kellet, kellet.tensor) == expected
    assert len(expected) > 12


@pytest.mark.parametrize(("name", "options"), CASES)
def test_a_state_of_torch_goes_on_in_kellet_from_what_convert_writes(name, options, tmp_path):
    """Without a word about the library: values are tensors of torch here, and arrays where torch is not."""
    _, theirs = run(torch, torch.from_numpy, name, options)
    torch.save({"optimizer": theirs.state_dict()}, tmp_path / "last.pt")
    old, new = str(tmp_path / "last.pt"), str(tmp_path / "o.kellet")
    assert main(["convert", old, new, "--unwrap", "optimizer"]) == 0
    expected, _ = run(torch, torch.from_numpy, name, options, steps=3, state=theirs.state_dict())
    for as_ in (None, "torch", "numpy", "kellet"):
        with PackageImporter(tmp_path / "o.kellet") as importer:
            state = importer.load_state_dict("model", "weights", as_=as_)
            found, _ = run(kellet, kellet.from_numpy, name, options, steps=3, state=state)
        for a, b in zip(expected, found, strict=True):
            np.testing.assert_allclose(b.detach().numpy(), a.detach().numpy(), rtol=1e-10, atol=1e-12)


def test_several_groups_are_written_as_in_torch() -> None:
    written = []
    for library in (torch, kellet):
        groups = [{"params": [library.nn.Parameter(library.ones(1))], "lr": rate} for rate in (0.1, 0.2)]
        written.append(repr(library.optim.SGD(groups)))
    assert written[1] == written[0]
