"""How many files of packager one export and one load enter: ceilings, so that what was made small stays so.

The plan of the house wants 60, 75 and 38, 18 for a dict and 40 for a pipeline, and 8 frames; these are what
it came to.
"""

from __future__ import annotations

import io
import sys

import pytest

from benchmarks.journeys import PACKAGES, journeys
from packager import PackageExporter
from packager._policy import Policy

CEILINGS = {
    "export": 81,
    "load": 53,
    "export and proof": 94,
    "load of a dict": 34,
    "load of a pipeline": 56,
}


@pytest.fixture(scope="module")
def entered() -> dict[str, int]:
    found = journeys("kellet")
    return {
        title: sum(path.is_relative_to(PACKAGES["packager"]) for path in files)
        for title, files in found.items()
    }


@pytest.mark.parametrize("journey", CEILINGS)
def test_a_journey_enters_no_more_files_than_it_did(entered, journey):
    assert 20 < entered[journey] <= CEILINGS[journey]


FRAMES = 13


def test_few_frames_are_on_the_stack_when_a_policy_decides(monkeypatch):
    depths, decide = [], Policy.decide

    def watched(*args, **named):
        frame, files = sys._getframe(1), [decide.__code__.co_filename]
        while frame is not None:
            files.append(frame.f_code.co_filename)
            frame = frame.f_back
        depths.append(sum(file.startswith(str(PACKAGES["packager"])) for file in files))
        return decide(*args, **named)

    monkeypatch.setattr(Policy, "decide", watched)
    with PackageExporter(io.BytesIO(), policy="auto", prove=False) as exporter:
        exporter.save_source_string("net", "import math")
    assert 1 < max(depths) <= FRAMES
