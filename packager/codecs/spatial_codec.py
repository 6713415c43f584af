"""A codec for trees of points of SciPy: their state, which neighbor_state.py looks at first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from .base import Child, Node
from .c_state import state_checks, stored_state
from .codec_rows import Parts, words

_HOMES: Final = ("._ckdtree:cKDTree", "._kdtree:KDTree", ":cKDTree", ":KDTree")


def _tree(kind: str, *parts: Any) -> Any:
    from scipy import spatial

    cls = getattr(spatial, kind)
    made = cls.__new__(cls)
    for check in state_checks(cls):
        check.check_state(made, parts)
    made.__setstate__(parts)
    return made


def _are_plain(kind: str, children: Sequence[Child]) -> bool:
    return all(child.codec or type(child.value) in (int, type(None)) for child in children)


CODECS: Final = (
    Parts("scipy.kd_tree",
          tuple(f"scipy.spatial{home}" for home in _HOMES), " ".join(["scalar|numpy.ndarray"] * 10),
          "a kind of tree, and ten parts: arrays, ints and None",
          lambda obj: Node(type(obj).__name__, stored_state(type(obj), obj.__getstate__())), _tree,
          words(("KDTree", "cKDTree")), also=_are_plain),
)  # fmt: skip
