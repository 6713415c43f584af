"""Enumerations of pybind11 in a model of PyTorch: stored with a word on trust, or refused in the plan."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

import torch
from torch.nn.attention import SDPBackend

from packager import PackageExporter, PackageImporter, PackagingError, PackagingWarning
from packager._proving.values import numbers_of

pytestmark = pytest.mark.processes(share=3)

NET = """
from torch import nn

class Net(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.kind = kind
"""


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (torch._C.DispatchKey.CPU, "torch:DispatchKey"),
        (torch.profiler.ProfilerActivity.CPU, "torch._C._profiler:ProfilerActivity"),
    ],
)
def test_what_takes_its_state_by_itself_is_granted_in_the_proof_and_told(project, tmp_path, kind, name):
    project({"kinds.py": NET})
    import kinds

    exporter = PackageExporter(tmp_path / "net.kellet", policy="auto")
    exporter.save_object("model", "model", kinds.Net([kind]))
    with pytest.warns(PackagingWarning, match=rf"open the archive with trust=\('{name}',\)"):
        exporter.close()
    assert exporter.proof.trusted == (name,)
    with PackageImporter(tmp_path / "net.kellet", trust=exporter.proof.trusted) as importer:
        assert importer.load_object("model", "model").kind == [kind]


def test_what_has_another_name_than_its_module_gives_it_is_refused_in_the_plan(project, tmp_path):
    project({"kinds.py": NET})
    import kinds

    exporter = PackageExporter(tmp_path / "net.kellet", policy="auto")
    exporter.save_object("model", "model", kinds.Net(SDPBackend.MATH))
    [problem] = exporter.plan().problems
    assert problem.context.startswith(
        "model.kind: pybind11_type '_SDPBackend' cannot be imported by its name"
    )
    assert "store int(member), and make the member again" in problem.context
    with pytest.raises(PackagingError, match="_SDPBackend"):
        exporter.close()


def test_numbers_of_tensors_are_told_apart_by_dtype_and_value() -> None:
    made = [
        torch.ones(2),
        torch.ones(2, dtype=torch.bfloat16),
        torch.ones(2, dtype=torch.int32),
        torch.zeros(2),
        torch.nn.Linear(1, 2).weight,
    ]
    texts = [numbers_of(one) for one in made]
    assert all("#" in text for text in texts)
    assert len(set(texts)) == len(made)
    assert texts[0] == numbers_of(torch.ones(2))
