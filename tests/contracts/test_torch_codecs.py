"""Every codec for PyTorch keeps the contract."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

import warnings
from typing import Any

import torch
from torch import nn

from packager._codecs import default_registry, optimizers, torch_codec, torch_layouts, torch_tensors
from packager.testing import CodecContract
from tests.contracts.built_in import by_name

HERE = __name__


class Tagged(torch.Tensor):
    pass


class Own(nn.Parameter):
    pass


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(1, 2, 3).to(memory_format=torch.channels_last)
        self.second = nn.Linear(2, 3)
        self.tied = nn.Linear(2, 3)
        self.tied.weight = self.second.weight
        self.norm = nn.BatchNorm1d(3)
        self.register_buffer("seen", torch.zeros(2, dtype=torch.int64))
        self.register_buffer("cache", torch.ones(2), persistent=False)
        self.handle = self.register_forward_hook(self.count, with_kwargs=True, always_call=True)
        self.view = self.second.weight.detach()[1:]
        self.register_load_state_dict_pre_hook(rename)

    def count(self, module: Any, args: Any, kwargs: Any, output: Any) -> None:
        self.seen += 1


def rename(module: Any, state_dict: Any, prefix: str, *args: Any) -> None:
    """A load hook with a name."""


class TestValue(CodecContract):
    codec = torch_codec.TorchValueCodec()

    def samples(self) -> list[Any]:
        return [torch.float32, torch.device("cpu"), torch.strided, torch.channels_last, torch.Size([2, 3])]


class TestTensor(CodecContract):
    codec = torch_tensors.TensorCodec()

    def samples(self) -> list[Any]:
        marked = nn.Parameter(torch.ones(2), requires_grad=False)
        marked.mark = "x"
        return [
            torch.arange(6.0).reshape(2, 3),
            torch.arange(6).reshape(2, 3).t(),
            torch.ones(3).expand(4, 3),
            torch.tensor(3),
            torch.zeros(0, 2),
            torch.tensor([True]),
            torch.ones(2, dtype=torch.bfloat16),
            torch.ones(2, dtype=torch.complex128),
            torch.randn(2, 2).to(torch.float8_e5m2),
            torch.tensor([1 + 2j]).conj(),
            torch.ones(2, requires_grad=True),
            nn.Parameter(torch.ones(2)),
            marked,
            nn.Buffer(torch.ones(1)),
            torch.ones(2, device="meta"),
        ]

    def same(self, sample: Any, loaded: Any) -> bool:
        facts = [(t.dtype, t.shape, t.stride(), t.requires_grad, t.device, vars(t)) for t in (sample, loaded)]
        if sample.is_meta:
            return facts[0] == facts[1]
        return facts[0] == facts[1] and bool(
            torch.equal(
                sample.double() if sample.is_floating_point() else sample,
                loaded.double() if loaded.is_floating_point() else loaded,
            )
        )


class TestTensorSubclass(CodecContract):
    codec = torch_tensors.TensorSubclassCodec()
    interned = (HERE,)

    def samples(self) -> list[Any]:
        tagged = torch.ones(2).as_subclass(Tagged)
        tagged.tag = ["x"]  # type: ignore[attr-defined]  # tensors take attributes
        return [tagged, Own(torch.ones(2)), Own(torch.ones(2), requires_grad=False)]

    def same(self, sample: Any, loaded: Any) -> bool:
        facts = [(type(t), t.tolist(), t.requires_grad, vars(t)) for t in (sample, loaded)]
        return facts[0] == facts[1]


@pytest.mark.filterwarnings("ignore:Sparse (CSR|CSC|invariant):UserWarning")
class TestSparse(CodecContract):
    codec = torch_layouts.SparseTensorCodec()

    def samples(self) -> list[Any]:
        return [torch.eye(3).to_sparse(), torch.eye(3).to_sparse_csr(), torch.eye(4).to_sparse_bsc((2, 2))]

    def same(self, sample: Any, loaded: Any) -> bool:
        return sample.layout == loaded.layout and bool(torch.equal(sample.to_dense(), loaded.to_dense()))


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
class TestQuantized(CodecContract):
    codec = torch_layouts.QuantizedTensorCodec()

    def samples(self) -> list[Any]:
        numbers = torch.arange(6.0).reshape(2, 3)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return [
                torch.quantize_per_tensor(numbers, 0.1, 2, torch.qint8),
                torch.quantize_per_channel(
                    numbers, torch.tensor([0.1, 0.2]), torch.tensor([0, 1]), 0, torch.quint8
                ),
            ]

    def same(self, sample: Any, loaded: Any) -> bool:
        return bool(torch.equal(sample.dequantize(), loaded.dequantize())) and sample.dtype == loaded.dtype


class TestGenerator(CodecContract):
    codec = by_name("torch.generator")

    def samples(self) -> list[Any]:
        return [torch.Generator().manual_seed(3)]

    def same(self, sample: Any, loaded: Any) -> bool:
        return torch.rand(3, generator=sample).tolist() == torch.rand(3, generator=loaded).tolist()


class TestModule(CodecContract):
    codec = torch_codec.TorchModuleCodec()
    interned = (HERE,)

    def samples(self) -> list[Any]:
        return [Net(), nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Dropout(0.1)).eval()]

    def same(self, sample: Any, loaded: Any) -> bool:
        left, right = sample.state_dict(), loaded.state_dict()
        return list(left) == list(right) and all(torch.equal(left[key], right[key]) for key in left)


class TestHandle(CodecContract):
    codec = torch_codec.TorchHandleCodec()
    interned = (HERE,)

    def samples(self) -> list[Any]:
        return [nn.Linear(1, 1).register_forward_hook(print)]

    def same(self, sample: Any, loaded: Any) -> bool:
        loaded.remove()
        return True


class TestOptimizer(CodecContract):
    codec = optimizers.OptimizerCodec("torch")

    def samples(self) -> list[Any]:
        parameter = nn.Parameter(torch.ones(2))
        stepped = torch.optim.Adam([parameter], lr=0.1)
        parameter.grad = torch.ones(2)
        stepped.step()
        parameter.grad = None
        return [torch.optim.SGD([nn.Parameter(torch.ones(2))], lr=0.1, momentum=0.9), stepped]

    def same(self, sample: Any, loaded: Any) -> bool:
        return repr(sample.state_dict()) == repr(loaded.state_dict())


def test_every_codec_for_torch_has_a_contract_test() -> None:
    contracts = [
        value for value in globals().values() if isinstance(value, type) and issubclass(value, CodecContract)
    ]
    tested = {contract.codec.name for contract in contracts if hasattr(contract, "codec")}
    assert tested == {codec.name for codec in default_registry() if codec.name.startswith("torch.")}
