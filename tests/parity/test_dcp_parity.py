"""Folders that torch.distributed.checkpoint saves, by one process or two, give what torch loads from them."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

import subprocess
import sys
from pathlib import Path

import torch
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.api import CheckpointException
from torch.distributed.checkpoint.filesystem import FileSystemWriter, SerializationFormat
from torch.distributed.checkpoint.format_utils import dcp_to_torch_save

from packager import PackageImporter, open_checkpoint, write_checkpoint
from packager._weights import LegacyTensor
from packager.errors import LegacyFormatError
from packager.weights import Checkpoint

pytestmark = pytest.mark.filterwarnings("ignore:torch.distributed is disabled:UserWarning")


def saved(folder: Path, state: object, **options: object) -> Path:
    dcp.save(state, storage_writer=FileSystemWriter(folder, **options), no_dist=True)
    return folder


def loaded(folder: Path) -> dict[str, object]:
    """What torch makes of a folder."""
    target = folder.with_suffix(".pt")
    dcp_to_torch_save(folder, target)
    return torch.load(target, weights_only=False)


def require_equal(found: object, expected: object) -> None:
    """Compare what was read with what torch gives, at every depth, to the bit."""
    if isinstance(expected, torch.Tensor):
        assert isinstance(found, LegacyTensor)
        assert (f"torch.{found.dtype}", found.shape) == (str(expected.dtype), tuple(expected.shape))
        bits = expected.detach().resolve_conj().resolve_neg().contiguous().reshape(-1).view(torch.uint8)
        assert b"".join(found.pieces()) == bits.numpy().tobytes()
    elif isinstance(expected, dict):
        assert type(found) is dict
        assert list(found) == list(expected)
        for key, value in expected.items():
            require_equal(found[key], value)
    elif isinstance(expected, (list, tuple)):
        assert type(found) is type(expected)
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            require_equal(one, other)
    else:
        assert (type(found), found) == (type(expected), expected)


def training() -> dict[str, object]:
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(5, 7), torch.nn.BatchNorm1d(7), torch.nn.Linear(7, 3))
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.01)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 2)
    net(torch.randn(4, 5)).sum().backward()
    optimizer.step()
    schedule.step()
    return {
        "model": net.state_dict(),
        "optim": optimizer.state_dict(),
        "schedule": schedule.state_dict(),
        "epoch": 3,
    }


DTYPES = (
    "float64 float32 float16 bfloat16 int64 int32 int16 int8 uint8 bool complex64 complex128 float8_e4m3fn"
)
STATES = {
    "a training script's": training,
    "a module's state": lambda: torch.nn.Linear(3, 2).state_dict(),
    "dtypes": lambda: {name: torch.tensor([0, 1, 2, 4]).to(getattr(torch, name)) for name in DTYPES.split()},
    "shapes": lambda: {
        "scalar": torch.tensor(2.5),
        "empty": torch.zeros(0, 3),
        "empty inside": torch.zeros(2, 0, 3),
        "one": torch.ones(1, 1, 1),
        "transposed": torch.arange(12.0).reshape(3, 4).T,
        "step": torch.arange(12.0).reshape(3, 4)[:, ::2],
        "expanded": torch.ones(1).expand(2, 5),
        "channels last": torch.arange(24.0).reshape(1, 2, 3, 4).to(memory_format=torch.channels_last),
        "conjugated": torch.tensor([1 + 2j]).conj(),
    },
    "nested": lambda: {
        "a": {"b": {"c": torch.ones(2), "d": 3}},
        "list": [torch.ones(1), {"x": torch.zeros(1), "y": "text"}, [torch.ones(3)], None],
        "plain list": [1, 2, "x"],
        "tuple": (1, torch.ones(2)),
        "numbers": {0: torch.ones(1), 1: {"2": 3}},
        "dots.in": {"a.key": torch.ones(1)},
    },
    "values": lambda: {
        "w": torch.ones(1),
        "none": None,
        "text": "größe",
        "bytes": b"\x00\xff",
        "float": float("inf"),
        "big": 1 << 100,
        "complex": 1 + 2j,
        "set": {1, 2},
    },
}


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("name", STATES)
def test_one_process(tmp_path: Path, name: str, threads: int) -> None:
    folder = saved(tmp_path / "dcp", STATES[name](), thread_count=threads)
    require_equal(open_checkpoint(folder, everything=True).root, loaded(folder))


def test_a_file_for_each_piece(tmp_path: Path) -> None:
    folder = saved(tmp_path / "dcp", training(), single_file_per_rank=False)
    assert open_checkpoint(folder).shards > 20
    require_equal(open_checkpoint(folder).root, loaded(folder))


SHARDED = """
import os, sys, torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.api import CheckpointException
from torch.distributed.checkpoint.state_dict import get_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import Replicate, Shard, distribute_tensor

rank, port, folder = int(sys.argv[1]), sys.argv[2], sys.argv[3]
os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=port)
dist.init_process_group("gloo", rank=rank, world_size=2)
mesh = init_device_mesh("cpu", (2,))
torch.manual_seed(0)
whole = torch.randn(5, 7)
shards = {
    f"{dtype} by {axis}": distribute_tensor(whole.to(getattr(torch, dtype)), mesh, [Shard(axis)])
    for dtype in ("float32", "bfloat16", "int8", "bool")
    for axis in (0, 1)
}
deep = torch.randn(3, 4, 5)
shards |= {f"deep {axis}": distribute_tensor(deep, mesh, [Shard(axis)]) for axis in (0, 1, 2)}
shards |= {
    "same": distribute_tensor(whole, mesh, [Replicate()]),
    "plain": whole,
    "one row": distribute_tensor(whole[:1], mesh, [Shard(0)]),
    "empty": distribute_tensor(whole[:0], mesh, [Shard(0)]),
    "scalar": distribute_tensor(torch.tensor(2.5), mesh, [Replicate()]),
    "transposed": distribute_tensor(whole.T.contiguous().T, mesh, [Shard(1)]),
}
net = torch.nn.Sequential(torch.nn.Linear(6, 5), torch.nn.LayerNorm(5), torch.nn.Linear(5, 3))
fully_shard(net, mesh=mesh)
optimizer = torch.optim.AdamW(net.parameters(), lr=0.01)
net(torch.randn(4, 6)).sum().backward()
optimizer.step()
model, optim = get_state_dict(net, optimizer)
dcp.save({"model": model, "optim": optim, "shards": shards, "epoch": 3}, checkpoint_id=folder)
dist.destroy_process_group()
"""


@pytest.fixture(scope="module")
def of_two(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that two processes saved: a model of FSDP, its optimiser, and shards of every axis."""
    import socket

    folder = tmp_path_factory.mktemp("two") / "dcp"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    command = [sys.executable, "-W", "ignore", "-c", SHARDED]
    both = [subprocess.Popen([*command, str(rank), port, str(folder)]) for rank in (0, 1)]
    try:
        assert [one.wait(300) for one in both] == [0, 0]
    finally:
        for one in both:
            one.kill()
    return folder


def test_two_processes(of_two: Path) -> None:
    checkpoint = open_checkpoint(of_two)
    assert (checkpoint.container, checkpoint.shards) == ("model", 2)
    require_equal(checkpoint.root, loaded(of_two))


def test_tensors_of_torch_are_those_that_torch_loads(of_two: Path) -> None:
    for name in ("model", "shards"):
        found = open_checkpoint(of_two, unwrap=name).state_dict("torch")
        expected = loaded(of_two)[name]
        assert list(found) == list(expected)
        for key, tensor in expected.items():
            assert torch.equal(found[key], tensor), key
            assert found[key].dtype == tensor.dtype


def test_the_state_of_an_optimiser_is_loaded_by_torch(of_two: Path, tmp_path: Path) -> None:
    expected = loaded(of_two)["optim"]
    written = write_checkpoint(tmp_path / "optim.kellet", open_checkpoint(of_two, unwrap="optim"))
    with PackageImporter(written.path) as importer:
        found = importer.load_state_dict("model", "weights")
        assert found["param_groups"] == expected["param_groups"]
        for key, state in expected["state"].items():
            for name, tensor in state.items():
                assert torch.equal(found["state"][key][name], tensor)


@pytest.mark.parametrize("ending", ["kellet", "safetensors"])
def test_what_is_written_is_equal(of_two: Path, tmp_path: Path, ending: str) -> None:
    written = write_checkpoint(tmp_path / f"new.{ending}", open_checkpoint(of_two, unwrap="shards"))
    found: Checkpoint = open_checkpoint(written.path)
    for key, tensor in loaded(of_two)["shards"].items():
        assert torch.equal(found.state_dict("torch")[key], tensor), key


def test_the_form_of_safetensors_is_refused_as_torch_refuses_it(tmp_path: Path) -> None:
    folder = saved(
        tmp_path / "dcp", {"w": torch.ones(2)}, serialization_format=SerializationFormat.SAFETENSORS
    )
    with pytest.raises(CheckpointException):
        loaded(folder)
    with pytest.raises(LegacyFormatError, match=r"DCP in its safetensors form"):
        open_checkpoint(folder)
