"""A constructor that fills a container of its module does not run at a load: that is told."""

from __future__ import annotations

import importlib
import io
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from packager import PackageExporter

Project = Callable[[Mapping[str, str]], Path]

FILLED = {
    "a dictionary of the module": ("KNOWN = {}\n", "KNOWN[type(self).__name__] = self", "KNOWN"),
    "a list": ("KNOWN = []\n", "KNOWN.append(self)", "KNOWN"),
    "a set, in a branch": ("KNOWN = set()\n", "if True:\n            KNOWN.add(type(self))", "KNOWN"),
    "what is imported": ("from registry import KNOWN\n", "KNOWN.setdefault('net', self)", "KNOWN"),
    "what a module holds": ("import registry\n", "registry.KNOWN.update(net=self)", "registry.KNOWN"),
    "what is bound in a branch": ("if True:\n    KNOWN: dict = {}\n", "KNOWN['net'] = 1", "KNOWN"),
}
NET = """{head}
class Base:
    def __init__(self):
        {body}
        self.width = 4

class Net(Base):
    pass
"""


def warnings_of(project: Project, head: str, body: str, **made: Any) -> list[str]:
    project({"registry.py": "KNOWN = {}\n", "net.py": NET.format(head=head, body=body)})
    exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    exporter.save_object("model", "model", importlib.import_module("net").Net(), **made)
    return list(exporter.plan().warnings)


@pytest.mark.parametrize(("head", "body", "container"), FILLED.values(), ids=FILLED)
def test_what_a_constructor_of_a_base_fills_is_named_with_its_place(
    project: Project, head: str, body: str, container: str
) -> None:
    line = head.count("\n") + 4 + body.count("\n")
    [warning] = warnings_of(project, head, body)
    assert warning == (
        f"Base.__init__ puts something into {container} (net.py:{line}), and does not run where the object "
        "is loaded; save_object(..., factory=) makes it by a call"
    )


HARMLESS = {
    "its own attribute": ("KNOWN = {}\n", "self.known = {}; self.known['net'] = 1"),
    "a variable of the function": ("KNOWN = {}\n", "KNOWN = {}; KNOWN['net'] = 1"),
    "an argument of an inner function": ("KNOWN = {}\n", "fill = lambda KNOWN: KNOWN.append(1)"),
    "a cache": ("_CACHE = {}\n", "_CACHE['net'] = 1"),
    "a value that is read": ("KNOWN = {'net': 1}\n", "self.known = KNOWN['net'], KNOWN.get('x')"),
    "nothing of the module": ("import os\n", "vars(self).update(net=1)"),
}


@pytest.mark.parametrize(("head", "body"), HARMLESS.values(), ids=HARMLESS)
def test_what_belongs_to_the_object_or_does_not_matter_is_not_told(
    project: Project, head: str, body: str
) -> None:
    assert warnings_of(project, head, body) == []


def test_an_object_that_a_factory_makes_runs_its_constructor(project: Project) -> None:
    assert warnings_of(project, "KNOWN = {}\n", "KNOWN['net'] = 1", factory="net:Net") == []


def test_those_of_installed_packages_are_counted_with_what_else_lies_in_them(
    installed: Callable[..., Path],
) -> None:
    files = {"biglib/__init__.py": NET.format(head="KNOWN = []", body="KNOWN.append(1)")}
    installed("biglib", files, version="1.0", origin=None)
    exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    exporter.intern("biglib.**")
    exporter.save_object("model", "model", importlib.import_module("biglib").Net())
    plan = exporter.plan()
    assert plan.warnings == ()
    [warning] = plan.library_warnings
    assert warning.startswith("Base.__init__ puts something into KNOWN (biglib/__init__.py:4)")
