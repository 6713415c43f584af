"""What is wrong, and what deserves a warning: found by looking at a survey, in the order of the walk."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property

from packager.graph import Edge, Module, Problem
from packager.objects import TrustContext, judge
from packager.policy import Action, Decision

from .contents import StoredObject, StoredState, finding_text
from .deciding import Decisions
from .plan import PlanProblem
from .problems import BEYOND_TOP, REASONS, chain_of, paste_rule
from .surveying import Survey

_ALWAYS = frozenset(["root", "top", "parent", "star", "lazy"])
# What decides before any rule does, so that no rule can decide otherwise.
_WITHOUT_A_RULE = ("asked for", "mocked before", "resources")
_UNREADABLE = {
    "extension": "extension",
    "syntax": "resolution",
    "encoding": "resolution",
    "beyond top level": "resolution",
}


class Findings:
    """The problems and warnings of one survey.

    A module that is not there is a problem where its import runs for certain: the code could not be
    imported here either. Inside functions and guards it is a warning: the code goes on there as it
    goes on here. Without a preset every module needs a rule, present or not, as in torch.package;
    under "strict" every one that is there.
    """

    def __init__(self, survey: Survey, decisions: Decisions) -> None:
        self._survey = survey
        self._walk = survey.walk
        self._decisions = decisions
        self._modules: Mapping[str, Module] = survey.walk.modules

    def problems(self) -> Iterator[PlanProblem]:
        """Everything that stops the export."""
        for name in self._modules:
            yield from self._problems_of(name)
        yield from self._refused_objects()
        yield from self._statements_of_main()
        yield from self._used_mocks()
        yield from self._late_changes()

    def warnings(self) -> Iterator[str]:
        """Everything that the user should know, and that stops nothing."""
        for stored in self._survey.stored:
            for finding in stored.findings[1]:
                yield f"{stored.label}: {finding_text(finding)}"
        for name, decision in self._decisions.standing.items():
            if decision.action == "extern":
                yield from self._without_home(name, decision)
            elif decision.action == "intern" and decision.source is None:
                module = self._modules.get(name)  # what was only asked about has not been walked
                if module is not None and module.caveat:
                    yield module.caveat
        for name in self._decisions.undecided:
            if self._is_absent(name) and not self._is_needed(name):
                yield f"{name} was not found here; code that imports it will fail there as it does here"
        yield from self._names_to_trust()
        for question in self._walk.unused_answers:
            yield f"{question} was answered, and no computed import is there; see the plan for those that are"

    def _without_home(self, name: str, decision: Decision) -> Iterator[str]:
        origin = self._decisions.origin(name)
        if origin.distribution is not None or origin.kind in ("stdlib", "builtin"):
            return
        if decision.rule == "implicit" and origin.kind == "unknown":
            yield f"{name} was not found here; code that imports it takes the target's, if there is one"
        else:
            yield f"{name} is extern without a known distribution ({origin}): the target must bring it"

    def _problems_of(self, name: str) -> Iterator[PlanProblem]:
        decision = self._decisions.standing.get(name)
        if decision is None:
            yield from self._undecided(name, self._decisions.undecided.get(name))
        elif decision.action == "deny":
            yield self._problem("denied", name, _own_reason(decision), fix=self._other_rule("mock", name))
        elif decision.action == "intern":
            yield from (self._unreadable(problem) for problem in self._walk_problems.get(name, ()))
        if decision is not None and decision.action in ("intern", "mock"):
            yield from self._inside_extern(name)

    def _undecided(self, name: str, decision: Decision | None) -> Iterator[PlanProblem]:
        if decision is None or self._is_only_a_folder(name):
            return
        preset = self._decisions.policy.preset
        if preset is None or (preset == "strict" and not self._is_absent(name)):
            yield self._problem("no action", name, fix=paste_rule(name, self._decisions.origin(name)))
        elif not self._is_absent(name):
            yield self._problem(
                "origin", name, decision.because, fix=paste_rule(name, self._decisions.origin(name))
            )
        elif self._is_needed(name):
            yield self._problem(
                "missing",
                name,
                self._modules[name].problem,
                fix=paste_rule(name, self._decisions.origin(name)),
            )

    def _is_only_a_folder(self, name: str) -> bool:
        """A package that is there because something in it is extern, mocked or undecided itself."""
        edges = [edge for edge in self._edges_to.get(name, ()) if edge.followed]
        return bool(edges) and all(edge.kind == "parent" for edge in edges)

    def _is_absent(self, name: str) -> bool:
        return self._modules[name].kind in ("missing", "unknown") if name in self._modules else False

    def _is_needed(self, name: str) -> bool:
        """Whether an import of it runs for certain, when what was asked for is imported."""
        return any(
            edge.kind in _ALWAYS
            and edge.kind != "parent"
            and (edge.kind == "root" or edge.importer in self._certain)
            for edge in self._edges_to.get(name, ())
        )

    @cached_property
    def _certain(self) -> frozenset[str]:
        """The modules that are imported for certain, going from the roots by unconditional imports."""
        found: set[str] = set()
        waiting = [edge.target for edge in self._walk.edges if edge.kind == "root"]
        onward: dict[str, list[str]] = {}
        for edge in self._walk.edges:
            if edge.followed and edge.kind in _ALWAYS:
                onward.setdefault(edge.importer, []).append(edge.target)
        while waiting:
            name = waiting.pop()
            if name not in found:
                found.add(name)
                waiting.extend(onward.get(name, ()))
        return frozenset(found)

    @cached_property
    def _edges_to(self) -> Mapping[str, list[Edge]]:
        found: dict[str, list[Edge]] = {}
        for edge in self._walk.edges:
            found.setdefault(edge.target, []).append(edge)
        return found

    @cached_property
    def _walk_problems(self) -> Mapping[str, list[Problem]]:
        found: dict[str, list[Problem]] = {}
        for problem in self._walk.problems:
            found.setdefault(problem.module, []).append(problem)
        return found

    def _unreadable(self, problem: Problem) -> PlanProblem:
        where = f"{problem.file}:{problem.line}: " if problem.line else ""
        if problem.reason == "beyond top level":
            context = f"{BEYOND_TOP}, at {problem.file}:{problem.line}"
        elif problem.reason == "extension":
            context = ""
        else:
            context = f"{where}{problem.message}"
        reason = "missing" if problem.reason == "missing" else _UNREADABLE.get(problem.reason, "no source")
        return self._problem(reason, problem.module, context, fix=self._other_rule("extern", problem.module))

    def _other_rule(self, action: Action, name: str) -> str:
        """The rule to paste, and before which one it must stand; "" where no rule would help."""
        rule = self._decisions.standing[name].rule
        if rule in _WITHOUT_A_RULE:
            return ""
        before = f"  # before {rule}" if rule.endswith(")") else ""
        return f'exporter.{action}("{name}"){before}'

    def _inside_extern(self, name: str) -> Iterator[PlanProblem]:
        parent = name.rpartition(".")[0]
        above = self._decisions.standing.get(parent)
        if above is not None and above.action == "extern":
            action = self._decisions.standing[name].action
            fix = f'exporter.{action}("{name.partition(".")[0]}.**")'
            yield self._problem("extern parent", name, f"{parent} is extern by {above.rule}", fix=fix)

    def _refused_objects(self) -> Iterator[PlanProblem]:
        for stored in self._survey.stored:
            for finding in stored.findings[0]:
                yield PlanProblem(
                    REASONS["object"], f"{stored.package}/{stored.resource}", finding_text(finding)
                )
        for target, reason in self._survey.migrations.refusals:
            yield PlanProblem(REASONS["object"], f"migrations of {target}", reason)

    def _statements_of_main(self) -> Iterator[PlanProblem]:
        """What its definitions need and cannot have, where they are stored."""
        decision = self._decisions.standing.get("__main__")
        if decision is not None and decision.action == "intern":
            for problem in self._survey.main_problems:
                yield self._problem("main", "__main__", problem)

    def _names_to_trust(self) -> Iterator[str]:
        """What loaders refuse by default, told here already: by then the one who exports is far away."""
        archive = self._trust_context
        for stored in self._survey.objects:
            module = (stored.factory or "").partition(":")[0]
            trust_context = archive.for_object([module]) if archive.interned(module) else archive
            factory = stored.factory if stored.factory and not archive.interned(module) else None
            yield from self._refused_by_loaders(stored, stored.encoded.records, trust_context, "obj", factory)
        for state in self._survey.states:
            yield from self._refused_by_loaders(state, state.encoded.extras, archive.data_alone(), "extras")

    def _refused_by_loaders(
        self,
        stored: StoredObject | StoredState,
        records: bytes,
        trust_context: TrustContext,
        root: str,
        factory: str | None = None,
    ) -> Iterator[str]:
        if not records:
            return
        verdict = judge(records, trust_context, storages=stored.storages, what=stored.label, root=root)
        refused = sorted({str(use) for use in verdict.names} | ({factory} if factory else set()))
        if refused:
            trust = ", ".join(map(repr, refused))
            yield (
                f"{stored.label} needs names that loaders refuse unless they are told to trust them: "
                f"PackageImporter(..., trust=({trust},))"
            )
        for form in verdict.forms:
            yield f"{stored.label} is refused by loaders: {form}"

    @cached_property
    def _trust_context(self) -> TrustContext:
        """What loaders will judge by."""
        names = self._decisions.standing
        interned = [name for name, one in names.items() if one.action == "intern" and one.rule != "resources"]
        externs = {name.partition(".")[0] for name, one in names.items() if one.action == "extern"}
        return TrustContext.of_archive(interned, externs)

    def _used_mocks(self) -> Iterator[PlanProblem]:
        told: set[str] = set()
        for use in self._survey.uses:
            decision = self._decisions.standing.get(use.module)
            if decision is not None and decision.action == "mock" and use.module not in told:
                told.add(use.module)
                yield self._problem(
                    "mocked",
                    use.module,
                    f"{use.qualname or use.module} is used by {use.label}",
                    fix=self._other_rule("intern", use.module),
                )

    def _late_changes(self) -> Iterator[PlanProblem]:
        for change in self._decisions.late:
            stands = f"{change.stands.action} by {change.stands.rule}"
            context = f"{change.what} would make it {change.wanted}; it is {stands}"
            yield PlanProblem(REASONS["late"], change.module, context)

    def _problem(self, reason: str, name: str, context: str = "", *, fix: str = "") -> PlanProblem:
        edges = self._walk.why(name) if name in self._modules else ()
        path = tuple(edge.target for edge in edges)
        return PlanProblem(REASONS[reason], name, context, chain_of(edges), path, fix)


def _own_reason(decision: Decision) -> str:
    """The reason that somebody gave; not the standard one, which says no more than the rule."""
    return "" if decision.because.startswith("first rule that matches") else decision.because
