"""A model written with torch leaves one process and goes on training, bit for bit, where its code is not.

Two processes for each way import torch, which takes most of the time.
"""

import pytest

pytest.importorskip("torch")

from collections.abc import Callable
from pathlib import Path

import torch

PROJECT = {
    "torchnet/__init__.py": "from .net import Net as Net\n",
    "torchnet/net.py": """
import torch
from torch import nn

from .blocks import Block


class Net(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.first = nn.Linear(4, width)
        self.block = Block(width)
        self.head = nn.Linear(width, 4)
        self.head.weight = nn.Parameter(self.first.weight.detach().t().contiguous())
        self.head.tied = self.first.bias

    def forward(self, x):
        return self.head(self.block(self.first(x)))
""",
    "torchnet/blocks.py": """
from torch import nn


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.BatchNorm1d(width)
        self.act = nn.GELU()

    def forward(self, x):
        return x + self.act(self.norm(x))
""",
}
STEP = """
    def step(net, optimizer):
        optimizer.zero_grad()
        net(x).square().sum().backward()
        optimizer.step()

    def show(net):
        for value in net.state_dict().values():
            print(value.numpy().tobytes().hex())
        print(net.eval()(x).detach().numpy().tobytes().hex())
"""
EXPORT = """
    import warnings
    import torch, torchnet
    from packager import PackageExporter, PackagingWarning
    warnings.simplefilter("ignore", PackagingWarning)  # of gradients, which are left out
    torch.set_num_threads(1)
    torch.manual_seed(0)
    x = torch.arange(12.0).reshape(3, 4) / 7
    net = torchnet.Net()
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.05)
{step}
    step(net, optimizer)
    with PackageExporter(r"{target}", policy="auto") as exporter:
        {saves}
    step(net, optimizer)
    show(net)
"""
LOAD = """
    import importlib.util, warnings
    import torch
    from packager import PackageImporter
    torch.set_num_threads(1)
    assert importlib.util.find_spec("torchnet") is None
    x = torch.arange(12.0).reshape(3, 4) / 7
{step}
    warnings.simplefilter("error")
    with PackageImporter(r"{target}") as importer:
        {loads}
    step(net, optimizer)
    show(net)
"""


@pytest.mark.parametrize(
    ("saves", "loads"),
    [
        pytest.param(
            'exporter.save_object("model", "both", (net, optimizer))',
            'net, optimizer = importer.load_object("model", "both")',
            id="as one object",
        ),
        pytest.param(
            'exporter.save_module("torchnet"); exporter.save_state_dict("weights", "net", net); '
            'exporter.save_object("weights", "optimizer", optimizer.state_dict())',
            'net = importer.import_module("torchnet").Net(); '
            'net.load_state_dict(importer.load_state_dict("weights", "net", as_="torch")); '
            "optimizer = torch.optim.AdamW(net.parameters(), lr=0.05); "
            'optimizer.load_state_dict(importer.load_object("weights", "optimizer"))',
            id="as state dicts",
        ),
    ],
)
def test_training_goes_on_bit_for_bit_with_the_optimisers_state(
    run: Callable[..., str], tmp_path: Path, saves: str, loads: str
) -> None:
    folder = tmp_path / "project"
    for name, text in PROJECT.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    target = tmp_path / "net.kellet"
    expected = run(EXPORT.format(step=STEP, target=target, saves=saves), folder)
    assert run(LOAD.format(step=STEP, target=target, loads=loads)) == expected


def test_tensors_of_a_state_dict_outlive_the_archive(tmp_path: Path) -> None:
    from packager import PackageExporter, PackageImporter

    weight = torch.arange(6.0).reshape(2, 3)
    with PackageExporter(tmp_path / "w.kellet") as exporter:
        exporter.save_state_dict("w", "w", {"weight": weight})
    with PackageImporter(tmp_path / "w.kellet") as importer:
        loaded = importer.load_state_dict("w", "w", as_="torch")["weight"]
    loaded.add_(1)
    assert torch.equal(loaded, weight + 1)
    with PackageImporter(tmp_path / "w.kellet") as importer:
        assert torch.equal(importer.load_state_dict("w", "w", as_="torch")["weight"], weight)
