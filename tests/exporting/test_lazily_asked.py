"""Lazy packages of the project that code asks by computed names: refused until its table is stored."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path

import pytest

from packager import PackageExporter, PackageImporter

Project = Callable[[Mapping[str, str]], Path]
LAZY = {
    "lane/__init__.py": (
        "import importlib\n"
        "_TABLE = {'scale': '.fn.scale', **{name: 'lane.fn.extra' for name in ('one', 'two')}}\n"
        "def __getattr__(name):\n"
        "    if name not in _TABLE: raise AttributeError(name)\n"
        "    return getattr(importlib.import_module(_TABLE[name], __name__), name)\n"
    ),
    "lane/fn/__init__.py": "",
    "lane/fn/scale.py": "def scale(x): return 2 * x\n",
    "lane/fn/extra.py": "def one(x): return x + 1\ndef two(x): return x + 2\n",
    "lane/train.py": "",
    "lane/net.py": (
        "import lane\n"
        "class Net:\n"
        "    def __init__(self, kind): self.kind = kind\n"
        "    def __call__(self, x): return getattr(lane, self.kind)(x)\n"
        "class Plain:\n"
        "    def __call__(self, x): return lane.scale(x)\n"
    ),
}


def exporter_of(saved: str) -> tuple[PackageExporter, io.BytesIO]:
    net = import_module("lane.net")
    import_module("lane.train")  # no table names it
    model = net.Net(saved) if saved != "Plain" else net.Plain()
    model(1)
    file = io.BytesIO()
    exporter = PackageExporter(file, policy="auto", prove=False)
    exporter.save_object("model", "model", model)
    return exporter, file


@pytest.mark.parametrize(
    ("kind", "module", "gives"), [("scale", "lane.fn.scale", 6), ("two", "lane.fn.extra", 5)]
)
def test_a_lazy_package_that_is_asked_by_a_computed_name_is_refused_until_it_is_stored(
    project: Project, kind: str, module: str, gives: int
) -> None:
    project(LAZY)
    exporter, file = exporter_of(kind)
    with exporter:
        (problem,) = exporter.plan().problems
        assert problem.reason == (
            "Code asks a lazy package by computed names, and modules of its table are not stored."
        )
        assert problem.subject == "lane"
        assert problem.context == (
            "lane/net.py:4 asks it for an attribute by a name that is computed; of the modules that its "
            f"table names, {module} is loaded here. Where none is needed, say so: "
            'exporter.answer("lane:__getattr__", "none")'
        )
        assert problem.fix == f'exporter.save_module("{module}")'
        exporter.save_module(module)
        assert exporter.plan().problems == ()
    with PackageImporter(file) as importer:
        assert importer.load_object("model", "model")(3) == gives


def test_a_lazy_package_may_be_said_to_need_nothing(project: Project) -> None:
    project(LAZY)
    exporter, _ = exporter_of("scale")
    exporter.answer("lane:__getattr__", "none")
    assert (exporter.plan().problems, exporter.plan().warnings) == ((), ())


@pytest.mark.parametrize("why", ["by name", "drawn from a literal"])
def test_a_lazy_package_is_no_problem_where_it_is_asked(project: Project, why: str) -> None:
    tree = dict(LAZY)
    if why == "drawn from a literal":
        tree["lane/net.py"] = tree["lane/net.py"].replace(
            "lane, self.kind", "lane, {'a': 'scale'}[self.kind]"
        )
    project(tree)
    exporter, _ = exporter_of("a" if why == "drawn from a literal" else "Plain")
    assert exporter.plan().problems == ()
