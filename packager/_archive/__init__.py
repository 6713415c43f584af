"""Bytes: the canonical archive, its strict reader, the manifest, msgpack and safetensors."""

from packager._lazy import lazy_names

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    from .added_tensors import *
    from .archive_body import *
    from .archive_errors import *
    from .bounds import *
    from .byte_sources import *
    from .digesting import *
    from .entries import *
    from .entry_names import *
    from .fetched_file import *
    from .json_text import *
    from .manifest import *
    from .manifest_records import *
    from .output_files import *
    from .packed import *
    from .reader import *
    from .safetensors import *
    from .safetensors_header import *
    from .shared_tensors import *
    from .signature_entries import *
    from .stored_tensors import *
    from .tensor_index import *
    from .verifying import *
    from .writer import *
else:
    __getattr__, __all__ = lazy_names(
        __name__,
        {
            "added_tensors": "add_shared_tensors add_tensors",
            "archive_body": "SHARED_FROM Sign",
            "archive_errors": "ArchiveChangedError ArchiveClosedError ArchiveIOError DAMAGED "
            "MissingEntryError closed",
            "bounds": "CHUNK FREE_KEYS FREE_KEY_PARTS FREE_MODULE_PATHS KEY_PARTS_PER_OPERAND "
            "MAX_ASKED_PARTS MAX_CHECK_TEXT MAX_DTYPE_DEPTH MAX_DTYPE_FIELDS MAX_PATTERN_STEPS "
            "MAX_DEPTH MAX_EXTENT MAX_FRACTION_BYTES MAX_HEADER MAX_JOINS MAX_KEY_DEPTH MAX_LICENSE_TEXT "
            "MAX_LOGGERS MAX_LOGGER_NAME MAX_MATCHING MAX_MIGRATED_KEY MAX_MIGRATED_ROWS "
            "MAX_MODULE_PATH MAX_NAME_PARTS MAX_NUMPY_EXTENT STEPS_PER_KEY "
            "MAX_ALL_SEED_WORDS MAX_NUMPY_RANK MAX_RANK MAX_RECORD_DEPTH "
            "MAX_REQUIREMENT MAX_SCHEMA_VALUES MAX_SEED_POOL MAX_SEED_WORDS "
            "MAX_STORED_THREADS MAX_TEMPLATE MAX_TEMPLATE_HOLES MAX_TENSORS MAX_TRACE MAX_TRACED_CALLS "
            "MAX_TRACED_VALUES MAX_TREE_DEPTH MAX_TYPE_DEPTH MAX_TYPE_TEXT "
            "MAX_WHEELS MAX_WHEEL_DIRECTORY MAX_WHEEL_MARKERS MAX_WHEEL_METADATA MAX_WHEEL_REQUIREMENTS "
            "PATHS_PER_MODULE can_be_strides largest_view most_key_text most_made most_records most_values "
            "most_wheel_text",
            "byte_sources": "BoundedFile Memory Source",
            "digesting": "sha256",
            "entries": "ALIGNMENT KINDS EntryRecord Place crc32 crcs_of flat_view sha256s_of thread_count",
            "entry_names": "MIGRATIONS SIGNATURES index_name name_problems",
            "fetched_file": "open_fetched",
            "json_text": "read_json shown_key",
            "manifest": "Manifest",
            "manifest_records": "NOT_REPEATABLE CheckRecord EntryPoint ExternRecord GivenValue ImportSite "
            "ImportsRecord ModuleRecord ObjectRecord SchemaRecord StateDictRecord TakenValue TraceRecord "
            "TypeUse",
            "output_files": "OutputFile reported written_file",
            "packed": "check_weight length_within pack texts_have_bytes unpack",
            "reader": "ArchiveReader",
            "safetensors": "plan_member spell_header",
            "safetensors_header": "parse_header",
            "shared_tensors": "Piece Room SharedStorage digest_chunks find_pieces share_of_chunks "
            "write_pieces",
            "signature_entries": "add_signature",
            "stored_tensors": "TensorReader UsualTensors storages_of",
            "tensor_index": "ELSEWHERE TensorIndex TensorSpec shape_problem tensor_bytes",
            "verifying": "EntryCheck Problem Verification verify",
            "writer": "ArchiveWriter",
        },
    )
