"""packager: one file that holds a model's code, weights, environment and migrations.

    from packager import PackageExporter, PackageImporter

    with PackageExporter("net.kellet", policy="auto") as exporter:
        exporter.save_object("model", "model", net, example=x)
    with PackageImporter("net.kellet") as importer:
        net = importer.load_object("model", "model")

Every name is imported when it is first used: `import packager` itself costs a few milliseconds.
"""

from __future__ import annotations

from .lazy import lazy_names

TYPE_CHECKING = False  # `typing` takes longer to import than this package
if TYPE_CHECKING:
    from typing import Any

    from .analysis import is_from_package as is_from_package
    from .archive import ValueType as ValueType
    from .calls import Example as Example
    from .errors import ArchiveError as ArchiveError
    from .errors import ArgumentError as ArgumentError
    from .errors import CodeExitError as CodeExitError
    from .errors import EmptyMatchError as EmptyMatchError
    from .errors import EnvironmentMismatchError as EnvironmentMismatchError
    from .errors import IdentityMismatchError as IdentityMismatchError
    from .errors import IntegrityError as IntegrityError
    from .errors import LegacyFormatError as LegacyFormatError
    from .errors import MigrationError as MigrationError
    from .errors import PackageError as PackageError
    from .errors import PackagingError as PackagingError
    from .errors import PackagingWarning as PackagingWarning
    from .errors import PickleRefusedError as PickleRefusedError
    from .errors import UncheckedOutputsWarning as UncheckedOutputsWarning
    from .errors import UndeclaredImportError as UndeclaredImportError
    from .errors import UntrustedTypeError as UntrustedTypeError
    from .exporting import ExportPlan as ExportPlan
    from .graph import DiGraph as DiGraph
    from .graph import Importer as Importer
    from .graph import ObjMismatchError as ObjMismatchError
    from .graph import ObjNotFoundError as ObjNotFoundError
    from .graph import OrderedImporter as OrderedImporter
    from .graph import sys_importer as sys_importer
    from .loading import Directory as Directory
    from .loading import verify as verify
    from .names import PackageMangler as PackageMangler
    from .names import demangle as demangle
    from .names import get_mangle_prefix as get_mangle_prefix
    from .names import is_mangled as is_mangled
    from .names import mangle as mangle
    from .package_exporter import PackageExporter as PackageExporter
    from .package_importer import PackageImporter as PackageImporter
    from .policy import Decision as Decision
    from .policy import GlobGroup as GlobGroup
    from .policy import Policy as Policy
    from .tensors import Shard as Shard

_SUBMODULES = frozenset({"analyze", "errors"})
_named, __all__ = lazy_names(
    __name__,
    {
        "analysis": "is_from_package",
        "archive": "ValueType",
        "calls": "Example",
        "errors": "ArchiveError ArgumentError CodeExitError EmptyMatchError EnvironmentMismatchError "
        "IdentityMismatchError IntegrityError LegacyFormatError MigrationError PackageError PackagingError "
        "PackagingWarning PickleRefusedError UncheckedOutputsWarning UndeclaredImportError "
        "UntrustedTypeError",
        "exporting": "ExportPlan",
        "graph": "DiGraph Importer ObjMismatchError ObjNotFoundError OrderedImporter sys_importer",
        "loading": "Directory verify",
        "names": "PackageMangler demangle get_mangle_prefix is_mangled mangle",
        "package_exporter": "PackageExporter",
        "package_importer": "PackageImporter",
        "policy": "Decision GlobGroup Policy",
        "tensors": "Shard",
    },
)


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES or name == "__version__":
        from importlib import import_module

    if name == "__version__":
        found = import_module(".version", __name__).installed_version()
        if found is None:
            raise AttributeError("packager has no __version__ here: it is not installed, only importable")
        return found
    return import_module(f".{name}", __name__) if name in _SUBMODULES else _named(name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_SUBMODULES})
