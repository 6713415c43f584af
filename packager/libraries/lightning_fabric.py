"""What is known of lightning_fabric: the options of a module, beside code."""

from __future__ import annotations

from typing import Final

from packager.audit import Row, Rows
from packager.codecs import Library

LIBRARY: Final = Library(
    "lightning_fabric",
    "lightning-fabric",
    rows=Rows((Row(uses="fills itself"), {"lightning_fabric.utilities": "AttributeDict"})),
)
