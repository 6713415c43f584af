"""The walk: which modules a model's code needs, read from sources and never run."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Literal

from packager import seen
from packager.collector import gc_paused

from .alternatives import modules_with, other_branches
from .blocks import Blocks
from .computed_imports import ComputedImports
from .datafiles import find_data_files
from .digraph import DiGraph, chain_to, first_edges, graph_of
from .import_follower import ImportFollower, circumstance
from .liveness import NameUses
from .module_finder import Listings, Sources
from .module_table import ModuleTable, SourceModule
from .probes import Probe
from .records import (
    DataFile,
    Decide,
    Edge,
    Fact,
    Found,
    Module,
    NamedFile,
    Problem,
    Question,
    SourceFinder,
)
from .scan_cache import ScanCache


class Walk:
    """A work list over modules, which grows by roots and is brought up to date by `run()`.

    `decide(name, edges)` is asked once for each module, when it is first reached (parents first),
    and answers with a WalkDecision; the walk knows of no policy. `sources` finds modules by name
    (default: `Sources()`, over `sys.path`). `guards="all"` follows every branch of every test;
    `parents="lazy"` replaces package `__init__`s that hold nothing but imports by lazy tables.
    `cache` is a ScanCache (default: the user's), or None for none. `is_own` says of a module whether it is
    the project's: what a used class inherits from classes there may be called, too. `leaves_out` says whether
    a module that is only looked for (`find_spec("networkx")`) is left to the target: then it is reached, by a
    "probe". `takes_in` says whether one is stored without a question: then a branch of the project's code
    that does not run here, for what is installed, may bring it.

    All queries tell of the state after the last `run()`.

    >>> from packager.graph import WalkDecision
    >>> walk = Walk(lambda name, edges: WalkDecision(name == "net"), cache=None)
    >>> walk.add_source("net", "import json\\nif TYPE_CHECKING:\\n    import torch\\n")
    >>> walk.run()
    >>> [(module.name, module.followed) for module in walk.modules.values()]
    [('net', True), ('json', False)]
    """

    def __init__(
        self,
        decide: Decide,
        *,
        sources: SourceFinder | None = None,
        guards: Literal["here", "all"] = "here",
        parents: Literal["eager", "lazy"] = "eager",
        cache: ScanCache | Literal["default"] | None = "default",
        is_own: Callable[[str], bool] = lambda name: False,
        leaves_out: Callable[[str], bool] = lambda name: False,
        takes_in: Callable[[str], bool] = lambda name: False,
    ) -> None:
        self._cache = ScanCache() if cache == "default" else cache
        self._table = ModuleTable(
            Sources() if sources is None else sources,
            self._cache,
            leaves_out,
        )
        all_guards = guards == "all"
        self._blocks = Blocks(self._table, all_guards=all_guards)
        self._follower = ImportFollower(
            self._table,
            self._blocks,
            decide,
            all_guards=all_guards,
            lazy_parents=parents == "lazy",
            leaves_out=leaves_out,
        )
        self._name_uses = NameUses(self._table, self._follower, is_own)
        self._is_own = is_own
        self._takes_in = takes_in
        self._brought: dict[str, None] = {}
        self._roots: deque[tuple[str, Sequence[str] | None]] = deque()
        self._entered: deque[tuple[SourceModule, Sequence[str], Edge]] = deque()
        self._listings = Listings()
        self._computed = ComputedImports(
            self._table,
            self._blocks,
            self._follower,
            self._name_uses,
            enter=self._enter,
            is_live=self.is_live,
            is_own=is_own,
            takes_in=takes_in,
        )
        self._modules: Mapping[str, Module] | None = None
        self._all_edges: tuple[Edge, ...] | None = None
        self._first_edges: Mapping[str, Edge] | None = None

    def add_root(self, name: str, *, names: Sequence[str] | None = None) -> None:
        """Ask for module `name`. Its public names will be used, or just `names` where given."""
        self._roots.append((name, names))

    def add_source(
        self, name: str, text: str | bytes, *, is_package: bool = False, dependencies: bool = True
    ) -> None:
        """Ask for a module whose text is given here; it comes before any module of that name elsewhere."""
        data = text.encode() if isinstance(text, str) else text
        self._table.add_text(name, data, is_package)
        self._roots.append((name, None if dependencies else ()))

    def answer(self, question: str, names: Sequence[str] | Literal["all", "none"]) -> None:
        """Answer a Question by its id: which of its candidates, or other modules, it loads.

        It may be answered before the walk comes to it.
        """
        self._computed.answer(question, names)

    def find(self, name: str) -> Found:
        """Return where module `name` is, whether the walk has reached it or not."""
        return self._table[name].found

    def below(self, package: str) -> Sequence[str]:
        """List the modules directly inside a package, whether the walk has reached them or not."""
        return self._table.submodules(package) if self._table.exists(package) is True else ()

    def run(self) -> None:
        """Bring the walk up to date with all roots, sources and answers."""
        self._table.refresh()
        self._listings.refresh()
        try:
            with gc_paused():
                self._run()
        finally:
            if self._cache is not None:
                self._cache.flush()
            self._computed.went_on()
            self._modules = self._all_edges = self._first_edges = None

    @property
    def modules(self) -> Mapping[str, Module]:
        """Every module that was reached and decided, in the order of the decisions; made when asked for."""
        if self._modules is None:
            self._modules = _Records(self._follower.decisions, self._record)
        return self._modules

    @property
    def facts(self) -> Sequence[Fact]:
        """The tests that this environment answered."""
        return tuple(self._blocks.facts.values())

    @property
    def probes(self) -> Sequence[Probe]:
        """What live code of the project looks for and does not import, whether it is here or not."""
        return self._computed.probes

    @property
    def problems(self) -> Sequence[Problem]:
        """What keeps the answer from being complete."""
        return tuple(self._follower.problems)

    @property
    def edges(self) -> Sequence[Edge]:
        """Every edge: the followed ones in the order of the walk, then those that do not run here."""
        if self._all_edges is None:
            self._all_edges = (*self._follower.edges, *self._silent_edges())
        return self._all_edges

    def questions(self) -> Sequence[Question]:
        """Return the computed imports in live code that are not answered yet, largest first."""
        return self._computed.questions()

    def plugin_questions(self) -> Iterator[tuple[str, str, str]]:
        """Yield what looks for entry points; see `ComputedImports.plugin_questions`."""
        return self._computed.plugin_questions()

    def name_questions(self) -> Iterator[tuple[str, str]]:
        """Yield the id and the module of what imports a name of which nothing is known or answered."""
        return self._computed.name_questions()

    def offer(self, question: str, names: Iterable[str]) -> bool:
        """Name what a computed import may load; see `ComputedImports.offer`."""
        return self._computed.offer(question, names)

    def offer_alone(self, question: str, names: Iterable[str]) -> bool:
        """Offer what brings nothing that is not in; see `ComputedImports.offer_alone`."""
        return self._computed.offer_alone(question, names)

    @property
    def unused_answers(self) -> Sequence[str]:
        """The ids that were answered, and that no computed import in live code has."""
        return self._computed.unused_answers

    @property
    def empty_answers(self) -> Sequence[str]:
        """The ids that were answered with "all" where no candidate is, or no computed import."""
        return self._computed.empty_answers

    def data_files(self, package: str, *, whole: bool = False) -> Sequence[DataFile]:
        """List the data files below a top-level package that the walk followed, those named by code first.

        With `whole` those of sub-packages that nothing imports, too.
        """
        modules = [
            self._table[name] for name, decision in self._follower.decisions.items() if decision.follow
        ]
        inside = [module for module in modules if module.name.partition(".")[0] == package]
        return tuple(find_data_files(inside, self._listings, whole=whole))

    def project_files(
        self, names: Iterable[str]
    ) -> tuple[Sequence[DataFile], Sequence[NamedFile], Sequence[tuple[str, str]]]:
        """Return the files in no package that followed modules `names` reach, and what is told of others.

        Last come the paths that two files would have, each with the reason.
        """
        modules = [self._table[name] for name in names if self._follower.decisions[name].follow]
        literals = (one.text for module in modules for one in module.scan.literals)
        if not any(module.scan.own_path for module in modules) and not any(map(seen.exists, literals)):
            return (), (), ()  # as most projects are: no code asks where it lies, nor names what lies here
        from .project_files import ProjectFiles

        found = ProjectFiles(modules, self._listings)
        return found.stored, found.told, found.clashes

    def is_live(self, name: str, line: int) -> bool:
        """Say whether the function of module `name` that begins at a line can run, as far as is known."""
        module = self._table[name] if name in self._follower.decisions else None
        if module is None or not self._follower.is_followed(module):
            return True
        blocks = enumerate(module.scan.blocks)
        at = {place for place, block in blocks if block.line == line and block.kind == "function"}
        return not at or not at.isdisjoint(module.live)

    def graph(self) -> DiGraph:
        """Return the followed edges as a graph."""
        return graph_of(self._follower.decisions, self._follower.edges)

    def why(self, name: str) -> Sequence[Edge]:
        """Return the shortest chain of followed edges from a root to module `name`, root first."""
        if self._first_edges is None:
            self._first_edges = first_edges(self._follower.edges)
        return chain_to(self._first_edges, name)

    # -- the work list ------------------------------------------------------------------------

    def _run(self) -> None:
        # Names are used when every import was followed: what they stand for is then known.
        while True:
            if self._follower.to_run:
                self._follower.run_next()
            elif self._entered:
                self._use_names(*self._entered.popleft())
            elif not self._name_uses.next():
                if self._roots:
                    self._enter_root(*self._roots.popleft())
                elif not (self._computed.follow_all() or self._follow_other_branches()):
                    return

    def _enter_root(self, name: str, names: Sequence[str] | None) -> None:
        module = self._follower.reach(name, Edge("", name, "root"))
        if self._follower.is_followed(module):
            asked = tuple(self._public_names(module) if names is None else names)
            self._entered.append((module, asked, Edge("", module.name, "root", names=asked)))

    def _enter(self, module: SourceModule, names: Sequence[str], edge: Edge) -> None:
        self._entered.append((module, names, edge))

    def _use_names(self, module: SourceModule, names: Sequence[str], edge: Edge) -> None:
        """Use what a module is asked for from outside of the walk, once it has run."""
        for name in names:
            if self._follower.follow_name(module, name, edge):
                self._name_uses.use_from_outside(module, name)

    def _public_names(self, module: SourceModule) -> list[str]:
        exports = module.scan.exports
        listed = list(exports.names) if exports is not None else []
        if exports is None or not exports.complete or exports.others:
            bound = [name for name in module.scan.bindings if not name.startswith("_")]
            listed += [name for name in bound if self._blocks.bindings(module, name)]
        return list(dict.fromkeys(listed))

    def _follow_other_branches(self) -> bool:
        """Follow what branches of the project import that do not run here; say whether any was new."""
        decided = self._follower.decisions
        arrived = [name for name in self._brought if name in decided]
        for name in arrived:  # whatever it offers may be used then
            del self._brought[name]
            module = self._table[name]
            self._name_uses.use_module(module)
            for offered in self._public_names(module):
                self._name_uses.use_from_outside(module, offered)
        if arrived:
            return True
        own = [self._table[name] for name, one in decided.items() if one.follow and self._is_own(name)]
        for module in own:
            for statement in other_branches(module, self._blocks):
                target = module.target(statement)
                if not target or target.partition(".")[0] != module.name.partition(".")[0]:
                    continue
                inner = [f"{target}.{name}" for name, _ in statement.names]
                wanted = [target, *(name for name in inner if self._table.exists(name) is True)]
                brought = {name: modules_with(name, self._table, decided, self._takes_in) for name in wanted}
                if not all(brought[name] or name in decided for name in wanted):
                    continue
                kind, detail = circumstance(module, statement)
                for name in (name for name in wanted if name not in decided):
                    file, line = module.found.file, statement.line
                    edge = Edge(module.name, name, kind, file, line, (), detail)
                    self._brought.update(dict.fromkeys(brought[name]))
                    self._follower.reach(name, edge)
                    return True
        return False

    def _silent_edges(self) -> Iterator[Edge]:
        """Yield the imports of followed modules that do not run here, each with the reason."""
        for name, decision in self._follower.decisions.items():
            module = self._table[name]
            for statement in module.scan.imports if decision.follow else ():
                target = module.target(statement)
                runs, because = self._blocks.reached(module, statement.block, statement.order)
                if not target or (runs is not False and statement.block in module.live):
                    continue
                kind, detail = circumstance(module, statement)
                because = (
                    because or f"nothing that runs here uses {module.scan.blocks[statement.block].function}"
                )
                names = tuple([asked for asked, _ in statement.names])
                yield Edge(
                    name, target, kind, module.found.file, statement.line, names, detail, False, because
                )

    def _record(self, name: str) -> Module:
        module, followed = self._table[name], self._follower.decisions[name].follow
        found = module.found
        return Module(
            name=name,
            kind=found.kind,
            followed=followed,
            is_package=found.is_package,
            file=found.file,
            path=found.path,
            source=module.source if followed else None,
            digest=module.digest if followed else "",
            problem=found.problem or module.problem[1],
            uses_path=followed and module.scan.own_path,
            caveat=found.caveat,
        )


class _Records(Mapping[str, Module]):
    """The records of modules by name, each made once, when it is asked for: often one alone is wanted."""

    def __init__(self, names: Collection[str], record: Callable[[str], Module]) -> None:
        self._names = names
        self._record = record
        self._made: dict[str, Module] = {}

    def __getitem__(self, name: str) -> Module:
        if name not in self._names:
            raise KeyError(name)
        made = self._made.get(name)
        if made is None:
            made = self._made[name] = self._record(name)
        return made

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(tuple(self._names))

    def __len__(self) -> int:
        return len(self._names)
