"""Bytes: the canonical archive, its strict reader, the manifest, msgpack and safetensors."""

from typing import TYPE_CHECKING

from packager.lazy import lazy_names

if TYPE_CHECKING:
    from .errors import ArchiveIOError as ArchiveIOError
    from .errors import MissingEntryError as MissingEntryError
    from .listing import ALIGNMENT as ALIGNMENT
    from .listing import KINDS as KINDS
    from .listing import EntryRecord as EntryRecord
    from .manifest import FORMAT as FORMAT
    from .manifest import CheckRecord as CheckRecord
    from .manifest import EntryPoint as EntryPoint
    from .manifest import ExternRecord as ExternRecord
    from .manifest import GuardRecord as GuardRecord
    from .manifest import ImportSite as ImportSite
    from .manifest import Manifest as Manifest
    from .manifest import ModuleRecord as ModuleRecord
    from .manifest import ObjectRecord as ObjectRecord
    from .manifest import StateDictRecord as StateDictRecord
    from .manifest import TypeUse as TypeUse
    from .packed import pack as pack
    from .packed import unpack as unpack
    from .reader import ArchiveReader as ArchiveReader
    from .reader import PrivateEntry as PrivateEntry
    from .tensor_index import TensorSpec as TensorSpec
    from .tensors import TensorReader as TensorReader
    from .tensors import add_tensors as add_tensors
    from .tensors import index_name as index_name
    from .verifying import EntryCheck as EntryCheck
    from .verifying import Problem as Problem
    from .verifying import Verification as Verification
    from .verifying import verify as verify
    from .writer import ArchiveWriter as ArchiveWriter

__all__ = [
    "ALIGNMENT",
    "FORMAT",
    "KINDS",
    "ArchiveIOError",
    "ArchiveReader",
    "ArchiveWriter",
    "CheckRecord",
    "EntryCheck",
    "EntryPoint",
    "EntryRecord",
    "ExternRecord",
    "GuardRecord",
    "ImportSite",
    "Manifest",
    "MissingEntryError",
    "ModuleRecord",
    "ObjectRecord",
    "PrivateEntry",
    "Problem",
    "StateDictRecord",
    "TensorReader",
    "TensorSpec",
    "TypeUse",
    "Verification",
    "add_tensors",
    "index_name",
    "pack",
    "unpack",
    "verify",
]

__getattr__ = lazy_names(
    __name__,
    {
        "errors": "ArchiveIOError MissingEntryError",
        "listing": "ALIGNMENT KINDS EntryRecord",
        "manifest": "FORMAT CheckRecord EntryPoint ExternRecord GuardRecord ImportSite Manifest ModuleRecord "
        "ObjectRecord StateDictRecord TypeUse",
        "packed": "pack unpack",
        "reader": "ArchiveReader PrivateEntry",
        "tensor_index": "TensorSpec",
        "tensors": "TensorReader add_tensors index_name",
        "verifying": "EntryCheck Problem Verification verify",
        "writer": "ArchiveWriter",
    },
)
