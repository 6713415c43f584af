"""Versions sort as PEP 440 says; requirements allow what an archive can live with."""

from __future__ import annotations

import random

import pytest
from packaging.specifiers import Specifier
from packaging.version import Version

from packager._environment import Requirement, requirement_for, version_key
from tests.tables import one_test


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


@one_test
@pytest.mark.parametrize("version", ["", "abc", "1.x", "1.0-", "2004d-beta", "1.\u0660", "1.po\u017ft1"])
def test_what_pep_440_does_not_describe_has_no_key(version: str) -> None:
    assert version_key(version) is None


@one_test
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


@one_test
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


def drawn_versions(draw: random.Random, count: int, *, local: bool) -> list[str]:
    """Return versions that often share their release and differ in all else, in many spellings."""
    epochs, posts = ["", "", "", "0!", "1!"], ["", "", "", ".post0", ".post1", "-1", "_r2", "post"]
    releases = ["0", "0.0", "1", "1.0", "1.0.0", "v1", "1.1", "1.0.1", "2", "2.0", "10"]
    pres, devs = (
        ["", "", "", "a0", "a1", "b1", ".rc-1", "C1", "alpha", "_PRE.2"],
        ["", "", ".dev0", "dev1", "-DEV"],
    )
    locals_ = ["", "", "+cpu", "+CPU", "+1", "+cpu.1", "+cpu-01", "+abc_2"] if local else [""]
    parts = (epochs, releases, pres, posts, devs, locals_)
    drawn = [[draw.choice(part) for part in parts] for _ in range(count)]
    return [("v" if "v" in one[1] else "") + one[0] + one[1].strip("v") + "".join(one[2:]) for one in drawn]


@one_test
@pytest.mark.parametrize("sign", ["==", "!=", "<", "<=", ">", ">="])
def test_requirements_allow_what_packaging_allows(sign: str) -> None:
    draw = random.Random(sign)
    versions = drawn_versions(draw, 100, local=True)
    for wanted in drawn_versions(draw, 90, local=sign in ("==", "!=")):  # others take no local version
        requirement, reference = Requirement.parse(f"x{sign}{wanted}"), Specifier(f"{sign}{wanted}")
        for version in versions:
            expected = reference.contains(Version(version), prereleases=True)
            assert requirement.allows(version) is expected, (version, str(requirement))


@one_test
@pytest.mark.parametrize(
    ("text", "allowed", "refused"),
    [
        ("x<1.post1", ["1", "1.post0", "1+cpu", "1rc1"], ["1.post1.dev0", "1.post1"]),
        ("x<1!2.0.post0", ["1!2", "9"], ["1!2.post0.dev1", "2!0"]),
        ("x<1.post1.dev2", ["1.post1.dev1"], ["1.post1.dev2"]),
        ("x>1a1", ["1a2", "1.post0", "1"], ["1a1.post1", "1a1.post1.dev0", "1a1+cpu"]),
        ("x>1.dev1", ["1.dev2", "1.post1", "1"], ["1.dev1", "1.dev1+cpu"]),
        ("x>1.post1", ["1.post2.dev0"], ["1.post1", "1.post1+cpu", "1"]),
    ],
)
def test_bounds_with_post_and_pre_releases_leave_out_their_own_alone(
    text: str, allowed: list[str], refused: list[str]
) -> None:
    requirement = Requirement.parse(text)
    assert [version for version in allowed + refused if requirement.allows(version)] == allowed


def test_a_requirement_of_an_odd_version_is_met_by_nothing_else() -> None:
    requirement = Requirement.parse("x==unversioned")
    assert requirement.allows("unversioned")
    assert not requirement.allows("1.0")


@one_test
@pytest.mark.parametrize(
    "text",
    [
        "",
        "x~=1.0",
        "x===1.0",
        "x==1.*",
        "x!=1.0.*",
        "x[extra]>=1",
        "x; python_version>'3'",
        ">=1",
        "x>=1,,<2",
        "x 1",
    ],
)
def test_other_requirements_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a requirement"):
        Requirement.parse(text)
