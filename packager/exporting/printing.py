"""A plan as text: what is stored and why, what is left to the target, and what is wrong."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from packager.graph import Question
from packager.sizes import size_text

from .plan import ExportPlan, PlannedModule, PlanProblem
from .problems import grouped

_PYTHON = ("stdlib", "builtin")  # origins that every Python brings
_HEADINGS = (
    ("intern", "stored in the archive"),
    ("mock", "mocked"),
    ("deny", "denied"),
)


def plan_text(plan: ExportPlan) -> str:
    """The whole plan, the short things first, problems last, where the eye stays."""
    lines = [_summary(plan), ""]
    for action, heading in _HEADINGS:
        lines += _section(heading, _modules(plan.by_action(action)))  # type: ignore[arg-type]  # of ACTIONS
    lines += _section("left to the target", _externs(plan))
    lines += _section("objects and state dicts", _stored(plan))
    lines += _section(
        "data files", (f"{file.name}  {size_text(file.size)}  {file.because}" for file in plan.data_files)
    )
    lines += _section("wheels, fetched when it is written", plan.wheels_for)
    lines += _section("size", (f"{kind}  {size_text(count)}" for kind, count in plan.cost().items()))
    lines += _section("rules that matched nothing", plan.dead_rules)
    lines += _section("questions", (line for question in plan.questions for line in _question(question)))
    lines += _section("warnings", plan.warnings)
    lines += problems_text(plan.problems)
    return "\n".join(lines).rstrip() + "\n"


def problems_text(problems: Iterable[PlanProblem]) -> list[str]:
    """Problems by reason, each with what was found, the imports that led there, and a rule to paste."""
    lines = []
    for reason, members in grouped(problems):
        lines.append(f"* {reason}")
        for problem in members:
            lines.append(f"    {problem.subject}")
            if problem.context:
                lines.append(f"      Context: {problem.context}")
            if problem.chain:
                lines.append(f"      Imported by: {' -> '.join(problem.chain)}")
            if problem.fix:
                lines.append(f"      To paste: {problem.fix}")
    return lines


def _summary(plan: ExportPlan) -> str:
    counts = [
        f"{sum(entry.kind == 'source' for entry in plan.entries)} modules stored",
        f"{sum(extern.origin.kind not in _PYTHON for extern in plan.externs)} packages left to the target",
    ]
    if plan.by_action("mock"):
        counts.append(f"{len(plan.by_action('mock'))} mocked")
    counts.append(size_text(plan.size))
    state = (
        f"{len(plan.problems)} problems"
        if plan.problems
        else "ready to write"
        if plan.ok
        else "rules without a match"
    )
    return f"Export plan: {', '.join(counts)}; {state}"


def _section(heading: str, lines: Iterable[str]) -> list[str]:
    found = [f"    {line}" for line in lines]
    return [f"{heading}:", *found, ""] if found else []


def _modules(modules: Iterable[PlannedModule]) -> Iterator[str]:
    for module in modules:
        yield f"{module.name}  ({module.rule}: {module.because})"


def _externs(plan: ExportPlan) -> Iterator[str]:
    python = [extern.name for extern in plan.externs if extern.origin.kind in _PYTHON]
    for extern in plan.externs:
        if extern.origin.kind not in _PYTHON:
            known = extern.requirement or "no distribution known"
            yield f"{extern.name}  {known}  ({extern.origin}{', optional' if extern.optional else ''})"
    if python:
        yield f"standard library: {', '.join(python)}"


def _stored(plan: ExportPlan) -> Iterator[str]:
    for record in plan.objects:
        how = f"made by {record.factory}" if record.factory else f"{len(record.types)} names"
        yield f"{record.package}/{record.resource}  object, {how}"
    for state in plan.state_dicts:
        yield f"{state.package}/{state.resource}  state dict"


def _question(question: Question) -> Iterator[str]:
    yield f"{question.file}:{question.line}  {question.text}  (taken to load nothing)"
    for candidate in question.candidates:
        yield f"    {candidate.name}: {candidate.modules} modules, {size_text(candidate.bytes)}"
