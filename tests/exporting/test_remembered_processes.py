"""Remembered plans from one process to the next; and all that decides a plan of a real package is noted."""

from __future__ import annotations

import json
import os
import sys
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import pytest

import packager
from tests import processes

PLAN = """
import hashlib, io, json, sys
from packager import PackageExporter
exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
exporter.save_module(sys.argv[1])
plan = exporter.plan()
print(json.dumps([plan.remembered, hashlib.sha256(repr(plan).encode()).hexdigest()]))
"""

ASKED = """
import io, json, os, sys
from importlib.util import cache_from_source
asked, on = set(), []
def note(kind, path):
    if on and isinstance(path, (str, bytes, os.PathLike)):
        asked.add(os.path.abspath(os.fsdecode(path) or "."))
def audit(event, args):
    if event in ("open", "os.listdir", "os.scandir"):
        note(event, args[0])
sys.addaudithook(audit)
def noting(real):
    def call(path, *args, **named):
        note(real.__name__, path)
        return real(path, *args, **named)
    return call
for name in ("stat", "lstat", "access", "readlink"):
    setattr(os, name, noting(getattr(os, name)))
from packager import PackageExporter
from packager.exporting.remembered import RememberedPlans
found = {}
RememberedPlans.keep = lambda self, key, seen, plan, surveyor: found.update(seen=seen, plan=plan)
exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
exporter.intern(sys.argv[1] + ".**")
exporter.save_module(sys.argv[1])
on.append(1)
exporter.plan()
on.clear()
seen = found["seen"]
noted = {*seen.files, *seen.folders, *(path.partition(":")[2] for path in seen.states)}
noted = set(map(os.path.abspath, noted))
compiled = set(map(cache_from_source, (path for path in noted if path.endswith(".py"))))
asked -= compiled  # their heads are looked at to save time: see `seen.is_compiled`
print(json.dumps([seen.unfit, len(found["plan"].modules), len(noted & asked), sorted(asked - noted)]))
"""


def _run(program: str, folder: Path, *arguments: str, flags: tuple[str, ...] = (), **variables: str) -> Any:
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache"), **variables}
    done = processes.run(
        [sys.executable, *flags, "-c", program, *arguments],
        cold=True,
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.long
def test_the_next_process_has_the_plan_unless_it_is_another(tmp_path: Path) -> None:
    work, other = tmp_path / "work", tmp_path / "other"
    (work / "shop").mkdir(parents=True)
    other.mkdir()
    (work / "shop/__init__.py").write_text("import math\nfrom . import bags\n")
    (work / "shop/bags.py").write_text("class Bag: pass\n")
    (tmp_path / "cache").mkdir()
    where = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    first, digest = _run(PLAN, work, "shop", **where)
    assert (first, _run(PLAN, work, "shop", **where)) == (False, [True, digest])
    assert _run(PLAN, work, "shop", **where, PYTHONPATH=str(other)) == [False, digest]
    assert _run(PLAN, work, "shop", **where, flags=("-O",)) == [False, digest]
    (work / "shop/bags.py").write_text("class Box: pass\n")
    assert _run(PLAN, work, "shop", **where)[0] is False


@pytest.mark.long
def test_all_that_is_asked_of_the_disk_for_a_real_package_is_noted(tmp_path: Path) -> None:
    """But for what Python loads meanwhile, this project's own files, and the cache of scans."""
    work, cache = tmp_path / "work", tmp_path / "cache"
    work.mkdir()
    unfit, modules, noted, others = _run(ASKED, work, "networkx", XDG_CACHE_HOME=str(cache))
    assert (unfit, modules > 250, noted > 600) == ("", True, True)
    metadata = str(distribution("kellet").locate_file("kellet-"))  # its version is in the key
    known = (str(cache), os.path.dirname(packager.__file__), os.path.dirname(os.__file__), metadata)
    above = {str(one) for one in cache.parents}
    assert [path for path in others if not path.startswith(known) and path not in above] == []
