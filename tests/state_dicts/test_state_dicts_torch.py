"""State dicts of PyTorch: into a member and back, tied, mapped and trainable."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

import io
from typing import Any

import torch
from torch import nn

from packager._archive import ArchiveReader, ArchiveWriter, Manifest, TensorReader, add_tensors
from packager._state_dicts import encode_state_dict, open_state_dict


def _trip(state: Any, as_: str = "torch") -> Any:
    encoded = encode_state_dict(state)
    assert encoded.refusals == ()
    file = io.BytesIO()
    with ArchiveWriter(file) as writer:
        add_tensors(writer, "state", encoded.tensors, encoded.storages)
        writer.add("extras", encoded.extras, kind="extras")
        writer.seal(Manifest())
    reader = ArchiveReader(file)
    return open_state_dict(TensorReader(reader, "state"), reader.read("extras"), as_=as_)


def test_state_of_a_model_goes_into_another() -> None:
    net = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, 4))
    net[2].weight = net[0].weight
    net.to(memory_format=torch.preserve_format)
    loaded = _trip(net)
    assert list(loaded) == list(net.state_dict())
    assert loaded._metadata == dict(net.state_dict()._metadata)
    other = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, 4))
    assert str(other.load_state_dict(loaded, assign=True)) == "<All keys matched successfully>"
    assert torch.equal(other[0].weight, net[0].weight)
    other(torch.ones(2, 4)).sum().backward()
    torch.optim.SGD(other.parameters(), lr=0.1).step()


def test_ties_share_one_storage() -> None:
    weight = torch.arange(6.0).reshape(2, 3)
    loaded = _trip({"a": weight, "b": weight, "t": weight.t()})
    values = {key: loaded[key] for key in loaded}
    assert len({value.untyped_storage().data_ptr() for value in values.values()}) == 1
    values["a"][0, 1] = 50
    assert values["t"][1, 0] == 50


def test_dtypes() -> None:
    state = {
        "bf16": torch.ones(2, dtype=torch.bfloat16),
        "f8": torch.ones(2).to(torch.float8_e4m3fn),
        "c128": torch.ones(2, dtype=torch.complex128),
        "bool": torch.tensor([True]),
        "scalar": torch.tensor(3),
    }
    loaded = _trip(state)
    for key, value in state.items():
        assert loaded[key].dtype == value.dtype
        assert torch.equal(loaded[key].to(torch.complex128), value.to(torch.complex128))


def test_state_of_an_optimizer() -> None:
    parameter = nn.Parameter(torch.ones(3))
    optimizer = torch.optim.Adam([parameter], lr=0.1)
    parameter.grad = torch.ones(3)
    optimizer.step()
    other = torch.optim.Adam([nn.Parameter(torch.ones(3))], lr=0.5)
    other.load_state_dict(dict(_trip(optimizer)))
    assert repr(other.state_dict()) == repr(optimizer.state_dict())


def test_numpy_reads_what_torch_wrote() -> None:
    loaded = _trip({"w": torch.arange(3.0)}, "numpy")
    assert loaded["w"].tolist() == [0.0, 1.0, 2.0]


SIGNED = torch.tensor([1 + 2j, 3 - 4j])


def test_conjugated_and_negated_views_are_stored_with_their_values() -> None:
    state = {
        "conj": SIGNED.conj(),
        "imag": SIGNED.conj().imag,
        "neg": torch._neg_view(torch.ones(2, dtype=torch.float16)),
        "both": torch._neg_view(torch.tensor([1j]).conj()),
        "wide": torch.tensor([1 + 2j], dtype=torch.complex128).conj(),
    }
    expected = {
        "conj": [1 - 2j, 3 + 4j],
        "imag": [-2.0, 4.0],
        "neg": [-1.0, -1.0],
        "both": [1j],
        "wide": [1 - 2j],
    }
    for library in ("torch", "numpy"):
        loaded = _trip(state, library)
        assert {key: loaded[key].tolist() for key in loaded} == expected


def test_a_tie_between_other_signs_is_said_to_be_lost_and_no_other_is() -> None:
    base = torch.arange(4.0)
    state = {
        "base": base,
        "tied": base[1:],
        "neg": torch._neg_view(base),
        "same": torch._neg_view(base)[:1],
        "alone": torch._neg_view(torch.ones(2)),
        "empty": torch._neg_view(base)[:0],
    }
    warnings = encode_state_dict(state).warnings
    assert [warning.path for warning in warnings] == ["state['neg']", "state['same']"]
    assert "no longer tied" in warnings[0].reason
    beside = {"left": base[:2], "right": torch._neg_view(base[2:])}
    assert encode_state_dict(beside).warnings == ()
    loaded = _trip(state)
    loaded["base"][1] = 9
    assert (loaded["tied"][0].item(), loaded["neg"].tolist()) == (9, [0, -1, -2, -3])


def test_a_view_that_torch_cannot_make_plain_is_refused_by_its_key() -> None:
    (refusal,) = encode_state_dict({"w": torch._neg_view(torch.ones(2, dtype=torch.uint16))}).refusals
    assert refusal.path == "state['w']"
    assert "a conjugated or negated view of torch.uint16" in refusal.reason
