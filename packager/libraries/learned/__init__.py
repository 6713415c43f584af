"""Rows that a library itself taught: what its source and its fits say of the attributes of its objects.

They are tables of text beside what is known of a library, made by the scripts in fixtures/learned.
"""

from packager.lazy import lazy_names

TYPE_CHECKING = False  # as in packager.lazy
if TYPE_CHECKING:
    from .rows import *
    from .tables import *
else:
    __getattr__, __all__ = lazy_names(
        __name__,
        {
            "rows": "EVERYWHERE LearnedRows Said",
            "tables": "Tables",
        },
    )
