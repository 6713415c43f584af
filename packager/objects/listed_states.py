"""How classes of the default list take up a state: by functions of ours.

Their own `__setstate__` take whatever they are given: a polynomial an `OrderedDict` for its `__dict__`, a
UUID any object, which it hashes and compares with the members of an enumeration. Here a state is of exact
types, and each part of it goes where the class itself would put it.
"""

from __future__ import annotations

from .safeguards import forbid_shadows

TYPE_CHECKING = False  # as in packager.lazy
if TYPE_CHECKING:
    import random
    import uuid
    from collections.abc import Callable, Mapping
    from typing import Any, Final

_POLYNOMIALS: Final = "Polynomial Chebyshev Hermite HermiteE Laguerre Legendre".split()
_WORDS_OF_RANDOM: Final = 625  # of the Mersenne Twister, and the position in them


def _take_attributes(made: Any, state: Any) -> None:
    names = _exact_dict(made, state)
    forbid_shadows(type(made), names)
    vars(made).update(names)


def _take_coordinates(made: Any, state: Any) -> None:
    """Take the attributes of a matrix; SciPy before 1.13 kept its coordinates in two of them."""
    names = dict(_exact_dict(made, state))
    if "coords" not in names and {"row", "col"} <= names.keys():
        names["coords"] = (names.pop("row"), names.pop("col"))
    _take_attributes(made, names)


def _take_uuid(made: uuid.UUID, state: Any) -> None:
    from uuid import SafeUUID  # which whoever made the object has imported

    known = SafeUUID._value2member_map_
    parts = _exact_dict(made, state)
    number, safe = parts.get("int"), parts.get("is_safe")
    if not parts.keys() <= {"int", "is_safe"} or type(number) is not int or not 0 <= number < 1 << 128:
        raise ValueError("the state of a UUID is an int of 128 bits, as 'int'; and 'is_safe', if it is known")
    if type(safe) not in (int, type(None)) or safe not in known:
        raise ValueError("'is_safe' in the state of a UUID is 0, -1 or None")
    object.__setattr__(made, "int", number)
    object.__setattr__(made, "is_safe", known[safe])


def _take_random(made: random.Random, state: Any) -> None:
    words: Any = state[1] if type(state) is tuple and len(state) == 3 else None
    whole = type(words) is tuple and len(words) == _WORDS_OF_RANDOM
    if not whole or not all(type(word) is int for word in words):
        raise ValueError(f"the state of random.Random is (3, {_WORDS_OF_RANDOM} ints, a float or None)")
    if type(state[0]) is not int or state[0] != 3 or type(state[2]) not in (float, type(None)):
        raise ValueError(f"the state of random.Random is (3, {_WORDS_OF_RANDOM} ints, a float or None)")
    from random import Random  # the same

    Random.setstate(made, state)


def _exact_dict(made: Any, state: Any) -> Mapping[str, Any]:
    if type(state) is not dict or not all(type(name) is str for name in state):
        raise ValueError(
            f"the state of {type(made).__qualname__} is of type {type(state).__qualname__}; expected a dict "
            "whose keys are names"
        )
    return state


LISTED_STATES: Final[dict[str, Callable[[Any, Any], None]]] = {
    "random:Random": _take_random,
    "uuid:UUID": _take_uuid,
    "scipy.sparse:coo_matrix": _take_coordinates,
    **{f"numpy.polynomial:{name}": _take_attributes for name in _POLYNOMIALS},
}
"""What takes up the state of a class, by its name on the default list; no other there is given one."""
