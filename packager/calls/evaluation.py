"""Calls in a mode: every module of kellet and PyTorch that a call can reach is set so, and set back.

A stored call is made twice, where the archive is written and where it is checked. In training mode
dropout answers at random, and a batch norm answers by the batch: so the mode is that of evaluation, where no
other is asked for.
"""

from __future__ import annotations

import sys
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from itertools import islice
from types import BuiltinFunctionType, CodeType, FunctionType, MemberDescriptorType, MethodType, ModuleType
from typing import Any, Final

from packager.process import AnswerRequired

from .array_calls import call_with_arrays
from .process_generators import seeded

_LIBRARIES = {"kellet": "kellet.nn", "torch": "torch.nn"}
_PLAIN = (str, bytes, int, float, complex, type(None), type, BuiltinFunctionType, ModuleType)
_CONTAINERS: tuple[Any, ...] = (list, tuple, set, frozenset, deque)
_MOST_VALUES: Final = 200_000
"""Values that are looked through for modules, the nearest to the object first: a global may hold millions."""
bases_of: Final[Callable[[type], tuple[type, ...]]] = type.__dict__["__mro__"].__get__
"""Returns a class and its bases, past what a metaclass makes of the question."""
_BODY: Final[Callable[[type], Mapping[str, Any]]] = type.__dict__["__dict__"].__get__
_MODULE: Final[Callable[[type], object]] = type.__dict__["__module__"].__get__
_FOREIGN = sys.stdlib_module_names | {"numpy", "packager", *_LIBRARIES}
"""Packages whose functions and classes hold no model of their own."""


Around = Callable[[Any, Sequence[Any] | None], AbstractContextManager[Any]]
"""What a call is made inside of: made of the object, and of its modules as `in_mode` gives them."""


def nothing_around(thing: Any, modules: Sequence[Any] | None = None) -> AbstractContextManager[None]:
    """Return a block that does nothing."""
    return nullcontext()


def call_in_mode(
    thing: Any,
    inputs: Mapping[str, Any],
    method: Any = None,
    *,
    training: bool = False,
    from_seed: bool = False,
    around: Around = nothing_around,
) -> dict[str, Any]:
    """Call as `call_with_arrays` does, with every module that the call can reach in evaluation mode.

    With `training` it is training mode, and with `from_seed` generators begin as `seeded` says. The call is
    made inside of what `around` makes of `thing` and these modules. It is entered when the mode is set: hooks
    that it registers are not looked into for modules.
    Raises what `call_with_arrays` raises; CodeExitError also where an `eval()` or `train()` ends with
    `sys.exit()`.
    """
    what = f"calling {type(thing).__name__} in {mode_name(training)}"
    begun = seeded() if from_seed else nullcontext()
    with AnswerRequired(what), in_mode(thing, training=training) as modules, begun, around(thing, modules):
        return call_with_arrays(thing, inputs, method)


def mode_name(training: bool) -> str:
    """Return what messages call a mode."""
    return "training mode" if training else "evaluation mode"


@contextmanager
def in_mode(thing: Any, *, training: bool = False) -> Iterator[list[Any] | None]:
    """Call `eval()`, or `train()`, on the modules in `thing`; after the block each has the flag that it had.

    They are looked for in attributes, containers, methods, partials, closures, and in the global
    names that functions use: whatever leads from `thing` to a module without running anything. The block
    gets them; None where a mode was set, since other modules may have been put in their places by it.
    """
    flags = [(module, module.training) for module in modules_in(thing)]
    changed = []
    try:
        for module, _ in flags:
            if (
                bool(module.training) is not training
            ):  # those inside a module that comes first have been set by it
                changed.append(module)
                _set_mode(module, training=training)
        yield None if changed else [module for module, _ in flags]
    finally:
        for module in changed:
            _set_mode(module, training=not training)
        for module, flag in flags:
            if module.training != flag:
                module.training = flag


def _set_mode(module: Any, *, training: bool) -> None:
    """As a user would, since a class may do more than set the flag."""
    try:
        if training:
            module.train()
        else:
            module.eval()
    except NotImplementedError:  # an exported graph of PyTorch, whose mode was fixed when it was made
        return


def module_classes() -> tuple[type, ...]:
    """Return the classes of modules of the libraries that are imported."""
    libraries = [sys.modules[home] for home in _LIBRARIES.values() if home in sys.modules]
    return tuple(
        library.Module for library in libraries if isinstance(getattr(library, "Module", None), type)
    )


def modules_in(thing: Any) -> Iterator[Any]:
    """Yield every module that a call of `thing` can reach, those that hold others first; see `in_mode`."""
    classes = module_classes()
    near = islice(values_in(thing), _MOST_VALUES)
    return (found for found in near if issubclass(type(found), classes))


def values_in(
    thing: Any, *, leaves_out: Callable[[type], bool] = lambda cls: False, empty: bool = False
) -> Iterator[Any]:
    """Yield every value that a call of `thing` can reach, but for plain ones; see `in_mode`.

    Values of classes that are left out are not looked into; `empty` containers are yielded on demand.
    """
    seen: dict[int, Any] = {}
    kinds: dict[int, _Kind] = {}  # by identity: a metaclass may say what equals a class, and has no hash
    waiting = deque([thing])
    while waiting:
        found = waiting.popleft()
        kind = kinds.get(id(type(found)))
        if kind is None:
            kind = kinds[id(type(found))] = _Kind(type(found), leaves_out)
        if kind.is_plain or id(found) in seen:
            continue
        seen[id(found)] = found
        yield found
        for one in kind.inside(found):
            cls = id(type(one))
            if cls not in _PLAIN_IDS and (one or empty if cls in _CONTAINER_IDS else id(one) not in seen):
                waiting.append(one)


EXACTLY_PLAIN: Final = frozenset({*_PLAIN, bool})
"""Classes of values that hold nothing: asked for before all else, since most values are of these."""
CONTAINERS: Final = frozenset({dict, OrderedDict, *_CONTAINERS})
"""Classes of values that hold nothing where they are empty, as most of those of a module are."""
_PLAIN_IDS: Final = frozenset(map(id, EXACTLY_PLAIN))
_CONTAINER_IDS: Final = frozenset(map(id, CONTAINERS))


class _Kind:
    """What a walk has to know of a class, found out once: how values of it are looked into.

    All is read past whatever the class makes of attributes and items. Not `isinstance`, which asks the value
    itself for its class.
    """

    __slots__ = ("_body", "_cls", "_containers", "_is_dict", "_slots", "_special", "is_plain")

    def __init__(self, cls: type, leaves_out: Callable[[type], bool]) -> None:
        self._cls = cls
        self.is_plain = issubclass(cls, _PLAIN) or leaves_out(cls)
        self._is_dict = issubclass(cls, dict)
        self._containers = tuple(container for container in _CONTAINERS if issubclass(cls, container))
        self._slots: list[MemberDescriptorType] = []
        self._body: list[Any] = []
        self._special = _special(cls)
        if self._special is None:
            self._look_into_bodies()

    def _look_into_bodies(self) -> None:
        """Note what stands in the bodies of the class and its bases: slots, methods, models as well."""
        for body in own_bodies(self._cls):
            for value in body.values():
                if isinstance(value, MemberDescriptorType):
                    self._slots.append(value)
                elif isinstance(value, property):
                    self._body += (value.fget, value.fset)
                elif isinstance(value, staticmethod | classmethod):
                    self._body.append(getattr(value, "__func__", value))
                else:
                    self._body.append(value)

    def inside(self, thing: Any) -> list[Any]:
        """Return what a value of this class holds; the bodies of classes with the first of them alone."""
        found: list[Any] = []
        if self._is_dict:
            found += dict.values(thing)
        for container in self._containers:
            found += container.__iter__(thing)
        if self._special is not None:
            found += self._special(thing)
        for slot in self._slots:
            try:
                found.append(slot.__get__(thing))
            except AttributeError:  # nothing was set
                continue
        if self._body:
            found += self._body
            self._body = []
        try:
            return found + list(dict.values(object.__getattribute__(thing, "__dict__")))
        except (AttributeError, TypeError):  # it has no attributes, or something else in their place
            return found


def _special(cls: type) -> Callable[[Any], Iterable[Any]] | None:
    """Return what says what a function, a method, a partial or an array holds; None for any other class."""
    if cls is FunctionType:
        return _used_by
    if cls is MethodType:
        return lambda method: (method.__self__, method.__func__)
    if issubclass(cls, partial):
        return lambda thing: (thing.func, thing.args, thing.keywords)
    if "numpy" in sys.modules and issubclass(cls, sys.modules["numpy"].ndarray):
        return lambda thing: thing.flat if thing.dtype.hasobject else ()
    return None


def _used_by(function: FunctionType) -> Iterator[Any]:
    """Yield defaults, closures and the globals that a function names, also as attributes of modules."""
    if is_foreign(function.__module__):
        return
    yield from function.__defaults__ or ()
    yield from (function.__kwdefaults__ or {}).values()
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # the name has no value yet
            continue
    names = set(_names_in(function.__code__))
    for name in names & function.__globals__.keys():
        value = function.__globals__[name]
        yield value
        if isinstance(value, ModuleType) and not is_foreign(value.__name__):
            held = ModuleType.__getattribute__(value, "__dict__")
            yield from (held[inner] for inner in names & held.keys())
        elif issubclass(type(value), type) and not is_foreign(_MODULE(value)):
            yield from (held for held in _BODY(value).values() if not issubclass(type(held), type))


def _names_in(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names_in(constant)


def own_bodies(cls: type) -> Iterator[Mapping[str, Any]]:
    """Yield the bodies of a class and its bases, but for foreign ones; no metaclass is asked."""
    for base in bases_of(cls):
        if not is_foreign(_MODULE(base)):
            yield _BODY(base)


def is_foreign(module: object) -> bool:
    """Say whether what a module defines holds no model of its own."""
    return not isinstance(module, str) or module.partition(".")[0] in _FOREIGN
