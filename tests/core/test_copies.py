"""Copies of tensors that share memory, made together, share memory as well."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import kellet
from tests.tables import one_test

VIEWS: dict[str, Callable[[Any], Any]] = {
    "row": lambda x: x[1],
    "column": lambda x: x[:, 2],
    "steps": lambda x: x[:, ::2],
    "transposed": lambda x: x.t(),
    "reshaped": lambda x: x.reshape(12),
    "expanded": lambda x: x[0].expand(5, 4),
    "itself": lambda x: x.detach(),
    "of a view": lambda x: x[1:][1:][:, 1],
}


@one_test
@pytest.mark.parametrize("dtype", ["float32", "int64", "complex64", "bool", "bfloat16"])
@pytest.mark.parametrize("view_first", [True, False])
@pytest.mark.parametrize("name", VIEWS)
def test_a_tensor_and_its_view_stay_together(name: str, view_first: bool, dtype: str) -> None:
    x = kellet.arange(12).reshape(3, 4).to(getattr(kellet, dtype)).clone()
    view = VIEWS[name](x)
    if view_first:
        copied_view, copied = copy.deepcopy((view, x))
    else:
        copied, copied_view = copy.deepcopy([x, view])
    assert copied_view.tolist() == view.tolist()
    assert copied_view.stride() == view.stride()
    copied.zero_()
    assert not copied_view.to(bool).any()
    assert x.to(bool).any()
    assert view.to(bool).any()


@pytest.mark.parametrize(
    "array",
    [np.arange(6.0)[::-1], np.asfortranarray(np.arange(6.0).reshape(2, 3)), np.arange(6.0).reshape(2, 3).T],
    ids=["reversed", "by columns", "turned"],
)
def test_memory_in_another_order_is_copied_as_it_lies(array: Any) -> None:
    x = kellet.from_numpy(array)
    part, whole = copy.deepcopy([x[1:], x])
    whole.zero_()
    assert not part.any()
    assert x.tolist() == array.tolist()


def test_parameters_over_one_memory_stay_over_one() -> None:
    flat = kellet.zeros(6)
    net = kellet.nn.Linear(2, 2)
    net.weight.data = flat[:4].reshape(2, 2)
    net.bias.data = flat[4:]
    net.register_buffer("flat", flat)
    copied = copy.deepcopy(net)
    copied.flat.fill_(7)
    assert copied.weight.tolist() == [[7, 7], [7, 7]]
    assert copied.bias.tolist() == [7, 7]
    assert net.weight.tolist() == [[0, 0], [0, 0]]


def test_memory_that_no_array_owns_is_copied_by_parts(tmp_path: Any) -> None:
    path = tmp_path / "values"
    np.arange(1000.0).tofile(path)
    mapped = np.memmap(path, dtype=np.float64, mode="r")
    copied = copy.deepcopy(kellet.from_numpy(np.asarray(mapped)[10:12]))
    assert copied.tolist() == [10.0, 11.0]
    assert copied._array.base is None


def test_tensors_that_share_nothing_are_copied_apart() -> None:
    x = kellet.ones(2)
    one, other = copy.deepcopy(x), copy.deepcopy(x)
    one.zero_()
    assert other.tolist() == x.tolist() == [1.0, 1.0]
    assert copy.deepcopy(kellet.zeros(0, 3)).shape == (0, 3)
    assert copy.deepcopy(kellet.tensor(3.0)).item() == 3.0
