"""What was learned of a library, as three tables of text: names, kinds and values.

That of names has a line for each class, or for several that say the same, `SVC,NuSVC(BaseSVC) support_`:
their bases, and what they assign that these do not. A line such as `sklearn.svm:` says from which module an
archive may name the classes that follow; those before the first are bases alone. That of kinds has a line
for each kind of value, with the attributes that had it, but for those that another line says as well
(`implied`). That of values has a line for each range of numbers (`0..inf: C gamma`) and for each set of
texts (`auto scale: gamma`), with the parameters that lie there, and the attributes that were these. A line
that begins with a space goes on with the last one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import cached_property
from typing import Final

from packager._quick_dataclasses import dataclass

CONTAINERS: Final = ("list", "set", "dict")
"""Words of kinds that others follow, and that stand alone for an empty container."""


@dataclass(frozen=True, slots=True)
class ClassNames:
    """A line of the table of names: the module that an archive may name the class by; "" for none."""

    home: str
    bases: tuple[str, ...]
    attributes: frozenset[str]


class Tables:
    """The tables of a library, as texts; each is read when it is asked for.

    >>> names = "# versions: shapes 1.0\\nshapes:\\nRing() size hole_\\n"
    >>> tables = Tables(names, "array: hole_\\n", "1..9: size\\n")
    >>> tables.had("hole_", "array"), tables.had("hole_", "text"), tables.homes
    (True, False, {'shapes': 'Ring'})
    """

    def __init__(self, names: str, kinds: str, values: str) -> None:
        self._texts = names, kinds, values

    @cached_property
    def versions(self) -> tuple[str, ...]:
        """The name that the library is installed by, and its versions that were learned, oldest first."""
        line = next(line for line in self._texts[0].splitlines() if line.startswith("# versions: "))
        return tuple(line.split()[2:])

    @cached_property
    def classes(self) -> Mapping[str, ClassNames]:
        """The lines of classes by their names."""
        found: dict[str, ClassNames] = {}
        home = ""
        for line in _lines(self._texts[0]):
            head, *words = line.split()
            names, is_class, bases = head.rstrip(")").partition("(")
            if is_class:
                said = ClassNames(home, tuple(filter(None, bases.split(","))), frozenset(words))
                found.update(dict.fromkeys(names.split(","), said))
            else:
                home = names.rstrip(":")
        return found

    @cached_property
    def homes(self) -> Mapping[str, str]:
        """The classes that an archive may name, by module."""
        found: dict[str, str] = {}
        for name, line in self.classes.items():
            if line.home:
                found[line.home] = f"{found.get(line.home, '')} {name}".strip()
        return found

    def line(self, name: str) -> Iterator[str]:
        """Yield a class and all that it inherits from, as far as they are in the table, each once."""
        waiting, seen = [name], set[str]()
        while waiting:
            one = waiting.pop(0)
            if one not in seen and one in self.classes:
                seen.add(one)
                yield one
                waiting += self.classes[one].bases

    def had(self, attribute: str, kind: str) -> bool:
        """Return whether an attribute had a kind; an empty container is one of whatever it can hold."""
        if attribute in self._kinds.get(kind, ()):
            return True
        container, _, _ = kind.rpartition(" of ") if kind.endswith(" none") else (kind, "", "")
        empty = container.rpartition(" ")[2] in CONTAINERS
        return empty and any(
            attribute in names
            for other, names in self._kinds.items()
            if other == container or other.startswith(f"{container} ")
        )

    def limits_of(self, attribute: str) -> tuple[float, float] | None:
        """Return the least and the greatest number that a parameter may be; None where none are declared."""
        return self.values[0].get(attribute)

    def words_of(self, attribute: str) -> frozenset[str]:
        """Return the texts that an attribute was, or a parameter that it may be made of."""
        words = self.values[1]
        return frozenset().union(*(words.get(name, ()) for name in (attribute, *names_like(attribute))))

    @cached_property
    def _kinds(self) -> Mapping[str, Collection[str]]:
        found = {kind: {*names.split()} for kind, names in by_head(self._texts[1]).items()}
        for kind, more in implied(found, *self.values).items():
            found.setdefault(kind, set()).update(more)
        return found

    @cached_property
    def values(self) -> tuple[dict[str, tuple[float, float]], dict[str, frozenset[str]]]:
        """The ranges of parameters, and the texts of attributes."""
        ranges: dict[str, tuple[float, float]] = {}
        words: dict[str, frozenset[str]] = {}
        for line in _lines(self._texts[2]):
            head, _, names = line.rpartition(": ")
            low, is_range, high = head.partition("..")
            if is_range:
                ranges.update(dict.fromkeys(names.split(), (float(low), float(high))))
            else:
                texts = frozenset(word.replace("%20", " ") for word in head.split())
                words.update(dict.fromkeys(names.split(), texts))
        return ranges, words


def implied(
    kinds: Mapping[str, Collection[str]], ranges: Collection[str], words: Collection[str]
) -> dict[str, set[str]]:
    """Return the attributes of each kind that other lines say as well, and that of the kind leaves out.

    What has a range is a number, what has words a text; what were labels may be numbers.

    >>> implied({"labels": ["y_"]}, ["tol"], ["penalty"])
    {'number': {'tol'}, 'text': {'penalty'}, 'array': {'y_'}, 'list of array': set()}
    """
    return {
        "number": {*ranges},
        "text": {*words},
        "array": {*kinds.get("labels", ())},
        "list of array": {*kinds.get("list of labels", ())},
    }


def names_like(name: str) -> set[str]:
    """Return the parameters that an attribute may be made of.

    >>> sorted(names_like("effective_metric_"))
    ['effective_metric', 'metric']
    """
    bare = name.strip("_")
    return {bare, bare.removeprefix("effective_"), bare.removeprefix("fit_")} - {name}


def by_head(text: str) -> dict[str, str]:
    """Return what lines of a table say behind their heads.

    >>> by_head("shapes: Ring\\n  Disc\\nshapes.old: Box\\n")
    {'shapes': 'Ring Disc', 'shapes.old': 'Box'}
    """
    return {head: names for head, _, names in (line.partition(": ") for line in _lines(text))}


def _lines(text: str) -> list[str]:
    lines = text.replace("\n ", "").splitlines()
    return [line for line in lines if line and not line.startswith("#")]
