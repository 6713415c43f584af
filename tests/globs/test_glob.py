"""One pattern: the meaning that regular expressions gave it, in time that no pattern can stretch."""

from __future__ import annotations

import re
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from packager._audit import Trust
from packager._globs import Glob
from tests import processes


def expression(pattern: str, separator: str) -> re.Pattern[str]:
    """The meaning of a pattern as a regular expression over a name with a separator in front."""
    start, inside = re.escape(separator), f"[^{re.escape(separator)}]"
    parts = [
        f"(?:{start}{inside}+)*"
        if part == "**"
        else start + f"{inside}*".join(re.escape(piece) for piece in part.split("*"))
        for part in pattern.split(separator)
    ]
    return re.compile("".join(parts))


parts = st.text(alphabet="ab*", max_size=4).filter(lambda part: "**" not in part) | st.just("**")
patterns = st.lists(parts, min_size=1, max_size=5)
names = st.lists(st.text(alphabet="ab\n", max_size=4), min_size=1, max_size=5)


@given(patterns, names, st.sampled_from("./"))
def test_a_pattern_means_what_the_regular_expression_means(
    pattern: list[str], name: list[str], separator: str
) -> None:
    text, wanted = separator.join(name), separator.join(pattern)
    expected = expression(wanted, separator).fullmatch(separator + text) is not None
    assert Glob(wanted, separator).matches(text) is expected


@pytest.mark.parametrize(
    ("pattern", "name", "fits"),
    [
        ("*a" * 60 + "b", "a" * 20_000, False),
        ("*a" * 60 + "*", "a" * 20_000, True),
        (".".join(["**", "a"] * 60) + ".b", ".".join("a" * 3000), False),
        (".".join(["**", "*a*"] * 60), ".".join(["a"] * 3000), True),
        (".".join(["**"] * 200) + ".b", ".".join("a" * 3000), False),
    ],
)
def test_stars_are_shared_out_in_time_proportional_to_both_lengths(
    pattern: str, name: str, fits: bool
) -> None:
    program = f"from packager._globs import Glob; assert Glob({pattern!r}).matches({name!r}) is {fits}"
    processes.run([sys.executable, "-c", program], timeout=30, check=True)


def test_trust_is_matched_by_the_same_patterns() -> None:
    trust = Trust(["sklearn.**:*", "a.*.b:Net.*"])
    asked = ["sklearn:A", "sklearn.svm:SVC", "sklearn.svm:SVC.Inner", "sklearn..svm:A", "sklearn.x:", "sk:A"]
    assert [text for text in asked if trust.grants(*text.split(":"), "create")] == asked[:2]
    more = ["a.x.b:Net.In", "a.x.b:Net", "a.b:Net.In", "a..b:Net.In", "a.x.b:Net.In.Side", "a.x.y.b:Net.In"]
    assert [text for text in more if trust.grants(*text.split(":"), "create")] == more[:1]
    assert not trust.grants("sklearn.a:b", "C", "create")


def test_many_double_stars_of_trust_end() -> None:
    program = (
        "from packager._audit import Trust\n"
        "trust = Trust(['a' + '.**' * 40 + '.b:*'])\n"
        "assert not trust.grants('.'.join(['a'] * 400), 'C', 'create')\n"
        "assert trust.grants('.'.join([*'a' * 400, 'b']), 'C', 'create')\n"
    )
    processes.run([sys.executable, "-c", program], timeout=30, check=True)


def test_many_double_stars_in_a_row_are_one() -> None:
    glob = Glob("**." * 1300 + "b")
    assert [glob.matches(name) for name in ("b", "a.b", "a.b.c", "")] == [True, True, False, False]
    assert len(glob._parts) == 2


@pytest.mark.parametrize("pattern", ["a.b*", "a.*", "a.**", "a*.b", "a.b.**.c"])
def test_what_a_pattern_begins_with_is_no_more_than_each_name_needs(pattern: str) -> None:
    names = ("a", "a.", "a.b", "a.bc", "ab.b", "a.b.c", "b", "")
    fits = [name for name in names if Glob(pattern).matches(name)]
    assert (
        fits
        == {
            "a.b*": ["a.b", "a.bc"],
            "a.*": ["a.", "a.b", "a.bc"],
            "a.**": ["a", "a.b", "a.bc", "a.b.c"],
            "a*.b": ["a.b", "ab.b"],
            "a.b.**.c": ["a.b.c"],
        }[pattern]
    )
