"""What a user writes: train, pack, load, migrate. No type checker finds anything wrong; see `__main__.py`."""

from __future__ import annotations

import io
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import kellet
from kellet import Tensor, nn, optim
from kellet.nn import functional as F
from packager import (
    ArchiveError,
    Decision,
    Example,
    PackageError,
    PackageExporter,
    PackageImporter,
    Policy,
    verify,
)
from packager.migrations import Migration, MigrationPlan, load_checkpoint, migrate, plan_migration, rename
from packager.policy import parse_policy
from packager.weights import open_checkpoint, write_checkpoint


class Net(nn.Module):
    """Two layers with a word to say whether the output is a probability."""

    def __init__(self, width: int, hidden: int = 8, *, probability: bool = False) -> None:
        super().__init__()
        self.first = nn.Linear(width, hidden)
        self.last = nn.Linear(hidden, 1)
        self.probability = probability

    def forward(self, x: Tensor) -> Tensor:
        y = self.last(F.relu(self.first(x)))
        return kellet.sigmoid(y) if self.probability else y


def batches(count: int, width: int) -> Iterator[tuple[Tensor, Tensor]]:
    for number in range(count):
        x = kellet.ones(4, width, dtype=kellet.float32) * number
        yield x, x.sum(dim=1, keepdim=True)


def train(net: Net, steps: int = 5, lr: float = 0.01) -> list[float]:
    optimizer = optim.SGD(net.parameters(), lr=lr, momentum=0.9)
    schedule = optim.lr_scheduler.StepLR(optimizer, step_size=2)
    losses: list[float] = []
    for x, y in batches(steps, 3):
        optimizer.zero_grad()
        loss: Tensor = F.mse_loss(net(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
    return losses


def doubled(module: nn.Module, args: tuple[Tensor, ...], output: Tensor) -> Tensor:
    return output * 2


def told(module: nn.Module, args: tuple[Tensor, ...]) -> None:
    print(type(module).__name__, [tuple(one.shape) for one in args])


def add_mark(module: nn.Module, state: dict[str, Tensor], prefix: str, metadata: dict[str, object]) -> None:
    state[prefix + "mark"] = kellet.zeros(1)


def stored(exporter: PackageExporter, name: str) -> None:
    print("stored", name)


def decided(exporter: PackageExporter, name: str, decision: Decision) -> Decision:
    return decision.replace(source="") if name.endswith("._notes") else decision


def pack(net: Net, example: Tensor) -> bytes:
    buffer = io.BytesIO()
    policy: Policy = parse_policy('preset = "auto"')
    with PackageExporter(buffer, policy=policy) as exporter:
        handle = exporter.register_intern_hook(stored)
        exporter.register_intern_hook(decided)
        exporter.extern(["numpy.**"])
        exporter.save_object("model", "net", net, example=Example(example))
        exporter.save_state_dict("model", "weights", net.state_dict())
        print(len(exporter.plan().problems))
        handle.remove()
    return buffer.getvalue()


def unpack(data: bytes) -> Net:
    with PackageImporter(io.BytesIO(data)) as importer:
        state = importer.load_state_dict("model", "weights")
        print(sorted(state))
        net: Net = importer.load_object("model", "net")
        return net


def migrated(folder: Path, net: Net) -> Net:
    old = {f"old.{name}": value for name, value in net.state_dict().items()}
    names = Migration("names", [rename("old.{rest:any}", "{rest}")], to=2)
    plan: MigrationPlan = plan_migration([names], old)
    print(plan, len(migrate(names, old)))
    path = folder / "old.safetensors"
    write_checkpoint(path, old)
    print(list(open_checkpoint(path)))
    load_checkpoint(net, path, names)
    return net


def main() -> int:
    net = Net(3)
    losses = train(net)
    with net.register_forward_pre_hook(told), net.register_forward_hook(doubled):
        first: Tensor = net(kellet.ones(1, 3))
    with net.register_state_dict_post_hook(add_mark):
        print(sorted(net.state_dict()), len(losses), first.shape)
    try:
        data = pack(net, kellet.ones(1, 3))
        print(verify(data))
        again = unpack(data)
    except ArchiveError as error:
        print(error)
        return 1
    except PackageError as error:
        print("not packed:", error, file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        print(migrated(Path(folder), again).probability)
    return 0


if __name__ == "__main__":
    sys.exit(main())
