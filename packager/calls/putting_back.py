"""What a call changes is put back: a golden call is made on the object itself, and leaves it as it was.

Attributes, slots and containers are put back, arrays and tensors, and the states of generators and of other
classes of C code that give one. Values in the bodies of classes count, since descriptors keep there what
belongs to their objects; globals and closures of functions do not. Threads, queues and loggers belong to the
process, and are left alone.
"""

from __future__ import annotations

import sys
from array import array
from collections import OrderedDict, deque
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from functools import partial
from types import FunctionType, MemberDescriptorType
from typing import Any, Final

from packager.tensors import library_of_class

from .array_calls import PLAIN, array_of
from .evaluation import bases_of, own_bodies, values_in

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
