"""A class whose metaclass answers oddly is looked past, and a large global does not make a call slow."""

from __future__ import annotations

import textwrap
from importlib import import_module

import numpy
import pytest

import kellet
from kellet import nn
from packager import PackageExporter
from packager._calls import call_in_mode, evaluation

ODD = """
class Meta(type):
    __hash__ = None
    def __eq__(cls, other): raise RuntimeError("compared")
    @property
    def __dict__(cls): raise RuntimeError("asked")
class Odd(metaclass=Meta):
    def __init__(self): self.factor = 2
ODD = Odd()
class Net:
    def __call__(self, x): return x * ODD.factor + len([Odd])
"""


@pytest.mark.filterwarnings("ignore::packager.PackagingWarning")
def test_a_metaclass_without_a_hash_refuses_no_example(project, tmp_path):
    project({"oddnet.py": textwrap.dedent(ODD)})
    with PackageExporter(tmp_path / "net.kellet", policy="auto") as exporter:
        exporter.save_object("model", "net", import_module("oddnet").Net(), example=3)
    assert exporter.proof.ok
    assert exporter.proof.steps[-1] == "call: check net"


TABLE = [[1] for _ in range(1_000_000)]
NET = nn.Dropout(0.5)


class Reading:
    def __call__(self, x):
        return NET(kellet.from_numpy(x)).numpy() + TABLE[0][0]


def test_modules_are_found_beside_a_large_global_and_soon(monkeypatch):
    seen, values_in = [], evaluation.values_in

    def counted(thing, **options):
        for number, value in enumerate(values_in(thing, **options), 1):
            yield value
            seen.append(number)

    monkeypatch.setattr(evaluation, "values_in", counted)
    found = call_in_mode(Reading(), {"x": numpy.ones(4)})
    assert found["output"].tolist() == [2.0] * 4
    assert 0 < max(seen) <= 200_000
