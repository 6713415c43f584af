"""Models with a fault that is drawn from a seed, over the core and PyTorch alike: `drift_of` gives one.

The model is a small encoder: convolution, batch norm, blocks of attention and a feed-forward part, two heads
whose answers come in a dict. Each kind of fault changes one place of a copy, and says which submodule that
is; None for those that change bits alone.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from random import Random
from typing import Any

WIDTH, LENGTH, BLOCKS = 16, 6, 3


@dataclass(frozen=True)
class DrawnDrift:
    """A model before and after, the inputs of both, the path of the submodule that differs, or None."""

    kind: str
    before: Any
    after: Any
    inputs: tuple[Any, ...]
    path: str | None


class Parts:
    """The classes of the model, made of a library's own."""

    def __init__(self, library: str, width: int) -> None:
        lib, nn = import_module(library), import_module(f"{library}.nn")
        self.lib, self.nn, self.width = lib, nn, width

        class Mix(nn.Module):  # type: ignore[name-defined, misc]  # of either library
            """A product with a square matrix."""

            def __init__(self) -> None:
                super().__init__()
                self.weight = nn.Parameter(lib.randn(width, width) / width**0.5)
                self.is_flipped = False
                self.order: list[int] | None = None

            def forward(self, x: Any) -> Any:
                weight = self.weight if self.is_flipped else self.weight.T
                if self.order is not None:  # the same products, summed in another order
                    x, weight = x[..., self.order], weight[self.order]
                return x @ weight

        class Attention(nn.Module):  # type: ignore[name-defined, misc]  # of either library
            def __init__(self) -> None:
                super().__init__()
                self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))
                self.softmax = nn.Softmax(dim=-1)
                self.scale = width**-0.5

            def forward(self, x: Any) -> Any:
                scores = self.query(x) @ self.key(x).transpose(-1, -2) * self.scale
                return self.softmax(scores) @ self.value(x)

        class Block(nn.Module):  # type: ignore[name-defined, misc]  # of either library
            def __init__(self) -> None:
                super().__init__()
                self.attention, self.mix = Attention(), Mix()
                self.norm = nn.LayerNorm(width)
                self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
                self.act, self.drop = nn.GELU(), nn.Dropout(0.5)
                self.residual = 1.0

            def forward(self, x: Any) -> Any:
                x = x + self.attention(x)
                y = self.down(self.act(self.up(self.mix(self.norm(x)))))
                return x * self.residual + self.drop(y)

        class Heads(nn.Module):  # type: ignore[name-defined, misc]  # of either library
            def __init__(self) -> None:
                super().__init__()
                self.one, self.two = nn.Linear(width, 4), nn.Linear(width, 4)
                self.keys = ("one", "two")

            def forward(self, x: Any) -> Any:
                return {key: getattr(self, key)(x) for key in self.keys}

        class Net(nn.Module):  # type: ignore[name-defined, misc]  # of either library
            def __init__(self) -> None:
                super().__init__()
                self.embed = nn.Embedding(10, width)
                self.conv = nn.Conv1d(width, width, 3, padding=1)
                self.norm = nn.BatchNorm1d(width)
                self.act = nn.Tanh()  # called before and after the blocks
                self.blocks = nn.Sequential(*(Block() for _ in range(BLOCKS)))
                self.heads = Heads()

            def forward(self, tokens: Any) -> Any:
                x = self.embed(tokens).transpose(1, 2)
                x = self.act(self.norm(self.conv(x))).transpose(1, 2)
                first, second = self.heads(self.act(self.blocks(x))).values()
                return {"answer": first - second, "parts": (first, second)}

        class LeftOn(nn.Module):  # type: ignore[name-defined, misc]  # of either library
            """Dropout that takes no notice of the mode."""

            def forward(self, x: Any) -> Any:
                return nn.functional.dropout(x, 0.5, training=True)

        class Reduced(nn.Module):  # type: ignore[name-defined, misc]  # of either library
            """A function that is computed in half precision."""

            def __init__(self, inner: Any) -> None:
                super().__init__()
                self.__dict__["inner"] = inner

            def forward(self, x: Any) -> Any:
                return self.inner.forward(x).to(lib.float16).to(x.dtype)

        class Wide(nn.Module):  # type: ignore[name-defined, misc]  # of either library
            """A function whose answer has another dtype."""

            def __init__(self, inner: Any) -> None:
                super().__init__()
                self.__dict__["inner"] = inner

            def forward(self, x: Any) -> Any:
                return self.inner.forward(x).to(lib.float64)

        class Second(nn.Module):  # type: ignore[name-defined, misc]  # of either library
            """A function that answers otherwise from the second call on."""

            def __init__(self) -> None:
                super().__init__()
                self.calls = 0

            def forward(self, x: Any) -> Any:
                self.calls += 1
                return lib.tanh(x) if self.calls % 2 else lib.tanh(x) * 0.9

        self.Net, self.LeftOn, self.Reduced, self.Wide, self.Second = Net, LeftOn, Reduced, Wide, Second


Fault = Callable[[Any, Random, Parts], "str | None"]


def _epsilon(net: Any, draw: Random, parts: Parts) -> str:
    number = draw.randrange(BLOCKS)
    net.blocks[number].norm.eps = 1e-2
    return f"blocks.{number}.norm"


def _epsilon_of_batch_norm(net: Any, draw: Random, parts: Parts) -> str:
    net.norm.eps = 1e-2
    return "norm"


def _momentum(net: Any, draw: Random, parts: Parts) -> str:
    """As after training with another momentum: the statistics are others."""
    with parts.lib.no_grad():
        net.norm.running_mean += 0.05 * parts.lib.ones(parts.width)
    return "norm"


def _form_of_gelu(net: Any, draw: Random, parts: Parts) -> str:
    number = draw.randrange(BLOCKS)
    net.blocks[number].act = parts.nn.GELU(approximate="tanh")
    return f"blocks.{number}.act"


def _activation(net: Any, draw: Random, parts: Parts) -> str:
    number = draw.randrange(BLOCKS)
    net.blocks[number].act = draw.choice([parts.nn.ReLU, parts.nn.SiLU, parts.nn.Tanh])()
    return f"blocks.{number}.act"


def _precision(net: Any, draw: Random, parts: Parts) -> str:
    number = draw.randrange(BLOCKS)
    net.blocks[number].norm = parts.Reduced(net.blocks[number].norm)
    return f"blocks.{number}.norm"


def _dtype(net: Any, draw: Random, parts: Parts) -> str:
    name = draw.choice(["one", "two"])
    setattr(net.heads, name, parts.Wide(getattr(net.heads, name)))
    return f"heads.{name}"


def _flipped_transpose(net: Any, draw: Random, parts: Parts) -> str:
    number = draw.randrange(BLOCKS)
    net.blocks[number].mix.is_flipped = True
    return f"blocks.{number}.mix"


def _one_weight(net: Any, draw: Random, parts: Parts) -> str:
    number, name = draw.randrange(BLOCKS), draw.choice(["up", "down"])
    layer = getattr(net.blocks[number], name)
    rows, columns = layer.weight.shape
    with parts.lib.no_grad():
        layer.weight[draw.randrange(rows), draw.randrange(columns)] += 0.25
    return f"blocks.{number}.{name}"


def _lost_bias(net: Any, draw: Random, parts: Parts) -> str:
    number, name = draw.randrange(BLOCKS), draw.choice(["up", "down"])
    getattr(net.blocks[number], name).bias = None
    return f"blocks.{number}.{name}"


def _dropout_left_on(net: Any, draw: Random, parts: Parts) -> str:
    number = draw.randrange(BLOCKS)
    net.blocks[number].drop = parts.LeftOn()
    return f"blocks.{number}.drop"


def _padding_mode(net: Any, draw: Random, parts: Parts) -> str:
    conv = parts.nn.Conv1d(parts.width, parts.width, 3, padding=1, padding_mode="circular")
    conv.load_state_dict(net.conv.state_dict())
    net.conv = conv
    return "conv"


def _axis_of_softmax(net: Any, draw: Random, parts: Parts) -> str:
    number = draw.randrange(BLOCKS)
    net.blocks[number].attention.softmax = parts.nn.Softmax(dim=-2)
    return f"blocks.{number}.attention.softmax"


def _order_of_keys(net: Any, draw: Random, parts: Parts) -> str:
    net.heads.keys = ("two", "one")
    return "heads"


def _scale_of_scores(net: Any, draw: Random, parts: Parts) -> str:
    """What the code between two submodules computes is of the one around them."""
    number = draw.randrange(BLOCKS)
    net.blocks[number].attention.scale = 1.0
    return f"blocks.{number}.attention"


def _residual(net: Any, draw: Random, parts: Parts) -> str:
    number = draw.randrange(BLOCKS)
    net.blocks[number].residual = 0.5
    return f"blocks.{number}"


def _second_call(net: Any, draw: Random, parts: Parts) -> str:
    net.act = parts.Second()
    return "act"


def _embedding(net: Any, draw: Random, parts: Parts) -> str:
    with parts.lib.no_grad():
        net.embed.weight[3, draw.randrange(parts.width)] += 0.25
    return "embed"


def _order_of_sums(net: Any, draw: Random, parts: Parts) -> None:
    """As another number of threads gives: the same sums, taken in another order."""
    for block in net.blocks:
        block.mix.order = draw.sample(range(parts.width), parts.width)


def _last_bits(net: Any, draw: Random, parts: Parts) -> None:
    """As another product of matrices gives: each weight may be off by one ulp."""
    with parts.lib.no_grad():
        for block in net.blocks:
            block.up.weight *= 1.0 + 2.0**-23


FAULTS: dict[str, Fault] = {
    function.__name__.strip("_"): function
    for function in (
        *(_epsilon, _form_of_gelu, _dtype, _flipped_transpose, _one_weight, _order_of_sums, _activation),
        *(_dropout_left_on, _momentum, _epsilon_of_batch_norm, _padding_mode, _axis_of_softmax, _lost_bias),
        *(_order_of_keys, _precision, _scale_of_scores, _residual, _second_call, _embedding, _last_bits),
    )
}


def drift_of(seed: int, library: str, *, width: int = WIDTH, length: int = LENGTH) -> DrawnDrift:
    """Return the drift of a seed: its kind by turns, all else drawn; layers of `width`, `length` tokens."""
    draw, parts = Random(seed), Parts(library, width)
    parts.lib.manual_seed(seed)
    before = parts.Net().eval()
    with parts.lib.no_grad():  # as if it had been trained: not all zeros and ones
        before.norm.running_mean += parts.lib.randn(width) / 4
    after = copy.deepcopy(before)
    kind = list(FAULTS)[seed % len(FAULTS)]
    path = FAULTS[kind](after, draw, parts)
    after.eval()
    tokens = [[3, *(draw.randrange(10) for _ in range(length - 1))] for _ in range(4)]
    return DrawnDrift(kind, before, after, (parts.lib.tensor(tokens),), path)
