"""What kellet answers is what PyTorch answered, case by case, without PyTorch."""

from __future__ import annotations

import pytest

import kellet
import kellet.linalg
import kellet.nn
import kellet.optim
from tests.answers import record
from tests.answers.subjects import NAMES, subject

GROUPS = [(name, group) for name in NAMES for group in subject(name).groups]


@pytest.mark.parametrize(("name", "group"), GROUPS, ids=[f"{name}-{group}" for name, group in GROUPS])
def test_the_answers_are_those_of_pytorch(name: str, group: str) -> None:
    about, answers = subject(name), record.recorded(name)
    found = [
        f"{case}: {difference}"
        for case in about.groups[group]
        for difference in about.differences(case, about.play(case, kellet), answers[case])
    ]
    assert not found, "\n".join(found)
