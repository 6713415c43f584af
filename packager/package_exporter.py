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

from packager.archive import ValueType
from packager.arguments import (
    check_choice,
    check_file,
    check_flag,
    check_kind,
    check_names,
    check_path,
    check_several,
    check_text,
)
from packager.calls import copied_input
from packager.environment import parse_targets, requirements_by_name
from packager.errors import ArgumentError
from packager.errors import EmptyMatchError as EmptyMatchError
from packager.errors import PackagingError as PackagingError
from packager.exporting import (
    CheckRequest,
    EntryRequest,
    Export,
    ExportOptions,
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
    globals_in,
    is_of_class,
    make_pickle,
    require_sound,
    runs_code,
    sources_in,
    with_wheels,
)
from packager.graph import Importer, sys_importer
from packager.names import demangle
from packager.notebook_line import shown_in_notebook
from packager.policy import Answer, GlobPattern, Policy
from packager.process import syntax_unwarned
from packager.proving import ExportProof, watch_calls
from packager.ranks import Group, Ranks
from packager.texts import one_line

if TYPE_CHECKING:
    from kellet.hooks import RemovableHandle
    from packager.proving import Proof

__all__ = ["EmptyMatchError", "PackageExporter", "PackagingError"]

_READY, _IN_PLACE = "waiting for the proof", "waiting for the archive to be in place"


class PackageExporter:
    """Packs code, objects, state dicts and resources into one archive.

    `f` is a path or a binary file object. `importer` says where modules and objects come from: one
    Importer or several in order, so that what was loaded from another archive can be packed again.
    With `debug` errors show the paths of imports that led to each problem.

    `policy` decides modules that no rule names: None (an error, as in torch.package), "auto" (what
    is installed stays outside, the project's own code goes in), "hermetic" (all pure Python goes
    in), "strict" (as None, and every rule must match), a policy file (.toml), or a Policy.
    `digests="crc"` saves the
    time for sha256 over tensors, `fsync=False` that for waiting on the disk. A `runnable` archive
    carries its loader: `python net.kellet --info` works where there is only Python and NumPy.
    `vendor_wheels` names targets ("here", "cp311-manylinux_2_28_x86_64", ...) for which the wheels of
    the externs go into the archive, in the versions that are installed here; pip fetches them when it
    is written, also from the folders `find_links`. `loosen` says what will do at the target in the place of
    what follows from the versions here (not older, and the same major version): "numpy>=1.26", or "numpy"
    for any; the version that is here is recorded all the same.

    Before the archive gets its name it is proved: opened in a clean process, where nothing of the
    project can be imported, everything in it loaded, encoded again, and its golden calls repeated. Modules
    and files that it asks for are stored as rules and hooks decide. What does not come back is a
    ProofError, and nothing is written; `proof` says what was done. `prove="calls"` demands a golden call for
    every entry point. `prove=False` is for where no process can be started: that is a warning otherwise. Then
    only what import statements name is stored.

    `progress(step, done, total)`, an attribute that may be set, is called while tensors are saved, while
    modules are read (their number; the total is 0, as it is not known yet), while bytes are written, and with
    the steps of the proof; a notebook shows these by itself. `identity` is that of the archive once it is
    written, None before.

    Objects and state dicts are taken as they are at the call: their tensors are written then, to a
    temporary file beside `f`, so that three checkpoints of one model are three, and nothing is copied in
    memory. What has the same bytes in several saves is stored once. `close()` writes the rest and puts the
    archive in place or, on any error, leaves nothing behind: an old file stays as it was. As a context
    manager it closes at the end, and leaves nothing when the body fails. An exporter that has something to
    write and is collected without `close()` is a ResourceWarning; one over an `io.BytesIO` is none, as that
    will do to ask for a plan.

    `group` lets several processes make one archive, byte for byte that which one makes: each calls the same,
    on a path that all can open, and gives `save_state_dict` what it has of the state dict. Everything else
    they save alike. Rank 0 proves (`proof` is None on the others), and puts the archive in place when all are
    done; what fails on one rank is an error on all of them, OtherRankError, or RanksDisagreeError where they
    differ, and leaves the old file. A group has `rank()`, `size()` and `all_gather_bytes(data)`, as
    `kellet.distributed.group.WORLD` does; what these raise goes through.

    Raises ArgumentError for an argument of the wrong kind and for a preset that is not known,
    ArchiveIOError for a target that cannot be written to, EnvironmentBuildError for a target of wheels,
    PolicyFileError and OSError for a policy file.

    Whatever adds to an export raises PackagingError after its end. That (but for `save_text` and
    `save_binary`) and questions raise RuntimeError inside a hook, as modules are being decided then. A save
    raises InvalidNameError for a name that no archive can hold, PackagingError where its place is taken.
    Questions raise what a hook raises, and CodeExitError where code of what is saved ends the process.

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
        digests: str = "sha256",
        fsync: bool = True,
        prove: bool | Literal["calls"] = True,
        runnable: bool = False,
        vendor_wheels: Sequence[str] = (),
        find_links: Sequence[str] = (),
        loosen: Sequence[str] = (),
        group: Group | None = None,
    ) -> None:
        self._ranks = Ranks(group)
        self._made_at, self._made_in = object(), os.getpid()
        with self._ranks.telling():
            check_file("f", f, method="write")
            check_flag("debug", debug)
            check_choice("digests", digests, ("sha256", "crc"))
            check_flag("fsync", fsync)
            if prove != "calls":
                check_flag("prove", prove)
            check_flag("runnable", runnable)
            check_several("vendor_wheels", vendor_wheels, "a list of targets")
            check_several("find_links", find_links, "a list of folders")
            check_several("loosen", loosen, "a list of requirements")
            self.importer = as_importer(importer)
            self.debug = debug
            self.identity: str | None = None
            self.progress: Callable[[str, int, int], None] | None = None
            self._shown: Callable[[str, int, int], None] | None = None
            self._find_links = tuple(find_links)
            self._reduced: Reduced = {}
            self._closes = False  # whether an end of this exporter is sure to come
            options = ExportOptions(
                digests,
                fsync,
                calls_demanded=prove == "calls",
                runnable=runnable,
                wheels_for=parse_targets(vendor_wheels) if vendor_wheels else (),
                loosened=requirements_by_name("loosen", loosen) if loosen else {},
            )
            rules = as_policy(policy).copy()
            self._export = Export(
                self, f, self.importer, rules, self._ranks, options, self._tell, watch_calls
            )
            self._proof = ExportProof(self._export, is_wanted=bool(prove))

    @property
    def proof(self) -> Proof | None:
        """What was done to prove the archive, and what came of it; None before, and without a proof."""
        return self._proof.result

    # --- rules and hooks ---

    def intern(self, include: GlobPattern, *, exclude: GlobPattern = (), allow_empty: bool = True) -> None:
        """Store the modules that match, with everything they import. The first rule that matches counts.

        With `allow_empty=False` closing raises EmptyMatchError when nothing matched. Raises ArgumentError for
        a pattern that is no string or where `**` is only a piece of a part, for an `allow_empty` that is
        neither True nor False, and for more rules than a policy may have.

        >>> import io
        >>> exporter = PackageExporter(io.BytesIO())
        >>> exporter.intern("colorsys")  # its name is in the rule: else Python's own modules stay outside
        >>> exporter.save_source_string("net", "import colorsys, math")
        >>> exporter.interned_modules(), exporter.externed_modules()
        (['colorsys', 'net'], ['math'])
        """
        self._export.add_rule("intern", include, exclude, allow_empty)

    def extern(self, include: GlobPattern, *, exclude: GlobPattern = (), allow_empty: bool = True) -> None:
        """Leave the modules that match to the target; record distribution and version. Else as `intern`.

        >>> import io
        >>> exporter = PackageExporter(io.BytesIO())
        >>> exporter.extern("numpy.**")
        >>> exporter.save_source_string("net", "import numpy")
        >>> exporter.externed_modules()
        ['numpy']
        """
        self._export.add_rule("extern", include, exclude, allow_empty)

    def mock(self, include: GlobPattern, *, exclude: GlobPattern = (), allow_empty: bool = True) -> None:
        """Mock the modules that match: they can be imported, and not be used. Else as `intern`.

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

        Raises ArgumentError for what is no pattern, as `intern`.

        >>> import io
        >>> exporter = PackageExporter(io.BytesIO(), policy="auto")
        >>> exporter.exclude_data(["net/tests/**", "net/**/*.csv"])
        >>> exporter.exclude_data("net/**.csv")
        Traceback (most recent call last):
            ...
        packager.errors.ArgumentError: ** can only appear as an entire path segment, found '**.csv'
        """
        self._export.leave_out(patterns)

    def answer(self, question: str, names: Answer) -> None:
        """Say that a variable of the environment is set wherever this is loaded, or does not matter.

        `answer("os:environ.NET_WIDTH", "none")`: then stored code finds it in the proof, too; "os:environ.*"
        stands for all. Raises ArgumentError for anything else.

        >>> import io
        >>> exporter = PackageExporter(io.BytesIO())
        >>> exporter.answer("os:environ.NET_WIDTH", "none")
        >>> exporter.answer("net.config:WIDTH", "none")
        Traceback (most recent call last):
            ...
        packager.errors.ArgumentError: question='net.config:WIDTH': expected "os:environ." and a name
        """
        check_kind("question", question, str, "the name of a variable")
        check_choice("names", names, ("none",))
        if not question.startswith("os:environ."):
            raise ArgumentError(f'question={question!r}: expected "os:environ." and a name')
        self._export.answer(question, names)

    def register_intern_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(exporter, name)` or `hook(exporter, name, decision)` for each interned module.

        It runs once for each module, when the module is decided, before the walk goes on. One that
        takes the Decision may return another: veto (`action="deny"`), re-route, or rewrite
        (`source=`); what one of two arguments returns is ignored. It may save text and binary data,
        and add no modules. A hook registered after a question is told of the modules decided so
        far, and can no longer change them. The handle's `remove()` takes it away again.

        Raises ArgumentError for a hook that takes neither two nor three arguments. What a hook raises goes
        through the question that calls it; HookAnswerError for an answer that is no Decision.

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
        _check_hook(hook)
        return self._export.register("intern", hook)

    def register_extern_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook` for each extern module, implicit ones included; see `register_intern_hook`.

        >>> import io
        >>> exporter = PackageExporter(io.BytesIO())
        >>> handle = exporter.register_extern_hook(lambda exporter, name: print("outside:", name))
        >>> exporter.save_source_string("net", "import math")
        >>> exporter.externed_modules()
        outside: math
        ['math']
        """
        _check_hook(hook)
        return self._export.register("extern", hook)

    def register_mock_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
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
        _check_hook(hook)
        return self._export.register("mock", hook)

    def register_deny_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
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
        _check_hook(hook)
        return self._export.register("deny", hook)

    # --- what is saved ---

    def save_module(self, module_name: str, dependencies: bool = True) -> None:
        """Store a module, whatever the rules say, and decide what it imports by the rules.

        Without `dependencies` nothing that it imports is looked at.

        Raises ArgumentError for a name that is no string, ModuleNotFoundError where there is no such module.

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
        self._export.before("save a module")
        name = demangle(module_name)
        found = self._export.decisions.sources.find(name)
        if found.kind in ("missing", "resources"):
            raise ModuleNotFoundError(f"No module named {name!r}: {found.problem}", name=name)
        self._export.add(ModuleRequest(name, dependencies))

    def save_source_string(
        self, module_name: str, src: str, is_package: bool = False, dependencies: bool = True
    ) -> None:
        """Store `src` as the module of that name. Raises ArgumentError where it is no text.

        >>> import io
        >>> exporter = PackageExporter(io.BytesIO())
        >>> exporter.save_source_string("net", "", is_package=True)
        >>> exporter.save_source_string("net.layers", "from math import pi")
        >>> exporter.interned_modules()
        ['net', 'net.layers']
        """
        source = check_text("src", src, "the text of a module")
        self._export.before("save a module")
        self._export.add(SourceRequest(module_name, source, is_package, dependencies))

    def save_source_file(
        self, module_name: str, file_or_directory: str | os.PathLike[str], dependencies: bool = True
    ) -> None:
        """Store a file as the module of that name, or a folder with all its modules as a package.

        Raises ArgumentError for what is no path, FileNotFoundError where there is neither.

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
        check_path("file_or_directory", file_or_directory)
        self._export.before("save a module")
        for source in sources_in(module_name, Path(file_or_directory), dependencies):
            self._export.add(source)

    def save_text(self, package: str, resource: str, text: str) -> None:
        """Store text, as UTF-8, under a package. Raises ArgumentError where it is no text.

        >>> import io
        >>> exporter = PackageExporter(io.BytesIO())
        >>> exporter.save_text("net.data", "words.txt", "one two")
        >>> [entry.name for entry in exporter.plan().entries]
        ['net/data/words.txt']
        """
        self.save_binary(package, resource, check_text("text", text, "text; save_binary takes bytes"))

    def save_binary(self, package: str, resource: str, binary: bytes) -> None:
        """Store bytes under a package. Hooks may do so too. Raises ArgumentError where it is no bytes.

        >>> import io
        >>> exporter = PackageExporter(io.BytesIO())
        >>> exporter.save_binary("net", "table.bin", bytes(16))
        >>> [(entry.name, entry.size) for entry in exporter.plan().entries]
        [('net/table.bin', 16)]
        """
        check_kind("binary", binary, (bytes, bytearray, memoryview), "bytes; save_text takes text")
        self._export.add_resource(ResourceRequest(package, resource, bytes(binary)))

    def save_pickle(
        self, package: str, resource: str, obj: Any, dependencies: bool = True, pickle_protocol: int = 3
    ) -> None:
        """Store `obj` as a real pickle, which loaders refuse unless told otherwise.

        The pickle is made at once. Prefer `save_object`, which runs nothing when it is read.

        Raises pickle.PicklingError where a class is not the one that `importer` finds.

        >>> import io
        >>> from fractions import Fraction
        >>> exporter = PackageExporter(io.BytesIO())
        >>> exporter.save_pickle("net", "ratio.pkl", Fraction(1, 2))
        >>> "fractions" in exporter.externed_modules()
        True
        """
        check_kind("pickle_protocol", pickle_protocol, int, "a number")
        self._export.before("save an object")
        data = make_pickle(obj, self.importer, pickle_protocol, self, self._reduced)
        self._export.add(ResourceRequest(package, resource, data, "pickle", globals_in(data), dependencies))

    def save_object(
        self,
        package: str,
        resource: str,
        obj: Any,
        *,
        factory: Callable[..., Any] | str | None = None,
        config: Mapping[str, Any] | None = None,
        example: Any = None,
        method: str | None = None,
    ) -> None:
        """Store an object as data: its class by name, its state, its tensors; the code goes along.

        `example` is what it is called with, so that the outputs are stored and checked: one argument (a tuple
        is one, too), or `packager.Example(*args, **kwargs)`. An argument is an array, a tensor, a number,
        text, bytes, None, or a list or dict of plain values. It is a golden call of an entry point with the
        name of the resource; see `save_check`. `method` names what is called, by default the object itself
        or, where it cannot be called, its `predict`, `transform` or `decision_function`. Without an example
        an object of stored code is an UncheckedOutputsWarning when the exporter closes.

        With `factory` (a callable, or its name as "package.module:name") the object is made anew by
        `factory(**config)` when it is loaded, and takes up the stored state dict of `obj`.

        The object is read at once, and its tensors are written: what changes later is not in the archive.
        What cannot be stored is in the plan, all of it, with its attribute path.

        Raises ArgumentError for a factory that is neither a callable nor text, for a `config` without
        one or with keys that are no strings, for an example that cannot be stored and an object that cannot
        be called; PackagingError for a factory that cannot be found by its
        name, CodeExitError where the object's code ends with `sys.exit()` or the like.

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
        if not (factory is None or isinstance(factory, str) or callable(factory)):
            raise ArgumentError(
                f"factory={str(factory)[:60]}: expected a callable, or its name as 'package.module:name', "
                f"found {type(factory).__name__}"
            )
        if config is not None and factory is None:
            raise ArgumentError("save_object() got config without the factory that takes it")
        if config is not None:
            check_names("config", config)
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
        module_or_mapping: Any,
        *,
        keys: Sequence[str] | None = None,
    ) -> None:
        """Store a state dict as one safetensors member, and beside it what safetensors cannot hold.

        A module's own `state_dict()` is called at once, with all its hooks, and its tensors are written, as
        those of `save_object`.

        With a `group` every rank gives what it has of one state dict: whole tensors, and slices as `Shard`.
        What several ranks have has to be equal, slices have to fill their tensor, and values that are no
        tensors are those of rank 0. The order of keys is that of rank 0, then what rank 1 has besides, and so
        on, or that of `keys`, which then have to be all that there are.

        Raises TypeError for what is neither a mapping nor has a state dict, and CodeExitError as
        `save_object`; with a group RanksDisagreeError on all ranks where their parts do not fit together,
        OtherRankError where one of them has failed: both are a PackagingError.

        >>> import io
        >>> from kellet.nn import Linear
        >>> exporter = PackageExporter(io.BytesIO())
        >>> exporter.save_state_dict("model", "weights", Linear(2, 1))
        >>> [record.resource for record in exporter.plan().state_dicts]
        ['weights']
        """
        with self._ranks.telling():
            if keys is not None:
                check_several("keys", keys, "a list of the keys of the whole state dict")
            self._export.before("save a state dict")
            listed = None if keys is None else tuple(keys)
            self._take(StateDictRequest(package, resource, module_or_mapping, keys=listed))

    def save_pretrained(
        self,
        source: Any,
        package: str = "model",
        resource: str = "model",
        *,
        tokenizer: Any = None,
        processor: Any = None,
        remote_code: bool = False,
        example: Any = None,
    ) -> Any:
        """Store a model of Hugging Face's libraries with its tokenizer and processor; return what is called.

        `source` is a folder of transformers, peft, sentence-transformers or diffusers, which that library
        reads without downloading anything, or a model or a pipeline of theirs; a model comes with its
        `tokenizer` and `processor`. What is stored is an object that takes text, images or sound, and has
        them as attributes; its class goes along as a module, and the entry point has the name of the
        resource. The libraries stay
        outside as other code does. Code in the folder is run and stored only with `remote_code`. `example` is
        what it is called with, as `save_object` has it.

        Raises PretrainedError, a PackageError, for a folder that cannot be read, ArgumentError for another
        object, and what `save_object` raises.

        >>> import io
        >>> PackageExporter(io.BytesIO()).save_pretrained("no_such_folder")
        Traceback (most recent call last):
            ...
        packager.pretrained.folders.PretrainedError: no_such_folder: found no such folder; expected ...
        """
        from packager.pretrained import (
            declared_inputs,
            open_pretrained,
            parts_of,
            wrapped,
            wrapper_source,
        )

        check_flag("remote_code", remote_code)
        self._export.before("save a pretrained model")
        if isinstance(source, str | os.PathLike):
            if tokenizer is not None or processor is not None:
                raise ArgumentError("save_pretrained() got a folder, and a tokenizer or processor besides")
            parts = open_pretrained(source, remote_code=remote_code)
        else:
            parts = parts_of(source, tokenizer=tokenizer, processor=processor)
        wrapper = wrapped(parts)
        module = type(wrapper).__module__
        if module not in self._export.request.asked_for:
            self.save_source_string(module, wrapper_source(module))
        self.save_entry(resource, package, resource, takes=declared_inputs(wrapper))
        self.save_object(package, resource, wrapper, example=example)
        return wrapper

    def save_entry(
        self,
        name: str,
        package: str,
        resource: str,
        callable: str | None = None,
        *,
        takes: Mapping[str, str | ValueType] = MappingProxyType({}),
        gives: Mapping[str, str | ValueType] = MappingProxyType({}),
    ) -> None:
        """Name a stored object for `packager run`, and the method of it that is called: by default itself.

        That is `forward`, `predict`, `predict_proba`, `transform`, `decision_function`, or a public method of
        a class whose source is stored; the plan says where it is neither.

        An object saved as package "model", resource "model" is the entry "model" by itself, if it can be
        called.

        `takes` declares the types of its parameters, and `gives` those of parts of its answer ("output",
        "output.0", "output.key"), as ValueType or as its text: "float32[*, 3]", "list[text]". What is not
        declared is learnt from the golden calls. Calls are compared with it before they are made.

        Raises ArgumentError for a name that is no string, and for a type that is none, PackagingError where
        the archive has it already.

        >>> import io
        >>> from kellet.nn import Linear
        >>> exporter = PackageExporter(io.BytesIO())
        >>> exporter.save_object("model", "head", Linear(2, 1))
        >>> exporter.save_entry("score", "model", "head", "forward", takes={"input": "float32[*, 2]"})
        >>> [(entry.name, entry.callable) for entry in exporter.plan().entry_points]
        [('score', 'forward')]
        >>> print(*exporter.plan().schemas)
        score(input: float32[*, 2]) -> ?
        """
        self._export.before("name an entry point")
        declared = [_types("takes", takes), _types("gives", gives)]
        self._export.add(EntryRequest(name, package, resource, callable, *declared))

    def save_check(
        self,
        name: str,
        inputs: Mapping[str, Any],
        *,
        training: bool = False,
        entry: str | None = None,
        trace: bool = False,
    ) -> None:
        """Store a call of the entry point `name` and its result, for `packager check` to repeat.

        `inputs` are values by parameter name, or by position as `arg0`, `arg1`, ...; they are copied: arrays,
        tensors, numbers, text, bytes, None, and lists and dicts of plain values. The answer may be made of
        these in any way. When the plan is made, the object is called twice, in evaluation mode, or in
        training mode, from the same states of generators, and is left as it was. Where the outputs differ,
        the check is not repeatable: a warning says so, and nothing is compared. Else a copy is called once:
        a problem of the plan where its outputs differ, as the object keeps state where no archive takes it
        along. So is a call that fails.

        A second call of an entry point has a name of its own, and names it: `entry="model"`. Calls of
        several sizes show which axes are free: see `save_entry`.

        With `trace` the object is called once more, and a digest and a short summary are kept of all that
        each submodule, or each step of a pipeline, takes and gives: where the answer differs one day,
        `packager check` names the first that does. That takes about 0.5 kB for each value.

        Raises ArgumentError for inputs that are no mapping from names, PackagingError where there is a
        check of that name already.

        >>> import io, numpy
        >>> from kellet.nn import Linear
        >>> exporter = PackageExporter(io.BytesIO())
        >>> exporter.save_object("model", "model", Linear(2, 1))
        >>> exporter.save_check("model", {"arg0": numpy.ones((3, 2), "float32")})
        >>> exporter.plan().ok, len(exporter.plan().checks)
        (True, 1)
        """
        check_names("inputs", inputs)
        check_flag("training", training)
        check_kind("entry", entry, (str, type(None)), "the name of an entry point, or None")
        check_flag("trace", trace)
        self._export.before("save a check")
        copied = {key: copied_input(key, value) for key, value in inputs.items()}
        self._export.add(CheckRequest(name, copied, training, entry, trace))

    # --- questions ---

    def plan(self, *, prove: bool = False) -> ExportPlan:
        """Return what `close()` would write as things stand, with all that is wrong; frozen, printable.

        With `prove`, and before the end, a plan without problems is written to a temporary file and proved,
        as `close()` does; what is found is in it.

        >>> import io
        >>> exporter = PackageExporter(io.BytesIO())
        >>> exporter.save_source_string("net", "import not_installed_here")
        >>> plan = exporter.plan()
        >>> plan.ok, [problem.subject for problem in plan.problems]
        (False, ['not_installed_here'])
        """
        plan = self._export.plan()
        is_proved = prove and plan.ok and self._export.state == "open" and self._ranks.is_first
        return self._proof.proved(plan) if is_proved else plan

    def why(self, module_name: str) -> Why:
        """Say why a module is in the plan: the decision, and the chain of imports with file and line.

        Raises KeyError for a module that is not in it.

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

        >>> import io
        >>> exporter = PackageExporter(io.BytesIO())
        >>> exporter.save_source_string("net", "import math")
        >>> '"net" -> "math";' in exporter.all_paths("net", "math")
        True
        """
        return self._export.survey("ask for paths").walk.graph().all_paths(src, dst)

    def dependency_graph_string(self) -> str:
        """Return the whole graph of imports, as a DOT digraph.

        >>> import io
        >>> exporter = PackageExporter(io.BytesIO())
        >>> exporter.save_source_string("net", "import math")
        >>> '"net" -> "math";' in exporter.dependency_graph_string()
        True
        """
        return self._export.survey("ask for the graph").walk.graph().to_dot()

    def interned_modules(self) -> list[str]:
        """Return the names of the modules that are stored, sorted.

        >>> import io
        >>> exporter = PackageExporter(io.BytesIO())
        >>> exporter.save_source_string("net", "import math")
        >>> exporter.interned_modules()
        ['net']
        """
        return self._export.decided("intern")

    def externed_modules(self) -> list[str]:
        """Return the names of the modules that are left to the target, sorted.

        >>> import io
        >>> exporter = PackageExporter(io.BytesIO())
        >>> exporter.save_source_string("net", "import math")
        >>> exporter.externed_modules()
        ['math']
        """
        return self._export.decided("extern")

    def mocked_modules(self) -> list[str]:
        """Return the names of the modules that are mocked, sorted.

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

        >>> import io
        >>> exporter = PackageExporter(io.BytesIO())
        >>> exporter.deny("pdb")
        >>> exporter.save_source_string("net", "import pdb")
        >>> exporter.denied_modules()
        ['pdb']
        """
        return self._export.decided("deny")

    def get_unique_id(self) -> str:
        """Return an id that this exporter gives once, for names of resources in `__reduce_package__`.

        >>> import io
        >>> exporter = PackageExporter(io.BytesIO())
        >>> exporter.get_unique_id() == exporter.get_unique_id()
        False
        """
        return self._export.request.unique_id()

    # --- the end ---

    def close(self) -> None:
        """Write the archive. Closing twice is fine.

        Raises PackagingError with everything that is wrong, else EmptyMatchError for rules that had to
        match and did not, else EnvironmentBuildError where wheels cannot be found, ArchiveError where the
        file cannot be written, ProofError, a PackagingError, where it does not come back: nothing is left
        behind, and the exporter is closed. RuntimeError inside a hook.

        >>> import io
        >>> exporter = PackageExporter(io.BytesIO())
        >>> exporter.save_source_string("net", "import not_installed_here")
        >>> exporter.close()
        Traceback (most recent call last):
            ...
        packager.exporting.plan.RefusedPlanError: ...
        """
        export = self._export
        if export.state != "open":
            return
        export.decisions.require_outside_hooks("close the exporter")
        try:
            with self._ranks.telling(), syntax_unwarned(), shown_in_notebook() as shown:
                self._shown = shown
                self._close()
            export.state = "closed"
            export.request.let_go()
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
            self.identity = self._ranks.from_first(_IN_PLACE, self.identity)
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
            self.identity = self._export.archive.finish(whole, check=self._await_ranks)
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
        file = export.file
        if len(export.request) and not isinstance(file, io.BytesIO):
            name = file if isinstance(file, str | os.PathLike) else getattr(file, "name", type(file).__name__)
            warnings.warn(
                f"unclosed exporter: {one_line(str(name))} was not written; use PackageExporter with `with`, "
                "or call close()",
                ResourceWarning,
                source=self._made_at,
                stacklevel=1,
            )

    def __enter__(self) -> PackageExporter:
        self._closes = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
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

    def _tell(self, step: str, done: int, total: int = 0) -> None:
        tell = self.progress or self._shown
        if tell is not None:
            tell(step, done, total)


def _types(name: str, declared: Mapping[str, str | ValueType]) -> dict[str, ValueType]:
    """Return declared types by name, each as its text says it. Raises ArgumentError for what is none."""
    check_names(name, declared)
    return {key: ValueType.parse(str(found)) for key, found in declared.items()}


def _check_hook(hook: object) -> None:
    if not callable(hook):
        raise ArgumentError(f"a hook must be callable, got {type(hook).__name__}: {hook!r}")
