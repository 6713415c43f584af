"""Ready-made hooks for `DistributedDataParallel.register_comm_hook`, where PyTorch has them."""

from . import debugging_hooks as debugging_hooks
from . import default_hooks as default_hooks
from . import post_localSGD_hook as post_localSGD_hook
from . import powerSGD_hook as powerSGD_hook

__all__ = ["debugging_hooks", "default_hooks", "post_localSGD_hook", "powerSGD_hook"]
