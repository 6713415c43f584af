"""What belongs to the project goes in, however it is laid out, and what cannot is said for what it is."""

from __future__ import annotations

import importlib.util
import io
import sys
from collections.abc import Callable, Mapping
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from typing import Any

import pytest

from packager import PackageExporter, PackageImporter
from packager._exporting import ExportPlan

Project = Callable[[Mapping[str, str]], Path]
CLASS = """
class {0}:
    def __init__(self):
        self.size = 3
    def total(self):
        return self.size
"""


def planned(*modules: str) -> ExportPlan:
    exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    for module in modules:
        exporter.save_module(module)
    return exporter.plan()


def found(plan: ExportPlan) -> list[tuple[str, str, str]]:
    return [(problem.subject, problem.context, problem.fix) for problem in plan.problems]


@pytest.mark.parametrize(
    ("how", "action"),
    [
        ({}, "intern"),
        ({"origin": {"dir_info": {"editable": False}}}, "intern"),
        ({"origin": {"archive_info": {}}}, "extern"),
        ({"by": "conda"}, "extern"),
    ],
)
def test_what_pip_installed_from_a_folder_is_the_project(
    installed: Callable[..., Path], how: dict[str, Any], action: str
) -> None:
    """A wheel is none, and what conda installs names the folder of its build, on another machine."""
    installed("ledger-kit", {"ledger/__init__.py": "", "ledger/book.py": ""}, **how)
    plan = planned_extern("import ledger.book\n")
    assert [module.action for module in plan.modules if module.name.startswith("ledger")] == [action] * 2


def planned_extern(text: str) -> ExportPlan:
    exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    exporter.save_source_string("uses", text)
    return exporter.plan()


def test_computed_imports_of_an_installed_project_are_listed(installed: Callable[..., Path]) -> None:
    text = "import importlib\ndef load(name):\n    return importlib.import_module(name)\n"
    installed("ledger-kit", {"ledger.py": text})
    plan = planned("ledger")
    assert [f"{one.file}:{one.line}:{one.function}" for one in plan.unreached] == ["ledger.py:3:load"]
    assert plan.library_unreached == ()


def test_two_distributions_of_one_namespace_go_in_together(installed: Callable[..., Path]) -> None:
    installed("orchard-trees", {"orchard/trees/__init__.py": "HEIGHT = 5\n"})
    installed("orchard-fruit", {"orchard/fruit.py": "from orchard.trees import HEIGHT\n"})
    plan = planned("orchard.fruit")
    assert plan.ok
    assert [module.name for module in plan.by_action("intern")] == [
        "orchard",
        "orchard.fruit",
        "orchard.trees",
    ]


@pytest.mark.parametrize("name", ["colorsys", "sched", "chunk"])
@pytest.mark.parametrize("as_package", [False, True])
def test_a_module_named_like_one_of_python_is_the_projects(
    project: Project, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, as_package: bool
) -> None:
    monkeypatch.delitem(sys.modules, name, raising=False)
    file = f"{name}/__init__.py" if as_package else f"{name}.py"
    project({file: "LEVEL = 4\n", "mixer.py": f"import json\nfrom {name} import LEVEL\n"})
    with PackageExporter(tmp_path / "mixer.kellet", policy="auto", prove=False) as exporter:
        exporter.save_module("mixer")
        assert {one.name: one.action for one in exporter.plan().modules} == {
            "mixer": "intern",
            name: "intern",
            "json": "extern",
        }
    monkeypatch.delitem(sys.modules, name, raising=False)
    with PackageImporter(tmp_path / "mixer.kellet") as importer:
        assert importer.import_module("mixer").LEVEL == 4
    assert getattr(sys.modules.get(name), "LEVEL", None) is None


def test_what_is_imported_already_is_what_code_here_has_got(project: Project) -> None:
    project({"json.py": "", "mixer.py": "import json\n"})
    assert {one.name: one.action for one in planned("mixer").modules} == {"mixer": "intern", "json": "extern"}


def test_compiled_code_of_the_project_says_what_it_is(project: Project) -> None:
    compiled = f"sieve/_fast{EXTENSION_SUFFIXES[0]}"
    folder = project({"sieve/__init__.py": "", "sieve/core.py": "from ._fast import twice\n", compiled: ""})
    plan = planned("sieve.core")
    assert plan.problems[0].reason == (
        "Module is a C extension module. packager supports Python modules only."
    )
    assert found(plan) == [
        (
            "sieve._fast",
            (
                f"{folder / compiled} is compiled code of the project. Build the project as a wheel, "
                "install it at the target, and require the package there"
            ),
            'exporter.extern("sieve.**")',
        )
    ]


@pytest.mark.parametrize("handled", ["from .slow import twice", "twice = None"])
def test_compiled_code_that_may_be_absent_can_be_left_alone(project: Project, handled: str) -> None:
    tried = f"try:\n    from ._fast import twice\nexcept ImportError:\n    {handled}\n"
    tree = {"sieve/__init__.py": "", "sieve/slow.py": "def twice(x): return x + x\n", "sieve/core.py": tried}
    project({**tree, f"sieve/_fast{EXTENSION_SUFFIXES[0]}": ""})
    [(name, context, paste)] = found(planned("sieve.core"))
    assert (name, paste) == ("sieve._fast", 'exporter.extern("sieve.**")')
    assert context.endswith(
        '; or make it optional, as the code goes on without it: exporter.extern("sieve._fast")'
    )
    exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    exporter.extern("sieve._fast")
    exporter.save_module("sieve.core")
    assert exporter.plan().ok


def test_bytecode_without_source_says_what_it_is(project: Project) -> None:
    folder = project(
        {"locked/__init__.py": "", "locked/sauce.pyc": "", "locked/api.py": "from . import sauce\n"}
    )
    assert found(planned("locked.api")) == [
        (
            "locked.sauce",
            (
                f"{folder}/locked/sauce.pyc: it has bytecode, but no source. Put the source "
                "beside it, or require the package at the target"
            ),
            'exporter.extern("locked.**")',
        )
    ]


def test_a_module_that_was_loaded_from_its_file_goes_in_by_its_name(
    project: Project, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = project({"tools/odd.py": CLASS.format("Odd")}) / "tools" / "odd.py"
    spec = importlib.util.spec_from_file_location("odd_tool", file)
    assert spec is not None
    assert spec.loader is not None
    odd = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "odd_tool", odd)
    spec.loader.exec_module(odd)
    with PackageExporter(tmp_path / "odd.kellet", policy="auto") as exporter:
        exporter.save_object("model", "model", odd.Odd())
    assert exporter.plan().problems == ()
    file.unlink()
    with PackageImporter(tmp_path / "odd.kellet") as importer:
        assert importer.load_object("model", "model").total() == 3


@pytest.mark.parametrize(
    ("module", "fix"),
    [
        ("fern.gone", 'exporter.mock("fern.gone.**")  # unknown origin, in a package of the project'),
        ("gone", 'exporter.mock("gone.**")  # unknown origin; use extern if the target has it'),
    ],
)
def test_no_mock_of_ones_own_package_is_offered(project: Project, module: str, fix: str) -> None:
    project({"fern/__init__.py": "", "fern/leaf.py": f"import {module}\n"})
    assert [one.fix for one in planned("fern.leaf").problems if one.subject == module] == [fix]


def test_what_is_absent_here_is_not_demanded_there(project: Project, tmp_path: Path) -> None:
    project({"gull.py": "def log():\n    import wandb_of_old\n" + CLASS.format("Gull")})
    gull = importlib.import_module("gull")

    exporter = PackageExporter(tmp_path / "gull.kellet", policy="auto", prove=False)
    exporter.extern("wandb_of_old")
    exporter.save_module("gull")
    exporter.save_object("model", "model", gull.Gull())
    plan = exporter.plan()
    exporter.close()
    assert (plan.externs, plan.warnings) == ((), ())  # the code goes on without, there as here
    with PackageImporter(tmp_path / "gull.kellet") as importer:
        assert importer.load_object("model", "model").total() == 3
        with pytest.raises(ModuleNotFoundError, match="wandb_of_old"):
            importer.import_module("gull").log()


def test_an_archive_without_any_code_is_a_warning(installed: Callable[..., Path], project: Project) -> None:
    project({"here.py": ""})
    installed("ledger-kit", {"ledger.py": CLASS.format("Book")}, origin={"archive_info": {}})
    ledger = importlib.import_module("ledger")

    exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    exporter.save_object("model", "model", ledger.Book())
    assert exporter.plan().warnings[0] == (
        "no module is stored: ledger:Book, the class of object model/model, is required at the target "
        '(installed distribution ledger-kit 1.2); exporter.intern("ledger.**") stores it'
    )
    exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    exporter.intern("ledger.**")
    exporter.save_object("model", "model", ledger.Book())
    assert exporter.plan().warnings == ()
    del sys.modules["ledger"]


STEPS = {
    "brew/__init__.py": "",
    "brew/steps/mash.py": "",
    "brew/steps/boil.py": "",
}


@pytest.mark.parametrize(
    "name",
    ["f'{__name__}.{name}'", "__name__ + '.' + name", "f'{__package__}.{name}'", "'.' + name, __package__"],
)
def test_a_package_that_imports_all_of_itself_goes_in_whole(
    project: Project, tmp_path: Path, name: str
) -> None:
    text = (
        "import importlib, pkgutil\nfor _, name, _ in pkgutil.iter_modules(__path__):\n"
        f"    importlib.import_module({name})\n"
    )
    project({**STEPS, "brew/steps/__init__.py": text})
    with PackageExporter(tmp_path / "brew.kellet", policy="auto") as exporter:
        exporter.save_module("brew.steps")
    assert sorted(exporter.interned_modules()) == ["brew", "brew.steps", "brew.steps.boil", "brew.steps.mash"]
    assert exporter.plan().unreached == ()
    with PackageImporter(tmp_path / "brew.kellet") as importer:
        steps = importer.import_module("brew.steps")
        assert (hasattr(steps, "boil"), hasattr(steps, "mash")) == (True, True)


@pytest.mark.parametrize("name", ["profile", "trace"])
def test_a_class_of_a_module_that_loaders_refuse_by_its_name_says_to_rename_it(
    project: Project, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.delitem(sys.modules, name, raising=False)
    file = project({f"{name}.py": CLASS.format("User")}) / f"{name}.py"
    user = importlib.import_module(name).User()
    exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    exporter.save_object("model", "model", user)
    (problem,) = exporter.plan().problems
    assert problem.context == (
        f"model: {name}:User ({file}): a name that is of the module {name}, which imports, "
        f"compiles or runs what it is given, and that loaders refuse (give the module {name} another name)"
    )


def test_an_enumeration_that_no_name_leads_to_says_what_to_keep(project: Project) -> None:
    """As `torch.nn.attention.SDPBackend`, whose type has another name than its module gives it."""

    backend = type("_Backend", (), {"__members__": {"MATH": 0}, "__module__": "kinds"})
    project({"kinds.py": ""})
    exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    exporter.save_object("model", "model", [backend()])
    (problem,) = exporter.plan().problems
    assert problem.context.endswith("(store int(member), and make the member again where it is used)")
