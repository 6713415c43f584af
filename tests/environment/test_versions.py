"""Versions sort as PEP 440 says; requirements allow what an archive can live with."""

from __future__ import annotations

import pytest

from packager.environment import Requirement, requirement_for, version_key


def test_versions_sort_by_pep_440() -> None:
    ordered = [
        "1.dev0", "1.0.dev456", "1.0a1", "1.0a2.dev456", "1.0a12.dev456", "1.0a12", "1.0b1.dev456", "1.0b2",
        "1.0b2.post345.dev456", "1.0b2.post345", "1.0rc1.dev456", "1.0rc1", "1.0", "1.0+abc.5", "1.0+abc.7",
        "1.0+5", "1.0.post456.dev34", "1.0.post456", "1.0.15", "1.1.dev1", "1!0.1",
    ]  # fmt: skip
    keys = [version_key(version) for version in ordered]
    assert sorted(keys, key=lambda key: key or ()) == keys
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize(
    ("one", "other"), [("1", "1.0.0"), ("1.0RC1", "1.0c1"), ("v1.0-1", "1.0.post1"), ("1.0.DEV", "1.dev0")]
)
def test_spellings_of_one_version_are_equal(one: str, other: str) -> None:
    assert version_key(one) == version_key(other) is not None


@pytest.mark.parametrize("version", ["", "abc", "1.x", "1.0-", "2004d-beta"])
def test_what_pep_440_does_not_describe_has_no_key(version: str) -> None:
    assert version_key(version) is None


@pytest.mark.parametrize(
    ("version", "requirement"),
    [
        ("1.26.4", "x>=1.26.4,<2"),
        ("0.8.0", "x>=0.8.0,<0.9"),
        ("0", "x>=0,<0.1"),
        ("2.13.0+cpu", "x>=2.13.0,<3"),
        ("2024.1", "x>=2024.1,<2025"),
        ("1!2.0", "x>=1!2.0,<1!3"),
        ("3.0rc1", "x>=3.0rc1,<4"),
        ("unversioned", "x==unversioned"),
    ],
)
def test_a_requirement_keeps_the_major_version(version: str, requirement: str) -> None:
    assert str(requirement_for("x", version)) == requirement


@pytest.mark.parametrize(
    ("text", "allowed", "refused"),
    [
        ("x>=1.26.4,<2", ["1.26.4", "1.26.10", "1.26.4+l", "1.27rc1"], ["1.26.3", "2.0", "2.0rc1", "odd"]),
        ("x<2rc1", ["2.0b1"], ["2.0rc1", "2.0"]),
        ("x>1.0", ["1.0.1", "1.1"], ["1.0", "1.0.post1", "1.0+local"]),
        ("x==1.0", ["1", "1.0.0", "1.0+cpu"], ["1.0.1"]),
        ("x==1.0+cpu", ["1.0+cpu"], ["1.0"]),
        ("x!=1.0, <=2", ["0.9", "2"], ["1.0", "2.0.1"]),
        ("x", ["1", "2", "odd"], []),
    ],
)  # fmt: skip
def test_requirements_allow_as_pip_does(text: str, allowed: list[str], refused: list[str]) -> None:
    requirement = Requirement.parse(text)
    assert [version for version in allowed + refused if requirement.allows(version)] == allowed


def test_a_requirement_of_an_odd_version_is_met_by_nothing_else() -> None:
    requirement = Requirement.parse("x==unversioned")
    assert requirement.allows("unversioned")
    assert not requirement.allows("1.0")


@pytest.mark.parametrize(
    "text", ["", "x~=1.0", "x[extra]>=1", "x; python_version>'3'", ">=1", "x>=1,,<2", "x 1"]
)
def test_other_requirements_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a requirement"):
        Requirement.parse(text)
