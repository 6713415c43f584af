"""Promise 1 over hostile archives: opening, listing, verifying and reading run and write nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

WATCHED = """
import random, sys
sys.path.insert(0, sys.argv[1])
import fuzz_target as fuzz
from packager.archive import ArchiveReader, verify
from packager.errors import PackageError
from packager.codecs.registry import default_registry
from packager.objects import names_in

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
inputs = [chooser.randbytes(2 + 6 * chooser.choice((1, 2, 3))) for _ in range(3000)]
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
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    sound, *events = done.stdout.split()
    assert 50 < int(sound) < 1500, "most are hostile, and some are harmless"
    assert [event for event in events if event.startswith(BAD)] == []
    assert "mmap.__new__" in events, "the hook sees what is done"
