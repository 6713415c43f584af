"""Every optimiser and scheduler, with options, shapes and gaps that are drawn."""

from __future__ import annotations

import copy
import importlib
import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from tests.answers import choices as st
from tests.answers.drawn import Shape, optional, shapes, yes_or_no
from tests.answers.subject import Play, Subject
from tests.answers.telling import Tolerance

NEAR = {"float32": 2e-4, "float64": 1e-9}
STEPS = 5
COUNT = 40

# Optimisers

RATE = st.sampled_from([0.0, 0.01, 0.3, 1.0, -0.1])
DECAY = st.sampled_from([0.0, 0.1, 0.5, -0.1])
EPS = st.sampled_from([1e-8, 1e-3, 0.5, -1.0])
SHARE = st.sampled_from([0.0, 0.3, 0.9, 0.99, 1.0])
COMMON = {"lr": RATE, "weight_decay": DECAY, "maximize": yes_or_no, "foreach": st.sampled_from([None, False])}
ADAM = {**COMMON, "betas": st.tuples(SHARE, SHARE), "eps": EPS, "amsgrad": yes_or_no}
OPTIMISERS: dict[str, st.Choice[dict[str, Any]]] = {
    "SGD": optional(**COMMON, momentum=SHARE, dampening=SHARE, nesterov=yes_or_no),
    "Adam": optional(**ADAM, decoupled_weight_decay=yes_or_no),
    "AdamW": optional(**ADAM),
    "Adagrad": optional(**COMMON, lr_decay=DECAY, initial_accumulator_value=DECAY, eps=EPS),
    # A centred one that remembers nothing divides by the root of what rounding leaves of zero.
    "RMSprop": optional(
        **COMMON, alpha=st.sampled_from([0.3, 0.9, 0.99]), eps=EPS, momentum=SHARE, centered=yes_or_no
    ),
}

# The base class takes no step. The bowl below is too smooth for LBFGS, which reaches its ground within a step
# and then follows rounding: `lbfgs.py` draws its options on other functions.
ELSEWHERE = {"Optimizer", "LBFGS"}


def train(
    library: Any, name: str, options: dict[str, Any], groups: list[list[Shape]], dtype: str, gaps: list[int]
) -> dict[str, Any]:
    """Take five steps down a bowl; in the steps `gaps` the first weight has no gradient."""
    rng = np.random.default_rng(5)

    def drawn(shape: Shape) -> Any:
        return library.from_numpy(np.asarray(rng.standard_normal(shape), dtype))

    weights = [[drawn(shape).requires_grad_() for shape in group] for group in groups]
    goals = [[drawn(shape) for shape in group] for group in groups]
    several = [{"params": group, **({"lr": 0.05} if n else {})} for n, group in enumerate(weights)]
    optimizer = getattr(library.optim, name)(several if len(several) > 1 else weights[0], **options)
    every, wanted = [w for group in weights for w in group], [g for group in goals for g in group]
    losses = []

    def closure(step: int) -> Any:
        optimizer.zero_grad()
        pairs = zip(every, wanted, strict=True)
        loss = sum(((w - goal) ** 2 * (n + 1)).sum() for n, (w, goal) in enumerate(pairs))
        loss.backward()
        if step in gaps:
            weights[0][0].grad = None
        losses.append(loss.item())
        return loss

    for step in range(STEPS):
        optimizer.step(partial(closure, step))
    found = {f"weight {n}": w.detach().numpy() for n, w in enumerate(every)}
    return found | {"losses": np.asarray(losses)} | spread(optimizer.state_dict())


def spread(state: dict[str, Any]) -> dict[str, Any]:
    """Spread a state dict out: numbers and tensors as arrays, by the path of their keys."""
    found: dict[str, Any] = {}
    for key, value in state.items():
        if isinstance(value, dict):
            inner = spread(value)
        elif isinstance(value, list | tuple):
            inner = spread(dict(enumerate(value)))
        elif hasattr(value, "detach"):
            found[str(key)] = value.detach().numpy().copy()
            continue
        else:
            found[str(key)] = np.asarray(value) if isinstance(value, float) else value
            continue
        found |= {f"{key}.{name}": one for name, one in inner.items()}
        found[f"{key} holds"] = len(value)
    return found


@st.composite
def run_of(draw: st.Draw, name: str, dtype: str) -> Play:
    options = draw(OPTIMISERS[name])
    group = st.lists(shapes(0, 3), min_size=1, max_size=2)
    groups = draw(st.lists(group, min_size=1, max_size=2))
    gaps = draw(st.lists(st.integers(0, STEPS - 1), max_size=3))
    return partial(train, name=name, options=options, groups=groups, dtype=dtype, gaps=gaps)


# Schedulers

WHOLE = st.integers(-1, 6)
FACTOR = st.sampled_from([0.1, 0.5, 0.9, 1.0, 0.0, 1.5])
LAMBDAS = [
    lambda epoch: 0.5**epoch,
    lambda epoch: 1 / (epoch + 1),
    lambda epoch: 0.9,
    lambda epoch: math.cos(epoch),
]
FUNCTION = st.one_of(st.sampled_from(LAMBDAS), st.lists(st.sampled_from(LAMBDAS), min_size=2, max_size=2))


def need(needed: dict[str, st.Choice[Any]], **options: st.Choice[Any]) -> Any:
    return st.fixed_dictionaries(needed, optional=options)


SIMPLE: dict[str, st.Choice[dict[str, Any]]] = {
    "StepLR": need({"step_size": st.integers(1, 5)}, gamma=FACTOR),
    "MultiStepLR": need({"milestones": st.lists(st.integers(0, 12), max_size=4)}, gamma=FACTOR),
    "ConstantLR": need({}, factor=FACTOR, total_iters=WHOLE),
    "LinearLR": need({}, start_factor=FACTOR, end_factor=FACTOR, total_iters=st.integers(1, 9)),
    "ExponentialLR": need({"gamma": FACTOR}),
    "PolynomialLR": need({}, total_iters=st.integers(1, 9), power=st.sampled_from([0.5, 1.0, 2.5])),
    "CosineAnnealingLR": need({"T_max": st.integers(1, 9)}, eta_min=st.sampled_from([0.0, 0.01, 0.7])),
    "CosineAnnealingWarmRestarts": need(
        {"T_0": st.integers(0, 5)}, T_mult=st.integers(0, 3), eta_min=st.sampled_from([0.0, 0.01])
    ),
    "LambdaLR": need({"lr_lambda": FUNCTION}),
    "MultiplicativeLR": need({"lr_lambda": FUNCTION}),
    "OneCycleLR": need(
        {"max_lr": st.one_of(st.sampled_from([1.0, 0.3]), st.just([1.0, 0.5]))},
        total_steps=st.integers(0, 30),
        epochs=st.integers(1, 4),
        steps_per_epoch=st.integers(1, 5),
        pct_start=st.sampled_from([0.0, 0.3, 0.5, 1.0, 1.5]),
        anneal_strategy=st.sampled_from(["cos", "linear", "other"]),
        cycle_momentum=yes_or_no,
        base_momentum=st.sampled_from([0.8, 0.5]),
        max_momentum=st.sampled_from([0.95, 0.9]),
        div_factor=st.sampled_from([25.0, 2.0]),
        final_div_factor=st.sampled_from([1e4, 10.0]),
        three_phase=yes_or_no,
    ),
    "ReduceLROnPlateau": need(
        {},
        mode=st.sampled_from(["min", "max"]),
        factor=st.sampled_from([0.5, 0.1, 1.0]),
        patience=st.integers(0, 3),
        threshold=st.sampled_from([1e-4, 0.1]),
        threshold_mode=st.sampled_from(["rel", "abs"]),
        cooldown=st.integers(0, 2),
        min_lr=st.one_of(st.just(0.0), st.just([0.0, 0.02])),
        eps=st.sampled_from([1e-8, 0.01]),
    ),
}
Maker = Callable[[Any, Any], Any]


def single(name: str, options: dict[str, Any]) -> Maker:
    return lambda found, optimizer: getattr(found, name)(optimizer, **options)


@st.composite
def parts(draw: st.Draw, least: int) -> list[Maker]:
    names = [name for name in SIMPLE if name not in ("ReduceLROnPlateau", "OneCycleLR")]
    chosen = draw(st.lists(st.sampled_from(names), min_size=least, max_size=3))
    return [single(name, draw(SIMPLE[name])) for name in chosen]


@st.composite
def scheduler(draw: st.Draw, name: str) -> Maker:
    if name in SIMPLE:
        return single(name, draw(SIMPLE[name]))
    made = draw(parts(0 if draw(st.integers(0, 7)) == 0 else 1))
    if name == "ChainedScheduler":
        return lambda found, optimizer: found.ChainedScheduler([one(found, optimizer) for one in made])
    count = max(0, len(made) - 1)
    milestones = sorted(draw(st.lists(st.integers(1, 10), min_size=count, max_size=count, unique=True)))
    return lambda found, optimizer: found.SequentialLR(
        optimizer, [one(found, optimizer) for one in made], milestones
    )


SCHEDULERS = (*SIMPLE, "ChainedScheduler", "SequentialLR")


def optimiser_of(library: Any, kind: str) -> Any:
    weights = [library.ones(2, requires_grad=True), library.ones(3, requires_grad=True)]
    for weight in weights:
        weight.grad = library.ones(*weight.shape)
    groups = [{"params": weights[:1]}, {"params": weights[1:], "lr": 0.5}]
    more = {"momentum": 0.9} if kind == "SGD" else {}
    return getattr(library.optim, kind)(groups, lr=0.1, **more)


def scheduled(library: Any, make: Maker, kind: str, losses: list[float], stop: int) -> dict[str, Any]:
    """Take twelve steps; after `stop` of them a new optimiser and scheduler go on from the states."""
    found = importlib.import_module(f"{library.__name__}.optim.lr_scheduler")
    optimizer = optimiser_of(library, kind)
    schedule = make(found, optimizer)
    told_: dict[str, Any] = {}
    for step, loss in enumerate(losses):
        if step == stop:
            states = copy.deepcopy(optimizer.state_dict()), copy.deepcopy(schedule.state_dict())
            optimizer = optimiser_of(library, kind)
            schedule = make(found, optimizer)
            optimizer.load_state_dict(states[0])
            schedule.load_state_dict(states[1])
        optimizer.step()
        schedule.step(loss) if type(schedule).__name__ == "ReduceLROnPlateau" else schedule.step()
        told_[f"rates {step}"] = spread(
            {"groups": [dict(group, params=0) for group in optimizer.param_groups]}
        )
        told_[f"last {step}"] = list(schedule.get_last_lr())
    return spread(told_) | spread({"state": schedule.state_dict()})


@st.composite
def schedule_of(draw: st.Draw, name: str) -> Play:
    make = draw(scheduler(name))
    kind = draw(st.sampled_from(["SGD", "Adam", "RMSprop"]))
    losses = draw(st.lists(st.floats(0.0, 2.0), min_size=12, max_size=12))
    stop = draw(st.integers(1, 12))
    return partial(scheduled, make=make, kind=kind, losses=losses, stop=stop)


def near(case: str) -> Tolerance:
    found = NEAR["float32" if " | float32 | " in case else "float64"]
    return Tolerance(found, found, scaled=True)


def drawn_cases(count: int = COUNT, again: str = "") -> dict[str, Play]:
    found: dict[str, Play] = {}
    for name in OPTIMISERS:
        for dtype in NEAR:
            for number, play in enumerate(st.draw_all(run_of(name, dtype), f"{name} {dtype}{again}", count)):
                found[f"{name} | {dtype} | {number}"] = play
    for name in SCHEDULERS:
        for number, play in enumerate(st.draw_all(schedule_of(name), f"{name}{again}", count)):
            found[f"{name} | {number}"] = play
    return found


SUBJECT = Subject("optimizers_by_chance", drawn_cases(), near)
