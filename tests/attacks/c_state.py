"""Objects whose C code trusts what they hold: honest ones, and archives in which one thing is another.

The archives are made by our own encoder, with the object's state changed on the way, so that everything
but that one value is as an honest author would have stored it.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import msgpack
import numpy as np
import pytest

from packager._objects import ObjectBuildError
from packager._objects.records import Kind as K
from tests.attacks import object_forger as forge

EXTERNS = ("numpy", "scipy", "sklearn", "torch")

X = np.random.default_rng(7).random((60, 5))
Y = (X[:, 0] > 0.5).astype(int) + (X[:, 1] > 0.6)
FAR = 1 << 30

Case = tuple[Callable[[], Any], str]


def cases(table: dict[str, Case]) -> Any:
    return pytest.mark.parametrize(("make", "message"), table.values(), ids=table.keys())


def ints(*values: int) -> Any:
    return np.array(values, np.int32)


def trust_of(obj: Any) -> list[str]:
    """What a caller has to trust for an estimator: its classes, and the functions that make its parts."""
    names = forge.encoded(obj).names
    exact = {f"{use.module}:{use.qualname}" for use in names if use.role in ("call", "value")}
    return ["sklearn.**:*", "scipy.**:*", *sorted(exact)]


def archived(obj: Any) -> Any:
    """The object, out of an archive, with all its names trusted."""
    return forge.load(forge.archive_of(forge.encoded(obj), externs=EXTERNS), trust=trust_of(obj))


def refusal(obj: Any) -> str:
    """What loading says of an object that must not load."""
    with pytest.raises(ObjectBuildError) as caught:
        archived(obj)
    return str(caught.value)


class Reduced:
    """Stands for an object in what is stored, and is made and given its state as it is told."""

    def __init__(self, made: Callable[..., Any], args: tuple[Any, ...], state: Any = None) -> None:
        self._parts = (made, args, state)

    def __reduce__(self) -> Any:
        made, args, state = self._parts
        return (made, args) if state is None else (made, args, state)

    def __setstate__(self, state: Any) -> None:
        raise AssertionError("a stand-in is only ever stored; with this method its state is stored as one")


def changed(obj: Any, **attributes: Any) -> Any:
    """A shallow copy of an object with other attributes; None takes one away."""
    made = copy.copy(obj)
    held = {**vars(obj), **attributes}
    made.__dict__.clear()
    made.__dict__.update({name: value for name, value in held.items() if value is not None})
    return made


def reduced(obj: Any, **state: Any) -> Reduced:
    """An object that reduces to a call and a dict, with parts of that dict changed."""
    made, args, before = obj.__reduce__()[:3]
    return Reduced(made, args, {**before, **state})


def reduced_at(obj: Any, **parts: Any) -> Reduced:
    """The same where the state is a tuple; parts are named `at_<index>`."""
    made, args, before = obj.__reduce_ex__(4)[:3]
    state = list(before)
    for name, value in parts.items():
        state[int(name.removeprefix("at_"))] = value
    return Reduced(made, args, tuple(state))


def bit_generator(algorithm: str, state: Any) -> forge.EncodedObject:
    """An encoded bit generator of NumPy with any state."""
    made = forge.encoded(state)
    codecs, records, root = msgpack.unpackb(made.records)
    codecs.append(["numpy.bit_generator", 1])
    records.append([K.CODEC, len(codecs) - 1, algorithm, root, None])
    return forge.EncodedObject(msgpack.packb([codecs, records, -len(records)]), made.storages, ())
