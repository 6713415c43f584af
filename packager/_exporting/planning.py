"""From a survey to the plan: what is stored, what is left to the target, what is wrong."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any

from packager._archive import EntryPoint, ImportsRecord
from packager._environment import environment_facts, requirement_for
from packager._graph import ComputedImport
from packager._licenses import LICENSES
from packager._names import demangle, normalized_name, source_path
from packager._policy import Decision, Origin
from packager._process import gc_running
from packager._quick_dataclasses import replace
from packager._texts import listed
from packager._version import OWN_NAME

from .carried import MAIN_MODULE, runtime_entries, zip64_warnings
from .golden_calls import (
    CallWatch,
    CheckStoreError,
    Objects,
    StoredCheck,
    refused_entries,
    store_check,
    store_schemas,
    unchecked_objects,
)
from .module_sources import archives_in
from .plan import ExportPlan, LicenseCount, PlannedEntry, PlannedExtern, PlannedModule
from .plan_problems import PlanProblems, PlanWarnings
from .planned_entries import PlannedEntries, machine_code_warnings, planned_entry
from .request import CheckRequest, EntryRequest, ObjectRequest, SourceRequest
from .stored import StoredObject
from .stored_licenses import count_licenses, gather_licenses
from .surveying import Survey


class Planner:
    """Makes the plan of one survey.

    `is_as_saved` says whether an object that a check calls is still what is stored; `calls` are those
    that were made already, by the identity of their requests; `watch_calls` sees what others change. With
    `calls_demanded` every entry point needs a check. A `runnable` archive carries a loader; `wheels_for` are
    the targets that wheels will be fetched for.
    """

    def __init__(
        self,
        survey: Survey,
        *,
        is_as_saved: Callable[[ObjectRequest], bool],
        calls: dict[int, StoredCheck | CheckStoreError],
        watch_calls: Callable[[Mapping[str, tuple[str, bytes]]], CallWatch],
        calls_demanded: bool = False,
        runnable: bool,
        wheels_for: tuple[str, ...],
        provenance: Mapping[str, str | bool],
    ) -> None:
        self._survey = survey
        self._walk = survey.walk
        self._decisions = survey.decisions
        self._request = survey.decisions.request
        self._is_as_saved = is_as_saved
        self._calls = calls
        self._watch_calls = watch_calls
        self._calls_demanded = calls_demanded
        self._runnable = runnable
        self._wheels_for = wheels_for
        self._provenance = provenance

    def plan(self) -> ExportPlan:
        """Return what an export would write, with everything that is wrong."""
        survey, policy, request = self._survey, self._decisions.policy, self._request
        points = request.entry_points()
        objects = {(item.package, item.resource): item for item in request.of(ObjectRequest)}
        refused = refused_entries(points, objects, self._defines)
        calls, failed = self._golden_calls(points, objects, refused)
        declared = {item.name: item for item in request.of(EntryRequest)}
        callable_points = [point for point in points if point.name not in refused]
        schemas, undeclarable = store_schemas(callable_points, objects, declared, calls, self._defines)
        externs = tuple(self._externs())
        planned = PlannedEntries(survey, self._modules, self._texts)
        traced = [call for call in calls if call.trace]
        entries = (
            *planned.all(),
            *(planned_entry(call.trace_record.entry, "check", call.trace) for call in traced),
        )
        environment, licenses = self._environment(externs, entries)
        plan = ExportPlan(
            modules=self._modules,
            externs=externs,
            entries=entries,
            tensors=(
                *(member for stored in survey.saved for member in stored.members),
                *(member for call in calls for member in call.members),
            ),
            carried=self._carried(externs) if self._runnable else (),
            wheels_for=self._wheels_for,
            objects=tuple(stored.record for stored in survey.objects),
            imports=tuple(self._imports(survey.objects)),
            state_dicts=tuple(stored.record for stored in survey.states),
            entry_points=points,
            checks=tuple(call.record for call in calls),
            schemas=schemas,
            traces=tuple(call.trace_record for call in traced),
            environment=environment,
            licenses=licenses,
            unchecked=self._unchecked_objects(),
            left_out=tuple(planned.left_out(entries)),
            changes=tuple(told for call in calls if call.record.outputs for told in call.changes),
            unreached=tuple(self._unreached(in_libraries=False)),
            library_unreached=tuple(self._unreached(in_libraries=True)),
            dead_rules=tuple(str(rule) for rule in policy.rules.dead()),
            empty_rules=tuple(str(rule) for rule in policy.empty_rules()),
        )
        unchecked = self._unchecked(points, calls) if self._calls_demanded else ()
        checks = PlanProblems(survey, plan, refused, undeclarable, failed, unchecked)
        warnings = PlanWarnings(survey)
        return replace(
            plan,
            problems=tuple(checks.problems()),
            warnings=(
                *warnings.all(),
                *(told for call in calls for told in (*call.warnings, *call.changes)),
                *map(_told_of_imports, plan.imports),
                *machine_code_warnings(entries),
                *(zip64_warnings(entries, plan.tensors, plan.carried) if self._runnable else ()),
            ),
            library_warnings=tuple(warnings.of_libraries()),
        )

    def _carried(self, externs: Iterable[PlannedExtern]) -> tuple[PlannedEntry, ...]:
        """Return the loader of a runnable archive; all of packager where packaged code imports that."""
        tops = {name.partition(".")[0] for stored in self._survey.stored for name, _ in stored.codecs}
        tops |= {extern.name for extern in externs}
        return runtime_entries(tops, whole="packager" in tops)

    # --- modules ---

    @cached_property
    def _texts(self) -> Mapping[str, bytes]:
        """The source of every interned module that has one.

        What was saved without its dependencies the walk has not read.
        """
        given = {source.name: source.text for source in self._request.of(SourceRequest)}
        found: dict[str, bytes] = {}
        for name, module in self._walk.modules.items():
            decision = self._decisions.standing.get(name)
            if decision is None or decision.action != "intern":
                continue
            if decision.source is not None:
                found[name] = decision.source.encode()
            elif module.source is not None:
                found[name] = module.source
            elif name in self._request.leaves:
                read = self._decisions.sources.find(name).read
                found[name] = given[name] if name in given else read() if read is not None else b""
        return found

    @cached_property
    def _modules(self) -> tuple[PlannedModule, ...]:
        found = []
        for name, module in self._walk.modules.items():
            decision = self._decisions.standing.get(name)
            if decision is None and module.kind == "implicit":
                decision = Decision("intern", "implicit", "the folder of modules that were saved as text")
            if decision is None:
                continue
            text = self._texts.get(name)
            if decision.action == "intern" and module.kind == "missing" and text is None:
                continue  # not here, which the code takes: an archive that named it would have it
            found.append(
                PlannedModule(
                    name=name,
                    action=decision.action,
                    rule=decision.rule,
                    because=decision.because,
                    origin=self._decisions.origin(name),
                    entry=None if text is None else self._entry_of(name, module.is_package),
                    is_package=module.is_package,
                    importers=tuple(one for one in self._survey.imports_of(name) if one.kind != "root"),
                    size=0 if text is None else len(text),
                )
            )
        return tuple(found)

    def _entry_of(self, name: str, is_package: bool) -> str:
        """Return the entry of a module: its own path, which `__main__` leaves to what starts the archive."""
        if self._runnable and name == "__main__":
            return MAIN_MODULE
        return source_path(name, is_package)

    def _imports(self, objects: Iterable[StoredObject]) -> Iterator[ImportsRecord]:
        """Yield what is imported before objects of stored code are loaded: a proof has found it needed."""
        served = self._survey.served
        names = tuple(name for name in served.imports if name in self._texts)
        for stored in objects if names else ():
            is_code = any(use.module in self._texts for use in stored.uses)
            if is_code and (stored.package, stored.resource) in served.importing:
                yield ImportsRecord(stored.package, stored.resource, names)

    # --- what is left to the target ---

    def _externs(self) -> Iterator[PlannedExtern]:
        """Yield one for each top-level name, or one for each distribution that fills a namespace.

        What is not here either is not asked of the target, whatever rule made it extern.
        """
        tops: dict[str, dict[Origin, list[str]]] = {}
        for module in self._modules:
            missing = self._walk.modules[module.name].kind == "missing"
            absent = module.origin.kind == "unknown" and (missing or module.rule == "implicit")
            if module.action == "extern" and not absent:
                top = module.name.partition(".")[0]
                tops.setdefault(top, {}).setdefault(module.origin, []).append(module.name)
        for top, origins in sorted(tops.items()):
            owners = [origin for origin in origins if origin.distribution is not None]
            if len(owners) > 1:
                for owner in owners:
                    names = sorted(origins[owner])
                    yield self._extern(names[0], owner, names)
            else:
                origin = owners[0] if owners else next(iter(origins))
                yield self._extern(top, origin, sorted(name for group in origins.values() for name in group))

    def _extern(self, top: str, origin: Origin, names: Collection[str]) -> PlannedExtern:
        requirement = None
        if origin.distribution is not None and origin.version is not None:
            loosened = self._request.loosened.get(normalized_name(origin.distribution))
            requirement = str(loosened or requirement_for(origin.distribution, origin.version))
        always, required = self._walk.always_needed, self._survey.served.required
        optional = top not in required and not any(name in always for name in names)
        return PlannedExtern(top, origin, requirement, tuple(names), optional)

    def _environment(
        self, externs: Iterable[PlannedExtern], entries: Iterable[PlannedEntry]
    ) -> tuple[Mapping[str, Any], tuple[LicenseCount, ...]]:
        """Return the fingerprint, with the versions of the externs and all that they require, and licences.

        The second value counts the stored files under these.
        """
        owners = [extern.origin.distribution for extern in externs if extern.origin.distribution is not None]
        facts = dict(environment_facts(owners, self._decisions.installed))
        probed = self._probed({normalized_name(owner) for owner in owners})
        if any(probed.values()):
            facts["probes"] = probed
        licenses = gather_licenses(
            [module for module in self._modules if module.entry is not None],
            {name: module.path for name, module in self._walk.modules.items()},
            facts["distributions"],
            self._decisions.installed,
            archives_in(self._decisions.sources),
        )
        if licenses.distributions or licenses.stored:
            facts[LICENSES] = licenses.dump()
        if self._provenance:
            facts["provenance"] = dict(self._provenance)
        files = [(name, text) for name, text in self._texts.items()]
        data = (
            entry.name.rpartition("/")[0] for entry in entries if entry.kind == "resource" and entry.because
        )
        return facts, count_licenses(licenses, [*files, *((name.replace("/", "."), None) for name in data)])

    def _probed(self, externs: Collection[str]) -> Mapping[str, Any]:
        """Return what the project's code looks for, as it was here: versions by distribution, absent modules.

        What is stored, or asked of the target, needs no record: the archive has it, or that is compared.
        What code of another archive looks for is as it was where that was written, and recorded there.
        """
        installed = self._decisions.installed
        stored = {one.origin.distribution for one in self._modules if one.action == "intern"}
        known = {OWN_NAME, *externs, *(normalized_name(name) for name in stored if name is not None)}
        archives = archives_in(self._decisions.sources)
        probes = self._survey.served.probes
        there = [(home, one) for one in probes for home in archives if home.holds(one.module)]
        probes = tuple(one for one in probes if not any(home.holds(one.module) for home in archives))
        versions = {
            name: home.looked_for.distributions[name]
            for home, one in there
            if (name := normalized_name(one.name)) in home.looked_for.distributions
        }
        absent = {one.name for home, one in there if one.name in home.looked_for.modules}
        named = {normalized_name(one.name) for one in probes if one.kind == "distribution"} - known
        sought = {one.name for one in probes if one.kind == "module" and one.name.isidentifier()}
        sought -= sys.stdlib_module_names
        versions |= {name: installed.version(name) for name in named}
        absent |= {name for name in sought if self._walk.find(name).kind == "missing"}
        return {"distributions": dict(sorted(versions.items())), "modules": sorted(absent)}

    def _unreached(self, *, in_libraries: bool) -> Iterator[ComputedImport]:
        """Yield the imports by computed names that no run has come to, of the project or of libraries."""
        for one in self._walk.computed_imports:
            is_reached = f"{one.file}:{one.line}" in self._survey.served.reached
            if not is_reached and self._survey.is_installed(one.importer) == in_libraries:
                yield one

    # --- entry points and golden calls ---

    @cached_property
    def _watch(self) -> CallWatch:
        """What sees what calls change on the stored modules of the project."""
        own = [one for one in self._modules if one.origin.distribution is None or one.origin.is_at_hand]
        return self._watch_calls({one.name: (one.entry, self._texts[one.name]) for one in own if one.entry})

    def _unchecked(self, points: Iterable[EntryPoint], calls: Iterable[StoredCheck]) -> tuple[str, ...]:
        """Return the names of the entry points without a golden call that is repeatable."""
        without = {call.record.name for call in calls if call.record.outputs is None}
        asked = self._request.of(CheckRequest)
        checked = {check.entry_point for check in asked if check.name not in without}
        return tuple(point.name for point in points if point.name not in checked)

    def _unchecked_objects(self) -> tuple[str, ...]:
        """Return the objects whose outputs are not checked, though stored code gives them."""
        stored = {(one.package, one.resource): one for one in self._survey.objects}
        return tuple(unchecked_objects(self._request, stored, self._texts, self._defines))

    def _defines(self, cls: type, value: Any) -> bool:
        """Say whether code of the archive defines a class; see `packager._calls.IsOwn`."""
        return demangle(cls.__module__) in self._texts

    def _golden_calls(
        self, points: tuple[EntryPoint, ...], objects: Objects, refused: Collection[str]
    ) -> tuple[list[StoredCheck], dict[str, CheckStoreError]]:
        """Carry out the calls that are asked for; return what they gave, and why others failed, by name."""
        stored: list[StoredCheck] = []
        failed: dict[str, CheckStoreError] = {}
        for check in self._request.of(CheckRequest):
            if check.entry_point in refused:
                continue
            made = self._calls.get(id(check))
            if made is None:
                try:
                    with gc_running():  # a call of the user's model
                        made = store_check(
                            check, points, objects, self._defines, self._is_as_saved, self._watch
                        )
                except CheckStoreError as error:
                    made = error
                self._calls[id(check)] = made
            if isinstance(made, CheckStoreError):
                failed[check.name] = made
            else:
                stored.append(made)
        return stored, failed


def _told_of_imports(one: ImportsRecord) -> str:
    are, they = ("is", "it") if len(one.modules) == 1 else ("are", "them")
    return (
        f"before object {one.package}/{one.resource} is loaded, {listed(one.modules)} {are} imported: "
        f"without this import, outputs differed. No stored code imports {they}"
    )
