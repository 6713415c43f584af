"""What differs between two archives, or two files of weights: code, decisions, keys, tensors, answers."""

from packager._lazy import lazy_names

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    from .changes import *
    from .comparing import *
    from .members import *
    from .states import *
else:
    __getattr__, __all__ = lazy_names(
        __name__,
        {
            "comparing": "compare_files",
            "members": "Member",
            "changes": "Differences TextChange",
            "states": "compare_states",
        },
    )
