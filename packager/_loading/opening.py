"""An archive that was opened: what is checked first, and its modules once code is asked for.

Nothing of the archive runs here.
"""

from __future__ import annotations

import os
import sys
import warnings
import weakref
from _thread import RLock
from collections.abc import Callable, Iterable
from functools import cached_property
from importlib import import_module
from types import ModuleType

from packager._archive import MIGRATIONS, ArchiveReader, Manifest, closed
from packager._arguments import is_address
from packager._quick_dataclasses import dataclass
from packager._texts import ShowsItsText, did_you_mean, in_lines, listed
from packager.errors import (
    EnvironmentMismatchError,
    ModuleNotStoredError,
    PackageError,
    UndeclaredImportError,
)

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    from packager._environment import Distributions, EnvironmentReport

    from .archive_migrations import ArchiveMigrations
    from .bytecode import BytecodeCache
    from .open_archives import LoadedArchive
    from .packaged_code import ImportRules, PackagedCode
    from .stored_states import LoadContext


class EnvironmentWarning(ShowsItsText, UserWarning):
    """The environment is not the one that the archive was recorded in."""

    __module__ = "packager.errors"  # where users find it


@dataclass(frozen=True)
class LoadOptions:
    """How an archive was opened: the arguments of PackageImporter, and what messages call the file.

    `path` may be an address; it is None for a file object or bytes. `admitted` is `module_allowed`. Compiled
    code is kept in the folder `bytecode`, and with `keeps_bytecode=False` none is added; None keeps none.
    """

    filename: str
    path: str | None
    admitted: Callable[[str], bool]
    trust: tuple[str, ...]
    digests: str
    mmap: bool | str
    environment: str
    undeclared: str
    bytecode: str | os.PathLike[str] | None
    keeps_bytecode: bool = True


class OpenArchive:
    """An open archive, whose modules come into this process when code is first asked for.

    `importer` is what packaged code gets from `import torch_package_importer`; held weakly.

    Raises DisallowedModuleError where the options refuse an extern, EnvironmentMismatchError for
    `environment="error"` where the environment differs from the recorded one.
    """

    def __init__(self, reader: ArchiveReader, options: LoadOptions, importer: object) -> None:
        self.reader = reader
        self.options = options
        self._importer = weakref.ref(importer)
        self._lock = RLock()
        self._loaded: LoadedArchive | None = None
        self._installed = False
        self._is_compared = False
        self._closed = False
        self.closes_with_modules = False
        """Whether the modules hold the importer, and it closes the archive when both are collected."""
        check_externs_allowed(reader.manifest, options.admitted, options.filename)
        if options.environment == "error":
            isolated = options.undeclared != "allow"
            check_environment(reader.manifest, options.environment, options.filename, isolated=isolated)

    @cached_property
    def code(self) -> PackagedCode:
        """What the archive holds of code, to ask by name; it can be asked after `close()`, too."""
        from .packaged_code import PackagedCode

        return PackagedCode(self.reader)

    @cached_property
    def bytecode(self) -> BytecodeCache:
        """What compiles the code of the archive; its folder is looked at when code is first asked for."""
        from .bytecode import BytecodeCache

        return BytecodeCache(self.options.bytecode, keeps=self.options.keeps_bytecode)

    @cached_property
    def context(self) -> LoadContext:
        """What loads from this archive need: see there."""
        from .stored_states import LoadContext

        return LoadContext(self.reader, self.options.trust, self.options.admitted, self.import_module)

    @cached_property
    def migrations(self) -> ArchiveMigrations:
        """The migrations of the archive: reading them runs nothing."""
        from .archive_migrations import ArchiveMigrations

        return ArchiveMigrations(self.context)

    def import_module(self, name: str) -> ModuleType:
        """Import a module by its stored name. Raises what `loaded` and importing raise.

        A package of resources alone is a module, too: for whoever asks for it, not for packaged code, which
        was exported without.
        """
        rules = self._rules_without_code(name.partition(".")[0])
        if rules is None:
            loaded = self.loaded()
            rules = loaded.rules
            if not rules.knows(name.partition(".")[0]):
                resources = loaded.resource_package(name)
                if resources is not None:
                    return resources
        try:
            called = rules.in_process(name)
        except UndeclaredImportError as error:
            raise _undeclared(self.code, name, str(error.name), self.options.filename) from None
        try:
            return import_module(called)
        except ImportError as error:
            from packager._names import demangle, demangle_text

            missing = demangle(error.name or "")
            if isinstance(error, ModuleNotFoundError) and f"{name}.".startswith(f"{missing}."):
                self._require_stored(missing, rules)
            error.msg = demangle_text(str(error.msg))  # Python's own text has the name that only we know
            raise

    def _rules_without_code(self, top: str) -> ImportRules | None:
        """Return the rules for a name from outside where the archive has no code of its own; else None.

        Nothing in it can import anything then, so that no finder is needed, nor what loads modules.
        """
        if self._loaded is not None or self._installed or self.code.owned:
            return None
        if top not in self.code.declared and top not in sys.stdlib_module_names:
            return None
        from .packaged_code import ImportRules

        with self._lock:
            self._require_usable()
        return ImportRules(self.code, "", self.options.undeclared)

    def _require_usable(self) -> None:
        """Raise for an archive that is closed; compare the environment before anything is first imported."""
        if self._closed:
            raise closed(self.options.filename)
        if self.options.environment == "warn" and not self._is_compared:
            isolated = not self._installed and self.options.undeclared != "allow"
            manifest, how = self.reader.manifest, self.options.environment
            check_environment(manifest, how, self.options.filename, isolated=isolated)
            self._is_compared = True

    def _require_stored(self, missing: str, rules: ImportRules) -> None:
        """Raise ModuleNotStoredError where nothing else is wrong than that the archive has no such module."""
        parent = missing.rpartition(".")[0]
        if parent:
            has_run = parent in self.code.modules and rules.in_process(parent) in sys.modules
            is_clear = has_run and missing not in self.code.modules
        else:
            is_clear = missing in self.code.declared
        if is_clear:
            raise _not_stored(self.code, missing, self.options.filename) from None

    def loaded(self) -> LoadedArchive:
        """Return the archive's modules in this process, made when code is first asked for.

        Raises ArchiveClosedError after `close()`, NameTakenError where it is to be installed and names are
        taken, EnvironmentMismatchError where something that its code needs is missing.
        """
        loaded = self._loaded
        if loaded is not None:
            return loaded
        with self._lock:
            if self._loaded is None:
                self._require_usable()
                self._loaded = self._load()
            return self._loaded

    def defines(self, cls: type, value: object) -> bool:
        """Say whether code of the archive defines `cls`, or its `value`; see `LoadedArchive.defines`."""
        return self.loaded().defines(cls, value)

    def modules(self) -> dict[str, ModuleType]:
        """Return the modules that are loaded, by their stored names."""
        loaded = self._loaded
        if loaded is None:
            return {}
        return {loaded.true_name(name): module for name, module in loaded.modules().items()}

    def install(self) -> None:
        """Give the archive's modules their own names in this process; see `PackageImporter.install`.

        Raises PackageError where modules were imported already, and what `loaded` raises.
        """
        with self._lock:
            if self._installed:
                return
            if self._loaded is not None:
                raise PackageError(
                    f"{self.options.filename}: install() comes too late: modules are already imported. Call "
                    "it right after opening"
                )
            self._installed = True
            try:
                self.loaded()
            except BaseException:
                self._installed = False
                raise

    def abandon(self) -> None:
        """Let the file go, since the importer is gone; code that was imported stays, and can import more.

        An archive with a path is opened again for that, if need be; one without is left open. What was
        handed out, as a lazy state dict, keeps the file for as long as it lives.
        """
        with self._lock:
            if self._loaded is None:
                return
            from .open_archives import is_announced, opened_again, unregister

            if is_announced(self._loaded):
                unregister(self._loaded)
                tops = self._loaded.top_level_names
                self._loaded.code.release(lambda: opened_again(tops[0]).code)

    @property
    def is_closed(self) -> bool:
        """Whether `close()` was called."""
        return self._closed

    def close(self) -> None:
        """Take every module of the archive out of the process and close the file."""
        with self._lock:
            if self._loaded is not None:
                from .open_archives import unregister, withdraw

                unregister(self._loaded)
                withdraw(self._loaded)
                self._loaded.close()
                self._loaded = None
            self._closed = True
            self.reader.close()

    def _load(self) -> LoadedArchive:
        from .open_archives import LoadedArchive, announce, register, require_free
        from .packaged_code import ImportRules, PackagedCode

        options, identity = self.options, self.reader.identity
        code = PackagedCode(self.reader)  # not `self.code`: this one is closed with its modules
        if self._installed:
            require_free(code.owned, options.filename)
        suffix = "" if self._installed else _free_suffix(identity, code.owned)
        migrations = self.migrations if MIGRATIONS in self.reader else None
        loaded = LoadedArchive(
            code,
            identity,
            ImportRules(code, suffix, options.undeclared),
            self.bytecode,
            imported=None if migrations is None else migrations.attach,
            importer=self._importer,
            is_held=self.closes_with_modules,
        )
        if self.closes_with_modules:
            from .unloading import unload_with

            unload_with(self._importer, loaded)
        admitted = [] if migrations is None else migrations.admitted_modules()
        register(loaded)
        # A pipe cannot be reopened: other processes find only files and folders, and are told of the rest.
        path = options.path
        if path is not None and not (is_address(path) or os.path.isfile(path) or os.path.isdir(path)):
            path = None
        announce(loaded, path, options.digests, options.mmap, options.trust, admitted)
        return loaded


def _free_suffix(identity: str, owned: Iterable[str]) -> str:
    """Return a mark that no open archive has; a child process may have adopted some of its parent's."""
    from packager._names import PackageMangler

    from .open_archives import loaded_archive_of

    while True:
        suffix = PackageMangler(identity).parent_name()
        if not any(loaded_archive_of(top + suffix) for top in owned):
            return suffix


def check_externs_allowed(manifest: Manifest, allowed: Callable[[str], bool], what: str) -> None:
    """Raise DisallowedModuleError, for all of them together, when `allowed` refuses externs.

    It is also asked about modules that the code may import, and that the target need not have because
    they were not there when the archive was made.

    Source: PackageImporter of torch.package, which stops at the first.
    """
    names = [record.name for record in manifest.externs]
    asked = {name.partition(".")[0] for name in names}
    optional = {one.name.partition(".")[0] for one in manifest.modules if one.action == "extern"} - asked
    refused = [name for name in (*names, *sorted(optional)) if not allowed(name)]
    if refused:
        from .packaged_code import DisallowedModuleError

        raise DisallowedModuleError(
            f"package {what!r} needs the external module{'s' if len(refused) > 1 else ''} "
            f"{listed([*map(repr, refused)])}, but module_allowed refuses that (disallowed). Let "
            "module_allowed return True for it, or ask for an archive that stores or mocks it"
        ).holding(refused)


def environment_report(
    manifest: Manifest, installed: Distributions | None = None, *, isolated: bool = True
) -> EnvironmentReport:
    """Return how this environment differs from the recorded one; nothing is imported to find out.

    `installed` is what is installed, by default along `sys.path`. Code that is not `isolated` finds what was
    absent when the archive was made.

    Raises ArchiveError where what was recorded cannot be understood.
    """
    from packager._environment import RecordedEnvironment, compare_environment

    recorded = RecordedEnvironment.of(manifest)
    return compare_environment(
        recorded.fingerprint,
        recorded.externs,
        installed=installed,
        probes=recorded.probes,
        isolated=isolated,
    )


def check_environment(manifest: Manifest, choice: str, what: str, *, isolated: bool = True) -> None:
    """Compare the environment with the recorded one, and act as the caller chose.

    "error" raises on any difference. "warn" warns of them, and raises when something is missing
    altogether: code that needs it cannot run. "ignore" does nothing.

    Raises EnvironmentMismatchError with the whole report and the command that mends it.
    """
    if choice == "ignore":
        return
    differences = environment_report(manifest, isolated=isolated)
    if not differences:
        return
    report = str(differences)
    if choice == "error" or differences.missing:
        raise EnvironmentMismatchError(
            in_lines(f"{what}: " + report, 'or load with environment="ignore" to try anyway')
        ).holding(differences.differences)
    from packager._process import callers_level  # an archive of weights alone is not compared with anything

    warnings.warn(EnvironmentWarning(f"{what}: " + report), stacklevel=callers_level())


def _undeclared(code: PackagedCode, name: str, top: str, archive: str) -> UndeclaredImportError:
    """Return the error for a module of which the archive has nothing, and which it did not declare either."""
    error = UndeclaredImportError(
        f"no module {name!r} is in {archive}, which has {_shown(code.owned)}, and {top!r} was not declared "
        f'extern when it was made{_near(name, code)} Export again with intern("{top}.**") or '
        f'extern("{top}.**"), or load with undeclared="allow"',
        name=top,
    )
    error.module = name
    return error.holding(sorted(code.owned))


def _not_stored(code: PackagedCode, name: str, archive: str) -> ModuleNotStoredError:
    """Return the error for a module that the archive does not have, or leaves to others."""
    parent = name.rpartition(".")[0]
    children: list[str] = []
    if not parent:
        told = (
            f"No module named {name!r} here; {archive} has none, and leaves it to the environment: install it"
        )
    elif code.modules[parent].is_package:
        children = [record.name for record in code.children(parent)]
        told = (
            f"No module named {name!r} in {archive}; below {parent!r} there are {_shown(children)}"
            f'{_near(name, code)} If the project has it, export again with save_module("{name}")'
        )
    else:
        told = f"No module named {name!r} in {archive}; {parent!r} is not a package"
    return ModuleNotStoredError(told, name=name).holding(sorted(children))


def _near(name: str, code: PackagedCode) -> str:
    there = (own.name for own in code.modules.values() if own.name.partition(".")[0] in code.owned)
    return did_you_mean(name, there) or "."


def _shown(names: Iterable[str]) -> str:
    return listed(sorted(names)) or "none"


if os.environ.get("KELLET_OPEN_ARCHIVES", "{}") != "{}":  # a child finds what its parent has open
    import_module(f"{__package__}.open_archives")
