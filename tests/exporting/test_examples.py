"""`save_object(example=)`: what is called, what is stored, and what is said where there is none."""

from __future__ import annotations

import importlib
import io
import re
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kellet
from packager import (
    ArgumentError,
    Example,
    PackageExporter,
    PackageImporter,
    PackagingError,
    UncheckedOutputsWarning,
)
from packager._cli import main

Project = Callable[[Mapping[str, str]], Path]
X = np.arange(6, dtype="f4").reshape(3, 2)
CODE = """
import dataclasses
import numpy as np
from kellet import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 1)
    def forward(self, x, scale=1.0):
        return self.layer(x) * scale

class Spread(nn.Module):
    def forward(self, *parts):
        return sum(part.sum() for part in parts)

class Words:
    def __init__(self, known):
        self.known = known
    def encode(self, text, upper=False):
        return [self.known.index(word.upper() if upper else word) for word in text.split()]
    def size(self):
        return len(self.known)
    def between(self, first, last):
        return [self.known.index(first), self.known.index(last)]

class Pair:
    def __call__(self, pair):
        first, second = pair
        return first - second

class Wanted:
    def __call__(self, config):
        return np.zeros(config["width"]) + config["start"]

class Scaler:
    def fit(self, x):
        return self
    def transform(self, x):
        return x * 2

class Regressor(Scaler):
    def predict(self, x):
        return x.sum(1)

class Decider:
    def decision_function(self, x):
        return x[:, 0] - x[:, 1]

@dataclasses.dataclass
class Config:
    width: int = 3

def build(width):
    return nn.Linear(width, 1)

def double(x):
    return x * 2

words = Words(["a", "b", "A"])
regressor = Regressor()
"""


@pytest.fixture
def shop(project: Project) -> Any:
    project({"exshop/__init__.py": "", "exshop/nets.py": CODE})
    from exshop import nets  # type: ignore[import-not-found]  # the project of the test

    return nets


@pytest.fixture(autouse=True)
def _strict() -> Any:
    """Let no warning pass: the tests' own settings ignore that of outputs which are not checked."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", UncheckedOutputsWarning)
        yield


def saved(obj: Any, **how: Any) -> tuple[Any, io.BytesIO]:
    """The closed exporter of an object, and its archive."""
    file = io.BytesIO()
    with PackageExporter(file, policy="auto") as exporter:
        exporter.save_object("shop", "thing", obj, **how)
    return exporter.plan(), file


def outputs(file: io.BytesIO) -> list[tuple[str, bool]]:
    """The parts of the outputs that the loaded object gives, and whether they are as they were."""
    with PackageImporter(file) as importer:
        return [(one.name, one.within(0)) for one in importer.check()]


def test_a_module_is_called_itself_with_one_argument(shop: Any) -> None:
    plan, file = saved(shop.Net(), example=X)
    assert [(point.name, point.package, point.callable) for point in plan.entry_points] == [
        ("thing", "shop", None)
    ]
    assert [(one.name, one.entry_point) for one in plan.checks] == [("thing", "thing")]
    assert str(plan.schemas[0]).startswith("thing(x: real[*, *]")
    assert outputs(file)[0][1]
    assert plan.unchecked == ()


def test_an_example_has_arguments_by_position_and_by_name(shop: Any) -> None:
    net = shop.Net()
    _, file = saved(net, example=Example(X, scale=3.0))
    with PackageImporter(file) as importer:
        assert importer.check()[0].within(0)
        given = importer.run({"x": X, "scale": 3.0}, entry="thing")["output"]
    assert given.tolist() == net(kellet.tensor(X), 3.0).tolist()


@pytest.mark.parametrize(
    ("made", "method"),
    [("Scaler", "transform"), ("Regressor", "predict"), ("Decider", "decision_function")],
)
def test_of_an_estimator_its_first_method_is_called(shop: Any, made: str, method: str) -> None:
    plan, file = saved(getattr(shop, made)(), example=X)
    assert [point.callable for point in plan.entry_points] == [method]
    assert outputs(file)[0][1]


@pytest.mark.filterwarnings("ignore:the archive:packager.PackagingWarning")
def test_methods_of_scikit_learn_are_called_where_they_are_there() -> None:
    linear_model = pytest.importorskip("sklearn.linear_model")
    pipeline = pytest.importorskip("sklearn.pipeline")
    preprocessing = pytest.importorskip("sklearn.preprocessing")
    y = np.array([0, 1, 1])
    scaler = preprocessing.StandardScaler()
    for obj, given, expected in (
        (linear_model.LogisticRegression().fit(X, y), None, "predict"),
        (linear_model.LogisticRegression().fit(X, y), "decision_function", "decision_function"),
        (scaler.fit(X), None, "transform"),
        (pipeline.make_pipeline(preprocessing.StandardScaler()).fit(X), None, "transform"),
        (pipeline.make_pipeline(scaler, linear_model.Ridge()).fit(X, y), None, "predict"),
    ):
        plan, file = saved(obj, example=X, method=given)
        assert [point.callable for point in plan.entry_points] == [expected]
        assert outputs(file)[0][1]


def test_a_method_of_stored_code_is_named(shop: Any) -> None:
    plan, file = saved(shop.words, example=Example("a b a", upper=False), method="encode")
    assert [point.callable for point in plan.entry_points] == ["encode"]
    with PackageImporter(file) as importer:
        found = importer.run({"text": "b a"}, entry="thing")
    assert {name: int(value) for name, value in found.items()} == {"output.0": 1, "output.1": 0}


def test_a_tuple_is_one_argument(shop: Any) -> None:
    _, file = saved(shop.Pair(), example=(X, X + 1))
    assert outputs(file)[0][1]
    with PackageImporter(file) as importer:
        assert importer.run({"pair": np.stack([X, X])}, entry="thing")["output"].tolist() == (X - X).tolist()


@pytest.mark.parametrize("kind", [tuple, list])
def test_a_tuple_or_list_that_was_meant_as_arguments_is_told_apart(shop: Any, kind: type) -> None:
    exporter = PackageExporter(io.BytesIO(), policy="auto")
    with pytest.raises(
        ArgumentError,
        match=r"encode takes several; write example=packager\.Example\(text, upper\)",
    ):
        exporter.save_object("shop", "thing", _Two(), example=kind(("a", True)), method="encode")
    assert exporter.plan().objects == ()


def test_an_argument_that_is_missing_is_told_with_the_way_to_give_it(shop: Any) -> None:
    exporter = PackageExporter(io.BytesIO(), policy="auto")
    exporter.save_object("shop", "thing", shop.words, example="a b", method="between")
    (problem,) = exporter.plan().problems
    assert "missing a required argument: 'last'; found arg0" in problem.context
    assert problem.context.endswith("In example=, write packager.Example(first, last)")


class _Two:
    def encode(self, text: str, upper: bool, /) -> str:
        return text.upper() if upper else text


def test_a_dict_of_plain_values_is_an_argument(shop: Any) -> None:
    _, file = saved(shop.Wanted(), example={"width": 3, "start": 1.5})
    assert outputs(file)[0][1]


def test_a_function_is_called(shop: Any) -> None:
    plan, file = saved(shop.double, example=X)
    assert [point.callable for point in plan.entry_points] == [None]
    assert outputs(file)[0][1]


def test_an_object_that_a_factory_makes_is_called(shop: Any) -> None:
    _, file = saved(shop.build(2), factory=shop.build, config={"width": 2}, example=X)
    assert outputs(file)[0][1]


def test_arguments_without_names_are_positions(shop: Any) -> None:
    _, file = saved(shop.Spread(), example=Example(X, X))
    with PackageImporter(file) as importer:
        assert float(importer.run({"arg0": X, "arg1": X}, entry="thing")["output"]) == 30.0


def test_the_example_is_that_of_the_call_and_not_changed_later(shop: Any) -> None:
    file, x = io.BytesIO(), X.copy()
    with PackageExporter(file, policy="auto") as exporter:
        exporter.save_object("shop", "other", shop.double, example=x)
        x += 1
    with PackageImporter(file) as importer:
        stored = importer.run({"x": X}, entry="other")["output"]
        assert all(one.within(0) for one in importer.check())
    assert stored.tolist() == (X * 2).tolist()


class _Frame:
    columns = ("a", "b")

    def to_numpy(self) -> Any:
        return X


@pytest.mark.parametrize(
    ("example", "told"),
    [
        (
            {"ids": X},
            r"argument arg0 is of type dict; expected .*, give each array as an argument of its own:",
        ),
        (Example(x=object()), r"argument x is of type object; expected arrays"),
        (
            slice(1, 2),
            r"is of type slice; expected .*, save a wrapper whose method .* makes the slice",
        ),
        ([X, X[:1]], r"argument arg0 is of type list; expected arrays"),
        (_Frame(), r"argument arg0: found a _Frame of tests; expected a pandas\."),
        (Example(X, arg0=X), r"'arg0' is reserved for an argument by position"),
    ],
)
def test_what_no_check_can_store_is_told_with_what_can(shop: Any, example: Any, told: str) -> None:
    exporter = PackageExporter(io.BytesIO(), policy="auto")
    with pytest.raises(ArgumentError, match=told):
        exporter.save_object("shop", "thing", shop.Net(), example=example)
    assert len(exporter.plan().objects) == 0


def test_what_cannot_be_called_is_told_with_its_methods(shop: Any) -> None:
    exporter = PackageExporter(io.BytesIO(), policy="auto")
    with pytest.raises(
        ArgumentError,
        match=r"Words cannot be called itself; name what is called by method=, one of encode, size",
    ):
        exporter.save_object("shop", "thing", shop.words, example="a b")
    with pytest.raises(ArgumentError, match=r"Words has no method 'decode'; name .* one of encode, size"):
        exporter.save_object("shop", "thing", shop.words, example="a b", method="decode")


def test_a_call_that_fails_is_a_problem_of_the_plan(shop: Any) -> None:
    exporter = PackageExporter(io.BytesIO(), policy="auto")
    exporter.save_object("shop", "thing", shop.Net(), example=Example(X, width=3))
    (problem,) = exporter.plan().problems
    assert problem.subject == "check thing"
    assert "unexpected keyword argument 'width'" in str(problem)


def test_an_entry_point_of_that_name_is_the_one_that_is_called(shop: Any) -> None:
    exporter = PackageExporter(io.BytesIO(), policy="auto")
    exporter.save_entry_point("thing", "shop", "thing", "encode", gives={"output.0": "any"})
    exporter.save_object("shop", "thing", shop.words, example="a")
    exporter.save_object("other", "thing", shop.words, example="a b", method="encode")
    plan = exporter.plan()
    assert [(one.name, one.package) for one in plan.entry_points] == [
        ("thing", "shop"),
        ("other.thing", "other"),
    ]
    assert [one.entry_point for one in plan.checks] == ["thing", "other.thing"]
    again = PackageExporter(io.BytesIO(), policy="auto")
    again.save_entry_point("thing", "shop", "thing", "encode")
    with pytest.raises(
        PackagingError, match=r"method='size': entry point 'thing' of shop/thing calls encode. Leave"
    ):
        again.save_object("shop", "thing", shop.words, method="size")


def test_the_default_object_keeps_its_default_entry(shop: Any) -> None:
    file = io.BytesIO()
    with PackageExporter(file, policy="auto") as exporter:
        exporter.save_object("model", "model", shop.Net(), example=X)
    assert [(one.name, one.callable) for one in exporter.plan().entry_points] == [("model", None)]
    with PackageImporter(file) as importer:
        assert importer.check()[0].within(0)


# --- where there is none ---


def told_at_the_end(obj: Any, **how: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with PackageExporter(io.BytesIO(), policy="auto", **how) as exporter:
            exporter.save_object("shop", "thing", obj)
    assert {type(one.message) for one in told} <= {UncheckedOutputsWarning}
    return [str(one.message) for one in told]


@pytest.mark.parametrize("name", ["Net", "Words", "Regressor", "double"])
def test_an_object_of_stored_code_without_an_example_is_told_in_one_line(shop: Any, name: str) -> None:
    made = {"Words": shop.words, "double": shop.double}
    obj = made.get(name) or getattr(shop, name)()
    assert told_at_the_end(obj) == [
        (
            "outputs are not checked (the archive, shop/thing). Add an example to the call that saves it: "
            "example=x"
        )
    ]


def test_a_library_s_object_that_holds_stored_code_is_told(shop: Any) -> None:
    assert len(told_at_the_end(kellet.nn.Sequential(shop.Net()))) == 1


def test_data_and_objects_of_libraries_are_not_told(shop: Any) -> None:
    for obj in ({"width": 3}, shop.Config(4), [shop.Config(4)], kellet.nn.Linear(2, 1)):
        assert told_at_the_end(obj) == []
    assert told_at_the_end(shop.Net(), prove=False) == []


def test_each_object_is_told_once_and_one_with_a_check_is_not(shop: Any) -> None:
    exporter = PackageExporter(io.BytesIO(), policy="auto")
    exporter.save_object("shop", "one", shop.Net())
    exporter.save_object("shop", "two", shop.Net())
    exporter.save_object("shop", "three", shop.Net(), example=X)
    exporter.save_object("model", "model", shop.Net())
    exporter.save_example("model", {"x": X})
    assert exporter.plan().unchecked == ("shop/one", "shop/two")
    with pytest.warns(UncheckedOutputsWarning) as told:
        exporter.close()
    assert [re.search(r"shop/\w+", str(one.message))[0] for one in told] == ["shop/one", "shop/two"]


# --- the command ---


def test_the_command_takes_examples(
    shop: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    np.savez("x.npz", x=X)
    assert main(["export", "exshop.nets:regressor", "--example", "x.npz", "-o", "net.kellet"]) == 0
    assert "not checked" not in capsys.readouterr().out
    assert main(["check", "net.kellet"]) == 0
    assert capsys.readouterr().out == "model: output: the same bits\n"
    assert main(["export", "exshop.nets:regressor", "-o", "net.kellet"]) == 0
    printed = capsys.readouterr()
    line = "outputs are not checked (model/model): add example=x (--example x.npz)"
    assert (printed.out.count(line), printed.err) == (1, "")
    assert main(["export", "exshop.nets:regressor", "-o", "net.kellet", "--json"]) == 0
    assert capsys.readouterr().err == f"{line}\n"


class Raising:
    """Raises what it likes where it is asked for what it has not."""

    @property
    def boom(self) -> Any:
        raise RuntimeError("not now")

    def __getattr__(self, name: str) -> Any:
        raise KeyError(name)

    def __call__(self, x: Any) -> Any:
        return x


def test_an_object_that_raises_where_it_is_asked_is_called_or_refused_by_type() -> None:
    exporter = PackageExporter(io.BytesIO(), policy="auto")
    exporter.save_object("model", "model", Raising(), example=1)
    assert [check.name for check in exporter.plan().checks] == ["model"]
    refused = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    with pytest.raises(ArgumentError, match="example=: 'boom' of Raising raises RuntimeError: not now"):
        refused.save_object("model", "model", Raising(), example=1, method="boom")


def test_an_array_that_means_more_than_its_numbers_is_refused() -> None:
    masked = np.ma.array([1.0, 2.0], mask=[False, True])
    refused = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    told = "argument arg0 is of type MaskedArray; expected a plain array: write numpy.asarray"
    with pytest.raises(ArgumentError, match=told):
        refused.save_object("model", "model", Raising(), example=masked)


def test_a_pretrained_model_is_called_with_its_example(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = "class Shouting:\n    def __call__(self, text):\n        return text.upper()\n"
    project({"shouting.py": source})
    model = importlib.import_module("shouting").Shouting()
    monkeypatch.setattr("packager._pretrained.parts_in", lambda source, *parts, **more: source)
    monkeypatch.setattr("packager._pretrained.wrapped", lambda parts: parts)
    monkeypatch.setattr("packager._pretrained.wrapper_source", lambda module: source)
    monkeypatch.setattr("packager._pretrained.declared_inputs", lambda wrapper: {"text": "text"})
    exporter = PackageExporter(io.BytesIO(), policy="auto")
    exporter.save_pretrained(model, example="two words")
    exporter.save_pretrained(model, "model", "other", example=Example(text="three words more"))
    plan = exporter.plan()
    assert [(check.entry_point, bool(check.outputs)) for check in plan.checks] == [
        ("model", True),
        ("other", True),
    ]
    assert (plan.ok, plan.unchecked) == (True, ())
    assert next(map(str, plan.schemas)).startswith("model(text: text) -> output: text")
