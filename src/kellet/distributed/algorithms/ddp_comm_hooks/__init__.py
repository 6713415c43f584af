"""Ready-made hooks for `DistributedDataParallel.register_comm_hook`, in the files where PyTorch has them."""

from . import debugging_hooks as debugging_hooks
from . import default_hooks as default_hooks
from . import post_localSGD_hook as post_localSGD_hook
from . import powerSGD_hook as powerSGD_hook
from .debugging_hooks import noop_hook as noop_hook
from .default_hooks import allreduce_hook as allreduce_hook
from .default_hooks import bf16_compress_hook as bf16_compress_hook
from .default_hooks import bf16_compress_wrapper as bf16_compress_wrapper
from .default_hooks import fp16_compress_hook as fp16_compress_hook
from .default_hooks import fp16_compress_wrapper as fp16_compress_wrapper
from .post_localSGD_hook import PostLocalSGDState as PostLocalSGDState
from .powerSGD_hook import PowerSGDState as PowerSGDState

__all__ = [
    "PostLocalSGDState",
    "PowerSGDState",
    "allreduce_hook",
    "bf16_compress_hook",
    "bf16_compress_wrapper",
    "debugging_hooks",
    "default_hooks",
    "fp16_compress_hook",
    "fp16_compress_wrapper",
    "noop_hook",
    "post_localSGD_hook",
    "powerSGD_hook",
]
