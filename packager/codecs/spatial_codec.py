"""A codec for trees of points of SciPy: their state, which neighbor_state.py looks at first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from .base import Child, Codec, Decoding, Encoding, Node, expect
from .c_state import state_checks, stored_state

_PARTS: Final = 10


class SpatialTreeCodec(Codec):
    """KDTree and cKDTree: which, and the ten parts of its state."""

    name = "scipy.kd_tree"
    types = (
        "scipy.spatial._ckdtree:cKDTree",
        "scipy.spatial._kdtree:KDTree",
        "scipy.spatial:cKDTree",
        "scipy.spatial:KDTree",
    )

    def encode(self, obj: Any, context: Encoding) -> Node:
        return Node(type(obj).__name__, stored_state(type(obj), obj.__getstate__()))

    def check(self, literal: Any, children: Sequence[Child], version: int) -> None:
        known = literal in ("KDTree", "cKDTree") and len(children) == _PARTS
        expect(known, f"a kind of tree, and {_PARTS} parts")
        for child in children:
            plain = child.kind == "scalar" and type(child.value) in (int, type(None))
            expect(plain or child.codec == "numpy.ndarray", "arrays, ints and None")

    def decode(self, literal: Any, children: Sequence[Any], version: int, context: Decoding) -> Any:
        from scipy import spatial

        cls = getattr(spatial, literal)
        made, state = cls.__new__(cls), tuple(children)
        for check in state_checks(cls):
            check.check_state(made, state)
        made.__setstate__(state)
        return made


CODECS: Final = (SpatialTreeCodec(),)
