"""Code objects: those inside one, and whether two do the same."""

from __future__ import annotations

from collections.abc import Iterator
from types import CodeType


def same_code(left: CodeType, right: CodeType) -> bool:
    """Say whether two code objects do the same, wherever their file lies."""
    plain = left.co_code == right.co_code and all(
        getattr(left, name) == getattr(right, name) for name in ("co_names", "co_freevars", "co_varnames")
    )
    if not plain or len(left.co_consts) != len(right.co_consts):
        return False
    return all(
        same_code(one, other)
        if isinstance(one, CodeType) and isinstance(other, CodeType)
        else type(one) is type(other)
        # Since Python 3.13 the body of a class holds its own line.
        and (repr(one) == repr(other) or (one, other) == (left.co_firstlineno, right.co_firstlineno))
        for one, other in zip(left.co_consts, right.co_consts, strict=True)
    )


def codes_in(code: CodeType) -> Iterator[CodeType]:
    """Yield a code object and those inside it, in the order of the source."""
    stack = [code]
    while stack:
        code = stack.pop()
        yield code
        stack.extend(const for const in reversed(code.co_consts) if isinstance(const, CodeType))
