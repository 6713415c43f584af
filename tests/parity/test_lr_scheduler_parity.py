"""Schedulers against torch's: the rates of every step, the states, and what goes on from a saved one."""

import pytest

pytest.importorskip("torch")

import copy
import importlib
import math
import warnings

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import kellet
import kellet.optim

ONE = {
    "StepLR": [{"step_size": 2}, {"step_size": 3, "gamma": 0.7}],
    "MultiStepLR": [{"milestones": [2, 5, 5]}, {"milestones": (1, 30), "gamma": 0.5}],
    "ConstantLR": [{}, {"factor": 0.25, "total_iters": 3}],
    "LinearLR": [{}, {"start_factor": 0.5, "end_factor": 0.1, "total_iters": 4}],
    "ExponentialLR": [{"gamma": 0.9}],
    "PolynomialLR": [{}, {"total_iters": 7, "power": 2.5}],
    "CosineAnnealingLR": [{"T_max": 5}, {"T_max": 3, "eta_min": 0.01}],
    "CosineAnnealingWarmRestarts": [{"T_0": 3}, {"T_0": 2, "T_mult": 2, "eta_min": 0.001}],
    "LambdaLR": [
        {"lr_lambda": lambda epoch: 0.5**epoch},
        {"lr_lambda": [lambda e: 1 / (e + 1), lambda e: 2.0**-e]},
    ],
    "MultiplicativeLR": [{"lr_lambda": lambda epoch: 0.9}],
    "OneCycleLR": [
        {"max_lr": 1.0, "total_steps": 20},
        {"max_lr": [1.0, 0.5], "epochs": 4, "steps_per_epoch": 5, "anneal_strategy": "linear"},
        {"max_lr": 2.0, "total_steps": 20, "three_phase": True, "pct_start": 0.4, "div_factor": 10.0},
    ],
}
CASES = [(name, options) for name, several in ONE.items() for options in several]


def made(library, optimiser="SGD", **options):
    weights = [library.ones(2, requires_grad=True), library.ones(3, requires_grad=True)]
    for weight in weights:
        weight.grad = library.ones(*weight.shape)
    options = {"momentum": 0.9, **options} if optimiser == "SGD" else options
    groups = [{"params": weights[:1]}, {"params": weights[1:], "lr": 0.5}]
    return getattr(library.optim, optimiser)(groups, lr=0.1, **options)


def schedulers(library):
    return importlib.import_module(f"{library.__name__}.optim.lr_scheduler")


def rates(optimizer):
    keys = ("lr", "momentum", "betas")
    return [{key: group[key] for key in keys if key in group} for group in optimizer.param_groups]


def run(optimizer, scheduler, steps):
    seen = [rates(optimizer)]
    for _ in range(steps):
        optimizer.step()
        scheduler.step()
        seen.append(rates(optimizer))
    return seen


def same(ours, theirs):
    assert len(ours) == len(theirs)
    for mine, other in zip(ours, theirs, strict=True):
        for group, expected in zip(mine, other, strict=True):
            assert list(group) == list(expected)
            for key, value in expected.items():
                assert group[key] == pytest.approx(value, rel=1e-12, abs=1e-15)


def pair(name, options, optimiser="SGD"):
    optimizers = [made(library, optimiser) for library in (kellet, torch)]
    made_by = [getattr(schedulers(library), name) for library in (kellet, torch)]
    return optimizers, [make(one, **options) for make, one in zip(made_by, optimizers, strict=True)]


def comparable(state):
    if isinstance(state, dict):
        return {key: comparable(value) for key, value in state.items()}
    if isinstance(state, list | tuple):
        return [comparable(value) for value in state]
    return pytest.approx(state, rel=1e-12, abs=1e-15) if isinstance(state, float) else state


@pytest.mark.parametrize("optimiser", ["SGD", "Adam"])
@pytest.mark.parametrize(("name", "options"), CASES)
def test_every_step_is_torchs(name, options, optimiser):
    (mine, theirs), (ours, other) = pair(name, options, optimiser)
    same(run(mine, ours, 19), run(theirs, other, 19))
    expected = other.state_dict()
    assert comparable(expected) == ours.state_dict()
    assert set(ours.state_dict()) == set(expected)


@pytest.mark.parametrize(("name", "options"), CASES)
def test_a_saved_state_goes_on_in_the_other_library(name, options):
    (mine, theirs), (ours, other) = pair(name, options)
    run(theirs, other, 6)
    run(mine, ours, 6)
    (again, _), (fresh, _) = pair(name, options)
    again.load_state_dict(mine.state_dict())
    fresh.load_state_dict(copy.deepcopy(other.state_dict()))
    same(run(again, fresh, 8)[1:], run(theirs, other, 8)[1:])


@pytest.mark.parametrize(("name", "options"), CASES)
def test_a_rate_changed_from_outside_goes_on_as_torchs(name, options):
    (mine, theirs), (ours, other) = pair(name, options)
    run(mine, ours, 2)
    run(theirs, other, 2)
    for optimizer in (mine, theirs):
        optimizer.param_groups[0]["lr"] = 0.33
    same(run(mine, ours, 6), run(theirs, other, 6))


@pytest.mark.parametrize("name", ["StepLR", "MultiStepLR", "LinearLR", "ExponentialLR", "CosineAnnealingLR"])
def test_a_schedule_is_taken_up_from_an_epoch(name):
    seen = []
    for library in (kellet, torch):
        optimizer = made(library)
        for group in optimizer.param_groups:
            group["initial_lr"] = group["lr"]
        scheduler = getattr(schedulers(library), name)(optimizer, last_epoch=3, **ONE[name][0])
        seen.append(run(optimizer, scheduler, 5))
    same(*seen)


def test_rates_that_are_tensors_are_written_to():
    seen = []
    for library in (kellet, torch):
        optimizer = made(library)
        lr = library.tensor(0.25)
        optimizer.param_groups[0]["lr"] = lr
        scheduler = schedulers(library).ExponentialLR(optimizer, 0.5)
        optimizer.step()
        scheduler.step()
        seen.append((lr.item(), optimizer.param_groups[0]["lr"] is lr, scheduler.get_last_lr()[0].item()))
    assert seen[0] == seen[1] == (0.125, True, 0.125)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.floats(0.0, 2.0), min_size=1, max_size=30),
    st.sampled_from(["min", "max"]),
    st.sampled_from(["rel", "abs"]),
    st.integers(0, 3),
    st.integers(0, 2),
)
def test_a_plateau_is_seen_where_torch_sees_it(losses, mode, threshold_mode, patience, cooldown):
    seen = []
    for library in (kellet, torch):
        optimizer = made(library)
        scheduler = schedulers(library).ReduceLROnPlateau(
            optimizer,
            mode,
            factor=0.5,
            patience=patience,
            threshold=0.05,
            threshold_mode=threshold_mode,
            cooldown=cooldown,
            min_lr=[0.0, 0.2],
        )
        told = []
        for loss in losses:
            scheduler.step(library.tensor(loss, dtype=library.float64))
            told.append(rates(optimizer))
        seen.append((told, scheduler.state_dict()))
    assert seen[0] == seen[1]


def test_one_after_another_and_all_at_once_are_torchs():
    def both(library):
        found = schedulers(library)

        def sequence(optimizer):
            parts = [
                found.ConstantLR(optimizer, 0.1, 2),
                found.ChainedScheduler([found.LinearLR(optimizer), found.ExponentialLR(optimizer, 0.9)]),
                found.CosineAnnealingLR(optimizer, 4),
            ]
            return found.SequentialLR(optimizer, parts[:1] + parts[2:], [3])

        def chain(optimizer):
            return found.ChainedScheduler([found.LinearLR(optimizer), found.StepLR(optimizer, 2)])

        return sequence, chain

    for ours, theirs in zip(both(kellet), both(torch), strict=True):
        mine, other = made(kellet), made(torch)
        a, b = ours(mine), theirs(other)
        same(run(mine, a, 9), run(other, b, 9))
        assert comparable(b.state_dict()) == a.state_dict()


@pytest.mark.parametrize("library", [kellet, torch])
def test_what_is_called_too_early_is_warned_of(library):
    optimizer = made(library)
    scheduler = schedulers(library).StepLR(optimizer, 2)
    with pytest.warns(UserWarning, match=r"`?lr_scheduler.step\(\)`? .*before `?optimizer.step\(\)`?"):
        scheduler.step()
    with pytest.warns(UserWarning, match=r"get_last_lr\(\)"):
        scheduler.get_lr()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        optimizer.step()
        scheduler.step()


@pytest.mark.parametrize("library", [kellet, torch])
@pytest.mark.parametrize(
    ("name", "options", "error", "message"),
    [
        ("ConstantLR", {"factor": 2.0}, ValueError, "multiplicative factor expected to be between 0 and 1"),
        (
            "LinearLR",
            {"start_factor": 0.0},
            ValueError,
            "expected to be greater than 0 and less or equal to 1",
        ),
        ("LambdaLR", {"lr_lambda": [math.cos]}, ValueError, "1"),
        ("OneCycleLR", {"max_lr": 1.0}, ValueError, r"either total_steps OR \(epochs AND steps_per_epoch\)"),
        (
            "OneCycleLR",
            {"max_lr": 1.0, "total_steps": 0},
            ValueError,
            "positive integer total_steps, but got 0",
        ),
        (
            "OneCycleLR",
            {"max_lr": 1.0, "total_steps": 5, "pct_start": 2.0},
            ValueError,
            "pct_start, but got 2.0",
        ),
        ("ReduceLROnPlateau", {"factor": 1.0}, ValueError, "Factor should be < 1.0"),
        ("ReduceLROnPlateau", {"mode": "mid"}, ValueError, "mode mid is unknown!"),
        ("CosineAnnealingWarmRestarts", {"T_0": 0}, ValueError, "Expected positive integer T_0, but got 0"),
        (
            "StepLR",
            {"step_size": 2, "last_epoch": 3},
            KeyError,
            "'initial_lr' is not specified in param_groups",
        ),
        ("SequentialLR", {"schedulers": [], "milestones": []}, ValueError, "at least one scheduler"),
    ],
)
def test_what_cannot_be_is_refused_as_in_torch(library, name, options, error, message):
    with pytest.raises(error, match=message):
        getattr(schedulers(library), name)(made(library), **options)
