"""What is done there, in which order: encoded before it is called, entries made, factories not compared."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pytest

from packager import PackageExporter, PackageImporter
from tests import processes

pytestmark = pytest.mark.processes(share=3)

COUNTER = {
    "count/__init__.py": "",
    "count/net.py": """
        import random

        class Net:
            def __init__(self):
                self.calls = 0

            def __call__(self, x):
                self.calls += 1
                return x + self.calls

            def plus(self, x):
                return self(x) + 1

        def anew():
            net = Net()
            net.mark = random.random()
            return net
    """,
}
ONE = {"arg0": np.ones(1)}


def test_an_object_is_compared_before_a_call_changes_it(export):
    def more(exporter):
        exporter.save_entry_point("more", "model", "model", "plus")
        exporter.save_example("model", ONE)
        exporter.save_example("more", ONE)

    proof = export(COUNTER, "count.net:Net()", more).proof
    assert proof.ok
    order = [step.partition(":")[0] for step in proof.steps]
    assert order.index("object") < order.index("call")
    assert [step for step in proof.steps if step.startswith("call")] == [
        "call: check model",
        "call: check more",
    ]


def test_what_a_factory_makes_is_not_compared(export):
    more = lambda one: one.save_object("model", "made", None, factory="count.net:anew")  # noqa: E731  # one line
    proof = export(COUNTER, "count.net:Net()", more).proof
    assert proof.ok
    assert "object: object model/made" in proof.steps


def test_a_plan_without_problems_is_written_and_one_with_them_is_not(project, tmp_path):
    project({"good.py": "class Net: pass\n", "bad.py": "import nowhere_to_be_found\n"})
    for name, is_good in (("good", True), ("bad", False)):
        exporter = PackageExporter(tmp_path / f"{name}.kellet", policy="auto")
        exporter.save_module(name)
        assert exporter.plan().ok is is_good
        if is_good:
            exporter.close()
        else:
            with pytest.raises(Exception, match="nowhere_to_be_found"):
                exporter.close()
        assert (tmp_path / f"{name}.kellet").exists() is is_good


PROGRAM = """
import sys
from packager import PackageExporter
import scales
class Net:
    def __call__(self, x): return scales.weigh(x)
with PackageExporter("out.kellet", policy="auto") as exporter:
    exporter.extern("scales")
    exporter.save_object("model", "model", Net())
    exporter.save_example("model", {"arg0": 2})
print(exporter.proof.ok, exporter.proof.steps[-1])
"""


@pytest.mark.parametrize("where", ["target", "user"])
def test_externs_of_target_and_user_folders_are_found_where_they_are(tmp_path, where, link_environment):
    """As `pip install --target` and `--user` lay them out, with what they need beside them."""
    python, more = sys.executable, {"PYTHONPATH": str(tmp_path / "base")}
    folder = tmp_path / "base"
    if where == "user":  # which an environment has where it has the system's packages, too
        python = str(link_environment(tmp_path / "venv", ours=True, system=True))
        more = {"PYTHONUSERBASE": str(folder)}
        [site] = tmp_path.glob("venv/lib/python*/site-packages")
        folder = folder / "lib" / site.parent.name / "site-packages"
    info = folder / "scales-3.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: scales\nVersion: 3.0\n")
    (info / "RECORD").write_text("scales.py,,\n_of_scales.py,,\n")
    (info / "INSTALLER").write_text("pip\n")
    (folder / "scales.py").write_text("from _of_scales import FACTOR\ndef weigh(x): return x * FACTOR\n")
    (folder / "_of_scales.py").write_text("FACTOR = 21\n")
    (tmp_path / "script.py").write_text(PROGRAM)
    env = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache"), **more}
    done = processes.run(
        [python, "script.py"], cwd=tmp_path, env=env, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("True call: check model\n", "")
    with PackageImporter(tmp_path / "out.kellet") as importer:
        [extern] = [one for one in importer.manifest.externs if one.name == "scales"]
        assert (extern.distribution, extern.version) == ("scales", "3.0")


def test_a_script_without_a_main_block_runs_once(scripts):
    scripts.write({"words.py": "def word(x): return f'<{x}>'\n"})
    expected = scripts.export(
        """
        import pathlib
        from words import word
        with pathlib.Path("runs.txt").open("a") as runs: runs.write("run\\n")
        class Net:
            def __call__(self, x): return word(x)
        model = Net()
        print(model(3))
        """
    )
    assert expected == "<3>"
    assert Path(scripts.here, "runs.txt").read_text() == "run\n"
    assert scripts.load("model(3)") == "<3>"
