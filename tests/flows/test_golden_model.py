"""A model packed by an earlier version is read for ever: code, objects, state dicts, a stored call."""

from __future__ import annotations

import importlib.util
import io
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from fixtures.golden import released
from packager import PackageImporter
from packager._archive import ArchiveReader

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = released.archives("model")


@pytest.fixture(scope="module")
def script() -> ModuleType:
    specification = importlib.util.spec_from_file_location("golden_model", ROOT / "fixtures/golden/model.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@pytest.fixture(params=GOLDEN, ids=lambda path: path.stem)
def importer(request: pytest.FixtureRequest) -> Iterator[PackageImporter]:
    # It was made beside other versions of NumPy and Python, and says so when asked.
    with PackageImporter(request.param, environment="ignore") as importer:
        yield importer


@pytest.fixture
def project(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(ROOT / "fixtures" / "packages")
    yield
    for name in [name for name in sys.modules if name.partition(".")[0] == "goldnet"]:
        del sys.modules[name]


def test_the_model_gives_what_it_gave(importer: PackageImporter, script: ModuleType) -> None:
    net = importer.load_object("model", "model")
    assert net(script.INPUT).tolist() == script.OUTPUT
    assert net.calls == 1  # the hook that is a method of the model came along
    assert net.tied is net.second.bias
    (outcome,) = importer.check()
    assert [(part.name, part.same_bits) for part in outcome.deviations] == [("output", True)]


def test_the_factory_gives_the_same(importer: PackageImporter, script: ModuleType) -> None:
    built = importer.load_object("model", "built").eval()
    built.norm.eps = 0.0
    assert built(script.INPUT).tolist() == script.OUTPUT


def test_the_state_dict_holds_every_value(importer: PackageImporter) -> None:
    state = importer.load_state_dict("model", "weights")
    assert list(state) == [
        *(
            "tied",
            "first.weight",
            "first.bias",
            "norm.weight",
            "norm.bias",
            "norm.running_mean",
            "norm.running_var",
        ),
        *("norm.num_batches_tracked", "second.weight", "second.bias"),
    ]
    assert state["first.weight"].tolist() == [[0.0, 1.0], [2.0, 0.0], [1.0, 2.0]]


def test_training_goes_on_from_the_stored_step(importer: PackageImporter, script: ModuleType) -> None:
    assert script.step(*importer.load_object("model", "trained")) == [-0.25, -0.5]


def test_things_of_every_kind_come_back(importer: PackageImporter, script: ModuleType, project: None) -> None:
    written, read = script.things(), importer.load_object("model", "things")
    assert list(read) == list(written)
    for name in ("plain", "containers", "collections", "numbers"):
        assert _typed(read[name]) == _typed(written[name])
    for old, new in zip(written["arrays"], read["arrays"], strict=True):
        assert (new.dtype, new.shape, new.strides) == (old.dtype, old.shape, old.strides)
        assert np.array_equal(new, old)
    assert np.shares_memory(read["arrays"][0], read["arrays"][1])
    assert repr(read["classes"][:2]) == repr(written["classes"][:2])
    assert read["classes"][2].tags == {"a", "b", "c"}
    assert type(read["shared"][0]) is read["classes"][3]
    assert read["shared"][0] is read["shared"][1]
    assert read["shared"][0].other is read["shared"][0]
    assert read["ring"][1] is read["ring"]
    assert read["functions"][1](4) == 12


@pytest.mark.filterwarnings("ignore::packager.errors.PackagingWarning")
def test_every_python_stores_the_same_objects_sources_and_tensors(script: ModuleType, project: None) -> None:
    file = io.BytesIO()
    script.write(file)
    file.seek(0)
    with ArchiveReader(file) as today, ArchiveReader(GOLDEN[-1]) as golden:
        assert today.names() == golden.names()
        for name in golden.names():
            assert bytes(today.read(name)) == bytes(golden.read(name)), name


def _typed(value: Any) -> Any:
    """The value with its types, so that 1, True and 1.0 differ."""
    if isinstance(value, list | tuple | set | frozenset):
        members = [_typed(member) for member in value]
        return type(value), sorted(members, key=repr) if isinstance(value, set | frozenset) else members
    if isinstance(value, dict):
        return type(value), [(_typed(key), _typed(member)) for key, member in value.items()]
    return type(value), repr(value)
