"""`os._exit` in code of a model is a failure with its place, where a block holds it."""

from __future__ import annotations

import io
import os
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest

from packager import PackageExporter
from packager._cli import main
from packager._process import AnswerRequired
from packager.errors import CodeExitError

ORIGINAL = os._exit
QUITS = """
    import os

    class Net:
        def __call__(self, x):
            os._exit(0)

    class Stubborn:
        def __reduce__(self):
            try:
                os._exit(3)
            except Exception:
                pass

    def build():
        os._exit(2)
"""


def quit_inside() -> None:
    with AnswerRequired("made before", hold=True):
        assert os._exit is not ORIGINAL
    assert os._exit is not ORIGINAL
    os._exit(7)


def test_a_held_exit_raises_with_its_place_and_is_given_back() -> None:
    told = (
        r"^making: its code ended with os\._exit\(7\), at .*test_held_exit\.py:\d+ in quit_inside; such code"
    )
    with pytest.raises(CodeExitError, match=told), AnswerRequired("making", hold=True):
        quit_inside()
    assert os._exit is ORIGINAL
    with AnswerRequired("making"):
        assert os._exit is ORIGINAL


def test_threads_hold_it_each_for_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[int] = []
    monkeypatch.setattr(os, "_exit", ended.append)
    begun, finish = threading.Event(), threading.Event()

    def hold() -> None:
        with AnswerRequired("another", hold=True):
            begun.set()
            finish.wait(10)

    thread = threading.Thread(target=hold)
    thread.start()
    begun.wait(10)
    with pytest.raises(AssertionError, match="came back"):
        os._exit(5)  # of this thread, which holds nothing
    with pytest.raises(CodeExitError), AnswerRequired("this one", hold=True):
        os._exit(6)
    assert os._exit != ended.append
    finish.set()
    thread.join(10)
    assert (ended, os._exit) == ([5], ended.append)


def test_a_forked_child_ends() -> None:
    with AnswerRequired("forking", hold=True):
        child = os.fork()
        if not child:
            os._exit(9)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9


def test_an_export_tells_of_it(
    project: Callable[[Mapping[str, str]], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import textwrap

    project({"quitter.py": textwrap.dedent(QUITS)})
    import quitter

    exporter = PackageExporter(tmp_path / "net.kellet", policy="auto", prove=False)
    with pytest.raises(CodeExitError, match=r"its code ended with os\._exit\(3\), at .*quitter\.py:11"):
        exporter.save_object("model", "stubborn", quitter.Stubborn())
    exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    exporter.save_object("model", "model", quitter.Net())
    exporter.save_example("model", {"x": np.ones(2)})
    [problem] = exporter.plan().problems
    assert problem.context.startswith("calling Net: its code ended with os._exit(0), at ")
    assert main(["export", "quitter:build", "-o", str(tmp_path / "net.kellet")]) == 4
    assert "target quitter:build: its code ended with os._exit(2), at " in capsys.readouterr().err
    assert not (tmp_path / "net.kellet").exists()
