"""When a step applies: by the version of the state dict, by keys, by values, and by what the module says.

Gates are judged match by match, on the state dict as it entered the migration, so that one step cannot
disarm the next.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TypedDict

from packager.quick_dataclasses import dataclass

from .keywords import Maker, takes_keywords
from .migrated_values import Values
from .surroundings import Plain, Surroundings
from .templates import HoleValues, Template, TemplateError
from .transforms import TransformError

Templates = str | Sequence[str]
Wanted = tuple[tuple[Template, Plain], ...]


class GateOptions(TypedDict, total=False):
    """The gates of a step, as every function that makes one takes them.

    `before`       a version: the step is for state dicts older than that; one without a version is the oldest
    `version_key`  the key under which the version is, where a state dict keeps it among its values
    `unless`       keys that must not be there
    `if_all`       keys that must be there
    `if_value`     the number, truth value or text that a value must be, by its key
    `if_module`    the same of the module, by the path of its attribute; a parameter, buffer or module that is
                   there is true
    """

    before: int | None
    version_key: str | None
    unless: Templates
    if_all: Templates
    if_value: Mapping[str, Plain]
    if_module: Mapping[str, Plain]


def takes_gates(make: Maker) -> Maker:
    """Let a maker of steps raise ArgumentError for keywords that are neither its own nor gates."""
    return takes_keywords(make, GateOptions.__annotations__)


@dataclass(frozen=True)
class Gates:
    """The gates of one step, read: see `GateOptions`.

    Holes that the step's own template has stand for what they stand for there.
    """

    before: int | None = None
    unless: tuple[Template, ...] = ()
    if_all: tuple[Template, ...] = ()
    version_key: Template | None = None
    if_value: Wanted = ()
    if_module: Wanted = ()

    @property
    def keys(self) -> tuple[Template, ...]:
        """The templates of keys that are asked for."""
        asked = (*self.unless, *self.if_all, *(template for template, _ in self.if_value))
        return asked if self.version_key is None else (*asked, self.version_key)

    @property
    def count(self) -> int:
        """How many gates are looked at for each match."""
        return len(self.keys) + len(self.if_module)

    def open_at(self, version: int | None) -> bool:
        """Say whether a state dict of this version may be old enough; a `version_key` is judged later."""
        return self.before is None or self.version_key is not None or _is_older(version, self.before)

    def problem(self) -> str:
        """Say what no state dict can make right; "" where all is well."""
        if self.version_key is not None and self.before is None:
            return (
                f"version_key = {self.version_key.text!r} says where the version is; write before beside it"
            )
        return ""

    def reason_shut(self, holes: HoleValues, entered: Entered) -> str:
        """Say why the gates are shut for this match; "" where they are open.

        Raises TransformError for a value or an attribute that cannot be asked for.
        """
        for template in self.unless:
            if found := entered.present(template, holes):
                return f"{found!r} is there already"
        for template in self.if_all:
            if not entered.present(template, holes):
                return f"{template.text!r} is not there"
        if self.version_key is None and not self.if_value and not self.if_module:
            return ""
        return (
            self._too_new(holes, entered)
            or self._other_value(holes, entered)
            or self._other_module(holes, entered)
        )

    def _too_new(self, holes: HoleValues, entered: Entered) -> str:
        if self.version_key is None or self.before is None:
            return ""
        key = entered.present(self.version_key, holes)
        version = entered.plain(key) if key else entered.version
        if isinstance(version, str):
            raise TransformError(f"{key!r} is the text {version!r}; a version is a number")
        return "" if _is_older(version, self.before) else f"the version is {version:g}"

    def _other_value(self, holes: HoleValues, entered: Entered) -> str:
        for template, wanted in self.if_value:
            key = entered.present(template, holes)
            if not key:
                return f"{template.text!r} is not there"
            if not _is_same(found := entered.plain(key), wanted):
                return f"{key!r} is {found!r}, not {wanted!r}"
        return ""

    def _other_module(self, holes: HoleValues, entered: Entered) -> str:
        for template, wanted in self.if_module:
            path = template.fill(holes)
            found = entered.around.attribute(path)
            found = False if found is None else found
            if not _is_same(found, wanted):
                return f"{path} of the module is {found!r}, not {wanted!r}"
        return ""


class Entered:
    """The state dict that entered a migration, as the gates of its steps ask for it.

    A template is matched with every key once, not once for each match of the step; and a value is read once.
    """

    def __init__(self, values: Values, around: Surroundings, version: int | None = None) -> None:
        self.around = around
        self.version = version
        self.keys: Collection[str] = values
        self._values = values
        self._found: dict[tuple[Template, tuple[str, ...]], dict[tuple[str | int, ...], str]] = {}
        self._plain: dict[str, Plain] = {}

    def present(self, template: Template, values: HoleValues) -> str:
        """Return the first key that the template fits, with the holes that `values` knows; "" for none."""
        known = tuple(dict.fromkeys(hole.name for hole in template.holes if hole.name in values))
        if all(hole.name in values for hole in template.holes):
            key = template.fill(values)
            return key if key in self._values else ""
        return self._first(template, known).get(tuple(values[name] for name in known), "")

    def plain(self, key: str) -> Plain:
        """Return the number, truth value or text under a key; raises TransformError for what is none."""
        if key not in self._plain:
            self._plain[key] = self.around.plain(key, self._values[key])
        return self._plain[key]

    def _first(self, template: Template, known: tuple[str, ...]) -> dict[tuple[str | int, ...], str]:
        """Return the keys that a template fits: the first one for each of the values of the known holes."""
        if (template, known) not in self._found:
            found: dict[tuple[str | int, ...], str] = {}
            for key, holes in template.matching(self._values):
                found.setdefault(tuple([holes[name] for name in known]), key)
            self._found[template, known] = found
        return self._found[template, known]


def several(texts: Templates) -> tuple[str, ...]:
    """Return one text or several as several."""
    return (texts,) if isinstance(texts, str) else tuple(texts)


def beside(text: str, *sources: Template | str | None) -> Template:
    """Return a template of the other side: its holes are of the kinds that they have on the first."""
    kinds = {
        hole.name: hole.kind for source in sources if isinstance(source, Template) for hole in source.holes
    }
    kinds |= {source: "int" for source in sources if isinstance(source, str)}
    return Template.parse(text).with_kinds(kinds)


def gates_of(
    sources: Iterable[Template],
    before: int | None = None,
    unless: Templates = (),
    if_all: Templates = (),
    version_key: str | None = None,
    if_value: Mapping[str, Plain] | None = None,
    if_module: Mapping[str, Plain] | None = None,
) -> Gates:
    """Return the gates of a step whose templates are `sources`.

    Raises TemplateError for templates that cannot be read, and for what no value is compared with.
    """
    known = tuple(sources)
    version = None if version_key is None else beside(version_key, *known)
    if version is not None:
        _require_own_holes("version_key", version, known)
    return Gates(
        before,
        tuple(beside(text, *known) for text in several(unless)),
        tuple(beside(text, *known) for text in several(if_all)),
        version,
        _wanted("if_value", if_value, known),
        _wanted("if_module", if_module, known),
    )


def _wanted(name: str, given: Mapping[str, Plain] | None, sources: Sequence[Template]) -> Wanted:
    found = []
    for text, value in (given or {}).items():
        template = beside(text, *sources)
        if isinstance(value, Mapping):
            raise TemplateError(f'{name}: {text!r} holds a table; write a path in quotes, as "config.heads"')
        if type(value) not in (bool, int, float, str) or (type(value) is int and abs(value) >= 1 << 63):
            raise TemplateError(
                f"{name}: {text!r} is compared with a number of 64 bits, a truth value or a text, not with "
                f"{type(value).__name__}"
            )
        _require_own_holes(name, template, sources)
        found.append((template, value))
    return tuple(sorted(found, key=lambda one: one[0].text))


def _require_own_holes(name: str, template: Template, sources: Sequence[Template]) -> None:
    """Raise TemplateError for a hole that the step does not have: more than one value could be meant."""
    own = {hole.name for source in sources for hole in source.holes}
    for hole in template.holes:
        if hole.name not in own:
            raise TemplateError(
                f"{name}: {template.text!r} has the hole {hole.name!r}, which the step does not have"
            )


def _is_older(version: float | None, than: int) -> bool:
    return version is None or version < than


def _is_same(found: Plain, wanted: Plain) -> bool:
    """Say whether two values are equal; a truth value is no number, and a text is neither."""
    if bool in (type(found), type(wanted)) or str in (type(found), type(wanted)):
        return type(found) is type(wanted) and found == wanted
    return found == wanted
