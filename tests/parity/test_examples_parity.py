"""A module of PyTorch is called with its example as users call it, and gives the same where it is loaded."""

from __future__ import annotations

import io

import pytest

torch = pytest.importorskip("torch")

from packager import Example, PackageExporter, PackageImporter


def test_a_module_of_torch_is_called_with_tensors() -> None:
    net = torch.nn.Bilinear(2, 3, 1)
    one, other = torch.ones(4, 2), torch.ones(4, 3)
    file = io.BytesIO()
    with PackageExporter(file, policy="auto") as exporter:
        exporter.save_object("model", "model", net, example=Example(one, input2=other))
    (schema,) = exporter.plan().schemas
    assert str(schema).startswith("model(input1: float32[*, *], input2: float32[*, *])")
    with PackageImporter(file) as importer:
        assert importer.check()[0].within(0)
        found = importer.run({"input1": one.numpy(), "input2": other.numpy()})["output"]
    assert found.tolist() == net(one, other).tolist()


def test_hooks_before_a_call_see_its_arguments_by_position() -> None:
    seen = []
    net = torch.nn.Linear(2, 1)
    handle = net.register_forward_pre_hook(lambda module, args: seen.append(len(args)))
    exporter = PackageExporter(io.BytesIO(), policy="auto")
    exporter.save_object("model", "model", torch.nn.Sequential(net), example=torch.ones(1, 2))
    exporter.plan()
    handle.remove()
    assert set(seen) <= {1}
