"""States of random generators: NumPy's bit generators, and the bytes of a generator of PyTorch.

Both keep numbers that were made ahead, and a position among them. NumPy reads wherever the position says.
"""

from __future__ import annotations

from collections.abc import Mapping

from .c_state import require, require_array, require_int

TYPE_CHECKING = False  # as in packager.lazy
if TYPE_CHECKING:
    from typing import Any, Final

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
