"""The codecs that are rows, and no classes, by their names."""

from __future__ import annotations

from packager._codecs import Codec, default_registry


def by_name(name: str) -> Codec:
    """Return a codec that packager brings."""
    found = default_registry().find(name)
    assert found is not None, f"no codec {name!r}: is it in FAMILIES of packager/_codecs/registry.py?"
    return found
