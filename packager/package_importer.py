"""PackageImporter: an archive as something to import from. It hands over; the work is in `loading`.

What only some calls need is imported in them: an importer is there in the time that opening takes.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType, TracebackType
from typing import TYPE_CHECKING, Any, BinaryIO

from packager.archive import MIGRATIONS, ArchiveReader, Manifest
from packager.arguments import check_choice, check_file
from packager.atomic import cache_folder
from packager.errors import PackageError
from packager.exits import AnswerRequired
from packager.graph import Importer
from packager.loading import (
    BytecodeCache,
    Directory,
    PackagedCode,
    World,
    announce,
    check_environment,
    check_externs_allowed,
    directory_of,
    is_open,
    register,
    require_free,
    unregister,
    withdraw,
)
from packager.names import PackageMangler, check_resource_name, demangle

if TYPE_CHECKING:
    from packager.loading import ArchiveMigrations, CheckOutcome
    from packager.migrations import Migration

__all__ = ["PackageImporter"]


class PackageImporter(Importer):
    """An open archive: its modules, objects, state dicts and resources.

    `file` is a path (an archive, or the folder of an unzipped one), a file object or bytes. Opening
    checks the archive strictly and runs nothing of it. Code runs when it is asked for, by
    `import_module` or `load_object`; it then lives under names of its own, so that two archives, or
    an archive and an installed package, can hold the same package.

    `module_allowed(name)` may refuse modules that the archive takes from outside, and stored modules that
    an object brings code from, when the object is loaded; `allow_pickle`
    admits resources that are real pickles, which run code when read; `trust` names types beyond the
    defaults that stored objects may use; `digests` is "crc", "sha256" or "none", checked before the
    bytes of tensors are used: everything else is always checked by sha256; `mmap=False` reads instead of
    mapping. `environment` is "warn", "error" or "ignore",
    `undeclared` "error" or "allow" for imports that no rule declared. `bytecode` is the folder where
    compiled code is kept for the next load, by default one below `$KELLET_CACHE` or `~/.cache/kellet`
    ("cache"); None keeps none. Nor do a home that cannot be written, and a Python started with `-B`.

    Raises ArchiveError and IntegrityError for a damaged or hostile file, DisallowedModuleError where
    `module_allowed` refuses, EnvironmentMismatchError with `environment="error"`.

    Use it with `with`, or call `close()`: then every module of the archive leaves the process.

    Source: torch.package.PackageImporter; there packaged modules are not in `sys.modules`, and
    pickles are always read.
    """

    def __init__(
        self,
        file: str | os.PathLike[str] | BinaryIO | bytes,
        module_allowed: Callable[[str], bool] = lambda name: True,
        *,
        allow_pickle: bool = False,
        trust: Sequence[str] = (),
        digests: str = "crc",
        mmap: bool = True,
        environment: str = "warn",
        undeclared: str = "error",
        bytecode: str | os.PathLike[str] | None = "cache",
    ) -> None:
        check_choice("environment", environment, ("warn", "error", "ignore"))
        check_choice("undeclared", undeclared, ("error", "allow"))
        check_choice("digests", digests, ("crc", "none", "sha256"))
        if not isinstance(file, bytes | bytearray | memoryview):
            check_file("file", file, method="read")
        self.filename = _shown_name(file)
        self.allow_pickle = allow_pickle
        self.trust = tuple(trust)
        self._path = os.path.abspath(file) if isinstance(file, str | os.PathLike) else None
        self._module_allowed = module_allowed
        self._digests = digests
        self._mmap = mmap
        self._environment = environment
        self._undeclared = undeclared
        self._bytecode = BytecodeCache(_bytecode_folder(bytecode))
        self._lock = threading.RLock()
        self._world: World | None = None
        self._made: dict[int, Any] = {}
        self._installed = False
        self._closed = False
        self._archive = ArchiveReader(file, digests=digests, mmap=mmap)
        try:
            check_externs_allowed(self.manifest, module_allowed, self.filename)
            if environment == "error":
                check_environment(self.manifest, environment, self.filename)
        except BaseException:
            self._archive.close()
            raise

    @property
    def archive(self) -> ArchiveReader:
        """The open archive underneath: entries and their bytes."""
        return self._archive

    @property
    def manifest(self) -> Manifest:
        """Everything the archive says about itself."""
        return self._archive.manifest

    @property
    def identity(self) -> str:
        """The sha256 of the manifest, in hexadecimal: what a signature signs and a user quotes."""
        return self._archive.identity

    @property
    def modules(self) -> dict[str, ModuleType]:  # type: ignore[override]  # made anew, as they are loaded
        """The modules of the archive that are loaded, by their stored names."""
        world = self._world
        if world is None:
            return {}
        tops = set(world.tops)
        loaded = [
            (name, module) for name, module in list(sys.modules.items()) if name.partition(".")[0] in tops
        ]
        return {world.true_name(name): module for name, module in loaded}

    def import_module(self, name: str, package: str | None = None) -> ModuleType:
        """Import a module of the archive, or one that it declared extern, by its stored name.

        Raises ModuleNotFoundError for a name that is neither.
        """
        world = self._open_world()
        absolute = importlib.util.resolve_name(name, package) if name.startswith(".") else name
        return importlib.import_module(world.rules.in_process(absolute))

    def install(self) -> PackageImporter:
        """Give the archive's packages their own names in this process, from now on.

        For a process that serves one model: whatever goes by names then finds them. Raises
        PackageError when modules were imported already, or names are taken; nothing has changed then.
        """
        with self._lock:
            if self._installed:
                return self
            if self._world is not None:
                raise PackageError(
                    f"{self.filename}: install() comes too late: modules were imported in isolation; call it "
                    "right after opening"
                )
            self._installed = True
            try:
                self._open_world()
            except BaseException:
                self._installed = False
                raise
        return self

    def materialize(self) -> str:
        """Write the archive's code and data files to its folder in the cache; return that folder."""
        world = self._open_world()
        for top in sorted(world.code.owned):
            world.unpacker.unpack(top)
        return str(world.unpacker.root)

    def load_binary(self, package: str, resource: str) -> bytes:
        """The bytes of a resource. Raises FileNotFoundError when there is none."""
        entry = self._resource(package, resource)
        if self._archive.entry(entry).kind == "tensors":  # checked as `digests` says, like every tensor
            return bytes(self._archive.view(entry))
        return self._archive.read(entry)

    def load_text(self, package: str, resource: str, encoding: str = "utf-8", errors: str = "strict") -> str:
        """A resource as text. Raises FileNotFoundError when there is none."""
        return self.load_binary(package, resource).decode(encoding, errors)

    def load_object(self, package: str, resource: str, *, map_location: Any = None) -> Any:
        """Build a stored object: records, then audit, then build.

        Where it names a class that is stored, code of the archive runs (its classes are imported), so
        such an object is loaded from files that one would run. Any other object is data alone, and held
        to what data may do. `map_location` is handed to codecs of tensors, as in torch.load.

        Raises StoredObjectError where there is no such object, UntrustedTypeError, once for all
        names together, where it needs types that neither the archive holds nor `trust` allows, or is
        made in a way that data alone must not be, DisallowedModuleError where `module_allowed` refuses
        a module that it brings code from, CodeExitError where code of the archive ends with `sys.exit()`
        or the like.
        """
        from packager.loading import find_object, load_object, resolver, trust_context_of

        record = find_object(self._archive, package, resource)
        trust_context = trust_context_of(self._archive, PackagedCode(self._archive))
        resolve = resolver(lambda: self._open_world().rules)
        with AnswerRequired(f"{self.filename}: loading object {package}/{resource}"):
            return load_object(
                self._archive,
                record,
                trust_context,
                self.trust,
                resolve,
                admitted=self._module_allowed,
                importer=self,
                map_location=map_location,
            )

    def load_state_dict(
        self, package: str, resource: str, *, as_: str = "numpy", map_location: Any = None
    ) -> Mapping[str, Any]:
        """A stored state dict as a lazy mapping: a tensor is read when it is asked for.

        With `as_="numpy"` values are read-only arrays on the mapped file; with "kellet" and "torch"
        tensors on a private copy-on-write map, ready to be trained. They stay valid after `close()`.
        The mapping has `_metadata` for load hooks, `rows`, `matching` and `spec`. A state dict is data
        alone: values in it that are no tensors name no stored class, unless `trust` does.

        Raises StoredObjectError where there is none of that name.
        """
        from packager.loading import admitting, find_state_dict, load_state_dict, resolver, trust_context_of

        record = find_state_dict(self._archive, package, resource)
        trust_context = trust_context_of(self._archive, PackagedCode(self._archive))
        resolve = admitting(
            resolver(lambda: self._open_world().rules),
            lambda: self._open_world().rules,
            self._module_allowed,
        )
        return load_state_dict(
            self._archive, record, trust_context, self.trust, resolve, as_=as_, device=map_location
        )

    def load_migrations(self) -> dict[str, tuple[Migration, ...]]:
        """The migrations that were stored, by class ("package.module:Class"), in the order in which they run.

        Those of the archive's own classes are attached to these already. For a class of the target
        its own migrations count; the stored ones can be used by hand, with `packager.migrations`.

        Raises UntrustedTypeError, once for all together, where migrations name functions that neither
        the archive holds nor `trust` allows, or hold regular expressions that `trust` does not admit.
        """
        return self._migrations().allowed()

    def load_pickle(self, package: str, resource: str, map_location: Any = None) -> Any:
        """Read a resource that is a real pickle; its classes come from the archive's own modules.

        Raises PickleRefusedError unless the importer was opened with `allow_pickle=True`.
        `map_location` is taken for the sake of code written for torch.package: tensors in pickles
        have no storage of their own here.
        """
        from packager.loading import load_pickle

        entry = self._resource(package, resource)
        return load_pickle(
            self._archive,
            entry,
            lambda name: self._open_world().rules.in_process(name),
            allowed=self.allow_pickle,
            importer=self,
            made=self._made,
        )

    def run(self, inputs: Mapping[str, Any], entry: str = "model") -> dict[str, Any]:
        """Call an entry point with arrays by name, and return the arrays of its answer by name.

        Modules of kellet and PyTorch are in evaluation mode for the call.

        Raises EntryPointError where there is none of that name, EntryMethodError where it names anything
        but the object itself, `forward`, `predict`, `predict_proba`, `transform`, or a public method that
        code of the archive defines.
        """
        from packager.loading import run_entry

        return run_entry(self, entry, inputs, self._defines)

    def check(self) -> tuple[CheckOutcome, ...]:
        """Run the golden calls that were stored, and say how far the answers are off here.

        Modules are in evaluation mode for it, as they were when the calls were stored. Raises what `run`
        raises.
        """
        from packager.loading import run_checks

        return run_checks(self, self._defines)

    def file_structure(
        self, include: str | Sequence[str] = "**", exclude: str | Sequence[str] = ()
    ) -> Directory:
        """The files of the archive whose paths match; patterns as for modules, with "/" between parts."""
        from packager.policy import GlobGroup

        wanted = GlobGroup(include, exclude=exclude, separator="/")
        return directory_of(self.filename, [name for name in self._archive.names() if wanted.matches(name)])

    def python_version(self) -> str:
        """The Python that the archive was made with: "3.11.7"."""
        from packager.environment import recorded_fingerprint

        return recorded_fingerprint(self.manifest).python

    def get_source(self, module_name: str) -> str:
        """The stored source of a module. Raises ModuleNotFoundError when it is not in the archive."""
        record = PackagedCode(self._archive).modules.get(module_name)
        if record is None:
            raise ModuleNotFoundError(f"No module named {module_name!r} in {self.filename}", name=module_name)
        return "" if record.entry is None else importlib.util.decode_source(self._archive.read(record.entry))

    def get_resource_reader(self, fullname: str) -> Any:
        """What gives `importlib.resources` the files of a package; None for what is no package."""
        from packager.loading import PackageResources, Unpacker

        code = PackagedCode(self._archive)
        name = demangle(fullname)
        record = code.modules.get(name)
        if record is None or not record.is_package:
            return None
        return PackageResources(code, Unpacker(code, self.identity), name)

    def id(self) -> str:
        """What marks this importer's modules in `sys.modules`; "" where they are installed."""
        return self._open_world().suffix

    def close(self) -> None:
        """Take every module of the archive out of the process and let the file go.

        Arrays that were handed out stay valid; the file is let go when the last of them dies.
        """
        with self._lock:
            if self._world is not None:
                unregister(self._world)
                withdraw(self._world)
                self._world.close()
                self._world = None
            self._closed = True
            self._archive.close()

    def __enter__(self) -> PackageImporter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"PackageImporter({self.filename!r})"

    def _open_world(self) -> World:
        """The archive's modules in this process, made when code is first asked for."""
        world = self._world
        if world is not None:
            return world
        with self._lock:
            if self._world is None:
                if self._closed:
                    raise PackageError(f"{self.filename} is closed: open it again to import from it")
                if self._environment == "warn":
                    check_environment(self.manifest, self._environment, self.filename)
                self._world = self._make_world()
            return self._world

    def _defines(self, cls: type, value: object) -> bool:
        return self._open_world().defines(cls, value)

    def _make_world(self) -> World:
        code = PackagedCode(self._archive)
        if self._installed:
            require_free(code.owned, self.filename)
        suffix = "" if self._installed else _free_suffix(self.identity, code.owned)
        world = World(code, self.identity, suffix, undeclared=self._undeclared, bytecode=self._bytecode)
        admitted: list[str] = []
        if MIGRATIONS in self._archive:
            from packager.loading import admitted_names

            world.imported = self._migrations().attach
            admitted = admitted_names(self._archive, self._module_allowed)
        world.give_importer(self)
        register(world)
        # Nobody reads a pipe twice: another process would wait for its bytes for ever.
        if self._path is not None and (os.path.isfile(self._path) or os.path.isdir(self._path)):
            announce(world, self._path, self._digests, self._mmap, self.trust, admitted)
        return world

    def _migrations(self) -> ArchiveMigrations:
        from packager.loading import migrations_of

        return migrations_of(
            self._archive, self.trust, lambda: self._open_world().rules, self._module_allowed
        )

    def _resource(self, package: str, resource: str) -> str:
        name = f"{package.replace('.', '/')}/{check_resource_name(resource)}" if package else resource
        if name not in self._archive:
            raise FileNotFoundError(f"no resource {resource!r} in package {package!r} of {self.filename}")
        return name


def _free_suffix(identity: str, owned: frozenset[str]) -> str:
    """A mark that no open archive has: in a child process one may stand that was adopted there."""
    while True:
        suffix = PackageMangler(identity).parent_name()
        if not any(is_open(top + suffix) for top in owned):
            return suffix


def _bytecode_folder(choice: str | os.PathLike[str] | None) -> str | os.PathLike[str] | None:
    if choice != "cache":
        return choice
    try:
        return None if sys.dont_write_bytecode else cache_folder("bytecode")
    except RuntimeError:  # no home folder is known for this user
        return None


def _shown_name(file: object) -> str:
    return os.fspath(file) if isinstance(file, str | os.PathLike) else f"<{type(file).__name__}>"
