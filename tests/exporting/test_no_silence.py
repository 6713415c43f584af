"""What stops nothing and may turn out wrong elsewhere is said before the file is there, all of it at once."""

from __future__ import annotations

import importlib
import io
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from packager import PackageExporter, PackageImporter, PackagingWarning
from packager._proving import ProofError

Project = Callable[[Mapping[str, str]], Path]
PLUGINS = "import importlib\ndef load(name):\n    return importlib.import_module('plugins.' + name)\n"


@pytest.fixture
def forget_acme(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Leave no `acme` behind: a package without a file is not known for one of a test."""
    monkeypatch.delitem(sys.modules, "acme", raising=False)
    yield
    sys.modules.pop("acme", None)


@pytest.fixture
def library(installed: Callable[..., Path]) -> None:
    """An installed package with a computed import and an absent one in functions, and one at its top."""
    files = {
        "biglib/__init__.py": PLUGINS
        + "def draw():\n    import absent_plots\n    import absent_plots.colours\n",
        "biglib/top.py": "import importlib, os\nchosen = importlib.import_module(os.environ['X'])\n",
    }
    installed("biglib", files, version="1.0", origin=None)


def test_one_warning_tells_all_with_its_place(project: Project) -> None:
    files = {"app.py": PLUGINS + "import box\ndef draw():\n    import absent_plots\n"}
    project({**files, "box/__init__.py": "", "box/.env": "a=1"})
    exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    exporter.mock("never.**")
    exporter.save_module("app")
    line = sys._getframe().f_lineno + 2
    with pytest.warns(PackagingWarning) as told:
        exporter.close()
    [warning] = told
    assert (warning.filename, warning.lineno) == (__file__, line)
    assert str(warning.message) == (
        "the archive: possible problems at the target\ndata files left out (exporter.save_binary() stores "
        "one):\n    box/.env  3 B  it looks like a secret\n\nwarnings:\n    mock('never.**') matched no "
        "module\n    absent_plots was not found here. Code that imports it fails at the target as it does "
        "here (app.py:6)\n    importlib.import_module('plugins.' + name) at app.py:3: nothing was run, so "
        "the modules that it loads are unknown. Prove the archive with an example (example=x, --example "
        "x.npz), or store each module: exporter.save_module(name)\n"
    )


def test_a_computed_import_is_a_line_in_the_plan_and_no_warning(project: Project) -> None:
    project({"plugins/__init__.py": "", "plugins/one.py": "", "app.py": PLUGINS})
    with PackageExporter(io.BytesIO(), policy="auto") as exporter:
        exporter.save_module("app")
    plan = exporter.plan()
    assert "    app.py:3  importlib.import_module('plugins.' + name)\n" in str(plan)
    assert (plan.ok, plan.concerns(), exporter.interned_modules()) == (True, "", ["app"])


def test_without_a_run_one_warning_says_what_nobody_saw(project: Project) -> None:
    project({"plugins/__init__.py": "", "app.py": PLUGINS + PLUGINS.replace("def ", "def other_")})
    exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    exporter.save_module("app")
    with pytest.warns(
        PackagingWarning, match=r"at app\.py:3 and 1 other import in the plan: nothing was run"
    ):
        exporter.close()


def test_where_warnings_are_errors_nothing_is_written(project: Project, tmp_path: Path) -> None:
    project({"app.py": "def draw():\n    import absent_plots\n"})
    target = tmp_path / "app.kellet"
    for prove in (False, True):  # warnings are errors in all of these tests
        exporter = PackageExporter(target, policy="auto", prove=prove)
        exporter.save_module("app")
        with pytest.raises(PackagingWarning, match=r"app\.py:2"):
            exporter.close()
        assert [path.name for path in tmp_path.iterdir() if path.name.startswith("app")] == []


def test_an_export_with_nothing_to_tell_is_silent(project: Project) -> None:
    project({"app.py": "import json\n"})
    with PackageExporter(io.BytesIO(), policy="auto", prove=False) as exporter:
        exporter.save_module("app")
    assert exporter.plan().concerns() == ""


def test_what_lies_in_installed_packages_is_counted_in_one_line(project: Project, library: None) -> None:
    project({"app.py": "import biglib.top\n"})
    with PackageExporter(io.BytesIO(), policy="hermetic", prove=False) as exporter:
        exporter.save_module("app")
        exporter.save_module("biglib")
    plan = exporter.plan()
    assert (plan.unreached, plan.warnings) == ((), ())
    assert {(one.file, one.line) for one in plan.library_unreached} == {
        ("biglib/__init__.py", 3),
        ("biglib/top.py", 2),
    }
    [absent] = plan.library_warnings
    assert absent.startswith("absent_plots was not found here")
    assert plan.concerns() == "", "a warning of what no model comes to teaches to pass over warnings"
    assert (
        "in installed packages: 2 imports by computed names, 1 package that is not here; "
        "`kellet plan --all` lists them\n"
    ) in str(plan)
    assert "biglib/__init__.py:3" not in str(plan)
    assert "biglib/__init__.py:3" in plan.text(whole=True)
    assert absent in plan.text(whole=True)


def test_what_is_ones_own_is_on_top(project: Project, library: None) -> None:
    project({"app.py": PLUGINS + "import biglib.top\ndef draw():\n    import absent_tables\n"})
    exporter = PackageExporter(io.BytesIO(), policy="hermetic", prove=False)
    exporter.save_module("app")
    exporter.save_module("biglib")
    plan = exporter.plan()
    assert [(one.file, one.line) for one in plan.unreached] == [("app.py", 3)]
    with pytest.warns(PackagingWarning, match=r"absent_tables was not found here.*\(app\.py:6\)") as told:
        exporter.close()
    lines = str(told[0].message).splitlines()
    assert lines[-1].startswith("in installed packages: 2 imports by computed names,")
    assert "absent_plots" not in str(told[0].message)


@pytest.mark.parametrize("extends", [False, True])
@pytest.mark.usefixtures("forget_acme")
def test_an_answer_that_hangs_on_the_folders_of_a_package_of_several_is_refused(
    project: Project, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, extends: bool
) -> None:
    code = "import acme, pkgutil\ndef count(): return len(acme.__path__)\n"
    code += "def names(): return sorted(one.name for one in pkgutil.iter_modules(acme.__path__))\n"
    files = {"one/acme/core/__init__.py": code, "two/acme/text/__init__.py": ""}
    if extends:
        files["one/acme/__init__.py"] = "__path__ = __import__('pkgutil').extend_path(__path__, __name__)\n"
        files["two/acme/__init__.py"] = files["one/acme/__init__.py"]
    folder = project(files)
    for name in ("one", "two"):
        monkeypatch.syspath_prepend(folder / name)
    core = importlib.import_module("acme.core")

    def export(function: Callable[[], object]) -> None:
        with PackageExporter(tmp_path / "net.kellet", policy="auto") as exporter:
            exporter.save_object("model", "model", function)
            exporter.save_module("acme.text")
            exporter.save_example("model", {})

    with pytest.raises(ProofError, match="check model"):
        export(core.count)
    assert not (tmp_path / "net.kellet").exists()
    export(core.names)
    with PackageImporter(tmp_path / "net.kellet") as importer:
        assert importer.load_object("model", "model")() == ["core", "text"]


HOOKED = """
from kellet import nn
class Watcher:
    def see(self, module, given, answer=None): print(given)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 1)
    def forward(self, x): return self.layer(x)
def watched(net):
    net.layer.register_forward_hook(Watcher().see)
    net.register_forward_pre_hook(Watcher().see)
    return net
"""


def test_hooks_that_are_dropped_are_in_the_warning(project: Project) -> None:
    project({"watch.py": HOOKED})
    watch = importlib.import_module("watch")
    exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    exporter.save_object("model", "model", watch.watched(watch.Net()))
    reason = "Watcher.see is left out, since the object it belongs to is not stored"
    told = [line for line in exporter.plan().warnings if reason in line]
    assert sorted("model.layer" in line for line in told) == [False, True]
    with pytest.warns(PackagingWarning) as warned:
        exporter.close()
    assert all(line in str(warned[0].message) for line in told)


def test_what_python_warned_of_at_the_import_is_not_told_again(project: Project) -> None:
    code = 'import re\nP = re.compile("\\d")\nclass Model:\n    def __call__(self, x): return x is 3\n'
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        project({"quaint.py": code})
        model = importlib.import_module("quaint").Model()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        with PackageExporter(io.BytesIO(), policy="auto", prove=False) as exporter:
            exporter.save_object("model", "model", model)
    assert [str(one.message) for one in said] == []


def test_a_plan_says_where_nothing_is_called_and_is_silent_where_something_is(project: Project) -> None:
    project({"app.py": "class Model:\n    def __call__(self, x): return x + 1\n"})
    told = "outputs are not checked"
    exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    exporter.save_module("app")
    assert told not in str(exporter.plan()), "there is nothing to call"
    exporter.save_object("model", "model", importlib.import_module("app").Model())
    assert told in str(exporter.plan())
    assert exporter.plan().concerns() == ""
    exporter.save_example("model", {"arg0": 1})
    assert told not in str(exporter.plan())
