"""Action hooks are told of each decision, in order, and may decide otherwise."""

from __future__ import annotations

from typing import Any

import pytest

from packager._policy import ActionHooks, Decision, HookAnswerError

INTERN = Decision("intern", "r", "b")


def test_two_argument_hooks_get_exporter_and_name() -> None:
    hooks, seen = ActionHooks(), []
    hooks.register("intern", lambda exporter, name: seen.append((exporter, name)))
    assert hooks.run("E", "pkg", INTERN) is INTERN
    assert seen == [("E", "pkg")]


def test_three_argument_hooks_get_the_decision_as_well() -> None:
    hooks, seen = ActionHooks(), []
    hooks.register("intern", lambda *arguments: seen.append(arguments))
    hooks.run("E", "pkg", INTERN)
    assert seen == [("E", "pkg", INTERN)]


def test_hooks_of_another_action_are_not_called() -> None:
    hooks, seen = ActionHooks(), []
    for action in ("extern", "mock", "deny"):
        hooks.register(action, lambda exporter, name, action=action: seen.append(action))
    hooks.run(None, "pkg", INTERN)
    assert seen == []


def test_hooks_run_in_registration_order_until_removed() -> None:
    hooks, seen = ActionHooks(), []
    first = hooks.register("intern", lambda exporter, name: seen.append(1))
    hooks.register("intern", lambda exporter, name: seen.append(2))
    hooks.run(None, "a", INTERN)
    first.remove()
    first.remove()
    hooks.run(None, "b", INTERN)
    assert seen == [1, 2, 2]


def test_a_changed_decision_is_handed_to_the_next_hook() -> None:
    hooks, seen = ActionHooks(), []
    hooks.register("intern", lambda exporter, name, decision: decision.replace(source="x = 1"))
    hooks.register("intern", lambda exporter, name, decision: seen.append(decision.source))
    assert hooks.run(None, "a", INTERN).source == "x = 1"
    assert seen == ["x = 1"]


def test_a_rerouted_module_goes_to_the_hooks_of_its_new_action_only() -> None:
    hooks, seen = ActionHooks(), []
    hooks.register("intern", lambda exporter, name, decision: decision.replace(action="extern"))
    hooks.register("intern", lambda exporter, name: seen.append("intern, later"))
    hooks.register("extern", lambda exporter, name: seen.append("extern"))
    assert hooks.run(None, "a", INTERN).action == "extern"
    assert seen == ["extern"]


def test_two_hooks_cannot_throw_a_module_to_and_fro() -> None:
    hooks, seen = ActionHooks(), []

    def to(action: str) -> Any:
        def hook(exporter: Any, name: str, decision: Decision) -> Decision:
            seen.append(action)
            return decision.replace(action=action)

        return hook

    hooks.register("intern", to("extern"))
    hooks.register("extern", to("intern"))
    assert hooks.run(None, "a", INTERN).action == "intern"
    assert seen == ["extern", "intern"]


def test_an_undecided_module_calls_no_hook() -> None:
    hooks, seen = ActionHooks(), []
    for action in ("intern", "extern", "mock", "deny"):
        hooks.register(action, lambda exporter, name: seen.append(name))
    hooks.run(None, "a", Decision("undecided", "no rule", ""))
    assert seen == []


def test_a_hook_that_is_not_callable_is_refused_when_registered() -> None:
    with pytest.raises(TypeError, match=r"hook=3: expected a function, hook\(exporter, name, decision\)"):
        ActionHooks().register("intern", 3)  # type: ignore[arg-type]  # the wrong argument under test


def test_a_hook_that_takes_neither_form_is_refused_when_registered() -> None:
    with pytest.raises(TypeError, match=r"it must take \(exporter, name, decision\) or \(exporter, name\)"):
        ActionHooks().register("mock", lambda name: None)


@pytest.mark.parametrize("answer", [True, "deny", 0])
def test_another_answer_than_a_decision_is_an_error(answer: object) -> None:
    hooks = ActionHooks()
    hooks.register("intern", lambda exporter, name, decision: answer)
    with pytest.raises(HookAnswerError, match=r"for module pkg\.net: expected None or a Decision, found"):
        hooks.run(None, "pkg.net", INTERN)
    assert issubclass(HookAnswerError, TypeError)


def test_what_a_two_argument_hook_returns_is_ignored() -> None:
    hooks = ActionHooks()
    hooks.register("intern", lambda exporter, name: [INTERN.replace(action="deny")])
    assert hooks.run(None, "a", INTERN) is INTERN


def test_an_error_of_a_hook_goes_through_unchanged() -> None:
    hooks = ActionHooks()

    def failing(exporter: Any, name: str) -> None:
        raise ZeroDivisionError("mine")

    hooks.register("intern", failing)
    with pytest.raises(ZeroDivisionError, match="mine"):
        hooks.run(None, "a", INTERN)
