"""A policy answers each module name with a Decision: implicit externs, then rules, then a preset."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from packager._arguments import check_choice, check_flag, check_kind, check_several
from packager._globs import Glob
from packager._quick_dataclasses import dataclass
from packager._texts import listed
from packager.errors import ArgumentError, EmptyMatchError

from .decision import Action, Decision, Origin, Preset, implicit_reason, preset_action, require_preset

if TYPE_CHECKING:
    from packager._graph import Edge


# Rules of a policy, and patterns of all that it holds: each module that an export meets is compared with each
# of them, ten thousand in some milliseconds. Drafts have a rule for each distribution and package.
MAX_RULES: Final = 10_000
MAX_PATTERNS: Final = 20_000

GlobPattern = str | Iterable[str]


class Policy:
    """Ordered rules over a preset.

    `frameworks` are the top-level packages that the codecs in use need; they are implicit externs
    like the standard library, kellet, packager and torch. The set may grow during an export.

    `exclude_data` are patterns over paths of data files to leave out (`"pkg/tests/**"`); `variables`
    are those of the environment that stored code may read; see `PackageExporter.allow_variable`.

    Raises ArgumentError for more than 10,000 rules or 20,000 patterns, here and when some are added.

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
        variables: Iterable[str] = (),
    ) -> None:
        self.preset = require_preset(preset)
        self.rules = Rules(checked_rules(rules))
        self.exclude_data = GlobGroup(exclude_data, separator="/")
        self.variables = checked_variables(variables)
        self.frameworks: set[str] = set()
        self._require_few()

    def __repr__(self) -> str:
        return f"Policy({self.preset!r}, {[*self.rules]!r})"

    def before(
        self,
        rules: Iterable[Rule],
        *,
        exclude_data: Iterable[str] = (),
        variables: Iterable[str] = (),
    ) -> Policy:
        """Return another policy: `rules` come before those of this one, the others are added.

        >>> policy = Policy("auto").before([Rule("deny", GlobGroup("tests.**"))])
        >>> policy.decide("tests.helpers", Origin("project")).action
        'deny'
        """
        return Policy(
            self.preset,
            [*checked_rules(rules), *self.rules],
            exclude_data=[*self.exclude_data.include, *exclude_data],
            variables=(*self.variables, *variables),
        )

    def copy(self) -> Policy:
        """Return another policy of the same rules, none of them matched yet.

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

        Raises ArgumentError beyond the limit of rules or patterns, and what Rule and GlobGroup raise.

        >>> policy = Policy()
        >>> policy.add("extern", "numpy.**", exclude="numpy.f2py.**", because="the target has it")
        >>> policy.decide("numpy.linalg", Origin("compiled")).because
        'the target has it'
        """
        rule = Rule(action, GlobGroup(include, exclude=exclude), allow_empty, because)
        self._require_few((rule,))
        self.rules.add(rule)

    def leave_out(self, patterns: GlobPattern) -> None:
        """Leave out data files that match: patterns over paths, as in `exclude_data`.

        Raises ArgumentError beyond the limit of patterns, and what GlobGroup raises.

        >>> policy = Policy()
        >>> policy.leave_out("net/tests/**")
        >>> policy.exclude_data.matches("net/tests/sample.csv")
        True
        """
        more = GlobGroup(patterns, separator="/").include
        self._require_few(patterns=len(more))
        self.exclude_data = GlobGroup((*self.exclude_data.include, *more), separator="/")

    def _require_few(self, more: Sequence[Rule] = (), patterns: int = 0) -> None:
        """Raise ArgumentError where there would be more rules or patterns than there may be."""
        patterns += self.rules.patterns + sum(rule.patterns for rule in more) + len(self.exclude_data.include)
        problems = excess(len(self.rules) + len(more), patterns)
        if problems:
            raise ArgumentError(f"a policy of {'; and of '.join(problems)}")

    def decide(
        self, name: str, origin: Origin, importers: Sequence[Edge] = (), *, is_namesake: bool = False
    ) -> Decision:
        """Return the Decision for module `name`, found in this environment at `origin`.

        With `is_namesake` the module has the name of one of our packages, but is not an implicit extern.

        >>> decision = Policy("auto").decide("einops", Origin("installed", "einops", "0.8.0"))
        >>> decision.action, decision.rule, decision.because
        ('extern', 'preset auto', 'installed distribution einops 0.8.0')
        """
        check_kind("name", name, str, "the name of a module")
        check_kind("origin", origin, Origin, "an Origin")
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
        """Return the rules that must match a module and did not; under `strict`, all that did not.

        >>> policy = Policy(rules=[Rule("mock", GlobGroup("wandb.**"), allow_empty=False)])
        >>> [str(rule) for rule in policy.empty_rules()]
        ["mock('wandb.**')"]
        """
        return tuple(rule for rule in self.rules.dead() if self.preset == "strict" or not rule.allow_empty)

    def require_matches(self) -> None:
        """Raise EmptyMatchError naming every rule that must match a module and did not.

        >>> Policy("strict", [Rule("mock", GlobGroup("wandb.**"))]).require_matches()
        Traceback (most recent call last):
            ...
        packager.errors.EmptyMatchError: Exporter did not match any modules to mock('wandb.**'), ...
        """
        require_matched(self.empty_rules())


@dataclass(frozen=True)
class Rule:
    """One line of a policy: an action for every module of a glob group.

    `because` is the author's reason, shown with every decision that the rule makes. Raises ArgumentError
    for another action than intern, extern, mock and deny, and for fields of the wrong kind.

    >>> str(Rule("extern", GlobGroup(["numpy.**", "scipy.**"], exclude="numpy.f2py.**")))
    "extern(['numpy.**', 'scipy.**'], exclude='numpy.f2py.**')"
    """

    action: Action
    globs: GlobGroup
    allow_empty: bool = True
    because: str = ""

    def __post_init__(self) -> None:
        check_choice("action", self.action, ("intern", "extern", "mock", "deny"))
        check_kind("globs", self.globs, GlobGroup, "a GlobGroup of patterns")
        check_flag("allow_empty", self.allow_empty)
        check_kind("because", self.because, str, "a reason as text")

    @property
    def patterns(self) -> int:
        """How many patterns a module is compared with."""
        return len(self.globs.include) + len(self.globs.exclude)

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
        self.patterns = sum(rule.patterns for rule in self._rules)

    def add(self, rule: Rule) -> None:
        """Append a rule; it decides where no earlier one matches."""
        self._rules.append(rule)
        self.patterns += rule.patterns

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

    Raises ArgumentError where `**` is only a piece of a part (`a.**b`), and for a pattern of
    another type.

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
        check_kind("separator", separator, str, "a text")
        self.separator = separator
        self._included = [Glob(pattern, separator) for pattern in self.include]
        self._excluded = [Glob(pattern, separator) for pattern in self.exclude]

    def matches(self, candidate: str) -> bool:
        """Say whether `candidate` is in the group."""
        return any(glob.matches(candidate) for glob in self._included) and not any(
            glob.matches(candidate) for glob in self._excluded
        )

    def matching(self, candidate: str) -> Iterator[str]:
        """Yield the include patterns that match `candidate`; nothing if it is excluded."""
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


def checked_rules(rules: Iterable[Rule]) -> tuple[Rule, ...]:
    """Return rules. Raises ArgumentError where something else is among them.

    >>> checked_rules([("deny", "tests.**")])
    Traceback (most recent call last):
        ...
    packager.errors.ArgumentError: rules=('deny', 'tests.**'): expected rules, found tuple; write ...
    """
    meant = "write Rule('deny', GlobGroup('tests.**')), or policy.add('deny', 'tests.**')"
    check_kind("rules", rules, Iterable, "a list of rules", meant)
    found = tuple(rules)
    for rule in found:
        check_kind("rules", rule, Rule, "rules", meant)
    return found


def checked_variables(names: Iterable[str]) -> tuple[str, ...]:
    """Return the names of variables, each once. Raises ArgumentError for other things.

    >>> checked_variables(["NET_WIDTH", "*", "NET_WIDTH"])
    ('NET_WIDTH', '*')
    """
    check_several("variables", names, "a list of names")
    for name in names:
        check_kind("variables", name, str, "the name of a variable of the environment")
        if not name or "=" in name:
            raise ArgumentError(
                f"variables={name!r}: expected the name of a variable, as 'NET_WIDTH', or '*'"
            )
    return tuple(dict.fromkeys(names))


def excess(rules: int, patterns: int = 0) -> list[str]:
    """Say what a policy of so many rules and patterns has too many of, each with what to do.

    >>> excess(10_000, 20_000), excess(10_001)
    ([], ['10,001 rules; at most 10,000 are read; put the patterns of one action into one rule'])
    """
    problems = []
    if rules > MAX_RULES:
        problems.append(
            f"{rules:,} rules; at most {MAX_RULES:,} are read; put the patterns of one action into one rule"
        )
    if patterns > MAX_PATTERNS:
        problems.append(
            f"{patterns:,} patterns; at most {MAX_PATTERNS:,} are read; join them with *, or split the export"
        )
    return problems


def require_matched(empty: Iterable[Rule | str]) -> None:
    """Raise EmptyMatchError naming the given rules; do nothing where there are none.

    >>> require_matched([])
    >>> require_matched([Rule("mock", GlobGroup("wandb.**"))])
    Traceback (most recent call last):
        ...
    packager.errors.EmptyMatchError: Exporter did not match any modules to mock('wandb.**'), ...

    Source: torch.package, whose message names the first of them alone.
    """
    rules = [*map(str, empty)]
    if rules:
        raise EmptyMatchError(
            f"Exporter did not match any modules to {listed(rules)}, which must match one "
            "(allow_empty=False, or policy='strict'); correct the pattern or remove the rule"
        ).holding(rules)


def _short(patterns: tuple[str, ...]) -> str:
    return repr(patterns[0]) if len(patterns) == 1 else repr(list(patterns))


def _as_tuple(patterns: GlobPattern) -> tuple[str, ...]:
    if not isinstance(patterns, Iterable):
        raise ArgumentError(
            f"patterns={patterns!r}: expected a string or a list of them, found {type(patterns).__name__}"
        )
    found = (patterns,) if isinstance(patterns, str) else tuple(patterns)
    for pattern in found:
        if not isinstance(pattern, str):
            raise ArgumentError(f"pattern {pattern!r}: expected a string, found {type(pattern).__name__}")
    return found
