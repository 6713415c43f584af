"""Checkpoints as people have them, saved by torch and converted without it: what torch.load gives."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

import argparse
import datetime
import pathlib
import subprocess
import sys
import warnings
from dataclasses import dataclass

import numpy as np
import torch

from packager._migrations import Migration, migrate, rename
from packager._weights import CheckpointPickleError, open_checkpoint, write_checkpoint
from packager.errors import LegacyFormatError

FORMATS = {"zip": True, "stream": False}


def module() -> torch.nn.Module:
    torch.manual_seed(0)
    block = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.ReLU())
    return torch.nn.Sequential(block, torch.nn.Flatten(), torch.nn.Linear(4, 5))


def weight_norm_old() -> dict[str, torch.Tensor]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # the spelling is old; files with it are not few
        return torch.nn.utils.weight_norm(torch.nn.Linear(3, 2)).state_dict()


def ddp() -> dict[str, torch.Tensor]:
    """In a group of this process alone."""
    torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
    try:
        return torch.nn.parallel.DistributedDataParallel(module()).state_dict()
    finally:
        torch.distributed.destroy_process_group()


def ema() -> dict[str, torch.Tensor]:
    averaged = torch.optim.swa_utils.AveragedModel(module())
    averaged.update_parameters(module())
    return averaged.state_dict()


def tied() -> dict[str, torch.Tensor]:
    net = torch.nn.ModuleDict({"embed": torch.nn.Embedding(5, 3), "head": torch.nn.Linear(3, 5, bias=False)})
    net["head"].weight = net["embed"].weight
    return net.state_dict()


# State dicts with the keys that wrappers of PyTorch give them.
STYLES = {
    "plain": lambda: module().state_dict(),
    "ddp": ddp,
    "dp": lambda: torch.nn.DataParallel(module()).state_dict(),
    "compile": lambda: torch.compile(module()).state_dict(),
    "ema": ema,
    "weight_norm": weight_norm_old,
    "parametrizations": lambda: torch.nn.utils.parametrizations.weight_norm(
        torch.nn.Linear(3, 2)
    ).state_dict(),
    "tied": tied,
    "channels_last": lambda: module().to(memory_format=torch.channels_last).state_dict(),
    "half": lambda: module().half().state_dict(),
    "bfloat16": lambda: module().bfloat16().state_dict(),
}
MARKS = {
    "ddp": "module.0.0.weight",
    "dp": "module.0.0.weight",
    "compile": "_orig_mod.0.0.weight",
    "ema": "module.0.0.weight",
    "weight_norm": "weight_g",
    "parametrizations": "parametrizations.weight.original0",
}


@pytest.fixture(params=FORMATS)
def save(request, tmp_path):
    def save(obj, name="old.pt"):
        torch.save(obj, tmp_path / name, _use_new_zipfile_serialization=FORMATS[request.param])
        return tmp_path / name

    return save


@pytest.fixture(scope="module")
def converted(tmp_path_factory):
    """Every style in both formats, converted to both endings by one process that has no torch."""
    folder = tmp_path_factory.mktemp("converted")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of torch, when it compiles
        for style, make in STYLES.items():
            state = make()
            for name, zipped in FORMATS.items():
                torch.save(state, folder / f"{style}.{name}.pt", _use_new_zipfile_serialization=zipped)
    script = (
        "import sys; sys.modules['torch'] = None\n"
        "from pathlib import Path\n"
        "from packager._cli.main import main\n"
        f"for path in Path({str(folder)!r}).glob('*.pt'):\n"
        "    for ending in ('safetensors', 'kellet'):\n"
        "        assert main(['convert', str(path), str(path.with_suffix(f'.{ending}'))]) == 0\n"
    )
    subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    return folder


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("style", STYLES)
def test_converted_without_torch_it_is_what_torch_loads(converted, style, format):
    from safetensors.torch import load_file

    from packager import PackageImporter

    path = converted / f"{style}.{format}"
    expected = torch.load(f"{path}.pt", weights_only=True)
    assert style not in MARKS or MARKS[style] in expected
    same(load_file(f"{path}.safetensors"), expected)
    with PackageImporter(f"{path}.kellet") as importer:
        found = importer.load_state_dict("model", "weights", as_="torch")
        same(found, expected)
        assert list(found) == list(expected)
        assert found._metadata == expected._metadata
        if style == "tied":
            assert found["embed.weight"].data_ptr() == found["head.weight"].data_ptr()


def same(found, expected):
    assert set(found) == set(expected)
    for key, value in expected.items():
        assert (found[key].dtype, found[key].shape) == (value.dtype, value.shape), key
        assert torch.equal(found[key], value), key


def test_a_wrapped_checkpoint_migrates_into_a_new_file(save, tmp_path):
    path = save({"epoch": 1, "state_dict": torch.nn.DataParallel(module()).state_dict()})
    unwrap = Migration("ddp", [rename("module.{rest:any}", "{rest}")])
    write_checkpoint(tmp_path / "new.safetensors", migrate(unwrap, open_checkpoint(path)), fsync=False)
    from safetensors.torch import load_file

    fresh = module()
    fresh.load_state_dict(load_file(tmp_path / "new.safetensors"))
    for value, expected in zip(fresh.state_dict().values(), module().state_dict().values(), strict=True):
        assert torch.equal(value, expected)


# --- odd checkpoints ---


class Net(torch.nn.Module):
    """A model that people pickle whole."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = torch.nn.Linear(2, 3)
        self.norm = torch.nn.BatchNorm1d(3)
        self.register_buffer("hidden", torch.ones(2), persistent=False)
        self.settings = argparse.Namespace(depth=3)


@dataclass
class Config:
    """Settings that people put into checkpoints."""

    depth: int = 3


def test_a_whole_model_is_refused_by_its_classes_and_gives_its_weights_on_request(save):
    net = Net()
    path = save(net)
    with pytest.raises(CheckpointPickleError) as caught:
        open_checkpoint(path)
    message = str(caught.value)
    for name in ("test_convert_parity.Net", "torch.nn.modules.linear.Linear", "argparse.Namespace"):
        assert name in message
    assert "--skip-unknown" in message
    checkpoint = open_checkpoint(path, skip_unknown=True)
    assert set(checkpoint) == set(net.state_dict())
    for key, value in net.state_dict().items():
        assert checkpoint[key].numpy().tolist() == value.tolist()
    assert [part.what for part in checkpoint.left_out] == [f"object of {Net.__module__}.Net"]


def test_a_model_inside_of_a_checkpoint(save):
    path = save({"model": Net(), "epoch": 3})
    checkpoint = open_checkpoint(path, skip_unknown=True)
    assert checkpoint.container == "model"
    assert checkpoint["fc.weight"].shape == (3, 2)


ODD = {
    "args": (argparse.Namespace(lr=0.1), "argparse.Namespace"),
    "config": (Config(), "test_convert_parity.Config"),
    "path": (pathlib.PurePosixPath("/data"), "pathlib.PurePosixPath"),
    "when": (datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC), "datetime.datetime"),
    "function": (print, "print"),
    "objects": (np.array([None, "a"], dtype=object), "numpy"),
    "dtype": (np.dtype([("a", "f4")]), "numpy"),
    "generator": (np.random.default_rng(0).bit_generator, "numpy.random"),
    "nested": (lambda: torch.nested.nested_tensor([torch.ones(2)]), "_rebuild_nested_tensor"),
}


@pytest.mark.filterwarnings(
    "ignore::UserWarning", "ignore::DeprecationWarning"
)  # of torch, for nested tensors
@pytest.mark.parametrize("name", ODD)
def test_what_is_no_data_is_refused_by_name_and_left_out_on_request(save, name):
    value, shown = ODD[name]
    value = value() if name == "nested" else value
    path = save({"state_dict": {"w": torch.ones(2)}, name: value})
    with pytest.raises(CheckpointPickleError, match=shown):
        open_checkpoint(path)
    if name in ("objects", "dtype"):
        return  # a dtype that is known and refused, whatever is asked for
    checkpoint = open_checkpoint(path, skip_unknown=True)
    assert checkpoint["w"].numpy().tolist() == [1, 1]
    assert name in {part.path for part in checkpoint.left_out}


def test_tensors_in_lists_and_numbers_of_numpy(save):
    path = save({"weights": [torch.ones(2), torch.zeros(3)], "mean": np.float32(0.5), "array": np.eye(2)})
    checkpoint = open_checkpoint(path, everything=True)
    assert {key: value.numpy().tolist() for key, value in checkpoint.items()} == {
        "weights.0": [1, 1],
        "weights.1": [0, 0, 0],
        "array": [[1, 0], [0, 1]],
    }


def test_several_state_dicts_are_never_guessed_between(save):
    path = save({"state_dict": module().state_dict(), "state_dict_ema": module().state_dict()})
    with pytest.raises(LegacyFormatError, match=r"found 2 state dicts\. Name one") as caught:
        open_checkpoint(path)
    assert "    state_dict_ema: OrderedDict of 9 with 9 tensors" in str(caught.value)
    assert open_checkpoint(path, unwrap="state_dict_ema").container == "state_dict_ema"


def test_a_lightning_checkpoint(save):
    net = module()
    optimizer = torch.optim.AdamW(net.parameters())
    net(torch.ones(2, 3, 3, 3)).sum().backward()
    optimizer.step()
    path = save(
        {
            "epoch": 3,
            "global_step": 100,
            "pytorch-lightning_version": "2.0",
            "state_dict": net.state_dict(),
            "loops": {"fit_loop": {"state_dict": {}}},
            "callbacks": {
                "ModelCheckpoint{'monitor': None}": {"best_k_models": {}, "kth_value": torch.tensor(1.0)}
            },
            "optimizer_states": [optimizer.state_dict()],
            "lr_schedulers": [],
            "hparams_name": "kwargs",
            "hyper_parameters": {"lr": 0.1},
        }
    )
    checkpoint = open_checkpoint(path)
    assert checkpoint.container == "state_dict"
    left_out = {part.path: part.what for part in checkpoint.left_out}
    assert left_out["optimizer_states"] == "list of 1 with 18 tensors"
    assert left_out["epoch"] == "3"
    everything = open_checkpoint(path, everything=True)
    moment = everything["optimizer_states.0.state.0.exp_avg"].numpy()
    assert moment.tobytes() == optimizer.state_dict()["state"][0]["exp_avg"].numpy().tobytes()


def test_tensors_of_python_subclasses_and_with_attributes(save):
    parameter = torch.nn.Parameter(torch.arange(3.0))
    parameter.note = "kept elsewhere"
    view = torch.arange(6.0).reshape(2, 3).as_strided((2, 2), (1, 2))
    path = save({"p": parameter, "view": view, "neg": torch.arange(3.0).flip(0)})
    checkpoint = open_checkpoint(path)
    assert checkpoint["p"].numpy().tolist() == [0, 1, 2]
    assert checkpoint["view"].numpy().tolist() == view.tolist()
    assert checkpoint["neg"].numpy().tolist() == [2, 1, 0]


@pytest.mark.parametrize("crc", [True, False])
def test_files_saved_without_crc_are_read(tmp_path, crc):
    torch.serialization.set_crc32_options(crc)
    try:
        torch.save({"w": torch.ones(3)}, tmp_path / "a.pt")
    finally:
        torch.serialization.set_crc32_options(True)
    assert open_checkpoint(tmp_path / "a.pt")["w"].numpy().tolist() == [1, 1, 1]


def test_every_pickle_protocol_that_torch_can_be_told_to_use(tmp_path):
    for protocol in (2, 3, 4, 5):
        torch.save({"w": torch.ones(3), "n": np.arange(3)}, tmp_path / "a.pt", pickle_protocol=protocol)
        checkpoint = open_checkpoint(tmp_path / "a.pt")
        assert (checkpoint["w"].numpy().tolist(), checkpoint["n"].numpy().tolist()) == ([1, 1, 1], [0, 1, 2])


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of torch, for TorchScript
def test_torchscript_is_refused_with_the_way_out(tmp_path):
    torch.jit.trace(torch.nn.Linear(2, 2), torch.ones(1, 2)).save(tmp_path / "a.pt")
    with pytest.raises(LegacyFormatError, match=r"TorchScript.*torch\.jit\.load"):
        open_checkpoint(tmp_path / "a.pt")
