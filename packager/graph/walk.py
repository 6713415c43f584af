"""The walk: which modules a model's code needs, read from sources and never run."""

from __future__ import annotations

import gc
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Literal

from packager.graph.blocks import Blocks
from packager.graph.cache import ScanCache
from packager.graph.chains import chain_to, first_edges, graph_of
from packager.graph.datafiles import find_data_files
from packager.graph.digraph import DiGraph
from packager.graph.following import Following, circumstance
from packager.graph.library import Library, Volume
from packager.graph.listing import Listings
from packager.graph.questions import candidate_names, question_for, question_id
from packager.graph.records import Candidate, DataFile, Decide, Edge, Fact, Module, Problem, Question
from packager.graph.sources import Found, SourceFinder, Sources
from packager.graph.using import Using

__all__ = ["Walk"]


class Walk:
    """A work list over modules, which grows by roots and is brought up to date by `run()`.

    `decide(name, edges)` is asked once for each module, when it is first reached (parents first),
    and answers with a Verdict; the walk knows of no policy. `sources` finds modules by name
    (default: `Sources()`, over `sys.path`). `guards="all"` follows every branch of every test;
    `parents="lazy"` replaces package `__init__`s that hold nothing but imports by lazy tables.
    `cache` is a ScanCache (default: the user's), or None for none.

    All queries tell of the state after the last `run()`.

    >>> from packager.graph import Verdict
    >>> walk = Walk(lambda name, edges: Verdict(name == "net"), cache=None)
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
    ) -> None:
        self._library = Library(
            Sources() if sources is None else sources, ScanCache() if cache == "default" else cache
        )
        all_guards = guards == "all"
        self._blocks = Blocks(self._library, all_guards=all_guards, note=self._note)
        self._following = Following(
            self._library,
            self._blocks,
            decide,
            lambda volume: self._using.run_getattr(volume),
            all_guards=all_guards,
            lazy_parents=parents == "lazy",
        )
        self._using = Using(self._library, self._following)
        self._facts: dict[tuple[str, int, str], Fact] = {}
        self._roots: deque[tuple[str, Sequence[str] | None]] = deque()
        self._entered: deque[tuple[Volume, Sequence[str]]] = deque()
        self._listings = Listings()
        self._answers: dict[str, Sequence[str] | Literal["all", "none"]] = {}
        self._answered: set[tuple[str, int]] = set()
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
        self._library.add_text(name, data, is_package)
        self._roots.append((name, None if dependencies else ()))

    def answer(self, question: str, names: Sequence[str] | Literal["all", "none"]) -> None:
        """Answer a Question by its id: which of its candidates, or other modules, it loads.

        It may be answered before the walk comes to it.
        """
        self._answers[question] = names

    def find(self, name: str) -> Found:
        """Where module `name` is, whether the walk has reached it or not."""
        return self._library[name].found

    def run(self) -> None:
        """Bring the walk up to date with all roots, sources and answers."""
        self._library.refresh()
        self._listings.refresh()
        self._all_edges = self._first_edges = None
        collecting = gc.isenabled()
        gc.disable()  # trees and scans hold no cycles; collecting would take half of the time
        try:
            self._run()
        finally:
            if collecting:
                if not gc.get_freeze_count():
                    gc.freeze()  # what was made counts as old: else it would all be looked through now,
                    gc.unfreeze()  # for which the collector takes a tenth of the time of a walk
                gc.enable()

    @property
    def modules(self) -> Mapping[str, Module]:
        """Every module that was reached and decided, in the order of the decisions."""
        return MappingProxyType({name: self._module(name) for name in self._following.verdicts})

    @property
    def facts(self) -> Sequence[Fact]:
        """The tests that this environment answered."""
        return tuple(self._facts.values())

    @property
    def problems(self) -> Sequence[Problem]:
        """What keeps the answer from being complete."""
        return tuple(self._following.problems)

    @property
    def edges(self) -> Sequence[Edge]:
        """Every edge: the followed ones in the order of the walk, then those that do not run here."""
        if self._all_edges is None:
            self._all_edges = (*self._following.edges, *self._silent_edges())
        return self._all_edges

    def questions(self) -> Sequence[Question]:
        """The computed imports in live code that nobody answered yet, largest first."""
        followed = {name for name, verdict in self._following.verdicts.items() if verdict.follow}
        asked = []
        measured: dict[str, Candidate] = {}
        for name, at in self._following.dynamics:
            volume = self._library[name]
            dynamic = volume.scan.dynamics[at]
            if question_id(volume, dynamic) not in self._answers:
                asked.append(question_for(self._library, volume, dynamic, followed, measured))
        return tuple(sorted(asked, key=lambda question: -sum(found.bytes for found in question.candidates)))

    @property
    def unused_answers(self) -> Sequence[str]:
        """The ids that were answered, and that no computed import in live code has."""
        asked = set()
        for name, at in self._following.dynamics:
            volume = self._library[name]
            asked.add(question_id(volume, volume.scan.dynamics[at]))
        return tuple(question for question in self._answers if question not in asked)

    def data_files(self, package: str) -> Sequence[DataFile]:
        """The data files below a top-level package that the walk followed; those named by code first."""
        volumes = [
            self._library[name] for name, verdict in self._following.verdicts.items() if verdict.follow
        ]
        inside = [volume for volume in volumes if volume.name.partition(".")[0] == package]
        return tuple(find_data_files(inside, self._listings))

    def graph(self) -> DiGraph:
        """The followed edges as a graph."""
        return graph_of(self._following.verdicts, self._following.edges)

    def why(self, name: str) -> Sequence[Edge]:
        """The shortest chain of followed edges from a root to module `name`, root first."""
        if self._first_edges is None:
            self._first_edges = first_edges(self._following.edges)
        return chain_to(self._first_edges, name)

    # -- the work list ------------------------------------------------------------------------

    def _run(self) -> None:
        # Names are used when every import was followed: what they stand for is then known.
        while True:
            if self._following.to_run:
                self._following.run_next()
            elif self._entered:
                self._use_root(*self._entered.popleft())
            elif not self._using.next():
                if self._roots:
                    self._enter_root(*self._roots.popleft())
                elif not self._follow_answers():
                    return

    def _enter_root(self, name: str, names: Sequence[str] | None) -> None:
        volume = self._following.reach(name, Edge("", name, "root"))
        if self._following.is_followed(volume):
            self._entered.append((volume, self._public_names(volume) if names is None else names))

    def _use_root(self, volume: Volume, names: Sequence[str]) -> None:
        """Once a root has run, use what it offers."""
        edge = Edge("", volume.name, "root", names=tuple(names))
        for name in names:
            if self._following.follow_name(volume, name, edge):
                self._using.use_from_outside(volume, name)

    def _public_names(self, volume: Volume) -> list[str]:
        exports = volume.scan.exports
        listed = list(exports.names) if exports is not None else []
        if exports is None or not exports.complete or exports.others:
            bound = [name for name in volume.scan.bindings if not name.startswith("_")]
            listed += [name for name in bound if self._blocks.bindings(volume, name)]
        return list(dict.fromkeys(listed))

    def _follow_answers(self) -> bool:
        """Follow what was answered about the computed imports of live code; say whether any was new."""
        new = False
        for key in [key for key in self._following.dynamics if key not in self._answered]:
            volume = self._library[key[0]]
            dynamic = volume.scan.dynamics[key[1]]
            answer = self._answers.get(question_id(volume, dynamic))
            if answer is None:
                continue
            new = True
            self._answered.add(key)
            names = candidate_names(self._library, volume, dynamic) if answer == "all" else answer
            for target in () if answer == "none" else names:
                function = volume.scan.blocks[dynamic.block].function
                edge = Edge(
                    volume.name, target, "dynamic glob", volume.found.file, dynamic.line, (), function
                )
                self._using.use_module(self._following.reach(target, edge))
        return new

    def _silent_edges(self) -> Iterator[Edge]:
        """The imports of followed modules that do not run here, each with the reason."""
        for name, verdict in self._following.verdicts.items():
            volume = self._library[name]
            for statement in volume.scan.imports if verdict.follow else ():
                target = volume.target(statement)
                runs, because = self._blocks.reached(volume, statement.block, statement.order)
                if not target or (runs is not False and statement.block in volume.live):
                    continue
                kind, detail = circumstance(volume, statement)
                because = (
                    because or f"nothing that runs here uses {volume.scan.blocks[statement.block].function}"
                )
                names = tuple([asked for asked, _ in statement.names])
                yield Edge(
                    name, target, kind, volume.found.file, statement.line, names, detail, False, because
                )

    def _note(self, volume: Volume, line: int, guard: str, value: bool, because: str) -> None:
        key = (volume.name, line, guard)
        self._facts.setdefault(key, Fact(volume.name, volume.found.file, line, guard, value, because))

    def _module(self, name: str) -> Module:
        volume, followed = self._library[name], self._following.verdicts[name].follow
        found = volume.found
        return Module(
            name=name,
            kind=found.kind,
            followed=followed,
            is_package=found.is_package,
            file=found.file,
            path=found.path,
            source=volume.source if followed else None,
            digest=volume.digest if followed else "",
            problem=found.problem or volume.problem[1],
            uses_path=followed and volume.scan.own_path,
            caveat=found.caveat,
        )
