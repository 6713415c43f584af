"""Looking inside: where an object comes from, and what a call really uses."""

from packager.lazy import lazy_names

TYPE_CHECKING = False  # as in packager.lazy
if TYPE_CHECKING:
    from .belonging import *
    from .comparing import *
    from .tracing import *
else:
    __getattr__, __all__ = lazy_names(
        __name__,
        {
            "belonging": "is_from_package",
            "comparing": "TraceComparison TracedImport compare_trace pruned",
            "tracing": "Frame Trace TraceError trace_call trace_dependencies",
        },
    )
