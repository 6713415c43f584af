"""Composed graphs with parts of PyTorch call nothing that is not stated; see test_grammar.py."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from collections.abc import Iterator

import torch

from tests.attacks.grammar import vocabulary as words
from tests.attacks.grammar.holes import TORCH_HOLES, graphs_until_found, opened
from tests.attacks.grammar.run import Grammar

pytestmark = pytest.mark.unix  # the view of Windows stands in for `import`, and would be among the calls


@pytest.fixture(scope="module")
def grammar() -> Iterator[Grammar]:
    made = Grammar()
    yield made
    made.close()


@pytest.mark.parametrize("part", range(4))
def test_composed_graphs_of_torch_call_nothing_outside_the_statement(grammar: Grammar, part: int) -> None:
    report = grammar.run(range(100_000 + part * 500, 100_000 + (part + 1) * 500))
    assert report.found == []
    assert report.outcomes["built"] > 150


def test_all_modules_and_optimisers_of_torch_can_be_reached() -> None:
    assert {torch.nn.Linear, torch.nn.LSTM, torch.nn.TransformerDecoder} <= {
        getattr(torch.nn, name) for _, name in words.MODULES["torch.module"]
    }
    assert {"SGD", "Adam", "LBFGS"} <= {name for _, name in words.OPTIMIZERS["torch.optimizer"]}


@pytest.mark.parametrize("hole", TORCH_HOLES)
def test_each_hole_can_be_opened(hole: str) -> None:
    with opened(hole):
        pass


def test_hooks_that_are_put_back_are_found(grammar: Grammar) -> None:
    assert graphs_until_found(grammar, "hooks in data alone", 3000)[1]
