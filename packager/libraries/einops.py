"""What is known of einops: layers, beside code."""

from __future__ import annotations

from typing import Final

from packager.audit import Row, Rows
from packager.codecs import Library

LIBRARY: Final = Library(
    "einops", "einops", rows=Rows((Row(uses="fills itself"), {"einops.layers.torch": "Rearrange Reduce"}))
)
