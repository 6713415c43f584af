"""Importers: a module by its name, a name by its object."""

from __future__ import annotations

import enum
import fractions
import importlib
import types
import typing
from collections.abc import Callable
from pathlib import Path

import pytest

from packager._graph import Importer, ObjMismatchError, ObjNotFoundError, OrderedImporter, sys_importer
from packager._names import PackageMangler
from packager._objects import encode


class Colour(enum.Enum):
    RED = 1


def local_function() -> types.FunctionType:
    def inner() -> None: ...

    return inner  # type: ignore[return-value]  # a plain function


class Fixed(Importer):
    """An environment that holds given modules alone."""

    def __init__(self, **modules: types.ModuleType) -> None:
        self.modules = dict(modules)

    def import_module(self, module_name: str) -> types.ModuleType:
        try:
            return self.modules[module_name]
        except KeyError:
            raise ModuleNotFoundError(module_name) from None


@pytest.mark.parametrize(
    ("obj", "name"),
    [
        (fractions.Fraction, ("fractions", "Fraction")),
        (fractions.Fraction.limit_denominator, ("fractions", "Fraction.limit_denominator")),
        (len, ("builtins", "len")),
        (typing.List, ("typing", "List")),  # noqa: UP006 - its __reduce__ gives a name
    ],
)
def test_a_name_leads_back_to_the_object(obj: object, name: tuple[str, str]) -> None:
    assert sys_importer.get_name(obj) == name


class Plain(fractions.Fraction):
    """A class that inherits its class methods."""


def test_a_method_of_a_class_has_the_name_below_that_class() -> None:
    assert sys_importer.get_name(fractions.Fraction.from_float) == ("fractions", "Fraction.from_float")
    assert sys_importer.get_name(Plain.from_float) == (__name__, "Plain.from_float")


def test_a_method_of_an_instance_has_no_name() -> None:
    with pytest.raises(ObjMismatchError):
        sys_importer.get_name(fractions.Fraction(1).limit_denominator)


def test_a_method_of_a_class_under_another_name_is_another_object() -> None:
    class_method = types.MethodType(lambda cls: cls, Plain)
    class_method.__func__.__name__ = "from_float"
    with pytest.raises(ObjMismatchError, match=r"Plain\.from_float leads to another object"):
        sys_importer.get_name(class_method)


def test_an_object_without_a_home_is_not_found() -> None:
    with pytest.raises(ObjNotFoundError, match=r"was not found as .*inner.* is local to a function"):
        sys_importer.get_name(local_function())


def test_another_object_of_the_same_name_is_a_mismatch_that_tells_both() -> None:
    mangler = PackageMangler("abcdef0123456789")
    theirs = types.ModuleType(mangler.mangle("fractions"))
    Fraction = type("Fraction", (), {"__module__": theirs.__name__})
    with pytest.raises(ObjMismatchError, match="list the importer for fractions__wabcdef012345_") as caught:
        sys_importer.get_name(Fraction)
    assert "'fractions', it's coming from the current Python environment" in str(caught.value)


def test_an_object_made_at_run_time_is_a_mismatch_that_says_so() -> None:
    made = type("Fraction", (), {"__module__": "fractions"})
    message = (
        r"^The name fractions:Fraction leads to another object, <class 'fractions\.Fraction'>: this one was "
        r"made by a function or a decorator, .* or give each its own top-level name\.$"
    )
    with pytest.raises(ObjMismatchError, match=message):
        sys_importer.get_name(made)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("Net", "reloaded was loaded again after this object was made .* Make the object again"),
        ("build", "because reloaded was loaded again.* After a reload, make the object again"),
    ],
)
def test_an_object_from_before_a_reload_is_to_be_made_again(
    project: Callable[..., Path], name: str, told: str
) -> None:
    project({"reloaded.py": "class Net:\n    def size(self): return 1\ndef build(): return Net()\n"})
    module = importlib.import_module("reloaded")
    old = getattr(module, name)
    importlib.reload(module)
    with pytest.raises(ObjMismatchError, match=f"^The name reloaded:{name} leads to .*{told}"):
        sys_importer.get_name(old)
    refused = encode(old).refusals[0]
    assert refused.options == ()


def test_functions_that_the_same_lines_made_are_told_apart_by_a_function(
    project: Callable[..., Path],
) -> None:
    code = "steps = []\nfor k in range(2):\n    def f(x, k=k): return x + k\n    steps.append(f)\n"
    project({"looped.py": code})
    first, last = importlib.import_module("looped").steps
    assert sys_importer.get_name(last) == ("looped", "f")
    with pytest.raises(ObjMismatchError, match="the same lines ran again, in a loop or because looped was"):
        sys_importer.get_name(first)


@pytest.mark.parametrize(
    "code",
    [
        "def wrap(f):\n    def inner(): f()\n    return inner\ndef first(): return 1\nNet = wrap(first)",
        "class Net: width = 3",
    ],
)
def test_an_object_that_another_one_stands_for_was_not_loaded_again(
    project: Callable[..., Path], code: str
) -> None:
    project({"wrapped.py": f"{code}\nold = type('Net', (), {{}}) if type(Net) is type else first\n"})
    module = importlib.import_module("wrapped")
    module.old.__qualname__ = "Net"
    with pytest.raises(ObjMismatchError, match="this one was made by a function or a decorator"):
        sys_importer.get_name(module.old)


def test_stored_names_carry_no_mark() -> None:
    mangler = PackageMangler("abcdef0123456789")
    home = types.ModuleType("net")
    home.Layer = type("Layer", (), {"__module__": mangler.mangle("net")})  # type: ignore[attr-defined]  # set here
    assert Fixed(net=home).get_name(home.Layer) == ("net", "Layer")


def test_an_object_that_names_no_module_is_looked_for() -> None:
    home = types.ModuleType("net")
    thing = types.SimpleNamespace(__name__="thing")
    home.thing = thing  # type: ignore[attr-defined]  # set here
    assert Fixed(net=home).get_name(thing) == ("net", "thing")
    assert Fixed().whichmodule(types.SimpleNamespace(), "thing") == "__main__"


def test_the_first_importer_with_an_answer_gives_it() -> None:
    home = types.ModuleType("net")
    home.Layer = type("Layer", (), {"__module__": "net"})  # type: ignore[attr-defined]  # set here
    ordered = OrderedImporter(Fixed(net=home), sys_importer)
    assert ordered.get_name(home.Layer) == ("net", "Layer")
    assert ordered.get_name(fractions.Fraction) == ("fractions", "Fraction")
    assert ordered.import_module("net") is home
    assert ordered.import_module("fractions") is fractions
    assert ordered.whichmodule(Colour, "Colour") == __name__


def test_when_none_has_it_all_are_named() -> None:
    with pytest.raises(ModuleNotFoundError, match="absent"):
        OrderedImporter(Fixed(), sys_importer).import_module("absent")
    with pytest.raises(
        ObjNotFoundError, match=r"(?s)in any of the importers.*was not found as.*was not found as"
    ):
        OrderedImporter(Fixed(), sys_importer).get_name(local_function())


def test_an_empty_package_of_an_archive_is_passed_over() -> None:
    mangler = PackageMangler("abcdef0123456789")
    empty = types.ModuleType(mangler.mangle("fractions"))
    empty.__path__ = []
    assert OrderedImporter(Fixed(fractions=empty), sys_importer).import_module("fractions") is fractions


def test_only_importers_can_be_ordered() -> None:
    with pytest.raises(TypeError, match="is not a Importer"):
        OrderedImporter(sys_importer, object())  # type: ignore[arg-type]  # the test is about that
