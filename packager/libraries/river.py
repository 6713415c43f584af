"""What is known of river: models of Python, and tables of weights made in Rust."""

from __future__ import annotations

from typing import Final

from packager.audit import PLAIN, Row, Rows
from packager.codecs import Library
from packager.libraries.families import ESTIMATOR, classes_of

LIBRARY: Final = Library(
    "river",
    "river",
    rows=Rows(
        (ESTIMATOR, classes_of("river")),
        (
            Row("call", arguments=PLAIN),
            {"river._river_rust.vectordict": "VectorDict"},
        ),  # a table of numbers, what is missing, a mask and a flag
    ),
)
