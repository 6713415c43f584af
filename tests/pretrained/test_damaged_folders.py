"""Folders of no use are refused by the file that is at fault, before a library is imported."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from packager import PackageExporter
from packager._pretrained import PretrainedError, open_pretrained
from packager._pretrained.folders import _around
from packager.errors import ArgumentError

DEEP = b"[" * 100_000
CONFIG = b'{"architectures": ["Net"]}'


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"modules.json": b"{"}, r"/modules\.json: not JSON: Expecting property name"),
        ({"modules.json": DEEP}, r"/modules\.json: not JSON: nested too deep"),
        ({"modules.json": b'["\xe9"]'}, r"/modules\.json: not JSON: 'utf-8' codec can't decode"),
        ({"modules.json": b'{"type": "a"}'}, r"/modules\.json: found a dict; expected a JSON array"),
        ({"modules.json": b"5"}, r"/modules\.json: found a int; expected a JSON array"),
        ({"modules.json": b"[{}, 5]"}, r"/modules\.json: found a int as module 1; expected a JSON object"),
        ({"config.json": DEEP}, r"/config\.json: not JSON: nested too deep"),
        ({"config.json": b'{"a": ' * 1_000_000}, r"/config\.json: not JSON: nested too deep"),
        ({"config.json": CONFIG.decode().encode("utf-16")}, r"/config\.json: not JSON: 'utf-8' codec"),
        ({"config.json": b"1" * 5000}, r"/config\.json: not JSON: Exceeds the limit"),
        ({"config.json": CONFIG, "tokenizer_config.json": DEEP}, r"/tokenizer_config\.json: not JSON"),
        ({"config.json": CONFIG, "tokenizer_config.json": b"[]"}, r"/tokenizer_config\.json: found a list"),
        ({"adapter_config.json": b"\xff"}, r"/adapter_config\.json: not JSON"),
    ],
)
def test_a_damaged_file_is_named(tmp_path: Path, files: Mapping[str, bytes], message: str) -> None:
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    with pytest.raises(PretrainedError, match=message):
        PackageExporter(BytesIO(), prove=False).save_pretrained(tmp_path)


@pytest.mark.unix
def test_a_file_that_cannot_be_opened_is_named(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_bytes(CONFIG)
    (tmp_path / "tokenizer_config.json").mkdir()
    with pytest.raises(PretrainedError, match=r"/tokenizer_config\.json: cannot be read: Is a directory"):
        open_pretrained(tmp_path)
    (tmp_path / "tokenizer_config.json").rmdir()
    (tmp_path / "tokenizer_config.json").symlink_to("gone")
    with pytest.raises(PretrainedError, match=r"/tokenizer_config\.json: cannot be read: No such file"):
        open_pretrained(tmp_path)
    # Python 3.14 only says that no such folder is there.
    with pytest.raises(
        PretrainedError, match=r"a: cannot be read: File name too long|folder; expected a folder"
    ):
        open_pretrained("a" * 5000)


def test_a_path_of_bytes_is_one(tmp_path: Path) -> None:
    class Place(os.PathLike[bytes]):
        def __fspath__(self) -> bytes:
            return os.fsencode(tmp_path)

    with pytest.raises(PretrainedError, match="found nothing; expected a folder with one of"):
        PackageExporter(BytesIO(), prove=False).save_pretrained(Place())


def test_code_that_configurations_name_is_not_run_unasked(tmp_path: Path) -> None:
    named = b'{"architectures": ["Net"], "auto_map": {"AutoModel": "a/b--net.Net", "AutoConfig": "gone.A"}}'
    (tmp_path / "config.json").write_bytes(named)
    (tmp_path / "tokenizer_config.json").write_bytes(b'{"auto_map": {"AutoTokenizer": ["words.T", null]}}')
    for name in ("net.py", "words.py", "other.py"):
        (tmp_path / name).touch()
    with pytest.raises(
        PretrainedError, match=r"runs code in the folder, gone\.py, net\.py, words\.py\. Read"
    ):
        open_pretrained(tmp_path)


def test_an_honest_folder_is_read_by_its_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "config.json").write_bytes(b'{"architectures": ["Net"], "auto_map": null}')
    (tmp_path / "tokenizer_config.json").write_bytes(b'{"auto_map": ["a.B", null]}')
    read: list[str] = []

    def fail(place: Path, **options: Any) -> Any:
        read.append(str(place))
        raise ModuleNotFoundError("No module named 'torch.nn'", name="torch.nn")

    library = SimpleNamespace(Net=SimpleNamespace(from_pretrained=fail))
    monkeypatch.setitem(sys.modules, "transformers", library)  # type: ignore[arg-type]  # what is asked of it
    with pytest.raises(PretrainedError, match=r"No module named 'torch\.nn'. Run: pip install torch"):
        open_pretrained(tmp_path)
    assert read == [str(tmp_path)]


@pytest.mark.parametrize("source", [3, b"folder", None, sys, dict, SimpleNamespace(model=3, tokenizer=4)])
def test_what_is_no_model_is_refused_without_torch(source: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ArgumentError, match="expected a folder, or a model of transformers"):
        PackageExporter(BytesIO(), prove=False).save_pretrained(source)


def test_a_model_without_torch_names_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    class Net:
        def forward(self) -> None:
            raise AssertionError

    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "packaged_pretrained", raising=False)
    with pytest.raises(PretrainedError, match="Run: pip install torch"):
        PackageExporter(BytesIO(), prove=False).save_pretrained(Net())
    assert "packaged_pretrained" not in sys.modules


@pytest.mark.parametrize(
    ("settings", "auto"),
    [
        (b'{"image_processor_type": "A"}', "AutoImageProcessor"),
        (b'{"image_mean": [0.5]}', "AutoImageProcessor"),
        (b'{"sampling_rate": 8000}', "AutoFeatureExtractor"),
    ],
)
def test_what_prepares_inputs_is_made_by_the_class_that_its_settings_are_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: bytes, auto: str
) -> None:
    names = ("AutoImageProcessor", "AutoFeatureExtractor")
    made = {name: SimpleNamespace(from_pretrained=lambda place, name=name: (name, place)) for name in names}
    monkeypatch.setitem(sys.modules, "transformers", SimpleNamespace(**made))  # type: ignore[arg-type]  # as above
    (tmp_path / "preprocessor_config.json").write_bytes(settings)
    assert _around(tmp_path, {}) == (None, (auto, tmp_path))
