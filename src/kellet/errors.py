"""What can go wrong in kellet, as one tree.

    KelletError
    |-- ShapeError            also RuntimeError, ValueError: shapes that do not fit
    |-- DTypeError            also RuntimeError, TypeError: dtypes that do not fit
    |-- GradientError         also RuntimeError: backward cannot run as asked
    |-- VersionError          a GradientError: a saved value was changed in place
    |-- GradcheckError        also RuntimeError: a derivative does not agree with finite differences
    |-- HookError             also RuntimeError: a hook answered with a wrong value
    |-- HookTypeError         a HookError, also TypeError: ... with a value of a wrong type
    `-- StateDictError        also RuntimeError, KeyError: a state dict does not fit a module

Each class also inherits the built-in that code written for PyTorch catches. A message says what
failed, where, what was found against what was expected, and what to do.

Wrong arguments in the plain Python sense (a number where a Module is wanted) are TypeError and
ValueError, as everywhere in Python.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = [
    "DTypeError",
    "GradcheckError",
    "GradientError",
    "HookError",
    "HookTypeError",
    "KelletError",
    "ShapeError",
    "StateDictError",
    "VersionError",
]


class KelletError(Exception):
    """The root of what kellet raises on its own account."""


class ShapeError(KelletError, RuntimeError, ValueError):
    """Shapes do not fit together."""


class DTypeError(KelletError, RuntimeError, TypeError):
    """A dtype is not one that the operation takes."""


class GradientError(KelletError, RuntimeError):
    """Backward cannot run as asked: nothing requires grad, the graph is freed, a leaf was written."""


class VersionError(GradientError):
    """A value saved for backward was changed in place before backward used it."""


class GradcheckError(KelletError, RuntimeError):
    """A derivative does not agree with finite differences of the function."""


class HookError(KelletError, RuntimeError):
    """A hook answered with a value that cannot stand where it is put."""


class HookTypeError(HookError, TypeError):
    """A hook answered with a value of a wrong type."""


class StateDictError(KelletError, RuntimeError, KeyError):
    """A state dict does not fit a module; nothing has been written.

    `missing_keys`, `unexpected_keys` and `mismatched` list the keys, all together; `messages`
    holds what else was found.

    It is a RuntimeError for code written for PyTorch and a KeyError for code written for lucid.
    """

    def __init__(
        self,
        message: str,
        *,
        missing_keys: Sequence[str] = (),
        unexpected_keys: Sequence[str] = (),
        mismatched: Sequence[str] = (),
        messages: Sequence[str] = (),
    ) -> None:
        super().__init__(message)
        self.missing_keys = list(missing_keys)
        self.unexpected_keys = list(unexpected_keys)
        self.mismatched = list(mismatched)
        self.messages = list(messages)

    # KeyError would print the repr of the message, with its line ends escaped.
    __str__ = BaseException.__str__
