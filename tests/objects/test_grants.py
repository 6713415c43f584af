"""Why a name is allowed in a role: by the code, the caller, the default list or an extern; else not."""

from __future__ import annotations

from typing import Any

import pytest

from packager.objects import TrustContext
from packager.objects.trust import (
    Grant,
    Trust,
    default_condition,
    fills_itself,
    grant_for,
    is_listed,
    walk_classes,
)
from tests.tables import one_test

DATA = TrustContext.of_archive(["m", "datetime"]).for_object([])
CODE = TrustContext.with_code(["m"], ["far", "os", "json"])
ROLES = ("value", "call", "create")
DEFAULT, EXACT, GLOB = Grant("default"), Grant("trust"), Grant("trust", "class")

GRANTS: dict[str, tuple[TrustContext, tuple[str, str], tuple[str, ...], tuple[Grant | None, ...]]] = {
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
    "code": (CODE, ("m", "A"), (), (Grant("interned"),) * 3),
    "code, and the caller": (CODE, ("m", "A"), ("m:A",), (Grant("interned"),) * 3),
    "an extern": (CODE, ("far.sub", "A"), (), (None, None, Grant("extern", "class"))),
    "an extern without code": (DATA, ("far", "A"), (), (None, None, None)),
    "an extern of Python": (CODE, ("json.decoder", "JSONDecoder"), (), (None, None, None)),
    "a glob beside code": (CODE, ("near", "A"), ("near:*",), (None, None, GLOB)),
    "what is never stored": (CODE, ("os", "system"), ("os:system",), (None, None, None)),
    "a module of torch": (
        DATA,
        ("torch.nn.modules.linear", "Linear"),
        (),
        (Grant("default", "torch module"), None, Grant("default", "torch module")),
    ),
}


@one_test
@pytest.mark.parametrize(("context", "name", "trust", "found"), GRANTS.values(), ids=GRANTS.keys())
def test_a_name_is_granted_in_each_role(
    context: TrustContext, name: tuple[str, str], trust: tuple[str, ...], found: Any
) -> None:
    assert tuple(grant_for(*name, role, context, Trust(trust)) for role in ROLES) == found  # type: ignore[arg-type]  # roles


@one_test
@pytest.mark.parametrize(
    ("module", "name", "found"),
    [
        ("torch.nn", "Linear", ("torch module", None, "torch module")),
        ("torch.nn.functional", "relu", ("function", None, None)),
        ("torch.nn.utils", "parametrize", (None, None, None)),
        ("torch.nn.modulesx", "Linear", (None, None, None)),
        ("torch.optim.sgd", "SGD", ("torch optimizer", None, "torch optimizer")),
        ("kellet.nn.layers", "Linear", ("kellet module", None, "kellet module")),
        ("kellet.nn.functional", "relu", ("function", None, "kellet module")),
        ("kellet.optim", "SGD", ("kellet optimizer", None, "kellet optimizer")),
        ("torch.nn", "_Linear", (None, None, None)),
        ("sklearn.svm", "SVC", (None, None, "family class")),
        ("sklearn.svm", "Other", (None, None, None)),
        ("sklearn.svm._classes", "SVC", (None, None, None)),
        ("sklearn.metrics", "f1_score", ("", None, None)),
        ("sklearn.tree._tree", "Tree", (None, "", None)),
        ("torch.nn", "Linear.forward", (None, None, None)),
        ("torch.nn", "", (None, None, None)),
    ],
)
def test_families_of_names_have_their_conditions(module: str, name: str, found: Any) -> None:
    assert tuple(default_condition(module, name, role) for role in ROLES) == found  # type: ignore[arg-type]  # roles


def test_some_names_are_listed_beside_code_alone() -> None:
    name = ("pathlib", "PosixPath")
    assert default_condition(*name, "call") is None
    assert default_condition(*name, "call", beside_code=True) == ""
    assert not is_listed(*name)
    assert is_listed("datetime", "date")
    assert is_listed("scipy.sparse", "csr_matrix")
    assert not is_listed("torch.nn", "Linear")
    assert fills_itself("sklearn.svm", "SVC")
    assert not fills_itself("sklearnx.svm", "SVC")
    assert not fills_itself("far", "A")


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
