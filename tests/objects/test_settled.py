"""What is left to say of an object once it is known which sources an archive has."""

from __future__ import annotations

import pytest

from packager._objects.naming import NameUse
from packager._objects.recording import EncodedObject, Finding, settled


def refusal(path: str, unless: str = "") -> Finding:
    return Finding(path, f"it is {path}", (), unless)


def use(path: str) -> NameUse:
    return NameUse("m", "A", "create", path)


INSIDE = ["obj.a", "obj.a.b", "obj.a[0]", "obj.a<key>"]
BESIDE = ["obj", "obj.ab", "obj.a2", "obj.b", "obj.b.a", "obj[0]"]


def test_nothing_is_said_of_what_lies_inside_of_what_is_refused() -> None:
    paths = [*INSIDE, *BESIDE]
    names, warnings = tuple(map(use, paths)), tuple(map(refusal, paths))
    first, others = refusal("obj.a", "m"), tuple(map(refusal, paths))
    said = settled(names, warnings, (first, *others), lambda module: False)
    assert [[one.path for one in part] for part in said] == [BESIDE, BESIDE, ["obj.a", *BESIDE]]
    assert said[2][0] is first


@pytest.mark.parametrize(
    ("unless", "stored", "left", "closes"),
    [("m", True, False, False), ("m", False, True, True), ("", True, True, False), ("", False, True, False)],
)
def test_a_refusal_holds_where_the_source_is_not_stored(
    unless: str, stored: bool, left: bool, closes: bool
) -> None:
    one = refusal("obj.a", unless)
    names, _, found = settled((use("obj.a.b"),), (), (one,), lambda module: stored and module == "m")
    assert found == ((one,) if left else ())
    assert len(names) == (0 if closes else 1)


def test_what_is_refused_has_no_records() -> None:
    whole = EncodedObject(b"x", (), (use("obj"), use("obj.b")), (), (refusal("obj.a", "m"),))
    assert whole.with_sources(lambda module: True).records == b"x"
    assert whole.with_sources(lambda module: True).refusals == ()
    less = whole.with_sources(lambda module: False)
    assert (less.records, [one.path for one in less.refusals]) == (b"", ["obj.a"])
    assert whole.modules == ("m",)
