"""What can be wrong with a plan, in torch.package's words where it has some, and how it is told."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from packager.errors import PackagingError
from packager.graph import Edge
from packager.policy import Origin, preset_action

from .plan import PlanProblem

if TYPE_CHECKING:
    from .plan import ExportPlan


# The wording of torch.package.PackagingErrorReason, which tests of code written for it look for.
REASONS = {
    "no action": "Module did not match against any action pattern. Extern, mock, or intern it.",
    "denied": "Module was denied by a pattern.",
    "extension": "Module is a C extension module. packager supports Python modules only.",
    "resolution": "Dependency resolution failed.",
    "mocked": "Module was mocked out, but is still being used in the package. Please intern or extern "
    "the mocked modules if objects are supposed to be in the package.",
    # What torch.package finds at load time, or never.
    "missing": "Module was not found in this environment.",
    "no source": "Module has no source that could be stored.",
    "origin": "Module has no known distribution, so the target cannot be told what to install.",
    "extern parent": "Module lies inside a package that is extern: the target would look for it there.",
    "late": "A decision stands already: rules and hooks come before the first question.",
    "object": "Object cannot be stored.",
    "main": "Definitions of a script or notebook cannot be stored alone.",
    "changed": "What was saved changed between the call and close().",
    "entry": "Entry point cannot be called.",
    "check": "Check cannot be stored.",
}
BEYOND_TOP = "attempted relative import beyond top-level package"


class RefusedPlanError(PackagingError):
    """An export was refused. The message is laid out as torch.package's; `plan` holds all of it.

    `problems` are those of the plan. Notes on the exception give, for each, the imports that led
    there with file and line, and a rule to paste.
    """

    def __init__(self, message: str, plan: ExportPlan) -> None:
        super().__init__(message)
        self.plan = plan
        self.problems = plan.problems


def refusal(plan: ExportPlan, *, debug: bool = False) -> RefusedPlanError:
    """The error for a plan with problems. With `debug` the message shows the paths that led there.

    Source: torch.package.PackagingError.
    """
    lines = [""]
    for reason, problems in grouped(plan.problems):
        lines.append(f"* {reason}")
        for problem in problems:
            lines.append(f"    {problem.subject}")
            if problem.context:
                lines.append(f"      Context: {problem.context}")
            if debug and problem.path:
                lines.append(f"      A path to {problem.subject}: {' -> '.join(problem.path)}")
    if not debug:
        lines.append("")
        lines.append(
            "Set debug=True when invoking PackageExporter for a visualization of where broken modules are "
            "coming from!"
        )
    error = RefusedPlanError("\n".join(lines) + "\n", plan)
    for problem in plan.problems:
        for line in _note(problem):
            error.add_note(line)
    return error


def grouped(problems: Iterable[PlanProblem]) -> list[tuple[str, list[PlanProblem]]]:
    """Problems by reason, both in the order in which they were found."""
    groups: dict[str, list[PlanProblem]] = {}
    for problem in problems:
        groups.setdefault(problem.reason, []).append(problem)
    return list(groups.items())


def chain_of(edges: Sequence[Edge]) -> tuple[str, ...]:
    """A chain of imports as lines of text, root first.

    >>> chain_of([Edge("", "net", "root"), Edge("net", "numpy", "top", "net.py", 3)])
    ('net (asked for)', 'numpy (net.py:3)')
    """
    return tuple(f"{edge.target} ({_place(edge)})" for edge in edges)


def paste_rule(name: str, origin: Origin) -> str:
    """The line that would decide module `name` as `policy="auto"` does.

    >>> paste_rule("numpy.linalg", Origin("compiled", "numpy", "2.1.0"))
    'exporter.extern("numpy.**")  # compiled distribution numpy 2.1.0'
    >>> paste_rule("jax", Origin("unknown"))
    'exporter.mock("jax.**")  # unknown origin; extern it where the target brings it'
    """
    top = name.partition(".")[0]
    action = preset_action("auto", origin)
    if action == "undecided":
        return f'exporter.mock("{top}.**")  # {origin}; extern it where the target brings it'
    return f'exporter.{action}("{top}.**")  # {origin}'


def _place(edge: Edge) -> str:
    if edge.kind == "root":
        return "asked for"
    return f"{edge.file}:{edge.line}" if edge.line else f"{edge.kind} of {edge.importer}"


def _note(problem: PlanProblem) -> list[str]:
    if not problem.chain and not problem.fix:
        return []
    lines = [f"{problem.subject}: " + " -> ".join(problem.chain)]
    return [*lines, f"    {problem.fix}"] if problem.fix else lines
