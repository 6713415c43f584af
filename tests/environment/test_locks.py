"""Lock files say exact versions, and digests where there are wheels; tools of others read them."""

from __future__ import annotations

import dataclasses
import errno
import hashlib
import json
import os
import sys
import tomllib
from pathlib import Path
from typing import Any

import numpy
import pytest
from packaging.pylock import Pylock
from packaging.requirements import Requirement

from packager._archive import ArchiveReader
from packager._cli import main
from packager._environment import Fingerprint, RecordedEnvironment
from packager._environment.interpreter import Interpreter
from packager._environment.locks import LockedWheel, pylock_text, requirements_text, wheels_held
from packager._environment.targets import Target
from packager._environment.wheels import Wheel
from tests.tables import one_test

from .conftest import MakeWheel, Record


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_requirements_without_wheels_are_exact_versions_of_all_that_stood_there(record: Record) -> None:
    archive = record({"tiny": "2.0+cpu", "Other_Name": "1.0"}, beside={"tiny": "2.0+cpu", "under": "0.1"})
    with ArchiveReader(archive) as reader:
        text = requirements_text(RecordedEnvironment.of(reader.manifest), wheels_held(reader))
    assert text == "other-name==1.0\ntiny==2.0+cpu\nunder==0.1\n"
    assert [Requirement(line).name for line in text.splitlines()] == ["other-name", "tiny", "under"]


def test_wheels_in_the_archive_give_their_digests(
    record: Record, make_wheel: MakeWheel, tmp_path: Path, capsys: Any
) -> None:
    wheels = [make_wheel("fast", "1.0", tag=tag) for tag in ("cp311-cp311-win32", "cp312-cp312-win32")]
    wheels.append(make_wheel("under", "3"))
    archive = record({"fast": "1.0"}, wheels=wheels)
    assert main(["env", "lock", str(archive)]) == 0
    digests = [sha256(wheel) for wheel in wheels]
    assert capsys.readouterr().out == (
        f"fast==1.0 \\\n    --hash=sha256:{digests[0]} \\\n    --hash=sha256:{digests[1]}\n"
        f"under==3 \\\n    --hash=sha256:{digests[2]}\n"
    )


@pytest.mark.parametrize("there", [False, True])
def test_a_full_disk_leaves_neither_a_lock_nor_half_a_wheel(
    record: Record,
    make_wheel: MakeWheel,
    tmp_path: Path,
    capsys: Any,
    monkeypatch: pytest.MonkeyPatch,
    there: bool,
) -> None:
    archive = record({"fast": "1.0"}, wheels=[make_wheel("fast", "1.0")])
    deploy = tmp_path / "deploy"
    deploy.mkdir()
    if there:
        (deploy / "wheels").mkdir()
        (deploy / "wheels" / "other.whl").write_text("other")

    def full(archive: object, wheels: object, folder: Path) -> None:
        (folder / "fast-1.0-py3-none-any.whl").write_bytes(b"half")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("packager._environment.locks.extract_wheels", full)
    assert main(["env", "lock", str(archive), "-o", str(deploy / "pylock.toml")]) == 3
    assert capsys.readouterr().err == (
        f"kellet: [Errno 28] No space left on device: '{deploy / 'pylock.toml'}'\n"
        "  free some space, or write to another disk\n"
    )
    left = sorted(str(path.relative_to(deploy)) for path in deploy.rglob("*"))
    assert left == (["wheels", "wheels/other.whl"] if there else [])


def test_a_lock_file_that_cannot_be_written_is_told_by_its_name(
    record: Record, tmp_path: Path, capsys: Any
) -> None:
    target = tmp_path / "not" / "here" / "requirements.txt"
    assert main(["env", "lock", str(record({"tiny": "1.0"})), "-o", str(target)]) == 3
    assert capsys.readouterr().err == f"kellet: [Errno 2] there is no such folder: '{target.parent}'\n"


def test_pylock_of_wheels_in_the_archive_is_one_by_pep_751(
    record: Record, make_wheel: MakeWheel, tmp_path: Path
) -> None:
    wheels = [make_wheel("fast", "1.0", tag="cp311-cp311-win32"), make_wheel("under", "3")]
    archive = record({"fast": "1.0"}, wheels=wheels)
    lock = tmp_path / "deploy" / "pylock.toml"
    lock.parent.mkdir()
    assert main(["env", "lock", str(archive), "-o", str(lock)]) == 0
    found = Pylock.from_dict(tomllib.loads(lock.read_text()))
    assert [(str(package.name), str(package.version)) for package in found.packages] == [
        ("fast", "1.0"),
        ("under", "3"),
    ]
    for package, wheel in zip(found.packages, wheels, strict=True):
        assert package.wheels is not None
        (one,) = package.wheels
        assert one.path == f"wheels/{wheel.name}"
        assert (lock.parent / one.path).read_bytes() == wheel.read_bytes()
        assert one.hashes == {"sha256": sha256(wheel)}


@one_test
@pytest.mark.parametrize(
    "folder",
    [
        "wheels \U0001f600",
        'a "b"',
        "c:\\new\\u0041",
        "\x01\t\n\r\x7f\x85\u2028",
        " ",
        "caf\u00e9/\uffff",
        "it's",
    ],
)
def test_pylock_names_a_folder_whatever_it_is_called(folder: str) -> None:
    wheel = Wheel.parse("fast-1.0-py3-none-any.whl")
    table = tomllib.loads(pylock_text([LockedWheel(wheel, "00")], folder))
    (package,) = Pylock.from_dict(table).packages
    assert package.wheels is not None
    assert [one.path for one in package.wheels] == [f"{folder}/fast-1.0-py3-none-any.whl"]


@pytest.mark.unix
def test_pylock_beside_a_folder_with_an_emoji_is_written_and_one_without_a_name_refused(
    record: Record, make_wheel: MakeWheel, tmp_path: Path, capsys: Any
) -> None:
    archive = record({"fast": "1.0"}, wheels=[make_wheel("fast", "1.0")])
    lock = tmp_path / "pylock.toml"
    order = ["env", "lock", str(archive), "-o", str(lock), "--wheels"]
    assert main([*order, str(tmp_path / "\U0001f600 \x1b")]) == 0
    (package,) = Pylock.from_dict(tomllib.loads(lock.read_text("utf-8"))).packages
    assert package.wheels is not None
    assert (tmp_path / str(package.wheels[0].path)).is_file()
    lock.unlink()
    assert main([*order, os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9")]) == 1
    assert "which is not Unicode text; rename it" in capsys.readouterr().err
    assert not lock.exists()


SYSTEMS = {
    "win-amd64": ("win32", "AMD64"),
    "win-arm64": ("win32", "ARM64"),
    "win32": ("win32", "AMD64"),  # 32 bits on a Windows of 64
    "macosx-11.0-arm64": ("darwin", "arm64"),
    "macosx-10.9-universal2": ("darwin", "x86_64"),
    "linux-x86_64": ("linux", "x86_64"),
    "linux-aarch64": ("linux", "aarch64"),
    "freebsd-14.0-release-amd64": ("freebsd14", "amd64"),
    "cygwin-3.4.6-x86_64": ("cygwin", "x86_64"),
}


@one_test
@pytest.mark.parametrize("platform", SYSTEMS)
def test_a_lock_for_one_python_applies_there_and_on_no_other_system(platform: str) -> None:
    python = Interpreter("", Fingerprint("3.12.1", "cpython", platform, "little"), (), SYSTEMS[platform][0])
    table = tomllib.loads(pylock_text([], "wheels", python))
    environments = Pylock.from_dict({"packages": [], **table}).environments
    assert environments is not None
    (marker,) = environments
    applies = {
        (system, series)
        for system, machine in SYSTEMS.values()
        for series in ("3.11", "3.12")
        if marker.evaluate({"sys_platform": system, "platform_machine": machine, "python_version": series})
    }
    assert applies == {(SYSTEMS[platform][0], "3.12")}


def test_a_lock_for_linux_applies_to_its_machine_alone() -> None:
    for machine in ("x86_64", "aarch64"):
        python = Target.parse(f"cp311-manylinux_2_28_{machine}").interpreter
        (written,) = tomllib.loads(pylock_text([], "wheels", python))["environments"]
        expected = f"python_version == '3.11' and sys_platform == 'linux' and platform_machine == '{machine}'"
        assert written == expected


def test_another_python_says_which_system_it_is_on() -> None:
    assert Interpreter.ask(sys.executable).system == Interpreter.here().system == sys.platform
    targets = {"win_amd64": "win32", "macosx_11_0_arm64": "darwin", "musllinux_1_2_x86_64": "linux"}
    assert {one: Target.parse(f"cp313-{one}").interpreter.system for one in targets} == targets


def test_pylock_without_wheels_asks_the_index(
    record: Record, make_wheel: MakeWheel, no_index: Path, tmp_path: Path
) -> None:
    # Runs pip, which takes more than a second.
    make_wheel("tiny", "1.0", requires=("under",))
    make_wheel("under", "1.0")
    make_wheel("under", "2.0")
    archive = record({"tiny": "1.0"}, beside={"tiny": "1.0", "under": "1.0"})
    lock = tmp_path / "pylock.toml"
    assert main(["env", "lock", str(archive), "-o", str(lock)]) == 0
    found = Pylock.from_dict(tomllib.loads(lock.read_text()))
    assert [(str(package.name), str(package.version)) for package in found.packages] == [
        ("tiny", "1.0"),
        ("under", "1.0"),
    ]
    assert found.environments is not None
    assert all(marker.evaluate() for marker in found.environments)
    assert sorted(path.name for path in (tmp_path / "wheels").iterdir()) == [
        "tiny-1.0-py3-none-any.whl",
        "under-1.0-py3-none-any.whl",
    ]


def test_a_lock_that_cannot_be_made_leaves_no_file(
    record: Record, no_index: Path, tmp_path: Path, capsys: Any
) -> None:
    lock = tmp_path / "pylock.toml"
    assert main(["env", "lock", str(record({"tiny": "1.0"})), "-o", str(lock)]) == 1
    assert "no tiny 1.0 for Python 3" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir() if "lock" in path.name] == []


def test_check_says_by_its_exit_code_whether_the_externs_are_there(record: Record, capsys: Any) -> None:
    assert main(["env", "check", str(record({"numpy": numpy.__version__}))]) == 0
    assert capsys.readouterr().out.endswith("the environment is as recorded\n")
    assert main(["env", "check", str(record({"numpy": "99.1"})), "--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert report["ok"] is False
    assert report["differences"] == [
        {
            "kind": "version",
            "subject": "numpy",
            "recorded": "99.1 (numpy>=99.1,<100)",
            "found": numpy.__version__,
        }
    ]
    assert report["install"] == "python -m pip install 'numpy>=99.1,<100'"


def test_another_python_is_told_and_counts_when_strict(record: Record, capsys: Any) -> None:
    archive = record({}, fingerprint=dataclasses.replace(Fingerprint.here(), python="3.10.1"))
    assert main(["env", "check", str(archive)]) == 0
    assert "Python: recorded cpython 3.10, found cpython 3." in capsys.readouterr().out
    assert main(["env", "check", str(archive), "--strict"]) == 1


@pytest.mark.parametrize("damage", ["cut", "flip"])
def test_a_damaged_archive_is_told_by_every_part(
    record: Record, damage: str, tmp_path: Path, capsys: Any
) -> None:
    path = record({"tiny": "1.0"})
    data = bytearray(path.read_bytes())
    if damage == "cut":
        del data[-30:]
    else:
        data[len(data) // 2] ^= 1
    path.write_bytes(data)
    for arguments in (["check", path], ["lock", path], ["create", path, tmp_path / "env"]):
        assert main(["env", *map(str, arguments)]) == 3
        assert capsys.readouterr().err.startswith("kellet: ")
    assert not (tmp_path / "env").exists()
