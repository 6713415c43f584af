"""Which names a stored object may use: the trust context, what the caller trusts, and the defaults.

A name is allowed for a role: *create* makes an instance and gives it state, *call* calls it with
stored arguments, *value* puts it where the model's own code will find it, which for a function is
as dangerous as a call.

An object that names a stored class brings code that the caller loads anyway, and names are no boundary
there: signatures and policies are. Then names of stored modules are allowed in every role, and classes
of recorded externs may be created; externs of the standard library grant nothing. Everything else is
data alone, whatever source lies beside it: only the default list is allowed, and what `trust=` names,
and only in the forms of forms.py.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Collection, Iterable, Mapping

from packager._codecs import Library, Role, find_library
from packager._globs import Glob
from packager._names import is_never_stored
from packager._quick_dataclasses import dataclass, field, replace
from packager._texts import did_you_mean
from packager.errors import ArgumentError

from .rows import CLASS, IsA, Row

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    from typing import Final


class StoredName(str):
    """A name that was read from an archive. `trust=` does not take it: who trusts must say so in words."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Grant:
    """Why a name is allowed: `by` is "interned", "extern", "default" or "trust", `row` its row, if any.

    `is_a` is what the object behind it must turn out to be; None where the name alone suffices.
    """

    by: str
    is_a: IsA | None = None
    row: Row | None = None

    @property
    def told_by(self) -> str:
        """Why the name is allowed, in words; "row of scikit-learn" where a library says what data may do."""
        if self.by == "default" and self.row is not None and self.row.is_of_library:
            return f"row of {self.row.distribution}"
        return self.by


@dataclass(frozen=True, slots=True)
class TrustContext:
    """What bears on trust beside the names: the stored modules, the recorded externs, and what they grant.

    `interned` knows the modules whose source is stored, `externs` are top-level names, and
    `distributions` maps top-level import names to what they are installed from, for messages. Only
    where `allows_code` do the first two grant anything; where `by_names`, the names in an object
    decide that.

    >>> TrustContext.data_only().allows_code
    False
    """

    interned: Callable[[str], bool] = field(default=lambda module: False, repr=False)
    externs: frozenset[str] = frozenset()
    distributions: Mapping[str, str] = field(default_factory=dict)
    allows_code: bool = False
    by_names: bool = False

    @classmethod
    def data_only(cls, distributions: Mapping[str, str] | None = None) -> TrustContext:
        """Return the trust context of an archive without code, or whose code the caller does not load."""
        return cls(distributions=distributions or {})

    @classmethod
    def with_code(
        cls,
        interned: Callable[[str], bool] | Collection[str],
        externs: Iterable[str] = (),
        distributions: Mapping[str, str] | None = None,
    ) -> TrustContext:
        """Return the trust context of an object that brings code, whatever it names.

        `interned` are module names, or a function that knows them; `externs` top-level names.
        """
        if not callable(interned):
            interned = frozenset(interned).__contains__
        return cls(interned, frozenset(externs), distributions or {}, allows_code=True)

    @classmethod
    def of_archive(
        cls,
        interned: Collection[str],
        externs: Iterable[str] = (),
        distributions: Mapping[str, str] | None = None,
    ) -> TrustContext:
        """Return the context of an archive: with code where an object names a stored module, else data alone.

        `interned` are the modules whose source is stored: no mocks, and no parents without a source.
        """
        return replace(cls.with_code(interned, externs, distributions), allows_code=False, by_names=True)

    def for_object(self, modules: Iterable[str]) -> TrustContext:
        """Return the trust context of one object that names these modules.

        >>> archive = TrustContext.of_archive({"net"})
        >>> archive.for_object(["net"]).allows_code, archive.for_object(["numpy"]).allows_code
        (True, False)
        """
        if not self.by_names:
            return self
        return replace(self, allows_code=any(map(self.interned, modules)), by_names=False)

    def stored_on_the_way(self, module: str) -> tuple[str, ...]:
        """Return those of a module and its parents whose stored source an import of the module would run.

        >>> TrustContext.of_archive({"numpy"}).stored_on_the_way("numpy.linalg")
        ('numpy',)
        """
        parts = module.split(".")
        names = (".".join(parts[:length]) for length in range(1, len(parts) + 1))
        return tuple(filter(self.interned, names))

    def data_alone(self) -> TrustContext:
        """Return the same without what code grants: for state dicts, extras and migrations."""
        return replace(self, allows_code=False, by_names=False)


class Trust:
    """What a caller trusts, from the argument `trust=`: exact names, and globs over classes.

    "package.module:Class" allows that very name in every role. "package.*:*" or "package.**:Class"
    allows classes to be created, nothing to be called. The first part of a module is never a glob.

    Raises ArgumentError for anything that is not a collection of strings (True, say, or names that an
    archive listed), and for a glob that takes in everything.

    >>> Trust(["collections:deque"]).grants("collections", "deque", "call")
    True
    >>> Trust(["sklearn.**:*"]).grants("sklearn.svm", "SVC", "create")
    True
    >>> Trust(["sklearn.**:*"]).grants("sklearn.utils", "resample", "call")
    False
    """

    def __init__(self, names: Collection[str] = ()) -> None:
        if isinstance(names, (str, bytes, bool)) or not isinstance(names, Collection):
            raise ArgumentError(f"trust={names!r}: expected a collection of names, such as ('zoo.nets:Net',)")
        self._exact: set[tuple[str, str]] = set()
        self._globs: list[tuple[Glob, Glob]] = []  # of the module, and of the name in it
        for name in names:
            self._add(name)

    def grants(self, module: str, qualname: str, role: Role) -> bool:
        """Return whether the caller trusts a name in this role."""
        if self.names(module, qualname):
            return True
        if role != "create" or ":" in module + qualname or "" in (*module.split("."), *qualname.split(".")):
            return False
        return any(home.matches(module) and name.matches(qualname) for home, name in self._globs)

    def unmatched(self, names: Iterable[tuple[str, str]]) -> list[str]:
        """Return what the caller wrote that matches none of `names`, each with the name that may be meant.

        >>> Trust(["collections:dequee"]).unmatched([("collections", "deque")])
        ["'collections:dequee'; did you mean collections:deque?"]
        """
        there = {*names}
        idle = [f"{one[0]}:{one[1]}" for one in sorted(self._exact - there)]
        for home, name in self._globs:
            if not any(home.matches(module) and name.matches(qualname) for module, qualname in there):
                idle.append(f"{home.pattern}:{name.pattern}")
        known = [f"{module}:{qualname}" for module, qualname in there]
        return [f"{one!r}{did_you_mean(one, known)}" for one in idle]

    def names(self, module: str, qualname: str) -> bool:
        """Return whether the caller wrote out this very name."""
        return (module, qualname) in self._exact

    def _add(self, name: object) -> None:
        if isinstance(name, StoredName):
            raise ArgumentError(
                f"trust={str(name)!r} was read from an archive, which may not choose the trusted names. "
                "Read the names, and write them out as literals"
            )
        if not isinstance(name, str) or _FORM.fullmatch(name) is None:
            raise ArgumentError(
                f"trust={name!r}: expected 'package.module:Qualified.Name'; after the first part, '*' stands "
                "for one part and '**' for any number"
            )
        module, _, qualname = name.partition(":")
        if "*" in name:
            self._globs.append((Glob(module), Glob(qualname)))
        else:
            self._exact.add((module, qualname))


_NAME: Final = r"[^\W\d]\w*"
_FORM: Final = re.compile(rf"{_NAME}(\.(\w+|\*\*?))*:(\*|{_NAME}(\.{_NAME})*(\.\*)?)")


def grant_for(
    module: str,
    qualname: str,
    role: Role,
    trust_context: TrustContext,
    trust: Trust,
    find: Callable[[str], Library | None] = find_library,
) -> Grant | None:
    """Return why this name is allowed in this role, or None; `find` gives what is known of a library."""
    if is_never_stored(module, qualname):
        return None
    if trust_context.allows_code and trust_context.interned(module):
        return Grant("interned")
    is_a = CLASS if role == "create" else None
    if trust.names(module, qualname):
        return Grant("trust", is_a)
    row = row_of(module, qualname, find)
    # A stored module of a listed name, or of its package, would run in the place of the one meant.
    means_stored = not trust_context.allows_code and trust_context.stored_on_the_way(module)
    if row is not None and row.allows(role, beside_code=trust_context.allows_code) and not means_stored:
        return Grant("default", row.is_a, row)
    if trust.grants(module, qualname, role) and not means_stored:
        return Grant("trust", is_a)
    if (
        trust_context.allows_code
        and role == "create"
        and _is_foreign_extern(module.partition(".")[0], trust_context)
    ):
        return Grant("extern", is_a, row)
    return None


def row_of(module: str, qualname: str, find: Callable[[str], Library | None]) -> Row | None:
    """Return the row of a name, of our own tables or of its library; None where there is none.

    `find` gives what is known of a library, by the top-level package that the name is in.

    >>> row_of("datetime", "date", lambda name: None).distribution
    'Python'
    >>> row_of("subprocess", "Popen", lambda name: None) is None
    True
    """
    from .own_rows import DISTRIBUTIONS, ROWS  # a table without names needs none

    top = module.partition(".")[0]
    if top in DISTRIBUTIONS or top in sys.stdlib_module_names:
        rows, distribution = ROWS, DISTRIBUTIONS.get(top, "Python")
    elif (library := find(top)) is not None and library.rows is not None:
        rows, distribution = library.rows, library.distribution
    else:
        return None
    row: Row | None = rows.find(module, qualname)
    return None if row is None else replace(row, distribution=distribution)


def _is_foreign_extern(top: str, trust_context: TrustContext) -> bool:
    """Whether a top-level name is that of a recorded extern which is no part of Python itself."""
    return top in trust_context.externs and top not in sys.stdlib_module_names
