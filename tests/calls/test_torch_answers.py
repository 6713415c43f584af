"""Golden calls of PyTorch's modules: tensors of every kind, and what lies between them."""

import pytest

pytest.importorskip("torch")

import io
from collections import namedtuple

import numpy as np
import torch
from torch import nn

from packager import PackageExporter, PackageImporter
from packager._calls import CallError, call_with_arrays

Pair = namedtuple("Pair", "logits label")


@pytest.mark.parametrize(
    ("tensor", "found"),
    [
        (torch.tensor([1.5, -3.0], dtype=torch.bfloat16), np.array([1.5, -3.0], "f4")),
        (torch.tensor([0.5, 448.0]).to(torch.float8_e4m3fn), np.array([0.5, 448.0], "f4")),
        (torch.tensor([1 + 2j]).conj(), np.array([1 - 2j], "c8")),
        (torch.tensor([1 + 2j]).conj().imag, np.array([-2.0], "f4")),
        (torch.eye(2).to_sparse(), np.eye(2, dtype="f4")),
        (torch.ones(2, requires_grad=True) * 2, np.array([2.0, 2.0], "f4")),
        (torch.tensor(2**60), np.array(2**60)),
        (torch.zeros(0, 3, dtype=torch.bfloat16), np.zeros((0, 3), "f4")),
    ],
)
def test_a_tensor_is_an_array_with_its_values(tensor, found):
    answer = call_with_arrays(lambda: {"x": tensor}, {})["output.x"]
    assert (answer.dtype, answer.tolist()) == (found.dtype, found.tolist())


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ([[1, 2.5]], (torch.Tensor, torch.float32)),
        (((True, False),), (torch.Tensor, torch.bool)),
        ([1, 2], (torch.Tensor, torch.int64)),
        (np.ones(2), (torch.Tensor, torch.float64)),
        ({"ids": np.ones(2, "i4")}, (dict, torch.int32)),
        (["a", 1], (list, None)),
        ([], (list, None)),
        (3, (int, None)),
        (None, (type(None), None)),
        ("a", (str, None)),
    ],
)
def test_lists_of_numbers_are_tensors_for_a_module_and_plain_values_what_they_are(value, found):
    class Asked(nn.Module):
        def forward(self, x):
            inner = x["ids"] if type(x) is dict else x
            return [type(x).__name__, str(getattr(inner, "dtype", None))]

    kind, dtype = found
    answer = call_with_arrays(Asked(), {"x": value})
    assert list(answer.values()) == [kind.__name__, str(dtype)]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(2)

    def forward(self, x, words=None):
        y = self.norm(x)
        return Pair(y.bfloat16(), {"words": words, "top": y.argmax(1), "dtype": y.dtype.is_complex})


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.filterwarnings("ignore::packager.errors.PackagingWarning")
def test_a_golden_call_is_repeated_with_all_its_parts_and_in_its_mode(training):
    file, net = io.BytesIO(), Net()
    with PackageExporter(file, policy="auto", prove=False) as exporter:
        exporter.save_object("model", "model", net)
        exporter.save_example("model", {"x": [[0, 1.5], [2, 3]], "words": ["a", None]}, training=training)
    assert net.norm.num_batches_tracked == 0
    with PackageImporter(file) as importer:
        (outcome,) = importer.check()
        answer = importer.run({"x": [[0, 1.5], [2, 3]], "words": ["a", None]}, training=training)
    assert outcome.within(0)
    assert {one.name for one in outcome.deviations} == set(answer)
    assert (answer["output.1.words.0"], answer["output.1.words.1"]) == ("a", None)
    assert (abs(answer["output.0"].mean(axis=0)) < 0.01).all() == training


def test_a_distribution_is_no_array():
    with pytest.raises(CallError, match="output is of type Normal; expected arrays, tensors, numbers, text"):
        call_with_arrays(lambda: torch.distributions.Normal(0.0, 1.0), {})
