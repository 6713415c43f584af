"""State dicts of usual tensors are encoded as columns; all others one by one, and both to the same."""

from __future__ import annotations

import io
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import kellet
from kellet.nn import Linear
from packager import PackageExporter, PackageImporter
from packager._state_dicts import encode_state_dict, storing
from tests.tables import one_test

WEIGHT = np.arange(12, dtype=np.float32).reshape(3, 4).copy()
WITH_METADATA = OrderedDict(w=WEIGHT)
WITH_METADATA._metadata = {"": {"version": 2}}  # type: ignore[attr-defined]  # as PyTorch keeps it
WITH_ARRAYS = OrderedDict(w=WEIGHT)
WITH_ARRAYS._metadata = {"": {"version": 1, "mean": np.arange(3.0)}}  # type: ignore[attr-defined]  # as above

USUAL = {
    "arrays": {"w": WEIGHT, "b": np.zeros(4), "n": np.array(7), "none": np.empty((0, 3), np.int8)},
    "metadata": WITH_METADATA,
    "odd keys": {"": WEIGHT, 'a"\\\n': np.ones(3, bool)},
    "tensors of kellet": {"w": kellet.tensor([[1.0, 2.0]]), "b": WEIGHT},
    "a module": Linear(3, 2).state_dict(),
}


class Labelled(np.ndarray):
    """Another class of arrays."""


class Loading(dict[str, Any]):
    """A dict that makes its values when they are asked for."""

    def __getitem__(self, key: str) -> Any:
        return super().__getitem__(key) + 1


UNUSUAL: dict[str, Mapping[Any, Any]] = {
    "empty": {},
    "twice": {"a": WEIGHT, "b": WEIGHT},
    "a view beside": {"a": WEIGHT, "b": WEIGHT[1:]},
    "a view alone": {"b": WEIGHT[1:]},
    "another order": {"a": np.asfortranarray(WEIGHT)},
    "gaps": {"a": WEIGHT[:, ::2]},
    "read-only memory": {"a": np.frombuffer(b"12345678", np.float32)},
    "complex": {"a": np.zeros(3, np.complex64)},
    "times": {"a": np.zeros(3, "M8[s]")},
    "big-endian": {"a": np.zeros(3, ">f4")},
    "sixteen bytes": {"a": np.zeros(3, np.longdouble)},
    "a dtype with metadata": {"a": np.zeros(3, np.dtype("f4", metadata={"unit": "m"}))},
    "records": {"a": np.zeros(3, [("x", "f4")])},
    "another class": {"a": WEIGHT.copy().view(Labelled)},
    "no tensor beside": {"a": WEIGHT, "step": 5},
    "another kind of dict": Loading(a=WEIGHT),
    "a number as key": {3: WEIGHT},
    "NUL in a key": {"a\0b": WEIGHT},
    "an array in the metadata": WITH_ARRAYS,
    "a key of extras": {"a": WEIGHT, "extras:x": np.zeros(2)},
    "a key of the header": {"__metadata__": WEIGHT},
    "tied tensors": dict.fromkeys("ab", kellet.tensor([1.0])),
    "a slice": {"a": kellet.arange(6)[2:]},
}


def said(state: Mapping[Any, Any]) -> tuple[bool, Any]:
    """Say whether it was encoded as columns, and all of what was made, bytes included."""
    found = encode_state_dict(state)
    storages: Any = found.storages
    facts = [
        getattr(found, name) for name in ("extras", "names", "versions", "warnings", "refusals", "metadata")
    ]
    return type(found.storages) is list, (
        tuple(found.tensors),
        list(map(bytes, storages)),
        found.codecs,
        found.storages_of_extras,
        facts,
    )


@pytest.mark.parametrize("name", USUAL)
def test_usual_tensors_are_columns_which_say_what_is_said_of_each(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    as_columns, found = said(USUAL[name])
    monkeypatch.setattr(storing, "columns_out", lambda keys, values: None)
    assert (as_columns, said(USUAL[name])) == (True, (False, found))


@one_test
@pytest.mark.parametrize("name", UNUSUAL)
def test_what_is_unusual_in_any_way_is_encoded_one_by_one(name: str) -> None:
    assert not said(UNUSUAL[name])[0]


def test_an_array_with_odd_strides_where_an_axis_has_one_element_is_in_order() -> None:
    stepped = np.lib.stride_tricks.as_strided(np.ones(5, np.float32), (1, 5), (400, 4))
    assert [bytes(one) for one in encode_state_dict({"a": stepped}).storages] == [np.ones(5, "f4").tobytes()]


def test_an_array_in_the_metadata_comes_back() -> None:
    file = io.BytesIO()
    with PackageExporter(file, prove=False) as exporter:
        exporter.save_state_dict("net", "weights", WITH_ARRAYS)
    with PackageImporter(file) as importer:
        loaded = importer.load_state_dict("net", "weights")
        assert loaded["w"].tolist() == WEIGHT.tolist()
        assert loaded._metadata[""]["mean"].tolist() == [0.0, 1.0, 2.0]
