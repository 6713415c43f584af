"""Looking inside: where an object comes from, and what a call really uses."""

from .belonging import is_from_package as is_from_package
from .comparing import TraceComparison as TraceComparison
from .comparing import compare_trace as compare_trace
from .tracing import Trace as Trace
from .tracing import TraceError as TraceError
from .tracing import trace_call as trace_call
from .tracing import trace_dependencies as trace_dependencies

__all__ = [
    "Trace",
    "TraceComparison",
    "TraceError",
    "compare_trace",
    "is_from_package",
    "trace_call",
    "trace_dependencies",
]
