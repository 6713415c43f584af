"""Modules that hold modules and parameters."""

from collections import OrderedDict

import pytest

import kellet
from kellet import nn


def linears(n):
    return [nn.Linear(1, 1) for _ in range(n)]


def test_sequential_runs_its_modules_in_order():
    class Append(nn.Module):
        def __init__(self, text):
            super().__init__()
            self.text = text

        def forward(self, x):
            return x + self.text

    assert nn.Sequential(Append("a"), Append("b"))("x") == "xab"
    assert nn.Sequential()("x") == "x"


def test_sequential_takes_named_modules():
    module = nn.Sequential(OrderedDict(first=nn.ReLU(), second=nn.Tanh()))
    assert list(dict(module.named_children())) == ["first", "second"]
    assert module.first is module[0]


@pytest.mark.parametrize("kind", [nn.Sequential, lambda *parts: nn.ModuleList(parts)])
def test_positions_count_from_both_ends(kind):
    parts = linears(3)
    module = kind(*parts)
    assert len(module) == 3
    assert list(module) == parts
    assert (module[0], module[-1]) == (parts[0], parts[2])
    assert list(module[1:]) == parts[1:]
    assert type(module[1:]) is type(module)
    with pytest.raises(IndexError, match="index 3 is out of range: there are 3 modules"):
        module[3]
    new = nn.ReLU()
    module[-1] = new
    assert module[2] is new


@pytest.mark.parametrize("kind", [nn.Sequential, lambda *parts: nn.ModuleList(parts)])
def test_modules_are_appended_inserted_and_removed(kind):
    a, b, c, d = linears(4)
    module = kind(a)
    assert module.append(c) is module
    assert module.insert(1, b) is module
    assert module.extend([d]) is module
    assert list(module) == [a, b, c, d]
    assert list(module.state_dict())[::2] == ["0.weight", "1.weight", "2.weight", "3.weight"]
    assert module.pop(1) is b
    del module[0]
    assert list(module) == [c, d]
    assert [name for name, _ in module.named_children()] == ["0", "1"]
    module += [a]
    assert list(module) == [c, d, a]
    del module[1:]
    assert list(module) == [c]
    with pytest.raises(TypeError, match="insert takes a Module, got int"):
        module.insert(0, 3)
    with pytest.raises(IndexError, match="Index out of range: 5; there are 1 modules"):
        module.insert(5, a)
    with pytest.raises(TypeError, match="extend takes an iterable of modules, got int"):
        module.extend(3)


def test_slice_of_a_sequential_keeps_names_and_of_a_list_counts_anew():
    assert list(nn.Sequential(*linears(3))[1:]._modules) == ["1", "2"]
    assert list(nn.ModuleList(linears(3))[1:]._modules) == ["0", "1"]


def test_sequentials_are_added_and_repeated():
    a, b = linears(2)
    assert list(nn.Sequential(a) + nn.Sequential(b)) == [a, b]
    assert list(nn.Sequential(a, b) * 2) == [a, b, a, b]
    assert list(2 * nn.Sequential(a)) == [a, a]
    with pytest.raises(ValueError, match="only another Sequential can be added to one, got list"):
        nn.Sequential(a) + [b]  # noqa: RUF005  # the operator is the test
    with pytest.raises(ValueError, match="at least once, got 0"):
        nn.Sequential(a) * 0
    with pytest.raises(TypeError, match="a whole number of times, got float"):
        nn.Sequential(a) * 1.5


def test_lists_are_added_and_show_equal_neighbours_once():
    module = nn.ModuleList(linears(2)) + [nn.Linear(1, 1), nn.ReLU()]  # noqa: RUF005  # the operator is the test
    assert repr(module) == (
        "ModuleList(\n  (0-2): 3 x Linear(in_features=1, out_features=1, bias=True)\n  (3): ReLU()\n)"
    )
    assert repr(nn.ModuleList()) == "ModuleList()"


def test_module_dict_holds_modules_by_name():
    a, b, c = linears(3)
    module = nn.ModuleDict({"a": a})
    module["b"] = b
    module.update([("c", c)])
    assert list(module) == list(module.keys()) == ["a", "b", "c"]
    assert list(module.values()) == [a, b, c]
    assert dict(module.items()) == {"a": a, "b": b, "c": c}
    assert len(module) == 3
    assert "b" in module
    assert module.pop("b") is b
    del module["c"]
    assert list(module.state_dict()) == ["a.weight", "a.bias"]
    module.update(nn.ModuleDict({"a": b}))
    assert module["a"] is b
    module.clear()
    assert len(module) == 0
    with pytest.raises(KeyError, match="already exists"):
        module["keys"] = a
    with pytest.raises(TypeError, match="mapping or an iterable of \\(name, module\\), got int"):
        module.update(3)


def test_parameter_list_makes_parameters_of_tensors():
    module = nn.ParameterList([kellet.ones(1), nn.Parameter(kellet.zeros(1))])
    module.append(kellet.ones(2))
    module += ["text"]
    assert [type(value) for value in module] == [nn.Parameter] * 3 + [str]
    assert list(module.state_dict()) == ["0", "1", "2"]
    assert module[-2].shape == (2,)
    assert [value.tolist() for value in module[:2]] == [[1.0], [0.0]]
    module[0] = kellet.full((1,), 7.0)
    assert module.pop(1).tolist() == [0.0]
    assert [name for name, _ in module.named_parameters()] == ["0", "1"]
    assert (len(module), module[0].item(), module[2]) == (3, 7.0, "text")
    with pytest.raises(IndexError, match="index 3 is out of range: there are 3 values"):
        module[3]
    with pytest.raises(TypeError, match="iterable of values, got Tensor"):
        module.extend(kellet.ones(2))


def test_parameter_dict_holds_parameters_by_name():
    module = nn.ParameterDict({"a": kellet.ones(1)})
    module["b"] = nn.Parameter(kellet.zeros(1))
    module.update({"c": 3})
    assert list(module) == list(module.keys()) == ["a", "b", "c"]
    assert type(module["a"]) is nn.Parameter
    assert list(module.state_dict()) == ["a", "b"]
    assert [value if value == 3 else value.item() for value in module.values()] == [1.0, 0.0, 3]
    assert module.pop("c") == 3
    assert module.get("c", "none") == "none"
    del module["a"]
    assert [name for name, _ in module.items()] == ["b"]
    assert "a" not in module
    with pytest.raises(KeyError, match="'a'"):
        module["a"]
    with pytest.raises(KeyError, match="'keys' is an attribute of ParameterDict itself"):
        module["keys"] = kellet.ones(1)
    module.clear()
    assert len(module) == 0


def test_parameter_containers_print_what_they_hold():
    assert repr(nn.ParameterList([kellet.ones(2, 3), 5])) == (
        "ParameterList(\n    (0): Parameter containing: [float32 of size 2x3]\n    (1): object of type int\n)"
    )
    assert repr(nn.ParameterDict({"a": kellet.ones(2)})) == (
        "ParameterDict(  (a): Parameter containing: [float32 of size 2])"
    )


def test_parameter_dict_sorts_a_plain_dict_and_keeps_every_other_order():
    values = {"b": kellet.ones(1), "a": kellet.zeros(1)}
    assert list(nn.ParameterDict(values)) == ["a", "b"]
    assert list(nn.ParameterDict(OrderedDict(values))) == ["b", "a"]
    assert list(nn.ParameterDict(list(values.items()))) == ["b", "a"]


def test_parameter_dict_is_copied_joined_and_emptied_like_a_dict():
    a, b = nn.Parameter(kellet.ones(1)), nn.Parameter(kellet.zeros(1))
    module = nn.ParameterDict([("a", a)])
    assert module.setdefault("a", b) is a
    assert module.setdefault("b", b) is b
    copy = module.copy()
    assert copy["a"] is a
    assert module.popitem() == ("b", b)
    assert list(reversed(copy)) == ["b", "a"]
    assert list(module | copy) == ["a", "b"]
    assert list(module) == ["a"]
    module |= copy
    assert list(module) == ["a", "b"]
    assert dict(module.fromkeys(["x", "y"], 3).items()) == {"x": 3, "y": 3}
