"""State that code in C trusts: what an object must hold before anybody can use it.

NumPy, SciPy, scikit-learn and PyTorch read memory by positions, sizes and indices that lie in their objects,
and mostly do not look at them again. A position out of an archive may lead anywhere. So each of those
classes has a `StateCheck`: asked before one is made with arguments, before it is given a state, and when the
whole object is built. Here are the words that checks are written in; the checks themselves stand with their
libraries. What a codec of ours makes, it checks in `decode`.

A class of theirs that has no check here is not on the default list.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from packager._archive import MAX_TREE_DEPTH

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    from typing import Any, ClassVar, Final

    from numpy.typing import NDArray


class StateCheck:
    """What objects of some classes, and of classes that inherit from them, must hold.

    `types` are names of classes by the module that defines them. Every method raises ValueError.
    """

    types: ClassVar[tuple[str, ...]]

    def check_arguments(self, args: Sequence[Any]) -> None:
        """Raise ValueError unless the class may be called with these arguments."""

    def stored_state(self, state: object) -> Any:
        """Return what `__getstate__` gave as it is stored: without what is true of this process alone."""
        return state

    def check_state(self, obj: object, state: object) -> None:
        """Raise ValueError unless the class may take up this state by `__setstate__`."""

    def check_made(self, obj: object) -> None:
        """Raise ValueError unless an object that is complete holds what C code relies on."""


# --- the words of a check ---


def require(condition: bool, what: str) -> None:
    """Raise ValueError with this text unless a condition holds."""
    if not condition:
        raise ValueError(what)


def attributes_of(obj: object) -> dict[str, Any]:
    """Return the attributes of an object as they lie in its `__dict__`; no code of its class runs."""
    try:
        found = object.__getattribute__(obj, "__dict__")
    except AttributeError:
        return {}
    return found if type(found) is dict else {}


def require_int(value: Any, what: str, low: int, stop: int) -> int:
    """Return an int that is at least `low` and below `stop`. Raises ValueError for anything else.

    >>> require_int(625, "pos", 0, 625)
    Traceback (most recent call last):
    ValueError: pos is 625, not an int from 0 to 624
    """
    if not is_int(value) or not low <= value < stop:
        shown = str(value)[:40] if is_int(value) else f"a {type(value).__name__}"
        raise ValueError(f"{what} is {shown}, not an int from {low} to {stop - 1}")
    return int(value)


def is_int(value: object) -> bool:
    """Check whether a value is an int of Python or NumPy, and no instance of a class of its own."""
    if type(value) is int:
        return True
    import numpy

    return issubclass(type(value), numpy.integer) and type(value).__module__ == "numpy"


_NAMES: Final = {
    "i4": "int32",
    "i8": "int64",
    "u4": "uint32",
    "u8": "uint64",
    "f4": "float32",
    "f8": "float64",
}


def require_array(
    value: object,
    what: str,
    *,
    kinds: str = "",
    dtypes: Collection[str] = (),
    shape: Sequence[int | None] = (),
) -> Any:
    """Return an array of NumPy's own class, of one of these kinds or dtypes, and of this shape.

    None in `shape` stands for any extent. Raises ValueError for anything else.
    """
    import numpy

    if type(value) is not numpy.ndarray:
        raise ValueError(f"{what} is a {type(value).__name__}, not an array")
    dtype = value.dtype
    # By its code: NumPy computes the name of a dtype whenever it is asked, and there are many trees.
    known = not dtypes or (dtype.isnative and _NAMES.get(dtype.str[1:]) in dtypes)
    if not known or (kinds and dtype.kind not in kinds):
        raise ValueError(
            f"{what} has dtype {dtype}, expected {' or '.join(dtypes) or f'a kind of {kinds!r}'}"
        )
    if len(shape) != value.ndim or not all(map(_is_extent, shape, value.shape)):
        expected = ", ".join("any" if extent is None else str(extent) for extent in shape)
        raise ValueError(f"{what} has shape {list(value.shape)}, expected [{expected}]")
    return value


def _is_extent(wanted: int | None, found: int) -> bool:
    return wanted is None or wanted == found


def require_inside(values: Any, what: str, stop: int, low: int = 0) -> None:
    """Raise ValueError unless all values of an array of integers are at least `low` and below `stop`."""
    if values.size and (values.min() < low or values.max() >= stop):
        raise ValueError(
            f"{what} has values from {values.min()} to {values.max()}, expected {low} to {stop - 1}"
        )


def require_permutation(values: Any, what: str) -> None:
    """Raise ValueError unless an array has every number from 0 to its length once."""
    import numpy

    require_inside(values, what, len(values))
    require(int(numpy.bincount(values).max()) == 1, f"{what} has a row twice")


def require_tree(parents: NDArray[Any], left: NDArray[Any], right: NDArray[Any], count: int) -> None:
    """Raise ValueError unless every node but the first is the child of exactly one node before it.

    `parents` are the numbers of the nodes that have children, `left` and `right` those of their children.
    Following them then ends, and meets each node once.
    """
    import numpy

    children = numpy.concatenate([left, right]).astype(numpy.int64, copy=False)
    require_inside(children, "children", count, 1)
    if (left <= parents).any() or (right <= parents).any():
        raise ValueError("children stand before their parents")
    if len(children) != count - 1 or (count > 1 and numpy.bincount(children).max() > 1):
        raise ValueError(f"{count} nodes have {len(children)} children, expected each but the root once")


def met_nodes(inner: NDArray[Any], left: NDArray[Any], right: NDArray[Any], count: int) -> Any:
    """Return which of the nodes of a tree are met on the way from its root, the first one.

    `inner` are the numbers of the nodes that have children, `left` and `right` those of their children, in
    any order. Raises ValueError for a child that is none, for a node that is met twice, and for a tree so
    deep that code that calls itself would run out of stack.
    """
    import numpy

    below = numpy.zeros((2, count), numpy.int64)  # the root is the child of no node
    below[:, inner] = left, right
    require_inside(below[:, inner], "children", count, 1)
    place = numpy.full(count, -1)  # in its level, where a node was met
    level, depth = numpy.zeros(1, numpy.int64), 0
    while level.size:
        require(depth <= MAX_TREE_DEPTH, f"the tree is {depth} nodes deep, expected at most {MAX_TREE_DEPTH}")
        order = numpy.arange(len(level))
        again = (place[level] >= 0).any()
        place[level] = order
        require(not again and bool((place[level] == order).all()), "a node of a tree is met twice")
        level = below[:, level].ravel()
        level, depth = level[level > 0], depth + 1
    return place >= 0


_MT_NUMBERS: Final = 624
_PHILOX_NUMBERS: Final = 4
_WORD: Final = 1 << 32

# The layout of the bytes that torch.Generator.get_state gives on the CPU: how many there are, and where lie
# the count of numbers that are left, the flag that there are some, and the position of the next one.
_TORCH_BYTES: Final = 5056
_LEFT, _SEEDED, _NEXT = slice(8, 12), slice(12, 16), slice(16, 24)


def require_bit_generator_state(algorithm: str, state: Any) -> None:
    """Raise ValueError unless a state is what `numpy.random.<algorithm>.state` gives, and lies in bounds."""
    parts = {"bit_generator", "state", *_BESIDE[algorithm]}
    require(type(state) is dict and state.keys() == parts, f"the state of {algorithm} has other parts")
    named = state["bit_generator"]
    require(type(named) is str and named == algorithm, f"the state is not that of {algorithm}")
    inner = state["state"]
    wanted = _INNER[algorithm]
    require(
        type(inner) is dict and inner.keys() == wanted.keys(), f"the state of {algorithm} has other parts"
    )
    for name, form in wanted.items():
        _require_part(inner[name], f"{name} of {algorithm}", form)
    for name in _BESIDE[algorithm]:
        _require_part(state[name], f"{name} of {algorithm}", _PARTS[name])


def _require_part(value: Any, what: str, form: int | tuple[str, int]) -> None:
    """A whole number below a limit, or an array of a dtype and a length."""
    if isinstance(form, int):
        require(type(value) is int, f"{what} is a {type(value).__name__}, not an int")
        require_int(value, what, 0, form)
    else:
        require_array(value, what, dtypes=form[:1], shape=form[1:])


_PARTS: Final[Mapping[str, int | tuple[str, int]]] = {
    "has_uint32": 2,
    "uinteger": _WORD,
    "buffer": ("uint64", _PHILOX_NUMBERS),
    "buffer_pos": _PHILOX_NUMBERS + 1,
}
_BESIDE: Final[Mapping[str, tuple[str, ...]]] = {
    "MT19937": (),
    "PCG64": ("has_uint32", "uinteger"),
    "PCG64DXSM": ("has_uint32", "uinteger"),
    "Philox": ("buffer", "buffer_pos", "has_uint32", "uinteger"),
    "SFC64": ("has_uint32", "uinteger"),
}
_INNER: Final[Mapping[str, Mapping[str, int | tuple[str, int]]]] = {
    "MT19937": {"key": ("uint32", _MT_NUMBERS), "pos": _MT_NUMBERS + 1},
    "PCG64": {"state": 1 << 128, "inc": 1 << 128},
    "PCG64DXSM": {"state": 1 << 128, "inc": 1 << 128},
    "Philox": {"counter": ("uint64", 4), "key": ("uint64", 2)},
    "SFC64": {"state": ("uint64", 4)},
}


def require_torch_generator_state(state: Any) -> None:
    """Raise ValueError unless a tensor of bytes is the state of a generator of PyTorch on the CPU.

    PyTorch looks at each number by itself. It reads `left - 1` more numbers from `next` on, so that the two
    together must not lead past the last one.
    """
    import numpy
    import torch

    require(
        state.dtype == torch.uint8 and tuple(state.shape) == (_TORCH_BYTES,),
        f"the state of a generator has {state.dtype} of shape {list(state.shape)}, "
        f"expected torch.uint8 of shape [{_TORCH_BYTES}]",
    )
    found = state.contiguous().numpy()
    left = require_int(found[_LEFT].view(numpy.int32)[0], "left", 1, _MT_NUMBERS + 1)
    require_int(found[_SEEDED].view(numpy.int32)[0], "seeded", 0, 2)
    at = require_int(found[_NEXT].view(numpy.int64)[0], "next", 0, _MT_NUMBERS + 1)
    require(
        at + left <= _MT_NUMBERS + 1,
        f"the generator would read {left - 1} numbers from number {at} on, and has {_MT_NUMBERS}",
    )
