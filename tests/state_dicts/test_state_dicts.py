"""State dicts: one safetensors member, extras beside it, read lazily."""

from __future__ import annotations

import io
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load as load_safetensors

import kellet
from kellet import nn
from packager._archive import ArchiveReader, ArchiveWriter, Manifest, TensorReader, add_tensors
from packager._audit import TrustContext, UntrustedNamesError
from packager._state_dicts import StateDictView, encode_state_dict, open_state_dict, storing
from packager._state_dicts.storing import encode_extras
from packager.errors import ArchiveError
from packager.testing.round_trips import resolve
from tests.tables import one_test

HERE = __name__


class Thing:
    def __init__(self, value: Any) -> None:
        self.value = value


def _archive(state: Any, **options: Any) -> io.BytesIO:
    encoded = encode_state_dict(state, **options)
    assert encoded.refusals == ()
    file = io.BytesIO()
    with ArchiveWriter(file) as writer:
        add_tensors(writer, "net/state", encoded.tensors, encoded.storages)
        if encoded.extras:
            writer.add("net/state.extras", encoded.extras, kind="extras")
        writer.seal(Manifest())
    return file


def _open(file: io.BytesIO, as_: str = "numpy", **options: Any) -> StateDictView:
    reader = ArchiveReader(file)
    extras = reader.read("net/state.extras") if "net/state.extras" in reader else None
    return open_state_dict(TensorReader(reader, "net/state"), extras, as_=as_, **options)


def _trip(state: Any, as_: str = "numpy", **options: Any) -> StateDictView:
    return _open(_archive(state), as_, **options)


def _member(file: io.BytesIO) -> dict[str, Any]:
    return load_safetensors(ArchiveReader(file).read("net/state"))


def test_arrays_come_back_read_only_and_lazily() -> None:
    state = {"a.w": np.arange(6.0).reshape(2, 3), "a.b": np.float32([1, 2]), "n": np.array(3)}
    loaded = _trip(state)
    assert list(loaded) == list(state)
    assert len(loaded) == 3
    for key, value in state.items():
        assert np.array_equal(loaded[key], value)
        assert loaded[key].dtype == value.dtype
        assert not loaded[key].flags.writeable
    assert "a.w" in loaded
    assert "b" not in loaded
    with pytest.raises(KeyError):
        loaded["b"]


def test_the_safetensors_library_reads_the_member() -> None:
    state = {"w": np.arange(6.0).reshape(2, 3), "t": np.arange(6).reshape(2, 3).T, "note": "x"}
    member = _member(_archive(state))
    assert {key: value.tolist() for key, value in member.items()} == {
        "w": [[0, 1, 2], [3, 4, 5]],
        "t": [[0, 3], [1, 4], [2, 5]],
    }


def test_plain_arrays_have_no_extras() -> None:
    assert encode_state_dict({"w": np.ones(2)}).extras == b""


def test_strings_and_objects_keep_their_place_among_tensors() -> None:
    state = {
        "note": "custom",
        "w": np.ones(2),
        "extra": {"steps": [1, np.ones(2)]},
        "b": np.zeros(1),
        "last": None,
    }
    loaded = _trip(state)
    assert list(loaded) == list(state)
    assert loaded["note"] == "custom"
    assert loaded["extra"]["steps"][1].tolist() == [1.0, 1.0]
    assert loaded["last"] is None
    assert "last" in loaded
    assert list(_member(_archive(state))) != []


def test_module_state_with_versions_goes_back_into_a_module() -> None:
    net = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
    loaded = _trip(net, "kellet")
    assert loaded.versions == {"": 1, "0": 1, "1": 2}
    assert loaded._metadata == net.state_dict()._metadata
    other = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
    assert str(other.load_state_dict(loaded)) == "<All keys matched successfully>"
    assert other[0].weight.tolist() == net[0].weight.tolist()


def test_hooks_of_saving_are_what_is_stored() -> None:
    net = nn.Linear(2, 2)
    net.register_state_dict_hook(add_note)
    loaded = _trip(net)
    assert list(loaded) == ["weight", "bias", "note"]
    assert loaded["note"] == "custom"


def add_note(module: Any, state: Any, prefix: str, keep_vars: bool) -> None:
    state[f"{prefix}note"] = "custom"


def test_ties_and_views_are_stored_once_and_stay_tied() -> None:
    weight = kellet.ones(4, 4)
    state = OrderedDict(a=weight, b=weight, rows=weight[1:3], turned=weight.T)
    encoded = encode_state_dict(state)
    assert [len(storage) for storage in encoded.storages] == [64]
    loaded = _trip(state, "kellet")
    first = loaded["a"]
    first[1, 2] = 9
    assert loaded["b"][1, 2].item() == loaded["rows"][0, 2].item() == loaded["turned"][2, 1].item() == 9


def test_kellet_tensors_can_be_trained_on_private_memory() -> None:
    file = _archive({"w": np.ones(3, "f4")})
    loaded, other = _open(file, "kellet"), _open(file, "kellet")
    parameter = nn.Parameter(loaded["w"])
    (parameter * 2).sum().backward()
    with kellet.no_grad():
        parameter -= parameter.grad
    assert parameter.tolist() == [-1.0, -1.0, -1.0]
    assert other["w"].tolist() == [1.0, 1.0, 1.0]


def test_dtypes_that_safetensors_has_no_word_for() -> None:
    state = {
        "c": np.array([1 + 2j]),
        "s": np.array(["a", "bcd"]),
        "d": np.array(["2020-01-01"], "M8[D]"),
        "big": np.array([1], ">i4"),
    }
    loaded = _trip(state)
    for key, value in state.items():
        assert np.array_equal(loaded[key], value)
        assert loaded[key].dtype == value.dtype


def test_structured_and_object_arrays_are_extras() -> None:
    state = {"r": np.zeros(2, [("a", "f4")]), "o": np.array([1, "a"], object), "w": np.ones(1)}
    loaded = _trip(state)
    assert loaded["r"].dtype == state["r"].dtype
    assert loaded["o"].tolist() == [1, "a"]
    assert list(loaded) == ["r", "o", "w"]


def test_rows_and_patterns_are_read_alone() -> None:
    state = {"encoder.w": np.arange(20).reshape(10, 2), "encoder.b": np.ones(1), "decoder.w": np.zeros(1)}
    loaded = _trip(state)
    assert loaded.rows("encoder.w", 3, 5).tolist() == [[6, 7], [8, 9]]
    assert list(loaded.matching("encoder.*")) == ["encoder.w", "encoder.b"]
    assert list(loaded.matching("*.w", "encoder.b")) == ["encoder.w", "encoder.b", "decoder.w"]
    assert loaded.spec("encoder.w").shape == (10, 2)
    with pytest.raises(ValueError, match="10 rows"):
        loaded.rows("encoder.w", 5, 11)


def test_values_stay_valid_when_the_archive_is_closed() -> None:
    file = _archive({"w": np.arange(1000)})
    reader = ArchiveReader(file)
    value = open_state_dict(TensorReader(reader, "net/state"), None)["w"]
    reader.close()
    assert value.sum() == 499_500


def test_empty_and_nested_states() -> None:
    assert dict(_trip({"e": np.zeros((0, 3)), "w": np.ones(1)}))["e"].shape == (0, 3)
    state = {
        "state": {0: {"momentum": np.ones(2)}},
        "param_groups": [{"lr": 0.1, "params": [0]}],
        "w": np.ones(1),
    }
    loaded = _trip(state)
    assert loaded["param_groups"] == state["param_groups"]
    assert loaded["state"][0]["momentum"].tolist() == [1.0, 1.0]
    assert list(loaded) == list(state)


@pytest.mark.parametrize("key", [1, "__metadata__", "extras:x", "a\0b"])
def test_keys_that_no_member_can_have_are_refused(key: Any) -> None:
    (refusal,) = encode_state_dict({key: np.ones(1)}).refusals
    assert refusal.path == f"state[{key!r}]"


def test_what_cannot_be_stored_is_refused_with_its_key() -> None:
    encoded = encode_state_dict({"w": np.ones(1), "lock": __import__("threading").Lock(), "f": lambda: 1})
    assert [refusal.path for refusal in encoded.refusals] == ["state['lock']", "state['f']"]


@pytest.mark.parametrize("value", [3, "x", [1], object()])
def test_only_mappings_and_modules_have_a_state(value: Any) -> None:
    with pytest.raises(TypeError, match="expected a module or a mapping"):
        encode_state_dict(value)


def test_extras_are_audited_when_they_are_needed() -> None:
    file = _archive({"w": np.ones(1), "thing": Thing(3)})
    loaded = _open(file)
    with pytest.raises(UntrustedNamesError, match=f"{HERE}:Thing"):
        loaded["thing"]
    trusted = _open(file, trust=[f"{HERE}:Thing"], resolve=resolve)
    assert trusted["thing"].value == 3
    beside_code = _open(file, trust_context=TrustContext.with_code([HERE]), resolve=resolve)
    assert beside_code["thing"].value == 3


def test_other_libraries_are_named() -> None:
    with pytest.raises(ValueError, match="expected one of 'numpy', 'kellet', 'torch'"):
        _trip({"w": np.ones(1)}, "jax")


@pytest.mark.parametrize(
    "extras", [b"", b"junk", encode_state_dict({"a": "x"}).extras.replace(b"values", b"valuez")]
)
def test_extras_of_another_form_are_refused(extras: bytes) -> None:
    reader = ArchiveReader(_archive({"w": np.ones(1), "n": "x"}))
    view = open_state_dict(TensorReader(reader, "net/state"), extras or b"\xc0")
    with pytest.raises(ArchiveError):
        list(view)


def test_encoding_a_loaded_state_gives_the_same_bytes() -> None:
    net = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
    net[0].register_state_dict_hook(add_note)
    first = _archive(net)
    again = _archive(_open(first, "kellet"))
    assert first.getvalue() == again.getvalue()


@pytest.mark.parametrize(("dtype", "honest"), [("<f4", False), ("float8_e4m3fnuz", False), ("<c16", True)])
def test_rows_of_bytes_are_for_dtypes_that_safetensors_has_no_word_for(dtype: str, honest: bool) -> None:
    state = {"w": np.zeros(2, "<c16")}
    encoded = encode_state_dict(state)
    extras, _ = encode_extras(state, {}, {"w": dtype}, None)
    file = io.BytesIO()
    with ArchiveWriter(file) as writer:
        add_tensors(writer, "net/state", encoded.tensors, encoded.storages)
        writer.add("net/state.extras", extras.records, kind="extras")
        writer.seal(Manifest())
    if honest:
        assert _open(file)["w"].tolist() == [0j, 0j]
        return
    with pytest.raises(ArchiveError, match="extras"):
        _open(file)["w"]


def test_what_is_refused_is_called_as_it_is_in_the_state() -> None:
    lock = __import__("threading").Lock()
    (refusal,) = encode_state_dict({"k": {"state['values']": {"state['values']": lock}}}).refusals
    assert refusal.path == """state['k']["state['values']"]["state['values']"]"""


def test_a_map_of_a_file_is_an_entry_like_any_array_and_is_said_to_come_back_as_one(tmp_path: Path) -> None:
    mapped = np.memmap(tmp_path / "file", "f4", "w+", shape=(2, 2))
    mapped[:] = 3
    state = {"whole": mapped, "row": mapped[1], "plain": np.asarray(mapped)}
    encoded = encode_state_dict(state)
    assert encoded.extras == b""
    assert [(said.path, said.reason.partition(";")[0]) for said in encoded.warnings] == [
        (f"state['{key}']", "a numpy.memmap is stored by its values and loads as an ordinary array")
        for key in ("whole", "row")
    ]
    assert "or save numpy.asarray() of it" in encoded.warnings[0].reason
    file = _archive(state)
    assert _member(file)["whole"].tolist() == [[3.0, 3.0], [3.0, 3.0]]
    loaded = _open(file)
    assert type(loaded["whole"]) is np.ndarray
    assert loaded["row"].tolist() == [3.0, 3.0]


@pytest.mark.parametrize(
    ("key", "reason", "option"),
    [
        (1, "its key is of type int; expected a string", "use '1'"),
        (("a",), "its key is of type tuple; expected a string", "use \"('a',)\""),
        (
            "__metadata__",
            "its key is reserved: __metadata__, keys with a NUL, and keys that begin with extras:",
            "rename the key",
        ),
    ],
)
def test_what_is_no_key_is_refused_with_its_type(key: Any, reason: str, option: str) -> None:
    (refusal,) = encode_state_dict({key: np.ones(1)}).refusals
    assert (refusal.path, refusal.reason, refusal.options) == (f"state[{key!r}]", reason, (option,))


@one_test
@pytest.mark.parametrize(
    "array",
    [
        np.arange(24.0).reshape(2, 3, 4).transpose(2, 0, 1),
        np.arange(7)[::-1],
        np.arange(20.0)[::3],
        np.broadcast_to(np.float32(2.5), (3, 2)),
        np.asfortranarray(np.arange(6, dtype="i2").reshape(2, 3)),
        np.arange(12.0).reshape(3, 4)[:, 1:3],
        np.ones((1, 5, 1))[:, ::2],
    ],
    ids="permuted reversed strided broadcast fortran columns ones".split(),
)
def test_a_tensor_that_is_alone_lies_in_the_order_of_its_axes(array: Any) -> None:
    encoded = encode_state_dict({"before": np.ones(3), "x": array, "after": np.ones(2)})
    spec = encoded.tensors[1]
    assert (spec.key, spec.shape, spec.offset, spec.storage) == ("x", array.shape, 0, 1)
    assert bytes(encoded.storages[1]) == array.tobytes(order="C")
    assert _member(_archive({"x": array}))["x"].tolist() == array.tolist()


def test_memory_is_laid_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    real = storing.lay_out
    monkeypatch.setattr(
        storing, "lay_out", lambda views, **how: asked.append(len(views)) or real(views, **how)
    )
    encode_state_dict({"a": np.ones((3, 2)).T, "b": np.ones(2)})
    assert asked == [2]
