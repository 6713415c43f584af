"""Glob groups match whole dotted names, part by part, as torch.package's do."""

from __future__ import annotations

import pytest

from packager._policy import GlobGroup


@pytest.mark.parametrize(
    ("include", "matching", "others"),
    [
        ("torch.*", ["torch.foo", "torch.bar"], ["tor.foo", "torch.foo.bar", "torch"]),
        ("a.*.b", ["a.q.b", "a.a.b"], ["a.b", "x.a.q.b", "a.q.b.c", "a.q.r.b"]),
        ("fo*.bar", ["fo.bar", "foo.bar", "foobar.bar"], ["f.bar", "foo", "foo.bars"]),
        ("torch.**", ["torch", "torch.a", "torch.a.b"], ["torchvision", "a.torch"]),
        ("a.**.b", ["a.b", "a.q.b", "a.q.r.b"], ["a", "ab", "a.b.c"]),
        ("a.**.b.**.c", ["a.b.c", "a.x.b.y.z.c"], ["a.c", "a.b", "a.c.b"]),
        ("a.**.*.b", ["a.x.b", "a.x.y.b"], ["a.b"]),
        ("**", ["a", "a.b.c"], []),
        ("*", ["a", "é"], ["a.b"]),
        ("a+b.c", ["a+b.c"], ["aab.c", "a+bxc"]),
    ],
)
def test_patterns_match_by_parts(include: str, matching: list[str], others: list[str]) -> None:
    group = GlobGroup(include)
    assert [name for name in matching + others if group.matches(name)] == matching


def test_other_separators_take_dots_as_plain_characters() -> None:
    group = GlobGroup("data/a*.htm*", separator="/")
    assert [
        name for name in ("data/a.htm", "data/abc.html", "data/xhtm", "data/b/a.htm") if group.matches(name)
    ] == [
        "data/a.htm",
        "data/abc.html",
    ]


def test_lists_include_any_and_exclude_any() -> None:
    group = GlobGroup(["a.**", "b"], exclude=["a.tests.**", "**.private"])
    names = ["a", "a.x", "b", "b.x", "a.tests", "a.tests.x", "a.private"]
    assert [name for name in names if group.matches(name)] == ["a", "a.x", "b"]


def test_a_double_star_inside_a_part_is_refused() -> None:
    with pytest.raises(ValueError, match=r"\*\* can only appear as an entire path segment, found '\*\*b'"):
        GlobGroup("a.**b")
    with pytest.raises(ValueError, match="entire path segment"):
        GlobGroup("a", exclude="x**")


def test_a_pattern_that_is_no_string_is_refused() -> None:
    with pytest.raises(TypeError, match="pattern 3: expected a string, found int"):
        GlobGroup(["a", 3])  # type: ignore[list-item]  # the wrong argument under test
    with pytest.raises(TypeError, match="patterns=3: expected a string or a list of them, found int"):
        GlobGroup(3)  # type: ignore[arg-type]  # likewise


def test_groups_of_equal_patterns_are_equal_keys() -> None:
    assert {GlobGroup("a", exclude=["b"]): 1}[GlobGroup(["a"], exclude="b")] == 1
    assert GlobGroup("a") != GlobGroup("a", separator="/")


def test_a_group_prints_its_patterns() -> None:
    assert repr(GlobGroup("a.**", exclude="b")) == "GlobGroup(include=['a.**'], exclude=['b'])"


def test_an_iterator_of_patterns_is_read_once() -> None:
    group = GlobGroup(name for name in ("a", "b"))
    assert group.matches("a")
    assert group.matches("b")
