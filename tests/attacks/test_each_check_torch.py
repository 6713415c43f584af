"""One forged record for each check of codecs of PyTorch, next to the honest one that passes."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from typing import Any

import msgpack
import torch
from torch import nn

from packager._objects import EncodedObject, ObjectBuildError, RecordError, encode
from packager._objects.records import Kind as K
from packager.errors import PackageError
from tests.attacks import object_forger as forge
from tests.attacks.watched_building import watched_building

EXTERNS = ("torch", "numpy", "kellet")


def _changed(obj: Any, kind: int, place: int, value: Any) -> Any:
    """Load an object whose first record of this kind holds another value."""

    def change(codecs: list[Any], records: forge.Records) -> None:
        next(record for record in records if record[0] == kind)[place] = value

    made = forge.with_records(encode(obj).with_sources(lambda module: False), change)
    return forge.load(forge.archive_of(made, externs=EXTERNS))


@pytest.mark.parametrize(
    ("literal", "match"),
    [
        (["Buffer", "float32", "cpu", False], "a kind of tensor and a dtype"),
        (["Tensor", "float33", "cpu", False], "a kind of tensor and a dtype"),
        (["Tensor", "float64", "cpu", False], "expected a tensor of F64"),
        (["Tensor", "float32", "cpu;", False], "expected a device"),
        (["Tensor", "float32", 0, False], "expected a device"),
        (["Tensor", "float32", "cpu", 1], "expected requires_grad"),
        (["Tensor", "float32", "cpu", False, "conj"], "expected complex numbers"),
        (["Tensor", "float32", "cpu", False, "empty", 3], "expected no values"),
        (["Tensor", "float32", "cpu"], "kind, dtype, device, requires_grad"),
    ],
)
def test_a_tensor_says_what_it_is(literal: list[Any], match: str) -> None:
    with pytest.raises(RecordError, match=match):
        _changed(torch.ones(3), K.CODEC, 2, literal)


def test_strides_of_tensors_are_not_negative() -> None:
    value = torch.arange(6.0).reshape(2, 3).T
    assert torch.equal(_changed(value, K.TENSOR, 5, 0), value)

    def change(codecs: list[Any], records: forge.Records) -> None:
        tensor = next(record for record in records if record[0] == K.TENSOR)
        tensor[4], tensor[5] = [-1, 3], 8

    made = forge.with_records(encode(value).with_sources(lambda module: False), change)
    with pytest.raises(RecordError, match="expected strides that are not negative"):
        forge.load(forge.archive_of(made, externs=EXTERNS))


@pytest.mark.parametrize("offset", [1, 2, 3])
def test_elements_stand_at_multiples_of_their_size(offset: int) -> None:
    whole = torch.ones(4)
    with pytest.raises(RecordError, match="memory at a multiple of the element's size"):
        _changed([whole[:2], whole], K.TENSOR, 5, offset)


@pytest.mark.filterwarnings("ignore:.*quantized tensor creation:UserWarning")
@pytest.mark.parametrize(
    ("literal", "parts", "match"),
    [
        (["qint8", 0], [0.5, 1], "expected scales and zero points"),
        (["qint8", 0], [-1, 1], "expected scales and zero points"),
        (["qint8", None], [-1, -1], "expected two numbers"),
        (["qint8", None], [1, 1], "expected two numbers"),
        (["qint8", 0.5], [-1, -1], "expected an axis"),
        (["int8", 0], [-1, -1], "expected a quantized dtype"),
        (["qint8", 0, "Buffer"], [-1, -1], "three parts, of a tensor or parameter"),
    ],
)
def test_a_quantized_tensor_says_its_parts(literal: list[Any], parts: list[Any], match: str) -> None:
    scales = torch.ones(2, dtype=torch.float64), torch.zeros(2, dtype=torch.int64)
    value = torch.quantize_per_channel(torch.ones(2, 3), *scales, 0, torch.qint8)

    def change(codecs: list[Any], records: forge.Records) -> None:
        quantized = next(record for record in records if record[0] == K.CODEC and record[2][0] == "qint8")
        quantized[2] = literal
        quantized[4:] = [old if new == -1 else new for old, new in zip(quantized[4:], parts, strict=True)]

    made = forge.with_records(encode(value).with_sources(lambda module: False), change)
    with pytest.raises(RecordError, match=match):
        forge.load(forge.archive_of(made, externs=EXTERNS))


@pytest.mark.parametrize("cls", [("builtins", "object"), ("kellet.nn", "ReLU")])
def test_a_codec_of_modules_makes_modules_of_torch_alone(cls: tuple[str, str]) -> None:
    table = forge.table_of([[K.GLOBAL, *cls], [K.SHAPE, -1, 1], [K.OBJ, -2]], codecs=["torch.module"])
    with pytest.raises(ObjectBuildError, match="is not a module of torch"):
        forge.load(forge.archive_of(table, externs=EXTERNS))


@pytest.mark.parametrize("codec", ["torch.subclass", "torch.optimizer"])
def test_classes_of_codecs_of_torch_are_looked_at(codec: str) -> None:
    made = encode([torch.ones(2)]).with_sources(lambda module: False)

    codecs, records, _ = msgpack.unpackb(made.records)
    codecs.append([codec, 1])
    tensor = records.pop()[1]
    records.append(
        [K.GLOBAL, "torch.nn.modules.activation", "ReLU"]
        if codec == "torch.subclass"
        else [K.GLOBAL, "torch.optim.lr_scheduler", "StepLR"]
    )
    name, held = -len(records), tensor
    if codec == "torch.optimizer":
        records.append([K.DICT, "state", tensor])
        held = -len(records)
    literal = False if codec == "torch.subclass" else None
    records.append([K.CODEC, len(codecs) - 1, literal, name, held])
    table = EncodedObject(msgpack.packb([codecs, records, -len(records)]), made.storages, ())
    with pytest.raises(PackageError, match=r"is not a class of tensors|is not an optimiser"):
        forge.load(forge.archive_of(table, externs=EXTERNS))


@pytest.mark.parametrize("attribute", ["_is_param", "_is_buffer", "_is_anything"])
def test_what_torch_asks_of_a_tensor_is_a_scalar(attribute: str) -> None:
    value = torch.ones(2)
    setattr(value, attribute, True)
    assert (
        getattr(forge.load(forge.archive_of(forge.encoded([value]), externs=EXTERNS))[0], attribute) is True
    )
    setattr(value, attribute, nn.ModuleList([nn.ReLU()]))
    with pytest.raises(PackageError, match=f"{attribute}, which would be compared, is an object of torch.nn"):
        forge.load(forge.archive_of(forge.encoded([value]), externs=EXTERNS))


def test_versions_of_modules_are_not_compared_with_what_data_says() -> None:
    model = nn.BatchNorm1d(2)
    model._version = [2]
    with pytest.raises(PackageError, match=r"_version, which would be compared, is a list"):
        forge.load(forge.archive_of(forge.encoded(model), externs=EXTERNS))


def test_the_state_of_a_class_of_torch_asks_nothing_of_its_attributes() -> None:
    # `track_running_stats` may be anything: the truth of a list of modules is a method of torch.
    model = nn.Sequential(nn.BatchNorm1d(2), nn.Linear(2, 2))
    model[0].track_running_stats = nn.ModuleList([nn.ReLU()])  # type: ignore[assignment]  # no bool
    made = forge.encoded(model)
    with watched_building() as calls:
        loaded = forge.load(forge.archive_of(made, externs=EXTERNS))
    names = {name for _, name in calls.seen}
    assert type(loaded[0].track_running_stats) is nn.ModuleList
    assert "torch.nn.modules.batchnorm:_NormBase._load_from_state_dict" not in names
    assert "torch.nn.modules.container:ModuleList.__len__" not in names
