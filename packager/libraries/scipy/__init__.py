"""What is known of SciPy: sparse matrices, trees of points, splines."""

from __future__ import annotations

from typing import Final

from packager.codecs import Library

from . import sparse_state, spatial_codec, splines

LIBRARY: Final = Library(
    "scipy",
    "scipy",
    codecs=spatial_codec.CODECS,
    checks=(*sparse_state.CHECKS, *spatial_codec.CHECKS, *splines.CHECKS),
)
