"""What a module owns: parameters, buffers and submodules given as attributes or registered by name."""

import copy
import pickle
import re
import sys

import pytest

import kellet
from kellet import nn


def parameter(value=1.0):
    return nn.Parameter(kellet.tensor([value]))


def test_attributes_are_sorted_by_their_type():
    module = nn.Module()
    module.weight = parameter()
    module.part = nn.ReLU()
    module.count = nn.Buffer(kellet.zeros(1))
    module.plain = kellet.zeros(1)
    module.number = 3
    assert list(module._parameters) == ["weight"]
    assert list(module._modules) == ["part"]
    assert list(module._buffers) == ["count"]
    assert module.plain.tolist() == [0.0]
    assert module.number == 3


def test_a_name_moves_from_one_kind_to_another():
    module = nn.Module()
    module.register_buffer("x", kellet.zeros(1), persistent=False)
    module.x = parameter()
    assert (list(module._parameters), list(module._buffers), module._non_persistent_buffers_set) == (
        ["x"],
        [],
        set(),
    )
    module.x = None
    assert module.x is None
    del module.x
    module.x = nn.ReLU()
    module.x = None
    assert list(module._modules) == ["x"]
    module.x = parameter()
    assert (list(module._parameters), list(module._modules)) == (["x"], [])


def test_a_plain_attribute_gives_way_to_a_parameter_and_to_a_module():
    module = nn.Module()
    module.x = 3
    module.x = parameter()
    assert isinstance(module.x, nn.Parameter)
    module.y = 3
    module.y = nn.ReLU()
    assert isinstance(module.y, nn.ReLU)
    assert "x" not in module.__dict__
    assert "y" not in module.__dict__


def test_buffers_stay_buffers_when_set_and_keep_their_persistence():
    module = nn.Module()
    module.register_buffer("a", kellet.zeros(1))
    module.register_buffer("b", kellet.zeros(1), persistent=False)
    module.a = kellet.ones(1)
    module.b = kellet.ones(1)
    assert list(module.state_dict()) == ["a"]
    assert (module.a.item(), module.b.item()) == (1.0, 1.0)
    module.b = nn.Buffer(kellet.ones(1), persistent=True)
    assert list(module.state_dict()) == ["a", "b"]


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("weight", kellet.ones(1), "cannot assign 'kellet.core.tensor.Tensor' as parameter 'weight'"),
        ("weight", 3, r"cannot assign 'int' as parameter 'weight' \(kellet.nn.Parameter or None expected\)"),
        ("part", 3, r"cannot assign 'int' as child module 'part' \(kellet.nn.Module or None expected\)"),
        (
            "count",
            3,
            r"cannot assign 'int' as buffer 'count' \(kellet.nn.Buffer, kellet.Tensor or None expected\)",
        ),
    ],
)
def test_a_registered_name_takes_its_own_kind_only(name, value, message):
    module = nn.Module()
    module.weight, module.part = parameter(), nn.ReLU()
    module.register_buffer("count", kellet.zeros(1))
    before = getattr(module, name)
    with pytest.raises(TypeError, match=message):
        setattr(module, name, value)
    assert getattr(module, name) is before


@pytest.mark.parametrize(
    ("register", "value", "kind"),
    [
        ("register_parameter", nn.Parameter(kellet.ones(1)), "parameter"),
        ("register_buffer", kellet.ones(1), "buffer"),
        ("add_module", nn.ReLU(), "module"),
    ],
)
def test_names_are_checked_when_registered(register, value, kind):
    module = nn.Module()
    module.taken = 3
    add = getattr(module, register)
    with pytest.raises(TypeError, match=f"{kind} name should be a string. Got int"):
        add(3, value)
    with pytest.raises(KeyError, match=f"{kind} name can.*t contain"):
        add("a.b", value)
    with pytest.raises(KeyError, match=f"{kind} name can.*t be empty string"):
        add("", value)
    with pytest.raises(KeyError, match="attribute 'taken' already exists"):
        add("taken", value)
    with pytest.raises(KeyError, match="attribute 'forward' already exists"):
        add("forward", value)
    add("fine", value)
    add("fine", value)
    assert module.fine is value


def test_values_are_checked_when_registered():
    module = nn.Module()
    with pytest.raises(TypeError, match=re.escape("to parameter 'w' (kellet.nn.Parameter or None required)")):
        module.register_parameter("w", kellet.ones(1))
    with pytest.raises(TypeError, match=re.escape("to buffer 'b' (kellet.Tensor or None required)")):
        module.register_buffer("b", [1.0])
    with pytest.raises(TypeError, match="int is not a Module subclass"):
        module.add_module("m", 3)
    assert list(module.state_dict()) == []


def test_a_parameter_that_was_computed_is_refused():
    class Computed(nn.Parameter):
        grad_fn = "something"

    module = nn.Module()
    with pytest.raises(ValueError, match="Cannot assign non-leaf Tensor to parameter 'w'"):
        module.register_parameter("w", Computed(kellet.ones(1)))


@pytest.mark.parametrize("value", [nn.Parameter(kellet.ones(1)), nn.ReLU(), nn.Buffer(kellet.ones(1))])
def test_init_of_the_base_comes_first(value):
    class Late(nn.Module):
        def __init__(self):
            self.x = value
            super().__init__()

    with pytest.raises(AttributeError, match=r"cannot assign \w+ before Module.__init__\(\) call"):
        Late()


def test_init_of_the_base_takes_no_arguments():
    class Wrong(nn.Module):
        def __init__(self):
            super().__init__(3)

    with pytest.raises(TypeError, match="Wrong hands 1 positional argument"):
        Wrong()


def test_call_super_init_passes_arguments_on():
    class Mixin:
        def __init__(self, x, *, y):
            self.sum = x + y

    class Both(nn.Module, Mixin):
        call_super_init = True

    assert Both(1, y=2).sum == 3


def test_missing_attribute_says_whose():
    with pytest.raises(AttributeError, match="'Linear' object has no attribute 'wieght'"):
        nn.Linear(1, 1).wieght  # the look-up is the test


def test_deleting_takes_a_name_away():
    module = nn.Module()
    module.w, module.m, module.plain = parameter(), nn.ReLU(), 3
    module.register_buffer("b", kellet.zeros(1), persistent=False)
    for name in ("w", "m", "b", "plain"):
        delattr(module, name)
        assert not hasattr(module, name)
    assert module._non_persistent_buffers_set == set()
    with pytest.raises(AttributeError):
        del module.w


def test_dir_lists_members_but_not_positions():
    module = nn.Sequential(nn.Linear(1, 1))
    assert {"weight", "bias", "forward"} <= set(dir(module[0]))
    assert "0" not in dir(module)


def test_buffer_is_a_tensor_that_is_registered_when_set():
    module = nn.Module()
    module.a = nn.Buffer(kellet.ones(2))
    module.b = nn.Buffer(kellet.ones(2), persistent=False)
    assert isinstance(module.a, kellet.Tensor)
    assert module.a.requires_grad is False
    assert [name for name, _ in module.named_buffers()] == ["a", "b"]
    assert list(module.state_dict()) == ["a"]


def test_parameter_requires_a_gradient_and_shares_memory():
    values = kellet.ones(2)
    weight = nn.Parameter(values)
    assert weight.requires_grad
    assert weight.is_leaf
    assert nn.Parameter(values, requires_grad=False).requires_grad is False
    values.fill_(5)
    assert weight.tolist() == [5.0, 5.0]
    assert repr(weight).startswith("Parameter containing:\ntensor([5., 5.]")


def test_parameter_of_integers_cannot_require_a_gradient():
    with pytest.raises(RuntimeError, match="floating"):
        nn.Parameter(kellet.tensor([1, 2]))


def test_what_is_computed_from_a_parameter_is_a_tensor():
    assert type(parameter() * 2) is kellet.Tensor
    assert type(parameter().detach()) is kellet.Tensor


@pytest.mark.parametrize("twin_of", [copy.deepcopy, lambda module: pickle.loads(pickle.dumps(module))])
def test_copies_keep_kinds_ties_and_gradients_apart(twin_of):
    module = nn.Sequential(nn.Linear(1, 1), nn.Linear(1, 1), nn.BatchNorm1d(1))
    module[1].weight = module[0].weight
    twin = twin_of(module)
    assert type(twin[0].weight) is nn.Parameter
    assert twin[1].weight is twin[0].weight
    assert twin[0].weight is not module[0].weight
    assert twin[0].weight.requires_grad
    assert {name: value.tolist() for name, value in twin.state_dict().items()} == {
        name: value.tolist() for name, value in module.state_dict().items()
    }


def test_a_buffer_does_not_take_the_name_of_a_plain_attribute():
    module = nn.Module()
    module.x = 3
    with pytest.raises(KeyError, match="attribute 'x' already exists"):
        module.x = nn.Buffer(kellet.ones(1))
    assert module.x == 3


def test_register_buffer_may_be_overridden_with_two_arguments():
    class Old(nn.Module):
        def register_buffer(self, name, value):
            super().register_buffer(name, value + 1)

    module = Old()
    module.x = nn.Buffer(kellet.ones(1))
    assert module.x.item() == 2.0
    with pytest.raises(TypeError, match="persistent"):
        module.y = nn.Buffer(kellet.ones(1), persistent=False)


def test_modules_of_a_class_share_the_table_of_their_names():
    # Each with a table of its own took twice the memory, and state dicts of many modules half as long again.
    class Sized(nn.Module):
        def __init__(self):
            super().__init__()
            self.size = 1

    *_, last = [Sized() for _ in range(50)]
    assert list(last.__dict__)[-1] == "size"
    assert sys.getsizeof(last.__dict__) < sys.getsizeof(dict(last.__dict__))
