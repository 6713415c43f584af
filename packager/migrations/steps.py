"""What every step of a migration has in common: gates, and the answers that planning and undoing ask for.

Every step acts on all keys at once, so `layers.{n}` to `layers.{n+1}` does not overwrite its
neighbours. Its gates are judged on the keys that entered the whole chain of steps, so one step
cannot disarm the next. A step is a frozen record; `applying.py` carries it out on records of values.

The steps are in `renaming.py` and `dividing.py`. A new one is a class and a function there, and its row in
`tables.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from .mixed_holes import find_mixed_holes
from .templates import Template, TemplateError
from .transforms import is_dtype
from .values import Value, Values

Templates = str | Sequence[str]

Candidate = tuple[tuple[str, ...], Mapping[str, "str | int"], Callable[[], tuple[tuple[str, Value], ...]]]
"""A place where a step could apply: the keys it takes, what its holes stand for, and what it makes."""


@dataclass(frozen=True)
class Gates:
    """When a step applies: judged on the keys as they entered the chain.

    `before` is a version: the step is for state dicts older than that (None counts as oldest).
    `unless` names keys that must not be there, `if_all` keys that must. Holes that the step's
    own template has stand for what they stand for there, so the gate is judged match by match.
    """

    before: int | None = None
    unless: tuple[Template, ...] = ()
    if_all: tuple[Template, ...] = ()

    def open_at(self, version: int | None) -> bool:
        """Whether a state dict of this version is old enough."""
        return self.before is None or version is None or version < self.before

    def reason_shut(self, values: Mapping[str, str | int], entered: Collection[str]) -> str:
        """Why the gates are shut for this match; "" where they are open."""
        for template in self.unless:
            if found := _present(template, values, entered):
                return f"{found!r} is there already"
        for template in self.if_all:
            if not _present(template, values, entered):
                return f"{template.text!r} is not there"
        return ""


def _present(template: Template, values: Mapping[str, str | int], entered: Collection[str]) -> str:
    """A key that the template, with the holes filled that `values` knows, fits; "" when there is none."""
    if all(hole.name in values for hole in template.holes):
        key = template.fill(values)
        return key if key in entered else ""
    for key in entered:
        found = template.match(key)
        if found is not None and all(values.get(name, value) == value for name, value in found.items()):
            return key
    return ""


@dataclass(frozen=True, kw_only=True)
class Step:
    """One step: `gates` say when it applies, `line` is the line of the file that says so."""

    gates: Gates = field(default_factory=Gates)
    line: str = ""

    @property
    def what(self) -> str:
        """What the step does, in one line."""
        raise NotImplementedError

    def described(self) -> str:
        """The step in one line, and before it the line of the file."""
        return f"{self.line}: {self.what}" if self.line else self.what

    @property
    def names_one_key(self) -> bool:
        """Whether it asks for keys by their very names, so that it is a mistake when they are not there."""
        return False

    @property
    def templates(self) -> tuple[tuple[Template, ...], tuple[Template, ...]]:
        """The templates that keys are matched with, and those that are filled with what was found there."""
        return (), ()

    def inverse(self) -> Step | None:
        """The step that goes back; None where nothing can. Its gates stand open."""
        back = self._back()
        return None if back is None or back._number_problems() else back

    def _back(self) -> Step | None:
        """What turns each key and value back, whether its holes can be read or not."""
        return None

    def check(self) -> None:
        """Raise TemplateError for what no state dict can make right.

        A hole that one side lacks or has too much, lengths below zero, a dtype that there is not.
        """

    def check_numbers(self) -> None:
        """Raise TemplateError for holes that are numbers in one place of the step, and text in another.

        Arithmetic on text would leave the text as it is, and a text is never equal to a number: the step
        would do nothing, and say nothing. All such holes are told together.
        """
        problems = self._number_problems()
        if problems:
            raise TemplateError(f"{self.described()}: {'; '.join(problems)}")

    def _number_problems(self) -> list[str]:
        return find_mixed_holes(*self.templates, (*self.gates.unless, *self.gates.if_all))

    def candidates(self, values: Values) -> list[Candidate]:
        """Every place where the step could apply."""
        raise NotImplementedError


def matches(template: Template, values: Values) -> list[tuple[str, dict[str, str | int]]]:
    """The keys that a template fits, with what its holes stand for."""
    if template.is_literal:
        key = template.fill({})
        return [(key, {})] if key in values else []
    return [(key, holes) for key in values if (holes := template.match(key)) is not None]


def several(texts: Templates) -> tuple[str, ...]:
    """One text or several, as several."""
    return (texts,) if isinstance(texts, str) else tuple(texts)


def beside(text: str, *sources: Template | str | None) -> Template:
    """A template of the other side: its holes are of the kinds that they have on the first."""
    kinds = {
        hole.name: hole.kind for source in sources if isinstance(source, Template) for hole in source.holes
    }
    kinds |= {source: "int" for source in sources if isinstance(source, str)}
    return Template.parse(text).with_kinds(kinds)


def gates_of(sources: Iterable[Template], before: int | None, unless: Templates, if_all: Templates) -> Gates:
    """The gates of a step whose templates are `sources`."""
    known = tuple(sources)
    return Gates(
        before,
        tuple(beside(text, *known) for text in several(unless)),
        tuple(beside(text, *known) for text in several(if_all)),
    )


def require_lengths(step: Step, what: str, lengths: tuple[int, ...] | None) -> None:
    """Raise TemplateError for lengths below zero."""
    if lengths is not None and any(length < 0 for length in lengths):
        raise TemplateError(f"{step.described()}: {what} = {list(lengths)}: lengths are not negative")


def require_dtypes(step: Step, *names: str | None) -> None:
    """Raise TemplateError for names of dtypes that there are not."""
    for name in names:
        if name is not None and not is_dtype(name):
            raise TemplateError(f"{step.described()}: there is no dtype {name!r}; write it as 'float32' is")


def require_holes(wanted: Template, given: Template, line: str, extra: str | None = None) -> None:
    """Raise TemplateError for holes of one side that the other does not give."""
    known = {hole.name for hole in given.holes} | ({extra} if extra else set())
    for hole in wanted.holes:
        if hole.name not in known:
            raise TemplateError(
                f"{line or repr(wanted.text)}: hole {hole.name!r} of {wanted.text!r} has no value: "
                f"{given.text!r} has no hole of that name"
            )
