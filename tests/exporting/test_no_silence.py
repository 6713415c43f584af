"""What stops nothing and may turn out wrong elsewhere is said before the file is there, all of it at once."""

from __future__ import annotations

import importlib
import io
import pkgutil
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from packager import PackageExporter, PackageImporter, PackagingWarning
from packager.errors import ArgumentError

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
    project({"app.py": PLUGINS + "def draw():\n    import absent_plots\n"})
    exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    exporter.mock("never.**")
    exporter.save_module("app")
    line = sys._getframe().f_lineno + 2
    with pytest.warns(PackagingWarning) as told:
        exporter.close()
    [warning] = told
    assert (warning.filename, warning.lineno) == (__file__, line)
    assert str(warning.message) == (
        "the archive: what may turn out wrong where it is loaded\n"
        "questions:\n"
        "    app.py:3:load  importlib.import_module('plugins.' + name)  (taken to load nothing)\n"
        '      To paste: exporter.answer("app.py:3:load", "none")  # or the modules that it loads\n'
        "\n"
        "warnings:\n"
        "    mock('never.**') matched no module\n"
        "    absent_plots was not found here; code that imports it will fail there as it does here (app.py:5)"
        "\n"
    )


def test_a_question_with_candidates_is_answered_by_all_of_them(project: Project) -> None:
    project({"plugins/__init__.py": "", "plugins/one.py": "", "app.py": PLUGINS})
    exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    exporter.save_module("app")
    assert exporter.plan().concerns().splitlines()[1:] == [
        "    app.py:3:load  importlib.import_module('plugins.' + name)  (taken to load nothing)",
        "        plugins.one: 1 module, 0 B",
        '      To paste: exporter.answer("app.py:3:load", "all")',
    ]
    exporter.answer("app.py:3:load", "all")
    assert exporter.plan().concerns() == ""
    with pytest.raises(ArgumentError, match=r"^names=Ellipsis: expected the names of modules"):
        exporter.answer("app.py:3:load", [...])


def test_a_question_without_candidates_offers_what_was_loaded_here(project: Project) -> None:
    load = "import importlib\ndef load(name):\n    return importlib.import_module(name)\n"
    project({"shop/__init__.py": load, "shop/fast.py": "", "shop/slow.py": ""})
    importlib.import_module("shop").load("shop.fast")
    exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    exporter.save_module("shop")
    paste = 'exporter.answer("shop/__init__.py:3:load", ["shop.fast"])  # loaded here, and not stored'
    assert exporter.plan().concerns().splitlines()[-1] == f"      To paste: {paste}"
    exec(paste)
    assert exporter.plan().concerns() == ""
    assert "shop.fast" in exporter.interned_modules()


def test_where_warnings_are_errors_nothing_is_written(project: Project, tmp_path: Path) -> None:
    project({"app.py": PLUGINS})
    target = tmp_path / "app.kellet"
    for prove in (False, True):  # warnings are errors in all of these tests
        exporter = PackageExporter(target, policy="auto", prove=prove)
        exporter.save_module("app")
        with pytest.raises(PackagingWarning, match=r"app\.py:3"):
            exporter.close()
        assert [path.name for path in tmp_path.iterdir() if path.name.startswith("app")] == []


def test_an_export_with_nothing_to_tell_is_silent(project: Project) -> None:
    project({"app.py": "import json\n"})
    with PackageExporter(io.BytesIO(), policy="auto", prove=False) as exporter:
        exporter.save_module("app")
    assert exporter.plan().concerns() == ""


def test_what_lies_in_functions_of_installed_packages_is_counted_in_one_line(
    project: Project, library: None
) -> None:
    project({"app.py": "import biglib\n"})
    with PackageExporter(io.BytesIO(), policy="hermetic", prove=False) as exporter:
        exporter.save_module("app")
        exporter.save_module("biglib")
    plan = exporter.plan()
    assert (plan.questions, plan.warnings) == ((), ())
    assert [(one.file, one.line) for one in plan.library_questions] == [("biglib/__init__.py", 3)]
    [absent] = plan.library_warnings
    assert absent.startswith("absent_plots was not found here")
    assert plan.concerns() == "", "a warning of what no model comes to teaches to pass over warnings"
    assert (
        "in installed packages, inside functions: 1 computed import, 1 package that is not here; "
        "`packager plan --all` lists them\n"
    ) in str(plan)
    assert "biglib/__init__.py:3" not in str(plan)
    assert "biglib/__init__.py:3" in plan.text(whole=True)
    assert absent in plan.text(whole=True)


def test_what_runs_when_a_package_is_imported_and_what_is_ones_own_is_on_top(
    project: Project, library: None
) -> None:
    project({"app.py": PLUGINS + "import biglib.top\n"})
    exporter = PackageExporter(io.BytesIO(), policy="hermetic", prove=False)
    exporter.save_module("app")
    exporter.save_module("biglib")
    plan = exporter.plan()
    assert {(one.file, one.line) for one in plan.questions} == {("app.py", 3), ("biglib/top.py", 2)}
    with pytest.warns(PackagingWarning, match=r"biglib/top\.py:2") as told:
        exporter.close()
    lines = str(told[0].message).splitlines()
    assert lines[-1].startswith("in installed packages, inside functions: 1 computed import,")


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("def count(): return len(acme.__path__)", "read at acme/core/__init__.py:2 in count, has"),
        ("FOLDERS = list(acme.__path__)", "read at acme/core/__init__.py:2,"),
        (
            "import sys\ndef where(): return [*sys.modules['acme'].__path__]",
            "acme/core/__init__.py:3 in where,",
        ),
        ("class A:\n    n = len(acme.__spec__.submodule_search_locations)", "acme/core/__init__.py:3,"),
        ("def names():\n    import pkgutil\n    return [*pkgutil.iter_modules(acme.__path__)]", ""),
        ("def _never(): return acme.__path__", ""),
    ],
)
@pytest.mark.parametrize("extends", [False, True])
@pytest.mark.usefixtures("forget_acme")
def test_code_that_reads_the_folders_of_a_package_of_several_is_refused_until_it_is_said_not_to_matter(
    project: Project, monkeypatch: pytest.MonkeyPatch, code: str, told: str, extends: bool
) -> None:
    files = {"one/acme/core/__init__.py": f"import acme\n{code}\n", "two/acme/text/__init__.py": ""}
    if extends:
        files["one/acme/__init__.py"] = "__path__ = __import__('pkgutil').extend_path(__path__, __name__)\n"
        files["two/acme/__init__.py"] = files["one/acme/__init__.py"]
    folder = project(files)
    for name in ("one", "two"):
        monkeypatch.syspath_prepend(folder / name)
    importlib.import_module("acme")
    buffer = io.BytesIO()
    exporter = PackageExporter(buffer, policy="auto", prove=False)
    exporter.save_module("acme.core")
    exporter.save_module("acme.text")
    problems = exporter.plan().problems
    assert len(problems) == bool(told)
    for problem in problems:
        assert problem.reason == "Code reads the folders of a package that lies in several here."
        assert (problem.subject, told in problem.context) == ("acme", True)
        assert problem.fix == 'exporter.answer("acme:__path__", "none")'
        exec(problem.fix)
    exporter.close()
    assert exporter.plan().warnings == ()
    with PackageImporter(buffer) as importer:
        importer.import_module("acme.core")
        here = importer.import_module("acme")
        assert [one.name for one in pkgutil.iter_modules(here.__path__)] == ["core", "text"]


@pytest.mark.parametrize("code", ["def count(): return len(__path__)", "HERE = __path__[-1]"])
@pytest.mark.usefixtures("forget_acme")
def test_a_package_that_reads_its_own_folders_is_refused_where_it_has_given_itself_several(
    project: Project, monkeypatch: pytest.MonkeyPatch, code: str
) -> None:
    text = f"from pkgutil import extend_path\n__path__ = extend_path(__path__, __name__)\n{code}\n"
    folder = project({"one/acme/__init__.py": text, "two/acme/__init__.py": "", "two/acme/text.py": ""})
    for name in ("two", "one"):
        monkeypatch.syspath_prepend(folder / name)
    importlib.import_module("acme.text")
    exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    exporter.save_module("acme")
    exporter.save_module("acme.text")
    [problem] = exporter.plan().problems
    assert (problem.subject, "acme/__init__.py:3" in problem.context) == ("acme", True)


def test_installed_code_that_reads_the_folders_of_a_package_of_several_is_a_warning(
    project: Project, installed: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = project({"one/acme/core/__init__.py": "import lister\n", "two/acme/text/__init__.py": ""})
    for name in ("one", "two"):
        monkeypatch.syspath_prepend(folder / name)
    installed("lister", {"lister.py": "import acme\nN = len(acme.__path__)\n"}, origin=None)
    exporter = PackageExporter(io.BytesIO(), policy="hermetic", prove=False)
    exporter.save_module("acme.core")
    plan = exporter.plan()
    assert plan.ok
    [warning] = plan.warnings
    assert warning.startswith("acme: it lies in 2 folders here, and in one in an archive, ")
    assert "read at lister.py:2, has one entry there" in warning


def test_a_namespace_package_of_one_folder_is_not_told(project: Project) -> None:
    project({"acme/core/__init__.py": "import acme\ndef count(): return len(acme.__path__)\n"})
    exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    exporter.save_module("acme.core")
    assert exporter.plan().warnings == ()


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
    reason = "Watcher.see belongs to an object that is not stored, and is left out"
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
    told = "nothing is called, so no answers are compared"
    exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    exporter.save_module("app")
    assert told not in str(exporter.plan()), "there is nothing to call"
    exporter.save_object("model", "model", importlib.import_module("app").Model())
    assert told in str(exporter.plan())
    assert exporter.plan().concerns() == ""
    exporter.save_check("model", {"arg0": 1})
    assert told not in str(exporter.plan())
