"""Classes of a script or a notebook are stored with what they need, and nothing that would run again."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from packager.exporting.main_module import needed_definitions

ROOT = Path(__file__).resolve().parents[2]

SCRIPT = '''
"""A script that does things."""
from __future__ import annotations
import json
import sys
import csv
from math import *
from helper import FACTOR as F

WIDTH = 2
try:
    import fast
except ImportError:
    fast = None

def decorate(cls):
    return cls

@decorate
class Base:
    offset = WIDTH

class Net(Base):
    def __call__(self, x):
        return floor(pi) * F * x + self.offset

Net.name = "net"
unused = open
print("the script runs")

def never():
    return csv

if __name__ == "__main__":
    from packager import PackageExporter, PackageImporter
    with PackageExporter(sys.argv[1], policy="auto") as exporter:
        exporter.save_object("model", "model", Net())
    print(exporter.interned_modules())
'''

LOAD = """
import sys
from packager import PackageImporter
with PackageImporter(sys.argv[1]) as importer:
    net = importer.load_object("model", "model")
    print(net(10), net.name, type(net).__qualname__)
"""


def run(*arguments: object, cwd: Path) -> str:
    path = os.pathsep.join([str(ROOT), str(ROOT / "src")])
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": path, "XDG_CACHE_HOME": str(cwd / "cache")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_script_is_stored_as_what_its_classes_need(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    (tmp_path / "helper.py").write_text("FACTOR = 5\n")
    target = tmp_path / "net.kedge"
    assert run("script.py", target, cwd=tmp_path).splitlines() == [
        "the script runs",
        "['__main__', 'helper']",
    ]
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    assert run("-c", LOAD, target, cwd=elsewhere) == "152 net Net\n"


def test_a_module_run_by_name_keeps_its_relative_imports(tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "__init__.py").write_text("")
    (tmp_path / "shop" / "helper.py").write_text("FACTOR = 5\n")
    (tmp_path / "shop" / "script.py").write_text(SCRIPT.replace("from helper", "from .helper"))
    target = tmp_path / "net.kedge"
    assert "['__main__', 'shop', 'shop.helper']" in run("-m", "shop.script", target, cwd=tmp_path)
    assert run("-c", LOAD, target, cwd=tmp_path) == "152 net Net\n"


def test_a_notebook_is_read_from_its_cells(tmp_path: Path) -> None:
    cells = ["%matplotlib inline\nimport math", "print('once')\nclass Net:\n    name = 'net'", "!pip list"]
    cells.append("def _call(self, x):\n    return math.floor(x)\nNet.__call__ = _call")
    code = (
        "import json, sys, types\n"
        "cells = json.loads(sys.argv[2])\n"
        "In = ['', *cells]\n"
        "for cell in cells:\n"
        "    exec('\\n'.join(line for line in cell.splitlines() if line[0] not in '%!'), globals())\n"
        "from packager import PackageExporter\n"
        "with PackageExporter(sys.argv[1], policy='auto') as exporter:\n"
        "    exporter.save_object('model', 'model', Net())\n"
    )
    target = tmp_path / "net.kedge"
    assert run("-c", code, target, json.dumps(cells), cwd=tmp_path) == "once\n"
    assert run("-c", LOAD, target, cwd=tmp_path) == "10 net Net\n"


def test_what_was_typed_in_is_refused_with_the_reason(tmp_path: Path) -> None:
    code = (
        "import io\n"
        "class Net:\n    pass\n"
        "from packager import PackageExporter\n"
        "exporter = PackageExporter(io.BytesIO(), policy='auto')\n"
        "exporter.save_object('model', 'model', Net())\n"
        "print(exporter.plan().problems[0].context)\n"
    )
    printed = run("-c", code, cwd=tmp_path)
    assert printed == "it was typed in, and its source is nowhere: put it into a file or a notebook\n"


@pytest.mark.parametrize(
    ("cells", "names", "kept"),
    [
        (["a = 1\nb = a\nc = 3"], ["b"], "a = 1\nb = a\n"),
        (["a = 1\na += 1\nb = 2"], ["a"], "a = 1\na += 1\n"),
        (["a = 1", "b = 2", "c = a"], ["c"], "a = 1\nc = a\n"),
        (["x = 1\n@x\ndef f(): pass"], ["f"], "x = 1\n@x\ndef f(): pass\n"),
        (["def f(): pass\nif 1:\n    g = 2"], ["g"], "\nif 1:\n    g = 2\n"),
        (
            ["from os import *\na = 1\ndef f(): return getcwd()"],
            ["f"],
            "from os import *\n\ndef f(): return getcwd()\n",
        ),
        (["from os import *\na = 1"], ["a"], "\na = 1\n"),
        (["if __name__ == '__main__':\n    a = 2\na = 1"], ["a"], "\n\na = 1\n"),
        (["this is no python", "a = 1"], ["a"], "a = 1\n"),
        (["a = 1"], [], ""),
        ([], ["a"], ""),
    ],
)
def test_only_what_is_needed_is_kept(cells: list[str], names: list[str], kept: str) -> None:
    assert needed_definitions(cells, names) == kept
