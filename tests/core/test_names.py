"""Limits, devices, and tensors by the names of dtypes: what is said and answered here."""

from __future__ import annotations

import pytest

import kellet
from kellet.errors import DTypeError
from tests.answers.names import PRINTED, PRINTING


def test_limits_of_the_other_kind_are_refused() -> None:
    with pytest.raises(DTypeError, match=r"use kellet\.iinfo"):
        kellet.finfo(kellet.int8)
    with pytest.raises(DTypeError, match=r"use kellet\.finfo"):
        kellet.iinfo(kellet.float32)


def test_devices_answer_for_the_cpu() -> None:
    device = kellet.device("cuda" if kellet.cuda.is_available() else "cpu")
    assert (device.type, str(device), device == kellet.ones(1).device) == ("cpu", "cpu", True)
    assert kellet.ones(1).to(device).sum().item() == 1
    assert kellet.zeros(2, device=device).tolist() == [0, 0]
    assert kellet.cuda.device_count() == 0
    for seed in (kellet.cuda.manual_seed, kellet.cuda.manual_seed_all):
        seed(0)
        with pytest.raises(ValueError, match="invalid literal for int"):
            seed("zero")  # type: ignore[arg-type]  # what is to be refused


def test_an_unknown_profile_is_refused() -> None:
    with pytest.raises(ValueError, match="profile must be one of default, short, full, got 'long'"):
        kellet.set_printoptions(profile="long")


def test_the_libraries_behind_torch_are_not_here() -> None:
    assert not kellet.backends.mps.is_available()
    assert not kellet.backends.mps.is_built()
    assert not kellet.backends.cuda.is_built()
    assert not kellet.backends.cudnn.is_available()
    assert not kellet.accelerator.is_available()
    assert kellet.accelerator.device_count() == 0
    assert kellet.accelerator.current_accelerator() is None
    assert not kellet.ones(1).is_cuda
    assert kellet.ones(1).get_device() == -1
    with pytest.raises(RuntimeError, match=r"ask cuda\.is_available\(\) first"):
        kellet.cuda.synchronize()


def test_a_tensor_of_the_dtype_is_shared_without_its_history() -> None:
    x = kellet.ones(2, requires_grad=True)
    found = kellet.FloatTensor(x)
    assert found.data_ptr() == x.data_ptr()
    assert not found.requires_grad


@pytest.mark.parametrize("data", [(1.5,), ("text",), (None,), ([1], [2]), ({},)], ids=repr)
def test_what_is_no_data_is_refused_in_words(data: tuple[object, ...]) -> None:
    with pytest.raises(TypeError, match="LongTensor: expected a sequence, an array, or sizes; got"):
        kellet.LongTensor(*data)


def test_a_tensor_of_another_dtype_is_refused() -> None:
    with pytest.raises(TypeError, match=r"LongTensor: expected .*; got a tensor of float32"):
        kellet.LongTensor(kellet.ones(2))


def test_the_default_device_is_the_cpu() -> None:
    assert kellet.get_default_device() == kellet.device("cpu") == "cpu"
    kellet.set_default_device("cpu")
    kellet.set_default_device(None)
    with pytest.raises(ValueError, match="there is no device 'cuda'; kellet computes on 'cpu' alone"):
        kellet.set_default_device("cuda")


@pytest.mark.parametrize("options", PRINTING, ids=str)
def test_lines_are_no_longer_than_asked_for(options: dict[str, object]) -> None:
    try:
        kellet.set_printoptions(**options)
        lines = [line for one in PRINTED for line in repr(kellet.tensor(one.tolist())).splitlines()]
    finally:
        kellet.set_printoptions(profile="default")
    assert max(map(len, lines)) <= options.get("linewidth", 80)
