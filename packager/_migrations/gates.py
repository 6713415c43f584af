"""When a step applies, and what gates and transforms may ask besides names of keys.

Gates are judged match by match, on the state dict as it entered the migration, so that one step cannot
disarm the next. They see its version, keys and values, and the module to load into.

Asking runs no code. Of a value one number, truth value or text is taken. Of a module only what lies in it
as data is found: attributes, entries of a configuration, and whether a parameter, a buffer or a module is
there. A property would be code, and is refused.
"""

from __future__ import annotations

import functools
import types
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Final, TypedDict

from packager._archive import MAX_ASKED_PARTS
from packager._quick_dataclasses import dataclass, field
from packager._tensors import numpy_dtype
from packager._weights import as_lazy

from .migrated_values import Changed, Joined, Origin, Value, Values, is_array, made, stored_values
from .templates import HoleValues, Template, TemplateError, shortened
from .transforms import LAZY, TransformError

Plain = bool | int | float | str
"""What a gate compares."""

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
                f"version_key = {self.version_key.text!r} needs before as well: before = 2 applies the "
                "step to versions below 2"
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
            raise TransformError(
                f"version_key: found the text {version!r} under {key!r}; expected a number, the version"
            )
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
            path = ".".join([text, *map(str, [*value][:1])])
            raise TemplateError(f'{name}: {text!r} has a table; write one path in quotes, as "{path}"')
        if type(value) not in (bool, int, float, str) or (type(value) is int and abs(value) >= 1 << 63):
            raise TemplateError(
                f"{name}: {text!r} is compared with {type(value).__name__} {value!r:.40}; expected a "
                "number of at most 64 bits, True, False, or text"
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
                f"{name}: {template.text!r} has the hole {hole.name!r}, and no template of the step has it; "
                "write a hole of the step, or a whole key"
            )


def _is_older(version: float | None, than: int) -> bool:
    return version is None or version < than


def _is_same(found: Plain, wanted: Plain) -> bool:
    """Say whether two values are equal; a truth value is no number, and a text is neither."""
    if bool in (type(found), type(wanted)) or str in (type(found), type(wanted)):
        return type(found) is type(wanted) and found == wanted
    return found == wanted


_PER_VALUE: Final = 5000  # what reading one costs, in characters of matching
_PER_PART: Final = 1000  # likewise finding an attribute
_PLAIN: Final = (bool, int, float, str)
_MEMBERS: Final = ("_parameters", "_buffers", "_modules")


class _Missing:
    """What stands for an attribute that is not there."""


_MISSING: Final = _Missing()


@dataclass(frozen=True, slots=True)
class _Member:
    """A parameter, a buffer or a module inside of a module."""

    itself: Any


@dataclass(frozen=True)
class Surroundings:
    """The state dict that entered, and the module that it is for; `module` may be a configuration as a dict.

    `spend` is told what asking costs.

    >>> Surroundings(module={"config": {"heads": 8}}).attribute("config.heads")
    8
    """

    state: Mapping[str, Any] = field(default_factory=dict)
    module: Any = None
    spend: Callable[[int], None] = lambda cost: None

    def plain(self, key: str, value: Value) -> Plain:
        """Return the one number, truth value or text that a value is. Raises TransformError for others."""
        if not _is_at_hand(value.origin):
            raise TransformError(
                f"a gate reads {key!r}, which a function or a merge makes; a plan calls and reads nothing. "
                "Let the gate read a key that the file has"
            )
        if value.header is not None and value.header.size != 1:
            raise TransformError(
                f"a gate reads {key!r}, which is {value.header}; expected an array of one element. To test "
                f'that a key is there, write if_all = "{key}"'
            )
        self.spend(_PER_VALUE)
        found = made(value.origin, self.state)
        if is_array(found):
            lazy = as_lazy(found)
            content = b"".join(lazy.pieces())
            import numpy

            found = numpy.frombuffer(content, numpy_dtype(lazy.dtype))[0].item()
        if type(found) not in _PLAIN:
            raise TransformError(
                f"a gate reads {key!r}, which is of type {type(found).__name__}; expected a number, True, "
                "False, or text"
            )
        plain: Plain = found
        return plain

    def attribute(self, path: str) -> Plain | None:
        """Return what the module has under a dotted path: a number, a truth value, a text or None.

        A parameter, a buffer or a module that is there is True. Raises TransformError for what is not there,
        for what is no data, and where there is no module.
        """
        found = self._found(path)
        if isinstance(found, _Missing):
            raise TransformError(f"{type(self.module).__name__} has no {path!r}; correct the path")
        if isinstance(found, _Member):
            return True
        if found is not None and type(found) not in _PLAIN:
            raise TransformError(
                f"{path!r} of {type(self.module).__name__} is a {type(found).__name__}; expected a number, "
                "True, False, or text that the module stores (properties and methods are not called)"
            )
        plain: Plain | None = found
        return plain

    def shape(self, key: str) -> tuple[int, ...]:
        """Return the shape that the module has under a key. Raises TransformError where it has none."""
        if isinstance(self.module, Mapping):
            header = stored_values({key: self.module[key]})[key].header if key in self.module else None
            if header is not None:
                return header.shape
            raise TransformError(f"the step needs the shape of {key!r}, and the target has no such array")
        found = self._found(key)
        try:
            return tuple(map(int, found.itself.shape))
        except (AttributeError, TypeError, RuntimeError):  # the last one: a lazy module's, not made yet
            raise TransformError(
                f"the step needs the shape of {key!r}, and {type(self.module).__name__} has no such array, "
                "or one without a shape yet"
            ) from None

    def _found(self, path: str) -> Any:
        if self.module is None:
            raise TransformError(
                f"the step needs {path!r} of a module; give one: module=model (command: --target "
                "package.module:name)"
            )
        names = path.split(".")
        if len(names) > MAX_ASKED_PARTS:
            raise TransformError(
                f"the path {shortened(path)!r} of the module has {len(names):,} parts; at most "
                f"{MAX_ASKED_PARTS} are followed"
            )
        self.spend(_PER_PART * len(names))
        found = self.module
        for name in names:
            if found is None or isinstance(found, _Missing):
                return _MISSING
            found = _part(found.itself if isinstance(found, _Member) else found, name)
        return found


@dataclass(frozen=True)
class Asked:
    """The surroundings as a step asks them at one key: `key` is the new name, `where` step and old key."""

    around: Surroundings
    holes: HoleValues
    key: str
    where: str

    def lengths(self, given: tuple[int | str, ...]) -> tuple[int, ...]:
        """Return lengths with the numbers of the module in the place of its attributes' names.

        Raises TransformError for what is no whole number.
        """
        return tuple(self._length(one) if isinstance(one, str) else one for one in given)

    def shape(self) -> tuple[int, ...]:
        """Return the shape that the module has under the new name."""
        return self.around.shape(self.key)

    def _length(self, text: str) -> int:
        path = path_template(text).fill(self.holes)
        found = self.around.attribute(path)
        if type(found) is not int:
            raise TransformError(f"{path!r} of the module is {found!r}; expected an int")
        return found


@functools.lru_cache(maxsize=256)
def path_template(text: str) -> Template:
    """Return the template of a path to an attribute; raises TemplateError for none."""
    return Template.parse(text)


def _part(thing: Any, name: str) -> Any:
    """Return what lies under a name in a module, a configuration or a list; nothing of theirs is called."""
    from inspect import getattr_static

    if type(thing) in (dict, OrderedDict):
        return thing.get(name, _MISSING)
    if type(thing) in (list, tuple) and name.isdecimal() and len(name) < 10:
        return thing[int(name)] if int(name) < len(thing) else _MISSING
    for place in _MEMBERS:
        members = getattr_static(thing, place, None)
        if type(members) in (dict, OrderedDict) and name in members:
            return None if members[name] is None else _Member(members[name])
    found = getattr_static(thing, name, _MISSING)
    if isinstance(found, types.MemberDescriptorType):  # of `__slots__`
        try:
            return found.__get__(thing)
        except AttributeError:
            return _MISSING
    return found


def _is_at_hand(origin: Origin) -> bool:
    """Say whether a value can be made without a function of the user's, and without joining others."""
    while isinstance(origin, Changed):
        if not isinstance(origin.transform, LAZY):
            return False
        origin = origin.origin
    return not isinstance(origin, Joined)
