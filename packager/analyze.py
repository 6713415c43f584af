"""Where an object comes from and what a call uses: names of torch.package.analyze, for compatibility."""

from ._analysis import is_from_package as is_from_package
from ._analysis import trace_dependencies as trace_dependencies

__all__ = ["is_from_package", "trace_dependencies"]
