"""The recorded answers are those of this PyTorch; and kellet beside it where nothing was recorded."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

import os

import torch

import kellet
import kellet.linalg
import kellet.nn
import kellet.optim
from tests.answers import layers_by_chance, optimizers_by_chance, programs_of_hooks, record
from tests.answers.subject import Play, Subject
from tests.answers.subjects import NAMES, subject

# Other processors add in another order; how far that goes is known where a subject says how near is near.
MORE = int(os.environ.get("KELLET_DRAWN", "2"))


def test_the_record_is_of_this_version() -> None:
    assert torch.__version__.partition("+")[0] == record.digests()["torch"]


@pytest.mark.parametrize("name", NAMES)
def test_torch_answers_as_it_is_recorded(name: str) -> None:
    about, answers = subject(name), record.recorded(name)
    found = [
        f"{case}: {difference}"
        for case in about.cases
        for difference in about.differences(case, about.play(case, torch), answers[case])
    ]
    assert not found, "\n".join(found)


def check(about: Subject) -> None:
    found = [
        f"{case}: {difference}"
        for case in about.cases
        for difference in about.differences(case, about.play(case, kellet), about.play(case, torch))
    ]
    assert not found, "\n".join(found)


@pytest.mark.long
@pytest.mark.parametrize("first", range(400, 12_400, 1000))
def test_twelve_thousand_programs_run_alike(first: int) -> None:
    cases = programs_of_hooks.programs(range(first, first + 1000))
    check(Subject("programs", cases, agree=programs_of_hooks.agree))


@pytest.mark.parametrize("about", [layers_by_chance, optimizers_by_chance])
def test_more_is_drawn_than_what_is_recorded(about: object) -> None:
    """KELLET_DRAWN says how many of each."""
    cases: dict[str, Play] = about.drawn_cases(MORE, again=" again")  # type: ignore[attr-defined]  # both have it
    check(Subject("more", cases, about.near))  # type: ignore[attr-defined]  # as above
