"""Functions are stored by name; those made inside other functions by module, name and source."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from packager._audit import TrustContext, UntrustedNamesError, audit
from packager._objects import build, encode
from packager.errors import PackageError
from packager.testing import round_trip
from packager.testing.round_trips import load, resolve

SOURCE = '''
import functools

def plain(x):
    return x

def scaled(factor, log=None):
    """Makes functions."""
    def scale(x, offset=1, *, extra=[0]):
        """Scale x."""
        return x * factor + offset + extra[0]
    scale.note = "kept"
    return scale

def counter():
    count = 0
    def up():
        nonlocal count
        count += 1
        return count
    def read():
        return count
    return up, read

def recursive():
    def down(n):
        return n and down(n - 1)
    return down

def decorated(function):
    @functools.wraps(function)
    def wrapper(*args):
        return "wrapped", function(*args)
    return wrapper

def either(flag):
    if flag:
        def pick():
            return "yes"
    else:
        def pick():
            return "no"
    return pick

def lazy():
    def later():
        return value
    read = later
    return read
    value = 1

def lambdas(n):
    return lambda: 1, lambda: 2, lambda: 1, (lambda:
        n)

top = lambda: "top"

class Maker:
    def make(self):
        def made():
            return type(self).__name__
        return made
'''


@pytest.fixture
def maker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """A module with functions that make functions, as an archive would hold it."""
    (tmp_path / "function_maker.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("function_maker")
    del sys.modules["function_maker"]


def _trip(obj: Any) -> Any:
    trip = round_trip(obj, interned=["function_maker"])
    assert trip.is_stable
    return trip.object


def test_top_level_function_is_its_name(maker: ModuleType) -> None:
    assert _trip([maker.plain])[0] is maker.plain


def test_nested_function_brings_its_closure_defaults_and_attributes(maker: ModuleType) -> None:
    scale = _trip(maker.scaled(3))
    assert scale(10) == 31
    assert scale(10, 2, extra=[100]) == 132
    assert (scale.__name__, scale.__qualname__, scale.__module__) == (
        "scale",
        "scaled.<locals>.scale",
        "function_maker",
    )
    assert (scale.__doc__, scale.note) == ("Scale x.", "kept")


def test_functions_of_one_scope_share_their_variables(maker: ModuleType) -> None:
    up, read = maker.counter()
    up()
    up_again, read_again = _trip((up, read))
    assert read_again() == 1
    up_again()
    assert (read_again(), read()) == (2, 1)


def test_function_that_calls_itself(maker: ModuleType) -> None:
    assert _trip(maker.recursive())(3) == 0


def test_decorated_function_holds_what_it_wraps(maker: ModuleType) -> None:
    wrapper = _trip(maker.decorated(maker.plain))
    assert wrapper(5) == ("wrapped", 5)
    assert wrapper.__wrapped__ is maker.plain
    assert (wrapper.__name__, wrapper.__qualname__) == ("plain", "plain")


@pytest.mark.parametrize(("flag", "answer"), [(True, "yes"), (False, "no")])
def test_two_definitions_of_one_name_are_told_apart(maker: ModuleType, flag: bool, answer: str) -> None:
    assert _trip(maker.either(flag))() == answer


def test_variable_that_was_never_bound_stays_so(maker: ModuleType) -> None:
    with pytest.raises(NameError):
        _trip(maker.lazy())()


def test_closure_over_an_object(maker: ModuleType) -> None:
    assert _trip(maker.Maker().make())() == "Maker"


def test_nested_function_of_a_module_that_is_not_interned_is_refused(maker: ModuleType) -> None:
    (refusal,) = encode({"f": maker.scaled(3)}).refusals
    assert refusal.path == "obj['f']"
    assert "cannot be imported" in refusal.reason
    assert any("intern its module" in option for option in refusal.options)


def test_lambda_of_a_module_that_is_not_interned_is_refused() -> None:
    (refusal,) = encode([lambda x: x]).refusals
    assert refusal.path == "obj[0]"
    assert "a lambda cannot be imported" in refusal.reason


def test_lambdas_of_an_interned_module_are_told_apart_by_their_source(maker: ModuleType) -> None:
    one, two, same, closed = maker.lambdas(5)
    loaded = _trip([one, two, same, closed, maker.top])
    assert [function() for function in loaded] == [1, 2, 1, 5, "top"]
    assert loaded[3].__name__ == "<lambda>"


def test_source_that_changed_since_the_import_is_refused(maker: ModuleType, tmp_path: Path) -> None:
    function = maker.scaled(3)
    (tmp_path / "function_maker.py").write_text(SOURCE.replace("x * factor", "x / factor"))
    (refusal,) = encode(function).with_sources(lambda module: True).refusals
    assert "is not as in the source of its module" in refusal.reason


def test_source_that_differs_on_loading_is_refused(maker: ModuleType, tmp_path: Path) -> None:
    encoded = encode(maker.scaled(3)).with_sources(lambda module: True)
    (tmp_path / "function_maker.py").write_text(SOURCE.replace("x * factor", "x / factor"))
    with pytest.raises(PackageError, match=r"does not define scaled\.<locals>\.scale as it was stored"):
        load(encoded, TrustContext.with_code(["function_maker"]))


def test_nested_function_needs_its_module_in_the_archive(maker: ModuleType) -> None:
    encoded = encode(maker.scaled(3)).with_sources(lambda module: True)
    with pytest.raises(UntrustedNamesError, match=r"function_maker:scaled\.<locals>\.scale"):
        audit(encoded.records, TrustContext.data_only())


def test_bound_methods_of_stored_objects(maker: ModuleType) -> None:
    owner = maker.Maker()
    loaded = _trip({"owner": owner, "method": owner.make})
    assert loaded["method"].__self__ is loaded["owner"]
    assert loaded["method"]()() == "Maker"


def test_function_bound_by_hand(maker: ModuleType) -> None:
    owner = maker.Maker()
    owner.call = maker.plain.__get__(owner)
    loaded = _trip(owner)
    assert loaded.call() is loaded


def test_methods_as_functions_and_methods_of_built_in_classes() -> None:
    value = [str.lower, dict.fromkeys, "".join.__class__]
    encoded = encode(value[:2])
    audited = audit(
        encoded.records, TrustContext.data_only(), ["builtins:str.lower", "builtins:dict.fromkeys"]
    )
    assert build(audited, resolve(audited)) == [str.lower, dict.fromkeys]


def test_bound_method_of_a_built_in_object_is_refused() -> None:
    (refusal,) = encode({"add": [].append}).refusals
    assert "list.append, a bound method of a built-in object" in refusal.reason
