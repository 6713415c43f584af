"""Looking inside: where an object comes from, and what a call really uses."""

from packager._lazy import lazy_names

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    from .usage import *
else:
    __getattr__, __all__ = lazy_names(
        __name__,
        {
            "usage": "Frame Trace TraceComparison TraceError compare_trace is_from_package "
            "pruned trace_call trace_dependencies"
        },
    )
