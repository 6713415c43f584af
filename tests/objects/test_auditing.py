"""What an audit says, line by line; and what names must turn out to be before anything is made of them."""

from __future__ import annotations

import builtins
import collections
import re
import sys
import types
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import kellet
from packager._audit import TrustContext, UntrustedNamesError, audit, judge, resolve_name
from packager._audit.own_rows import KELLET_MODULE, KELLET_OPTIMIZER
from packager._audit.refused_names import refusal
from packager._audit.resolve import _calls_home, _problem, resolve_names
from packager._audit.rows import CLASS, FUNCTION
from packager._audit.trust import Grant
from packager._objects import build
from packager._objects.naming import FormUse, FunctionHome, NameUse
from packager._objects.records import Kind as K
from packager._objects.records import spelled_int
from packager.errors import EnvironmentMismatchError, UndeclaredImportError, UntrustedTypeError
from tests.attacks import object_forger as forge
from tests.tables import one_test

DATA, CODE = TrustContext.of_archive(["m.stored"]).data_alone(), TrustContext.with_code(["m.stored"])


def said(uses: Any, context: TrustContext = DATA, forms: Any = ()) -> list[str]:
    return str(refusal(uses, context, "object m/o", forms)).splitlines()


def use(name: str, role: Any = "create") -> NameUse:
    module, _, qualname = name.partition(":")
    return NameUse(module, qualname, role, "obj")


PASTE = (
    "If you know these names and trust this archive with them: PackageImporter(..., trust=({},)), "
    "or --trust of the command"
)
RUN = (
    "Names that are called or handed on run with values from the archive: read their code before you trust "
    "them."
)
NEITHER = "neither in the archive nor trusted; nothing was imported or built."


def test_one_name_and_several_are_counted_once() -> None:
    assert said([use("a:A")]) == [
        f"object m/o: 1 name in it is {NEITHER}",
        "* a, created and given state:",
        "    a:A    at obj",
        PASTE.format("'a:A'"),
    ]
    assert said([use("b:B", "call"), use("a:A", "value"), use("a:A"), use("a:Z")]) == [
        f"object m/o: 3 names in it are {NEITHER}",
        "* a, created and given state:",
        "    a:A    at obj",
        "    a:Z    at obj",
        "* a, handed to the code of the model:",
        "    a:A    at obj",
        "* b, called with stored arguments:",
        "    b:B    at obj",
        RUN,
        PASTE.format("'a:A', 'a:Z', 'b:B'"),
    ]


def test_what_is_never_stored_is_not_offered_for_trust() -> None:
    why = "it is of the module os, which reaches for files, processes, threads or memory"
    assert said([use("os:system")])[2:] == [f"    os:system    at obj (refused always: {why})"]
    assert said([use("builtins:eval", "call"), use("a:A")])[4:] == [
        "    builtins:eval    at obj (refused always: it turns data into code)",
        PASTE.format("'a:A'"),
    ]


def test_a_stored_source_beside_data_alone_is_told() -> None:
    told = " ({} is stored, but this object was saved as data alone)"
    assert said([use("m.stored:A")])[2] == f"    m.stored:A    at obj{told.format('its source')}"
    below = told.format("the source of m.stored")
    assert said([use("m.stored.part:A")])[2] == f"    m.stored.part:A    at obj{below}"
    assert said([use("m.stored:A")], CODE)[2] == "    m.stored:A    at obj"
    assert said([use("m:A")])[2] == "    m:A    at obj"


@pytest.mark.parametrize(
    ("count", "shown", "more"), [(1, 1, []), (10, 10, []), (22, 10, ["    and 12 more"])]
)
def test_forms_are_told_up_to_ten(count: int, shown: int, more: list[str]) -> None:
    forms = [FormUse(f"obj[{at}]", "a list") for at in range(count)]
    things = "1 thing in it is" if count == 1 else f"{count} things in it are"
    assert said([], DATA, forms) == [
        f"object m/o: {things} refused in data alone; nothing was imported or built.",
        *(f"    obj[{at}]: a list" for at in range(shown)),
        *more,
    ]
    assert said([], CODE, forms)[0].startswith(f"object m/o: {things} refused; nothing was ")


def test_a_form_that_a_name_excuses_says_so() -> None:
    assert (
        str(FormUse("obj", "a list", "m:A"))
        == "obj: a list; if you trust it, open the archive with trust=('m:A',) (--trust m:A)"
    )
    assert str(FormUse("obj", "a list")) == "obj: a list"


def test_one_line_has_the_names_that_excuse_forms_as_well() -> None:
    forms = [FormUse("obj.a", "a hook", "m:hook"), FormUse("obj.b", "a list"), FormUse("obj.c", "b", "a:A")]
    assert said([use("a:A"), use("os:system", "call")], DATA, forms)[-1] == PASTE.format("'a:A', 'm:hook'")
    assert said([], DATA, forms)[-1] == PASTE.format("'a:A', 'm:hook'")
    assert said([], DATA, forms[:2])[-1] == "    obj.b: a list"


def test_the_error_holds_what_it_tells() -> None:
    forms = [FormUse("obj", "a list")]
    error = refusal([use("a:A"), use("a:A", "call")], DATA, "o", forms)
    assert (error.names, error.forms, len(error.uses)) == (("a:A", "a:A"), (forms[0],), 2)
    assert {type(name).__name__ for name in error.names} == {"StoredName"}


def test_an_audit_refuses_forms_as_well_as_names_and_judging_refuses_nothing() -> None:
    table = forge.table_of(
        [[K.GLOBAL, "builtins", "len"], [K.CODEC, 1, "defaultdict", -1]], codecs=["collections.mapping"]
    ).records
    with pytest.raises(UntrustedNamesError, match="1 thing in it is refused in data alone") as refused:
        audit(table, TrustContext.data_only(), ["builtins:int", "builtins:tuple"])
    verdict = judge(table, TrustContext.data_only())
    assert verdict.names == refused.value.uses
    assert verdict.forms == refused.value.forms
    assert audit(table, TrustContext.data_only(), ["builtins:len"]).is_data_alone


def test_keys_are_looked_at_where_that_is_asked_for_and_in_data_alone() -> None:
    numbers = [[K.INT, spelled_int(at * (2**61 - 1))] for at in range(16, 1200)]
    table = forge.table_of([*numbers, [K.SET, *(-1 - at for at in range(len(numbers)))]]).records
    assert audit(table, TrustContext.data_only()).grants == {}
    with pytest.raises(UntrustedNamesError, match="keys whose hashes collide"):
        audit(table, TrustContext.data_only(), with_keys=True)
    (form,) = judge(table, TrustContext.data_only()).forms
    assert (form.path, "keys whose hashes collide" in form.reason) == ("obj", True)
    assert judge(table, CODE).forms == ()
    audit(table, CODE, with_keys=True)


# --- what names turn out to be ---


class Home:
    class Part: ...


class Dying:
    def __del__(self) -> None: ...


def _module(name: str, **contents: Any) -> Any:
    made = ModuleType(name)
    vars(made).update(contents)
    return made


INTERNED, ANY, CLASS = Grant("interned"), Grant("default"), Grant("extern", CLASS)
TRUSTED = Grant("trust")
PROBLEMS: list[tuple[Any, tuple[str, str], Any, Grant, str | None]] = [
    (Dying, ("x", "y"), "create", INTERNED, None),
    (types, ("types", ""), "value", ANY, "it is a module"),
    (types, ("types", ""), "value", TRUSTED, "it is a module"),
    (Home, (__name__, "Home"), "create", CLASS, None),
    (Home, ("elsewhere", "Home"), "create", CLASS, f"it calls itself {__name__}:Home"),
    (Home, (__name__, "Other"), "create", CLASS, f"it calls itself {__name__}:Home"),
    (Home, ("elsewhere", "Home"), "create", TRUSTED, None),
    (Home.Part, ("elsewhere", "Home.Part"), "create", CLASS, None),
    (3, (__name__, "three"), "value", ANY, "it calls itself None:?"),
    (len, ("builtins", "len"), "create", CLASS, "expected a class, found <built-in function len>"),
    (len, ("builtins", "len"), "create", TRUSTED, "only classes can be created"),
    (len, ("builtins", "len"), "call", TRUSTED, None),
    (
        Dying,
        (__name__, "Dying"),
        "value",
        ANY,
        "the class has __del__, which would run with state from the archive",
    ),
    (Dying(), (__name__, "x.y"), "value", ANY, None),
    (kellet.relu, ("kellet", "relu"), "value", Grant("trust", FUNCTION), None),
    (Home, (__name__, "Home"), "value", Grant("default", FUNCTION), "expected a function, found .*"),
    (kellet.nn.ReLU, ("a", "b.c"), "create", Grant("default", KELLET_MODULE), None),
    (kellet.optim.SGD, ("a", "b.c"), "create", Grant("default", KELLET_OPTIMIZER), None),
    (
        kellet.nn.ReLU,
        ("a", "b.c"),
        "create",
        Grant("default", KELLET_OPTIMIZER),
        r"expected an optimiser or scheduler of kellet\.optim, found .*",
    ),
    (
        kellet.optim.SGD,
        ("a", "b.c"),
        "create",
        Grant("default", KELLET_MODULE),
        r"expected a subclass of kellet\.nn\.Module, found .*",
    ),
    (3, ("a", "b.c"), "create", Grant("default", KELLET_MODULE), "expected .*, found 3"),
]


@one_test
@pytest.mark.parametrize(("obj", "name", "role", "grant", "found"), PROBLEMS)
def test_what_forbids_to_use_an_object(
    obj: Any, name: tuple[str, str], role: Any, grant: Grant, found: str | None
) -> None:
    problem = _problem(obj, name, role, grant, ())
    if found is None:
        assert problem is None
    else:
        assert problem is not None
        assert problem == found or re.fullmatch(found, problem)


def _says(module: Any, name: str, qualname: str | None = None) -> Any:
    return SimpleNamespace(__module__=module, __name__=name, __qualname__=qualname or name)


@one_test
@pytest.mark.parametrize(
    ("obj", "name", "listed", "is_home"),
    [
        (_says("a.b", "f"), ("a.b", "f"), (), True),
        (_says("a.b", "f"), ("a.b", "g"), ("g",), False),
        (_says("a.b", "f", "C.f"), ("a.b", "f"), (), True),
        (_says("a.b", "g", "f"), ("a.b", "f"), (), True),
        (_says("a.b", "f"), ("a", "f"), ("f",), True),
        (_says("a.b", "f"), ("a", "f"), ("g",), False),
        (_says("ab", "f"), ("a", "f"), ("f",), False),
        (_says("a", "f"), ("a.b", "f"), ("f",), False),
        (_says(None, "f"), ("a", "f"), ("f",), False),
        (_says("a__w0_0.b", "f"), ("a.b", "f"), (), False),
        (len, ("anywhere", "anything"), (), True),
        (type(None), ("types", "NoneType"), (), True),
        (type(None), ("types", "Other"), (), False),
    ],
)
def test_an_object_says_where_it_lives(obj: Any, name: tuple[str, str], listed: Any, is_home: bool) -> None:
    assert _calls_home(obj, *name, listed) is is_home


def test_a_second_name_of_the_same_module_is_its_home(monkeypatch: pytest.MonkeyPatch) -> None:
    said = _says("_loss", "f")
    monkeypatch.setitem(sys.modules, "losses.inner", ModuleType("losses.inner"))
    assert not _calls_home(said, "losses.inner", "f", ())
    monkeypatch.setitem(sys.modules, "_loss", ModuleType("_loss"))
    assert not _calls_home(said, "losses.inner", "f", ())
    monkeypatch.setitem(sys.modules, "_loss", sys.modules["losses.inner"])
    assert _calls_home(said, "losses.inner", "f", ())


def test_names_lead_through_classes() -> None:
    module = _module("m", Home=Home, zero=0, none=None)
    assert resolve_name(module, "") is module
    assert resolve_name(module, "Home.Part") is Home.Part
    assert resolve_name(module, "zero") == 0
    for missing in ("Home.None_", "gone", "none", "zero.real"):
        with pytest.raises(AttributeError, match=f"'?m'? has no .*'{missing}'"):
            resolve_name(module, missing)
    assert resolve_name(_module("builtins", **{"None": None}), "None") is None
    lazy = _module("m", __getattr__=lambda name: name.upper())
    assert resolve_name(lazy, "late") == "LATE"
    with pytest.raises(AttributeError):
        resolve_name(lazy, "late.more")


def _audited(*records: list[Any], by: str = "interned") -> Any:
    table = forge.table_of([*records, [K.LIST, *(-1 - at for at in range(len(records)))]]).records
    names = ["m"] if by == "interned" else []
    return audit(table, TrustContext.with_code(names, ["m"]), ["m:A", "m:B"] if by == "trust" else [])


INSTALL = (
    "Install the versions that the archive was recorded with, or load its state dict into a module made by "
    "the code that is here."
)


def test_only_the_none_of_python_is_none() -> None:
    assert resolve_name(builtins, "None") is None
    empty = ModuleType("m")
    vars(empty)["None"] = None
    for module, missing in ((empty, "None"), (builtins, "int.nothing")):
        message = f"^module '{module.__name__}' has no '{missing}'$"
        with pytest.raises(AttributeError, match=message):
            resolve_name(module, missing)


def test_each_name_is_imported_once_and_what_is_missing_is_told_together() -> None:
    audited = _audited([K.GLOBAL, "m", "A"], [K.GLOBAL, "m", "B"], by="trust")
    asked: list[str] = []

    def import_module(name: str) -> Any:
        asked.append(name)
        return _module(name, A=Home)

    with pytest.raises(EnvironmentMismatchError) as missing:
        resolve_names(audited, import_module)
    assert str(missing.value).splitlines() == [
        "object: these names do not exist here:",
        "    m:B: module 'm' has no attribute 'B'",
        INSTALL,
    ]
    assert asked == ["m", "m"]
    found = resolve_names(audited, lambda name: _module(name, A=Home, B=len))
    assert dict(found) == {("m", "A"): Home, ("m", "B"): len}


@pytest.mark.parametrize(
    ("error", "is_told"),
    [
        (ImportError("gone"), True),
        (ModuleNotFoundError("gone"), True),
        (UndeclaredImportError("gone"), True),
        (EnvironmentMismatchError("gone"), False),
        (ValueError("gone"), False),
    ],
)
def test_what_an_import_raises_is_told_or_comes_out(error: Exception, is_told: bool) -> None:
    def import_module(name: str) -> Any:
        raise error

    with pytest.raises((EnvironmentMismatchError, ImportError, ValueError)) as raised:
        resolve_names(_audited([K.GLOBAL, "m", "A"]), import_module)
    assert (raised.value is not error) is is_told
    if is_told:
        assert "    m:A: gone" in str(raised.value).splitlines()


def test_what_is_not_what_it_must_be_is_told_together() -> None:
    audited = _audited([K.GLOBAL, "m", "A"], [K.GLOBAL, "m", "B"], by="trust")
    with pytest.raises(UntrustedTypeError) as wrong:
        resolve_names(audited, lambda name: _module(name, A=types, B=Dying))
    assert str(wrong.value).splitlines() == [
        "object: these names are of the wrong kind here:",
        "    m:A, value: it is a module",
        "    m:B, value: the class has __del__, which would run with state from the archive",
    ]


def test_a_module_of_functions_is_known_by_its_source() -> None:
    record = [K.FUNCTION, "m", "f.<locals>.g", "0" * 64, None, None, None, None, None]
    module = _module("m", f=len)
    names = resolve_names(_audited(record), lambda name: module)
    assert names["m", ""] == FunctionHome(vars(module), None, None)
    assert ("m", "f.<locals>.g") not in names


# --- calls that C code trusts ---


def test_what_c_code_makes_is_made_from_arguments_without_names() -> None:
    name = [K.GLOBAL, "scipy.sparse", "csr_matrix"]

    def made(keywords: Any) -> Any:
        records = [name, [K.PACKED_TUPLE, 2, 3], [K.TUPLE, -2], [K.DICT, *keywords], [K.CALL_KW, -1, -3, -4]]
        audited = audit(forge.table_of(records).records, CODE, ["scipy.sparse:csr_matrix"])
        import scipy.sparse

        return build(audited, {("scipy.sparse", "csr_matrix"): scipy.sparse.csr_matrix})

    assert made([]).shape == (2, 3)
    with pytest.raises(ValueError, match="csr_matrix takes positional arguments only"):
        made(["copy", True])


def test_ordinary_calls_take_names() -> None:
    records = [[K.GLOBAL, "collections", "Counter"], [K.TUPLE], [K.DICT, "a", 2], [K.CALL_KW, -1, -2, -3]]
    audited = audit(forge.table_of(records).records, CODE, ["collections:Counter"])
    made = build(audited, {("collections", "Counter"): collections.Counter})
    assert made == collections.Counter(a=2)
