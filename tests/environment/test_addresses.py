"""What came from a repository or an address is no distribution of an index, and no report says so."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.pylock import Pylock

from packager._cli import main
from packager._environment import Distributions, Fingerprint, RecordedExtern, compare_environment
from packager._environment.errors import EnvironmentBuildError
from packager._environment.targets import Target
from packager._environment.vendoring import fetch_wheels

from .conftest import MakeWheel, Record

COMMIT = "3f786850e387550fdab836ed7e6dc881de23001b"
GIT = {"vcs": "git", "commit_id": COMMIT, "requested_revision": "main"}
CASES: list[tuple[dict[str, Any], str]] = [
    ({"url": "https://host.example/x/net.git", "vcs_info": GIT}, f"git+https://host.example/x/net.git@{COMMIT}"),
    ({"url": "ssh://git@host.example/net.git", "vcs_info": GIT}, f"git+ssh://git@host.example/net.git@{COMMIT}"),
    (
        {"url": "https://host.example/hg/net", "vcs_info": {"vcs": "hg", "commit_id": "beef"}},
        "hg+https://host.example/hg/net@beef",
    ),
    ({"url": "http://host.example/net-2.0.whl", "archive_info": {}}, "http://host.example/net-2.0.whl"),
    # Passwords and tokens are told to no one.
    ({"url": "https://me:secret@host.example/net.whl?token=secret#sha256=0"}, "https://host.example/net.whl"),
    ({"url": "ssh://git:secret@host.example/net", "vcs_info": GIT}, f"git+ssh://git@host.example/net@{COMMIT}"),
    # What is said of it by its own file is data, too.
    ({"url": "https://host.example/a b\x1b[2J'.whl"}, "https://host.example/a%20b%1B%5B2J%27.whl"),
    ({"url": 3}, ""),
    ({}, ""),
]  # fmt: skip


def installed(folder: Path, direct_url: object, version: str = "2.0") -> Distributions:
    info = folder / "site-packages" / f"net-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: net\nVersion: {version}\n")
    (info / "direct_url.json").write_text(json.dumps(direct_url))
    return Distributions([str(folder / "site-packages")])


@pytest.mark.parametrize(("direct_url", "place"), CASES, ids=range(len(CASES)))
def test_the_address_and_commit_are_known(tmp_path: Path, direct_url: object, place: str) -> None:
    assert installed(tmp_path, direct_url).place("net") == place


@pytest.mark.parametrize(("direct_url", "place"), CASES[:4], ids=range(4))
def test_a_report_says_where_it_is_from_and_never_to_install_its_name(
    tmp_path: Path, direct_url: object, place: str
) -> None:
    here = installed(tmp_path, direct_url)
    extern = RecordedExtern(("net",), "net", "3.0", "net>=3.0,<4")
    report = compare_environment(Fingerprint.here(), [extern], installed=here)
    assert report.install_command == ""
    assert str(report).splitlines()[1:] == [
        f"    net: recorded 3.0 (net>=3.0,<4), found 2.0 from {place}",
        "net is on no index: install its wheel, or its project's folder",
    ]


def test_the_twin_from_an_index_is_asked_of_one(tmp_path: Path) -> None:
    here = installed(tmp_path, {})
    extern = RecordedExtern(("net",), "net", "3.0", "net>=3.0,<4")
    report = compare_environment(Fingerprint.here(), [extern], installed=here)
    assert report.install_command == "python -m pip install 'net>=3.0,<4'"


def test_locks_and_wheels_say_where_it_is_from(
    record: Record, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    direct_url, place = CASES[0]
    installed(tmp_path, direct_url)
    monkeypatch.syspath_prepend(tmp_path / "site-packages")
    assert main(["env", "lock", str(record({"net": "2.0"}, local=["net"]))]) == 1
    assert f"net 2.0 was installed from {place}, no index is asked" in capsys.readouterr().err
    (tmp_path / "to").mkdir()
    with pytest.raises(EnvironmentBuildError, match="no index is asked") as caught:
        fetch_wheels({"net": "2.0"}, {}, [Target.here()], tmp_path / "to", local=["net"])
    assert f"(python -m pip wheel --no-deps {place} --wheel-dir wheels)" in str(caught.value)


@pytest.mark.parametrize("lock", ["requirements.txt", "pylock.toml"])
def test_a_lock_names_the_address_and_digest_of_a_wheel(
    record: Record,
    make_wheel: MakeWheel,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    no_index: Path,
    lock: str,
) -> None:
    url, digest = "https://host.example/net-2.0%2Bcpu-py3-none-any.whl", "0a" * 32
    said = {"url": f"{url}?token=secret", "archive_info": {"hashes": {"sha256": digest}}}
    installed(tmp_path, said, "2.0+cpu")
    monkeypatch.syspath_prepend(tmp_path / "site-packages")
    make_wheel("tiny", "1.0")
    archive = record({"net": "2.0+cpu", "tiny": "1.0"}, local=["net"])
    assert main(["env", "lock", str(archive), "-o", str(tmp_path / lock)]) == 0
    text = (tmp_path / lock).read_text()
    if lock == "requirements.txt":
        assert text == f"net @ {url}#sha256={digest}\ntiny==1.0\n"
        return
    packages = {str(one.name): one for one in Pylock.from_dict(tomllib.loads(text)).packages}
    (wheel,) = packages["net"].wheels or ()
    assert (wheel.url, wheel.hashes) == (url, {"sha256": digest})
    assert packages.keys() == {"net", "tiny"}


def test_without_a_digest_the_address_of_a_wheel_is_not_named(
    record: Record, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    installed(tmp_path, {"url": "https://host.example/net-2.0-py3-none-any.whl", "archive_info": {}})
    monkeypatch.syspath_prepend(tmp_path / "site-packages")
    assert main(["env", "lock", str(record({"net": "2.0"}, local=["net"]))]) == 1
    assert "net-2.0-py3-none-any.whl, no index is asked" in capsys.readouterr().err
