"""The rules of an export in their order: the first one that matches a module name decides."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from packager.errors import EmptyMatchError

from .decision import Action
from .glob import GlobGroup

__all__ = ["Rule", "Rules", "require_matched"]


@dataclass(frozen=True)
class Rule:
    """One line of a policy: an action for every module of a glob group.

    `because` is the author's reason, shown with every decision that the rule makes.

    >>> str(Rule("extern", GlobGroup(["numpy.**", "scipy.**"], exclude="numpy.f2py.**")))
    "extern(['numpy.**', 'scipy.**'], exclude='numpy.f2py.**')"
    """

    action: Action
    globs: GlobGroup
    allow_empty: bool = True
    because: str = ""

    def matches(self, name: str) -> bool:
        """Say whether the rule speaks about module `name`."""
        return self.globs.matches(name)

    def names_top(self, name: str) -> bool:
        """Say whether a pattern that matches `name` begins with its first dotted part, literally.

        Only such a rule overrides an implicit extern: `**` is not meant to intern the standard library.
        """
        top = name.partition(".")[0]
        return any(pattern.partition(".")[0] == top for pattern in self.globs.matching(name))

    def __str__(self) -> str:
        exclude = f", exclude={_short(self.globs.exclude)}" if self.globs.exclude else ""
        return f"{self.action}({_short(self.globs.include)}{exclude})"


class Rules:
    """Rules in the order in which they were given, and which of them have matched so far.

    >>> rules = Rules()
    >>> rules.add(Rule("extern", GlobGroup("numpy.**")))
    >>> rules.add(Rule("intern", GlobGroup("**"), allow_empty=False))
    >>> str(rules.first("numpy.linalg"))
    "extern('numpy.**')"
    >>> [str(rule) for rule in rules.dead()]
    ["intern('**')"]
    """

    def __init__(self, rules: Iterable[Rule] = ()) -> None:
        self._rules: list[Rule] = list(rules)
        self._matched: set[int] = set()

    def add(self, rule: Rule) -> None:
        """Append a rule; it speaks where no earlier one does."""
        self._rules.append(rule)

    def first(self, name: str, *, implicit: bool = False) -> Rule | None:
        """The first rule that matches `name`, marked as used; None where none does.

        With `implicit` only rules that name the module's top-level package count.
        """
        for index, rule in enumerate(self._rules):
            if rule.names_top(name) if implicit else rule.matches(name):
                self._matched.add(index)
                return rule
        return None

    def dead(self) -> tuple[Rule, ...]:
        """The rules that no module has matched."""
        return tuple(rule for index, rule in enumerate(self._rules) if index not in self._matched)

    def __iter__(self) -> Iterator[Rule]:
        return iter(tuple(self._rules))

    def __len__(self) -> int:
        return len(self._rules)


def require_matched(empty: Iterable[Rule | str]) -> None:
    """Raise EmptyMatchError naming the given rules; nothing happens where there are none.

    Source: torch.package, whose message names the first of them alone.
    """
    named = ", ".join(str(rule) for rule in empty)
    if named:
        raise EmptyMatchError(
            f"Exporter did not match any modules to {named}, which was marked as allow_empty=False; "
            "correct the pattern or drop the rule"
        )


def _short(patterns: tuple[str, ...]) -> str:
    return repr(patterns[0]) if len(patterns) == 1 else repr(list(patterns))
