"""Tracing a call in a fresh process, and comparing it with the walk."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from packager.graph.trace import TraceError, compare, trace_call, trace_program

Tree = Callable[[str], Path]
WalkTree = Callable[..., Any]

TEXT = """
== pkg/__init__.py
import sys
from . import unused
== pkg/unused.py
def never():
    from . import dead
== pkg/dead.py
== pkg/model.py
import importlib
import os
def build(name, scale=1):
    module = importlib.import_module("pkg." + "cel"[:0] + name)
    with open(os.path.join(os.path.dirname(__file__), "table.csv")) as file:
        table = file.read()
    sys.modules["pkg.alias"] = module
    return module.value * scale, table
import sys
== pkg/computed.py
value = 2
== pkg/table.csv
1,2
"""


def test_a_trace_tells_modules_and_files(tree: Tree) -> None:
    root = tree(TEXT)
    trace = trace_call("pkg.model:build", ["computed"], {"scale": 3}, path=[str(root), *sys.path])
    own = [name for name in trace.modules if name.startswith("pkg")]
    assert own == ["pkg.unused", "pkg", "pkg.model", "pkg.computed"]
    assert trace.modules["pkg.computed"] == str(root / "pkg" / "computed.py")
    assert [name for name in trace.files if name.startswith(str(root))] == [str(root / "pkg" / "table.csv")]


def test_the_comparison_names_what_each_side_lacks(tree: Tree, walk_tree: WalkTree) -> None:
    walked = walk_tree(TEXT, "pkg.model", "pkg.unused")
    trace = trace_call("pkg.model:build", ["computed"], path=[str(tree(TEXT)), *sys.path])
    found = compare(trace, walked.followed, ["pkg"])
    assert found.missing == ("pkg.computed",)
    assert found.prunable == ("pkg.dead",)


def test_the_traced_code_runs_in_another_process(tree: Tree) -> None:
    trace_program("import colorsys, sys\nsys.modules['marker'] = sys", path=sys.path)
    assert "marker" not in sys.modules


def test_a_call_that_fails_tells_its_traceback(tree: Tree) -> None:
    with pytest.raises(TraceError, match=r"(?s)fresh process:.*ZeroDivisionError"):
        trace_program("1 / 0")


def test_a_call_that_never_ends_is_ended() -> None:
    with pytest.raises(TraceError, match="did not end within"):
        trace_program("while True: pass", timeout=0.5)


def test_a_target_must_name_module_and_function() -> None:
    with pytest.raises(TraceError, match="expected 'module:name'"):
        trace_call("pkg.model.build")


def test_files_opened_for_writing_are_not_data(tmp_path: Path) -> None:
    target = tmp_path / "out.txt"
    trace = trace_program(f"open({str(target)!r}, 'w').close()")
    assert str(target) not in trace.files


def test_what_the_program_prints_goes_to_standard_error(capfd: pytest.CaptureFixture[str]) -> None:
    trace_program("print('hello')")
    out, err = capfd.readouterr()
    assert (out, err) == ("", "hello\n")
