"""A fresh process imports what its call needs, and no more: see docs/design/first-use.md."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import numpy
import pytest

import kellet.nn
from packager import PackageExporter
from tests import processes

OPEN_AND_READ = """
import json, sys
import numpy
before = set(sys.modules)
from packager import PackageImporter
with PackageImporter(sys.argv[1]) as importer:
    assert importer.load_state_dict("net", "weights")["w"].tolist() == [0.0, 1.0]
print(json.dumps(sorted(set(sys.modules) - before)))
"""
COMMAND = """
import sys
sys.argv[1:] = [sys.argv[2], sys.argv[1]]
from packager._cli import main
code = main()
imported = sorted(sys.modules)
import json
print(json.dumps([code, *imported]))
"""
NETWORKS = """
import json, sys
import kellet.nn as nn
imported = sorted(sys.modules)
assert nn.parallel.DistributedDataParallel
print(json.dumps(imported))
"""
SLOW = {"argparse", "dataclasses", "hashlib", "inspect", "json", "logging", "pathlib", "subprocess", "urllib"}
"""Modules of the standard library that take a millisecond or more to import."""
BY_ARGPARSE = {"argparse", "enum", "re", "shutil", "textwrap"}
if sys.version_info >= (3, 14):  # where it colours its help
    BY_ARGPARSE |= {"dataclasses", "inspect", "weakref"}
"""What a command reads its line with."""
SLOW_FOR_COMMANDS = ({"shlex", "signal", "threading", "traceback", "typing", "weakref"} | SLOW) - BY_ARGPARSE
"""What a command does without; where a script opens an archive, NumPy has imported most of them."""
ROOMS_FOR_CODE = {
    *("packager._graph.encodings", "packager._loading.bytecode", "packager._loading.open_archives"),
    "packager._audit.trust",
}
WHAT_WRITES = {
    *("packager._atomic", "packager._tensors.storages"),
    *("fcntl", "packager._codecs.base", "packager._codecs.state_tensors"),
}
ENVIRONMENTS = {
    "packager._environment.distributions",
    "packager._environment.versions",
    "packager._toml_text",
}


@pytest.mark.unix  # the view of Windows imports some of it itself
def test_what_a_fresh_process_imports_is_what_it_needs(tmp_path: Path) -> None:
    path = str(tmp_path / "net.kellet")
    with PackageExporter(path, prove=False) as exporter:
        exporter.save_state_dict("net", "weights", {"w": numpy.arange(2.0)})
    code = str(tmp_path / "code.kellet")
    with PackageExporter(code, prove=False) as exporter:
        exporter.save_source_string("net", "answer = 42\n")
    environment = {**os.environ, "KELLET_CACHE": str(tmp_path)}
    environment.pop("KELLET_OPEN_ARCHIVES", None)  # a child of a process with open archives finds these

    def told(program: str, *more: str, file: str = path) -> list[str]:
        command = [sys.executable, "-c", program, file, *more]
        done = processes.run(command, cold=True, capture_output=True, text=True, check=True, env=environment)
        found: list[str] = json.loads(done.stdout.splitlines()[-1])
        return found

    imported = set(told(OPEN_AND_READ))
    assert imported & (SLOW | ROOMS_FOR_CODE | WHAT_WRITES | {"packager._names", "traceback"}) == set()
    for name in ("inspect", "verify"):
        ended, *imported_by_command = told(COMMAND, name)
        assert int(ended) == 0
        unwanted = {"numpy", "kellet", "ctypes", *SLOW_FOR_COMMANDS, *WHAT_WRITES}
        assert unwanted & set(imported_by_command) == set()
        assert ROOMS_FOR_CODE & set(imported_by_command) == set()
    ended, *imported_by_command = told(COMMAND, "inspect", file=code)
    assert int(ended) == 0
    assert (unwanted | ENVIRONMENTS) & set(imported_by_command) == set()
    model = str(tmp_path / "model.kellet")
    with PackageExporter(model, prove=False, policy="auto") as exporter:
        exporter.save_object("net", "model", kellet.nn.Sequential(kellet.nn.Linear(2, 1)))
    ended, *imported_by_command = told(COMMAND, "inspect", file=model)
    assert int(ended) == 0
    judging = {"packager._audit.auditing", "packager._codecs.kellet_codec"}
    assert set(imported_by_command) > judging
    unwanted = {*unwanted, "pickle", "_pickle", "packager._audit.resolve"} - WHAT_WRITES
    assert unwanted & set(imported_by_command) == set()


def test_what_networks_import_is_no_process_group() -> None:
    command = [sys.executable, "-c", NETWORKS]
    done = processes.run(command, cold=True, capture_output=True, text=True, check=True)
    unwanted = {"kellet.distributed", "kellet.nn.parallel", "pathlib", "socket", "logging"}
    assert unwanted & set(json.loads(done.stdout)) == set()
