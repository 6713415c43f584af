"""Loading packaged code: networkx (285 modules) out of an archive, beside what Python itself does.

Every load happens in a fresh process and is timed within it. "First" means that nothing is compiled
yet: for an archive an empty cache, for Python no `.pyc` of networkx (those of the standard library
are there). "Later" means that both have what the first load left. torch.package keeps nothing, so
for it every load is the first.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from benchmarks.places import folder_of
from benchmarks.row import Contender, Goal, Row

SECTION = "Loading code, each in a fresh process"
WHY_LATER = (
    "the archive's manifest is checked and read before the first module, the environment compared, and every "
    "import goes through a `__import__` written in Python."
)

EXPORT = """
from packager import PackageExporter
with PackageExporter({target!r}, policy="auto", fsync=False) as exporter:
    exporter.intern("networkx.**")
    exporter.save_module("networkx")
"""
EXPORT_TORCH = """
from torch.package import PackageExporter
with PackageExporter({target!r}) as exporter:
    exporter.intern(["networkx", "networkx.**"])
    exporter.extern("**")
    exporter.save_module("networkx")
"""
TIMED = """
from time import perf_counter as now
{before}
start = now()
{timed}
spent = now() - start
assert networkx.path_graph(3).number_of_edges() == 2
print(spent)
"""
PACKAGER = "importer = PackageImporter({archive!r}); networkx = importer.import_module('networkx')"
IMPORT_PACKAGER = "from packager import PackageImporter"
IMPORT_TORCH = "from torch.package import PackageImporter"


WHY_FIRST = "every source is also digested, and its compiled code written for the next time."
WHY_WHOLE = (
    "almost all of torch.package's time is the import of torch, which differs from machine to machine; ours "
    "is the making of 285 modules by Python's own import machinery, and the reading of the manifest."
)


def rows() -> list[Row]:
    """Rows for networkx, where it is installed."""
    if find_spec("networkx") is None:
        return []

    def row(title: str, contenders: dict[str, Callable[[], Contender]], goal: Goal, why: str = "") -> Row:
        return Row(
            SECTION,
            f"networkx, {title}",
            "ms",
            contenders,
            (goal,),
            subject="packager",
            why=why,
            most_rounds=7,
        )

    first = {
        "packager": lambda: _packager(IMPORT_PACKAGER, "", forgetting=True),
        "from source": lambda: _plain(forgetting=True),
        "zipimport": lambda: _zipped(compiled=False),
        "torch": lambda: _torch(IMPORT_TORCH, ""),
    }
    later = {
        "packager": lambda: _packager(IMPORT_PACKAGER, "", forgetting=False),
        "import": lambda: _plain(forgetting=False),
        "zipimport": lambda: _zipped(compiled=True),
        "torch": lambda: _torch(IMPORT_TORCH, ""),
    }
    whole = {
        "packager": lambda: _packager("", IMPORT_PACKAGER, forgetting=False),
        "torch": lambda: _torch("", IMPORT_TORCH),
    }
    return [
        row("first load", first, Goal(1.0, "from source", list=2), WHY_FIRST),
        row("later loads", later, Goal(1.0, "import"), WHY_LATER),
        row("later loads, the loader's own import included", whole, Goal(0.08, "torch"), WHY_WHOLE),
    ]


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


def _timed(before: str, timed: str, **environment: str) -> float:
    return float(_run(TIMED.format(before=before, timed=timed), **environment))


def _packager(before: str, timed: str, *, forgetting: bool) -> Contender:
    archive, cache = (
        folder_of(__name__) / "networkx.kellet",
        folder_of(__name__) / ("first" if forgetting else "later"),
    )
    if not archive.exists():
        _run(EXPORT.format(target=str(archive)))
    load = f"{timed}\n{PACKAGER.format(archive=str(archive))}"

    def run() -> float:
        if forgetting:
            shutil.rmtree(cache, ignore_errors=True)
        return _timed(before, load, KELLET_CACHE=str(cache))

    run()  # compiles the loader itself, and fills the cache
    return Contender(run, times_itself=True)


def _plain(*, forgetting: bool) -> Contender:
    source = _copied_source(forgetting)
    compiled = Path(f"{folder_of(__name__) / 'pycache'}{source}")

    def run() -> float:
        if forgetting:
            shutil.rmtree(compiled, ignore_errors=True)
        return _timed(f"import sys; sys.path.insert(0, {str(source)!r})", "import networkx")

    run()
    return Contender(run, times_itself=True)


def _zipped(*, compiled: bool) -> Contender:
    path = folder_of(__name__) / f"networkx-{'compiled' if compiled else 'sources'}.zip"
    with zipfile.PyZipFile(str(path), "w") if compiled else zipfile.ZipFile(path, "w") as archive:
        source = _copied_source(False) / "networkx"
        if isinstance(archive, zipfile.PyZipFile):
            archive.writepy(str(source), filterfunc=lambda name: "tests" not in name)
        else:
            for file in sorted(source.rglob("*.py")):
                archive.write(file, file.relative_to(source.parent))
    return Contender(
        lambda: _timed(f"import sys; sys.path.insert(0, {str(path)!r})", "import networkx"), times_itself=True
    )


def _torch(before: str, timed: str) -> Contender:
    import torch.package  # noqa: F401 - an ImportError says that it is not here

    path = folder_of(__name__) / "networkx.pt"
    if not path.exists():
        _run(EXPORT_TORCH.format(target=str(path)))
    load = f"{timed}\nnetworkx = PackageImporter({str(path)!r}).import_module('networkx')"
    return Contender(lambda: _timed(before, load), times_itself=True)


def _copied_source(forgotten: bool) -> Path:
    """A folder with the sources of networkx alone, apart for those whose `.pyc` are taken away."""
    spec = find_spec("networkx")
    assert spec is not None
    assert spec.origin is not None
    folder = folder_of(__name__) / ("source-forgotten" if forgotten else "source")
    if not folder.exists():
        ignored = shutil.ignore_patterns("__pycache__", "tests")
        shutil.copytree(Path(spec.origin).parent, folder / "networkx", ignore=ignored)
    return folder
