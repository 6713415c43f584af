"""Folders of torch.distributed.checkpoint with `convert`, `inspect`, `migrate` and `diff`."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from packager._cli.main import main
from packager.weights import open_checkpoint

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "dcp"
WHOLE = np.arange(35, dtype="f4").reshape(5, 7)
MIGRATION = """\
name = "renamed"

[[step]]
rename = "rows"
to = "weight"
transforms = [{ transpose = true }]
"""


@pytest.fixture
def two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(FIXTURES / "two", "two")
    return "two"


def test_convert_writes_both_formats(two: str, capsys: pytest.CaptureFixture[str]) -> None:
    for new in ("new.kellet", "new.safetensors"):
        assert main(["convert", two, new]) == 0
        assert "read     two: dcp, 2 shards" in capsys.readouterr().out
        assert open_checkpoint(new)["rows"].numpy().tolist() == WHOLE.tolist()


def test_inspect_shows_shapes(two: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", two]) == 0
    assert "columns  bfloat16  [5, 7]" in capsys.readouterr().out
    assert main(["inspect", two, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["format"] == "dcp"


def test_migrate_renames_and_transposes(two: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("migration.toml").write_text(MIGRATION)
    assert main(["migrate", two, "--with", "migration.toml", "-o", "new.safetensors"]) == 0
    assert open_checkpoint("new.safetensors")["weight"].numpy().tolist() == WHOLE.T.tolist()


def test_diff_takes_it_on_either_side(two: str, capsys: pytest.CaptureFixture[str]) -> None:
    one = str(FIXTURES / "one")
    assert main(["convert", one, "new.kellet"]) == 0
    capsys.readouterr()
    for pair in ([one, "new.kellet"], ["new.kellet", one]):
        assert main(["diff", *pair]) == 0
        assert f"{pair[0]} and {pair[1]} are equal" in capsys.readouterr().out
    assert main(["diff", two, one]) == 1
    assert "- rows" in capsys.readouterr().out


def test_a_damaged_folder_is_told_with_file_key_and_byte(
    two: str, capsys: pytest.CaptureFixture[str]
) -> None:
    place = Path(two, "__1_0.distcp")
    place.write_bytes(place.read_bytes()[:5000])
    for command in (["convert", two, "new.kellet"], ["inspect", two]):
        assert main(command) == 3
        assert (
            "__1_0.distcp, 'same' at byte 4415: it ends at 5992, the file at 5000" in capsys.readouterr().err
        )
    assert not Path("new.kellet").exists()
