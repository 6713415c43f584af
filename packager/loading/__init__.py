"""Archive to modules and objects: packaged code under names of its own, isolated and importable."""

from typing import TYPE_CHECKING

from packager.lazy import lazy_names

if TYPE_CHECKING:
    from .decoding import *
    from .deep_checks import *
    from .module_loaders import *
    from .opening import *
    from .packaged_code import *
    from .resources import *
    from .running import *
    from .stored_objects import *
    from .stored_pickles import *
    from .stored_states import *
else:
    __getattr__, __all__ = lazy_names(
        __name__,
        {
            "decoding": "decode_resource",
            "deep_checks": "verify",
            "module_loaders": "BytecodeCache",
            "opening": "EnvironmentWarning LoadOptions OpenArchive",
            "packaged_code": "Unpacker",
            "resources": "Directory PackageResources directory_of",
            "running": "CheckOutcome golden_answers golden_inputs run_checks run_entry",
            "stored_objects": "StoredNames load_object stored_names",
            "stored_pickles": "load_pickle",
            "stored_states": "load_state_dict",
        },
    )
