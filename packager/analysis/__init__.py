"""Looking inside: where an object comes from, and what a call really uses."""

from packager.lazy import lazy_names

TYPE_CHECKING = False  # as in packager.lazy
if TYPE_CHECKING:
    from .tracing import *
else:
    __getattr__, __all__ = lazy_names(
        __name__,
        {
            "tracing": "Frame Trace TraceComparison TraceError TracedImport compare_trace is_from_package "
            "pruned trace_call trace_dependencies"
        },
    )
