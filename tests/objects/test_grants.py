"""Why a name is allowed in a role: by the code, the caller, the default list or an extern; else not."""

from __future__ import annotations

from typing import Any

import pytest

from packager._audit import Row, Trust, TrustContext, grant_for, row_of
from packager._codecs import find_library
from packager._names import walk_classes
from tests.tables import one_test

DATA = TrustContext.of_archive(["m", "datetime"]).for_object([])
CODE = TrustContext.with_code(["m"], ["far", "os", "json"])
ROLES = ("value", "call", "create")
DEFAULT, EXACT, GLOB = ("default", ""), ("trust", ""), ("trust", "a class")
IN_CODE = ("interned", "")
MODULE = "a subclass of torch.nn.Module"
OURS = "a subclass of kellet.nn.Module"
OPTIMIZER = "an optimiser, scheduler or module of torch.optim"
OUR_OPTIMIZER = "an optimiser or scheduler of kellet.optim"
EMPTY = "a class that is made by object.__new__ and attributes"
Found = tuple[tuple[str, str] | None, ...]


GRANTS: dict[
    str, tuple[TrustContext, tuple[str, str], tuple[str, ...], tuple[tuple[str, str] | None, ...]]
] = {
    "nothing": (DATA, ("far", "A"), (), (None, None, None)),
    "the caller, by name": (DATA, ("far", "A"), ("far:A",), (EXACT, EXACT, GLOB)),
    "the caller, by a glob": (DATA, ("far", "A"), ("far:*",), (None, None, GLOB)),
    "the caller, by another name": (DATA, ("far", "A"), ("far:B", "near:A"), (None, None, None)),
    "the default list": (
        TrustContext.data_only(),
        ("datetime", "date"),
        (),
        (DEFAULT, DEFAULT, DEFAULT),
    ),
    "a listed name that is stored": (DATA, ("datetime", "date"), (), (None, None, None)),
    "a glob over what is stored": (DATA, ("m", "A"), ("m:*",), (None, None, None)),
    "a name of what is stored": (DATA, ("m", "A"), ("m:A",), (EXACT, EXACT, GLOB)),
    "code": (CODE, ("m", "A"), (), (IN_CODE,) * 3),
    "code, and the caller": (CODE, ("m", "A"), ("m:A",), (IN_CODE,) * 3),
    "an extern": (CODE, ("far.sub", "A"), (), (None, None, ("extern", "a class"))),
    "an extern without code": (DATA, ("far", "A"), (), (None, None, None)),
    "an extern of Python": (CODE, ("json.decoder", "JSONDecoder"), (), (None, None, None)),
    "a glob beside code": (CODE, ("near", "A"), ("near:*",), (None, None, GLOB)),
    "what is never stored": (CODE, ("os", "system"), ("os:system",), (None, None, None)),
    "a module of torch": (
        DATA,
        ("torch.nn.modules.linear", "Linear"),
        (),
        (("default", MODULE), None, ("default", MODULE)),
    ),
}


@one_test
@pytest.mark.parametrize(("context", "name", "trust", "found"), GRANTS.values(), ids=GRANTS.keys())
def test_a_name_is_granted_in_each_role(
    context: TrustContext, name: tuple[str, str], trust: tuple[str, ...], found: Any
) -> None:
    grants = [grant_for(*name, role, context, Trust(trust)) for role in ROLES]  # type: ignore[arg-type]  # roles
    told = (grant and (grant.by, grant.is_a.words if grant.is_a else "") for grant in grants)
    assert tuple(told) == found


@one_test
@pytest.mark.parametrize(
    ("module", "name", "found"),
    [
        ("torch.nn", "Linear", (MODULE, None, MODULE)),
        ("torch.nn.functional", "relu", ("a function", None, None)),
        ("torch.nn.utils", "parametrize", (None, None, None)),
        ("torch.nn.modulesx", "Linear", (None, None, None)),
        (
            "torch.optim.sgd",
            "SGD",
            (
                OPTIMIZER,
                None,
                OPTIMIZER,
            ),
        ),
        (
            "kellet.nn.layers",
            "Linear",
            (OURS, None, OURS),
        ),
        ("kellet.nn.functional", "relu", ("a function", None, None)),
        (
            "kellet.optim",
            "SGD",
            (OUR_OPTIMIZER, None, OUR_OPTIMIZER),
        ),
        ("torch.nn", "_Linear", (None, None, None)),
        ("sklearn.svm", "SVC", (None, None, EMPTY)),
        ("sklearn.svm", "Other", (None, None, None)),
        ("sklearn.svm._classes", "SVC", (None, None, None)),
        ("sklearn.metrics", "f1_score", ("", None, None)),
        ("sklearn.tree._tree", "Tree", (None, "", None)),
        ("torch.nn", "Linear.forward", (None, None, None)),
        ("torch.nn", "", (None, None, None)),
    ],
)
def test_families_of_names_have_their_conditions(module: str, name: str, found: Any) -> None:
    row = row_of(module, name, find_library) or Row()
    words = row.is_a.words if row.is_a else ""
    assert tuple(words if row.allows(role) else None for role in ROLES) == found  # type: ignore[arg-type]  # roles


def row(module: str, name: str) -> Row:
    return row_of(module, name, find_library) or Row()


def test_some_names_are_listed_beside_code_alone() -> None:
    path = row("pathlib", "PosixPath")
    assert not path.allows("call")
    assert path.allows("call", beside_code=True)
    plain = {
        ("pathlib", "PosixPath"): False,
        ("datetime", "date"): True,
        ("scipy.sparse", "csr_matrix"): True,
        ("torch.nn", "Linear"): False,
    }
    assert {name: row(*name).is_plain for name in plain} == plain
    filled = {("sklearn.svm", "SVCs"): True, ("sklearnx.svm", "SVC"): False, ("far", "A"): False}
    assert {name: "fills itself" in row(*name).uses for name in filled} == filled


@one_test
@pytest.mark.parametrize(
    ("module", "name"),
    [("a:b", "C"), ("a", "b:C"), ("a.", "C"), ("a..b", "C"), ("a", ""), ("a", "B."), ("a", "B..C")],
)
def test_a_glob_takes_no_malformed_name(module: str, name: str) -> None:
    for trust in (("a.**:*",), ("a:*",)):
        assert not Trust(trust).grants(module, name, "create")


class Outer:
    class Inner:
        inside = 1

    value = 1


def test_classes_are_walked_and_nothing_else() -> None:
    import sys

    here = sys.modules[__name__]
    assert walk_classes(here, "Outer.Inner") is Outer.Inner
    assert walk_classes(here, "Outer.Inner.inside") == 1
    for name in ("Gone", "Outer.gone", "Outer.value.real", "Outer.gone.x"):
        assert walk_classes(here, name) is None
    assert walk_classes(Outer, "Inner") is None
