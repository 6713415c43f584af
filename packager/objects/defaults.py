"""The default list: names that any archive may use, because nothing they do can hurt.

Exact names are in default_names.py, families of classes here: the modules that a name may be in, the
roles it is allowed in, and a condition that the object behind it has to meet when it is there. Names
are judged before anything is imported, conditions before anything is built.
"""

from __future__ import annotations

from typing import Final

from packager.codecs import Role

from .default_names import (
    CALLED,
    CALLED_BESIDE_CODE,
    CREATED,
    CREATED_BESIDE_CODE,
    FILLED_BESIDE_CODE,
    VALUES,
    VALUES_BESIDE_CODE,
)

CONDITIONS: Final = {
    "": "",
    "class": "a class",
    "function": "a function",
    "torch module": "a subclass of torch.nn.Module",
    "torch optimizer": "an optimiser, scheduler or module of torch.optim",
    "kellet module": "a subclass of kellet.nn.Module",
    "kellet optimizer": "an optimiser or scheduler of kellet.optim",
}
"""What a condition asks for, in words."""


def _listed(*tables: dict[str, str]) -> frozenset[tuple[str, str]]:
    return frozenset(
        (module, name) for table in tables for module, names in table.items() for name in names.split()
    )


_EXACT: Final[dict[Role, frozenset[tuple[str, str]]]] = {
    "value": _listed(VALUES, CALLED),
    "call": _listed(CALLED),
    "create": _listed(CALLED, CREATED),
}
_BESIDE_CODE: Final[dict[Role, frozenset[tuple[str, str]]]] = {
    "value": _listed(VALUES_BESIDE_CODE),
    "call": _listed(CALLED_BESIDE_CODE),
    "create": _listed(CREATED_BESIDE_CODE),
}
_FILLED_BESIDE_CODE: Final = _listed(FILLED_BESIDE_CODE)

# (modules, roles, condition); a trailing dot takes in everything below.
_FAMILIES: Final[tuple[tuple[tuple[str, ...], tuple[Role, ...], str], ...]] = (
    (("torch.nn", "torch.nn.modules", "torch.nn.modules."), ("create", "value"), "torch module"),
    (("torch.nn.functional",), ("value",), "function"),
    (("torch.optim", "torch.optim."), ("create", "value"), "torch optimizer"),
    (("kellet.nn.functional",), ("value",), "function"),
    (("kellet.nn", "kellet.nn."), ("create", "value"), "kellet module"),
    (("kellet.optim", "kellet.optim."), ("create", "value"), "kellet optimizer"),
)


def default_condition(module: str, qualname: str, role: Role, *, beside_code: bool = False) -> str | None:
    """What must be true of the object behind a name on the default list; None for a name not on it.

    >>> default_condition("datetime", "date", "call")
    ''
    >>> default_condition("torch.nn.modules", "Linear", "create")
    'torch module'
    >>> default_condition("subprocess", "Popen", "call") is None
    True
    """
    if (module, qualname) in _EXACT[role]:
        return ""
    if beside_code and (module, qualname) in _BESIDE_CODE[role]:
        return ""
    if "." in qualname or qualname.startswith("_") or not qualname:
        return None
    for modules, roles, condition in _FAMILIES:
        if role in roles and any(_is_below(module, name) for name in modules):
            return condition
    return None


def is_listed(module: str, qualname: str, *, beside_code: bool = False) -> bool:
    """Whether a name itself, not its family, is on the default list as something that is made."""
    name, roles = (module, qualname), ("create", "call")
    tables = (_EXACT, _BESIDE_CODE) if beside_code else (_EXACT,)
    return any(name in table[role] for table in tables for role in roles)  # type: ignore[index]  # both are roles


def fills_itself(module: str, qualname: str) -> bool:
    """Whether methods of a class of an extern are known to do no more than take up what they are given.

    Those of scikit-learn are known by the method, and looked at again when the class is there.
    """
    return (module, qualname) in _FILLED_BESIDE_CODE or module.partition(".")[0] == "sklearn"


def _is_below(module: str, family: str) -> bool:
    return module.startswith(family) if family.endswith(".") else module == family
