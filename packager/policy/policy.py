"""A policy answers each module name with a Decision: implicit externs, then rules, then a preset.

A preset says what happens to a module that no rule names, by where it comes from:

| origin | None, strict | auto | hermetic |
|---|---|---|---|
| standard library, built in | extern (implicit) | extern (implicit) | extern (implicit) |
| compiled distribution | | extern | extern |
| installed distribution | | extern | intern |
| editable install, project code | | intern | intern |
| unknown | | | |

An empty field leaves the module undecided, which is an error of the plan. `strict` asks more than
None: a rule that matched nothing is an error too, so that a policy says exactly what is done. Under
every preset but None a module that is not here, and whose import may fail, needs no rule.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from packager.errors import EmptyMatchError

from .decision import Action, Decision, Origin, OriginKind
from .glob import GlobGroup, GlobPattern

if TYPE_CHECKING:
    from packager.graph import Edge


Preset = Literal["auto", "hermetic", "strict"]
PRESETS: tuple[Preset, ...] = get_args(Preset)

_ACTIONS: dict[Preset, dict[OriginKind, Action]] = {
    "auto": {
        "stdlib": "extern",
        "builtin": "extern",
        "compiled": "extern",
        "installed": "extern",
        "editable": "intern",
        "project": "intern",
    },
    "hermetic": {
        "stdlib": "extern",
        "builtin": "extern",
        "compiled": "extern",
        "installed": "intern",
        "editable": "intern",
        "project": "intern",
    },
    "strict": {},
}
Answer = Sequence[str] | Literal["all", "none"]

_OURS = frozenset({"kellet", "packager"})
# Code written for torch.package expects it outside, whether or not a stored object needs its codec.
_AS_IN_TORCH = frozenset({"torch"})


class Policy:
    """Ordered rules over a preset.

    `frameworks` are the top-level packages that the codecs in use need; they are implicit externs
    like the standard library, kellet, packager and torch. The set may grow while an export goes on.

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

    def decide(
        self, name: str, origin: Origin, importers: Sequence[Edge] = (), *, is_namesake: bool = False
    ) -> Decision:
        """Return the Decision for module `name`, found in this environment at `origin`.

        With `is_namesake` the module only has the name of one of our packages, and is no implicit extern.
        """
        reason = None if is_namesake else implicit_reason(name, self.frameworks)
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


def preset_action(preset: Preset | None, origin: Origin) -> Action:
    """The action of `preset` for a module of `origin`; `undecided` where it has none.

    >>> preset_action("auto", Origin("installed", "einops", "0.8.0"))
    'extern'
    >>> preset_action("hermetic", Origin("installed", "einops", "0.8.0"))
    'intern'
    >>> preset_action(None, Origin("project"))
    'undecided'
    """
    return "undecided" if preset is None else _ACTIONS[preset].get(origin.kind, "undecided")


def require_preset(name: object) -> Preset | None:
    """`name` as a preset, or None; raises ValueError listing the presets for anything else."""
    for preset in PRESETS:
        if name == preset:
            return preset
    if name is None:
        return None
    raise ValueError(f"unknown policy {name!r}; one of {', '.join(PRESETS)}, None, or a policy file (.toml)")


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
