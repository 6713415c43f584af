"""PackageImporter: an archive as something to import from. It hands over; the work is in `loading`.

What only some calls need is imported in them: an importer is there in the time that opening takes.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType, TracebackType
from typing import TYPE_CHECKING, Any, BinaryIO

from packager.archive import ArchiveReader, Manifest
from packager.arguments import (
    check_choice,
    check_file,
    check_flag,
    check_identity,
    check_kind,
    check_location,
    check_names,
    check_path,
    check_several,
)
from packager.caches import bytecode_folder
from packager.errors import ArgumentError
from packager.graph import Importer
from packager.loading import LoadOptions, OpenArchive
from packager.texts import one_line

if TYPE_CHECKING:
    from packager.loading import CheckOutcome, Directory
    from packager.migrations import Migration
    from packager.state_dicts import StateDictView

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
    defaults that stored objects may use. `mmap=False` reads instead of mapping;
    `mmap="prefetch"` maps, and reads tensors ahead in large blocks while what was read is checked on all
    cores: for networks, and disks that are slow to begin a read. `environment` is "warn", "error" or
    "ignore", `undeclared` "error" or "allow" for imports that no rule declared. `bytecode` is the folder
    where compiled code is kept for the next load, by default one below `$KELLET_CACHE` or `~/.cache/kellet`
    ("cache"); None keeps none. Nor do a home that cannot be written, and a Python started with `-B`, which
    uses what is there.

    `identity` admits one archive alone, as `packager verify` prints it. When the archive is opened, the
    sha256 of its manifest is compared with it, and another archive is refused before its manifest is parsed.
    The manifest has the digests of all contents, and each is checked when its bytes are first used, in pieces
    of 1 MiB: sources, objects and files by sha256, with or without an `identity`; tensors by `digests`, which
    is "sha256" beside an `identity` and "crc" without, or "none". What is not used is not checked; `verify`
    checks all. An archive whose tensors have no sha256 is refused beside an `identity`, unless `digests` is
    given.

    Raises ArgumentError for an argument of the wrong kind, AddressError for an address, ArchiveError and
    IntegrityError for a damaged or hostile file, IdentityMismatchError, an IntegrityError, for another
    archive than that of `identity`, DisallowedModuleError where `module_allowed` refuses,
    EnvironmentMismatchError with `environment="error"`; nothing stays open then. Later calls raise
    IntegrityError for an archive that was changed after it was opened.

    Use it with `with`, or call `close()`: then every module of the archive leaves the process. One that is
    collected without is a ResourceWarning; its file is let go, and what was imported stays.

    >>> import io
    >>> from packager import PackageExporter
    >>> file = io.BytesIO()
    >>> with PackageExporter(file) as exporter:
    ...     exporter.save_source_string("greeter", "def greet(name): return f'hello {name}'")
    ...     exporter.save_text("greeter", "words.txt", "hello and goodbye")
    ...     exporter.save_state_dict("greeter", "weights", {"scale": [1, 2]})
    >>> with PackageImporter(file.getvalue()) as importer:
    ...     print(importer.import_module("greeter").greet("you"))
    ...     print(importer.load_text("greeter", "words.txt"))
    ...     print(dict(importer.load_state_dict("greeter", "weights")))
    hello you
    hello and goodbye
    {'scale': [1, 2]}

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
        identity: str | None = None,
        digests: str | None = None,
        mmap: bool | str = True,
        environment: str = "warn",
        undeclared: str = "error",
        bytecode: str | os.PathLike[str] | None = "cache",
    ) -> None:
        check_choice("environment", environment, ("warn", "error", "ignore"))
        check_choice("undeclared", undeclared, ("error", "allow"))
        if digests is not None:
            check_choice("digests", digests, ("crc", "none", "sha256"))
        check_identity("identity", identity)  # before a file is opened
        if not isinstance(file, bytes | bytearray | memoryview):
            check_file("file", file, method="read")
        allows: Any = Callable
        check_kind("module_allowed", module_allowed, allows, "a function of a module's name")
        check_several("trust", trust, "a list of names")
        check_flag("allow_pickle", allow_pickle)
        if mmap != "prefetch":
            check_kind("mmap", mmap, bool, "True, False or 'prefetch'")
        check_kind("bytecode", bytecode, (str, os.PathLike, type(None)), "a folder, 'cache' or None")
        if bytecode is not None:
            check_path("bytecode", bytecode)
        path = os.fspath(file) if isinstance(file, str | os.PathLike) else None
        self.filename = f"<{type(file).__name__}>" if path is None else path
        self.allow_pickle = allow_pickle
        self.trust = tuple(trust)
        self._reduced: dict[int, Any] = {}
        self._opened_at = object()  # tracemalloc finds no place for objects with attributes before 3.13
        # Before a file is opened, as it may refuse.
        folder = bytecode_folder() if bytecode == "cache" else bytecode
        reader = ArchiveReader(file, digests=digests, identity=identity, mmap=mmap)
        try:
            options = LoadOptions(
                self.filename,
                None if path is None else os.path.abspath(path),
                module_allowed,
                self.trust,
                reader.tensor_digests,
                mmap,
                environment,
                undeclared,
                folder,
                not (bytecode == "cache" and sys.dont_write_bytecode),
            )
            self._opened = OpenArchive(reader, options, self)
        except BaseException:
            reader.close()
            raise

    @property
    def archive(self) -> ArchiveReader:
        """The open archive underneath: entries and their bytes."""
        return self._opened.reader

    @property
    def manifest(self) -> Manifest:
        """Everything the archive says about itself."""
        return self.archive.manifest

    @property
    def identity(self) -> str:
        """The sha256 of the manifest, in hexadecimal: what a signature signs and a user quotes."""
        return self.archive.identity

    @property
    def modules(self) -> dict[str, ModuleType]:  # type: ignore[override]  # made anew, as they are loaded
        """The modules of the archive that are loaded, by their stored names."""
        return self._opened.modules()

    def import_module(self, name: str, package: str | None = None) -> ModuleType:
        """Import a module of the archive, or one that it declared extern, by its stored name.

        A name that begins with a dot is relative to `package`, as in `importlib.import_module`. The module,
        and what it imports, stays loaded until `close()`.

        Raises UndeclaredImportError for a name of which the archive has nothing and which it did not declare,
        ModuleNotStoredError for a module that a stored package does not have, and for a declared one that is
        not here (both are ModuleNotFoundErrors, and name what is near), EnvironmentMismatchError where the
        first import finds that something the code needs is missing, PackageError after `close()`, and what
        the module's own code raises.

        >>> import io
        >>> from packager import PackageExporter
        >>> file = io.BytesIO()
        >>> with PackageExporter(file) as exporter:
        ...     exporter.save_source_string("greeter", "def greet(name): return f'hello {name}'")
        >>> with PackageImporter(file) as importer:
        ...     importer.import_module("greeter").greet("you")
        'hello you'
        """
        check_kind("name", name, str, "the name of a module")
        if name.startswith("."):
            from importlib.util import resolve_name

            name = resolve_name(name, package)
        return self._opened.import_module(name)

    def install(self) -> PackageImporter:
        """Give the archive's packages their own names in this process, from now on.

        For a process that serves one model: what goes by names then finds them. Return the importer.

        Raises PackageError when modules were imported already, NameTakenError where names are taken;
        nothing has changed then.

        >>> import io
        >>> from packager import PackageExporter
        >>> file = io.BytesIO()
        >>> with PackageExporter(file) as exporter:
        ...     exporter.save_source_string("greeter", "word = 'hello'")
        >>> with PackageImporter(file) as importer:
        ...     importer = importer.install()
        ...     import greeter
        ...     greeter.word
        'hello'
        """
        self._opened.install()
        return self

    def materialize(self) -> str:
        """Write the archive's code and data files to its folder in the cache; return that folder.

        What is imported still comes from the archive. Raises ArchiveIOError where nothing can be written.

        >>> import io, os
        >>> from packager import PackageExporter
        >>> file = io.BytesIO()
        >>> with PackageExporter(file) as exporter:
        ...     exporter.save_source_string("greeter", "word = 'hello'")
        >>> with PackageImporter(file) as importer:
        ...     os.listdir(importer.materialize())
        ['greeter.py']
        """
        loaded = self._opened.loaded()
        for top in sorted(loaded.code.owned):
            loaded.unpacker.unpack(top)
        return str(loaded.unpacker.root)

    def compile_all(self, *, workers: int | None = None) -> int:
        """Compile all code of the archive that the cache lacks, so that the first load finds it; run none.

        Where an image is built, say, or before many processes load the same. An export has done this already,
        on its machine, for what its proof has imported, but for Pythons with `-O`. `workers` processes share
        the work, this one among them: by default as many as there are cores, four at most, where the sources
        are worth that, and 1 starts none. None are started either where `sys.executable` is no Python, or in
        a daemonic process.

        Return how many sources were compiled. One that cannot be is left to the import, which says why.

        Raises ArgumentError for `workers` below 1, NothingKeptError (in `packager.loading`) where no compiled
        code is kept, ArchiveIOError where it cannot be written, ArchiveError for damaged sources.

        >>> import io, tempfile
        >>> from packager import PackageExporter
        >>> file = io.BytesIO()
        >>> with PackageExporter(file) as exporter:
        ...     exporter.save_source_string("greeter", "word = 'hello'")
        >>> with tempfile.TemporaryDirectory() as folder, PackageImporter(file, bytecode=folder) as importer:
        ...     importer.compile_all(), importer.compile_all()
        (1, 0)

        Source: `compileall.compile_dir` of Python, whose `workers` are 1 by default.
        """
        from packager.loading import compile_ahead

        if workers is not None and (type(workers) is not int or workers < 1):
            raise ArgumentError(f"workers={workers!r}: expected a number of processes from 1 on, or None")
        return compile_ahead(self.archive, self._opened.bytecode, workers, self.filename)

    def load_binary(self, package: str, resource: str) -> bytes:
        """Return the bytes of a resource. Raises FileNotFoundError when there is none.

        >>> import io
        >>> from packager import PackageExporter
        >>> file = io.BytesIO()
        >>> with PackageExporter(file) as exporter:
        ...     exporter.save_binary("net", "table.bin", b"12")
        >>> with PackageImporter(file) as importer:
        ...     importer.load_binary("net", "table.bin")
        b'12'
        """
        entry = self._resource(package, resource)
        if self.archive.entry(entry).kind == "tensors":  # checked as `digests` says, like every tensor
            return bytes(self.archive.view(entry))
        return self.archive.read(entry)

    def load_text(self, package: str, resource: str, encoding: str = "utf-8", errors: str = "strict") -> str:
        """Return a resource as text, decoded as `bytes.decode` does.

        Raises FileNotFoundError when there is none, UnicodeDecodeError (also a PackageError) for bytes of
        another encoding, ArgumentError for an encoding or `errors` that are unknown, or none of texts.

        >>> import io
        >>> from packager import PackageExporter
        >>> file = io.BytesIO()
        >>> with PackageExporter(file) as exporter:
        ...     exporter.save_text("net", "words.txt", "one two")
        >>> with PackageImporter(file) as importer:
        ...     importer.load_text("net", "words.txt")
        'one two'
        """
        from packager.loading import decode_resource

        return decode_resource(self.load_binary(package, resource), f"{package}/{resource}", encoding, errors)

    def load_object(
        self, package: str | None = None, resource: str | None = None, *, map_location: Any = None
    ) -> Any:
        """Build a stored object: records, then audit, then all names at once, then build.

        Package and resource may be left out where the archive has one object.

        Where it names a class that is stored, code of the archive runs (its classes are imported), so
        such an object is loaded from files that one would run. Any other object is data alone, and held
        to what data may do. `map_location` says where tensors of PyTorch go, as in `torch.load`: a device,
        its name, a dict from names to devices, or a function that is given each storage, and the name of the
        device that it was saved on, and answers with a storage or None. Tensors of kellet and arrays of
        NumPy lie where they do. Each call makes a new object; its tensors can be changed without changing
        the file.

        Raises ArgumentError for a `map_location` of another kind and for one half of a name,
        DeviceNotHereError for a device that PyTorch does not have here, StoredObjectError, which lists the
        objects, where there is no such object, or several and no name, UntrustedTypeError, once for all
        names together, where it needs types that neither the archive holds nor `trust` allows, or is made in
        a way that data alone must not be, DisallowedModuleError where `module_allowed` refuses a module that
        it brings code from, MissingNameError, once for all, where modules here do not have its names,
        ObjectBuildError where a class refuses its state, CodeExitError where code of the archive ends with
        `sys.exit()` or the like.

        >>> import io
        >>> from packager import PackageExporter
        >>> file = io.BytesIO()
        >>> with PackageExporter(file) as exporter:
        ...     exporter.save_object("model", "config", {"layers": [8, 8]})
        >>> with PackageImporter(file) as importer:
        ...     importer.load_object("model", "config"), importer.load_object()
        ({'layers': [8, 8]}, {'layers': [8, 8]})
        """
        from packager.loading import find_object, load_object

        check_location("map_location", map_location)
        from packager.process import AnswerRequired

        found = find_object(self.archive, package, resource)
        package, resource = found.package, found.resource
        with AnswerRequired(f"{self.filename}: loading object {package}/{resource}"):
            return load_object(
                self._opened.context, package, resource, importer=self, map_location=map_location
            )

    def load_state_dict(
        self, package: str, resource: str, *, as_: str | None = None, map_location: Any = None
    ) -> StateDictView:
        """Return a stored state dict as a lazy mapping: a tensor is read when it is asked for.

        Tensors are of the library whose tensors were saved, so that `module.load_state_dict()` and
        `optimizer.load_state_dict()` of PyTorch and kellet take the mapping as it is; where that library is
        not installed, and where several or none were saved, arrays of NumPy. `as_` names another one.
        With "numpy" values are read-only arrays on the mapped file; with "kellet" and "torch"
        tensors on a private copy-on-write map, ready to be trained. They stay valid after `close()`.
        `map_location` is that of `load_object`.

        The mapping has `_metadata` for load hooks, `many`, `part`, `rows`, `matching` and `spec`. It cannot
        be changed; `copy()` of it, `copy.deepcopy` and pickle give an OrderedDict with all values. A state
        dict is data alone: values in it that are no tensors name no stored class, unless `trust` does.

        Raises StoredObjectError where there is none of that name, ArgumentError for another `as_` and for a
        `map_location` of another kind. Reading values raises IntegrityError for damaged bytes,
        DeviceNotHereError for a device that is not here, and what `load_object` raises for those that are no
        tensors.

        >>> import io, numpy
        >>> from packager import PackageExporter
        >>> file = io.BytesIO()
        >>> with PackageExporter(file) as exporter:
        ...     exporter.save_state_dict("model", "weights", {"scale": numpy.ones((2, 3))})
        >>> with PackageImporter(file) as importer:
        ...     importer.load_state_dict("model", "weights")["scale"].shape
        (2, 3)
        """
        from packager.loading import load_state_dict

        check_location("map_location", map_location)
        return load_state_dict(self._opened.context, package, resource, as_=as_, device=map_location)

    def load_migrations(self) -> dict[str, tuple[Migration, ...]]:
        """Return the stored migrations by class ("package.module:Class"), in the order in which they run.

        Those of the archive's own classes are attached to these already. For a class of the target
        its own migrations count; the stored ones can be used by hand, with `packager.migrations`.

        Raises UntrustedTypeError, once for all together, where migrations name functions that neither
        the archive holds nor `trust` allows, or hold regular expressions that `trust` does not admit.

        >>> import io
        >>> from packager import PackageExporter
        >>> file = io.BytesIO()
        >>> with PackageExporter(file) as exporter:
        ...     exporter.save_text("net", "words.txt", "no class here")
        >>> with PackageImporter(file) as importer:
        ...     importer.load_migrations()
        {}
        """
        return self._opened.migrations.allowed()

    def load_pickle(self, package: str, resource: str, map_location: Any = None) -> Any:
        """Read a resource that is a real pickle; its classes come from the archive's own modules.

        `map_location` is taken for the sake of code written for torch.package: tensors in pickles
        have no storage of their own here.

        Raises PickleRefusedError unless the importer was opened with `allow_pickle=True`, and for a stored
        object or state dict, which is no pickle and has a method of its own, FileNotFoundError when there is
        no such resource, and what unpickling raises.

        >>> import io
        >>> from packager import PackageExporter
        >>> file = io.BytesIO()
        >>> with PackageExporter(file, prove=False) as exporter:
        ...     exporter.save_pickle("net", "sizes.pkl", {"layers": (8, 8)})
        >>> with PackageImporter(file, allow_pickle=True) as importer:
        ...     importer.load_pickle("net", "sizes.pkl")
        {'layers': (8, 8)}
        """
        from packager.loading import load_pickle, require_pickle

        require_pickle(self._opened, package, resource)
        return load_pickle(
            self._opened,
            self._resource(package, resource),
            allowed=self.allow_pickle,
            importer=self,
            made=self._reduced,
        )

    def run(
        self,
        inputs: Mapping[str, Any],
        entry: str = "model",
        *,
        callable: str | None = None,
        training: bool = False,
        from_seed: bool = False,
    ) -> dict[str, Any]:
        """Call an entry point with values by name, and return the parts of its answer by name.

        A part is an array, or text, bytes or None. An object can be named itself, as "package/resource",
        and `callable` names another method than the entry point does. Modules of kellet and PyTorch are in
        evaluation mode for the call, or in training mode. `inputs` is left as it is. With `from_seed` the
        generators of the process begin for the call as they do for a golden call, and go on as they stood.

        Inputs are compared first with what the archive says of the entry point (`manifest.schemas`); numbers
        in lists become arrays of the dtype that stands there.

        Raises ArgumentError where `inputs` has keys that are no strings, EntryPointError where there is no
        entry point of that name, SchemaMismatchError (in `packager.calls`) for inputs that it does not
        take, EntryMethodError where it names anything but the object itself, `forward`, `predict`,
        `predict_proba`, `transform`, `decision_function`, or a public method that code of the archive
        defines, and what `load_object` and the call raise.

        >>> import io, numpy
        >>> from kellet.nn import Linear
        >>> from packager import PackageExporter
        >>> file = io.BytesIO()
        >>> with PackageExporter(file) as exporter:
        ...     exporter.save_object("model", "model", Linear(2, 1))
        >>> with PackageImporter(file) as importer:
        ...     outputs = importer.run({"arg0": numpy.ones((3, 2), "float32")})
        >>> {name: array.shape for name, array in outputs.items()}
        {'output': (3, 1)}
        """
        from packager.loading import run_entry

        check_names("inputs", inputs)
        check_kind("entry", entry, str, "the name of an entry point")
        check_kind("callable", callable, (str, type(None)), "the name of a method, or None")
        check_flag("training", training)
        check_flag("from_seed", from_seed)
        modes = {"training": training, "from_seed": from_seed}
        return run_entry(self._opened, self.load_object, entry, inputs, callable=callable, **modes)

    def check(self, name: str | None = None, *, tolerance: float | None = None) -> tuple[CheckOutcome, ...]:
        """Run the golden calls that were stored, or that of one `name`, and return how far they are off here.

        Modules are in the mode for it that they were in when the calls were stored. Where a call was stored
        with `trace=True`, and is off by more than `tolerance` (1e-5), its outcome names the first submodule
        that differs: it is called again for that, and once more where versions of distributions differ. Of a
        call that is not repeatable nothing is compared: its outcome says so, and is within no tolerance.

        Raises EntryPointError where none is stored under that name, ArgumentError for a tolerance that is no
        number, or below zero, and what `run` raises.

        >>> import io, numpy
        >>> from kellet.nn import Linear
        >>> from packager import PackageExporter
        >>> file = io.BytesIO()
        >>> with PackageExporter(file) as exporter:
        ...     exporter.save_object("model", "model", Linear(2, 1))
        ...     exporter.save_check("model", {"arg0": numpy.ones((3, 2), "float32")})
        >>> with PackageImporter(file) as importer:
        ...     [outcome.within(1e-6) for outcome in importer.check()]
        [True]
        """
        from packager.loading import run_checks

        check_kind("tolerance", tolerance, (int, float, type(None)), "a number, or None")
        if tolerance is not None and not tolerance >= 0:
            raise ArgumentError(f"tolerance: expected a number that is not below zero, found {tolerance}")
        return run_checks(self._opened, self.load_object, name, tolerance=tolerance)

    def file_structure(
        self, include: str | Sequence[str] = "**", exclude: str | Sequence[str] = ()
    ) -> Directory:
        """Return the files of the archive whose paths match, as a tree that can be printed.

        Patterns are those of modules, with "/" between parts. Raises ValueError for one that is none.

        >>> import io
        >>> from packager import PackageExporter
        >>> file = io.BytesIO()
        >>> with PackageExporter(file) as exporter:
        ...     exporter.save_text("net", "words.txt", "one two")
        >>> with PackageImporter(file) as importer:
        ...     importer.file_structure("net/**").has_file("net/words.txt")
        True
        """
        from packager.loading import directory_of
        from packager.policy import GlobGroup

        wanted = GlobGroup(include, exclude=exclude, separator="/")
        return directory_of(self.filename, [name for name in self.archive.names() if wanted.matches(name)])

    def python_version(self) -> str:
        """Return the Python that the archive was made with: "3.11.7".

        >>> import io, platform
        >>> from packager import PackageExporter
        >>> file = io.BytesIO()
        >>> with PackageExporter(file) as exporter:
        ...     exporter.save_source_string("net", "")
        >>> with PackageImporter(file) as importer:
        ...     importer.python_version() == platform.python_version()
        True
        """
        from packager.environment import recorded_fingerprint

        return recorded_fingerprint(self.manifest).python

    def get_source(self, module_name: str) -> str:
        """Return the stored source of a module, as text.

        Raises ModuleNotFoundError when it is not in the archive, and ArchiveError where it is not text of the
        encoding that it names, or names one that is slow or shows something else than what is run (`utf-7`,
        `punycode`, `unicode_escape`); its bytes are `archive.read(entry)`.

        >>> import io
        >>> from packager import PackageExporter
        >>> file = io.BytesIO()
        >>> with PackageExporter(file) as exporter:
        ...     exporter.save_source_string("net", "import math")
        >>> with PackageImporter(file) as importer:
        ...     importer.get_source("net")
        'import math'
        """
        check_kind("module_name", module_name, str, "the name of a module")
        record = self._opened.code.modules.get(module_name)
        if record is None:
            raise ModuleNotFoundError(f"No module named {module_name!r} in {self.filename}", name=module_name)
        if record.entry is None:
            return ""
        from packager.graph import source_text

        return source_text(self.archive.read(record.entry), f"module {module_name!r}, entry {record.entry!r}")

    def get_resource_reader(self, fullname: str) -> Any:
        """Return what gives `importlib.resources` the files of a package; None for what is no package.

        >>> import io
        >>> from importlib.resources import files
        >>> from packager import PackageExporter
        >>> file = io.BytesIO()
        >>> with PackageExporter(file) as exporter:
        ...     exporter.save_source_string("net", "", is_package=True)
        ...     exporter.save_text("net", "words.txt", "one two")
        >>> with PackageImporter(file) as importer:
        ...     files(importer.import_module("net")).joinpath("words.txt").read_text()
        'one two'
        """
        from packager.loading import PackageResources, Unpacker
        from packager.names import demangle

        check_kind("fullname", fullname, str, "the name of a package")
        code = self._opened.code
        name = demangle(fullname)
        record = code.modules.get(name)
        if record is None or not record.is_package:
            return None
        return PackageResources(code, Unpacker(code, self.identity), name)

    def id(self) -> str:
        """Return what marks this importer's modules in `sys.modules`; "" where they are installed.

        >>> import io
        >>> from packager import PackageExporter
        >>> file = io.BytesIO()
        >>> with PackageExporter(file) as exporter:
        ...     exporter.save_source_string("net", "")
        >>> with PackageImporter(file) as importer:
        ...     importer.import_module("net").__name__.endswith(importer.id())
        True
        """
        return self._opened.loaded().rules.suffix

    def close(self) -> None:
        """Take every module of the archive out of the process and close the file; may be called twice.

        Arrays that were handed out stay valid; the file is closed with the last of them.

        >>> import io, sys
        >>> from packager import PackageExporter
        >>> file = io.BytesIO()
        >>> with PackageExporter(file) as exporter:
        ...     exporter.save_source_string("net", "")
        >>> importer = PackageImporter(file)
        >>> name = importer.import_module("net").__name__
        >>> importer.close()
        >>> name in sys.modules
        False
        """
        self._opened.close()

    def __del__(self) -> None:
        opened = getattr(self, "_opened", None)  # there is none where opening failed
        if opened is None or opened.is_closed or sys.is_finalizing():
            return
        opened.abandon()
        warnings.warn(
            f"unclosed archive {one_line(self.filename)}: use PackageImporter with `with`, or call close()",
            ResourceWarning,
            source=self._opened_at,
            stacklevel=1,
        )

    def __enter__(self) -> PackageImporter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"PackageImporter({self.filename!r})"

    def _resource(self, package: str, resource: str) -> str:
        from packager.names import check_resource_name

        check_kind("package", package, str, "the name of a package, or ''")
        name = f"{package.replace('.', '/')}/{check_resource_name(resource)}" if package else resource
        if name not in self.archive:
            raise FileNotFoundError(f"no resource {resource!r} in package {package!r} of {self.filename}")
        return name
