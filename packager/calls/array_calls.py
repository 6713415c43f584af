"""Calls by arrays: how inputs in a file become a call, its result arrays by name, and two answers compared.

Inputs go by parameter name, or by position as `arg0, arg1, ...`. A result is `output`, or
`output.0`, `output.key` for what is inside tuples, lists and mappings.
"""

from __future__ import annotations

import copy
import inspect
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from packager.errors import PackageError
from packager.libraries import library_of, tensor_of
from packager.process import AnswerRequired
from packager.texts import without_addresses

DEFAULT_TOLERANCE = 1e-5
"""The largest difference between answers that count as the same, where no other is asked for."""

_POSITION = re.compile(r"arg(0|[1-9][0-9]*)")


class CallError(PackageError, TypeError):
    """Inputs that are no call, or a result that is not made of arrays."""


def call_with_arrays(thing: Any, inputs: Mapping[str, Any], method: Any = None) -> dict[str, Any]:
    """Call `thing`, or a bound method of it, with arrays by name; return the arrays of its result by name.

    Where the class of `thing` comes from kellet or PyTorch, the call gets that framework's tensors.
    Raises CallError for inputs that are no call of it, CodeExitError where the called code ends with
    `sys.exit()` or the like, and whatever else the call raises.

    >>> import numpy
    >>> call_with_arrays(lambda x, scale: (x * scale, {"n": len(x)}), {"arg0": numpy.ones(2), "scale": 3})
    {'output.0': array([3., 3.]), 'output.1.n': array(2)}
    """
    make = _tensor_maker(thing)
    positions, keywords = {}, {}
    for name, value in inputs.items():
        match = _POSITION.fullmatch(name)
        if match is not None:
            positions[int(match[1])] = _made(make, name, value)
        else:
            keywords[name] = _made(make, name, value)
    if sorted(positions) != list(range(len(positions))):
        missing = min(set(range(len(positions))) - set(positions))
        raise CallError(
            f"inputs {', '.join(inputs)}: arg{missing} is missing; positions go from arg0 without gaps"
        )
    arguments = [positions[index] for index in range(len(positions))]
    called = thing if method is None else method
    # Of what is called by itself only the class is named: its own form may be long, and is its code's.
    what = type(thing).__name__ + ("" if called is thing else f".{_name_of(method)}")
    with AnswerRequired(f"calling {what}"):
        try:
            answer = called(*arguments, **keywords)
        except TypeError as error:  # told better where it is about the inputs; hooks may have mended those
            misfit = _does_not_fit(called, arguments, keywords)
            if misfit is None:
                raise
            raise misfit from error
        return dict(_arrays("output", answer))


def copied_input(value: Any) -> Any:
    """Return a copy of an input of a call, apart from later writes: an array, a tensor, numbers in lists."""
    return copy.deepcopy(value.detach() if hasattr(value, "detach") else value)


def _name_of(method: Any) -> str:
    name = getattr(method, "__name__", None)
    return name if type(name) is str else type(method).__name__


def _does_not_fit(called: Any, arguments: list[Any], keywords: dict[str, Any]) -> CallError | None:
    """Return the error for inputs that the parameters do not take; for a module, those of `forward`."""
    try:
        signature = inspect.signature(getattr(called, "forward", called))
    except (TypeError, ValueError):  # not everything that can be called says how
        return None
    try:
        signature.bind(*arguments, **keywords)
    except TypeError as error:
        given = ", ".join([*(f"arg{index}" for index in range(len(arguments))), *keywords]) or "no arrays"
        expected = ", ".join(signature.parameters) or "none"
        return CallError(f"inputs: {error}; found {given}; expected arrays named for parameters: {expected}")
    return None


def load_arrays(path: str) -> dict[str, Any]:
    """Return the arrays of a `.npz` file, by name; no pickles are read.

    Raises OSError where it cannot be read, CallError for another file, or an entry that is no array.
    """
    import tokenize
    import zipfile
    import zlib

    import numpy

    found: dict[str, Any] = {}
    where = path
    try:
        with open(path, "rb") as file, numpy.load(file, allow_pickle=False) as arrays:
            for name in arrays.files:
                where = f"{path}, entry {name!r}"
                found[name] = arrays[name]
                if not isinstance(found[name], numpy.ndarray):
                    raise CallError(f"{where}: it does not begin as an array does; make one with numpy.savez")
    except CallError:  # which is a TypeError
        raise
    except (
        *(ValueError, AttributeError, TypeError, EOFError, SyntaxError),
        *(zipfile.BadZipFile, zlib.error, tokenize.TokenError),
    ) as error:
        raise CallError(
            f"{where}: not a .npz file of arrays ({without_addresses(error)}); make one with numpy.savez"
        ) from error
    return found


def _made(make: Any, name: str, value: Any) -> Any:
    try:
        return make(value)
    except TypeError as error:
        raise CallError(f"input {name}: {error}") from error


def _tensor_maker(thing: Any) -> Any:
    """Return what makes an input in the library of `thing`: copies, since models may write to them."""
    library = library_of(thing)
    if library == "numpy":
        return copy.copy
    return partial(tensor_of, library)


def _arrays(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    import numpy

    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _arrays(f"{name}.{key}", inner)
    elif isinstance(value, tuple | list):
        for index, inner in enumerate(value):
            yield from _arrays(f"{name}.{index}", inner)
    else:
        plain = value.detach() if hasattr(value, "detach") else value
        array = numpy.asarray(plain.cpu() if hasattr(plain, "cpu") else plain)
        if array.dtype.hasobject:
            raise CallError(
                f"{name} is a {type(value).__name__}: only arrays, tensors and numbers can be compared"
            )
        yield name, array


@dataclass(frozen=True)
class Deviation:
    """How far one array of an answer is from the stored one.

    `largest` is the greatest absolute difference: an exact int between integers, a float between
    others, None where shapes or dtypes differ or the values have no difference. `same_bits` says
    whether nothing differs at all.
    """

    name: str
    largest: float | int | None
    same_bits: bool
    message: str = ""

    def within(self, tolerance: float) -> bool:
        """Say whether the array is as near to the stored one as `tolerance` says."""
        return self.largest is not None and self.largest <= tolerance

    def __str__(self) -> str:
        if self.same_bits:
            return "the same bits"
        return self.message or f"off by {self.largest:.3g} at most"


def compare_answers(expected: Mapping[str, Any], found: Mapping[str, Any]) -> tuple[Deviation, ...]:
    """Return the deviation of every array, by name, of two answers.

    NaN equals NaN, and an infinity one of the same sign; else each is endlessly far from any number.

    >>> import numpy
    >>> before, now = numpy.array([2**60, 5]), numpy.array([2**60 + 1, 5])
    >>> compare_answers({"output": before}, {"output": now})
    (Deviation(name='output', largest=1, same_bits=False, message=''),)
    """
    names = dict.fromkeys([*expected, *found])
    return tuple(_deviation(name, expected.get(name), found.get(name)) for name in names)


def _deviation(name: str, expected: Any, found: Any) -> Deviation:
    if expected is None or found is None:
        there, absent = ("here", "in the archive") if expected is None else ("in the archive", "here")
        return Deviation(name, None, False, f"it is {there}, but not {absent}")
    # The order of bytes is a matter of storing.
    expected, found = (array.astype(array.dtype.newbyteorder("="), copy=False) for array in (expected, found))
    if expected.shape != found.shape or expected.dtype != found.dtype:
        return Deviation(
            name,
            None,
            False,
            f"stored as {expected.dtype} {list(expected.shape)}, found {found.dtype} {list(found.shape)}",
        )
    same = expected.tobytes() == found.tobytes()
    if same or not expected.size:
        return Deviation(name, 0, same)
    if expected.dtype.kind in "biu":
        return Deviation(name, _largest_between_integers(expected, found), False)
    if expected.dtype.kind in "OSUMm":
        differing = int((expected != found).sum())
        if not differing:
            return Deviation(name, 0, False)
        return Deviation(name, None, False, f"{differing} of {expected.size} values differ")
    return Deviation(name, _largest_between_floats(expected, found), False)


def _largest_between_integers(expected: Any, found: Any) -> int:
    """Return the greatest difference, exact: that of two integers of 64 bits has 64 bits and no sign."""
    import numpy as np

    higher, lower = np.maximum(expected, found), np.minimum(expected, found)
    # Unsigned differences wrap around to the right one, also where the signed one would overflow.
    return int((higher.astype(np.uint64) - lower.astype(np.uint64)).max())


def _largest_between_floats(expected: Any, found: Any) -> float:
    import numpy as np

    if expected.dtype.kind == "c":
        parts = ((expected.real, found.real), (expected.imag, found.imag))
        with np.errstate(all="ignore"):
            return float(np.hypot(*(_differences(before, now) for before, now in parts)).max())
    return float(_differences(expected, found).max())


def _differences(expected: Any, found: Any) -> Any:
    """Return the absolute differences, in double precision or better."""
    import numpy as np

    wide = np.longdouble if expected.dtype.char == "g" else np.float64
    before, now = expected.astype(wide), found.astype(wide)
    with np.errstate(all="ignore"):  # inf - inf
        differences = np.abs(before - now)
    # Two NaNs in one place, or two equal infinities, are no difference; one alone is an endless one.
    alike = (before == now) | (np.isnan(before) & np.isnan(now))
    return np.where(alike, 0.0, np.where(np.isnan(differences), np.inf, differences))
