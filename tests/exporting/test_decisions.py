"""Each module is decided once, hooks included; what comes later changes nothing, and says so."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from packager import Decision, EmptyMatchError, PackageExporter, PackagingError
from packager._archive import ArchiveReader
from packager._policy import Policy

Project = Callable[[Mapping[str, str]], Path]

TREE = {
    "app.py": "import lib.one\nimport lib.two\n",
    "lib/__init__.py": "",
    "lib/one.py": "import json\n",
    "lib/two.py": "import lib.three\n",
    "lib/three.py": "",
}


@pytest.fixture
def exporter(project: Project) -> PackageExporter:
    project(TREE)
    exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    exporter.save_module("app")
    return exporter


def test_hooks_see_each_module_once_over_many_questions(exporter: PackageExporter) -> None:
    seen: list[str] = []
    exporter.register_intern_hook(lambda exporter, name: seen.append(name))
    for _ in range(3):
        exporter.interned_modules()
        exporter.plan()
    exporter.close()
    assert sorted(seen) == ["app", "lib", "lib.one", "lib.three", "lib.two"]
    assert seen.index("app") == 0
    assert seen.index("lib.two") < seen.index("lib.three")


def test_a_hook_gets_the_exporter_that_asks(exporter: PackageExporter) -> None:
    seen: list[object] = []
    exporter.register_extern_hook(lambda who, name: seen.append((who, name)))
    exporter.plan()
    assert seen == [(exporter, "json")]


def test_a_hook_is_told_who_imports_the_module_and_where(exporter: PackageExporter) -> None:
    told: dict[str, Decision] = {}
    exporter.register_intern_hook(lambda exporter, name, decision: told.update({name: decision}))
    exporter.plan()
    decision = told["lib.three"]
    assert (decision.action, decision.rule, decision.because) == ("intern", "preset auto", "project code")
    assert [(edge.importer, edge.file, edge.line, edge.kind) for edge in decision.importers] == [
        ("lib.two", "lib/two.py", 1, "top")
    ]


def test_a_veto_keeps_the_walk_from_going_on(exporter: PackageExporter) -> None:
    exporter.register_intern_hook(
        lambda exporter, name, decision: (
            decision.replace(action="deny", because="not two") if name == "lib.two" else None
        )
    )
    assert exporter.denied_modules() == ["lib.two"]
    assert "lib.three" not in exporter.interned_modules()
    with pytest.raises(PackagingError, match=r"denied by a pattern\.\n    lib\.two\n      Context: not two"):
        exporter.close()


def test_a_hook_may_send_a_module_elsewhere(exporter: PackageExporter) -> None:
    mocked: list[str] = []
    exporter.register_mock_hook(lambda exporter, name: mocked.append(name))
    exporter.register_intern_hook(
        lambda exporter, name, decision: decision.replace(action="mock") if name == "lib.two" else None
    )
    exporter.close()
    assert exporter.mocked_modules() == mocked == ["lib.two"]
    assert exporter.interned_modules() == ["app", "lib", "lib.one"]


def test_a_hook_may_rewrite_the_source_that_is_stored_and_followed(project: Project, tmp_path: Path) -> None:
    project(TREE)
    target = tmp_path / "out.kellet"
    with PackageExporter(target, policy="auto", prove=False) as exporter:
        exporter.register_intern_hook(
            lambda exporter, name, decision: (
                decision.replace(source="import lib.one  # rewritten\n") if name == "app" else None
            )
        )
        exporter.save_module("app")
    with ArchiveReader(target) as reader:
        assert reader.read("app.py") == b"import lib.one  # rewritten\n"
        assert "lib/two.py" not in reader


def test_a_hook_may_take_back_a_denial(project: Project) -> None:
    project(TREE)
    exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    exporter.deny("lib.two")
    exporter.register_deny_hook(lambda exporter, name, decision: decision.replace(action="intern"))
    exporter.save_module("app")
    exporter.close()
    assert "lib.three" in exporter.interned_modules()


def test_a_hook_may_save_text(project: Project, tmp_path: Path) -> None:
    project(TREE)
    target = tmp_path / "out.kellet"
    with PackageExporter(target, policy="auto", prove=False) as exporter:
        exporter.register_extern_hook(
            lambda exporter, name: exporter.save_text("notes", f"{name}.txt", "seen")
        )
        exporter.save_module("app")
    with ArchiveReader(target) as reader:
        assert reader.read("notes/json.txt") == b"seen"


@pytest.mark.parametrize(
    "act",
    [
        lambda exporter: exporter.save_module("json"),
        lambda exporter: exporter.save_source_string("x", ""),
        lambda exporter: exporter.save_object("p", "r", 1),
        lambda exporter: exporter.save_pickle("p", "r", 1),
        lambda exporter: exporter.save_state_dict("p", "r", {}),
        lambda exporter: exporter.intern("x"),
        lambda exporter: exporter.register_intern_hook(print),
        lambda exporter: exporter.plan(),
        lambda exporter: exporter.externed_modules(),
        lambda exporter: exporter.close(),
    ],
)
def test_a_hook_that_adds_modules_or_asks_is_told_that_it_cannot(
    exporter: PackageExporter, act: Callable[[PackageExporter], Any]
) -> None:
    exporter.register_intern_hook(lambda exporter, name: act(exporter))
    with pytest.raises(RuntimeError, match=r"a hook cannot .* while modules are decided"):
        exporter.plan()


def test_an_error_of_a_hook_goes_through_and_nothing_is_written(project: Project, tmp_path: Path) -> None:
    project(TREE)
    target = tmp_path / "out.kellet"
    target.write_bytes(b"old")

    def failing(exporter: Any, name: str) -> None:
        raise ZeroDivisionError("mine")

    exporter = PackageExporter(target, policy="auto", prove=False)
    exporter.register_intern_hook(failing)
    exporter.save_module("app")
    with pytest.raises(ZeroDivisionError, match="mine"):
        exporter.close()
    assert target.read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["out.kellet"]


def test_a_removed_hook_is_not_called(exporter: PackageExporter) -> None:
    seen: list[str] = []
    with exporter.register_intern_hook(lambda exporter, name: seen.append(name)):
        pass
    exporter.plan()
    assert seen == []


def test_implicit_externs_are_told_to_extern_hooks(exporter: PackageExporter) -> None:
    told: list[tuple[str, str]] = []
    exporter.register_extern_hook(lambda exporter, name, decision: told.append((name, decision.rule)))
    exporter.plan()
    assert told == [("json", "implicit")]


def test_hooks_see_modules_alone_no_pickles_and_no_mock_machinery(project: Project) -> None:
    project(TREE)
    seen: list[str] = []
    exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    exporter.mock("lib.two")
    for register in (
        exporter.register_intern_hook,
        exporter.register_extern_hook,
        exporter.register_mock_hook,
    ):
        register(lambda exporter, name: seen.append(name))
    exporter.save_module("app")
    exporter.save_pickle("data", "numbers.pkl", [1, 2])
    exporter.close()
    assert sorted(seen) == ["app", "json", "lib", "lib.one", "lib.two"]


def test_hooks_have_run_when_the_plan_turns_out_to_hold_errors(exporter: PackageExporter) -> None:
    seen: list[str] = []
    exporter.deny("lib.two")
    exporter.register_intern_hook(lambda exporter, name: seen.append(name))
    assert not exporter.plan().ok
    assert "app" in seen


def test_a_later_save_extends_the_plan(exporter: PackageExporter, project: Project) -> None:
    project({"more.py": "import csv\n"})
    assert exporter.externed_modules() == ["json"]
    exporter.save_module("more")
    assert exporter.externed_modules() == ["csv", "json"]
    exporter.close()


def test_a_later_rule_that_would_change_a_decision_is_an_error(exporter: PackageExporter) -> None:
    exporter.plan()
    exporter.extern("lib.two")
    with pytest.raises(PackagingError) as caught:
        exporter.close()
    assert (
        "* A module is already decided: add rules and hooks before the plan is asked for.\n    "
        "lib.two\n      Context: extern('lib.two') would make it extern; it is intern by preset auto\n"
    ) in str(caught.value)


def test_a_later_rule_that_changes_nothing_is_fine(exporter: PackageExporter) -> None:
    exporter.plan()
    exporter.extern("other.**")
    exporter.intern("lib.**")
    exporter.extern("**")  # the implicit extern json keeps its reason, and lib.** comes first
    assert {problem.subject for problem in exporter.plan().problems} == set()


def test_what_stayed_undecided_is_decided_by_a_later_rule(project: Project) -> None:
    project(TREE)
    exporter = PackageExporter(io.BytesIO(), prove=False)
    exporter.save_module("app")
    assert [problem.subject for problem in exporter.plan().problems] == ["lib.one", "lib.two", "lib.three"]
    exporter.intern("lib.**")
    exporter.close()
    assert exporter.interned_modules() == ["app", "lib", "lib.one", "lib.three", "lib.two"]


def test_a_hook_registered_late_is_told_of_what_stands(exporter: PackageExporter) -> None:
    exporter.plan()
    seen: list[str] = []
    exporter.register_extern_hook(lambda exporter, name: seen.append(name))
    assert seen == ["json"]
    exporter.close()
    assert seen == ["json"]


def test_a_late_hook_that_would_change_a_decision_is_an_error(exporter: PackageExporter) -> None:
    exporter.plan()

    def refuse(exporter: PackageExporter, name: str, decision: Decision) -> Decision:
        return decision.replace(action="deny")

    exporter.register_extern_hook(refuse)
    assert exporter.externed_modules() == ["json"]
    with pytest.raises(
        PackagingError, match=r"Context: hook .*refuse would make it deny; it is extern by implicit"
    ):
        exporter.close()


def test_saving_a_module_by_name_that_was_decided_otherwise_is_an_error(project: Project) -> None:
    project(TREE)
    exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    exporter.extern("lib.two")
    exporter.save_module("app")
    exporter.plan()
    exporter.save_module("lib.two")
    with pytest.raises(PackagingError, match="saving it by name would make it intern; it is extern by"):
        exporter.close()


def test_saving_a_module_interns_it_whatever_the_rules_say(project: Project) -> None:
    project(TREE)
    exporter = PackageExporter(io.BytesIO(), prove=False)
    exporter.deny("**")
    exporter.save_module("lib.three")
    exporter.save_module("lib")
    exporter.close()
    assert exporter.interned_modules() == ["lib", "lib.three"]


def test_packages_run_before_what_is_inside_and_are_interned_with_it(project: Project) -> None:
    project({"a/__init__.py": "", "a/b/__init__.py": "", "a/b/c.py": ""})
    exporter = PackageExporter(io.BytesIO(), prove=False)
    exporter.intern("a.b.c")
    exporter.save_source_string("app", "import a.b.c")
    plan = exporter.plan()
    assert plan.ok
    assert {module.name: (module.rule, module.because) for module in plan.by_action("intern")} == {
        "app": ("asked for", "saved by name"),
        "a": ("parent", "it runs before a.b.c"),
        "a.b": ("parent", "it runs before a.b.c"),
        "a.b.c": ("intern('a.b.c')", "first rule that matches a.b.c"),
    }


@pytest.mark.filterwarnings("ignore::packager.errors.PackagingWarning")
def test_the_package_around_an_extern_needs_no_rule(project: Project) -> None:
    project({"a/__init__.py": "", "a/b.py": ""})
    exporter = PackageExporter(io.BytesIO(), prove=False)
    exporter.extern("a.b")
    exporter.save_source_string("app", "import a.b")
    exporter.close()
    assert exporter.externed_modules() == ["a.b"]


def test_an_unmatched_rule_that_may_not_be_empty_raises_at_the_end(project: Project, tmp_path: Path) -> None:
    project(TREE)
    target = tmp_path / "out.kellet"
    exporter = PackageExporter(target, policy="auto", prove=False)
    exporter.extern("never.*", allow_empty=False)
    exporter.save_module("app")
    with pytest.raises(EmptyMatchError, match=r"did not match any modules to extern\('never\.\*'\)"):
        exporter.close()
    assert not target.exists()


def test_an_unmatched_rule_never_hides_an_earlier_error(project: Project) -> None:
    project(TREE)
    exporter = PackageExporter(io.BytesIO(), prove=False)
    exporter.extern("never", allow_empty=False)
    exporter.save_module("app")
    with pytest.raises(PackagingError, match="did not match against any action pattern"):
        exporter.close()


def test_hooks_that_remove_each_other_while_running_are_skipped(exporter: PackageExporter) -> None:
    seen: list[str] = []
    handles: list[Any] = []
    handles.append(
        exporter.register_extern_hook(lambda exporter, name: [handle.remove() for handle in handles])
    )
    handles.append(exporter.register_extern_hook(lambda exporter, name: seen.append(name)))
    exporter.plan()
    assert seen == []


def test_a_policy_given_to_an_exporter_stays_as_it_is(project: Project) -> None:
    project({"own_a.py": "import own_b\n", "own_b.py": "X = 1\n", "own_c.py": "import own_b\n"})
    policy = Policy("auto")
    with PackageExporter(io.BytesIO(), policy=policy, prove=False) as first:
        first.mock("own_b")
        first.save_module("own_a")
        assert first.mocked_modules() == ["own_b"]
    assert len(policy.rules) == 0
    with PackageExporter(io.BytesIO(), policy=policy, prove=False) as second:
        second.save_module("own_c")
        assert second.interned_modules() == ["own_b", "own_c"]


def test_a_rule_that_an_earlier_export_used_is_not_used_in_the_next(project: Project) -> None:
    project({"own_a.py": "X = 1\n", "own_b.py": "X = 1\n"})
    policy = Policy("auto")
    policy.add("intern", "own_a", allow_empty=False)
    with PackageExporter(io.BytesIO(), policy=policy, prove=False) as first:
        first.save_module("own_a")
    second = PackageExporter(io.BytesIO(), policy=policy, prove=False)
    second.save_module("own_b")
    with pytest.raises(EmptyMatchError, match=r"did not match any modules to intern\('own_a'\)"):
        second.close()
