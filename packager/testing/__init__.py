"""Contract tests for what others may add to packager, and a way to store an object without an archive."""

from .codec_contract import CodecContract as CodecContract
from .round_trip import RoundTrip as RoundTrip
from .round_trip import round_trip as round_trip

__all__ = ["CodecContract", "RoundTrip", "round_trip"]
