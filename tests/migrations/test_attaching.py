"""Migrations of classes of kellet: by version, at any depth, before the user's hooks, and back to nothing."""

import re

import numpy as np
import pytest

import kellet
from kellet import nn
from packager._migrations import (
    Migration,
    MigrationRun,
    attach,
    attach_stored,
    attached,
    default,
    drop,
    migrations_ran,
    rename,
    split,
    with_migrations,
)
from packager.errors import MigrationError


def block_class():
    """A class at version 3: `lin` became `linear_1`, then `linear_{n}` became numbers, as in torchvision."""

    @with_migrations(
        Migration("to 3", [rename("linear_{n:int}.{rest}", "{3*(n-1)}.{rest}")], to=3),
        Migration("to 2", [rename("lin.{rest}", "linear_1.{rest}")], to=2),
    )
    class Block(nn.Sequential):
        _version = 3

        def __init__(self):
            super().__init__(nn.Linear(2, 2), nn.ReLU(), nn.Identity(), nn.Linear(2, 2))

    return Block


def state_of(version, **values):
    """A state dict of the keys given (`__` for dots), in which every module has this version."""
    state = nn.StateDict(
        {key.replace("__", "."): kellet.tensor(np.full((2, 2) if key.endswith("weight") else 2, value, "f4"))
         for key, value in values.items()}
    )  # fmt: skip
    paths = {key.rpartition(".")[0] for key in state} | {""}
    paths |= {path.rpartition(".")[0] for path in paths}
    if version is not None:
        state._metadata = {path: {"version": version} for path in paths}
    return state


V1 = {"lin__weight": 1, "lin__bias": 2, "linear_2__weight": 3, "linear_2__bias": 4}
V2 = {"linear_1__weight": 1, "linear_1__bias": 2, "linear_2__weight": 3, "linear_2__bias": 4}
V3 = {"0__weight": 1, "0__bias": 2, "3__weight": 3, "3__bias": 4}


@pytest.mark.parametrize(
    ("version", "values", "ran"),
    [(None, V1, ("to 2", "to 3")), (1, V1, ("to 2", "to 3")), (2, V2, ("to 3",)), (3, V3, None)],
)
def test_the_chain_begins_at_the_version_of_the_state_dict(version, values, ran):
    block = block_class()()
    state = state_of(version, **values)
    before = dict(state)
    block.load_state_dict(state)
    assert [block.state_dict()[key].ravel().tolist()[0] for key in ("0.weight", "0.bias")] == [1, 2]
    assert [block.state_dict()[key].ravel().tolist()[0] for key in ("3.weight", "3.bias")] == [3, 4]
    names = [entry.names for entry in migrations_ran(block)]
    assert names == ([] if ran is None else [ran])
    assert dict(state) == before


def test_a_migration_runs_at_any_depth_and_a_neighbour_of_another_version_is_left_alone():
    Block = block_class()
    net = nn.Sequential(Block(), nn.Sequential(nn.Linear(2, 2), Block()))
    state = net.state_dict()
    for key in list(state):
        if key.startswith("1.1.0."):
            state[key.replace("1.1.0.", "1.1.lin.")] = state.pop(key)
        elif key.startswith("1.1.3."):
            state[key.replace("1.1.3.", "1.1.linear_2.")] = state.pop(key)
    state._metadata["1.1"] = {"version": 1}
    net.load_state_dict(state)
    assert migrations_ran(net) == (
        MigrationRun("1.1", f"{__name__}:{Block.__qualname__}", 1, ("to 2", "to 3")),
    )
    net.load_state_dict(net.state_dict())
    assert migrations_ran(net) == ()


def test_migrations_come_before_the_hooks_of_the_user_and_keep_what_is_not_theirs():
    block = block_class()()
    seen = []
    block.register_load_state_dict_pre_hook(lambda module, state, strict: seen.extend(sorted(state)))
    block.load_state_dict(state_of(1, **V1))
    assert seen == ["0.bias", "0.weight", "3.bias", "3.weight"]


def test_migrations_of_base_classes_come_first():
    class Base(nn.Module):
        _version = 2

        def __init__(self):
            super().__init__()
            self.c = nn.Parameter(kellet.zeros(1))

    class Derived(Base):
        _version = 3

    attach(Derived, Migration("derived", [rename("b", "c")], to=3))
    attach(Base, Migration("base", [rename("a", "b")], to=2))
    module = Derived()
    module.load_state_dict({"a": kellet.ones(1)})
    assert module.c.tolist() == [1]
    assert [ran.names for ran in migrations_ran(module)] == [("base",), ("derived",)]
    assert [one.name for one in attached(Derived)] == ["derived"]


def test_a_removed_migration_no_longer_runs():
    class Net(nn.Module):
        _version = 2

        def __init__(self):
            super().__init__()
            self.b = nn.Parameter(kellet.zeros(1))

    handle = attach(Net, Migration("m", [rename("a", "b")], to=2))
    handle.remove()
    handle.remove()
    assert attached(Net) == ()
    with pytest.raises(kellet.errors.StateDictError, match=re.escape('Missing key(s) in state_dict: "b"')):
        Net().load_state_dict({"a": kellet.ones(1)})


def test_a_migration_that_fails_says_for_which_module_and_changes_nothing():
    class Fused(nn.Module):
        _version = 2

        def __init__(self):
            super().__init__()
            self.q, self.k = nn.Parameter(kellet.zeros(1)), nn.Parameter(kellet.zeros(1))

    attach(Fused, Migration("cut", [split("qk", ["q", "k"], line="fused.toml:3")], to=2))
    net = nn.Sequential(nn.Linear(1, 1), Fused())
    state = {"0.weight": kellet.ones(1, 1), "0.bias": kellet.ones(1), "1.qk": kellet.ones(3)}
    with pytest.raises(
        MigrationError, match=r"fused.toml:3.*\n    'qk': split along axis 0: 3 rows"
    ) as caught:
        net.load_state_dict(state)
    assert caught.value.__notes__ == [
        f"while bringing the state of {Fused.__qualname__} at '1' from version None to 2"
    ]
    assert net[0].bias.tolist() != [1]


def test_split_values_are_views_of_the_state_dict_given():
    class Fused(nn.Module):
        _version = 2

        def __init__(self):
            super().__init__()
            self.q, self.k = nn.Parameter(kellet.zeros(1)), nn.Parameter(kellet.zeros(1))

    attach(Fused, Migration("cut", [split("qk", ["q", "k"])], to=2))
    seen = {}
    module = Fused()
    module.register_load_state_dict_pre_hook(lambda module, state, strict: seen.update(state))
    whole = kellet.tensor([1.0, 2.0])
    module.load_state_dict({"qk": whole})
    assert np.shares_memory(seen["k"].numpy(), whole.numpy())
    assert (module.q.tolist(), module.k.tolist()) == ([1], [2])


def test_what_cannot_be_attached_is_told_together():
    class Net(nn.Module):
        _version = 2

    attach(Net, Migration("known", [drop("{p:any}.x")], to=1))
    with pytest.raises(MigrationError) as caught:
        attach(
            Net,
            Migration("no version", [drop("a")]),
            Migration("later", [drop("a")], to=3, where="later.toml"),
            Migration("known", [drop("a")], to=2),
            Migration("whole", [drop("a")], to=2, unwrap=("model",)),
            Migration("other", [drop("a")], to=2, target="pkg:Other"),
        )
    lines = str(caught.value).splitlines()
    assert [line.partition("'")[2].partition("'")[0] for line in lines] == [
        "no version", "later", "known", "whole", "other"
    ]  # fmt: skip
    assert "migration 'later' (later.toml) reaches version 3, but" in lines[1]
    assert [one.name for one in attached(Net)] == ["known"]
    with pytest.raises(TypeError, match="a class of modules of kellet or PyTorch, found <class 'dict'>"):
        attach(dict, Migration("m", [], to=1))
    with pytest.raises(MigrationError, match=r"'later' reaches version 3, but .* is 2; write _version = 3"):
        attach_stored(Net, [Migration("later", [drop("a")], to=3)], allow=lambda migration: migration)


def test_versions_that_contradict_each_other_are_refused_when_attached():
    class Net(nn.Module):
        _version = 5

    attach(Net, Migration("one", [drop("a")], to=2))
    with pytest.raises(MigrationError, match=r"'one' reaches version 2 of .*'two' starts from 3"):
        attach(Net, Migration("two", [drop("b")], since=3, to=5))
    assert [one.name for one in attached(Net)] == ["one"]
    with pytest.raises(MigrationError, match="goes from version 2 to 1; expected a higher version"):
        Migration("cycle", [], since=2, to=1)


def batch_norm_state(module, version):
    """The state of a batch norm as it was before version 2: no counter."""
    state = module.state_dict()
    return type(state)({key: value for key, value in state.items() if "num_batches" not in key}), {
        path: {"version": version} for path in state._metadata
    }


@pytest.mark.parametrize("version", [1, None])
def test_a_batch_norm_of_version_1_gets_its_counter_and_what_is_attached_to_a_subclass(version):
    class Norm(nn.BatchNorm1d):
        _version = 3

    attach(Norm, Migration("gamma", [rename("gamma", "weight"), rename("beta", "bias")], to=3))
    net = nn.Sequential(nn.Linear(2, 2), Norm(2))
    old, metadata = batch_norm_state(net, version)
    old["1.gamma"], old["1.beta"] = old.pop("1.weight") + 4, old.pop("1.bias")
    if version is not None:
        old._metadata = metadata
    net[1].num_batches_tracked.fill_(7)
    net.load_state_dict(old)
    assert net[1].weight.tolist() == [5, 5]
    assert net[1].num_batches_tracked.item() == 0


def test_a_batch_norm_of_version_1_as_a_migration_of_the_whole():
    from packager._migrations import migrate

    net = nn.Sequential(nn.BatchNorm1d(2), nn.BatchNorm1d(2, track_running_stats=False))
    old, _ = batch_norm_state(net, 1)
    counters = Migration(
        "counters",
        [default("{p:any}.num_batches_tracked", 0, shape=(), dtype="int64", like="{p:any}.running_mean")],
    )
    new = migrate(counters, old)
    assert sorted(set(new) - set(old)) == ["0.num_batches_tracked"]
    assert isinstance(new["0.num_batches_tracked"], kellet.Tensor)
    assert (new["0.num_batches_tracked"].dtype, new["0.num_batches_tracked"].shape) == (kellet.int64, ())
    assert str(net.load_state_dict(new)) == "<All keys matched successfully>"
