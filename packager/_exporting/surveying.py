"""The survey: request, decisions and walk brought up to date with each other.

Objects come first, because they say which frameworks are in use and which modules their classes
need; then the walk goes from everything that was asked for. Decisions stand from one survey to the
next, so that a survey may be made before each question.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

from packager._calls import TABLE_LIBRARY, InputTable
from packager._graph import Closure, DataFile, Decide, Edge
from packager._policy import Decision
from packager._quick_dataclasses import dataclass, field
from packager._texts import in_lines
from packager.errors import KeyNotStoredError

from .deciding import Decisions
from .plan import chain_of
from .request import CheckRequest, ModuleRequest, Request, ResourceRequest, SourceRequest
from .stored import (
    StoredMigrations,
    StoredObject,
    StoredState,
    Takings,
    frameworks_of,
    objects_in,
    states_in,
)


@dataclass(frozen=True)
class Use:
    """A name that something stored needs from the code: `label` says what needs it, and where."""

    module: str
    qualname: str
    label: str


@dataclass(frozen=True)
class Probe:
    """What stored module `module` looked for in a run: a "module" or a "distribution", by its name.

    >>> print(Probe("net.base", "distribution", "pyyaml"))
    distribution pyyaml, looked for by net.base
    """

    module: str
    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name}, looked for by {self.module}"


@dataclass(frozen=True)
class Why:
    """The answer to "why is this in?": print it, or look at its parts.

    `chain` leads from what was asked for to the module; `importers` are all that import it; `uses`
    say which stored objects and pickles need it.
    """

    module: str
    decision: Decision
    chain: tuple[Edge, ...]
    importers: tuple[Edge, ...]
    uses: tuple[str, ...]

    def __str__(self) -> str:
        lines = [f"{self.module}: {self.decision.action} by {self.decision.rule} ({self.decision.because})"]
        lines += [f"    {step}" for step in chain_of(self.chain)]
        lines += [f"    needed by {use}" for use in self.uses]
        others = [edge for edge in self.importers if edge not in self.chain]
        if others:
            lines.append("  also imported at:")
            lines += [f"    {edge.file}:{edge.line} ({edge.kind})" for edge in others]
        return in_lines(*lines)


class Served:
    """What runs of a clean process asked for, beside what import statements say.

    `modules` are those that joined, each with the place that imported it; `files` those that were opened, by
    the names of their entries. Externs without which the archive did not load and answer are `required`, by
    the first parts of their names. `imports` are stored modules without whose effects the objects in
    `importing` did not answer, each of these by package and resource.
    `reached` are places of computed imports that ran, as "net/io.py:12".
    """

    def __init__(self) -> None:
        self.modules: dict[str, Edge] = {}
        self.files: dict[str, DataFile] = {}
        self.required: frozenset[str] = frozenset()
        self.imports: tuple[str, ...] = ()
        self.importing: frozenset[tuple[str, str]] = frozenset()
        self.reached: frozenset[str] = frozenset()
        self.probes: tuple[Probe, ...] = ()

    @property
    def state(self) -> tuple[object, ...]:
        """What a plan hangs on, to be compared with what it was."""
        modules, files = tuple(self.modules), tuple(self.files.values())
        return modules, files, self.required, self.imports, self.reached, self.probes


@dataclass(frozen=True)
class Survey:
    """What is known once the walk is up to date with the request and the decisions.

    `saved` is what was saved as data, in the order of the calls; `served` what a clean process asked for.
    """

    decisions: Decisions
    walk: Closure
    saved: tuple[StoredObject | StoredState, ...]
    migrations: StoredMigrations
    uses: tuple[Use, ...]
    served: Served = field(default_factory=lambda: Served())

    @property
    def objects(self) -> tuple[StoredObject, ...]:
        """The objects that were saved."""
        return objects_in(self.saved)

    @property
    def states(self) -> tuple[StoredState, ...]:
        """The state dicts that were saved, and those of objects that a factory makes."""
        return states_in(self.saved)

    @property
    def stored(self) -> tuple[StoredObject | StoredState, ...]:
        """Objects and state dicts together."""
        return (*self.objects, *self.states)

    def is_absent(self, name: str) -> bool:
        """Say whether a module is not here, as far as that is known."""
        module = self.walk.modules.get(name)
        return module is not None and module.kind in ("missing", "unknown")

    def is_needed(self, name: str) -> bool:
        """Say whether an import of it runs for certain, when what was asked for is imported."""
        return name in self.walk.always_needed

    def is_tried(self, name: str) -> bool:
        """Say whether each import of a module stands in a `try` that goes on without it."""
        edges = self.imports_of(name)
        return bool(edges) and all(edge.kind == "try" for edge in edges)

    def is_installed(self, name: str) -> bool:
        """Say whether a module is of an installed package, and not of the project."""
        origin = self.decisions.origin(name)
        return origin.distribution is not None and not origin.is_at_hand

    def imports_of(self, name: str) -> Sequence[Edge]:
        """Return what imports a module, or asks for it; not the modules inside of it."""
        return [edge for edge in self.walk.edges_to(name) if edge.kind != "parent"]

    def why(self, name: str) -> Why:
        """Say why module `name` is in the survey. Raises KeyNotStoredError for one that is not."""
        decision = self.decisions.standing.get(name) or self.decisions.undecided.get(name)
        if name not in self.walk.modules or decision is None:
            raise KeyNotStoredError(f"module {name!r} is not in the plan: no import statement leads to it")
        return Why(
            name,
            decision,
            tuple(self.walk.why(name)),
            tuple(edge for edge in self.walk.edges_to(name) if edge.line),
            tuple(use.label for use in self.uses if use.module == name),
        )


class Surveyor:
    """Makes surveys of one request; after `touch()` the last one is out of date.

    `variables` are those of the environment that stored code may read.
    """

    def __init__(
        self,
        decisions: Decisions,
        takings: Takings,
    ) -> None:
        self._request = decisions.request
        self._decisions = decisions
        self._takings = takings
        self.served = Served()
        self.variables = decisions.policy.variables
        self._last: Survey | None = None

    def touch(self) -> None:
        """Forget the last survey: the request or the rules have changed."""
        self._last = None

    def survey(self) -> Survey:
        """Return the survey as things stand; made anew only where something has changed."""
        if self._last is None:
            saved = self._takings.stored(self._decisions.is_interned)
            states = (one.state for one in saved if isinstance(one, StoredObject) and one.state is not None)
            contents: tuple[StoredObject | StoredState, ...] = (*saved, *states)
            migrations = self._takings.migrations()
            uses = (
                *_uses((*contents, migrations)),
                *_codec_uses(contents),
                *_pickle_uses(self._request),
                *_table_uses(self._request),
            )
            self._decisions.sources.main_names = frozenset(
                use.qualname.partition(".")[0] for use in uses if use.module == "__main__"
            )
            self._decisions.policy.frameworks |= _frameworks(contents, uses)
            walk = self._walk(uses, self._decisions.decide)
            while self._decisions.intern_parents():
                walk = self._walk(uses, self._decisions.decide)
            if self._decisions.policy.preset is None and self._decisions.undecided:
                with self._decisions.policy.rules.looked_ahead():
                    walk = self._walk(uses, self._decisions.foresee)
            self._last = Survey(self._decisions, walk, saved, migrations, uses, self.served)
        return self._last

    def serve(self, edge: Edge) -> None:
        """Let a module join that a run has asked for, with what it imports; `edge` is the place that did."""
        self.served.modules[edge.target] = edge
        walk = self.survey().walk
        walk.add_root(edge.target, asked_by=edge)
        walk.run()
        if self._decisions.intern_parents():
            self.touch()

    def import_first(self, names: Sequence[str]) -> None:
        """Let modules join that are imported before objects are loaded, in the place of those that were."""
        gone = {*self.served.imports} - {*names}
        self.serve_only({one: edge for one, edge in self.served.modules.items() if one not in gone}, names)
        for name in names:
            if name not in self.survey().walk.modules:
                self.serve(Edge("", name, "served"))

    def serve_only(self, modules: Mapping[str, Edge], imports: Sequence[str]) -> None:
        """Take other modules for those that joined, and for those that are imported first."""
        before = {*self.survey().walk.modules}
        self.served.modules = dict(modules)
        self.served.imports = tuple(imports)
        self.touch()
        for name in before - {*self.survey().walk.modules}:
            self._decisions.standing.pop(name, None)

    def _walk(self, uses: Sequence[Use], decide: Decide) -> Closure:
        self._decisions.forget_undecided()
        walk = Closure(decide, sources=self._decisions.sources)
        for source in self._request.of(SourceRequest):
            walk.add_source(source.name, source.text, is_package=source.is_package)
        for module in self._request.of(ModuleRequest):
            walk.add_root(module.name)
        for module_name, names in _by_module(uses).items():
            walk.add_root(module_name, names=names)
        for edge in self.served.modules.values():
            walk.add_root(edge.target, asked_by=edge)
        walk.run()
        return walk


def _uses(contents: Sequence[StoredObject | StoredState | StoredMigrations]) -> list[Use]:
    return [
        Use(use.module, use.qualname, f"{stored.label}, at {use.path}")
        for stored in contents
        for use in stored.uses
    ]


def _codec_uses(contents: Sequence[StoredObject | StoredState]) -> list[Use]:
    """List what decodes the contents: the target needs it, though no source may import it."""
    return [
        Use(framework, "", f"codecs of {stored.label}")
        for stored in contents
        for framework in sorted(frameworks_of(stored.codecs) - sys.stdlib_module_names)
    ]


def _pickle_uses(request: Request) -> list[Use]:
    return [
        Use(module, name, f"pickle {resource.package}/{resource.resource}")
        for resource in request.of(ResourceRequest)
        if resource.dependencies
        for module, name in resource.uses
    ]


def _table_uses(request: Request) -> list[Use]:
    """List the library whose tables calls are given, though neither object nor source may name it."""
    return [
        Use(TABLE_LIBRARY, "", f"table {name} of check {check.name}")
        for check in request.of(CheckRequest)
        for name, value in check.inputs.items()
        if isinstance(value, InputTable)
    ]


def _frameworks(contents: Sequence[StoredObject | StoredState], uses: Sequence[Use]) -> frozenset[str]:
    """Return the frameworks of the codecs in use; for pickles, which need no codec, those that they name."""
    if not contents and not uses:
        return frozenset()
    from packager._codecs import default_registry

    codecs = {codec for stored in contents for codec in stored.codecs}
    pickled = {use.module.partition(".")[0] for use in uses if use.label.startswith("pickle ")}
    if not pickled:
        return frameworks_of(codecs)
    known = frameworks_of((codec.name, codec.version) for codec in default_registry())
    return frameworks_of(codecs) | (known & pickled)


def _by_module(uses: Sequence[Use]) -> Mapping[str, tuple[str, ...]]:
    """Return the names needed of each module, first parts alone."""
    found: dict[str, set[str]] = {}
    for use in uses:
        names = found.setdefault(use.module, set())
        if use.qualname:
            names.add(use.qualname.partition(".")[0])
    return {module: tuple(sorted(names)) for module, names in found.items()}
