"""Promise 1 over hostile archives: opening, listing, verifying and reading run and write nothing.

What other files here hand to `accepts` is watched too; records of objects are in `test_objects.py`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from packager._archive import ArchiveReader
from tests import processes

WATCHED = """
import random, sys
sys.path.insert(0, sys.argv[1])
import fuzz_archives as fuzz
from packager._archive import ArchiveReader, verify
from packager.errors import PackageError
from packager._codecs import default_registry
from packager._audit import names_in

registry = default_registry()  # which looks for codecs among what is installed, once

def look(data):
    try:
        with ArchiveReader(data) as reader:
            sound = verify(reader).ok
            reader.manifest, reader.signatures()
            for name in reader.names():
                reader.read(name)
                if reader.entry(name).kind == "tensors":
                    fuzz._use_tensors(fuzz.TensorReader(reader, name))
                if reader.entry(name).kind == "object":
                    names_in(reader.read(name), registry=registry)
        return sound
    except PackageError:
        return False

chooser = random.Random(1)
inputs = [chooser.randbytes(2 + 6 * chooser.choice((1, 2, 3))) for _ in range(1000)]
forged = [fuzz.archive_of(data) for data in inputs]
[look(data) for data in forged]  # what is imported late is there now, and is none of the archive's doing
events = set()
sys.addaudithook(lambda event, arguments: events.add(event))
sound = sum(look(data) for data in forged)
seen = sorted(events)
print(sound, *seen)
"""
BAD = ("exec", "import", "compile", "open", "os.", "subprocess.", "socket.", "pickle.", "ctypes.", "shutil.")


def test_nothing_runs_and_nothing_is_written_whatever_is_opened() -> None:
    command = [sys.executable, "-c", WATCHED, str(Path(__file__).parent)]
    done = processes.run(command, cold=True, capture_output=True, text=True, check=True)
    sound, *events = done.stdout.split()
    assert 16 < int(sound) < 500, "most are hostile, and some are harmless"
    assert [event for event in events if event.startswith(BAD)] == []
    assert "mmap.__new__" in events, "the hook sees what is done"


CODE = compile("1", "forged", "eval")
DEEDS = {
    "compile": lambda folder: compile("1", "forged", "eval"),
    "exec": lambda folder: exec(CODE),
    "import": lambda folder: __import__("packager.no_such_module"),
    "open": lambda folder: (folder / "written").write_text("x"),
    "os.mkdir": lambda folder: (folder / "made").mkdir(exist_ok=True),
    "subprocess.Popen": lambda folder: processes.run(["true"], cold=True, check=True),
}


@pytest.mark.parametrize("event", DEEDS)
def test_the_watch_over_what_accepts_is_handed_would_notice(
    accepts: Callable[..., bool],
    honest: bytes,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    event: str,
) -> None:
    def misbehaving(reader: ArchiveReader) -> None:
        with suppress(ModuleNotFoundError):
            DEEDS[event](tmp_path)

    assert accepts(honest)
    monkeypatch.setattr(ArchiveReader, "signatures", misbehaving)
    with pytest.raises(AssertionError, match=f"'{event}'"):
        accepts(honest)
    monkeypatch.undo()
    assert accepts(honest)
