"""What was learned of a library, as three tables of text: names, kinds and values.

That of names has a line for each class, `SVC(BaseSVC) C= kernel= support_`: its bases, the parameters of its
constructor, and what else it assigns. That of kinds has a line for each kind of value, with the attributes
that had it. That of values says of parameters between which numbers they lie, `C 0..inf`, and of these and
other attributes which texts they are. A line that begins with a space goes on with the one before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property

from packager.quick_dataclasses import dataclass

TYPE_CHECKING = False  # as in packager.lazy
if TYPE_CHECKING:
    from typing import Final

CONTAINERS: Final = ("list", "set", "dict")
"""Words of kinds that others follow, and that stand alone for an empty container."""


@dataclass(frozen=True, slots=True)
class ClassNames:
    """A line of the table of names."""

    bases: tuple[str, ...]
    parameters: frozenset[str]
    attributes: frozenset[str]


@dataclass(frozen=True, slots=True)
class Values:
    """A line of the table of values: the least and the greatest number, and the texts."""

    low: float
    high: float
    words: frozenset[str]


class Tables:
    """The tables of a library, as texts; each line is read when it is asked for.

    >>> tables = Tables("# versions: shapes 1.0\\nRing() size= hole_\\n", "array: hole_\\n", "size 1..9\\n")
    >>> tables.had("hole_", "array"), tables.had("hole_", "text")
    (True, False)
    """

    def __init__(self, names: str, kinds: str, values: str) -> None:
        self._texts = names, kinds, values
        self._classes: dict[str, ClassNames] = {}
        self._values: dict[str, Values] = {}

    @cached_property
    def versions(self) -> tuple[str, ...]:
        """The name that the library is installed by, and its versions that were learned, oldest first."""
        line = next(line for line in self._texts[0].splitlines() if line.startswith("# versions: "))
        return tuple(line.split()[2:])

    @property
    def distribution(self) -> str:
        """The name that the library is installed by."""
        return self.versions[0]

    @property
    def newest(self) -> str:
        """The newest version that was learned."""
        return self.versions[-1]

    def of_class(self, name: str) -> ClassNames | None:
        """Return the line of a class; None for one that is not there."""
        found = self._classes.get(name)
        if found is None and name in self._name_lines:
            bases, words = self._name_lines[name]
            parameters = frozenset(word[:-1] for word in words if word.endswith("="))
            attributes = frozenset(word for word in words if not word.endswith("="))
            found = self._classes[name] = ClassNames(bases, parameters, attributes)
        return found

    def line(self, name: str) -> Iterator[str]:
        """Yield a class and all that it inherits from, as far as they are in the table, each once."""
        waiting, seen = [name], set[str]()
        while waiting:
            one = waiting.pop(0)
            found = self.of_class(one)
            if one not in seen and found is not None:
                seen.add(one)
                yield one
                waiting += found.bases

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

    def values_of(self, attribute: str) -> Values | None:
        """Return the line of values of an attribute; None where there is none."""
        found = self._values.get(attribute)
        if found is None and attribute in self._value_lines:
            found = self._values[attribute] = _values_in(self._value_lines[attribute])
        return found

    @cached_property
    def _name_lines(self) -> dict[str, tuple[tuple[str, ...], list[str]]]:
        found = {}
        for line in _lines(self._texts[0]):
            head, *words = line.split()
            name, _, bases = head.rstrip(")").partition("(")
            found[name] = (tuple(filter(None, bases.split(","))), words)
        return found

    @cached_property
    def _kinds(self) -> Mapping[str, frozenset[str]]:
        lines = (line.partition(": ") for line in _lines(self._texts[1]))
        return {kind: frozenset(names.split()) for kind, _, names in lines}

    @cached_property
    def _value_lines(self) -> dict[str, list[str]]:
        lines = (line.split() for line in _lines(self._texts[2]))
        return {name: words for name, *words in lines}


def _values_in(words: list[str]) -> Values:
    low, high = -_INFINITE, _INFINITE
    if words and ".." in words[0]:
        low, high = map(float, words[0].split(".."))
        words = words[1:]
    return Values(low, high, frozenset(word.replace("%20", " ") for word in words))


def _lines(text: str) -> list[str]:
    lines = text.replace("\n ", "").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


_INFINITE: Final = float("inf")
