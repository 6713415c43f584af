"""Definitions that name their module themselves: they get the name that their module has in this process."""

from __future__ import annotations

import copy
import functools
import pickle
import sys
import textwrap
import typing
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from packager._loading.module_loaders import name_as_here

SHAPES = """
from __future__ import annotations
import abc, collections, dataclasses, enum, functools, inspect, typing

Point = collections.namedtuple("Point", "x y", module="shop.shapes")
Kind = enum.Enum("Kind", "A B", module="shop.shapes")
Pair = dataclasses.make_dataclass("Pair", ["one"])
Pair.__module__ = "shop"

class Meta(type):
    def __setattr__(cls, name, value):
        raise TypeError("not to be changed")
    @property
    def __dict__(cls):
        raise ValueError("not to be looked into")

class Guarded(metaclass=Meta):
    __module__ = "shop.shapes"

@dataclasses.dataclass
class Typed:
    kind: Kind
    size: typing.ClassVar[int] = 3
Typed.__module__ = "shop.shapes"

class Outer:
    class Inner:
        __module__ = "shop.shapes"
        class Most:
            __module__ = "shop.shapes"

def counted(x):
    return x
counted.__module__ = "shop"
@functools.lru_cache
def cached(x):
    return x
cached.__module__ = "shop"
loads = __import__("json").loads

def later():
    return collections.namedtuple("Late", "x", module="shop.shapes")
"""
TREE = {"shop/__init__.py": "from .shapes import Pair, cached, counted\n", "shop/shapes.py": SHAPES}


@pytest.fixture
def shapes(pack: Callable[..., Any]) -> Any:
    return pack(TREE).module("shop.shapes")


@pytest.mark.parametrize("name", ["Point", "Kind", "Guarded", "Typed", "Outer.Inner", "Outer.Inner.Most"])
def test_what_names_its_module_by_text_is_of_that_module_here(shapes: Any, name: str) -> None:
    found = functools.reduce(getattr, name.split("."), shapes)
    assert type.__getattribute__(found, "__module__") == shapes.__name__
    assert pickle.loads(pickle.dumps(found)) is found


@pytest.mark.parametrize("name", ["Pair", "counted", "cached"])
def test_what_is_offered_by_the_package_is_of_the_package(shapes: Any, name: str) -> None:
    found = getattr(shapes, name)
    assert found.__module__ == shapes.__package__
    assert pickle.loads(pickle.dumps(found)) is found


def test_whoever_looks_up_a_module_by_its_definitions_finds_it(shapes: Any) -> None:
    assert typing.get_type_hints(shapes.Typed)["kind"] is shapes.Kind
    assert [field.name for field in shapes.dataclasses.fields(shapes.Typed)] == ["kind"]
    assert shapes.inspect.getmodule(shapes.Point) is shapes
    if sys.version_info < (3, 13):  # which itself forgets where a class stands whose module is assigned
        assert "kind: Kind" in shapes.inspect.getsource(shapes.Typed)
    assert copy.copy(shapes.Point(1, 2)) == (1, 2)


def test_others_definitions_and_later_ones_keep_their_names(shapes: Any) -> None:
    assert shapes.loads.__module__ == "json"
    assert shapes.later().__module__ == "shop.shapes"


def test_installed_they_have_their_own_names(pack: Callable[..., Any]) -> None:
    installed = pack(TREE, installed=True).module("shop.shapes")
    assert (installed.Point.__module__, installed.Pair.__module__) == ("shop.shapes", "shop")


def test_a_class_of_an_installed_package_of_the_same_name_stays_its_own(
    pack: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An extern library hands one on that it has from there."""
    theirs: Any = ModuleType("shop.shapes")
    exec(
        "class Theirs:\n    class Inner: pass\ndef local():\n    class Local: pass\n    return Local",
        vars(theirs),
    )
    monkeypatch.setitem(sys.modules, "shop.shapes", theirs)
    helper: Any = ModuleType("helper")
    helper.Theirs, helper.Inner, helper.Local = theirs.Theirs, theirs.Theirs.Inner, theirs.local()
    monkeypatch.setitem(sys.modules, "helper", helper)
    source = textwrap.dedent(
        "from helper import Inner, Local, Theirs\nclass Ours: __module__ = 'shop.shapes'\n"
    )
    shop = pack({"shop/__init__.py": "", "shop/shapes.py": source}, externs=["helper"]).module("shop.shapes")
    assert shop.Ours.__module__ == shop.__name__ != "shop.shapes"
    for one in (shop.Theirs, shop.Inner, shop.Local):
        assert one.__module__ == "shop.shapes"


def test_what_has_no_text_for_a_module_is_left_alone(shapes: Any, pack: Callable[..., Any]) -> None:
    module = ModuleType(shapes.__name__)
    odd = type("Odd", (), {"__module__": 3})
    vars(module).update(odd=odd, number=3, module=sys, kind=int, again=odd)
    name_as_here(module, pack(TREE).archive.rules)
    assert vars(odd)["__module__"] == 3
