"""Layers given lists, None or arrays say that they want a tensor, and how to make one."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import kellet
from kellet import nn
from kellet.core.not_tensors import wanted_tensor
from tests.tables import one_test

ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "GroupNorm": (1, 3),
    "Unflatten": (1, (1, 3)),
    "Threshold": (0.1, 0.0),
    "MultiheadAttention": (4, 2),
    "TransformerEncoderLayer": (4, 2),
    "Upsample": (None, 2),
}
CONTAINERS = ("Module", "HookedModule", "ModuleList", "ModuleDict", "ParameterList", "ParameterDict")
OTHERS = ("Sequential", "TransformerEncoder", "Identity")


def layers() -> dict[str, nn.Module]:
    """One of each class of layer, made with the first arguments that it takes."""
    made: dict[str, nn.Module] = {
        "Sequential": nn.Sequential(nn.Linear(3, 2)),
        "TransformerEncoder": nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2), 1),
    }
    for name in nn.__all__:
        kind = getattr(nn, name)
        if not (inspect.isclass(kind) and issubclass(kind, nn.Module)) or name in (*CONTAINERS, *OTHERS):
            continue
        tries = [ARGUMENTS[name]] if name in ARGUMENTS else [(), (2,), (3, 2), (3, 3, 2), (3, 2, 2)]
        for arguments in tries:
            try:
                made[name] = kind(*arguments)
                break
            except (TypeError, ValueError):
                continue
        assert name in made, f"{name}: say in ARGUMENTS how it is made"
    return made


LAYERS = layers()
VALUES = {
    "list": ([[1.0, 2.0, 3.0]], r"got list; make it one with kellet\.tensor"),
    "None": (None, "got None; pass a tensor"),
    "array": (np.ones((2, 3), np.float32), r"got numpy\.ndarray; make it one with kellet\.from_numpy"),
    "images": (np.ones((1, 3, 4, 4), np.float32), r"got numpy\.ndarray; make it one with kellet\.from_numpy"),
    "text": ("abc", "got str; make it one with kellet.tensor"),
}


@one_test
@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("hooked", [False, True])
def test_a_layer_wants_tensors(name: str, kind: str, hooked: bool) -> None:
    value, told = VALUES[kind]
    layer = LAYERS[name]
    parameters = inspect.signature(layer.forward).parameters.values()
    count = sum(one.default is one.empty for one in parameters)
    handle = layer.register_forward_hook(lambda *values: None) if hooked else None
    with pytest.raises(TypeError, match=f"expected a tensor, {told}"):
        layer(*[value] * count)
    if handle is not None:
        handle.remove()


def test_the_argument_is_named() -> None:
    with pytest.raises(TypeError, match=r"CrossEntropyLoss, argument 'target': expected a tensor, got list"):
        nn.CrossEntropyLoss()(kellet.ones(1, 2), [0])
    with pytest.raises(TypeError, match="expected a tensor, got list"):
        nn.Linear(2, 1)(input=[[1.0, 2.0]])


def test_errors_of_users_modules_stay_what_they_are() -> None:
    class Net(nn.Module):
        def forward(self, x: Any) -> Any:
            return self.missing if x is None else x.nonsense

    with pytest.raises(AttributeError, match="object has no attribute 'missing'"):
        Net()(None)
    with pytest.raises(AttributeError, match="'list' object has no attribute 'nonsense'"):
        Net()([1.0])
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        Net()(kellet.ones(1))


def test_a_users_module_that_wants_a_tensor_says_so() -> None:
    class Net(nn.Module):
        def forward(self, xs: Any) -> Any:
            return sum(x.exp() for x in xs)

    with pytest.raises(TypeError, match=r"Net: expected a tensor, got list; make it one"):
        Net()([[1.0], [2.0]])


def test_operations_say_the_same() -> None:
    with pytest.raises(TypeError, match=r"exp: expected a tensor, got list"):
        kellet.exp([1.0])
    with pytest.raises(TypeError, match=r"mse_loss: expected a tensor, got ndarray|got numpy\.ndarray"):
        nn.functional.mse_loss(np.ones(2), np.ones(2))


def test_a_tensor_of_torch_is_told_apart() -> None:
    other = type("Tensor", (), {"__module__": "torch"})()
    assert "kellet.from_numpy(tensor.detach().numpy())" in str(wanted_tensor("relu", other))


@one_test
@pytest.mark.parametrize("name", ["sum", "mean", "max", "amax", "min", "prod", "std", "var"])
@pytest.mark.parametrize(
    "options", [{}, {"axis": 0}, {"axis": 1, "keepdims": True}, {"axis": (0, 1)}], ids=str
)
def test_numpys_reductions_take_tensors(name: str, options: dict[str, Any]) -> None:
    values = np.array([[1.0, -2.0, 4.0], [0.5, 3.0, 1.0]], np.float32)
    found = getattr(np, name)(kellet.from_numpy(values), **options)
    expected = getattr(np, name)(values, **options)
    assert isinstance(found, kellet.Tensor)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found.numpy(), expected)


def test_numpys_reductions_take_their_own_arguments() -> None:
    x = kellet.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert np.sum(x, where=x > 1).item() == 9.0
    assert np.mean(x, dtype=np.float64).dtype == np.float64
    assert np.any(x > 3).item() is True
    assert np.all(x > 3).item() is False
    out = np.zeros(2, np.float32)
    np.sum(x, axis=0, out=out)
    assert out.tolist() == [4.0, 6.0]
    with pytest.raises(RuntimeError, match="requires grad"):
        np.sum(x.requires_grad_())
