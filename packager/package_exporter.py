"""PackageExporter: what a user asks to be packed. It hands over; the work is in `exporting`."""

from __future__ import annotations

import io
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import TYPE_CHECKING, Any, BinaryIO, Literal

from packager._arguments import (
    check_by,
    check_callable,
    check_file,
    check_flag,
    check_kind,
    check_names,
    check_path,
    check_place,
    check_several,
    check_text,
)
from packager._calls import ValueType, copied_input
from packager._exporting import (
    CheckRequest,
    EntryRequest,
    Export,
    ExportPlan,
    ModuleRequest,
    ObjectRequest,
    Reduced,
    ResourceRequest,
    SharedArchive,
    SourceRequest,
    StateDictRequest,
    Why,
    as_importer,
    as_policy,
    asked_by_example,
    check_made_by,
    declared_types,
    export_options,
    globals_in,
    is_of_class,
    make_pickle,
    require_sound,
    runs_code,
    sources_in,
    with_wheels,
)
from packager._graph import Importer, sys_importer
from packager._names import demangle
from packager._notebook_line import log, shown_in_notebook
from packager._policy import GlobPattern, Policy
from packager._process import WithoutOwnFrames, syntax_unwarned
from packager._proving import ExportProof, watch_calls
from packager._ranks import Group, Ranks
from packager._texts import one_line
from packager.errors import ArgumentError, ModuleNotStoredError
from packager.errors import EmptyMatchError as EmptyMatchError
from packager.errors import PackagingError as PackagingError

if TYPE_CHECKING:
    from typing import Protocol

    from kellet.hooks import RemovableHandle
    from packager._policy import Decision
    from packager._proving import Proof
    from packager._signing import Signer

    class _ToldHook(Protocol):
        def __call__(self, exporter: Any, name: str, /) -> object: ...

    class _DecidingHook(Protocol):
        def __call__(self, exporter: Any, name: str, decision: Decision, /) -> Decision | None: ...

    _ActionHook = _ToldHook | _DecidingHook

__all__ = ["EmptyMatchError", "PackageExporter", "PackagingError"]

_READY, _IN_PLACE = "waiting for the proof", "waiting for the archive to be in place"


class PackageExporter:
    """Packs code, objects, state dicts and resources into one archive.

    `f` is a path or a binary file object. `importer` says where modules and objects come from: one
    Importer or several in order, so that what was loaded from another archive can be packed again.
    With `debug` errors show the paths of imports that led to each problem.

    `policy` decides modules that no rule names: None (an error, as in torch.package), "auto" (the
    project's code is stored, installed packages are required), "hermetic" (all pure Python is stored),
    "strict" (as None, and every rule must match), a policy file (.toml), or a Policy.

    `digests="crc"` saves the time for sha256 over tensors; `fsync=False` does not wait for the disk. A
    `runnable` archive holds its loader: `python net.kellet --info` needs only Python and NumPy.
    `vendor_wheels` names targets ("here", "cp311-manylinux_2_28_x86_64", ...). The wheels of required
    packages for these are stored, in the versions that are installed here. pip fetches them when the archive
    is written, also from the folders `find_links`. By default the target needs the recorded version or a
    later one of the same major version. `loosen` names other ranges: "numpy>=1.26", or "numpy" for any
    version.

    Before the file appears it is proved. A clean process, which cannot import the project, opens it, loads
    and compares everything, and repeats the examples. Modules and files that it asks for are stored by the
    same rules and hooks. If something differs, ProofError is raised, and nothing is written; `proof` says
    what was done. `prove="calls"` demands an example for every entry point. Without a process that can be
    started, the proof is left out with a warning; `prove=False` leaves it out silently. Then only modules
    that import statements name are stored.

    `sign` is a private key (the path of a PEM file), or a `packager.Signer`. The signature states where the
    project's code comes from: `by` (an author or a team), the git commit, whether files differ from it, and
    the remote, as far as they are known. With `provenance` the manifest states the same; equal content then
    no longer gives equal bytes.

    `progress(step, done, total)` is called while tensors are saved, modules are read (their number; the total
    is 0), bytes are written, and with the steps of the proof. A notebook shows these by itself. The logger
    "packager" gets each step, at level INFO. Nothing is printed.

    Objects and state dicts are read at the call. Their tensors are written then, to a temporary file beside
    `f`, so one archive can hold three checkpoints of one model. Equal bytes are stored once. `close()` writes
    the rest, and the file appears. On any error nothing is left behind, and an old file stays as it was. As a
    context manager it closes at the end; if the body fails, nothing is written. An exporter on a path that is
    collected without `close()` warns with ResourceWarning.

    `group` lets several processes (ranks) write one archive, with the same bytes as one process writes. Each
    makes the same calls, on a path that all can open, and gives `save_state_dict` its part of the state dict.
    Rank 0 runs the proof (`proof` is None on the others). An error on one rank is an error on all:
    OtherRankError, or RanksDisagreeError if their parts differ; an old file stays. A group has `rank()`,
    `size()` and `all_gather_bytes(data)`, as `kellet.distributed.group.WORLD` does; their errors pass
    through.

    Raises ArgumentError for an argument of the wrong kind and for an unknown preset, ArchiveIOError if `f`
    cannot be written, EnvironmentBuildError for an unknown target of wheels, PolicyFileError and OSError for
    a policy file.

    After `close()`, rules and saves raise PackagingError. Inside a hook, rules, saves (but not `save_text`
    and `save_binary`) and questions raise RuntimeError, as modules are being decided then. A save raises
    InvalidNameError for an invalid name, PackagingError for a name that is taken. Questions raise what a hook
    raises, and CodeExitError if saved code ends the process.

    >>> import io
    >>> with PackageExporter(io.BytesIO(), policy="auto") as exporter:
    ...     exporter.save_source_string("net", "import math")
    ...     exporter.save_text("net", "words.txt", "one two")
    >>> exporter.interned_modules(), exporter.externed_modules()
    (['net'], ['math'])

    Source: torch.package.PackageExporter; there the archive is written while things are saved, and
    a file is left behind when something fails.
    """

    def __init__(
        self,
        f: str | os.PathLike[str] | BinaryIO,
        importer: Importer | Sequence[Importer] = sys_importer,
        debug: bool = False,
        *,
        policy: str | os.PathLike[str] | Policy | None = None,
        digests: Literal["sha256", "crc"] = "sha256",
        fsync: bool = True,
        prove: bool | Literal["calls"] = True,
        runnable: bool = False,
        vendor_wheels: Sequence[str] = (),
        find_links: Sequence[str] = (),
        loosen: Sequence[str] = (),
        group: Group | None = None,
        sign: str | os.PathLike[str] | Signer | None = None,
        by: str = "",
        provenance: bool = False,
        progress: Callable[[str, int, int], None] | None = None,
    ) -> None:
        self._ranks = Ranks(group)
        self._made_at, self._made_in = object(), os.getpid()
        with self._ranks.telling():
            check_file("f", f, method="write")
            check_flag("debug", debug)
            if prove != "calls":
                check_kind("prove", prove, bool, "True, False or 'calls'")
            check_several("find_links", find_links, "a list of folders")
            if progress is not None:
                check_callable("progress", progress, "progress(step, done, total)")
            check_by(by)
            self.importer = as_importer(importer)
            self.debug = debug
            self.progress = progress
            self._identity: str | None = None
            self._shown: Callable[[str, int, int], None] | None = None
            self._step = ""
            self._find_links = tuple(find_links)
            self._reduced: Reduced = {}
            self._closes = False  # whether an end of this exporter is sure to come
            options = export_options(
                digests, fsync, prove == "calls", runnable, vendor_wheels, loosen, sign, by, provenance
            )
            rules = as_policy(policy).copy()
            self._export = Export(
                self, f, self.importer, rules, self._ranks, options, self._tell, watch_calls
            )
            self._proof = ExportProof(self._export, is_wanted=bool(prove))

    @property
    def identity(self) -> str | None:
        """The sha256 of the manifest, once the archive is written; None before."""
        return self._identity

    @property
    def proof(self) -> Proof | None:
        """The steps and the result of the proof; None before the archive is written, and without a proof."""
        return self._proof.result

    # --- rules and hooks ---

    def intern(self, include: GlobPattern, *, exclude: GlobPattern = (), allow_empty: bool = True) -> None:
        """Store the modules that match, with everything they import. The first rule that matches counts.

        With `allow_empty=False` closing raises EmptyMatchError when nothing matched. Raises ArgumentError for
        a pattern that is not a string or has `**` beside other characters (`a.**b`), for an `allow_empty`
        other than True and False, and beyond the limit of rules.

        >>> import io
        >>> exporter = PackageExporter(io.BytesIO())
        >>> exporter.intern("colorsys")  # its name is in the rule: else Python's own modules stay outside
        >>> exporter.save_source_string("net", "import colorsys, math")
        >>> exporter.interned_modules(), exporter.externed_modules()
        (['colorsys', 'net'], ['math'])
        """
        self._export.add_rule("intern", include, exclude, allow_empty)

    def extern(self, include: GlobPattern, *, exclude: GlobPattern = (), allow_empty: bool = True) -> None:
        """Require the modules that match at the target; record distribution and version. Else as `intern`.

        >>> import io
        >>> exporter = PackageExporter(io.BytesIO())
        >>> exporter.extern("numpy.**")
        >>> exporter.save_source_string("net", "import numpy")
        >>> exporter.externed_modules()
        ['numpy']
        """
        self._export.add_rule("extern", include, exclude, allow_empty)

    def mock(self, include: GlobPattern, *, exclude: GlobPattern = (), allow_empty: bool = True) -> None:
        """Mock the modules that match: importing them works, and using them fails. Else as `intern`.

        >>> import io
        >>> exporter = PackageExporter(io.BytesIO())
        >>> exporter.mock("wandb.**")
        >>> exporter.save_source_string("net", "import wandb")
        >>> exporter.mocked_modules()
        ['wandb']
        """
        self._export.add_rule("mock", include, exclude, allow_empty)

    def deny(self, include: GlobPattern, *, exclude: GlobPattern = ()) -> None:
        """Refuse the export when it needs a module that matches; patterns as for `intern`.

        >>> import io
        >>> exporter = PackageExporter(io.BytesIO(), policy="auto")
        >>> exporter.deny("pdb")
        >>> exporter.save_source_string("net", "import pdb")
        >>> exporter.denied_modules(), exporter.plan().ok
        (['pdb'], False)
        """
        self._export.add_rule("deny", include, exclude, True)

    def exclude_data(self, patterns: GlobPattern) -> None:
        """Leave out data files of interned packages: patterns over their paths, `"pkg/tests/**"`.

        Raises ArgumentError for an invalid pattern, as `intern`.

        >>> import io
        >>> exporter = PackageExporter(io.BytesIO(), policy="auto")
        >>> exporter.exclude_data(["net/tests/**", "net/**/*.csv"])
        >>> exporter.exclude_data("net/**.csv")
        Traceback (most recent call last):
            ...
        packager.errors.ArgumentError: ** can only appear as an entire path segment, found '**.csv'
        """
        self._export.leave_out(patterns)

    def allow_variable(self, name: str) -> None:
        """Let stored code read an environment variable that every target sets.

        The proof sets it, too; "*" stands for all. Raises ArgumentError for an invalid name.

        >>> import io
        >>> exporter = PackageExporter(io.BytesIO())
        >>> exporter.allow_variable("NET_WIDTH")
        """
        self._export.allow_variable(name)

    def register_intern_hook(self, hook: _ActionHook) -> RemovableHandle:
        """Call `hook(exporter, name)` or `hook(exporter, name, decision)` for each interned module.

        It runs once for each module, when the module is decided. A hook that takes the Decision may return
        another: veto (`action="deny"`), re-route, or rewrite (`source=`). The result of a hook with two
        arguments is ignored. A hook may save text and binary data, but must not add modules. A hook
        registered after a question also gets the modules decided so far, but can no longer change them. The
        handle's `remove()` removes it.

        Raises ArgumentError for a hook that takes neither two nor three arguments. The question that calls it
        raises what the hook raises, and HookAnswerError if it returns anything but a Decision or None.

        >>> import io
        >>> exporter = PackageExporter(io.BytesIO())
        >>> handle = exporter.register_intern_hook(lambda exporter, name: print("storing", name))
        >>> exporter.save_source_string("net", "")
        >>> exporter.interned_modules()
        storing net
        ['net']
        >>> handle.remove()

        Source: torch.package; there hooks run at `close()` and can change nothing.
        """
        return self._export.register("intern", hook)

    def register_extern_hook(self, hook: _ActionHook) -> RemovableHandle:
        """Call `hook` for each extern module, implicit ones included; see `register_intern_hook`.

        >>> import io
        >>> exporter = PackageExporter(io.BytesIO())
        >>> handle = exporter.register_extern_hook(lambda exporter, name: print("outside:", name))
        >>> exporter.save_source_string("net", "import math")
        >>> exporter.externed_modules()
        outside: math
        ['math']
        """
        return self._export.register("extern", hook)

    def register_mock_hook(self, hook: _ActionHook) -> RemovableHandle:
        """Call `hook` for each mocked module; see `register_intern_hook`.

        >>> import io
        >>> exporter = PackageExporter(io.BytesIO())
        >>> exporter.mock("wandb")
        >>> handle = exporter.register_mock_hook(lambda exporter, name: print("mocked:", name))
        >>> exporter.save_source_string("net", "import wandb")
        >>> exporter.mocked_modules()
        mocked: wandb
        ['wandb']
        """
        return self._export.register("mock", hook)

    def register_deny_hook(self, hook: _ActionHook) -> RemovableHandle:
        """Call `hook` for each denied module; see `register_intern_hook`.

        >>> import io
        >>> exporter = PackageExporter(io.BytesIO())
        >>> exporter.deny("pdb")
        >>> handle = exporter.register_deny_hook(lambda exporter, name: print("denied:", name))
        >>> exporter.save_source_string("net", "import pdb")
        >>> exporter.denied_modules()
        denied: pdb
        ['pdb']
        """
        return self._export.register("deny", hook)

    # --- what is saved ---

    def save_module(self, module_name: str, dependencies: bool = True) -> None:
        """Store a module, whatever the rules say, and decide what it imports by the rules.

        With `dependencies=False` its imports are ignored.

        Raises ArgumentError unless the name is a string, ModuleNotStoredError if there is no such module.

        >>> import io
        >>> exporter = PackageExporter(io.BytesIO())
        >>> exporter.save_module("colorsys")
        >>> exporter.interned_modules()
        ['colorsys']
        """
        if not isinstance(module_name, str):
            raise ArgumentError(
                "save_module() expects a string input, did you perhaps mean to pass `__name__`?"
            )
        check_flag("dependencies", dependencies)
        self._export.before("save a module")
        name = demangle(module_name)
        found = self._export.decisions.sources.find(name)
        if found.kind in ("missing", "resources"):
            raise ModuleNotStoredError(f"No module named {name!r}: {found.problem}", name=name)
        self._export.add(ModuleRequest(name, dependencies))

    def save_source_string(
        self, module_name: str, src: str, is_package: bool = False, dependencies: bool = True
    ) -> None:
        """Store `src` as the module of that name. Raises ArgumentError unless it is text.

        >>> import io
        >>> exporter = PackageExporter(io.BytesIO())
        >>> exporter.save_source_string("net", "", is_package=True)
        >>> exporter.save_source_string("net.layers", "from math import pi")
        >>> exporter.interned_modules()
        ['net', 'net.layers']
        """
        check_kind("module_name", module_name, str, "the name of a module")
        source = check_text("src", src, "the text of a module")
        check_flag("is_package", is_package)
        check_flag("dependencies", dependencies)
        self._export.before("save a module")
        self._export.add(SourceRequest(module_name, source, is_package, dependencies))

    def save_source_file(
        self, module_name: str, file_or_directory: str | os.PathLike[str], dependencies: bool = True
    ) -> None:
        """Store a file as the module of that name, or a folder with all its modules as a package.

        Raises ArgumentError unless it is a path, FileNotFoundError if nothing is there.

        >>> import io, tempfile
        >>> from pathlib import Path
        >>> exporter = PackageExporter(io.BytesIO())
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Path(folder, "__init__.py").touch()
        ...     Path(folder, "layers.py").touch()
        ...     exporter.save_source_file("net", folder)
        >>> exporter.interned_modules()
        ['net', 'net.layers']
        """
        check_kind("module_name", module_name, str, "the name of a module")
        check_path("file_or_directory", file_or_directory)
        self._export.before("save a module")
        for source in sources_in(module_name, Path(file_or_directory), dependencies):
            self._export.add(source)

    def save_text(self, package: str, resource: str, text: str) -> None:
        """Store text, as UTF-8, under a package. Raises ArgumentError unless it is text.

        >>> import io
        >>> exporter = PackageExporter(io.BytesIO())
        >>> exporter.save_text("net.data", "words.txt", "one two")
        >>> [entry.name for entry in exporter.plan().entries]
        ['net/data/words.txt']
        """
        check_place("save_text(package, resource, text)", package, resource)
        self.save_binary(package, resource, check_text("text", text, "text; save_binary takes bytes"))

    def save_binary(self, package: str, resource: str, binary: bytes) -> None:
        """Store bytes under a package. Hooks may call it. Raises ArgumentError unless they are bytes.

        >>> import io
        >>> exporter = PackageExporter(io.BytesIO())
        >>> exporter.save_binary("net", "table.bin", bytes(16))
        >>> [(entry.name, entry.size) for entry in exporter.plan().entries]
        [('net/table.bin', 16)]
        """
        check_place("save_binary(package, resource, binary)", package, resource)
        check_kind("binary", binary, (bytes, bytearray, memoryview), "bytes; save_text takes text")
        self._export.add_resource(ResourceRequest(package, resource, bytes(binary)))

    def save_pickle(
        self, package: str, resource: str, obj: object, dependencies: bool = True, pickle_protocol: int = 3
    ) -> None:
        """Store `obj` as a real pickle, which importers read only with `allow_pickle=True`.

        The pickle is made at once. Prefer `save_object`, which runs nothing when it is read.

        Raises ArgumentError for an unknown protocol, pickle.PicklingError if `importer` finds another class
        under a name.

        >>> import io
        >>> from fractions import Fraction
        >>> exporter = PackageExporter(io.BytesIO())
        >>> exporter.save_pickle("net", "ratio.pkl", Fraction(1, 2))
        >>> "fractions" in exporter.externed_modules()
        True
        """
        check_place("save_pickle(package, resource, obj)", package, resource)
        self._export.before("save an object")
        data = make_pickle(obj, self.importer, pickle_protocol, self, self._reduced)
        self._export.add(ResourceRequest(package, resource, data, "pickle", globals_in(data), dependencies))

    def save_object(
        self,
        package: str,
        resource: str,
        obj: object,
        *,
        factory: Callable[..., Any] | str | None = None,
        config: Mapping[str, Any] | None = None,
        example: object = None,
        method: str | None = None,
    ) -> None:
        """Store an object as data: its class by name, its state, its tensors, and the code of its class.

        `example` is what it is called with, so that the outputs are stored and checked: one argument (a tuple
        is one, too), or `packager.Example(*args, **kwargs)`. An argument is an array, a tensor, a DataFrame,
        a number, text, bytes, None, or a list or dict of plain values. The call is stored under the name of
        the resource, which also names the entry point; see `save_example`. `method` names the method that is
        called, by default the object itself or, if it cannot be called, its `predict`, `transform` or
        `decision_function`. An object of stored code without an example causes an UncheckedOutputsWarning at
        `close()`.

        With `factory` (a callable, or its name as "package.module:name"), loading calls `factory(**config)`
        and loads the stored state dict of `obj` into the new object.

        The object is read at once, and its tensors are written: later changes are not in the archive. The
        plan lists each part that cannot be stored, with its attribute path.

        Raises ArgumentError for a factory that is neither a callable nor text, for a `config` without one or
        with other keys than strings, for an example that cannot be stored and an object that cannot be
        called; PackagingError for a factory that cannot be found by its name, CodeExitError if the object's
        code calls `sys.exit()` or the like.

        >>> import io
        >>> from kellet.nn import Linear
        >>> from packager import PackageImporter
        >>> file = io.BytesIO()
        >>> with PackageExporter(file) as exporter:
        ...     exporter.save_object("model", "config", {"layers": [8, 8]})
        ...     exporter.save_object("model", "head", Linear(2, 1), example=[[1.0, 2.0]])
        >>> [check.name for check in exporter.plan().checks]
        ['head']
        >>> with PackageImporter(file) as importer:
        ...     importer.load_object("model", "config")
        {'layers': [8, 8]}
        """
        check_place("save_object(package, resource, obj)", package, resource)
        check_made_by(factory, config)
        check_kind("method", method, (str, type(None)), "the name of a method, or None")
        self._export.before("save an object")
        item = ObjectRequest(package, resource, obj, factory, config)
        called = asked_by_example(self._export.request, item, example, method)
        self._take(item)
        for one in called:
            self._export.add(one)

    def save_state_dict(
        self,
        package: str,
        resource: str,
        module_or_mapping: object,
        *,
        keys: Sequence[str] | None = None,
    ) -> None:
        """Store a state dict as safetensors, with an extra entry for what safetensors cannot store.

        A module's own `state_dict()` is called at once, with all its hooks, and its tensors are written, as
        those of `save_object`.

        With a `group` every rank gives its part of one state dict: whole tensors, and slices as `Shard`.
        Values that several ranks give must be equal, and slices must fill their tensor. Values other than
        tensors are taken from rank 0. Keys are in the order of rank 0, then the further ones of rank 1, and
        so on; or in the order of `keys`, which must list them all.

        Raises ArgumentError unless it is a mapping from names or has a state dict, CodeExitError as
        `save_object`; with a group RanksDisagreeError on all ranks if their parts do not fit together,
        OtherRankError if another rank failed: both are PackagingErrors.

        >>> import io
        >>> from kellet.nn import Linear
        >>> exporter = PackageExporter(io.BytesIO())
        >>> exporter.save_state_dict("model", "weights", Linear(2, 1))
        >>> [record.resource for record in exporter.plan().state_dicts]
        ['weights']
        """
        with self._ranks.telling():
            check_place("save_state_dict(package, resource, module_or_mapping)", package, resource)
            if isinstance(module_or_mapping, Mapping):
                check_names("state dict", module_or_mapping)
            if keys is not None:
                check_several("keys", keys, "a list of the keys of the whole state dict")
                if not self._ranks.is_of_group:
                    raise ArgumentError(
                        "keys= needs PackageExporter(..., group=...): it orders the parts of several ranks; "
                        "leave it out"
                    )
            self._export.before("save a state dict")
            listed = None if keys is None else tuple(keys)
            self._take(StateDictRequest(package, resource, module_or_mapping, keys=listed))

    def save_pretrained(
        self,
        source: object,
        package: str = "model",
        resource: str = "model",
        *,
        tokenizer: object = None,
        processor: object = None,
        remote_code: bool = False,
        example: object = None,
    ) -> Any:
        """Store a model of Hugging Face's libraries with its tokenizer and processor; return the object.

        `source` is a folder of transformers, peft, sentence-transformers or diffusers, which that library
        reads without downloading anything, or a model or a pipeline of theirs; give a model with its
        `tokenizer` and `processor`. The stored object takes text, images or sound, and has these as
        attributes. Its class is stored as a module, and the entry point has the name of the resource. The
        libraries are required at the target. Code in the folder is run and stored only with `remote_code`.
        `example` is that of `save_object`.

        Raises PretrainedError, a PackageError, for a folder that cannot be read, ArgumentError for another
        object, and what `save_object` raises.

        >>> import io
        >>> PackageExporter(io.BytesIO()).save_pretrained("no_such_folder")
        Traceback (most recent call last):
            ...
        packager.errors.PretrainedError: no_such_folder: found no such folder; expected ...
        """
        from packager._pretrained import declared_inputs, parts_in, wrapped, wrapper_source

        check_flag("remote_code", remote_code)
        self._export.before("save a pretrained model")
        wrapper = wrapped(parts_in(source, tokenizer, processor, remote_code=remote_code))
        module = type(wrapper).__module__
        if module not in self._export.request.asked_for:
            self.save_source_string(module, wrapper_source(module))
        self.save_entry_point(resource, package, resource, takes=declared_inputs(wrapper))
        self.save_object(package, resource, wrapper, example=example)
        return wrapper

    def save_entry_point(
        self,
        name: str,
        package: str,
        resource: str,
        method: str | None = None,
        *,
        takes: Mapping[str, str | ValueType] = MappingProxyType({}),
        gives: Mapping[str, str | ValueType] = MappingProxyType({}),
    ) -> None:
        """Name a stored object for `kellet run`, and its `method` to call: by default the object itself.

        The method is `forward`, `predict`, `predict_proba`, `transform`, `decision_function`, or a public
        method of a class whose source is stored; any other is a problem of the plan.

        An object that can be called and is saved as package "model", resource "model", is the entry point
        "model" without this call.

        `takes` declares the types of its parameters, and `gives` those of its outputs ("output", "output.0",
        "output.key"), as ValueType or as its text: "float32[*, 3]", "list[text]". Other types are learnt from
        the examples. Inputs are compared with them before each call.

        Raises ArgumentError for a name that is not a string, and for an invalid type, PackagingError if the
        name is taken.

        >>> import io
        >>> from kellet.nn import Linear
        >>> exporter = PackageExporter(io.BytesIO())
        >>> exporter.save_object("model", "head", Linear(2, 1))
        >>> exporter.save_entry_point("score", "model", "head", "forward", takes={"input": "float32[*, 2]"})
        >>> [(entry.name, entry.callable) for entry in exporter.plan().entry_points]
        [('score', 'forward')]
        >>> print(*exporter.plan().schemas)
        score(input: float32[*, 2]) -> ?
        """
        check_place("save_entry_point(name, package, resource)", package, resource)
        check_kind("method", method, (str, type(None)), "the name of a method, or None")
        self._export.before("name an entry point")
        declared = [declared_types("takes", takes), declared_types("gives", gives)]
        self._export.add(EntryRequest(name, package, resource, method, *declared))

    def save_example(
        self,
        name: str,
        inputs: Mapping[str, Any],
        *,
        training: bool = False,
        entry: str | None = None,
        trace: bool = False,
    ) -> None:
        """Store a call of the entry point `name` and its result, for `kellet check` to repeat.

        `inputs` are values by parameter name, or by position as `arg0`, `arg1`, ...; they are copied: arrays,
        tensors, DataFrames, numbers, text, bytes, None, and lists and dicts of plain values. Outputs may be
        any combination of these. When the plan is made, the object is called twice with the same random
        state, in evaluation mode or in training mode, and is left unchanged. If the outputs differ, the check
        is not repeatable: a warning says so, and outputs are not compared. Otherwise a copy is called once.
        If its outputs differ, or a call fails, that is a problem of the plan: the object keeps state outside
        of itself.

        A second example of an entry point has a name of its own, and names the entry point: `entry="model"`.
        Examples of several sizes show which axes may vary: see `save_entry_point`.

        With `trace` the object is called once more, and a digest and a short summary of the inputs and
        outputs of each submodule, or each step of a pipeline, are stored. If outputs differ later, `kellet
        check` names the first submodule that differs. A trace takes about 0.5 kB for each value.

        Raises ArgumentError unless inputs are a mapping from names, PackagingError if the name is taken.

        >>> import io, numpy
        >>> from kellet.nn import Linear
        >>> exporter = PackageExporter(io.BytesIO())
        >>> exporter.save_object("model", "model", Linear(2, 1))
        >>> exporter.save_example("model", {"arg0": numpy.ones((3, 2), "float32")})
        >>> exporter.plan().ok, len(exporter.plan().checks)
        (True, 1)
        """
        check_names("inputs", inputs, "write save_example(name, {'arg0': array})")
        check_flag("training", training)
        check_kind("entry", entry, (str, type(None)), "the name of an entry point, or None")
        check_flag("trace", trace)
        self._export.before("save a check")
        copied = {key: copied_input(key, value) for key, value in inputs.items()}
        self._export.add(CheckRequest(name, copied, training, entry, trace))

    # --- questions ---

    def plan(self, *, prove: bool = False) -> ExportPlan:
        """Return what `close()` would write now, with all problems; frozen and printable.

        With `prove`, and before `close()`, a plan without problems is written to a temporary file and proved,
        as `close()` does; the plan then has the results.

        >>> import io
        >>> exporter = PackageExporter(io.BytesIO())
        >>> exporter.save_source_string("net", "import not_installed_here")
        >>> plan = exporter.plan()
        >>> plan.ok, [problem.subject for problem in plan.problems]
        (False, ['not_installed_here'])
        """
        check_flag("prove", prove)
        plan = self._export.plan()
        is_proved = prove and plan.ok and self._export.state == "open" and self._ranks.is_first
        return self._proof.proved(plan) if is_proved else plan

    def why(self, module_name: str) -> Why:
        """Say why a module is in the plan: the decision, and the chain of imports with file and line.

        Raises KeyNotStoredError for a module that is not in the plan.

        >>> import io
        >>> exporter = PackageExporter(io.BytesIO())
        >>> exporter.save_source_string("net", "import math")
        >>> print(exporter.why("math"))
        math: extern by implicit (standard library)
            net (asked for)
            math (net.py:1)
        """
        check_kind("module_name", module_name, str, "the name of a module")
        return self._export.survey("ask why").why(module_name)

    def get_rdeps(self, module_name: str) -> list[str]:
        """Return the modules that import `module_name`; empty for one that is not in the plan.

        Kept for code written for torch.package: `plan()` and `why()` say more.

        >>> import io
        >>> exporter = PackageExporter(io.BytesIO())
        >>> exporter.save_source_string("net", "import math")
        >>> exporter.get_rdeps("math"), exporter.get_rdeps("json")
        (['net'], [])
        """
        check_kind("module_name", module_name, str, "the name of a module")
        graph = self._export.survey("ask who imports a module").walk.graph()
        return list(graph.predecessors(module_name)) if module_name in graph.nodes else []

    def all_paths(self, src: str, dst: str) -> str:
        """Return all paths of imports from `src` to `dst`, as a DOT digraph.

        Kept for code written for torch.package: `plan()` and `why()` say more.

        >>> import io
        >>> exporter = PackageExporter(io.BytesIO())
        >>> exporter.save_source_string("net", "import math")
        >>> '"net" -> "math";' in exporter.all_paths("net", "math")
        True
        """
        for name, value in (("src", src), ("dst", dst)):
            check_kind(name, value, str, "the name of a module")
        return self._export.survey("ask for paths").walk.graph().all_paths(src, dst)

    def dependency_graph_string(self) -> str:
        """Return the whole graph of imports, as a DOT digraph.

        Kept for code written for torch.package: `plan()` and `why()` say more.

        >>> import io
        >>> exporter = PackageExporter(io.BytesIO())
        >>> exporter.save_source_string("net", "import math")
        >>> '"net" -> "math";' in exporter.dependency_graph_string()
        True
        """
        return self._export.survey("ask for the graph").walk.graph().to_dot()

    def interned_modules(self) -> list[str]:
        """Return the names of the modules that are stored, sorted.

        Kept for code written for torch.package: `plan()` and `why()` say more.

        >>> import io
        >>> exporter = PackageExporter(io.BytesIO())
        >>> exporter.save_source_string("net", "import math")
        >>> exporter.interned_modules()
        ['net']
        """
        return self._export.decided("intern")

    def externed_modules(self) -> list[str]:
        """Return the names of the modules that are required at the target, sorted.

        Kept for code written for torch.package: `plan()` and `why()` say more.

        >>> import io
        >>> exporter = PackageExporter(io.BytesIO())
        >>> exporter.save_source_string("net", "import math")
        >>> exporter.externed_modules()
        ['math']
        """
        return self._export.decided("extern")

    def mocked_modules(self) -> list[str]:
        """Return the names of the modules that are mocked, sorted.

        Kept for code written for torch.package: `plan()` and `why()` say more.

        >>> import io
        >>> exporter = PackageExporter(io.BytesIO())
        >>> exporter.mock("wandb")
        >>> exporter.save_source_string("net", "import wandb")
        >>> exporter.mocked_modules()
        ['wandb']
        """
        return self._export.decided("mock")

    def denied_modules(self) -> list[str]:
        """Return the names of the modules that were denied, sorted.

        Kept for code written for torch.package: `plan()` and `why()` say more.

        >>> import io
        >>> exporter = PackageExporter(io.BytesIO())
        >>> exporter.deny("pdb")
        >>> exporter.save_source_string("net", "import pdb")
        >>> exporter.denied_modules()
        ['pdb']
        """
        return self._export.decided("deny")

    def get_unique_id(self) -> str:
        """Return an id that is unique in this exporter, for names of resources in `__reduce_package__`.

        >>> import io
        >>> exporter = PackageExporter(io.BytesIO())
        >>> exporter.get_unique_id() == exporter.get_unique_id()
        False
        """
        return self._export.request.unique_id()

    # --- the end ---

    def close(self) -> None:
        """Write the archive. Closing twice is fine.

        Raises PackagingError with all problems, else EmptyMatchError for rules that had to match and did not,
        else EnvironmentBuildError if wheels cannot be found, ArchiveError if the file cannot be written,
        ProofError, a PackagingError, if it cannot be loaded in a clean process: nothing is left behind, and
        the exporter is closed. Raises RuntimeError inside a hook.

        >>> import io
        >>> exporter = PackageExporter(io.BytesIO())
        >>> exporter.save_source_string("net", "import not_installed_here")
        >>> exporter.close()
        Traceback (most recent call last):
            ...
        packager.errors.RefusedPlanError: ...
        """
        export = self._export
        if export.state != "open":
            return
        export.decisions.require_outside_hooks("close the exporter")
        try:
            with (
                WithoutOwnFrames(),
                self._ranks.telling(),
                syntax_unwarned(),
                shown_in_notebook() as shown,
            ):
                self._shown = shown
                self._close()
            export.state = "closed"
            export.request.let_go()
            log(self._name, f"in place; {'not proved' if self.proof is None else self.proof.outcome}")
        finally:
            self._proof.end()  # where it was not needed
            if export.state != "closed":
                export.abandon()

    def _close(self) -> None:
        """Prove and write what is planned; with a group rank 0 does, when the plans of all are one."""
        export = self._export
        if any(map(runs_code, export.request)):
            self._proof.start(next(filter(is_of_class, export.request), None))
        plan = export.plan()
        require_sound(plan, debug=self.debug)
        if isinstance(export.archive, SharedArchive):
            plan = export.archive.agree(plan)
        if self._ranks.is_first:
            plan = self._write(plan)
        else:
            self._ranks.exchange(_READY, None)
        try:
            self._identity = self._ranks.from_first(_IN_PLACE, self._identity)
        except Exception as error:
            if self._ranks.is_first:
                error.add_note("the archive is in place, and whole: another rank failed after it was written")
            raise
        export.settle(plan)

    def _write(self, plan: ExportPlan) -> ExportPlan:
        """Prove and write a plan, and put the archive in place; return the plan with what the proof found."""
        if self._proof.is_wanted:
            plan = self._proof.prove(plan)
        self._export.state = "abandoned"
        self._proof.warn(plan)
        targets = self._export.options.wheels_for
        with with_wheels(plan, targets, self._find_links) if targets else nullcontext(plan) as whole:
            sign = None if self._export.options.signer is None else self._export.sign
            self._identity = self._export.archive.finish(whole, check=self._await_ranks, sign=sign)
            self._proof.in_place(whole)
            return self._proof.found(whole)

    def _await_ranks(self, file: str) -> None:
        """See that all ranks are there before the archive takes its name."""
        self._ranks.exchange(_READY, None)

    def __del__(self) -> None:
        export = getattr(self, "_export", None)  # there is none where __init__ failed
        if export is None or export.state != "open" or self._made_in != os.getpid():
            return
        self._proof.end()
        export.abandon()
        if len(export.request) and not isinstance(export.file, io.BytesIO):
            warnings.warn(
                f"unclosed exporter: {one_line(self._name)} was not written; write "
                "`with PackageExporter(...) as exporter:`, or call close()",
                ResourceWarning,
                source=self._made_at,
                stacklevel=1,
            )

    def __enter__(self) -> PackageExporter:
        self._export.require_open()
        self._closes = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            with WithoutOwnFrames():
                self.close()
        elif self._export.state == "open":
            self._proof.end()
            self._export.abandon()
            if error is not None:
                self._ranks.tell(error)

    # --- helpers ---

    def _take(self, item: ObjectRequest | StateDictRequest) -> None:
        """Add what is saved as data, as it is now; the proof that it needs begins beside."""
        if self._closes:
            self._proof.expect(item)
        try:
            self._export.take(item)
        finally:
            if self._export.state != "open":
                self._proof.end()

    @property
    def _name(self) -> str:
        """What the target is called."""
        file = self._export.file
        return str(
            file if isinstance(file, str | os.PathLike) else getattr(file, "name", type(file).__name__)
        )

    def _tell(self, step: str, done: int, total: int = 0) -> None:
        if step != self._step:
            self._step = step
            log(self._name, step)
        tell = self.progress or self._shown
        if tell is not None:
            tell(step, done, total)
