"""The archives that are open in this process: their modules, the one finder, and how others open them again.

A module of an archive stands in `sys.modules` under a name of its own (`packager._names`), so that everything
in Python which goes through `sys.modules`, specs and import locks works as it does for any package.

Pickled names of packaged classes lead back to their archive in another process. An environment variable,
inherited by children, maps each packaged top-level name to its archive's path and policy. A folder of
one-line modules, named as the packaged packages are, is appended to `sys.path`; `multiprocessing` hands
`sys.path` on, so a spawned worker that never imported `packager` imports such a line, which opens the archive
and puts the real package in its place. Identity and policy are checked again there. A closed archive is never
opened again by its name.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import linecache
import os
import sys
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, module_from_spec
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

from packager._archive import MIGRATIONS, ArchiveClosedError, ModuleRecord
from packager._names import demangle
from packager._texts import listed
from packager.errors import ArchiveError, IdentityMismatchError, PackageError

from .bytecode import BytecodeCache
from .module_loaders import (
    ArchiveLoader,
    CodeHome,
    FillingLoader,
    PackageFolderFinder,
    fill_mock,
    found_beside,
    put_extern,
)
from .packaged_code import ImportRules, PackagedCode
from .packaged_import import PackagedImport
from .unpacking import Unpacker

if TYPE_CHECKING:
    from importlib.metadata import Distribution

    from packager._atomic import TemporaryFolder


class LoadedArchive:
    """The modules of one archive, by names that end the first part with the suffix of `rules`.

    An empty suffix is the installed form: true names, no stand-ins. `imported` is told of every module
    that has been run from source; `importer` is what packaged code gets from `import
    torch_package_importer`. The modules hold it where it `is_held`.
    """

    def __init__(
        self,
        code: PackagedCode,
        identity: str,
        rules: ImportRules,
        bytecode: BytecodeCache,
        *,
        imported: Callable[[str, ModuleType], None] | None = None,
        importer: weakref.ref[object] | None = None,
        is_held: bool = False,
    ) -> None:
        self.code = code
        self.identity = identity
        self._held = importer if is_held else None
        self.rules = rules
        self.bytecode = bytecode
        self.unpacker = Unpacker(code, identity)
        self._resources: dict[str, ModuleType] = {}
        self._import = PackagedImport(rules, code, importer)
        self._home = CodeHome(code, rules, self.unpacker, bytecode, self._import, imported)

    @property
    def top_level_names(self) -> list[str]:
        """The first parts, as they stand in `sys.modules`, of everything that this archive owns."""
        return sorted(top + self.rules.suffix for top in [*self.rules.owned])  # which may grow

    def true_name(self, fullname: str) -> str:
        """Return the stored name of one of this archive's modules."""
        top, dot, rest = fullname.partition(".")
        return f"{top.removesuffix(self.rules.suffix)}{dot}{rest}"

    def modules(self) -> dict[str, ModuleType]:
        """Return the modules that are loaded, by their names in this process."""
        tops = set(self.top_level_names)
        # A copy is made in one step; a list of items is not, and other threads import meanwhile.
        loaded = sys.modules.copy()
        return {name: module for name, module in loaded.items() if name.partition(".")[0] in tops}

    def defines(self, cls: type, value: object) -> bool:
        """Say whether stored code defines `cls`, or where the class bears another's name, its `value`.

        A class's module says so, and the first part of its name here that it is not one of the target
        with the same name. Code may give a class another module's name; a function shows whose it is
        by its `__builtins__`.
        """
        module = cls.__module__
        if demangle(module) not in self.code.stored:
            return False
        if module.partition(".")[0] in self.top_level_names:
            return True
        function = getattr(value, "__func__", value)  # of a static or class method
        return isinstance(function, FunctionType) and (
            function.__globals__.get("__builtins__") is self._import.builtins
        )

    def find_spec(self, fullname: str, path: Sequence[str] | None = None) -> ModuleSpec | None:
        """Return the spec of the module that stands, or will stand, as `fullname`; None if there is none.

        `path` is the `__path__` of its package, to which packaged code may have added folders.
        """
        name = self.true_name(fullname)
        self.code.has_module(name, path)
        record = self.code.modules.get(name) or self.code.resource_folder(name)
        if record is None:
            return found_beside(fullname, path, self._import.builtins)
        if record.action == "extern":
            return ModuleSpec(fullname, FillingLoader(put_extern, name))
        if record.action == "mock":
            is_package = bool(self.code.children(name))
            return ModuleSpec(
                fullname, FillingLoader(fill_mock, name), origin="mocked", is_package=is_package
            )
        return self._stored_spec(fullname, record)

    def resource_package(self, name: str) -> ModuleType | None:
        """Return the module of a package that holds files and no code; it is in no `sys.modules`."""
        found = self._resources.get(name)
        record = self.code.package_of_resources(name) if found is None else None
        if record is not None:
            top, dot, rest = name.partition(".")
            spec = self._stored_spec(f"{top}{self.rules.suffix}{dot}{rest}", record)
            found = self._resources.setdefault(name, module_from_spec(spec))
        return found

    def close(self) -> None:
        """Take every module of this archive out of the process."""
        for fullname in self.modules():
            sys.modules.pop(fullname, None)
        root = str(self.unpacker.root) + os.sep
        for path in [path for path in list(sys.path_importer_cache) if str(path).startswith(root)]:
            sys.path_importer_cache.pop(path, None)
        for path in [path for path in list(linecache.cache) if path.startswith(root)]:
            linecache.cache.pop(path, None)
        self._resources.clear()
        self._import.close()
        self.code.close()
        self.unpacker.close()

    def _stored_spec(self, fullname: str, record: ModuleRecord) -> ModuleSpec:
        loader = ArchiveLoader(self._home, record)
        spec = ModuleSpec(fullname, loader, origin=loader.path, is_package=record.is_package)
        spec.has_location = record.entry is not None
        spec.loader_state = None if self._held is None else self._held()
        if record.is_package:
            folder = self.unpacker.path_of(record.name.replace(".", "/"))
            spec.submodule_search_locations = [folder]
            # `pkgutil.iter_modules(__path__)` asks here, whether the folder is on disk or not.
            sys.path_importer_cache[folder] = PackageFolderFinder(
                self.code, record.name, lambda last: self.find_spec(f"{fullname}.{last}", None)
            )
        return spec


class ArchiveMovedError(ArchiveError, ImportError):
    """A process cannot open an archive again that another has open: it is gone, replaced, or damaged."""


class NameTakenError(PackageError, ImportError):
    """An archive cannot be installed: this process has, or can import, packages of the same names."""


_loaded: dict[str, LoadedArchive] = {}
_lock = threading.RLock()  # an importer may be collected while this thread holds it


class _ArchiveFinder:
    """Finds modules by the first part of their name; for every other name it costs one look-up."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        top = fullname.partition(".")[0]
        loaded = _loaded.get(top)
        if loaded is None and "__w" in top:
            try:
                loaded = _adopt(top)
            except (ArchiveClosedError, ArchiveMovedError) as error:
                from .gone_modules import gone_spec, is_read_for_a_worker

                if isinstance(error, ArchiveClosedError) and not is_read_for_a_worker(fullname):
                    raise  # a spec would say that the module is there
                return gone_spec(fullname, error)
        return None if loaded is None else loaded.find_spec(fullname, path)

    @property
    def has_distributions(self) -> bool:
        """Whether `find_distributions` has any where no name is asked for."""
        return any(not one.rules.suffix for one in list(_loaded.values()))

    def find_distributions(self, context: Any) -> Iterator[Distribution]:
        """Yield the distributions of archives, for `importlib.metadata` and its backport.

        That is of those under their own names; of others where the name says whose it is, as `__package__` of
        their modules does. None are in folders that a caller names.
        """
        if "path" in vars(context):
            return
        from .stored_distributions import stored_distributions

        named = _loaded.get(context.name or "")
        if named is not None and named.rules.suffix:
            yield from stored_distributions(named.code, importlib.import_module, demangle(context.name))
        for loaded in [one for one in loaded_archives() if not one.rules.suffix]:
            yield from stored_distributions(loaded.code, importlib.import_module, context.name)

    def invalidate_caches(self) -> None:
        """Do nothing: an archive does not change."""


_finder = _ArchiveFinder()


def register(loaded: LoadedArchive) -> None:
    """Make the modules of an archive importable; its finder is put first on `sys.meta_path`, once."""
    with _lock:
        _loaded.update(dict.fromkeys(loaded.top_level_names, loaded))
        if _finder not in sys.meta_path:
            sys.meta_path.insert(0, _finder)


def unregister(loaded: LoadedArchive) -> None:
    """Forget an archive; nothing happens when it is forgotten already."""
    with _lock:
        for top in loaded.top_level_names:
            if _loaded.get(top) is loaded:
                del _loaded[top]


def loaded_archives() -> list[LoadedArchive]:
    """Return the open archives whose modules can be imported."""
    return [*{id(one): one for one in list(_loaded.values())}.values()]


def loaded_archive_of(top: str) -> LoadedArchive | None:
    """Return the open archive that owns `top`, as it stands in `sys.modules`."""
    return _loaded.get(top)


def require_free(tops: Iterable[str], what: str) -> None:
    """Raise NameTakenError, for all of them together, when a name of `tops` is taken already."""
    taken = [top for top in sorted(tops) if top in sys.modules or find_spec(top) is not None]
    if taken:
        raise NameTakenError(
            f"{what} cannot be installed: {listed(taken)} can be imported here already; uninstall that, "
            "or import from the archive without install()"
        ).holding(taken)


# --- other processes ---

ENVIRONMENT_VARIABLE = "KELLET_OPEN_ARCHIVES"
_MOST_IN_ENVIRONMENT = 16_384  # characters: Windows takes 32,767, Linux 131,072; nothing starts beyond them
_STUB = "from packager._loading.open_archives import adopt_module; adopt_module(__name__, {policy!r})\n"

_announcing = threading.RLock()  # opening again may raise a warning, whose filter may import
_stub_folder: TemporaryFolder | None = None
_policies: dict[str, dict[str, Any]] = {}
_closed: dict[str, str] = {}  # where they lay, as far as that is known


def announce(
    loaded: LoadedArchive,
    path: str | None,
    digests: str,
    mmap: bool | str,
    trust: Sequence[str],
    admitted: Sequence[str],
) -> None:
    """Let child processes find an archive again, at `path`, to be opened as it was here.

    Without a path it is in memory alone, and its stubs say that it cannot be opened. `admitted` are the
    stored modules whose functions migrations may call.
    """
    policy = {
        "path": path,
        "identity": loaded.identity,
        "suffix": loaded.rules.suffix,
        "digests": digests,
        "mmap": mmap,
        "trust": list(trust),
        "admitted": list(admitted),
        "undeclared": loaded.rules.undeclared,
        "bytecode": loaded.bytecode.folder,
        "process": os.getpid(),
    }
    with _announcing:
        announced = _announced()
        for top in loaded.top_level_names:
            if path is not None:
                announced[top] = policy
            _closed.pop(top, None)
            _policies[top] = policy
        # Where nothing can be written, workers find the archive once they have imported `packager`.
        with contextlib.suppress(OSError):
            _write_stubs(loaded.top_level_names)
        _put_into_environment(announced)


def is_announced(loaded: LoadedArchive) -> bool:
    """Say whether modules of an archive can be found again once it is forgotten here."""
    return all(_policies.get(top, {}).get("path") is not None for top in loaded.top_level_names)


def withdraw(loaded: LoadedArchive) -> None:
    """Take back what `announce` said: this archive is not opened by its name any more."""
    with _announcing:
        announced = _announced()
        for top in loaded.top_level_names:
            announced.pop(top, None)
            policy = _policies.pop(top, None)
            _closed[top] = "" if policy is None else policy["path"] or ""
            if policy is not None and policy["process"] == os.getpid() and _stub_folder is not None:
                with contextlib.suppress(OSError):  # another process may have emptied the folder
                    os.unlink(os.path.join(_stub_folder.path, f"{top}.py"))
        _put_into_environment(announced)


def opened_again(top: str) -> LoadedArchive:
    """Return the archive that owns `top`, opened again where its importer is gone.

    Raises ArchiveClosedError for one that was closed here, ArchiveMovedError where it cannot be opened.
    """
    loaded = _adopt(top)
    if loaded is None:
        raise ArchiveClosedError(f"the archive of {demangle(top)!r} is not open any more; open it again")
    return loaded


def adopt_module(fullname: str, policy: str | None = None) -> None:
    """Put the packaged module `fullname` in the place of the one-line module that calls this.

    `policy` is what that line was written with, as JSON. Raises ModuleNotFoundError where its archive is not
    announced any more, ArchiveClosedError where it was closed here, ArchiveMovedError where it cannot be
    opened; a worker's task gets a stand-in then.
    """
    top = fullname.partition(".")[0]
    try:
        if _adopt(top, None if policy is None else json.loads(policy)) is None:
            raise ModuleNotFoundError(f"no open archive has {fullname!r}", name=fullname)
    except (ArchiveClosedError, ArchiveMovedError, ModuleNotFoundError) as error:
        from .gone_modules import gone_module

        sys.modules[fullname] = gone_module(fullname, error)
        return
    # Imported anew, now that the shared finder knows it, and under the lock that is held for the line.
    del sys.modules[fullname]
    importlib.import_module(fullname)


def _adopt(top: str, policy: dict[str, Any] | None = None) -> LoadedArchive | None:
    """Open the announced archive that owns `top`, in a process where it is not open.

    Raises ArchiveClosedError for one that was closed here, ArchiveMovedError where that fails.
    """
    with _announcing:
        loaded = loaded_archive_of(top)
        if loaded is None and top in _closed:
            place = f" ({_closed[top]})" if _closed[top] else ""
            raise ArchiveClosedError(
                f"the archive of {demangle(top)!r}{place} is closed, and code or objects of it import from "
                "it: keep the PackageImporter open as long as they are used"
            )
        # Announced by this process, whose importer is gone; by the line that is imported; or by a parent.
        policy = _policies.get(top) or policy or _announced().get(top)
        if policy is None or loaded is not None:
            return loaded
        register(loaded := _reopened(policy))
    return loaded if top in loaded.top_level_names else None


def _reopened(policy: dict[str, Any]) -> LoadedArchive:
    from packager._archive import ArchiveReader

    path, identity = policy["path"], policy["identity"]
    if path is None:
        raise ArchiveMovedError(
            "the archive was opened from memory or a pipe, so no other process can open it. Write it to a "
            "file, and open that"
        )
    try:
        if os.path.exists(path) and not (os.path.isfile(path) or os.path.isdir(path)):
            raise ArchiveError("found a pipe or device in its place")  # nobody may ever write to it
        reader = ArchiveReader(path, digests=policy["digests"], identity=identity, mmap=policy["mmap"])
    except IdentityMismatchError as error:
        raise ArchiveMovedError(
            f"{path}: the archive was replaced since it was opened: its identity is {error.found}, expected "
            f"{identity}; open it anew instead of unpickling from it"
        ) from error
    except (OSError, ArchiveError) as error:
        # No OSError: the workers of a multiprocessing.Pool take that for the end of their queue.
        raise ArchiveMovedError(
            f"{path}: the archive cannot be opened again in this process: {error}. Keep the file in its "
            "place while other processes use its objects"
        ) from error
    code, imported = PackagedCode(reader), None
    rules = ImportRules(code, policy["suffix"], policy["undeclared"])
    if MIGRATIONS in reader:
        from .archive_migrations import ArchiveMigrations
        from .stored_states import LoadContext

        admitted = frozenset(policy["admitted"])
        context = LoadContext(reader, policy["trust"], admitted.__contains__, rules.import_module)
        imported = ArchiveMigrations(context).attach
    bytecode = BytecodeCache(policy["bytecode"])
    return LoadedArchive(code, reader.identity, rules, bytecode, imported=imported)


def _announced() -> dict[str, dict[str, Any]]:
    """Return what is announced, by the first part of the name, as it stands in `sys.modules`.

    What another program has written over it announces nothing; the stubs say it all once more.
    """
    with contextlib.suppress(ValueError, RecursionError):
        announced = json.loads(os.environ.get(ENVIRONMENT_VARIABLE) or "{}")
        if type(announced) is dict and all(type(policy) is dict for policy in announced.values()):
            return announced
    return {}


def _put_into_environment(announced: dict[str, dict[str, Any]]) -> None:
    """Announce as many archives as a variable can hold, the latest; the others are in their stubs alone."""
    kept, room = [], _MOST_IN_ENVIRONMENT
    for top, policy in reversed(announced.items()):
        text = f"{json.dumps(top)}: {json.dumps(policy)}"
        room -= len(text) + 2
        if room < 0:
            break
        kept.append(text)
    os.environ[ENVIRONMENT_VARIABLE] = f"{{{', '.join(reversed(kept))}}}"


def _write_stubs(tops: Sequence[str]) -> None:
    folder, is_new = _make_stub_folder()
    for top in _policies if is_new else tops:
        with open(os.path.join(folder, f"{top}.py"), "w", encoding="utf-8") as stub:
            stub.write(_STUB.format(policy=json.dumps(_policies[top])))


def _make_stub_folder() -> tuple[str, bool]:
    """Return the folder of stubs, and whether it is a new one: another process may have removed the first."""
    global _stub_folder
    before = _stub_folder
    if before is None or not os.path.isdir(before.path):
        from packager._atomic import TemporaryFolder

        _stub_folder = TemporaryFolder("stubs", apart=True)
        if before is not None and before.path in sys.path:
            sys.path.remove(before.path)  # a name that others could take
    assert _stub_folder is not None
    if _stub_folder.path not in sys.path:  # also where an older path was put back since
        sys.path.append(_stub_folder.path)
    return _stub_folder.path, _stub_folder is not before


def _after_fork() -> None:
    """Make locks anew in a child: one that another thread held would never be free there."""
    global _lock, _announcing
    _lock, _announcing = threading.RLock(), threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)

if ENVIRONMENT_VARIABLE in os.environ:  # a child process: what its parent has open is found from here on
    sys.meta_path.insert(0, _finder)
