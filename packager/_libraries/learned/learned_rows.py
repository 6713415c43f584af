"""Rows that a library itself taught: which attributes its objects have, of which kinds, between which values.

Tables say what its classes assign and what their fits left; `Said` has what a person says besides, since
what was seen is not thereby harmless. Everything is read off a table of records: nothing of the
library is imported, and nothing found is asked. Of a version that is newer than the tables a class may have
what its installed source assigns besides, and there only numbers, arrays, estimators and containers of these.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, lru_cache
from pathlib import Path

from packager._libraries.families import ESTIMATOR, EVERYWHERE
from packager._objects import Kind
from packager._quick_dataclasses import dataclass, field, replace

from .kinds import Attribute, KindReader, name_kind
from .source_names import class_named
from .tables import Tables

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    from typing import Any, Final

    from packager._audit import Row
    from packager._objects import CheckedTable


@dataclass(frozen=True, slots=True)
class Said:
    """What a person says of a library, whatever its fits left.

    `groups` maps classes to the kind of all that inherits from them. `refused` maps names to why no object
    has them, `fixed` names to the only texts that they may be (none: only None), `free` are texts that are
    neither looked up nor opened, `words` has texts besides those that fits left, and `limits` the least and
    the greatest of a number. `assigned` are attributes that other code than that of a class puts on it.
    `marks` are texts that stand for None anywhere. `also` are parameters that any class has besides those of
    its source; the lists of `worded` are held to texts one by one, and so are `options`, dicts whose keys are
    parameters. `patterns` are regular expressions, which may not take without end.
    """

    groups: Mapping[str, str]
    refused: Mapping[str, str] = field(default_factory=dict)
    fixed: Mapping[str, frozenset[str]] = field(default_factory=dict)
    free: frozenset[str] = frozenset()
    limits: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    words: Mapping[str, frozenset[str]] = field(default_factory=dict)
    assigned: Mapping[str, frozenset[str]] = field(default_factory=dict)
    marks: frozenset[str] = frozenset()
    also: frozenset[str] = frozenset()
    worded: frozenset[str] = frozenset()
    options: frozenset[str] = frozenset()
    patterns: frozenset[str] = frozenset()


class LearnedRows:
    """The rows of one library: its import name, its tables, and what is said of it by hand.

    >>> from packager._libraries.scikit_learn import LEARNED
    >>> "coef_" in LEARNED.names_of("sklearn.linear_model:LogisticRegression")
    True
    >>> none = Attribute("n_features", frozenset({"number"}), scalars=(0,), pairs=())
    >>> [*LEARNED.problems("sklearn.feature_extraction:FeatureHasher", [none])]
    ['n_features of FeatureHasher is 0, expected 1 to 2147483647']
    """

    def __init__(self, library: str, tables: Tables, said: Said) -> None:
        self.library, self.tables, self.said = library, tables, said
        # Bounded: names of classes and attributes come from archives.
        self._verdict = lru_cache(maxsize=4096)(self._found_problem)
        self.group_of = lru_cache(maxsize=1024)(self._found_group)

    def table(self) -> tuple[Row, Mapping[str, str]]:
        """Return the row of all classes that an archive may name, and their names by module."""
        return replace(ESTIMATOR, learned=self, kind=""), self.tables.homes

    @property
    def read_inside(self) -> frozenset[str]:
        """Lists and dicts whose texts and numbers are held to values one by one."""
        return self.said.worded | self.said.options

    # --- what may be there ---

    def _found_group(self, name: str) -> str:
        """Return the kind of an object of a class, by "module:Class"; "" if unknown."""
        line = self.tables.line(name.partition(":")[2])
        return next((self.said.groups[one] for one in line if one in self.said.groups), "")

    def names_of(self, name: str) -> frozenset[str]:
        """Return the attributes that a class assigns, by "module:Class", in any version that was learned."""
        line = [*self.tables.line(name.partition(":")[2])]
        others = (self.said.assigned.get(one, _NOTHING) for one in line)
        return EVERYWHERE.union(*(self.tables.classes[one].attributes for one in line), *others)

    # --- what is wrong ---

    def problems_of(
        self, table: CheckedTable, is_trusted: Callable[[str], bool], row: Callable[[str], Row]
    ) -> Iterator[tuple[int, str, str]]:
        """Yield what objects of the library have that it never gave them: a record, what, and its class.

        `is_trusted` knows the names that the caller vouches for, as "module:name"; `row` gives
        the row of a name.
        """

        def kind_of(name: str, role: str) -> str | None:
            found = row(name)
            is_allowed = found.allows("value" if role == "value" else "create") or found.allows("call")
            # What its name refuses is told by itself.
            return name_kind(name, role, found) if is_allowed and not is_trusted(name) else None

        reader = KindReader(table, kind_of, self.read_inside)
        seen: set[tuple[str, int]] = set()  # states that objects of a class have in common
        left = _MOST_TOLD
        for index, record in enumerate(table.records):
            if record[0] not in GIVING:
                continue
            target = index if record[0] == Kind.OBJ else -1 - record[1]
            name = table.name_of(target)
            if row(name).learned is not self or is_trusted(name):
                continue
            if record[0] == Kind.STATE:
                if (name, record[2]) in seen:
                    continue
                seen.add((name, record[2]))
            if table.codec_name(target) is not None:
                continue
            # Who takes another state than a dict of names says what is wrong.
            for problem in self.problems(name, reader.attributes(record) or []):
                yield target, problem, name
                left -= 1
                if not left:
                    return

    def problems(self, name: str, attributes: list[Attribute]) -> Iterator[str]:
        """Yield what is wrong with the attributes of an object of a class, "module:Class"."""
        for attribute in attributes:
            if attribute.kinds == _TEXT and self.said.marks & {*attribute.scalars}:
                attribute = Attribute(attribute.name, _NONE, (), ())
            problem = self._verdict(name, attribute.name, attribute.kinds)
            problem = problem or self._value_problem(name, attribute)
            if problem is not None:
                yield problem

    def _found_problem(self, name: str, attribute: str, kinds: frozenset[str]) -> str | None:
        whose = f"{attribute} of {name.partition(':')[2]}"
        if attribute in self.said.refused:
            return f"{whose}, {self.said.refused[attribute]}"
        if attribute not in self.names_of(name) and attribute not in self.said.also:
            if attribute not in self._newer_names(name):
                return (
                    f"{whose} is not an attribute of the class; delete it before saving{self._told_version()}"
                )
            wrong = [kind for kind in kinds if not _NEWER.fullmatch(kind)]
        else:
            options = _OPTIONS if attribute in self.said.also else _NONE
            wrong = [kind for kind in kinds - options if not self.tables.had(attribute, kind)]
        if not wrong:
            return None
        return f"{whose} has an unexpected type ({', '.join(sorted(wrong))}){self._told_version()}"

    def _value_problem(self, name: str, attribute: Attribute) -> str | None:
        worded = attribute.is_scalar or attribute.name in self.said.worded
        for scalar in attribute.scalars:
            problem = self._scalar_problem(name, attribute.name, scalar, worded)
            if problem is not None:
                return problem
        for key, value in attribute.pairs if attribute.name in self.said.options else ():
            problem = self._option_problem(name, str(key), value)
            if problem is not None:
                return f"in {attribute.name}: {problem}"
        return None

    def _option_problem(self, name: str, key: str, value: Any) -> str | None:
        """What is wrong with a pair of a dict of parameters."""
        if key in self.said.refused:
            return f"{key}, {self.said.refused[key]}"
        if key not in self.names_of(name) and key not in self.said.also:
            return f"{key!r:.40} is not a parameter of {name.partition(':')[2]}{self._told_version()}"
        return None if value is None else self._scalar_problem(name, key, value, True)

    def _scalar_problem(self, name: str, attribute: str, scalar: Any, worded: bool) -> str | None:
        whose = f"{attribute} of {name.partition(':')[2]}"
        fixed = self.said.fixed.get(attribute)
        if fixed is not None:
            fits = type(scalar) is not str or scalar in fixed
            return None if fits else f"{whose} is {scalar!r:.40}, expected one of {sorted(fixed)}"
        if type(scalar) is str and attribute in self.said.patterns:
            slow = f"{whose} is {scalar!r:.40}, a pattern that may run without end"
            return None if is_quick_pattern(scalar) else slow
        if type(scalar) is str:
            if not worded or attribute in self.said.free or scalar in self.said.words.get(attribute, ()):
                return None
            if scalar in self.tables.words_of(attribute):
                return None
            return f"{whose} is {scalar!r:.40}, an unexpected text{self._told_version()}"
        limits = self.said.limits.get(attribute)
        if limits is None and worded and self.group_of(name) == "estimator":  # which declare them
            limits = self.tables.limits_of(attribute)
        if limits is None or limits[0] <= scalar <= limits[1]:
            return None
        return f"{whose} is {scalar!r:.40}, expected {limits[0]:.10g} to {limits[1]:.10g}"

    # --- versions that are newer than the tables ---

    @cached_property
    def _installed(self) -> Path | None:
        """The folder that holds the library, where it is newer than what was learned."""
        spec = importlib.util.find_spec(self.library)
        places = None if spec is None else spec.submodule_search_locations
        if not places:
            return None
        folder = Path(next(iter(places)))
        return folder.parent if _minor(self.version_here) > _minor(self.tables.versions[-1]) else None

    @cached_property
    def version_here(self) -> str:
        """The version that is installed; "" if there is none."""
        from packager._environment import Distributions

        found = Distributions()
        return found.version(self.tables.versions[0]) or found.version(self.library) or ""

    def _newer_names(self, name: str) -> frozenset[str]:
        """What the installed source of a class assigns, where the library is newer than the tables."""
        folder = self._installed
        found: set[str] = set()
        waiting, seen = [name] if folder is not None else [], set[str]()
        while waiting and folder is not None:
            module, _, qualname = waiting.pop().partition(":")
            known = class_named(folder, module, qualname)
            if known is None or known[0] in seen:
                continue
            seen.add(known[0])
            found.update(known[1].attributes)
            waiting += known[1].bases
        return frozenset(found)

    def _told_version(self) -> str:
        if self._installed is None:
            return ""
        minor = ".".join(map(str, _minor(self.version_here)))
        return f"; {self.tables.versions[0]} {minor} is newer than this packager knows"


def is_quick_pattern(pattern: str) -> bool:
    """Return whether a regular expression repeats no group, and has few parts to be tried in other ways.

    >>> [is_quick_pattern(one) for one in (r"(?u)\\b\\w\\w+\\b", "[a-z)]+", "(a+)+b", "(?x) (a) *")]
    [True, True, False, False]
    """
    plain = _ESCAPED.sub("c", pattern)
    tried = plain.count("?") - plain.count("(?") + plain.count("|")
    return len(_REPEATED.findall(plain)) <= 3 and tried <= 8 and not _REPEATED_GROUP.search(plain)


def _minor(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:2])


# What may stand anywhere, and what parameters are that a library takes under any of its names.
_NOTHING: Final = frozenset[str]()
_NONE: Final = frozenset({"none"})
_TEXT: Final = frozenset({"text"})
_OPTIONS: Final = frozenset({"none", "number", "text", "list of number", "list of text"})
_MOST_TOLD: Final = 100
GIVING: Final = frozenset({Kind.OBJ, Kind.FILL, Kind.STATE})
"""Records that give attributes to an object."""
_NEWER: Final = re.compile(
    r"((list|set|dict|array) of |dict by |masked )*(none|number|array|sparse|estimator|tree|list|set|dict)"
)
_ESCAPED: Final = re.compile(r"(?s)\\.|\[\^?\]?(?:\\.|[^\]\\])*\]")  # and classes of characters
_REPEATED: Final = re.compile(r"[*+{]")
_REPEATED_GROUP: Final = re.compile(r"\)[*+{]|\(\?[aiLmsu]*x")
