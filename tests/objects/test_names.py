"""By which name a class or function is remembered."""

from __future__ import annotations

import copyreg
import importlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import MethodType, ModuleType
from typing import Any

import numpy as np
import pytest

import kellet
from kellet import nn
from packager import PackageExporter, PackageImporter, verify
from packager._objects import encode
from packager.errors import ArchiveError
from packager.testing import round_trip
from tests.tables import one_test


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """pkg lists Public of pkg.deep.inner, and not Private."""
    inner = tmp_path / "naming_pkg" / "deep" / "inner.py"
    inner.parent.mkdir(parents=True)
    (tmp_path / "naming_pkg" / "__init__.py").write_text(
        "from .deep.inner import Public, Private\n__all__ = ['Public', 'Stale']\n"
    )
    (tmp_path / "naming_pkg" / "deep" / "__init__.py").write_text(
        "from .inner import Public, Private, Deep\n__all__ = ['Public', 'Deep']\n"
    )
    inner.write_text(
        "class Public: pass\nclass Private: pass\nclass Deep:\n    class Part: pass\nclass Stale: pass\n"
        "class Dying:\n    def __del__(self): pass\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("naming_pkg.deep.inner")
    for name in [name for name in sys.modules if name.startswith("naming_pkg")]:
        del sys.modules[name]


def _names(obj: Any) -> list[str]:
    encoded = encode(obj)
    assert not encoded.refusals
    return [str(use) for use in encoded.names]


def test_the_shortest_package_that_lists_it(package: ModuleType) -> None:
    assert _names(package.Public()) == ["naming_pkg:Public"]
    assert _names(package.Deep()) == ["naming_pkg.deep:Deep"]
    assert _names(package.Deep.Part()) == ["naming_pkg.deep:Deep.Part"]


def test_a_class_that_nobody_lists_is_where_it_is_defined(package: ModuleType) -> None:
    assert _names(package.Private()) == ["naming_pkg.deep.inner:Private"]
    assert _names(package.Stale()) == ["naming_pkg.deep.inner:Stale"]


def test_kellet_has_public_names() -> None:
    assert _names(nn.Linear(1, 1)) == ["kellet.nn:Linear"]
    assert _names([kellet.tanh]) == ["kellet:tanh"]


def test_universal_functions() -> None:
    assert _names([np.add, np.exp]) == ["numpy:add", "numpy:exp"]
    assert round_trip([np.add]).object[0] is np.add


def test_each_use_has_its_role_and_path() -> None:
    encoded = encode({"a": [nn.ReLU()], "b": nn.ReLU, "c": kellet.relu})
    assert [(str(use), use.role, use.path) for use in encoded.names] == [
        ("kellet.nn:ReLU", "create", "obj['a'][0]"),
        ("kellet.nn:ReLU", "value", "obj['b']"),
        ("kellet:relu", "value", "obj['c']"),
    ]
    assert encoded.modules == ("kellet", "kellet.nn")


class Counted:
    """An object that says itself how it is made: without arguments, with some, with some by name."""

    def __init__(self, made: tuple[Any, ...]) -> None:
        self.made = made

    def __new__(cls, *args: Any, **options: Any) -> Counted:
        return object.__new__(cls)

    def __reduce__(self) -> tuple[Any, ...]:
        return self.made


def test_a_class_is_called_where_it_is_given_arguments_and_else_created() -> None:
    ways = [
        (copyreg.__newobj__, (Counted,)),  # type: ignore[attr-defined]  # what __reduce__ gives
        (copyreg.__newobj__, (Counted, 3)),  # type: ignore[attr-defined]  # the same
        (copyreg.__newobj_ex__, (Counted, (), {"n": 3})),  # type: ignore[attr-defined]  # the same
        (Counted, ((),)),
    ]
    roles = [{use.role for use in encode(Counted(way)).names} for way in ways]
    assert roles == [{"create"}, {"call"}, {"call"}, {"call"}]


@one_test
@pytest.mark.parametrize("value", [getattr, eval, __import__, os.system, exec, open, importlib.import_module])
def test_what_turns_data_into_code_is_refused(value: Any) -> None:
    (refusal,) = encode({"f": value}).refusals
    assert refusal.path == "obj['f']"
    assert "refused in every archive" in refusal.reason


def test_a_name_that_leads_elsewhere_is_refused(package: ModuleType) -> None:
    impostor = type("Public", (), {"__module__": "naming_pkg.deep.inner"})
    (refusal,) = encode(impostor()).refusals
    assert "cannot be imported by its name" in refusal.reason


class Tabled:
    """A class whose attribute is an array, under the name of a class method that is bound to it."""

    table = np.ones(3)


def test_class_method_whose_name_leads_to_an_array_is_refused_with_its_path() -> None:
    def table(cls: type) -> None: ...

    encoded = encode({"made": MethodType(table, Tabled)}).with_sources(lambda module: True)
    assert [str(found) for found in encoded.refusals] == [
        "obj['made']: a class method that Tabled.table does not return"
    ]


def test_a_class_with_a_finaliser_is_refused_unless_its_source_is_stored(package: ModuleType) -> None:
    (refusal,) = encode([package.Dying()]).refusals
    assert "__del__" in refusal.reason
    again = encode([package.Dying(), {"made": package.Dying()}]).refusals
    assert [found.path for found in again] == ["obj[0]", "obj[1]['made']"]
    assert encode([package.Dying()]).with_sources(lambda module: True).refusals == ()


def test_an_attribute_whose_name_has_no_utf8_form_is_refused() -> None:
    linear = nn.Linear(1, 1)
    setattr(linear, "caf\udce9", 1)
    with pytest.raises(ArchiveError, match=r"the text 'caf\\udce9' cannot be stored"):
        encode(linear)


def _uses(obj: Any) -> list[tuple[str, str]]:
    return [(str(use), use.role) for use in encode(obj).names]


def test_a_class_that_is_held_and_makes_objects_is_named_for_both() -> None:
    """What a manifest says is what the records ask for, whichever of the two comes first."""
    optimizer = kellet.optim.SGD([nn.Parameter(kellet.ones(2))], lr=0.1)
    both = [("kellet.optim:SGD", "value"), ("kellet.optim:SGD", "create")]
    assert _uses({"kind": kellet.optim.SGD, "made": optimizer})[:2] == both
    for held in ([optimizer, kellet.optim.SGD, kellet.optim.SGD], [optimizer, [kellet.optim.SGD]]):
        assert {use for use in _uses(held) if "SGD" in use[0]} == set(both)
    assert [use for use in _uses([kellet.optim.SGD] * 2) if "SGD" in use[0]] == both[:1]


@pytest.mark.parametrize("first", ["kind", "made"])
def test_an_archive_with_a_class_and_what_it_makes_is_proven(tmp_path: Path, first: str) -> None:
    parts = {
        "kind": kellet.optim.SGD,
        "made": kellet.optim.SGD([nn.Parameter(kellet.ones(2))], lr=0.1),
    }
    held = {first: parts.pop(first), **parts}
    with PackageExporter(tmp_path / "x.kellet", policy="auto", prove=False) as exporter:
        exporter.save_object("m", "o", held)
    with PackageImporter(tmp_path / "x.kellet") as importer:
        loaded = importer.load_object("m", "o")
        assert loaded["kind"] is type(loaded["made"]) is kellet.optim.SGD
    assert verify(tmp_path / "x.kellet", deep=True).problems == ()
