"""Adagrad: its state, where PyTorch's tests beside it do not reach."""

from __future__ import annotations

import kellet
import kellet.nn
import kellet.optim


def test_group_added_later_begins_at_its_first_step() -> None:
    first, later = (kellet.nn.Parameter(kellet.ones(1)) for _ in range(2))
    optimizer = kellet.optim.Adagrad([first], lr=0.5)
    optimizer.add_param_group({"params": [later], "initial_accumulator_value": 3.0})
    later.grad = kellet.ones(1)
    optimizer.step()
    assert later.item() == 0.75  # 1 - 0.5 / sqrt(3 + 1)
    assert optimizer.state[later]["step"].item() == 1.0
