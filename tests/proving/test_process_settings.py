"""What a program sets for the whole process, and a clean one has otherwise, is told."""

import pytest
import torch

NET = """
import torch
from torch import nn
class Net(nn.Module):
    def forward(self, x): return torch.full((1,), 1 / 3) * x
"""
SETS = "torch.set_default_dtype(torch.float64)\n"


@pytest.fixture
def default_dtype():
    before = torch.get_default_dtype()
    yield
    torch.set_default_dtype(before)


def test_another_default_dtype_is_told_with_both(export, default_dtype):
    torch.set_default_dtype(torch.float64)
    told = (
        r"in the proof, torch.get_default_dtype\(\) was torch.float32, and is torch.float64 where the "
        "archive was made: whoever loads it has to set that, too"
    )
    with pytest.warns(UserWarning, match=told):
        export({"thirds.py": NET}, "thirds:Net()")


@pytest.mark.parametrize("text", [NET, NET + SETS])
def test_one_that_stored_code_sets_and_one_that_is_as_everywhere_is_not(export, default_dtype, text):
    exporter = export({"thirds.py": text}, "thirds:Net()")
    assert exporter.proof.notes == ()
    assert "globals: globals of modules" in exporter.proof.steps
