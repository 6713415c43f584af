"""From a request to a plan, and from the plan to an archive."""

from packager.lazy import lazy_names

TYPE_CHECKING = False  # as in packager.lazy
if TYPE_CHECKING:
    from .carried import *
    from .deciding import *
    from .examples import *
    from .export import *
    from .module_sources import *
    from .plan import *
    from .plan_writing import *
    from .real_pickles import *
    from .request import *
    from .shared_archive import *
    from .surveying import *
else:
    __getattr__, __all__ = lazy_names(
        __name__,
        {
            "carried": "with_wheels zip64_warnings",
            "deciding": "Decisions as_policy",
            "examples": "asked_by_example",
            "export": "Export ExportOptions",
            "module_sources": "as_importer",
            "plan": "ExportPlan PlanProblem PlannedEntry PlannedExtern PlannedModule PlannedTensors "
            "RefusedPlanError UNCHECKED problems_text",
            "plan_writing": "require_sound",
            "real_pickles": "Reduced globals_in make_pickle",
            "request": "CheckRequest EntryRequest Item ModuleRequest ObjectRequest Request "
            "ResourceRequest SourceRequest StateDictRequest class_of is_of_class runs_code resource_entry "
            "sources_in",
            "shared_archive": "SharedArchive",
            "surveying": "Probe Why",
        },
    )
