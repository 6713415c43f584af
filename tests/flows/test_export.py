"""Whole exports: one from end to end, and the same bytes whatever process, folder, hash seed or date."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
from pathlib import Path

import pytest

from tests import processes

pytestmark = pytest.mark.processes(share=3)

ROOT = Path(__file__).resolve().parents[2]

TREE = {
    "shop/__init__.py": "from .net import build as build\n",
    "shop/net.py": (
        "import json\n"
        "import sys\n"
        "import numpy as np\n"
        "from kellet import nn\n"
        "from .layers import Scale\n"
        "if sys.platform == 'nowhere':\n"
        "    import winreg\n"
        "class Net(nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.first = nn.Linear(2, 3)\n"
        "        self.scale = Scale()\n"
        "        self.tags = {'b', 'a', 'c'}\n"
        "        self.words = {word: len(word) for word in sorted({'x', 'yy', 'zzz'})}\n"
        "        for number, parameter in enumerate(self.parameters()):\n"
        "            parameter.detach().numpy()[...] = number + 0.5\n"
        "    def forward(self, x):\n"
        "        return self.scale(self.first(x))\n"
        "def build():\n"
        "    return Net()\n"
    ),
    "shop/layers.py": (
        "from kellet import nn\n"
        "from importlib.resources import files\n"
        "class Scale(nn.Module):\n"
        "    def forward(self, x):\n"
        "        return x * float((files('shop') / 'factor.txt').read_text())\n"
    ),
    "shop/factor.txt": "3",
}

EXPORT = """
import json, sys, warnings
from packager import PackageExporter, PackagingWarning
import shop
warnings.simplefilter("ignore", PackagingWarning)  # of the rule without a match, and of the pickle
trace = []
with PackageExporter(sys.argv[1], policy="auto", fsync=False) as exporter:
    for kind in ("intern", "extern", "mock", "deny"):
        register = getattr(exporter, f"register_{kind}_hook")
        register(lambda exporter, name, decision, *, kind=kind: trace.append([kind, name, decision.rule]))
        register(lambda exporter, name, *, kind=kind: trace.append([kind, name]))
    exporter.mock("json.tool")
    exporter.save_object("model", "model", shop.build())
    exporter.save_state_dict("model", "weights", shop.build())
    exporter.save_pickle("model", "tags.pkl", sorted({"b", "a"}))
    exporter.save_text("model", "about.txt", "a shop")
print(json.dumps(trace))
"""

LOAD = """
import sys
from importlib.util import find_spec
import kellet
from packager import PackageImporter
assert find_spec("shop") is None, "what the archive lacks would come from here"
with PackageImporter(sys.argv[1]) as importer:
    model = importer.load_object("model", "model")
    print(model(kellet.ones(1, 2)).tolist(), sorted(model.tags), model.words)
    print(importer.load_text("model", "about.txt"))
    try:
        importer.import_module("shop_of_nobody")
    except ImportError as error:
        print(type(error).__name__)
"""


def write(folder: Path) -> Path:
    for name, text in TREE.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def run(code: str, *arguments: object, cwd: Path, **environment: str) -> str:
    """Run code in a fresh process that sees the folder it stands in, and the project's own packages."""
    path = os.pathsep.join([str(cwd), str(ROOT), str(ROOT / "src")])
    done = processes.run(
        [sys.executable, *processes.STRICT, "-c", code, *map(str, arguments)],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": path, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_an_export_is_loaded_by_a_process_that_cannot_see_the_project(tmp_path: Path) -> None:
    project, elsewhere = write(tmp_path / "project"), tmp_path / "elsewhere"
    elsewhere.mkdir()
    run(EXPORT, tmp_path / "net.kellet", cwd=project)
    shutil.rmtree(project)
    printed = run(LOAD, tmp_path / "net.kellet", cwd=elsewhere).splitlines()
    # One bias of 1.5 and two weights of 0.5, times three.
    assert printed == [
        "[[7.5, 7.5, 7.5]] ['a', 'b', 'c'] {'x': 1, 'yy': 2, 'zzz': 3}",
        "a shop",
        "UndeclaredImportError",
    ]


def test_each_hook_is_seen_once_for_each_module_in_one_trace(tmp_path: Path) -> None:
    trace = json.loads(run(EXPORT, tmp_path / "net.kellet", cwd=write(tmp_path / "project")))
    told = [row for row in trace if len(row) == 3]
    names = [row[1] for row in told]
    assert len(names) == len(set(names))
    # Both hooks of a kind, in the order of registration, before the walk goes on to the next module.
    assert [row[:2] for row in trace[::2]] == trace[1::2]
    assert [row[1:] for row in told if row[0] == "intern"] == [
        ["shop", "preset auto"],
        ["shop.net", "preset auto"],
        ["shop.layers", "preset auto"],
    ]
    externs = {row[1]: row[2] for row in told if row[0] == "extern"}
    assert {externs[name] for name in ("json", "sys", "kellet", "importlib.resources")} == {"implicit"}
    assert externs["numpy"] in ("implicit", "preset auto")
    # What stands under an `if` is perhaps imported, so it is decided, too; the target need not have it.
    assert externs["winreg"] == "implicit"


@pytest.mark.parametrize(
    "change",
    [
        {"PYTHONHASHSEED": "1"},
        {"PYTHONHASHSEED": "4711"},
        {"TZ": "Asia/Tokyo", "LC_ALL": "C"},
        {"HOME": "/dev/null", "USER": "somebody", "XDG_CACHE_HOME": "/dev/null"},
        {"PYTHONOPTIMIZE": "1"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_the_same_inputs_give_the_same_bytes(tmp_path: Path, change: dict[str, str]) -> None:
    run(EXPORT, tmp_path / "one.kellet", cwd=write(tmp_path / "one"))
    run(EXPORT, tmp_path / "two.kellet", cwd=write(tmp_path / "a longer name" / "two"), **change)
    assert digest(tmp_path / "one.kellet") == digest(tmp_path / "two.kellet")


def test_dates_of_files_and_the_clock_do_not_matter(tmp_path: Path) -> None:
    project = write(tmp_path / "project")
    run(EXPORT, tmp_path / "one.kellet", cwd=project)
    for path in project.rglob("*"):
        os.utime(path, (1_000_000_000, 1_000_000_000))
    later = "import time\nnow = time.time\ntime.time = lambda: now() + 1e8\n" + EXPORT
    run(later, tmp_path / "two.kellet", cwd=project)
    assert digest(tmp_path / "one.kellet") == digest(tmp_path / "two.kellet")


def test_asking_along_the_way_does_not_change_the_bytes(tmp_path: Path) -> None:
    project = write(tmp_path / "project")
    curious = EXPORT.replace("    exporter.save_text", "    exporter.plan()\n    exporter.save_text")
    assert curious != EXPORT
    run(EXPORT, tmp_path / "one.kellet", cwd=project)
    run(curious, tmp_path / "two.kellet", cwd=project)
    assert digest(tmp_path / "one.kellet") == digest(tmp_path / "two.kellet")
