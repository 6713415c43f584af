"""Which functions may run while composed graphs are loaded: in data alone those of the one list.

The list is inert_calls.py; here is what is the grammar's own. What watches a load is no part of it. Beside
code, what stored code defines may run as well, and nothing of a class of an extern.
"""

from __future__ import annotations

import re

from tests.attacks.inert_calls import is_listed

from .world import KEY_METHODS

# Whoever watches, and makes the archives; but nothing that stands in for what must not be called.
_HARNESS = re.compile(r"tests\.attacks\.grammar\.(?!world:_make|world:_sentinel|graphs).*")


def is_allowed(name: str) -> bool:
    """Say whether a function may run while data alone is loaded."""
    return is_listed(name) or _HARNESS.fullmatch(name) is not None


def is_allowed_beside_code(name: str) -> bool:
    """Say whether a function may run while an object of stored code is loaded.

    Nothing of externs does, but for what a dict or a set asks of its keys, which may be of any class there,
    and hooks of states, which are called with the state that is loaded: `Tracer` looks at who calls.

    What an audit hook is told of is judged as well, as "event open"; stored functions are
    compiled and made.
    """
    if name.startswith("outside."):
        return name.endswith((*KEY_METHODS, "__call__"))
    if "world:_sentinel_of_keys" in name:
        return True
    if name.startswith("event "):
        return name in ("event compile", "event function.__new__")
    return "world:_sentinel" not in name and not name.startswith(("mailbox:", "subprocess:", "shelve:"))
