"""A policy answers each module name with a Decision: implicit externs, then rules, then a preset."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from .decision import Action, Decision, Origin
from .glob import GlobGroup, GlobPattern
from .presets import Preset, preset_action, require_preset
from .rules import Rule, Rules, require_matched

if TYPE_CHECKING:
    from packager.graph import Edge

__all__ = ["Answer", "Policy", "implicit_reason"]

Answer = Sequence[str] | Literal["all", "none"]

_OURS = frozenset({"kedge", "packager"})
# Code written for torch.package expects it outside, whether or not a stored object needs its codec.
_AS_IN_TORCH = frozenset({"torch"})


class Policy:
    """Ordered rules over a preset.

    `frameworks` are the top-level packages that the codecs in use need; they are implicit externs
    like the standard library, kedge, packager and torch. The set may grow while an export goes on.

    `exclude_data` are patterns over paths of data files to leave out (`"pkg/tests/**"`); `answers`
    say which modules computed imports load, by the id of the plan's question: names, "all" or "none".

    >>> policy = Policy("auto")
    >>> policy.add("deny", "tests.**")
    >>> policy.decide("tests.helpers", Origin("project")).action
    'deny'
    >>> policy.decide("mymodel.net", Origin("project")).because
    'project code'
    >>> policy.decide("math", Origin("builtin")).rule
    'implicit'
    """

    def __init__(
        self,
        preset: Preset | None = None,
        rules: Iterable[Rule] = (),
        *,
        exclude_data: Iterable[str] = (),
        answers: Mapping[str, Answer] | None = None,
    ) -> None:
        self.preset = require_preset(preset)
        self.rules = Rules(tuple(rules))
        self.exclude_data = GlobGroup(exclude_data, separator="/")
        self.answers: Mapping[str, Answer] = dict(answers or {})
        self.frameworks: set[str] = set()

    def before(
        self,
        rules: Iterable[Rule],
        *,
        exclude_data: Iterable[str] = (),
        answers: Mapping[str, Answer] | None = None,
    ) -> Policy:
        """Another policy, in which `rules` come before those of this one, and the rest is added to."""
        return Policy(
            self.preset,
            [*rules, *self.rules],
            exclude_data=[*self.exclude_data.include, *exclude_data],
            answers={**self.answers, **(answers or {})},
        )

    def copy(self) -> Policy:
        """Return another policy of the same rules, of which none has matched yet."""
        return self.before(())

    def add(
        self,
        action: Action,
        include: GlobPattern,
        *,
        exclude: GlobPattern = (),
        allow_empty: bool = True,
        because: str = "",
    ) -> None:
        """Append a rule. The first rule that matches a module decides, whatever its action."""
        if action == "undecided":
            raise ValueError("a rule must intern, extern, mock or deny")
        self.rules.add(Rule(action, GlobGroup(include, exclude=exclude), allow_empty, because))

    def decide(self, name: str, origin: Origin, importers: Sequence[Edge] = ()) -> Decision:
        """The Decision for module `name`, found in this environment at `origin`."""
        reason = implicit_reason(name, self.frameworks)
        rule = self.rules.first(name, implicit=reason is not None)
        if rule is not None:
            return Decision(
                rule.action, str(rule), rule.because or f"first rule that matches {name}", tuple(importers)
            )
        if reason is not None:
            return Decision("extern", "implicit", reason, tuple(importers))
        action = preset_action(self.preset, origin)
        named = f"preset {self.preset}" if self.preset else "no rule"
        return Decision(action, named, str(origin), tuple(importers))

    def empty_rules(self) -> tuple[Rule, ...]:
        """The dead rules that may not be empty; under `strict`, all that are dead."""
        return tuple(rule for rule in self.rules.dead() if self.preset == "strict" or not rule.allow_empty)

    def require_matches(self) -> None:
        """Raise EmptyMatchError naming every rule that may not be empty and is."""
        require_matched(self.empty_rules())


def implicit_reason(name: str, frameworks: Iterable[str] = ()) -> str | None:
    """Why module `name` is external without a rule; None where it is not.

    >>> implicit_reason("importlib.resources")
    'standard library'
    >>> implicit_reason("numpy.linalg", {"numpy"})
    'framework of a codec in use'
    >>> implicit_reason("numpy") is None
    True
    """
    top = name.partition(".")[0]
    if top in sys.stdlib_module_names or top in sys.builtin_module_names:
        return "standard library"
    if top in _OURS:
        return "part of every loader"
    if top in _AS_IN_TORCH:
        return "outside, as in torch.package"
    if top in frameworks:
        return "framework of a codec in use"
    return None
