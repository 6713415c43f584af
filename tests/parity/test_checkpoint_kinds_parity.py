"""Every kind of checkpoint that people have: saved by torch, converted without it, and what torch.load gives.

`docs/checkpoint-kinds.md` has this table for readers; a test below compares the two.
"""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

import json
import random
import re
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

from packager import PackageImporter

FORMATS = {"zip": True, "stream": False}
ROOT = Path(__file__).resolve().parents[2]
GUIDE = ROOT / "docs" / "checkpoint-kinds.md"


class Kind(NamedTuple):
    """`make` gives what is saved; `options` are those of `convert`, and `part` is what they take of it."""

    make: Callable[[], Any]
    options: tuple[str, ...] = ()
    part: Callable[[Any], Any] = lambda loaded: loaded


def net() -> nn.Sequential:
    return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))


def stepped(make: Callable[[Any], Any]) -> Any:
    """Return the state of an optimiser that has made a step."""
    module = net()
    optimizer = make(module.parameters())

    def closure() -> Any:
        optimizer.zero_grad()
        loss = module(torch.randn(5, 3)).pow(2).sum()
        loss.backward()
        return loss

    optimizer.step(closure)
    return optimizer.state_dict()


def scheduled(make: Callable[[Any], Any], *measured: float) -> Any:
    """Return the state of a scheduler after two epochs."""
    optimizer = torch.optim.SGD(net().parameters(), 0.1)
    scheduler = make(optimizer)
    for _ in range(2):
        optimizer.step()
        scheduler.step(*measured)
    return scheduler.state_dict()


def two_phases(optimizer: Any) -> Any:
    schedules = torch.optim.lr_scheduler
    warm, cool = schedules.LinearLR(optimizer), schedules.CosineAnnealingLR(optimizer, 5)
    return schedules.SequentialLR(optimizer, [warm, cool], [3])


def random_states() -> dict[str, Any]:
    """Return what transformers' Trainer writes as `rng_state.pth`."""
    numbers = np.random.RandomState(3).get_state()
    return {"python": random.Random(3).getstate(), "numpy": numbers, "cpu": torch.get_rng_state()}


def base(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(*shape, dtype=dtype)


def views() -> dict[str, torch.Tensor]:
    whole = base(4, 6)
    return {"row": whole[1], "turned": whole.t(), "step": whole[:, ::2], "none": whole[:0], "whole": whole}


def conjugated() -> dict[str, torch.Tensor]:
    numbers = base(4, dtype=torch.complex64)
    return {"plain": numbers, "conj": numbers.conj(), "part": numbers.conj()[1:3]}


def tied() -> Any:
    model = nn.ModuleDict({"embed": nn.Embedding(5, 3), "head": nn.Linear(3, 5, bias=False)})
    model["head"].weight = model["embed"].weight
    return model.state_dict()


def compressed(name: str) -> dict[str, torch.Tensor]:
    dense = torch.eye(4)
    blocks = {"bsr": dense.to_sparse_bsr, "bsc": dense.to_sparse_bsc}
    plain = {"csr": dense.to_sparse_csr, "csc": dense.to_sparse_csc}
    return {"w": blocks[name]((2, 2)) if name in blocks else plain[name](), "b": base(2)}


def coalesced() -> dict[str, torch.Tensor]:
    twice = torch.sparse_coo_tensor([[0, 0, 1]], [1.0, 2.0, 3.0], (2,))
    return {"twice": twice, "once": twice.coalesce(), "eye": torch.eye(3).to_sparse()}


def per_tensor() -> dict[str, torch.Tensor]:
    kinds = (torch.qint8, torch.quint8, torch.qint32)
    return {str(kind): torch.quantize_per_tensor(base(3, 4), 0.1, 3, kind) for kind in kinds}


def per_channel() -> dict[str, torch.Tensor]:
    scales, zeros = torch.rand(4) + 0.1, torch.tensor([0, 1, 2, 3])
    return {"w": torch.quantize_per_channel(base(4, 3), scales, zeros, 0, torch.qint8)}


def quantized_model() -> Any:
    return torch.ao.quantization.quantize_dynamic(nn.Sequential(nn.Linear(3, 4)), {nn.Linear}).state_dict()


def pruned() -> Any:
    from torch.nn.utils import prune

    return prune.l1_unstructured(nn.Linear(3, 4), "weight", 0.5).state_dict()


def old_weight_norm() -> Any:
    return torch.nn.utils.weight_norm(nn.Linear(3, 2)).state_dict()


def trainer() -> dict[str, Any]:
    return {
        "epoch": 3,
        "model": net().state_dict(),
        "optimizer": stepped(torch.optim.AdamW),
        "scheduler": {"last_epoch": 3, "_last_lr": [0.1]},
        "scaler": {"scale": 65536.0, "_growth_tracker": 0},
        "rng_state": torch.get_rng_state(),
        "best": float("inf"),
    }


def lightning() -> dict[str, Any]:
    return {
        "epoch": 3,
        "global_step": 10,
        "pytorch-lightning_version": "2.0",
        "state_dict": net().state_dict(),
        "optimizer_states": [stepped(torch.optim.Adam), stepped(lambda p: torch.optim.SGD(p, 0.1, 0.9))],
        "lr_schedulers": [scheduled(lambda o: torch.optim.lr_scheduler.StepLR(o, 1))],
        "callbacks": {"best": {"score": torch.tensor(1.0)}},
    }


def ema() -> dict[str, Any]:
    averaged = torch.optim.swa_utils.AveragedModel(net())
    return {"state_dict": net().state_dict(), "state_dict_ema": averaged.state_dict()}


def whole_model() -> Any:
    return net()


def flat(value: Any, path: str = "") -> dict[str, torch.Tensor]:
    """Return all tensors by dotted path, as `--everything` takes them."""
    if isinstance(value, torch.Tensor):
        return {path: value}
    parts = value.items() if isinstance(value, dict) else enumerate(value)
    if not isinstance(value, (dict, list, tuple)):
        return {}
    return {
        key: tensor
        for name, part in parts
        if isinstance(part, (dict, list, tuple, torch.Tensor))
        for key, tensor in flat(part, f"{path}.{name}" if path else str(name)).items()
    }


def under(*names: Any) -> Callable[[Any], Any]:
    def part(loaded: Any) -> Any:
        for name in names:
            loaded = loaded[name]
        return loaded

    return part


KINDS = {
    "a module's state": Kind(lambda: net().state_dict()),
    "views": Kind(views),
    "expanded": Kind(lambda: {"w": base(1, 4).expand(3, 4)}),
    "channels last": Kind(lambda: {"w": base(2, 3, 4, 4).to(memory_format=torch.channels_last)}),
    "zero sizes and no axes": Kind(lambda: {"none": torch.empty(0, 3), "one": torch.tensor(3.0)}),
    "tied": Kind(tied),
    "conjugated": Kind(conjugated),
    "negated": Kind(lambda: {"w": base(4, dtype=torch.complex64).conj().imag}),
    "sparse COO": Kind(coalesced),
    "sparse CSR": Kind(lambda: compressed("csr")),
    "sparse CSC": Kind(lambda: compressed("csc")),
    "sparse BSR": Kind(lambda: compressed("bsr")),
    "sparse BSC": Kind(lambda: compressed("bsc")),
    "quantised per tensor": Kind(per_tensor),
    "quantised per channel": Kind(per_channel),
    "a quantised model's state": Kind(quantized_model),
    "on the device meta": Kind(lambda: {"m": torch.empty(2, 3, device="meta"), "w": base(2)}),
    "float16": Kind(lambda: {"w": base(3).half()}),
    "bfloat16": Kind(lambda: {"w": base(3).bfloat16()}),
    "float8": Kind(
        lambda: {
            name: base(3).to(getattr(torch, name))
            for name in (
                "float8_e4m3fn",
                "float8_e5m2",
                "float8_e4m3fnuz",
                "float8_e5m2fnuz",
                "float8_e8m0fnu",
            )
        }
    ),
    "complex": Kind(lambda: {"c": base(3, dtype=torch.complex64), "z": base(3, dtype=torch.complex128)}),
    "integers and bools": Kind(
        lambda: {
            name: torch.tensor([0, 1, 1]).to(getattr(torch, name))
            for name in "int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool".split()
        }
    ),
    "parameters with attributes": Kind(
        lambda: {"w": nn.Parameter(base(2)), "b": nn.Parameter(base(2), False)}
    ),
    "arrays of NumPy beside tensors": Kind(lambda: {"w": base(2), "a": np.arange(3.0)}),
    "extra state": Kind(lambda: {"w": base(2), "head._extra_state": {"seen": torch.ones(1), "n": 3}}),
    "values inside of lists": Kind(lambda: {"w": base(2), "more": [base(2), (base(1), torch.float16, "a")]}),
    "weight norm": Kind(old_weight_norm),
    "pruned": Kind(pruned),
    "SGD": Kind(lambda: stepped(lambda p: torch.optim.SGD(p, 0.1, momentum=0.9))),
    "AdamW": Kind(lambda: stepped(lambda p: torch.optim.AdamW(p, amsgrad=True))),
    "Adagrad": Kind(lambda: stepped(torch.optim.Adagrad)),
    "RMSprop": Kind(lambda: stepped(lambda p: torch.optim.RMSprop(p, centered=True))),
    "LBFGS": Kind(lambda: stepped(torch.optim.LBFGS)),
    "a schedule": Kind(lambda: scheduled(lambda o: torch.optim.lr_scheduler.OneCycleLR(o, 0.5, 10))),
    "schedules behind one another": Kind(lambda: scheduled(two_phases)),
    "a schedule by a function": Kind(
        lambda: scheduled(lambda o: torch.optim.lr_scheduler.LambdaLR(o, lambda epoch: 0.9**epoch))
    ),
    "a schedule by a measure": Kind(
        lambda: scheduled(lambda o: torch.optim.lr_scheduler.ReduceLROnPlateau(o, patience=0), 3.0)
    ),
    "a scaler of gradients": Kind(lambda: {"scale": 2.0**16, "growth_factor": 2.0, "_growth_tracker": 3}),
    "states of random numbers": Kind(random_states),
    "a training script's, the model": Kind(trainer, (), under("model")),
    "a training script's, the optimiser": Kind(trainer, ("--unwrap", "optimizer"), under("optimizer")),
    "a training script's, the schedule": Kind(trainer, ("--unwrap", "scheduler"), under("scheduler")),
    "a training script's, the scaler": Kind(trainer, ("--unwrap", "scaler"), under("scaler")),
    "Lightning's, the model": Kind(lightning, (), under("state_dict")),
    "Lightning's, an optimiser": Kind(
        lightning, ("--unwrap", "optimizer_states.1"), under("optimizer_states", 1)
    ),
    "Lightning's, a schedule": Kind(lightning, ("--unwrap", "lr_schedulers.0"), under("lr_schedulers", 0)),
    "averaged beside plain": Kind(ema, ("--unwrap", "state_dict_ema"), under("state_dict_ema")),
    "lists of tensors": Kind(lambda: [base(2), {"a": base(1)}], ("--everything",), flat),
    "one tensor for each number": Kind(lambda: {0: base(2), 1: base(3)}, ("--everything",), flat),
    "a whole model": Kind(whole_model, ("--skip-unknown",), lambda loaded: loaded.state_dict()),
}

OPTIMISERS = {
    "SGD": lambda parameters: torch.optim.SGD(parameters, 0.5, momentum=0.1),
    "AdamW": lambda parameters: torch.optim.AdamW(parameters, amsgrad=True),
    "Adagrad": torch.optim.Adagrad,
    "RMSprop": lambda parameters: torch.optim.RMSprop(parameters, centered=True),
    "LBFGS": torch.optim.LBFGS,
    "a training script's, the optimiser": torch.optim.AdamW,
    "Lightning's, an optimiser": lambda parameters: torch.optim.SGD(parameters, 0.5, momentum=0.1),
}

# Torch writes streams of dtypes that came later, and cannot read them: what its zip files give is expected.
NO_STREAM = ("float8", "integers and bools")

SCRIPT = """
import json, sys
sys.modules["torch"] = None
from packager._cli.main import main
for old, new, options in json.load(open(sys.argv[1])):
    assert main(["convert", old, new, *options]) == 0, old
"""


@pytest.fixture(scope="module")
def converted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every kind in both formats, converted by one process in which torch cannot be imported."""
    folder = tmp_path_factory.mktemp("kinds")
    torch.manual_seed(0)
    jobs = []
    for number, kind in enumerate(KINDS.values()):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of torch: sparse is in beta, and quantisation on its way out
            made = kind.make()
            for name, zipped in FORMATS.items():
                old = folder / f"{number}.{name}.pt"
                torch.save(made, old, _use_new_zipfile_serialization=zipped)
                jobs.append([str(old), str(old.with_suffix(".kellet")), kind.options])
    (folder / "jobs.json").write_text(json.dumps(jobs))
    ran = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(folder / "jobs.json")], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    return folder


def loaded_by_torch(path: Path, kind: Kind) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return kind.part(torch.load(path, weights_only=False))


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")  # of torch, as above
@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("name", KINDS)
def test_a_kind_is_what_torch_loads(converted: Path, name: str, format: str) -> None:
    path = converted / f"{list(KINDS).index(name)}.{format}.pt"
    readable = path if name not in NO_STREAM else path.with_name(path.name.replace("stream", "zip"))
    expected = loaded_by_torch(readable, KINDS[name])
    with PackageImporter(path.with_suffix(".kellet")) as importer:
        same(importer.load_state_dict("model", "weights").copy(), expected, name)


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("name", OPTIMISERS)
def test_an_optimiser_goes_on_from_what_was_converted(converted: Path, name: str, format: str) -> None:
    path = converted / f"{list(KINDS).index(name)}.{format}.pt"
    expected = OPTIMISERS[name](net().parameters())
    expected.load_state_dict(loaded_by_torch(path, KINDS[name]))
    found = OPTIMISERS[name](net().parameters())
    with PackageImporter(path.with_suffix(".kellet")) as importer:
        found.load_state_dict(importer.load_state_dict("model", "weights"))
    same(found.state_dict(), expected.state_dict(), name)


def same(found: Any, expected: Any, path: str) -> None:
    """Compare values of every kind, tensors to the bit."""
    if isinstance(expected, np.ndarray) and path.count("[") == 1:
        expected = torch.from_numpy(expected)  # a tensor among tensors; inside of other values what it was
    if isinstance(expected, np.ndarray):
        assert (type(found), found.dtype, found.tolist()) == (np.ndarray, expected.dtype, expected.tolist())
        return
    if isinstance(expected, torch.Tensor):
        same_tensor(found, expected.detach(), path)
    elif isinstance(expected, dict):
        assert list(found) == list(expected), path
        for key, value in expected.items():
            same(found[key], value, f"{path}[{key!r}]")
    elif isinstance(expected, (list, tuple)):
        assert (len(found), isinstance(found, tuple)) == (len(expected), isinstance(expected, tuple)), path
        for place, value in enumerate(expected):
            same(found[place], value, f"{path}[{place}]")
    else:
        assert (type(found), found) == (type(expected), expected), path


def same_tensor(found: Any, expected: torch.Tensor, path: str) -> None:
    kind = (expected.dtype, expected.shape, expected.layout, expected.device, expected.is_quantized)
    assert (found.dtype, found.shape, found.layout, found.device, found.is_quantized) == kind, path
    if expected.layout is torch.sparse_coo:
        assert found.is_coalesced() == expected.is_coalesced(), path
        same([found._indices(), found._values()], [expected._indices(), expected._values()], path)
    elif expected.layout is not torch.strided:
        same(found.to_dense(), expected.to_dense(), path)
    elif expected.is_quantized:
        assert torch.equal(found, expected), path
        assert (found.qscheme(), str(found)) == (expected.qscheme(), str(expected)), path
    elif not expected.is_meta:
        found, expected = (one.resolve_conj().resolve_neg().contiguous() for one in (found, expected))
        assert bytes_of(found) == bytes_of(expected), path


def bytes_of(tensor: torch.Tensor) -> bytes:
    return tensor.reshape(-1).view(torch.uint8).numpy().tobytes() if tensor.numel() else b""


def test_ties_are_kept(converted: Path) -> None:
    path = converted / f"{list(KINDS).index('tied')}.zip.kellet"
    with PackageImporter(path) as importer:
        found = importer.load_state_dict("model", "weights")
        assert found["embed.weight"].data_ptr() == found["head.weight"].data_ptr()


def test_the_table_in_the_guide_lists_these_kinds() -> None:
    rows = re.findall(r"^\| ([^|]+?) \| ", GUIDE.read_text(encoding="utf-8"), re.MULTILINE)
    assert [row for row in rows if row not in ("kind", "---")] == list(KINDS)
