"""Tensors of an accelerator come back to the CPU and are compared; here by records that say so."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

import dataclasses
import importlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch

from packager import PackageExporter
from packager._archive import ArchiveReader
from packager._exporting import stored
from packager._graph import sys_importer
from packager._objects import encode
from packager._proving import ProofError, coming_back

pytestmark = pytest.mark.processes(share=3)

DEVICES = {"cuda:0": True, "cuda": True, "mps": True, "xpu:11": True, "cudalike": False, "meta": False}


@pytest.mark.parametrize(("device", "is_one"), DEVICES.items())
def test_records_are_compared_with_devices_taken_for_the_cpu(device: str, is_one: bool) -> None:
    """What was saved on an accelerator is loaded to the CPU, and encoded again from there."""
    layer = torch.nn.Linear(3, 2)
    encoded = encode(layer, importer=sys_importer).records
    length = bytes([0xA0 + len(device)])
    moved = encoded.replace(b"\xa3cpu", length + device.encode())
    assert moved != encoded
    assert (coming_back._on_cpu(moved) == coming_back._on_cpu(encoded)) is is_one


@pytest.mark.parametrize("device", ["cuda:0", "mps"])
def test_an_object_of_another_device_is_loaded_to_the_cpu_and_compared_with_its_values(
    project: Callable[[Mapping[str, str]], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, device: str
) -> None:
    """A stand-in: the records say another device, as they do where the tensors lie there."""
    text = "import torch\nclass Net(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    text += "        self.layer = torch.nn.Linear(3, 2)\n    def forward(self, x): return self.layer(x)\n"
    losing = text + "    def __setstate__(self, state):\n        super().__setstate__(state)\n"
    losing += "        with torch.no_grad():\n            self.layer.bias += 1\n"
    project({"afar.py": text, "losing.py": losing})
    original = stored._encode

    def encoded_there(obj: Any, root: str, storing: Any) -> Any:
        found = original(obj, root, storing)
        there = bytes([0xA0 + len(device)]) + device.encode()
        return dataclasses.replace(found, records=found.records.replace(b"\xa3cpu", there))

    monkeypatch.setattr(stored, "_encode", encoded_there)
    with PackageExporter(tmp_path / "net.kellet", policy="auto") as exporter:
        exporter.save_object("model", "model", importlib.import_module("afar").Net())
    assert exporter.proof is not None
    assert (exporter.proof.ok, exporter.proof.notes) == (True, ())
    with ArchiveReader(tmp_path / "net.kellet") as reader:
        assert device.encode() in bytes(reader.read(reader.manifest.objects[0].entry))
    exporter = PackageExporter(tmp_path / "lost.kellet", policy="auto")
    exporter.save_object("model", "model", importlib.import_module("losing").Net())
    with pytest.raises(ProofError, match="A loaded object differs from the stored one"):
        exporter.close()
