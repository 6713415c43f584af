"""What a pickle does with names: they are mentioned, called, given a state, and none is ever imported.

A name that is on the list selects a function that makes plain data. What is done with any other is noted
in an `Opaque`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Final

from .pickle_machine import LONGEST_NAME, HasState, Machine, Named, Opaque

_MOST_NAMED: Final = 1000  # unknown names that are told apart; more of them is no checkpoint


def mention_lines(machine: Machine) -> None:
    """GLOBAL: the name stands in the pickle, on two lines."""
    module, name = machine.line(), machine.line()
    _push_name(machine, f"{module} {name}")


def mention(machine: Machine) -> None:
    """STACK_GLOBAL: the name lies on the stack, as two texts."""
    name, module = machine.pop(), machine.pop()
    if type(name) is not str or type(module) is not str or len(name) + len(module) > LONGEST_NAME:
        machine.fail("STACK_GLOBAL without two texts; the pickle is damaged")
    _push_name(machine, f"{module} {name}")


def _push_name(machine: Machine, name: str) -> None:
    known = name in machine.names
    if not known:
        machine.unknown.setdefault(name.replace(" ", "."), machine.position)
        if len(machine.unknown) > _MOST_NAMED:
            machine.fail(f"the pickle names more than {_MOST_NAMED} things that are not plain data")
    machine.stack.append(Named(name, known))


def call(machine: Machine) -> None:
    """REDUCE: only a function of the list is called; any other call is noted."""
    arguments, function = machine.pop(), machine.pop()
    if isinstance(function, Opaque):  # a computed function: what it gives is as unknown as itself
        machine.stack.append(machine.opaque(function.name, arguments))
        return
    if not isinstance(function, Named) or type(arguments) is not tuple:
        machine.fail("a call of something that is no name, or not with a tuple")
    machine.stack.append(_applied(machine, function, arguments))


def _applied(machine: Machine, function: Named, arguments: tuple[Any, ...]) -> Any:
    shown = function.name.replace(" ", ".")
    if not function.known:
        return machine.opaque(shown, arguments)
    handler = machine.names[function.name]
    if handler is None:
        machine.fail(f"{shown!r} may be mentioned in data, but not called")
    try:
        return handler(*arguments)
    except (TypeError, ValueError, KeyError, OverflowError, AttributeError) as error:
        if any(_is_opaque(argument) for argument in arguments):
            return machine.opaque(shown, arguments)
        machine.fail(f"{shown} with arguments that do not fit: {error}")


def _is_opaque(value: Any) -> bool:
    return isinstance(value, Opaque) or (isinstance(value, Named) and not value.known)


def new_object(name: str, count: int) -> Callable[[Machine], None]:
    """An object of a class: only ever of an unknown one, which is not made."""

    def operation(machine: Machine) -> None:
        arguments = [machine.pop() for _ in range(count)]
        kind = machine.pop()
        if not _is_opaque(kind):
            machine.fail(f"opcode {name} is not among those that data needs")
        machine.stack.append(machine.opaque(kind.name.replace(" ", "."), tuple(reversed(arguments))))

    return operation


def set_state(machine: Machine) -> None:
    """State of an OrderedDict is its attributes, `_metadata` of a state dict; that alone is kept."""
    state = machine.pop()
    target = machine.top((OrderedDict, HasState), "BUILD")
    if isinstance(target, Opaque):
        target.state = state
    elif isinstance(target, HasState):
        try:
            target.set_state(state)
        except (TypeError, ValueError, KeyError, OverflowError) as error:
            machine.fail(f"a state that does not fit: {error}")
    elif type(state) is dict and set(state) <= {"_metadata"}:
        target.__dict__.update(state)
    else:
        machine.fail("BUILD sets attributes of a dict other than _metadata")


def find_storage(machine: Machine) -> None:
    """BINPERSID: whoever reads the file says what lies under a persistent id."""
    if machine.persistent is None:
        machine.fail("a persistent id, in a pickle that has none")
    pid = machine.pop()
    try:
        machine.stack.append(machine.persistent(pid))
    except (TypeError, ValueError, KeyError, OverflowError, AttributeError) as error:
        if type(pid) is tuple and any(_is_opaque(part) for part in pid):
            machine.stack.append(machine.opaque("a storage of an unknown class", pid))
        else:
            machine.fail(f"a storage that cannot be found: {error}")
