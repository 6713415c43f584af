"""What training frameworks put around a state dict, and how a model takes it up in a line."""

import pytest

pytest.importorskip("torch")

import torch
from torch import nn

import kellet
from packager._migrations import WRAPPERS, Migration, attach, drop, load_checkpoint, migrate, rename
from packager.errors import LegacyFormatError, MigrationError


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
        self.head = nn.Linear(3, 1)


def trained():
    """A model whose every value differs from a fresh one's."""
    net = Net()
    with torch.no_grad():
        for number, value in enumerate(net.state_dict().values()):
            value.copy_(torch.arange(value.numel()).reshape(value.shape) + 10 * number)
    return net


def lightning(net):
    """What a LightningModule that calls its network `model` saves."""
    return {
        "epoch": 3,
        "global_step": 100,
        "pytorch-lightning_version": "2.5.0",
        "state_dict": {f"model.{key}": value for key, value in net.state_dict().items()},
        "loops": {},
        "callbacks": {},
        "optimizer_states": [torch.optim.AdamW(net.parameters()).state_dict()],
        "lr_schedulers": [],
        "hyper_parameters": {"width": 3},
    }


def averaged(net):
    """Weights of AveragedModel, beside those that are trained."""
    mean = torch.optim.swa_utils.AveragedModel(net)
    return {"model": Net().state_dict(), "model_ema": mean.state_dict(), "epoch": 3}


MODEL = Migration("lightning", [rename("model.{rest:any}", "{rest}")])
CHECKPOINTS = {
    "plain": (lambda net: net.state_dict(), ()),
    "data parallel": (lambda net: nn.DataParallel(net).state_dict(), ()),
    "compiled": (lambda net: torch.compile(net, backend="eager").state_dict(), ()),
    "compiled inside of data parallel": (
        lambda net: nn.DataParallel(torch.compile(net, backend="eager")).state_dict(),
        (),
    ),
    "a part compiled": (
        lambda net: {key.replace("body.", "body._orig_mod."): v for key, v in net.state_dict().items()},
        (),
    ),
    "averaged": (averaged, ()),
    "timm": (lambda net: {"state_dict": Net().state_dict(), "state_dict_ema": net.state_dict()}, ()),
    "lightning": (lightning, (MODEL,)),
    "accelerate or trainer": (lambda net: {"model_state_dict": net.state_dict(), "optimizer": {}}, ()),
}


@pytest.mark.parametrize("zip", [True, False], ids=["zip", "stream"])
@pytest.mark.parametrize("kind", CHECKPOINTS)
def test_checkpoints_of_training_frameworks_load_in_one_line(tmp_path, kind, zip):
    make, migrations = CHECKPOINTS[kind]
    expected = trained()
    torch.save(make(expected), tmp_path / "last.ckpt", _use_new_zipfile_serialization=zip)
    net = Net()
    answer = load_checkpoint(net, tmp_path / "last.ckpt", WRAPPERS, *migrations)
    assert str(answer) == "<All keys matched successfully>"
    for key, value in expected.state_dict().items():
        assert net.state_dict()[key].tolist() == value.tolist()


@pytest.mark.parametrize("kind", CHECKPOINTS)
def test_what_torch_has_loaded_is_migrated_as_it_is(kind):
    make, migrations = CHECKPOINTS[kind]
    expected = trained()
    net = Net()
    net.load_state_dict(migrate((WRAPPERS, *migrations), make(expected)))
    assert all(torch.equal(net.state_dict()[key], value) for key, value in expected.state_dict().items())


def test_versions_move_with_their_modules_so_that_old_layers_are_brought_up_to_date(tmp_path):
    old = nn.DataParallel(trained()).state_dict()
    del old["module.body.1.num_batches_tracked"]
    for path in old._metadata:
        old._metadata[path] = {"version": 1}
    torch.save(old, tmp_path / "old.pt")
    net = Net()
    assert str(load_checkpoint(net, tmp_path / "old.pt", WRAPPERS)) == "<All keys matched successfully>"
    new = nn.DataParallel(trained()).state_dict()
    del new["module.body.1.num_batches_tracked"]
    torch.save(new, tmp_path / "new.pt")
    with pytest.raises(RuntimeError, match=r'Missing key\(s\) in state_dict: "body.1.num_batches_tracked"'):
        load_checkpoint(Net(), tmp_path / "new.pt", WRAPPERS)


def test_a_file_goes_through_the_migrations_of_classes_too(tmp_path):
    class Renamed(Net):
        _version = 2

        def __init__(self):
            super().__init__()
            self.top = self.head
            del self.head

    attach(Renamed, Migration("top", [rename("head.{rest}", "top.{rest}")], to=2))
    torch.save(trained().state_dict(), tmp_path / "old.pt")
    net = Renamed()
    load_checkpoint(net, tmp_path / "old.pt")
    assert net.top.bias.tolist() == trained().head.bias.tolist()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64", "int64", "bool"])
def test_every_dtype_arrives_bit_for_bit_in_both_libraries(tmp_path, dtype):
    values = torch.tensor([[0, 1], [2, 3]]).to(getattr(torch, dtype))
    torch.save({"module.w": values.T}, tmp_path / "old.pt")
    module = nn.Module()
    module.register_buffer("w", torch.zeros_like(values))
    load_checkpoint(module, tmp_path / "old.pt", WRAPPERS)
    assert torch.equal(module.w, values.T)
    other = kellet.nn.Module()
    other.register_buffer("w", kellet.zeros(2, 2, dtype=getattr(kellet, dtype)))
    load_checkpoint(other, tmp_path / "old.pt", WRAPPERS)
    assert other.w.tolist() == values.T.tolist()


def test_what_is_wrong_is_told_by_its_kind(tmp_path):
    torch.save({"a": {"w": torch.zeros(1)}, "b": {"w": torch.zeros(1)}}, tmp_path / "two.pt")
    with pytest.raises(LegacyFormatError, match=r"found 2 state dicts\. Name one"):
        load_checkpoint(nn.Linear(1, 1), tmp_path / "two.pt", WRAPPERS)
    with pytest.raises(LegacyFormatError, match="nothing lies under 'c'"):
        load_checkpoint(nn.Linear(1, 1), tmp_path / "two.pt", unwrap="c")
    with pytest.raises(TypeError, match=r"expected a module with load_state_dict\(\), got dict"):
        load_checkpoint({}, tmp_path / "two.pt")
    with pytest.raises(MigrationError, match="steps that match no key:\n    drop x"):
        load_checkpoint(nn.Linear(1, 1), tmp_path / "two.pt", Migration("m", [drop("x")]), unwrap="a")
