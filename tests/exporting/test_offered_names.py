"""Modules that a stored library names for its own computed imports, and how many of them go along."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest

from packager import PackageExporter

LOADER = """
import importlib
PLACES = ("widelib.kinds.",)
def grow(kind, x): return importlib.import_module(PLACES[0] + kind.strip()).grow(x)
"""


@pytest.mark.parametrize(("count", "stored"), [(100, 100), (101, 0)])
def test_a_beginning_of_names_stores_a_folder_of_a_hundred_modules_and_no_larger_one(
    installed: Callable[..., Path], count: int, stored: int
) -> None:
    files = {"widelib/__init__.py": LOADER, "widelib/kinds/__init__.py": ""}
    kinds = {f"widelib/kinds/k{number}.py": "def grow(x): return x\n" for number in range(count)}
    installed("widelib", files | kinds, origin=None)
    exporter = PackageExporter(io.BytesIO(), policy="auto")
    exporter.intern("widelib.**")
    exporter.save_module("widelib")
    names = {one.name for one in exporter.plan().modules if one.action == "intern"}
    assert len([name for name in names if name.startswith("widelib.kinds.")]) == stored
