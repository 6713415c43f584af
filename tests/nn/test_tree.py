"""Walking a tree of modules, and what is done to all of it."""

import pytest

import kellet
from kellet import nn
from tests.tables import one_test


class Leaf(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(kellet.ones(1))
        self.register_buffer("count", kellet.zeros(1))
        self.register_parameter("none", None)


class Root(nn.Module):
    """root(bias, a, b=Sequential(Leaf, a), gone=None): `a` has two names."""

    def __init__(self):
        super().__init__()
        self.bias = nn.Parameter(kellet.zeros(1))
        self.a = Leaf()
        self.b = nn.Sequential(Leaf(), self.a)
        self.add_module("gone", None)


def names(pairs):
    return [name for name, _ in pairs]


def test_modules_come_parents_first_each_once():
    root = Root()
    assert names(root.named_modules()) == ["", "a", "b", "b.0"]
    assert names(root.named_modules(remove_duplicate=False)) == ["", "a", "b", "b.0", "b.1"]
    assert names(root.named_modules(prefix="net")) == ["net", "net.a", "net.b", "net.b.0"]
    assert list(root.modules()) == [root, root.a, root.b, root.b[0]]


def test_a_module_within_itself_is_walked_once():
    root = nn.Module()
    root.child = nn.Module()
    root.child.parent = root
    assert names(root.named_modules()) == ["", "child"]


def test_children_come_in_order_each_once():
    root = Root()
    root.again = root.a
    assert names(root.named_children()) == ["a", "b"]
    assert list(root.children()) == [root.a, root.b]


def test_parameters_come_in_order_each_once():
    root = Root()
    assert names(root.named_parameters()) == ["bias", "a.weight", "b.0.weight"]
    assert names(root.named_parameters(recurse=False)) == ["bias"]
    assert names(root.named_parameters(remove_duplicate=False)) == [
        "bias",
        "a.weight",
        "b.0.weight",
        "b.1.weight",
    ]
    assert names(root.named_parameters(prefix="net"))[:2] == ["net.bias", "net.a.weight"]
    assert [id(value) for value in root.parameters()] == [
        id(root.bias),
        id(root.a.weight),
        id(root.b[0].weight),
    ]


def test_tied_parameters_come_once():
    module = nn.Sequential(nn.Linear(1, 1, bias=False), nn.Linear(1, 1, bias=False))
    module[1].weight = module[0].weight
    assert names(module.named_parameters()) == ["0.weight"]


def test_buffers_come_persistent_or_not():
    root = Root()
    root.register_buffer("scratch", kellet.zeros(1), persistent=False)
    assert names(root.named_buffers()) == ["scratch", "a.count", "b.0.count"]
    assert names(root.named_buffers(recurse=False)) == ["scratch"]
    assert len(list(root.buffers())) == 3


def test_paths_lead_to_modules_parameters_and_buffers():
    root = Root()
    assert root.get_submodule("") is root
    assert root.get_submodule("b.1") is root.a
    assert root.get_parameter("b.0.weight") is root.b[0].weight
    assert root.get_parameter("bias") is root.bias
    assert root.get_buffer("a.count") is root.a.count


@one_test
@pytest.mark.parametrize(
    ("getter", "path", "message"),
    [
        ("get_submodule", "b.7", "Sequential has no attribute `7`"),
        ("get_submodule", "a.weight", "`weight` is not an nn.Module"),
        ("get_submodule", "a.weight.x", "`weight` is not an nn.Module"),
        ("get_parameter", "a.x", "Leaf has no attribute `x`"),
        ("get_parameter", "a.count", "`count` is not an nn.Parameter"),
        ("get_buffer", "a.weight", "`weight` is not a buffer"),
        ("get_buffer", "x.weight", "Root has no attribute `x`"),
    ],
)
def test_paths_that_lead_nowhere_say_where_they_end(getter, path, message):
    with pytest.raises(AttributeError, match=message):
        getattr(Root(), getter)(path)


def test_submodules_are_replaced_by_path():
    root, new = Root(), nn.ReLU()
    root.set_submodule("b.0", new, strict=True)
    assert root.b[0] is new
    root.set_submodule("a.fresh", new)
    assert root.a.fresh is new
    with pytest.raises(AttributeError, match="Leaf has no attribute `other`"):
        root.set_submodule("a.other", new, strict=True)
    with pytest.raises(AttributeError, match=r"`weight` is not an nn.Module"):
        root.set_submodule("a.weight", new)
    with pytest.raises(ValueError, match="without a target name"):
        root.set_submodule("", new)
    with pytest.raises(ValueError, match=r"`module` is not an nn.Module, found int"):
        root.set_submodule("a", 3)


def test_apply_reaches_children_before_parents():
    seen = []
    root = Root()
    assert root.apply(lambda module: seen.append(type(module).__name__)) is root
    assert seen == ["Leaf", "Leaf", "Leaf", "Sequential", "Root"]


def test_mode_is_set_here_and_below():
    root = Root()
    assert root.eval() is root
    assert {module.training for module in root.modules()} == {False}
    root.train()
    assert {module.training for module in root.modules()} == {True}
    with pytest.raises(ValueError, match="training mode is expected to be boolean, got int: 1"):
        root.train(1)


def test_requires_grad_is_set_on_all_parameters():
    root = Root().requires_grad_(False)
    assert [value.requires_grad for value in root.parameters()] == [False] * 3
    assert all(value.requires_grad for value in root.requires_grad_().parameters())


def test_gradients_are_forgotten_or_zeroed():
    module = nn.Linear(1, 1)
    module(kellet.ones(1)).backward()
    module.zero_grad(set_to_none=False)
    assert (module.weight.grad.item(), module.bias.grad.item()) == (0.0, 0.0)
    module.zero_grad()
    assert module.weight.grad is None


def test_conversion_keeps_parameters_and_gradients_and_leaves_integers():
    module = nn.BatchNorm1d(1)
    module.eval()
    module(kellet.ones(1, 1)).sum().backward()
    weight = module.weight
    assert module.double() is module
    assert module.weight is weight
    assert (weight.dtype, weight.grad.dtype, module.running_mean.dtype) == (kellet.float64,) * 3
    assert weight.requires_grad
    assert module.num_batches_tracked.dtype == kellet.int64
    assert module.half().weight.dtype == kellet.float16
    assert module.float().weight.dtype == kellet.float32
    assert module.cpu() is module


def test_to_understands_dtype_device_and_tensor():
    module = nn.Linear(1, 1)
    assert module.to(kellet.float64).weight.dtype == kellet.float64
    assert module.to("cpu").weight.dtype == kellet.float64
    assert module.to("cpu", kellet.float16).weight.dtype == kellet.float16
    assert module.to(kellet.zeros(1)).weight.dtype == kellet.float32
    assert module.to(dtype=kellet.float64, device="cpu").weight.dtype == kellet.float64
    with pytest.raises(
        TypeError, match="only accepts floating point or complex dtypes, but got desired dtype=int64"
    ):
        module.to(kellet.int64)
    with pytest.raises(ValueError, match="there is no device 'cuda'"):
        module.to("cuda")
    with pytest.raises(TypeError, match="unexpected keyword argument 'nonsense'"):
        module.to(nonsense=1)


def test_modules_print_as_a_tree():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
            self.head = nn.Linear(3, 1, bias=False)

    assert repr(Net()) == (
        "Net(\n"
        "  (body): Sequential(\n"
        "    (0): Linear(in_features=2, out_features=3, bias=True)\n"
        "    (1): ReLU()\n"
        "  )\n"
        "  (head): Linear(in_features=3, out_features=1, bias=False)\n"
        ")"
    )
