"""What tests of single codecs share: a codec by its name, what it decodes, and how it refuses."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from packager._codecs.registry import default_registry
from packager._libraries.scikit_learn import relation_rows


def rows_of(name: str) -> Any:
    """The check of the rows of a class of scikit-learn, by its module and name."""
    return next(check for check in relation_rows.CHECKS if check.types == (name,))


class Context:
    """What is kept for one object while it is built, and the numbers of its hooks."""

    map_location = None

    def __init__(self) -> None:
        self._kept: dict[Any, Any] = {}
        self.numbers: dict[tuple[str, int], int] = {}

    def shared_state(self, make: Callable[[], Any]) -> Any:
        return self._kept.setdefault(make, make())

    def number(self, family: str, number: int, make: Callable[[], int]) -> int:
        return self.numbers.setdefault((family, number), make())


def codec_of(name: str) -> Any:
    """The codec of this name."""
    codec = default_registry().find(name)
    assert codec is not None
    return codec


def decoded(name: str, literal: Any, *children: Any, context: Any = None) -> Any:
    """What a codec makes of parts that are built already."""
    codec = codec_of(name)
    return codec.decode(literal, children, codec.version, context or Context())


def refuses(check: Callable[[], Any], message: str) -> None:
    """Demand a ValueError with these words and no others."""
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        check()
