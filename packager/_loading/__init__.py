"""Archive to modules and objects: packaged code under names of its own, isolated and importable."""

from packager._lazy import lazy_names

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    from .bytecode import *
    from .files import *
    from .open_archives import *
    from .opening import *
    from .packaged_code import *
    from .resources import *
    from .stored_objects import *
    from .stored_states import *
    from .unpacking import *
    from .verifying import *
else:
    __getattr__, __all__ = lazy_names(
        __name__,
        {
            "bytecode": "BytecodeCache NothingKeptError compile_ahead default_bytecode_cache place_of",
            "files": "Directory decode_resource directory_of",
            "open_archives": "LoadedArchive loaded_archives register",
            "opening": "EnvironmentWarning LoadOptions OpenArchive",
            "packaged_code": "PROBED PackagedCode",
            "resources": "PackageResources",
            "stored_objects": "find_object load_object load_pickle require_kind require_pickle",
            "stored_states": "load_state_dict",
            "unpacking": "Unpacker",
            "verifying": "StoredNames stored_names verify",
        },
    )
