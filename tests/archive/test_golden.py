"""Section 8: archives of every released format are read for ever, and written the same again."""

from __future__ import annotations

import importlib.util
import io
from pathlib import Path
from types import ModuleType

import pytest

from packager.archive import ArchiveReader, TensorReader, verify

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = sorted((ROOT / "tests" / "golden").glob("archive-*.kellet"))


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


def test_there_is_an_archive_of_every_format() -> None:
    assert [path.name for path in GOLDEN] == ["archive-1.kellet"]


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_golden_archive_reads_as_it_was_written(path: Path, script: ModuleType) -> None:
    with ArchiveReader(path) as reader:
        assert verify(reader).problems == ()
        assert reader.identity == "e3e8dd23dfde9c2c65a44993a194d7fa493d30d9fbb7961402ebd690a1f55397"
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
