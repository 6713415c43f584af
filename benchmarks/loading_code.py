"""Loading packaged code out of an archive, beside what Python itself does: networkx, torchmetrics, sympy.

These load 285, 274 and some 400 modules; a first load of sympy is compiling almost alone. Every load happens
in a fresh process, is measured within it as processor time, and computes a number that is compared. "First"
means that nothing is compiled yet: for an archive an empty cache, for Python no `.pyc` of the package (those
of everything else are there); "from source" writes none, as under PYTHONDONTWRITEBYTECODE. "Later" means that
both have what the first load left. torch.package keeps nothing, so for it every load is the first. What
torchmetrics and sympy import from outside is imported before, on both sides.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from benchmarks.places import folder_of
from benchmarks.row import Contender, Goal, Row, is_small

SECTION = "Loading code, each in a fresh process"
WHY_LATER = (
    "every source is read and digested at every load, where Python believes the date of a file; before the "
    "first module the manifest is checked and read, and the environment compared."
)
WHY_FIRST = (
    'every source is also digested, and its compiled code written for the next time, which "from source" '
    "does not."
)
WHY_UNPACKED = " It asks for its `__file__`, so that its 303 files are written before the first load is done."
WHY_WHOLE = (
    "almost all of torch.package's time is the import of torch, which differs from machine to machine; ours "
    "is the making of 285 modules by Python's own import machinery, and the reading of the manifest."
)

ANSWERS = {
    "networkx": "networkx.path_graph(3).number_of_edges() == 2",
    "sympy": "str(sympy.diff(sympy.Symbol('x') ** 2)) == '2*x'",
    "torchmetrics": "float(torchmetrics.MeanMetric()(__import__('torch').tensor([1.0, 3.0]))) == 2.0",
}
EXPORT = """
from packager import PackageExporter
with PackageExporter({target!r}, policy="auto", fsync=False, prove={prove}) as exporter:
    exporter.intern("{name}.**")
    exporter.save_module("{name}")
"""
EXPORT_TORCH = """
from torch.package import PackageExporter
with PackageExporter({target!r}) as exporter:
    exporter.intern(["networkx", "networkx.**"])
    exporter.extern("**")
    exporter.save_module("networkx")
"""
TIMED = """
import contextlib, importlib, warnings
from time import process_time as now
warnings.simplefilter("ignore")
for name in {outside!r}:
    with contextlib.suppress(Exception):  # a part that cannot be imported by itself
        importlib.import_module(name)
{before}
start = now()
{timed}
spent = now() - start
assert {answer}
print(spent)
"""
OUTSIDE = """
import sys
before = {{*sys.modules}}
import {name}
print(*(one for one in sys.modules if one not in before and one.partition(".")[0] != "{name}"))
"""
PACKAGER = "importer = PackageImporter({archive!r}); {name} = importer.import_module('{name}')"
IMPORT_PACKAGER = "from packager import PackageImporter"
IMPORT_TORCH = "from torch.package import PackageImporter"


def rows() -> list[Row]:
    """Rows for the packages that are installed."""
    here = [name for name in ANSWERS if find_spec(name) is not None]
    return [row for name in (here[:1] if is_small() else here) for row in _rows_of(name)]


def _rows_of(name: str) -> list[Row]:
    def row(title: str, contenders: dict[str, Callable[[], Contender]], goal: Goal, why: str = "") -> Row:
        rounds = 3 if name == "sympy" else 7  # it compiles for seconds
        return Row(
            SECTION, f"{name}, {title}", "ms", contenders, (goal,), "packager", why=why, most_rounds=rounds
        )

    def packager(kept: str, before: str = IMPORT_PACKAGER, timed: str = "") -> Callable[[], Contender]:
        return lambda: _packager(name, before, timed, kept)

    first = {
        "packager": packager("first"),
        "from source": lambda: _plain(name, "source"),
        "from source, .pyc written": lambda: _plain(name, "first"),
    }
    later = {"packager": packager("later"), "import": lambda: _plain(name, "later")}
    proved = {"packager": packager("proved"), "import": lambda: _plain(name, "later")}
    whole = {"packager": packager("later", "", IMPORT_PACKAGER)}
    if name == "networkx":
        first |= {"zipimport": lambda: _zipped(compiled=False), "torch": lambda: _torch(IMPORT_TORCH, "")}
        later |= {"zipimport": lambda: _zipped(compiled=True), "torch": lambda: _torch(IMPORT_TORCH, "")}
        whole |= {"torch": lambda: _torch("", IMPORT_TORCH)}
    unpacked = WHY_UNPACKED if name == "torchmetrics" else ""  # and by the proof, where there is one
    found = [
        row("first load", first, Goal(1.0, "from source", list=2), WHY_FIRST + unpacked),
        row("first load after the proof of its export", proved, Goal(1.0, "import"), WHY_LATER),
        row("later loads", later, Goal(1.0, "import"), WHY_LATER),
    ]
    if name == "networkx":
        title = "later loads, the loader's own import included"
        found.append(row(title, whole, Goal(0.08, "torch"), WHY_WHOLE))
    return found


def _run(program: str, **environment: str) -> str:
    """Run a program with compiled code of its own: others may have `.pyc` files or not, as they please."""
    command = [sys.executable, "-X", f"pycache_prefix={folder_of(__name__) / 'pycache'}", "-c", program]
    there = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(
        command,
        env={**there, **environment},
        cwd=folder_of(__name__),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"a benchmark's program failed:\n{done.stderr[-2000:]}")
    return done.stdout


def _timed(name: str, before: str, timed: str, **environment: str) -> float:
    outside = () if name == "networkx" else _outside(name)
    program = TIMED.format(before=before, timed=timed, answer=ANSWERS[name], outside=outside)
    return float(_run(program, **environment))


@cache
def _outside(name: str) -> tuple[str, ...]:
    """Return what a package imports besides its own modules."""
    return tuple(_run(OUTSIDE.format(name=name)).split())


def _packager(name: str, before: str, timed: str, kept: str) -> Contender:
    """Load with an empty cache, with what a load has left in it, or with what the proof of an export has."""
    archive = folder_of(__name__) / f"{name}.kellet"
    left, cache = folder_of(__name__) / f"{name}-proof", folder_of(__name__) / f"{name}-{kept}"
    if not archive.exists():
        _run(EXPORT.format(target=str(archive), name=name, prove=True), KELLET_CACHE=str(left))
    load = f"{timed}\n{PACKAGER.format(archive=str(archive), name=name)}"

    def run() -> float:
        if kept != "later":
            shutil.rmtree(cache, ignore_errors=True)
        if kept == "proved":
            for part in ("bytecode", "code"):
                if (left / part).exists():
                    shutil.copytree(left / part, cache / part, symlinks=True)
        return _timed(name, before, load, KELLET_CACHE=str(cache))

    run()  # compiles the loader itself, and fills the cache
    return Contender(run, times_itself=True)


def _plain(name: str, kept: str) -> Contender:
    """Import without `.pyc`, and write none ("source") or them ("first"), or with those that are there."""
    source = _copied_source(name, kept)
    compiled = Path(f"{folder_of(__name__) / 'pycache'}{source}")
    before = f"import sys; sys.path.insert(0, {str(source)!r}); sys.dont_write_bytecode = {kept == 'source'}"

    def run() -> float:
        if kept != "later":
            shutil.rmtree(compiled, ignore_errors=True)
        return _timed(name, before, f"import {name}")

    _timed(name, f"import sys; sys.path.insert(0, {str(source)!r})", f"import {name}")
    run()
    return Contender(run, times_itself=True)


def _zipped(*, compiled: bool) -> Contender:
    path = folder_of(__name__) / f"networkx-{'compiled' if compiled else 'sources'}.zip"
    with zipfile.PyZipFile(str(path), "w") if compiled else zipfile.ZipFile(path, "w") as archive:
        source = _copied_source("networkx", "later") / "networkx"
        if isinstance(archive, zipfile.PyZipFile):
            archive.writepy(str(source), filterfunc=lambda name: "tests" not in name)
        else:
            for file in sorted(source.rglob("*.py")):
                archive.write(file, file.relative_to(source.parent))
    return Contender(
        lambda: _timed("networkx", f"import sys; sys.path.insert(0, {str(path)!r})", "import networkx"),
        times_itself=True,
    )


def _torch(before: str, timed: str) -> Contender:
    import torch.package  # noqa: F401 - an ImportError says that it is not here

    path = folder_of(__name__) / "networkx.pt"
    if not path.exists():
        _run(EXPORT_TORCH.format(target=str(path)))
    load = f"{timed}\nnetworkx = PackageImporter({str(path)!r}).import_module('networkx')"
    return Contender(lambda: _timed("networkx", before, load), times_itself=True)


def _copied_source(name: str, kept: str) -> Path:
    """A folder with the sources of a package alone, one for each way to treat their `.pyc`."""
    spec = find_spec(name)
    assert spec is not None
    assert spec.origin is not None
    folder = folder_of(__name__) / f"source-{kept}-{name}"
    if not folder.exists():
        ignored = shutil.ignore_patterns("__pycache__", "tests")
        shutil.copytree(Path(spec.origin).parent, folder / name, ignore=ignored)
    return folder
