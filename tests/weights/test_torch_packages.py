"""Packages of PyTorch, read as data: one folder, one pickle of data, and persistent ids that are wrong."""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from packager._weights import CheckpointPickleError, open_torch_package
from packager.errors import ArgumentError, LegacyFormatError

FLOATS = struct.pack("<2f", 1, 2)


def text(value: str) -> bytes:
    return b"X" + struct.pack("<I", len(value)) + value.encode()


def pid(*parts: bytes, kind: bytes = b"t") -> bytes:
    return b"(" + b"".join(parts) + kind + b"Q"


STORAGE = (text("storage"), b"ctorch\nFloatStorage\n", text("0"), text("cpu"), b"K\2")
MADE = b"ctorch._utils\n_rebuild_tensor_v2\n(" + pid(*STORAGE) + b"K\0K\2\x85K\1\x85\x89}tR"
STATE = b"\x80\2}" + text("w") + MADE + b"s."


@pytest.fixture
def package(tmp_path: Path) -> Callable[..., Any]:
    def write(entries: dict[str, bytes], root: str = "old") -> Any:
        with zipfile.ZipFile(tmp_path / "old.pt", "w") as archive:
            for name, data in {
                ".data/extern_modules": b"numpy\n",
                ".data/0.storage": FLOATS,
                **entries,
            }.items():
                archive.writestr(f"{root}/{name}", data)
        return open_torch_package(tmp_path / "old.pt")

    return write


Package = Callable[..., Any]


def test_pickles_of_a_package_are_read_in_its_byte_order(package: Package) -> None:
    for order, data in ((None, FLOATS), (b"little", FLOATS), (b"big", struct.pack(">2f", 1, 2))):
        more = {} if order is None else {"byteorder": order}
        made = package({"m/state.pkl": STATE, ".data/0.storage": data, **more})
        assert made.load_pickle("m", "state.pkl")["w"].numpy().tolist() == [1.0, 2.0]
        assert made.names == ("m/state.pkl",)
    number = STATE.replace(text("0"), b"K\0")
    assert package({"m/state.pkl": number}).load_pickle("m", "state.pkl")["w"].numpy().tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (pid(text("reduce_package"), b"N", b"N"), "it is an object that only code of the archive can make"),
        (pid(text("reduce_package"), b"N", b"N", kind=b"l"), r"expected 5, got 3"),
        (pid(), "expected 5, got 0"),
        (pid(*STORAGE[:4]), "expected 5, got 4"),
        (pid(*STORAGE, b"N"), "expected 5"),
        (pid(text("storages"), *STORAGE[1:]), "a persistent id that is not that of a storage"),
        (pid(*STORAGE[:2], b"N", *STORAGE[3:]), "a persistent id that is not that of a storage"),
        (pid(*STORAGE[:2], b"\x88", *STORAGE[3:]), "a persistent id that is not that of a storage"),
        (pid(*STORAGE[:2], text("1"), *STORAGE[3:]), "storage '1' is not in the file"),
        (pid(*STORAGE[:4], b"K\3"), "storage '0' has 8 bytes in the file, and the pickle says 3 of float32"),
        (pid(text("storage"), text("a"), *STORAGE[2:]), "str is no class of storages"),
    ],
)
def test_persistent_ids_of_packages_are_storages(package: Package, asked: bytes, message: str) -> None:
    made = package({"m/state.pkl": b"\x80\2" + asked + b"."})
    with pytest.raises(
        CheckpointPickleError, match=f"old/m/state.pkl, offset .*: the storage of a tensor .*{message}"
    ) as refused:
        made.load_pickle("m", "state.pkl")
    assert "is made by the code beside it, which is not run here." in str(refused.value)


def test_a_package_is_one_folder(package: Package, tmp_path: Path) -> None:
    made = package({"net.py": b"x = 1", "words.txt": b"caf\xe9", "m/sub/a.py": b""})
    assert (made.code, made.extern_modules) == (("net.py", "m/sub/a.py"), ("numpy",))
    assert (made.load_text("", "net.py"), made.load_text("m.sub", "a.py")) == ("x = 1", "")
    assert made.load_text("", "words.txt", "latin-1") == "café"
    with pytest.raises(LegacyFormatError, match=r"old\.pt: /words\.txt is no text: "):
        made.load_text("", "words.txt")
    with pytest.raises(ArgumentError, match=r"/words\.txt: encoding='no-such': "):
        made.load_text("", "words.txt", "no-such")
    with pytest.raises(LegacyFormatError, match=r"no 'm/b\.py' in the archive; it holds net\.py, words\.txt"):
        made.load_text("m", "b.py")
    with zipfile.ZipFile(tmp_path / "old.pt", "a") as archive:
        archive.writestr("other/x.py", b"")
    with pytest.raises(LegacyFormatError, match=r"an archive of torch\.package with more than one folder"):
        open_torch_package(tmp_path / "old.pt")
    with zipfile.ZipFile(tmp_path / "none.pt", "w") as archive:
        archive.writestr("a/x.py", b"")
    with pytest.raises(
        LegacyFormatError, match=r"not an archive of torch\.package: it has no \.data/extern_m"
    ):
        open_torch_package(tmp_path / "none.pt")


def test_the_one_pickle_of_data_is_the_state_dict(package: Package) -> None:
    model = b"\x80\2cmine\nNet\n)R."
    made = package({"m/model.pkl": model, "m/state.pkl": STATE, "m/net.py": b"", "m/a.txt": b""})
    with pytest.raises(CheckpointPickleError, match=r"the pickle names 'mine\.Net'"):
        made.load_pickle("m", "model.pkl")
    assert made.load_pickle("m", "model.pkl", opaque=True).name == "mine.Net"
    name, root, beside = made.state_dict(None)
    assert (name, list(root)) == ("m/state.pkl", ["w"])
    assert [(part.path, part.what) for part in beside] == [
        ("m/model.pkl", "resource"),
        ("m/net.py", "source code"),
        ("m/a.txt", "resource"),
    ]
    assert made.state_dict("m/state.pkl")[0] == "m/state.pkl"
    with pytest.raises(
        LegacyFormatError, match=r"which pickle \(unwrap=, --unwrap\)\? There are a\.pkl, b\.pkl"
    ):
        package({"a.pkl": STATE, "b.pkl": STATE}).state_dict(None)
    with pytest.raises(LegacyFormatError, match=r"without a state dict[\s\S]*the pickle names 'mine\.Net'"):
        package({"m/model.pkl": model}).state_dict(None)
    with pytest.raises(LegacyFormatError, match=r"no 'c\.pkl' in the archive"):
        made.state_dict("c.pkl")
