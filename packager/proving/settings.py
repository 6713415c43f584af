"""What a program sets for its whole process and changes answers everywhere: a clean process lacks it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from operator import attrgetter, methodcaller
from typing import Any, Final

from .values import attributes_of, names_of

_ASKED: Final[Mapping[str, tuple[str, ...]]] = {
    "torch": (
        "get_default_dtype()",
        "get_default_device()",
        "get_float32_matmul_precision()",
        "are_deterministic_algorithms_enabled()",
        "is_grad_enabled()",
    ),
    "kellet": ("get_default_dtype()", "is_grad_enabled()"),
    "decimal": ("getcontext().prec", "getcontext().rounding"),
    "numpy": ("geterr()", "get_printoptions()"),
    "sklearn": ("get_config()",),
}
"""By library, what is called and how it is spelt."""
_LOCALE: Final = ("LC_NUMERIC", "LC_COLLATE", "LC_TIME", "LC_CTYPE")
_HOOKS_OF_TORCH: Final = "torch.nn.modules.module"
_HOOKS_OF_KELLET: Final = "kellet.nn.module_hooks"


def settings_here(spelt: Callable[[Any], str]) -> dict[str, str]:
    """Return how libraries make answers in this process, by the expression that says so.

    `spelt` spells a value. A library that is not loaded has made none; what its version lacks is left out.
    """
    found: dict[str, str] = {}
    for library, calls in _ASKED.items():
        for call in calls if library in sys.modules else ():
            try:
                function, _, attribute = call.partition("()")
                answer = methodcaller(function)(sys.modules[library])
                answer = attrgetter(attribute[1:])(answer) if attribute else answer
            except (AttributeError, TypeError):  # a version without it, or one that is only half imported
                continue
            if type(answer) is dict:
                found |= {f"{library}.{call}[{name!r}]": spelt(one) for name, one in answer.items()}
            else:
                found[f"{library}.{call}"] = str(answer)
    if locale := sys.modules.get("locale"):
        known = [name for name in _LOCALE if hasattr(locale, name)]
        # Without a locale it only asks.
        found |= {f"locale.setlocale({name})": locale.setlocale(getattr(locale, name)) for name in known}
    return found | {name: spelt(hooks) for name, hooks in _hooks()}


def _hooks() -> Iterator[tuple[str, list[Any]]]:
    """Yield the hooks that run around the calls of all networks, without the numbers that they go by."""
    for name, one in names_of(_HOOKS_OF_TORCH).items():
        if name.startswith("_global") and name.endswith("hooks"):
            yield f"{_HOOKS_OF_TORCH}.{name}", list(one.values())
    if everywhere := names_of(_HOOKS_OF_KELLET).get("_everywhere"):
        for name, registry in attributes_of(everywhere):
            yield f"{_HOOKS_OF_KELLET}.{name}", [entry.hook for entry in registry]
