"""Whether something was loaded from an archive."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from packager.names import is_from_archive


def is_from_package(obj: Any) -> bool:
    """Say whether a module, class, function, or the class of any other object came out of an archive.

    >>> import sys
    >>> is_from_package(sys), is_from_package(3)
    (False, False)

    Source: torch.package.analyze.is_from_package; there a class counts as an object of `type`.
    """
    if isinstance(obj, ModuleType):
        name = obj.__name__
    else:
        own = getattr(obj, "__module__", None) if isinstance(obj, type) or callable(obj) else None
        name = own if isinstance(own, str) else type(obj).__module__
    return is_from_archive(name)
