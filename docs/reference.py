"""Reference pages: one for every public module, from the list of public names that it writes by hand.

A thing that several modules offer is described once, in the one that stands first (an error in `errors`),
and named in the others with the way there. A page begins with one line for each name. What users are handed
and never import, such as the outcome of a call, is described at the end of the page of that call.
"""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import dropwhile, pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import docstrings

PUBLIC = {
    "packager": "packager errors migrations weights policy libraries mlflow testing analyze",
    "kellet": "kellet nn nn.functional nn.init nn.utils nn.utils.parametrize nn.utils.parametrizations "
    "nn.utils.rnn nn.parallel nn.modules nn.modules.module nn.modules.utils autograd autograd.function "
    "autograd.graph autograd.grad_mode autograd.anomaly_mode optim optim.lr_scheduler linalg data utils.data "
    "utils.data.distributed utils.checkpoint utils.hooks distributed distributed.algorithms.ddp_comm_hooks "
    "distributed.algorithms.ddp_comm_hooks.default_hooks distributed.algorithms.ddp_comm_hooks.powerSGD_hook "
    "distributed.algorithms.ddp_comm_hooks.post_localSGD_hook "
    "distributed.algorithms.ddp_comm_hooks.debugging_hooks distributed.algorithms.model_averaging "
    "distributed.algorithms.model_averaging.averagers futures testing errors cuda accelerator backends.cuda "
    "backends.cudnn backends.mps",
}
"""The public modules of each package, in the order of the pages; the package itself comes first."""

EXPERIMENTAL = (
    "packager.libraries",
    "packager.testing",
    "packager.mlflow",
    "packager.analyze",
    "kellet.distributed.algorithms",
)
"""Public modules that may change in any version, with the modules in them: few have used them yet."""

TORCH_PACKAGE = "For compatibility with torch.package"
GROUPS = {
    "packager": {
        "Pack and load": "save load PackageExporter PackageImporter Example ValueType ExportPlan verify "
        "Predictor Shard",
        "Decide": "Policy GlobGroup Decision",
        "Look at what is there": "compare_files bill_of_materials",
        "Files of weights": "open_checkpoint write_checkpoint",
        "Sign": "Signer Signers",
        TORCH_PACKAGE: "Importer OrderedImporter sys_importer ObjNotFoundError ObjMismatchError DiGraph "
        "Directory PackageMangler mangle demangle is_mangled get_mangle_prefix is_from_package",
    },
    "packager.errors": {
        "The root, and what is wrong with a call": "PackageError ArgumentError AddressError InvalidNameError",
        "Making an archive": "PackagingError EmptyMatchError RefusedPlanError ProofError ProofStartError "
        "NotAsStoredError CheckStoreError HookAnswerError PolicyFileError PretrainedError CodecError "
        "RanksDisagreeError OtherRankError TraceError PackagingWarning UncheckedOutputsWarning",
        "Reading an archive": "ArchiveError IntegrityError IdentityMismatchError ArchiveChangedError "
        "ArchiveClosedError ArchiveMovedError ArchiveIOError RemoteError MissingEntryError RecordError "
        "ObjectBuildError ResourceDecodeError ParsingError ParsingLimitError",
        "What may be loaded": "UntrustedTypeError UntrustedNamesError PickleRefusedError CodeRefusedError "
        "DisallowedModuleError",
        "Who signed": "SignatureError UnsignedError OtherSignerError NotAsSignedError RefusedByRuleError "
        "SignersError SignatureWarning",
        "What is not stored": "NotStoredError KeyNotStoredError ResourceNotStoredError ModuleNotStoredError "
        "UndeclaredImportError",
        "What is not here": "EnvironmentMismatchError MissingNameError "
        "DeviceNotHereError NameTakenError WorkerImportError NothingKeptError "
        "EnvironmentWarning CacheWarning",
        "Calls of models": "WrongKindError CodeFailedError CodeExitError EntryMethodError CallError "
        "SchemaMismatchError AnswerFileError TargetError WeightsError",
        "Old weights": "CheckpointError LegacyFormatError MigrationError MigrationFileError TemplateError "
        "TransformError FunctionError GrowthError CheckpointPickleError NotNumbersError",
        "Environments that are made": "EnvironmentBuildError NoSuchVersionError SourceOnlyError "
        "WrongPlatformError WrongPythonError ToolMissingError FolderError DiskFullError",
    },
    "packager.migrations": {
        "Load old weights": "load_checkpoint migrate plan_migration WRAPPERS MigrationPlan LoadReport",
        "Attach to a class": "attach with_migrations attached migrations_ran",
        "Write a migration": "Migration rename rename_pattern swap drop default split merge cannot_go_back "
        "suggest_migration",
        "Change values on the way": "Transpose Permute Reshape Slice Roll Scale Cast NamedFunction",
        "Files": "read_migration parse_migration format_migration",
    },
    "packager.libraries": {
        "What a library says": "Library",
        "Rows: what data may do with a name": "Row Rows IsA ClassOf take_attributes ATTRIBUTES NOTHING "
        "PLAIN SCALARS TEXTS TENSORS ANY",
        "Codecs: a form of their own": "Codec LiteralCodec PartsCodec Node kinds CannotStore",
    },
}
"""The names of long pages by what a reader wants; those that are named nowhere come last."""

_MANY = 40
"""So many names of a page are shown by the file that they are from."""

GIVEN = {
    "packager": {
        "_exporting.plan": "PlannedModule PlannedExtern PlannedEntry PlannedTensors LicenseCount PlanProblem",
        "_graph.closure_parts": "ComputedImport Edge",
        "_exporting.surveying": "Why",
        "_proving.proof": "Proof ProofFailure Question Effect Difference",
        "_archive.reader": "ArchiveReader",
        "_archive.manifest": "Manifest",
        "_archive.manifest_records": "ModuleRecord ImportsRecord ExternRecord ObjectRecord StateDictRecord "
        "EntryPoint SchemaRecord CheckRecord TraceRecord",
        "_archive.verifying": "Verification Problem",
        "_state_dicts.viewing": "StateDictView",
        "_calls.running": "CheckOutcome",
        "_calls.drifts": "FoundDrift",
        "_differences.changes": "Differences",
        "_licenses.collecting": "BillOfMaterials Material",
        "_licenses.reading": "License",
        "_signing.signers": "Rule Judgement",
        "_signing.keys": "PrivateKey PublicKey",
    },
    "packager.migrations": {
        "_migrations.declaring": "Step",
        "_migrations.renaming": "Rename RenamePattern Swap Drop Default",
        "_migrations.dividing": "Split Merge",
        "_migrations.attaching": "AttachedMigrations",
        "_migrations.attachments": "MigrationRun",
        "_migrations.migrated_values": "MigratedDict Value",
        "_migrations.transforms": "Transform Header",
        "_migrations.plans": "Mismatch NearName",
        "_drafting.migration_drafts": "SuggestedMigration",
    },
    "packager.weights": {
        "_weights.contents": "LeftOut",
        "_weights.legacy_tensors": "LegacyTensor",
    },
    "packager.libraries": {
        "_codecs.c_state": "StateCheck",
        "_codecs.base": "Child",
    },
    "packager.testing": {
        "_objects.recording": "EncodedObject",
        "_codecs.registry": "CodecRegistry",
    },
}
"""What calls give and records hold, by the files that define it: public, with no name to import."""


@dataclass
class Page:
    """One module's page: its names by group, and those that another page describes."""

    module: str
    groups: dict[str, list[str]] = field(default_factory=dict)
    elsewhere: dict[str, tuple[str, str]] = field(default_factory=dict)

    @property
    def own(self) -> list[str]:
        return [name for names in self.groups.values() for name in names]

    def text(self) -> str:
        offered = importlib.import_module(self.module)
        said = "\n".join(docstrings.to_rst(inspect.cleandoc(offered.__doc__ or "").splitlines()))
        mark = (
            ["Experimental: this module may change in any version."] if is_experimental(self.module) else []
        )
        parts = [f"# {self.module}", *mark, _rst(f".. module:: {self.module}\n\n{said}")]
        rows = [row for title, names in self.groups.items() for row in _rows(self.module, title, names)]
        rows += _rows(self.module, "Described on another page" if rows else "", [], self.elsewhere)
        parts += [_rst(".. list-table::\n   :widths: 30 70\n\n" + "\n".join(rows))]
        for title, names in self.groups.items():
            parts += [f"## {title or 'Names'}"]
            parts += [_rst(_directive(self.module, name, getattr(offered, name))) for name in names]
        if given := GIVEN.get(self.module, {}):
            parts += ["## What these give", "Nothing of this has to be imported."]
            for home, names in given.items():
                file = importlib.import_module(f"packager.{home}")
                parts += [_rst(_class(f"{file.__name__}.{n}", getattr(file, n))) for n in names.split()]
        return "\n\n".join(parts) + "\n"


def write_pages(folder: Path) -> None:
    """Write the pages and their index into `folder`, and remove those of modules that are gone.

    A page that would not change is not touched, so that a second build has little to do.
    """
    folder.mkdir(parents=True, exist_ok=True)
    texts = {f"{page.module}.md": page.text() for page in pages_of(public_modules())}
    for old in folder.glob("*.md"):
        if old.name not in {*texts, "command.md"}:
            old.unlink()
    for name, text in texts.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def public_modules() -> list[str]:
    """Name the public modules by their dotted names, in the order of the pages."""
    return [
        name if name == package else f"{package}.{name}"
        for package, names in PUBLIC.items()
        for name in names.split()
    ]


def is_experimental(module: str) -> bool:
    """Check whether a public module is one that may change in any version."""
    return any(f"{module}.".startswith(f"{one}.") for one in EXPERIMENTAL)


def public_names(module: str) -> list[str]:
    """Name what a public module offers; the modules in it have pages of their own, or are not public."""
    offered = importlib.import_module(module)
    return [name for name in offered.__all__ if not isinstance(getattr(offered, name), ModuleType)]


def pages_of(modules: list[str]) -> list[Page]:
    """Share out the names of `modules`; a class or function is known by identity, a constant by its place."""
    places: dict[int, tuple[str, str]] = {}
    pages = {}
    # An error is described beside the others, and named where it is offered as well.
    for module in sorted(modules, key=lambda one: not one.endswith(".errors")):
        page, own = Page(module), []
        for name in public_names(module):
            thing = getattr(importlib.import_module(module), name)
            if id(thing) in places and _is_described(thing):
                page.elsewhere[name] = places[id(thing)]
            else:
                places[id(thing)] = (module, name)
                own.append(name)
        page.groups = grouped(module, own)
        pages[module] = page
    return [pages[module] for module in modules]


def grouped(module: str, names: list[str]) -> dict[str, list[str]]:
    """Sort names by the groups that are written for their page, else by the file that they are from."""
    if module not in GROUPS:
        found: dict[str, list[str]] = {}
        for name in names:
            found.setdefault(_file_says(module, name), []).append(name)
        return found if len(names) > _MANY else {"": names}
    groups = {title: [n for n in ns.split() if n in names] for title, ns in GROUPS[module].items()}
    rest = [name for name in names if not any(name in group for group in groups.values())]
    errors = [n for n in rest if _is_error(getattr(importlib.import_module(module), n))]
    groups |= {"Others": [n for n in rest if n not in errors], "Errors": errors}
    return {title: group for title, group in groups.items() if group}


def _is_described(thing: object) -> bool:
    return inspect.isclass(thing) or inspect.isroutine(thing)


def _is_error(thing: object) -> bool:
    return inspect.isclass(thing) and issubclass(thing, BaseException)


def _file_says(module: str, name: str) -> str:
    """Return the first sentence of the file that defines a name, as the title of a group."""
    thing = inspect.unwrap(getattr(importlib.import_module(module), name))
    code = getattr(thing, "__code__", None)
    if not _is_described(thing):
        return "Constants and dtypes"
    file = code.co_filename if code else inspect.getsourcefile(thing)
    text = ast.get_docstring(ast.parse(Path(str(file)).read_text(encoding="utf-8"))) or ""
    return _first_sentence(text).rstrip(".").partition(": ")[0].partition("; ")[0]


def _first_sentence(text: str) -> str:
    paragraph = " ".join(inspect.cleandoc(text).partition("\n\n")[0].split())
    head, dot, _ = paragraph.partition(". ")
    return head + dot.strip()


def _rows(
    module: str, title: str, names: list[str], elsewhere: dict[str, tuple[str, str]] | None = None
) -> Iterator[str]:
    """Yield the rows of a page's list: a title, then each name with one line on what it is."""
    links = {name: (module, name) for name in names} | (elsewhere or {})
    if title and links:
        yield f"   * - **{docstrings.escaped(title)}**\n     -"
    for name, (home, other) in links.items():
        thing = getattr(importlib.import_module(home), other)
        said = docstrings.escaped(_first_sentence(_said_of(home, other, thing)))
        yield f"   * - :py:obj:`{name} <{home}.{other}>`\n     - {said}"


def _said_of(module: str, name: str, thing: Any) -> str:
    if _is_described(thing):
        return inspect.getdoc(thing) or ""
    # Files of other rooms may have constants of this name, too.
    for home, said in _constants(module.split(".")[0]).get(name, ()):
        if getattr(importlib.import_module(home), name) is thing:
            return said
    return inspect.getdoc(thing) or "" if type(thing).__module__.startswith("packager.") else f"`{thing!r}`"


@cache
def _constants(package: str) -> dict[str, list[tuple[str, str]]]:
    """Map the constants of a package to the files that define them, and the texts below them."""
    found: dict[str, list[tuple[str, str]]] = {}
    top = Path(str(importlib.import_module(package).__file__)).parent
    for path in sorted(top.rglob("*.py")):
        home = ".".join(path.relative_to(top.parent).with_suffix("").parts).removesuffix(".__init__")
        body = ast.parse(path.read_text(encoding="utf-8")).body
        for node, after in pairwise(body):
            is_text = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
            if isinstance(node, ast.Assign | ast.AnnAssign) and is_text:
                target = node.targets[0] if isinstance(node, ast.Assign) else node.target
                text = inspect.cleandoc(str(ast.literal_eval(after.value)))
                found.setdefault(ast.unparse(target), []).append((home, text))
    return found


def _directive(module: str, name: str, thing: Any) -> str:
    path = f"{module}.{name}"
    if _is_error(thing):
        return f".. autoexception:: {path}\n   :members:"
    if inspect.isclass(thing):
        return _class(path, thing)
    if inspect.isroutine(thing):
        return f".. autofunction:: {path}"
    said = docstrings.to_rst(_said_of(module, name, thing).splitlines())
    return f".. py:data:: {path}\n\n" + "\n".join(f"   {line}" for line in said)


def _class(path: str, cls: type) -> str:
    """Describe a class with what it has from bases that are not public: those up to the first that is."""
    # Sphinx hides what a listed base has of its own: what it inherits is hidden by the bases behind it.
    ends = [*dropwhile(lambda base: base not in public_classes() and is_ours(base), cls.__mro__[1:])]
    option = f"\n   :inherited-members: {', '.join(base.__name__ for base in ends)}"
    return f".. autoclass:: {path}\n   :members:{option if cls.__mro__[1] not in ends else ''}"


def is_ours(cls: type) -> bool:
    """Check whether a class is from one of the two packages."""
    return cls.__module__.split(".")[0] in PUBLIC


@cache
def public_classes() -> set[type]:
    """Return the classes that public modules offer."""
    things = [getattr(importlib.import_module(m), n) for m in public_modules() for n in public_names(m)]
    return {thing for thing in things if inspect.isclass(thing)}


def _rst(text: str) -> str:
    return f"```{{eval-rst}}\n{text}\n```"
