"""Classes of a script or a notebook are stored with what they need, and nothing that would run again."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from tests import processes

pytestmark = pytest.mark.processes(share=3)

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
    done = processes.run(
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
    target = tmp_path / "net.kellet"
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
    target = tmp_path / "net.kellet"
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
    target = tmp_path / "net.kellet"
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
    assert printed == "its source was typed in and is in no file: put it into a file or a notebook\n"


TRAINS = """
import sys
import numpy as np
print("runs")
REGISTRY = {}

def register(f):
    REGISTRY[f.__name__] = f
    return f

@register
def relu(x):
    return max(x, 0)

@register
def double(x):
    return 2 * x

data = [1.0, 2.0]
loss = 0.0
for epoch in range(3):
    with open("log.txt", "a") as log:
        loss = sum(data) / (epoch + 1)
        log.write(f"{loss}\\n")

class Net:
    def __init__(self):
        self.act = "double"

    def __call__(self, x):
        loss = REGISTRY[self.act](x)
        data = [loss for epoch in range(2)]
        return sum(data)

np.random.seed(0)
net = Net()
#MORE
if __name__ == "__main__":
    from packager import PackageExporter
    exporter = PackageExporter(sys.argv[1], policy="auto")
    exporter.save_object("model", "model", net)
    plan = exporter.plan()
    for problem in plan.problems:
        print(problem.subject, problem.context.partition("/")[2].rpartition("script.py:")[2])
    if plan.ok:
        exporter.close()
"""

CALL = """
import sys
from packager import PackageImporter
with PackageImporter(sys.argv[1]) as importer:
    print(importer.load_object("model", "model")(10))
"""


def test_a_local_variable_brings_no_training_loop_and_registrations_come_along(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(TRAINS)
    target = tmp_path / "net.kellet"
    assert run("script.py", target, cwd=tmp_path) == "runs\n"
    assert (tmp_path / "log.txt").read_text() == "3.0\n1.5\n1.0\n"
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    assert run("-c", CALL, target, cwd=elsewhere) == "40\n"
    assert not (elsewhere / "log.txt").exists()


@pytest.mark.parametrize("more", ["REGISTRY['double'] = register(relu)", "Net.rate = open(__file__).read()"])
def test_an_effect_that_would_be_lost_keeps_the_archive_from_being_written(tmp_path: Path, more: str) -> None:
    script = TRAINS.replace("#MORE", more)
    (tmp_path / "script.py").write_text(script)
    target = tmp_path / "net.kellet"
    line = script.splitlines().index(more) + 1
    printed = run("script.py", target, cwd=tmp_path).splitlines()
    assert len(printed) == 2
    assert printed[1].startswith(f"__main__ {line}: `{more}` does not run when the archive is loaded; ")
    assert not target.exists()


def test_close_raises_the_problems_of_a_notebook_by_cell_and_line(tmp_path: Path) -> None:
    cells = [
        "import os",
        "\nfor here in [1]: ROWS = here\nprint('once')",
        "class Net:\n    def __call__(self, x): return ROWS",
    ]
    code = (
        "import json, sys\n"
        "cells = json.loads(sys.argv[2])\n"
        "In = ['', *cells]\n"
        "for cell in cells:\n"
        "    exec(cell, globals())\n"
        "from packager import PackageExporter, PackagingError\n"
        "exporter = PackageExporter(sys.argv[1], policy='auto')\n"
        "exporter.save_object('model', 'model', Net())\n"
        "try:\n"
        "    exporter.close()\n"
        "except PackagingError as error:\n"
        "    print(error)\n"
    )
    printed = run("-c", code, tmp_path / "net.kellet", json.dumps(cells), cwd=tmp_path)
    assert "* Parts of this script or notebook that an object needs cannot be stored. Change each" in printed
    assert "or move the definitions into a module.\n    __main__\n" in printed
    assert (
        "Context: In[2]:2: `for here in [1]:` does not run when the archive is loaded; ROWS is read by"
        in printed
    )
    assert not (tmp_path / "net.kellet").exists()


LAMBDAS = """
import sys
from packager import PackageExporter, PackagingError

FACTOR = 3
_ = triple = lambda x: x * FACTOR
class Box:
    pass
named, unnamed = Box(), Box()
named.call = triple
unnamed.call = lambda x: x
print("runs")
with PackageExporter(sys.argv[1], policy="auto") as exporter:
    exporter.save_object("model", "model", {"named": named, "triple": triple})
try:
    with PackageExporter(sys.argv[1] + ".not", policy="auto") as exporter:
        exporter.save_object("model", "model", unnamed)
except PackagingError as error:
    print(error)
"""


def test_a_lambda_of_a_script_is_stored_by_its_name_there_and_refused_without_one(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(LAMBDAS)
    target = tmp_path / "net.kellet"
    printed = run("script.py", target, cwd=tmp_path)
    assert "model.call: a lambda at the top level of a script" in printed
    assert not (tmp_path / "net.kellet.not").exists()
    load = (
        "import sys; from packager import PackageImporter\n"
        "found = PackageImporter(sys.argv[1]).load_object('model', 'model')\n"
        "print(found['named'].call(2), found['triple'] is found['named'].call)\n"
    )
    assert run("-c", load, target, cwd=tmp_path) == "6 True\n"


LOADED = """
import sys
from packager import PackageExporter, PackageImporter, PackagingError, sys_importer

class Other:
    pass

with PackageImporter(sys.argv[1]) as old:
    found = old.load_object("model", "model")
    orders = {"first": (old, sys_importer), "last": (sys_importer, old)}
    for name, importer in orders.items():
        with PackageExporter(name + ".kellet", policy="auto", prove=False, importer=importer) as exporter:
            exporter.save_object("model", "model", found)
        print(name, open(name + ".kellet", "rb").read() == open(sys.argv[1], "rb").read())
        mixed = Other()
        mixed.part = found["named"]
        exporter = PackageExporter("mixed.kellet", policy="auto", prove=False, importer=importer)
        exporter.save_object("model", "model", mixed)
        (problem,) = exporter.plan().problems
        print(problem.context)
"""


def test_what_was_loaded_from_the_main_of_an_archive_is_packed_again(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(LAMBDAS)
    (tmp_path / "again.py").write_text(LOADED)
    target = tmp_path / "net.kellet"
    run("script.py", target, cwd=tmp_path)
    first, told, last, same = run("again.py", target, cwd=tmp_path).splitlines()
    assert (first, last, same) == ("first True", "last True", told)
    assert told == (
        "Box, triple of an archive's __main__, and Other of this program would be one module. Move one of "
        "them into a module with a name, or save the loaded object in an archive of its own"
    )


def in_cells(*cells: str) -> str:
    """A program that runs cells one after another, each as a text of its own, as IPython does."""
    return (
        "import sys, linecache\n"
        f"In = ['', *{cells!r}]\n"
        "for number, cell in enumerate(In):\n"
        "    exec(compile(cell, f'<cell {number}>', 'exec'), globals())\n"
    )


EXPORT = (
    "import sys\n"
    "from packager import PackageExporter, PackagingError\n"
    "try:\n"
    "    with PackageExporter(sys.argv[1], policy='auto', prove=False) as exporter:\n"
    "        exporter.save_object('model', 'model', model)\n"
    "except PackagingError as error:\n"
    "    print(error)\n"
)


CALLS_PARTS = """
import math
class Net:
    def __init__(self, *parts): self.parts = parts
    def __call__(self, x): return [part(x) for part in self.parts]
"""


CLOSURES = """
import sys
from packager import PackageExporter
def power(n):
    def inner(x): return x ** n
    return inner
with PackageExporter(sys.argv[1], policy="auto", prove=False) as exporter:
    exporter.save_object("model", "model", {"cube": power(3), "same": power(1)})
"""

AGAIN = """
import sys
from packager import PackageExporter, PackageImporter, sys_importer
for order in (1, -1):
    with PackageImporter(sys.argv[1]) as old:
        found = old.load_object("model", "model")
        importers = (old, sys_importer)[::order]
        with PackageExporter("again.kellet", policy="auto", prove=False, importer=importers) as exporter:
            exporter.save_object("model", "model", found)
    same = open("again.kellet", "rb").read() == open(sys.argv[1], "rb").read()
    print(found["cube"](2), found["same"](2), same)
"""


@pytest.mark.parametrize("how", ["script", "typed in"])
def test_closures_that_were_loaded_from_the_main_of_an_archive_are_packed_again(
    tmp_path: Path, how: str
) -> None:
    (tmp_path / "script.py").write_text(CLOSURES)
    (tmp_path / "again.py").write_text(AGAIN)
    target = tmp_path / "net.kellet"
    run("script.py", target, cwd=tmp_path)
    program = ["again.py"] if how == "script" else ["-c", AGAIN]
    assert run(*program, target, cwd=tmp_path) == "8 2 True\n" * 2


def test_a_closure_and_a_lambda_of_a_notebook_come_back(tmp_path: Path) -> None:
    cells = (
        CALLS_PARTS,
        "\n\ndef power(n):\n    def inner(x): return math.floor(x ** n)\n    return inner",
        "half = lambda x: x / 2\nmodel = Net(power(3), half)",
    )
    target = tmp_path / "net.kellet"
    assert run("-c", in_cells(*cells, EXPORT), target, cwd=tmp_path) == ""
    assert run("-c", CALL, target, cwd=tmp_path) == "[1000, 5.0]\n"


def test_an_object_of_an_earlier_run_of_a_cell_is_told_the_cells(tmp_path: Path) -> None:
    cells = ("class Net:\n    size = 3", "model = Net()", "class Net:\n    size = 3")
    printed = run("-c", in_cells(*cells, EXPORT), tmp_path / "net.kellet", cwd=tmp_path)
    assert "In[1] and In[3] define it, and this object is of an earlier run." in printed
    assert not (tmp_path / "net.kellet").exists()


def test_a_script_that_was_edited_while_it_ran_is_not_stored_as_it_is_now(tmp_path: Path) -> None:
    script = (
        "class Net:\n    def __call__(self, x): return x + 1\nmodel = Net()\n"
        "text = open(__file__).read()\nopen(__file__, 'w').write(text.replace('x + 1', 'x + 2', 1))\n"
    )
    (tmp_path / "script.py").write_text(script + EXPORT)
    printed = run("script.py", tmp_path / "net.kellet", cwd=tmp_path)
    assert "script.py:1: Net.__call__ differs from the code in memory: this text was changed" in printed
    assert not (tmp_path / "net.kellet").exists()


@pytest.mark.parametrize("policy", ["'auto'", "'strict'", "'hermetic'", "None"])
@pytest.mark.parametrize("way", ["typed", "script"])
def test_main_is_never_offered_as_a_mock(tmp_path: Path, policy: str, way: str) -> None:
    code = (
        "import io, os\n"
        "TABLE = [open(os.devnull) for _ in range(2)]\n"
        "class Net:\n    def call(self): return TABLE\n"
        "from packager import PackageExporter\n"
        f"exporter = PackageExporter(io.BytesIO(), policy={policy})\n"
        "exporter.save_object('model', 'model', Net())\n"
        "plan = exporter.plan()\n"
        "print(sorted({one.subject for one in plan.problems}))\n"
        "fixes = ''.join(one.fix for one in plan.problems)\n"
        "print('mock(\"__main__' in str(plan), 'mock(\"__main__' in fixes)\n"
    )
    (tmp_path / "train.py").write_text(code)
    printed = run(*(["-c", code] if way == "typed" else ["train.py"]), cwd=tmp_path).splitlines()
    assert "__main__" in printed[0]
    assert printed[1] == "False False"
