"""Rules decide in their order; implicit externs come before them, a preset after them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from packager._policy import Decision, GlobGroup, Origin, Policy, Rule, Rules, implicit_reason
from packager.errors import ArgumentError, EmptyMatchError

PROJECT = Origin("project")
PURE = Origin("installed", "einops", "0.8.0")
COMPILED = Origin("compiled", "numpy", "2.1.0")
UNKNOWN = Origin("unknown")


def test_the_first_rule_that_matches_decides() -> None:
    policy = Policy()
    policy.add("mock", "a.b")
    policy.add("extern", "a.**")
    policy.add("deny", "**")
    assert [policy.decide(name, PROJECT).action for name in ("a.b", "a.c", "x")] == ["mock", "extern", "deny"]


def test_excluded_names_go_on_to_the_next_rule() -> None:
    policy = Policy()
    policy.add("intern", "a.**", exclude=["a.tests.**"])
    policy.add("deny", "a.**")
    assert policy.decide("a.tests.x", PROJECT).action == "deny"


def test_a_decision_says_which_rule_and_why() -> None:
    policy = Policy()
    policy.add("deny", "a", because="a is not ours")
    decision = policy.decide("a", PROJECT)
    assert (decision.rule, decision.because) == ("deny('a')", "a is not ours")


@pytest.mark.parametrize(
    "name", ["os", "os.path", "sys", "importlib.resources", "_thread", "kellet.nn", "packager"]
)
def test_implicit_externs_come_before_general_rules(name: str) -> None:
    policy = Policy("hermetic")
    policy.add("intern", "**")
    policy.add("deny", "o*.**")
    decision = policy.decide(name, Origin("stdlib"))
    assert (decision.action, decision.rule) == ("extern", "implicit")


def test_a_rule_that_names_the_package_itself_overrides_an_implicit_extern() -> None:
    policy = Policy()
    policy.add("intern", ["**"])
    policy.add("deny", ["x", "os.path"])
    policy.add("intern", "kellet.**")
    assert policy.decide("os.path", Origin("stdlib")).action == "deny"
    assert policy.decide("os", Origin("stdlib")).action == "extern"
    assert policy.decide("kellet.nn", PURE).action == "intern"


def test_frameworks_are_implicit_while_their_codecs_are_in_use() -> None:
    policy = Policy()
    assert policy.decide("numpy.linalg", COMPILED).action == "undecided"
    policy.frameworks.add("numpy")
    assert policy.decide("numpy.linalg", COMPILED).because == "framework of a codec in use"
    assert implicit_reason("numpyro", {"numpy"}) is None


def test_torch_is_implicit_as_it_is_in_torch_package() -> None:
    policy = Policy()
    policy.add("intern", "**")
    assert policy.decide("torch.nn", COMPILED).action == "extern"
    assert policy.decide("torchvision", COMPILED).action == "intern"


@pytest.mark.parametrize(
    ("preset", "expected"),
    [
        (None, ["undecided", "undecided", "undecided", "undecided", "undecided"]),
        ("strict", ["undecided", "undecided", "undecided", "undecided", "undecided"]),
        ("auto", ["intern", "intern", "extern", "extern", "undecided"]),
        ("hermetic", ["intern", "intern", "intern", "extern", "undecided"]),
    ],
)
def test_presets_decide_by_origin(preset: str | None, expected: list[str]) -> None:
    policy = Policy(preset)  # type: ignore[arg-type]  # parametrised over the literals
    origins = [PROJECT, Origin("editable", "ours", "1"), PURE, COMPILED, UNKNOWN]
    assert [policy.decide("some.module", origin).action for origin in origins] == expected


def test_explicit_rules_come_before_a_preset() -> None:
    policy = Policy("auto")
    policy.add("intern", "einops.**")
    assert policy.decide("einops.layers", PURE).rule == "intern('einops.**')"


def test_an_unknown_preset_is_refused_with_the_choices() -> None:
    with pytest.raises(ValueError, match="unknown policy 'lenient'; expected auto, hermetic, strict, None"):
        Policy("lenient")  # type: ignore[arg-type]  # the wrong argument under test


def test_rules_that_matched_nothing_are_dead() -> None:
    policy = Policy()
    policy.add("extern", "numpy.**")
    policy.add("mock", "never.**")
    policy.decide("numpy", COMPILED)
    assert [str(rule) for rule in policy.rules.dead()] == ["mock('never.**')"]
    policy.require_matches()


def test_a_dead_rule_that_may_not_be_empty_raises() -> None:
    policy = Policy()
    policy.add("extern", ["a.*", "b"], exclude="a.x", allow_empty=False)
    policy.add("mock", "c", allow_empty=False)
    policy.decide("c", PROJECT)
    with pytest.raises(
        EmptyMatchError, match=r"did not match any modules to extern\(\['a.\*', 'b'\], exclude='a.x'\)"
    ):
        policy.require_matches()


def test_under_strict_no_rule_may_be_dead() -> None:
    policy = Policy("strict")
    policy.add("extern", "numpy.**")
    with pytest.raises(EmptyMatchError, match=r"extern\('numpy.\*\*'\)"):
        policy.require_matches()


def test_a_shadowed_rule_is_dead() -> None:
    policy = Policy()
    policy.add("extern", "**")
    policy.add("mock", "a", allow_empty=False)
    policy.decide("a", PROJECT)
    with pytest.raises(EmptyMatchError, match=r"mock\('a'\)"):
        policy.require_matches()


def test_decisions_are_frozen_and_checked() -> None:
    decision = Decision("intern", "r", "b")
    assert decision.replace(source="x = 1") == Decision("intern", "r", "b", (), "x = 1")
    with pytest.raises(AttributeError):
        decision.action = "deny"  # type: ignore[misc]  # that it is frozen is the point
    with pytest.raises(
        ArgumentError, match="action='drop': expected one of 'intern', 'extern', 'mock', 'deny'"
    ):
        decision.replace(action="drop")
    with pytest.raises(ArgumentError, match="source=: a decision to extern stores none"):
        decision.replace(action="extern", source="x = 1")


def rules(count: int, action: Any = "deny") -> list[Rule]:
    return [Rule(action, GlobGroup(f"m{number}")) for number in range(count)]


MORE: dict[str, Callable[[int], object]] = {
    "given": lambda more: Policy(rules=rules(3 + more)),
    "added": lambda more: [Policy(rules=rules(2 + more)).add("deny", "x")],
    "put before": lambda more: Policy(rules=rules(2)).before(rules(1 + more)),
    "joined by rules that were copied": lambda more: Policy(rules=rules(3 + more)).copy(),
}


@pytest.mark.parametrize("make", MORE.values(), ids=MORE)
def test_a_policy_made_in_python_has_as_many_rules_as_a_file(
    make: Callable[[int], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("packager._policy.policy.MAX_RULES", 3)
    make(0)
    with pytest.raises(ArgumentError, match=r"^a policy of 4 rules; at most 3 are read; put the patterns of"):
        make(1)


PATTERNS: dict[str, Callable[[int], object]] = {
    "of rules": lambda more: Policy(rules=[Rule("deny", GlobGroup(["a"] * 3, exclude=["b"] * (2 + more)))]),
    "of a rule that is added": lambda more: Policy(rules=rules(3)).add("deny", ["a"] * (2 + more)),
    "of data files": lambda more: Policy(exclude_data=["a"] * (5 + more)),
    "of data files that are added": lambda more: Policy(rules=rules(3), exclude_data="a").leave_out(
        ["b"] * (1 + more)
    ),
}


@pytest.mark.parametrize("make", PATTERNS.values(), ids=PATTERNS)
def test_a_policy_made_in_python_has_as_many_patterns_as_a_file(
    make: Callable[[int], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("packager._policy.policy.MAX_PATTERNS", 5)
    make(0)
    with pytest.raises(ArgumentError, match=r"^a policy of 6 patterns; at most 5 are read; join them with"):
        make(1)


def test_a_rule_too_many_leaves_a_policy_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    policy = Policy(rules=rules(2))
    monkeypatch.setattr("packager._policy.policy.MAX_RULES", 2)
    with pytest.raises(ArgumentError, match="3 rules"):
        policy.add("deny", "x")
    assert [str(rule) for rule in policy.rules] == ["deny('m0')", "deny('m1')"]


def test_patterns_are_counted_as_rules_are_added() -> None:
    listed = Rules(rules(2))
    listed.add(Rule("deny", GlobGroup(["a", "b"], exclude="c")))
    assert listed.patterns == 5
