"""Addresses: bytes over http(s), out of object stores and out of file objects, read in ranges."""

from packager._lazy import lazy_names

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    from .addresses import *
    from .fetching import *
    from .ranges import *
else:
    __getattr__, __all__ = lazy_names(
        __name__,
        {
            "addresses": "Address address_in hide_secrets refuse_pin",
            "fetching": "Fetching open_ranges",
            "ranges": "Ranges RemoteError",
        },
    )
