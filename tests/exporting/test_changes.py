"""What is saved is what was there at the call, whatever becomes of it before the archive is closed."""

from __future__ import annotations

import collections
import copy
import io
import tracemalloc
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kellet
from kellet import nn
from packager import PackageExporter, PackageImporter
from packager._archive import ArchiveReader, TensorReader

Project = Callable[[Mapping[str, str]], Path]


def test_three_checkpoints_of_plain_values_are_three() -> None:
    history: dict[str, Any] = {"losses": [], "best": {"epoch": -1}, "seen": set()}
    buffer = io.BytesIO()
    with PackageExporter(buffer, policy="auto", prove=False) as exporter:
        for epoch in range(3):
            history["losses"].append(epoch / 2)
            history["best"]["epoch"] = epoch
            history["seen"].add(epoch)
            exporter.save_object("run", f"epoch{epoch}", history)
            exporter.save_state_dict("run", f"state{epoch}", history)
        history.clear()
    with PackageImporter(buffer) as importer:
        for epoch in range(3):
            expected = {
                "losses": [at / 2 for at in range(epoch + 1)],
                "best": {"epoch": epoch},
                "seen": set(range(epoch + 1)),
            }
            assert importer.load_object("run", f"epoch{epoch}") == expected
            assert dict(importer.load_state_dict("run", f"state{epoch}")) == expected


@pytest.mark.parametrize("size", [3, 5000, 3 << 18])
@pytest.mark.parametrize("digests", ["sha256", "crc"])
def test_three_checkpoints_of_one_array_are_three(tmp_path: Path, size: int, digests: str) -> None:
    weights = {"first.weight": np.zeros(size, "f4"), "first.bias": np.zeros(1, "f8"), "fixed": np.arange(4)}
    with PackageExporter(tmp_path / "out.kellet", policy="auto", digests=digests, prove=False) as exporter:
        for epoch in range(3):
            weights["first.weight"] += 1
            weights["first.bias"][0] = epoch
            exporter.save_state_dict("run", f"epoch{epoch}", weights)
            exporter.save_object("run", f"object{epoch}", weights)
        assert exporter.plan().problems == ()
        for array in weights.values():
            array[:] = 9
    with PackageImporter(
        tmp_path / "out.kellet", digests="sha256" if digests == "sha256" else None
    ) as importer:
        for epoch in range(3):
            for found in (
                importer.load_state_dict("run", f"epoch{epoch}"),
                importer.load_object("run", f"object{epoch}"),
            ):
                assert np.array_equal(found["first.weight"], np.full(size, epoch + 1, "f4"))
                assert (found["first.bias"].tolist(), found["fixed"].tolist()) == ([epoch], [0, 1, 2, 3])


def test_copies_of_three_checkpoints_are_three() -> None:
    model = nn.Linear(2, 1)
    optimizer = kellet.optim.Adam(model.parameters(), lr=0.5)
    buffer, expected = io.BytesIO(), []
    with PackageExporter(buffer, policy="auto", prove=False) as exporter:
        for epoch in range(3):
            model(kellet.ones(1, 2)).sum().backward()
            optimizer.step()
            state = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
            exporter.save_object("run", f"epoch{epoch}", copy.deepcopy(state))
            expected.append(model.weight.detach().numpy().copy())
    with PackageImporter(buffer) as importer:
        for epoch in range(3):
            loaded = importer.load_object("run", f"epoch{epoch}")
            assert np.array_equal(loaded["model"]["weight"].numpy(), expected[epoch])
    assert not np.array_equal(expected[0], expected[2])


def test_what_a_training_step_changes_is_as_it_was() -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    optimizer = kellet.optim.SGD(model.parameters(), lr=0.5, momentum=0.9)
    x = kellet.tensor([[1.0, 2.0], [3.0, 5.0]])

    def step() -> None:
        model(x).pow(2).sum().backward()
        optimizer.step()

    step()
    buffer = io.BytesIO()
    with PackageExporter(buffer, policy="auto", prove=False) as exporter:
        exporter.save_state_dict("run", "weights", model)
        exporter.save_object("run", "optimizer", optimizer.state_dict())
        before = {key: value.numpy().copy() for key, value in model.state_dict().items()}
        momentum = optimizer.state_dict()["state"][0]["momentum_buffer"].numpy().copy()
        step()
    assert not np.array_equal(before["0.weight"], model.state_dict()["0.weight"].numpy())
    with PackageImporter(buffer) as importer:
        weights = importer.load_state_dict("run", "weights")
        assert {key: value.tolist() for key, value in weights.items()} == {
            key: value.tolist() for key, value in before.items()
        }
        loaded = importer.load_object("run", "optimizer")["state"][0]["momentum_buffer"]
        assert np.array_equal(loaded.numpy(), momentum)


def nested(array: np.ndarray[Any, Any]) -> Any:
    return {"a": [({"b": array},)]}


@pytest.mark.parametrize(
    ("make", "save"),
    [
        pytest.param(lambda array: array, lambda array: {"w": array}, id="array"),
        pytest.param(lambda array: array, nested, id="nested"),
        pytest.param(lambda array: array, lambda array: {"w": array[::2]}, id="gaps"),
        pytest.param(lambda array: array, lambda array: {"w": array[2:4]}, id="view"),
        pytest.param(lambda array: array, lambda array: {"w": array[::-1]}, id="backwards"),
        pytest.param(
            lambda array: array, lambda array: {"w": np.broadcast_to(array[2:3], (5,))}, id="broadcast"
        ),
        pytest.param(lambda array: array, lambda array: {"w": kellet.from_numpy(array)}, id="kellet tensor"),
        pytest.param(lambda array: array.view(">u2"), lambda array: {"w": array}, id="byte order"),
        pytest.param(
            lambda array: array,
            lambda array: collections.OrderedDict(w=np.ma.masked_array(array, mask=False)),
            id="masked",
        ),
    ],
)
def test_one_changed_bit_anywhere_changes_nothing(make: Any, save: Any) -> None:
    array, buffer = make(np.arange(8, dtype="u2")), io.BytesIO()
    with PackageExporter(buffer, policy="auto", prove=False) as exporter:
        exporter.save_object("run", "plain", save(array))
        array.view(np.uint8)[5] ^= 1
    again = io.BytesIO()
    with PackageExporter(again, policy="auto", prove=False) as exporter:
        array.view(np.uint8)[5] ^= 1
        exporter.save_object("run", "plain", save(array))
    assert again.getvalue() == buffer.getvalue()


def test_views_of_one_memory_are_as_they_were() -> None:
    base, buffer = np.zeros((2, 3), "f4"), io.BytesIO()
    with PackageExporter(buffer, policy="auto", prove=False) as exporter:
        exporter.save_state_dict("run", "tied", {"a": base, "b": base[1], "free": np.ones(2)})
        base[1, 2] = 1
    with PackageImporter(buffer) as importer:
        state = importer.load_state_dict("run", "tied", as_="kellet")
        assert state["b"].tolist() == [0, 0, 0]
        state["a"][1, 2] = 7
        assert state["b"].tolist() == [0, 0, 7]


def test_a_value_that_was_replaced_is_as_it_was_at_the_call() -> None:
    model, state = nn.Linear(1, 1, bias=False), {"w": np.full(2, 3.0)}
    model.weight.data = kellet.full((1, 1), 5.0)
    buffer = io.BytesIO()
    with PackageExporter(buffer, policy="auto", prove=False) as exporter:
        exporter.save_object("run", "model", model)
        exporter.save_state_dict("run", "state", state)
        state["w"] = np.zeros(2)
        state["more"] = np.zeros(1)
        model.weight.data = kellet.full((1, 1), 6.0)
        model.note = "later"
        model.double()
    with PackageImporter(buffer) as importer:
        loaded = importer.load_object("run", "model")
        assert (loaded.weight.item(), str(loaded.weight.dtype), hasattr(loaded, "note")) == (
            5.0,
            str(kellet.float32),
            False,
        )
        assert {key: list(value) for key, value in importer.load_state_dict("run", "state").items()} == {
            "w": [3.0, 3.0]
        }


def test_memory_may_be_given_back() -> None:
    array, buffer = np.ones(1 << 20), io.BytesIO()
    with PackageExporter(buffer, policy="auto", prove=False) as exporter:
        exporter.save_object("run", "w", array)
        array.resize(3, refcheck=False)
    with PackageImporter(buffer) as importer:
        assert np.array_equal(importer.load_object("run", "w"), np.ones(1 << 20))


def test_the_same_object_saved_twice_unchanged_is_written_as_ever() -> None:
    model = nn.Linear(2, 2)
    buffer = io.BytesIO()
    with PackageExporter(buffer, policy="auto", prove=False) as exporter:
        exporter.save_object("run", "one", {"a": model, "b": model})
        exporter.save_object("run", "two", model)
    with PackageImporter(buffer) as importer:
        loaded = importer.load_object("run", "one")
        assert loaded["a"] is loaded["b"]
        assert np.array_equal(importer.load_object("run", "two").weight.detach(), model.weight.detach())


def test_texts_bytes_configurations_and_inputs_are_those_of_the_call(project: Project) -> None:
    project({"shop/__init__.py": "", "shop/net.py": "def build(width):\n    return [width]\n"})
    data, config, x = bytearray(b"one"), {"width": 2}, np.ones(2)
    buffer = io.BytesIO()
    with PackageExporter(buffer, policy="auto", prove=False) as exporter:
        exporter.save_binary("shop", "words", data)
        exporter.save_object("shop", "made", [0], factory="shop.net:build", config=config)
        exporter.save_object("model", "model", np.negative)
        exporter.save_example("model", {"arg0": x})
        data[:] = b"two"
        config["width"] = 3
        x[:] = 7
    with PackageImporter(buffer) as importer:
        assert importer.load_binary("shop", "words") == b"one"
        assert importer.load_object("shop", "made") == [2]
    with ArchiveReader(buffer) as reader:
        inputs = TensorReader(reader, ".data/checks/model/inputs.safetensors")
        assert bytes(inputs.data("arg0")) == np.ones(2).tobytes()


def test_a_check_of_an_object_that_changed_is_refused(project: Project) -> None:
    project(
        {
            "shop/__init__.py": "",
            "shop/net.py": "class Net:\n    def __call__(self, x):\n        return x * self.k\n",
        }
    )
    import shop.net  # type: ignore[import-not-found]  # written above

    net = shop.net.Net()
    net.k = 2
    exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    exporter.save_object("model", "model", net)
    exporter.save_example("model", {"x": np.ones(1)})
    net.k = 3
    (problem,) = exporter.plan().problems
    assert problem.subject == "check model"
    assert "object model/model changed since save_object()" in problem.context


RULES = """
class Net:
    def __init__(self):
        self.calls = []

    def __del__(self):
        pass
"""


@pytest.mark.parametrize("later", [False, True])
def test_rules_may_come_after_a_save(project: Project, later: bool) -> None:
    project({"shop/__init__.py": "", "shop/net.py": RULES})
    import shop.net  # type: ignore[import-not-found,unused-ignore]  # written above

    net, buffer = shop.net.Net(), io.BytesIO()
    exporter = PackageExporter(buffer, prove=False)  # with no preset nothing is interned at the call
    exporter.save_object("model", "model", net)
    if later:
        net.calls.append(1)
    assert not exporter.plan().ok
    exporter.intern("shop.**")
    exporter.close()
    with PackageImporter(buffer) as importer:
        assert importer.load_object("model", "model").calls == []


HOOKS = """
def make(scale):
    def hook(module, args):
        return tuple(scale * arg for arg in args)
    return hook
"""


@pytest.mark.parametrize("change", ["", "attribute", "tensor"])
def test_what_a_rule_after_a_save_admits_is_as_it_was_at_the_call(project: Project, change: str) -> None:
    project({"shop/__init__.py": "", "shop/net.py": HOOKS})
    import shop.net  # type: ignore[import-not-found,unused-ignore]  # written above

    net, buffer, x = nn.Linear(1, 1), io.BytesIO(), kellet.ones(1, 1)
    net.register_forward_pre_hook(shop.net.make(2.0))
    exporter = PackageExporter(buffer, prove=False)
    exporter.save_object("model", "model", net)  # without a rule the hook cannot be stored
    expected = net(x).item()
    if change == "attribute":
        net.tag = 3
    elif change == "tensor":
        net.bias.detach().numpy()[0] = 9
    exporter.intern("shop.**")
    exporter.close()
    with PackageImporter(buffer) as importer:
        loaded = importer.load_object("model", "model")
        assert loaded(x).item() == expected
        assert not hasattr(loaded, "tag")


@pytest.mark.parametrize("changed", [False, True])
def test_a_rule_that_leaves_out_what_was_taken_refuses_it_changed_or_not(
    project: Project, changed: bool
) -> None:
    project({"shop/__init__.py": "", "shop/net.py": RULES})
    import shop.net  # type: ignore[import-not-found,unused-ignore]  # written above

    net = shop.net.Net()
    exporter = PackageExporter(io.BytesIO(), prove=False)
    exporter.save_object("model", "model", net)
    if changed:
        net.calls.append(1)
    exporter.extern("shop.**")
    found = [(problem.reason, problem.context) for problem in exporter.plan().problems]
    assert [reason for reason, _ in found] == ["Object cannot be stored."]
    assert "class shop.net:Net has __del__" in found[0][1]


WATCHES = """
import kellet

told, seen = [], []

def make():
    def inner():
        return 1
    return inner

class Plain:
    def __init__(self):
        self.inner = make()
    def __reduce__(self):
        seen.append(len(told))
        return Plain, (), vars(self)
    def __del__(self):
        pass

class Net(kellet.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.plain = kellet.nn.Linear(1, 1), Plain()
    def state_dict(self, *args, **kwargs):
        seen.append(len(told))
        return super().state_dict(*args, **kwargs)
"""


@pytest.mark.parametrize("rules_first", [False, True])
@pytest.mark.filterwarnings("ignore::packager.errors.PackagingWarning")
def test_no_module_is_decided_and_no_hook_runs_while_an_object_is_encoded(
    project: Project, rules_first: bool
) -> None:
    project({"shop/__init__.py": "", "shop/net.py": WATCHES})
    import shop.net  # type: ignore[import-not-found,unused-ignore]  # written above

    shop.net.told.clear()
    shop.net.seen.clear()
    buffer = io.BytesIO()
    exporter = PackageExporter(buffer, prove=False)
    exporter.register_intern_hook(lambda exporter, name: shop.net.told.append(name))
    exporter.register_extern_hook(lambda exporter, name: shop.net.told.append(name))
    if rules_first:
        exporter.intern("shop.**")
        exporter.extern("**")
    exporter.save_object("model", "model", shop.net.Net())
    assert len(shop.net.seen) > 1
    assert set(shop.net.seen) == {0}
    assert shop.net.told == []
    taken = len(shop.net.seen)
    if not rules_first:
        exporter.intern("shop.**")
        exporter.extern("**")
    assert exporter.plan().problems == ()
    assert {"shop", "shop.net"} <= set(shop.net.told)
    assert len(shop.net.seen) == taken  # settled from what was taken
    assert exporter.interned_modules() == ["shop", "shop.net"]
    exporter.close()
    with PackageImporter(buffer) as importer:
        assert importer.load_object("model", "model").plain.inner() == 1


ASKS = """
class Net:
    def __reduce_package__(self, exporter):
        name = exporter.get_unique_id()
        exporter.save_text("shop", name, "kept")
        return make, (name,)

    def __del__(self):
        pass

def make(importer, name):
    return importer.load_text("shop", name)
"""


def test_an_object_that_saves_texts_of_its_own_saves_them_once(project: Project) -> None:
    project({"shop/__init__.py": "", "shop/net.py": ASKS})
    import shop.net  # type: ignore[import-not-found,unused-ignore]  # written above

    buffer = io.BytesIO()
    exporter = PackageExporter(buffer, prove=False)
    exporter.save_object("model", "one", [shop.net.Net(), lambda: None][:1])
    exporter.intern("shop.**")
    exporter.close()
    assert exporter.get_unique_id() == "1"
    with PackageImporter(buffer) as importer:
        assert importer.load_object("model", "one") == ["kept"]


ASKS_ALL = """
import packager

class Net:
    def __call__(self, x):
        return x + 1

    def __reduce_package__(self, exporter):
        assert isinstance(exporter, packager.PackageExporter)
        exporter.intern("shop.**", allow_empty=False)
        name = exporter.prefix + exporter.get_unique_id()
        exporter.save_text("shop", name, "kept")
        exporter.save_object("shop", name + ".parts", {"part": exporter.get_unique_id()})
        exporter.save_pickle("shop", name + ".pkl", [1], dependencies=False)
        exporter.save_source_string("shop.made", "MADE = 1")
        return make, (name,)

def make(importer, name):
    return Net()
"""


class Prefixed(PackageExporter):
    """An exporter that has more to say."""

    prefix = "own"


def test_an_object_with_a_check_asks_its_own_exporter_again_and_saves_nothing_twice(project: Project) -> None:
    project({"shop/__init__.py": "", "shop/net.py": ASKS_ALL})
    import shop.net  # type: ignore[import-not-found,unused-ignore]  # written above

    buffer = io.BytesIO()
    exporter = Prefixed(buffer, policy="auto", prove=False)
    exporter.save_object("model", "model", shop.net.Net())
    exporter.save_example("model", {"x": np.ones(2)})
    assert exporter.plan().problems == ()
    assert exporter.get_unique_id() == "2"
    exporter.close()
    with ArchiveReader(buffer) as reader:
        saved = {(one.package, one.resource) for one in reader.manifest.objects}
        assert saved == {("shop", "own0.parts"), ("model", "model")}
    with PackageImporter(buffer) as importer:
        assert importer.load_text("shop", "own0") == "kept"
        assert importer.load_object("shop", "own0.parts") == {"part": "1"}
        assert importer.import_module("shop.made").MADE == 1


@pytest.mark.parametrize("save", ["object", "state dict", "state dict of a module"])
def test_large_weights_are_never_in_memory_twice(tmp_path: Path, save: str) -> None:
    layer, size = nn.Linear(1, 1), 144 << 20  # 64 MiB of it may wait for their digests
    layer.weight = nn.Parameter(kellet.ones(24, size // 24 // 4))
    weights = np.ones((24, size // 24 // 4), "f4")
    tracemalloc.start()
    try:
        with PackageExporter(tmp_path / "out.kellet", policy="auto", prove=False) as exporter:
            if save == "object":
                exporter.save_object("run", "net", layer)
            elif save == "state dict":
                exporter.save_state_dict("run", "net", {"all": weights, "half": weights[:12]})
            else:
                exporter.save_state_dict("run", "net", layer)
            written = sum(path.stat().st_size for path in tmp_path.iterdir())
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert written > size  # at the call, beside the target
    assert peak < size * 0.6
