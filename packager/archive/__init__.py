"""Bytes: the canonical archive, its strict reader, the manifest, msgpack and safetensors."""

from typing import TYPE_CHECKING

from packager.lazy import lazy_names

if TYPE_CHECKING:
    from .archive_errors import *
    from .bounds import *
    from .byte_sources import *
    from .entries import *
    from .entry_names import *
    from .manifest import *
    from .output_files import *
    from .packed import *
    from .reader import *
    from .safetensors import *
    from .stored_tensors import *
    from .verifying import *
    from .writer import *
else:
    __getattr__, __all__ = lazy_names(
        __name__,
        {
            "archive_errors": "ArchiveIOError MissingEntryError",
            "bounds": "CHUNK FREE_MODULE_PATHS MAX_EXTENT MAX_HEADER MAX_MODULE_PATH MAX_NUMPY_EXTENT "
            "MAX_NUMPY_RANK MAX_RANK MAX_RECORD_DEPTH MAX_REQUIREMENT MAX_SEED_POOL "
            "PATHS_PER_MODULE largest_view most_records",
            "byte_sources": "BoundedFile Memory Source",
            "entries": "ALIGNMENT KINDS EntryRecord crc32 crcs_of sha256s_of thread_count",
            "entry_names": "MIGRATIONS index_name",
            "manifest": "CheckRecord EntryPoint ExternRecord GuardRecord ImportSite Manifest ModuleRecord "
            "ObjectRecord StateDictRecord TypeUse",
            "output_files": "BatchedFile PathTarget",
            "packed": "pack unpack",
            "reader": "ArchiveReader",
            "safetensors": "add_tensors parse_header plan_member spell_header",
            "stored_tensors": "TensorReader TensorSpec tensor_bytes",
            "verifying": "EntryCheck Problem Verification verify",
            "writer": "ArchiveWriter",
        },
    )
