"""Functions of migrations as a way to run other code: an installed impostor, and a module that is refused.

Each abuse would leave a mark on disk; its honest twin loads and migrates.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

import kellet
from packager import MigrationError, PackageExporter, PackageImporter
from packager._migrations import migrate

Project = Callable[[Mapping[str, str]], Path]

NET = """
from kellet import nn
from packager._migrations import Migration, NamedFunction, migrate, rename, with_migrations
import bank.legacy

CALLS = Migration("calls", [rename("old", "fc.bias", NamedFunction("bank.legacy:times"))], to=2)

@with_migrations(CALLS)
class Net(nn.Module):
    _version = 2

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 1)
"""
HONEST = "def times(value):\n    return value * 2\n"
MARKING = "import pathlib\npathlib.Path({mark!r}).touch()\ndef times(value):\n    return value * 100\n"
OLD = {"old": kellet.ones(1)}


def packed(project: Project, path: Path, legacy: str) -> Path:
    project({"bank/__init__.py": "", "bank/legacy.py": legacy, "bank/net.py": NET})
    net = importlib.import_module("bank.net")
    with PackageExporter(path, policy="auto", prove=False) as exporter:
        exporter.save_object("model", "model", net.Net())
    for name in [name for name in sys.modules if name.partition(".")[0] == "bank"]:
        del sys.modules[name]
    return path


def load_all(path: Path, allowed: Callable[[str], bool] = lambda name: True) -> list[Any]:
    """The results of every way on which a stored migration, or one of packaged code, runs."""
    with PackageImporter(path, allowed, trust=["bank.legacy:times"]) as importer:
        module = importer.load_object("model", "model")
        module.load_state_dict(dict(OLD), strict=False)
        found = [module.fc.bias.tolist()]
        found.append(migrate(importer.import_module("bank.net").CALLS, OLD)["fc.bias"].tolist())
        (stored,) = importer.load_migrations()["bank.net:Net"]
        return [*found, migrate(stored, OLD)["fc.bias"].tolist()]


def test_an_installed_package_of_the_same_name_is_not_even_imported(project: Project, tmp_path: Path) -> None:
    path = packed(project, tmp_path / "net.kellet", HONEST)
    mark = tmp_path / "mark"
    project({"bank/legacy.py": MARKING.format(mark=str(mark)) + "# of another year"})
    importlib.invalidate_caches()
    assert load_all(path) == [[2], [2], [2]]
    assert not mark.exists()
    importlib.import_module("bank.legacy")  # it would have left its mark
    assert mark.exists()


def test_a_function_of_a_module_that_is_refused_does_not_run(project: Project, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    touching = (
        f"def times(value):\n    import pathlib\n    pathlib.Path({str(mark)!r}).touch()\n    return value\n"
    )
    path = packed(project, tmp_path / "net.kellet", touching)
    refuses, trust = (lambda name: name != "bank.legacy"), ["bank.legacy:times"]
    with PackageImporter(path, refuses, trust=trust) as importer:
        (stored,) = importer.load_migrations()["bank.net:Net"]
        with pytest.raises(MigrationError, match=r"module_allowed refuses 'bank\.legacy'"):
            migrate(stored, OLD)
    assert not mark.exists()
    honest = packed(project, tmp_path / "honest.kellet", HONEST)
    assert load_all(honest, lambda name: True) == [[2], [2], [2]]
