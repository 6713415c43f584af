"""Ways to train with several processes: ready-made communication hooks, and averages of models."""

from . import ddp_comm_hooks as ddp_comm_hooks
from . import model_averaging as model_averaging

__all__ = ["ddp_comm_hooks", "model_averaging"]
