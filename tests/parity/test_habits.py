"""The page of habits: that it is current, that each line runs in torch, and what counts as working."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

import importlib.util
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch

import kellet

DOCS = Path(__file__).resolve().parents[2] / "docs"


def loaded(name: str) -> Any:
    """A script of the documentation as a module, which the others find by its name."""
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where a dataclass looks for the names of its annotations
    spec.loader.exec_module(module)
    return module


counting = loaded("count_habits")
habits = loaded("habits")


def test_the_page_is_what_the_habits_give_now() -> None:
    default = kellet.get_default_dtype()
    outcomes = [habits.tried(habit) for habit in habits.habits()]
    kellet.set_default_dtype(default)
    # Else torch would take every later call through a mode, in which its l1_loss forgets the weight.
    torch.set_default_device(None)
    kellet.set_default_device(None)
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


def test_every_name_that_the_tutorials_use_often_is_in_a_line() -> None:
    lines = {name for habit in habits.habits() for name in habits.names_of(habit)}
    often = habits.names_used_often()
    assert len(often) > 140
    assert often - lines == set()


def test_names_are_counted_once_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text(
        "import torch.nn as nn, torch\n"
        "from torch.nn import functional as F\n"
        "from torch.utils.data import DataLoader as Loader\n"
        "x = torch.ones(2).view(-1)\n"
        "nn.Linear(1, 1), nn.Linear(2, 2), F.relu(x), Loader\n"
        "torch.no_such_name, torch.nn.functional, 'text'.split(), x.size\n"
    )
    (tmp_path / "two.py").write_text("import torch\ntorch.nn.Linear(1, 1).weight.view(1)\n")
    (tmp_path / "three.py").write_text("no Python at all\n")
    counts, files = counting.counted([tmp_path])
    assert files == 2
    assert counts == {
        "ones": 1,
        "Tensor.view": 2,
        "nn.Linear": 2,
        "nn.functional.relu": 1,
        "utils.data.DataLoader": 1,
    }


def test_the_table_says_where_it_is_from() -> None:
    text = counting.COUNTS.read_text(encoding="utf-8")
    assert text.startswith("# In how many files PyTorch's names are used")
    assert text.count("# from ") == 2
    assert list(counting.table().values()) == sorted(counting.table().values(), reverse=True)


def test_a_line_that_torch_refuses_is_no_habit() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        habits.tried(habits.Habit("", "torch.no_such_name"))


def test_the_names_are_the_same_in_both() -> None:
    theirs, ours = habits._names("torch"), habits._names("kellet")
    assert list(theirs) == list(ours)
    for name, value in theirs.items():
        if isinstance(value, torch.Tensor):
            np.testing.assert_array_equal(ours[name].detach().numpy(), value.detach().numpy())
