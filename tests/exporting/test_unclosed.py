"""Exporters that are never closed: a warning with the file's name, and nothing half-written."""

from __future__ import annotations

import gc
import io
import os
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from packager import PackageExporter, PackagingError
from tests import processes

STATE = {"scale": np.arange(3000.0)}


def begun(target: Path) -> list[PackageExporter]:
    """The only reference to an exporter that has written tensors beside its target."""
    exporter = PackageExporter(target, prove=False)
    exporter.save_state_dict("net", "weights", STATE)
    assert len(list(target.parent.glob(".*.kellet-part"))) == 1
    return [exporter]


def collect(held: list[PackageExporter]) -> None:
    """Let the last reference go."""
    held.clear()
    gc.collect()


def drop(exporter: PackageExporter) -> None:
    """Do nothing with the last reference."""


def in_a_cycle(exporter: PackageExporter) -> None:
    exporter.myself = exporter  # type: ignore[attr-defined]  # an attribute of the caller's


def after_a_plan(exporter: PackageExporter) -> None:
    assert exporter.plan().ok


@pytest.mark.parametrize("hold", [drop, in_a_cycle, after_a_plan])
def test_one_that_is_collected_warns_and_leaves_nothing(
    tmp_path: Path, hold: Callable[[PackageExporter], None]
) -> None:
    held = begun(tmp_path / "net.kellet")
    hold(held[0])
    with pytest.warns(ResourceWarning, match=r"unclosed exporter: .*net\.kellet was not written; write"):
        collect(held)
    assert list(tmp_path.iterdir()) == []


def test_the_old_file_stays_as_it_was(tmp_path: Path) -> None:
    (target := tmp_path / "net.kellet").write_bytes(b"old")
    held = begun(target)
    with pytest.warns(ResourceWarning, match="unclosed exporter"):
        collect(held)
    assert (target.read_bytes(), len(list(tmp_path.iterdir()))) == (b"old", 1)


def test_one_over_an_open_file_names_it(tmp_path: Path) -> None:
    with open(tmp_path / "net.kellet", "wb") as file:
        held = [PackageExporter(file, prove=False)]
        held[0].save_text("net", "words.txt", "one")
        with pytest.warns(ResourceWarning, match=r"unclosed exporter: .*net\.kellet was not written"):
            collect(held)
    assert (tmp_path / "net.kellet").read_bytes() == b""


def fail_in_a_block(target: Path) -> None:
    def fail() -> None:
        with PackageExporter(target, prove=False) as exporter:
            exporter.save_state_dict("net", "weights", STATE)
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    gc.collect()


def test_what_nobody_can_miss_is_not_told(tmp_path: Path) -> None:
    """Warnings are errors: none comes."""
    held = begun(tmp_path / "net.kellet")
    held[0].close()
    collect(held)
    fail_in_a_block(tmp_path / "failed.kellet")
    refused = [PackageExporter(tmp_path / "refused.kellet", prove=False)]
    refused[0].save_source_string("net", "import not_installed_here")
    with pytest.raises(PackagingError, match="not_installed_here"):
        refused[0].close()
    collect(refused)
    collect([PackageExporter(tmp_path / "empty.kellet", prove=False)])
    planned = [PackageExporter(io.BytesIO(), prove=False)]
    planned[0].save_source_string("net", "import math")
    assert planned[0].plan().ok
    collect(planned)
    assert [one.name for one in tmp_path.iterdir()] == ["net.kellet"]


@pytest.mark.parametrize("early", [True, False])
def test_a_subclass_that_cannot_be_made_says_nothing_more(tmp_path: Path, early: bool) -> None:
    class Strict(PackageExporter):
        def __init__(self, target: Path) -> None:
            if early:
                raise ValueError("before")
            super().__init__(target)
            raise ValueError("after")

    with pytest.raises(ValueError, match="before" if early else "after"):
        Strict(tmp_path / "net.kellet")
    gc.collect()
    assert list(tmp_path.iterdir()) == []


BEGIN = """
import os, sys, tracemalloc
import numpy
from packager import PackageExporter

tracemalloc.start(5)

def begun():
    exporter = PackageExporter(sys.argv[1])
    exporter.save_state_dict("net", "weights", {"scale": numpy.arange(3000.0)})
    return exporter
"""


def run(script: str, target: Path) -> str:
    """Run a script that begins an archive; return what it wrote to its error output."""
    command = [sys.executable, "-W", "always::ResourceWarning", "-c"]
    command += [BEGIN + textwrap.dedent(script), str(target)]
    done = processes.run(command, capture_output=True, text=True, timeout=120, check=True)
    return done.stderr


@pytest.mark.parametrize(
    "script", ["exporter = begun()\n", "begun()\n", "sys.modules['held'] = begun()\n"], ids=str.strip
)
def test_one_that_a_script_forgot_warns_at_its_end_and_leaves_nothing(tmp_path: Path, script: str) -> None:
    told = run(script, tmp_path / "net.kellet")
    assert told.count("ResourceWarning: unclosed exporter:") == 1
    assert "net.kellet was not written" in told
    assert ("Object allocated at" in told) == (
        script == "begun()\n"
    )  # as the process ends, that is not known
    assert "Traceback" not in told
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a fork")
def test_a_forked_child_leaves_the_export_to_its_parent(tmp_path: Path) -> None:
    script = """
    exporter = begun()
    if os.fork() == 0:
        sys.exit()
    os.wait()
    exporter.close()
    """
    assert run(script, tmp_path / "net.kellet") == ""
    assert [one.name for one in tmp_path.iterdir()] == ["net.kellet"]
