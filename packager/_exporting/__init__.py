"""From a request to a plan, and from the plan to an archive."""

from packager._lazy import lazy_names

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    from .carried import *
    from .deciding import *
    from .export import *
    from .golden_calls import *
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
            "golden_calls": "asked_by_example",
            "carried": "with_wheels zip64_warnings",
            "deciding": "as_policy",
            "export": "Export export_options",
            "module_sources": "as_importer",
            "plan": "ExportPlan PlanProblem PlannedEntry PlannedModule PlannedTensors "
            "RefusedPlanError UNCHECKED problems_text",
            "plan_writing": "require_sound",
            "real_pickles": "Reduced globals_in make_pickle",
            "request": "CheckRequest EntryRequest Item ModuleRequest ObjectRequest Request "
            "ResourceRequest SourceRequest StateDictRequest check_made_by class_of declared_types "
            "is_of_class runs_code resource_entry sources_in",
            "shared_archive": "SharedArchive",
            "surveying": "Probe Why",
        },
    )
