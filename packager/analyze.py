"""PyTorch's spelling of `packager.analysis`, for code written for torch.package."""

from .analysis import is_from_package as is_from_package
from .analysis import trace_dependencies as trace_dependencies

__all__ = ["is_from_package", "trace_dependencies"]
