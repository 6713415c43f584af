"""Everything that is wrong with an export is told at once, with who imports it and what to paste."""

from __future__ import annotations

import importlib
import io
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from kellet import nn
from packager import Importer, PackageExporter, PackagingError
from packager._exporting import RefusedPlanError, plan_problems

Project = Callable[[Mapping[str, str]], Path]


def refused(exporter: PackageExporter) -> RefusedPlanError:
    with pytest.raises(PackagingError) as caught:
        exporter.close()
    assert isinstance(caught.value, RefusedPlanError)
    return caught.value


def test_the_message_is_laid_out_as_torch_packages_with_a_rule_to_paste(
    project: Project,
) -> None:
    project({"app.py": "import one, two\n", "one.py": "", "two.py": ""})
    exporter = PackageExporter(io.BytesIO(), prove=False)
    exporter.deny("two")
    exporter.save_module("app")
    assert str(refused(exporter)) == (
        "\n"
        "* Module did not match against any action pattern. Extern, mock, or intern it.\n"
        "    one\n"
        "      Imported by: app (asked for) -> one (app.py:1)\n"
        '      To paste: exporter.intern("one.**")  # project code\n'
        "* Module was denied by a pattern.\n"
        "    two\n"
        "      Imported by: app (asked for) -> two (app.py:1)\n"
        "      To paste: exporter.mock(\"two\")  # before deny('two')\n"
    )


def test_with_debug_the_message_shows_the_imports_that_led_there(project: Project) -> None:
    project({"app.py": "import one\n", "one.py": "import two\n", "two.py": ""})
    exporter = PackageExporter(io.BytesIO(), debug=True, prove=False)
    exporter.intern("one")
    exporter.save_module("app")
    assert str(refused(exporter)) == (
        "\n"
        "* Module did not match against any action pattern. Extern, mock, or intern it.\n"
        "    two\n"
        "      Imported by: app (asked for) -> one (app.py:1) -> two (one.py:1)\n"
        "      A path to two: app -> one -> two\n"
        '      To paste: exporter.intern("two.**")  # project code\n'
    )


def test_the_rule_to_paste_names_the_distribution(project: Project) -> None:
    project({"app.py": "\nimport numpy.linalg\n"})
    exporter = PackageExporter(io.BytesIO(), prove=False)
    exporter.save_module("app")
    error = refused(exporter)
    version = sys.modules["numpy"].__version__ if "numpy" in sys.modules else __import__("numpy").__version__
    assert str(error).splitlines()[-2:] == [
        "      Imported by: app (asked for) -> numpy.linalg (app.py:2)",
        f'      To paste: exporter.extern("numpy.**")  # compiled distribution numpy {version}',
    ]
    assert error.plan.problems == error.problems


@pytest.mark.parametrize(
    ("source", "reason", "context"),
    [
        ("def broken(:\n", "Dependency resolution failed.", "bad.py:1: bad: "),
        (
            "from ........ import x\n",
            "Dependency resolution failed.",
            "attempted relative import beyond top-level package, at bad.py:1",
        ),
    ],
)
def test_source_that_cannot_be_read_is_a_problem_of_its_module(
    project: Project, source: str, reason: str, context: str
) -> None:
    project({"bad.py": source, "app.py": "import bad\n"})
    exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    exporter.save_module("app")
    (problem,) = refused(exporter).problems
    assert (problem.reason, problem.subject) == (reason, "bad")
    assert problem.context.startswith(context)
    assert problem.fix == 'exporter.extern("bad")'


def test_a_rule_to_paste_says_before_which_other(project: Project) -> None:
    project({"app.py": "import bad\nimport no\n", "bad.py": "def (\n", "no.py": ""})
    exporter = PackageExporter(io.BytesIO(), prove=False)
    exporter.deny("no")
    exporter.intern("**")
    exporter.save_module("app")
    problems = refused(exporter).problems
    assert {problem.subject: problem.fix for problem in problems} == {
        "bad": "exporter.extern(\"bad\")  # before intern('**')",
        "no": "exporter.mock(\"no\")  # before deny('no')",
    }
    pasted = PackageExporter(io.BytesIO(), prove=False)
    for problem in problems:
        exec(problem.fix, {"exporter": pasted})
    pasted.deny("no")
    pasted.intern("**")
    pasted.save_module("app")
    assert pasted.plan().ok


def test_no_rule_is_offered_where_none_would_help(project: Project) -> None:
    project({"bad.py": "def (\n"})
    exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    exporter.save_module("bad")
    (problem,) = refused(exporter).problems
    assert (problem.subject, problem.fix) == ("bad", "")


def test_compiled_code_cannot_be_interned(project: Project) -> None:
    project({"app.py": "import numpy.linalg._umath_linalg\n"})
    exporter = PackageExporter(io.BytesIO(), prove=False)
    exporter.intern("numpy.linalg._umath_linalg")
    exporter.extern("numpy.**")
    exporter.save_module("app")
    text = str(refused(exporter))
    assert (
        "* Module is a C extension module. packager supports Python modules only.\n    numpy.linalg._umath"
        in text
    )


def test_a_compiled_module_of_an_importer_is_recognised_by_its_file() -> None:
    class Broken(Importer):
        def import_module(self, module_name: str) -> Any:
            module = type(sys)(module_name)
            module.__file__ = f"{module_name}.so"
            return module

    exporter = PackageExporter(io.BytesIO(), importer=Broken(), prove=False)
    exporter.intern(["foo", "bar"])
    exporter.save_source_string("my_module", "import foo; import bar")
    assert str(refused(exporter)) == (
        "\n"
        "* Module is a C extension module. packager supports Python modules only.\n"
        "    foo\n"
        "      Imported by: my_module (asked for) -> foo (my_module.py:1)\n"
        "      To paste: exporter.extern(\"foo\")  # before intern(['foo', 'bar'])\n"
        "    bar\n"
        "      Imported by: my_module (asked for) -> bar (my_module.py:1)\n"
        "      To paste: exporter.extern(\"bar\")  # before intern(['foo', 'bar'])\n"
    )


def test_saving_a_module_that_is_not_there_fails_at_once() -> None:
    exporter = PackageExporter(io.BytesIO(), prove=False)
    with pytest.raises(ModuleNotFoundError, match="No module named 'aodoifjodisfj'"):
        exporter.save_module("aodoifjodisfj")


def test_a_missing_module_that_runs_for_certain_is_a_problem(project: Project) -> None:
    project({"app.py": "import one\n", "one.py": "import nowhere\n"})
    exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    exporter.save_module("app")
    (problem,) = refused(exporter).problems
    assert (problem.reason, problem.subject) == ("Module was not found in this environment.", "nowhere")
    assert problem.chain == ("app (asked for)", "one (app.py:1)", "nowhere (one.py:1)")
    assert problem.fix == 'exporter.mock("nowhere.**")  # unknown origin; use extern if the target has it'


def test_a_missing_module_inside_a_function_is_a_warning(project: Project) -> None:
    project({"app.py": "def f():\n    import backend\n", "backend.py": "import nowhere\n"})
    exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    exporter.save_module("app")
    plan = exporter.plan()
    assert plan.ok
    assert plan.warnings == (
        "nowhere was not found here. Code that imports it fails at the target as it does here (backend.py:1)",
    )


def test_a_missing_module_under_a_test_that_cannot_be_read_is_a_warning(project: Project) -> None:
    project({"app.py": "import os\nif os.environ.get('CLUSTER'):\n    import nowhere.inside\n"})
    exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    exporter.save_module("app")
    plan = exporter.plan()
    assert plan.ok
    assert [warning.partition(" ")[0] for warning in plan.warnings] == ["nowhere"]


def test_without_a_preset_a_missing_module_needs_a_rule_as_in_torch_package(project: Project) -> None:
    project({"app.py": "def f():\n    import nowhere\n"})
    exporter = PackageExporter(io.BytesIO(), prove=False)
    exporter.save_module("app")
    assert [problem.subject for problem in refused(exporter).problems] == ["nowhere"]


def test_a_module_among_installed_packages_without_a_distribution_has_no_origin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "site-packages"
    site.mkdir()
    (site / "dropped.py").write_text("")
    monkeypatch.syspath_prepend(site)
    exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    exporter.save_source_string("app", "import dropped")
    (problem,) = refused(exporter).problems
    assert (problem.subject, problem.context) == ("dropped", "unknown origin")
    assert problem.reason == ("Module belongs to no known distribution, so no requirement can be recorded.")


def test_an_extern_that_is_not_here_is_a_warning_where_a_rule_asked_for_it(project: Project) -> None:
    project({"app.py": "import plugin\n"})
    exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    exporter.extern("plugin")
    exporter.save_module("app")
    plan = exporter.plan()
    assert plan.ok
    assert plan.warnings == (
        "plugin was not found here. Code that imports it takes the one of the target, if there is one",
    )
    assert plan.externs == ()


@pytest.mark.parametrize(
    ("code", "is_told"), [("import torch\n", True), ("def build():\n    import torch\n", False)]
)
def test_an_implicit_extern_that_is_not_here_is_not_asked_of_the_target(
    project: Project, monkeypatch: pytest.MonkeyPatch, code: str, is_told: bool
) -> None:
    folder = project({"app.py": code})
    monkeypatch.setattr(sys, "path", [str(folder)])
    exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    exporter.save_module("app")
    plan = exporter.plan()
    assert exporter.externed_modules() == ["torch"]
    assert (plan.ok, plan.externs) == (True, ())
    told = "torch was not found here. Code that imports it takes the one of the target, if there is one"
    assert plan.warnings == ((told,) if is_told else ())


@pytest.mark.parametrize("action", ["intern", "mock"])
def test_what_lies_inside_an_extern_package_is_refused_when_planning(project: Project, action: str) -> None:
    project({"a/__init__.py": "", "a/b.py": "", "app.py": "import a.b\n"})
    exporter = PackageExporter(io.BytesIO(), prove=False)
    exporter.extern("a")
    getattr(exporter, action)("a.b")
    exporter.save_module("app")
    (problem,) = refused(exporter).problems
    assert problem.reason.startswith("Module is inside a required package")
    assert (problem.subject, problem.context) == ("a.b", "a is extern by extern('a')")
    assert problem.fix == f'exporter.{action}("a.**")'


def test_an_object_of_a_mocked_class_is_refused_with_its_path(project: Project) -> None:
    project({"shapes.py": "class Square:\n    pass\n"})
    import shapes  # type: ignore[import-not-found]  # written above

    exporter = PackageExporter(io.BytesIO(), prove=False)
    exporter.mock("shapes")
    exporter.save_object("model", "model", {"first": shapes.Square()})
    (problem,) = refused(exporter).problems
    assert problem.reason.startswith("Module was mocked out, but is still being used in the package.")
    assert problem.subject == "shapes"
    assert problem.context.startswith("Square is used by object model/model, at model[")
    assert problem.fix == "exporter.intern(\"shapes\")  # before mock('shapes')"


def test_a_mock_that_is_only_a_dependency_is_fine(project: Project) -> None:
    project({"shapes.py": "import plots\nclass Square:\n    pass\n", "plots.py": ""})
    import shapes

    exporter = PackageExporter(io.BytesIO(), prove=False)
    exporter.intern("shapes")
    exporter.mock("**")
    exporter.save_pickle("model", "model.pkl", shapes.Square())
    exporter.close()
    assert exporter.mocked_modules() == ["plots"]


def test_everything_that_an_object_cannot_store_is_told_at_once() -> None:
    exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    exporter.save_object("model", "model", {"a": (x for x in []), "b": [threading.Lock()]})
    problems = refused(exporter).problems
    assert [problem.reason for problem in problems] == ["Object cannot be stored."] * 2
    assert [problem.subject for problem in problems] == ["model/model"] * 2
    assert [problem.context.partition(":")[0] for problem in problems] == ["model['a']", "model['b'][0]"]


@pytest.mark.parametrize("module", ["01_train", "my-net"])
@pytest.mark.parametrize(
    ("made", "named"),
    [("Net()", "Net"), ("Net.Part", "Net.Part"), ("Net.make", "Net"), ("shift", "shift"), ("(inner())", "")],
)
def test_a_module_that_no_record_can_name_is_told_with_its_objects(
    project: Project, module: str, made: str, named: str
) -> None:
    source = """
        class Net:
            class Part: ...
            @classmethod
            def make(cls): ...
        def shift(x): ...
        def inner():
            def deep(): ...
            return deep
        made = {}
    """
    project({f"{module}.py": textwrap.dedent(source).format(made)})
    exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    exporter.save_object("model", "model", [importlib.import_module(module).made])
    (problem,) = refused(exporter).problems
    assert (problem.reason, problem.subject) == ("Object cannot be stored.", "model/model")
    assert problem.context.startswith(f"model[0]: {module}:{named} cannot be stored as a name")


def test_problems_of_all_kinds_come_together(project: Project) -> None:
    project({"app.py": "import bad\nimport nowhere\nimport no\n", "bad.py": "def (\n", "no.py": ""})
    exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    exporter.deny("no")
    exporter.save_module("app")
    exporter.save_object("model", "model", open)
    exporter.save_object("model", "other", threading.Lock())
    subjects = {problem.subject for problem in refused(exporter).problems}
    assert {"bad", "nowhere", "no", "model/other"} <= subjects


def test_a_new_kind_of_problem_is_one_check(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project({"shop.py": "import math"})
    monkeypatch.setattr(plan_problems, "_KINDS", list(plan_problems._KINDS))

    @plan_problems.problem("Module is a shop.")
    def _shops(checks: plan_problems.PlanProblems) -> Iterator[plan_problems.Finding]:
        yield plan_problems.Finding("shop", "it sells", 'exporter.deny("shop")')

    exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    exporter.save_module("shop")
    (found,) = exporter.plan().problems
    assert (found.reason, found.chain, found.fix) == (
        "Module is a shop.",
        ("shop (asked for)",),
        'exporter.deny("shop")',
    )
    with pytest.raises(
        RefusedPlanError, match=r"(?s)\* Module is a shop\.\n    shop\n      Context: it sells"
    ):
        exporter.close()


def test_each_kind_of_problem_has_a_heading_of_its_own() -> None:
    reasons = [reason for reason, _ in plan_problems._KINDS]
    assert len(set(reasons)) == len(reasons)


def test_without_a_preset_all_layers_of_imports_are_told_at_once(project: Project) -> None:
    project(
        {
            "app.py": "import one\nimport numpy\n",
            "one.py": "import two\nfrom gone import x\n",
            "two.py": "import three, json\n",
            "three.py": "import yaml_of_ours\n",
            "yaml_of_ours.py": "",
        }
    )
    exporter = PackageExporter(io.BytesIO(), prove=False)
    hooked: list[str] = []
    exporter.register_intern_hook(lambda exporter, name: hooked.append(name))
    exporter.save_module("app")
    plan = exporter.plan()
    found = [(problem.subject, problem.fix.partition("  #")[0]) for problem in plan.problems]
    assert found == [
        ("one", 'exporter.intern("one.**")'),
        ("numpy", 'exporter.extern("numpy.**")'),
        ("two", 'exporter.intern("two.**")'),
        ("gone", 'exporter.mock("gone.**")'),
        ("three", 'exporter.intern("three.**")'),
        ("yaml_of_ours", 'exporter.intern("yaml_of_ours.**")'),
    ]
    assert plan.problems[2].chain == ("app (asked for)", "one (app.py:1)", "two (one.py:1)")
    assert hooked == ["app"], "a look ahead decides nothing, so no hook is told"
    for problem in plan.problems:  # pasted, in any order, they are all that was missing
        exec(problem.fix, {"exporter": exporter})
    assert exporter.plan().ok
    assert exporter.plan().dead_rules == ()


def test_what_a_look_ahead_came_to_may_still_be_decided_otherwise(project: Project) -> None:
    project({"app.py": "import one\n", "one.py": "import two\n", "two.py": "import numpy\n"})
    exporter = PackageExporter(io.BytesIO(), prove=False)
    exporter.extern("numpy")
    exporter.save_module("app")
    assert [problem.subject for problem in exporter.plan().problems] == ["one", "two"]
    exporter.mock("one")
    plan = exporter.plan()
    assert plan.ok
    assert [module.name for module in plan.modules] == ["app", "one"]
    assert plan.dead_rules == ("extern('numpy')",)


def test_objects_that_one_reload_made_old_are_told_once(project: Project) -> None:
    project(
        {"dial.py": "from kellet import nn\nclass Dial(nn.Module):\n    def forward(self, x): return x\n"}
    )
    import dial

    old = dial.Dial
    importlib.reload(dial)
    exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    exporter.save_object("m", "many", [dial.Dial(), *(old() for _ in range(5))])
    exporter.save_object("m", "nested", nn.Sequential(dial.Dial(), nn.Sequential(old())))
    told = [problem.context for problem in exporter.plan().problems]
    assert [text.partition(": ")[0] for text in told] == [
        "many[1], many[2], many[3] and 2 more",
        "nested.1.0",
    ]
    assert all("dial was loaded again after this object was made (importlib.reload" in text for text in told)


@pytest.mark.unix  # where capitals make no difference there are no two such files
def test_names_that_differ_in_letter_case_alone_are_told_in_the_plan(project: Project) -> None:
    project({"kase/__init__.py": "from . import Net, net\n", "kase/Net.py": "", "kase/net.py": ""})
    exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    exporter.save_module("kase")
    exporter.save_text("kase", "Words.txt", "a")
    exporter.save_text("kase", "words.txt", "b")
    plan = exporter.plan()
    assert not plan.ok
    assert [problem.subject for problem in plan.problems] == ["kase/net.py", "kase/words.txt"]
    for problem, pair in zip(
        plan.problems, ["Net.py' and 'kase/net.py", "Words.txt' and 'kase/words.txt"], strict=True
    ):
        assert problem.context.startswith(f"entries 'kase/{pair}': their names clash: on some file system")
        assert problem.context.endswith("differs")
