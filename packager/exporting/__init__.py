"""From a request to a plan, and from the plan to an archive."""

from typing import TYPE_CHECKING

from packager.lazy import lazy_names

if TYPE_CHECKING:
    from .deciding import *
    from .pickles import *
    from .plan import *
    from .planning import *
    from .printing import *
    from .problems import *
    from .reasons import *
    from .request import *
    from .source_files import *
    from .sources import *
    from .surveying import *
    from .vendoring import *
    from .writing import *
else:
    __getattr__, __all__ = lazy_names(
        __name__,
        {
            "deciding": "Decisions",
            "pickles": "Reduced globals_in make_pickle",
            "plan": "ExportPlan PlanProblem PlannedEntry PlannedExtern PlannedModule PlannedTensors",
            "planning": "make_plan",
            "printing": "problems_text",
            "problems": "RefusedPlanError",
            "reasons": "Why why",
            "request": "CheckRequest EntryRequest Item ModuleRequest ObjectRequest Request ResourceRequest "
            "SourceRequest StateDictRequest",
            "source_files": "modules_in",
            "sources": "SourcesOfRequest as_importer mocked_in sources_of",
            "surveying": "Survey Surveyor",
            "vendoring": "with_wheels",
            "writing": "require_sound write_plan",
        },
    )
