"""What data alone of PyTorch must not reach: what a framework looks up, calls and computes while it loads."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from typing import Any

import msgpack
import torch
from torch import nn

from packager._objects import EncodedObject
from packager._objects.records import Kind as K
from packager.errors import PackageError
from tests.attacks import object_forger as forge

pytestmark = pytest.mark.filterwarnings("ignore:.*quantized tensor creation functions:UserWarning")

EXTERNS = ("torch", "numpy")


def _load(obj: EncodedObject) -> Any:
    return forge.load(forge.archive_of(obj, externs=EXTERNS))


def _changed(made: EncodedObject, codecs: list[Any], records: forge.Records, root: int) -> EncodedObject:
    return EncodedObject(msgpack.packb([codecs, records, root]), made.storages, ())


def test_no_part_of_a_quantized_tensor_is_asked_for_a_function() -> None:
    honest = torch.quantize_per_tensor(torch.ones(2), 0.5, 1, torch.quint8)
    assert torch.equal(_load(forge.encoded(honest)).dequantize(), honest.dequantize())
    made = forge.encoded([honest, nn.Identity()])
    codecs, records, _ = msgpack.unpackb(made.records)
    module = records[-1][2]
    _, quantized = next((i, r) for i, r in enumerate(records) if r[0] == K.CODEC and r[2] == ["quint8", None])
    records[-1] = [K.CODEC, quantized[1], ["quint8", None], quantized[3], module, 1]
    with pytest.raises(PackageError, match="expected two numbers"):
        _load(_changed(made, codecs, records, -len(records)))


def test_no_module_takes_the_call_of_a_function_of_torch() -> None:
    made = forge.encoded(nn.Identity())
    codecs, records, root = msgpack.unpackb(made.records)
    records += [
        [K.GLOBAL, "torch.nn.functional", "relu"],
        [K.FILL, root, "__torch_function__", -len(records) - 1],
    ]
    with pytest.raises(PackageError, match="data may not set __torch_function__"):
        _load(_changed(made, codecs, records, root))
    assert type(_load(forge.encoded(nn.Identity()))) is nn.Identity


@pytest.mark.parametrize(
    "state",
    [{"_all_weights": [[1]]}, {"all_weights": [[1]]}, {"_flat_weights_names": "ab"}, {"_flat_weights": 1}],
)
def test_a_recurrent_layer_computes_no_names(state: dict[str, Any]) -> None:
    layer = nn.LSTM(2, 3)
    assert _load(forge.encoded(layer))._all_weights == layer._all_weights
    made = forge.encoded([{**layer.__getstate__(), "num_layers": 10**12, **state}, layer])
    codecs, records, _ = msgpack.unpackb(made.records)
    held, root = records[-1][1:]
    records[-1] = [K.STATE, root, held]
    with pytest.raises(PackageError, match="the state of LSTM must list its weights by name"):
        _load(_changed(made, codecs, records, root))


def test_a_layer_of_torch_takes_up_no_state_of_older_files() -> None:
    layer = nn.Conv2d(1, 1, 1)
    assert list(_load(forge.encoded(layer)).state_dict()) == list(layer.state_dict())
    made = forge.encoded(layer)
    codecs, records, root = msgpack.unpackb(made.records)
    records += [[K.PACKED_DICT, "num_layers", 10**12], [K.STATE, root, -len(records) - 1]]
    with pytest.raises(PackageError, match=r"is given attributes by the codec 'torch\.module', and no state"):
        _load(_changed(made, codecs, records, root))


@pytest.mark.parametrize(
    "make", [nn.Sequential, nn.ModuleList, nn.ModuleDict, nn.ParameterList, nn.ParameterDict]
)
@pytest.mark.parametrize("fill", [[K.EXTEND, 1], [K.UPDATE, "a", 2]], ids=["items", "pairs"])
def test_containers_of_torch_are_given_no_items_and_no_pairs(make: Any, fill: list[Any]) -> None:
    made = forge.encoded(make())
    codecs, records, root = msgpack.unpackb(made.records)
    records.append([fill[0], root, *fill[1:]])
    with pytest.raises(PackageError, match="takes no items or pairs"):
        _load(_changed(made, codecs, records, root))
    assert type(_load(forge.encoded(make()))) is make


def test_the_options_of_an_optimiser_of_torch_are_plain() -> None:
    honest = torch.optim.Adam([nn.Parameter(torch.ones(2))], lr=0.1)
    assert _load(forge.encoded(honest)).param_groups[0]["lr"] == 0.1
    odd = torch.optim.Adam([nn.Parameter(torch.ones(2))], lr=0.1)
    odd.param_groups[0]["capturable"] = nn.Sequential()
    with pytest.raises(PackageError, match=r"torch\.nn\.modules:Sequential in the state of an optimiser"):
        _load(forge.encoded(odd))


def test_keys_that_are_tensors_and_modules_come_back() -> None:
    tensor, layer = torch.ones(1), nn.Linear(1, 1)
    found = _load(forge.encoded({tensor: 1, layer: 2, torch.float32: 3, torch.device("cpu"): 4}))
    assert list(found.values()) == [1, 2, 3, 4]
    assert [type(key) for key in found][:2] == [torch.Tensor, nn.Linear]
