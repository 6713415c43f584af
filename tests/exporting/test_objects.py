"""Objects, state dicts and golden calls become data in the archive, and come back as they were."""

from __future__ import annotations

import importlib
import io
import logging
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kellet
from kellet import nn
from packager import (
    ArgumentError,
    PackageExporter,
    PackageImporter,
    PackagingError,
    PackagingWarning,
    UntrustedTypeError,
)
from packager._archive import ArchiveReader, CheckRecord, EntryPoint, TensorReader, TypeUse, verify
from tests import processes

Project = Callable[[Mapping[str, str]], Path]

NET = """
import kellet
from kellet import nn

class Net(nn.Module):
    def __init__(self, width=4):
        super().__init__()
        self.first = nn.Linear(2, width)
        self.norm = nn.BatchNorm1d(width)
        self.last = nn.Linear(width, 1)

    def forward(self, x):
        return self.last(self.norm(self.first(x)).relu())

def build(width=4):
    return Net(width)
"""


@pytest.fixture
def net(project: Project) -> Any:
    project({"shop/__init__.py": "", "shop/net.py": NET})
    import shop.net  # type: ignore[import-not-found]  # written above

    return shop.net


def test_a_module_comes_back_and_gives_the_same_outputs(net: Any) -> None:
    model, x = net.Net().eval(), kellet.tensor(np.random.default_rng(0).normal(size=(5, 2)).astype("f4"))
    buffer = io.BytesIO()
    with PackageExporter(buffer, policy="auto", prove=False) as exporter:
        exporter.save_object("model", "model", model)
    with ArchiveReader(buffer) as reader:
        assert verify(reader).ok
        (record,) = reader.manifest.objects
        assert TypeUse("shop.net:Net", "create") in record.types
        assert reader.manifest.entry_points == (EntryPoint("model", "model", "model"),)
        assert "first.weight" in TensorReader(reader, "model/model.safetensors")
    with PackageImporter(buffer) as importer:
        loaded = importer.load_object("model", "model")
        assert type(loaded) is not net.Net
        assert np.array_equal(loaded(x).detach().numpy(), model(x).detach().numpy())


@pytest.mark.long
def test_an_object_of_very_many_small_arrays_is_read_under_the_bounds_of_objects() -> None:
    """Its table holds more values than other entries of its size may, such as a manifest."""
    arrays = {f"layer.{number}": np.full(1, number, "f4") for number in range(24_000)}
    file = io.BytesIO()
    with PackageExporter(file, policy="auto", prove=False) as exporter:
        exporter.save_object("model", "arrays", arrays)
        assert exporter.plan().problems == ()
    file.seek(0)
    with PackageImporter(file) as importer:
        loaded = importer.load_object("model", "arrays")
    assert list(loaded) == list(arrays)
    assert all(loaded[key].tolist() == array.tolist() for key, array in arrays.items())


def test_kellet_is_an_implicit_extern_of_an_object_that_needs_it(net: Any) -> None:
    exporter = PackageExporter(io.BytesIO(), prove=False)
    exporter.intern("shop.**")
    exporter.save_object("model", "model", net.Net())
    exporter.close()
    assert set(exporter.interned_modules()) == {"shop", "shop.net"}
    assert {name.partition(".")[0] for name in exporter.externed_modules()} == {"kellet"}


def test_numpy_is_an_implicit_extern_of_arrays(project: Project) -> None:
    project({"holder.py": "import numpy\nclass Holder:\n    pass\n"})
    import holder  # type: ignore[import-not-found]  # written above

    thing = holder.Holder()
    thing.array = np.ones(2)
    exporter = PackageExporter(io.BytesIO(), prove=False)
    exporter.intern("holder")
    exporter.save_object("model", "model", thing)
    assert exporter.plan().ok
    assert exporter.why("numpy").decision.because == "framework of a codec in use"


def test_save_hooks_of_modules_run_and_what_they_drop_is_not_in_the_file() -> None:
    class Quiet(nn.Linear):
        pass

    model = nn.Linear(64, 64, bias=False)
    secret = model.weight.detach().numpy().tobytes()
    model.register_state_dict_post_hook(quantise)
    buffer = io.BytesIO()
    with PackageExporter(buffer, policy="auto", prove=False) as exporter:
        exporter.save_state_dict("model", "weights", model)
    assert secret not in buffer.getvalue()
    with ArchiveReader(buffer) as reader:
        assert TensorReader(reader, "model/weights")["weight"].dtype == "I8"
        assert verify(reader).ok


def quantise(module: Any, state_dict: Any, prefix: str, keep_vars: Any) -> None:
    weight = state_dict[prefix + "weight"].numpy()
    state_dict[prefix + "weight"] = (weight * 100).astype(np.int8)


def test_a_state_dict_is_one_member_with_extras_beside_it() -> None:
    state = {"w": np.arange(6, dtype="f4").reshape(2, 3), "note": "custom"}
    state["tied"] = state["w"]
    buffer = io.BytesIO()
    with PackageExporter(buffer, prove=False) as exporter:
        exporter.save_state_dict("model", "weights.safetensors", state)
    with ArchiveReader(buffer) as reader:
        (record,) = reader.manifest.state_dicts
        assert (record.entry, record.extras) == (
            "model/weights.safetensors",
            ".data/extras/model/weights.safetensors",
        )
        tensors = TensorReader(reader, record.entry)
        assert tensors["w"].storage == tensors["tied"].storage
        assert reader.entry(record.entry).size < 400


def test_versions_of_modules_are_in_the_manifest() -> None:
    buffer = io.BytesIO()
    with PackageExporter(buffer, prove=False) as exporter:
        exporter.save_state_dict("model", "weights", nn.Sequential(nn.BatchNorm1d(2)))
    with ArchiveReader(buffer) as reader:
        assert ("0", 2) in reader.manifest.state_dicts[0].versions


def test_what_a_state_dict_cannot_store_is_told_by_key() -> None:
    exporter = PackageExporter(io.BytesIO(), prove=False)
    exporter.save_state_dict("model", "weights", {"f": lambda: 1})
    with pytest.raises(PackagingError) as caught:
        exporter.close()
    assert "Object cannot be stored." in str(caught.value)
    with pytest.raises(ArgumentError, match="state dict: expected names as keys, found 3"):
        PackageExporter(io.BytesIO(), prove=False).save_state_dict("model", "weights", {3: np.ones(1)})


def test_what_is_no_state_dict_is_a_type_error() -> None:
    exporter = PackageExporter(io.BytesIO(), prove=False)
    with pytest.raises(TypeError, match="expected a module or a mapping"):
        exporter.save_state_dict("model", "weights", 3)
    assert exporter.plan().ok


@pytest.mark.parametrize("by_name", [True, False])
def test_a_factory_is_stored_by_name_with_config_and_state(net: Any, by_name: bool) -> None:
    model = net.build(width=8)
    buffer = io.BytesIO()
    with PackageExporter(buffer, policy="auto", prove=False) as exporter:
        factory = "shop.net:build" if by_name else net.build
        exporter.save_object("model", "model", model, factory=factory, config={"width": 8})
    with ArchiveReader(buffer) as reader:
        assert verify(reader).ok
        (record,) = reader.manifest.objects
        assert record.factory == "shop.net:build"
        assert record.types == (TypeUse("shop.net:build", "call"),)
        (state,) = reader.manifest.state_dicts
        assert (state.package, state.resource, state.entry) == ("model", "model", "model/model.safetensors")
        assert "first.weight" in TensorReader(reader, state.entry)
    with PackageImporter(buffer) as importer:
        loaded = importer.load_object("model", "model")
        assert loaded.first.weight.tolist() == model.first.weight.tolist()


def test_a_factory_that_is_no_name_is_refused() -> None:
    exporter = PackageExporter(io.BytesIO(), prove=False)
    with pytest.raises(PackagingError, match="factory 'build': expected a callable, or its name as"):
        exporter.save_object("model", "model", None, factory="build")
    assert exporter.plan().objects == ()


def test_a_check_stores_a_call_and_its_result(net: Any) -> None:
    model = net.Net().eval()
    x = np.random.default_rng(0).normal(size=(3, 2)).astype("f4")
    buffer = io.BytesIO()
    with PackageExporter(buffer, policy="auto", prove=False) as exporter:
        exporter.save_object("model", "model", model)
        exporter.save_example("model", {"x": x})
    with ArchiveReader(buffer) as reader:
        assert verify(reader).ok
        inputs, outputs = ".data/checks/model/inputs.safetensors", ".data/checks/model/outputs.safetensors"
        assert reader.manifest.checks == (CheckRecord("model", "model", inputs, outputs),)
        assert bytes(TensorReader(reader, inputs).data("x")) == x.tobytes()
        stored = np.frombuffer(TensorReader(reader, outputs).data("output"), "f4").reshape(3, 1)
    assert np.array_equal(stored, model(kellet.tensor(x)).detach().numpy())
    with PackageImporter(buffer) as importer:
        (outcome,) = importer.check()
        assert outcome.within(0)


def test_the_call_of_a_check_leaves_the_object_as_it_was(net: Any) -> None:
    model = net.Net()  # in training mode: a call moves the running mean
    exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    exporter.save_object("model", "model", model)
    exporter.save_example("model", {"arg0": np.ones((4, 2), "f4")})
    with pytest.warns(PackagingWarning, match="is stored in training mode"):
        exporter.close()
    assert model.norm.num_batches_tracked.item() == 0


def test_an_entry_point_may_name_an_attribute_to_call(project: Project) -> None:
    project({"shop.py": "class Till:\n    def add(self, a, b):\n        return {'sum': a + b}\n"})
    import shop

    buffer = io.BytesIO()
    with PackageExporter(buffer, policy="auto", prove=False) as exporter:
        exporter.save_object("app", "till", shop.Till())
        exporter.save_entry_point("add", "app", "till", "add")
        exporter.save_example("add", {"arg0": 1, "b": 2.5})
    with ArchiveReader(buffer) as reader:
        assert reader.manifest.entry_points == (EntryPoint("add", "app", "till", "add"),)
        assert list(TensorReader(reader, ".data/checks/add/outputs.safetensors")) == ["output.sum"]


@pytest.mark.parametrize(
    ("name", "inputs", "context"),
    [
        ("other", {}, "there is no entry point 'other' with an object; there is model"),
        ("model", {"arg1": 1}, "calling it failed: CallError: .*arg0 is missing"),
        ("model", {"y": 1}, "calling it failed: CallError: inputs: .*found y; expected x"),
        (
            "model",
            {"x": object()},
            "calling it failed: CallError: input x is of type object; expected an array",
        ),
    ],
)
def test_a_check_that_cannot_be_made_is_a_problem(
    project: Project, name: str, inputs: dict[str, Any], context: str
) -> None:
    project({"shop.py": "class Till:\n    def __call__(self, x):\n        return 1\n"})
    import shop

    exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    exporter.save_object("model", "model", shop.Till())
    exporter.save_example(name, inputs)
    with pytest.raises(
        PackagingError, match=rf"Example cannot be stored\.\n    check {name}\n      Context: {context}"
    ):
        exporter.close()


def test_a_refusal_of_several_places_under_one_name_is_told_once(project: Project) -> None:
    project({"blocks.py": "def make():\n    class Block:\n        pass\n    return Block\n"})
    import blocks

    exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    exporter.save_object("model", "model", {blocks.make()(): 1, blocks.make()(): 2})
    assert len(exporter.plan().problems) == len(set(exporter.plan().problems))


PREDICTORS = "forward, predict, predict_proba, transform"


@pytest.mark.parametrize(
    ("methods", "context", "fix"),
    [
        (
            "predict transform",
            "; Pipe cannot be called itself: name its method (--callable predict)",
            ', "predict")',
        ),
        (
            "fit",
            f"; Pipe cannot be called, and its class has no {PREDICTORS}, decision_function",
            "",
        ),
        ("__call__", "", ")"),
    ],
)
def test_a_check_without_an_entry_point_leads_to_one(
    project: Project, methods: str, context: str, fix: str
) -> None:
    lines = [f"    def {method}(self, x): return x\n" for method in methods.split()]
    project({"waterpipes.py": f"class Pipe:\n{''.join(lines)}"})
    import waterpipes

    exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    exporter.save_object("app", "pipe", waterpipes.Pipe())
    exporter.save_example("score", {"x": np.ones(2)})
    [problem] = exporter.plan().problems
    assert problem.context == f"there is no entry point 'score' with an object; there is none{context}"
    assert problem.fix == (fix and f'exporter.save_entry_point("score", "app", "pipe"{fix}')
    if fix:
        exec(problem.fix, {"exporter": exporter})
        assert exporter.plan().problems == ()


def test_warnings_about_objects_are_in_the_plan() -> None:
    model = nn.Linear(1, 1)
    model(kellet.ones(1, 1)).sum().backward()
    exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    exporter.save_object("model", "model", model)
    assert any(warning.startswith("object model/model: model") for warning in exporter.plan().warnings)


def test_names_that_loaders_refuse_by_default_are_in_the_plan_already() -> None:
    file = io.BytesIO()
    exporter = PackageExporter(file, policy="auto", prove=False)
    exporter.save_object("data", "filter", logging.Filter("root.net"))
    (warning,) = exporter.plan().warnings
    with pytest.warns(PackagingWarning, match=re.escape(warning)):
        exporter.close()
    assert warning == (
        "object data/filter needs names that loaders refuse without trust: PackageImporter(..., "
        "trust=('logging:Filter',))"
    )
    with PackageImporter(file) as importer, pytest.raises(UntrustedTypeError, match="logging:Filter"):
        importer.load_object("data", "filter")
    with PackageImporter(file, trust=("logging:Filter",)) as importer:
        assert importer.load_object("data", "filter").name == "root.net"


STATING = """
class Stating:
    def __init__(self, number):
        self.number = number

    def __setstate__(self, state):
        self.number = state["number"]
"""


@pytest.mark.filterwarnings("ignore::packager.errors.PackagingWarning")
def test_a_name_to_trust_is_told_once_however_many_objects_ask_for_it(
    project: Project, tmp_path: Path
) -> None:
    project({"stating/__init__.py": STATING})
    kind = importlib.import_module("stating").Stating
    exporter = PackageExporter(tmp_path / "x.kellet", policy="auto", prove=False)
    exporter.extern("stating")
    exporter.save_object("m", "o", [kind(number) for number in range(12)])
    told = [one for one in exporter.plan().warnings if "loaders" in one]
    needs = "object m/o needs names that loaders refuse without trust: "
    assert told == [needs + "PackageImporter(..., trust=('stating:Stating',))"]
    exporter.close()
    with PackageImporter(tmp_path / "x.kellet", trust=("stating:Stating",)) as importer:
        assert [one.number for one in importer.load_object("m", "o")] == list(range(12))


@pytest.mark.filterwarnings("ignore::packager.errors.PackagingWarning")
def test_what_no_name_vouches_for_is_told_with_one_of_its_places(tmp_path: Path) -> None:
    exporter = PackageExporter(tmp_path / "x.kellet", policy="auto", prove=False)
    crowded = [{((1 << 61) - 1) * at: 0 for at in range(1, 1000)} for _ in range(3)]
    exporter.save_object("m", "o", crowded)
    told = [one for one in exporter.plan().warnings if "refused by loaders" in one]
    assert len(told) == 1
    assert told[0].startswith("object m/o is refused by loaders: obj[0], and 2 other places: 999 keys")
    exporter.close()


def test_names_of_stored_code_need_no_trust(net: Any) -> None:
    exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    exporter.save_object("model", "model", net.build())
    assert exporter.plan().warnings == ()


def test_an_object_without_migrations_enters_no_file_of_them(tmp_path: Path) -> None:
    code = (
        "import sys; from kellet import nn; from packager import PackageExporter\n"
        f"with PackageExporter({str(tmp_path / 'a.kellet')!r}, fsync=False) as exporter:\n"
        "    exporter.save_object('m', 'net', nn.Linear(2, 1))\n"
        "print(sorted(name for name in sys.modules if name.startswith('packager._migrations.')))"
    )
    run = processes.run([sys.executable, "-c", code], cold=True, capture_output=True, text=True, check=True)
    assert run.stdout == "['packager._migrations.attachments']\n"
