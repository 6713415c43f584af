"""Checks are recorded and repeated in evaluation mode, and every module keeps the flag that it had."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kellet
from kellet import nn
from packager import PackageExporter, PackageImporter, PackagingError, PackagingWarning
from packager._calls import in_mode
from tests.tables import one_test

Project = Callable[[Mapping[str, str]], Path]

NET = """
import functools
from collections import OrderedDict
import numpy as np
from kellet import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 64)
        self.norm = nn.BatchNorm1d(64)
        self.drop = nn.Dropout(0.5)
    def forward(self, x):
        return self.drop(self.norm(self.layer(x)))
    def predict(self, x):
        return self(x) * 2

class Holder:
    def __init__(self):
        self.parts = {"first": [None, (Net(),)], "number": 3}
    def __call__(self, x):
        import kellet
        return self.parts["first"][1][0](kellet.tensor(x))

class Slotted:
    __slots__ = ("empty", "net")
    def __init__(self):
        self.net = Net()
    def __call__(self, x):
        import kellet
        return self.net(kellet.tensor(x))

class Hidden(nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = [Net()]
        self.norm = nn.BatchNorm1d(2)
    def forward(self, x):
        return self.parts[0](self.norm(x))

def build():
    return Net()

class Counting:
    total = 0
    def __call__(self, x):
        Counting.total += 1
        return x + Counting.total

class Drawing:
    def __call__(self, x):
        return x + np.random.default_rng().normal()

class Growing:
    def __call__(self, x):
        names = "ab" if np.random.default_rng().integers(2**40) % 2 else "cd"
        Growing.names = {"ab": "cd", "cd": "ab"}[getattr(Growing, "names", names)]
        return {Growing.names: x}

class Writing:
    def __init__(self):
        self.seen = np.zeros(2)
    def __call__(self, x):
        x += 1
        self.seen += x
        return self.seen

class Failing(nn.Module):
    def __init__(self):
        super().__init__()
        self.drop = nn.Dropout()
    def forward(self, x):
        raise ValueError("never works")
"""
X = np.random.default_rng(0).normal(size=(5, 2)).astype("f4")


@pytest.fixture
def net(project: Project) -> Any:
    project({"evalshop/__init__.py": "", "evalshop/net.py": NET})
    from evalshop import net  # type: ignore[import-not-found]  # the project of the test

    return net


def checked(obj: Any, callable: str | None = None, **more: Any) -> None:
    """Store a check of `obj`, and repeat it, several times, on what was loaded."""
    buffer = io.BytesIO()
    exporter = PackageExporter(buffer, policy="auto", prove=False)
    exporter.save_object("model", "model", obj, **more)
    exporter.save_entry_point("main", "model", "model", callable)
    exporter.save_example("main", {"x": X})
    with pytest.warns(PackagingWarning, match="stored in training mode"):
        exporter.close()
    with PackageImporter(buffer) as importer:
        for _ in range(2):
            (outcome,) = importer.check()
            assert outcome.within(0), list(map(str, outcome.deviations))
        # `kellet run` answers as the check does.
        assert importer.run({"x": X}, "main").keys() == {one.name for one in outcome.deviations}
        first, second = importer.run({"x": X}, "main"), importer.run({"x": X}, "main")
        assert all(np.array_equal(first[name], second[name]) for name in first)


@pytest.mark.parametrize("name", ["Net", "Holder", "Slotted", "Hidden"])
def test_a_check_of_a_model_in_training_mode_passes(net: Any, name: str) -> None:
    obj = getattr(net, name)()
    checked(obj)


def test_a_check_of_a_method_passes(net: Any) -> None:
    checked(net.Net(), "predict")


def test_a_check_of_what_a_factory_makes_passes(net: Any) -> None:
    checked(net.build(), factory=net.build)


def test_what_was_saved_comes_back_with_the_flags_that_it_had(net: Any) -> None:
    model = net.Net()
    model.norm.eval()
    buffer = io.BytesIO()
    exporter = PackageExporter(buffer, policy="auto", prove=False)
    exporter.save_object("model", "model", model)
    exporter.save_example("model", {"x": X})
    with pytest.warns(PackagingWarning, match="stored in training mode"):
        exporter.close()
    assert (model.training, model.norm.training, model.drop.training) == (True, False, True)
    with PackageImporter(buffer) as importer:
        loaded = importer.load_object("model", "model")
        assert (loaded.training, loaded.norm.training, loaded.drop.training) == (True, False, True)


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("Counting", r"another output \(off by 1 at most\)"),
        ("Drawing", r"another output \(off by .* at most\)"),
        ("Growing", r"another output\.(ab|cd) \(not in every answer\), output\.(ab|cd) \(not in"),
    ],
)
def test_a_call_that_is_not_repeatable_is_told_and_nothing_is_compared(
    net: Any, name: str, found: str
) -> None:
    buffer = io.BytesIO()
    exporter = PackageExporter(buffer, policy="auto", prove=False)
    exporter.save_object("model", "model", getattr(net, name)())
    exporter.save_example("model", {"x": X.astype("f8")})
    plan = exporter.plan()
    told = rf"check model is not repeatable: a second call from .* gave {found}.*\. Outputs are not compa"
    assert plan.ok
    first, *others = plan.warnings
    assert re.match(told, first)
    assert all(one.startswith("check model: the call changed ") for one in others)
    with pytest.warns(PackagingWarning, match=r"check model is not repeatable"):
        exporter.close()
    with PackageImporter(buffer) as importer:
        (outcome,) = importer.check()
        assert (outcome.repeatable, outcome.deviations) == (False, ())
        assert not outcome.within(float("inf"))


def test_a_call_that_writes_to_its_arrays_and_its_own_state_is_no_random_one(net: Any) -> None:
    given = np.zeros(2)
    buffer = io.BytesIO()
    with PackageExporter(buffer, policy="auto", prove=False) as exporter:
        exporter.save_object("model", "model", net.Writing())
        exporter.save_example("model", {"x": given})
        exporter.plan()
        assert given.tolist() == [0, 0]
    with PackageImporter(buffer) as importer:
        assert importer.run({"x": np.zeros(2)})["output"].tolist() == [1, 1]
        (outcome,) = importer.check()
        assert outcome.within(0)


def test_a_call_that_fails_leaves_every_flag(net: Any) -> None:
    model = net.Failing()
    exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    exporter.save_object("model", "model", model)
    exporter.save_example("model", {"x": X})
    with pytest.raises(PackagingError, match="calling it failed: ValueError: never works"):
        exporter.close()
    assert (model.training, model.drop.training) == (True, True)


def reached_through() -> Mapping[str, Callable[[nn.Module], Any]]:
    """Things that hold a module in ways of all kinds."""
    import functools
    import types

    class Tree:
        def __init__(self, net: nn.Module) -> None:
            self.deep = {"a": [types.SimpleNamespace(net=net)]}

        def call(self) -> None: ...

    class OfClass:
        held: Any = None

        @property
        def net(self) -> Any:
            return self.held

    def of_class(net: nn.Module) -> Any:
        OfClass.held = net
        return OfClass()

    def closure(net: nn.Module) -> Any:
        return lambda: net

    def default(net: nn.Module) -> Any:
        def call(one: Any = net) -> Any:
            return one

        return call

    def used(net: nn.Module) -> Any:
        names: dict[str, Any] = {"__name__": "evaluser", "NET": net}
        exec("def inner(): return [NET for _ in (1,)]\ndef call(): return inner()", names)
        return names["call"]

    def attribute(net: nn.Module) -> Any:
        module: Any = types.ModuleType("evalparts")
        module.NET = net
        names: dict[str, Any] = {"__name__": "evaluser", "parts": module}
        exec("def call(): return parts.NET", names)
        return names["call"]

    return {
        "itself": lambda net: net,
        "container": lambda net: nn.Sequential(nn.Identity(), net),
        "tree": Tree,
        "method": lambda net: Tree(net).call,
        "partial": lambda net: functools.partial(print, [net]),
        "class": of_class,
        "closure": closure,
        "default": default,
        "global of a function that is called": used,
        "attribute of a module": attribute,
        "cycle": lambda net: (holder := [net]).append(holder) or holder,  # type: ignore[arg-type,func-returns-value]  # a list in itself
    }


@one_test
@pytest.mark.parametrize("how", reached_through())
@pytest.mark.parametrize("fails", [False, True], ids=["answers", "fails"])
def test_every_module_in_reach_is_in_evaluation_mode_and_set_back(how: str, fails: bool) -> None:
    net = nn.Sequential(nn.Dropout(), nn.Sequential(nn.Dropout(), nn.BatchNorm1d(2)))
    net[1][1].eval()
    flags = [module.training for module in net.modules()]
    thing = reached_through()[how](net)
    try:
        with in_mode(thing):
            assert [module.training for module in net.modules()] == [False] * 5
            if fails:
                raise KeyError("in the call")
    except KeyError:
        pass
    assert [module.training for module in net.modules()] == flags == [True, True, True, True, False]


def test_a_class_that_does_more_is_asked_as_a_user_would_ask() -> None:
    said = []

    class Merging(nn.Module):
        def train(self, mode: bool = True) -> Any:
            said.append(mode)
            return super().train(mode)

    with in_mode([Merging()]):
        assert said == [False]
    assert said == [False, True]
    with in_mode(Merging().eval()):
        assert said == [False, True, False]
    assert said == [False, True, False]


def test_nothing_of_an_object_is_run_to_look_into_it() -> None:
    class Closed:
        def __getattribute__(self, name: str) -> Any:
            raise AssertionError(name)

    class Items(list):  # type: ignore[type-arg]  # of anything
        def __iter__(self) -> Any:
            raise AssertionError("iterated")

    class Keys(dict):  # type: ignore[type-arg]  # of anything
        def values(self) -> Any:
            raise AssertionError("asked for values")

    net = nn.Dropout()
    with in_mode([Closed(), Items([Keys(a=net)]), kellet.ones(2), np.ones(2)]):
        assert not net.training
    assert net.training


def test_the_modules_that_were_found_are_given_where_no_mode_was_set() -> None:
    net = kellet.nn.Sequential(kellet.nn.ReLU()).eval()
    with in_mode(net) as modules:
        assert modules == [net, net[0]]
    with in_mode(net.train()) as modules:
        assert modules is None
