"""The errors of packager, as one tree. After each error stand its attributes, if it has any.

    PackageError                    problems: the whole list of which the text shows a few
    |-- ArgumentError               also TypeError and ValueError: an argument is of the wrong kind or value
    |   `-- SignersError            a key, a certificate or a file that says who may sign cannot be used
    |-- AddressError                also FileNotFoundError: an address is not allowed here
    |-- RemoteError                 also OSError: an address cannot be read; address, status, asked
    |-- PackagingError              an export cannot be made as asked; all problems, grouped by reason
    |-- EmptyMatchError             a rule with allow_empty=False matched no module
    |-- NotStoredError              also LookupError: the archive lacks that name
    |   |-- KeyNotStoredError       also KeyError: no such object, state dict or key; missing_keys
    |   |-- ResourceNotStoredError  also FileNotFoundError: no such text, bytes or pickle; filename
    |   `-- ModuleNotStoredError    also ModuleNotFoundError: no such module; name
    |       `-- UndeclaredImportError  neither stored nor declared; name (its first part), module
    |-- ArchiveError                also ValueError: a file is not a valid archive
    |   `-- IntegrityError          bytes do not have the digest that the manifest gives
    |       `-- IdentityMismatchError  it has another identity than requested; expected, found
    |-- CheckpointError             also ValueError: a file of weights cannot be read or written
    |   `-- LegacyFormatError       it is damaged, or cannot be read without running code from it
    |-- WrongKindError              also TypeError: a stored object is not of the class asked for
    |-- MigrationError              also RuntimeError: a migration cannot be carried out
    |-- UntrustedTypeError          also pickle.UnpicklingError: names that the audit does not allow
    |-- PickleRefusedError          also pickle.UnpicklingError: a real pickle, and allow_pickle is False
    |-- EnvironmentMismatchError    also ImportError: this environment lacks what the archive recorded
    |-- DeviceNotHereError          also RuntimeError: a device for tensors is missing here
    |-- CodeFailedError             also RuntimeError: code of a model is missing, or fails
    |   `-- CodeExitError           it called sys.exit() or the like
    |-- CodeRefusedError            the archive contains code, and `code` is False; exit_code
    `-- SignatureError              the archive is not signed as the loader demands; exit_code
        |-- UnsignedError           it has no signature
        |-- OtherSignerError        its signers are not among the allowed ones
        |-- NotAsSignedError        a signature does not belong to these bytes
        `-- RefusedByRuleError      it is revoked, too old, or has code that is not approved

This module also has finer errors than those of the tree. Every error that a bad archive, a bad model or a bad
environment can cause is a PackageError. A message says what failed, where (module, key, entry, byte), what
was found and expected, and what to do. All errors pickle.
"""

from __future__ import annotations

import sys

from ._lazy import unknown_name
from ._texts import ShowsItsText, few_of, in_lines

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    from collections.abc import Iterable
    from pickle import UnpicklingError
    from typing import Self

    from ._analysis.usage import TraceError as TraceError
    from ._archive.archive_errors import ArchiveChangedError as ArchiveChangedError
    from ._archive.archive_errors import ArchiveClosedError as ArchiveClosedError
    from ._archive.archive_errors import ArchiveIOError as ArchiveIOError
    from ._archive.archive_errors import MissingEntryError as MissingEntryError
    from ._audit.refused_names import UntrustedNamesError as UntrustedNamesError
    from ._audit.resolve import MissingNameError as MissingNameError
    from ._caches import CacheWarning as CacheWarning
    from ._calls.array_calls import CallError as CallError
    from ._calls.call_files import AnswerFileError as AnswerFileError
    from ._calls.call_files import TargetError as TargetError
    from ._calls.call_files import WeightsError as WeightsError
    from ._calls.entry_methods import EntryMethodError as EntryMethodError
    from ._calls.entry_schemas import SchemaMismatchError as SchemaMismatchError
    from ._codecs.library import CodecError as CodecError
    from ._environment.errors import DiskFullError as DiskFullError
    from ._environment.errors import EnvironmentBuildError as EnvironmentBuildError
    from ._environment.errors import FolderError as FolderError
    from ._environment.errors import NoSuchVersionError as NoSuchVersionError
    from ._environment.errors import SourceOnlyError as SourceOnlyError
    from ._environment.errors import ToolMissingError as ToolMissingError
    from ._environment.errors import WrongPlatformError as WrongPlatformError
    from ._environment.errors import WrongPythonError as WrongPythonError
    from ._exporting.golden_calls import CheckStoreError as CheckStoreError
    from ._exporting.plan import RefusedPlanError as RefusedPlanError
    from ._graph.importers import ObjMismatchError as ObjMismatchError
    from ._graph.importers import ObjNotFoundError as ObjNotFoundError
    from ._loading.bytecode import NothingKeptError as NothingKeptError
    from ._loading.deep_checks import ParsingError as ParsingError
    from ._loading.deep_checks import ParsingLimitError as ParsingLimitError
    from ._loading.files import ResourceDecodeError as ResourceDecodeError
    from ._loading.gone_modules import WorkerImportError as WorkerImportError
    from ._loading.open_archives import ArchiveMovedError as ArchiveMovedError
    from ._loading.open_archives import NameTakenError as NameTakenError
    from ._loading.opening import EnvironmentWarning as EnvironmentWarning
    from ._loading.packaged_code import DisallowedModuleError as DisallowedModuleError
    from ._migrations.applying import GrowthError as GrowthError
    from ._migrations.migration_tables import MigrationFileError as MigrationFileError
    from ._migrations.templates import TemplateError as TemplateError
    from ._migrations.transforms import FunctionError as FunctionError
    from ._migrations.transforms import TransformError as TransformError
    from ._names import InvalidNameError as InvalidNameError
    from ._objects.building import ObjectBuildError as ObjectBuildError
    from ._objects.checking import RecordError as RecordError
    from ._policy.decision import HookAnswerError as HookAnswerError
    from ._policy.policy_file import PolicyFileError as PolicyFileError
    from ._pretrained.folders import PretrainedError as PretrainedError
    from ._proving.clean_process import ProofStartError as ProofStartError
    from ._proving.coming_back import NotAsStoredError as NotAsStoredError
    from ._proving.refusing import ProofError as ProofError
    from ._ranks.group import OtherRankError as OtherRankError
    from ._ranks.group import RanksDisagreeError as RanksDisagreeError
    from ._remote.ranges import RemoteError as RemoteError
    from ._weights.array_files import NotNumbersError as NotNumbersError
    from ._weights.pickle_machine import CheckpointPickleError as CheckpointPickleError

__all__ = [
    "AddressError",
    "AnswerFileError",
    "ArchiveChangedError",
    "ArchiveClosedError",
    "ArchiveError",
    "ArchiveIOError",
    "ArchiveMovedError",
    "ArgumentError",
    "CacheWarning",
    "CallError",
    "CheckStoreError",
    "CheckpointError",
    "CheckpointPickleError",
    "CodeExitError",
    "CodeFailedError",
    "CodeRefusedError",
    "CodecError",
    "DeviceNotHereError",
    "DisallowedModuleError",
    "DiskFullError",
    "EmptyMatchError",
    "EntryMethodError",
    "EnvironmentBuildError",
    "EnvironmentMismatchError",
    "EnvironmentWarning",
    "FolderError",
    "FunctionError",
    "GrowthError",
    "HookAnswerError",
    "IdentityMismatchError",
    "IntegrityError",
    "InvalidNameError",
    "KeyNotStoredError",
    "LegacyFormatError",
    "MigrationError",
    "MigrationFileError",
    "MissingEntryError",
    "MissingNameError",
    "ModuleNotStoredError",
    "NameTakenError",
    "NoSuchVersionError",
    "NotAsSignedError",
    "NotAsStoredError",
    "NotNumbersError",
    "NotStoredError",
    "NothingKeptError",
    "ObjMismatchError",
    "ObjNotFoundError",
    "ObjectBuildError",
    "OtherRankError",
    "OtherSignerError",
    "PackageError",
    "PackagingError",
    "PackagingWarning",
    "ParsingError",
    "ParsingLimitError",
    "PickleRefusedError",
    "PolicyFileError",
    "PretrainedError",
    "ProofError",
    "ProofStartError",
    "RanksDisagreeError",
    "RecordError",
    "RefusedByRuleError",
    "RefusedPlanError",
    "RemoteError",
    "ResourceDecodeError",
    "ResourceNotStoredError",
    "SchemaMismatchError",
    "SignatureError",
    "SignatureWarning",
    "SignersError",
    "SourceOnlyError",
    "TargetError",
    "TemplateError",
    "ToolMissingError",
    "TraceError",
    "TransformError",
    "UncheckedOutputsWarning",
    "UndeclaredImportError",
    "UnsignedError",
    "UntrustedNamesError",
    "UntrustedTypeError",
    "WeightsError",
    "WorkerImportError",
    "WrongKindError",
    "WrongPlatformError",
    "WrongPythonError",
]


class PackageError(ShowsItsText, Exception):
    """The base class of all errors of packager.

    Its text is safe to print: control characters from a file are shown escaped. A text of more than a screen
    is cut in its middle, and `args` has all of it; a list shows its first ten items, and `problems` has all
    of them. It pickles with its fields.
    """

    def __init_subclass__(cls, **more: object) -> None:
        """Call an error of a room by the name under which users find it, in tracebacks and in pickles."""
        super().__init_subclass__(**more)
        if cls.__module__.startswith("packager._"):
            cls.__module__ = __name__

    @classmethod
    def listing(cls, heading: str, problems: Iterable[str], *advice: str) -> Self:
        """Return an error with a list of problems below a heading, and `advice` last.

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
    """A public call got an argument of the wrong type, or with an unknown value."""


class AddressError(PackageError, FileNotFoundError):
    """An address ("https://...", "s3://...") was given for a path, or has an unknown form."""


class PackagingError(PackageError):
    """An export cannot be made as asked. The message groups every problem by its reason."""


class PackagingWarning(ShowsItsText, UserWarning):
    """An export succeeded, with something to know about it."""


class UncheckedOutputsWarning(PackagingWarning):
    """An object of stored code was saved without an example: only loading it was tried."""


class EmptyMatchError(PackageError):
    """A rule given with `allow_empty=False` matched no module."""


class NotStoredError(PackageError, LookupError):
    """The archive, or the plan of one, lacks the requested name."""


class KeyNotStoredError(NotStoredError, KeyError):
    """An object, state dict or entry is not stored, or a state dict lacks the keys in `missing_keys`."""

    def __init__(self, message: str, missing_keys: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.missing_keys = missing_keys


class ResourceNotStoredError(NotStoredError, FileNotFoundError):
    """A text, binary or pickle is not stored; `filename` is its path in the archive."""

    def __init__(self, message: str, filename: str | None = None) -> None:
        super().__init__(message)
        self.filename = filename


class ModuleNotStoredError(NotStoredError, ModuleNotFoundError):
    """A requested module is neither in the archive nor installed here; `name` is its full name."""

    def __init__(self, message: str, *, name: str | None = None, path: str | None = None) -> None:
        ImportError.__init__(self, message, name=name, path=path)  # LookupError's takes no name


class UndeclaredImportError(ModuleNotStoredError):
    """Stored code imports a module that is neither stored nor required: no rule declared it.

    `name` is the first part of the module's name, for a rule; `module` is the full name.
    """

    module = ""


class ArchiveError(PackageError, ValueError):
    """A file is not a valid archive; the message names the entry and the byte."""


class IntegrityError(ArchiveError):
    """Bytes differ from the digest in the manifest."""


class IdentityMismatchError(IntegrityError):
    """The archive has another identity than the requested one: `expected` and `found`."""

    def __init__(self, message: str, expected: str, found: str) -> None:
        super().__init__(message)
        self.expected = expected
        self.found = found


class EnvironmentMismatchError(PackageError, ImportError):
    """This environment lacks a package of the archive, or has another version of it."""


class CodeFailedError(PackageError, RuntimeError):
    """Code of a model, or a function named with it, cannot be imported, or raised an error."""


class CodeExitError(CodeFailedError):
    """Code of a model raised SystemExit, or another exception that is not an `Exception`."""


class DeviceNotHereError(PackageError, RuntimeError):
    """Tensors were saved on a device, or are mapped to one, that PyTorch lacks here."""


class MigrationError(PackageError, RuntimeError):
    """A migration cannot be carried out, or contradicts itself."""


class SignatureWarning(ShowsItsText, UserWarning):
    """An archive is not signed as the rules demand, and the rules only warn."""


class SignatureError(PackageError):
    """An archive is not signed as its loader demands. `exit_code` is that of the command."""

    exit_code = 6


class UnsignedError(SignatureError):
    """An archive has no signature."""

    exit_code = 5


class OtherSignerError(SignatureError):
    """An archive is signed, but not by an allowed signer."""


class NotAsSignedError(SignatureError):
    """A signature is damaged or forged, or belongs to another archive."""

    exit_code = 7


class RefusedByRuleError(SignatureError):
    """A rule refuses a signed archive: revoked, too old, or with code that is not approved."""

    exit_code = 8


class CodeRefusedError(PackageError):
    """An archive contains code, but was opened with `code=False`."""

    exit_code = 9


class SignersError(ArgumentError):
    """A key, a certificate or a file of rules for signers cannot be used."""

    exit_code = 3


class CheckpointError(PackageError, ValueError):
    """A file of weights cannot be read or written as asked."""


class LegacyFormatError(CheckpointError):
    """A legacy file is damaged, or cannot be read without running code from it."""


class WrongKindError(PackageError, TypeError):
    """A stored object is not of the class that `load_object(kind=...)` asked for."""


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


_OF_ROOMS = {
    "_analysis.usage": "TraceError",
    "_archive.archive_errors": "ArchiveChangedError ArchiveClosedError ArchiveIOError MissingEntryError",
    "_audit.refused_names": "UntrustedNamesError",
    "_audit.resolve": "MissingNameError",
    "_caches": "CacheWarning",
    "_calls.array_calls": "CallError",
    "_calls.call_files": "AnswerFileError TargetError WeightsError",
    "_calls.entry_methods": "EntryMethodError",
    "_calls.entry_schemas": "SchemaMismatchError",
    "_codecs.library": "CodecError",
    "_environment.errors": "DiskFullError EnvironmentBuildError FolderError NoSuchVersionError "
    "SourceOnlyError "
    "ToolMissingError WrongPlatformError WrongPythonError",
    "_exporting.golden_calls": "CheckStoreError",
    "_exporting.plan": "RefusedPlanError",
    "_graph.importers": "ObjMismatchError ObjNotFoundError",
    "_loading.bytecode": "NothingKeptError",
    "_loading.deep_checks": "ParsingError ParsingLimitError",
    "_loading.files": "ResourceDecodeError",
    "_loading.gone_modules": "WorkerImportError",
    "_loading.open_archives": "ArchiveMovedError NameTakenError",
    "_loading.opening": "EnvironmentWarning",
    "_loading.packaged_code": "DisallowedModuleError",
    "_migrations.applying": "GrowthError",
    "_migrations.migration_tables": "MigrationFileError",
    "_migrations.templates": "TemplateError",
    "_migrations.transforms": "FunctionError TransformError",
    "_names": "InvalidNameError",
    "_objects.building": "ObjectBuildError",
    "_objects.checking": "RecordError",
    "_policy.decision": "HookAnswerError",
    "_policy.policy_file": "PolicyFileError",
    "_pretrained.folders": "PretrainedError",
    "_proving.clean_process": "ProofStartError",
    "_proving.coming_back": "NotAsStoredError",
    "_proving.refusing": "ProofError",
    "_ranks.group": "OtherRankError RanksDisagreeError",
    "_remote.ranges": "RemoteError",
    "_weights.array_files": "NotNumbersError",
    "_weights.pickle_machine": "CheckpointPickleError",
}
"""Errors and warnings that stand beside the code that raises them; each is imported when it is asked for."""


if not TYPE_CHECKING:  # type checkers would take every name for one that is here

    def __getattr__(name):
        """Make an error of `_OF_PICKLE`, or import one of `_OF_ROOMS`, when it is first asked for."""
        if name in _OF_PICKLE:
            return globals().setdefault(name, _of_pickle(name))  # another thread may have been first
        for home, names in _OF_ROOMS.items():
            if name in names.split():
                module = f"packager.{home}"
                __import__(module)
                return globals().setdefault(name, getattr(sys.modules[module], name))
        raise unknown_name(__name__, name, __all__)


def _of_pickle(name: str) -> type:
    try:
        from _pickle import UnpicklingError
    except ImportError:  # a Python without it
        from pickle import UnpicklingError
    return type(name, (PackageError, UnpicklingError), {"__doc__": _OF_PICKLE[name], "__module__": __name__})
