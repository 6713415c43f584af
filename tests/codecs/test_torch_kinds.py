"""Every kind of PyTorch module comes back bit for bit, or is refused with what to store in its place."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn.utils import parametrizations, parametrize, prune

from packager import PackageExporter, PackageImporter, PackagingError
from packager._audit import TrustContext
from packager._objects import encode
from packager.testing import round_trip
from packager.testing.round_trips import load

HERE = __name__
INPUT = torch.linspace(-1, 1, 12).reshape(3, 4)
Make = Callable[[], nn.Module]

# The first test that compiles imports torch._dynamo, which takes some seconds. Torch says of its
# quantized tensors and of TorchScript that they are on their way out.
pytestmark = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning", "ignore::FutureWarning", "ignore:.*quantized tensor creation:UserWarning"
)


def mlp() -> nn.Sequential:
    return nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2))


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encode, self.decode = nn.Linear(4, 4, bias=False), nn.Linear(4, 4, bias=False)
        self.decode.weight = self.encode.weight

    def forward(self, x: Any) -> Any:
        return self.decode(self.encode(x).relu())


class Holding(nn.Module):
    """A linear layer, and a tensor that is no parameter."""

    def __init__(self, held: Any, *, persistent: bool = True) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 2)
        self.register_buffer("held", held, persistent=persistent)

    def forward(self, x: Any) -> Any:
        return self.layer(x)


class Own(nn.Parameter):
    """A parameter of a class of its own."""


class OwnParameter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale = Own(torch.full((4,), 2.0))

    def forward(self, x: Any) -> Any:
        return x * self.scale


def pruned() -> nn.Module:
    layer = nn.Linear(4, 2)
    prune.custom_from_mask(layer, "weight", torch.tensor([[1, 0, 1, 0], [0, 1, 0, 1]]))
    return layer


def after_training_step(layer: nn.Module) -> nn.Module:
    layer(INPUT).sum().backward()
    layer.zero_grad()
    return layer.eval()


def quantized() -> Any:
    return torch.ao.quantization.quantize_dynamic(mlp(), {nn.Linear}, dtype=torch.qint8)


COME_BACK: dict[str, Make] = {
    "tied weights": Tied,
    "buffers that are not saved": lambda: Holding(torch.arange(3.0), persistent=False),
    "buffers that are None": lambda: Holding(None),
    "sparse tensors": lambda: Holding(torch.eye(3).to_sparse()),
    "quantized tensors": lambda: Holding(torch.quantize_per_tensor(INPUT, 0.1, 2, torch.qint8)),
    "parameters of a class of their own": OwnParameter,
    "weight_norm of old": lambda: nn.utils.weight_norm(nn.Linear(4, 2)),
    "weight_norm of old, trained": lambda: after_training_step(nn.utils.weight_norm(nn.Linear(4, 2))),
    "spectral_norm of old": lambda: nn.utils.spectral_norm(nn.Linear(4, 2)).eval(),
    "spectral_norm of old, trained": lambda: after_training_step(nn.utils.spectral_norm(nn.Linear(4, 2))),
    "pruned": pruned,
    "averaged": lambda: torch.optim.swa_utils.AveragedModel(mlp()),
    "recurrent": lambda: nn.Sequential(nn.RNN(4, 3, batch_first=True)),
    "DataParallel": lambda: nn.DataParallel(mlp()),
}


@pytest.mark.parametrize("kind", COME_BACK)
def test_a_module_comes_back_bit_for_bit(kind: str) -> None:
    module = COME_BACK[kind]()
    trip = round_trip(module, interned=[HERE], externs=["torch"])
    assert trip.is_stable
    assert _bits(trip.object(INPUT)) == _bits(module(INPUT))
    stored, found = module.state_dict(), trip.object.state_dict()
    assert list(found) == list(stored)
    for key, value in stored.items():
        assert _bits(found[key]) == _bits(value)


def _bits(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_bits(part) for part in value]
    if value is None or value.layout is not torch.strided or value.is_quantized:
        return repr(value)
    return value.dtype, tuple(value.shape), value.detach().contiguous().numpy().tobytes()


def test_a_module_compiled_in_place_comes_back_as_it_was_written() -> None:
    module = mlp()
    module.compile(backend="eager")
    loaded = round_trip(module).object
    assert loaded._compiled_call_impl is None
    assert _bits(loaded(INPUT)) == _bits(module.forward(INPUT))


def test_dynamically_quantized_layers_come_back() -> None:
    module = quantized()
    loaded = round_trip(module, interned=[HERE], externs=["torch"]).object
    assert _bits(loaded(INPUT)) == _bits(module(INPUT))


def test_a_module_on_meta_comes_back_without_values() -> None:
    loaded = round_trip(nn.Linear(4, 2, device="meta")).object
    assert (loaded.weight.device.type, loaded.weight.shape) == ("meta", (2, 4))


def test_tied_weights_are_trained_as_one() -> None:
    loaded = round_trip(Tied(), interned=[HERE]).object
    loaded(INPUT).sum().backward()
    torch.optim.SGD(loaded.parameters(), lr=0.1).step()
    assert loaded.encode.weight is loaded.decode.weight


def test_buffers_that_are_not_saved_stay_out_of_the_state_dict() -> None:
    loaded = round_trip(Holding(torch.arange(3.0), persistent=False), interned=[HERE]).object
    assert loaded.held.tolist() == [0, 1, 2]
    assert "held" not in loaded.state_dict()


def test_what_a_norm_computes_is_computed_from_trained_parameters_again() -> None:
    loaded = round_trip(nn.utils.weight_norm(nn.Linear(4, 2))).object
    loaded(INPUT).sum().backward()
    assert loaded.weight_g.grad is not None
    with torch.no_grad():
        loaded.weight_g.zero_()
    assert torch.equal(loaded(INPUT), loaded.bias.expand(3, 2))


def test_weights_of_another_device_are_loaded_where_map_location_says() -> None:
    module = mlp()
    encoded = encode(module)
    moved = type(encoded)(encoded.records.replace(b"\xa3cpu", b"\xa6cuda:0"), encoded.storages, ())
    loaded = load(moved, TrustContext.data_only(), map_location="cpu")
    assert _bits(loaded(INPUT)) == _bits(module(INPUT))


@pytest.fixture(scope="module")
def process_group() -> Iterator[None]:
    torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
    yield
    torch.distributed.destroy_process_group()


def _parametrized() -> nn.Module:
    return parametrizations.weight_norm(nn.Linear(4, 2))


def _without_parametrization(layer: Any) -> Any:
    return parametrize.remove_parametrizations(layer, "weight")


def _called(layer: Any) -> Any:
    layer(INPUT)
    return layer


# What is refused, the reason, the advice, and what following the advice gives.
REFUSED: dict[str, tuple[Make, str, str, Callable[[Any], Any]]] = {
    "torch.compile": (
        lambda: torch.compile(mlp(), backend="eager"),
        "OptimizedModule cannot be stored: torch.compile made it",
        "module._orig_mod",
        lambda module: module._orig_mod,
    ),
    "DistributedDataParallel": (
        lambda: nn.parallel.DistributedDataParallel(mlp()),
        "DistributedDataParallel cannot be stored: it belongs to this training's processes",
        "module.module",
        lambda module: module.module,
    ),
    **{
        f"averaged by {make.__name__}": (
            lambda make=make, name=name: torch.optim.swa_utils.AveragedModel(mlp(), **{name: make()}),
            "AveragedModel cannot be stored: torch.optim.swa_utils made its averaging function",
            "ema.module",
            lambda module: module.module,
        )
        for name, make in (
            ("multi_avg_fn", torch.optim.swa_utils.get_ema_multi_avg_fn),
            ("multi_avg_fn", torch.optim.swa_utils.get_swa_multi_avg_fn),
            ("avg_fn", torch.optim.swa_utils.get_ema_avg_fn),
            ("avg_fn", torch.optim.swa_utils.get_swa_avg_fn),
        )
    },
    "parametrized": (
        _parametrized,
        "ParametrizedLinear is parametrized: its class was made in memory",
        "parametrize.remove_parametrizations(obj['net'][1], \"weight\")",
        _without_parametrization,
    ),
    "lazy": (
        lambda: nn.LazyLinear(2),
        "LazyLinear has no shapes yet for weight, bias",
        "call the model once",
        _called,
    ),
}


@pytest.mark.usefixtures("process_group")
@pytest.mark.parametrize("kind", REFUSED)
def test_a_refusal_says_what_to_store_and_that_can_be_stored(kind: str) -> None:
    make, reason, advice, follow = REFUSED[kind]
    module = make()
    (refusal,) = encode({"net": nn.Sequential(nn.ReLU(), module)}).refusals
    assert refusal.path == "obj['net'].1"
    assert refusal.reason.startswith(reason)
    assert any(advice in option for option in refusal.options)
    instead = follow(module)
    assert _bits(round_trip(instead).object(INPUT)) == _bits(instead(INPUT))


@pytest.mark.parametrize(
    "make",
    [lambda: torch.jit.script(mlp()), lambda: torch.jit.trace(mlp(), INPUT)],
    ids=["script", "trace"],
)
def test_torchscript_is_refused_and_its_bytes_can_be_stored(make: Make, tmp_path: Path) -> None:
    module = make()
    (refusal,) = encode(nn.Sequential(module)).refusals
    assert refusal.path == "obj.0"
    assert "it is TorchScript" in refusal.reason
    assert any("torch.jit.save" in option for option in refusal.options)
    torch.jit.save(module, tmp_path / "net.pt")
    with PackageExporter(tmp_path / "net.kellet", policy="auto", prove=False) as exporter:
        exporter.save_binary("model", "net.pt", (tmp_path / "net.pt").read_bytes())
    with PackageImporter(tmp_path / "net.kellet") as importer:
        (tmp_path / "out.pt").write_bytes(importer.load_binary("model", "net.pt"))
    assert _bits(torch.jit.load(tmp_path / "out.pt")(INPUT)) == _bits(module(INPUT))


def test_a_graph_of_fx_is_refused() -> None:
    (refusal,) = encode(nn.Sequential(torch.fx.symbolic_trace(mlp()))).refusals
    assert refusal.path == "obj.0"
    assert refusal.reason.startswith("GraphModuleImpl cannot be stored: it is a graph of torch.fx")
    assert any("module that was traced" in option for option in refusal.options)


@pytest.mark.parametrize("make", [torch.UntypedStorage, lambda size: torch.ones(size).storage()])
@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated:UserWarning")
def test_a_storage_alone_is_refused_since_loading_it_would_run_a_pickle(make: Callable[[int], Any]) -> None:
    (refusal,) = encode({"x": make(3)}).refusals
    assert refusal.path == "obj['x']"
    assert refusal.reason.startswith("torch.storage:_load_from_bytes hands bytes to torch.load, which runs")


@pytest.mark.parametrize("layout", [torch.strided, torch.jagged], ids=str)
def test_nested_tensors_are_refused_by_that_name(layout: torch.layout) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        nested = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], layout=layout)
    (refusal,) = encode({"x": nested}).refusals
    assert (refusal.path, refusal.reason) == ("obj['x']", "a nested tensor")
    assert refusal.options == ("store the tensors in it: tensor.unbind()",)


def test_a_parametrized_module_is_made_by_a_factory(project: Any, tmp_path: Path) -> None:
    text = (
        "from torch import nn\n"
        "def build(width):\n"
        "    return nn.Sequential(nn.utils.parametrizations.weight_norm(nn.Linear(4, width)))\n"
    )
    project({"normed.py": text})
    import normed  # type: ignore[import-not-found]  # written above

    module = normed.build(2)
    exporter = PackageExporter(tmp_path / "net.kellet", policy="auto", prove=False)
    exporter.save_object("model", "model", module)
    with pytest.raises(PackagingError, match=r"factory=, config="):
        exporter.close()
    with PackageExporter(tmp_path / "net.kellet", policy="auto", prove=False) as exporter:
        exporter.save_object("model", "model", module, factory=normed.build, config={"width": 2})
    with PackageImporter(tmp_path / "net.kellet") as importer:
        loaded = importer.load_object("model", "model")
        assert _bits(loaded(INPUT)) == _bits(module(INPUT))
        assert parametrize.is_parametrized(loaded[0], "weight")
