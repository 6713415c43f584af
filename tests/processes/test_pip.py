"""What pip installs into another environment is the same, whether its process there is forked or cold."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from packager._environment.own import wheel_of
from tests import processes
from tests.processes import starting
from tests.processes.server import COLD_PIP

FILES = {
    "tiny/__init__.py": b"VALUE = 3\n",
    "tiny-1.0.data/scripts/shown": b"#!python\nprint('shown')\n",
    "tiny-1.0.data/data/share/tiny.txt": b"data\n",
    "tiny-1.0.data/headers/tiny.h": b"int tiny;\n",
    "tiny-1.0.dist-info/METADATA": b"Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n",
    "tiny-1.0.dist-info/entry_points.txt": b"[console_scripts]\ntold = tiny:VALUE\n",
}


def installed(python: Path, *wanted: str) -> tuple[int, str, str, dict[str, bytes]]:
    """Install into an environment; what was said, and what is there, without its own name."""
    home = python.parent.parent
    command = [sys.executable, "-P", "-m", "pip", "--python", str(python), "install"]
    options = ["--no-index", "--disable-pip-version-check", "--find-links", str(home.parent), *wanted]
    done = processes.run([*command, *options], capture_output=True, text=True)
    own = str(home)
    files = {
        str(path.relative_to(home)): path.read_bytes().replace(own.encode(), b"HOME")
        for path in home.rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }
    for name in [
        name for name in files if name.endswith("/RECORD")
    ]:  # digests of programs that name a folder
        files[name] = b"\n".join(sorted(line.partition(b",")[0] for line in files[name].splitlines()))
    return done.returncode, done.stdout.replace(own, "HOME"), done.stderr.replace(own, "HOME"), files


@pytest.mark.parametrize(("wanted", "code"), [("tiny", 0), ("tiny==2.0", 1), ("--no-such-option", 2)])
def test_a_fork_installs_and_says_what_a_cold_process_does(
    wanted: str,
    code: int,
    tmp_path: Path,
    link_environment: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(starting, "_ONE_OF", 1 << 40)
    monkeypatch.delenv("KELLET_COLD", raising=False)
    name, data = wheel_of(FILES, "tiny", "1.0")
    (tmp_path / name).write_bytes(data)
    forked = installed(link_environment(tmp_path / "one"), wanted)
    monkeypatch.setenv(COLD_PIP, "1")
    cold = installed(link_environment(tmp_path / "two"), wanted)
    assert forked == cold
    assert forked[0] == code
    assert ("bin/told" in forked[3]) is (code == 0)
    assert processes.how_started(starting._test()).count("forked") == 2
