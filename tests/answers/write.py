"""Ask PyTorch, and write down its answers: `python -m tests.answers.write` where torch is installed."""

from __future__ import annotations

import sys
from typing import Any

import torch

from tests.answers import record
from tests.answers.subjects import NAMES, subject
from tests.answers.telling import Raised


def answers(name: str) -> dict[str, Any]:
    """Play all cases of a subject in torch."""
    found = subject(name)
    return {case: found.play(case, torch) for case in found.cases}


def main() -> None:
    """Write the record; say how many answers of a subject are refusals."""
    torch.set_num_threads(1)
    found = {name: answers(name) for name in NAMES}
    for name, several in found.items():
        refused = sum(isinstance(one, Raised) for one in several.values())
        sys.stdout.write(f"{name}: {len(several)} answers, {refused} of them refusals\n")
    record.write(found, torch.__version__.partition("+")[0])
    kellet = [name for name in sys.modules if name.partition(".")[0] == "kellet"]
    assert not kellet, f"the answers must be those of torch alone, and {kellet[0]} was imported"


if __name__ == "__main__":
    main()
