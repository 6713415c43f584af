"""Files that PyTorch 2.13 wrote, one of each format, read without it: values written down by hand.

`fixtures/legacy/torch_files.py` made them.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import kellet
from packager import PackageImporter
from packager._weights import array_of, open_checkpoint, open_torch_package, read_torch_file, write_checkpoint
from packager.errors import LegacyFormatError

FOLDER = Path(__file__).resolve().parents[2] / "fixtures" / "legacy"
WHOLE = np.arange(12, dtype="f4").reshape(3, 4)
PLAIN = {
    "fc.weight": np.arange(12, dtype="f4").reshape(4, 3),
    "fc.bias": np.arange(4, dtype="f4") + 1,
    "bn.weight": np.arange(4, dtype="f4") + 2,
    "bn.bias": np.arange(4, dtype="f4") + 3,
    "bn.running_mean": np.arange(4, dtype="f4") + 4,
    "bn.running_var": np.arange(4, dtype="f4") + 5,
    "bn.num_batches_tracked": np.array(0, "i8"),
    "tied": WHOLE,
    "again": WHOLE,
    "transposed": WHOLE.T,
    "row": WHOLE[1],
    "step": WHOLE[:, ::2],
    "scalar": np.array(7, "i8"),
    "empty": np.zeros((0, 3), "f4"),
    "expanded": np.ones((2, 5), "f4"),
    **{
        f"dtypes.{name}": np.array([0, 1, 2, 4], "f8").astype(name)
        for name in (
            "float64 float16 int64 int32 int16 int8 uint8 bool complex64 complex128 uint16 uint32 uint64"
        ).split()
    },
}
# 0, 1, 2 and 4, as the bits of dtypes that NumPy alone does not know.
BITS = {
    "bfloat16": [0, 0x3F80, 0x4000, 0x4080],
    "float8_e4m3fn": [0, 0x38, 0x40, 0x48],
    "float8_e5m2": [0, 0x3C, 0x40, 0x44],
    "float8_e4m3fnuz": [0, 0x40, 0x48, 0x50],
    "float8_e5m2fnuz": [0, 0x40, 0x44, 0x48],
}


@pytest.fixture(params=["zip.pt", "stream.pt"])
def golden(request):
    return FOLDER / request.param


def test_the_state_dict_is_found_and_equal(golden):
    checkpoint = open_checkpoint(golden)
    assert checkpoint.container == "model"
    assert set(checkpoint) == {
        *PLAIN,
        *(f"dtypes.{name}" for name in BITS),
    }
    for key, expected in PLAIN.items():
        found = checkpoint[key]
        assert (found.dtype, found.shape) == (str(expected.dtype), expected.shape), key
        assert found.numpy().tolist() == expected.tolist(), key
    for name, expected_bits in BITS.items():
        assert checkpoint[f"dtypes.{name}"].dtype == name
        assert checkpoint[f"dtypes.{name}"].raw().tolist() == expected_bits
    assert checkpoint.metadata.versions == {
        "": {"version": 1},
        "fc": {"version": 1},
        "bn": {"version": 2},
    }


def test_what_else_was_in_the_file_is_said(golden):
    left_out = {part.path: part.what for part in open_checkpoint(golden).left_out}
    assert left_out == {
        "optimizer": "dict of 2",
        "epoch": "3",
        "best": "0.5",
        "name": "'größe'",
        "size": "tuple of 2",
        "device": "'cpu'",
        "dtype": "name torch.float16",
        "parameter": "tensor of float32 [2]",
        "array": "tensor of int32 [2, 3]",
        "scalar": "2.5",
        "list": "list of 2 with 1 tensor",
    }


def test_plain_values_and_arrays_of_numpy_come_out(golden):
    root = read_torch_file(golden)
    assert (root["epoch"], root["best"], root["name"], root["size"]) == (3, 0.5, "größe", (2, 3))
    assert root["array"].numpy().tolist() == [[0, 1, 2], [3, 4, 5]]
    assert root["list"][1] == (True, None, b"bytes", 1 + 2j, {1, 2})
    assert root["optimizer"]["param_groups"][0]["lr"] == 0.001


def test_tied_tensors_share_memory(golden):
    checkpoint = open_checkpoint(golden)
    arrays = {key: array_of(checkpoint[key]) for key in ("tied", "again", "transposed", "row", "step")}
    assert all(np.shares_memory(arrays["tied"], array) for array in arrays.values())
    assert arrays["step"].tolist() == WHOLE[:, ::2].tolist()


@pytest.mark.parametrize("ending", ["safetensors", "kellet"])
def test_converted_values_are_the_same(golden, tmp_path, ending):
    checkpoint = open_checkpoint(golden, everything=False)
    kept = {key: checkpoint[key] for key in checkpoint if ending == "kellet" or key != "dtypes.complex128"}
    write_checkpoint(tmp_path / f"new.{ending}", kept, metadata=checkpoint.metadata, fsync=False)
    again = open_checkpoint(tmp_path / f"new.{ending}")
    assert set(again) == set(kept)
    for key, value in kept.items():
        assert (again[key].dtype, again[key].shape) == (value.dtype, value.shape)
        assert b"".join(again[key].pieces()) == b"".join(value.pieces())
    if ending == "kellet":
        assert list(again) == list(kept)
        assert again.metadata.versions == checkpoint.metadata.versions


def test_everything_gives_tensors_at_every_depth(golden):
    checkpoint = open_checkpoint(golden, everything=True)
    assert checkpoint["list.0"].numpy().tolist() == [1.0]
    assert checkpoint["model.fc.bias"].numpy().tolist() == [1, 2, 3, 4]


def test_an_archive_of_torch_package_is_code_text_data_and_a_state_dict():
    package = open_torch_package(FOLDER / "package.pt")
    assert set(package.names) == {"net.py", "notes/read.txt", "notes/data.bin", "weights/state.pkl"}
    assert package.code == ("net.py",)
    assert package.load_text("", "net.py") == "raise SystemExit('run')\n"
    assert package.load_text("notes", "read.txt") == "a text"
    assert package.load_binary("notes", "data.bin") == b"\x00\x01"
    assert package.load_pickle("weights", "state.pkl")["w"].numpy().tolist() == [[0, 3], [1, 4], [2, 5]]
    checkpoint = open_checkpoint(FOLDER / "package.pt")
    assert (checkpoint.format, checkpoint.container, list(checkpoint)) == (
        "torch.package",
        "weights/state.pkl",
        ["w"],
    )
    with pytest.raises(LegacyFormatError, match="no 'notes/other' in the archive"):
        package.load_text("notes", "other")


def test_a_whole_file_is_refused_when_it_is_cut_short(golden, tmp_path):
    data = golden.read_bytes()
    for size in (0, 1, 10, 100, len(data) // 2, len(data) - 1):
        (tmp_path / "short.pt").write_bytes(data[:size])
        with pytest.raises(LegacyFormatError):
            open_checkpoint(tmp_path / "short.pt")


def test_a_state_dict_can_be_named(golden):
    with pytest.raises(LegacyFormatError, match="nothing lies under 'other'; the file holds 'model', 'opt"):
        open_checkpoint(golden, unwrap="other")
    assert list(open_checkpoint(golden, unwrap="optimizer")) == ["state", "param_groups"]
    assert len(open_checkpoint(golden, unwrap="model")) == 33


@pytest.mark.parametrize("as_", [None, "numpy", "kellet"])
def test_the_state_of_an_optimiser_is_read_without_torch(golden, tmp_path, monkeypatch, as_):
    checkpoint = open_checkpoint(golden, unwrap="optimizer")
    write_checkpoint(tmp_path / "new.kellet", checkpoint, fsync=False)
    monkeypatch.setattr("packager._tensors.dtypes.is_installed", lambda name: False)
    with PackageImporter(tmp_path / "new.kellet") as importer:
        found = importer.load_state_dict("model", "weights", as_=as_)
        assert list(found) == ["state", "param_groups"]
        assert found["param_groups"] == checkpoint["param_groups"]
        for number, moments in checkpoint["state"].items():
            for name, value in moments.items():
                made = found["state"][number][name]
                assert type(made) is (kellet.Tensor if as_ == "kellet" else np.ndarray)
                assert np.asarray(made).tolist() == value.numpy().tolist()
