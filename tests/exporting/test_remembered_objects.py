"""Exports with objects: plans are remembered by all that these say but for tensors, which come anew."""

from __future__ import annotations

import functools
import gc
import importlib
import importlib.machinery
import io
import os
import sys
import threading
import weakref
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from kellet import nn
from packager import PackageExporter, PackageImporter, migrations
from packager.exporting import ExportPlan, remembered

Project = Callable[[Mapping[str, str]], Path]
Made = Callable[[ModuleType], Any]
Edit = Callable[[Path, pytest.MonkeyPatch, ModuleType], object]

SHOP = """
import dataclasses
from importlib import import_module
from .layers import Dense
LEFT = []
class Base:
    pass
class Net(Base):
    def __init__(self, **parts):
        self.width, self.layer = 3, Dense(2)
        self.__dict__.update(parts)
    def __call__(self, x: int, scale: float = 1.0):
        return import_module(self.width)
    def fit(self, x):
        import json
        return json.dumps(x)
class Other(Net):
    def fit(self, x):
        import colorsys
        return colorsys
class Filling:
    def __init__(self):
        self.width = 2
        LEFT.append(self)
@dataclasses.dataclass
class Sizes:
    width: int = 3
    height: int = 4
def scaled(x, by):
    return x * by
def adder(by):
    def add(x):
        return x + by
    return add
"""
TREE = {
    "shop/__init__.py": SHOP,
    "shop/layers.py": "class Dense:\n    def __init__(self, size):\n        self.size = size\n",
    "shop/sparse.py": "import csv\nclass Sparse:\n    size = 2\n",
    "shop/kinds/__init__.py": "",
    "shop/kinds/plain.py": "import bisect\n",
    "shop/words.txt": "one two",
    "lib/tool.py": "",
    "lib/tool-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: tool\nVersion: 1.0\n",
    "lib/tool-1.0.dist-info/RECORD": "tool.py,,\ntool-1.0.dist-info/METADATA,,\n",
}


@pytest.fixture
def shop(project: Project, pythons_finders: None, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A project with classes, imported, in a process whose modules are found by Python alone."""
    folder = project(TREE)
    monkeypatch.syspath_prepend(folder / "lib")
    module = importlib.import_module("shop")
    with pytest.MonkeyPatch.context() as patch:  # what an export imports is there from now on
        patch.setattr(remembered.RememberedPlans, "keep", lambda *given: None)
        begun(module, lambda shop: shop.Sizes()).close()
    return module


def begun(
    shop: ModuleType, make: Made, rules: Callable[[PackageExporter], object] = lambda exporter: None
) -> PackageExporter:
    exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    rules(exporter)
    exporter.save_object("run", "net", make(shop))
    return exporter


def planned(shop: ModuleType, make: Made, cache: str = "", **options: Any) -> ExportPlan:
    with pytest.MonkeyPatch.context() as patch:
        if cache:
            patch.setenv("KELLET_CACHE", os.path.join(os.environ["XDG_CACHE_HOME"], cache))
            patch.setattr(remembered.RememberedPlans, "keep", lambda *given: None)
        return begun(shop, make, **options).plan()


def walked(shop: ModuleType, make: Made, **options: Any) -> ExportPlan:
    """The plan by a walk, with nothing kept of it."""
    plan = planned(shop, make, "none", **options)
    assert not plan.remembered
    return plan


def require_same(plan: ExportPlan, other: ExportPlan) -> None:
    assert plan == other
    assert [bytes(one.read()) for one in plan.entries] == [bytes(one.read()) for one in other.entries]
    assert plan.text(whole=True) == other.text(whole=True)


def net(shop: ModuleType) -> Any:
    return shop.Net(weights=np.arange(6.0))


def _linear(shop: ModuleType) -> Any:
    module = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
    for parameter in module.parameters():
        nn.init.ones_(parameter)
    return module


def _with_hook(shop: ModuleType) -> Any:
    module = nn.Linear(2, 3, bias=False)
    nn.init.zeros_(module.weight)
    module.register_forward_hook(shop.scaled)
    return module


OBJECTS: Mapping[str, Made] = {
    "an object of the project": net,
    "its class with a base": lambda shop: shop.Other(),
    "a dataclass": lambda shop: shop.Sizes(5),
    "a function": lambda shop: shop.scaled,
    "a partial": lambda shop: functools.partial(shop.scaled, by=2),
    "a closure": lambda shop: shop.adder(2),
    "a method": lambda shop: shop.Net().fit,
    "a class": lambda shop: shop.Net,
    "one whose constructor leaves something": lambda shop: shop.Filling(),
    "a module of kellet": _linear,
    "a hook": _with_hook,
    "containers": lambda shop: {"sizes": [1, (2.0, "x")], "net": shop.Net()},
    "arrays that share memory": lambda shop: [(whole := np.arange(6.0)), whole[2:]],
    "a text that names a module": lambda shop: shop.Net(width="shop.kinds.plain"),
    "a path of this machine": lambda shop: shop.Net(place=str(Path(shop.__file__).with_name("words.txt"))),
}


@pytest.mark.long
@pytest.mark.parametrize("make", OBJECTS.values(), ids=OBJECTS)
def test_a_plan_with_an_object_is_remembered_and_is_the_same(make: Made, shop: ModuleType) -> None:
    first = planned(shop, make)
    again = planned(shop, make)
    assert (first.problems, [first.remembered, again.remembered]) == ((), [False, True])
    require_same(again, first)
    require_same(again, walked(shop, make))


@pytest.mark.parametrize(
    "make",
    [lambda shop: threading.Lock(), lambda shop: shop.Net(lock=threading.Lock())],
    ids=["a lock", "one in an object"],
)
def test_what_cannot_be_stored_is_told_anew(make: Made, shop: ModuleType) -> None:
    plans = [planned(shop, make) for _ in range(2)]
    assert [plan.remembered for plan in plans] == [False, False]
    assert plans[0].problems
    require_same(*plans)


@pytest.mark.unix  # the view of Windows imports kellet by a loader of its own, which is not remembered
@pytest.mark.filterwarnings("ignore::packager.errors.PackagingWarning")
def test_the_archive_has_the_same_bytes(shop: ModuleType) -> None:
    written = []
    for expected in (False, True):
        file = io.BytesIO()
        exporter = PackageExporter(file, policy="auto", prove=False)
        for name, make in OBJECTS.items():
            exporter.save_object("run", name, make(shop))
        exporter.save_state_dict("run", "state", {"w": np.ones(3), "n": "x"})
        assert exporter.plan().remembered is expected
        exporter.close()
        written.append(file.getvalue())
    assert written[0] == written[1]


def test_an_archive_that_is_written_into_the_project_does_not_change_what_it_is(
    shop: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert shop.__file__ is not None
    project = Path(shop.__file__).parents[1]
    monkeypatch.chdir(project)
    remembered = []
    for start in range(4):
        with PackageExporter("net.kellet", policy="auto", prove=False) as exporter:
            exporter.save_object("run", "net", shop.Net(weights=np.arange(start, start + 3)))
            exporter.answer("shop/__init__.py:13:Net.__call__", "none")
            remembered.append(exporter.plan().remembered)
    # The first one finds no archive there.
    assert remembered == [False, False, True, True]


def test_the_archive_has_the_tensors_of_the_object_that_was_saved(shop: ModuleType) -> None:
    written = []
    for start in (0, 5):
        exporter = PackageExporter(file := io.BytesIO(), policy="auto", prove=False)
        exporter.save_object("run", "net", shop.Net(weights=np.arange(start, start + 3)))
        exporter.answer("shop/__init__.py:13:Net.__call__", "none")
        assert exporter.plan().remembered is (start > 0)
        exporter.close()
        written.append(file)
    for file, start in zip(written, (0, 5), strict=True):
        with PackageImporter(file) as importer:
            assert importer.load_object("run", "net").weights.tolist() == [start, start + 1, start + 2]


OTHERS: Mapping[str, Made] = {
    "another class": lambda shop: shop.Other(weights=np.arange(6.0)),
    "an attribute of another class": lambda shop: shop.Net(weights=np.arange(6.0), layer=_sparse()),
    "one more attribute": lambda shop: shop.Net(weights=np.arange(6.0), more=None),
    "one more, of another class": lambda shop: shop.Net(weights=np.arange(6.0), more=_sparse()),
    "another number": lambda shop: shop.Net(weights=np.arange(6.0), width=4),
    "a text": lambda shop: shop.Net(weights=np.arange(6.0), width="shop.kinds.plain"),
    "another dtype": lambda shop: shop.Net(weights=np.arange(6, dtype="f4")),
    "another shape": lambda shop: shop.Net(weights=np.arange(7.0)),
}


def _sparse() -> Any:
    return sys.modules["shop.sparse"].Sparse()


def test_each_object_has_a_plan_of_its_own(shop: ModuleType) -> None:
    importlib.import_module("shop.sparse")
    made = {"an object": net, **OTHERS}
    for expected in (False, True):
        assert {name: planned(shop, make).remembered for name, make in made.items()} == dict.fromkeys(
            made, expected
        )


@pytest.mark.long
@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
def test_an_object_that_is_another_has_a_plan_of_its_own(other: Made, shop: ModuleType) -> None:
    importlib.import_module("shop.sparse")
    assert not planned(shop, net).remembered
    plan = planned(shop, other)
    assert not plan.remembered
    require_same(plan, walked(shop, other))
    for make in (net, other):
        again = planned(shop, make)
        assert again.remembered
        require_same(again, walked(shop, make))


def _edit_in_memory(folder: Path, patch: pytest.MonkeyPatch, shop: ModuleType) -> None:
    code = compile("def scaled(x, by):\n    return x + by\n", str(shop.__file__), "exec")
    exec(code, space := {"__name__": "shop"})
    patch.setattr(shop, "scaled", space["scaled"])


def _put_another_base(folder: Path, patch: pytest.MonkeyPatch, shop: ModuleType) -> None:
    shop.Net.__bases__ = (shop.Filling,)  # the module is this test's own


class _Nowhere:
    """A finder that comes to find a module later."""

    found: str = ""

    def find_spec(self, name: str, path: object = None, target: object = None) -> Any:
        if name == self.found:
            return importlib.machinery.ModuleSpec(name, None, is_package=True)
        return None


def test_a_function_that_is_another_in_memory_is_noticed(
    shop: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned(shop, OBJECTS["a partial"])
    _edit_in_memory(Path(), monkeypatch, shop)
    for _ in range(2):
        plan = planned(shop, OBJECTS["a partial"])
        assert not plan.remembered
        assert [problem.subject for problem in plan.problems] == ["shop"]


EDITS: Mapping[str, Edit] = {
    "a source": lambda at, patch, shop: (at / "shop/layers.py").write_text(TREE["shop/layers.py"] + "#\n"),
    "an import": lambda at, patch, shop: (at / "shop/layers.py").write_text(
        "import wave\n" + TREE["shop/layers.py"]
    ),
    "a candidate": lambda at, patch, shop: (at / "shop/kinds/other.py").write_text(""),
    "a data file": lambda at, patch, shop: (at / "shop/words.txt").write_text("three"),
    "the version of a distribution": lambda at, patch, shop: (at / "lib/tool-1.0.dist-info").rename(
        at / "lib/tool-1.1.dist-info"
    ),
    "a module that is imported": lambda at, patch, shop: importlib.import_module("shop.sparse"),
    "the working directory": lambda at, patch, shop: patch.chdir(at),
    "a function in memory": _edit_in_memory,
    "the base of a class, in memory": _put_another_base,
    "a constructor, in memory": lambda at, patch, shop: patch.setattr(
        shop.Other, "__init__", shop.Filling.__init__
    ),
    "what another finder finds": lambda at, patch, shop: patch.setattr(_Nowhere, "found", "absent"),
}


@pytest.mark.long
@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_each_change_beside_an_object_is_noticed(
    edit: Edit, shop: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Path(str(shop.__file__)).parents[1]
    (folder / "shop/layers.py").write_text(
        "import tool, bisect\ntry:\n    import absent\nexcept ImportError:\n    pass\n"
        + TREE["shop/layers.py"]
    )
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, _Nowhere()])

    def make(shop: ModuleType) -> Any:
        return shop.Other()

    first = planned(shop, make)
    assert (first.problems, planned(shop, make).remembered) == ((), True)
    edit(folder, monkeypatch, shop)
    plan = planned(shop, make)
    assert not plan.remembered
    require_same(plan, walked(shop, make))


RULES: Mapping[str, Callable[[PackageExporter], object]] = {
    "a rule": lambda exporter: exporter.extern("bisect"),
    "an answer": lambda exporter: exporter.answer("shop/__init__.py:13:Net.__call__", ["shop.sparse"]),
    "data left out": lambda exporter: exporter.exclude_data("shop/*.txt"),
    "another module": lambda exporter: exporter.save_module("shop.sparse"),
    "a state dict": lambda exporter: exporter.save_state_dict("run", "state", {"w": np.ones(3), "n": "x"}),
    "a factory": lambda exporter: exporter.save_object(
        "run", "lin", nn.Linear(2, 1), factory=nn.Linear, config={"in_features": 2, "out_features": 1}
    ),
    "an entry": lambda exporter: exporter.save_entry("net", "run", "net", takes={"x": "int"}),
    "an entry by another name": lambda exporter: exporter.save_entry("fit", "run", "net", "fit"),
    "the default object": lambda exporter: exporter.save_object("model", "model", sys.modules["shop"].Net()),
}


@pytest.mark.long
def test_each_request_beside_an_object_has_a_plan_of_its_own(shop: ModuleType) -> None:
    importlib.import_module("shop.sparse")
    for rules in RULES.values():
        walked(shop, net, rules=rules)  # loads what plans need: which modules are loaded is in the key
    plans = {}
    for name, rules in RULES.items():
        plans[name] = planned(shop, net, rules=rules)
        assert (plans[name].problems, plans[name].remembered) == ((), False), name
        require_same(plans[name], walked(shop, net, rules=rules))
    for name, rules in RULES.items():
        again = planned(shop, net, rules=rules)
        assert again.remembered, name
        require_same(again, plans[name])


def test_the_schema_is_that_of_the_method_as_it_is_now(
    shop: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = RULES["an entry"]
    assert [value.name for value in planned(shop, net, rules=rules).schemas[0].takes] == ["x", "scale"]
    monkeypatch.setitem(shop.Net.__call__.__annotations__, "scale", int)
    again = planned(shop, net, rules=rules)
    assert again.remembered
    require_same(again, walked(shop, net, rules=rules))
    monkeypatch.delattr(shop.Net, "__call__")
    plan = planned(shop, net, rules=rules)
    assert not plan.remembered
    assert [problem.reason for problem in plan.problems] == ["Entry point cannot be called."]
    require_same(plan, walked(shop, net, rules=rules))


def test_migrations_of_a_class_are_those_of_now(shop: ModuleType) -> None:
    plans = [planned(shop, lambda shop: nn.Sequential(nn.Linear(1, 1)))]
    handle = migrations.attach(nn.Linear, migrations.Migration("renamed", to=1, steps=()))
    try:
        plans.append(planned(shop, lambda shop: nn.Sequential(nn.Linear(1, 1))))
    finally:
        handle.remove()
    assert [plan.remembered for plan in plans] == [False, False]


def test_classes_of_the_running_program_are_looked_at_anew(
    shop: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = type("Bag", (), {"__module__": "__main__"})
    monkeypatch.setattr(sys.modules["__main__"], "Bag", kind, raising=False)
    for _ in range(2):
        assert not planned(shop, lambda shop: kind()).remembered


def test_a_golden_call_is_made_anew(shop: ModuleType) -> None:
    for _ in range(2):
        exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
        exporter.save_object("model", "model", nn.Linear(2, 1))
        exporter.save_check("model", {"input": np.ones((1, 2), "f4")})
        plan = exporter.plan()
        assert (plan.remembered, len(plan.checks)) == (False, 1)


def test_what_comes_after_a_remembered_plan_finds_all_decided(shop: ModuleType) -> None:
    plans = []
    for expected in (False, True):
        exporter = begun(shop, net)
        assert exporter.plan().remembered is expected
        exporter.save_object("run", "sizes", shop.Sizes())
        plans.append(exporter.plan())
        assert not plans[-1].remembered
        assert exporter.interned_modules() == ["shop", "shop.layers"]
    require_same(*plans)


@pytest.mark.filterwarnings("ignore::packager.errors.PackagingWarning")
def test_what_is_asked_after_the_end_is_answered_and_the_object_is_let_go(shop: ModuleType) -> None:
    found = []
    for expected in (False, True):
        obj = shop.Other()
        held = weakref.ref(obj)
        exporter = begun(shop, lambda shop, obj=obj: obj)  # type: ignore[misc]  # a lambda has no types
        assert exporter.plan().remembered is expected
        exporter.close()
        del obj
        gc.collect()
        assert held() is None
        found.append(
            [exporter.interned_modules(), exporter.externed_modules(), str(exporter.why("colorsys"))]
        )
    assert found[0] == found[1]
    assert found[0][0] == ["shop", "shop.layers"]


def test_a_place_that_is_none_is_not_used(shop: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    planned(shop, net)
    real = remembered.load_plan
    for place in (-1, 99, "0", None):
        monkeypatch.setattr(
            remembered, "load_plan", lambda data, noted, place=place: real({**data, "place": place}, noted)
        )
        assert not planned(shop, net).remembered


def test_equal_objects_made_apart_have_one_plan(shop: ModuleType) -> None:
    planned(shop, lambda shop: {"b": shop.Net(), "a": {1, 2, 3}})
    again = planned(shop, lambda shop: {"b": shop.Net(), "a": {3, 2, 1}})
    assert again.remembered
    require_same(again, walked(shop, lambda shop: {"b": shop.Net(), "a": {2, 3, 1}}))
