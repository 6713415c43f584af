"""Models defined in scripts and notebooks."""

from __future__ import annotations

import linecache
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from packager.graph.main_source import main_source

SCRIPT = """
from packager.graph import WalkDecision, Walk

class Net:
    def forward(self):
        import colorsys

if __name__ == "__main__":
    import wave
    walk = Walk(lambda name, edges: WalkDecision(name == "__main__"), cache=None)
    walk.add_root("__main__", names=["Net"])
    walk.run()
    module = walk.modules["__main__"]
    same = module.source == open(__file__, "rb").read()
    print(module.kind, module.file, same, "colorsys" in walk.modules, "wave" in walk.modules)
"""


@pytest.mark.parametrize("how", ["script", "module"])
def test_a_class_of_main_comes_with_the_source_of_the_script(tmp_path: Path, how: str) -> None:
    (tmp_path / "trains.py").write_text(SCRIPT)
    command = [str(tmp_path / "trains.py")] if how == "script" else ["-m", "trains"]
    done = subprocess.run(
        [sys.executable, *command], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["main", "__main__.py", "True", "True", "False"]


def test_relative_imports_of_a_module_run_with_m_start_at_its_package(tmp_path: Path) -> None:
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "__init__.py").write_text("")
    (tmp_path / "pkg" / "other.py").write_text("")
    (tmp_path / "pkg" / "train.py").write_text(
        "from . import other\nfrom packager.graph import WalkDecision, Walk\n"
        "walk = Walk(lambda name, edges: WalkDecision(name == '__main__'), cache=None)\n"
        "walk.add_root('__main__', names=[])\nwalk.run()\nprint('pkg.other' in walk.modules, walk.problems)\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "pkg.train"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "True ()"


def notebook(*cells: str) -> ModuleType:
    module = ModuleType("__main__")
    vars(module)["In"] = ["", *cells]
    return module


def test_of_a_notebook_the_definitions_are_taken_with_what_they_name() -> None:
    source = main_source(
        notebook(
            "%matplotlib inline\nimport numpy as np\nimport pandas as pd",
            "SCALE = 3.0\ndata = pd.read_csv('big.csv')",
            "class Net:\n    def forward(self, x):\n        return np.tanh(x) * SCALE",
            "net = Net()\nnet.fit(data)",
            "!pip install something",
            "%%timeit\nNet()",
            "this does not parse",
        )
    )
    assert source.text is not None
    assert source.text.decode() == (
        "\nimport numpy as np\nSCALE = 3.0\nclass Net:\n"
        "    def forward(self, x):\n        return np.tanh(x) * SCALE\n"
    )


def test_an_interpreter_that_keeps_lines_is_read_through_linecache() -> None:
    name, text = "<python-input-7>", "def area(r):\n    return r * r\n"
    module = ModuleType("__main__")
    exec(compile(text, name, "exec"), vars(module))
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    try:
        assert main_source(module).text == text.encode()
    finally:
        del linecache.cache[name]


def test_where_no_source_is_kept_the_reason_is_told() -> None:
    module = ModuleType("__main__")
    exec("def area(r): return r", vars(module))
    source = main_source(module)
    assert source.text is None
    assert "it was typed in, and its source is nowhere" in source.problem
