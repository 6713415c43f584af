"""Names of PyTorch that people use and that are absent: what is told to those who ask for one."""

from __future__ import annotations

import pytest

import kellet
import kellet.nn
from kellet import nn
from kellet.absent import HINTS, OF_MODULES, OF_TENSORS


@pytest.mark.parametrize("name", OF_TENSORS)
def test_asking_a_tensor_for_an_absent_name_leads_to_the_guide(name: str) -> None:
    for holder in (kellet.ones(1), kellet.Tensor):
        with pytest.raises(AttributeError, match=rf"has no '{name}'\. PyTorch has it; .*from-pytorch\.md"):
            getattr(holder, name)


def test_what_is_here_has_no_hint() -> None:
    holders = (kellet, nn, nn.functional, nn.init, nn.utils, kellet.linalg, kellet.optim)
    here = {name for name in HINTS for holder in holders if hasattr(holder, name)}
    assert here - {"cuda", "is_cuda"} == set()
    assert [name for name in OF_MODULES if hasattr(nn.Module, name)] == []


@pytest.mark.parametrize(
    ("ask", "told"),
    [
        (lambda: nn.LazyLinear, "kellet.nn has no 'LazyLinear'. .*; give Linear the size of its input;"),
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


def test_absent_names_are_not_listed_and_may_be_given() -> None:
    x = kellet.ones(1)
    absent = [name for name in OF_TENSORS if not hasattr(kellet.Tensor, name)]
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
