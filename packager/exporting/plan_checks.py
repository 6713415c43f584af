"""The problems of an export.

One kind of problem is one method of `PlanChecks` below `@problem("What it means.")`: it yields what it found,
each time with what to do about it where that can be said. Kinds are told in the order in which they stand
here. The first five are worded as in torch.package.PackagingErrorReason, which code written for it looks for.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import ModuleType
from typing import NamedTuple

from packager.archive import name_problems
from packager.graph import Module, Problem, edited_now
from packager.names import normalized_name
from packager.policy import Action, Decision, Origin, preset_action
from packager.texts import did_you_mean, listed

from .golden_calls import CheckStoreError
from .plan import ExportPlan, PlanProblem, chain_of
from .stored import finding_texts
from .surveying import Survey, Use

_OF_OTHER_KINDS = ("extension", "syntax", "encoding", "beyond top level", "missing")
# What decides before any rule does, so that no rule can decide otherwise.
_WITHOUT_A_RULE = ("asked for", "mocked before", "resources")


class Found(NamedTuple):
    """One thing that is wrong: the module, object or rule, what was found, and a line to paste."""

    subject: str
    context: str = ""
    fix: str = ""


Check = Callable[["PlanChecks"], Iterator[Found]]
_CHECKS: list[tuple[str, Check]] = []


def problem(reason: str) -> Callable[[Check], Check]:
    """Register a method of PlanChecks for one kind of problem, told below the heading `reason`."""

    def registered(check: Check) -> Check:
        _CHECKS.append((reason, check))
        return check

    return registered


class PlanChecks:
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
        for reason, check in _CHECKS:
            for subject, context, fix in dict.fromkeys(check(self)):
                edges = self._walk.why(subject) if subject in self._modules else ()
                path = tuple(edge.target for edge in edges)
                yield PlanProblem(reason, subject, context, chain_of(edges), path, fix)

    # --- one method for each kind of problem ---

    @problem("Module did not match against any action pattern. Extern, mock, or intern it.")
    def _without_rule(self) -> Iterator[Found]:
        for name, _ in self._undecided():
            if self._needs_rule(name):
                yield Found(name, fix=self._preset_rule(name))

    @problem("Module was denied by a pattern.")
    def _denied(self) -> Iterator[Found]:
        for name, decision in self._decided("deny"):
            # The reason that its author gave; the standard one says no more than the rule.
            standard = decision.because.startswith("first rule that matches")
            yield Found(name, "" if standard else decision.because, self._other_rule("mock", name))

    @problem("Module is a C extension module. packager supports Python modules only.")
    def _compiled(self) -> Iterator[Found]:
        for unread in self._unread():
            if unread.reason == "extension":
                yield Found(unread.module, fix=self._other_rule("extern", unread.module))
        for name, module in self._without_distribution("extension"):
            context = (
                f"{module.path} is compiled code of the project itself. Build the project as a wheel, "
                "install it at the target, and leave the package to it"
            )
            if self._survey.is_tried(name):
                context += (
                    "; or, as each import of it may fail, leave it alone to the target, and the code goes on "
                    f'without: exporter.extern("{name}")'
                )
            yield Found(name, context, f'exporter.extern("{_top(name)}.**")')

    @problem("Dependency resolution failed.")
    def _unresolved(self) -> Iterator[Found]:
        for unread in self._unread():
            if unread.reason in ("syntax", "encoding"):
                yield self._unreadable(unread)
            elif unread.reason == "beyond top level":
                context = (
                    f"attempted relative import beyond top-level package, at {unread.file}:{unread.line}"
                )
                yield Found(unread.module, context, self._other_rule("extern", unread.module))

    @problem(
        "Module was mocked out, but is still being used in the package. Please intern or extern "
        "the mocked modules if objects are supposed to be in the package."
    )
    def _mocked_and_used(self) -> Iterator[Found]:
        first: dict[str, Use] = {}
        for use in self._survey.uses:
            first.setdefault(use.module, use)
        for name, use in first.items():
            if name in self._standing and self._standing[name].action == "mock":
                context = f"{use.qualname or name} is used by {use.label}"
                yield Found(name, context, self._other_rule("intern", name))

    @problem("Module was not found in this environment.")
    def _missing(self) -> Iterator[Found]:
        for name, _ in self._undecided():
            if not self._needs_rule(name) and self._survey.is_absent(name) and self._survey.is_needed(name):
                path = self._modules[name].path
                saved = f'exporter.save_source_file("{name}", {path!r})' if path else ""
                yield Found(name, self._modules[name].problem, saved or self._preset_rule(name))
        for unread in self._unread():
            if unread.reason == "missing":
                yield self._unreadable(unread)

    @problem("File has a name that no archive can hold, or not beside another one.")
    def _misnamed(self) -> Iterator[Found]:
        for name, wrong in name_problems([entry.name for entry in self._plan.entries]):
            yield Found(name, wrong)

    @problem("Module has no source that could be stored.")
    def _without_source(self) -> Iterator[Found]:
        for unread in self._unread():
            if unread.reason not in _OF_OTHER_KINDS:
                yield self._unreadable(unread)
        for name, module in self._without_distribution("bytecode"):
            context = f"{module.path}: {module.problem}. Put the source beside it, or leave it to the target"
            yield Found(name, context, f'exporter.extern("{_top(name)}.**")')

    @problem("Module has no known distribution, so the target cannot be told what to install.")
    def _of_unknown_origin(self) -> Iterator[Found]:
        for name, decision in self._undecided():
            if self._modules[name].kind in ("extension", "bytecode"):
                continue  # told above, for what it is
            if not self._needs_rule(name) and not self._survey.is_absent(name):
                yield Found(name, decision.because, self._preset_rule(name))

    @problem("Module lies inside a package that is extern: the target would look for it there.")
    def _inside_extern(self) -> Iterator[Found]:
        for name, decision in (*self._decided("intern"), *self._decided("mock")):
            parent = name.rpartition(".")[0]
            above = self._standing.get(parent)
            if above is not None and above.action == "extern":
                fix = f'exporter.{decision.action}("{name.partition(".")[0]}.**")'
                yield Found(name, f"{parent} is extern by {above.rule}", fix)

    @problem("A decision stands already: rules and hooks come before the first question.")
    def _too_late(self) -> Iterator[Found]:
        for change in self._decisions.late:
            stands = f"{change.stands.action} by {change.stands.rule}"
            yield Found(change.module, f"{change.what} would make it {change.wanted}; it is {stands}")

    @problem("Object cannot be stored.")
    def _refused_objects(self) -> Iterator[Found]:
        for stored in self._survey.stored:
            for told in finding_texts(stored.findings[0]):
                yield Found(f"{stored.package}/{stored.resource}", told)
        for target, reason in self._survey.migrations.refusals:
            yield Found(f"migrations of {target}", reason)

    @problem(
        "What an object needs of this script or notebook cannot be stored. Mend each line below, or move "
        "the definitions into a module."
    )
    def _statements_of_main(self) -> Iterator[Found]:
        main = self._standing.get("__main__")
        if main is not None and main.action == "intern":
            yield from (Found("__main__", context) for context in self._decisions.sources.main_problems)

    @problem("File of a module was edited after it was imported.")
    def _edited(self) -> Iterator[Found]:
        for name, decision in self._decided("intern"):
            module, loaded = self._modules[name], sys.modules.get(name)
            if module.kind != "source" or decision.source is not None or not isinstance(loaded, ModuleType):
                continue
            if vars(loaded).get("__file__") != module.path or not self._decisions.origin(name).is_at_hand:
                continue
            for function, line in edited_now(loaded):
                yield Found(
                    name,
                    f"{module.file}:{line}: {function} has other code in memory than in the file, which "
                    "is what would be stored; import it again (in a new process, or importlib.reload), "
                    "and make the objects again",
                )

    @problem("Entry point cannot be called.")
    def _uncallable_entries(self) -> Iterator[Found]:
        yield from (Found(f"entry point {name}", why) for name, why in self._refused_entries.items())

    @problem("What is declared of an entry point does not hold.")
    def _not_as_declared(self) -> Iterator[Found]:
        yield from (Found(f"entry point {name}", why) for name, why in self._undeclarable.items())

    @problem("Check cannot be stored.")
    def _unrepeatable_calls(self) -> Iterator[Found]:
        for name, why in self._failed_calls.items():
            yield Found(f"check {name}", str(why), why.fix)

    @problem('Entry point has no golden call, which prove="calls" demands.')
    def _without_a_call(self) -> Iterator[Found]:
        for name in self._unchecked:
            yield Found(f"entry point {name}", fix=f'exporter.save_check("{name}", {{"arg0": ...}})')

    # --- what the checks ask ---

    def _decided(self, action: Action) -> Iterator[tuple[str, Decision]]:
        """Yield the modules of the walk with one action."""
        for name in self._modules:
            if name in self._standing and self._standing[name].action == action:
                yield name, self._standing[name]

    @problem("A requirement cannot be loosened so.")
    def _loosened(self) -> Iterator[Found]:
        left = {
            normalized_name(extern.origin.distribution): extern.origin.version or ""
            for extern in self._plan.externs
            if extern.origin.distribution is not None
        }
        for name, requirement in self._decisions.request.loosened.items():
            if name not in left:
                context = f"nothing of {name} is left to the target; that is {listed([*left]) or 'nothing'}"
                context += did_you_mean(name, left)
                yield Found(str(requirement), context)
            elif not requirement.allows(left[name]):
                context = f"{name} {left[name]}, which is here and was tried, does not meet it"
                yield Found(str(requirement), context)

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

    def _unreadable(self, unread: Problem) -> Found:
        where = f"{unread.file}:{unread.line}: " if unread.line else ""
        return Found(unread.module, f"{where}{unread.message}", self._other_rule("extern", unread.module))

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
            return f'exporter.extern("{_top(name)}.**")  # absent here, too: what {place} tries fails alike'
        return paste_rule(name, origin)


def paste_rule(name: str, origin: Origin) -> str:
    """Return the line that would decide module `name` as `policy="auto"` does.

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


def _top(name: str) -> str:
    return name.partition(".")[0]
