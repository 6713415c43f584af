"""Archive to modules and objects: packaged code under names of its own, isolated and importable."""

from packager.lazy import lazy_names

TYPE_CHECKING = False  # as in packager.lazy
if TYPE_CHECKING:
    from .bytecode import *
    from .compiling_ahead import *
    from .decoding import *
    from .directories import *
    from .loaded_archive import *
    from .names_in_archives import *
    from .opening import *
    from .packaged_code import *
    from .resources import *
    from .running import *
    from .stored_objects import *
    from .stored_pickles import *
    from .stored_states import *
    from .unpacking import *
    from .verifying import *
else:
    __getattr__, __all__ = lazy_names(
        __name__,
        {
            "bytecode": "BytecodeCache default_bytecode_cache place_of",
            "compiling_ahead": "NothingKeptError compile_ahead",
            "decoding": "decode_resource",
            "opening": "EnvironmentWarning LoadOptions OpenArchive",
            "loaded_archive": "LoadedArchive loaded_archives register",
            "packaged_code": "PROBED PackagedCode",
            "directories": "Directory directory_of",
            "names_in_archives": "StoredNames stored_names",
            "resources": "PackageResources",
            "running": "CheckOutcome golden_answers golden_inputs run_checks run_entry",
            "stored_objects": "find_object load_object",
            "stored_pickles": "load_pickle require_pickle",
            "stored_states": "load_state_dict",
            "unpacking": "Unpacker",
            "verifying": "verify",
        },
    )
