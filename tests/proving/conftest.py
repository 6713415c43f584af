"""A project of one package, exported here: what is written has come back from a clean process."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from packager import PackageExporter
from tests.flows.scripts import Scripts

Export = Callable[..., PackageExporter]


@pytest.fixture
def export(project: Callable[[Mapping[str, str]], Path], tmp_path: Path) -> Export:
    """Write a project, save what `saved` gives ("module:expression"), and close; `more` asks for more."""

    def write(
        tree: Mapping[str, str],
        saved: str,
        more: Callable[[PackageExporter], Any] = lambda exporter: None,
        **options: Any,
    ) -> PackageExporter:
        project({name: textwrap.dedent(text) for name, text in tree.items()})
        module, _, expression = saved.partition(":")
        obj = eval(expression, vars(import_module(module)))
        with PackageExporter(tmp_path / "net.kellet", policy="auto", **options) as exporter:
            exporter.save_object("model", "model", obj)
            more(exporter)
        return exporter

    return write


@pytest.fixture
def scripts(tmp_path: Path) -> Scripts:
    """A folder for scripts, and an empty one."""
    return Scripts(tmp_path)
