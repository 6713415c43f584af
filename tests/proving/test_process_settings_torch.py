"""What a program sets for all of PyTorch, and a clean process has otherwise, is a suspect."""

import pytest

pytest.importorskip("torch")

import numpy
import torch

from packager._proving import ProofError

pytestmark = pytest.mark.processes(share=3)

NET = """
import torch
from torch import nn
class Net(nn.Module):
    def forward(self, x): return torch.full((1,), 1 / 3) * x
"""


@pytest.fixture
def default_dtype():
    before = torch.get_default_dtype()
    yield
    torch.set_default_dtype(before)


def test_an_answer_that_hangs_on_one_is_refused_and_says_which(export, default_dtype, tmp_path):
    torch.set_default_dtype(torch.float64)
    strict = NET.replace("* x", "* x, str(torch.zeros(1).dtype)")
    with pytest.raises(ProofError) as caught:
        export(
            {"thirds.py": strict},
            "thirds:Net()",
            lambda one: one.save_example("model", {"x": numpy.ones(1)}),
        )
    [problem] = caught.value.problems
    assert problem.reason == "An example fails or has other outputs in the clean process."
    assert "stored as 'torch.float64', found 'torch.float32'" in problem.context
    assert (
        problem.suspects[0]
        == "torch.get_default_dtype() is torch.float64 here and torch.float32 in the clean process"
    )
    assert not (tmp_path / "net.kellet").exists()


def test_a_hook_around_all_networks_is_told(export):
    twice = torch.nn.modules.module.register_module_forward_hook(lambda module, args, output: 2 * output)
    try:
        with pytest.raises(ProofError) as caught:
            export(
                {"thirds.py": NET},
                "thirds:Net()",
                lambda one: one.save_example("model", {"x": numpy.ones(1)}),
            )
    finally:
        twice.remove()
    [problem] = caught.value.problems
    assert problem.suspects[0].startswith("torch.nn.modules.module._global_forward_hooks is [function tests.")
