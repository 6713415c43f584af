"""How a name is looked for: what lists a thing, what says where it lives, and what leads to it."""

from __future__ import annotations

import importlib
import inspect
import math
import operator
import os
import pickle
import re
import sys
import threading
from collections.abc import Callable
from functools import partial
from types import MethodType, ModuleType
from typing import Any

import numpy as np
import pytest

from packager._codecs import CannotStore
from packager._graph import sys_importer
from packager._objects.naming import NameFinder, require_said
from tests.tables import one_test


class TwoNames:
    """An importer of modules by hand, which knows everything by one name."""

    def __init__(self, modules: dict[str, ModuleType], name: tuple[str, str]) -> None:
        self._modules = modules
        self._name = name

    def get_name(self, obj: Any, name: str | None = None) -> tuple[str, str]:
        return self._name

    def import_module(self, name: str) -> ModuleType:
        if name not in self._modules:
            raise ImportError(name)
        return self._modules[name]


def _module(name: str, **contents: Any) -> ModuleType:
    made = ModuleType(name)
    vars(made).update(contents)
    return made


class Thing:
    class Part:
        pass

    @classmethod
    def make(cls) -> None: ...


def _found(obj: Any, name: tuple[str, str] = ("a.b.c", "Thing"), **packages: Any) -> tuple[str, str]:
    modules = {one.replace("_", "."): _module(one, **contents) for one, contents in packages.items()}
    return NameFinder(TwoNames(modules, name)).find(obj)  # type: ignore[arg-type]  # two methods are asked


LISTED = {"__all__": ["Thing"], "Thing": Thing}


@one_test
@pytest.mark.parametrize(
    ("packages", "found"),
    [
        ({}, "a.b.c:Thing"),
        ({"a": LISTED, "a_b": LISTED}, "a:Thing"),
        ({"a_b": LISTED}, "a.b:Thing"),
        ({"a": {**LISTED, "__all__": ("Thing",)}}, "a:Thing"),
        ({"a": {**LISTED, "__all__": "Thing"}, "a_b": LISTED}, "a.b:Thing"),
        ({"a": {"Thing": Thing}, "a_b": LISTED}, "a.b:Thing"),
        ({"a": {"__all__": ["Thing"]}, "a_b": LISTED}, "a.b:Thing"),
        ({"a": {"__all__": ["Thing"], "Thing": int}, "a_b": LISTED}, "a.b:Thing"),
        ({"a": {"__all__": ["Other"], "Thing": Thing}}, "a.b.c:Thing"),
        ({"a_b_c": LISTED}, "a.b.c:Thing"),
    ],
)
def test_the_shortest_package_that_lists_the_thing_itself(packages: Any, found: str) -> None:
    assert ":".join(_found(Thing, **packages)) == found


class _Lazy(ModuleType):
    """A package that imports what it lists when it is asked, and keeps it or not."""

    keeps = True

    def __getattr__(self, name: str) -> Any:
        if name != "Thing":
            raise RuntimeError("whatever a lazy package likes")
        if self.keeps:
            vars(self)[name] = Thing
        return Thing


class _Forgetful(_Lazy):
    keeps = False


@pytest.mark.parametrize(
    ("cls", "listed", "asked_before", "found"),
    [
        (_Lazy, "Thing", False, "a:Thing"),
        (_Lazy, "Thing", True, "a:Thing"),
        (_Lazy, "Other", False, "a.b.c:Thing"),
        (_Forgetful, "Thing", False, "a.b.c:Thing"),
        (_Forgetful, "Thing", True, "a.b.c:Thing"),
    ],
)
def test_the_name_in_a_lazy_package_is_the_same_whether_it_was_used_before(
    cls: type[_Lazy], listed: str, asked_before: bool, found: str
) -> None:
    package = cls("a")
    vars(package)["__all__"] = [listed]
    if asked_before:
        assert package.Thing is Thing
    finder = NameFinder(TwoNames({"a": package}, ("a.b.c", "Thing")))  # type: ignore[arg-type]  # as above
    assert ":".join(finder.find(Thing)) == found


def test_a_lazy_package_that_fails_does_not_lend_its_name() -> None:
    package = _Lazy("a")
    vars(package)["__all__"] = ["Part"]
    finder = NameFinder(TwoNames({"a": package}, ("a.b", "Part")))  # type: ignore[arg-type]  # as above
    assert finder.find(Thing.Part) == ("a.b", "Part")


def test_a_part_is_found_through_its_class_or_by_its_own_name() -> None:
    assert _found(Thing.Part, ("a.b", "Thing.Part"), a=LISTED) == ("a", "Thing.Part")
    alone = {"__all__": ["Part"], "Part": Thing.Part}
    both = {**LISTED, **alone, "__all__": ["Part", "Thing"]}
    assert _found(Thing.Part, ("a.b", "Thing.Part"), a=alone) == ("a", "Part")
    assert _found(Thing.Part, ("a.b", "Thing.Part"), a=both) == ("a", "Thing.Part")


def test_what_is_gone_again_does_not_give_its_name_to_what_takes_its_place() -> None:
    finder = NameFinder(sys_importer)
    makers: list[Callable[[], Any]] = [
        lambda: dict.fromkeys,
        lambda: bytes.fromhex,
        lambda: float.fromhex,
        lambda: int.from_bytes,
    ]
    assert [finder.find(make()) for make in makers] == [
        ("builtins", "dict.fromkeys"),
        ("builtins", "bytes.fromhex"),
        ("builtins", "float.fromhex"),
        ("builtins", "int.from_bytes"),
    ]


def test_a_thing_is_looked_for_once_under_each_name() -> None:
    asked = []

    class Counting(TwoNames):
        def get_name(self, obj: Any, name: str | None = None) -> tuple[str, str]:
            asked.append(name)
            return super().get_name(obj, name)

    finder = NameFinder(Counting({}, ("a", "Thing")))  # type: ignore[arg-type]  # two methods are asked
    assert [finder.find(Thing), finder.find(Thing), finder.find(Thing, "Other")] == [("a", "Thing")] * 3
    assert asked == [Thing.__qualname__, "Other"]


@one_test
@pytest.mark.parametrize(
    ("obj", "found"),
    [
        (type(None), "types:NoneType"),
        (type(...), "types:EllipsisType"),
        (type(NotImplemented), "types:NotImplementedType"),
        (len, "builtins:len"),
        (math.sqrt, "math:sqrt"),
        (np.sqrt, "numpy:sqrt"),
        (dict.fromkeys, "builtins:dict.fromkeys"),
        (Thing.make, f"{__name__}:Thing.make"),
    ],
)
def test_what_says_little_of_its_home_is_found_in_a_common_one(obj: Any, found: str) -> None:
    assert ":".join(NameFinder(sys_importer).find(obj)) == found


def test_a_second_name_of_a_module_gives_way_to_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("losses.inner")
    made = type("Loss", (), {"__module__": "_loss"})
    vars(module)["Loss"] = made
    monkeypatch.setitem(sys.modules, "_loss", module)
    assert NameFinder(sys_importer).find(made) == ("_loss", "Loss")
    monkeypatch.setitem(sys.modules, "losses.inner", module)
    assert NameFinder(sys_importer).find(made) == ("losses.inner", "Loss")


class Nameless:
    pass


def _refusal(obj: Any, name: str | None = None, importer: Any = sys_importer) -> CannotStore:
    with pytest.raises(CannotStore) as refused:
        NameFinder(importer).find(obj, name)
    return refused.value


def test_what_has_no_name_is_refused() -> None:
    assert _refusal(Nameless()).reason == "this Nameless has no name to import it by"
    odd = Nameless()
    odd.__qualname__ = 3  # type: ignore[attr-defined]  # an object may say what it likes
    assert _refusal(odd).reason == "this Nameless has no name to import it by"
    named = Nameless()
    named.__name__ = "named"  # type: ignore[attr-defined]  # the same
    assert "Nameless 'named' cannot be imported by its name" in _refusal(named).reason


def test_what_is_made_inside_a_function_is_refused_with_what_helps() -> None:
    class Inner: ...

    assert _refusal(Inner).reason == (
        "type 'test_what_is_made_inside_a_function_is_refused_with_what_helps.<locals>.Inner' "
        "cannot be imported: it is made inside a function"
    )
    assert _refusal(lambda: 1).reason.startswith("a lambda cannot be imported")
    assert len(_refusal(Inner).options) == 3


def test_what_an_importer_raises_is_told() -> None:
    class Lazy(TwoNames):
        def get_name(self, obj: Any, name: str | None = None) -> tuple[str, str]:
            raise RuntimeError("not today")

    error = _refusal(Thing, importer=Lazy({}, ("", "")))
    assert error.reason == "type 'Thing' cannot be imported by its name: not today"


class Other:
    @classmethod
    def make(cls) -> None: ...

    @staticmethod
    def plain() -> None: ...


@pytest.mark.parametrize(
    "method",
    [
        MethodType(Other.make.__func__, Thing),
        MethodType(Other.plain, Other),
        MethodType(Other.make.__func__, Nameless),
    ],
    ids=["of another class", "a static method", "of a class without it"],
)
def test_a_class_method_to_which_its_name_does_not_lead_is_refused(method: Any) -> None:
    assert "a class method that" in _refusal(method).reason


LOOKS_UP = "which has functions that look up and call what they are told"
NEVER = {
    eval: "turns data into code",
    getattr: "looks up, changes or removes what a name leads to",
    property: "makes a class, or a part of one",
    partial: "calls what it is given",
    np.load: "reads or writes files",
    operator.call: f"is of the module _operator, {LOOKS_UP}",
    operator.attrgetter: f"is of the module operator, {LOOKS_UP}",
    pickle.Unpickler: "is of the module _pickle, which makes objects by calling what bytes name",
    importlib.import_module: "is of the module importlib, which imports, compiles or runs what it is given",
    inspect.signature: "is of the module inspect, which reaches into the program that runs",
    os.system: f"is of the module {os.name}, which reaches for files, processes, threads or memory",
}


@one_test
@pytest.mark.parametrize(("obj", "what"), NEVER.items(), ids=[one.__name__ for one in NEVER])
def test_what_is_refused_in_every_archive_says_what_is_true_of_it(obj: Any, what: str) -> None:
    said = _refusal(obj).reason
    name, _, told = said.partition(" ")
    assert name.endswith(f":{obj.__name__}")
    assert told == f"{what}, and is refused in every archive"


def test_a_class_of_the_system_leads_to_a_factory() -> None:
    refusal = _refusal(threading.Condition)
    assert refusal.reason.startswith("threading:Condition is of the module threading, which reaches for")
    assert refusal.options[0].startswith("remove what holds it before saving (__getstate__)")
    assert refusal.options[1].endswith("by a factory: PackageExporter.save_object(..., factory=, config=)")


# --- what a manifest says of names ---

A, B = ("m:a", "call"), ("m:b", "create")
NOT_SAID, NOT_NAMED = "which the manifest does not list", "which its records do not name"


@pytest.mark.parametrize(
    ("found", "said", "message"),
    [
        ({A}, (), "its records name m:a, which the manifest does not list"),
        ((), [A], "the manifest lists m:a, which its records do not name"),
        (
            {A, B},
            [("m:a", "value")],
            f"its records name m:a (call), m:b, {NOT_SAID}; the manifest lists m:a (value), {NOT_NAMED}",
        ),
        (
            [(f"m:{n}", "call") for n in range(5)],
            (),
            "its records name m:0, m:1, m:2, m:3, m:4, which the manifest does not list",
        ),
        (
            [(f"m:{n}", "call") for n in range(7)],
            (),
            "its records name m:0, m:1, m:2, m:3, m:4 and 2 more, which the manifest does not list",
        ),
    ],
)
def test_names_that_differ_from_those_of_a_manifest_are_told(found: Any, said: Any, message: str) -> None:
    text = f"object m/o: {message}; the archive was not written by packager: do not load it"
    with pytest.raises(Exception, match=f"^{re.escape(text)}$"):
        require_said(found, said, "object m/o")


def test_names_that_a_manifest_says_are_no_fault() -> None:
    require_said({A, B}, [B, A, A], "object m/o")


def test_a_module_that_fails_to_be_imported_lists_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gone_pkg", None)  # type: ignore[arg-type]  # what an import refuses
    thing = type("Thing", (), {"__module__": "gone_pkg.below"})
    below = _module("gone_pkg.below", Thing=thing)
    monkeypatch.setitem(sys.modules, "gone_pkg.below", below)
    finder = NameFinder(TwoNames({}, ("gone_pkg.below", "Thing")))  # type: ignore[arg-type]  # the same
    assert finder.find(thing) == ("gone_pkg.below", "Thing")
