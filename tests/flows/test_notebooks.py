"""Notebooks as people write them, run by nbclient: what they export comes back elsewhere, or says what to do.

Each is a file of `fixtures/notebooks`: its cells, the order in which they run where that is another one, and
what the refusal says where it is refused. The last cells make `model`, which is called with three numbers.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from tests import processes

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "fixtures" / "notebooks").glob("*.json"))

RUN = """
import json, sys
import nbformat
from nbclient import NotebookClient

cells = [*json.loads(sys.argv[1])]
notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
client = NotebookClient(notebook, timeout=60, kernel_name="python3")
with client.setup_kernel():
    for at in json.loads(sys.argv[2]):
        client.execute_cell(notebook.cells[at], at)
"""

EXPORT = """
import json
from packager import PackageExporter, PackagingError
try:
    with PackageExporter("out.kellet", policy="auto") as exporter:
        exporter.save_object("model", "model", model, example=2)
    told = {
        "values": [repr(model(number)) for number in (1, 2, 5)],
        "steps": [str(step) for step in exporter.proof.steps],
        "unproved": exporter.proof.unproved,
    }
except PackagingError as error:
    told = {"refused": str(error)}
_ = open("told.json", "w").write(json.dumps(told))
"""

LOAD = """
import json, sys
from packager import PackageImporter
with PackageImporter(sys.argv[1]) as importer:
    model = importer.load_object("model", "model")
    print(json.dumps([repr(model(number)) for number in (1, 2, 5)]), end="")
"""


def python(code: str, *arguments: object, cwd: Path) -> str:
    done = processes.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        cwd=cwd,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src")]),
            "IPYTHONDIR": str(cwd.parent / "ipython"),
            "XDG_CACHE_HOME": str(cwd.parent / "cache"),
            "PYTHONWARNINGS": "ignore",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.long
@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_a_notebook_comes_back_or_is_refused_with_the_way_out(file: Path, tmp_path: Path) -> None:
    case = json.loads(file.read_text(encoding="utf-8"))
    cells = ["\n".join(lines) for lines in case["cells"]]
    order = [*case.get("order", range(len(cells))), len(cells)]
    here, elsewhere = tmp_path / "here", tmp_path / "elsewhere"
    here.mkdir()
    elsewhere.mkdir()
    python(RUN, json.dumps([*cells, EXPORT]), json.dumps(order), cwd=here)
    told = json.loads((here / "told.json").read_text(encoding="utf-8"))
    if "refused" in case:
        assert case["refused"] in told["refused"]
        assert not (here / "out.kellet").exists()
        return
    assert told.get("refused") is None
    assert told["unproved"] == ""
    assert any("model/model" in step for step in told["steps"])
    assert json.loads(python(LOAD, here / "out.kellet", cwd=elsewhere)) == told["values"]
    assert list(elsewhere.iterdir()) == []


CLIP = """
class Clip:
    def predict(self, x):
        return np.clip(np.asarray(x, dtype=float), 0, np.max(x))
"""

SAVE_WITHOUT_EXAMPLE = """
import packager, warnings
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    proof = packager.save(Clip(), "out.kellet")
_ = open("told.txt", "w").write("\\n".join(str(one.message) for one in told) + str(proof.differences))
"""


@pytest.mark.long
def test_functions_of_cells_are_those_of_the_stored_text(tmp_path: Path) -> None:
    here = tmp_path / "here"
    here.mkdir()
    cells = ["import numpy as np", CLIP, SAVE_WITHOUT_EXAMPLE]
    python(RUN, json.dumps(cells), json.dumps([*range(len(cells))]), cwd=here)
    told = (here / "told.txt").read_text(encoding="utf-8")
    assert told.startswith("outputs are not checked ("), told
    assert told.endswith("()"), told
