"""A new environment holds exactly what was recorded, or is not there.

Each test that installs runs pip or venv, which takes seconds.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from packager._archive import ArchiveReader
from packager._cli import main
from packager._environment import Interpreter
from packager._environment.creating import CreatedEnvironment, create_environment
from packager._environment.errors import (
    DiskFullError,
    EnvironmentBuildError,
    FolderError,
    NoSuchVersionError,
    ToolMissingError,
    WrongPlatformError,
    WrongPythonError,
)
from packager._version import installed_version
from packager.errors import ArchiveError, PackageError
from tests import processes

from .conftest import MakeWheel, Record


def create(path: Path, folder: Path, **options: Any) -> CreatedEnvironment:
    with ArchiveReader(path) as archive:
        return create_environment(archive, folder, **{"packager": False, **options})


def script(path: Path, text: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def test_exactly_the_recorded_versions_are_installed(
    record: Record, make_wheel: MakeWheel, no_index: Path, tmp_path: Path
) -> None:
    make_wheel("tiny", "1.0", requires=("under>=1",))
    make_wheel("tiny", "1.1")
    make_wheel("under", "1.0")
    make_wheel("under", "2.0")
    archive = record({"tiny": "1.0"}, beside={"tiny": "1.0", "under": "1.0"})
    made = create(archive, tmp_path / "env", installer="pip")
    assert made.installed == ("tiny==1.0",)
    assert str(made.report) == "the environment is as recorded"
    question = "import tiny, under; print(tiny.__version__, under.__version__)"
    done = processes.run([made.python, "-c", question], capture_output=True, text=True, check=True)
    assert done.stdout == "1.0 1.0\n"


def test_packager_is_there_to_open_the_archive(
    record: Record, needs_of_packager: list[Path], no_index: Path, tmp_path: Path
) -> None:
    """Whatever was recorded: an archive of plain NumPy says nothing of what opens it."""
    archive = record({})
    made = create(archive, tmp_path / "env", installer="pip", packager=None)
    assert made.installed == (f"kellet=={installed_version()}",)
    assert (tmp_path / "env" / "bin" / "packager").exists()
    for folder, how in (("offline", {"offline": True}), ("without", {"packager": False})):
        made = create(archive, tmp_path / folder, **{"installer": "pip", "packager": None, **how})
        assert made.installed == ()
        assert made.lacking == (("importlib-metadata", "msgpack", "numpy") if "offline" in how else ())


def test_what_packager_lacks_is_told_where_it_was_asked_for(record: Record, tmp_path: Path) -> None:
    with pytest.raises(EnvironmentBuildError, match=r"no wheel of importlib-metadata.*, which kellet"):
        create(record({}), tmp_path / "env", installer="pip", offline=True, packager=True)
    assert not (tmp_path / "env").exists()


def test_the_command_says_that_packager_is_not_there(
    record: Record, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["env", "create", str(record({})), str(tmp_path / "env"), "--offline", "--installer", "pip"]
    assert main(command) == 0
    assert capsys.readouterr().out.splitlines()[1] == (
        "this environment cannot open the archive: packager is not in it, for lack of a wheel of "
        "importlib-metadata, msgpack, numpy. Leave out --offline, name a folder with these wheels by "
        "--find-links, or export again with --vendor-wheels"
    )


def test_a_version_that_nobody_offers_leaves_nothing_behind(
    record: Record, make_wheel: MakeWheel, no_index: Path, tmp_path: Path
) -> None:
    make_wheel("tiny", "1.1")
    archive = record({"tiny": "1.0"})
    with pytest.raises(
        NoSuchVersionError, match=r"no tiny 1\.0 for Python 3.*there are: 1\.1; give a folder"
    ):
        create(archive, tmp_path / "env", installer="pip")
    assert not (tmp_path / "env").exists()


def test_offline_takes_the_wheels_of_the_archive_alone(
    record: Record, make_wheel: MakeWheel, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    wheel = make_wheel("tiny", "1.0")
    archive = record({"tiny": "1.0"}, wheels=[wheel])
    wheel.unlink()
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")  # where nobody answers
    made = create(archive, tmp_path / "env", installer="pip", offline=True)
    assert not made.report
    with pytest.raises(EnvironmentBuildError, match=r"something exists there already\. Remove it"):
        create(archive, tmp_path / "env", offline=True)
    assert os.path.exists(made.python)


def test_a_wheel_for_another_platform_is_told_before_anything_is_made(
    record: Record, make_wheel: MakeWheel, tmp_path: Path
) -> None:
    wheels = [make_wheel("fast", "1.0", tag=tag) for tag in ("cp39-cp39-win_amd64", "cp310-cp310-win32")]
    archive = record({"fast": "1.0"}, wheels=wheels)
    with pytest.raises(
        WrongPlatformError,
        match=r"has fast for cp310-win32, cp39-win_amd64; this is cp3.*--vendor-wheels cp3",
    ):
        create(archive, tmp_path / "env", offline=True)
    assert not (tmp_path / "env").exists()


def test_an_extern_without_a_wheel_is_told_before_anything_is_made(record: Record, tmp_path: Path) -> None:
    with pytest.raises(EnvironmentBuildError, match="the archive has no wheel of tiny; leave out --offline"):
        create(record({"tiny": "1.0"}), tmp_path / "env", offline=True)
    assert not (tmp_path / "env").exists()


def test_an_empty_folder_is_taken_and_given_back_empty(record: Record, tmp_path: Path) -> None:
    (tmp_path / "env").mkdir()
    with pytest.raises(EnvironmentBuildError, match="no wheel of tiny"):
        create(record({"tiny": "1.0"}), tmp_path / "env", offline=True)
    assert list((tmp_path / "env").iterdir()) == []


def test_no_room_is_told_and_leaves_nothing_behind(
    record: Record, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    uv = 'if [ "$1" = venv ]; then for last; do :; done; mkdir -p "$last/bin"; '
    uv += f'ln -s "{sys.executable}" "$last/bin/python"; exit 0; fi\n'
    uv += 'echo "error: failed to write: No space left on device (os error 28)" >&2; exit 2'
    script(tmp_path / "bin" / "uv", uv)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    with pytest.raises(DiskFullError, match="no space left on the disk; nothing was left behind") as caught:
        create(record({"tiny": "1.0"}), tmp_path / "env", installer="uv")
    assert caught.value.errno == 28
    assert not (tmp_path / "env").exists()


def test_a_folder_that_cannot_be_made_is_told(record: Record, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for folder, told in (("file/env", "Not a directory"), ("n" * 300, "File name too long")):
        with pytest.raises(
            FolderError, match=rf"^environment .*{folder}: {told}; nothing was left behind; name"
        ):
            create(record({}), tmp_path / folder, installer="pip")
        command = ["env", "create", str(record({})), str(tmp_path / folder), "--no-packager"]
        assert main([*command, "--installer", "pip"]) == 3


def test_an_old_python_is_told(record: Record, tmp_path: Path) -> None:
    old = script(
        tmp_path / "bin" / "python3.8",
        'echo \'{"python": "3.8.1", "implementation": "cpython", "platform": "linux-x86_64",'
        ' "byteorder": "little", "path": [], "system": "linux"}\'',
    )
    with pytest.raises(WrongPythonError, match=r"found Python 3\.8\.1; expected 3\.11 or later"):
        create(record({}), tmp_path / "env", python=old)
    with pytest.raises(EnvironmentBuildError, match="no-python: no Python answers there"):
        create(record({}), tmp_path / "env", python=tmp_path / "no-python")
    assert not (tmp_path / "env").exists()


def test_a_wheel_that_needs_a_newer_python_is_told(
    record: Record, make_wheel: MakeWheel, no_index: Path, tmp_path: Path
) -> None:
    make_wheel("tiny", "1.0", more="Requires-Python: >=3.99")
    with pytest.raises(PackageError, match=r"tiny") as caught:
        create(record({"tiny": "1.0"}), tmp_path / "env", installer="pip")
    assert isinstance(caught.value, WrongPythonError)
    assert "needs Python >=3.99" in str(caught.value)


def test_an_installer_that_is_not_there_is_told(
    record: Record, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(
        ToolMissingError, match=r"uv was not found on PATH\. Put it there, or use pip: --installer pip"
    ):
        create(record({}), tmp_path / "env", installer="uv")


def test_modules_of_no_distribution_are_in_the_report(record: Record, tmp_path: Path) -> None:
    made = create(record({}, homeless=("loose_module",)), tmp_path / "env", installer="pip")
    assert made.installed == ()
    assert made.report.missing == ("loose_module",)


@pytest.mark.parametrize("name", ["--index-url=http://evil", "tiny @ file:///evil", "-r", "", "a\nb"])
def test_a_name_that_pip_would_take_for_something_else_is_refused(
    record: Record, name: str, tmp_path: Path
) -> None:
    archive = record({"tiny": "1.0"}, beside={name: "1.0"})
    with pytest.raises(ArchiveError, match=r"found the distribution .*; expected a name as PyPI has them"):
        create(archive, tmp_path / "env")


def test_the_running_python_answers_as_itself() -> None:
    assert Interpreter.ask(sys.executable).fingerprint == Interpreter.here().fingerprint


def test_a_python_is_named_from_the_current_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, record: Record, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "env" / "bin").mkdir(parents=True)
    (tmp_path / "env" / "bin" / "python").symlink_to(sys.executable)
    monkeypatch.chdir(tmp_path / "env")
    for shown in ("bin/python", "../env/bin/python", "./bin/../bin/python"):
        assert Interpreter.ask(shown).executable == str(tmp_path / "env" / "bin" / "python")
    assert main(["env", "check", str(record({})), "--python", "bin/python"]) == 0
    assert capsys.readouterr().out.endswith("the environment is as recorded\n")


PYENV = "pyenv: python3.12: command not found\n\nThe `python3.12' command exists in these versions:\n  3.12.1"


@pytest.mark.parametrize(
    ("says", "told"),
    [
        (
            f'echo "{PYENV.replace("`", chr(92) + "`")}" >&2; exit 127',
            "exit code 127: " + " ".join(PYENV.split()),
        ),
        ("exit 3", "exit code 3"),
        ("kill -9 $$", "signal 9"),
        ("echo hello", "its answer is not that of a Python"),
        ("echo '[1]'", "its answer is not that of a Python"),
        ("echo '{}'", "its answer is not that of a Python"),
        ("yes x | head -n 5000 >&2; exit 1", "exit code 1: " + ("x " * 100)),
    ],
)
def test_what_is_no_python_is_told_in_one_line(
    says: str, told: str, record: Record, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A shim of pyenv, for one, starts a Python only where one was chosen for the folder."""
    shim = script(tmp_path / "bin" / "python3.12", says)
    assert main(["env", "check", str(record({})), "--python", str(shim)]) == 1
    assert capsys.readouterr().err == (
        f"kellet: {shim}: no Python answers there ({told}); name one, as --python {sys.executable}\n"
    )


@pytest.mark.parametrize("named", ["made", "./made", "{tmp_path}/made"])
def test_the_folder_of_an_environment_is_answered_with_the_python_in_it(
    named: str,
    record: Record,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    archive = str(record({}))
    script(tmp_path / "made" / "python", "exit 0").rename(tmp_path / "python")
    (tmp_path / "made" / "bin").mkdir()
    (tmp_path / "python").rename(tmp_path / "made" / "bin" / "python")
    monkeypatch.chdir(tmp_path)
    assert main(["env", "check", archive, "--python", named.format(tmp_path=tmp_path)]) == 1
    shown = "made" if named == "made" else str(tmp_path / "made")
    said = capsys.readouterr().err
    assert said.startswith(f"kellet: {shown}: no Python answers there (")
    assert said.endswith(f"); name one, as --python {shown}/bin/python\n")


def test_without_packaging_it_says_what_to_install_and_versions_are_still_locked(
    record: Record,
    make_wheel: MakeWheel,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setitem(sys.modules, "packaging", None)
    archive = record({"tiny": "1.0"}, wheels=[make_wheel("tiny", "1.0")])
    with pytest.raises(ToolMissingError, match=r"Install it: python -m pip install 'kellet\[env\]'"):
        create(archive, tmp_path / "env", installer="pip")
    assert not (tmp_path / "env").exists()
    assert main(["inspect", str(archive)]) == 0
    assert main(["env", "check", str(archive)]) == 1
    assert main(["env", "lock", str(archive)]) == 0
    assert capsys.readouterr().out.partition("tiny==1.0 \\\n")[2].startswith("    --hash=sha256:")
