"""What a program sets for its whole process and changes answers everywhere: a clean process lacks it."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator, Mapping
from operator import attrgetter, itemgetter, methodcaller
from typing import Any, Final, Protocol


class _Asking(Protocol):
    def __call__(self, of: Any, /) -> object: ...


def _config(library: Any) -> Any:
    return library.get_config()


def _context(library: Any) -> Any:
    return library.getcontext()


def _handling(library: Any) -> str:
    return ", ".join(f"{kind}={how!r}" for kind, how in sorted(library.geterr().items()))


def _locale_of(category: str) -> _Asking:
    return lambda library: library.setlocale(getattr(library, category))  # without a locale it only asks


_SKLEARN: Final = ("transform_output", "enable_metadata_routing", "assume_finite", "array_api_dispatch")
_ASKED: Final[Mapping[str, Mapping[str, _Asking]]] = {
    "torch": {
        f"{name}()": methodcaller(name)
        for name in ("get_default_dtype", "get_default_device", "get_float32_matmul_precision")
    },
    "kellet": {"get_default_dtype()": methodcaller("get_default_dtype")},
    "decimal": {
        f"getcontext().{name}": lambda library, name=name: attrgetter(name)(_context(library))
        for name in ("prec", "rounding")
    },
    "numpy": {"geterr()": _handling},
    "sklearn": {
        f"get_config()[{name!r}]": lambda library, name=name: itemgetter(name)(_config(library))
        for name in _SKLEARN
    },
    "locale": {f"setlocale({name})": _locale_of(name) for name in ("LC_NUMERIC", "LC_COLLATE", "LC_TIME")},
}
"""By library, how it is asked. How numbers are printed is nobody's answer but that of code that prints."""


def settings_here(libraries: Collection[str]) -> dict[str, str]:
    """Return how these libraries make answers in this process, by the expression that says so.

    A library that is not loaded has made none; what a version of it does not have is left out.

    >>> settings_here(["a_library_that_is_not_loaded"])
    {}
    """
    found: dict[str, str] = {}
    for library in sorted(set(libraries)):
        for spelt, asking in _ASKED.get(library, {}).items() if library in sys.modules else ():
            try:
                found[f"{library}.{spelt}"] = str(asking(sys.modules[library]))
            except (AttributeError, KeyError):  # a version without it, or one that is only half imported
                continue
    return found


def what_is_set(here: Mapping[str, str]) -> Iterator[str]:
    """Yield what is set otherwise in this process than `here`, where an archive was made."""
    there = settings_here({name.partition(".")[0] for name in here})
    for name, value in here.items():
        if there.get(name, value) != value:
            yield (
                f"{name} was {there[name]}, and is {value} where the archive was made: whoever loads it has "
                "to set that, too, or the code that makes numbers names what it wants"
            )
