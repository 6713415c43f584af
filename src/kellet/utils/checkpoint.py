"""Steps that are computed anew in backward, in the place where torch has them."""

from ..core.checkpointing import checkpoint as checkpoint
from ..core.checkpointing import checkpoint_sequential as checkpoint_sequential

__all__ = ["checkpoint", "checkpoint_sequential"]
