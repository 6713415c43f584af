"""Calls in a mode: every module of kellet and PyTorch that a call can reach is set so, and set back.

A stored call is made twice, where the archive is written and where it is checked. In training mode
dropout answers at random, and a batch norm answers by the batch: so the mode is that of evaluation, where no
other is asked for.

What a call changes is put back, too: a golden call is made on the object itself, and leaves it as it was.
Attributes, slots and containers are put back, arrays and tensors, and the states of generators and of other
classes of C code that give one. Values in the bodies of classes count, since descriptors keep there what
belongs to their objects; globals and closures of functions do not. Threads, queues and loggers belong to the
process, and are left alone.
"""

from __future__ import annotations

import sys
import warnings
from array import array
from collections import OrderedDict, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from functools import partial
from importlib import import_module
from itertools import islice
from operator import attrgetter
from types import BuiltinFunctionType, CodeType, FunctionType, MemberDescriptorType, MethodType, ModuleType
from typing import Any, Final

from packager._process import AnswerRequired
from packager._tensors import library_of_class

from .array_calls import PLAIN, array_of, call_with_arrays

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


def nothing_around(thing: object, modules: Sequence[Any] | None = None) -> AbstractContextManager[None]:
    """Return a block that does nothing."""
    return nullcontext()


def call_in_mode(
    thing: object,
    inputs: Mapping[str, Any],
    method: object = None,
    *,
    training: bool | None = False,
    from_seed: bool = False,
    around: Around = nothing_around,
) -> dict[str, Any]:
    """Call as `call_with_arrays` does, with every module that the call can reach in evaluation mode.

    With `training` it is training mode, and with None each keeps its own. With `from_seed` generators begin
    as `seeded` says. The call is made inside of what `around` makes of `thing` and these modules. It is
    entered when the mode is set: hooks that it registers are not looked into for modules.
    Raises what `call_with_arrays` raises; CodeExitError also where an `eval()` or `train()` ends with
    `sys.exit()`.
    """
    what = f"calling {type(thing).__name__} in {mode_name(training)}"
    begun = seeded() if from_seed else nullcontext()
    with AnswerRequired(what), in_mode(thing, training=training) as modules, begun, around(thing, modules):
        return call_with_arrays(thing, inputs, method)


def mode_name(training: bool | None) -> str:
    """Return what messages call a mode."""
    return {True: "training mode", False: "evaluation mode", None: "the mode that it is in"}[training]


@contextmanager
def in_mode(thing: object, *, training: bool | None = False) -> Iterator[list[Any] | None]:
    """Call `eval()`, or `train()`, on the modules in `thing`; after the block each has the flag that it had.

    With None the modes are left as they are.

    They are looked for in attributes, containers, methods, partials, closures, and in the global
    names that functions use: whatever leads from `thing` to a module without running anything. The block
    gets them; None where a mode was set, since other modules may have been put in their places by it.
    """
    flags = [(module, module.training) for module in modules_in(thing)]
    changed = []
    try:
        for module, _ in flags:
            # Those inside a module that comes first have been set by it.
            if training is not None and bool(module.training) is not training:
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


def modules_in(thing: object) -> Iterator[Any]:
    """Yield every module that a call of `thing` can reach, those that hold others first; see `in_mode`."""
    classes = module_classes()
    near = islice(values_in(thing), _MOST_VALUES)
    return (found for found in near if issubclass(type(found), classes))


def values_in(
    thing: object, *, leaves_out: Callable[[type], bool] = lambda cls: False, empty: bool = False
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


_SEED: Final = 0
_GENERATORS: Final = (
    ("random", "getstate", "setstate", "seed"),
    ("numpy.random", "get_state", "set_state", "seed"),
    ("kellet", "get_rng_state", "set_rng_state", "manual_seed"),
    ("torch", "get_rng_state", "set_rng_state", "default_generator.manual_seed"),
    ("torch.cuda", "get_rng_state_all", "set_rng_state_all", "manual_seed_all"),
)
"""The modules that have generators of the process, and what gives their state, sets it, and seeds them."""


@contextmanager
def seeded() -> Iterator[None]:
    """Let the generators of the process begin at one seed in the block; after it they go on as they stood.

    So a golden call draws the same numbers wherever it is made.
    """
    for name in ("random", "numpy.random"):
        import_module(name)
    with ExitStack() as undo:
        for name, get, put, seed in _GENERATORS:
            module = sys.modules.get(name)
            if module is not None and (name != "torch.cuda" or module.is_initialized()):
                undo.callback(getattr(module, put), getattr(module, get)())
                attrgetter(seed)(module)(_SEED)
        yield


PutBack = Callable[[], None]

_OF_PROCESS: Final = frozenset(
    "threading _thread queue _queue logging concurrent multiprocessing asyncio subprocess socket".split()
)
_STATES: Final = (("get_state", "set_state"), ("getstate", "setstate"), ("__getstate__", "__setstate__"))
_MEMBERS: Final = ((list, list.extend), (deque, deque.extend), (set, set.update))


class Before:
    """What an object holds before it is called; `ids` are those of the values that it was noted of.

    With `among` only values with these ids are noted.
    """

    def __init__(self, thing: Any, among: Collection[int] | None = None) -> None:
        self.ids: set[int] = set()
        self._steps: list[PutBack] = []
        for value in values_in(thing, leaves_out=_is_left_alone, empty=True):
            if among is None or id(value) in among:
                self.ids.add(id(value))
                for noted in (_attributes, _slots, _contents, _elements, _compiled, _states):
                    with suppress(Exception):  # a class may refuse anything
                        self._steps += noted(value)

    def put_back(self) -> None:
        """Put back what has changed since. What refuses that stays as it is."""
        for step in self._steps:
            with suppress(Exception):
                step()


def _is_left_alone(cls: type) -> bool:
    homes = map(type.__dict__["__module__"].__get__, bases_of(cls))
    tops = (home.partition(".")[0] for home in homes if isinstance(home, str))
    return cls is FunctionType or not _OF_PROCESS.isdisjoint(tops)


def _attributes(value: Any) -> Iterator[PutBack]:
    cls, held = type(value), object.__getattribute__(value, "__dict__")
    before = dict(held)

    def put_back() -> None:
        if type(value) is not cls:  # a lazy layer has become another
            object.__setattr__(value, "__class__", cls)
        if not _holds_the_same(held, before):
            held.clear()
            held.update(before)

    yield put_back


def _slots(value: Any) -> Iterator[PutBack]:
    for slot in [slot for body in own_bodies(type(value)) for slot in body.values()]:
        if isinstance(slot, MemberDescriptorType):
            try:
                yield partial(slot.__set__, value, slot.__get__(value))
            except AttributeError:  # nothing was set
                yield partial(slot.__delete__, value)


def _contents(value: Any) -> Iterator[PutBack]:
    cls = type(value)
    if issubclass(cls, dict):
        yield partial(_put_back_items, value, dict(dict.items(value)))
    for of, add in _MEMBERS:
        if issubclass(cls, of):
            yield partial(_put_back_members, value, of, add, [*of.__iter__(value)])
    if issubclass(cls, bytearray | array):
        yield partial(value.__setitem__, slice(None), value[:])


def _put_back_items(value: Any, before: dict[Any, Any]) -> None:
    kind: Any = OrderedDict if isinstance(value, OrderedDict) else dict
    if not _holds_the_same(dict(kind.items(value)), before):
        kind.clear(value)
        for key, one in before.items():
            kind.__setitem__(value, key, one)


def _put_back_members(value: Any, of: Any, add: Any, before: list[Any]) -> None:
    if list(map(id, of.__iter__(value))) != list(map(id, before)):
        of.clear(value)
        add(value, before)


def _holds_the_same(now: dict[Any, Any], before: dict[Any, Any]) -> bool:
    """Say whether two dicts hold the very same keys and values, in one order."""
    both = (now, before)
    keys, values = ([list(map(id, part(one))) for one in both] for part in (dict.keys, dict.values))
    return keys[0] == keys[1] and values[0] == values[1]


def _elements(value: Any) -> Iterator[PutBack]:
    """Yield what puts back the elements of an array or a tensor, and its gradient."""
    import numpy

    cls = type(value)
    if issubclass(cls, numpy.ndarray) and value.flags.writeable:
        yield partial(_put_back_elements, value, value.view(numpy.ndarray).copy())
    elif library_of_class(cls) != "numpy" and hasattr(cls, "detach") and hasattr(cls, "copy_"):
        lies = value.detach()  # in the same memory
        yield partial(_put_back_tensor, value, lies, lies.clone(), lies._version)
        if value.is_leaf:
            yield partial(_put_back_gradient, value, value.grad, value.requires_grad)
            yield from () if value.grad is None else _elements(value.grad)


def _compiled(value: Any) -> Iterator[PutBack]:
    """Yield what puts back the tensors of TorchScript, which lie in C++ and are in no attribute."""
    torch = sys.modules.get("torch")
    if torch is not None and issubclass(type(value), torch.jit.ScriptModule):
        for tensor in (*value.parameters(recurse=False), *value.buffers(recurse=False)):
            yield from _elements(tensor)


def _put_back_elements(value: Any, before: Any) -> None:
    if value.shape != before.shape:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # NumPy 2.5 would have a new array
            value.shape = before.shape  # fails where its size is another
    # Made only now: `resize` frees the memory of a view that was made before the call.
    plain = value.view(type(before))
    if plain.tobytes() != before.tobytes():
        plain[...] = before


def _put_back_tensor(value: Any, lies: Any, before: Any, version: int) -> None:
    if value.data_ptr() != lies.data_ptr() or value.shape != lies.shape:
        value.data = lies
    # What is written through `data` moves no version.
    if lies._version != version or not lies.equal(before):
        lies.copy_(before)


def _put_back_gradient(value: Any, before: Any, needs: bool) -> None:
    if value.requires_grad != needs:
        value.requires_grad_(needs)
    if value.grad is not before:
        value.grad = before


def _states(value: Any) -> Iterator[PutBack]:
    """Yield what puts back the state that a class of C code gives: a generator, a stream, a tokenizer."""
    methods = _state_methods(type(value))
    if methods is not None:
        get, put = methods
        yield partial(_put_back_state, value, get, put, get(value))
    if hasattr(type(value), "bit_generator"):  # a generator of NumPy stands over another one
        yield from _states(value.bit_generator)


def _state_methods(cls: type) -> tuple[Any, Any] | None:
    """Return what gives and sets the state of a class; None where Python code would do it, or nothing."""
    for names in _STATES:
        for base in bases_of(cls):
            get, put = map(type.__dict__["__dict__"].__get__(base).get, names)
            if get and put and FunctionType not in (type(get), type(put)):
                return get, put
    return None


def _put_back_state(value: Any, get: Any, put: Any, before: Any) -> None:
    if not _is_same_state(get(value), before):
        put(value, before)


def _is_same_state(now: Any, before: Any) -> bool:
    """Say whether two states are the same, as far as they are made of plain values and arrays."""
    if isinstance(before, dict):
        return now.keys() == before.keys() and all(_is_same_state(now[key], before[key]) for key in before)
    if isinstance(before, tuple | list):
        return len(now) == len(before) and all(map(_is_same_state, now, before))
    if hasattr(before, "dtype"):
        return bool(array_of(now).tobytes() == array_of(before).tobytes())
    return type(before) not in PLAIN or bool(now == before)
