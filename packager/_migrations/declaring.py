"""What a migration is, written in Python: steps, each with the gates that say when it applies.

    Migration(
        "swin-head",
        steps=[
            rename("layers.{n:int}.downsample.{rest:any}", "layers.{n+1}.downsample.{rest}"),
            drop("{p:any}.attn_mask"),
        ],
    )

Every step acts on all keys at once, so `layers.{n}` to `layers.{n+1}` does not overwrite its
neighbours. Its gates (`gates.py`) are judged on the keys that entered the whole chain of steps, so one step
cannot disarm the next. A step is a frozen record; `applying.py` carries it out on records of values.

The steps are in `renaming.py` and `dividing.py`. A new one is a class there, the function that makes it, and
its row in the table at the end of the file, which says how files and archives spell it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from inspect import Parameter, signature
from typing import Any

from packager._archive import MAX_EXTENT, MAX_RANK
from packager._arguments import check_kind, check_several
from packager._quick_dataclasses import dataclass, field
from packager._tensors import DTYPES
from packager._texts import counted, did_you_mean, listed
from packager.errors import MigrationError

from .gates import Gates, Surroundings, path_template
from .migrated_values import Value, Values
from .templates import Template, TemplateError
from .transforms import Lengths, Transform, is_dtype

UNKNOWN = ("keep", "drop", "error")
"""What may become of keys that no step knows; the first is the default."""

Candidate = tuple[tuple[str, ...], Mapping[str, "str | int"], Callable[[], tuple[tuple[str, Value], ...]]]
"""A place where a step could apply: the keys it takes, what its holes stand for, and what it makes."""


@dataclass(frozen=True, kw_only=True)
class Step:
    """One step: `gates` say when it applies, `line` is the line of the file that says so.

    >>> from packager.migrations import drop, rename
    >>> isinstance(drop("mask"), Step), drop("mask").inverse() is None
    (True, True)
    >>> rename("proj.{rest}", "fc.{rest}").inverse().what
    'rename fc.{rest} -> proj.{rest}'
    """

    gates: Gates = field(default_factory=Gates)
    line: str = ""

    @property
    def what(self) -> str:
        """What the step does, in one line."""
        raise NotImplementedError

    def described(self) -> str:
        """Return the step in one line, and before it the line of the file."""
        return f"{self.line}: {self.what}" if self.line else self.what

    @property
    def names_one_key(self) -> bool:
        """Whether it asks for keys by their very names, so that it is a mistake when they are not there."""
        given, _ = self.templates
        return bool(given) and all(template.is_literal for template in given)

    @property
    def templates(self) -> tuple[tuple[Template, ...], tuple[Template, ...]]:
        """The templates that keys are matched with, and those that are filled with what was found there."""
        return (), ()

    @property
    def transforms(self) -> tuple[Transform, ...]:
        """What is done to values, in order; an archive is asked about the functions among them."""
        return ()

    def renamed(self, key: str) -> str:
        """Return the name that the step gives `key`, were it there; by that, versions of modules move."""
        return key

    def inverse(self) -> Step | None:
        """Return the step that goes back; None where nothing can. Its gates stand open.

        Nothing can where a hole was left out, by which several keys may become one.
        """
        back = self._back()
        try:
            if back is not None:
                back.check()
        except TemplateError:
            return None
        return back

    def _back(self) -> Step | None:
        """Return what turns each key and value back, whether its holes can be read or not."""
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
        paths = [template for template, _ in self.gates.if_module]
        given, made = self.templates
        first: dict[str, tuple[bool, Template]] = {}
        problems: dict[str, str] = {}
        for template in (*given, *made, *self.gates.keys, *paths):
            for hole in template.holes:
                is_number, other = first.setdefault(hole.name, (hole.kind == "int", template))
                if is_number != (hole.kind == "int"):
                    number, text = (other, template) if is_number else (template, other)
                    problems[hole.name] = (
                        f"the hole {hole.name!r} is a number in {number.text!r} and text in {text.text!r}; "
                        f"write {{{hole.name}:int}} in {text.text!r}"
                    )
        if problems:
            said = f"{self.described()}: {listed([*problems.values()], apart='; ')}"
            raise TemplateError(said).holding(problems.values())

    def candidates(self, values: Values, around: Surroundings) -> list[Candidate]:
        """List every place where the step could apply; `around` is what its transforms may ask."""
        raise NotImplementedError


@dataclass(frozen=True)
class Migration:
    """Steps that bring state dicts of one layout into the next.

    `steps` run in order. `unwrap` names keys under which a checkpoint may hold the state dict itself: the
    first one present is opened. `target` is the class whose state dicts it is for, as "package.module:Class";
    keys are then relative to each instance; "" means a whole checkpoint. `to` is the version that it reaches;
    it runs for older ones, or for any if `to` is None. `since` is the oldest version that it starts from, or
    None. `where` is the file that it was read from; `undoes` names the migration whose inverse this is.
    `unknown` says what happens to keys that no step matches: "keep", "drop" or "error". A `generic` one is
    for checkpoints of every model. The steps of an inverse, and of a generic one, may match nothing.

    Raises ArgumentError for a name or steps of the wrong kind, TemplateError if the sides of a step do not
    fit together, MigrationError unless `to` is later than `since`.

    >>> from packager.migrations import rename
    >>> Migration("names", [rename("{p:any}.gamma", "{p}.weight")]).inverse().steps[0].what
    'rename {p}.weight -> {p:any}.gamma'
    """

    name: str
    steps: Sequence[Step] = ()
    target: str = ""
    to: int | None = None
    unwrap: tuple[str, ...] = ()
    since: int | None = None
    where: str = ""
    undoes: str = ""
    unknown: str = "keep"
    generic: bool = field(default=False, compare=False, repr=False)
    stored: bool = field(default=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        check_kind("name", self.name, str, "the name of the migration")
        meant = "write steps=[step]" if isinstance(self.steps, Step) else ""
        check_kind("steps", self.steps, (list, tuple, set, frozenset), "a list of steps", meant)
        for step in self.steps:
            check_kind("steps", step, Step, "steps", "make each by rename(), drop() and the like")
        for version in (self.to, self.since):
            check_kind("to or since", version, (int, type(None)), "the number of a version, or None")
        check_kind("target", self.target, str, "a class by its name, as 'package.module:Class'")
        check_several("unwrap", self.unwrap, "a list of keys")
        object.__setattr__(self, "steps", tuple(self.steps))
        object.__setattr__(self, "unwrap", tuple(self.unwrap))
        if self.unknown not in UNKNOWN:
            raise MigrationError(
                f"{self}: unknown = {self.unknown!r}: choose one of {', '.join(map(repr, UNKNOWN))}"
            )
        if self.since is not None and (self.to is None or self.since >= self.to):
            raise MigrationError(
                f"{self} goes from version {self.since} to {self.to}; expected a higher version. To go back, "
                "undo a migration: migration.inverse() (command: --back)"
            )
        for step in self.steps:
            step.check()
            if problem := step.gates.problem():
                raise TemplateError(f"{step.described()}: {problem}")
            if not self.stored:
                step.check_numbers()

    def __str__(self) -> str:
        where = f" ({self.where})" if self.where else ""
        return f"migration {self.name!r}{where}"

    def __repr__(self) -> str:
        return f"<{self}: {counted(len(self.steps), 'step')}>"

    def _repr_html_(self) -> str:
        """Return the page that a notebook shows: its steps, and for which state dicts it is."""
        from packager._notebook_page import notebook_page

        said = counted(len(self.steps), "step")
        said += f" to version {self.to}" if self.to is not None else ""
        said += f", for {self.target}" if self.target else ""
        steps = ([one.line, one.what] if one.line else [one.what] for one in self.steps)
        return notebook_page(f"Migration {self.name}", said, [("steps", steps), ("opened", self.unwrap)])

    def is_due(self, version: int | None) -> bool:
        """Say whether it runs for a state dict of this version; None counts as the oldest."""
        return self.to is None or version is None or version < self.to

    @property
    def is_reversible(self) -> bool:
        """Whether every step has an inverse."""
        return self.unknown != "drop" and all(step.inverse() is not None for step in self.steps)

    def inverse(self) -> Migration:
        """Return the migration back, to the state dict inside the checkpoint that `unwrap` opens.

        Raises TemplateError naming every step that has no inverse.
        """
        back = [step.inverse() for step in reversed(self.steps)]
        stuck = [step.described() for step in self.steps if step.inverse() is None]
        if not self.is_reversible:
            what = [*stuck, *(['unknown = "drop"'] if self.unknown == "drop" else [])]
            said = f"{self} cannot go back: no inverse for {listed(what, apart='; ')}"
            raise TemplateError(said).holding(what)
        steps = tuple(step for step in back if step is not None)
        return Migration(f"{self.name} (back)", steps, self.target, undoes=self.name)


def as_migrations(migrations: Migration | Iterable[Migration]) -> tuple[Migration, ...]:
    """Return one migration, or several, as a tuple. Raises ArgumentError for anything else.

    >>> as_migrations("names")
    Traceback (most recent call last):
        ...
    packager.errors.ArgumentError: migrations='names': expected a Migration, found str
    """
    if isinstance(migrations, Migration):
        return (migrations,)
    if isinstance(migrations, str | bytes | Mapping) or not isinstance(migrations, Iterable):
        check_kind("migrations", migrations, Migration, "a Migration", _meant(migrations))
    found = tuple(migrations)
    for one in found:
        check_kind("migrations", one, Migration, "a Migration", _meant(one))
    return found


def _meant(given: object) -> str:
    """Return what to write in the place of something that is not a Migration."""
    if isinstance(given, list | tuple):
        return "write *migrations in the place of the list"
    return 'write Migration("name", [step])' if isinstance(given, Step) else ""


@dataclass(frozen=True)
class Spelling:
    """How a step or a transform is written in a table: for each key its attribute and the types of its value.

    The first key names the thing. `make` takes the attributes by name (and of a step, the gates and the
    line); a key may be left out where `make` has a default for it.
    """

    kind: type
    make: Callable[..., Any]
    keys: Mapping[str, tuple[str, Any]]

    @property
    def word(self) -> str:
        """The key that names the thing."""
        return next(iter(self.keys))

    @cached_property
    def required(self) -> tuple[str, ...]:
        """The keys for which `make` has no default."""
        known = signature(self.make).parameters
        return tuple(
            key
            for key, (name, _) in self.keys.items()
            if name in known and known[name].default is Parameter.empty
        )


def require_lengths(step: Step, what: str, lengths: tuple[int, ...] | None) -> None:
    """Raise TemplateError for lengths below zero."""
    if lengths is None:
        return
    if any(length < 0 for length in lengths):
        raise TemplateError(f"{step.described()}: {what} = {list(lengths)}: lengths must be 0 or more")


def require_shape(step: Step, what: str, shape: Lengths | None) -> None:
    """Raise TemplateError for a shape with more axes, or with a longer one, than any array has.

    So it does for the path of an attribute of the module that cannot be read.
    """
    if shape is None:
        return
    if len(shape) > MAX_RANK:
        raise TemplateError(
            f"{step.described()}: {what} has {len(shape):,} axes; at most {MAX_RANK} are made"
        )
    for path in shape:
        if isinstance(path, str):
            for given in step.templates[0]:
                require_holes(path_template(path), given, step.line)
    if any(isinstance(length, int) and length >= MAX_EXTENT for length in shape):
        raise TemplateError(
            f"{step.described()}: {what} = {list(shape)}: no axis is as long as {MAX_EXTENT:,}"
        )


def require_dtypes(step: Step, *names: str | None) -> None:
    """Raise TemplateError for names of dtypes that there are not."""
    for name in names:
        if name is not None and not is_dtype(name):
            near = did_you_mean(name, filter(is_dtype, DTYPES)) or "; expected a name such as 'float32'"
            raise TemplateError(f"{step.described()}: unknown dtype {name!r}{near}")


def require_holes(wanted: Template, given: Template, line: str, extra: str | None = None) -> None:
    """Raise TemplateError for holes of one side that the other does not give."""
    known = {hole.name for hole in given.holes} | ({extra} if extra else set())
    for hole in wanted.holes:
        if hole.name not in known:
            raise TemplateError(
                f"{line or repr(wanted.text)}: {wanted.text!r} has the hole {hole.name!r}, and "
                f"{given.text!r} has no such hole; write the same name on both sides"
            )
