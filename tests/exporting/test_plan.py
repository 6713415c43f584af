"""The plan says what will be stored, what is left to the target, what it costs, and why."""

from __future__ import annotations

import dataclasses
import importlib
import io
import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from packager import PackageExporter, PackagingError
from packager._archive import ArchiveReader, ImportSite
from packager._environment import Distributions, requirement_for
from packager._policy import Origin, Policy

Project = Callable[[Mapping[str, str]], Path]

HEAD = "Metadata-Version: 2.1\nName: pure-dist\nVersion: 1.2\n"
TREE = {
    "net/__init__.py": "from .layers import Dense\n",
    "net/layers.py": "import numpy as np\nimport json\nWORDS = open('net/words.txt')\n",
    "net/words.txt": "one two",
    "net/extra/notes.md": "not a package",
    "net/tests/__init__.py": "",
    "net/tests/data.json": "{}",
}


def exporter_of(project: Project, **options: object) -> PackageExporter:
    project(TREE)
    exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False, **options)  # type: ignore[arg-type]  # passed on
    exporter.save_module("net")
    return exporter


def test_modules_have_action_rule_reason_origin_and_importers(project: Project) -> None:
    plan = exporter_of(project).plan()
    modules = {module.name: module for module in plan.modules}
    layers = modules["net.layers"]
    assert (layers.action, layers.rule, layers.because) == ("intern", "preset auto", "project code")
    assert (layers.entry, layers.is_package, layers.size) == (
        "net/layers.py",
        False,
        len(TREE["net/layers.py"]),
    )
    assert [(edge.importer, edge.file, edge.line) for edge in layers.importers] == [
        ("net", "net/__init__.py", 1)
    ]
    assert modules["net"].is_package
    assert modules["json"].origin == Origin("stdlib")


def test_externs_have_distribution_version_and_requirement(project: Project) -> None:
    plan = exporter_of(project).plan()
    version = Distributions().version("numpy")
    assert version is not None
    assert [(one.name, one.origin.kind, one.requirement, one.modules) for one in plan.externs] == [
        ("json", "stdlib", None, ("json",)),
        ("numpy", "compiled", str(requirement_for("numpy", version)), ("numpy",)),
    ]


def test_externs_are_optional_where_every_import_of_them_is_tried(project: Project) -> None:
    project(
        {
            "shop/__init__.py": "from . import plain, tried\n",
            "shop/plain.py": "import msgpack\n",
            "shop/tried.py": "try:\n    import numpy.linalg, msgpack\nexcept ImportError:\n    pass\n",
        }
    )
    exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    exporter.save_module("shop")
    plan = exporter.plan()
    assert [(one.name, one.optional) for one in plan.externs] == [("msgpack", False), ("numpy", True)]
    assert "(compiled distribution numpy" in str(plan)
    assert "\noptional:\n    numpy  " in str(plan)


def test_data_files_of_interned_packages_are_captured_with_the_package_that_they_lie_beside(
    project: Project,
) -> None:
    plan = exporter_of(project).plan()
    found = {file.name: file.because for file in plan.data_files}
    assert found["net/words.txt"] == "beside the code of net"
    assert found["net/tests/data.json"] == "beside the code of net"  # it lies in the folder of net


def test_patterns_leave_data_files_out(project: Project) -> None:
    exporter = exporter_of(project)
    exporter.exclude_data("net/*.txt")
    assert "net/words.txt" not in [file.name for file in exporter.plan().data_files]


def test_what_is_saved_by_name_comes_before_a_data_file(project: Project) -> None:
    project(TREE)
    buffer = io.BytesIO()
    with PackageExporter(buffer, policy="auto", prove=False) as exporter:
        exporter.save_module("net")
        exporter.save_text("net", "words.txt", "mine")
    with ArchiveReader(buffer) as reader:
        assert reader.read("net/words.txt") == b"mine"


def test_cost_is_given_by_kind(project: Project) -> None:
    plan = exporter_of(project).plan()
    sources = len(TREE["net/__init__.py"]) + len(TREE["net/layers.py"])
    assert plan.cost()["source"] == sources
    assert plan.size == sum(plan.cost().values())


def test_a_plan_is_frozen_and_equal_to_itself_made_again(project: Project) -> None:
    exporter = exporter_of(project)
    plan = exporter.plan()
    assert exporter.plan() is plan
    with pytest.raises(dataclasses.FrozenInstanceError):
        plan.modules = ()  # type: ignore[misc]  # that it is frozen is the point
    other = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    other.save_module("net")
    assert other.plan() == plan


def test_a_plan_prints_everything_that_matters(project: Project) -> None:
    exporter = exporter_of(project)
    exporter.mock("nothing.**")
    exporter.deny("net.layers")
    text = str(exporter.plan())
    assert text.startswith("Export plan: 1 module stored, 0 packages required, ")
    for line in (
        "    net  (asked for: saved by name)",
        "warnings:\n    mock('nothing.**') matched no module\n",
        "* Module was denied by a pattern.\n    net.layers",
        "      Imported by: net (asked for) -> net.layers (net/__init__.py:1)",
    ):
        assert line in text


def test_a_large_plan_prints_on_a_screen_and_its_text_has_all(project: Project) -> None:
    names = [f"part{number:02}" for number in range(60)]
    project({"many/__init__.py": "", **{f"many/{name}.py": "import not_here\n" for name in names}})
    exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    for name in names:
        exporter.save_module(f"many.{name}")
    exporter.mock("pdb")
    exporter.save_source_string("extra", "import pdb, msgpack\ndef late(): import numpy")
    plan = exporter.plan()
    printed, whole = str(plan).splitlines(), plan.text().splitlines()
    assert printed[0].startswith("Export plan: 62 modules stored, 1 package required, 1 optional, 1 mocked, ")
    assert (len(printed) <= 40, len(whole) > 60) == (True, True)
    assert "    and 57 more lines; text() has all" in printed
    assert all(f"    many.{name}  (asked for: saved by name)" in whole for name in names)


def test_a_problem_prints_as_a_paragraph(project: Project) -> None:
    exporter = exporter_of(project)
    exporter.deny("net.layers")
    with pytest.raises(PackagingError) as refused:
        exporter.close()
    (problem,) = refused.value.problems
    assert str(problem) == (
        "Module was denied by a pattern. net.layers\n"
        "      Imported by: net (asked for) -> net.layers (net/__init__.py:1)\n"
        "      To paste: exporter.mock(\"net.layers\")  # before deny('net.layers')"
    )


def test_dead_rules_are_reported(project: Project) -> None:
    exporter = exporter_of(project)
    exporter.extern("never.**")
    plan = exporter.plan()
    assert plan.dead_rules == ("extern('never.**')",)
    assert plan.warnings == ("extern('never.**') matched no module",)
    assert plan.empty_rules == ()
    assert plan.ok


def test_a_rule_for_all_that_is_left_is_no_warning_where_nothing_is_left() -> None:
    exporter = PackageExporter(io.BytesIO(), prove=False)
    exporter.save_source_string("net", "x = 1\n")
    exporter.mock("net.nothing")
    exporter.intern("**")
    exporter.extern("**")
    plan = exporter.plan()
    assert plan.dead_rules == ("mock('net.nothing')", "extern('**')")
    assert plan.warnings == ("mock('net.nothing') matched no module",)


def test_what_every_branch_imports_is_left_to_the_target(project: Project) -> None:
    project(
        {"app.py": "import sys\nif sys.version_info >= (3, 0):\n    import json\nelse:\n    import csv\n"}
    )
    exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    exporter.save_module("app")
    optional = {one.name: one.optional for one in exporter.plan().externs}
    assert optional == {"sys": False, "json": True, "csv": True}


ZOO = {
    "zoo/__init__.py": "",
    "zoo/load.py": "from importlib import import_module\n"
    "def load(name='cat'): return import_module(f'zoo.kinds.{name}').LEGS\n",
    "zoo/kinds/__init__.py": "",
    "zoo/kinds/cat.py": "LEGS = 4\n",
    "zoo/kinds/dog.py": "LEGS = 4\n",
}


def test_a_computed_import_is_told_with_its_line(project: Project) -> None:
    project(ZOO)
    exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    exporter.save_module("zoo.load")
    plan = exporter.plan()
    assert (plan.ok, exporter.interned_modules()) == (True, ["zoo", "zoo.load"])
    [one] = plan.unreached
    assert (one.importer, one.file, one.line, one.function) == ("zoo.load", "zoo/load.py", 2, "load")
    assert str(one) == "zoo/load.py:2: import_module(f'zoo.kinds.{name}')"
    assert (
        "imports by computed names (the proof finds the modules that the example loads):\n    "
        "zoo/load.py:2  import_module(f'zoo.kinds.{name}')\n"
    ) in str(plan)


@pytest.mark.parametrize("is_called", [True, False])
def test_what_a_run_loads_by_a_computed_name_is_stored(
    project: Project, tmp_path: Path, is_called: bool
) -> None:
    project(ZOO)
    with PackageExporter(tmp_path / "zoo.kellet", policy="auto") as exporter:
        exporter.save_object("model", "model", importlib.import_module("zoo.load").load)
        if is_called:
            exporter.save_example("model", {})
    plan = exporter.plan()
    stored = ["zoo", *["zoo.kinds", "zoo.kinds.cat"] * is_called, "zoo.load"]
    assert sorted(exporter.interned_modules()) == stored
    assert [one.line for one in plan.unreached] == ([] if is_called else [2])
    told = "imports by computed names that no run reached (exporter.save_module() stores such a module):\n"
    assert (told in str(plan)) is not is_called
    if is_called:
        assert [str(edge) for edge in exporter.why("zoo.kinds.cat").chain][-1] == (
            "zoo.kinds.cat <- zoo.load (zoo/load.py:2, served)"
        )


def test_the_manifest_says_what_the_plan_said(project: Project, tmp_path: Path) -> None:
    project(TREE)
    target = tmp_path / "out.kellet"
    with PackageExporter(target, policy="auto", prove=False) as exporter:
        exporter.save_module("net")
    with ArchiveReader(target) as reader:
        manifest = reader.manifest
    records = {record.name: record for record in manifest.modules}
    assert set(records) == {"net", "net.layers", "numpy", "json"}
    assert records["net.layers"].importers == (ImportSite("net", "net/__init__.py", 1),)
    assert records["numpy"].entry is None
    assert [(one.name, one.origin, one.distribution) for one in manifest.externs] == [
        ("json", "stdlib", None),
        ("numpy", "compiled", "numpy"),
    ]
    assert set(manifest.environment) == {
        "python", "implementation", "platform", "byteorder", "distributions", "licenses",
    }  # fmt: skip
    assert set(manifest.environment["distributions"]) == {"numpy"}


def test_nothing_in_an_archive_tells_of_the_folder_it_was_made_in(project: Project, tmp_path: Path) -> None:
    folder = project(TREE)
    target = tmp_path / "out.kellet"
    with PackageExporter(target, policy="auto", prove=False) as exporter:
        exporter.save_module("net")
    assert str(folder).encode() not in target.read_bytes()
    assert tmp_path.name.encode() not in target.read_bytes()


def test_the_version_of_an_interned_distribution_is_stored_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "site-packages"
    for name, text in {
        "pure/__init__.py": "",
        "pure_dist-1.2.dist-info/METADATA": f"{HEAD}\nA long story\n",
        "pure_dist-1.2.dist-info/top_level.txt": "pure\n",
        "pure_dist-1.2.dist-info/RECORD": "pure/__init__.py,,\n",
    }.items():
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_text(text)
    monkeypatch.syspath_prepend(site)
    buffer = io.BytesIO()
    with PackageExporter(buffer, policy="hermetic", prove=False) as exporter:
        exporter.save_source_string("app", "import pure")
    with ArchiveReader(buffer) as reader:
        assert reader.read("pure_dist-1.2.dist-info/METADATA") == HEAD.encode()


def test_a_policy_may_be_a_file_or_an_object(project: Project, tmp_path: Path) -> None:
    project({"app.py": "import one", "one.py": ""})
    path = tmp_path / "policy.toml"
    path.write_text('rules = [{ action = "mock", include = "one" }]')
    for policy in (path, str(path), Policy(None, [])):
        exporter = PackageExporter(io.BytesIO(), policy=policy, prove=False)
        if isinstance(policy, Policy):
            exporter.mock("one")
        exporter.save_module("app")
        assert exporter.mocked_modules() == ["one"]


def test_a_plan_can_be_given_to_machines(project: Project) -> None:
    from packager._cli.screen import print_json

    plan = exporter_of(project).plan()
    out = io.StringIO()
    import contextlib

    with contextlib.redirect_stdout(out):
        print_json(plan)
    assert {module["name"] for module in json.loads(out.getvalue())["modules"]} >= {
        "net",
        "net.layers",
        "numpy",
    }
