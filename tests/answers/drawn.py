"""One case as it was drawn, played in a library: what goes in, and all that comes out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from tests.answers import choices as st
from tests.answers.telling import array_of

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Case:
    """What a layer or function is made with and called with; arrays become tensors of either library.

    Floating arrays among the inputs are leaves with gradients. `args` and `options` make the layer,
    `given` are named arguments of the call.
    """

    inputs: tuple[Any, ...]
    args: tuple[Any, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)
    given: dict[str, Any] = field(default_factory=dict)
    evaluating: bool = False
    call: Callable[..., Any] | None = None
    make: Callable[..., Any] | None = None


def tensors(library: Any, value: Any) -> Any:
    """Take arrays, alone or in plain containers, to tensors of `library`; leave the rest."""
    if isinstance(value, np.ndarray | np.generic):
        value = np.asarray(value)
        return library.from_numpy(value.copy())
    if isinstance(value, tuple):
        return tuple(tensors(library, one) for one in value)
    if isinstance(value, dict):
        return {key: tensors(library, one) for key, one in value.items()}
    return value


def leaves_of(inputs: Any) -> list[Any]:
    if isinstance(inputs, tuple):
        return [leaf for one in inputs for leaf in leaves_of(one)]
    kind = type(inputs).__module__.partition(".")[0]
    return [inputs] if kind in ("torch", "kellet") and inputs.is_floating_point() else []


def flat(answer: Any) -> list[Any]:
    """List all tensors of an answer, in order; what is None in it stays."""
    if isinstance(answer, tuple | list):
        return [tensor for part in answer for tensor in flat(part)]
    return [answer]


def derive(library: Any, outputs: list[Any]) -> None:
    """Call backward with a weight of its own for each element of each output."""
    smooth = [one for one in outputs if one is not None and one.requires_grad]
    weights = [np.cos(np.arange(one.numel()) + 1.0).reshape(tuple(one.shape)) for one in smooth]
    found = [w.astype(array_of(one).dtype) for w, one in zip(weights, smooth, strict=True)]
    library.autograd.backward(smooth, [library.from_numpy(w) for w in found]) if smooth else None


def play_call(library: Any, case: Case, function: Callable[..., Any]) -> dict[str, Any]:
    inputs = tensors(library, case.inputs)
    leaves = [leaf.requires_grad_() for leaf in leaves_of(inputs)]
    call = case.call or (lambda function, *inputs, **given: function(*inputs, **given))
    outputs = flat(call(function, *inputs, **tensors(library, case.given)))
    derive(library, outputs)
    found = {f"output {number}": array_of(one) for number, one in enumerate(outputs)}
    return found | {f"gradient of input {n}": array_of(leaf.grad) for n, leaf in enumerate(leaves)}


def play_layer(library: Any, name: str, case: Case, dtype: str) -> dict[str, Any]:
    """Make the layer, give it weights that are drawn, call it and derive."""
    args, options = tensors(library, case.args), tensors(library, case.options)
    make = case.make or (lambda library, *args, **options: getattr(library.nn, name)(*args, **options))
    layer, other = (make(library, *args, **options).to(getattr(library, dtype)) for _ in range(2))
    if case.evaluating:
        layer.eval()
    found = {"repr": written(layer), "first values": always_the_same(layer, other)}
    state = layer.state_dict()
    found["versions"] = {key: dict(value) for key, value in state._metadata.items()}
    found["loaded"] = list(layer.load_state_dict(tensors(library, drawn_state(layer))))
    found |= play_call(library, case, layer)
    for key, parameter in layer.named_parameters():
        found[f"gradient of {key}"] = array_of(parameter.grad)
    for key, value in layer.state_dict().items():
        found[f"state {key}"] = array_of(value)
    return found


def written(layer: Any) -> str:
    return repr(layer).replace("NonDynamicallyQuantizableLinear", "Linear")


def always_the_same(layer: Any, other: Any) -> dict[str, Any]:
    """Tell of the state that a layer begins with what no chance decides."""
    pairs = {
        key: (array_of(value), array_of(other.state_dict()[key])) for key, value in layer.state_dict().items()
    }
    return {key: one for key, (one, again) in pairs.items() if one.size and np.array_equal(one, again)}


def drawn_state(layer: Any) -> dict[str, Any]:
    """Draw weights of both signs, and buffers above zero: ones and zeros would hide an exchange."""
    weights = {key for key, _ in layer.named_parameters()}
    rng = np.random.default_rng(11)
    found = {}
    for key, value in layer.state_dict().items():
        array = array_of(value)
        if array.dtype.kind == "f":
            drawn = rng.uniform(0.1, 0.9, array.shape)
            signs = rng.choice([-1.0, 1.0], array.shape) if key in weights else 1.0
            array = np.asarray(drawn * signs).astype(array.dtype)
        found[key] = array
    return found


def play_function(library: Any, name: str, case: Case) -> dict[str, Any]:
    function = getattr(library.nn.functional, name)
    return play_call(library, case, partial(function, **tensors(library, case.options)))


# What is drawn


@dataclass(frozen=True)
class Values:
    """Where the numbers of a case come from: a seed, and whether they are halves, with ties and zeros."""

    seed: int
    rounded: bool
    dtype: str

    def __call__(self, *shape: int, number: int = 0, scale: float = 1.0) -> Any:
        found = np.random.default_rng([self.seed, number]).standard_normal(shape) * scale
        return np.asarray(np.round(found * 2) / 2 if self.rounded else found).astype(self.dtype)

    def unit(self, *shape: int, number: int = 0) -> Any:
        found = np.random.default_rng([self.seed, number]).uniform(0.05, 0.95, shape)
        return np.asarray(found).astype(self.dtype)

    def below(self, high: int, *shape: int, number: int = 0) -> Any:
        return np.asarray(np.random.default_rng([self.seed, number]).integers(0, high, shape))

    def mask(self, *shape: int, number: int = 0) -> Any:
        """Draw a mask that leaves the first place of each row."""
        found = np.asarray(np.random.default_rng([self.seed, number]).random(shape) < 0.3)
        found[..., 0] = False
        return found

    def signs(self, *shape: int, number: int = 0) -> Any:
        return np.where(np.random.default_rng([self.seed, number]).random(shape) < 0.5, -1, 1)


def values(dtype: str) -> st.Choice[Values]:
    return st.tuples(st.integers(0, 999), st.booleans()).map(lambda found: Values(*found, dtype))


def optional(**options: st.Choice[Any]) -> st.Choice[dict[str, Any]]:
    """Draw some of the options, and leave the others to their defaults."""
    return st.fixed_dictionaries({}, optional=options)


def sized(axes: int, low: int, high: int) -> st.Choice[Any]:
    """Draw one number for all axes, or one for each."""
    one = st.integers(low, high)
    return st.one_of(one, st.tuples(*[one] * axes))


def shapes(low: int = 0, high: int = 4, least: int = 1) -> st.Choice[Shape]:
    return st.lists(st.integers(least, 4), min_size=low, max_size=high).map(tuple)


def image(draw: st.Draw, axes: int, channels: int, shortest: int = 1) -> Shape:
    """Draw the shape of a batch, or of one without a batch, with `axes` lengths behind the channels."""
    lengths = draw(st.tuples(*[st.integers(shortest, {1: 9, 2: 6, 3: 4}[axes])] * axes))
    batch = draw(st.sampled_from([(2,), (1,), (), (3,)]))
    return (*batch, channels, *lengths)


yes_or_no = st.booleans()
