"""Libraries at the edge: what is known of each is one file or folder, with a `Library` record.

A library is all but Python, NumPy, PyTorch and kellet; no name of one stands elsewhere. Each is found as
those of other distributions are, by the name that it is imported by, and each can be taken away.
"""

from packager._lazy import lazy_names

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    from .homes import *
else:
    __getattr__, __all__ = lazy_names(__name__, {"homes": "HOMES"})
