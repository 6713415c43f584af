"""From a request to a plan, and from the plan to an archive."""

from .plan import ExportPlan as ExportPlan
from .plan import PlannedEntry as PlannedEntry
from .plan import PlannedExtern as PlannedExtern
from .plan import PlannedModule as PlannedModule
from .plan import PlannedTensors as PlannedTensors
from .plan import PlanProblem as PlanProblem
from .problems import RefusedPlanError as RefusedPlanError
from .writing import write_plan as write_plan

__all__ = [
    "ExportPlan",
    "PlanProblem",
    "PlannedEntry",
    "PlannedExtern",
    "PlannedModule",
    "PlannedTensors",
    "RefusedPlanError",
    "write_plan",
]
