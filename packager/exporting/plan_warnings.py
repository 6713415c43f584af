"""The warnings of an export: what stops nothing, and may turn out wrong where it is loaded.

Some hang on which imports run for certain; the problems of `plan_checks` do so, too.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from packager import seen
from packager.graph import Edge, Module, Question, modules_spelled_out
from packager.objects import FormUse, TrustContext, judge
from packager.policy import Decision
from packager.quick_dataclasses import replace
from packager.texts import counted

from .folders_of_packages import FoldersRead, folders_read, told_of_folders
from .left_by_constructors import LeftBehind, left_by_constructors
from .named_targets import paths_in_records
from .set_variables import SetVariable, set_variables
from .stored import StoredObject, StoredState, finding_text
from .surveying import Survey

_MOST_MODULES = 1000
_ALWAYS = frozenset(["root", "top", "parent", "star", "lazy"])


class NeededModules:
    """Which modules of a survey are there, who imports them, and whether that import runs for certain."""

    def __init__(self, survey: Survey) -> None:
        self._walk = survey.walk
        self._decisions = survey.decisions

    def is_absent(self, name: str) -> bool:
        """Say whether a module is not here, as far as that is known."""
        module = self._walk.modules.get(name)
        return module is not None and module.kind in ("missing", "unknown")

    def is_needed(self, name: str) -> bool:
        """Say whether an import of it runs for certain, when what was asked for is imported."""
        return any(
            edge.kind in _ALWAYS
            and edge.kind != "parent"
            and (edge.kind == "root" or edge.importer in self._certain)
            for edge in self.edges_to.get(name, ())
        )

    def is_tried(self, name: str) -> bool:
        """Say whether each import of a module stands in a `try` that goes on without it."""
        edges = [edge for edge in self.edges_to.get(name, ()) if edge.kind != "parent"]
        return bool(edges) and all(edge.kind == "try" for edge in edges)

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
    def edges_to(self) -> Mapping[str, list[Edge]]:
        """The imports of each module."""
        found: dict[str, list[Edge]] = {}
        for edge in self._walk.edges:
            found.setdefault(edge.target, []).append(edge)
        return found

    def is_only_a_folder(self, name: str) -> bool:
        """Say whether a package is there only because something in it is extern, mocked or undecided."""
        edges = [edge for edge in self.edges_to.get(name, ()) if edge.followed]
        return bool(edges) and all(edge.kind == "parent" for edge in edges)

    def is_installed(self, name: str) -> bool:
        """Say whether a module is of an installed package, and not of the project."""
        origin = self._decisions.origin(name)
        return origin.distribution is not None and not origin.is_at_hand

    @cached_property
    def own_modules(self) -> Sequence[Module]:
        """The modules of the project that are stored."""
        stored = [name for name, decision in self._decisions.standing.items() if decision.action == "intern"]
        return [
            self._walk.modules[name]
            for name in stored
            if name in self._walk.modules and not self.is_installed(name)
        ]

    @cached_property
    def reads_of_folders(self) -> Sequence[FoldersRead]:
        """Where stored code reads the folders of a package that has several here."""
        return tuple(folders_read(self._walk, self._decisions))

    def in_libraries(self, question: Question) -> bool:
        """Say whether a computed import stands in a function of an installed package."""
        return bool(question.function) and self.is_installed(question.importer)


class PlanWarnings:
    """The warnings of one survey; `answered` are files that may be answered for, beside questions."""

    def __init__(self, survey: Survey, needed: NeededModules, answered: Collection[str] = ()) -> None:
        self._answered = answered
        self._survey = survey
        self._needed = needed
        self._walk = survey.walk
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
            elif decision.action == "intern" and decision.source is None:
                module = self._modules.get(name)  # what was only asked about has not been walked
                if module is not None and module.caveat:
                    yield module.caveat
        yield from self._absent(in_libraries=False)
        yield from self._left_by_constructors(in_libraries=False)
        yield from self._code_left_outside()
        yield from self._folders_in_one()
        yield from map(str, self.set_variables)
        yield from self._spelled_modules()
        yield from self._paths_held()
        yield from self._names_to_trust()
        for question in self._walk.unused_answers:
            if question in self._walk.empty_answers or question in self._answered:
                continue  # a problem, or one no more
            home, _, name = question.partition(":")
            if home in self._modules or (home in sys.modules and name.replace(".", "").isidentifier()):
                continue  # a global of a module, stored or not, which the proof compares
            yield f"{question} was answered, and no computed import is there; see the plan for those that are"

    def _dead_rules(self) -> Iterator[str]:
        for rule in map(str, self._decisions.policy.rules.dead()):
            # A rule for all that others leave is no typing error where they leave nothing.
            if not rule.endswith("('**')"):
                yield f"{rule} matched no module"

    @cached_property
    def set_variables(self) -> Sequence[SetVariable]:
        """The variables that are set here and that stored code reads, but for those that were answered."""
        found = set_variables(self._needed.own_modules, self._walk.is_live)
        return tuple(one for one in found if one.id not in self._survey.unneeded)

    def _paths_held(self) -> Iterator[str]:
        """Warn of objects that hold the path of a file of the project: it is on this machine alone."""
        folders = {os.path.join(os.getcwd(), "")} - {os.sep, os.path.join(os.path.expanduser("~"), "")}
        folders |= {_folder_above(module) for module in self._needed.own_modules if module.path}
        for stored in self._survey.objects:
            for text in dict.fromkeys(paths_in_records(stored.encoded.records)):
                if text.startswith(tuple(folders)) and seen.exists(text):
                    yield (
                        f"{stored.label} holds the path {text}, which is one of this machine: where the "
                        "object is loaded there is no such file; hold what is in it, or where it lies from "
                        "the code (os.path.dirname(__file__)), and it goes along"
                    )

    def of_libraries(self) -> Iterator[str]:
        """Yield the warnings about imports of installed packages alone, and about their constructors."""
        yield from self._absent(in_libraries=True)
        yield from self._left_by_constructors(in_libraries=True)

    def _absent(self, *, in_libraries: bool) -> Iterator[str]:
        """Yield a warning for each package that is missed where its imports may not run, and are not tried.

        Those that installed packages alone import are apart from the others.
        """
        found: dict[str, list[str]] = {}
        for name in self._decisions.undecided:
            if self._needed.is_absent(name) and not self._needed.is_needed(name):
                found.setdefault(name.partition(".")[0], []).append(name)
        for names in found.values():
            edges = [
                edge
                for name in names
                for edge in self._needed.edges_to.get(name, ())
                if edge.kind != "parent"
            ]
            if edges and all(edge.kind == "try" for edge in edges):
                continue  # the code goes on without, there as here
            own = [edge for edge in edges if not self._needed.is_installed(edge.importer)]
            if in_libraries == (not own):
                places = [f" ({edge.file}:{edge.line})" for edge in own or edges if edge.line]
                warning = "was not found here; code that imports it will fail there as it does here"
                yield f"{names[0]} {warning}{''.join(places[:1])}"

    def _left_by_constructors(self, *, in_libraries: bool) -> Iterator[str]:
        """Warn of containers that constructors fill, and that are empty where the object is loaded."""
        for one in self._left:
            if in_libraries == self._needed.is_installed(one.module):
                yield (
                    f"{one.constructor} puts something into {one.container} ({one.file}:{one.line}), and "
                    "does not run where the object is loaded; save_object(..., factory=) makes it by a call"
                )

    @cached_property
    def _left(self) -> Sequence[LeftBehind]:
        classes = [
            (use.module, use.qualname)
            for stored in self._survey.objects
            if not stored.factory
            for use in stored.uses
            if use.qualname
        ]
        interned = {
            name: self._modules[name]
            for name, one in self._standing.items()
            if one.action == "intern" and name in self._modules
        }
        return tuple(left_by_constructors(dict.fromkeys(classes), interned))

    def _without_home(self, name: str, decision: Decision) -> Iterator[str]:
        origin = self._decisions.origin(name)
        if origin.distribution is not None or origin.kind in ("stdlib", "builtin"):
            return
        missing = name in self._modules and self._modules[name].kind == "missing"
        if origin.kind == "unknown" and (missing or decision.rule == "implicit"):
            yield f"{name} was not found here; code that imports it takes the target's, if there is one"
        else:
            yield f"{name} is extern without a known distribution ({origin}): the target must bring it"

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
            if is_python and (origin.is_at_hand or origin.kind in ("installed", "compiled")):
                told.add(top)
                store = f'exporter.intern("{top}.**") stores it'
                if unstored := self._without_source_in(top):
                    store = (
                        f"no rule stores it, as {unstored} has no source: build the project as a wheel, and "
                        "install that at the target"
                    )
                way_out = "install it there" if origin.kind == "compiled" else store
                yield (
                    f"no module is stored: {use.module}:{use.qualname}, the class of {label}, is left to the "
                    f"target ({origin}); {way_out}"
                )

    def _spelled_modules(self) -> Iterator[str]:
        """Warn of classes that functions make and tell, by its text, that they are of a stored module."""
        own = {module.name for module in self._needed.own_modules}
        for module in self._needed.own_modules:
            for name, line, begins in modules_spelled_out(module.source or b""):
                if name in own and self._walk.is_live(module.name, begins):
                    mend = "__name__" if name == module.name else f"the __name__ of {name}"
                    yield (
                        f"{module.file}:{line} says that a class which a function makes is of {name!r}: in "
                        "an archive that module has another name, and a class made once it is imported "
                        f"is not found there, so its instances cannot be pickled; give {mend}"
                    )

    def _folders_in_one(self) -> Iterator[str]:
        """Warn of installed code that reads the `__path__` of a package of several folders."""
        for read in self._needed.reads_of_folders:
            if self._needed.is_installed(read.module):
                told = told_of_folders(read.package, [read.place], self._decisions)
                yield f"{read.package}: {told}"

    def _without_source_in(self, top: str) -> str:
        """Return the first module in a package that is compiled and has no source; "" where none is."""
        sources, waiting = self._decisions.sources, [top]
        for name in waiting:  # grows while it is walked
            found = sources.find(name)
            if found.kind in ("extension", "bytecode"):
                return name
            if found.is_package and len(waiting) < _MOST_MODULES:
                waiting += sources.submodules(name)
        return ""

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


def _folder_above(module: Module) -> str:
    """Return the folder that a module on disk is imported from."""
    path, file = str(module.path), module.file.replace("/", os.sep)
    return path[: -len(file)] if file and path.endswith(file) else os.path.join(os.path.dirname(path), "")


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
            f"{stored.label} needs names that loaders refuse unless they are told to trust them: "
            f"PackageImporter(..., trust=({trust},))"
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
