"""What a migration may ask besides names of keys: values that entered, and the module to load into.

Asking runs no code. Of a value one number, truth value or text is taken. Of a module only what lies in it
as data is found: attributes, entries of a configuration, and whether a parameter, a buffer or a module is
there. A property would be code, and is refused.
"""

from __future__ import annotations

import functools
import types
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, Final

from packager.archive import MAX_ASKED_PARTS
from packager.quick_dataclasses import dataclass, field
from packager.tensors import numpy_dtype
from packager.weights import as_lazy

from .migrated_values import Changed, Joined, Origin, Value, is_array, made, stored_values
from .templates import HoleValues, Template, shortened
from .transforms import LAZY, TransformError

Plain = bool | int | float | str
"""What a gate compares."""

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
                f"a gate asks for {key!r}, which a function or a merge makes: that is not done for a plan"
            )
        if value.header is not None and value.header.size != 1:
            raise TransformError(
                f"a gate asks for {key!r}, which is {value.header}: it compares one number, not an array"
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
                f"a gate asks for {key!r}, which is of type {type(found).__name__}: it compares numbers, "
                "truth values and texts"
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
            raise TransformError(f"{type(self.module).__name__} has no {path!r}")
        if isinstance(found, _Member):
            return True
        if found is not None and type(found) not in _PLAIN:
            raise TransformError(
                f"{path!r} of {type(self.module).__name__} is a {type(found).__name__}; a migration asks for "
                "numbers, truth values and texts that lie in the module, and runs no code of it"
            )
        plain: Plain | None = found
        return plain

    def shape(self, key: str) -> tuple[int, ...]:
        """Return the shape that the module has under a key. Raises TransformError where it has none."""
        if isinstance(self.module, Mapping):
            header = stored_values({key: self.module[key]})[key].header if key in self.module else None
            if header is not None:
                return header.shape
            raise TransformError(f"the target has no array {key!r}, whose shape the step asks for")
        found = self._found(key)
        try:
            return tuple(map(int, found.itself.shape))
        except (AttributeError, TypeError, RuntimeError):  # the last one: a lazy module's, not made yet
            raise TransformError(
                f"{type(self.module).__name__} has no array {key!r} of a known shape, which the step asks for"
            ) from None

    def _found(self, path: str) -> Any:
        if self.module is None:
            raise TransformError(
                f"the step asks for {path!r} of the module, and there is none here; give it (module=, on the "
                "command line --target), or attach the migration to its class"
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
            raise TransformError(f"{path!r} of the module is {found!r}; a whole number is needed")
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
