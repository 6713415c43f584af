"""Ends a command at each thing that it writes, one after another, and says what each end left behind.

Run as a program: `ended_at_each_write.py FOLDER COMMAND...`. The command is started again and again, in a
process of its own, with its current folder and its temporary files in FOLDER. The first is ended by SIGTERM
right after the first file or folder is made, renamed or removed, the second after the second, until one
ends by itself. Each end is a line of JSON: exit code, what was new, what was missing, and what it said.
"""

from __future__ import annotations

import json
import os
import pkgutil
import shutil
import signal
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Any

import numpy  # noqa: F401  # before the process is forked

import packager._cli

WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
CHANGES = ("os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.link", "os.symlink", "subprocess.Popen")


def end_after(count: int) -> None:
    """Let this process be ended right after it has changed so many things on the disk."""
    left = count

    def note(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal left
        opened = event == "open" and isinstance(arguments[2], int) and arguments[2] & WRITING
        if event not in CHANGES and not opened:
            return
        left -= 1
        if left == 0:
            frame = sys._getframe(1)
            sys.settrace(lambda *anything: None)
            frame.f_trace, frame.f_trace_opcodes = at_once, True

    def at_once(frame: FrameType, event: str, argument: object) -> None:
        sys.settrace(None)
        frame.f_trace = None
        os.kill(os.getpid(), signal.SIGTERM)

    sys.addaudithook(note)


def contents(folder: Path) -> dict[str, bytes | None]:
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
        if "cache" not in path.parts or path.name.endswith(".kellet-part")
    }


def put_back(folder: Path, before: dict[str, bytes | None]) -> None:
    """Remove what is new; what was there is written anew."""
    for name in sorted(set(contents(folder)) - set(before)):
        path = folder / name
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    for name, data in before.items():
        if data is None:
            (folder / name).mkdir(parents=True, exist_ok=True)
        else:
            (folder / name).write_bytes(data)


def started(command: list[str], count: int, said: Path) -> int:
    """Fork a process that carries out the command, and return its exit code."""
    sys.stdout.flush()
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    descriptor = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(descriptor, 1), os.dup2(descriptor, 2)
    sys.argv = ["packager", *command]
    end_after(count)
    sys.exit(packager._cli.main())


def main() -> None:
    folder, command = Path(sys.argv[1]), sys.argv[2:]
    os.chdir(folder)
    os.environ.update(TMPDIR=str(folder / "tmp"), KELLET_CACHE=str(folder / "cache"))
    tempfile.gettempdir()  # which tries a file of its own
    for module in pkgutil.walk_packages(packager.__path__, "packager."):
        # The last ones are stored as code of projects, and no command imports them.
        apart = ("packager.__main__", "packager._loading.parsing_process", "packager._pretrained.packaged_")
        if not module.name.startswith(apart):
            import_module(module.name)
    said = folder.parent / f"{folder.name}-said.txt"
    before = contents(folder)
    count = code = 0
    while code == 0 or code == 143:
        count += 1
        code = started(command, count, said)
        after = contents(folder)
        new, gone = sorted(set(after) - set(before)), sorted(set(before) - set(after))
        new += sorted(f"{name} (changed)" for name in set(after) & set(before) if after[name] != before[name])
        row = {"code": code, "new": new, "gone": gone, "said": said.read_text()[-2000:]}
        sys.stdout.write(f"{json.dumps(row)}\n")
        if code == 0:
            break
        put_back(folder, before)


if __name__ == "__main__":
    main()
