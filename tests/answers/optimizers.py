"""Optimisers and schedulers by hand: weights after some steps, rates, states, and the events of all hooks."""

from __future__ import annotations

import copy
import importlib
import math
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from tests.answers import choices as st
from tests.answers.refusals import refusal
from tests.answers.subject import Play, Subject
from tests.answers.telling import Tolerance

OPTIMISERS: dict[str, list[dict[str, Any]]] = {
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
BY_NAME = [(name, options) for name, several in OPTIMISERS.items() for options in several]


def stepped(
    library: Any, name: str, options: dict[str, Any], state: Any = None, steps: int = 5
) -> tuple[list[Any], Any]:
    rng = np.random.default_rng(0)
    weights = [library.from_numpy(rng.standard_normal(shape)).requires_grad_() for shape in ((3, 2), (4,))]
    groups = [{"params": weights[:1]}, {"params": weights[1:], "lr": 0.5}]
    optimizer = getattr(library.optim, name)(groups, lr=0.1, **options)
    if state is not None:
        optimizer.load_state_dict(state)
    for _ in range(steps):
        for weight in weights:
            weight.grad = library.from_numpy(rng.standard_normal(tuple(weight.shape)))
        optimizer.step()
    return weights, optimizer


def steps_and_state(library: Any, name: str, options: dict[str, Any]) -> Any:
    """Take five steps, and from the state that they leave five more."""
    weights, optimizer = stepped(library, name, options)
    state = optimizer.state_dict()
    told = [[one.detach().numpy().copy() for one in weights], copy.deepcopy(state)]
    return [*told, stepped(library, name, options, state)[0]]


def complex_parameters(library: Any, name: str) -> Any:
    rng = np.random.default_rng(0)
    start, *gradients = rng.standard_normal((4, 3)) + 1j * rng.standard_normal((4, 3))
    weight = library.from_numpy(start.copy()).requires_grad_()
    optimizer = getattr(library.optim, name)([weight], lr=0.1, weight_decay=0.1)
    for gradient in gradients:
        weight.grad = library.from_numpy(gradient.copy())
        optimizer.step()
    return weight


def events(library: Any) -> Any:
    optimizer_module = importlib.import_module(f"{library.__name__}.optim.optimizer")
    seen: list[Any] = []
    weight = library.tensor([1.0]).requires_grad_()
    weight.grad = library.tensor([1.0])
    optimizer = library.optim.SGD([weight], lr=0.5, momentum=0.5)

    def note(name: str) -> Callable[..., None]:
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


def groups_as_text(library: Any) -> str:
    groups = [{"params": [library.nn.Parameter(library.ones(1))], "lr": rate} for rate in (0.1, 0.2)]
    return repr(library.optim.SGD(groups))


# Schedulers

ONE: dict[str, list[dict[str, Any]]] = {
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
SCHEDULES = [(name, options) for name, several in ONE.items() for options in several]


def made(library: Any, optimiser: str = "SGD", **options: Any) -> Any:
    weights = [library.ones(2, requires_grad=True), library.ones(3, requires_grad=True)]
    for weight in weights:
        weight.grad = library.ones(*weight.shape)
    options = {"momentum": 0.9, **options} if optimiser == "SGD" else options
    groups = [{"params": weights[:1]}, {"params": weights[1:], "lr": 0.5}]
    return getattr(library.optim, optimiser)(groups, lr=0.1, **options)


def schedulers(library: Any) -> Any:
    return importlib.import_module(f"{library.__name__}.optim.lr_scheduler")


def rates(optimizer: Any) -> Any:
    keys = ("lr", "momentum", "betas")
    return [{key: group[key] for key in keys if key in group} for group in optimizer.param_groups]


def run(optimizer: Any, scheduler: Any, steps: int) -> Any:
    seen = [rates(optimizer)]
    for _ in range(steps):
        optimizer.step()
        scheduler.step()
        seen.append(rates(optimizer))
    return seen


def schedule(library: Any, name: str, options: dict[str, Any], optimiser: str) -> Any:
    """Take six steps; let a new schedule go on from the state, and the old one as well."""
    optimizer = made(library, optimiser)
    scheduler = getattr(schedulers(library), name)(optimizer, **options)
    told = [run(optimizer, scheduler, 6)]
    again = made(library, optimiser)
    fresh = getattr(schedulers(library), name)(again, **options)
    again.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    fresh.load_state_dict(copy.deepcopy(scheduler.state_dict()))
    return [*told, run(again, fresh, 8), run(optimizer, scheduler, 12), scheduler.state_dict()]


def rate_that_is_set(library: Any, name: str, options: dict[str, Any]) -> Any:
    optimizer = made(library)
    scheduler = getattr(schedulers(library), name)(optimizer, **options)
    run(optimizer, scheduler, 2)
    optimizer.param_groups[0]["lr"] = 0.33
    return run(optimizer, scheduler, 6)


def from_an_epoch(library: Any, name: str) -> Any:
    optimizer = made(library)
    for group in optimizer.param_groups:
        group["initial_lr"] = group["lr"]
    scheduler = getattr(schedulers(library), name)(optimizer, last_epoch=3, **ONE[name][0])
    return run(optimizer, scheduler, 5)


def rate_of_a_tensor(library: Any) -> Any:
    optimizer = made(library)
    lr = library.tensor(0.25)
    optimizer.param_groups[0]["lr"] = lr
    scheduler = schedulers(library).ExponentialLR(optimizer, 0.5)
    optimizer.step()
    scheduler.step()
    return lr.item(), optimizer.param_groups[0]["lr"] is lr, scheduler.get_last_lr()[0].item()


@st.composite
def plateau(draw: st.Draw) -> Play:
    losses = draw(st.lists(st.floats(0.0, 2.0), min_size=1, max_size=30))
    options = {
        "mode": draw(st.sampled_from(["min", "max"])),
        "threshold_mode": draw(st.sampled_from(["rel", "abs"])),
        "patience": draw(st.integers(0, 3)),
        "cooldown": draw(st.integers(0, 2)),
    }
    return partial(over_plateaus, losses=losses, options=options)


def over_plateaus(library: Any, losses: list[float], options: dict[str, Any]) -> Any:
    optimizer = made(library)
    scheduler = schedulers(library).ReduceLROnPlateau(
        optimizer, factor=0.5, threshold=0.05, min_lr=[0.0, 0.2], **options
    )
    told = []
    for loss in losses:
        scheduler.step(library.tensor(loss, dtype=library.float64))
        told.append(rates(optimizer))
    return told, scheduler.state_dict()


def one_after_another(library: Any) -> Any:
    found, optimizer = schedulers(library), made(library)
    parts = [
        found.ConstantLR(optimizer, 0.1, 2),
        found.ChainedScheduler([found.LinearLR(optimizer), found.ExponentialLR(optimizer, 0.9)]),
        found.CosineAnnealingLR(optimizer, 4),
    ]
    scheduler = found.SequentialLR(optimizer, parts[:1] + parts[2:], [3])
    return run(optimizer, scheduler, 9), scheduler.state_dict()


def all_at_once(library: Any) -> Any:
    found, optimizer = schedulers(library), made(library)
    scheduler = found.ChainedScheduler([found.LinearLR(optimizer), found.StepLR(optimizer, 2)])
    return run(optimizer, scheduler, 9), scheduler.state_dict()


def called_too_early(library: Any) -> Any:
    """Tell what the warnings speak of."""
    optimizer = made(library)
    scheduler = schedulers(library).StepLR(optimizer, 2)
    told = []
    for call in (scheduler.step, scheduler.get_lr, optimizer.step, scheduler.step):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            call()
        text = " ".join(str(one.message) for one in caught)
        told.append([word in text for word in ("optimizer.step()", "lr_scheduler.step()", "get_last_lr()")])
    return told


REFUSED: list[tuple[str, dict[str, Any], type, str]] = [
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
]


def refused(library: Any, name: str, options: dict[str, Any], message: str) -> Any:
    return refusal(lambda: getattr(schedulers(library), name)(made(library), **options), message)


CASES: dict[str, Play] = {
    "hooks around steps and states": events,
    "groups as text": groups_as_text,
    "a rate that is a tensor": rate_of_a_tensor,
    "one after another": one_after_another,
    "all at once": all_at_once,
    "called too early": called_too_early,
}
for _number, (_name, _options) in enumerate(BY_NAME):
    CASES[f"{_name} | {_number}"] = partial(steps_and_state, name=_name, options=_options)
for _name in OPTIMISERS:
    CASES[f"{_name} | complex"] = partial(complex_parameters, name=_name)
for _number, (_name, _options) in enumerate(SCHEDULES):
    for _kind in ("SGD", "Adam"):
        CASES[f"{_name} | {_number} {_kind}"] = partial(
            schedule, name=_name, options=_options, optimiser=_kind
        )
    CASES[f"{_name} | {_number} set"] = partial(rate_that_is_set, name=_name, options=_options)
for _name in ("StepLR", "MultiStepLR", "LinearLR", "ExponentialLR", "CosineAnnealingLR"):
    CASES[f"{_name} | from an epoch"] = partial(from_an_epoch, name=_name)
for _number, _plateau in enumerate(st.draw_all(plateau(), "plateau", 60)):
    CASES[f"plateaus | {_number}"] = _plateau
for _number, (_name, _options, _error, _message) in enumerate(REFUSED):
    CASES[f"refused | {_number}"] = partial(refused, name=_name, options=_options, message=_message)


def near(case: str) -> Tolerance:
    few = (1e-10, 1e-12) if case.partition(" | ")[0] in OPTIMISERS else (1e-12, 1e-15)
    return Tolerance(*few, kinds=True)


SUBJECT = Subject("optimizers", CASES, near)
