"""Which files of both packages each journey enters: an export, a load in a fresh process, a proof.

    python -m benchmarks.journeys [--files]

A file counts as entered when one of its functions is called; what runs while a module is imported does not
count, nor does what the process of the proof enters. No scan of a source is known from before. The model is a
PyTorch module of three layers whose class is in a file of its own; data are a dict of words, and a pipeline
of scikit-learn. Needs torch and scikit-learn.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = {"packager": ROOT / "packager", "kellet": ROOT / "src" / "kellet"}

WATCH = """
import json, sys

entered, importing = set(), 0

def watch(frame, event, argument):
    global importing
    if frame.f_code.co_name == "<module>":
        importing += (event == "call") - (event == "return")
    elif event == "call" and not importing:
        entered.add(frame.f_code.co_filename)
"""
EXPORT = f"""{WATCH}
from packager import PackageExporter
sys.path.insert(0, sys.argv[2])
from journey_net import Net
net = Net()
sys.setprofile(watch)
with PackageExporter(sys.argv[1], policy="auto", prove=len(sys.argv) > 4) as exporter:
    exporter.save_object("model", "model", net)
sys.setprofile(None)
print(json.dumps(sorted(entered)))
"""
LOAD = f"""{WATCH}
import importlib
library = importlib.import_module(sys.argv[3])
from packager import PackageImporter
sys.setprofile(watch)
with PackageImporter(sys.argv[1]) as importer:
    importer.load_object("model", "model")(library.ones(1, 4))
sys.setprofile(None)
print(json.dumps(sorted(entered)))
"""
LOAD_DATA = f"""{WATCH}
from packager import PackageImporter
sys.setprofile(watch)
with PackageImporter(sys.argv[1]) as importer:
    importer.load_object("data", "value")
sys.setprofile(None)
print(json.dumps(sorted(entered)))
"""
SAVE_DATA = """
import sys
from packager import PackageExporter
with PackageExporter(sys.argv[1], policy="auto", prove=False) as exporter:
    exporter.save_object("data", "value", value)
"""
DATA = {
    "load of a dict": "value = {f'word {at}': at for at in range(5000)}",
    "load of a pipeline": """
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
value = make_pipeline(StandardScaler(), LogisticRegression()).fit([[0.0], [1.0], [2.0]], [0, 0, 1])
""",
}
NET = """
from {library} import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(4, 8), nn.Linear(8, 2)
        self.norm = nn.BatchNorm1d(8)

    def forward(self, x):
        return self.last(self.norm.eval()(self.first(x)).relu())
"""


JOURNEYS = {"export": [EXPORT], "load": [LOAD], "export and proof": [EXPORT, "prove"]}


def main(arguments: Sequence[str]) -> int:
    library = "torch" if find_spec("torch") else "kellet"
    for title, files in journeys(library).items():
        lines = sum(path.read_text(encoding="utf-8").count("\n") for path in files)
        print(f"{title} of {library}: {len(files)} files, {lines} lines")
        if "--files" in arguments:
            print("".join(f"    {path.relative_to(ROOT)}\n" for path in files), end="")
    return 0


def journeys(library: str) -> dict[str, list[Path]]:
    """Return the files of both packages that each journey enters, in processes of their own."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "journey_net.py").write_text(NET.format(library=library), encoding="utf-8")
        found = {
            title: _entered(program, folder, library, *options)
            for title, (program, *options) in JOURNEYS.items()
        }
        for title, source in DATA.items():
            file = str(Path(folder, "data.kellet"))
            subprocess.run([sys.executable, "-c", source + SAVE_DATA, file], check=True)
            found[title] = _entered(LOAD_DATA, folder, library, name="data.kellet")
        return found


def _entered(program: str, folder: str, library: str, *options: str, name: str = "net.kellet") -> list[Path]:
    command = [sys.executable, "-c", program, str(Path(folder, name)), folder, library, *options]
    environment = {**os.environ, "KELLET_CACHE": str(Path(folder, "cache", *options))}
    environment.pop("KELLET_OPEN_ARCHIVES", None)  # a child of a process with open archives finds these
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    found = [Path(name).resolve() for name in json.loads(done.stdout.splitlines()[-1])]
    return [path for path in found if any(path.is_relative_to(place) for place in PACKAGES.values())]


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
