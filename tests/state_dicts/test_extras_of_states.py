"""Extras of a state dict have the one form that is written: each part wrong by itself is refused."""

from __future__ import annotations

import io
from functools import cache
from typing import Any

import numpy as np
import pytest

from packager._archive import (
    ArchiveReader,
    ArchiveWriter,
    Manifest,
    TensorReader,
    TensorSpec,
    add_tensors,
)
from packager._objects import encode
from packager._state_dicts import StateDictView, encode_state_dict, open_state_dict
from packager._state_dicts.viewing import _itemsize
from packager.errors import ArchiveError
from tests.tables import one_test


@cache
def tensors() -> TensorReader:
    """The member of two tensors, whose second is stored in rows of bytes."""
    encoded = encode_state_dict({"a": np.ones(1), "b": np.ones(1, "<c16")})
    file = io.BytesIO()
    with ArchiveWriter(file) as writer:
        add_tensors(writer, "s", encoded.tensors, encoded.storages)
        writer.seal(Manifest())
    return TensorReader(ArchiveReader(file), "s")


def opened(content: Any) -> StateDictView:
    return open_state_dict(tensors(), encode(content).with_sources(lambda module: False).records)


def content(**parts: Any) -> dict[str, Any]:
    return {"values": {"x": 1, "y": 2}, "places": [0, 3], "raw": {"b": "<c16"}, "metadata": None, **parts}


def metadata(**parts: Any) -> dict[str, Any]:
    return {"paths": ["", "m"], "versions": [None, 2], "more": {"m": {"version": 2, "note": "n"}}, **parts}


REFUSED: dict[str, Any] = {
    "no dict": [1],
    "other parts": {"values": {}, "places": [], "raw": {}},
    "parts in another order": {"places": [], "values": {}, "raw": {}, "metadata": None},
    "values in a list": content(values=["x", "y"]),
    "places in a tuple": content(places=(0, 3)),
    "raw in a list": content(raw=[]),
    "fewer places": content(places=[0]),
    "more places": content(places=[0, 1, 3]),
    "a key that is a number": content(values={"x": 1, 2: 2}),
    "a raw key that is a number": content(raw={1: "<c16"}),
    "a raw dtype that is none": content(raw={"b": "complex"}),
    "a raw dtype that needs no rows": content(raw={"b": "<f8"}),
    "a place that is a float": content(places=[0, 3.0]),
    "a place that is a bool": content(places=[False, 3]),
    "a place before": content(places=[-1, 3]),
    "a place twice": content(places=[1, 1]),
    "places that go back": content(places=[3, 0]),
    "a place behind": content(places=[0, 4]),
    "metadata in a list": content(metadata=[]),
    "metadata of other columns": content(metadata={"paths": [], "versions": []}),
    "metadata in another order": content(metadata={"versions": [], "paths": [], "more": {}}),
    "a value under the key of a tensor": content(values={"x": 1, "a": 2}),
    "a path twice": content(metadata=metadata(paths=["m", "m"])),
    "paths in a tuple": content(metadata=metadata(paths=("", "m"))),
    "versions in a tuple": content(metadata=metadata(versions=(None, 2))),
    "fewer versions": content(metadata=metadata(versions=[None])),
    "a path that is a number": content(metadata=metadata(paths=["", 1])),
    "more in a list": content(metadata=metadata(more=[])),
    "more that is no dict": content(metadata=metadata(more={"m": [1]})),
}


@one_test
@pytest.mark.parametrize("extras", REFUSED.values(), ids=REFUSED.keys())
def test_extras_of_another_form_are_refused(extras: Any) -> None:
    with pytest.raises(ArchiveError, match="its extras are not those of a state dict"):
        list(opened(extras))


def test_extras_of_the_form_are_read() -> None:
    view = opened(content(metadata=metadata()))
    assert list(view) == ["x", "a", "b", "y"]
    assert [key in view for key in ("x", "a", "y", "z", "extras:", 1)] == [True, True, True, *[False] * 3]
    assert (view["x"], view["y"], view["b"].tolist()) == (1, 2, [1 + 0j])
    assert view.versions == {"m": 2}
    assert view.raw_dtypes == {"b": "<c16"}
    assert (view.is_raw("a"), view.is_raw("b")) == (False, True)
    assert view._metadata == {"": {}, "m": {"version": 2, "note": "n"}}
    assert repr(view) == "<state dict: 4 keys as numpy>"


@pytest.mark.parametrize(
    ("places", "keys"),
    [([0, 1], "xyab"), ([2, 3], "abxy"), ([1, 2], "axyb"), ([1, 3], "axby"), ([0, 2], "xayb")],
)
def test_other_values_stand_in_their_places(places: list[int], keys: str) -> None:
    assert list(opened(content(places=places))) == list(keys)


def test_what_is_no_key_is_not_found() -> None:
    view = opened(content())
    for key in ("z", "extras:z"):
        with pytest.raises(KeyError, match=key):
            view.spec(key)
    with pytest.raises(KeyError, match="z"):
        view["z"]


def test_a_state_without_extras_has_none_of_it() -> None:
    view = open_state_dict(tensors(), None, what="thing")
    assert (list(view), view.raw_dtypes, view.is_raw("b"), view.versions) == (["a", "b"], {}, False, {})
    assert "x" not in view
    assert repr(view) == "<thing: 2 keys as numpy>"


def test_memory_of_extras_is_no_key_and_may_be_written() -> None:
    encoded = encode_state_dict({"x": [np.ones(2)], "a": np.ones((2, 2))})
    file = io.BytesIO()
    with ArchiveWriter(file) as writer:
        add_tensors(writer, "s", encoded.tensors, encoded.storages)
        writer.seal(Manifest())
    reader = TensorReader(ArchiveReader(file), "s")
    view = open_state_dict(reader, encoded.extras)
    (hidden,) = (key for key in reader if key != "a")
    assert list(view) == ["x", "a"]
    with pytest.raises(KeyError, match=hidden.replace("[", r"\[")):
        view.spec(hidden)
    view["x"][0][0] = 7  # a copy of the file's memory
    assert view["x"][0].tolist() == [7, 1]
    with pytest.raises(ValueError, match="read-only"):
        view.rows("a", 0, 1)[0, 0] = 7
    rows = open_state_dict(reader, encoded.extras, as_="kellet").rows("a", 1, 2)
    rows[0, 0] = 7
    assert rows.tolist() == [[7, 1]]
    # A place behind the last key is one, however many tensors the extras have of their own.
    beyond = encode({"values": {"x": [np.ones(2)]}, "places": [2], "raw": {}, "metadata": None})
    with pytest.raises(ArchiveError, match="its extras are not those of a state dict"):
        list(open_state_dict(reader, beyond.with_sources(lambda module: False).records))


def test_a_tensor_of_a_dtype_that_no_array_has_says_how_it_is_read() -> None:
    assert _itemsize(TensorSpec("w", "F32", (2,), (1,), 0, 0)) == 4
    with pytest.raises(
        ArchiveError,
        match=r"^tensor 'w': no array can have the dtype F4. To have its bytes in a file: kellet",
    ):
        _itemsize(TensorSpec("w", "F4", (2,), (1,), 0, 0))
