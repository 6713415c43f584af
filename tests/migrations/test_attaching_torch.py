"""Migrations of classes of PyTorch, through the place where its own layers bring old states up to date."""

import pytest

pytest.importorskip("torch")

import copy

import torch
from torch import nn

from packager._migrations import Migration, attach, migrations_ran, rename, split
from packager.errors import MigrationError


def fused_class():
    class Fused(nn.Module):
        _version = 2

        def __init__(self):
            super().__init__()
            self.q, self.k, self.v = (nn.Parameter(torch.zeros(1, 2)) for _ in range(3))

    handle = attach(Fused, Migration("cut", [split("qkv", ["q", "k", "v"])], to=2))
    return Fused, handle


def old_state(module, **changes):
    state = module.state_dict()
    for path in list(state._metadata):
        state._metadata[path] = {"version": 1}
    return state


def test_a_migration_runs_at_any_depth_before_the_hooks_of_the_user():
    Fused, _ = fused_class()
    net = nn.Sequential(nn.Linear(2, 2), nn.Sequential(Fused(), Fused()))
    state = old_state(net)
    for number in range(2):
        for name in "qkv":
            del state[f"1.{number}.{name}"]
        state[f"1.{number}.qkv"] = torch.arange(6.0).reshape(3, 2) + 10 * number
    seen = []
    net[1][1].register_load_state_dict_pre_hook(lambda module, state, prefix, *rest: seen.extend(state))
    given = dict(state)
    assert str(net.load_state_dict(state)) == "<All keys matched successfully>"
    assert net[1][1].k.tolist() == [[12, 13]]
    assert seen == ["1.1.q", "1.1.k", "1.1.v"]
    assert [(ran.path, ran.version, ran.names) for ran in migrations_ran(net)] == [
        ("1.0", 1, ("cut",)),
        ("1.1", 1, ("cut",)),
    ]
    assert list(state) == list(given)
    net.load_state_dict(net.state_dict())
    assert migrations_ran(net) == ()


def test_modules_that_were_made_before_and_copies_of_them_migrate_too():
    class Net(nn.Module):
        _version = 2

        def __init__(self):
            super().__init__()
            self.b = nn.Parameter(torch.zeros(1))

    made = Net()
    handle = attach(Net, Migration("m", [rename("a", "b")], to=2))
    for net in (made, copy.deepcopy(made)):
        net.load_state_dict({"a": torch.ones(1)})
        assert net.b.tolist() == [1]
    handle.remove()
    assert "_load_from_state_dict" not in vars(Net)
    with pytest.raises(RuntimeError, match="Missing key"):
        made.load_state_dict({"a": torch.ones(1)})


def test_migrations_of_base_classes_come_first_and_each_runs_once():
    class Base(nn.Module):
        _version = 2

        def __init__(self):
            super().__init__()
            self.c = nn.Parameter(torch.zeros(1))

    class Derived(Base):
        _version = 3

        def _load_from_state_dict(self, state_dict, prefix, *rest):
            seen.append(sorted(state_dict))
            super()._load_from_state_dict(state_dict, prefix, *rest)

    seen = []
    own = Derived._load_from_state_dict
    handles = [
        attach(Derived, Migration("derived", [rename("b", "c")], to=3)),
        attach(Base, Migration("base", [rename("a", "b")], to=2)),
    ]
    module = Derived()
    module.load_state_dict({"a": torch.ones(1)})
    assert module.c.tolist() == [1]
    assert seen == [["c"]]
    assert [ran.names for ran in migrations_ran(module)] == [("base",), ("derived",)]
    for handle in handles:
        handle.remove()
    assert Derived._load_from_state_dict is own


def test_a_migration_that_fails_says_for_which_module():
    Fused, _ = fused_class()
    net = nn.Sequential(Fused())
    with pytest.raises(MigrationError, match="'qkv': split along axis 0: 4 rows do not make 3") as caught:
        net.load_state_dict({"0.qkv": torch.zeros(4, 2)})
    assert "at '0' from version None to 2" in caught.value.__notes__[0]


def test_a_batch_norm_of_version_1_gets_its_counter_beside_what_is_attached():
    class Norm(nn.BatchNorm1d):
        _version = 3

    attach(Norm, Migration("gamma", [rename("gamma", "weight"), rename("beta", "bias")], to=3))
    net = nn.Sequential(Norm(2))
    state = old_state(net)
    del state["0.num_batches_tracked"]
    state["0.gamma"], state["0.beta"] = state.pop("0.weight") + 4, state.pop("0.bias")
    net.load_state_dict(state)
    assert net[0].weight.tolist() == [5, 5]
    assert net[0].num_batches_tracked.item() == 0


def test_a_compiled_and_a_replicated_module_load_through_the_class():
    Fused, _ = fused_class()
    net = torch.compile(nn.Sequential(Fused()), backend="eager")
    net.load_state_dict({"_orig_mod.0.qkv": torch.arange(6.0).reshape(3, 2)})
    assert net._orig_mod[0].v.tolist() == [[4, 5]]
    parallel = nn.DataParallel(nn.Sequential(Fused()))
    parallel.load_state_dict({"module.0.qkv": torch.arange(6.0).reshape(3, 2)})
    assert parallel.module[0].v.tolist() == [[4, 5]]
