"""What came from a folder or a file is never asked of an index by its name, and kellet never is.

A test that takes more than a second runs pip.
"""

from __future__ import annotations

import hashlib
import json
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.pylock import Pylock
from packaging.requirements import Requirement

from packager import PackageExporter
from packager._archive import ArchiveReader
from packager._cli import main
from packager._environment import Distributions, Fingerprint, RecordedExtern, compare_environment
from packager._environment.creating import create_environment
from packager._environment.errors import EnvironmentBuildError
from packager._environment.own import own_wheel
from packager._environment.targets import Target
from packager._environment.vendoring import fetch_wheels
from packager._version import installed_version
from tests import processes

from .conftest import MakeWheel, Record

KELLET = str(installed_version())
PIP = (sys.executable, "-m", "pip", "--isolated", "--disable-pip-version-check")


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project's folder; `shop` and `shop_wheel` are installed from it: in place, and by a wheel's file."""
    site, project = tmp_path / "site-packages", tmp_path / "my shop"
    (project / "shop").mkdir(parents=True)
    (project / "shop" / "__init__.py").write_text("VALUE = 3\n")
    urls = {
        "shop": {"url": project.as_uri(), "dir_info": {"editable": True}},
        "shop_wheel": {"url": (tmp_path / "shop_wheel-2.0.whl").as_uri(), "archive_info": {}},
        "shop_folder": {"url": project.as_uri(), "dir_info": {}},
        "fetched": {"url": "https://example.org/fetched-1.0.whl", "archive_info": {}},
    }
    for name, url in urls.items():
        info = site / f"{name}-2.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 2.0\n")
        (info / "direct_url.json").write_text(json.dumps(url))
        (info / "top_level.txt").write_text(f"{name}\n")
        if name != "shop":
            (site / f"{name}.py").write_text("")
    monkeypatch.syspath_prepend(site)
    monkeypatch.syspath_prepend(project)
    return project


def test_where_a_distribution_was_installed_from_is_known(shop: Path) -> None:
    here = Distributions()
    assert here.place("shop") == here.place("shop_folder") == str(shop)
    assert here.place("shop_wheel") == str(shop.parent / "shop_wheel-2.0.whl")
    assert here.place("fetched") == "https://example.org/fetched-1.0.whl"
    assert here.place("numpy") == here.place("nothing") == ""


def test_a_plan_shows_the_place_and_the_archive_has_the_names_alone(
    shop: Path, tmp_path: Path, capsys: Any
) -> None:
    target = tmp_path / "net.kellet"
    with PackageExporter(target, policy="auto", prove=False) as exporter:
        exporter.extern("shop.**")
        exporter.save_source_string("net", "import shop, shop_wheel, fetched\n")
        plan = str(exporter.plan()).replace(", from\n            ", ", from ")
    assert f"shop>=2.0,<3  (editable install shop 2.0, from {shop})" in plan
    assert "(installed distribution fetched 2.0, from https://example.org/fetched-1.0.whl)" in plan
    assert f"(installed distribution shop-wheel 2.0, from {shop.parent / 'shop_wheel-2.0.whl'})" in plan
    with ArchiveReader(target) as reader:
        assert reader.manifest.environment["local"] == ["fetched", "shop", "shop-wheel"]
    data = target.read_bytes()
    assert str(tmp_path).encode() not in data
    assert b"example.org" not in data


def test_a_report_never_says_to_install_it_by_name(shop: Path) -> None:
    fingerprint = Fingerprint.here()
    externs = [
        RecordedExtern(("shop",), "shop", "3.0", "shop>=3.0,<4"),
        RecordedExtern(("gone",), "gone", "1.0", "gone>=1.0,<2", local=True),
        RecordedExtern(("nope",), "nope", "1.0", "nope>=1.0,<2"),
    ]
    report = compare_environment(fingerprint, externs)
    assert report.install_command == "python -m pip install 'nope>=1.0,<2'"
    assert str(report).splitlines()[1:-1] == [
        f"    shop: recorded 3.0 (shop>=3.0,<4), found 2.0 from {shop}",
        "    gone: recorded 1.0 (gone>=1.0,<2), found nothing",
        "    nope: recorded 1.0 (nope>=1.0,<2), found nothing",
        "shop is on no index: install its wheel, or its project's folder",
        "gone is on no index: install its wheel, or its project's folder",
    ]


@pytest.mark.long
def test_a_lock_names_kellet_by_its_wheel_and_digest(record: Record, tmp_path: Path) -> None:
    archive = record({"kellet": KELLET})
    lock = tmp_path / "deploy" / "requirements.txt"
    lock.parent.mkdir()
    assert main(["env", "lock", str(archive), "-o", str(lock)]) == 0
    name, data = own_wheel()
    wheel = lock.parent / "wheels" / name
    assert wheel.read_bytes() == data
    requirement = Requirement(lock.read_text().strip())
    assert requirement.url == f"{wheel.as_uri()}#sha256={hashlib.sha256(data).hexdigest()}"
    options = ("install", "--no-index", "--no-deps", "--require-hashes", "--quiet", "-r", str(lock))
    processes.run([*PIP, *options, "--target", str(tmp_path / "there")], check=True)
    assert (tmp_path / "there" / "packager" / "__init__.py").exists()
    wheel.write_bytes(data + b"changed")
    done = processes.run([*PIP, *options, "--target", str(tmp_path / "not")], capture_output=True, text=True)
    assert done.returncode != 0
    assert "DO NOT MATCH" in done.stderr


def test_a_lock_that_is_printed_names_a_wheel_that_is_there(
    record: Record, make_wheel: MakeWheel, capsys: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KELLET_CACHE", str(tmp_path / "cache"))
    wheel = make_wheel("fast", "1.0")
    assert main(["env", "lock", str(record({"kellet": KELLET, "fast": "1.0"}, wheels=[wheel]))]) == 0
    hashed, own = capsys.readouterr().out.replace("\\\n", "").splitlines()
    assert hashed.split() == ["fast==1.0", f"--hash=sha256:{hashlib.sha256(wheel.read_bytes()).hexdigest()}"]
    assert own.startswith(
        f"kellet @ {(tmp_path / 'cache' / 'wheels').as_uri()}/kellet-{KELLET}-py3-none-any.whl#"
    )
    assert main(["env", "lock", str(record({"fast": "1.0"}))]) == 0
    assert capsys.readouterr().out == "fast==1.0\n"


@pytest.mark.parametrize("name", ["requirements.txt", "pylock.toml"])
def test_a_lock_beside_the_working_folder_names_wheels_without_dots(
    record: Record, no_index: Path, make_wheel: MakeWheel, tmp_path: Path, monkeypatch: Any, name: str
) -> None:
    """Also where the working folder was entered by a link, behind which `..` leads elsewhere."""
    for one, version in Distributions().versions().items():
        if one in ("numpy", "msgpack", "importlib-metadata", "zipp"):
            make_wheel(one.replace("-", "_"), version)
    archive = record({"kellet": KELLET})
    (tmp_path / "deploy" / "inner").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "deploy" / "inner")
    monkeypatch.chdir(tmp_path)
    assert main(["env", "lock", str(archive), "-o", f"link/../{name}"]) == 0
    text = (tmp_path / "deploy" / name).read_text()
    assert ".." not in text
    wheel, _ = own_wheel()
    assert (tmp_path / "deploy" / "wheels" / wheel).is_file()
    wheels = (tmp_path / "deploy" / "wheels").as_uri() if name.endswith("txt") else '"wheels'
    assert f"{wheels}/{wheel}" in text


@pytest.mark.parametrize("vendored", [False, True])
def test_a_pylock_has_the_wheel_of_kellet(
    record: Record, make_wheel: MakeWheel, no_index: Path, tmp_path: Path, vendored: bool
) -> None:
    wheel = make_wheel("fast", "1.0")
    archive = record({"kellet": KELLET, "fast": "1.0"}, wheels=[wheel] if vendored else [])
    # What kellet requires is in this environment, and its metadata is all that is read of it.
    for name, version in Distributions().versions().items():
        if name in ("numpy", "msgpack", "importlib-metadata", "zipp"):
            make_wheel(name.replace("-", "_"), version)
    lock = tmp_path / "pylock.toml"
    assert main(["env", "lock", str(archive), "-o", str(lock)]) == 0
    packages = {str(one.name): one for one in Pylock.from_dict(tomllib.loads(lock.read_text())).packages}
    (own,) = packages["kellet"].wheels or ()
    name, data = own_wheel()
    assert (own.path, own.hashes) == (f"wheels/{name}", {"sha256": hashlib.sha256(data).hexdigest()})
    assert (tmp_path / "wheels" / name).read_bytes() == data
    assert "fast" in packages


def test_another_version_of_kellet_is_asked_of_no_index(
    record: Record, no_index: Path, tmp_path: Path, capsys: Any
) -> None:
    archive = record({"kellet": "77.0"})
    for command in (["lock", str(archive)], ["create", str(archive), str(tmp_path / "env")]):
        assert main(["env", *command]) == 1
        assert (
            "there is no wheel of kellet 77.0: the archive has none, it is taken from no index"
            in capsys.readouterr().err
        )
    assert not (tmp_path / "env").exists()


def test_a_new_environment_has_kellet_by_its_digest(record: Record, tmp_path: Path) -> None:
    from packager._environment.gathering import WheelsAtHand

    with ArchiveReader(record({"kellet": KELLET})) as reader:
        wanted = WheelsAtHand.of(reader).gather(tmp_path, "environment")
    name, data = own_wheel()
    digest = hashlib.sha256(data).hexdigest()
    assert wanted.requirements == [f"kellet @ {(tmp_path / name).as_uri()}#sha256={digest}"]
    assert wanted.versions == [f"kellet=={KELLET}"]


def test_a_local_distribution_comes_from_a_folder_or_not_at_all(
    record: Record, make_wheel: MakeWheel, no_index: Path, tmp_path: Path
) -> None:
    """On the index there is one of its name, which is another."""
    impostor = make_wheel("gone", "1.0")
    archive = record({"gone": "1.0"}, local=["gone"])
    own = tmp_path / "own" / impostor.name
    own.parent.mkdir()
    own.write_bytes(impostor.read_bytes())
    with ArchiveReader(archive) as reader:
        made = create_environment(reader, tmp_path / "without", installer="pip", packager=False)
        assert (made.installed, made.report.missing, made.report.install_command) == ((), ("gone",), "")
        links = [str(own.parent)]
        made = create_environment(
            reader, tmp_path / "with", installer="pip", find_links=links, packager=False
        )
    assert made.installed == ("gone==1.0",)
    (info,) = (tmp_path / "with").rglob("gone-1.0.dist-info")
    assert json.loads((info / "direct_url.json").read_text())["url"] == own.as_uri()


def test_a_lock_names_a_local_distribution_by_its_place(
    record: Record, make_wheel: MakeWheel, shop: Path, tmp_path: Path, capsys: Any
) -> None:
    archive = record({"shop": "2.0"}, local=["shop"])
    assert main(["env", "lock", str(archive)]) == 0
    assert capsys.readouterr().out == f"shop @ {shop.as_uri()}\n"
    lock = tmp_path / "pylock.toml"
    make_wheel("fast", "1.0")
    assert main(["env", "lock", str(record({"shop": "2.0"}, local=["shop"])), "-o", str(lock)]) == 0
    (package,) = Pylock.from_dict(tomllib.loads(lock.read_text())).packages
    assert package.directory is not None
    assert package.directory.path == str(shop)
    assert main(["env", "lock", str(record({"shop": "9.0"}, local=["shop"]))]) == 1
    assert "shop 9.0 was installed from a folder or file, no index is asked for it" in capsys.readouterr().err
    wheel = make_wheel("shop", "9.0")
    command = ["env", "lock", str(record({"shop": "9.0"}, local=["shop"])), "-o", str(tmp_path / "lock.txt")]
    assert main([*command, "--find-links", str(wheel.parent)]) == 0
    assert (
        (tmp_path / "lock.txt").read_text().startswith(f"shop @ {(tmp_path / 'wheels').as_uri()}/shop-9.0-")
    )


def test_no_index_is_asked_for_the_wheel_of_a_local_distribution(
    make_wheel: MakeWheel, no_index: Path, shop: Path, tmp_path: Path
) -> None:
    wheel = make_wheel("shop", "2.0")
    (tmp_path / "to").mkdir()
    with pytest.raises(
        EnvironmentBuildError, match=rf"shop 2\.0 is installed from {shop}, and no index is asked .*pip wheel"
    ):
        fetch_wheels({"shop": "2.0"}, {}, [Target.here()], tmp_path / "to", local=["shop"])
    links = [str(wheel.parent)]
    (found,) = fetch_wheels(
        {"shop": "2.0"}, {}, [Target.here()], tmp_path / "to", local=["shop"], find_links=links
    )
    assert found.file == wheel.name


@pytest.mark.parametrize("local", ["shop", {"shop": 1}, ["--index-url=http://evil"], [3]])
def test_odd_names_of_local_distributions_are_refused(record: Record, local: Any, capsys: Any) -> None:
    assert main(["env", "check", str(record({}, local=local))]) == 3
    assert "manifest, environment, local" in capsys.readouterr().err
