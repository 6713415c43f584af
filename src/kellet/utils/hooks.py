"""The hook handle and the full backward hooks of a module, in the place where torch has them."""

from ..hooks import RemovableHandle as RemovableHandle
from ..nn.backward_hooks import BackwardHook as BackwardHook

__all__ = ["BackwardHook", "RemovableHandle"]
