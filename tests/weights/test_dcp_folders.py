"""Folders of torch.distributed.checkpoint that PyTorch 2.13 wrote, read without it: values written by hand.

`fixtures/dcp/dcp_folders.py` made them, with one process and with two.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from packager import open_checkpoint, write_checkpoint
from packager._weights import LegacyTensor
from packager.errors import CheckpointError, LegacyFormatError

FOLDER = Path(__file__).resolve().parents[2] / "fixtures" / "dcp"
WEIGHT = np.arange(12, dtype="f4").reshape(3, 4)
WHOLE = np.arange(35, dtype="f4").reshape(5, 7)
MODEL = {
    "weight": WEIGHT,
    "transposed": WEIGHT.T,
    "scalar": np.array(7, "i8"),
    "empty": np.zeros((0, 3), "f4"),
    "flags": np.array([True, False, True]),
    "bytes": np.array([1, 255], "u1"),
}


def require_equal(found: LegacyTensor, expected: np.ndarray) -> None:
    assert (found.dtype, found.shape) == (str(expected.dtype), expected.shape)
    assert found.numpy().tolist() == expected.tolist()


def bits_of_bfloat16(values: np.ndarray) -> list[object]:
    return (values.astype("f4").view("u4") >> 16).tolist()


def test_a_folder_of_one_process() -> None:
    checkpoint = open_checkpoint(FOLDER / "one")
    assert repr(checkpoint) == "<dcp 'one': 7 keys>"
    assert (checkpoint.container, checkpoint.shards) == ("model", 1)
    assert list(checkpoint) == ["weight", "transposed", "half", "scalar", "empty", "flags", "bytes"]
    for key, expected in MODEL.items():
        require_equal(checkpoint[key], expected)
    assert checkpoint["half"].dtype == "bfloat16"
    assert checkpoint["half"].raw().tolist() == [0, 0x3F80, 0x4000, 0x4080]


def test_nested_values_lie_where_they_lay() -> None:
    root = open_checkpoint(FOLDER / "one").root
    assert list(root) == ["model", "optim", "epoch", "name", "nothing", "history"]
    assert (root["epoch"], root["name"], root["nothing"]) == (3, "größe", None)
    tensor, *others = root["history"]
    require_equal(tensor, np.ones(2, "f4"))
    assert others == [{"loss": 0.25}, "text"]
    assert list(root["optim"]["state"]["0"]) == ["step", "exp_avg", "exp_avg_sq"]
    require_equal(root["optim"]["state"]["0"]["step"], np.array(1, "f4"))
    require_equal(root["optim"]["state"]["0"]["exp_avg"], np.zeros((3, 4), "f4"))
    (group,) = root["optim"]["param_groups"]
    assert (group["lr"], group["betas"], group["params"]) == (0.5, (0.9, 0.999), [0])


def test_what_else_was_in_the_folder_is_said() -> None:
    left_out = {part.path: part.what for part in open_checkpoint(FOLDER / "one").left_out}
    assert left_out["epoch"] == "3"
    assert left_out["optim"] == "dict of 2 with 3 tensors"
    assert list(open_checkpoint(FOLDER / "one", unwrap="optim")) == ["state", "param_groups"]
    assert "history.0" in open_checkpoint(FOLDER / "one", everything=True)


def test_a_folder_of_two_processes_is_put_together_along_both_axes() -> None:
    checkpoint = open_checkpoint(FOLDER / "two")
    assert (checkpoint.container, checkpoint.shards) == ("", 2)
    require_equal(checkpoint["rows"], WHOLE)
    require_equal(checkpoint["same"], WHOLE[0])
    require_equal(checkpoint["one"], np.array([5], "i8"))
    assert checkpoint["columns"].raw().tolist() == bits_of_bfloat16(WHOLE)
    assert checkpoint["step"] == 11


@pytest.mark.parametrize(
    "index", [np.s_[2:4], np.s_[:, 3:5], np.s_[4, 6], np.s_[1:1], np.s_[::2, 1::3], np.s_[-1]]
)
def test_a_part_of_a_tensor_is_read_from_the_chunks_that_hold_it(index: object) -> None:
    checkpoint = open_checkpoint(FOLDER / "two")
    assert checkpoint["rows"][index].numpy().tolist() == WHOLE[index].tolist()
    assert checkpoint["columns"][index].raw().tolist() == bits_of_bfloat16(WHOLE[index])
    assert checkpoint["rows"].transpose().numpy().tolist() == WHOLE.T.tolist()


@pytest.mark.parametrize("size", [1, 4, 12, 1000])
def test_pieces_of_any_size_have_the_same_bytes(size: int) -> None:
    tensor = open_checkpoint(FOLDER / "two")["rows"]
    assert b"".join(tensor.pieces(size)) == WHOLE.tobytes()
    storage = tensor.storage
    assert (
        b"".join(bytes(storage.read(at, min(at + size, 140))) for at in range(0, 140, size))
        == WHOLE.tobytes()
    )


@pytest.mark.parametrize("ending", ["kellet", "safetensors"])
def test_it_is_written_as_another_file(tmp_path: Path, ending: str) -> None:
    written = write_checkpoint(tmp_path / f"new.{ending}", open_checkpoint(FOLDER / "two"))
    assert [part.path for part in written.left_out] == ([] if ending == "kellet" else ["step"])
    again = open_checkpoint(written.path)
    require_equal(again["rows"], WHOLE)
    assert again["columns"].raw().tolist() == bits_of_bfloat16(WHOLE)


def test_arrays_of_numpy_and_of_kellet() -> None:
    checkpoint = open_checkpoint(FOLDER / "one")
    assert checkpoint.state_dict("numpy")["weight"].tolist() == WEIGHT.tolist()
    assert checkpoint.state_dict("kellet")["transposed"].tolist() == WEIGHT.T.tolist()


def test_a_closed_folder_reads_no_more(tmp_path: Path) -> None:
    with open_checkpoint(FOLDER / "two") as checkpoint:
        require_equal(checkpoint["same"], WHOLE[0])
    with pytest.raises(CheckpointError, match=r"^two is closed; open it again to read more$"):
        checkpoint["rows"].numpy()


@pytest.mark.parametrize("more", [b"", b"more"])
def test_a_file_that_changes_is_seen(tmp_path: Path, more: bytes) -> None:
    """A trainer saves into the same folder again; most of its files are as long as before."""
    checkpoint = open_checkpoint(shutil.copytree(FOLDER / "two", tmp_path / "two"))
    changed = tmp_path / "two" / "__1_0.distcp"
    data = changed.read_bytes()
    changed.unlink()
    changed.write_bytes(data + more)
    with pytest.raises(
        LegacyFormatError, match=r"__1_0\.distcp: it has changed since it was opened; open it"
    ):
        checkpoint["rows"].numpy()


@pytest.mark.parametrize("name", [".metadata", "__0_0.distcp"])
def test_a_part_of_a_folder_names_the_folder(name: str) -> None:
    with pytest.raises(
        LegacyFormatError, match=rf"{name}: a part of a folder of .*; name the folder: .*two$"
    ):
        open_checkpoint(FOLDER / "two" / name)


def test_a_file_that_is_missing_is_named_with_a_key(tmp_path: Path) -> None:
    folder = shutil.copytree(FOLDER / "two", tmp_path / "two")
    (folder / "__1_0.distcp").unlink()
    message = (
        r"__1_0\.distcp: there is no such file; \.metadata says that it holds '\w+'; copy the folder again"
    )
    with pytest.raises(LegacyFormatError, match=message):
        open_checkpoint(folder)


def test_a_folder_of_folders_names_them() -> None:
    with pytest.raises(LegacyFormatError, match=r"name the file that holds the weights: one, two$"):
        open_checkpoint(FOLDER)


def test_the_folder_may_be_the_current_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(FOLDER / "two")
    require_equal(open_checkpoint(".")["rows"], WHOLE)
    with pytest.raises(LegacyFormatError, match=r"^\.: nothing lies under 'x'"):
        open_checkpoint(".", unwrap="x")


def test_files_may_be_links_to_files(tmp_path: Path) -> None:
    (tmp_path / "linked").mkdir()
    for path in (FOLDER / "two").iterdir():
        (tmp_path / "linked" / path.name).symlink_to(path)
    require_equal(open_checkpoint(tmp_path / "linked")["rows"], WHOLE)
