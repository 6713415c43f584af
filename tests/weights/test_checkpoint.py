"""Files of weights of every format open as lazy mappings; shards and folders as well."""

from __future__ import annotations

import datetime
import gc
import json
import pickle
import re
import zipfile
from argparse import Namespace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from packager import PackageExporter
from packager._archive import ArchiveReader
from packager._archive.safetensors import spell_header
from packager._weights import (
    CheckpointPickleError,
    open_checkpoint,
    read_torch_file,
    stored_tensor,
    write_checkpoint,
    zip_files,
)
from packager.errors import ArgumentError, LegacyFormatError


def as_lists(checkpoint):
    return {key: value.numpy().tolist() for key, value in checkpoint.tensors.items()}


def safetensors(path: Path, metadata: dict[str, str] | None = None, **arrays: np.ndarray) -> None:
    rows = [(key, "F32", array.shape, array.nbytes) for key, array in arrays.items()]
    path.write_bytes(spell_header(rows, metadata or {}) + b"".join(a.tobytes() for a in arrays.values()))


def torch_zip(path: Path, held: object, protocol: int = 2) -> Path:
    """A file in the zip format of torch.save around data without tensors."""
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("old/data.pkl", pickle.dumps(held, protocol))
    return path


W, B = np.arange(6, dtype="f4").reshape(2, 3), np.ones(2, "f4")


def test_safetensors_with_its_strings(tmp_path):
    safetensors(tmp_path / "a.safetensors", {"format": "pt", "step": "3"}, w=W, b=B)
    checkpoint = open_checkpoint(tmp_path / "a.safetensors")
    assert (checkpoint.format, checkpoint.metadata.strings) == ("safetensors", {"format": "pt", "step": "3"})
    assert as_lists(checkpoint) == {"w": W.tolist(), "b": B.tolist()}


def test_the_format_is_found_in_the_file_and_not_in_its_name(tmp_path):
    safetensors(tmp_path / "pytorch_model.bin", w=W)
    assert open_checkpoint(tmp_path / "pytorch_model.bin").format == "safetensors"
    np.savez(tmp_path / "a.npz", w=W)
    (tmp_path / "a.npz").rename(tmp_path / "a.pt")
    assert open_checkpoint(tmp_path / "a.pt").format == "npz"
    (tmp_path / "text.pt").write_text("hello")
    with pytest.raises(LegacyFormatError, match=r"text\.pt: found b'hello' at its start; expected a file of"):
        open_checkpoint(tmp_path / "text.pt")
    (tmp_path / "empty.pt").touch()
    with pytest.raises(LegacyFormatError, match=r"empty\.pt: found b'' at its start"):
        open_checkpoint(tmp_path / "empty.pt")
    with pytest.raises(FileNotFoundError):
        open_checkpoint(tmp_path / "missing.pt")
    with pytest.raises(ArgumentError, match=r"^path='a\\x00\.pt': expected a path, which has no NUL"):
        open_checkpoint("a\0.pt")


def test_a_folder_of_arrays(tmp_path):
    (tmp_path / "encoder" / "0").mkdir(parents=True)
    np.save(tmp_path / "encoder" / "0" / "weight.npy", np.asfortranarray(W))
    np.save(tmp_path / "bias.npy", B.astype(">f4"))
    checkpoint = open_checkpoint(tmp_path)
    assert (checkpoint.format, list(checkpoint)) == ("npy", ["bias", "encoder.0.weight"])
    assert as_lists(checkpoint) == {"bias": B.tolist(), "encoder.0.weight": W.tolist()}
    np.save(tmp_path / "encoder.0.weight.npy", W)
    with pytest.raises(LegacyFormatError, match=r"two files give the key 'encoder\.0\.weight'"):
        open_checkpoint(tmp_path)


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="counts the open files of the process")
def test_a_folder_of_many_arrays_keeps_none_of_them_open(tmp_path):
    for n in range(20):
        np.save(tmp_path / f"{n}.npy", B)
    gc.collect()  # what earlier tests have left in cycles
    before = len(list(Path("/proc/self/fd").iterdir()))
    checkpoint = open_checkpoint(tmp_path)
    assert len(list(Path("/proc/self/fd").iterdir())) == before
    np.save(tmp_path / "3.npy", np.ones(5))
    with pytest.raises(LegacyFormatError, match=r"3\.npy: it has changed since it was opened; open it again"):
        checkpoint["3"].numpy()


def test_a_folder_without_weights(tmp_path):
    with pytest.raises(LegacyFormatError, match=r"found no \.npy files and no single \*\.index\.json"):
        open_checkpoint(tmp_path)


def test_arrays_that_are_not_numbers_are_refused_or_left_out(tmp_path):
    np.savez(tmp_path / "a.npz", w=W, names=np.array(["a", "b"]), objects=np.array([None], object))
    with pytest.raises(LegacyFormatError, match=r"names\.npy: an array of dtype '<U1'.*--skip-unknown"):
        open_checkpoint(tmp_path / "a.npz")
    checkpoint = open_checkpoint(tmp_path / "a.npz", skip_unknown=True)
    assert (list(checkpoint), [part.path for part in checkpoint.left_out]) == (["w"], ["names", "objects"])


# --- shards ---


def shards(folder: Path, places: dict[str, str], **more: object) -> Path:
    safetensors(folder / "a.safetensors", w=W)
    safetensors(folder / "b.safetensors", b=B)
    index = folder / "model.safetensors.index.json"
    index.write_text(json.dumps({"metadata": {}, "weight_map": places, **more}))
    return index


def test_shards_are_one_mapping(tmp_path):
    index = shards(tmp_path, {"b": "b.safetensors", "w": "a.safetensors"})
    for path in (index, tmp_path):
        checkpoint = open_checkpoint(path)
        assert (checkpoint.format, checkpoint.shards, list(checkpoint)) == ("safetensors", 2, ["b", "w"])
        assert as_lists(checkpoint) == {"w": W.tolist(), "b": B.tolist()}


@pytest.mark.parametrize(
    ("places", "message"),
    [
        ({"w": "b.safetensors"}, r"1 key is not where the index says:\n    'w': not in b\.safetensors"),
        (
            {"w": "../a.safetensors"},
            r"shard '\.\./a\.safetensors' is not the name of a file beside the index",
        ),
        ({"w": "/etc/passwd"}, "is not the name of a file beside the index"),
        ({"w": ".."}, "is not the name of a file beside the index"),
        ({"w": "."}, "is not the name of a file beside the index"),
        ({"w": ""}, "shard '' is not the name of a file beside the index"),
        ({"w": "a\\b"}, "is not the name of a file beside the index"),
        ({"w": "a.safetensors\0"}, "is not the name of a file beside the index"),
        ({"w": "model.safetensors.index.json"}, "is not the name of a file beside the index"),
        ({"w": 3}, "found no weight_map"),
        ({}, "found no weight_map"),
    ],
)
def test_an_index_that_leads_elsewhere(tmp_path, places, message):
    with pytest.raises(LegacyFormatError, match=message):
        open_checkpoint(shards(tmp_path, places))


def test_a_shard_is_a_file_and_no_folder_that_leads_back(tmp_path):
    index = shards(tmp_path, {"w": "folder"})
    (tmp_path / "folder").mkdir()
    np.save(tmp_path / "folder" / "w.npy", W)
    with pytest.raises(LegacyFormatError, match=r"folder: found a folder or device; expected a file"):
        open_checkpoint(index)
    index = shards(tmp_path, {"w": "again"})
    (tmp_path / "again").symlink_to(tmp_path)
    with pytest.raises(LegacyFormatError, match=r"again: found a folder or device; expected a file"):
        open_checkpoint(index)


def test_a_shard_is_no_index_under_another_name(tmp_path):
    index = shards(tmp_path, {"w": "index"})
    (tmp_path / "index").symlink_to(index)
    with pytest.raises(LegacyFormatError, match=r"index: found b'\{.*' at its start; expected a file of"):
        open_checkpoint(index)


def test_an_index_that_is_none(tmp_path):
    for text in ("", "[", "[1]", "[" * 100_000, "\xff"):
        (tmp_path / "a.index.json").write_text(text, encoding="latin-1")
        with pytest.raises(LegacyFormatError, match=r"not an index of shards|found no weight_map"):
            open_checkpoint(tmp_path / "a.index.json")


def test_a_missing_shard_and_tensors_that_no_index_lists(tmp_path):
    index = shards(tmp_path, {"w": "c.safetensors"})
    with pytest.raises(FileNotFoundError):
        open_checkpoint(index)
    safetensors(tmp_path / "c.safetensors", w=W, extra=B)
    checkpoint = open_checkpoint(index)
    assert [(part.path, part.why) for part in checkpoint.left_out] == [
        ("c.safetensors: extra", "the index does not list it there")
    ]


# --- pickles ---


def test_arrays_of_numpy_in_a_file_of_torch_are_tensors(tmp_path):
    for protocol in (2, 3, 4, 5):
        path = torch_zip(tmp_path / "a.pt", {"w": W, "t": np.asfortranarray(W), "n": np.float64(2)}, protocol)
        checkpoint = open_checkpoint(path)
        assert as_lists(checkpoint) == {"w": W.tolist(), "t": W.tolist()}
        assert checkpoint["n"] == 2.0


def test_old_names_of_rebuilt_tensors_are_read(tmp_path):
    """PyTorch before 0.4 had `_rebuild_tensor`, without a flag for gradients."""
    pickled = (
        b"\x80\x02}X\x01\x00\x00\x00wctorch._utils\n_rebuild_tensor\n(((X\x07\x00\x00\x00storage"
        b"ctorch\nFloatStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpuK\x06tQK\x00K\x02K\x03\x86K\x03K\x01\x86tRs."
    ).replace(b"(((", b"((")
    with zipfile.ZipFile(tmp_path / "a.pt", "w") as file:
        file.writestr("old/data.pkl", pickled)
        file.writestr("old/data/0", W.tobytes())
    assert open_checkpoint(tmp_path / "a.pt")["w"].numpy().tolist() == W.tolist()


def test_settings_of_any_class_are_refused_together_and_left_out_on_request(tmp_path):
    held = {"state_dict": {"w": W}, "args": Namespace(lr=0.1), "when": datetime.date(2020, 1, 1)}
    path = torch_zip(tmp_path / "a.pt", held)
    with pytest.raises(CheckpointPickleError) as caught:
        open_checkpoint(path)
    assert "argparse.Namespace" in str(caught.value)
    assert "datetime.date" in str(caught.value)
    checkpoint = open_checkpoint(path, skip_unknown=True)
    assert [(part.path, part.what) for part in checkpoint.left_out] == [
        ("args", "object of argparse.Namespace"),
        ("when", "object of datetime.date"),
    ]
    assert read_torch_file(path, opaque=True)["args"].state == {"lr": 0.1}


def test_a_part_can_be_named_by_a_path_with_dots(tmp_path):
    held = {"a.b": {"c": {"w": W}}, "a": {"b": {"x": W}}, "lr": 0.1}
    path = torch_zip(tmp_path / "a.pt", held)
    assert list(open_checkpoint(path, unwrap="a.b.c")) == ["w"]
    with pytest.raises(LegacyFormatError, match=r"found 2 state dicts\. Name one.*\n    a\.b\.c: dict of 1"):
        open_checkpoint(path)
    assert set(open_checkpoint(path, everything=True)) == {"a.b.c.w", "a.b.x"}


def test_two_tensors_with_one_dotted_path_are_refused(tmp_path):
    path = torch_zip(tmp_path / "a.pt", {"a.b": W, "a": {"b": W}})
    with pytest.raises(LegacyFormatError, match=r"two tensors would have the key 'a\.b'"):
        open_checkpoint(path, everything=True)


@pytest.mark.parametrize(
    ("names", "told"),
    [
        ((), ""),
        (("config.json", "notes.txt"), ""),
        (("optimizer.pt", "model.safetensors", "config.json"), ": model.safetensors, optimizer.pt"),
        ([f"{number}.bin" for number in range(7)], ": 0.bin, 1.bin, 2.bin, 3.bin, 4.bin"),
        (("a.index.json", "b.index.json", "a.ckpt"), ": a.index.json, b.index.json, a.ckpt"),
        (("a.index.json", "b.index.json", "a-1-of-2.bin"), ": a.index.json, b.index.json"),
    ],
)
def test_a_folder_that_holds_no_one_state_names_its_files(tmp_path, names, told):
    for name in names:
        (tmp_path / name).write_bytes(b"")
    said = "found no .npy files and no single *.index.json; name the file that holds the weights"
    with pytest.raises(LegacyFormatError, match=f"^{re.escape(f'{tmp_path}: {said}{told}')}$"):
        open_checkpoint(tmp_path)


def test_nothing_to_unwrap(tmp_path):
    np.savez(tmp_path / "a.npz", w=W)
    with pytest.raises(LegacyFormatError, match="there is nothing to unwrap: the file is one state dict"):
        open_checkpoint(tmp_path / "a.npz", unwrap="model")


def test_no_tensors_at_all(tmp_path):
    path = torch_zip(tmp_path / "a.pt", {"lr": 0.1})
    with pytest.raises(LegacyFormatError, match="found no state dict, but dict of 1"):
        open_checkpoint(path)
    with pytest.raises(LegacyFormatError, match="found no tensor in it"):
        open_checkpoint(path, everything=True)


# --- kellet archives ---


def test_a_kellet_archive_is_a_checkpoint_too(tmp_path):
    written = write_checkpoint(
        tmp_path / "a.kellet", {"w": W, "n": 3}, fsync=False, package="net", resource="best"
    )
    checkpoint = open_checkpoint(written.path)
    assert (checkpoint.format, checkpoint.container, checkpoint["n"]) == ("kellet", "net/best", 3)
    assert open_checkpoint(written.path, unwrap="net/best")["w"].numpy().tolist() == W.tolist()
    with pytest.raises(LegacyFormatError, match=r"which state dict\? The archive holds net/best"):
        open_checkpoint(written.path, unwrap="other")


def test_one_state_dict_of_an_archive_is_a_checkpoint_and_the_others_are_left_out(tmp_path):
    with PackageExporter(tmp_path / "a.kellet", policy="auto", fsync=False, prove=False) as exporter:
        for name in ("one", "two", "three"):
            exporter.save_state_dict("net", name, {name: W})
    for wanted in (None, "net/four", "two"):
        with pytest.raises(LegacyFormatError, match="The archive holds net/one, net/three, net/two"):
            open_checkpoint(tmp_path / "a.kellet", unwrap=wanted)
    checkpoint = open_checkpoint(tmp_path / "a.kellet", unwrap="net/two")
    assert (list(checkpoint), checkpoint.container) == (["two"], "net/two")
    assert [(part.path, part.what) for part in checkpoint.left_out] == [
        ("net/one", "state dict"),
        ("net/three", "state dict"),
    ]


def test_an_archive_without_a_state_dict_is_told(tmp_path):
    with PackageExporter(tmp_path / "a.kellet", fsync=False) as exporter:
        exporter.save_text("net", "words.txt", "a")
    with pytest.raises(LegacyFormatError, match="the archive holds no state dict; load its object"):
        open_checkpoint(tmp_path / "a.kellet")


def test_what_is_of_no_known_format_is_told_by_its_first_bytes(tmp_path):
    (tmp_path / "x").write_bytes(b"abcdefghij")
    with pytest.raises(LegacyFormatError, match=r"^x: found b'abcdefgh' at its start; expected"):
        open_checkpoint(tmp_path / "x")


def test_an_archive_is_read_with_bounds_and_not_mapped(tmp_path, monkeypatch):
    given = []

    def opened(path, **options):
        given.append(options)
        return ArchiveReader(path, **options)

    monkeypatch.setattr("packager._weights.checkpoint.ArchiveReader", opened)
    written = write_checkpoint(tmp_path / "a.kellet", {"w": W}, fsync=False)
    assert open_checkpoint(written.path)["w"].numpy().tolist() == W.tolist()
    assert given == [{"mmap": False}]


@pytest.mark.parametrize(("raw", "shown"), [(None, "F4"), ("odd9", "odd9")])
def test_a_tensor_of_an_archive_that_is_not_of_numbers_is_told(raw, shown):
    tensors = {"w": SimpleNamespace(dtype="F4", shape=(2,), strides=(1,), offset=0, storage=0)}
    with pytest.raises(LegacyFormatError, match=f"^tensor 'w' has dtype '{shown}', and no array can have it"):
        stored_tensor(tensors, "w", raw, {})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("7", "found no weight_map"),
        ("[1, 2]", "found no weight_map"),
        ("x", "not an index of shards: "),
        ('{"weight_map": {"w": "w.npy"}}}', "not an index of shards: "),
    ],
)
def test_an_index_is_a_map(tmp_path, text, message):
    (tmp_path / "x.index.json").write_text(text)
    with pytest.raises(LegacyFormatError, match=message):
        open_checkpoint(tmp_path / "x.index.json")


def test_a_file_that_changes_while_it_is_read_gives_an_error(tmp_path):
    np.save(tmp_path / "a.npy", np.zeros(100_000))
    checkpoint = open_checkpoint(tmp_path / "a.npy")
    with open(tmp_path / "a.npy", "r+b") as file:
        file.truncate(1000)
    with pytest.raises(LegacyFormatError, match="1000 bytes"):
        checkpoint["a"].numpy()


def test_a_long_deflated_entry_is_unpacked_whole(tmp_path, monkeypatch):
    held = np.arange(100, dtype="f4")
    np.savez_compressed(tmp_path / "a.npz", held=held)
    for most in (10**6, 528, 527, 0):  # in memory, exactly so, and in a file
        monkeypatch.setattr(zip_files, "_IN_MEMORY", most)
        assert np.array_equal(open_checkpoint(tmp_path / "a.npz")["held"].numpy(), held)


@pytest.mark.parametrize("shape", [(2, 3), (2, 3, 4), (5,), ()])
@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_of_numpy_in_a_pickle_keep_their_order_of_axes(tmp_path, shape, order):
    held = np.asarray(np.arange(np.prod(shape, dtype=int), dtype="f4").reshape(shape), order=order)
    found = read_torch_file(torch_zip(tmp_path / "a.pt", {"held": held}))["held"]
    assert np.array_equal(found.numpy(), held)


# --- arrays without numbers in a pickle ---

NO_NUMBERS = {
    "texts": np.array(["cat", "dog"]),
    "bytes": np.array([b"a", b"bcd"]),
    "objects": np.array([None, {"a": [1]}], object),
    "dates": np.array(["2024-01-01"], "M8[D]"),
    "spans": np.array([3], "m8[s]"),
    "records": np.zeros(2, [("a", "i4"), ("b", "f8")]),
    "text": np.str_("cat"),
    "date": np.datetime64("2024-01-01"),
}


@pytest.mark.parametrize("protocol", [2, 4, 5])
@pytest.mark.parametrize("name", NO_NUMBERS)
def test_a_pickled_array_without_numbers_is_named_and_left_out(tmp_path, name, protocol):
    """A trainer's names of classes are no reason to refuse its weights."""
    value = NO_NUMBERS[name]
    held = {"w": W, name: value, "inside": [1, value, (value,)], "z": W}
    file = torch_zip(tmp_path / "run.pt", held, protocol)
    with pytest.raises(CheckpointPickleError, match=r"(?s)the pickle names .numpy\.dtype\('.*--skip-unknown"):
        open_checkpoint(file)
    checkpoint = open_checkpoint(file, skip_unknown=True)
    assert {key: checkpoint[key].numpy().tolist() for key in checkpoint} == {"w": W.tolist(), "z": W.tolist()}
    assert {part.path.partition(".")[0].partition("[")[0] for part in checkpoint.left_out} == {name, "inside"}
    assert all(not part.what.startswith("tensor") for part in checkpoint.left_out)
