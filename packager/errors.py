"""What can go wrong in packager, as one tree.

    PackageError
    |-- AddressError              also FileNotFoundError: an address was given as a file
    |-- ArgumentError             also TypeError and ValueError: an argument that the call cannot take
    |-- PackagingError            an export cannot be made as asked; every problem, grouped by reason
    |-- EmptyMatchError           a rule with allow_empty=False matched no module
    |-- ArchiveError              also ValueError: a file is not an archive as the format demands
    |   `-- IntegrityError        bytes do not have the digest that the manifest gives
    |       `-- IdentityMismatchError  the archive is another than the one that was asked for
    |-- UntrustedTypeError        also pickle.UnpicklingError: names that the audit does not allow
    |-- PickleRefusedError        also pickle.UnpicklingError: a real pickle, and allow_pickle is False
    |-- EnvironmentMismatchError  also ImportError: this environment lacks what the archive recorded
    |-- UndeclaredImportError     also ModuleNotFoundError: packaged code imports what no rule declared
    |-- ModuleNotStoredError      also ModuleNotFoundError: a package of the archive lacks what was asked for
    |-- DeviceNotHereError        also RuntimeError: tensors are to lie on a device that is not here
    |-- CodeFailedError           also RuntimeError: code that was named or stored is not there, or fails
    |   `-- CodeExitError         it ended with sys.exit() or the like
    |-- MigrationError            also RuntimeError: a migration cannot be carried out
    `-- LegacyFormatError         also ValueError: a legacy file cannot be read without running it

Subpackages may subclass these beside the code that raises them; every error that a bad archive, a bad
model or a bad environment can cause is a PackageError. A message says what failed, where (module,
key, entry, byte), what was found against what was expected, and what to do.
"""

from __future__ import annotations

from .texts import ShowsItsText, few_of, in_lines

TYPE_CHECKING = False  # as in packager.lazy
if TYPE_CHECKING:
    from collections.abc import Iterable
    from pickle import UnpicklingError
    from typing import Any, Self

__all__ = [
    "AddressError",
    "ArchiveError",
    "ArgumentError",
    "CodeExitError",
    "CodeFailedError",
    "DeviceNotHereError",
    "EmptyMatchError",
    "EnvironmentMismatchError",
    "IdentityMismatchError",
    "IntegrityError",
    "LegacyFormatError",
    "MigrationError",
    "ModuleNotStoredError",
    "PackageError",
    "PackagingError",
    "PackagingWarning",
    "PickleRefusedError",
    "UncheckedOutputsWarning",
    "UndeclaredImportError",
    "UntrustedTypeError",
]


class PackageError(ShowsItsText, Exception):
    """The root of everything that packager raises on its own account.

    Its text is safe to print: what a file brought into it is visible and stays on its line. A text of more
    than a screen is cut in its middle, and `args` has all of it; of a list the first ten items are told, and
    `problems` has all of them. It pickles with its fields.
    """

    @classmethod
    def listing(cls, heading: str, problems: Iterable[str], *advice: str) -> Self:
        """Return an error with a list of problems below a heading, and what to do about them last.

        >>> error = PackageError.listing("no such keys:", ["a", "b"], "Correct the names")
        >>> print(error)
        no such keys:
            a
            b
        Correct the names
        >>> error.problems
        ('a', 'b')
        """
        told = tuple(problems)
        return cls(in_lines(heading, *(f"    {one}" for one in few_of(told)), *advice)).holding(told)


class ArgumentError(PackageError, TypeError, ValueError):
    """A public call was given an argument of the wrong kind, or with a value that it does not know."""


class AddressError(PackageError, FileNotFoundError):
    """An address ("https://...", "s3://...") was given as a file; addresses are not opened yet."""


class PackagingError(PackageError):
    """An export cannot be made as asked. The message groups every problem by its reason."""


class PackagingWarning(ShowsItsText, UserWarning):
    """An export went through, and something about it should be known."""


class UncheckedOutputsWarning(PackagingWarning):
    """An object of stored code was saved without an example: only loading it was tried."""


class EmptyMatchError(PackageError):
    """A rule given with `allow_empty=False` matched no module."""


class ArchiveError(PackageError, ValueError):
    """A file is not an archive as the format demands; the message names the entry and the byte."""


class IntegrityError(ArchiveError):
    """Bytes do not have the digest that the manifest gives for them."""


class IdentityMismatchError(IntegrityError):
    """The archive is another than the one that was asked for, by its identity: `expected` and `found`."""

    def __init__(self, message: str, expected: str, found: str) -> None:
        super().__init__(message)
        self.expected = expected
        self.found = found


class EnvironmentMismatchError(PackageError, ImportError):
    """This environment lacks, or has in another version, what the archive was recorded with."""


class UndeclaredImportError(PackageError, ModuleNotFoundError):
    """Packaged code imports a module that no rule declared when the archive was made.

    `name` is the first part of the module's name, which a rule needs, and `module` is all of it.
    """

    module = ""


class ModuleNotStoredError(PackageError, ModuleNotFoundError):
    """A module that was asked for from outside is neither in the archive nor here; `name` is all of it."""


class CodeFailedError(PackageError, RuntimeError):
    """Code of a model, or a function that was named beside it, cannot be imported, or does not answer."""


class CodeExitError(CodeFailedError):
    """Code of a model ended with SystemExit, or another exception that is no Exception, for an answer."""


class DeviceNotHereError(PackageError, RuntimeError):
    """Tensors were saved on, or are to be mapped to, a device that PyTorch does not have here."""


class MigrationError(PackageError, RuntimeError):
    """A migration cannot be carried out, or contradicts itself."""


class LegacyFormatError(PackageError, ValueError):
    """A legacy file is damaged, or holds what cannot be read without executing it."""


_OF_PICKLE = {
    "UntrustedTypeError": "Stored objects name types that neither the archive holds nor the caller trusts.",
    "PickleRefusedError": "The resource is a real pickle, which runs code when read, "
    "and `allow_pickle` is False.",
}
"""The errors that are those of `pickle`, too, and what they say; it takes longer to import than these."""

if TYPE_CHECKING:

    class UntrustedTypeError(PackageError, UnpicklingError):
        """See `_OF_PICKLE`."""

    class PickleRefusedError(PackageError, UnpicklingError):
        """See `_OF_PICKLE`."""


def __getattr__(name: str) -> Any:
    """Make an error of `_OF_PICKLE` when it is first asked for."""
    if name not in _OF_PICKLE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from _pickle import UnpicklingError
    except ImportError:  # a Python without it
        from pickle import UnpicklingError
    made = type(name, (PackageError, UnpicklingError), {"__doc__": _OF_PICKLE[name], "__module__": __name__})
    return globals().setdefault(name, made)  # another thread may have been first
