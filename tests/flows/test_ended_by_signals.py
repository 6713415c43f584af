"""Commands that are ended: nothing stays behind, and what SIGKILL leaves goes with the next one."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from packager import PackageExporter
from packager._archive import ArchiveWriter, Manifest
from packager._atomic import TemporaryFolder, temporary_folder
from tests import processes

# Unix: of signals, and of the group of processes that a signal ends.
pytestmark = [pytest.mark.unix, pytest.mark.processes(share=3)]


def started(tmp_path: Path, *arguments: object) -> processes.Popen[str]:
    (tmp_path / "tmp").mkdir(exist_ok=True)
    environment = {**os.environ, "TMPDIR": str(tmp_path / "tmp"), "KELLET_CACHE": str(tmp_path / "cache")}
    return processes.Popen(
        [sys.executable, "-m", "packager", *map(str, arguments)],
        stdout=processes.PIPE,
        stderr=processes.PIPE,
        text=True,
        env=environment,
    )


def wait_for(found: Callable[[], object], process: processes.Popen[str]) -> None:
    end = time.monotonic() + 60
    while not found():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.001)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An archive that takes a while to extract."""
    return archive_of(20_000, tmp_path_factory.mktemp("many"))


@pytest.fixture
def many(written: Path, tmp_path: Path) -> Path:
    """That archive in a place of its own, where nobody writes to it."""
    os.link(written, tmp_path / written.name)
    return tmp_path / written.name


def archive_of(count: int, folder: Path) -> Path:
    with ArchiveWriter(folder / "many.kellet", fsync=False) as writer:
        for number in range(count):
            writer.add(f"net/{number}", b"x", kind="resource")
        writer.seal(Manifest())
    return folder / "many.kellet"


def parts(folder: Path) -> list[Path]:
    return list(folder.glob(".*.kellet-part"))


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130)]
)
def test_extract_leaves_nothing(number: signal.Signals, code: int, many: Path, tmp_path: Path) -> None:
    process = started(tmp_path, "extract", many, tmp_path / "out")
    wait_for(lambda: parts(tmp_path), process)
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == code, errors
    assert errors.endswith("nothing is half-written\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["many.kellet", "tmp"]
    assert list((tmp_path / "tmp").iterdir()) == []


def test_what_a_killed_one_leaves_goes_with_the_next(many: Path, tmp_path: Path) -> None:
    process = started(tmp_path, "extract", many, tmp_path / "out")
    wait_for(lambda: parts(tmp_path), process)
    process.kill()
    process.communicate(timeout=60)
    assert len(parts(tmp_path)) == 1
    (small := tmp_path / "small").mkdir()
    with ArchiveWriter(small / "x.kellet") as writer:
        writer.add("a", b"x", kind="resource")
        writer.seal(Manifest())
    process = started(tmp_path, "extract", small / "x.kellet", tmp_path / "other")
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    assert parts(tmp_path) == []
    assert (tmp_path / "other" / "a").read_bytes() == b"x"


SLOW = """
import os, time
here = open(__file__).close()
def answer(x):
    open(os.environ["READY"], "w").close()
    while True:
        time.sleep(0.01)  # one long sleep would miss a signal that comes just before it
class Net:
    def __call__(self, arg0):
        return answer(arg0)
"""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_run_takes_its_stubs_with_it(
    number: signal.Signals, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import numpy as np

    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "slowpkg.py").write_text(SLOW)
    monkeypatch.syspath_prepend(str(tmp_path / "lib"))
    import slowpkg  # type: ignore[import-not-found]  # written above

    with PackageExporter(tmp_path / "net.kellet", policy="auto") as exporter:
        exporter.save_object("model", "model", slowpkg.Net())
    np.savez(tmp_path / "x.npz", arg0=np.ones(1))
    monkeypatch.setenv("READY", str(tmp_path / "ready"))
    (tmp_path / "cache").touch()  # no folder can be made there: code goes to a temporary one
    process = started(tmp_path, "run", tmp_path / "net.kellet", "--input", tmp_path / "x.npz")
    wait_for((tmp_path / "ready").exists, process)
    kinds = {path.name.split("-")[1] for path in (tmp_path / "tmp").iterdir()}
    assert kinds == {"of", "code"}  # those of stubs lie in one for all of this user
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == code, errors
    assert list((tmp_path / "tmp").iterdir()) == []
    sys.modules.pop("slowpkg")


def test_a_process_that_was_started_to_ignore_hangups_still_does(tmp_path: Path) -> None:
    many = archive_of(4000, tmp_path)  # all of it is extracted
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        process = started(tmp_path, "extract", many, tmp_path / "out")
    finally:
        signal.signal(signal.SIGHUP, before)
    wait_for(lambda: parts(tmp_path), process)
    process.send_signal(signal.SIGHUP)
    process.communicate(timeout=100)
    assert process.returncode == 0


def test_a_library_leaves_signals_alone() -> None:
    script = (
        "import signal, packager, packager._cli; from packager import PackageImporter; packager._cli.main;"
        "print(signal.getsignal(signal.SIGTERM) is signal.SIG_DFL)"
    )
    done = processes.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == "True\n"


KILLED = """
import os
from packager._atomic import TemporaryFolder
folder, apart = TemporaryFolder("wheels"), TemporaryFolder("stubs", apart=True)
os.kill(os.getpid(), 9)
"""


def test_temporary_folders_of_the_killed_go_and_those_at_work_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    processes.run([sys.executable, "-c", KILLED], env=environment, timeout=60, check=False)
    (tmp_path / "kellet-others").mkdir()
    apart = tmp_path / f"kellet-of-{os.geteuid()}"
    assert len(list(tmp_path.iterdir())) == 3
    assert len(list(apart.iterdir())) == 1
    at_work, others = (TemporaryFolder("stubs", apart=True) for _ in range(2))
    assert {str(path) for path in apart.iterdir()} == {at_work.path, others.path}
    with temporary_folder("env") as folder:
        assert os.path.isdir(at_work.path)
        assert sorted(map(str, tmp_path.iterdir())) == sorted(
            [str(apart), folder, str(tmp_path / "kellet-others")]
        )
    at_work.close()
    assert [str(path) for path in apart.iterdir()] == [others.path]
    others.close()
    assert [path.name for path in tmp_path.iterdir()] == ["kellet-others"]


@pytest.mark.unix
@pytest.mark.parametrize("taken", ["a file", "a link", "open to others"])
def test_what_has_the_name_of_the_folder_apart_is_left_alone(
    taken: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    place = tmp_path / f"kellet-of-{os.geteuid()}"
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    if taken == "a file":
        place.touch()
    elif taken == "a link":
        place.symlink_to(tmp_path / "elsewhere")
    else:
        place.mkdir()
        place.chmod(0o777)
    folder = TemporaryFolder("stubs", apart=True)
    assert os.path.dirname(folder.path) == str(tmp_path)
    assert list((tmp_path / "elsewhere").iterdir()) == []
    folder.close()
    assert os.path.lexists(place)


@pytest.mark.unix
def test_a_folder_apart_is_made_anew_where_the_last_one_in_it_has_just_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    make, removed = os.mkdir, list[str]()

    def slow(path: str, mode: int = 0o777) -> None:
        if "-stubs-" in path and not removed:
            removed.append(os.path.dirname(path))
            os.rmdir(removed[-1])
        make(path, mode)

    monkeypatch.setattr("os.mkdir", slow)
    folder = TemporaryFolder("stubs", apart=True)
    assert removed == [os.path.dirname(folder.path)]
    assert os.path.isdir(folder.path)
    folder.close()
    assert list(tmp_path.iterdir()) == []
