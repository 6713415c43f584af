"""Files of other kinds, opened as archives: which kind it is, and the command that reads it."""

from __future__ import annotations

import io
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from packager import ArchiveError, PackageImporter, verify
from packager._archive import ArchiveWriter, Manifest
from packager._cli import main
from packager._weights import write_checkpoint


def zipped(*names: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name in names:
            archive.writestr(name, b"some bytes")
    return file.getvalue()


def saved_by_numpy(save: Callable[..., object]) -> bytes:
    file = io.BytesIO()
    save(file, np.ones(3, np.float32))
    return file.getvalue()


OLD_TORCH = pickle.dumps(0x1950A86A20F9469CFC6C, protocol=2) + pickle.dumps(1001, protocol=2)
SAFETENSORS = (2).to_bytes(8, "little") + b"{}"
KINDS = {
    "a checkpoint of PyTorch": zipped("last/data.pkl", "last/data/0", "last/version"),
    "a checkpoint of PyTorch ": OLD_TORCH,
    "a TorchScript file": zipped("net/data.pkl", "net/constants.pkl", "net/version"),
    "an archive of torch.package": zipped("m/w.pkl", "p/.data/extern_modules"),
    "an .npz file of NumPy": saved_by_numpy(np.savez),
    "an .npy file of NumPy": saved_by_numpy(np.save),
    "a safetensors file": SAFETENSORS,
    "a pickle": pickle.dumps({"a": 1}, protocol=4),
    "a wheel": zipped("shop/__init__.py", "shop-1.0.dist-info/METADATA"),
    "a tar file": bytes(257) + b"ustar" + bytes(300),
    "a gzip file": b"\x1f\x8b\x08\x00",
    "a GGUF file": b"GGUF\x03\x00\x00\x00",
    "an HDF5 file": b"\x89HDF\r\n\x1a\n\x00",
}
CONVERTED = ("PyTorch", "NumPy", "safetensors", "torch.package")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("call", [PackageImporter, verify])
def test_a_file_of_another_kind_is_named_with_the_command_that_reads_it(
    kind: str, call: Callable[..., object], tmp_path: Path
) -> None:
    path = tmp_path / "some file"
    path.write_bytes(KINDS[kind])
    with pytest.raises(ArchiveError) as caught:
        call(path)
    message = str(caught.value)
    assert message.startswith(f"{str(path)!r} is {kind.strip()}, not an archive of packager; ")
    command = f"kellet convert '{path}' new.kellet"
    assert (command in message) == any(name in kind for name in CONVERTED)


def test_folders_and_indices_of_weights_are_named_too(tmp_path: Path) -> None:
    arrays, shards, saved = tmp_path / "arrays", tmp_path / "shards", tmp_path / "saved"
    arrays.mkdir()
    shards.mkdir()
    saved.mkdir()
    (saved / ".metadata").write_bytes(b"")
    np.save(arrays / "w.npy", np.ones(2))
    index = shards / "model.safetensors.index.json"
    index.write_text('{"weight_map": {}}')
    for path, kind in (
        (arrays, "a folder of .npy files"),
        (shards, "a sharded checkpoint"),
        (saved, "a folder of torch.distributed.checkpoint"),
        (index, "the index of a sharded checkpoint"),
    ):
        with pytest.raises(ArchiveError, match=f"is {kind}, not an archive of packager; `kellet convert"):
            PackageImporter(path)


def test_the_command_that_is_named_does_read_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_checkpoint("w.safetensors", {"w": np.arange(3.0)})
    assert main(["verify", "w.safetensors"]) == 3
    assert "`kellet convert w.safetensors new.kellet` reads it" in capsys.readouterr().err
    assert main(["convert", "w.safetensors", "new.kellet"]) == 0
    with PackageImporter("new.kellet") as importer:
        assert importer.load_state_dict("model", "weights")["w"].tolist() == [0, 1, 2]


def test_archives_that_are_damaged_are_no_files_of_another_kind() -> None:
    file = io.BytesIO()
    with ArchiveWriter(file) as writer:
        writer.add("shop/data.npy", b"an entry with the name of an array", kind="resource")
        writer.seal(Manifest())
    whole = bytearray(file.getvalue())
    with pytest.raises(ArchiveError, match="was not written by packager"):
        PackageImporter(bytes(whole[:-30]))
    whole[-22:-20] = b"KP"
    with pytest.raises(ArchiveError, match="was not written by packager"):
        PackageImporter(bytes(whole))
    with pytest.raises(ArchiveError, match="was not written by packager"):  # it may hold wheels, and be cut
        PackageImporter(zipped("net/net.py", "wheels/shop-1.0.dist-info/METADATA")[:-1])
    for unknown in (b"", b"P", b"PK", b"\x80", b"{}", bytes(100), zipped("notes.txt")):
        with pytest.raises(ArchiveError, match="was not written by packager"):
            PackageImporter(unknown)
