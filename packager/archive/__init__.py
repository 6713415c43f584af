"""Bytes: the canonical archive, its strict reader, the manifest, msgpack and safetensors."""

from typing import TYPE_CHECKING

from packager.lazy import lazy_names

if TYPE_CHECKING:
    from .bounds import *
    from .chunk_checks import *
    from .digests import *
    from .entry_names import *
    from .errors import *
    from .listing import *
    from .manifest import *
    from .output import *
    from .packed import *
    from .reader import *
    from .safetensors import *
    from .sources import *
    from .targets import *
    from .tensor_index import *
    from .tensor_plan import *
    from .tensors import *
    from .verifying import *
    from .writer import *
else:
    __getattr__, __all__ = lazy_names(
        __name__,
        {
            "bounds": "CHUNK FREE_MODULE_PATHS MAX_EXTENT MAX_HEADER MAX_MODULE_PATH MAX_NUMPY_EXTENT "
            "MAX_NUMPY_RANK MAX_RANK MAX_RECORD_DEPTH MAX_REQUIREMENT MAX_SEED_POOL PATHS_PER_MODULE "
            "largest_view most_records",
            "chunk_checks": "thread_count",
            "digests": "crc32 crcs_of sha256s_of",
            "entry_names": "MIGRATIONS",
            "errors": "ArchiveIOError MissingEntryError",
            "listing": "ALIGNMENT KINDS EntryRecord",
            "manifest": "CheckRecord EntryPoint ExternRecord GuardRecord ImportSite Manifest "
            "ModuleRecord ObjectRecord StateDictRecord TypeUse",
            "output": "BatchedFile",
            "packed": "pack unpack",
            "reader": "ArchiveReader",
            "safetensors": "parse_header spell_header tensor_bytes",
            "sources": "BoundedFile Memory Source",
            "targets": "PathTarget",
            "tensor_index": "TensorSpec",
            "tensor_plan": "plan_member",
            "tensors": "TensorReader add_tensors index_name",
            "verifying": "EntryCheck Problem Verification verify",
            "writer": "ArchiveWriter",
        },
    )
