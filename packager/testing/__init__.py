"""Contract tests for codecs, and a round trip of an object without an archive."""

from packager._lazy import lazy_names

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    from .codec_contract import *
    from .round_trips import *
else:
    __getattr__, __all__ = lazy_names(
        __name__,
        {
            "codec_contract": "CodecContract",
            "round_trips": "RoundTrip round_trip",
        },
    )
