"""Section 8: archives of every released format are read for ever, and written the same again."""

from __future__ import annotations

import hashlib
import importlib.util
import io
import re
from pathlib import Path
from types import ModuleType

import pytest

from fixtures.golden import released
from packager._archive import (
    ArchiveReader,
    ArchiveWriter,
    Manifest,
    TensorReader,
    TensorSpec,
    add_tensors,
    verify,
)

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = released.archives("archive")


@pytest.fixture(scope="module")
def script() -> ModuleType:
    specification = importlib.util.spec_from_file_location(
        "golden_archive", ROOT / "fixtures/golden/archive.py"
    )
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_every_golden_archive_is_there_as_it_was_released() -> None:
    assert [*released.problems()] == []
    assert {line.split("  ")[1] for line in released.lines()} >= {
        "archive-0.1.0.kellet",
        "model-0.1.0.kellet",
        "signed-0.1.0.kellet",
    }


def test_a_golden_archive_that_is_gone_moved_or_new_is_told(tmp_path: Path) -> None:
    for name in ("archive-0.9.0", "archive-0.10.0", "model-0.9.0"):
        (tmp_path / f"{name}.kellet").write_bytes(b"x")
    digest = hashlib.sha256(b"x").hexdigest()
    sums = (
        f"{digest}  archive-0.9.0.kellet\n{digest[::-1]}  model-0.9.0.kellet\n{digest}  model-0.8.0.kellet\n"
    )
    (tmp_path / "SHA256SUMS").write_text(sums, encoding="utf-8")
    assert [one.partition(":")[0] for one in released.problems(tmp_path)] == [
        "tests/golden/archive-0.10.0.kellet has no digest",
        "tests/golden/model-0.8.0.kellet is gone",
        "tests/golden/model-0.9.0.kellet has other bytes than SHA256SUMS says",
    ]
    assert [path.stem for path in released.archives("archive", tmp_path)] == [
        "archive-0.9.0",
        "archive-0.10.0",
    ]


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_golden_archive_reads_as_it_was_written(path: Path, script: ModuleType) -> None:
    with ArchiveReader(path) as reader:
        assert verify(reader).problems == ()
        assert reader.identity == "bbb5a4992c65a71ee0fe37e067bfc4e665b01733bf23e49366dd3c2c0ffe3630"
        assert reader.manifest.modules == script.MANIFEST.modules
        assert reader.manifest.environment == script.MANIFEST.environment
        assert {name: reader.read(name) for name in script.ENTRIES} == {
            name: content for name, (_, content) in script.ENTRIES.items()
        }
        tensors = TensorReader(reader, "net/weights")
        assert list(tensors) == [spec.key for spec in script.TENSORS]
        assert bytes(tensors.data("linear.weight")) == script.STORAGES[0]
        later = TensorReader(reader, "net/later")
        assert [bytes(later.data(key)) for key in ("table", "steps")] == list(script.LATER_STORAGES)
        assert [place.member for place in later.elsewhere] == ["net/weights"]


def test_todays_writer_writes_todays_golden_archive(script: ModuleType) -> None:
    file = io.BytesIO()
    script.write(file)
    assert file.getvalue() == GOLDEN[-1].read_bytes()


def test_the_example_of_the_format_is_what_is_written() -> None:
    file = io.BytesIO()
    with ArchiveWriter(file) as writer:
        add_tensors(writer, "m", [TensorSpec("a", "U8", (2,), (1,), 0, 0)], [b"hi"])
        identity = writer.seal(Manifest())
    found = file.getvalue()
    page = (ROOT / "docs" / "spec" / "archive-format.md").read_text(encoding="utf-8").partition("## 14")[2]
    assert f"{len(found)} bytes" in page
    assert f"`{identity}`" in page
    parts = re.findall(r"(?m)^([0-9a-f]{3}) .+\n((?:    [0-9a-f]+\n)+)", page)
    assert len(parts) == 8
    for place, digits in parts:
        assert found[int(place, 16) :].startswith(bytes.fromhex(digits)), place
