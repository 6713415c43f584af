"""The page of habits: that it is current, that each line runs in torch, and what counts as working."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import kellet

FILE = Path(__file__).resolve().parents[2] / "docs" / "habits.py"


def loaded() -> Any:
    spec = importlib.util.spec_from_file_location("habits_page", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where a dataclass looks for the names of its annotations
    spec.loader.exec_module(module)
    return module


habits = loaded()


def test_the_page_is_what_the_habits_give_now() -> None:
    default = kellet.get_default_dtype()
    outcomes = [habits.tried(habit) for habit in habits.habits()]
    kellet.set_default_dtype(default)
    works = [one for one in outcomes if not one.wrong]
    assert len(outcomes) >= 217
    assert len(works) >= 170
    assert len({one.code for one in outcomes}) == len(outcomes)
    assert habits.PAGE.read_text(encoding="utf-8") == habits.page(outcomes), "run python docs/habits.py"


@pytest.mark.parametrize(
    ("code", "wrong"),
    [
        ("torch.ones(2) + 1", ""),
        ("torch.ones(2).tolist()", ""),
        ("y = torch.zeros(1); y", ""),
        ("with torch.no_grad(): y = w * 2 \\n y.requires_grad", ""),
        ("torch.__name__", "gives something else"),
        ("torch.ones(2) * (2 if torch.__name__ == 'torch' else 3)", "gives something else"),
        ("torch.ones(2 if torch.__name__ == 'torch' else 3)", "gives something else"),
        (
            "torch.ones(2).to(torch.float64 if torch.__name__ == 'torch' else torch.float32)",
            "gives something else",
        ),
        ("[torch.ones(1), 2 if torch.__name__ == 'torch' else 3]", "gives something else"),
        ("getattr(torch, 'kaiser_window' if torch.__name__ == 'torch' else 'no')(3)", "is not here"),
        ("1 / (torch.__name__ == 'torch')", "ZeroDivisionError: division by zero"),
    ],
)
def test_what_differs_is_seen(code: str, wrong: str) -> None:
    assert habits.tried(habits.Habit("", code)).wrong == wrong


def test_a_line_that_torch_refuses_is_no_habit() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        habits.tried(habits.Habit("", "torch.no_such_name"))


def test_the_names_are_the_same_in_both() -> None:
    theirs, ours = habits._names("torch"), habits._names("kellet")
    assert list(theirs) == list(ours)
    for name, value in theirs.items():
        if isinstance(value, torch.Tensor):
            np.testing.assert_array_equal(ours[name].detach().numpy(), value.detach().numpy())
