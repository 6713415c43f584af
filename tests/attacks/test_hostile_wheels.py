"""Wheels that would run code as Python starts: making an environment of them runs none of it.

Each abuse is a wheel in an archive that has a twin whose environment is made, and works.
"""

from __future__ import annotations

import dataclasses
import io
import json
import os
import sys
import tarfile
import zipfile
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest

from packager._archive import (
    MAX_WHEEL_DIRECTORY,
    MAX_WHEEL_METADATA,
    ArchiveReader,
    ArchiveWriter,
    ExternRecord,
    Manifest,
    Verification,
)
from packager._cli import main
from packager._environment import Fingerprint, Interpreter
from packager._environment.creating import CreatedEnvironment, create_environment
from packager._environment.errors import EnvironmentBuildError, NoSuchVersionError, SourceOnlyError
from packager._environment.installers import Installer, Wanted, explained, run_tool
from packager._environment.locks import resolve_wheels
from packager._environment.own import wheel_of
from packager._environment.targets import Target
from packager._environment.vendoring import fetch_wheels
from packager._environment.wheel_contents import acting_files
from packager._environment.wheels import WHEELS
from packager._loading.verifying import verify
from tests import processes

pytestmark = pytest.mark.processes(share=3)

INFO = "tiny-1.0.dist-info"
HONEST = {"tiny.py": b"VALUE = 3\n", f"{INFO}/METADATA": b"Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n"}


@pytest.fixture
def marker(tmp_path: Path) -> Path:
    """What code of a wheel would write."""
    return tmp_path / "marker"


def writes(marker: Path) -> str:
    return f"import os; open({str(marker)!r}, 'a').write('ran')"


def hostile(marker: Path) -> Mapping[str, Mapping[str, bytes]]:
    code = writes(marker).encode()
    series = f"python{sys.version_info.major}.{sys.version_info.minor}"
    shell = b"#!/bin/sh\necho ran >> " + str(marker).encode() + b"\necho '{}'\n"
    return {
        "a .pth file": {"tiny.pth": code + b"\n"},
        "a .pth file of a namespace": {"tiny-1.0-py3.11-nspkg.pth": code + b"\n"},
        "a .pth file that imports": {"a.pth": b"import tiny_start\n", "tiny_start.py": code},
        "sitecustomize": {"sitecustomize.py": code},
        "usercustomize": {"usercustomize.py": code},
        "modules of the library and of pip": {
            f"{name}.py": code for name in ("json", "site", "pip", "_manylinux", "platform", "sysconfig")
        },
        "an editable finder": {
            "__editable___tiny_finder.py": code,
            "__editable__.tiny.pth": b"import __editable___tiny_finder\n",
        },
        "another python": {
            f"tiny-1.0.data/scripts/{name}": shell for name in ("python", "python3", series, "python.exe")
        },
        "another library": {
            "tiny-1.0.data/data/pyvenv.cfg": b"home = fake/bin\n",
            f"tiny-1.0.data/data/lib/{series}/os.py": code,
            f"tiny-1.0.data/data/lib/{series}/encodings/__init__.py": code,
            f"tiny-1.0.data/data/lib/{series}/site.py": code,
        },
        "entry points": {f"{INFO}/entry_points.txt": b"[console_scripts]\npip = tiny:main\n"},
    }


NAMES = list(hostile(Path()))
Make = Callable[..., Path]


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    """Write an archive that needs tiny 1.0, and holds a wheel of it with the given files besides."""
    see_no_index(monkeypatch)
    return partial(written, tmp_path / "net.kellet")


def see_no_index(patch: pytest.MonkeyPatch) -> None:
    patch.setenv("PIP_CONFIG_FILE", "/dev/null")
    patch.setenv("PIP_NO_INDEX", "1")
    patch.setenv("KELLET_COLD_PIP", "1")  # a fork of the server would have imported what a wheel can hide


def written(path: Path, more: Mapping[str, bytes] | None) -> Path:
    row = ExternRecord("tiny", "installed", "tiny", "1.0", "tiny>=1.0,<2")
    environment = {**dataclasses.asdict(Fingerprint.here()), "distributions": {"tiny": "1.0"}}
    with ArchiveWriter(path, fsync=False) as writer:
        if more is not None:
            file, data = wheel_of({**HONEST, **more}, "tiny", "1.0")
            writer.add(WHEELS + file, executable(data), kind="resource")
        writer.seal(Manifest(externs=(row,), environment=environment))
    return path


@dataclasses.dataclass(frozen=True)
class Made:
    """An environment, the archive that it was made of, and the marker of the wheel's code."""

    archive: Path
    marker: Path
    environment: CreatedEnvironment


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Made]:
    """Make the environment of an abuse, or of the honest wheel: once for all that look at it."""

    @cache
    def made(name: str) -> Made:
        folder = tmp_path_factory.mktemp("made")
        marker = folder / "marker"
        path = written(folder / "net.kellet", {} if name == "honest" else hostile(marker)[name])
        with pytest.MonkeyPatch.context() as patch:
            see_no_index(patch)
            return Made(path, marker, create(path, folder / "env", offline=True))

    return made


def create(path: Path, folder: Path, **options: Any) -> CreatedEnvironment:
    with ArchiveReader(path) as reader:
        return create_environment(reader, folder, installer="pip", packager=False, **options)


def executable(wheel: bytes) -> bytes:
    """The wheel, its scripts marked as programs."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(wheel)) as given, zipfile.ZipFile(file, "w") as made:
        for info in given.infolist():
            if "/scripts/" in info.filename:
                info.external_attr = 0o100755 << 16
            made.writestr(info, given.read(info.filename))
    return file.getvalue()


SERIES = f"python{sys.version_info.major}.{sys.version_info.minor}"
# The files that act by themselves, as they are in the wheel, and as installed.
ACTING: Mapping[str, tuple[list[str], list[str]]] = {
    "a .pth file": (["tiny.pth"], ["tiny.pth"]),
    "a .pth file of a namespace": (["tiny-1.0-py3.11-nspkg.pth"], ["tiny-1.0-py3.11-nspkg.pth"]),
    "a .pth file that imports": (["a.pth"], ["a.pth"]),
    "sitecustomize": (["sitecustomize.py"], ["sitecustomize.py"]),
    "usercustomize": (["usercustomize.py"], ["usercustomize.py"]),
    "modules of the library and of pip": ([], []),
    "an editable finder": (["__editable__.tiny.pth"], ["__editable__.tiny.pth"]),
    "another python": (
        [f"tiny-1.0.data/scripts/{name}" for name in ("python", "python.exe", SERIES, "python3")],
        [f"../../../bin/{name}" for name in ("python", "python.exe", SERIES, "python3")],
    ),
    "another library": (
        [f"tiny-1.0.data/data/lib/{SERIES}/{name}" for name in ("encodings/__init__.py", "os.py", "site.py")]
        + ["tiny-1.0.data/data/pyvenv.cfg"],
        ["../../../pyvenv.cfg", "../encodings/__init__.py", "../os.py", "../site.py"],
    ),
    "entry points": (  # pip makes three programs of this one
        ["entry point pip"],
        [f"../../../bin/{name}" for name in ("pip", "pip3", SERIES.replace("python", "pip"))],
    ),
}


@pytest.mark.parametrize("name", NAMES)
def test_nothing_in_a_wheel_runs_when_an_environment_is_made(made: Callable[[str], Made], name: str) -> None:
    environment = made(name).environment
    assert environment.installed == ("tiny==1.0",)
    assert not environment.report
    assert not made(name).marker.exists()
    assert sorted(one.path for one in environment.acting.get("tiny", ())) == sorted(ACTING[name][1])


@pytest.mark.parametrize("name", NAMES)
def test_inspect_shows_what_will_act_by_itself_and_runs_nothing(
    archive: Make, marker: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = archive(hostile(marker)[name])
    assert main(["inspect", str(path), "--json"]) == 0
    (wheel,) = json.loads(capsys.readouterr().out)["wheels"]
    assert (wheel["name"], wheel["version"], wheel["requires"]) == ("tiny", "1.0", [])
    assert sorted(one["path"] for one in wheel["acting"]) == sorted(ACTING[name][0])
    assert {one["kind"] for one in wheel["acting"]} <= {"startup", "replaces"}
    assert main(["inspect", str(path)]) == 0
    out = capsys.readouterr().out
    assert all(f"  {shown}  " in out for shown in ACTING[name][0])
    assert ("files of wheels that run by themselves once installed" in out) is bool(ACTING[name][0])
    assert not marker.exists()


def test_the_command_says_what_will_act_by_itself(
    archive: Make, tmp_path: Path, marker: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = archive({**hostile(marker)["a .pth file"], "tiny-1.0.data/scripts/tiny-tool": b"#!/bin/sh\n"})
    command = ["env", "create", str(path), str(tmp_path / "env"), "--offline", "--installer", "pip"]
    assert main([*command, "--no-packager"]) == 0
    out = capsys.readouterr().out
    why = "Python reads it as it starts, and runs its lines that begin with import"
    assert out.splitlines()[1:] == [f"warning: tiny brings tiny.pth: {why}"]
    assert main(["inspect", str(path)]) == 0
    assert (
        "tiny-1.0.data/scripts/tiny-tool  a program beside the environment's Python"
        in capsys.readouterr().out
    )


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("SiteCustomize/__init__.py", "startup"),
        ("sitecustomize.cpython-311-x86_64-linux-gnu.so", "startup"),
        ("tiny-1.0.data/purelib/x.PTH", "startup"),
        ("tiny-1.0.data/platlib/usercustomize.py", "startup"),
        ("tiny-1.0.data/data/lib/python3.12/site-packages/x.pth", "startup"),
        ("tiny-1.0.data/data/lib64/python3.12/dist-packages/sitecustomize.py", "startup"),
        ("tiny-1.0.data/data/Lib/site-packages/x.pth", "startup"),
        ("tiny-1.0.data/data/bin/python3", "replaces"),
        ("tiny-1.0.data/data/Scripts/pip.exe", "replaces"),
        ("tiny-1.0.data/scripts/activate.fish", "replaces"),
        ("tiny-1.0.data/scripts/pip3.11", "replaces"),
        ("tiny-1.0.data/data/Lib/os.py", "replaces"),
        ("tiny-1.0.data/scripts/git", "script"),
        ("tiny-1.0.data/data/bin/git", "script"),
        ("tiny/sitecustomize.py", None),
        ("tiny/x.pth", None),
        ("sitecustomize_tools.py", None),
        ("tiny-1.0.data/data/share/man/python.1", None),
        ("tiny-1.0.data/headers/pyvenv.cfg", None),
        ("tiny-1.0.dist-info/METADATA", None),
    ],
)
def test_what_acts_by_itself_is_known_by_where_it_is_put(path: str, kind: str | None) -> None:
    assert [one.kind for one in acting_files([path])] == ([] if kind is None else [kind])


def bomb(method: int) -> bytes:
    """A wheel whose METADATA is short in the file, and long beyond all bounds."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as wheel:
        wheel.writestr(f"{INFO}/METADATA", HONEST[f"{INFO}/METADATA"] + b"X: " + bytes(MAX_WHEEL_METADATA))
    return file.getvalue()


def long_list() -> bytes:
    """A wheel with a list of files that is longer than any honest one."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as wheel:
        for number in range(MAX_WHEEL_DIRECTORY // 60_000 + 2):
            wheel.writestr(f"{number}{'x' * 60_000}", b"")
    return file.getvalue()


TINY_WHEEL = wheel_of(HONEST, "tiny", "1.0")[1]
BROKEN: Mapping[str, tuple[Callable[[], bytes], str]] = {
    "nothing": (lambda: b"", "not a wheel"),
    "no ZIP": (lambda: b"x" * 5000, "not a wheel"),
    "cut short": (lambda: TINY_WHEEL[:-30], "not a wheel"),
    "other bytes in front": (lambda: TINY_WHEEL[len(TINY_WHEEL) // 2 :], "not a wheel"),
    "no METADATA": (lambda: wheel_of({"tiny.py": b""}, "tiny", "1.0")[1], "not a wheel"),
    "two of them": (
        lambda: wheel_of({**HONEST, "other-1.dist-info/METADATA": b"Name: tiny\n"}, "tiny", "1.0")[1],
        "not a wheel",
    ),
    "a bomb": (
        lambda: bomb(zipfile.ZIP_DEFLATED),
        "METADATA has 4194305 bytes and more",
    ),
    "another compression": (lambda: bomb(zipfile.ZIP_LZMA), "compressed in another way"),
    "a long list": (long_list, "is read at once; the limit is 8388608 bytes"),
    "entry points that are no text": (
        lambda: wheel_of({**HONEST, f"{INFO}/entry_points.txt": b"\xff\xfe"}, "tiny", "1.0")[1],
        "not a wheel",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_no_wheel_is_said_and_neither_shown_nor_installed(
    archive: Make, tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    make, said = BROKEN[name]
    path = tmp_path / "broken.kellet"
    with ArchiveReader(archive({})) as reader, ArchiveWriter(path, fsync=False) as writer:
        writer.add(f"{WHEELS}tiny-1.0-py3-none-any.whl", make(), kind="resource")
        writer.seal(reader.manifest)
    assert main(["inspect", str(path), "--json"]) == 0
    (wheel,) = json.loads(capsys.readouterr().out)["wheels"]
    assert said in wheel["problem"]
    assert main(["inspect", str(path)]) == 0
    assert said in capsys.readouterr().out
    with pytest.raises(EnvironmentBuildError, match=said):
        create(path, tmp_path / "env", offline=True)
    assert not (tmp_path / "env").exists()


def test_the_environment_of_an_honest_wheel_works(made: Callable[[str], Made]) -> None:
    for name in ("honest", "a .pth file"):
        one = made(name)
        assert not one.marker.exists()
        done = processes.run(
            [one.environment.python, "-c", "import tiny; print(tiny.VALUE)"],
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout == "3\n"
        # What was not run before is there, and runs when the user starts that Python.
        assert one.marker.exists() is (name != "honest")
        one.marker.unlink(missing_ok=True)


def test_the_command_runs_nothing_either_also_from_a_folder_of_modules(
    archive: Make, tmp_path: Path, marker: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = archive(hostile(marker)["sitecustomize"])
    folder = tmp_path / "extracted"
    for name in ("pip", "venv", "json", "ensurepip"):
        folder.mkdir(exist_ok=True)
        (folder / f"{name}.py").write_text(writes(marker))
    monkeypatch.chdir(folder)
    assert main(["env", "create", str(path), "env", "--offline", "--installer", "pip"]) == 0
    assert (folder / "env").is_dir()
    assert not marker.exists()


@pytest.mark.parametrize("name", [name for name in NAMES if not name.startswith("another")])
def test_an_environment_is_asked_without_running_what_is_installed_there(
    made: Callable[[str], Made], tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path, python = str(made(name).archive), made(name).environment.python
    asked = Interpreter.ask(python)
    assert asked.fingerprint == Fingerprint.here()
    assert main(["env", "check", path, "--python", python]) == 0
    options = ["--python", python, "--offline", "--installer", "pip"]
    assert main(["env", "create", path, str(tmp_path / "two"), *options]) == 0
    assert not made(name).marker.exists()
    assert "as recorded" in capsys.readouterr().out


@pytest.mark.parametrize("shared", [False, True])
def test_a_python_that_is_asked_tells_the_path_that_it_would_have(
    tmp_path: Path, shared: bool, link_environment: Callable[..., Path]
) -> None:
    python = link_environment(tmp_path / "env", system=shared)
    (site,) = (tmp_path / "env/lib").glob("python*/site-packages")
    (tmp_path / "beside").mkdir()
    lines = ["# a comment", "", str(tmp_path / "beside"), "../absent", "import os", ".."]
    (site / "paths.pth").write_text("\n".join(lines) + "\n")
    told = processes.run(
        [python, "-I", "-c", "import json, sys; print(json.dumps(sys.path))"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert str(tmp_path / "beside") in json.loads(told)
    assert Interpreter.ask(python).path == tuple(json.loads(told))


def sdist(folder: Path, marker: Path, version: str = "1.0") -> None:
    """Sources that run code when a wheel is built of them."""
    root = folder / f"tiny-{version}"
    root.mkdir(parents=True)
    (root / "setup.py").write_text(f"{writes(marker)}\nfrom setuptools import setup\nsetup(name='tiny')\n")
    (root / "PKG-INFO").write_text(f"Metadata-Version: 2.1\nName: tiny\nVersion: {version}\n")
    with tarfile.open(folder / f"tiny-{version}.tar.gz", "w:gz") as file:
        file.add(root, root.name)


def test_sources_are_never_built_and_the_error_says_so(
    archive: Make, tmp_path: Path, marker: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, links = archive(None), tmp_path / "links"
    sdist(links, marker)
    monkeypatch.setenv("PIP_FIND_LINKS", str(links))
    expected = r"tiny 1\.0 is offered as sources alone, .* would run their code; .*pip wheel tiny==1\.0"
    with pytest.raises(SourceOnlyError, match=f"environment .*{expected}.*--find-links"):
        create(path, tmp_path / "env")
    with ArchiveReader(path) as reader, pytest.raises(SourceOnlyError, match=f"lock file .*{expected}"):
        resolve_wheels(reader, tmp_path / "locked")
    (tmp_path / "wheels").mkdir()
    with pytest.raises(SourceOnlyError, match=f"wheels for .*{expected}.*leave this target out"):
        fetch_wheels({"tiny": "1.0"}, {}, [Target.here()], tmp_path / "wheels")
    assert not (tmp_path / "env").exists()
    assert not marker.exists()
    (links / "tiny-1.0.tar.gz").unlink()
    sdist(tmp_path / "other", marker, "1.1")
    os.replace(tmp_path / "other/tiny-1.1.tar.gz", links / "tiny-1.1.tar.gz")
    with pytest.raises(NoSuchVersionError, match=r"no tiny 1\.0 for Python") as caught:
        create(path, tmp_path / "env")
    assert type(caught.value) is NoSuchVersionError
    (links / wheel_of(HONEST, "tiny", "1.0")[0]).write_bytes(wheel_of(HONEST, "tiny", "1.0")[1])
    assert create(path, tmp_path / "env").installed == ("tiny==1.0",)
    assert not marker.exists()


def test_uv_is_told_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UV_COMPILE_BYTECODE", "1")  # uv refuses it beside the flag
    printing = "import os; print(os.environ.get('UV_COMPILE_BYTECODE'))"
    assert run_tool([sys.executable, "-c", printing]) == (0, "None\n")
    command = Installer("uv").install_command("env/bin/python", Wanted(["tiny==1.0"]), str(tmp_path))
    assert command[:6] == ["uv", "pip", "install", "--quiet", "--no-compile-bytecode", "--only-binary"]
    assert command[6] == ":all:"
    words = (
        "error: No solution found when resolving dependencies\n"
        "  cause: Because tiny==1.0 has no usable wheels and you require tiny==1.0, we can conclude that\n"
        "hint: Wheels are required for `tiny` because building from source is disabled for all packages\n"
    )
    error = explained(words, "environment x", Interpreter.here())
    assert type(error) is SourceOnlyError
    assert "tiny 1.0 is offered as sources alone" in str(error)


def test_the_process_of_a_deep_check_starts_without_site(
    archive: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    from packager._loading import deep_checks

    started: list[list[str]] = []

    class Noted(processes.Popen):
        def __init__(self, command: list[str], **options: Any) -> None:
            started.append(command[:3])
            super().__init__(command, **options)

    monkeypatch.setattr(deep_checks.subprocess, "Popen", Noted)
    file = archive({})
    with ArchiveReader(file) as reader, ArchiveWriter(file.with_name("code.kellet"), fsync=False) as writer:
        writer.add("net.py", b"x = 1\n", kind="source")
        writer.seal(reader.manifest)
    found: Verification = verify(file.with_name("code.kellet"), deep=True)
    assert found.problems == ()
    assert started == [[sys.executable, "-I", "-S"]]
