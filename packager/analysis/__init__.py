"""Looking inside: where an object comes from, and what a call really uses."""

from .belonging import is_from_package as is_from_package
from .comparing import TraceComparison as TraceComparison
from .comparing import TracedImport as TracedImport
from .comparing import compare_trace as compare_trace
from .comparing import pruned as pruned
from .tracing import Frame as Frame
from .tracing import Trace as Trace
from .tracing import TraceError as TraceError
from .tracing import trace_call as trace_call
from .tracing import trace_dependencies as trace_dependencies

__all__ = [
    "Frame",
    "Trace",
    "TraceComparison",
    "TraceError",
    "TracedImport",
    "compare_trace",
    "is_from_package",
    "pruned",
    "trace_call",
    "trace_dependencies",
]
