"""The memory of PyTorch's tensors: which are the same, which may be stored, which records name whole rows."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from types import SimpleNamespace
from typing import Any

import torch

from packager._codecs import Child
from packager._codecs.registry import default_registry
from packager._codecs.torch_layouts import _is_without_memory
from packager._codecs.torch_tensors import (
    _on_cpu,
    _Saving,
    _say_which_ties_are_lost,
    memory_key,
    plain_data,
    plain_memory,
    tensor_of,
)


class Asked:
    """An encoding as these functions see it."""

    def __init__(self) -> None:
        self.saving = _Saving()
        self.warnings: list[str] = []
        self.warn = self.warnings.append

    def shared_state(self, make: Any) -> Any:
        return self.saving


def test_tensors_are_one_where_memory_shape_and_signs_are() -> None:
    tensor = torch.arange(6).to(torch.complex64)
    assert memory_key(tensor) == memory_key(tensor.detach()) == memory_key(tensor[:])
    others = [
        tensor[1:],
        tensor[:3],
        tensor[::2],
        tensor.reshape(2, 3),
        tensor.conj(),
        torch._neg_view(tensor),
        tensor.clone(),
        tensor.view(torch.float32),
    ]
    assert len({memory_key(one) for one in [tensor, *others]}) == 9


@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.empty(2, device="meta"),
        lambda: torch.eye(2).to_sparse(),
        lambda: torch.nn.parameter.UninitializedParameter(),
    ],
)
def test_a_tensor_without_memory_is_itself_alone(make: Any) -> None:
    one, other = make(), make()
    assert (memory_key(one), memory_key(other)) == (id(one), id(other))


class Own(torch.Tensor):
    pass


def _attributed() -> torch.Tensor:
    made = torch.ones(2)
    made.note = 1  # type: ignore[attr-defined]  # any attribute may be set
    return made


@pytest.mark.parametrize(
    ("make", "word", "raw"),
    [
        (lambda: torch.ones(2), "F32", None),
        (lambda: torch.nn.Parameter(torch.ones(2)), "F32", None),
        (lambda: torch.ones(2, dtype=torch.complex128), "U8", "<c16"),
        (lambda: torch.ones(2, dtype=torch.complex128).conj(), "U8", "<c16"),
        (lambda: torch.ones(2).as_subclass(Own), None, None),
        (_attributed, None, None),
        (lambda: torch.empty(2, device="meta"), None, None),
        (lambda: torch.eye(2).to_sparse(), None, None),
        (lambda: torch.quantize_per_tensor(torch.ones(2), 1.0, 0, torch.qint8), None, None),
        (lambda: torch.nested.nested_tensor([torch.ones(1)], layout=torch.strided), None, None),
    ],
)
@pytest.mark.filterwarnings("ignore:.*:UserWarning")  # nested tensors are a prototype
def test_what_a_state_dict_holds_is_plain_strided_memory(make: Any, word: Any, raw: Any) -> None:
    value = make()
    context: Any = Asked()
    found = plain_data(value, context)
    memory = plain_memory(value, context)
    if word is None:
        assert (found, memory) == (None, None)
        return
    assert found is not None
    assert memory is not None
    assert (found[0].dtype, found[1], memory.dtype) == (word, raw, word)
    rows = (2, 16) if raw else (2,)
    assert (found[0].shape, found[0].strides) == (rows, (16, 1) if raw else (1,))
    assert context.warnings == []


def test_ties_of_other_signs_are_warned_of_where_bytes_are_shared() -> None:
    context: Any = Asked()
    base = torch.arange(6).to(torch.complex64)
    for value, count in (
        (base[:2], 0),
        (base[2:4].conj(), 0),
        (base[1:2], 0),
        (base[:0].conj(), 0),
        (base[:3].conj(), 1),
        (torch._neg_view(base[5:]), 1),
        (base[::5], 2),
        (torch.arange(6).to(torch.complex64).conj(), 2),
        (base[3:4], 3),
    ):
        _say_which_ties_are_lost(value, context)
        assert len(context.warnings) == count
    assert context.warnings[0].startswith("it shares memory with a conjugated or negated view")


def test_a_storage_is_copied_once_with_all_its_views() -> None:
    saving = _Saving()
    base = torch.arange(6.0)
    one, other = _on_cpu(base[1:3], saving), _on_cpu(base[2:].reshape(2, 2), saving)
    assert (one.tolist(), other.tolist()) == ([1.0, 2.0], [[2.0, 3.0], [4.0, 5.0]])
    assert one.untyped_storage().data_ptr() == other.untyped_storage().data_ptr()
    assert (one.storage_offset(), other.storage_offset(), other.stride()) == (1, 2, (2, 1))
    assert len(saving.copies) == 1


def test_parts_lie_in_memory_together_or_not_at_all() -> None:
    here, nowhere = SimpleNamespace(is_meta=False), SimpleNamespace(is_meta=True)
    assert [_is_without_memory(parts) for parts in ([here], [here, here], [nowhere, nowhere], [])] == [
        False,
        False,
        True,
        False,
    ]
    for parts in ([here, nowhere], [nowhere, here]):
        with pytest.raises(
            ValueError, match="some parts of a tensor lie in memory, and others on the device"
        ):
            _is_without_memory(parts)


def test_a_dtype_that_torch_lacks_is_told() -> None:
    stored: Any = SimpleNamespace(dtype="U8")
    with pytest.raises(ValueError, match=r"^torch has no dtype for '<f16'; read it with as_='numpy'$"):
        tensor_of(stored, "<f16", None)


# --- the record of a tensor ---


def memory(dtype: str, shape: list[int], strides: Any, offset: int = 0) -> Child:
    return Child("tensor", None, (dtype, shape, strides, offset))


def check(name: str, child: Child, *rest: Any, kind: str = "Tensor", device: Any = "cpu") -> None:
    codec = default_registry().find("torch.tensor")
    assert codec is not None
    codec.check([kind, name, device, True, *rest], [child], 1)


@pytest.mark.parametrize(
    ("name", "child"),
    [
        ("float32", memory("F32", [2, 3], None)),
        ("float32", memory("F32", [2, 3], [1, 2], 8)),
        ("float32", memory("F32", [2], [0])),
        ("complex128", memory("U8", [2, 16], None)),
        ("complex128", memory("U8", [2, 16], [32, 1], 16)),
        ("complex128", memory("U8", [2, 16], [0, 1])),
        ("complex128", memory("U8", [16], None)),
    ],
)
def test_memory_of_whole_elements_passes(name: str, child: Child) -> None:
    check(name, child)


@pytest.mark.parametrize(
    ("name", "child", "message"),
    [
        ("float32", memory("F32", [2], None, 2), "memory at a multiple of the element's size"),
        ("float32", memory("F32", [2], [-1], 4), "strides that are not negative"),
        ("float32", memory("F32", [2, 2], [1, -1], 4), "strides that are not negative"),
        ("complex128", memory("U8", [2, 16], None, 8), "memory at a multiple of the element's size"),
        ("complex128", memory("U8", [2, 8], None), "rows of 16 bytes"),
        ("complex128", memory("U8", [], None), "rows of 16 bytes"),
        ("complex128", memory("U8", [2, 16], [16, 2]), "whole rows"),
        ("complex128", memory("U8", [2, 16], [8, 1]), "whole rows"),
        ("complex128", memory("U8", [2, 2, 16], [32, 24, 1]), "whole rows"),
    ],
)
def test_memory_of_half_elements_is_refused(name: str, child: Child, message: str) -> None:
    with pytest.raises(ValueError, match=f"expected {message}"):
        check(name, child)


@pytest.mark.parametrize("device", ["cpu", "cuda:0", "meta"])
def test_devices_are_words(device: str) -> None:
    check("float32", memory("F32", [2], None), device=device)


@pytest.mark.parametrize("device", ["", "cuda 0", 3, "c\0", "a/b"])
def test_other_devices_are_refused(device: Any) -> None:
    with pytest.raises(ValueError, match="expected a device"):
        check("float32", memory("F32", [2], None), device=device)
