"""Archive to modules and objects: packaged code under names of its own, isolated and importable."""

from typing import TYPE_CHECKING

from packager.lazy import lazy_names

if TYPE_CHECKING:
    from .bytecode import *
    from .code import *
    from .directory import *
    from .finder import *
    from .inspecting import *
    from .migrations import *
    from .objects import *
    from .opening import *
    from .pickles import *
    from .processes import *
    from .resources import *
    from .running import *
    from .stored_states import *
    from .unpacking import *
    from .verifying import *
    from .world import *
else:
    __getattr__, __all__ = lazy_names(
        __name__,
        {
            "bytecode": "BytecodeCache",
            "code": "PackagedCode",
            "directory": "Directory directory_of",
            "finder": "is_open register require_free unregister",
            "inspecting": "stored_names",
            "migrations": "ArchiveMigrations admitted_names migrations_of",
            "objects": "admitting find_object load_object trust_context_of resolver",
            "opening": "check_environment check_externs_allowed",
            "pickles": "load_pickle",
            "processes": "announce withdraw",
            "resources": "PackageResources",
            "running": "CheckOutcome run_checks run_entry",
            "stored_states": "find_state_dict load_state_dict",
            "unpacking": "Unpacker",
            "verifying": "verify",
            "world": "World",
        },
    )
