"""What differs between two archives, or two files of weights: code, decisions, keys, tensors, answers."""

from packager.lazy import lazy_names

TYPE_CHECKING = False  # as in packager.lazy
if TYPE_CHECKING:
    from .comparing import *
    from .members import *
    from .records import *
    from .states import *
else:
    __getattr__, __all__ = lazy_names(
        __name__,
        {
            "comparing": "compare_files",
            "members": "Member",
            "records": "Differences TextChange",
            "states": "compare_states",
        },
    )
