"""Modules that a stored library names for its own computed imports, and how many of them go along."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest

from packager import PackageExporter
from packager.exporting.named_targets import TextsOfCode, begins_texts_with

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
    exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    exporter.intern("widelib.**")
    exporter.save_module("widelib")
    names = {one.name for one in exporter.plan().modules if one.action == "intern"}
    assert len([name for name in names if name.startswith("widelib.kinds.")]) == stored


@pytest.mark.parametrize(
    "literal",
    [
        '"shop.layers.Net"',
        "'shop:Net'",
        '"""shop.layers"""',
        'f"{here}shop.layers"',
        'f"shop.layers.{kind}"',
        '"shop." "layers"',
        '("shop."  # their home\n  # and more\n  r"layers")',
        '"shop.\\\nlayers"',
        '"shop.lay\\x65rs"',
        '"shop.größe"',
    ],
)
def test_a_source_that_holds_a_name_in_a_literal_is_read(literal: str) -> None:
    source = f"place = {literal}\nends = 'of.it.'\n"
    texts = TextsOfCode.of(source.encode())
    assert any(text.startswith(("shop.", "shop:")) for text in (*texts.names, *texts.beginnings))
    assert begins_texts_with("shop", source.encode())


@pytest.mark.parametrize(
    "literal", ['"shop."', '"shop.layers are slow"', '"shop: closed"', '"a.shop.b"', "shop.a"]
)
def test_a_source_that_tells_of_a_package_alone_is_not_read(literal: str) -> None:
    source = f"place = {literal}\n".encode()
    texts = TextsOfCode.of(source)
    assert not [text for text in (*texts.names, *texts.beginnings) if text.startswith(("shop.", "shop:"))]
    assert not begins_texts_with("shop", source)
