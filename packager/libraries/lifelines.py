"""What is known of lifelines: the model of Cox, of arrays."""

from __future__ import annotations

from typing import Final

from packager.audit import Rows
from packager.codecs import Library
from packager.libraries.families import classes_of
from packager.libraries.formulas import model_of

LIBRARY: Final = Library(
    "lifelines",
    "lifelines",
    rows=Rows(
        (model_of("lifelines"), classes_of("lifelines")),
        (
            model_of("lifelines"),
            {"lifelines.utils": "CensoringType"},
        ),  # an enumeration, whose members are looked up
    ),
)
