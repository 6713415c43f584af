"""Bytes: the canonical archive, its strict reader, the manifest, msgpack and safetensors."""

from typing import TYPE_CHECKING

from packager.lazy import lazy_names

if TYPE_CHECKING:
    from .digests import crc32 as crc32
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
    from .output import BatchedFile as BatchedFile
    from .packed import pack as pack
    from .packed import unpack as unpack
    from .reader import ArchiveReader as ArchiveReader
    from .reader import PrivateEntry as PrivateEntry
    from .safetensors import MAX_HEADER as MAX_HEADER
    from .safetensors import parse_header as parse_header
    from .safetensors import spell_header as spell_header
    from .sources import BoundedFile as BoundedFile
    from .sources import Memory as Memory
    from .sources import Source as Source
    from .targets import PathTarget as PathTarget
    from .tensor_index import TensorSpec as TensorSpec
    from .tensor_plan import plan_member as plan_member
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
    "MAX_HEADER",
    "ArchiveIOError",
    "ArchiveReader",
    "ArchiveWriter",
    "BatchedFile",
    "BoundedFile",
    "CheckRecord",
    "EntryCheck",
    "EntryPoint",
    "EntryRecord",
    "ExternRecord",
    "GuardRecord",
    "ImportSite",
    "Manifest",
    "Memory",
    "MissingEntryError",
    "ModuleRecord",
    "ObjectRecord",
    "PathTarget",
    "PrivateEntry",
    "Problem",
    "Source",
    "StateDictRecord",
    "TensorReader",
    "TensorSpec",
    "TypeUse",
    "Verification",
    "add_tensors",
    "crc32",
    "index_name",
    "pack",
    "parse_header",
    "plan_member",
    "spell_header",
    "unpack",
    "verify",
]

__getattr__ = lazy_names(
    __name__,
    {
        "digests": "crc32",
        "errors": "ArchiveIOError MissingEntryError",
        "listing": "ALIGNMENT KINDS EntryRecord",
        "manifest": "FORMAT CheckRecord EntryPoint ExternRecord GuardRecord ImportSite Manifest "
        "ModuleRecord ObjectRecord StateDictRecord TypeUse",
        "output": "BatchedFile",
        "packed": "pack unpack",
        "reader": "ArchiveReader PrivateEntry",
        "safetensors": "MAX_HEADER parse_header spell_header",
        "sources": "BoundedFile Memory Source",
        "targets": "PathTarget",
        "tensor_index": "TensorSpec",
        "tensor_plan": "plan_member",
        "tensors": "TensorReader add_tensors index_name",
        "verifying": "EntryCheck Problem Verification verify",
        "writer": "ArchiveWriter",
    },
)
