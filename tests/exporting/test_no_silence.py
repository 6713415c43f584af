"""What stops nothing and may turn out wrong elsewhere is said before the file is there, all of it at once."""

from __future__ import annotations

import importlib
import io
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from packager import PackageExporter, PackagingWarning
from packager.errors import ArgumentError

Project = Callable[[Mapping[str, str]], Path]
PLUGINS = "import importlib\ndef load(name):\n    return importlib.import_module('plugins.' + name)\n"


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
    exporter = PackageExporter(io.BytesIO(), policy="auto")
    exporter.mock("never.**")
    exporter.save_module("app")
    line = sys._getframe().f_lineno + 2
    with pytest.warns(PackagingWarning) as told:
        exporter.close()
    [warning] = told
    assert (warning.filename, warning.lineno) == (__file__, line)
    assert str(warning.message) == (
        "the archive: what may turn out wrong where it is loaded\n"
        "rules that matched nothing:\n"
        "    mock('never.**')\n"
        "\n"
        "questions:\n"
        "    app.py:3:load  importlib.import_module('plugins.' + name)  (taken to load nothing)\n"
        '      To paste: exporter.answer("app.py:3:load", "none")  # or the modules that it loads\n'
        "\n"
        "warnings:\n"
        "    absent_plots was not found here; code that imports it will fail there as it does here (app.py:5)"
        "\n"
    )


def test_a_question_with_candidates_is_answered_by_all_of_them(project: Project) -> None:
    project({"plugins/__init__.py": "", "plugins/one.py": "", "app.py": PLUGINS})
    exporter = PackageExporter(io.BytesIO(), policy="auto")
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
    exporter = PackageExporter(io.BytesIO(), policy="auto")
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
    with PackageExporter(io.BytesIO(), policy="auto") as exporter:
        exporter.save_module("app")
    assert exporter.plan().concerns() == ""


def test_what_lies_in_functions_of_installed_packages_is_counted_in_one_line(
    project: Project, library: None
) -> None:
    project({"app.py": "import biglib\n"})
    with PackageExporter(io.BytesIO(), policy="hermetic") as exporter:
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
    exporter = PackageExporter(io.BytesIO(), policy="hermetic")
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
        ("def count(): return len(acme.__path__)", "read at acme/core/__init__.py:2 in count"),
        ("FOLDERS = list(acme.__path__)", "read at acme/core/__init__.py:2;"),
        ("def names():\n    import pkgutil\n    return [*pkgutil.iter_modules(acme.__path__)]", ""),
        ("def _never(): return acme.__path__", ""),
    ],
)
def test_a_namespace_package_of_several_folders_whose_path_is_read_is_told(
    project: Project, monkeypatch: pytest.MonkeyPatch, code: str, told: str
) -> None:
    files = {"one/acme/core/__init__.py": f"import acme\n{code}\n", "two/acme/text/__init__.py": ""}
    folder = project(files)
    for name in ("one", "two"):
        monkeypatch.syspath_prepend(folder / name)
    exporter = PackageExporter(io.BytesIO(), policy="auto")
    exporter.save_module("acme.core")
    warnings = exporter.plan().warnings
    assert len(warnings) == bool(told)
    for warning in warnings:
        assert warning.startswith("acme is a namespace package of 2 folders here, and of one in an archive: ")
        assert told in warning
    importlib.invalidate_caches()


def test_a_namespace_package_of_one_folder_is_not_told(project: Project) -> None:
    project({"acme/core/__init__.py": "import acme\ndef count(): return len(acme.__path__)\n"})
    exporter = PackageExporter(io.BytesIO(), policy="auto")
    exporter.save_module("acme.core")
    assert exporter.plan().warnings == ()
