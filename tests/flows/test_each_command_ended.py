"""Every command, ended by SIGTERM at each thing that it writes: what it leaves is whole, or nothing."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import shlex
import shutil
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from packager import PackageExporter
from packager._archive import ArchiveWriter, ExternRecord, Manifest
from packager._cli import main
from packager._cli.summary import COMMANDS
from packager._environment import Fingerprint
from packager._environment.own import wheel_of
from packager._environment.wheels import WHEELS
from tests import processes

pytestmark = pytest.mark.unix  # of signals, and of the group of processes that a signal ends

DRIVER = Path(__file__).with_name("ended_at_each_write.py")
NET = """
from kellet import nn
here = open(__file__).close()  # the files of the package have to be there
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 1)
    def forward(self, x):
        return self.layer(x)
def build():
    return Net()
"""
INFO = "tiny-1.0.dist-info"
TINY = {"tiny.py": b"VALUE = 3\n", f"{INFO}/METADATA": b"Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n"}

# What each command writes when it comes to its end; parts of it are whole files, and come in this order.
CASES: dict[str, tuple[str, ...]] = {
    "plan endnet:build": (),
    "export endnet:build -o new.kellet --example x.npz": ("new.kellet",),
    "suggest endnet:build -o policy.toml": ("policy.toml",),
    "why endnet:build kellet.nn": (),
    "inspect net.kellet": (),
    "report net.kellet -o net.html": ("net.html",),
    "sbom net.kellet -o net.cdx.json": ("net.cdx.json",),
    "sign net.kellet --key keys/k.pem --detached": ("net.kellet.sigstore.json",),
    "approve signed/net.kellet --signers keys/signers.toml": (),
    "diff net.kellet net.kellet": (),
    "diff old.npz old.npz": (),
    "verify net.kellet --deep": (),
    "run net.kellet --input x.npz -o y.npz": ("y.npz",),
    "check net.kellet": (),
    "extract net.kellet deep/er/out": ("deep",),
    "extract net.kellet out model/**": ("out",),
    "convert old.npz new.kellet": ("new.kellet",),
    "convert old.npz new.safetensors": ("new.safetensors",),
    "migrate old.npz --with m.toml -o new.kellet": ("new.kellet",),
    "suggest-migration old.npz endnet:build -o draft.toml": ("draft.toml",),
    "env check tiny.kellet": (),
    "env lock tiny.kellet -o lock.txt --wheels deep/wheels": ("deep", "lock.txt"),
    "env lock tiny.kellet -o pylock.toml": ("wheels", "pylock.toml"),
    "env create tiny.kellet made --offline --installer pip": ("made",),
    "cache": (),
    "cache clear": (),
    "cache compile net.kellet": (),
    "completion bash": (),
    "completion zsh": (),
    "completion fish": (),
    "plan endnet:build --html plan.html": ("plan.html",),
    "diff net.kellet net.kellet --html diff.html": ("diff.html",),
    "inspect old.npz --tensors": (),
    "migrate old.npz --with m.toml --plan": (),
    "suggest-migration old.npz endnet:build": (),
    "run net.kellet --input x.npz": (),
    "env lock tiny.kellet": (),
}


PARTS = {"env": ("check", "lock", "create"), "cache": ("clear", "compile")}


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a module, archives, weights and a migration."""
    folder = tmp_path_factory.mktemp("prepared")
    (folder / "tmp").mkdir()
    (folder / "endnet.py").write_text(NET)
    sys.path.insert(0, str(folder))
    import endnet  # type: ignore[import-not-found]  # written above

    with PackageExporter(folder / "net.kellet", policy="auto") as exporter:
        exporter.save_object("model", "model", endnet.build())
        exporter.save_example("model", {"x": np.ones((3, 2), "f4")})
    sys.path.remove(str(folder))
    del sys.modules["endnet"]
    shutil.rmtree(folder / "__pycache__", ignore_errors=True)
    _sign(folder)
    np.savez(folder / "x.npz", x=np.ones((1, 2), "f4"))
    np.savez(folder / "old.npz", **{"a.weight": np.ones((1, 2), "f4"), "a.bias": np.ones(1, "f4")})
    (folder / "m.toml").write_text('[[step]]\nrename = "a.{k:any}"\nto = "layer.{k}"\n')
    recorded = {"distributions": {"tiny": "1.0"}, "local": ["tiny"]}
    with ArchiveWriter(folder / "tiny.kellet", fsync=False) as writer:
        file, data = wheel_of(TINY, "tiny", "1.0")
        writer.add(WHEELS + file, data, kind="resource")
        row = ExternRecord("tiny", "installed", "tiny", "1.0", "tiny>=1.0,<2")
        environment = {**dataclasses.asdict(Fingerprint.here()), **recorded}
        writer.seal(Manifest(externs=(row,), environment=environment))
    return folder


def _sign(folder: Path) -> None:
    """Make a key, a signed archive, and rules that admit its code."""
    from packager import Signer
    from packager._archive import ArchiveReader
    from packager._signing import code_digest, sign_archive
    from tests.signing.signed_files import pair  # needs cryptography

    (folder / "keys").mkdir()
    (folder / "signed").mkdir()
    made = pair(folder / "keys", "k")
    path = shutil.copy(folder / "net.kellet", folder / "signed" / "net.kellet")
    sign_archive(str(path), Signer.of(made.pem))
    with ArchiveReader(path) as reader:
        digest = code_digest(reader.manifest)
    rules = f'[[allow]]\nkeys = ["k.pub"]\ncode_digest = "{digest}"\n'
    (folder / "keys" / "signers.toml").write_text(rules)


@pytest.fixture
def folder(prepared: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(prepared, tmp_path / "folder"))


def variables(folder: Path) -> dict[str, str]:
    """No index, no settings of this user, and no byte code beside the module."""
    own = {"PYTHONPATH": str(folder), "PIP_CONFIG_FILE": "/dev/null", "PIP_NO_INDEX": "1"}
    places = {"TMPDIR": str(folder / "tmp"), "KELLET_CACHE": str(folder / "cache")}
    return {**os.environ, **own, **places, "PYTHONDONTWRITEBYTECODE": "1"}


def test_every_command_is_tried_and_every_part_of_one() -> None:
    assert {case.split()[0] for case in CASES} == set(COMMANDS)
    tried = {tuple(case.split()[:2]) for case in CASES}
    assert {(name, part) for name, parts in PARTS.items() for part in parts} <= tried


@pytest.mark.parametrize("name", COMMANDS)
def test_the_parts_of_a_command_are_those_that_it_lists(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main([name, "--help"])
    listed = re.search(r"\nparts:\n  PART\n((?:    .*\n)+)", capsys.readouterr().out)
    found = tuple(re.findall(r"^    (\w+)", listed[1], re.MULTILINE)) if listed else ()
    assert found == PARTS.get(name, ())


@pytest.mark.long
@pytest.mark.parametrize("case", CASES)
def test_what_a_command_leaves_is_whole_or_nothing(case: str, folder: Path) -> None:
    command = [sys.executable, str(DRIVER), str(folder), *shlex.split(case)]
    done = processes.run(
        command, capture_output=True, text=True, timeout=280, env=variables(folder), check=True
    )
    *ended, last = map(json.loads, done.stdout.splitlines())
    expected_codes = {0} if case != "env check tiny.kellet" else {1}
    assert last["code"] in expected_codes, last
    tops = sorted({name.split("/")[0] for name in last["new"]})
    assert tops == sorted(CASES[case]), last
    for row in ended:
        assert row["code"] == 143, row
        assert row["said"].endswith("kellet: ended by a signal; nothing is half-written\n"), row
        assert row["gone"] == [], row
        there = [top for top in CASES[case] if any(name.split("/")[0] == top for name in row["new"])]
        assert there == list(CASES[case][: len(there)]), row
        assert row["new"] == [name for name in last["new"] if name.split("/")[0] in there], row


def wait_for(found: Callable[[], object], process: processes.Popen[Any]) -> None:
    end = time.monotonic() + 120
    while not found():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.001)


def test_an_installer_at_work_ends_with_the_command(folder: Path) -> None:
    """pip starts itself again for another environment, and makes temporary folders of its own."""
    command = [sys.executable, "-m", "packager", *shlex.split("env create tiny.kellet made --offline")]
    process = processes.Popen(
        [*command, "--installer", "pip"],
        stdout=processes.PIPE,
        stderr=processes.PIPE,
        text=True,
        env=variables(folder),
        cwd=folder,
    )
    wait_for(lambda: list(folder.glob("tmp/kellet-tool-*/pip-*")), process)
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 143, errors
    assert list((folder / "tmp").iterdir()) == []
    time.sleep(0.2)  # what lives on would write into the folder that is gone
    assert not (folder / "made").exists()


WRITES = """
import os, pathlib, sys, tempfile, time
if len(sys.argv) > 2:
    os.spawnv(os.P_NOWAIT, sys.executable, [sys.executable, *sys.argv[:2]])
for number in range(100_000):
    pathlib.Path(sys.argv[1]).mkdir(exist_ok=True)
    pathlib.Path(sys.argv[1], f"{os.getpid()}-{number}").touch()
    tempfile.mkdtemp()
    time.sleep(0.001)
"""
RUNS = """
import sys
from packager._environment.installers import run_tool
from packager._process import end_in_order
with end_in_order():
    run_tool([sys.executable, *sys.argv[1:]])
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_all_that_a_tool_has_started_ends(tmp_path: Path, number: signal.Signals) -> None:
    (tmp_path / "writes.py").write_text(WRITES)
    (tmp_path / "tmp").mkdir()
    made = tmp_path / "made"
    process = processes.Popen(
        [sys.executable, "-c", RUNS, str(tmp_path / "writes.py"), str(made), "and another"],
        stderr=processes.PIPE,
        env={**os.environ, "TMPDIR": str(tmp_path / "tmp")},
    )

    def writers() -> int:
        return len({path.name.partition("-")[0] for path in made.iterdir()} if made.exists() else ())

    wait_for(lambda: writers() == 2, process)
    process.send_signal(number)
    process.communicate(timeout=60)
    shutil.rmtree(made)
    time.sleep(0.2)
    assert not made.exists()
    assert list((tmp_path / "tmp").iterdir()) == []
