"""Every public function, method and class, called with what it does not take: it says so in words."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import kellet
import kellet.data
import kellet.linalg
import kellet.optim
from kellet import nn
from kellet.errors import KelletError
from kellet.nn import functional as F
from kellet.optim import lr_scheduler
from tests.tables import one_test

WRONG: dict[str, Any] = {
    "list": [1.0, 2.0],
    "None": None,
    "str": "text",
    "array": np.ones(3),
    "dict": {},
    "object": object(),
    "tuple": (1,),
    "set": {1},
}

# What Python and NumPy say of a value of another kind, without a word of who was called with what.
BARE = (
    "object has no attribute",
    "not subscriptable",
    "not iterable",
    "unsupported operand",
    "bad operand",
    "has no len",
    "cannot be interpreted",
    "not callable",
    "not supported between",
    "unhashable",
    "to unpack",
    "argument must be",
)

# Of the process, or of files.
LEFT_ALONE = {"manual_seed", "seed", "set_printoptions", "set_default_dtype", "save", "load", "set_rng_state"}


def tensor() -> kellet.Tensor:
    return kellet.ones(2, 2)


def functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    homes = {
        "kellet": kellet,
        "nn.functional": F,
        "linalg": kellet.linalg,
        "nn.init": nn.init,
        "nn.utils": nn.utils,
        "nn.utils.rnn": nn.utils.rnn,
    }
    for home, module in homes.items():
        for name in getattr(module, "__all__", dir(module)):
            found = getattr(module, name)
            ours = inspect.isfunction(found) and found.__module__.startswith("kellet")
            if ours and name not in LEFT_ALONE and name[0] != "_":
                yield f"{home}.{name}", found


FUNCTIONS = dict(functions())
METHODS = {
    name: method
    for name, method in inspect.getmembers(kellet.Tensor, inspect.isfunction)
    if name[0] != "_" and name not in ("numpy", "backward")
}


def required(function: Callable[..., Any]) -> list[inspect.Parameter]:
    parameters = inspect.signature(function).parameters.values()
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.POSITIONAL_ONLY)
    return [one for one in parameters if one.kind in kinds and one.default is one.empty]


def complaint(name: str, call: Callable[[], Any]) -> str:
    """Say what is wrong with the error of a call, where there is one."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            call()
    except Exception as error:
        words = str(error)
        bare = any(part in words for part in BARE) and not words.startswith(name) and name not in words[:40]
        outside = isinstance(error, AttributeError | IndexError | ZeroDivisionError)
        if bare or (outside and not isinstance(error, KelletError)):
            return f"{type(error).__name__}: {words}"
    return ""


def told(name: str, calls: dict[str, Callable[[], Any]]) -> dict[str, str]:
    found = {what: complaint(name, call) for what, call in calls.items()}
    return {what: words for what, words in found.items() if words}


def calls_of(function: Callable[..., Any]) -> dict[str, Callable[[], Any]]:
    """Each required argument and each option in turn wrong, and all of them."""
    given = [tensor() for _ in required(function)]
    found: dict[str, Callable[[], Any]] = {"too many": lambda: function(*[tensor()] * 14)}
    for kind, value in WRONG.items():
        for place in range(len(given)):
            wrong = [*given[:place], value, *given[place + 1 :]]
            found[f"{kind} at {place}"] = lambda wrong=wrong: function(*wrong)
        found[f"{kind} everywhere"] = lambda value=value: function(*[value] * len(given))
        for name, parameter in inspect.signature(function).parameters.items():
            if parameter.default is not parameter.empty and kind != "None":
                option = {name: value}
                found[f"{kind} as {name}"] = lambda option=option: function(*given, **option)
    return found


@one_test
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_say_what_they_do_not_take(name: str) -> None:
    function = FUNCTIONS[name]
    assert told(name.rpartition(".")[2], calls_of(function)) == {}
    only = [
        one.name for one in inspect.signature(function).parameters.values() if one.kind is one.KEYWORD_ONLY
    ]
    with pytest.raises(TypeError, match="nonsense") as caught:
        function(*[tensor() for _ in required(function)], nonsense=1, **dict.fromkeys(only))
    assert name.rpartition(".")[2] in str(caught.value)


@one_test
@pytest.mark.parametrize("name", METHODS)
def test_methods_say_what_they_do_not_take(name: str) -> None:
    method = METHODS[name]
    needed = required(method)[1:]
    given = [tensor() if "Tensor" in str(one.annotation) else 0 for one in needed]
    calls: dict[str, Callable[[], Any]] = {}
    for kind, value in WRONG.items():
        for place in range(len(given)):
            wrong = [*given[:place], value, *given[place + 1 :]]
            calls[f"{kind} at {place}"] = lambda wrong=wrong: getattr(tensor(), name)(*wrong)
    assert told(name, calls) == {}


MADE_WITH: dict[str, tuple[Any, ...]] = {
    "Bilinear": (2, 2, 2),
    "Embedding": (3, 2),
    "EmbeddingBag": (3, 2),
    "GroupNorm": (1, 2),
    "MultiheadAttention": (4, 2),
    "TransformerEncoderLayer": (4, 2),
    "Unflatten": (1, (1, 2)),
    "Threshold": (0.0, 1.0),
}


def optimiser() -> kellet.optim.Optimizer:
    return kellet.optim.SGD([nn.Parameter(kellet.ones(2))], lr=0.1)


def classes() -> Iterator[tuple[str, tuple[type, tuple[Any, ...]]]]:
    """Yield every class that is made with something, and what it takes."""
    for name in nn.__all__:
        kind = getattr(nn, name)
        if inspect.isclass(kind) and kind.__module__.startswith("kellet.nn.layers."):
            if name == "TransformerEncoder":
                yield f"nn.{name}", (kind, (nn.TransformerEncoderLayer(4, 2), 1))
            else:
                yield f"nn.{name}", (kind, MADE_WITH.get(name, (2,) * len(required(kind))))
    for name in kellet.optim.__all__:
        kind = getattr(kellet.optim, name)
        if inspect.isclass(kind) and name != "Optimizer":
            yield f"optim.{name}", (kind, ([nn.Parameter(kellet.ones(2))],))
    dataset = kellet.data.TensorDataset(kellet.ones(4, 2))
    for name, args in {
        "TensorDataset": (kellet.ones(4),),
        "DataLoader": (dataset,),
        "Subset": (dataset, [0]),
        "RandomSampler": (dataset,),
        "BatchSampler": ([1, 2], 1, False),
        "WeightedRandomSampler": ([1.0, 2.0], 1),
        "ConcatDataset": ([dataset],),
    }.items():
        yield f"data.{name}", (getattr(kellet.data, name), args)
    for name, args in {
        "StepLR": (2,),
        "MultiStepLR": ([1, 2],),
        "ExponentialLR": (0.9,),
        "ConstantLR": (),
        "LinearLR": (),
        "PolynomialLR": (),
        "CosineAnnealingLR": (5,),
        "CosineAnnealingWarmRestarts": (5,),
        "OneCycleLR": (0.1, 10),
        "ReduceLROnPlateau": (),
        "LambdaLR": (float,),
        "MultiplicativeLR": (float,),
    }.items():
        yield f"lr_scheduler.{name}", (getattr(lr_scheduler, name), (optimiser(), *args))


CLASSES = dict(classes())


@one_test
@pytest.mark.parametrize("name", CLASSES)
def test_constructors_say_what_they_do_not_take(name: str) -> None:
    kind, args = CLASSES[name]
    calls: dict[str, Callable[[], Any]] = {"nothing": kind, "too many": lambda: kind(*[1] * 20)}
    for what, value in WRONG.items():
        for place in range(len(args)):
            wrong = (*args[:place], value, *args[place + 1 :])
            calls[f"{what} at {place}"] = lambda wrong=wrong: kind(*wrong)
        for option, parameter in inspect.signature(kind).parameters.items():
            if parameter.default is not parameter.empty and what != "None":
                calls[f"{what} as {option}"] = lambda given={option: value}: kind(*args, **given)
    assert told(kind.__name__, calls) == {}
    if kind is not nn.Identity:  # which takes whatever another layer takes, as in PyTorch
        with pytest.raises(TypeError, match=rf"{kind.__name__}.*nonsense"):
            kind(*args, nonsense=1)


@one_test
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: F.linear([1.0], tensor()),
            r"linear, argument 'input': expected a tensor, got list; make it",
        ),
        (
            lambda: F.linear(tensor()),
            r"linear: missing a required argument: 'weight'; it takes \(input, weight",
        ),
        (lambda: kellet.exp(), r"exp: missing a required argument: 'input'; it takes \(input\)"),
        (lambda: kellet.cat([tensor(), 1]), r"cat: expected tensors, got int"),
        (
            lambda: kellet.block_diag(tensor(), None),
            r"block_diag, argument 'tensors': expected a tensor, got None; pass a tensor",
        ),
        (
            lambda: kellet.sum(tensor(), dim="a"),
            r"sum, argument 'dim': expected an integer or a sequence of int",
        ),
        (lambda: tensor().mv([1.0]), r"mv, argument 'vec': expected a tensor, got list"),
        (
            lambda: tensor().sum(dim="a"),
            r"sum, argument 'dim': expected an integer or a sequence of integers or None, got str 'a'",
        ),
        (lambda: kellet.ones(2.5), r"ones: expected a shape, integers, got float 2\.5"),
        (
            lambda: nn.Conv2d(1, 1, None),
            r"Conv2d, argument 'kernel_size': expected an integer or a sequence of",
        ),
        (
            lambda: kellet.optim.Adam(None),
            r"Adam, argument 'params': expected a sequence of values, got NoneType",
        ),
        (lambda: nn.Dropout("half"), r"Dropout, argument 'p': expected a number, got str 'half'"),
        (lambda: nn.init.ones_({}), r"ones_, argument 'tensor': expected a tensor, got dict"),
    ],
)
def test_it_is_said_in_words(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        call()


def test_what_a_caller_of_a_function_raises_stays() -> None:
    def distance(a: kellet.Tensor, b: kellet.Tensor) -> kellet.Tensor:
        raise TypeError("of the user")

    with pytest.raises(TypeError, match=r"^of the user$"):
        F.triplet_margin_with_distance_loss(tensor(), tensor(), tensor(), distance_function=distance)


def test_the_tensor_of_a_function_may_be_called_input() -> None:
    assert kellet.exp(input=kellet.zeros(2)).tolist() == [1.0, 1.0]
    assert kellet.sum(input=kellet.ones(2, 3), dim=0).tolist() == [2.0, 2.0, 2.0]
    with pytest.raises(TypeError, match=r"exp: too many positional arguments; it takes \(input\)"):
        kellet.exp(kellet.ones(1), input=kellet.ones(1))


def test_functions_are_found_by_their_names() -> None:
    for name, function in FUNCTIONS.items():
        home, _, last = name.rpartition(".")
        if home in ("kellet", "nn.functional", "linalg") and function.__name__ == last:
            module = inspect.importlib.import_module(function.__module__)
            assert getattr(module, function.__qualname__) is function
