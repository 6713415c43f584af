"""An entry point names a method in data: nothing but models' own names and stored code's methods is called.

Each abuse is an archive that was honest but for what its manifest says, and has a twin that must run.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import io
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import Pipeline

import kellet
from kellet import nn
from packager import PackageExporter, PackageImporter, PackagingError, sys_importer
from packager._archive import ArchiveReader, ArchiveWriter, CheckRecord, EntryPoint, ModuleRecord
from packager._calls import EntryMethodError
from packager._cli import main
from packager.errors import KeyNotStoredError
from tests.tables import one_test

# Some of what is saved here needs trust, which the export says.
pytestmark = pytest.mark.filterwarnings("ignore::packager.errors.PackagingWarning")

X = np.arange(6, dtype="f4").reshape(3, 2)
SHOP = """
import functools, pathlib, collections
from kellet import nn

class Base:
    def inherited(self, x):
        return x + 1

class Till(Base):
    later = functools.partialmethod(Base.inherited)
    not_a_method = 5
    def add(self, x):
        return x + x
    def predict(self, x):
        return x * 2
    @staticmethod
    def double(x):
        return 2 * x
    @classmethod
    def triple(cls, x):
        return 3 * x
    @functools.lru_cache(maxsize=None)
    def cached(self, x=3):
        return x
    @property
    def computed(self):
        raise SystemExit("a property was computed")
    @functools.cached_property
    def kept(self):
        raise SystemExit("a property was computed")
    def _private(self, x):
        return x
    def __call__(self, x):
        return -x

class Slotted:
    __slots__ = ("stored", "x")
    def __init__(self):
        self.stored = len

class Folder(pathlib.PurePosixPath):
    pass

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)
        self.encoder = nn.Sequential(nn.Linear(2, 1))
    def forward(self, x):
        return self.fc(x)
    def encode(self, x):
        return self.encoder(x)

class Renamed:
    def add(self, x):
        return x + x
Renamed.__module__ = "shop"

def build():
    return Till()
"""
Project = Callable[[Mapping[str, str]], Path]


@pytest.fixture
def shop(project: Project) -> Any:
    project({"shop/__init__.py": "from .net import *\n", "shop/net.py": SHOP})
    return importlib.import_module("shop.net")


def stored(*objects: Any, **factories: Any) -> bytes:
    """An archive with objects as `app/0`, `app/1`, ... and no entry point."""
    file = io.BytesIO()
    with PackageExporter(file, policy="auto", prove=False) as exporter:
        for number, obj in enumerate(objects):
            exporter.save_object("app", str(number), obj, **factories)
    return file.getvalue()


@functools.cache
def arrays() -> bytes:
    """An archive with what golden calls are asked and answer."""
    file = io.BytesIO()
    with PackageExporter(file, policy="auto", prove=False) as exporter:
        exporter.save_state_dict("in", "x", {"arg0": X})
        exporter.save_state_dict("out", "x", {"output": X})
    return file.getvalue()


def renamed(archive: bytes, callable: str | None, resource: str = "0", **changes: Any) -> bytes:
    """The same archive, whose manifest has an entry point `model` for `callable`, and a golden call of it."""
    file = io.BytesIO()
    with ArchiveReader(archive) as reader, ArchiveReader(arrays()) as given, ArchiveWriter(file) as writer:
        for source in (reader, given):
            for name in source.names():
                entry = source.entry(name)
                writer.add(name, source.read(name), kind=entry.kind, align=entry.align)
        point = EntryPoint("model", "app", resource, callable)
        check = CheckRecord("golden", "model", "in/x", "out/x")
        writer.seal(dataclasses.replace(reader.manifest, entry_points=(point,), checks=(check,), **changes))
    return file.getvalue()


def refused(archive: bytes, message: str, **options: Any) -> None:
    """Every call that follows an entry point raises the same, for the same reason."""
    for call in (lambda importer: importer.run({"arg0": X}), lambda importer: importer.check()):
        with PackageImporter(archive, **options) as importer, pytest.raises(EntryMethodError, match=message):
            call(importer)


def answer(archive: bytes, **options: Any) -> Any:
    with PackageImporter(archive, **options) as importer:
        (outcome,) = importer.check()
        assert outcome.name == "golden"
        return importer.run({"arg0": X})


def test_a_method_of_stored_data_is_not_called(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    archive = renamed(stored(victim), "write_bytes")
    trust = ("pathlib:PosixPath",)
    refused(
        archive,
        r"entry point 'model' of app/0: the object is data, of which only .*, not 'write_bytes'",
        trust=trust,
    )
    refused(renamed(stored(victim), None), r"pathlib\S*PosixPath cannot be called", trust=trust)
    assert not victim.exists()


@pytest.mark.parametrize("command", ["run", "check"])
def test_commands_refuse_it_too(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, victim = tmp_path / "net.kellet", tmp_path / "victim"
    path.write_bytes(renamed(stored(victim), "write_bytes"))
    np.savez(tmp_path / "x.npz", arg0=X)
    given = ["--input", str(tmp_path / "x.npz")] if command == "run" else []
    assert main([command, str(path), *given]) != 0
    assert "can be called, not 'write_bytes'" in capsys.readouterr().err
    assert not victim.exists()


@one_test
@pytest.mark.parametrize(
    ("obj", "callable"),
    [
        ({"a": 1}, "update"),
        ([1, 2], "append"),
        (np.arange(3.0), "tofile"),
        (nn.Linear(2, 1), "load_state_dict"),
        (nn.Linear(2, 1), "register_forward_hook"),
        (functools.partial(np.sum, axis=0), "func"),
        (len, "__init__"),
    ],
)
def test_data_alone_is_called_by_listed_names_and_no_others(obj: Any, callable: str) -> None:
    refused(
        renamed(stored(obj), callable), "the object is data, of which only|is not the name of a public method"
    )


def test_source_that_the_object_does_not_name_changes_nothing(shop: Any, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    file = io.BytesIO()
    with PackageExporter(file, policy="auto", prove=False) as exporter:
        exporter.save_module("shop.net")
        exporter.save_object("app", "0", victim)
        exporter.save_object("app", "1", shop.Till())
    refused(renamed(file.getvalue(), "write_bytes"), "the object is data, of which only")
    assert not victim.exists()
    assert np.array_equal(answer(renamed(file.getvalue(), "add", "1"))["output"], X + X)


def test_mocks_and_folders_of_modules_are_no_code(tmp_path: Path) -> None:
    # A record without a source made every name of its module the archive's own.
    archive = stored(nn.Linear(2, 2))
    rows = (
        ModuleRecord("kellet.nn", "mock", "rule", "because"),
        ModuleRecord("kellet.nn.layers.linear", "intern", "rule", "because"),
        ModuleRecord("kellet", "intern", "rule", "because", ".data/no-such-entry", True),
    )
    for row in rows:
        with ArchiveReader(renamed(archive, "state_dict", modules=(row,))) as reader:
            assert reader.manifest.stored_modules == frozenset()
        refused(renamed(archive, "state_dict", modules=(row,)), "the object is data, of which only")


@pytest.mark.parametrize(
    ("callable", "expected"),
    [
        (None, -X),
        ("__call__", -X),
        ("add", 2 * X),
        ("predict", 2 * X),
        ("inherited", X + 1),
        ("later", X + 1),
        ("double", 2 * X),
        ("triple", 3 * X),
    ],
)
@pytest.mark.parametrize("how", ["layout", "factory", "installed"])
def test_public_methods_of_stored_classes_are_called(
    shop: Any, callable: str | None, expected: Any, how: str
) -> None:
    options = {"factory": shop.build, "config": {}} if how == "factory" else {}
    archive = renamed(stored(shop.Till(), **options), callable)
    if how == "installed":
        for name in ("shop.net", "shop"):
            sys.modules.pop(name)
        path = sys.path.pop(0)
        try:
            with PackageImporter(archive) as importer:
                found = importer.install().run({"arg0": X})
        finally:
            sys.path.insert(0, path)
    else:
        found = answer(archive)
    assert np.array_equal(found["output"], expected)


def test_a_method_that_other_code_wraps_is_called(shop: Any) -> None:
    with PackageImporter(renamed(stored(shop.Till()), "cached")) as importer:
        assert importer.run({}) == {"output": 3}


def test_a_class_that_bears_another_modules_name_is_still_stored_code(shop: Any) -> None:
    assert np.array_equal(answer(renamed(stored(shop.Renamed()), "add"))["output"], 2 * X)


@pytest.mark.parametrize(
    ("callable", "message"),
    [
        ("computed", "'computed' of .* is a property; expected a method"),
        ("kept", "'kept' of .* is a cached_property; expected a method"),
        ("not_a_method", "'not_a_method' of .* is a int; expected a method"),
        ("_private", "'_private' is not the name of a public method"),
        ("__init__", "'__init__' is not the name of a public method"),
        ("__class__", "'__class__' is not the name of a public method"),
        ("absent", "has no method 'absent'"),
        ("add.__func__", "'add.__func__' is a path; expected the name of one method"),
        ("", "'' is not the name of a public method"),
        ("add\n", "is not the name of a public method"),
        ("\uff41dd", "has no method"),
    ],
)
def test_what_is_no_public_method_of_stored_code_is_refused(shop: Any, callable: str, message: str) -> None:
    till = shop.Till()
    refused(renamed(stored(till), callable), message)


def test_a_refusal_names_the_class_as_its_source_does(shop: Any) -> None:
    cases = {"absent": r"{}\.Till has no method", "not_a_method": r"'not_a_method' of {}\.Till is a int"}
    for callable, message in cases.items():
        refused(renamed(stored(shop.Till()), callable), message.format(shop.Till.__module__))


def test_attributes_of_an_object_do_not_take_the_place_of_methods(shop: Any) -> None:
    till, net = shop.Till(), shop.Net()
    till.add, till.predict = len, len
    for callable in ("add", "predict"):
        refused(renamed(stored(till), callable), f"the object has an attribute '{callable}', which hides")
    refused(renamed(stored(shop.Slotted()), "stored"), "is a member_descriptor; expected a method")
    refused(renamed(stored(net), "encoder"), "has no method 'encoder'")
    refused(renamed(stored(net), "fc.forward"), "is a path")


def test_methods_that_stored_classes_only_inherit_from_others_are_refused(shop: Any) -> None:
    refused(
        renamed(stored(shop.Net()), "load_state_dict"),
        "'load_state_dict' of .* is not defined by code of the archive",
    )
    refused(
        renamed(stored(shop.Folder("a")), "joinpath"),
        "'joinpath' of .* is not defined by code of the archive",
    )
    net = shop.Net()
    given = kellet.tensor(X)
    for callable, expected in (("forward", net(given)), (None, net(given)), ("encode", net.encoder(given))):
        found = answer(renamed(stored(net), callable))["output"]
        assert np.array_equal(found, expected.detach().numpy())


def test_a_foreign_object_that_holds_stored_code_is_foreign_all_the_same(shop: Any) -> None:
    box = functools.partial(shop.Till().add)
    refused(
        renamed(stored({"till": shop.Till()}), "update"),
        "'update' of .* is not defined by code of the archive",
    )
    refused(renamed(stored(box), "func"), "'func' of .* is not defined by code of the archive")


@one_test
@pytest.mark.parametrize(
    ("model", "callable", "expected"),
    [
        (LinearRegression(), "predict", lambda model: model.predict(X)),
        (LogisticRegression(), "predict_proba", lambda model: model.predict_proba(X)),
        (PCA(1), "transform", lambda model: model.transform(X)),
        (nn.Linear(2, 1), "forward", lambda model: model(kellet.tensor(X)).detach().numpy()),
        (nn.Linear(2, 1), None, lambda model: model(kellet.tensor(X)).detach().numpy()),
        (functools.partial(np.sum, axis=0), None, lambda model: X.sum(0)),
        (np.tanh, "__call__", lambda model: np.tanh(X)),
    ],
)
def test_models_of_libraries_are_called_by_the_names_that_models_have(
    model: Any, callable: str | None, expected: Callable[[Any], Any]
) -> None:
    if hasattr(model, "fit"):
        model.fit(X, [0, 1, 1])
    found = answer(renamed(stored(model), callable), trust=("sklearn.**:*",))["output"]
    assert np.array_equal(found, expected(model))


def test_a_method_that_an_estimator_has_under_a_condition_is_told() -> None:
    model = Pipeline([("last", LinearRegression())]).fit(X, [0, 1, 1])
    trust = ("sklearn.**:*",)
    refused(renamed(stored(model), "transform"), "has no 'transform': ", trust=trust)
    found = answer(renamed(stored(model), "predict"), trust=trust)["output"]
    assert np.array_equal(found, model.predict(X))


def test_an_entry_point_of_no_object_is_told() -> None:
    for callable in (None, "add"):
        expected = pytest.raises(KeyNotStoredError, match="no object '9'")
        with PackageImporter(renamed(stored([1]), callable, "9")) as importer, expected:
            importer.run({})


@pytest.mark.parametrize("with_check", [False, True])
@pytest.mark.parametrize(
    ("make", "callable", "message"),
    [
        (lambda shop, path: path, "write_bytes", "is not defined by code of the archive"),
        (lambda shop, path: path, None, "cannot be called"),
        (lambda shop, path: shop.Till(), "_private", "'_private' is not the name of a public method"),
        (lambda shop, path: shop.Till(), "computed", "is a property; expected a method"),
        (lambda shop, path: shop.Net(), "encoder.forward", "'encoder.forward' is a path"),
        (
            lambda shop, path: shop.Net(),
            "state_dict",
            "is not defined by code of the archive",
        ),
    ],
)
def test_the_plan_refuses_what_could_not_be_called(
    shop: Any, tmp_path: Path, make: Any, callable: str | None, message: str, with_check: bool
) -> None:
    target, victim = tmp_path / "net.kellet", tmp_path / "victim"
    exporter = PackageExporter(target, policy="auto", prove=False)
    exporter.save_object("app", "till", make(shop, victim))
    exporter.save_entry_point("use", "app", "till", callable)
    if with_check:
        exporter.save_example("use", {"arg0": X})
    (problem,) = exporter.plan().problems
    assert (problem.reason, problem.subject) == ("Entry point cannot be called.", "entry point use")
    assert message in problem.context
    with pytest.raises(PackagingError, match=r"Entry point cannot be called\.\n    entry point use"):
        exporter.close()
    assert not target.exists()
    assert not victim.exists()


def test_the_plan_refuses_a_method_of_a_class_that_is_left_to_the_target(shop: Any) -> None:
    exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    exporter.extern("shop.**")
    exporter.save_object("app", "till", shop.Till())
    exporter.save_entry_point("use", "app", "till", "add")
    exporter.save_entry_point("model", "app", "till", "predict")
    exporter.save_entry_point("none", "app", "other")
    problems = {problem.subject: problem.context for problem in exporter.plan().problems}
    assert list(problems) == ["entry point use", "entry point none"]
    assert "is not defined by code of the archive" in problems["entry point use"]
    assert "no such object is saved" in problems["entry point none"]


@pytest.fixture
def loaded(shop: Any) -> Iterator[Any]:
    with PackageImporter(stored(shop.Till())) as importer:
        yield importer


def test_an_object_of_another_archive_keeps_its_entry_point(loaded: Any) -> None:
    file = io.BytesIO()
    with PackageExporter(file, policy="auto", importer=(loaded, sys_importer), prove=False) as exporter:
        exporter.save_object("app", "0", loaded.load_object("app", "0"))
        exporter.save_entry_point("use", "app", "0", "add")
    with PackageImporter(file) as importer:
        assert np.array_equal(importer.run({"arg0": X}, "use")["output"], 2 * X)
