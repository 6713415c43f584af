"""What data may do with a name: a `Row` for each class or function, found once, asked at four moments.

At the *audit* it says in which roles a name may stand, with which arguments and attributes, off the table;
when names are *resolved*, what the object must turn out to be; when it is *built*, who takes up its state;
when it is *complete*, what it must hold. A name without a row is not in data, unless `trust=` names it.

Rows are told as tables of names that share one. Those of Python, NumPy, PyTorch and kellet are in
own_rows.py, those of a library in its `Library`.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

from packager._codecs import Role, StateCheck
from packager._quick_dataclasses import dataclass, field, replace

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    import re
    from typing import Any, Final

# The kinds of data that arguments, attributes and pairs may be, from the narrowest to the widest.
NOTHING: Final = "nothing"
TEXTS: Final = "texts and numbers"
SCALARS: Final = "scalars, tuples of them and time zones"
PLAIN: Final = "plain data"
TYPES: Final = "types and plain data"
TENSORS: Final = "plain data and tensors"
LIBRARIES: Final = "plain data, tensors and objects of libraries that have codecs"
ANY: Final = "anything that has a row"


@dataclass(frozen=True, slots=True)
class IsA:
    """A check of the object behind a name: its description, and a function that checks it."""

    words: str
    meets: Callable[[Any], bool] = field(repr=False)


@dataclass(frozen=True, slots=True)
class ClassOf:
    """Arguments that are one class with a row in this module; Cython adds a number."""

    module: str


@dataclass(frozen=True, slots=True)
class Row:
    """The rules for a class or a function in stored data.

    `roles` are those that its name may have ("create call value"), `beside_code` those that it has besides
    where code is loaded anyway. `is_a` is what it must turn out to be. `arguments`, `attributes` and
    `pairs` are the kinds of data that it is called with, has, and is given. `takes_state(made, state)`
    takes up a state in the place of its own method. `complete(made)` raises ValueError unless an object of
    data, when all is built, is one that the class could have made; `c_state` is asked of subclasses and
    beside code as well.

    `uses` are words for what else may be done: "factory" of a defaultdict, "dtype" where one is asked for,
    "wrapped" by a partial, "fills itself" where its own methods do no more than take up what they are given.
    `replaces` are attributes that may stand for what the class has under that name. `learned` says which
    attributes the library itself gives such an object, and `kind` what such a library calls one of another
    library that it holds.

    >>> Row("create", attributes=PLAIN).is_plain, Row("create", attributes=ANY).is_plain
    (True, False)
    """

    roles: str = ""
    is_a: IsA | None = None
    arguments: str | ClassOf = SCALARS
    attributes: str = TENSORS
    pairs: str = NOTHING
    takes_state: Callable[[Any, Any], None] | None = None
    complete: Callable[[Any], None] | None = None
    c_state: tuple[StateCheck, ...] = ()
    beside_code: str = ""
    uses: str = ""
    replaces: str = ""
    learned: Any = None
    kind: str = "estimator"
    name: str = ""
    distribution: str = ""

    @property
    def is_plain(self) -> bool:
        """Whether an object of the class is plain data, if its parts are."""
        return "create" in self.roles and self.attributes not in (LIBRARIES, ANY)

    @property
    def is_of_library(self) -> bool:
        """Whether a library says it, and none of our own tables."""
        return self.distribution not in ("", "Python", "NumPy", "PyTorch", "kellet")

    @property
    def told_by(self) -> str:
        """Who says it, for a message: " (row of scikit-learn)"; nothing for our own tables."""
        return f" (row of {self.distribution})" if self.is_of_library else ""

    def allows(self, role: Role, *, beside_code: bool = False) -> bool:
        """Check whether the name may stand in a role."""
        return role in self.roles or (beside_code and role in self.beside_code)


class Rows:
    """Rows by name: tables, each of a row and of names by module, that have it in common.

    What several tables say of a name is one row. Names without one may have that of the first pattern that
    takes them in: a module that ends with a dot takes in all below it, a name with a star all that fit,
    undotted ones without a leading underscore. Raises ValueError for an unknown role or kind of data.

    >>> rows = Rows((Row("create"), {"units": "Unit Scale"}), (Row("value"), {"units": "Unit"}))
    >>> rows.find("units", "Unit").roles, rows.find("units", "Other")
    ('create value', None)
    """

    def __init__(self, *tables: tuple[Row, Mapping[str, str]]) -> None:
        for row, names in tables:
            _require_known_words(row, names)
        self.tables = tables
        self._found: dict[tuple[str, str], Row | None] = {}

    def find(self, module: str, qualname: str) -> Row | None:
        """Return the row of a name, or None."""
        key = (module, qualname)
        if key not in self._found:
            self._found[key] = self._made(module, qualname)
        return self._found[key]

    def _made(self, module: str, qualname: str) -> Row | None:
        found = [row for row, names in self.tables if qualname in _words(names.get(module, ""))]
        if not any(row.roles or row.beside_code for row in found):
            found += [row for row, names in self.tables if _stands_for(names, module, qualname)][:1]
        if not found:
            return None
        one = found[0]
        for other in found[1:]:
            one = _joined(one, other)
        return replace(one, name=f"{module}:{qualname}")


def _require_known_words(row: Row, names: Mapping[str, str]) -> None:
    """Raise ValueError for a row with a role or a kind of data that there is not."""
    unknown = {*row.roles.split(), *row.beside_code.split()} - _ROLES
    unknown |= {one for one in (row.arguments, row.attributes, row.pairs) if type(one) is str} - _KINDS
    if unknown:
        raise ValueError(f"the row of {dict(names)} has {sorted(unknown)}, expected roles and kinds of data")


_ROLES: Final = frozenset({"create", "call", "value"})
_KINDS: Final = frozenset({NOTHING, TEXTS, SCALARS, PLAIN, TYPES, TENSORS, LIBRARIES, ANY})


def checked(checks: Sequence[StateCheck]) -> list[tuple[Row, Mapping[str, str]]]:
    """Return tables of the classes whose state in C is looked at by these checks."""
    tables: list[tuple[Row, Mapping[str, str]]] = []
    for check in checks:
        names: dict[str, str] = {}
        for name in check.types:
            module, _, qualname = name.partition(":")
            names[module] = f"{names.get(module, '')} {qualname}"
        tables.append((Row(c_state=(check,)), names))
    return tables


def _joined(one: Row, other: Row) -> Row:
    """Return what two rows say of one name: what either leaves as it is, the other may say."""
    told = {name: value for name, value in _parts(other).items() if value != getattr(_NOTHING_SAID, name)}
    told["c_state"] = (*one.c_state, *other.c_state)
    for name in ("roles", "beside_code", "uses", "replaces"):
        told[name] = f"{getattr(one, name)} {getattr(other, name)}".strip()
    return replace(one, **told)


def _parts(row: Row) -> dict[str, Any]:
    return {name: getattr(row, name) for name in _PARTS}


_PARTS: Final = "is_a arguments attributes pairs takes_state complete learned kind".split()
_NOTHING_SAID: Final = Row()


def _stands_for(names: Mapping[str, str], module: str, qualname: str) -> bool:
    """Check whether a pattern of a table takes in a name."""
    homes = (home for home in names if home == module or (home[-1] == "." and module.startswith(home)))
    return any(_fits(names[home], qualname) for home in homes)


def _fits(listed: str, qualname: str) -> bool:
    """Check whether a name is one of those that a pattern stands for."""
    if "*" not in listed or not qualname or ("." not in listed and qualname.startswith("_")):
        return False
    words = [word for word in listed.split() if "*" in word]
    if "*" in words and "." not in qualname:
        return True
    return any(_pattern(word).fullmatch(qualname) is not None for word in words if word != "*")


@lru_cache(maxsize=1024)
def _words(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


@lru_cache(maxsize=64)
def _pattern(word: str) -> re.Pattern[str]:
    import re  # many tables have no patterns

    return re.compile(re.escape(word).replace(r"\*", "[^.]*"))


# --- what objects turn out to be ---


def is_subclass_of(module: str, *names: str) -> Callable[[Any], bool]:
    """Return what says whether an object is a class that inherits from one of these."""

    def check(obj: Any) -> bool:
        import importlib

        home = importlib.import_module(module)
        bases = tuple(getattr(home, name) for name in names if hasattr(home, name))
        return isinstance(obj, type) and issubclass(obj, bases)

    return check


def _is_made_empty(cls: Any) -> bool:
    """Whether `object.__new__` makes an instance, or that of a dict; its own is passed over."""
    new = getattr(cls, "__new__", None)
    return isinstance(cls, type) and (
        isinstance(new, types.FunctionType) or new in (object.__new__, dict.__new__)
    )


CLASS: Final = IsA("a class", lambda obj: isinstance(obj, type))
FUNCTION: Final = IsA(
    "a function", lambda obj: isinstance(obj, (types.FunctionType, types.BuiltinFunctionType))
)
ATTRIBUTES: Final = IsA("a class that is made by object.__new__ and attributes", _is_made_empty)
TORCH_MODULE: Final = IsA("a subclass of torch.nn.Module", is_subclass_of("torch.nn", "Module"))
