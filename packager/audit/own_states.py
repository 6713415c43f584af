"""How classes of Python and NumPy take up a state: by functions of ours.

Their own `__setstate__` take whatever they are given: a polynomial an `OrderedDict` for its `__dict__`, a
UUID any object, which it hashes and compares with the members of an enumeration. Here a state is of exact
types, and each part of it goes where the class itself would put it.
"""

from __future__ import annotations

from .gates import forbid_shadows

TYPE_CHECKING = False  # as in packager.lazy
if TYPE_CHECKING:
    import random
    import uuid
    from collections.abc import Mapping
    from typing import Any, Final

_WORDS_OF_RANDOM: Final = 625  # of the Mersenne Twister, and the position in them


def take_attributes(made: Any, state: Any) -> None:
    """Put the names of a dict into the `__dict__`. Raises ValueError for another state."""
    names = exact_dict(made, state)
    forbid_shadows(type(made), names)
    vars(made).update(names)


def take_uuid(made: uuid.UUID, state: Any) -> None:
    """Take up a number of 128 bits. Raises ValueError for another state."""
    from uuid import SafeUUID  # which whoever made the object has imported

    known = SafeUUID._value2member_map_
    parts = exact_dict(made, state)
    number, safe = parts.get("int"), parts.get("is_safe")
    if not parts.keys() <= {"int", "is_safe"} or type(number) is not int or not 0 <= number < 1 << 128:
        raise ValueError("the state of a UUID is an int of 128 bits, as 'int'; and 'is_safe', if it is known")
    if type(safe) not in (int, type(None)) or safe not in known:
        raise ValueError("'is_safe' in the state of a UUID is 0, -1 or None")
    object.__setattr__(made, "int", number)
    object.__setattr__(made, "is_safe", known[safe])


def take_random(made: random.Random, state: Any) -> None:
    """Take up the words of a generator. Raises ValueError for another state."""
    words: Any = state[1] if type(state) is tuple and len(state) == 3 else None
    whole = type(words) is tuple and len(words) == _WORDS_OF_RANDOM
    if not whole or not all(type(word) is int for word in words):
        raise ValueError(f"the state of random.Random is (3, {_WORDS_OF_RANDOM} ints, a float or None)")
    if type(state[0]) is not int or state[0] != 3 or type(state[2]) not in (float, type(None)):
        raise ValueError(f"the state of random.Random is (3, {_WORDS_OF_RANDOM} ints, a float or None)")
    from random import Random  # the same

    Random.setstate(made, state)


def exact_dict(made: Any, state: Any) -> Mapping[str, Any]:
    """Return a state that is a dict with names as keys. Raises ValueError for another one."""
    if type(state) is not dict or not all(type(name) is str for name in state):
        raise ValueError(
            f"the state of {type(made).__qualname__} is of type {type(state).__qualname__}; expected a dict "
            "whose keys are names"
        )
    return state
