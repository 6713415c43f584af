"""Drafts for state dicts with nothing in common: ready soon, small, and honest about what was not tried."""

from __future__ import annotations

import random
import subprocess
import sys

import numpy as np
import pytest

from packager.drafting import suggest_migration
from packager.drafting.effort import Effort, most_steps

SMALL = np.zeros(3, np.float32)


def names(seed: int, count: int, form: str) -> dict[str, np.ndarray]:
    chosen = random.Random(seed)
    words = ("".join(chosen.choices("abcdefghijklmnop", k=8)) for _ in range(count))
    return {form.format(word): SMALL for word in words}


FORMS = {
    "unlike words": ("{}", "{}"),
    "near duplicates": ("net.{}.layer.weight", "model.{}.layer.weight"),
    "long names": ("{}." + "x." * 400 + "w", "{}." + "y." * 400 + "w"),
}


@pytest.mark.parametrize("form", FORMS)
def test_thousands_of_names_with_nothing_in_common_are_compared_within_bounds(form: str) -> None:
    old, new = FORMS[form]
    program = (
        "import sys; sys.path.insert(0, 'tests/drafting')\n"
        "from test_effort import names, suggest_migration\n"
        f"draft = suggest_migration(names(1, 800, {old!r}), names(2, 800, {new!r}))\n"
        "assert draft.given_up, draft\n"
        "assert len(draft.migration.steps) <= 800\n"
        "assert 'What was not tried' in str(draft)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=300)


def test_a_draft_that_tried_all_says_nothing_of_it() -> None:
    draft = suggest_migration({"a.kernel": SMALL, "a.b": SMALL[:1]}, {"x.weight": SMALL, "x.bias": SMALL[:1]})
    assert draft.is_complete
    assert draft.given_up == ()
    assert "not tried" not in str(draft)


def test_large_models_that_fold_into_families_are_matched_as_ever() -> None:
    old = {f"blocks.{n}.{kind}.{leaf}": SMALL for n in range(400) for kind in "abcde" for leaf in ("w", "b")}
    new = {key.replace("blocks", "net.layers"): value for key, value in old.items()}
    draft = suggest_migration(old, new)
    assert draft.is_complete
    assert len(draft.migration.steps) == 1


def test_work_is_counted_up_to_the_most() -> None:
    effort = Effort()
    assert [effort.spend("a", 3, 8), effort.spend("a", 5, 8), effort.spend("a", 1, 8)] == [True, True, False]
    assert effort.spend("b", 8, 8)
    assert (most_steps(1_000), most_steps(20_000), most_steps(10**7)) == (2_000, 100, 100)
