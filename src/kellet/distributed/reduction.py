"""What an all-reduce makes of the values of the ranks."""

from __future__ import annotations

from enum import Enum

import numpy as np


class ReduceOp(Enum):
    """How the values of all ranks become one: `AVG` is the sum divided by the number of ranks.

    Bitwise ones take integers and bools, the other ones numbers; PRODUCT, MIN and MAX no complex ones.

    Source: torch.distributed.ReduceOp, of which PREMUL_SUM is not here.

    >>> kellet.distributed.ReduceOp.SUM.name
    'SUM'
    """

    SUM = "add"
    AVG = "add and divide"
    PRODUCT = "multiply"
    MIN = "minimum"
    MAX = "maximum"
    BAND = "bitwise_and"
    BOR = "bitwise_or"
    BXOR = "bitwise_xor"

    @property
    def ufunc(self) -> np.ufunc:
        """What NumPy does for two values; the sum for AVG, which is divided at the end."""
        found: np.ufunc = getattr(np, self.value.split()[0])
        return found
