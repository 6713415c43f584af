"""Which names are allowed in which role, and what is said of the others."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from kellet import nn
from packager._audit import AuditedObject, TrustContext, UntrustedNamesError, audit, names_in
from packager._audit.trust import StoredName, Trust
from packager._objects import build, encode
from packager.errors import UntrustedTypeError
from packager.testing import round_trip
from packager.testing.round_trips import load, resolve
from tests.tables import one_test

SOURCE = """
class Net:
    def method(self): return 1
class Other(Net): pass
class Deadly:
    def __del__(self): pass
def make(): return Net()
"""


@pytest.fixture
def foreign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """A module that no archive holds."""
    (tmp_path / "foreign_lib").mkdir()
    (tmp_path / "foreign_lib" / "__init__.py").write_text("from .nets import Net as Alias\n")
    (tmp_path / "foreign_lib" / "nets.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("foreign_lib.nets")
    for name in [name for name in sys.modules if name.startswith("foreign_lib")]:
        del sys.modules[name]


def _records(obj: Any) -> bytes:
    encoded = encode(obj)
    assert not encoded.refusals
    return encoded.records


NEITHER = "names in it are neither in the archive nor trusted"
BESIDE_CODE = TrustContext.with_code(["foreign_lib.nets"])
EXTERN = TrustContext.with_code([], ["foreign_lib"])


def test_data_alone_allows_the_default_list_and_nothing_else(foreign: ModuleType) -> None:
    audit(
        _records(nn.Linear(2, 2)),
        TrustContext.data_only(),
        storages={"weight": ("F32", 16), "bias": ("F32", 8)},
    )
    with pytest.raises(UntrustedNamesError):
        audit(_records(foreign.Net()), TrustContext.data_only())


def test_interned_names_are_allowed_in_every_role(foreign: ModuleType) -> None:
    net = foreign.Net()
    audit(_records([net, foreign.Net, foreign.make, net.method]), BESIDE_CODE)


def test_classes_of_externs_may_be_created_but_not_handed_on(foreign: ModuleType) -> None:
    audit(_records(foreign.Net()), EXTERN)
    with pytest.raises(UntrustedNamesError, match=r"foreign_lib\.nets:make"):
        audit(_records(foreign.make), EXTERN)
    with pytest.raises(UntrustedNamesError, match=r"foreign_lib\.nets:Net"):
        audit(_records([foreign.Net]), EXTERN)


def test_bound_methods_are_values_of_their_own(foreign: ModuleType) -> None:
    with pytest.raises(UntrustedNamesError) as caught:
        audit(_records(foreign.Net().method), EXTERN)
    assert [str(use) for use in caught.value.uses] == ["foreign_lib.nets:Net.method"]


def test_exact_trust_allows_every_role_and_globs_creation_alone(foreign: ModuleType) -> None:
    value = _records([foreign.Net(), foreign.make])
    audit(value, TrustContext.data_only(), ["foreign_lib.nets:Net", "foreign_lib.nets:make"])
    with pytest.raises(UntrustedNamesError) as caught:
        audit(value, TrustContext.data_only(), ["foreign_lib.*:*"])
    assert [str(use) for use in caught.value.uses] == ["foreign_lib.nets:make"]


@pytest.mark.parametrize("trust", [True, "foreign_lib:Net", b"x", 1, None])
def test_trust_is_a_collection_of_names(trust: Any) -> None:
    with pytest.raises(TypeError, match="expected a collection of names"):
        Trust(trust)


@one_test
@pytest.mark.parametrize(
    "name",
    [
        *("*", "**:*", "*:*", "*.nets:Net", "foreign_lib", "os.system", "a:b:c", "", "a: b"),
        *("1zoo:A", "1.zoo:A", "9:*", "zoo:1A", "zoo:A.2nd", "zoo.*:3", "z-o:A"),
    ],
)
def test_names_that_take_in_everything_or_are_none(name: str) -> None:
    with pytest.raises(ValueError, match=r"expected 'package\.module:Qualified\.Name'"):
        Trust([name])


@pytest.mark.parametrize("name", ["zoo.3d:A", "zoo.3d.*:A", "_zoo1:_A.B2", "größe.模型:Netz", "zoo:A.*"])
def test_what_a_record_can_name_may_be_trusted(name: str) -> None:
    module, _, qualname = name.partition(":")
    assert Trust([name]).grants(module.replace("*", "b"), qualname.replace("*", "B"), "create")


def test_names_that_an_archive_listed_are_not_taken(foreign: ModuleType) -> None:
    with pytest.raises(UntrustedNamesError) as caught:
        audit(_records(foreign.Net()), TrustContext.data_only())
    assert caught.value.names == ("foreign_lib.nets:Net",)
    with pytest.raises(TypeError, match="was read from an archive"):
        audit(_records(foreign.Net()), TrustContext.data_only(), caught.value.names)
    with pytest.raises(TypeError, match="expected 'package"):
        Trust([3])  # type: ignore[list-item]  # what is tested
    assert isinstance(caught.value.names[0], StoredName)


def test_globs_count_parts() -> None:
    one, many = Trust(["a.*:*"]), Trust(["a.**:B"])
    assert one.grants("a.b", "C", "create")
    assert not one.grants("a.b.c", "C", "create")
    assert not one.grants("a", "C", "create")
    assert many.grants("a", "B", "create")
    assert many.grants("a.b.c", "B", "create")
    assert not many.grants("a.b.c", "C", "create")
    assert not many.grants("ab", "B", "create")


@pytest.mark.parametrize(
    "name", ["os:system", "builtins:getattr", "builtins:eval", "operator:add", "functools:partial"]
)
def test_what_turns_data_into_code_is_refused_even_when_trusted(name: str) -> None:
    module, _, qualname = name.partition(":")
    table = encode([len]).records.replace(b"\xa8builtins\xa3len", _text(module) + _text(qualname))
    with pytest.raises(UntrustedNamesError, match="refused always"):
        audit(table, TrustContext.with_code([module]), [name])


def _text(text: str) -> bytes:
    return bytes([0xA0 + len(text)]) + text.encode()


def test_refusal_groups_names_with_paths_and_offers_a_line_to_paste(foreign: ModuleType) -> None:
    value = {"model": [foreign.Net(), foreign.Other()], "make": foreign.make}
    trust_context = TrustContext.data_only({"foreign_lib": "foreign 1.2"})
    with pytest.raises(UntrustedTypeError) as caught:
        audit(_records(value), trust_context, what="object model/model")
    names = "('foreign_lib.nets:Net', 'foreign_lib.nets:Other', 'foreign_lib.nets:make'"
    assert str(caught.value).splitlines() == [
        f"object model/model: 3 {NEITHER}; nothing was imported or built.",
        "* foreign 1.2, created and given state:",
        "    foreign_lib.nets:Net    at obj['model'][0]",
        "    foreign_lib.nets:Other    at obj['model'][1]",
        "* foreign 1.2, handed to the code of the model:",
        "    foreign_lib.nets:make    at obj['make']",
        (
            "Names that are called or handed on run with values from the archive: read their code before you "
            "trust them."
        ),
        (
            f"If you know these names and trust this archive with them: PackageImporter(..., "
            f"trust={names},)), or --trust of the command"
        ),
    ]


def test_nothing_is_imported_before_the_audit_has_passed(foreign: ModuleType) -> None:
    records = _records(foreign.Net())
    for name in [name for name in sys.modules if name.startswith("foreign_lib")]:
        del sys.modules[name]
    with pytest.raises(UntrustedNamesError):
        audit(records, TrustContext.data_only())
    audit(records, EXTERN)
    assert "foreign_lib" not in sys.modules
    assert [str(use) for use in names_in(records)] == ["foreign_lib.nets:Net"]


def test_alias_in_another_module_is_no_home(foreign: ModuleType) -> None:
    records = _records(foreign.Net()).replace(
        _text("foreign_lib.nets") + _text("Net"), _text("foreign_lib") + _text("Alias")
    )
    with pytest.raises(UntrustedTypeError, match=r"it calls itself foreign_lib\.nets:Net"):
        _build(audit(records, EXTERN))
    records = _records(foreign.Net()).replace(
        _text("foreign_lib.nets") + _text("Net"), _text("packager._objects") + _text("TrustContext")
    )
    with pytest.raises(UntrustedTypeError):
        audit(records, TrustContext.data_only())


def test_class_that_lives_elsewhere_is_refused_when_it_is_resolved(foreign: ModuleType) -> None:
    records = _records(foreign.Net()).replace(
        _text("foreign_lib.nets") + _text("Net"), _text("msgpack") + _text("exceptions")
    )
    trust_context = TrustContext.with_code([], ["msgpack"])
    with pytest.raises(UntrustedTypeError, match="it is a module"):
        _build(audit(records, trust_context))


def test_function_in_the_role_of_a_class_is_refused(foreign: ModuleType) -> None:
    records = _records(foreign.Net()).replace(_text("Net"), _text("make"))
    with pytest.raises(UntrustedTypeError, match="expected a class"):
        _build(audit(records, EXTERN))


def test_class_with_a_finaliser_is_refused_beside_code_too(foreign: ModuleType) -> None:
    records = _records(foreign.Net()).replace(_text("Net"), _text("Deadly"))
    with pytest.raises(UntrustedTypeError, match="__del__"):
        _build(audit(records, EXTERN))
    _build(audit(records, BESIDE_CODE))


def test_default_list_is_held_to_what_it_promises() -> None:
    # A function of kellet.nn in the place of a module's class.
    records = _records(nn.ReLU()).replace(
        _text("kellet.nn") + _text("ReLU"), _text("kellet.nn.init") + _text("ones_")
    )
    with pytest.raises(UntrustedTypeError, match=r"a subclass of kellet\.nn\.Module"):
        _build(audit(records, TrustContext.data_only()))


def test_names_that_are_gone_are_reported_together(foreign: ModuleType) -> None:
    encoded = encode([foreign.Net(), foreign.Other()])
    del foreign.Net, foreign.Other  # type: ignore[attr-defined]  # a module may lose its names
    with pytest.raises(ImportError, match=r"(?s)foreign_lib\.nets:Net.*foreign_lib\.nets:Other.*state dict"):
        load(encoded, EXTERN)


@pytest.mark.parametrize("error", ["AttributeError", "ValueError"])
def test_what_a_module_raises_while_it_is_imported_comes_out_as_it_is(
    foreign: ModuleType, tmp_path: Path, error: str
) -> None:
    encoded = encode(foreign.Net())
    (tmp_path / "foreign_lib" / "nets.py").write_text(f"raise {error}('a mistake in the module')\n")
    for name in ("foreign_lib.nets", "foreign_lib"):
        del sys.modules[name]
    importlib.invalidate_caches()
    with pytest.raises((AttributeError, ValueError), match=r"\Aa mistake in the module\Z") as caught:
        load(encoded, EXTERN)
    assert type(caught.value).__name__ == error


def test_models_of_the_default_list_need_nothing() -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.LayerNorm(2), nn.MultiheadAttention(2, 1))
    assert round_trip(model).is_stable


def _build(audited: AuditedObject) -> Any:
    return build(audited, resolve(audited))
