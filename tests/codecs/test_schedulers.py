"""Schedulers of kellet in archives: data alone, tied to the optimiser that they belong to."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import kellet
from kellet import nn, optim
from kellet.optim import lr_scheduler
from packager.testing import round_trip

SCHEDULERS: dict[str, Callable[[optim.Optimizer], lr_scheduler.LRScheduler]] = {
    "steps": lambda one: lr_scheduler.MultiStepLR(one, [1, 4]),
    "cycle": lambda one: lr_scheduler.OneCycleLR(one, 1.0, total_steps=10),
    "restarts": lambda one: lr_scheduler.CosineAnnealingWarmRestarts(one, 3),
    "sequence": lambda one: lr_scheduler.SequentialLR(
        one, [lr_scheduler.ConstantLR(one, 0.1, 2), lr_scheduler.ExponentialLR(one, 0.9)], [2]
    ),
}


@pytest.mark.parametrize("name", SCHEDULERS)
def test_a_scheduler_goes_on_with_its_optimiser_and_needs_no_trust(name: str) -> None:
    net = nn.Linear(2, 1)
    optimizer = optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    scheduler = SCHEDULERS[name](optimizer)
    net.weight.grad = kellet.ones(1, 2)
    optimizer.step()
    scheduler.step()
    net.weight.grad = None
    trip = round_trip({"net": net, "optimizer": optimizer, "scheduler": scheduler})
    assert trip.is_stable
    loaded = trip.object
    assert loaded["scheduler"].optimizer is loaded["optimizer"]
    assert loaded["optimizer"].param_groups[0]["params"][0] is loaded["net"].weight
    for one, its_scheduler in ((optimizer, scheduler), (loaded["optimizer"], loaded["scheduler"])):
        one.step()
        its_scheduler.step()
    assert loaded["scheduler"].state_dict() == scheduler.state_dict()
