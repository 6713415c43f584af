"""Local versions (`2.4.0+cpu`) are kept wherever a version is: they are other builds than the public one."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from packaging.requirements import Requirement as Reference

from packager._archive import ArchiveReader
from packager._cli import main
from packager._environment import Fingerprint, RecordedExtern, Requirement, compare_environment
from packager._environment.creating import create_environment
from packager._environment.errors import NoSuchVersionError
from packager._environment.gathering import WheelsAtHand
from packager._environment.targets import Target
from packager._environment.versions import exact_requirement
from packager._environment.wheels import chosen, wheels_in
from tests.tables import one_test

from .conftest import MakeWheel, Record


@one_test
@pytest.mark.parametrize(
    ("wanted", "found", "fits"),
    [
        ("2.4.0", "2.4.0+cpu", True),
        ("2.4.0", "2.4.0+cu121.post1", True),
        ("2.4.0+cpu", "2.4.0", False),
        ("2.4.0+cpu", "2.4.0+cu121", False),
        ("2.4.0+cpu", "2.4+CPU", True),
        ("2.4.0+ubuntu.1", "2.4.0+ubuntu-1", True),
        ("1!2.4+x", "2.4+x", False),
    ],
)
def test_versions_match_as_pep_440_says(wanted: str, found: str, fits: bool) -> None:
    text = exact_requirement("net", wanted)
    assert Requirement.parse(text).allows(found) is fits
    assert Reference(text).specifier.contains(found, prereleases=True) is fits


def test_an_install_command_names_the_build_that_was_recorded() -> None:
    extern = RecordedExtern(("nope",), "nope", "2.4.0+cpu", "nope>=2.4.0,<3")
    report = compare_environment(Fingerprint.here(), [extern])
    assert report.install_command == "python -m pip install nope==2.4.0+cpu"
    build = "nope==2.4.0+cpu, a build from its maker's own index"
    assert str(report).splitlines()[1:] == [
        "    nope: recorded 2.4.0+cpu (nope>=2.4.0,<3), found nothing",
        f"to install it: python -m pip install nope==2.4.0  # recorded: {build}",
    ]


def test_what_alone_only_warns_comes_last_beside_what_is_missing() -> None:
    other = replace(Fingerprint.here(), python="3.99.1")
    nope = RecordedExtern(("nope",), "nope", "2.4.0", "nope>=2.4.0,<3")
    first, second = str(compare_environment(other, [nope])).splitlines()[1:3]
    assert first.startswith("    nope: ")
    assert second.startswith("    Python: recorded cpython 3.99, found ")
    assert second.endswith(" (by itself only a warning)")
    assert "only a warning" not in str(compare_environment(other, []))


def test_lock_files_and_installers_get_the_whole_version(
    record: Record, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    archive = record({"net": "2.4.0+cpu"}, beside={"net": "2.4.0+cpu", "under": "1.0+cu121"})
    assert main(["env", "lock", str(archive)]) == 0
    text = "net==2.4.0+cpu\nunder==1.0+cu121\n"
    assert capsys.readouterr().out == (
        "# net==2.4.0+cpu, under==1.0+cu121: PyPI has no local versions; name the index of the builder, as "
        f"PyTorch's:\n# --extra-index-url https://download.pytorch.org/whl/cpu\n{text}"
    )
    url = "https://host.example/simple"
    assert main(["env", "lock", str(archive), "--extra-index-url", url]) == 0
    assert capsys.readouterr().out == f"--extra-index-url {url}\n{text}"
    with ArchiveReader(archive) as reader:
        wanted = WheelsAtHand.of(reader).gather(tmp_path, "x")
    assert (wanted.requirements, wanted.constraints) == (["net==2.4.0+cpu"], ["under==1.0+cu121"])


def test_the_recorded_build_is_installed_and_no_other(
    record: Record, make_wheel: MakeWheel, no_index: Path, tmp_path: Path
) -> None:
    # Runs pip.
    cpu = make_wheel("net", "1.0+cpu")
    make_wheel("net", "1.0")
    make_wheel("net", "1.0+zzz")
    archive = record({"net": "1.0+cpu"})
    with ArchiveReader(archive) as reader:
        made = create_environment(reader, tmp_path / "env", installer="pip", packager=False)
        assert made.installed == ("net==1.0+cpu",)
        assert list((tmp_path / "env").rglob("net-1.0+cpu.dist-info"))
        cpu.unlink()
        with pytest.raises(NoSuchVersionError, match=r"no net 1\.0\+cpu .*index of its builder, which PyPI"):
            create_environment(reader, tmp_path / "two", installer="pip", packager=False)


def test_a_wheel_of_a_folder_is_the_recorded_build(make_wheel: MakeWheel, tmp_path: Path) -> None:
    make_wheel("net", "1.0+cpu")
    public = make_wheel("net", "1.0")
    links, here = public.parent, Target.here()

    def found(version: str) -> list[str]:
        return [path.name for path in chosen(wheels_in([links], here), {"net": version}).values()]

    assert found("1.0") == [public.name]
    assert found("1.0+cpu") == ["net-1.0+cpu-py3-none-any.whl"]
    assert found("1.0+other") == []
    shutil.move(public, tmp_path)
    assert found("1.0") == ["net-1.0+cpu-py3-none-any.whl"]


@pytest.mark.parametrize("url", ["pypi", "https://host/simple --pre", "https://host/\n-r x", "-r x"])
def test_what_is_no_address_does_not_become_a_line_of_a_lock(
    record: Record, url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["env", "lock", str(record({"net": "1.0"})), f"--extra-index-url={url}"])
    assert ended.value.code == 2
    assert "expected an address, as https://host/simple" in capsys.readouterr().err
