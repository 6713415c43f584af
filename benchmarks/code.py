"""Code exported, and imported out of archives, each time in a fresh process."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path
from typing import Final

from benchmarks.processes import folder, printed, spent
from benchmarks.row import Row, Work

STAND_IN: Final = Path(__file__).resolve().parents[1] / "fixtures" / "torchvision_standin"
WHY_PROJECT: Final = (
    "beside the import of torch the clean process imports the loader, loads the archive and calls the model, "
    "and the export plans, writes and compares"
)
WHY_COLD: Final = "half of it is Python's own parser, which reads each source once"
WHY_FIRST: Final = (
    "each source is unpacked, digested and compiled, and what was compiled is kept, which an import from "
    "source that writes no .pyc does not"
)
WHY_LATER: Final = "each source is read and digested, where Python believes the date of a file"

# --- a project with torch ---

PROJECT: Final = {
    "net/__init__.py": "from net.model import Net\n",
    "net/model.py": """
from torch import nn
from net.parts.blocks import Block
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.Sequential(Block(64), Block(64))
        self.head = nn.Linear(64, 8)
    def forward(self, x):
        return self.head(self.blocks(x))
""",
    "net/parts/__init__.py": "",
    "net/parts/blocks.py": """
from torch import nn
from net.parts.norms import normed
class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)
    def forward(self, x):
        return x + normed(self.linear(x).relu())
""",
    "net/parts/norms.py": "def normed(x):\n    return x / (1 + x.abs().mean())\n",
}
SCRIPT: Final = """
import resource, sys
import torch
sys.path.insert(0, sys.argv[1])
from net import Net
def now():
    used = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in used)
net, x = Net().eval(), torch.ones(2, 64)
start = now()
{export}
print(now() - start)
"""
EXPORT_PROJECT: Final = """
from packager import PackageExporter
with PackageExporter(sys.argv[2], policy="auto") as exporter:
    exporter.save_object("model", "model", net)
    exporter.save_example("model", {"arg0": x})
assert exporter.proof.ok
"""
EXPORT_PROJECT_TORCH: Final = """
from torch.package import PackageExporter
with PackageExporter(sys.argv[2]) as exporter:
    exporter.intern("net.**")
    exporter.extern("**")
    exporter.save_pickle("model", "model.pkl", net)
"""

# --- packages as they are installed ---

EXPORT: Final = """
import io
from time import process_time as now
start = now()
from packager import PackageExporter
with PackageExporter(io.BytesIO(), policy="auto", prove=False) as exporter:
    exporter.intern("{top}.**")
    if "{top}" == "timm":
        exporter.extern("torchvision.**")
    exporter.save_module("{module}")
print(now() - start)
"""
EXPORT_TORCH: Final = """
import io, sys
sys.path.append({stand_in!r})
from torch.package import PackageExporter
from time import process_time as now
start = now()
with PackageExporter(io.BytesIO()) as exporter:
    exporter.intern(["{top}", "{top}.**"])
    exporter.extern("**")
    exporter.save_module("{module}")
print(now() - start)
"""
STORE: Final = """
import sys
from packager import PackageExporter
with PackageExporter(sys.argv[1], policy="auto", prove=False) as exporter:
    exporter.intern("{name}.**")
    exporter.save_module("{name}")
"""
IMPORT: Final = """
import contextlib, importlib, sys
from time import process_time as now
for name in sys.argv[1].split():
    with contextlib.suppress(Exception):  # a part that cannot be imported by itself
        importlib.import_module(name)
{before}
start = now()
{imported}
spent = now() - start
assert {answer}
print(spent)
"""
ANSWERS: Final = {
    "networkx": "networkx.path_graph(3).number_of_edges() == 2",
    "torchmetrics": "float(torchmetrics.MeanMetric()(__import__('torch').tensor([1.0, 3.0]))) == 2.0",
}
OUTSIDE: Final = """
import sys
before = {{*sys.modules}}
import {name}
with open(sys.argv[1], "w") as file:
    print(*(one for one in sys.modules if one not in before and one.partition(".")[0] != "{name}"), file=file)
"""


def rows() -> list[Row]:
    """List the export of a project, exports of installed packages, and imports of those that are stored."""
    cold = partial(_exporting, EXPORT)
    ours = {
        "networkx": ("networkx", "networkx", 0.3),
        "a ViT of timm": ("timm", "timm.models.vision_transformer", 0.25),
    }
    bert = partial(cold, "transformers", "transformers.models.bert.modeling_bert")
    title = "export {}, cold, no proof, processor time"
    return [
        Row(
            "export of a project with torch, proof and call in it, less one import of torch, processor time",
            _project,
            0.4,
            "torch.package, nothing proved",
            _project_of_torch,
            unit="s",
            is_absolute=True,
            why=WHY_PROJECT,
            rounds=5,
        ),
        *(
            Row(
                title.format(name),
                partial(cold, top, module),
                goal,
                "torch.package",
                partial(_exporting, EXPORT_TORCH, top, module),
                why=WHY_COLD,
                rounds=3,
            )
            for name, (top, module, goal) in ours.items()
        ),
        Row(title.format("BertModel"), bert, 0.7, unit="s", is_absolute=True, why=WHY_COLD, rounds=5),
        *(row for name in ANSWERS for row in _imports(name)),
    ]


def _imports(name: str) -> list[Row]:
    def row(what: str, goal: float, peer: str, why: str, *, first: bool) -> Row:
        sides = (partial(_importing, name, first=first), partial(_importing_source, name, first=first))
        return Row(what.format(name), sides[0], goal, peer, sides[1], holds=not first, why=why, rounds=5)

    first, later = "first import of {} out of an archive", "later imports of {} out of an archive"
    return [
        row(first, 1.1, "an import from source", WHY_FIRST, first=True),
        row(later, 1.2, "a warm import", WHY_LATER, first=False),
    ]


def _cache(name: str) -> Mapping[str, str]:
    return {"KELLET_CACHE": str(folder() / f"cache-{name}"), "PYTHONPYCACHEPREFIX": str(folder() / "pyc")}


def _forget(name: str) -> None:
    shutil.rmtree(folder() / f"cache-{name}", ignore_errors=True)


def _write_project() -> str:
    place = folder() / "project"
    for name, text in PROJECT.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text, encoding="utf-8")
    return str(place)


def _project() -> Work:
    program, place, target = (
        SCRIPT.format(export=EXPORT_PROJECT),
        _write_project(),
        str(folder() / "net.kellet"),
    )

    def run() -> float:
        _forget("project")
        whole = printed(program, place, target, environment=_cache("project"))[0]
        return whole - spent("import torch")

    run()  # compiles what is imported
    return Work(run)


def _project_of_torch() -> Work:
    program, place, target = (
        SCRIPT.format(export=EXPORT_PROJECT_TORCH),
        _write_project(),
        str(folder() / "net.pt"),
    )
    return Work(lambda: printed(program, place, target)[0])


def _exporting(program: str, top: str, module: str) -> Work:
    made = program.format(top=top, module=module, stand_in=str(STAND_IN))

    def run() -> float:
        _forget("export")
        return printed(made, environment=_cache("export"))[0]

    run()
    return Work(run)


def _timed(name: str, before: str, imported: str) -> float:
    program = IMPORT.format(before=before, imported=imported, answer=ANSWERS[name])
    return printed(program, _outside(name), environment=_cache(name))[0]


@cache
def _outside(name: str) -> str:
    """Return what a package imports besides its own modules; that is imported before, on both sides."""
    listed = folder() / "outside.txt"
    printed(OUTSIDE.format(name=name), str(listed), environment=_cache(name))
    return "" if name == "networkx" else listed.read_text("utf-8")


def _importing(name: str, *, first: bool) -> Work:
    archive = folder() / f"{name}.kellet"
    if not archive.exists():
        printed(STORE.format(name=name), str(archive), environment=_cache(name))

    def run() -> float:
        if first:
            _forget(name)
        imported = f"importer = PackageImporter({str(archive)!r}); {name} = importer.import_module({name!r})"
        return _timed(name, "from packager import PackageImporter", imported)

    run()
    return Work(run)


def _importing_source(name: str, *, first: bool) -> Work:
    source = _copied(name, first=first)
    before = f"sys.path.insert(0, {str(source)!r}); sys.dont_write_bytecode = {first}"

    def run() -> float:
        return _timed(name, before, f"import {name}")

    run()
    return Work(run)


def _copied(name: str, *, first: bool) -> Path:
    """Return a folder with the sources of an installed package, of which nothing is compiled if `first`."""
    from importlib.util import find_spec

    spec = find_spec(name)
    if spec is None or spec.origin is None:
        raise ImportError(name)
    target = folder() / f"{name}-{'first' if first else 'later'}"
    if not target.exists():
        leave = shutil.ignore_patterns("__pycache__")
        shutil.copytree(Path(spec.origin).parent, target / name, ignore=leave)
    return target
