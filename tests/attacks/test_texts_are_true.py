"""What the commands say of themselves: that they run nothing. Each is started on an archive that would tell.

Everything in the archive that could run writes a marker of its own: sources, the loader of a runnable
archive, pickles, functions of migrations, wheels. Each command is a process, started in a folder of modules
that write markers, too. The twin that does run the archive shows that the markers work.
"""

from __future__ import annotations

import dataclasses
import os
import pickle
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from packager import PackageExporter, PackageImporter
from packager._archive import ArchiveReader, ArchiveWriter, ExternRecord
from packager._environment.own import wheel_of
from packager._environment.wheels import WHEELS
from tests import processes

pytestmark = pytest.mark.processes(share=3)

MODULES = (
    "json",
    "pip",
    "venv",
    "site",
    "sitecustomize",
    "numpy",
    "kellet_start",
    "shop",
    "email",
    "zipfile",
)


class Bomb:
    """Writes a marker when it is unpickled."""

    def __init__(self, marker: Path) -> None:
        self.marker = str(marker)

    def __reduce__(self) -> tuple[object, ...]:
        return (open, (self.marker, "w"))


def writes(marker: Path) -> str:
    return f"import pathlib\npathlib.Path({str(marker)!r}).write_text('ran')\n"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the hostile archive, as file and folder, beside old weights and modules of all names."""
    folder = tmp_path_factory.mktemp("texts")
    for name in ("markers", "here"):
        (folder / name).mkdir()
    markers = folder / "markers"
    with PackageExporter(folder / "first.kellet", policy="auto", runnable=True, prove=False) as exporter:
        for name in ("shop", "shop_part"):
            exporter.save_source_string(name, writes(markers / name) + "answer = 42\n")
        exporter.save_object("model", "model", {"w": np.ones(3)})
        exporter.save_state_dict("model", "state", {"w": np.ones(3), "epoch": 3})
        exporter.save_binary("shop", "bomb.pkl", pickle.dumps(Bomb(markers / "pickle")))
    start = {"tiny.pth": f"import os; open({str(markers / 'pth')!r}, 'w')".encode()}
    start["sitecustomize.py"] = writes(markers / "sitecustomize").encode()
    head = b"Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n"
    wheel, data = wheel_of({**start, "tiny-1.0.dist-info/METADATA": head}, "tiny", "1.0")
    with (
        ArchiveReader(folder / "first.kellet") as reader,
        ArchiveWriter(folder / "net.kellet", fsync=False) as writer,
    ):
        for name in reader.names():
            entry = reader.entry(name)
            kind = "pickle" if name.endswith(".pkl") else entry.kind
            content = reader.read(name)
            if name in ("__main__.py", "packager.py") or name.endswith("runtime/packager/__init__.py"):
                content = writes(markers / name.replace("/", "_")).encode() + content.replace(
                    b"from __future__", b"# "
                )
            writer.add(name, content, kind=kind, align=entry.align)
        writer.add(WHEELS + wheel, data, kind="resource")
        row = ExternRecord("tiny", "installed", "tiny", "1.0", "tiny>=1.0,<2")
        facts = {**reader.manifest.environment, "distributions": {"tiny": "1.0"}}
        writer.seal(dataclasses.replace(reader.manifest, externs=(row,), environment=facts))
    zipfile.ZipFile(folder / "net.kellet").extractall(folder / "net")
    (folder / "migration.toml").write_text('name = "m"\nto = 2\n[[step]]\nrename = "w"\ninto = "v"\n')
    for name in MODULES:
        (folder / "here" / f"{name}.py").write_text(writes(markers / f"{name} of the folder"))
    return folder


COMMANDS: dict[str, Sequence[str]] = {
    "inspect": ("inspect", "FILE"),
    "inspect --json": ("inspect", "FILE", "--json", "--tensors"),
    "report": ("report", "FILE", "-o", "OUT"),
    "plan --html": ("plan", "shop", "--html", "OUT"),
    "sbom": ("sbom", "FILE"),
    "diff": ("diff", "FILE", os.devnull),
    "verify": ("verify", "FILE"),
    "verify --deep": ("verify", "FILE", "--deep"),
    "why": ("why", "FILE", "shop"),
    "extract": ("extract", "FILE", "OUT"),
    "env check": ("env", "check", "FILE"),
    "env check --python": ("env", "check", "FILE", "--python", sys.executable),
    "env lock": ("env", "lock", "FILE"),
    "env create": ("env", "create", "FILE", "OUT", "--offline", "--installer", "pip"),
    "convert": ("convert", "FILE", "OUT.safetensors"),
    "migrate --plan": ("migrate", "FILE", "--with", "wrappers", "--plan"),
    "migrate": ("migrate", "FILE", "--with", "wrappers", "-o", "OUT.safetensors"),
    "suggest-migration": ("suggest-migration", "FILE", "FILE"),
    "plan": ("plan", "shop"),
}


@pytest.mark.parametrize("form", ["net.kellet", "net"])
@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_that_says_that_it_runs_nothing_runs_nothing(
    place: Path, tmp_path: Path, name: str, form: str
) -> None:
    values = {"FILE": str(place / form), "OUT": str(tmp_path / "out")}
    values["OUT.safetensors"] = str(tmp_path / "out.safetensors")
    command = [values.get(word, word) for word in COMMANDS[name]]
    # The installed command: `python -m` would put the folder on the path of Python itself.
    program = "import sys; from packager._cli import main; sys.exit(main(sys.argv[1:]))"
    done = processes.run(
        [sys.executable, "-P", "-c", program, *command],
        cwd=place / "here",
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "KELLET_CACHE": str(tmp_path / "cache")},
    )
    assert "Traceback" not in done.stderr
    assert [path.name for path in (place / "markers").iterdir()] == [], (done.stdout, done.stderr)
    assert done.returncode in (0, 1), (done.stdout, done.stderr)


def test_opening_and_listing_run_nothing_and_importing_does(place: Path) -> None:
    markers = place / "markers"
    with PackageImporter(place / "net.kellet", environment="ignore") as importer:
        assert importer.manifest.objects
        assert importer.file_structure().has_file("shop.py")
        assert importer.get_source("shop")
        assert importer.load_object("model", "model")["w"].sum() == 3
        assert importer.load_state_dict("model", "state")["epoch"] == 3
        assert importer.load_migrations() == {}
        assert importer.load_binary("shop", "bomb.pkl")
        assert list(markers.iterdir()) == []
        assert importer.import_module("shop").answer == 42
    assert [path.name for path in markers.iterdir()] == ["shop"]
    with PackageImporter(place / "net.kellet", environment="ignore", allow_pickle=True) as importer:
        importer.load_pickle("shop", "bomb.pkl").close()
    command = [sys.executable, str(place / "net.kellet"), "--info"]
    processes.run(command, capture_output=True, text=True, check=False)
    found = {path.name for path in markers.iterdir()}
    for path in markers.iterdir():
        path.unlink()
    assert found >= {"shop", "pickle", "__main__.py", ".data_runtime_packager___init__.py"}
