"""What migrations ask of modules of PyTorch: lazy ones, statistics, and a configuration that is an object."""

import pytest

pytest.importorskip("torch")

import numpy as np
import torch
from torch import nn

from packager._drafting import suggest_migration
from packager._migrations import (
    Migration,
    Permute,
    Reshape,
    Scale,
    attach,
    cannot_go_back,
    default,
    drop,
    load_checkpoint,
    migrate,
    plan_migration,
    rename,
)
from packager._weights import open_checkpoint, write_checkpoint
from packager.errors import MigrationError

OLD = {
    "stem.conv.kernel": np.arange(24, dtype=np.float32).reshape(2, 3, 2, 2),
    "stem.conv.b": np.array([5, 6], np.float32),
}
STEM = Migration("stem", [rename("stem.conv.kernel", "0.weight"), rename("stem.conv.b", "0.bias")])


def lazy_net():
    return nn.Sequential(nn.LazyConv2d(2, 2))


def test_19_a_lazy_convolution_takes_the_shape_of_the_checkpoint(tmp_path):
    write_checkpoint(tmp_path / "old.safetensors", OLD)
    net = lazy_net()
    assert str(load_checkpoint(net, tmp_path / "old.safetensors", STEM)) == "<All keys matched successfully>"
    assert net[0].weight.shape == (2, 3, 2, 2)
    assert net[0].weight.tolist() == OLD["stem.conv.kernel"].tolist()
    assert net(torch.zeros(1, 3, 2, 2)).flatten().tolist() == [5, 6]


def test_19_a_plan_against_a_lazy_module_knows_its_names_and_takes_any_shape():
    fit = plan_migration(STEM, OLD).against(lazy_net())
    assert (fit.ok, fit.mismatched) == (True, ())
    fit = plan_migration(STEM.steps and Migration("m", STEM.steps[1:]), OLD).against(lazy_net())
    assert (fit.missing, fit.unexpected) == (("0.weight",), ("stem.conv.kernel",))
    suffix = plan_migration(Migration("m", [rename("stem.conv.kernel", "stem.0.weight")]), OLD)
    near = suffix.against(lazy_net()).suggestions[0]
    assert (near.unexpected, near.missing) == ("stem.0.weight", "0.weight")
    assert near.because == "any shape will do, 2 equal names at the end"


def test_19_a_draft_for_a_lazy_module_is_made_from_names():
    old = {"net.0.weight": OLD["stem.conv.kernel"], "net.0.bias": OLD["stem.conv.b"]}
    draft = suggest_migration(old, lazy_net())
    assert [(step.old.text, step.new.text) for step in draft.migration.steps] == [
        ("net.{rest:any}", "{rest}")
    ]
    assert draft.is_complete
    assert suggest_migration({"x": OLD["stem.conv.b"]}, lazy_net()).migration.steps == ()


def test_19_a_lazy_class_is_migrated_before_it_is_made():
    class Conv(nn.LazyConv2d):
        _version = 2

    with attach(Conv, Migration("to 2", [rename("kernel", "weight"), rename("b", "bias")], to=2)):
        net = nn.Sequential(Conv(2, 2))
        old = {"0.kernel": torch.ones(2, 3, 2, 2), "0.b": torch.zeros(2)}
        assert str(net.load_state_dict(old)) == "<All keys matched successfully>"
    assert net[0].weight.shape == (2, 3, 2, 2)


def test_19_the_shape_of_a_lazy_module_is_not_known_before():
    step = rename("stem.conv.kernel", "0.weight", Reshape("target"), line="m.toml:3")
    with pytest.raises(
        MigrationError, match=r"m\.toml:3: .*\s+'stem.conv.kernel': the step needs the shape of '0.weight'"
    ):
        plan_migration(Migration("m", [step]), OLD, module=lazy_net())


@pytest.mark.parametrize("track", [True, False])
def test_06_the_counter_is_added_where_the_module_tracks_statistics(track):
    counter = default(
        "{p:any}.num_batches_tracked", 0, shape=(), dtype="int64", like="{p:any}.weight",
        if_module={"{p}.track_running_stats": True},
    )  # fmt: skip
    net = nn.Sequential(nn.Sequential(nn.BatchNorm2d(3, track_running_stats=track)))
    state = {key: value for key, value in net.state_dict().items() if "num_batches" not in key}
    migrated = migrate(Migration("norm", [counter]), state, module=net)
    assert list(migrated) == list(net.state_dict())
    assert str(net.load_state_dict(migrated)) == "<All keys matched successfully>"


class Config:
    """As configurations of transformers are: attributes of an object, and names for them that are code."""

    def __init__(self, heads):
        self.num_attention_heads = heads

    def __getattribute__(self, name):
        if name == "num_heads":
            raise AssertionError("code of the configuration ran")
        return super().__getattribute__(name)


def test_15_heads_come_from_a_configuration_object_and_from_the_module_that_is_loaded():
    class Attention(nn.Module):
        _version = 2

        def __init__(self, heads):
            super().__init__()
            self.config = Config(heads)
            self.q = nn.Linear(2, 8, bias=False)

    rotary = Permute(0, ("config.num_attention_heads", -1, 2), (0, 2, 1))
    old = torch.arange(16.0).reshape(8, 2)
    with attach(Attention, Migration("rotary", [rename("wq", "q.weight", rotary)], to=2)):
        net = nn.Sequential(Attention(2), Attention(4))
        net.load_state_dict({"0.wq": old, "1.wq": old})
    for module, heads in zip(net, (2, 4), strict=True):
        expected = old.view(heads, -1, 2, 2).transpose(1, 2).reshape(8, 2)
        assert module.q.weight.tolist() == expected.tolist()
    with pytest.raises(MigrationError, match=r"Sequential has no '0\.config\.num_heads'"):
        migrate(Migration("m", [drop("w", if_module={"0.config.num_heads": 2})]), {"w": old}, module=net)


UNREADABLE = {
    "without values": lambda: torch.empty(2, device="meta"),
    "sparse": lambda: torch.tensor([0.0, 1.0]).to_sparse(),
}


@pytest.mark.parametrize("make", UNREADABLE.values(), ids=UNREADABLE)
def test_values_that_cannot_be_compared_on_the_way_back_are_told(make):
    halved = Migration("halved", [rename("{p}.w", "{p}.v", Scale(0.5))])
    (told,) = cannot_go_back(halved, {"a.w": make(), "b.w": torch.ones(2)})
    assert told.startswith("rename {p}.w -> {p}.v: values of 'a.w' cannot be read to compare them: Cannot ")
    assert cannot_go_back(Migration("names", [rename("a.w", "a.v")]), {"a.w": make()}) == ()


COMPLEX = torch.tensor([[1 + 2j, 3 + 4j]])
VIEWS = {
    "one of each row": (torch.arange(6.0).reshape(2, 3)[:1, 1], [1.0]),
    "every sixth": (torch.arange(6, dtype=torch.int16)[::6], [0]),
    "a stride that nothing takes": (torch.ones(2, 3, dtype=torch.bfloat16)[1:, :1].t()[0], [1.0]),
    "an empty column": (torch.ones(0, 3)[:, 1], []),
    "conjugated": (COMPLEX[0].conj(), [1 - 2j, 3 - 4j]),
    "negated": (COMPLEX[0].conj().imag, [-2.0, -4.0]),
    "both, and one element": (COMPLEX.conj()[:, 1].imag, [-4.0]),
}


@pytest.mark.parametrize("ending", ["kellet", "safetensors"])
@pytest.mark.parametrize(("view", "values"), VIEWS.values(), ids=VIEWS)
def test_a_view_is_written_and_compared_as_its_values(tmp_path, view, values, ending):
    path = tmp_path / f"new.{ending}"
    write_checkpoint(path, {"w": view})
    read = open_checkpoint(path).state_dict("torch")["w"]
    assert (read.dtype, read.tolist()) == (view.dtype, values)
    if view.dtype != torch.int16:
        assert cannot_go_back(Migration("halved", [rename("w", "v", Scale(0.5))]), {"w": view}) == ()
