"""Schedulers: the rates that they set, what they refuse, and what they go on from.

All are held against PyTorch's, step by step, in tests/answers/optimizers.py.
"""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import kellet
from kellet.optim import SGD, Adagrad, RMSprop, lr_scheduler
from kellet.optim.lr_scheduler import LRScheduler
from tests.tables import one_test


def optimizer(lr: float = 8.0, **options: Any) -> SGD:
    weight = kellet.tensor([1.0], requires_grad=True)
    weight.grad = kellet.tensor([1.0])
    return SGD([weight], lr=lr, **options)


def schedule(scheduler: LRScheduler, steps: int) -> list[float]:
    seen = [float(scheduler.get_last_lr()[0])]
    for _ in range(steps):
        scheduler.optimizer.step()
        scheduler.step()
        seen.append(float(scheduler.get_last_lr()[0]))
    return seen


@one_test
@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda o: lr_scheduler.StepLR(o, 2, 0.5), [8, 8, 4, 4, 2]),
        (lambda o: lr_scheduler.MultiStepLR(o, [1, 3, 3], 0.5), [8, 4, 4, 1, 1]),
        (lambda o: lr_scheduler.ConstantLR(o, 0.25, 2), [2, 2, 8, 8, 8]),
        (lambda o: lr_scheduler.LinearLR(o, 0.5, 1.0, 4), [4, 5, 6, 7, 8]),
        (lambda o: lr_scheduler.ExponentialLR(o, 0.5), [8, 4, 2, 1, 0.5]),
        (lambda o: lr_scheduler.PolynomialLR(o, 4), [8, 6, 4, 2, 0]),
        (lambda o: lr_scheduler.CosineAnnealingLR(o, 2), [8, 4, 0, 4, 8]),
        (lambda o: lr_scheduler.CosineAnnealingWarmRestarts(o, 2, 2), [8, 4, 8, 4 + math.sqrt(8), 4]),
        (lambda o: lr_scheduler.LambdaLR(o, lambda epoch: 1 / (epoch + 1)), [8, 4, 8 / 3, 2, 1.6]),
        (lambda o: lr_scheduler.MultiplicativeLR(o, lambda epoch: 1 / epoch), [8, 8, 4, 4 / 3, 1 / 3]),
    ],
    ids="step multi constant linear exponential polynomial cosine restarts function product".split(),
)
def test_rates_follow_the_schedule(make: Callable[[SGD], LRScheduler], expected: list[float]) -> None:
    assert schedule(make(optimizer()), 4) == pytest.approx(expected, abs=1e-12)


@one_test
@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda o: lr_scheduler.ConstantLR(o, -0.5), "factor is -0.5; constant multiplicative factor"),
        (lambda o: lr_scheduler.ConstantLR(o, 1.5), "factor is 1.5; constant multiplicative factor"),
    ],
)
def test_a_factor_out_of_bounds_is_refused(make: Callable[[SGD], LRScheduler], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        make(optimizer())


def test_the_bounds_of_a_constant_factor_are_allowed_and_it_lasts_five_epochs_by_default() -> None:
    assert schedule(lr_scheduler.ConstantLR(optimizer(), 0.0, 4), 3) == [0.0] * 4
    assert schedule(lr_scheduler.ConstantLR(optimizer(), 1.0, 2), 3) == [8.0] * 4
    assert schedule(lr_scheduler.ConstantLR(optimizer(), 0.5), 6) == [4.0] * 5 + [8.0] * 2


def test_one_cycle_moves_momentum_the_other_way() -> None:
    one = optimizer(momentum=0.9)
    scheduler = lr_scheduler.OneCycleLR(
        one, 4.0, total_steps=5, pct_start=0.6, anneal_strategy="linear", div_factor=4.0
    )
    seen = []
    for _ in range(5):
        seen.append((one.param_groups[0]["lr"], one.param_groups[0]["momentum"]))
        one.step()
        scheduler.step()
    assert [lr for lr, _ in seen] == pytest.approx([1.0, 2.5, 4.0, 2.00005, 0.0001])
    assert [momentum for _, momentum in seen] == pytest.approx([0.95, 0.9, 0.85, 0.9, 0.95])
    with pytest.raises(ValueError, match=r"Tried to step 6 times\. The specified number of total steps is 5"):
        scheduler.step()


def test_one_cycle_without_momentum_has_to_be_told() -> None:
    weights = [kellet.tensor([1.0], requires_grad=True)]
    with pytest.raises(ValueError, match="must support momentum or beta1"):
        lr_scheduler.OneCycleLR(Adagrad(weights), 1.0, total_steps=5)
    lr_scheduler.OneCycleLR(Adagrad(weights), 1.0, total_steps=5, cycle_momentum=False)
    lr_scheduler.OneCycleLR(RMSprop(weights), 1.0, total_steps=5)


def test_a_plateau_lowers_the_rate_once_patience_is_over() -> None:
    scheduler = lr_scheduler.ReduceLROnPlateau(optimizer(), factor=0.5, patience=1, cooldown=1, min_lr=3.0)
    assert not scheduler.in_cooldown
    seen = []
    for loss in [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]:
        scheduler.step(loss)
        seen.append((scheduler.get_last_lr()[0], scheduler.in_cooldown))
    assert seen == [(8, False), (8, False), (4, True), (4, False), (4, False), (3, True), (3, False)]


def test_groups_that_came_later_have_the_lowest_rate_of_all_or_are_asked_for() -> None:
    several = optimizer()
    one, many = (lr_scheduler.ReduceLROnPlateau(several, patience=0, min_lr=low) for low in (2.0, [2.0]))
    several.add_param_group({"params": [kellet.tensor([1.0], requires_grad=True)], "lr": 6.0})
    one.step(1.0)
    one.step(1.0)
    assert one.get_last_lr() == [2.0, 2.0]
    many.step(1.0)
    with pytest.raises(RuntimeError, match="2 param groups, and there are 1 min_lrs"):
        many.step(1.0)


def test_one_follows_another_from_its_milestone() -> None:
    one = optimizer()
    parts = [lr_scheduler.ConstantLR(one, 0.5, 5), lr_scheduler.ExponentialLR(one, 0.5)]
    scheduler = lr_scheduler.SequentialLR(one, parts, [2])
    assert schedule(scheduler, 4) == [4, 4, 8, 4, 2]
    saved = scheduler.state_dict()
    assert [state["last_epoch"] for state in saved["_schedulers"]] == [1, 2]
    other = optimizer()
    again = lr_scheduler.SequentialLR(
        other, [lr_scheduler.ConstantLR(other, 0.5, 5), lr_scheduler.ExponentialLR(other, 0.5)], [2]
    )
    other.load_state_dict(one.state_dict())
    again.load_state_dict(copy.deepcopy(saved))
    assert schedule(again, 1)[1:] == schedule(scheduler, 1)[1:] == [1.0]
    with pytest.raises(ValueError, match="found the states of 1 schedulers; expected 2"):
        again.load_state_dict({**saved, "_schedulers": saved["_schedulers"][:1]})


def test_schedulers_of_schedulers_refuse_what_cannot_go_together() -> None:
    one, other = optimizer(), optimizer()
    plateau, step = lr_scheduler.ReduceLROnPlateau(one), lr_scheduler.StepLR(one, 1)
    with pytest.raises(ValueError, match="expects at least one scheduler"):
        lr_scheduler.ChainedScheduler([])
    with pytest.raises(ValueError, match="does not support `ReduceLROnPlateau` at index 1"):
        lr_scheduler.ChainedScheduler([step, plateau])
    with pytest.raises(ValueError, match="StepLR at index 0 belongs to another one"):
        lr_scheduler.SequentialLR(other, [step], [])
    with pytest.raises(ValueError, match="schedulers 1 and the number of milestones to be equal to 2"):
        lr_scheduler.SequentialLR(one, [step], [1, 2])
    with pytest.raises(TypeError, match="at index 0 should have `optimizer`"):
        lr_scheduler.SequentialLR(one, [3], [])  # type: ignore[list-item]  # no scheduler
    with pytest.raises(TypeError, match=r"ChainedScheduler.step\(\) takes no epoch, but got 3"):
        lr_scheduler.ChainedScheduler([step]).step(3)


def test_a_rate_that_is_a_tensor_is_written_to() -> None:
    rate = kellet.tensor(8.0)
    one = optimizer()
    one.param_groups[0]["lr"] = rate
    scheduler = lr_scheduler.ExponentialLR(one, 0.5)
    schedule(scheduler, 1)
    assert rate.item() == 4.0
    assert one.param_groups[0]["lr"] is rate
    assert scheduler.base_lrs[0].item() == 8.0  # type: ignore[union-attr]  # a copy of the tensor


def test_functions_stay_and_callable_objects_keep_their_attributes() -> None:
    class Falling:
        def __init__(self, by: float) -> None:
            self.by = by

        def __call__(self, epoch: int) -> float:
            return self.by**epoch

    saved = lr_scheduler.LambdaLR(optimizer(), Falling(0.5)).state_dict()
    assert saved["lr_lambdas"] == [{"by": 0.5}]
    other = lr_scheduler.LambdaLR(optimizer(), Falling(0.1))
    other.load_state_dict(saved)
    assert schedule(other, 1) == [8.0, 4.0]
    assert lr_scheduler.LambdaLR(optimizer(), math.cos).state_dict()["lr_lambdas"] == [None]
    with pytest.raises(ValueError, match=r"the same length as optimizer\.param_groups: 1, got 2"):
        lr_scheduler.LambdaLR(optimizer(), [math.cos, math.sin])


def test_a_step_before_the_optimisers_is_warned_of_and_one_after_it_is_not() -> None:
    scheduler = lr_scheduler.StepLR(optimizer(), 2)
    with pytest.warns(UserWarning, match=r"was called before optimizer.step\(\)"):
        scheduler.step()
    scheduler = lr_scheduler.StepLR(optimizer(), 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scheduler.optimizer.step()
        scheduler.step()
    with pytest.warns(UserWarning, match=r"the last ones that were set are in get_last_lr\(\)"):
        scheduler.get_lr()
    with pytest.warns(UserWarning, match="the epoch argument of step"):
        scheduler.step(5)
    assert scheduler.get_last_lr() == [pytest.approx(0.08)]


def test_what_is_no_optimiser_and_what_never_began_is_refused() -> None:
    with pytest.raises(TypeError, match="list is not an Optimizer"):
        lr_scheduler.StepLR([], 2)  # type: ignore[arg-type]  # no optimiser
    with pytest.raises(KeyError, match=r"'initial_lr' is not specified in param_groups\[0\]"):
        lr_scheduler.StepLR(optimizer(), 2, last_epoch=3)
    with pytest.raises(NotImplementedError, match="LRScheduler does not define get_lr"):
        LRScheduler(optimizer())
