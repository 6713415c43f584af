"""A policy answers each module name with a Decision: implicit externs, then rules over names, then a preset.

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
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from packager.errors import ArgumentError, EmptyMatchError
from packager.globs import Glob

from .decision import Action, Decision, Origin, OriginKind

if TYPE_CHECKING:
    from packager.graph import Edge


GlobPattern = str | Iterable[str]
Preset = Literal["auto", "hermetic", "strict"]
PRESETS: tuple[Preset, ...] = get_args(Preset)

_ACTIONS: dict[Preset, dict[OriginKind, Action]] = {
    "auto": {
        "stdlib": "extern",
        "builtin": "extern",
        "compiled": "extern",
        "installed": "extern",
        "editable": "intern",
        "local": "intern",
        "project": "intern",
    },
    "hermetic": {
        "stdlib": "extern",
        "builtin": "extern",
        "compiled": "extern",
        "installed": "intern",
        "editable": "intern",
        "local": "intern",
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
        """Return another policy, in which `rules` come before those of this one, and the rest is added to.

        >>> policy = Policy("auto").before([Rule("deny", GlobGroup("tests.**"))])
        >>> policy.decide("tests.helpers", Origin("project")).action
        'deny'
        """
        return Policy(
            self.preset,
            [*rules, *self.rules],
            exclude_data=[*self.exclude_data.include, *exclude_data],
            answers={**self.answers, **(answers or {})},
        )

    def copy(self) -> Policy:
        """Return another policy of the same rules, of which none has matched yet.

        >>> policy = Policy(rules=[Rule("mock", GlobGroup("wandb.**"))])
        >>> policy.decide("wandb", Origin("unknown")).action
        'mock'
        >>> len(policy.rules.dead()), len(policy.copy().rules.dead())
        (0, 1)
        """
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
        """Append a rule. The first rule that matches a module decides, whatever its action.

        Raises ValueError for the action "undecided", and what GlobGroup raises.

        >>> policy = Policy()
        >>> policy.add("extern", "numpy.**", exclude="numpy.f2py.**", because="the target has it")
        >>> policy.decide("numpy.linalg", Origin("compiled")).because
        'the target has it'
        """
        if action == "undecided":
            raise ValueError("a rule must intern, extern, mock or deny")
        self.rules.add(Rule(action, GlobGroup(include, exclude=exclude), allow_empty, because))

    def leave_out(self, patterns: GlobPattern) -> None:
        """Leave out the data files that match too: patterns over paths, as those of `exclude_data`.

        >>> policy = Policy()
        >>> policy.leave_out("net/tests/**")
        >>> policy.exclude_data.matches("net/tests/sample.csv")
        True
        """
        more = GlobGroup(patterns, separator="/").include
        self.exclude_data = GlobGroup((*self.exclude_data.include, *more), separator="/")

    def decide(
        self, name: str, origin: Origin, importers: Sequence[Edge] = (), *, is_namesake: bool = False
    ) -> Decision:
        """Return the Decision for module `name`, found in this environment at `origin`.

        With `is_namesake` the module only has the name of one of our packages, and is no implicit extern.

        >>> decision = Policy("auto").decide("einops", Origin("installed", "einops", "0.8.0"))
        >>> decision.action, decision.rule, decision.because
        ('extern', 'preset auto', 'installed distribution einops 0.8.0')
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
        """Return the dead rules that may not be empty; under `strict`, all that are dead.

        >>> policy = Policy(rules=[Rule("mock", GlobGroup("wandb.**"), allow_empty=False)])
        >>> [str(rule) for rule in policy.empty_rules()]
        ["mock('wandb.**')"]
        """
        return tuple(rule for rule in self.rules.dead() if self.preset == "strict" or not rule.allow_empty)

    def require_matches(self) -> None:
        """Raise EmptyMatchError naming every rule that may not be empty and is.

        >>> Policy("strict", [Rule("mock", GlobGroup("wandb.**"))]).require_matches()
        Traceback (most recent call last):
            ...
        packager.errors.EmptyMatchError: Exporter did not match any modules to mock('wandb.**'), ...
        """
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
        """Say whether the rule matches module `name`."""
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
        """Append a rule; it decides where no earlier one matches."""
        self._rules.append(rule)

    def first(self, name: str, *, implicit: bool = False) -> Rule | None:
        """Return the first rule that matches `name`, marked as used; None where none does.

        With `implicit` only rules that name the module's top-level package count.
        """
        for index, rule in enumerate(self._rules):
            if rule.names_top(name) if implicit else rule.matches(name):
                self._matched.add(index)
                return rule
        return None

    @contextmanager
    def looked_ahead(self) -> Iterator[None]:
        """Let rules that match in the block count as if they had not, once it ends."""
        matched = set(self._matched)
        try:
            yield
        finally:
            self._matched = matched

    def dead(self) -> tuple[Rule, ...]:
        """Return the rules that no module has matched."""
        return tuple(rule for index, rule in enumerate(self._rules) if index not in self._matched)

    def __iter__(self) -> Iterator[Rule]:
        return iter(tuple(self._rules))

    def __len__(self) -> int:
        return len(self._rules)


class GlobGroup:
    """A set of names: those that match any `include` pattern and no `exclude` pattern.

    A name is made of parts between `separator`s. Within one part `*` stands for any run of
    characters, also an empty one; `**` is a whole part and stands for zero or more parts.
    `include` and `exclude` take a string or several. Groups are immutable, compare by their
    patterns and can be keys.

    Raises ArgumentError where `**` is only a piece of a part (`a.**b`), and where a pattern
    is no string.

    >>> group = GlobGroup("torch*.**", exclude=["torchvision.**"])
    >>> [group.matches(name) for name in ("torch", "torch.nn.init", "torchvision.ops", "mytorch")]
    [True, True, False, False]
    >>> GlobGroup("data/*.txt", separator="/").matches("data/words.txt")
    True

    Source: torch.package.GlobGroup; there `include` and `exclude` are lists of compiled expressions.
    """

    __slots__ = ("_excluded", "_included", "exclude", "include", "separator")

    include: tuple[str, ...]
    exclude: tuple[str, ...]
    separator: str

    def __init__(self, include: GlobPattern, *, exclude: GlobPattern = (), separator: str = ".") -> None:
        self.include = _as_tuple(include)
        self.exclude = _as_tuple(exclude)
        self.separator = separator
        self._included = [Glob(pattern, separator) for pattern in self.include]
        self._excluded = [Glob(pattern, separator) for pattern in self.exclude]

    def matches(self, candidate: str) -> bool:
        """Say whether `candidate` is in the group."""
        return any(glob.matches(candidate) for glob in self._included) and not any(
            glob.matches(candidate) for glob in self._excluded
        )

    def matching(self, candidate: str) -> Iterator[str]:
        """Yield the include patterns that match `candidate`; none where it is excluded."""
        if not any(glob.matches(candidate) for glob in self._excluded):
            for glob in self._included:
                if glob.matches(candidate):
                    yield glob.pattern

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GlobGroup) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return f"GlobGroup(include={list(self.include)}, exclude={list(self.exclude)})"

    def _key(self) -> tuple[tuple[str, ...], tuple[str, ...], str]:
        return (self.include, self.exclude, self.separator)


def implicit_reason(name: str, frameworks: Iterable[str] = ()) -> str | None:
    """Say why module `name` is external without a rule; None where it is not.

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
    """Return the action of `preset` for a module of `origin`; `undecided` where it has none.

    >>> preset_action("auto", Origin("installed", "einops", "0.8.0"))
    'extern'
    >>> preset_action("hermetic", Origin("installed", "einops", "0.8.0"))
    'intern'
    >>> preset_action(None, Origin("project"))
    'undecided'
    """
    return "undecided" if preset is None else _ACTIONS[preset].get(origin.kind, "undecided")


def require_preset(name: object) -> Preset | None:
    """Return `name` as a preset, or None. Raises ArgumentError, listing the presets, for anything else.

    >>> require_preset("auto"), require_preset(None)
    ('auto', None)
    """
    for preset in PRESETS:
        if name == preset:
            return preset
    if name is None:
        return None
    raise ArgumentError(
        f"unknown policy {name!r}; one of {', '.join(PRESETS)}, None, or a policy file (.toml)"
    )


def require_matched(empty: Iterable[Rule | str]) -> None:
    """Raise EmptyMatchError naming the given rules; do nothing where there are none.

    >>> require_matched([])
    >>> require_matched([Rule("mock", GlobGroup("wandb.**"))])
    Traceback (most recent call last):
        ...
    packager.errors.EmptyMatchError: Exporter did not match any modules to mock('wandb.**'), ...

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


def _as_tuple(patterns: GlobPattern) -> tuple[str, ...]:
    if not isinstance(patterns, Iterable):
        raise ArgumentError(
            f"patterns must be a string or several, got {type(patterns).__name__}: {patterns!r}"
        )
    found = (patterns,) if isinstance(patterns, str) else tuple(patterns)
    for pattern in found:
        if not isinstance(pattern, str):
            raise ArgumentError(f"a pattern must be a string, got {type(pattern).__name__}: {pattern!r}")
    return found
