"""Weights from a file into a module, before it is exported.

Nothing of a file is executed, and PyTorch is not needed to read one of its own.
"""

from __future__ import annotations

import os
from typing import Any

from packager.errors import PackageError


class WeightsError(PackageError, ValueError):
    """An object that takes no weights."""


def load_weights(module: Any, path: str | os.PathLike[str]) -> None:
    """Load the state dict in a file into `module`, strictly, by its own `load_state_dict`.

    The file has any format that `packager.weights.open_checkpoint` knows.

    Raises WeightsError for an object that takes none, LegacyFormatError for other files, and what
    `load_state_dict` raises for keys and shapes that do not fit.
    """
    from packager.migrations import load_checkpoint

    if not callable(getattr(module, "load_state_dict", None)):
        raise WeightsError(f"{type(module).__name__} takes no weights: it has no load_state_dict()")
    load_checkpoint(module, path)
