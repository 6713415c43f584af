"""A typed error of a public call shows the caller's line, and frames of others where there are any."""

from __future__ import annotations

import io
import threading
import traceback
from pathlib import Path
from typing import Any

import pytest

import packager
from packager import ArgumentError, PackageExporter
from packager.errors import KeyNotStoredError, RefusedPlanError


def files_of(error: BaseException) -> list[str]:
    return [frame.filename for frame in traceback.extract_tb(error.__traceback__)]


def test_save_load_and_with_show_no_frame_of_ours(tmp_path: Path) -> None:
    packager.save({}, tmp_path / "net.kellet", prove=False)
    with pytest.raises(RefusedPlanError) as saving:
        packager.save(threading.Lock(), io.BytesIO())
    with pytest.raises(RefusedPlanError) as closing, PackageExporter(io.BytesIO()) as exporter:
        exporter.save_source_string("net", "import not_installed_here")
    with PackageExporter(tmp_path / "none.kellet", prove=False) as exporter:
        exporter.save_text("net", "x.txt", "x")
    with pytest.raises(KeyNotStoredError) as loading:
        packager.load(tmp_path / "none.kellet")
    for caught in (saving, closing, loading):
        assert files_of(caught.value) == [__file__]


def test_causes_and_frames_of_other_code_are_kept(tmp_path: Path) -> None:
    class File(io.BytesIO):
        def write(self, data: Any) -> int:
            raise ArgumentError("from the file") from KeyError("why")

    with pytest.raises(ArgumentError, match="from the file") as caught:
        packager.save({}, File(), prove=False)
    assert files_of(caught.value).count(__file__) == 2
    assert len(files_of(caught.value)) > 2
    assert isinstance(caught.value.__cause__, KeyError)
