"""PackageImporter: an archive as something to import from. It hands over; the work is in `loading`.

What only some calls need is imported in them: an importer is there in the time that opening takes.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import ModuleType, TracebackType
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, TypeVar, overload

from packager._archive import ArchiveReader, Manifest, closed
from packager._arguments import (
    check_callable,
    check_choice,
    check_file,
    check_flag,
    check_identity,
    check_kind,
    check_location,
    check_names,
    check_path,
    check_place,
    check_several,
    is_address,
)
from packager._caches import bytecode_folder
from packager._graph import Importer
from packager._loading import LoadOptions, OpenArchive
from packager._process import callers_level
from packager._texts import did_you_mean, listed, one_line, size_text
from packager.errors import (
    ArgumentError,
    CodeRefusedError,
    ModuleNotStoredError,
    ResourceNotStoredError,
    SignatureWarning,
)

if TYPE_CHECKING:
    from packager._calls import Callee, CheckOutcome
    from packager._loading import Directory
    from packager._migrations import Migration
    from packager._signing import Signers
    from packager._state_dicts import StateDictView

__all__ = ["PackageImporter"]

_Kind = TypeVar("_Kind")


class PackageImporter(Importer):
    """An open archive: its modules, objects, state dicts and resources.

    `file` is a path (an archive, or the folder of an unzipped one), an address (`https://`, `s3://`), a file
    object or bytes. An address, and a file object that can seek, is read in ranges as bytes are used; in an
    address `#sha256=` may be followed by the `identity`. Opening checks the archive strictly and runs nothing
    of it. `import_module` and `load_object` run its code. That code has names of its own, so two archives, or
    an archive and an installed package, can hold the same package.

    `module_allowed(name)` may refuse required modules, and stored modules whose code an object needs.
    `allow_pickle` admits real pickles, which run code when read. `trust` names further types that stored
    objects may use. `mmap=False` reads instead of mapping. `mmap="prefetch"` maps, reads tensors ahead in
    large blocks, and checks them on all cores: for networks and slow disks. `environment` is "warn", "error"
    or "ignore"; `undeclared` is "error" or "allow", for imports that no rule declared. `bytecode` is the
    folder of compiled code; True is one below `$KELLET_CACHE` or `~/.cache/kellet`, and None stores no
    compiled code. Neither does True if that folder cannot be written. A Python started with `-B` only reads
    compiled code.

    `identity` admits only the archive with this identity, which `kellet verify` prints. It is compared with
    the sha256 of the manifest before the manifest is parsed. The manifest has the digests of all contents.
    Each is checked when its bytes are first used, in pieces of 1 MiB: sources, objects and files always by
    sha256; tensors by `digests`: "sha256" (the default with an `identity`), "crc" (the default without) or
    "none". `verify` checks everything at once. With an `identity`, an archive whose tensors have no sha256 is
    refused, unless `digests` is given.

    `signed_by` admits only archives that one of these has signed: a public key (PEM, or the path of one), the
    certificate of an authority, a Signers, or a file of rules (signers.toml), by default the one that
    `$KELLET_SIGNERS` names; "anyone" asks for no signature. `code=False` refuses an archive with stored
    sources. Both are decided from the manifest and the signatures, before anything else is read. A signature
    covers tensors as an `identity` does.

    Raises ArgumentError for an argument of the wrong kind, AddressError for an address of another scheme,
    RemoteError for one that cannot be read, ArchiveError and IntegrityError for a damaged or hostile file,
    IdentityMismatchError, an IntegrityError, for another archive than that of `identity`, UnsignedError,
    OtherSignerError, NotAsSignedError or RefusedByRuleError, all SignatureErrors, by `signed_by`,
    CodeRefusedError by `code=False`, DisallowedModuleError where `module_allowed` refuses,
    EnvironmentMismatchError with `environment="error"`; nothing stays open then. Later calls raise
    IntegrityError for an archive that was changed after it was opened.

    Use it with `with`, or call `close()`, which removes every module of the archive from the process. An
    importer that is collected without `close()` warns with ResourceWarning; its file is closed, and imported
    modules stay.

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
        digests: Literal["crc", "none", "sha256"] | None = None,
        mmap: bool | Literal["prefetch"] = True,
        environment: Literal["warn", "error", "ignore"] = "warn",
        undeclared: Literal["error", "allow"] = "error",
        bytecode: str | os.PathLike[str] | bool | None = True,
        signed_by: str | os.PathLike[str] | Signers | None = None,
        code: bool = True,
    ) -> None:
        check_choice("environment", environment, ("warn", "error", "ignore"))
        check_choice("undeclared", undeclared, ("error", "allow"))
        if digests is not None:
            check_choice("digests", digests, ("crc", "none", "sha256"))
        check_identity("identity", identity)  # before a file is opened
        if not isinstance(file, bytes | bytearray | memoryview):
            check_file("file", file, method="read")
        check_callable("module_allowed", module_allowed, "module_allowed(name)")
        check_several("trust", trust, "a list of names")
        if trust:
            from packager._audit import Trust

            Trust(trust)
        check_flag("allow_pickle", allow_pickle)
        check_flag("code", code)
        if mmap != "prefetch":
            check_kind("mmap", mmap, bool, "True, False or 'prefetch'")
        check_kind("bytecode", bytecode, (str, os.PathLike, bool, type(None)), "a folder, True or None")
        if isinstance(bytecode, str | os.PathLike):
            check_path("bytecode", bytecode)
        path = os.fspath(file) if isinstance(file, str | os.PathLike) else None
        is_remote = isinstance(file, str) and is_address(file)
        self.allow_pickle = allow_pickle
        self.trust = tuple(trust)
        self._reduced: dict[int, Any] = {}
        self._opened_at = object()  # tracemalloc finds no place for objects with attributes before 3.13
        # Before a file is opened, as it may refuse.
        folder = bytecode_folder() if bytecode is True else bytecode or None
        reader = ArchiveReader(file, digests=digests, identity=identity, mmap=mmap)
        self.filename = f"<{type(file).__name__}>" if path is None else reader.name if is_remote else path
        try:
            if signed_by is not None or os.environ.get("KELLET_SIGNERS"):
                self._require_signed(reader, signed_by, reader.name if is_remote else path, digests)
            if not code and reader.has_code:
                raise CodeRefusedError(
                    f"{self.filename}: the archive contains code, which code=False (--no-code) refuses; if "
                    "you trust it, leave that out"
                )
            options = LoadOptions(
                self.filename,
                _lasting(path),
                module_allowed,
                self.trust,
                reader.tensor_digests,
                mmap,
                environment,
                undeclared,
                folder,
                not (bytecode is True and sys.dont_write_bytecode),
            )
            self._opened = OpenArchive(reader, options, self)
        except BaseException:
            reader.close()
            raise

    def _require_signed(
        self, reader: ArchiveReader, given: Any, path: str | None, digests: str | None
    ) -> None:
        """Raise the SignatureError that refuses the archive; check tensors by sha256 where it is signed."""
        from packager._signing import Signers

        signers = Signers.of(given)
        if signers is None:
            return
        judgement = signers.judge(reader, path)
        if judgement.ok:
            if digests is None:
                reader.bind()
        elif signers.only_warn(judgement):
            warnings.warn(SignatureWarning(str(judgement.error(self.filename))), stacklevel=callers_level())
        else:
            raise judgement.error(self.filename)

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

        Raises ArgumentError for an invalid name, UndeclaredImportError for a module that is neither stored
        nor required, ModuleNotStoredError for one that a stored package lacks, and for a required one that is
        not installed (both are ModuleNotFoundErrors), EnvironmentMismatchError if the first import finds that
        a required package is missing, PackageError after `close()`, and what the module's own code raises.

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
        if not name or ":" in name:
            raise ArgumentError(f"name={name!r}: expected the name of a module, such as 'package.module'")
        if name.startswith("."):
            from importlib.util import resolve_name

            check_kind("package", package, str, f"the package that {name!r} is relative to")
            name = resolve_name(name, package)
        return self._opened.import_module(name)

    def install(self) -> PackageImporter:
        """Give the archive's packages their own names in this process, from now on.

        For a process that serves one model: code that looks modules up by name then finds them. Return the
        importer.

        Raises PackageError if modules were imported already, NameTakenError if names are taken; nothing has
        changed then.

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

        Imports still read the archive. Raises ArchiveIOError if nothing can be written.

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

    def compile_all(self) -> int:
        """Compile all code of the archive into the cache, so that the first load is fast; run none of it.

        Use it when an image is built, or before many processes load the same archive. The proof of an export
        has done this on its machine for the modules that it imported, except for Pythons with `-O`.

        Return how many sources were compiled. A source with an error is left out; its import raises the
        error.

        Raises NothingKeptError if the importer stores no compiled code, ArchiveIOError if it cannot be
        written, ArchiveError for damaged sources.

        >>> import io, tempfile
        >>> from packager import PackageExporter
        >>> file = io.BytesIO()
        >>> with PackageExporter(file) as exporter:
        ...     exporter.save_source_string("greeter", "word = 'hello'")
        >>> with tempfile.TemporaryDirectory() as folder, PackageImporter(file, bytecode=folder) as importer:
        ...     importer.compile_all(), importer.compile_all()
        (1, 0)
        """
        from packager._loading import compile_ahead

        return compile_ahead(self.archive, self._opened.bytecode, self.filename)

    def load_binary(self, package: str, resource: str) -> bytes:
        """Return the bytes of a resource. Raises ResourceNotStoredError if it is missing.

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

        Raises ResourceNotStoredError if it is missing, UnicodeDecodeError (also a PackageError) for bytes of
        another encoding, ArgumentError for an unknown `encoding` or `errors`.

        >>> import io
        >>> from packager import PackageExporter
        >>> file = io.BytesIO()
        >>> with PackageExporter(file) as exporter:
        ...     exporter.save_text("net", "words.txt", "one two")
        >>> with PackageImporter(file) as importer:
        ...     importer.load_text("net", "words.txt")
        'one two'
        """
        from packager._loading import decode_resource

        return decode_resource(self.load_binary(package, resource), f"{package}/{resource}", encoding, errors)

    @overload
    def load_object(
        self, package: str | None = None, resource: str | None = None, *, map_location: Any = None
    ) -> Any: ...

    @overload
    def load_object(
        self,
        package: str | None = None,
        resource: str | None = None,
        *,
        kind: type[_Kind],
        map_location: Any = None,
    ) -> _Kind: ...

    def load_object(
        self,
        package: str | None = None,
        resource: str | None = None,
        *,
        kind: type[Any] | None = None,
        map_location: Any = None,
    ) -> Any:
        """Build a stored object: read its records, check them, find all its names, then build it.

        Package and resource may be left out if the archive has one object. With `kind` it must be of that
        class, or of one that is stored under its name, and type checkers know the type that is returned.

        An object with a stored class runs code of the archive, as its classes are imported: load it only from
        files that you would run. Any other object is data alone, and uses only known types. `map_location`
        says where tensors of PyTorch go, as in `torch.load`: a device, its name, a dict from names to
        devices, or a function that gets each storage and the name of the device that it was saved on, and
        returns a storage or None. Tensors of kellet and arrays of NumPy are not moved. Each call makes a new
        object; its tensors can be changed without changing the file.

        Raises ArgumentError for a `map_location` of another kind, and for a package without a resource,
        WrongKindError for an object of another class than `kind`, DeviceNotHereError for a device that
        PyTorch lacks here, KeyNotStoredError, which lists the objects, if there is no such object, or several
        and no name, UntrustedTypeError, with all names, if it needs types that neither the archive stores nor
        `trust` allows, or forms that data alone must not have, DisallowedModuleError if `module_allowed`
        refuses a module with its code, MissingNameError, with all names, if installed modules lack them,
        ObjectBuildError if a class refuses its state, CodeExitError if code of the archive calls `sys.exit()`
        or the like.

        >>> import io
        >>> from packager import PackageExporter
        >>> file = io.BytesIO()
        >>> with PackageExporter(file) as exporter:
        ...     exporter.save_object("model", "config", {"layers": [8, 8]})
        >>> with PackageImporter(file) as importer:
        ...     importer.load_object("model", "config"), importer.load_object()
        ({'layers': [8, 8]}, {'layers': [8, 8]})
        """
        from packager._loading import find_object, load_object, require_kind

        if kind is not None:
            check_kind("kind", kind, type, "a class")
        check_location("map_location", map_location)
        from packager._process import AnswerRequired

        found = find_object(self.archive, package, resource)
        package, resource = found.package, found.resource
        with AnswerRequired(f"{self.filename}: loading object {package}/{resource}"):
            made = load_object(
                self._opened.context, package, resource, importer=self, map_location=map_location
            )
        if kind is not None:
            require_kind(made, kind, f"{package}/{resource}")
        return made

    def load_state_dict(
        self, package: str, resource: str, *, as_: str | None = None, map_location: Any = None
    ) -> StateDictView:
        """Return a stored state dict as a lazy mapping: a tensor is read when it is asked for.

        Tensors are of the library whose tensors were saved, so that `module.load_state_dict()` and
        `optimizer.load_state_dict()` of PyTorch and kellet accept the mapping. If that library is not
        installed, or tensors of several libraries were saved, they are arrays of NumPy. `as_` names another
        library. With "numpy" values are read-only arrays on the mapped file; with "kellet" and "torch"
        tensors on a private copy-on-write map, ready to be trained. They stay valid after `close()`.
        `map_location` is that of `load_object`.

        The mapping has `_metadata` for load hooks, `many`, `part`, `rows`, `matching` and `spec`. It cannot
        be changed; `copy()` of it, `copy.deepcopy` and pickle give an OrderedDict with all values. A state
        dict is data alone: its other values may use stored classes only if `trust` names them.

        Raises KeyNotStoredError if it is missing, ArgumentError for an unknown `as_` and for a `map_location`
        of another kind. Reading values raises IntegrityError for damaged bytes, DeviceNotHereError for a
        device that is not here, and, for values other than tensors, what `load_object` raises.

        >>> import io, numpy
        >>> from packager import PackageExporter
        >>> file = io.BytesIO()
        >>> with PackageExporter(file) as exporter:
        ...     exporter.save_state_dict("model", "weights", {"scale": numpy.ones((2, 3))})
        >>> with PackageImporter(file) as importer:
        ...     importer.load_state_dict("model", "weights")["scale"].shape
        (2, 3)
        """
        from packager._loading import load_state_dict

        check_place("load_state_dict(package, resource)", package, resource)
        check_location("map_location", map_location)
        return load_state_dict(self._opened.context, package, resource, as_=as_, device=map_location)

    def load_migrations(self) -> dict[str, tuple[Migration, ...]]:
        """Return the stored migrations by class ("package.module:Class"), in the order in which they run.

        Those of stored classes are attached to the classes already. An installed class uses its own
        migrations; apply the stored ones with `packager.migrations.migrate`.

        Raises UntrustedTypeError, with all names, if migrations use functions that neither the archive stores
        nor `trust` allows, or regular expressions that `trust` does not allow.

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

        `map_location` is ignored; it is accepted for code written for torch.package.

        Raises PickleRefusedError unless the importer was opened with `allow_pickle=True`, and for a stored
        object or state dict (use `load_object` or `load_state_dict`), ResourceNotStoredError if it is
        missing, and what unpickling raises.

        >>> import io
        >>> from packager import PackageExporter
        >>> file = io.BytesIO()
        >>> with PackageExporter(file, prove=False) as exporter:
        ...     exporter.save_pickle("net", "sizes.pkl", {"layers": (8, 8)})
        >>> with PackageImporter(file, allow_pickle=True) as importer:
        ...     importer.load_pickle("net", "sizes.pkl")
        {'layers': (8, 8)}
        """
        from packager._loading import load_pickle, require_pickle

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
        method: str | None = None,
        training: bool = False,
        from_seed: bool = False,
    ) -> dict[str, Any]:
        """Call an entry point with values by name, and return its outputs by name.

        An output is an array, or text, bytes or None. Instead of an entry point, "package/resource" names an
        object. `method` replaces the method of the entry point. Modules of kellet and PyTorch are in
        evaluation mode for the call, or in training mode. `inputs` is not changed. With `from_seed` random
        generators start for the call as they do for an example, and are restored after it.

        Inputs are first compared with the schema of the entry point (`manifest.schemas`); numbers in lists
        become arrays of its dtype.

        Raises ArgumentError if `inputs` has keys other than strings, NotStoredError if there is no such entry
        point, SchemaMismatchError for inputs that do not fit, EntryMethodError for any method but `forward`,
        `predict`, `predict_proba`, `transform`, `decision_function` and public methods that code of the
        archive defines, and what `load_object` and the call raise.

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
        from packager._calls import run_entry

        check_names("inputs", inputs, "name each by its parameter, or arg0, arg1: run({'arg0': array})")
        check_kind("entry", entry, str, "the name of an entry point")
        check_kind("method", method, (str, type(None)), "the name of a method, or None")
        check_flag("training", training)
        check_flag("from_seed", from_seed)
        return run_entry(self._callee(), entry, inputs, method=method, training=training, from_seed=from_seed)

    def check(self, name: str | None = None, *, tolerance: float | None = None) -> tuple[CheckOutcome, ...]:
        """Repeat the stored examples, or the one called `name`, and return how far their outputs are off
        here.

        Modules are in the mode in which the example was made. If an example with `trace=True` is off by more
        than `tolerance` (1e-5), its outcome names the first submodule that differs. It is called again for
        that, and once more if versions of distributions differ. Outputs of an example that is not repeatable
        are not compared: its outcome has `repeatable=False`, and `within` is False.

        Raises NotStoredError if there is no example of that name, ArgumentError for a tolerance below zero,
        and what `run` raises.

        >>> import io, numpy
        >>> from kellet.nn import Linear
        >>> from packager import PackageExporter
        >>> file = io.BytesIO()
        >>> with PackageExporter(file) as exporter:
        ...     exporter.save_object("model", "model", Linear(2, 1))
        ...     exporter.save_example("model", {"arg0": numpy.ones((3, 2), "float32")})
        >>> with PackageImporter(file) as importer:
        ...     [outcome.within(1e-6) for outcome in importer.check()]
        [True]
        """
        from packager._calls import run_checks

        check_kind("name", name, (str, type(None)), "the name of an example, or None")
        check_kind("tolerance", tolerance, (int, float, type(None)), "a number, or None")
        if tolerance is not None and not tolerance >= 0:
            raise ArgumentError(f"tolerance={tolerance}: expected 0 or more")
        return run_checks(self._callee(), name, tolerance=tolerance)

    def file_structure(
        self, include: str | Sequence[str] = "**", exclude: str | Sequence[str] = ()
    ) -> Directory:
        """Return the files of the archive whose paths match, as a tree that can be printed.

        Patterns are those of modules, with "/" between parts. Raises ValueError for an invalid pattern.

        >>> import io
        >>> from packager import PackageExporter
        >>> file = io.BytesIO()
        >>> with PackageExporter(file) as exporter:
        ...     exporter.save_text("net", "words.txt", "one two")
        >>> with PackageImporter(file) as importer:
        ...     importer.file_structure("net/**").has_file("net/words.txt")
        True
        """
        from packager._loading import directory_of
        from packager._policy import GlobGroup

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
        from packager._environment import recorded_fingerprint

        return recorded_fingerprint(self.manifest).python

    def get_source(self, module_name: str) -> str:
        """Return the stored source of a module, as text.

        Raises ModuleNotStoredError if it is not stored, and ArchiveError if it does not have the encoding
        that it names, or names one that is slow or hides the code that runs (`utf-7`, `punycode`,
        `unicode_escape`); its bytes are `archive.read(entry)`.

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
            near = did_you_mean(module_name, self._opened.code.modules)
            raise ModuleNotStoredError(
                f"No module named {module_name!r} in {self.filename}{near}", name=module_name
            )
        if record.entry is None:
            return ""
        from packager._graph import source_text

        return source_text(self.archive.read(record.entry), f"module {module_name!r}, entry {record.entry!r}")

    def get_resource_reader(self, fullname: str) -> Any:
        """Return the reader of a package's files for `importlib.resources`; None unless it is a package.

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
        from packager._loading import PackageResources, Unpacker
        from packager._names import demangle

        check_kind("fullname", fullname, str, "the name of a package")
        code = self._opened.code
        name = demangle(fullname)
        record = code.modules.get(name)
        if record is None or not record.is_package:
            return None
        return PackageResources(code, Unpacker(code, self.identity), name)

    def id(self) -> str:
        """Return the suffix of this importer's modules in `sys.modules`; "" after `install()`.

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
        """Remove every module of the archive from the process and close the file; may be called twice.

        Loaded arrays stay valid; the file is closed with the last of them.

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
        if opened.closes_with_modules:
            opened.close()
            return
        opened.abandon()
        warnings.warn(
            f"unclosed archive {one_line(self.filename)}: write `with PackageImporter(...) as importer:`, or "
            "call close()",
            ResourceWarning,
            source=self._opened_at,
            stacklevel=1,
        )

    def __enter__(self) -> PackageImporter:
        if self._opened.is_closed:
            raise closed(self.filename)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"PackageImporter({self.filename!r})"

    def _repr_html_(self) -> str:
        """Return the page that a notebook shows: what the archive holds; nothing of it is run."""
        from packager._notebook_page import notebook_page

        manifest = self.manifest
        stored = [one for one in manifest.modules if one.action == "intern"]
        outside = [one for one in manifest.externs if one.name not in sys.stdlib_module_names]
        sections = [
            ("objects", ((f"{one.package}/{one.resource}", "object") for one in manifest.objects)),
            (
                "state dicts",
                ((f"{one.package}/{one.resource}", "state dict") for one in manifest.state_dicts),
            ),
            ("entry points", ([str(one)] for one in manifest.schemas)),
            ("checks", ((one.name, one.entry_point) for one in manifest.checks)),
            ("stored modules", ((one.name, f"{one.rule}: {one.because}") for one in stored)),
            (
                "required or optional packages",
                ((one.name, one.requirement or "") for one in outside),
            ),
            ("files", ((one.name, size_text(one.size)) for one in manifest.entries)),
        ]
        state = "closed" if self._opened.is_closed else "open; nothing of it has run"
        if self._opened.modules():
            state = "open; its code is imported"
        return notebook_page(f"Archive {self.filename}", f"{state}; identity {self.identity}", sections)

    def __reduce__(self) -> tuple[Any, ...]:
        way = "write it to a file, and open its path in each process"
        if os.path.exists(self.filename) or is_address(self.filename):
            way = f"use packager.Predictor({self.filename!r}), or open the path in each process"
        raise ArgumentError(f"{self.filename}: an open archive cannot be pickled or copied; {way}")

    def _callee(self, map_location: Any = None) -> Callee:
        from packager._calls import Callee

        load = partial(self.load_object, map_location=map_location)
        return Callee(self.archive, load, self._opened.defines)

    def _resource(self, package: str, resource: str) -> str:
        from packager._names import check_resource_name

        check_place("load_text(package, resource)", package, resource)
        name = f"{package.replace('.', '/')}/{check_resource_name(resource)}" if package else resource
        if name not in self.archive:
            there = [one.name for one in self.manifest.entries if one.kind in ("resource", "pickle")]
            near = did_you_mean(name, there) or f"; the archive has {listed(there) or 'none'}"
            raise ResourceNotStoredError(
                f"no resource {resource!r} in package {package!r} of {self.filename}{near}", name
            )
        return name


def _lasting(path: str | None) -> str | None:
    """Return where another process finds the file; None for an address that says what must not be shown."""
    if path is None or not is_address(path):
        return None if path is None else os.path.abspath(path)
    from packager._remote import address_in

    address = address_in(path)
    return None if address is None or address.is_secret else str(address)
