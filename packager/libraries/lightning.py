"""What is known of lightning: the options of a module, which are given pairs, beside code."""

from __future__ import annotations

from typing import Final

from packager.audit import Row, Rows
from packager.codecs import Library

LIBRARY: Final = Library(
    "lightning",
    "lightning",
    rows=Rows((Row(uses="fills itself"), {"lightning.fabric.utilities": "AttributeDict"})),
)
