"""Globals that lie of their class, or raise when they are asked, beside a class that is saved."""

from __future__ import annotations

import io
from importlib import import_module

import pytest

from packager import PackageExporter

LIES = {
    "raises": "class P:\n    __class__ = property(lambda self: 1 / 0)\n",
    "gone": "import weakref\nclass Q:\n    pass\ndef P():\n    return weakref.proxy(Q())\n",
}


@pytest.mark.parametrize("kind", LIES)
def test_a_global_that_cannot_be_asked_for_its_class_is_left_alone(kind, project):
    project({"lying.py": f"{LIES[kind]}app = P()\nclass Net:\n    pass\n"})
    with PackageExporter(io.BytesIO(), policy="auto", prove=False) as exporter:
        exporter.save_object("model", "model", import_module("lying").Net())
    assert exporter.interned_modules() == ["lying"]


def test_a_module_whose_getattr_raises_is_not_asked(project):
    project({"raising.py": "def __getattr__(name):\n    return {}[name]\nclass Net:\n    pass\n"})
    with PackageExporter(io.BytesIO(), policy="auto") as exporter:
        exporter.save_object("model", "model", import_module("raising").Net())
    assert exporter.proof.ok
