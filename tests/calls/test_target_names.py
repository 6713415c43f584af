"""Targets, weights and calls by arrays: what a command line turns into Python."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kellet
from kellet import nn
from packager._calls import (
    CallError,
    TargetError,
    WeightsError,
    call_with_arrays,
    load_inputs,
    load_weights,
    resolve_target,
)
from packager.errors import LegacyFormatError
from tests.annotated import defined

Project = Callable[[Mapping[str, str]], Path]


SHOP = """
class Net:
    def __init__(self, width=1):
        self.width = width

net = Net(3)
"""


def test_a_target_is_an_object_or_what_a_factory_makes(project: Project) -> None:
    project({"shop.py": SHOP})
    assert resolve_target("shop:net").width == 3
    assert resolve_target("shop:Net", {"width": 5}).width == 5
    assert resolve_target("shop:net.width") == 3


@pytest.mark.parametrize(
    ("target", "kwargs", "message"),
    [
        ("shop", {}, "target 'shop' is a module; name an object or a factory in it: shop:name"),
        ("shop:", {}, "target 'shop:': expected package.module or package.module:name"),
        (":net", {}, "expected package.module"),
        ("nowhere:net", {}, "target nowhere:net: No module named 'nowhere'"),
        ("shop:absent", {}, "target shop:absent: module 'shop' has no attribute 'absent'"),
        ("shop:net", {"a": 1}, "target shop:net is an object and takes no arguments"),
        ("shop:fails", {}, "target shop:fails: calling it failed: ZeroDivisionError: division by zero"),
    ],
)
def test_a_wrong_target_is_told_as_it_was_spelt(
    project: Project, target: str, kwargs: Any, message: str
) -> None:
    project({"shop.py": "net = 3\ndef fails():\n    1 / 0\n"})
    with pytest.raises(TargetError, match=message):
        resolve_target(target, kwargs)


def test_inputs_go_by_name_and_position_and_results_by_path() -> None:
    def call(a: Any, b: Any, *, c: Any) -> Any:
        return {"sum": a + b, "all": [c, (a, 1)]}

    found = call_with_arrays(call, {"arg1": np.array(2), "arg0": np.array(1), "c": np.ones(2)})
    assert list(found) == ["output.sum", "output.all.0", "output.all.1.0", "output.all.1.1"]
    assert found["output.sum"] == 3


def test_a_kellet_module_gets_tensors_and_gives_arrays() -> None:
    layer = nn.Linear(2, 1)
    x = np.ones((3, 2), "f4")
    found = call_with_arrays(layer, {"input": x})
    assert isinstance(found["output"], np.ndarray)
    assert np.array_equal(found["output"], layer(kellet.tensor(x)).detach().numpy())


def test_a_result_that_is_no_array_is_refused_with_its_path() -> None:
    with pytest.raises(
        CallError, match=r"output\.1 is of type object; expected arrays, tensors, numbers, text"
    ):
        call_with_arrays(lambda: (1, object()), {})


def test_arrays_are_read_without_pickles(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.npz", tmp_path / "bad.npz"
    np.savez(good, arg0=np.ones(2))
    np.savez(bad, arg0=np.array([object()]))
    assert list(load_inputs(str(good))) == ["arg0"]
    with pytest.raises(CallError, match=r"bad.npz, entry 'arg0': not a .npz file of arrays"):
        load_inputs(str(bad))
    (tmp_path / "text.npz").write_text("text")
    with pytest.raises(CallError, match=r"text.npz: not a .npz file"):
        load_inputs(str(tmp_path / "text.npz"))


def test_damaged_arrays_are_told_with_their_file(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", x=np.ones((4, 8), "f4"))
    whole = (tmp_path / "x.npz").read_bytes()
    changed = bytearray(whole)
    changed[120] ^= 255
    for damaged, words in ((whole[:-30], "not a zip file"), (changed, "Bad CRC-32 for file 'x.npy'")):
        (tmp_path / "bad.npz").write_bytes(damaged)
        with pytest.raises(CallError, match=f"bad.npz.*: not a .npz file of arrays .*{words}.*numpy.savez"):
            load_inputs(str(tmp_path / "bad.npz"))
    with zipfile.ZipFile(tmp_path / "bad.npz", "w") as file:
        file.writestr("w.npy", b"\x93NUMPY\2\0\5\0\0\0foo()")
        file.writestr("text", b"text")
    with pytest.raises(CallError, match=r"bad.npz, entry 'w': .* line 1: (a Call|Call\(.*\))\); make it"):
        load_inputs(str(tmp_path / "bad.npz"))
    with zipfile.ZipFile(tmp_path / "bad.npz", "w") as file:
        file.writestr("text", b"text")
    with pytest.raises(CallError, match=r"bad.npz, entry 'text': not an array; make the file"):
        load_inputs(str(tmp_path / "bad.npz"))
    np.save(tmp_path / "x.npy", np.ones(2))
    told = r"x.npy has one array without a name; .*numpy.savez\('x.npz', x=array\)"
    with pytest.raises(CallError, match=told):
        load_inputs(str(tmp_path / "x.npy"))


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["y"], "missing a required argument: 'input'; found y; expected input$"),
        ([], "missing a required argument: 'input'; found none; expected input$"),
        (["arg0", "arg1"], "too many positional arguments; found arg0, arg1; expected input$"),
    ],
)
def test_inputs_that_are_no_call_are_told_with_the_parameters(names: list[str], message: str) -> None:
    with pytest.raises(CallError, match=f"^inputs: {message}"):
        call_with_arrays(nn.Linear(2, 1), {name: np.ones((1, 2), "f4") for name in names})


def test_annotations_may_name_what_is_not_there() -> None:
    double = defined("def double(values: NotHere) -> NotHere: return 2 * values", "double")
    with pytest.raises(CallError, match=r"'values'; found x; expected values$"):
        call_with_arrays(double, {"x": np.ones(2)})


def test_an_array_that_is_no_tensor_is_told_by_name() -> None:
    with pytest.raises(CallError, match=r"^input input: cannot make a tensor of dtype <U1"):
        call_with_arrays(nn.Linear(2, 1), {"input": np.array(["a"])})


def test_a_type_error_of_the_model_itself_comes_out_as_it_is() -> None:
    def call(x: object) -> None:
        raise TypeError("of the model")

    with pytest.raises(TypeError, match=r"^of the model$") as caught:
        call_with_arrays(call, {"x": np.ones(1)})
    assert not isinstance(caught.value, CallError)


def test_weights_are_loaded_from_npz_and_safetensors(tmp_path: Path) -> None:
    import safetensors.numpy

    state = {"weight": np.full((1, 2), 5, "f4"), "bias": np.full(1, 6, "f4")}
    np.savez(tmp_path / "w.npz", **state)
    safetensors.numpy.save_file(state, tmp_path / "w.safetensors")
    for name in ("w.npz", "w.safetensors"):
        layer = nn.Linear(2, 1)
        load_weights(layer, tmp_path / name)
        assert layer.weight.tolist() == [[5, 5]]
        assert layer.bias.item() == 6


def test_weights_that_do_not_fit_are_told_by_the_module(tmp_path: Path) -> None:
    np.savez(tmp_path / "w.npz", weight=np.ones((1, 2), "f4"))
    with pytest.raises(KeyError, match='Missing key\\(s\\) in state_dict: "bias"'):
        load_weights(nn.Linear(2, 1), tmp_path / "w.npz")


def test_other_files_and_objects_are_refused(tmp_path: Path) -> None:
    (tmp_path / "w.h5").write_bytes(b"\x89HDF\r\n\x1a\n")
    with pytest.raises(LegacyFormatError, match=r"w\.h5: found b'.*' at its start; expected a file of torch"):
        load_weights(nn.Linear(1, 1), tmp_path / "w.h5")
    with pytest.raises(WeightsError, match=r"int takes no weights: it has no method load_state_dict\(\)"):
        load_weights(3, tmp_path / "w.npz")
