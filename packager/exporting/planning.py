"""From a survey to the plan: what is stored, what is left to the target, what is wrong."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from packager.archive import EntryPoint, GuardRecord, ObjectRecord, StateDictRecord, TypeUse
from packager.environment import Distributions, Fingerprint, installed_closure, requirement_for
from packager.graph import Edge, Module, SourceFinder
from packager.names import demangle, source_path
from packager.policy import Decision, GlobGroup, Origin

from .checks import CheckStoreError, StoredCheck, refused_entries, store_check
from .contents import StoredObject, StoredState, member_of_state
from .deciding import Decisions
from .entries import extras_entry, planned_entries
from .finding import Findings
from .plan import ExportPlan, PlannedExtern, PlannedModule, PlannedTensors, PlanProblem
from .problems import REASONS
from .request import CheckRequest, EntryRequest, ObjectRequest, Request, SourceRequest
from .runtime import MAIN_MODULE, runtime_entries, zip64_warnings
from .surveying import Survey

DEFAULT_ENTRY = "model"
"""The name of the entry point that there is by default, and of the object's package and resource."""


def make_plan(
    survey: Survey,
    request: Request,
    decisions: Decisions,
    sources: SourceFinder,
    installed: Distributions,
    exclude_data: Sequence[GlobGroup],
    *,
    is_as_saved: Callable[[ObjectRequest], bool] = lambda request: True,
    runnable: bool = False,
    wheels_for: tuple[str, ...] = (),
) -> ExportPlan:
    """The plan for a request, as the survey found things.

    `is_as_saved` says whether an object that a check calls is still what is stored. A `runnable` one
    carries a loader; `wheels_for` are the targets that wheels will be fetched for.
    """
    findings = Findings(survey, decisions)
    texts = _texts(survey, request, decisions, sources)
    modules = tuple(_modules(survey, decisions, texts, runnable=runnable))
    points = _entry_points(request)
    checks, failed = _calls(request, points, modules, is_as_saved)
    externs = tuple(_externs(modules, survey.walk.edges))
    entries = planned_entries(survey, request, modules, texts, installed, exclude_data, sources)
    tensors = (*_members(survey), *(member for check in checks for member in check.members))
    carried = runtime_entries() if runnable else ()
    return ExportPlan(
        modules=modules,
        externs=externs,
        entries=entries,
        tensors=tensors,
        carried=carried,
        wheels_for=wheels_for,
        objects=tuple(_object_record(stored) for stored in survey.objects),
        state_dicts=tuple(_state_record(stored) for stored in survey.states),
        entry_points=points,
        checks=tuple(check.record for check in checks),
        guards=_guards(survey),
        environment=_environment(externs, installed),
        problems=(*findings.problems(), *failed),
        warnings=(*findings.warnings(), *(zip64_warnings(entries, tensors, carried) if runnable else ())),
        questions=tuple(survey.walk.questions()),
        dead_rules=tuple(str(rule) for rule in decisions.policy.rules.dead()),
        empty_rules=tuple(str(rule) for rule in decisions.policy.empty_rules()),
    )


def _texts(
    survey: Survey, request: Request, decisions: Decisions, sources: SourceFinder
) -> Mapping[str, bytes]:
    """The source of every interned module that has one.

    What was saved without its dependencies the walk has not read.
    """
    given = {source.name: source.text for source in request.of(SourceRequest)}
    found: dict[str, bytes] = {}
    for name, module in survey.walk.modules.items():
        decision = decisions.standing.get(name)
        if decision is None or decision.action != "intern":
            continue
        if decision.source is not None:
            found[name] = decision.source.encode()
        elif module.source is not None:
            found[name] = module.source
        elif name in request.leaves:
            read = sources.find(name).read
            found[name] = given[name] if name in given else read() if read is not None else b""
    return found


def _modules(
    survey: Survey, decisions: Decisions, texts: Mapping[str, bytes], *, runnable: bool
) -> Iterator[PlannedModule]:
    importers = _importers(survey)
    for name, module in survey.walk.modules.items():
        decision = decisions.standing.get(name) or _implied(module)
        if decision is not None:
            stored = name in texts
            yield PlannedModule(
                name=name,
                action=decision.action,
                rule=decision.rule,
                because=decision.because,
                origin=decisions.origin(name),
                entry=_entry_of(name, module.is_package, runnable=runnable) if stored else None,
                is_package=module.is_package,
                importers=importers.get(name, ()),
                size=len(texts[name]) if stored else 0,
            )


def _entry_of(name: str, is_package: bool, *, runnable: bool) -> str:
    """A module lies at its own path; only `__main__` gives way to what starts a runnable archive."""
    if runnable and name == "__main__":
        return MAIN_MODULE
    return source_path(name, is_package)


def _implied(module: Module) -> Decision | None:
    if module.kind == "implicit":
        return Decision("intern", "implicit", "the folder of modules that were saved as text")
    return None


def _importers(survey: Survey) -> Mapping[str, tuple[Edge, ...]]:
    found: dict[str, list[Edge]] = {}
    for edge in survey.walk.edges:
        if edge.followed and edge.kind not in ("root", "parent"):
            found.setdefault(edge.target, []).append(edge)
    return {name: tuple(edges) for name, edges in found.items()}


def _externs(modules: Sequence[PlannedModule], edges: Sequence[Edge]) -> Iterator[PlannedExtern]:
    """One for each top-level name; a namespace that several distributions fill, one for each of them.

    What is extern without having been asked for, and is not here either, is not asked of the target.
    """
    tops: dict[str, dict[Origin, list[str]]] = {}
    for module in modules:
        if module.action == "extern" and not (module.rule == "implicit" and module.origin.kind == "unknown"):
            top = module.name.partition(".")[0]
            tops.setdefault(top, {}).setdefault(module.origin, []).append(module.name)
    for top, origins in sorted(tops.items()):
        owners = [origin for origin in origins if origin.distribution is not None]
        if len(owners) > 1:
            for owner in owners:
                names = tuple(sorted(origins[owner]))
                yield PlannedExtern(names[0], owner, _requirement(owner), names, _optional(names, edges))
        else:
            origin = owners[0] if owners else next(iter(origins))
            names = tuple(sorted(name for group in origins.values() for name in group))
            yield PlannedExtern(top, origin, _requirement(origin), names, _optional(names, edges))


def _optional(names: Collection[str], edges: Iterable[Edge]) -> bool:
    """Whether all that leads to these modules from outside are imports in the body of a `try`."""
    reasons = {
        edge.kind for edge in edges if edge.target in names and edge.importer not in names and edge.followed
    }
    return reasons == {"try"}


def _environment(externs: Sequence[PlannedExtern], installed: Distributions) -> Mapping[str, Any]:
    """The fingerprint, and the versions of the externs and of all that they require."""
    owners = [extern.origin.distribution for extern in externs if extern.origin.distribution is not None]
    versions = dict(installed_closure(owners, installed))
    return {**dataclasses.asdict(Fingerprint.here()), "distributions": versions}


def _requirement(origin: Origin) -> str | None:
    if origin.distribution is None or origin.version is None:
        return None
    return str(requirement_for(origin.distribution, origin.version))


def _object_record(stored: StoredObject) -> ObjectRecord:
    member = stored.member
    return ObjectRecord(
        package=stored.package,
        resource=stored.resource,
        entry=stored.entry,
        tensors=member.name if member is not None else None,
        factory=stored.factory,
        types=tuple(TypeUse(str(use), use.role) for use in stored.uses),
        codecs=stored.codecs,
    )


def _state_record(stored: StoredState) -> StateDictRecord:
    return StateDictRecord(
        package=stored.package,
        resource=stored.resource,
        entry=stored.entry,
        extras=extras_entry(stored) if stored.encoded.extras else None,
        versions=stored.encoded.versions,
        migrations=stored.ran,
    )


def _members(survey: Survey) -> Iterator[PlannedTensors]:
    for stored in survey.objects:
        if stored.member is not None:
            yield stored.member
    for state in survey.states:
        yield member_of_state(state.entry, state.encoded)


def _calls(
    request: Request,
    points: Sequence[EntryPoint],
    modules: Sequence[PlannedModule],
    is_as_saved: Callable[[ObjectRequest], bool],
) -> tuple[list[StoredCheck], list[PlanProblem]]:
    """The checks; and the problems of entry points that cannot be called, and of checks whose call fails."""
    code = {module.name for module in modules if module.action == "intern" and module.entry is not None}

    def is_own(cls: type, value: Any) -> bool:
        return demangle(cls.__module__) in code

    objects = tuple(request.of(ObjectRequest))
    refused = {point.name: why for point, why in refused_entries(points, objects, is_own)}
    problems = [PlanProblem(REASONS["entry"], f"entry point {name}", why) for name, why in refused.items()]
    stored = []
    for check in request.of(CheckRequest):
        if check.name in refused:
            continue
        try:
            stored.append(store_check(check, points, objects, is_own, is_as_saved))
        except CheckStoreError as error:
            problems.append(PlanProblem(REASONS["check"], f"check {check.name}", str(error)))
    return stored, problems


def _entry_points(request: Request) -> tuple[EntryPoint, ...]:
    """Those that were named, and the default object's where it can be called and nothing else is named so."""
    named = [
        EntryPoint(item.name, item.package, item.resource, item.callable) for item in request.of(EntryRequest)
    ]
    default = EntryPoint(DEFAULT_ENTRY, DEFAULT_ENTRY, DEFAULT_ENTRY)
    saved = any(
        (item.package, item.resource) == (DEFAULT_ENTRY, DEFAULT_ENTRY) and callable(item.obj)
        for item in request.of(ObjectRequest)
    )
    if saved and all(point.name != DEFAULT_ENTRY for point in named):
        named.append(default)
    return tuple(named)


def _guards(survey: Survey) -> tuple[GuardRecord, ...]:
    records = {
        (fact.file, fact.line, fact.guard): GuardRecord(fact.file, fact.line, fact.guard, fact.value)
        for fact in survey.walk.facts
    }
    return tuple(records.values())
