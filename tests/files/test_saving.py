"""`kellet.save` and `kellet.load`: what comes back, what is refused, and what a damaged file does."""

from __future__ import annotations

import contextlib
import io
import json
import stat
from collections import Counter, OrderedDict, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import kellet
from kellet import nn, optim
from kellet.errors import FileFormatError
from packager._archive.tensor_index import METADATA
from tests.tables import one_test


def saved(value: Any) -> bytes:
    file = io.BytesIO()
    kellet.save(value, file)
    return file.getvalue()


def again(value: Any) -> Any:
    return kellet.load(io.BytesIO(saved(value)))


plain = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
plain |= st.binary() | st.complex_numbers(allow_nan=False)
trees = st.recursive(
    plain,
    lambda inner: (
        st.lists(inner)
        | st.lists(inner).map(tuple)
        | st.dictionaries(st.text() | st.integers(), inner)
        | st.sets(plain)
    ),
    max_leaves=12,
)


@given(trees)
def test_plain_values_come_back_equal_and_of_their_kind(value: Any) -> None:
    found = again(value)
    assert found == value
    assert repr(type(found)) == repr(type(value))


@given(
    arrays.arrays(
        st.sampled_from(
            ["bool", "uint8", "int8", "int64", "uint16", "float16", "float32", "float64", "complex64"]
        ),
        arrays.array_shapes(min_dims=0, min_side=0, max_side=4),
    )
)
def test_tensors_come_back_to_the_bit(array: Any) -> None:
    found = again([kellet.from_numpy(array), array])
    assert isinstance(found[0], kellet.Tensor)
    assert isinstance(found[1], np.ndarray)
    for one in (found[0].numpy(), found[1]):
        assert (one.dtype, one.shape, one.tobytes()) == (array.dtype, array.shape, array.tobytes())


@pytest.mark.parametrize("dtype", ["complex128", "bfloat16", "float8_e5m2", "float8_e4m3fnuz"])
def test_dtypes_that_few_files_know_come_back(dtype: str) -> None:
    x = kellet.tensor([[1.0, -2.0]], dtype=kellet.float32).to(kellet.dtypes.as_dtype(dtype))
    found = again(x)
    assert found.dtype == x.dtype
    assert found.shape == (1, 2)
    assert found.numpy().tobytes() == x.numpy().tobytes()


def test_views_of_any_layout_come_back_with_their_values() -> None:
    x = kellet.arange(24).reshape(2, 3, 4)
    found = again([x.permute(2, 0, 1), x[:, ::2], x[1, 2, 3], x.expand(2, 2, 3, 4)])
    assert kellet.equal(found[0], x.permute(2, 0, 1))
    assert kellet.equal(found[1], x[:, ::2])
    assert found[2].item() == 23
    assert found[3].shape == (2, 2, 3, 4)


def test_containers_of_other_kinds_come_back() -> None:
    nested = defaultdict(dict, {"a": {"b": 1}})
    value = [
        OrderedDict(x=1),
        Counter({3: 2}),
        frozenset({1}),
        kellet.Size([2]),
        nested,
        kellet.device("cpu"),
    ]
    found = again([*value, kellet.float64, np.float32(0.5)])
    assert [type(one) for one in found[:5]] == [type(one) for one in value[:5]]
    assert found[:6] == value
    assert found[6] == kellet.float64
    assert type(found[7]) is np.float32


def test_the_state_of_training_goes_on_where_it_stopped(tmp_path: Path) -> None:
    def made() -> tuple[Any, Any, Any]:
        net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 1))
        optimizer = optim.Adam(net.parameters(), lr=0.1)
        return net, optimizer, optim.lr_scheduler.MultiStepLR(optimizer, [2, 3])

    def train(parts: tuple[Any, Any, Any], steps: int) -> float:
        net, optimizer, schedule = parts
        for _ in range(steps):
            optimizer.zero_grad()
            loss = net(kellet.arange(12.0).reshape(4, 3)).square().mean()
            loss.backward()
            optimizer.step()
            schedule.step()
        return float(loss)

    kellet.manual_seed(0)
    first, second = made(), made()
    train(first, 2)
    names = ("net", "optimizer", "schedule")
    kellet.save({n: part.state_dict() for n, part in zip(names, first, strict=True)}, tmp_path / "all.kt")
    state = kellet.load(tmp_path / "all.kt")
    for name, part in zip(names, second, strict=True):
        part.load_state_dict(state[name])
    assert state["net"]._metadata == first[0].state_dict()._metadata
    assert train(second, 3) == train(first, 3)


def test_parameters_and_buffers_stay_what_they_are() -> None:
    found = again([nn.Parameter(kellet.ones(2)), nn.Buffer(kellet.ones(1), persistent=False)])
    assert [type(one) for one in found] == [nn.Parameter, nn.Buffer]
    assert found[0].requires_grad
    assert not found[1].persistent
    assert again(kellet.ones(1, requires_grad=True)).requires_grad


def test_tensors_over_the_same_memory_share_it_again() -> None:
    x = kellet.zeros(3)
    found = again({"a": x, "b": x.detach(), "c": x.clone()})
    found["a"][0] = 7.0
    assert found["b"].tolist() == [7.0, 0.0, 0.0]
    assert found["c"].tolist() == [0.0, 0.0, 0.0]


def test_every_program_that_reads_safetensors_finds_the_tensors(tmp_path: Path) -> None:
    safetensors = pytest.importorskip("safetensors.numpy")
    kellet.save({"net": {"w": kellet.ones(2)}, "epoch": 3}, tmp_path / "a.kt")
    found = safetensors.load_file(tmp_path / "a.kt")
    assert found["net.w"].tolist() == [1.0, 1.0]
    safetensors.save_file({"x": np.arange(3)}, tmp_path / "b.safetensors")
    assert kellet.load(tmp_path / "b.safetensors")["x"].tolist() == [0, 1, 2]
    assert METADATA == "__metadata__"


@pytest.mark.parametrize(
    ("value", "where"),
    [
        ({"a": [0, nn.Linear(1, 1)]}, r"kellet.nn.layers.linear.Linear at .a.1: only tensors"),
        (len, "builtins.builtin_function_or_method at the top"),
        ([np.array([None])], "an array of object at .0"),
    ],
)
def test_other_objects_are_refused_with_their_place(value: Any, where: str, tmp_path: Path) -> None:
    target = tmp_path / "a.kt"
    target.write_bytes(b"old")
    with pytest.raises(TypeError, match=f"cannot save {where}"):
        kellet.save(value, target)
    assert target.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_write_that_fails_leaves_the_old_file_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "a.kt"
    kellet.save(1, target)

    def full(number: int) -> None:
        raise OSError("No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        kellet.save(2, target)
    assert kellet.load(target) == 1
    assert list(tmp_path.iterdir()) == [target]


def test_a_container_that_holds_itself_is_refused() -> None:
    value: list[Any] = []
    value.append(value)
    with pytest.raises(ValueError, match=r"the container at \.0 contains itself"):
        saved(value)


def test_a_file_has_the_permissions_of_its_place(tmp_path: Path) -> None:
    target = tmp_path / "a.kt"
    kellet.save(1, target)
    plain = tmp_path / "plain"
    plain.touch()
    assert stat.S_IMODE(target.stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)
    target.chmod(0o600)
    kellet.save(2, target)
    assert stat.S_IMODE(target.stat().st_mode) == 0o600


def test_the_devices_of_other_machines_are_taken_for_the_cpu() -> None:
    data = saved(kellet.ones(1))
    assert kellet.load(io.BytesIO(data), map_location="cpu", weights_only=True).item() == 1
    assert kellet.load(io.BytesIO(data), map_location={"cuda:0": "cpu"}).item() == 1
    with pytest.raises(ValueError, match="there is no device 'cuda'"):
        kellet.load(io.BytesIO(data), map_location="cuda")


def header_of(**entries: Any) -> bytes:
    text = json.dumps(entries).encode()
    return len(text).to_bytes(8, "little") + text


F32 = {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}


def described(text: str) -> bytes:
    return header_of(__metadata__={"kellet": text}, a=F32) + bytes(4)


@one_test
@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "do not give the length of a header"),
        (b"PK\x03\x04" + bytes(90), "a ZIP archive or a pickle, .* nothing is unpickled here"),
        (b"\x80\x02" + bytes(90), "a ZIP archive or a pickle"),
        ((1 << 62).to_bytes(8, "little") + bytes(8), "do not give the length"),
        ((2).to_bytes(8, "little") + b"{]", "the header is not JSON"),
        ((2).to_bytes(8, "little") + b"[]", "the header must be an object, found list"),
        (b"\x10" + bytes(7) + b'{"a": 1, "a": 2}', "has a key twice"),
        (header_of(a=3), "expected dtype, shape and data_offsets, found 3"),
        (header_of(a={**F32, "dtype": "F31"}) + bytes(4), "found dtype 'F31'"),
        (header_of(a={**F32, "shape": [-1]}) + bytes(4), r"shape \[-1\]"),
        (header_of(a={**F32, "shape": [True]}) + bytes(4), r"shape \[True\]"),
        (header_of(a={**F32, "shape": [2]}) + bytes(4), r"\[2\] of float32 do not fill bytes 0 to 4 of 4"),
        (header_of(a=F32) + bytes(3), "do not fill bytes 0 to 4 of 3"),
        (header_of(a=F32) + bytes(5), "the tensors end at byte 4 of 5"),
        (header_of(a=F32, b=F32) + bytes(4), "tensor 'b' starts at byte 0; expected 4"),
        (header_of(__metadata__={"kellet": 3}), "must map texts to texts"),
        (described('{"exec": "1"}'), "there is no kind 'exec'"),
        (described('{"tensor": "b", "dtype": "float32", "kind": "Tensor"}'), "cannot be built: 'b'"),
        (described('{"tensor": "a", "dtype": "float32", "kind": "Module"}'), "no kind of tensor 'Module'"),
        (described('{"tensor": "a", "dtype": "float64", "kind": "Tensor"}'), "cannot be built"),
        (described('{"dict": [[{"list": []}, 1]]}'), "cannot be built: .*unhashable"),
        (described("[1]"), r"expected a value or an object with its kind, found \[1\]"),
        (described("["), "cannot be built"),
    ],
)
def test_a_damaged_file_is_refused_in_words(data: bytes, message: str) -> None:
    with pytest.raises(FileFormatError, match=message):
        kellet.load(io.BytesIO(data))


@given(st.data())
def test_a_changed_byte_raises_nothing_else(data: st.DataObject) -> None:
    whole = bytearray(saved({"w": kellet.ones(2), "x": [1, (2.5, "a")]}))
    at = data.draw(st.integers(0, len(whole) - 1))
    whole[at] = data.draw(st.integers(0, 255))
    with contextlib.suppress(FileFormatError):  # anything else fails the test
        kellet.load(io.BytesIO(bytes(whole)))
