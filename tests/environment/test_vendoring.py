"""Wheels for other Pythons and platforms: fetched by target, with what holds there, into an archive.

A test that takes more than a second runs pip.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy
import pytest

from packager import PackageExporter
from packager._archive import ArchiveReader, verify
from packager._cli import main
from packager._environment import RecordedEnvironment, vendoring
from packager._environment.creating import create_environment
from packager._environment.errors import EnvironmentBuildError, NoSuchVersionError, ToolMissingError
from packager._environment.own import wheel_of
from packager._environment.targets import Target, parse_targets
from packager._environment.vendoring import fetch_wheels
from packager._environment.wheel_contents import contents_of
from packager._environment.wheels import vendored_wheels
from packager._exporting import carried
from packager._version import installed_version

from .conftest import MakeWheel

LINUX = "cp311-manylinux_2_28_x86_64"
WINDOWS = "cp313-win_amd64"


def fetched(folder: Path, *targets: str, **pins: str) -> list[str]:
    folder.mkdir()
    fetch_wheels({"top": "1.0"}, {"top": "1.0", **pins}, parse_targets(targets), folder)
    return sorted(path.name for path in folder.iterdir())


def test_each_target_has_the_wheels_and_requirements_that_hold_there(
    make_wheel: MakeWheel, no_index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def copy(target: Target, wanted: list[str], place: Path, links: list[str]) -> None:
        """What pip does, for requirements that are `name`, `name>=1` or `name==version`."""
        for requirement in wanted:
            name, _, version = requirement.replace(">=1", "").partition("==")
            for path in no_index.glob(f"{name}-{version}*"):
                if path.stem.endswith(("-any", target.platform[-6:])):
                    shutil.copy(path, place)

    monkeypatch.setattr(vendoring, "_download", copy)
    make_wheel("top", "1.0", tag="cp311-cp311-manylinux_2_17_x86_64", requires=("under>=1",))
    requires = ("under>=1", 'winonly; sys_platform == "win32"', 'new; python_version >= "3.13"')
    make_wheel("top", "1.0", tag="cp311-abi3-win_amd64", requires=(*requires, 'other; extra == "more"'))
    make_wheel("under", "1.0", requires=("lower[fast]",))
    make_wheel("under", "2.0")
    make_wheel("lower", "5", requires=('quick; extra == "fast"', 'slow; extra == "slow"'))
    for name in ("winonly", "new", "quick"):
        make_wheel(name, "3")
    assert fetched(tmp_path / "wheels", LINUX, WINDOWS, under="1.0") == [
        "lower-5-py3-none-any.whl",
        "new-3-py3-none-any.whl",
        "quick-3-py3-none-any.whl",
        "top-1.0-cp311-abi3-win_amd64.whl",
        "top-1.0-cp311-cp311-manylinux_2_17_x86_64.whl",
        "under-1.0-py3-none-any.whl",
        "winonly-3-py3-none-any.whl",
    ]


@pytest.mark.long
def test_pip_takes_older_platforms_and_the_target_without_a_wheel_is_told(
    make_wheel: MakeWheel, no_index: Path, tmp_path: Path
) -> None:
    file = make_wheel("top", "1.0", tag="cp311-cp311-manylinux_2_17_x86_64").name
    assert fetched(tmp_path / "one", LINUX) == [file]
    with pytest.raises(
        NoSuchVersionError,
        match=f"wheels for {WINDOWS}: no top 1.0 for Python 3.13 on win-amd64 was found; .* or leave this "
        "target out",
    ):
        fetched(tmp_path / "wheels", LINUX, WINDOWS)
    assert list((tmp_path / "wheels").iterdir()) == []


def test_what_a_wheel_vendors_itself_is_not_its_own_metadata(tmp_path: Path) -> None:
    """setuptools has folders `_vendor/....dist-info` of other distributions, with requirements of theirs."""
    info = "sets-2.0.dist-info"
    contents = {
        "sets/_vendor/other-1.0.dist-info/METADATA": b"Name: other\nVersion: 1.0\nRequires-Dist: absent\n",
        "sets/_vendor/other-1.0.dist-info/entry_points.txt": b"[console_scripts]\npython = other:main\n",
        f"{info}/METADATA": b"Name: sets\nVersion: 2.0\nRequires-Dist: under\n",
        f"{info}/licenses/sub.dist-info/METADATA": b"Name: third\nVersion: 1.0\n",
    }
    file, data = wheel_of(contents, "sets", "2.0")
    (tmp_path / file).write_bytes(data)
    (found,) = contents_of([tmp_path / file]).values()
    assert (found.requires, found.acting) == (("under",), ())


def test_a_wheel_with_metadata_of_others_in_it_is_fetched_with_what_it_requires_itself(
    make_wheel: MakeWheel, no_index: Path, tmp_path: Path
) -> None:
    path = make_wheel("top", "1.0", requires=("under",))
    make_wheel("under", "3.0")
    with zipfile.ZipFile(path, "a") as wheel:
        for folder in ("top/_vendor/more-1.0", "top/_vendor/deep/top-1.0", "top-1.0.data/purelib/top/x-2.0"):
            wheel.writestr(
                f"{folder}.dist-info/METADATA", "Name: more\nVersion: 1.0\nRequires-Dist: absent\n"
            )
    assert fetched(tmp_path / "wheels", LINUX) == ["top-1.0-py3-none-any.whl", "under-3.0-py3-none-any.whl"]


def test_without_packaging_it_says_what_to_install(
    make_wheel: MakeWheel, no_index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_wheel("top", "1.0")
    monkeypatch.setitem(sys.modules, "packaging", None)
    with pytest.raises(ToolMissingError, match=r"python -m pip install 'kellet\[env\]'"):
        fetched(tmp_path / "wheels", LINUX)


def test_a_file_that_is_no_wheel_is_told(
    make_wheel: MakeWheel, no_index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_wheel(target: Target, wanted: list[str], place: Path, links: list[str]) -> None:
        (place / "top-1.0-py3-none-any.whl").write_bytes(b"something else")

    monkeypatch.setattr(vendoring, "_download", no_wheel)
    with pytest.raises(EnvironmentBuildError, match=r"top-1\.0-py3-none-any\.whl: not a wheel"):
        fetched(tmp_path / "wheels", LINUX)


@pytest.mark.parametrize("text", ["cp311", "cp27-win32", "cp311-solaris_sparc", "cp311-linux x", "--pre"])
def test_a_target_that_is_none_is_told_at_once(text: str) -> None:
    with pytest.raises(
        EnvironmentBuildError, match="expected a Python and a platform, as cp311-manylinux_2_28"
    ):
        PackageExporter("net.kellet", vendor_wheels=[text], prove=False)


def test_here_is_the_running_python() -> None:
    here = Target.here()
    assert parse_targets(["here", str(here)]) == (here,)
    assert here.interpreter.fingerprint.python_series == f"3.{sys.version_info.minor}"
    if sys.platform == "linux":
        assert here.markers["sys_platform"] == "linux"


@pytest.mark.long
def test_an_archive_with_wheels_fills_an_environment_without_an_index(
    make_wheel: MakeWheel,
    no_index: Path,
    needs_of_packager: list[Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A module of a distribution that is installed here is left outside, and its wheel goes in.

    So do those of packager, and what it needs: what they fill can open the archive.
    """
    site = tmp_path / "site-packages"
    site.mkdir()
    (site / "outside.py").write_text("VALUE = 3\n")
    info = site / "outside-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: outside\nVersion: 1.0\nRequires-Dist: under\n"
    )
    (info / "RECORD").write_text("outside.py,,\n")
    (site / "under-1.0.dist-info").mkdir()
    (site / "under-1.0.dist-info" / "METADATA").write_text("Name: under\nVersion: 1.0\n")
    monkeypatch.syspath_prepend(site)
    make_wheel("outside", "1.0", requires=("under",))
    make_wheel("under", "1.0")
    make_wheel("under", "1.5")

    target = tmp_path / "net.kellet"
    with PackageExporter(target, policy="auto", vendor_wheels=["here"], prove=False) as exporter:
        exporter.save_source_string("net", "import outside\n")
        assert exporter.plan().wheels_for == (str(Target.here()),)
    for wheel in no_index.iterdir():
        wheel.unlink()

    with ArchiveReader(target) as reader:
        assert verify(reader).problems == ()
        assert RecordedEnvironment.of(reader.manifest).versions == {"outside": "1.0", "under": "1.0"}
        names = [wheel.name for wheel in vendored_wheels(reader.manifest)]
        assert sorted({"kellet", "numpy", "msgpack", "importlib-metadata", "outside", "under"}) == sorted(
            {*names} - {"zipp", "lazy-importer"}
        )
        made = create_environment(reader, tmp_path / "env", offline=True, installer="pip")
    assert not made.report
    assert (made.installed, made.lacking) == ((f"kellet=={installed_version()}", "outside==1.0"), ())
    question = "import importlib.metadata as m; print(m.version('kellet'), m.version('numpy'))"
    done = subprocess.run([made.python, "-I", "-c", question], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(installed_version()), numpy.__version__]
    assert (tmp_path / "env" / "bin" / "packager").exists()


def test_wheels_that_cannot_be_had_leave_no_archive(
    no_index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "net.kellet"
    exporter = PackageExporter(target, policy="auto", vendor_wheels=[LINUX], prove=False)
    exporter.save_source_string("net", "import numpy\n")
    with pytest.raises(NoSuchVersionError, match="no numpy "):
        exporter.close()
    assert not target.exists()


def test_the_command_takes_targets_and_folders(
    make_wheel: MakeWheel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(vendoring, "choose_installer", lambda name: None)
    told: list[object] = []

    def no_pip(target: Target, wanted: list[str], place: Path, links: list[str]) -> None:
        told.extend((str(target), wanted, list(links)))

    monkeypatch.setattr(vendoring, "_download", no_pip)
    monkeypatch.setattr(carried, "installed_version", lambda: None)  # only importable: it has no wheel
    (tmp_path / "links").mkdir()
    (tmp_path / "needs.py").write_text("import numpy\nclass Thing:\n    pass\n")
    command = ["export", "needs:Thing", "-o", "net.kellet", "--no-proof"]
    monkeypatch.syspath_prepend(tmp_path)
    assert main([*command, "--vendor-wheels", LINUX, "--find-links", "links"]) == 0
    assert told == [LINUX, [f"numpy=={numpy.__version__}"], ["links"]]
    assert main([*command, "--vendor-wheels", "cp311"]) == 1
    assert "--vendor-wheels 'cp311': expected a Python and a platform" in capsys.readouterr().err
