"""Archives that record externs, and wheels of distributions that exist nowhere else."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from packager._archive import ArchiveWriter, ExternRecord, Manifest
from packager._environment import Distributions, Fingerprint, environment_facts, requirement_for
from packager._environment.own import wheel_of
from packager._version import OWN_NAME

Record = Callable[..., Path]
MakeWheel = Callable[..., Path]


@pytest.fixture
def record(tmp_path: Path) -> Record:
    """Write an archive that records externs: `record({"tiny": "1.0"}, wheels=[path])` gives its path."""

    def record(
        externs: Mapping[str, str],
        *,
        wheels: list[Path] = [],  # noqa: B006  # read only
        beside: Mapping[str, str] | None = None,
        fingerprint: Fingerprint | None = None,
        homeless: tuple[str, ...] = (),
        local: object = None,
    ) -> Path:
        path = tmp_path / "net.kellet"
        rows = [
            ExternRecord(
                name.replace("-", "_"), "installed", name, version, str(requirement_for(name, version))
            )
            for name, version in externs.items()
        ]
        rows += [ExternRecord("json", "stdlib"), *(ExternRecord(name, "unknown") for name in homeless)]
        environment = dataclasses.asdict(fingerprint or Fingerprint.here())
        environment["distributions"] = dict(beside or externs)
        if local is not None:
            environment["local"] = local
        with ArchiveWriter(path, fsync=False) as writer:
            for wheel in wheels:
                writer.add(f".data/wheels/{wheel.name}", wheel.read_bytes(), kind="resource")
            writer.seal(Manifest(externs=tuple(rows), environment=environment))
        return path

    return record


@pytest.fixture
def make_wheel(tmp_path: Path) -> MakeWheel:
    """Write a wheel of one module: `make_wheel("tiny", "1.0")` gives its path, in the folder `links`."""

    def make_wheel(
        name: str, version: str, *, tag: str = "py3-none-any", requires: tuple[str, ...] = (), more: str = ""
    ) -> Path:
        lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"]
        lines += [f"Requires-Dist: {one}" for one in requires] + ([more] if more else [])
        name = name.replace("-", "_")
        contents = {
            f"{name}.py": f"__version__ = {version!r}\n".encode(),
            f"{name}-{version}.dist-info/METADATA": ("\n".join(lines) + "\n").encode(),
        }
        file, data = wheel_of(contents, name, version)
        path = tmp_path / "links" / file.replace("py3-none-any", tag)
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
        return path

    return make_wheel


@pytest.fixture
def needs_of_packager(make_wheel: MakeWheel) -> list[Path]:
    """Wheels that stand for what packager needs beside itself, in the versions that are here."""
    facts = environment_facts([OWN_NAME], Distributions())
    return [make_wheel(name, version) for name, version in facts["distributions"].items() if name != OWN_NAME]


@pytest.fixture
def no_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let pip see the folder `links` alone, whatever it is configured with; gives that folder."""
    links = tmp_path / "links"
    links.mkdir(exist_ok=True)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(links))
    return links
