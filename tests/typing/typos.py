"""Ten mistakes, one at each line that says so; both type checkers find every one, and nothing else."""

from __future__ import annotations

import io

import kellet
from kellet import Tensor, nn
from kellet.optim import SDG  # mistake: a name with two letters swapped
from packager import PackageExporter, PackageImporter
from packager import PackageExportr as Exporter  # mistake: a name that lacks a letter
from packager.migrations import Migration, renam  # mistake: a name that lacks its last letter


class Net(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.layer = nn.Linear(width, 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x)


def observe(module: nn.Module) -> None: ...


def decide(exporter: PackageExporter) -> None: ...


net = Net(3)
other = nn.Linaer(3, 1)  # mistake: a name of a subpackage
net("one")  # mistake: text where the class's forward takes a tensor
zeros = kellet.zeros(3, dtype=32)  # mistake: a number where a dtype is wanted
net.register_forward_hook(observe)  # mistake: a hook that takes too little
exporter = PackageExporter(io.BytesIO(), polcy="auto")  # mistake: an option's name
exporter.register_intern_hook(decide)  # mistake: a hook that takes too little
names: Migration = Migration("names", "rename")  # mistake: text where a list of steps is wanted
importer = PackageImporter(io.BytesIO())
print(Exporter, SDG, renam, other, zeros, importer, names)
