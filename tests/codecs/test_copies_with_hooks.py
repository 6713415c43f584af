"""A copy of a module has hooks of the same ids as the first: each comes back with its own, and its handle."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

import io
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
import torch

import kellet
from packager import PackageExporter, PackageImporter

PAIR = """
import copy
SEEN = []
def noted(module, args, output): SEEN.append(type(module).__name__)
class Pair:
    def __init__(self, first):
        self.first = first
        self.handle = first.register_forward_hook(noted)
        self.second = copy.deepcopy(first)
"""


@pytest.mark.parametrize("family", ["torch", "kellet"])
def test_copies_come_back_each_with_its_hooks_and_are_stored_alike_again(
    project: Callable[..., Any], family: str
) -> None:
    library: Any = torch if family == "torch" else kellet
    project({"paired.py": PAIR})
    pair = import_module("paired").Pair(library.nn.ReLU())
    files = [io.BytesIO(), io.BytesIO()]
    with PackageExporter(files[0], policy="auto", prove=False) as exporter:
        exporter.save_object("pairs", "pair", pair)
    with PackageImporter(files[0]) as importer:
        loaded = importer.load_object("pairs", "pair")
        # Stored again it is the same, which the proof asks of each object.
        with PackageExporter(files[1], policy="auto", prove=False, importer=importer) as exporter:
            exporter.save_object("pairs", "pair", loaded)
        with PackageImporter(files[1]) as again:
            records = [one.archive.read("pairs/pair") for one in (importer, again)]
            assert records[0] == records[1]
        seen = type(loaded).__init__.__globals__["SEEN"]
        x = library.tensor([1.0, -1.0])
        loaded.first(x), loaded.second(x)
        assert seen == ["ReLU", "ReLU"]
        loaded.handle.remove()
        loaded.first(x)
        assert np.array_equal(loaded.second(x).numpy(), [1.0, 0.0])
        assert seen == ["ReLU", "ReLU", "ReLU"]
