"""Models defined in scripts and notebooks."""

from __future__ import annotations

import linecache
import sys
from pathlib import Path
from types import ModuleType

import pytest

from packager._graph import cells_of, source_of_main, statements_apart
from packager._graph.main_source import definitions_in_cells
from tests import processes

SCRIPT = """
from packager._graph import Closure, WalkDecision

class Net:
    def forward(self):
        import colorsys

if __name__ == "__main__":
    import wave
    closure = Closure(lambda name, edges: WalkDecision(name == "__main__"), cache=None)
    closure.add_root("__main__", names=["Net"])
    closure.run()
    module = closure.modules["__main__"]
    same = module.source == open(__file__, "rb").read()
    print(module.kind, module.file, same, "colorsys" in closure.modules, "wave" in closure.modules)
"""


@pytest.mark.parametrize("how", ["script", "module"])
def test_a_class_of_main_comes_with_the_source_of_the_script(tmp_path: Path, how: str) -> None:
    (tmp_path / "trains.py").write_text(SCRIPT)
    command = [str(tmp_path / "trains.py")] if how == "script" else ["-m", "trains"]
    done = processes.run([sys.executable, *command], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["main", "__main__.py", "True", "True", "False"]


def test_relative_imports_of_a_module_run_with_m_start_at_its_package(tmp_path: Path) -> None:
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "__init__.py").write_text("")
    (tmp_path / "pkg" / "other.py").write_text("")
    (tmp_path / "pkg" / "train.py").write_text(
        "from . import other\nfrom packager._graph import Closure, WalkDecision\n"
        "closure = Closure(lambda name, edges: WalkDecision(name == '__main__'), cache=None)\n"
        "closure.add_root('__main__', names=[])\nclosure.run()\n"
        "print('pkg.other' in closure.modules, closure.problems)\n"
    )
    done = processes.run(
        [sys.executable, "-m", "pkg.train"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "True ()"


def notebook(*cells: str) -> ModuleType:
    module = ModuleType("__main__")
    vars(module)["In"] = ["", *cells]
    return module


def test_of_a_notebook_the_definitions_are_taken_with_what_they_name() -> None:
    source = source_of_main(
        main=notebook(
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
        assert source_of_main(main=module).text == text.encode()
    finally:
        del linecache.cache[name]


def test_where_no_source_is_kept_the_reason_is_told() -> None:
    module = ModuleType("__main__")
    exec("def area(r): return r", vars(module))
    source = source_of_main(main=module)
    assert source.text is None
    assert "its source was typed in and is in no file" in source.problem


class Shell:
    """What IPython keeps of its input: as it was typed; `transform` is what it makes Python by."""

    def __init__(self, raw: list[str], transform: dict[str, str]) -> None:
        self.history_manager = self
        self.input_hist_raw = ["", *raw]
        self._transform = transform

    def transform_cell(self, cell: str) -> str:
        return self._transform[cell]


def shell_notebook(raw: list[str], transform: dict[str, str], inputs: list[str] | None = None) -> ModuleType:
    module = notebook(*(inputs or raw))
    shell = Shell(raw, transform)
    vars(module)["get_ipython"] = lambda: shell
    return module


def test_cells_below_a_magic_that_runs_them_here_are_read_with_their_lines() -> None:
    raw = [
        "%%time\nWIDTH = 3",
        "\n\n%%capture out\n%%time\ndef area(r): return r * WIDTH",
        "%%prun -l 3\nclass Net: pass",
        "%%bash\nWIDTH = 4",
        "%%writefile x.py\nWIDTH = 5",
        "%%timeit\nWIDTH = 6",
        "%%timely\nWIDTH = 7",
    ]
    inputs = [f"get_ipython().run_cell_magic({cell!r})" for cell in raw]
    assert cells_of(shell_notebook(raw, {}, inputs)) == [
        "",
        "\nWIDTH = 3",
        "\n\n\n\ndef area(r): return r * WIDTH",
        "\nclass Net: pass",
        "",
        "",
        "",
        "",
    ]


def test_magics_are_read_as_the_shell_reads_them() -> None:
    raw = ["%time net = 3\n%time\n!ls", "text = '''\n%time x = 3\n'''\nrest = 7 \\\n  % 4"]
    made = "net = 3\nget_ipython().run_line_magic('time', '')\nget_ipython().system('ls')\n"
    shell = shell_notebook(raw, {"net = 3\n%time\n!ls": made})
    assert cells_of(shell)[1:] == [made, raw[1]]


def test_a_history_that_does_not_fit_the_inputs_is_not_used() -> None:
    module = shell_notebook(["x = 1", "x = 2"], {}, ["x = 3"])
    assert cells_of(module) == ["", "x = 3"]


def test_the_cells_that_define_a_name_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    module = notebook("class Net: pass", "x = 3", "def Net(): pass")
    monkeypatch.setitem(sys.modules, "__main__", module)
    assert definitions_in_cells("Net") == ("In[1]", "In[3]")
    monkeypatch.delitem(vars(module), "In")
    assert definitions_in_cells("Net") == ()


def test_statements_of_a_cell_stand_apart_with_their_lines() -> None:
    cell = "import a\n@a.b\ndef f():\n    return 1\nx = [\n 1]"
    assert statements_apart(cell) == [
        "import a\n",
        "\n@a.b\ndef f():\n    return 1\n",
        "\n\n\n\nx = [\n 1]\n",
    ]
