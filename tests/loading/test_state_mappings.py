"""State dicts of archives as modules, optimisers, copies and other files take them, without `as_`."""

from __future__ import annotations

import copy
import io
import itertools
import pickle
from collections import OrderedDict
from typing import Any

import numpy as np
import pytest

import kellet
from kellet import nn, optim
from packager import IntegrityError, PackageExporter, PackageImporter
from packager.errors import ArgumentError


def packed(**states: Any) -> io.BytesIO:
    file = io.BytesIO()
    with PackageExporter(file, prove=False) as exporter:
        for name, state in states.items():
            exporter.save_state_dict("model", name, state)
    return file


def net() -> nn.Sequential:
    return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))


def trained() -> tuple[nn.Sequential, optim.Adam]:
    module = net()
    optimizer = optim.Adam(module.parameters(), lr=0.25)
    module(kellet.ones(5, 3)).sum().backward()
    optimizer.step()
    return module, optimizer


def test_modules_and_optimisers_of_kellet_take_what_was_saved() -> None:
    module, optimizer = trained()
    other, next_optimizer = net(), optim.Adam(net().parameters())
    with PackageImporter(packed(net=module, optimizer=optimizer)) as importer:
        stored = importer.load_state_dict("model", "net")
        assert stored.library == "kellet"
        assert str(other.load_state_dict(stored)) == "<All keys matched successfully>"
        next_optimizer.load_state_dict(importer.load_state_dict("model", "optimizer"))
    assert [value.tolist() for value in other.state_dict().values()] == [
        value.tolist() for value in module.state_dict().values()
    ]
    assert str(next_optimizer.state_dict()) == str(optimizer.state_dict())
    assert next_optimizer.param_groups[0]["lr"] == 0.25


@pytest.mark.parametrize("as_", [None, "numpy", "kellet"])
def test_modules_of_kellet_take_arrays_in_a_file_too(as_: str | None) -> None:
    arrays = {key: np.asarray(value.numpy() + 1) for key, value in net().state_dict().items()}
    module = net()
    with PackageImporter(packed(net=arrays)) as importer:
        module.load_state_dict(importer.load_state_dict("model", "net", as_=as_))
    assert {key: value.tolist() for key, value in module.state_dict().items()} == {
        key: array.tolist() for key, array in arrays.items()
    }


def test_arrays_of_numpy_and_tensors_of_several_libraries_are_arrays() -> None:
    mixed = {"a": np.ones(2), "b": kellet.ones(2)}
    with PackageImporter(packed(arrays={"a": np.ones(2)}, mixed=mixed, empty={"n": 3})) as importer:
        for name in ("arrays", "mixed", "empty"):
            assert importer.load_state_dict("model", name).library == "numpy"


@pytest.mark.parametrize("as_", ["numpy", "kellet"])
def test_a_copy_is_a_state_dict_with_its_metadata(as_: str) -> None:
    module = net()
    with PackageImporter(packed(net=module)) as importer:
        stored = importer.load_state_dict("model", "net", as_=as_)
        copies = [stored.copy(), copy.copy(stored), copy.deepcopy(stored), pickle.loads(pickle.dumps(stored))]
        assert list(dict(stored)) == list({**stored}) == list(stored | {}) == list(stored)
        assert list({"first": 1} | stored) == ["first", *stored]
    for made in copies:
        assert type(made) is OrderedDict
        assert list(made) == list(module.state_dict())
        assert made._metadata == module.state_dict()._metadata  # type: ignore[attr-defined]  # as PyTorch has it
        for key, value in module.state_dict().items():
            assert np.asarray(made[key]).tobytes() == value.numpy().tobytes()
        made["more"] = made.pop("0.bias")


def test_what_was_loaded_is_saved_as_the_same_bytes() -> None:
    first = packed(net=net())
    with PackageImporter(first) as importer:
        stored = importer.load_state_dict("model", "net")
        again = [packed(net=state).getvalue() for state in (stored, copy.deepcopy(stored))]
    assert again == [first.getvalue()] * 2


def test_arrays_are_saved_by_safetensors(tmp_path: Any) -> None:
    import safetensors.numpy

    with PackageImporter(packed(net=net())) as importer:
        stored = importer.load_state_dict("model", "net", as_="numpy")
        safetensors.numpy.save_file(stored, tmp_path / "net.safetensors")
        read = safetensors.numpy.load_file(tmp_path / "net.safetensors")
        assert {key: value.tolist() for key, value in read.items()} == {
            key: value.tolist() for key, value in stored.items()
        }


def test_it_is_a_dict_that_nobody_changes() -> None:
    with PackageImporter(packed(net={"a": np.ones(2), "n": 3})) as importer:
        stored: Any = importer.load_state_dict("model", "net")
        assert isinstance(stored, dict)
        assert (len(stored), stored["n"], stored.get("n"), stored.get("x", 5), "x" in stored) == (
            2,
            3,
            3,
            5,
            False,
        )
        assert stored != {"a": 1}
    changes = [
        lambda: stored.__setitem__("n", 4),
        lambda: stored.__delitem__("n"),
        lambda: stored.pop("n"),
        lambda: stored.update(n=4),
        lambda: stored.setdefault("m", 4),
        lambda: stored.clear(),
        lambda: stored.popitem(),
        lambda: stored.__ior__({}),
    ]
    for change in changes:
        with pytest.raises(
            ArgumentError, match=r"is read-only; to change it, copy it: state = state\.copy\(\)"
        ):
            change()


PARTS = [
    slice(None),
    slice(1, None),
    slice(None, None, 2),
    slice(None, None, -1),
    slice(5, 0, -2),
    slice(2, 2),
    -1,
]


@pytest.mark.parametrize("as_", ["numpy", "kellet"])
@pytest.mark.parametrize("kind", ["f4", "c16", "M8[s]"])
def test_parts_along_any_axis(as_: str, kind: str) -> None:
    array = np.arange(60).reshape(3, 4, 5).astype(kind)
    if as_ == "kellet" and kind == "M8[s]":
        array = array.astype("c8")
    with PackageImporter(packed(net={"w": array, "turned": array.T})) as importer:
        stored = importer.load_state_dict("model", "net", as_=as_)
        more: list[tuple[Any, ...]] = [
            (),
            (...,),
            (..., 1),
            (1, ...),
            (1, ..., slice(None, None, -1)),
            (np.int64(2),),
        ]
        for index in [*itertools.product(PARTS, repeat=3), *more]:
            assert np.array_equal(np.asarray(stored.part("w", *index)), array[index]), index
        assert np.array_equal(np.asarray(stored.part("turned", 1, slice(1, 3))), array.T[1, 1:3])


@pytest.mark.parametrize(
    ("index", "message"),
    [
        ((5,), r"found the index 5 of an axis with 3 elements"),
        ((0, 0, 0), r"found 3 indices; expected at most 2"),
        ((..., ...), r"found 2 indices"),
        (([0, 1],), r"found the index \(\[0, 1\],\); expected ints, slices and \.\.\."),
        ((None,), r"expected ints, slices"),
        ((True,), r"expected ints, slices"),
    ],
)
def test_parts_that_are_none(index: tuple[Any, ...], message: str) -> None:
    with (
        PackageImporter(packed(net={"w": np.ones((3, 4))})) as importer,
        pytest.raises(IndexError, match=message),
    ):
        importer.load_state_dict("model", "net").part("w", *index)


def test_a_part_reads_what_lies_between_its_ends_alone(tmp_path: Any) -> None:
    array = np.arange(1 << 19, dtype=np.float64).reshape(1024, 512)
    data = bytearray(packed(net={"w": array}).getvalue())
    data[data.index(array.tobytes()[:64]) + (3 << 20)] ^= 1
    with PackageImporter(bytes(data)) as importer:
        stored = importer.load_state_dict("model", "net")
        assert stored.part("w", slice(0, 200), slice(5, 7)).tolist() == array[:200, 5:7].tolist()
        with pytest.raises(IntegrityError, match="do not have the crc"):
            stored.part("w", ..., slice(5, 7))
