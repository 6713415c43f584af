"""Wheels of one archive that are each within their bounds, and cost too much together.

Each has an honest twin, which is read: an archive has as many as people use, not as many as an attack needs.
"""

from __future__ import annotations

import bisect
import dataclasses
import io
import json
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from packager._archive import ArchiveReader, ArchiveWriter, CheckRecord, Manifest, bounds
from packager._byte_ranges import Allowance
from packager._cli import main
from packager._environment import Target, VendoredContents, vendored_wheels, wheel_contents, wheels
from packager._environment import wheel_contents as requirements
from packager._environment.errors import EnvironmentBuildError
from packager._environment.vendoring import fetch_wheels
from packager._environment.wheel_contents import require_all_there
from packager._environment.wheels import WHEELS, Wheel
from packager.errors import ArchiveError


def wheel(name: str, metadata: bytes = b"", points: bytes = b"") -> tuple[str, bytes]:
    """A deflated wheel: its name, and its bytes."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as made:
        head = f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n".encode()
        made.writestr(f"{name}-1.dist-info/METADATA", head + metadata)
        if points:
            made.writestr(f"{name}-1.dist-info/entry_points.txt", points)
    return f"{name}-1-py3-none-any.whl", file.getvalue()


def archive(path: Path, held: Mapping[str, bytes]) -> Path:
    with ArchiveWriter(path, fsync=False) as writer:
        for file in sorted(held):
            writer.add(WHEELS + file, held[file], kind="resource")
        writer.seal(Manifest())
    return path


def problems(path: Path) -> list[str]:
    """What is said of each wheel, in their order; nothing of one that is read."""
    found = []
    with ArchiveReader(path) as reader:
        vendored = VendoredContents(reader)
        for one in vendored_wheels(reader.manifest):
            try:
                vendored.of(one)
                found.append("")
            except EnvironmentBuildError as error:
                found.append(str(error))
    return found


def test_texts_of_all_wheels_have_one_bound(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Eight wheels of 8 kB, each of which unpacks to the 4 MiB that one wheel may have."""
    text = b"X: " + b"x" * (bounds.MAX_WHEEL_METADATA // 2)
    held = dict(wheel(f"w{number}", text, text) for number in range(8))
    path = archive(tmp_path / "a.kellet", held)
    assert path.stat().st_size < 200_000
    said = problems(path)
    limit = bounds.most_wheel_text(sum(map(len, held.values())))
    assert said[:3] == ["", "", ""]
    assert all(f"with those of the wheels before it; the limit is {limit})" in one for one in said[4:])
    assert main(["inspect", str(path), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)["wheels"]
    assert [one.get("problem", "") for one in shown] == said


def test_what_is_read_is_counted_before_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once nothing is left, a wheel costs nothing but its name."""
    held = dict(wheel(f"w{number}") for number in range(3))
    path = archive(tmp_path / "a.kellet", held)
    assert problems(path) == ["", "", ""]
    monkeypatch.setattr(wheel_contents, "most_wheel_text", lambda nbytes: 21)
    with ArchiveReader(path) as reader:
        vendored = VendoredContents(reader)
        monkeypatch.setattr(type(reader), "read", lambda *_: pytest.fail("it was read"))
        for one in vendored_wheels(reader.manifest):
            with pytest.raises(EnvironmentBuildError, match=r"not a wheel \(\d+ bytes of lists and texts"):
                vendored.of(one)


def test_requirements_of_all_wheels_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held = dict(wheel(f"w{number}", b"Requires-Dist: x\n" * (50 if number < 3 else 1)) for number in range(4))
    path = archive(tmp_path / "a.kellet", held)
    monkeypatch.setattr(wheel_contents, "MAX_WHEEL_REQUIREMENTS", 150)
    last = (
        "w3-1-py3-none-any.whl: not a wheel (151 requirements with those of the wheels before it; the limit "
        "is 150); build or download it again"
    )
    assert problems(path) == ["", "", "", last]


@pytest.mark.parametrize(("length", "said"), [(1000, ""), (1001, "a requirement of 1001 characters")])
def test_a_requirement_has_so_many_characters(tmp_path: Path, length: int, said: str) -> None:
    (found,) = problems(
        archive(tmp_path / "a.kellet", dict([wheel("w", b"Requires-Dist: " + b"x" * length + b"\n")]))
    )
    assert said in found
    assert bool(found) is bool(said)


def test_wheels_are_counted_before_one_is_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = archive(tmp_path / "a.kellet", dict(wheel(f"w{number}") for number in range(3)))
    monkeypatch.setattr(wheels, "MAX_WHEELS", 3)
    assert problems(path) == ["", "", ""]
    monkeypatch.setattr(wheels, "MAX_WHEELS", 2)
    with pytest.raises(EnvironmentBuildError, match="3 wheels in the archive; at most 2 are read; export"):
        problems(path)


def test_extras_that_ask_each_other_come_to_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two wheels whose extras ask for the next extra of the other: each is looked at once."""
    count = 30
    one, other = (Wheel.parse(f"{name}-1-py3-none-any.whl") for name in ("one", "other"))
    chain = {
        one: ["other[x0]", *(f"other[x{n + 1}]; extra == 'x{n}'" for n in range(count))],
        other: [f"one[x{n}]; extra == 'x{n}'" for n in range(count)],
    }
    looks = (count + 1) * (count + 2) + (count + 2) * (count + 1)
    monkeypatch.setattr(requirements, "MAX_WHEEL_MARKERS", looks)
    require_all_there(chain, ["one"], Target.here(), "environment x")
    monkeypatch.setattr(requirements, "MAX_WHEEL_MARKERS", looks - 1)
    with pytest.raises(EnvironmentBuildError, match=rf"{looks} requirements .*; the limit is {looks - 1};"):
        require_all_there(chain, ["one"], Target.here(), "environment x")


def test_an_allowance_is_spent_whole_and_no_further() -> None:
    left = Allowance(10, "bytes")
    left.spend(4)
    left.spend(6)
    with pytest.raises(ValueError, match="11 bytes; the limit is 10"):
        left.spend(1)


# --- golden calls ---


def golden_call(number: int) -> CheckRecord:
    base = f".data/checks/{number:04}"
    return CheckRecord(f"{number:04}", "x", f"{base}/in.safetensors", f"{base}/out.safetensors")


def test_golden_calls_are_counted_when_a_manifest_is_read_or_written(tmp_path: Path) -> None:
    calls = tuple(golden_call(number) for number in range(bounds.MAX_CHECKS + 1))
    with ArchiveWriter(tmp_path / "a.kellet", fsync=False) as writer:
        writer.seal(Manifest(checks=calls[1:]))
    with ArchiveReader(tmp_path / "a.kellet") as reader:
        assert len(reader.manifest.checks) == bounds.MAX_CHECKS
    with (
        ArchiveWriter(tmp_path / "b.kellet", fsync=False) as writer,
        pytest.raises(ArchiveError, match="manifest, checks: 1,001 rows; at most 1,000 are read"),
    ):
        writer.seal(Manifest(checks=calls))


def test_golden_calls_do_not_share_what_they_read(tmp_path: Path) -> None:
    from packager import PackageImporter

    first = golden_call(1)
    with ArchiveWriter(tmp_path / "a.kellet", fsync=False) as writer:
        writer.seal(Manifest(checks=(first, dataclasses.replace(golden_call(2), outputs=first.inputs))))
    said = "checks: '0001' and '0002' both name '.data/checks/0001/in.safetensors'; expected inputs"
    with PackageImporter(tmp_path / "a.kellet") as importer, pytest.raises(ArchiveError, match=said):
        importer.check()


# --- the same when an archive is written ---


def fetched(folder: Path, *names: str, metadata: bytes = b"Requires-Dist: w0\n") -> Callable[[], list[str]]:
    """What brings wheels from a folder, and says which are there then."""
    links, to = folder / "links", folder / "to"
    for one in (links, to):
        one.mkdir()
    for name in names:
        file, data = wheel(name, metadata)
        (links / file).write_bytes(data)

    def fetch() -> list[str]:
        externs = dict.fromkeys(names, "1")
        fetch_wheels(externs, {}, [Target.here()], to, local=names, find_links=[str(links)])
        return sorted(path.name for path in to.iterdir())

    return fetch


NAMES = ("w0", "w1", "w2")
REFUSED: dict[str, tuple[Any, str, int, str]] = {
    "count": (wheels, "MAX_WHEELS", 3, "3 wheels in the archive; at most 2 are read"),
    "requirements": (
        wheel_contents,
        "MAX_WHEEL_REQUIREMENTS",
        3,
        r"w2-1-py3-none-any.whl: not a wheel \(3 requirements with those of the wheels before it; the limit",
    ),
    "markers": (
        requirements,
        "MAX_WHEEL_MARKERS",
        6,
        r"wheels for cp3.*: 6 requirements of wheels and their .*; the limit is 5; leave this target out, or",
    ),
}


@pytest.mark.parametrize(("module", "bound", "most", "said"), REFUSED.values(), ids=REFUSED)
def test_wheels_that_no_reader_takes_are_not_put_into_an_archive(
    module: Any, bound: str, most: int, said: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fetch = fetched(tmp_path, *NAMES)
    monkeypatch.setattr(module, bound, most - 1)
    with pytest.raises(EnvironmentBuildError, match=said):
        fetch()
    assert not list((tmp_path / "to").iterdir())
    monkeypatch.setattr(module, bound, most)
    assert fetch() == [f"{name}-1-py3-none-any.whl" for name in NAMES]


def test_texts_of_wheels_are_bounded_alike_when_they_are_written_and_read(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Each is within what a wheel by itself may have; all together are one byte beyond, or are not."""
    fetch = fetched(tmp_path, *NAMES)
    path = archive(tmp_path / "a.kellet", {one.name: one.read_bytes() for one in tmp_path.glob("links/*")})

    def lowered(limit: int) -> bool:
        monkeypatch.setattr(wheel_contents, "most_wheel_text", lambda nbytes: limit)
        return problems(path) == ["", "", ""]

    least = bisect.bisect_left(range(10_000), True, key=lowered)
    assert not lowered(least - 1)
    said = rf"w2-1-.*whl: not a wheel \(\d+ bytes .*limit is {least - 1}"
    with pytest.raises(EnvironmentBuildError, match=said):
        fetch()
    assert not list((tmp_path / "to").iterdir())
    assert lowered(least)
    assert len(fetch()) == 3
