"""Drafts for state dicts with nothing in common: ready soon, small, and honest about what was not tried."""

from __future__ import annotations

import random
import sys

import numpy as np
import pytest

from packager._drafting import matching, suggest_migration
from packager._drafting.matching import MOST_WORK, Effort, Family, Pair
from packager._migrations import NameSimilarity, words
from tests import processes

SMALL = np.zeros(3, np.float32)


def names(seed: int, count: int, form: str) -> dict[str, np.ndarray]:
    chosen = random.Random(seed)
    words = ("".join(chosen.choices("abcdefghijklmnop", k=8)) for _ in range(count))
    return {form.format(word): SMALL for word in words}


FORMS = {
    "unlike words": ("{}", "{}"),
    "near duplicates": ("net.{}.layer.weight", "model.{}.layer.weight"),
    "long names": ("{}." + "x." * 400 + "w", "{}." + "y." * 400 + "w"),
    "many names in each": ("{}." + "x." * 29 + "w", "{}." + "y." * 29 + "w"),
    "many words in each": ("{}" + "_ab" * 80, "{}" + "_cd" * 80),
}


@pytest.mark.long
@pytest.mark.parametrize("form", FORMS)
def test_thousands_of_names_with_nothing_in_common_are_compared_within_bounds(form: str) -> None:
    old, new = FORMS[form]
    program = (
        "import sys; sys.path.insert(0, 'tests/drafting')\n"
        "from test_effort import names, suggest_migration\n"
        f"draft = suggest_migration(names(1, 800, {old!r}), names(2, 800, {new!r}))\n"
        "assert draft.given_up, draft\n"
        "assert len(draft.migration.steps) <= 800\n"
        "assert 'Not tried, to stay within' in str(draft)\n"
    )
    processes.run([sys.executable, "-c", program], cold=True, check=True, timeout=300)


@pytest.mark.long
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("{}", "{}"),
        ("net.{}.layer.weight", "model.{}.layer.weight"),
        ("net.block{0}x.layer{1}.weight{2}", "net.block{0}y.layer{1}.weight{2}"),
        ("{}." + "x." * 29 + "w", "{}." + "y." * 29 + "w"),
    ],
    ids=["unlike", "near duplicates", "numbered duplicates", "many names in each"],
)
def test_forty_thousand_keys_take_seconds_and_little_memory(old: str, new: str) -> None:
    """It took 51 s for numbers in names that stand alone, and 1.2 GiB for many names in a key."""
    program = (
        "import re, sys, time; sys.path.insert(0, 'tests/drafting')\n"
        "from test_effort import SMALL, names, suggest_migration\n"
        "def made(seed, form):\n"
        "    if '{0}' not in form: return names(seed, 20_000, form)\n"
        "    numbers = ((n, n % (9 - 2 * seed), n * (25 + 6 * seed) % 997) for n in range(20_000))\n"
        "    return {form.format(*three): SMALL for three in numbers}\n"
        "def used(): return int(re.search(r'VmHWM:\\s+(\\d+) kB', open('/proc/self/status').read())[1])\n"
        f"olds, news = made(1, {old!r}), made(2, {new!r})\n"
        "memory, seconds = used(), time.process_time()\n"
        "draft = suggest_migration(olds, news)\n"
        "print(time.process_time() - seconds, used() - memory, len(draft.given_up))\n"
    )
    done = processes.run(
        [sys.executable, "-c", program], cold=True, check=True, capture_output=True, text=True
    )
    seconds, kilobytes, given_up = map(float, done.stdout.split())
    assert seconds < 30
    assert kilobytes < 384 << 10
    assert given_up >= 1


@pytest.mark.parametrize(
    ("count", "old", "new"),
    [
        (400, "{}", "{}"),
        (350, "{}", "{}"),
        (400, "net.{}.layer.weight", "model.{}.layer.bias"),
        (3000, "{}.w", "{}.w"),
    ],
    ids=["unlike", "a few of them", "almost alike", "thousands"],
)
def test_names_are_compared_within_one_bound_for_all_of_a_draft(
    count: int, old: str, new: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are compared three times: 400 names with nothing in common took 480,000 comparisons, and 8 s."""
    costs = []

    def counted(one: Family, other: Family, similarity: NameSimilarity) -> Pair | None:
        costs.append(10 + len(words(one.pattern)) + len(words(other.pattern)))
        return possible(one, other, similarity)

    possible = matching._possible
    monkeypatch.setattr(matching, "_possible", counted)
    draft = suggest_migration(names(1, count, old), names(2, count, new))
    assert sum(costs) <= MOST_WORK
    assert [said for said in draft.given_up if "were not all compared: too many" in said]
    assert "Not tried, to stay within seconds" in str(draft)


def test_as_many_families_as_the_bound_is_set_by_are_matched_as_ever() -> None:
    """150 of one shape, with eight words each."""
    old = {f"a.b.c.d.e.f.{word}.w": SMALL for word in names(1, 150, "{}")}
    draft = suggest_migration(old, {f"g.{key[2:]}": value for key, value in old.items()})
    assert (draft.is_complete, draft.given_up) == (True, ())


def test_names_that_are_too_long_are_left_out_and_said_so() -> None:
    def drafted(length: int) -> tuple[bool, tuple[str, ...]]:
        draft = suggest_migration({"old_" + "x" * (length - 4): SMALL}, {"new_" + "x" * (length - 4): SMALL})
        return draft.is_complete, draft.given_up

    assert drafted(256) == (True, ())
    assert drafted(257) == (False, ("names of more than 256 characters were not compared",))


def test_a_draft_that_tried_all_says_nothing_of_it() -> None:
    draft = suggest_migration({"a.kernel": SMALL, "a.b": SMALL[:1]}, {"x.weight": SMALL, "x.bias": SMALL[:1]})
    assert draft.is_complete
    assert draft.given_up == ()
    assert "Not tried" not in str(draft)


@pytest.mark.long
def test_large_models_that_fold_into_families_are_matched_as_ever() -> None:
    old = {f"blocks.{n}.{kind}.{leaf}": SMALL for n in range(400) for kind in "abcde" for leaf in ("w", "b")}
    new = {key.replace("blocks", "net.layers"): value for key, value in old.items()}
    draft = suggest_migration(old, new)
    assert draft.is_complete
    assert len(draft.migration.steps) == 1


def test_work_is_counted_up_to_the_most() -> None:
    effort = Effort()
    assert [effort.allows("a", cost, "too much", 8) for cost in (3, 5, 1)] == [True, True, False]
    assert (effort.allows("b", 8, "", 8), effort.given_up) == (True, {"a": "too much"})
