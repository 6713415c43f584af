"""What a program sets for its whole process and changes numbers everywhere: a clean process lacks it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Final

_ASKED: Final = {
    "torch": ("get_default_dtype()", "get_default_device()", "get_float32_matmul_precision()"),
    "kellet": ("get_default_dtype()",),
    "decimal": ("getcontext().prec", "getcontext().rounding"),
}


def settings_here(libraries: Collection[str]) -> dict[str, str]:
    """Return how these libraries make numbers in this process, by the function that says so.

    A library that is not loaded has made none.

    >>> settings_here(["a_library_that_is_not_loaded"])
    {}
    """
    return {
        f"{library}.{asked}": str(_answer(vars(sys.modules[library])[name], asked.removeprefix(f"{name}()")))
        for library in libraries
        if library in sys.modules
        for asked in _ASKED.get(library, ())
        if (name := asked.partition("(")[0]) in vars(sys.modules[library])
    }


def _answer(function: Callable[[], object], attribute: str) -> object:
    answer = function()
    return getattr(answer, attribute[1:]) if attribute else answer


def what_is_set(here: Mapping[str, str]) -> Iterator[str]:
    """Yield what is set otherwise in this process than `here`, where an archive was made."""
    there = settings_here({name.partition(".")[0] for name in here})
    for name, value in here.items():
        if there.get(name, value) != value:
            yield (
                f"{name} was {there[name]}, and is {value} where the archive was made: whoever loads it has "
                "to set that, too, or the code that makes numbers names what it wants"
            )
