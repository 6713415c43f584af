"""The codecs that are rows, and no classes, by their names."""

from __future__ import annotations

from packager.codecs import Codec, default_registry


def by_name(name: str) -> Codec:
    """Return a codec that packager brings."""
    found = default_registry().find(name)
    assert found is not None
    return found
