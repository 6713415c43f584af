"""The list of PyTorch's names that are absent: made from torch, and told to those who ask for one."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

import subprocess
import sys
from pathlib import Path

import torch

import kellet
import kellet.autograd
import kellet.optim.lr_scheduler
import kellet.utils.data
from kellet import nn
from kellet.torch_names import TORCH_NAMES

ROOT = Path(__file__).parents[2]


def test_the_lists_are_those_of_this_torch_and_this_kellet() -> None:
    script = ROOT / "docs" / "list_names.py"
    done = subprocess.run(
        [sys.executable, str(script), "--check"], capture_output=True, text=True, timeout=300, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("place", [place for place in TORCH_NAMES if place != "nn.Module"])
def test_asking_for_an_absent_name_leads_to_the_guide(place: str) -> None:
    holder = kellet
    for part in place.split(".") if place else ():
        holder = getattr(holder, part)
    asked = kellet.ones(1) if place == "Tensor" else holder
    absent = [name for name in TORCH_NAMES[place] if not hasattr(holder, name)]
    for name in absent:
        with pytest.raises(AttributeError, match=rf"has no '{name}'\. PyTorch has it; .*from-pytorch\.md"):
            getattr(asked, name)


@pytest.mark.parametrize(
    ("ask", "told"),
    [
        (lambda: nn.LazyLinear, "kellet.nn has no 'LazyLinear'. PyTorch has it; give the size .* to Linear;"),
        (lambda: kellet.xpu, "kellet has no 'xpu'. PyTorch has it; kellet computes on the CPU"),
        (lambda: kellet.ones(1).cuda(), "kellet.Tensor has no 'cuda'. PyTorch has it; kellet computes on"),
        (lambda: nn.Linear(1, 1).cuda(), "object has no attribute 'cuda'. PyTorch has it; kellet computes"),
        (lambda: kellet.nonsense, "^kellet has no attribute 'nonsense'$"),
        (lambda: nn.Nonsense, "^kellet.nn has no attribute 'Nonsense'$"),
        (lambda: kellet.ones(1).nonsense, "^'Tensor' object has no attribute 'nonsense'$"),
        (lambda: kellet.ones(1)._nonsense, "^'Tensor' object has no attribute '_nonsense'$"),
    ],
)
def test_what_is_said(ask: object, told: str) -> None:
    with pytest.raises(AttributeError, match=told):
        ask()  # type: ignore[operator]  # a lambda


def test_the_table_has_names_of_this_torch() -> None:
    assert {"LazyLinear", "Linear"} <= TORCH_NAMES["nn"] <= set(dir(torch.nn))
    assert "cuda" in TORCH_NAMES["Tensor"]


def test_absent_names_are_not_listed_and_may_be_given() -> None:
    x = kellet.ones(1)
    absent = [name for name in TORCH_NAMES["Tensor"] if not hasattr(kellet.Tensor, name)]
    assert "cuda" in absent
    assert not {*absent} & {*dir(x)}
    x.cuda = lambda: "here"  # type: ignore[attr-defined]  # absent, until now
    assert x.cuda() == "here"  # type: ignore[attr-defined]  # as above

    class Moving(kellet.Tensor):
        def cuda(self) -> Moving:
            return self

    moved = Moving([1.0])
    assert moved.cuda() is moved
    assert "cuda" in dir(moved)
