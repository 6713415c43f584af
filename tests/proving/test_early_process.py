"""The clean process is started before there is an archive, finds what it would later, and never stays."""

from __future__ import annotations

import io
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from packager import PackageExporter, PackagingError
from packager._proving import CleanProcess, clean_process
from packager._proving.clean_environment import Waiting
from packager._proving.line import packed

NET = "class Net:\n    width = 3\n"

# Unix: elsewhere a process cannot be handed pipes.
pytestmark = [pytest.mark.unix, pytest.mark.processes(share=3)]


class Started:
    """The processes that were started, and their folders."""

    def __init__(self) -> None:
        self.children: list[subprocess.Popen[bytes]] = []
        self.folders: list[str] = []

    def require_gone(self, count: int) -> None:
        assert len(self.children) == count
        for child in self.children:
            assert child.returncode is not None
            with pytest.raises(ProcessLookupError):
                os.kill(child.pid, 0)  # not even a zombie
        assert not [folder for folder in self.folders if os.path.exists(folder)]


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Started:
    found, plain = Started(), subprocess.Popen

    def noted(*arguments: Any, **options: Any) -> subprocess.Popen[bytes]:
        found.folders.append(os.path.dirname(options["cwd"]))
        found.children.append(plain(*arguments, **options))
        return found.children[-1]

    monkeypatch.setattr(clean_process.subprocess, "Popen", noted)
    return found


@pytest.fixture
def net(project: Callable[..., Any]) -> Any:
    project({"net.py": NET})
    return import_module("net").Net()


def exporter_at(path: Path | io.BytesIO, **options: Any) -> PackageExporter:
    return PackageExporter(path, policy="auto", **options)


def test_it_is_started_as_an_object_is_saved_and_is_the_one_that_proves(net, tmp_path, started):
    with exporter_at(tmp_path / "net.kellet") as exporter:
        exporter.save_object("model", "net", net)
        assert len(started.children) == 1
        assert started.children[0].poll() is None
        assert os.listdir(started.folders[0] + "/work") == []
    assert exporter.proof.ok
    assert exporter.proof.steps[0] == "object: object model/net"
    started.require_gone(1)


@pytest.mark.parametrize(
    ("rule", "expected"),
    [("heads.**", []), ("heads.one", []), ("other.**", ["heads.one", "heads"])],
)
def test_what_a_rule_stores_is_not_imported_early_but_what_it_is_derived_from(
    tmp_path, monkeypatch, rule, expected
):
    folder = tmp_path / "site-packages" / "heads"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("import kellet\nclass Base(kellet.nn.Module): pass\n")
    (folder / "one.py").write_text("from heads import Base\nclass Head(Base): pass\n")
    monkeypatch.syspath_prepend(folder.parent)
    imported: list[str] = []
    monkeypatch.setattr(CleanProcess, "import_early", lambda process, *names: imported.extend(names))
    try:
        with suppress(LookupError), exporter_at(tmp_path / "net.kellet") as exporter:
            exporter.intern(rule)
            exporter.save_object("model", "net", import_module("heads.one").Head())
            raise LookupError
    finally:
        for name in ("heads.one", "heads"):
            sys.modules.pop(name, None)
    assert [name for name in imported if name.startswith("heads")] == expected
    assert any(name.startswith("kellet.nn") for name in imported)


def test_where_the_environment_has_changed_since_another_one_proves(net, tmp_path, started, monkeypatch):
    with exporter_at(tmp_path / "net.kellet") as exporter:
        exporter.save_object("model", "net", net)
        monkeypatch.setenv("NET_MODE", "late")
    assert exporter.proof.ok
    started.require_gone(2)


def test_a_variable_that_stored_code_reads_is_not_seen_where_it_was_started_before(
    project, tmp_path, started, monkeypatch
):
    monkeypatch.setenv("NET_MODE", "train")
    project({"net.py": f"import os\nMODE = os.environ.get('NET_MODE')\n{NET}"})
    with pytest.warns(match="NET_MODE"), exporter_at(tmp_path / "net.kellet") as exporter:
        exporter.save_object("model", "net", import_module("net").Net())
    assert exporter.proof.variables == (("NET_MODE", "net.py", 2),)
    started.require_gone(1)


def refused(exporter: PackageExporter) -> None:
    exporter.save_source_string("other", "import not_installed_here")


def failed(exporter: PackageExporter) -> None:
    raise LookupError


def interrupted(exporter: PackageExporter) -> None:
    raise KeyboardInterrupt


def ended(exporter: PackageExporter) -> None:
    started = exporter._proof.process
    assert started is not None
    os.kill(started._children[0].pid, signal.SIGKILL)  # as a system does that is short of memory
    started._children[0].wait()


def cleared(exporter: PackageExporter) -> None:
    started = exporter._proof.process
    assert started is not None
    shutil.rmtree(started.folder)  # as one does who clears the temporary files


@pytest.mark.parametrize(
    ("happens", "error", "count"),
    [
        (refused, PackagingError, 1),
        (failed, LookupError, 1),
        (interrupted, KeyboardInterrupt, 1),
        (ended, None, 2),
        (cleared, None, 2),
    ],
)
def test_it_ends_whatever_becomes_of_the_export(net, tmp_path, started, happens, error, count):
    def run() -> None:
        with exporter_at(tmp_path / "net.kellet") as exporter:
            exporter.save_object("model", "net", net)
            happens(exporter)

    if error is None:
        run()
    else:
        with pytest.raises(error):
            run()
    started.require_gone(count)
    assert (tmp_path / "net.kellet").exists() is (error is None)


def test_its_end_is_seen_where_what_it_forked_keeps_its_pipe_open(started, monkeypatch):
    plain, kept = os.pipe, list[int]()

    def also_kept() -> tuple[int, int]:
        read, write = plain()
        if not kept:  # that of its orders
            kept.append(os.dup(write))  # as a worker has it that code of the archive forked
        return read, write

    monkeypatch.setattr(clean_process.os, "pipe", also_kept)
    process = CleanProcess()
    try:
        assert process.run(lambda said: None, 20) == 1  # for an order that says nothing
    finally:
        process.close()
        for number in kept:
            os.close(number)
    started.require_gone(1)


def test_its_pipes_are_no_standard_streams_where_this_process_has_closed_those():
    program = (
        "import os\n"
        "from packager._proving import CleanProcess\n"
        "for number in range(3):\n"
        "    os.close(number)\n"
        "process = CleanProcess()\n"
        "process.run(lambda said: None, 20)\n"
        "with open(os.path.join(process.folder, 'said')) as said:\n"
        "    has_read_its_order = 'NoneType' in said.read()\n"  # which says nothing
        "process.close()\n"
        "os._exit(0 if has_read_its_order else 1)\n"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_where_there_is_no_room_for_a_fork_the_process_that_waited_does_the_run_itself(monkeypatch):
    order, told = os.pipe()
    os.write(told, packed({"run": "/folder", "token": "7"}))
    os.close(told)
    own = os.dup(0)
    os.dup2(order, 0)
    os.close(order)

    def refused() -> int:
        raise BlockingIOError

    monkeypatch.setattr(os, "fork", refused)
    try:
        folder, line = Waiting(os.getppid(), forks=True).run("/folder/line")
    finally:
        os.dup2(own, 0)
        os.close(own)
    assert (folder, line.token) == ("/folder", "7")


def test_it_ends_with_the_last_reference(net, tmp_path, started):
    process = CleanProcess()
    assert process.fits()
    del process
    started.require_gone(1)


def test_none_is_started_without_a_proof_or_where_nothing_runs_or_nobody_may_close(net, tmp_path, started):
    with exporter_at(tmp_path / "net.kellet", prove=False) as exporter:
        exporter.save_object("model", "net", net)
    with exporter_at(tmp_path / "sizes.kellet") as exporter:
        exporter.save_object("model", "sizes", {"widths": [8, 8]})
        exporter.save_state_dict("model", "weights", {"step": 3})
        exporter.save_text("model", "words.txt", "one two")
    assert exporter.proof.in_process
    unsure = exporter_at(io.BytesIO())
    unsure.save_object("model", "net", net)
    assert unsure.plan().ok
    started.require_gone(0)


@pytest.mark.long
@pytest.mark.parametrize("keeps_pipe", [False, True])
def test_it_ends_itself_where_the_process_that_started_it_is_killed(tmp_path, keeps_pipe):
    program = (
        "import os, signal, sys, time\n"
        "from packager._proving import CleanProcess\n"
        "process = CleanProcess()\n"
        "print(process._children[0].pid, flush=True)\n"
        f"child = os.fork() if {keeps_pipe} else 1\n"
        "if not child:\n"
        "    time.sleep(30)\n"  # as a worker that outlives its parent, and has the pipe
        "print(child, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    parent = subprocess.Popen(
        [sys.executable, "-c", program], env=environment, stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    waiting, worker = int(parent.stdout.readline()), int(parent.stdout.readline())
    assert parent.wait() == -signal.SIGKILL
    deadline = time.monotonic() + 25
    while os.path.exists(f"/proc/{waiting}") and time.monotonic() < deadline:
        time.sleep(0.05)
    gone = not os.path.exists(f"/proc/{waiting}")
    if keeps_pipe:
        os.kill(worker, signal.SIGKILL)
    parent.stdout.close()
    assert gone
