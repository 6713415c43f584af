"""Plan A: the modules that import statements lead to from the roots. Nothing is run.

Every statement of a stored module is followed, whichever kind it is; what kind it is tells whether what it
imports is needed always or perhaps. What statements do not say (computed imports, attributes of lazy
packages) a run says, and then it is a root that was served.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Literal

from packager._names import OWN_IMPORTER
from packager._process import gc_paused
from packager._quick_dataclasses import replace

from .closure_parts import (
    ComputedImport,
    DataFile,
    Decide,
    Edge,
    Found,
    Module,
    Problem,
    SourceFinder,
    WalkDecision,
)
from .datafiles import files_beside
from .digraph import DiGraph
from .module_finder import Listings, Sources
from .source_table import LazyNames, ScanCache, Source, SourceTable

_NOT_READ = {
    "extension": "it is compiled code",
    "bytecode": "it has bytecode, but no source",
    "builtin": "it is part of the Python interpreter",
    "frozen": "it is frozen into the Python interpreter",
    "missing": "nothing on sys.path has this name",
    "unknown": "only running its package would show whether it exists",
}
_ABSENT = ("missing", "unknown")
_ALWAYS = frozenset(["root", "top", "parent"])


class Closure:
    """A work list over modules, which grows by roots and is brought up to date by `run()`.

    `decide(name, edges)` is asked once for each module, when it is first reached (parents first), and
    answers with a WalkDecision; the closure knows of no policy. `sources` finds modules by name (default:
    `Sources()`, over `sys.path`). `cache` is a ScanCache (default: the user's), or None for none.

    All queries tell of the state after the last `run()`.

    >>> from packager._graph import WalkDecision
    >>> closure = Closure(lambda name, edges: WalkDecision(name == "net"), cache=None)
    >>> closure.add_source("net", "import json\\nif TYPE_CHECKING:\\n    import torch\\n")
    >>> closure.run()
    >>> [(module.name, module.followed) for module in closure.modules.values()]
    [('net', True), ('json', False)]
    """

    def __init__(
        self,
        decide: Decide,
        *,
        sources: SourceFinder | None = None,
        cache: ScanCache | Literal["default"] | None = "default",
    ) -> None:
        self._decide = decide
        self._cache = ScanCache() if cache == "default" else cache
        self._table = SourceTable(Sources() if sources is None else sources, self._cache)
        self._lazy = LazyNames(self._table)
        self._listings = Listings()
        self._decisions: dict[str, WalkDecision] = {}
        self._edges: list[Edge] = []
        self._incoming: dict[str, list[Edge]] = {}
        self._problems: dict[Problem, None] = {}
        self._roots: deque[tuple[Edge, Sequence[str]]] = deque()
        self._waiting: deque[Source] = deque()

    def add_root(
        self, name: str, *, names: Iterable[str] | None = None, asked_by: Edge | None = None
    ) -> None:
        """Ask for module `name`, and for those among `names` that it gets from other modules.

        `asked_by` is the edge that leads to it, where not the caller asks: of a module that was served, the
        place that imported it, with the kind "served".
        """
        asked = tuple(names or ())
        edge = Edge("", name, "root", names=asked) if asked_by is None else asked_by
        self._roots.append((edge, asked))

    def add_source(self, name: str, text: str | bytes, *, is_package: bool = False) -> None:
        """Ask for a module whose text is given here; it comes before any module of that name elsewhere."""
        self._table.add_text(name, text.encode() if isinstance(text, str) else text, is_package)
        self.add_root(name)

    def run(self) -> None:
        """Bring the closure up to date with all roots and sources."""
        self._table.refresh()
        self._listings.refresh()
        self._lazy = LazyNames(self._table)
        try:
            with gc_paused():
                while self._waiting or self._roots:
                    source = self._waiting.popleft() if self._waiting else None
                    for edge, names in [self._roots.popleft()] if source is None else self._wanted_by(source):
                        self._import(edge, names)
        finally:
            if self._cache is not None:
                self._cache.flush()
            for made in ("modules", "_first", "_always"):
                self.__dict__.pop(made, None)

    # -- queries ------------------------------------------------------------------------------

    def find(self, name: str) -> Found:
        """Return where module `name` is, whether it was reached or not."""
        return self._table[name].found

    def below(self, package: str) -> Sequence[str]:
        """List the modules directly inside a package, whether they were reached or not."""
        return self._table.submodules(package) if self._table.exists(package) else ()

    @cached_property
    def modules(self) -> Mapping[str, Module]:
        """Every module that was reached and decided, in the order of the decisions."""
        return {name: self._record(self._table[name]) for name in self._decisions}

    @property
    def edges(self) -> Sequence[Edge]:
        """Every edge, in the order in which statements were followed."""
        return tuple(self._edges)

    def edges_to(self, name: str) -> Sequence[Edge]:
        """Return the edges to module `name`, in that order."""
        return tuple(self._incoming.get(name, ()))

    @property
    def problems(self) -> Sequence[Problem]:
        """What keeps the answer from being complete: sources that cannot be read, modules that are not here.

        A module that is missing, or of which only code that runs can tell, is one where it is needed always.
        """
        found = [*self._problems]
        for name, decision in self._decisions.items():
            source = self._table[name]
            is_absent = decision.follow and source.found.kind in _ABSENT and source.text is None
            if is_absent and name in self._always:
                found.append(_not_read(source.found, self._always[name]))
        return tuple(found)

    @property
    def always_needed(self) -> Collection[str]:
        """The modules to which a chain of imports that always run leads from a root, packages included.

        An extern among them is required; all others are optional, as far as statements tell.
        """
        return self._always.keys()

    @property
    def computed_imports(self) -> Sequence[ComputedImport]:
        """The imports of followed modules whose names are computed, and their looks for entry points."""
        return tuple(
            ComputedImport(name, source.found.file, *one)
            for name, decision in self._decisions.items()
            if decision.follow
            for source in [self._table[name]]
            for one in source.statements.computed
        )

    def data_files(self, package: str, *, whole: bool = False) -> Sequence[DataFile]:
        """List the files beside the code of a top-level package that was followed, as a wheel has them.

        With `whole` those of sub-packages that nothing imports, too. `reason_to_leave_out` tells of secrets
        and of what is hidden.
        """
        inside = [
            self._table[name]
            for name, decision in self._decisions.items()
            if decision.follow and name.partition(".")[0] == package
        ]
        return tuple(files_beside(inside, self._listings, whole=whole))

    def graph(self) -> DiGraph:
        """Return the edges as a graph; roots are ordinary nodes in it."""
        graph = DiGraph()
        for name in self._decisions:
            graph.add_node(name)
        for edge in self._edges:
            if edge.importer:
                graph.add_edge(edge.importer, edge.target)
        return graph

    def why(self, name: str) -> Sequence[Edge]:
        """Return the chain of edges from a root to module `name`, root first.

        It is the shortest of those that always run, else of all.
        """
        return _chain_to(self._always, name) or _chain_to(self._first, name)

    @cached_property
    def _always(self) -> Mapping[str, Edge]:
        return _first_edges(edge for edge in self._edges if edge.kind in _ALWAYS)

    @cached_property
    def _first(self) -> Mapping[str, Edge]:
        return _first_edges(self._edges)

    def _record(self, source: Source) -> Module:
        found, followed = source.found, self._decisions[source.name].follow
        return Module(
            name=source.name,
            kind=found.kind,
            followed=followed,
            is_package=found.is_package,
            file=found.file,
            path=found.path,
            source=source.text if followed else None,
            digest=source.digest if followed else "",
            problem=found.problem or source.problem[1],
        )

    # -- the work list ------------------------------------------------------------------------

    def _wanted_by(self, source: Source) -> Iterator[tuple[Edge, Sequence[str]]]:
        """Yield what the import statements of a module ask for."""
        file = source.found.file
        for statement in source.statements.imports:
            if statement.kind == "type_checking":
                continue
            target = source.target(statement)
            if target == OWN_IMPORTER:  # no module: each loader gives itself
                continue
            names = tuple([name for name, _ in statement.names])
            edge = Edge(source.name, target, statement.kind, file, statement.line, names, statement.function)
            if target:
                yield edge, names
            elif statement.kind == "top":
                spelt = "." * statement.level + statement.module
                message = f"attempted relative import beyond top-level package: {spelt} in {source.name}"
                self._problems[Problem(source.name, "beyond top level", message, file, statement.line)] = None

    def _import(self, edge: Edge, names: Iterable[str]) -> None:
        """Reach the module of an edge, and the modules that its `names` come from."""
        reached = self._reach(edge)
        waiting = [(reached, name) for name in reversed([*names])]
        done: set[tuple[str, str]] = set()
        while waiting:
            home, name = waiting.pop()
            if (home.name, name) in done:
                continue
            done.add((home.name, name))
            followed = self._decisions[home.name].follow
            if name == "*":
                waiting += [(home, one) for one in self._lazy.starred(home)] if followed else []
            elif followed and name in home.bound and home.name != edge.importer:
                continue  # what gives it that name is among its own statements
            elif self._table.has_submodule(home, name):
                self._reach(replace(edge, target=f"{home.name}.{name}", names=()))
            elif followed and (found := self._lazy.target(home, name)) is not None:
                target, wanted = found
                waiting.append((self._reach(replace(edge, target=target.name, names=(wanted,))), wanted))

    def _reach(self, edge: Edge) -> Source:
        """Come to the target of an edge: parents first, each decided when it is first reached."""
        self._add(edge)
        parts = edge.target.split(".")
        known = next((end for end in range(len(parts), 0, -1) if ".".join(parts[:end]) in self._decisions), 0)
        for end in range(known + 1, len(parts) + 1):
            name = ".".join(parts[:end])
            if end > 1 and end == known + 1:
                self._add(Edge(name, ".".join(parts[: end - 1]), "parent", edge.file, edge.line))
            if end < len(parts):
                self._add(Edge(".".join(parts[: end + 1]), name, "parent", edge.file, edge.line))
            source = self._table[name]
            decision = WalkDecision(True)
            if source.found.kind != "implicit":
                decision = self._decide(name, tuple(self._incoming[name]))
            if decision.follow and decision.source is not None:
                source.replace(decision.source.encode())
            self._decisions[name] = decision
            if decision.follow:
                self._waiting.append(source)
                self._note_problems(source)
        return self._table[edge.target]

    def _note_problems(self, source: Source) -> None:
        """Note what keeps a module that is followed from being read."""
        name, found = source.name, source.found
        if source.text is None and found.kind in _NOT_READ and found.kind not in _ABSENT:
            self._problems[_not_read(found, self._incoming[name][0])] = None
        _ = source.statements
        reason, message, line = source.problem
        if reason:
            self._problems[Problem(name, reason, f"{name}: {message}", found.file, line)] = None

    def _add(self, edge: Edge) -> None:
        self._edges.append(edge)
        self._incoming.setdefault(edge.target, []).append(edge)


def _first_edges(edges: Iterable[Edge]) -> Mapping[str, Edge]:
    """Map each module to the edge by which it is reached in the fewest steps from the roots.

    An import counts before the step from a module up to its package: that one says little.
    """
    onward: dict[str, list[Edge]] = {}
    for edge in edges:
        onward.setdefault(edge.importer, []).append(edge)
    first: dict[str, Edge] = {}
    for kinds in (False, True):  # all that imports alone reach, then what only parents explain
        waiting = deque(["", *first])
        while waiting:
            for edge in onward.get(waiting.popleft(), ()):
                if edge.target not in first and (kinds or edge.kind != "parent"):
                    first[edge.target] = edge
                    waiting.append(edge.target)
    return first


def _chain_to(first: Mapping[str, Edge], name: str) -> Sequence[Edge]:
    """Return the edges from a root to module `name`, root first; empty where nothing leads there."""
    chain: list[Edge] = []
    while name and name in first:
        chain.append(first[name])
        name = first[name].importer
    return tuple(reversed(chain))


def _not_read(found: Found, edge: Edge) -> Problem:
    message = f"{found.name} has no source to store: {found.problem or _NOT_READ[found.kind]}"
    return Problem(found.name, found.kind, message, edge.file, edge.line)
