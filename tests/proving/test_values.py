"""Values as text that two processes can compare: nothing of them runs, and what is large is cut."""

from __future__ import annotations

import collections
import contextvars
import decimal
import enum
import functools
import itertools
import pathlib
import random
import sys
import threading
import types
import weakref

import numpy
import pytest

import kellet
from packager._proving.differences import line_of, look_at, words_of
from packager._proving.values import Texts, numbers_of


class Entries(dict):
    pass


class Slotted:
    __slots__ = ("empty", "width")

    def __init__(self):
        self.width = 3


class Kind(enum.Enum):
    FAST = 1


VARIABLE = contextvars.ContextVar("variable")
VARIABLE.set([1])
AROUND: list[object] = [1]
AROUND.append(AROUND)


def named(x):
    return x in {"a", "b"}


def entries():
    made = Entries(a=1)
    made.more = 2
    return made


@pytest.mark.parametrize(
    ("value", "text", "kind"),
    [
        ([1, ("a",), {2.5: None}], "[1, ('a',), {2.5: None}]", "value"),
        ({"b": 1, "a": 2}, "{'a': 2, 'b': 1}", "value"),
        (collections.OrderedDict(b=1, a=2), "{'b': 1, 'a': 2}", "value"),
        (collections.deque("ba"), "['b', 'a']", "value"),
        (frozenset("ba"), "{'a', 'b'}", "value"),
        (types.MappingProxyType({1: [2]}), "{1: [2]}", "value"),
        (collections.UserDict(a=1), "collections.UserDict(data={'a': 1})", "value"),
        ({"x": Slotted}, "{'x': class tests.proving.test_values.Slotted}", "value"),
        (AROUND, "[1, ...]", "value"),
        (entries(), "tests.proving.test_values.Entries({'a': 1}, more=2)", "value"),
        ([Slotted()], "[tests.proving.test_values.Slotted(width=3)]", "value"),
        (types.SimpleNamespace(rate=1), "types.SimpleNamespace(rate=1)", "value"),
        (VARIABLE, "[1]", "value"),
        (decimal.Decimal("1.5"), "Decimal('1.5')", "value"),
        (itertools.count(4), "count(4)", "value"),
        (pathlib.PurePosixPath("a/b"), "PurePosixPath('a/b')", "value"),
        (numpy.zeros((2, 2)), "float64 (2, 2) 0.0, 0.0, 0.0, 0.0 #f5a5fd42", "object"),
        (iter([1, 2]), "list_iterator with 2 left", "object"),
        (weakref.WeakSet(), "_weakrefset.WeakSet of 0", "object"),
        (functools.partial(len, 1), "partial(builtin len, 1, {})", "object"),
        ([object()], "[object]", "object"),
        (threading.Lock(), "_thread.lock", "object"),
    ],
)
def test_a_value_is_spelt(value, text, kind):
    found = Texts(["tests"]).of(value)
    assert found == (text, kind) or (found[0].partition("#")[0], found[1]) == (text.partition("#")[0], kind)


def test_what_is_long_is_cut_and_told_apart():
    first, second = (Texts(()).of("a" * 9000 + end)[0] for end in "bc")
    assert first != second
    assert first.startswith("'" + "a" * 100)
    assert len(first) < 2100
    assert Texts(()).of(list(range(200_000)))[0] == "list of 200,000"
    assert Texts(()).of(10**5000)[0].startswith("0x")


def test_a_function_is_told_by_what_it_does():
    def other(x):
        return x in {"a", "c"}

    spelt = Texts(()).of(named)[0]
    assert spelt.startswith("function tests.proving.test_values:named ")
    copy = types.FunctionType(other.__code__.replace(co_qualname="named"), vars(sys.modules[__name__]))
    assert Texts(()).of(copy)[0] != spelt


CELL = """
def scale(x):
    for one in x:
        if one{digits}:
            np.log(one)
    return np.asarray(np.{name}(x, 2), dtype=float)
"""


def test_a_function_is_the_same_where_its_imports_stand_in_the_text_of_another_cell():
    def spelt(text):
        names = {"__name__": __name__}
        exec(compile(text, "cell", "exec"), names)
        return Texts(()).of(names["scale"])[0]

    cell = CELL.format(name="maximum", digits="")
    together = spelt("import numpy as np\n" + cell)
    assert spelt(cell) == together
    assert spelt(CELL.format(name="minimum", digits="")) != together
    assert spelt(CELL.format(name="maximum", digits=" > 1")) != together
    assert spelt(cell.replace("    return", "            break\n    return")) != together


@pytest.mark.parametrize(
    "made",
    [
        random.Random,
        numpy.random.default_rng,
        numpy.random.RandomState,
        lambda seed: kellet.Generator().manual_seed(seed),
    ],
)
def test_a_generator_is_told_by_its_state(made):
    first, second = made(3), made(3)
    assert Texts(()).of(first) == Texts(()).of(second)
    if isinstance(first, kellet.Generator):
        kellet.rand(1, generator=first)
    else:
        first.random()
    assert Texts(()).of(first) != Texts(()).of(second)


def test_numbers_are_told_apart_by_type_shape_and_value():
    made = [
        numpy.ones(2),
        numpy.ones((2, 1)),
        numpy.ones(2, "f4"),
        numpy.array([1.0, 2.0]),
        kellet.ones(2, dtype=kellet.int32),
        kellet.nn.Linear(1, 2).weight,
    ]
    texts = [numbers_of(one) for one in made]
    assert all("#" in text for text in texts)
    assert len(set(texts)) == len(made)
    assert texts[:2] == [numbers_of(numpy.ones(2)), numbers_of(numpy.ones((2, 1)))]


@pytest.mark.parametrize("text", ["[1.0]", "None", "numpy.ma.masked_array([1])"])
def test_what_is_no_plain_array_has_no_numbers(text):
    assert numbers_of(eval(text, {"numpy": numpy})) == ""


LOUD = """
import abc, threading
class Meta(type):
    def __eq__(cls, other): raise RuntimeError("compared")
    __hash__ = None
    def __instancecheck__(cls, other): raise RuntimeError("asked")
    def __getattribute__(cls, name): raise RuntimeError("asked for " + name)
class Loud(metaclass=Meta):
    def __getattribute__(self, name): raise RuntimeError("asked for " + name)
    def __repr__(self): raise RuntimeError("shown")
    def __eq__(self, other): raise RuntimeError("compared")
    __hash__ = None
    def __len__(self): raise RuntimeError("counted")
    def __iter__(self): raise RuntimeError("gone through")
class Table(dict):
    def __iter__(self): raise RuntimeError("gone through")
    def items(self): raise RuntimeError("gone through")
    def __len__(self): raise RuntimeError("counted")
class Key:
    def __init__(self): self.name = "a"
    def __hash__(self): return 1 if hashing else COUNT.append(1)
class Depth(threading.local):
    def __init__(self): MADE.append(1)
COUNT, MADE, hashing = [], [], True
loud, many, table = Loud(), [Loud()], Table(a=1)
keyed = {Key(): 1}
hashing = False
depth = Depth()
def given(x=loud, *, y=many): return loud
"""


def test_what_is_looked_at_is_never_run():
    module = types.ModuleType("loud")
    exec(LOUD, vars(module))
    found = {}
    other = threading.Thread(target=lambda: found.update(look_at({"loud": module}, ())))
    other.start()
    other.join()
    seen = found["loud"]
    assert seen["table"] == ("loud.Table({'a': 1})", "value")
    assert seen["many"] == ("[loud.Loud()]", "value")
    assert seen["given(y=)"] == ("[loud.Loud()]", "value")
    assert seen["keyed"] == ("{loud.Key(name='a'): 1}", "value")
    assert (module.COUNT, module.MADE) == ([], [1])


def test_a_module_that_blocks_an_import_is_none(monkeypatch):
    for name in ("torch", "torch.nn.modules.module", "kellet.nn.module_hooks", "random"):
        monkeypatch.setitem(sys.modules, name, None)
    module = types.ModuleType("net")
    module.DICE = random.Random(3)
    assert look_at({"net": module}, ("random:Random",))["net"] == {"DICE": ("random.Random", "object")}


def test_two_looks_at_modules_of_one_text_find_the_same():
    made = []
    for _ in range(2):
        module = types.ModuleType("loud")
        exec(LOUD, vars(module))
        made.append(look_at({"loud": module}, ())["loud"])
    assert made[0] == made[1]


def test_names_and_lines():
    text = (
        "import os\nfrom a import WIDTH\nclass Net:\n    kinds, more = [], 1\nDEPTH: int = 3\nA, B = 2, 3\n"
    )
    found = {
        name: line_of(text, name) for name in ("WIDTH", "Net", "Net.more", "DEPTH", "B", "Net.none", "x.y")
    }
    assert found == {"WIDTH": 0, "Net": 3, "Net.more": 4, "DEPTH": 5, "B": 6, "Net.none": 3, "x.y": 0}
    module = types.ModuleType("words")
    exec("X = 1\ndef f(a):\n    global W\n    W = Y.z + a\n    return getattr(a, 'rate')", vars(module))
    assert words_of(module) == {"Y", "z", "getattr", "rate"}
