"""A recorded environment is compared with this one in a single report."""

from __future__ import annotations

import dataclasses
import platform
import socket
import sys
from pathlib import Path

import pytest

from packager._environment import Distributions, Fingerprint, RecordedExtern, compare_environment

HERE = Fingerprint("3.11.7", "cpython", "linux-x86_64", "little")


@pytest.fixture
def installed(tmp_path: Path) -> Distributions:
    site = tmp_path / "site-packages"
    for name in ("numpy-1.26.4", "einops-0.8.0", "cuda-12"):
        (site / f"{name}.dist-info").mkdir(parents=True)
        (site / name.partition("-")[0]).mkdir()
    return Distributions([str(site)])


def test_an_equal_environment_has_no_differences(installed: Distributions) -> None:
    externs = [RecordedExtern(("numpy",), "numpy", "1.26.0", "numpy>=1.26.0,<2")]
    report = compare_environment(HERE, externs, dataclasses.replace(HERE, python="3.11.2"), installed)
    assert not report
    assert str(report) == "the environment is as recorded"
    assert report.install_command == ""


def test_all_differences_come_in_one_report_with_a_command(installed: Distributions) -> None:
    externs = [
        RecordedExtern(("numpy", "numpy.linalg"), "numpy", "2.1.0", "numpy>=2.1.0,<3"),
        RecordedExtern(("einops",), "einops", "0.8.0", "einops>=0.8.0,<0.9"),
        RecordedExtern(("nope",), "nope-dist", "1.2", "nope-dist>=1.2,<2"),
        RecordedExtern(("loose", "cuda")),
    ]
    here = Fingerprint("3.12.1", "cpython", "macosx-11.0-arm64", "big")
    report = compare_environment(HERE, externs, here, installed)
    assert [(one.kind, str(one)) for one in report.differences] == [
        ("python", "Python: recorded cpython 3.11, found cpython 3.12"),
        ("platform", "platform: recorded linux-x86_64, found macosx-11.0-arm64"),
        ("platform", "byte order: recorded little, found big"),
        ("version", "numpy: recorded 2.1.0 (numpy>=2.1.0,<3), found 1.26.4"),
        ("missing", "nope-dist: recorded 1.2 (nope-dist>=1.2,<2), found nothing"),
        ("missing", "loose: recorded a module of no distribution, found nothing"),
    ]
    assert report.missing == ("nope-dist", "loose")
    assert report.install_command == "python -m pip install 'numpy>=2.1.0,<3' 'nope-dist>=1.2,<2'"
    assert str(report).splitlines()[-1] == f"to install it: {report.install_command}"


def test_the_fingerprint_names_python_and_platform_alone() -> None:
    found = dataclasses.asdict(Fingerprint.here())
    assert (
        found["python"]
        == ".".join(map(str, sys.version_info[:3])) + platform.python_version().partition("+")[1]
    )
    text = " ".join(found.values())
    for private in (socket.gethostname(), platform.release(), str(Path.home()), str(Path.cwd())):
        assert private not in text


def test_what_the_code_goes_on_without_is_told_but_not_missing() -> None:
    nope = RecordedExtern(("nope",), "nope-dist", "1.2", "nope-dist>=1.2,<2", optional=True)
    report = compare_environment(Fingerprint.here(), [nope])
    assert [one.kind for one in report.differences] == ["optional"]
    assert report.missing == ()
    assert str(report) == (
        "the environment is not as recorded:\n"
        "    nope-dist: recorded 1.2 (nope-dist>=1.2,<2), optional, found nothing\n"
        "to install it: python -m pip install 'nope-dist>=1.2,<2'"
    )


def test_this_distribution_is_never_to_be_fetched_by_its_name() -> None:
    """No index has it, and what has its name there is somebody else's."""
    recorded = [
        RecordedExtern(("kellet",), "kellet", "9.0", "kellet>=9.0,<10"),
        RecordedExtern(("nope",), "nope", "1.2", "nope>=1.2,<2"),
    ]
    report = compare_environment(Fingerprint.here(), recorded)
    assert report.install_command == "python -m pip install 'nope>=1.2,<2'"
    assert str(report).splitlines()[-2:] == [
        "kellet is on no index: install its wheel, or its checkout",
        "to install it: python -m pip install 'nope>=1.2,<2'",
    ]
