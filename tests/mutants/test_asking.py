from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from tests.mutants.asking import Asking
from tests.mutants.faults import faults_in

SOURCE = """\
import nowhere_a


def check(size):
    return size > 3
"""


def test_a_fault_in_a_module_whose_library_is_not_here_is_left_to_a_fresh_process(tmp_path: Path) -> None:
    file = tmp_path / "packager" / "nowhere.py"
    file.parent.mkdir()
    file.write_text(SOURCE, encoding="utf-8")
    (fault, *_) = faults_in(tmp_path, file)
    session = SimpleNamespace(items=[SimpleNamespace(nodeid="tests/test_a.py::test_it", obj=None)])
    asking = Asking(tmp_path, [fault], 1, 1.0, lambda _: None)
    assert asking.pytest_runtestloop(cast(Any, session))
    assert asking.outside == [(fault, ["tests/test_a.py::test_it"])]
    assert asking.verdicts == []
