"""What a call changes in an object is put back: attributes, containers, elements, states of generators."""

from __future__ import annotations

import io
import logging
import random
import subprocess
import sys
import threading
import warnings
from array import array
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from queue import Queue
from types import SimpleNamespace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import pytest

import kellet
from kellet import nn
from packager._calls import Before, call_in_mode


class Outside:
    """A descriptor that keeps the values of its objects."""

    def __init__(self) -> None:
        self.held: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()

    def __get__(self, obj: Any, cls: type | None = None) -> Any:
        return self if obj is None else self.held.get(obj)

    def __set__(self, obj: Any, value: Any) -> None:
        self.held[obj] = value


class Slotted:
    __slots__ = ("empty", "full")
    full: Any
    empty: Any

    def __init__(self) -> None:
        self.full = 1


@dataclass(frozen=True)
class Frozen:
    inner: list[int]


class Model:
    gain = Outside()
    log: list[int] = []  # noqa: RUF012  # in the body of the class

    def __init__(self) -> None:
        self.count = 0
        self.empty: list[int] = []
        self.deep = {"a": [Frozen([1]), SimpleNamespace(x=1)]}
        self.ordered = OrderedDict(a=1, b=2)
        self.counter, self.default = Counter("aab"), defaultdict(list, k=[1])
        self.members, self.last = {1, 2}, deque([1, 2, 3], maxlen=3)
        self.bytes, self.numbers = bytearray(b"ab"), array("d", [1.0, 2.0])
        self.slotted = Slotted()
        self.array, self.column = np.arange(6.0).reshape(2, 3), np.arange(6.0).reshape(2, 3).T[::2]
        self.objects = np.array([[1], {"a": 1}], dtype=object)
        self.masked = np.ma.masked_array([1.0, 2.0], [False, True])
        self.gain = 2.0
        self.norm, self.weight = nn.BatchNorm1d(2), nn.Parameter(kellet.ones(2))
        self.weight.grad = kellet.ones(2)
        self.stream = io.StringIO("text")
        self.tensor_of_none = kellet.zeros(0)


def in_place(model: Model) -> None:
    model.weight.grad.add_(1)


def put_shape(array: Any, shape: tuple[int, ...]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of NumPy 2.5
        array.shape = shape


def change_bits(model: Model) -> None:
    model.array[0, 0] = -0.0


CHANGES: dict[str, Callable[[Model], Any]] = {
    "an attribute": lambda model: setattr(model, "count", 7),
    "a new attribute": lambda model: setattr(model, "cache", {}),
    "an attribute that is gone": lambda model: delattr(model, "deep"),
    "the order of attributes": lambda model: vars(model).update(count=vars(model).pop("count")),
    "a list that was empty": lambda model: model.empty.append(1),
    "a list in a frozen object": lambda model: model.deep["a"][0].inner.append(2),
    "a namespace": lambda model: setattr(model.deep["a"][1], "x", 2),
    "the order of a dict": lambda model: model.ordered.move_to_end("a"),
    "a counter": lambda model: model.counter.update("z"),
    "a key that was asked for": lambda model: model.default["new"],
    "a set": lambda model: model.members.add(3),
    "a deque": lambda model: model.last.append(9),
    "bytes": lambda model: model.bytes.extend(b"c"),
    "numbers": lambda model: model.numbers.append(3.0),
    "a slot": lambda model: setattr(model.slotted, "full", 2),
    "a slot that was empty": lambda model: setattr(model.slotted, "empty", 2),
    "an array": lambda model: model.array.fill(9),
    "a sign of zero": change_bits,
    "the shape of an array": lambda model: put_shape(model.array, (3, 2)),
    "the shape of a masked array": lambda model: put_shape(model.masked, (2, 1)),
    "an array with strides": lambda model: model.column.fill(9),
    "an array of objects": lambda model: model.objects.__setitem__(0, None),
    "what is in an array of objects": lambda model: model.objects[1].update(b=2),
    "a masked array": lambda model: model.masked.__setitem__(1, 5.0),
    "a value in a descriptor": lambda model: setattr(model, "gain", 3.0),
    "a list in a class": lambda model: model.log.append(1),
    "a buffer": lambda model: model.norm(kellet.ones(3, 2)),
    "a parameter": lambda model: model.weight.data.mul_(3),
    "the data of a parameter": lambda model: setattr(model.weight, "data", kellet.zeros(5)),
    "a gradient": in_place,
    "a gradient that is gone": lambda model: setattr(model.weight, "grad", None),
    "a stream": lambda model: model.stream.read(2),
}


def looked_at(model: Model) -> dict[str, str]:
    """All that the model holds, as text."""
    seen = {name: repr(value) for name, value in vars(model).items()}
    slotted = [getattr(model.slotted, name, "none") for name in Slotted.__slots__]
    norm = [(name, tensor.tolist()) for name, tensor in model.norm.state_dict().items()]
    more = [model.weight.tolist(), model.weight.grad, norm, slotted, model.gain, model.log]
    bits = [model.array.tobytes(), model.column.tobytes(), model.masked.data.tobytes(), model.stream.tell()]
    return {**seen, "order": repr(list(vars(model))), "more": repr(more), "bits": repr(bits)}


@pytest.mark.parametrize("what", CHANGES)
def test_what_was_changed_is_as_it_was(what: str) -> None:
    model = Model()
    parts, before = {name: id(value) for name, value in vars(model).items()}, looked_at(model)
    noted = Before(model)
    for _ in range(2):
        CHANGES[what](model)
        assert looked_at(model) != before
        noted.put_back()
        assert looked_at(model) == before
        assert {name: id(value) for name, value in vars(model).items()} == parts


GENERATORS: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "Python's": (lambda: random.Random(3), lambda one: (one.random(), one.gauss(0, 1))),
    "NumPy's": (lambda: np.random.default_rng(3), lambda one: one.normal()),
    "an old one of NumPy": (lambda: np.random.RandomState(3), lambda one: one.normal()),
    "another one of NumPy": (
        lambda: np.random.Generator(np.random.MT19937(3)),
        lambda one: one.integers(9999),
    ),
    "kellet's": (lambda: kellet.Generator().manual_seed(3), lambda one: kellet.rand(1, generator=one).item()),
}


RESIZED = """
import numpy as np
from types import SimpleNamespace
from packager._calls import Before
held = SimpleNamespace(array=np.ones(8_000_000), other=[1])
noted = Before(held)
held.array.resize(1, refcheck=False)
held.other.append(2)
noted.put_back()
print(held)
"""


def test_an_array_whose_memory_is_gone_is_not_looked_at() -> None:
    ended = subprocess.run([sys.executable, "-c", RESIZED], capture_output=True, text=True)
    assert (ended.returncode, ended.stdout) == (0, "namespace(array=array([1.]), other=[1])\n"), ended.stderr


@pytest.mark.parametrize("kind", GENERATORS)
def test_a_generator_goes_on_as_it_stood(kind: str) -> None:
    make, draw = GENERATORS[kind]
    one, twin = make(), make()
    noted = Before([{"generator": one}])
    draw(one)
    noted.put_back()
    assert draw(one) == draw(twin)


def test_what_belongs_to_the_process_is_left_alone() -> None:
    queue: Queue[int] = Queue()
    thing = SimpleNamespace(queue=queue, logger=logging.getLogger("putting.back"), event=threading.Event())
    noted = Before(thing)
    queue.put(1)
    thing.event.set()
    logging.getLogger("putting.back.child")
    noted.put_back()
    assert (queue.qsize(), queue.unfinished_tasks, thing.event.is_set()) == (1, 1, True)
    assert "putting.back.child" in logging.Logger.manager.loggerDict


class Refusing(dict[str, int]):
    """A dict that can be neither looked at nor changed by its own methods."""

    def __iter__(self) -> Iterator[str]:
        raise ValueError("not now")

    items = keys = values = clear = update = __setitem__ = __iter__  # type: ignore[assignment]  # all refuse


def test_a_class_that_refuses_everything_is_put_back_past_its_methods() -> None:
    class Locked:
        def __setattr__(self, name: str, value: Any) -> None:
            raise TypeError("frozen")

        def __getattr__(self, name: str) -> Any:
            raise RuntimeError("asked")

    locked, refusing = Locked(), Refusing()
    vars(locked).update(x=1)
    dict.update(refusing, a=1)
    noted = Before([locked, refusing])
    vars(locked).update(x=2, y=3)
    dict.update(refusing, b=2)
    noted.put_back()
    assert (vars(locked), dict(dict.items(refusing))) == ({"x": 1}, {"a": 1})


def test_only_what_is_asked_for_is_noted() -> None:
    shared: list[int] = [1]
    one, other = {"shared": shared, "own": [1]}, {"shared": shared, "own": [1]}
    noted = Before(other, among=Before(one).ids)
    shared.append(2)
    other["own"].append(2)
    noted.put_back()
    assert (shared, other["own"]) == ([1], [1, 2])


def draw_all(x: Any) -> list[Any]:
    return [random.random(), np.random.rand(), kellet.rand(1)]  # noqa: NPY002  # of the process


def test_calls_from_the_seed_draw_the_same_and_leave_the_generators() -> None:
    def stand() -> list[Any]:
        of_numpy = np.random.get_state()  # noqa: NPY002  # of the process
        return [random.getstate(), str(of_numpy), kellet.get_rng_state().tolist()]

    random.seed()
    before = stand()
    one = call_in_mode(draw_all, {"x": 1}, from_seed=True)
    assert stand() == before
    random.random()
    assert call_in_mode(draw_all, {"x": 1}, from_seed=True) == one
    assert call_in_mode(draw_all, {"x": 1}) != one
    moved = stand()
    with pytest.raises(ZeroDivisionError):
        call_in_mode(lambda x: [random.random(), x / 0], {"x": 1}, from_seed=True)
    assert stand() == moved
