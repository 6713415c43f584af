"""What `open_checkpoint` gives of a file of torch.save, as PyTorch takes it."""

import pytest

pytest.importorskip("torch")

import io

import safetensors.torch
import torch

from packager import PackageExporter, PackageImporter
from packager._weights import open_checkpoint
from packager.errors import LegacyFormatError


@pytest.fixture(params=[True, False], ids=["zip", "stream"])
def save(request, tmp_path):
    def save(obj):
        torch.save(obj, tmp_path / "old.pt", _use_new_zipfile_serialization=request.param)
        return open_checkpoint(tmp_path / "old.pt")

    return save


def net():
    return torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4))


def test_a_module_takes_it_and_it_is_saved_again(save, tmp_path):
    expected = net().state_dict()
    state = save(expected).state_dict()
    assert str(net().load_state_dict(state)) == "<All keys matched successfully>"
    assert state._metadata == expected._metadata
    torch.save(state, tmp_path / "new.pt")
    safetensors.torch.save_file(state, tmp_path / "new.safetensors")
    file = io.BytesIO()
    with PackageExporter(file, prove=False) as exporter:
        exporter.save_state_dict("model", "weights", save(expected))
    with PackageImporter(file) as importer:
        stored = dict(importer.load_state_dict("model", "weights"))
    for again in (
        torch.load(tmp_path / "new.pt", weights_only=True),
        safetensors.torch.load_file(tmp_path / "new.safetensors"),
        stored,
    ):
        assert all(torch.equal(again[key], value) for key, value in expected.items())


@pytest.mark.filterwarnings(
    "ignore::UserWarning", "ignore::DeprecationWarning"
)  # of torch, when it quantises
def test_tensors_of_every_layout_come_into_memory(save):
    weight = torch.randn(4, 4)
    expected = {
        "tied": weight,
        "row": weight[1],
        "conj": torch.randn(2, dtype=torch.complex64).conj(),
        "half": weight.bfloat16(),
        "sparse": torch.eye(3).to_sparse(),
        "q": torch.quantize_per_tensor(weight, 0.1, 0, torch.qint8),
        "meta": torch.empty(2, device="meta"),
        "more": [torch.ones(2), (torch.float16, 3)],
    }
    checkpoint = save(expected)
    made = checkpoint.state_dict("torch")
    for key in ("tied", "row", "conj", "half", "q"):
        assert torch.equal(made[key], expected[key])
    assert torch.equal(made["sparse"].to_dense(), torch.eye(3))
    assert (made["meta"].is_meta, made["more"][1], made["more"][0].tolist()) == (
        True,
        (torch.float16, 3),
        [1, 1],
    )
    made["tied"][1] = 7
    assert made["row"].tolist() == [7] * 4
    with pytest.raises(LegacyFormatError, match=r"sparse_coo tensor of \[3, 3\] has no form in numpy"):
        checkpoint.state_dict("numpy")
