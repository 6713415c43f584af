"""Regular expressions of modules, compiled when they are first used.

Compiling those of a module costs more than the rest of its import, and a command uses few of them, or none:
then `re` itself is not imported.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as in packager.lazy
if TYPE_CHECKING:
    import re
    from typing import Any, AnyStr

__all__ = ["late_pattern"]


def late_pattern(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return what `re.compile` does, in effect; raises what that does when it is first used.

    >>> late_pattern("[0-9]+").fullmatch("12").group()
    '12'
    """
    late: Any = _LatePattern(pattern, flags)
    return late  # type: ignore[no-any-return]  # it answers as a pattern does


class _LatePattern:
    """A pattern that takes over each attribute of the compiled one when it is first asked for."""

    def __init__(self, pattern: Any, flags: int) -> None:
        self._told = (pattern, flags)

    def __getattr__(self, name: str) -> Any:
        import re  # which many a command does without

        found = getattr(re.compile(*self._told), name)  # `re` keeps what it compiled
        self.__dict__[name] = found
        return found
