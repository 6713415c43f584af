"""The problems of an export, and its warnings: what stops nothing, and may turn out wrong at the target.

One kind of problem is one method of `PlanProblems` below `@problem("What it means.")`: it yields what it
found, each time with what to do about it where that can be said. Kinds are told in the order in which they
stand here. The first five are worded as in torch.package.PackagingErrorReason, which code written for it
looks for.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from types import ModuleType
from typing import NamedTuple

from packager._archive import name_problems
from packager._audit import TrustContext, judge
from packager._graph import Module, Problem, edited_now
from packager._names import normalized_name
from packager._objects import FormUse
from packager._policy import Action, Decision, Origin, preset_action
from packager._quick_dataclasses import replace
from packager._texts import counted, did_you_mean, listed

from .golden_calls import CheckStoreError
from .plan import ExportPlan, PlanProblem, chain_of
from .stored import StoredObject, StoredState, finding_text, finding_texts
from .surveying import Survey, Use

_OF_OTHER_KINDS = ("extension", "syntax", "encoding", "beyond top level", "missing")
# What decides before any rule does, so that no rule can decide otherwise.
_WITHOUT_A_RULE = ("asked for", "mocked before", "resources")


class Finding(NamedTuple):
    """One thing that is wrong: the module, object or rule, what was found, and a line to paste."""

    subject: str
    context: str = ""
    fix: str = ""


Kind = Callable[["PlanProblems"], Iterator[Finding]]
_KINDS: list[tuple[str, Kind]] = []


def problem(reason: str) -> Callable[[Kind], Kind]:
    """Register a method of PlanProblems for one kind of problem, told below the heading `reason`."""

    def registered(kind: Kind) -> Kind:
        _KINDS.append((reason, kind))
        return kind

    return registered


class PlanProblems:
    """The problems of one survey, of which `plan` has all else.

    A module that is not there is a problem where its import runs for certain: the code could not be
    imported here either. Inside functions and guards it is a warning: the code goes on there as it
    goes on here. Without a preset every module needs a rule, present or not, as in torch.package;
    under "strict" every one that is there.

    `refused_entries`, `undeclarable` and `failed_calls` give the reasons for entry points and golden calls,
    by name; `unchecked` are the entry points that lack a golden call where one is demanded.
    """

    def __init__(
        self,
        survey: Survey,
        plan: ExportPlan,
        refused_entries: Mapping[str, str],
        undeclarable: Mapping[str, str],
        failed_calls: Mapping[str, CheckStoreError],
        unchecked: Sequence[str],
    ) -> None:
        self._plan = plan
        self._unchecked = unchecked
        self._survey = survey
        self._walk = survey.walk
        self._decisions = survey.decisions
        self._standing = survey.decisions.standing
        self._modules: Mapping[str, Module] = survey.walk.modules
        self._refused_entries = refused_entries
        self._failed_calls = failed_calls
        self._undeclarable = undeclarable

    def problems(self) -> Iterator[PlanProblem]:
        """Yield everything that stops the export, kind by kind, with the imports that led to a module."""
        for reason, one in _KINDS:
            for subject, context, fix in dict.fromkeys(one(self)):
                edges = self._walk.why(subject) if subject in self._modules else ()
                path = tuple(edge.target for edge in edges)
                yield PlanProblem(reason, subject, context, chain_of(edges), path, fix)

    # --- one method for each kind of problem ---

    @problem("Module did not match against any action pattern. Extern, mock, or intern it.")
    def _without_rule(self) -> Iterator[Finding]:
        for name, _ in self._undecided():
            if self._needs_rule(name):
                yield Finding(name, fix=self._preset_rule(name))

    @problem("Module was denied by a pattern.")
    def _denied(self) -> Iterator[Finding]:
        for name, decision in self._decided("deny"):
            # The reason that its author gave; the standard one says no more than the rule.
            standard = decision.because.startswith("first rule that matches")
            yield Finding(name, "" if standard else decision.because, self._other_rule("mock", name))

    @problem("Module is a C extension module. packager supports Python modules only.")
    def _compiled(self) -> Iterator[Finding]:
        for unread in self._unread():
            if unread.reason == "extension":
                yield Finding(unread.module, fix=self._other_rule("extern", unread.module))
        for name, module in self._without_distribution("extension"):
            context = (
                f"{module.path} is compiled code of the project. Build the project as a wheel, install it "
                "at the target, and require the package there"
            )
            if self._survey.is_tried(name):
                context += f'; or make it optional, as the code goes on without it: exporter.extern("{name}")'
            yield Finding(name, context, f'exporter.extern("{_top(name)}.**")')

    @problem("Dependency resolution failed.")
    def _unresolved(self) -> Iterator[Finding]:
        for unread in self._unread():
            if unread.reason in ("syntax", "encoding"):
                yield self._unreadable(unread)
            elif unread.reason == "beyond top level":
                context = (
                    f"attempted relative import beyond top-level package, at {unread.file}:{unread.line}"
                )
                yield Finding(unread.module, context, self._other_rule("extern", unread.module))

    @problem(
        "Module was mocked out, but is still being used in the package. Please intern or extern "
        "the mocked modules if objects are supposed to be in the package."
    )
    def _mocked_and_used(self) -> Iterator[Finding]:
        first: dict[str, Use] = {}
        for use in self._survey.uses:
            first.setdefault(use.module, use)
        for name, use in first.items():
            if name in self._standing and self._standing[name].action == "mock":
                context = f"{use.qualname or name} is used by {use.label}"
                yield Finding(name, context, self._other_rule("intern", name))

    @problem("Module was not found in this environment.")
    def _missing(self) -> Iterator[Finding]:
        for name, _ in self._undecided():
            if not self._needs_rule(name) and self._survey.is_absent(name) and self._survey.is_needed(name):
                path = self._modules[name].path
                saved = f'exporter.save_source_file("{name}", {path!r})' if path else ""
                yield Finding(name, self._modules[name].problem, saved or self._preset_rule(name))
        for unread in self._unread():
            if unread.reason == "missing":
                yield self._unreadable(unread)

    @problem("Name of a file cannot stand in an archive, alone or beside another name.")
    def _misnamed(self) -> Iterator[Finding]:
        for name, wrong in name_problems([entry.name for entry in self._plan.entries]):
            yield Finding(name, wrong)

    @problem("Module has no source that could be stored.")
    def _without_source(self) -> Iterator[Finding]:
        for unread in self._unread():
            if unread.reason not in _OF_OTHER_KINDS:
                yield self._unreadable(unread)
        for name, module in self._without_distribution("bytecode"):
            context = (
                f"{module.path}: {module.problem}. Put the source beside it, or require the package at the "
                "target"
            )
            yield Finding(name, context, f'exporter.extern("{_top(name)}.**")')

    @problem("Module belongs to no known distribution, so no requirement can be recorded.")
    def _of_unknown_origin(self) -> Iterator[Finding]:
        for name, decision in self._undecided():
            if self._modules[name].kind in ("extension", "bytecode"):
                continue  # told above, for what it is
            if not self._needs_rule(name) and not self._survey.is_absent(name):
                yield Finding(name, decision.because, self._preset_rule(name))

    @problem("Module is inside a required package: the target would look for it there.")
    def _inside_extern(self) -> Iterator[Finding]:
        for name, decision in (*self._decided("intern"), *self._decided("mock")):
            parent = name.rpartition(".")[0]
            above = self._standing.get(parent)
            if above is not None and above.action == "extern":
                fix = f'exporter.{decision.action}("{name.partition(".")[0]}.**")'
                yield Finding(name, f"{parent} is extern by {above.rule}", fix)

    @problem("A module is already decided: add rules and hooks before the plan is asked for.")
    def _too_late(self) -> Iterator[Finding]:
        for change in self._decisions.late:
            stands = f"{change.stands.action} by {change.stands.rule}"
            yield Finding(change.module, f"{change.what} would make it {change.wanted}; it is {stands}")

    @problem("Object cannot be stored.")
    def _refused_objects(self) -> Iterator[Finding]:
        for stored in self._survey.stored:
            for told in finding_texts(stored.findings[0]):
                yield Finding(f"{stored.package}/{stored.resource}", told)
        for target, reason in self._survey.migrations.refusals:
            yield Finding(f"migrations of {target}", reason)

    @problem(
        "Parts of this script or notebook that an object needs cannot be stored. Change each line below, "
        "or move the definitions into a module."
    )
    def _statements_of_main(self) -> Iterator[Finding]:
        main = self._standing.get("__main__")
        if main is not None and main.action == "intern":
            yield from (Finding("__main__", context) for context in self._decisions.sources.main_problems)

    @problem("File of a module was edited after it was imported.")
    def _edited(self) -> Iterator[Finding]:
        for name, decision in self._decided("intern"):
            module, loaded = self._modules[name], sys.modules.get(name)
            if module.kind != "source" or decision.source is not None or not isinstance(loaded, ModuleType):
                continue
            if vars(loaded).get("__file__") != module.path or not self._decisions.origin(name).is_at_hand:
                continue
            for function, line in edited_now(loaded):
                yield Finding(
                    name,
                    f"{module.file}:{line}: {function} has other code in memory than in its file, and the "
                    "file would be stored. Import it again (in a new process, or by importlib.reload), and "
                    "make the objects again",
                )

    @problem("Entry point cannot be called.")
    def _uncallable_entries(self) -> Iterator[Finding]:
        yield from (Finding(f"entry point {name}", why) for name, why in self._refused_entries.items())

    @problem("Declared types of an entry point do not fit.")
    def _not_as_declared(self) -> Iterator[Finding]:
        yield from (Finding(f"entry point {name}", why) for name, why in self._undeclarable.items())

    @problem("Example cannot be stored.")
    def _unrepeatable_calls(self) -> Iterator[Finding]:
        for name, why in self._failed_calls.items():
            yield Finding(f"check {name}", str(why), why.fix)

    @problem('Entry point has no example, which prove="calls" demands.')
    def _without_a_call(self) -> Iterator[Finding]:
        for name in self._unchecked:
            yield Finding(f"entry point {name}", fix=f'exporter.save_example("{name}", {{"arg0": ...}})')

    # --- what the methods ask ---

    def _decided(self, action: Action) -> Iterator[tuple[str, Decision]]:
        """Yield the modules of the walk with one action."""
        for name in self._modules:
            if name in self._standing and self._standing[name].action == action:
                yield name, self._standing[name]

    @problem("A requirement cannot be loosened like this.")
    def _loosened(self) -> Iterator[Finding]:
        left = {
            normalized_name(extern.origin.distribution): extern.origin.version or ""
            for extern in self._plan.externs
            if extern.origin.distribution is not None
        }
        for name, requirement in self._decisions.request.loosened.items():
            if name not in left:
                context = f"{name} is not required at the target; required: {listed([*left]) or 'nothing'}"
                context += did_you_mean(name, left)
                yield Finding(str(requirement), context)
            elif not requirement.allows(left[name]):
                context = f"the installed {name} {left[name]} does not meet it"
                yield Finding(str(requirement), context)

    def _undecided(self) -> Iterator[tuple[str, Decision]]:
        for name in self._modules:
            if name in self._standing or not self._survey.imports_of(name):
                continue
            if name in self._decisions.undecided:
                yield name, self._decisions.undecided[name]

    def _without_distribution(self, kind: str) -> Iterator[tuple[str, Module]]:
        """Yield the undecided modules of one kind that has no source, of no installed distribution."""
        for name, _ in self._undecided():
            if self._modules[name].kind == kind and not self._needs_rule(name):
                yield name, self._modules[name]

    def _unread(self) -> Iterator[Problem]:
        """Return what the walk could not read of the modules to be stored."""
        interned = {name for name, _ in self._decided("intern")}
        return (unread for unread in self._walk.problems if unread.module in interned)

    def _unreadable(self, unread: Problem) -> Finding:
        where = f"{unread.file}:{unread.line}: " if unread.line else ""
        return Finding(unread.module, f"{where}{unread.message}", self._other_rule("extern", unread.module))

    def _needs_rule(self, name: str) -> bool:
        preset = self._decisions.policy.preset
        return preset is None or (preset == "strict" and not self._survey.is_absent(name))

    def _other_rule(self, action: Action, name: str) -> str:
        """Return the rule to paste, and before which one it must stand; "" where no rule would help."""
        rule = self._standing[name].rule
        if rule in _WITHOUT_A_RULE or name == "__main__":
            return ""
        before = f"  # before {rule}" if rule.endswith(")") else ""
        return f'exporter.{action}("{name}"){before}'

    def _preset_rule(self, name: str) -> str:
        origin = self._decisions.origin(name)
        if name == "__main__" and not origin.is_at_hand:
            return ""  # nothing stands in for what is stored itself
        if origin.kind == "unknown" and self._decisions.origin(_top(name)).is_at_hand:
            return f'exporter.mock("{name}.**")  # {origin}, in a package of the project'
        tries = [edge for edge in self._survey.imports_of(name) if edge.kind == "try"]
        if tries and self._survey.is_absent(name):  # a mock would be found there, and fail when it is used
            place = f"{tries[0].file}:{tries[0].line}"
            return f'exporter.extern("{_top(name)}.**")  # absent here, too: {place} fails in the same way'
        return paste_rule(name, origin)


def paste_rule(name: str, origin: Origin) -> str:
    """Return the line that would decide module `name` as `policy="auto"` does.

    >>> paste_rule("numpy.linalg", Origin("compiled", "numpy", "2.1.0"))
    'exporter.extern("numpy.**")  # compiled distribution numpy 2.1.0'
    >>> paste_rule("jax", Origin("unknown"))
    'exporter.mock("jax.**")  # unknown origin; use extern if the target has it'
    """
    top = name.partition(".")[0]
    action = preset_action("auto", origin)
    if action == "undecided":
        return f'exporter.mock("{top}.**")  # {origin}; use extern if the target has it'
    return f'exporter.{action}("{top}.**")  # {origin}'


def _top(name: str) -> str:
    return name.partition(".")[0]


class PlanWarnings:
    """The warnings of one survey: a kind is a method that `all` yields from."""

    def __init__(self, survey: Survey) -> None:
        self._survey = survey
        self._decisions = survey.decisions
        self._standing = survey.decisions.standing
        self._modules: Mapping[str, Module] = survey.walk.modules

    def all(self) -> Iterator[str]:
        """Yield everything that the user should know, and that stops nothing."""
        yield from self._dead_rules()
        for stored in self._survey.stored:
            for finding in stored.findings[1]:
                yield f"{stored.label}: {finding_text(finding)}"
        for name, decision in self._standing.items():
            if decision.action == "extern":
                yield from self._without_home(name, decision)
            elif name == "__main__" and decision.action == "intern" and decision.source is None:
                yield from self._decisions.sources.main_notes
            elif decision.action == "intern" and decision.source is None and self._is_stored(name):
                yield from filter(None, [self._decisions.sources.find(name).caveat])
        yield from self._absent(in_libraries=False)
        yield from self._code_left_outside()
        yield from self._names_to_trust()

    def _is_stored(self, name: str) -> bool:
        """Say whether a module was walked, and its text not given."""
        return name in self._modules and self._modules[name].kind != "text"

    def _dead_rules(self) -> Iterator[str]:
        for rule in map(str, self._decisions.policy.rules.dead()):
            # A rule for all that others leave is no typing error where they leave nothing.
            if not rule.endswith("('**')"):
                yield f"{rule} matched no module"

    def of_libraries(self) -> Iterator[str]:
        """Yield the warnings about imports of installed packages alone."""
        yield from self._absent(in_libraries=True)

    def _absent(self, *, in_libraries: bool) -> Iterator[str]:
        """Yield a warning for each package that is missed where its imports may not run, and are not tried.

        Those that installed packages alone import are apart from the others.
        """
        found: dict[str, list[str]] = {}
        for name in self._decisions.undecided:
            if self._survey.is_absent(name) and not self._survey.is_needed(name):
                found.setdefault(name.partition(".")[0], []).append(name)
        for names in found.values():
            edges = [edge for name in names for edge in self._survey.imports_of(name)]
            if edges and all(edge.kind == "try" for edge in edges):
                continue  # the code goes on without, there as here
            own = [edge for edge in edges if not self._survey.is_installed(edge.importer)]
            if in_libraries == (not own):
                places = [f" ({edge.file}:{edge.line})" for edge in own or edges if edge.line]
                warning = "was not found here. Code that imports it fails at the target as it does here"
                yield f"{names[0]} {warning}{''.join(places[:1])}"

    def _without_home(self, name: str, decision: Decision) -> Iterator[str]:
        origin = self._decisions.origin(name)
        if origin.distribution is not None or origin.kind in ("stdlib", "builtin"):
            return
        missing = name in self._modules and self._modules[name].kind == "missing"
        if missing and not self._survey.is_needed(name):
            return  # the code goes on without, there as here
        if origin.kind == "unknown" and (missing or decision.rule == "implicit"):
            yield (
                f"{name} was not found here. Code that imports it takes the one of the target, if there is "
                "one"
            )
        else:
            yield (
                f"{name} is required without a known distribution ({origin}): install it at the target by "
                "hand"
            )

    def _code_left_outside(self) -> Iterator[str]:
        """Warn where nothing is stored, although the class of an object could be: once for a package."""
        if any(one.action == "intern" and one.rule != "resources" for one in self._standing.values()):
            return
        told = set()
        for use in self._survey.uses:
            decision, origin = self._standing.get(use.module), self._decisions.origin(use.module)
            is_python = use.module in self._modules and self._modules[use.module].kind in ("source", "zip")
            label, top = use.label.partition(",")[0], use.module.partition(".")[0]
            if decision is None or decision.rule == "implicit" or top in told or not use.qualname:
                continue
            if is_python and (origin.is_at_hand or origin.kind == "installed"):
                told.add(top)
                yield (
                    f"no module is stored: {use.module}:{use.qualname}, the class of {label}, is required "
                    f'at the target ({origin}); exporter.intern("{top}.**") stores it'
                )

    def _names_to_trust(self) -> Iterator[str]:
        """Warn of what loaders refuse by default; at the load, the one who exports is far away."""
        archive = self._trust_context
        for stored in self._survey.objects:
            module = (stored.factory or "").partition(":")[0]
            trust_context = archive.for_object([module]) if archive.interned(module) else archive
            factory = stored.factory if stored.factory and not archive.interned(module) else None
            yield from _refused_by_loaders(stored, stored.encoded.records, trust_context, "obj", factory)
        for state in self._survey.states:
            yield from _refused_by_loaders(state, state.encoded.extras, archive.data_alone(), "extras")

    @cached_property
    def _trust_context(self) -> TrustContext:
        """What loaders will judge by."""
        names = self._standing
        interned = [name for name, one in names.items() if one.action == "intern" and one.rule != "resources"]
        externs = {name.partition(".")[0] for name, one in names.items() if one.action == "extern"}
        return TrustContext.of_archive(interned, externs)


def _refused_by_loaders(
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
            f"{stored.label} needs names that loaders refuse without trust: PackageImporter(..., "
            f"trust=({trust},))"
        )
    # What a name in that line vouches for needs no line of its own.
    for form in _by_reason([form for form in verdict.forms if form.trust not in refused]):
        yield f"{stored.label} is refused by loaders: {form}"


def _by_reason(forms: Iterable[FormUse]) -> list[FormUse]:
    """Return one of all forms that are refused for the same reason; its path counts the other places."""
    groups: dict[tuple[str, str], list[FormUse]] = {}
    for form in forms:
        groups.setdefault((form.reason, form.trust), []).append(form)
    return [
        replace(first, path=f"{first.path}, and {counted(len(others), 'other place')}") if others else first
        for first, *others in groups.values()
    ]
