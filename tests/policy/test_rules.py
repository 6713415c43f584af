"""Rules decide in their order; implicit externs come before them, a preset after them."""

from __future__ import annotations

import pytest

from packager.errors import EmptyMatchError
from packager.policy import Decision, Origin, Policy, implicit_reason

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
    with pytest.raises(
        ValueError, match="unknown policy 'lenient'; one of auto, hermetic, strict, None, or a policy"
    ):
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
        ValueError, match="unknown action 'drop'; one of intern, extern, mock, deny, undecided"
    ):
        decision.replace(action="drop")
    with pytest.raises(ValueError, match="a decision with a source must intern, not extern"):
        decision.replace(action="extern", source="x = 1")
