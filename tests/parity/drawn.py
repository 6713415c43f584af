"""One case that hypothesis drew, played in torch and here: what goes in, comes out, and must be equal."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import torch
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

import kellet
import kellet.nn

EXAMPLES = int(os.environ.get("KELLET_DRAWN", "5"))
TOLERANCE = {"float32": 2e-4, "float64": 1e-9}
ROUNDED = {"Hardsigmoid": 1e-8}  # torch's derivative in float64 has a sixth that was rounded to float32
LIBRARIES = (torch, kellet)
SOME = settings(
    deadline=None,
    max_examples=EXAMPLES,
    database=None,
    phases=[Phase.generate, Phase.shrink],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)

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


@dataclass(frozen=True)
class Played:
    """What one library made of a case: everything by name, or the error that it raised."""

    values: dict[str, Any]
    error: Exception | None = None


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


def array_of(tensor: Any) -> Any:
    return None if tensor is None else tensor.detach().numpy().copy()


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


def play_layer(
    library: Any, name: str, case: Case, dtype: str, state: dict[str, Any] | None
) -> dict[str, Any]:
    """Make the layer, give it `state` by name, call it and derive; the state it began with is told too."""
    args, options = tensors(library, case.args), tensors(library, case.options)
    make = case.make or (lambda library, *args, **options: getattr(library.nn, name)(*args, **options))
    layer = make(library, *args, **options)
    layer = layer.to(getattr(library, dtype))
    layer.train(not case.evaluating)
    began = disturbed(layer.state_dict()) if state is None else state
    loaded = layer.load_state_dict(tensors(library, began))
    assert list(loaded) == [[], []]
    found = play_call(library, case, layer)
    for key, parameter in layer.named_parameters():
        found[f"gradient of {key}"] = array_of(parameter.grad)
    for key, value in layer.state_dict().items():
        found[f"state {key}"] = array_of(value)
    written = repr(layer).replace("NonDynamicallyQuantizableLinear", "Linear")
    return {"repr": written, "keys": list(layer.state_dict()), "began": began, **found}


def disturbed(state: dict[str, Any]) -> dict[str, Any]:
    """Move all weights a little: ones and zeros, as many layers begin with, would hide an exchange."""
    rng = np.random.default_rng(11)
    arrays = {key: array_of(value) for key, value in state.items()}
    for key, array in arrays.items():
        if array.dtype.kind == "f":
            move = rng.uniform(0.05, 0.25, array.shape)
            arrays[key] = (array + move).astype(array.dtype)
    return arrays


def play_function(library: Any, name: str, case: Case) -> dict[str, Any]:
    function = getattr(library.nn.functional, name)
    return play_call(library, case, partial(function, **tensors(library, case.options)))


def attempt(play: Callable[[], dict[str, Any]]) -> Played:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return Played(play())
        except (
            ValueError,
            RuntimeError,
            TypeError,
            IndexError,
            NotImplementedError,
            AssertionError,
            ZeroDivisionError,
        ) as error:
            return Played({}, error)


def compare(theirs: Played, ours: Played, tolerance: float) -> None:
    """Hold that both raised, or that all that they tell is equal, by name."""
    assert (theirs.error is None) == (ours.error is None), f"torch: {theirs.error!r}, here: {ours.error!r}"
    assert list(ours.values) == list(theirs.values)
    for name, expected in theirs.values.items():
        same(ours.values[name], expected, tolerance, name)


def same(found: Any, expected: Any, tolerance: float, name: str) -> None:
    if not isinstance(expected, np.ndarray):
        if name != "began":
            assert (type(found), found) == (type(expected), expected), name
        return
    assert isinstance(found, np.ndarray), f"{name}: {found!r}"
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape), name
    finite = np.abs(expected[np.isfinite(expected)]) if expected.dtype.kind == "f" else np.zeros(0)
    scale = max(1.0, float(finite.max())) if finite.size else 1.0
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * scale, err_msg=name)


def check_layer(name: str, case: Case, dtype: str) -> Played:
    theirs = attempt(lambda: play_layer(torch, name, case, dtype, None))
    ours = attempt(lambda: play_layer(kellet, name, case, dtype, theirs.values.get("began")))
    compare(theirs, ours, max(TOLERANCE[dtype], ROUNDED.get(name, 0.0)))
    return theirs


def check_function(name: str, case: Case, dtype: str) -> Played:
    theirs, ours = (attempt(partial(play_function, library, name, case)) for library in LIBRARIES)
    compare(theirs, ours, max(TOLERANCE[dtype], ROUNDED.get(name, 0.0)))
    return theirs


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


def values(dtype: str) -> st.SearchStrategy[Values]:
    return st.builds(Values, st.integers(0, 999), st.booleans(), st.just(dtype))


def optional(**options: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Draw some of the options, and leave the others to their defaults."""
    return st.fixed_dictionaries({}, optional=options)


def sized(axes: int, low: int, high: int) -> st.SearchStrategy[Any]:
    """Draw one number for all axes, or one for each."""
    one = st.integers(low, high)
    return st.one_of(one, st.tuples(*[one] * axes))


def shapes(low: int = 0, high: int = 4, least: int = 1) -> st.SearchStrategy[Shape]:
    return st.lists(st.integers(least, 4), min_size=low, max_size=high).map(tuple)


def image(draw: DrawFn, axes: int, channels: int, shortest: int = 1) -> Shape:
    """Draw the shape of a batch, or of one without a batch, with `axes` lengths behind the channels."""
    lengths = draw(st.tuples(*[st.integers(shortest, {1: 9, 2: 6, 3: 4}[axes])] * axes))
    batch = draw(st.sampled_from([(2,), (1,), (), (3,)]))
    return (*batch, channels, *lengths)


yes_or_no = st.booleans()
