"""Policy files are read strictly, and written so that reading gives the same policy."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from packager._policy import (
    GlobGroup,
    Policy,
    PolicyFileError,
    Rule,
    format_policy,
    parse_policy,
    read_policy,
)

TEXT = st.text(st.characters(blacklist_categories=["Cs"]), min_size=1).filter(lambda text: "**" not in text)


def test_a_file_gives_rules_in_order(tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    path.write_text(
        'preset = "auto"\n'
        "rules = [\n"
        '    { action = "intern", include = ["a.**", "b"], exclude = "a.tests.**", allow_empty = false },\n'
        '    { action = "deny", include = "**", because = "nothing else" },\n'
        "]\n"
    )
    policy = read_policy(path)
    assert policy.preset == "auto"
    assert list(policy.rules) == [
        Rule("intern", GlobGroup(["a.**", "b"], exclude="a.tests.**"), allow_empty=False),
        Rule("deny", GlobGroup("**"), because="nothing else"),
    ]


def test_tables_in_the_long_form_are_read_too() -> None:
    policy = parse_policy('[[rules]]\naction = "mock"\ninclude = "a"\n')
    assert [str(rule) for rule in policy.rules] == ["mock('a')"]


def test_every_problem_of_a_file_is_told_at_once() -> None:
    text = """
        presets = "auto"
        preset = "lenient"
        rules = [
            { action = "drop", include = "a" },
            { include = "a.**b", action = "deny" },
            { action = "intern", exclude = 3, allow_empty = "no", because = 1, when = "now" },
            "deny",
        ]
    """
    with pytest.raises(PolicyFileError) as caught:
        parse_policy(text, where="p.toml")
    assert str(caught.value).splitlines() == [
        "policy p.toml cannot be used:",
        "    unknown key 'presets'; expected one of preset, rules, exclude_data, variables",
        (
            "    unknown policy 'lenient'; expected auto, hermetic, strict, None (--policy none), or a "
            "policy file (.toml)"
        ),
        "    rule 1: action: expected one of intern, extern, mock, deny, found 'drop'",
        "    rule 2: ** can only appear as an entire path segment, found '**b'",
        "    rule 3: unknown key 'when'; expected one of action, include, exclude, allow_empty, because",
        '    rule 3: include: expected a pattern, as "net.**", found none',
        "    rule 3: allow_empty: expected true or false, found 'no'",
        "    rule 3: because: expected text, found 1",
        "    rule 3: patterns=3: expected a string or a list of them, found int",
        "    rule 4: expected a table, found str",
    ]


@pytest.mark.parametrize(("data", "message"), [(b"rules = [", "is not TOML"), (b"\xff", "is not UTF-8 text")])
def test_a_file_that_is_no_toml_is_refused(tmp_path: Path, data: bytes, message: str) -> None:
    path = tmp_path / "policy.toml"
    path.write_bytes(data)
    with pytest.raises(PolicyFileError, match=message):
        read_policy(path)


def test_excluded_data_and_variables_are_read(tmp_path: Path) -> None:
    policy = parse_policy('exclude_data = "a/**"\nvariables = ["MODE"]\n')
    assert policy.exclude_data.matches("a/b/c.txt")
    assert policy.variables == ("MODE",)


def test_excluded_data_and_variables_that_mean_nothing_are_refused() -> None:
    text = 'exclude_data = 3\nvariables = ["A=all"]\n'
    with pytest.raises(PolicyFileError) as caught:
        parse_policy(text, where="p.toml")
    assert str(caught.value).splitlines() == [
        "policy p.toml cannot be used:",
        "    exclude_data: expected a pattern or a list of them, found int",
        "    variables='A=all': expected the name of a variable, as 'NET_WIDTH', or '*'",
    ]


def test_rules_that_are_no_list_are_refused() -> None:
    with pytest.raises(PolicyFileError, match="rules: expected a list of tables, found str"):
        parse_policy('rules = "intern"')


def test_each_rule_is_written_with_its_reason_on_its_line() -> None:
    policy = Policy("auto")
    policy.add("intern", ["a.**", "b"], exclude=["a.t"])
    policy.add("extern", "c", because="ours")
    reasons = {rule: f"why\n{rule.action}" for rule in policy.rules}
    assert format_policy(policy, reasons, head=["two lines", ""]) == (
        "# two lines\n"
        "#\n"
        'preset = "auto"\n'
        "rules = [\n"
        '    { action = "intern", include = ["a.**", "b"], exclude = "a.t" },  # why intern\n'
        '    { action = "extern", include = "c", because = "ours" },           # why extern\n'
        "]\n"
    )


def test_data_that_is_left_out_and_variables_have_their_reasons_too() -> None:
    policy = Policy("auto", exclude_data=["a/*", "bb/*"], variables=["A"])
    assert format_policy(policy, notes={"a/*": "not opened", "A": "set by a script"}) == (
        'preset = "auto"\n'
        "rules = [\n"
        "]\n"
        "exclude_data = [\n"
        '    "a/*",   # not opened\n'
        '    "bb/*",\n'
        "]\n"
        "variables = [\n"
        '    "A",  # set by a script\n'
        "]\n"
    )


@given(
    st.sampled_from([None, "auto", "hermetic", "strict"]),
    st.lists(
        st.builds(
            Rule,
            st.sampled_from(["intern", "extern", "mock", "deny"]),
            st.builds(GlobGroup, st.lists(TEXT, min_size=1, max_size=3), exclude=st.lists(TEXT, max_size=2)),
            st.booleans(),
            TEXT | st.just(""),
        ),
        max_size=4,
    ),
    TEXT,
    st.lists(TEXT, max_size=2),
    st.lists(TEXT.filter(lambda text: text and "=" not in text), max_size=2, unique=True),
)
def test_what_is_written_is_read_back(
    preset: Any, rules: list[Rule], reason: str, excluded: list[str], variables: list[str]
) -> None:
    policy = Policy(preset, rules, exclude_data=excluded, variables=variables)
    text = format_policy(policy, dict.fromkeys(rules, reason), head=[reason])
    again = parse_policy(text)
    assert (again.preset, list(again.rules)) == (preset, rules)
    assert (again.exclude_data, again.variables) == (policy.exclude_data, tuple(variables))
    tomllib.loads(text)
