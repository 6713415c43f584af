"""From a request to a plan, and from the plan to an archive."""

from typing import TYPE_CHECKING

from packager.lazy import lazy_names

if TYPE_CHECKING:
    from .answers import *
    from .calls import *
    from .deciding import *
    from .entry_methods import *
    from .evaluation import *
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
    from .targets import *
    from .vendoring import *
    from .weights import *
    from .writing import *
else:
    __getattr__, __all__ = lazy_names(
        __name__,
        {
            "answers": "Deviation compare_answers",
            "calls": "copied_input load_arrays",
            "deciding": "Decisions",
            "entry_methods": "entry_method require_entry_name",
            "evaluation": "call_in_evaluation_mode",
            "pickles": "Reduced globals_in make_pickle",
            "plan": "ExportPlan PlanProblem PlannedEntry PlannedExtern PlannedModule PlannedTensors",
            "planning": "make_plan",
            "printing": "problems_text size_text",
            "problems": "RefusedPlanError",
            "reasons": "Why why",
            "request": "CheckRequest EntryRequest Item ModuleRequest ObjectRequest Request ResourceRequest "
            "SourceRequest StateDictRequest",
            "source_files": "modules_in",
            "sources": "SourcesOfRequest as_importer mocked_in sources_of",
            "surveying": "Survey Surveyor",
            "targets": "TargetError put_folder_on_path resolve_target split_target",
            "vendoring": "with_wheels",
            "weights": "load_weights",
            "writing": "require_sound write_plan",
        },
    )
