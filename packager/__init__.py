"""packager: one file that holds a model's code, weights, environment and migrations.

    from packager import PackageExporter, PackageImporter

    with PackageExporter("net.kellet", policy="auto") as exporter:
        exporter.save_object("model", "model", net, example=x)
    with PackageImporter("net.kellet") as importer:
        net = importer.load_object("model", "model")

Every name is imported when it is first used: `import packager` itself costs a few milliseconds. More
stands in `packager.errors`, `.migrations`, `.weights` and `.policy`, and for authors of libraries in
`.libraries` and `.testing`.

For compatibility with code written for torch.package there are, besides: `packager.analyze`,
`is_from_package`, `DiGraph`, `Directory`, `Importer`, `OrderedImporter`, `sys_importer`,
`ObjNotFoundError`, `ObjMismatchError`, `PackageMangler`, `mangle`, `demangle`, `is_mangled` and
`get_mangle_prefix`.
"""

from __future__ import annotations

from ._lazy import lazy_names

TYPE_CHECKING = False  # `typing` takes longer to import than this package
if TYPE_CHECKING:
    __version__: str

    from . import analyze as analyze
    from . import errors as errors
    from . import libraries as libraries
    from . import migrations as migrations
    from . import policy as policy
    from . import testing as testing
    from . import weights as weights
    from ._analysis import is_from_package as is_from_package
    from ._calls import Example as Example
    from ._calls import ValueType as ValueType
    from ._differences import compare_files as compare_files
    from ._exporting import ExportPlan as ExportPlan
    from ._graph import DiGraph as DiGraph
    from ._graph import Importer as Importer
    from ._graph import ObjMismatchError as ObjMismatchError
    from ._graph import ObjNotFoundError as ObjNotFoundError
    from ._graph import OrderedImporter as OrderedImporter
    from ._graph import sys_importer as sys_importer
    from ._licenses import bill_of_materials as bill_of_materials
    from ._load import load as load
    from ._loading import Directory as Directory
    from ._loading import verify as verify
    from ._names import PackageMangler as PackageMangler
    from ._names import demangle as demangle
    from ._names import get_mangle_prefix as get_mangle_prefix
    from ._names import is_mangled as is_mangled
    from ._names import mangle as mangle
    from ._policy import Decision as Decision
    from ._policy import GlobGroup as GlobGroup
    from ._policy import Policy as Policy
    from ._save import save as save
    from ._serving import Predictor as Predictor
    from ._signing import Signer as Signer
    from ._signing import Signers as Signers
    from ._tensors import Shard as Shard
    from ._weights import open_checkpoint as open_checkpoint
    from ._weights import write_checkpoint as write_checkpoint
    from .errors import ArchiveError as ArchiveError
    from .errors import ArgumentError as ArgumentError
    from .errors import CheckpointError as CheckpointError
    from .errors import CodeExitError as CodeExitError
    from .errors import CodeRefusedError as CodeRefusedError
    from .errors import EmptyMatchError as EmptyMatchError
    from .errors import EnvironmentMismatchError as EnvironmentMismatchError
    from .errors import IdentityMismatchError as IdentityMismatchError
    from .errors import IntegrityError as IntegrityError
    from .errors import LegacyFormatError as LegacyFormatError
    from .errors import MigrationError as MigrationError
    from .errors import NotStoredError as NotStoredError
    from .errors import PackageError as PackageError
    from .errors import PackagingError as PackagingError
    from .errors import PackagingWarning as PackagingWarning
    from .errors import PickleRefusedError as PickleRefusedError
    from .errors import ProofError as ProofError
    from .errors import SignatureError as SignatureError
    from .errors import UncheckedOutputsWarning as UncheckedOutputsWarning
    from .errors import UndeclaredImportError as UndeclaredImportError
    from .errors import UntrustedTypeError as UntrustedTypeError
    from .package_exporter import PackageExporter as PackageExporter
    from .package_importer import PackageImporter as PackageImporter

_SUBMODULES = frozenset("analyze errors libraries migrations policy testing weights".split())
_named, __all__ = lazy_names(
    __name__,
    {
        "_analysis": "is_from_package",
        "_calls": "Example ValueType",
        "errors": "ArchiveError ArgumentError CheckpointError CodeExitError CodeRefusedError EmptyMatchError "
        "EnvironmentMismatchError IdentityMismatchError IntegrityError LegacyFormatError MigrationError "
        "NotStoredError PackageError PackagingError PackagingWarning PickleRefusedError ProofError "
        "SignatureError UncheckedOutputsWarning UndeclaredImportError UntrustedTypeError",
        "_differences": "compare_files",
        "_exporting": "ExportPlan",
        "_graph": "DiGraph Importer ObjMismatchError ObjNotFoundError OrderedImporter sys_importer",
        "_licenses": "bill_of_materials",
        "_load": "load",
        "_loading": "Directory verify",
        "_names": "PackageMangler demangle get_mangle_prefix is_mangled mangle",
        "package_exporter": "PackageExporter",
        "package_importer": "PackageImporter",
        "_policy": "Decision GlobGroup Policy",
        "_save": "save",
        "_serving": "Predictor",
        "_signing": "Signer Signers",
        "_tensors": "Shard",
        "_weights": "open_checkpoint write_checkpoint",
    },
)


if not TYPE_CHECKING:  # type checkers would take every name for one that is here

    def __getattr__(name):
        if name in _SUBMODULES or name == "__version__":
            from importlib import import_module

        if name == "__version__":
            found = import_module("._version", __name__).installed_version()
            if found is None:
                raise AttributeError(
                    "packager has no __version__, as it is not installed; run python -m pip install -e . "
                    "in its folder"
                )
            return found
        return import_module(f".{name}", __name__) if name in _SUBMODULES else _named(name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_SUBMODULES})
