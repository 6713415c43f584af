"""The computed imports of a walk: what is asked of them, answered and offered, and what that brings.

What code of the project looks for by names that are computed is asked in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal

from .alternatives import stands_alone
from .blocks import Blocks
from .import_follower import ImportFollower
from .liveness import NameUses
from .module_table import ModuleTable, SourceModule
from .probes import OpenProbe, Probe, ProbeReader
from .records import Candidate, Edge, Question
from .scan import Dynamic
from .sites import Site


class ComputedImports:
    """What is known of the computed imports in live code, of one walk.

    `enter(module, names, edge)` has names of a module used once it has run. `is_live`, `is_own` and
    `takes_in` are as in Walk.
    """

    def __init__(
        self,
        table: ModuleTable,
        blocks: Blocks,
        follower: ImportFollower,
        name_uses: NameUses,
        *,
        enter: Callable[[SourceModule, Sequence[str], Edge], object],
        is_live: Callable[[str, int], bool],
        is_own: Callable[[str], bool],
        takes_in: Callable[[str], bool],
    ) -> None:
        self._table = table
        self._follower = follower
        self._name_uses = name_uses
        self._enter = enter
        self._is_own = is_own
        self._takes_in = takes_in
        self._reader = ProbeReader(table, blocks.names, is_live)
        self._probed: dict[Probe, None] = {}
        self._open_probes: list[Site] = []
        self._found_by: set[str] = set()
        self._read_at: tuple[int, int] = (-1, -1)
        self._answers: dict[str, Sequence[str] | Literal["all", "none"]] = {}
        self._answered: set[tuple[str, int]] = set()
        self._explained: set[str] = set()
        self._given: set[tuple[str, str]] = set()
        self._looked_at: dict[str, int] = {}
        self._offered: dict[str, dict[str, None]] = {}
        self._apart: dict[str, dict[str, None]] = {}
        self._asked: tuple[Question, ...] | None = None

    def answer(self, question: str, names: Sequence[str] | Literal["all", "none"]) -> None:
        """Note which of its candidates, or other modules, a question's import loads."""
        self._answers[question] = names
        self._asked = None

    def went_on(self) -> None:
        """Forget the questions that were made: the walk has gone on."""
        self._asked = None

    @property
    def probes(self) -> Sequence[Probe]:
        """What live code of the project looks for and does not import, whether it is here or not."""
        return tuple(self._probed)

    def questions(self) -> Sequence[Question]:
        """Return the computed imports in live code that are not answered yet, largest first."""
        if self._asked is None:  # a large package has thousands of candidates, each of which is measured
            self._asked = tuple(self._ask())
        return self._asked

    def _ask(self) -> list[Question]:
        followed = {name for name, decision in self._follower.decisions.items() if decision.follow}
        measured: dict[str, Candidate] = {}
        sites = [self._site(key) for key in self._follower.dynamics]
        known = self._explained.union(self._answers)
        asked = [
            site.question(followed, measured, self._offered.get(site.id, ()), self._apart.get(site.id, ()))
            for site in sites
            if site.id not in known
        ]
        looked_for = [site.question(followed, measured) for site in self._open_probes if site.id not in known]
        asked += [one for one in looked_for if not one.pattern or self._may_lack(one, followed)]
        return sorted(asked, key=lambda question: -sum(found.bytes for found in question.candidates))

    def _may_lack(self, asked: Question, followed: set[str]) -> bool:
        """Say whether what is looked for may be here and not in the archive: not so of what is left out."""
        top = asked.pattern.partition(".")[0]
        return bool(asked.candidates) and (top in followed or self._is_own(top))

    def plugin_questions(self) -> Iterator[tuple[str, str, str]]:
        """Yield the id, the module and the text of what looks for entry points.

        What was said to load nothing is left out.
        """
        for site in map(self._site, self._follower.dynamics):
            if site.dynamic.kind == "entry points" and self._answers.get(site.id) != "none":
                yield site.id, site.module.name, site.dynamic.text

    def name_questions(self) -> Iterator[tuple[str, str]]:
        """Yield the id and the module of what imports a name of which nothing is known or answered."""
        for site in map(self._site, self._follower.dynamics):
            is_unknown = site.dynamic.kind in ("import", "name") and not site.pattern
            if is_unknown and site.id not in self._answers and site.id not in self._explained:
                yield site.id, site.module.name

    def offer(self, question: str, names: Iterable[str]) -> bool:
        """Name what a computed import may load, beside what an answer says; say if any is new.

        That is a module, or a name of one ("net.layers:Conv").
        """
        known = self._offered.setdefault(question, {})
        new = [name for name in names if name not in known]
        known.update(dict.fromkeys(new))
        self._asked = None
        return bool(new)

    def offer_alone(self, question: str, names: Iterable[str]) -> bool:
        """Offer of `names` those that bring nothing but what is in already, and the standard library.

        The others are candidates. Say if any is offered that was not.
        """
        decided = set(self._follower.decisions)
        offered, apart = self._offered.get(question, {}), self._apart.setdefault(question, {})
        alone = []
        for name in names:
            module = name.partition(":")[0]
            if name in offered or stands_alone(module, self._table, decided, self._takes_in):
                alone.append(name)
                decided.add(module)
            elif module not in decided:
                apart[module] = None
        return self.offer(question, alone)

    @property
    def unused_answers(self) -> Sequence[str]:
        """The ids that were answered, and that no computed import in live code has."""
        asked = {site.id for site in self._sites()}
        return tuple(question for question in self._answers if question not in asked)

    @property
    def empty_answers(self) -> Sequence[str]:
        """The ids that were answered with "all" where no candidate is, or no computed import."""
        asked = [question for question, names in self._answers.items() if names == "all"]
        found = {site.id: site.candidate_names() for site in self._sites()} if asked else {}
        return tuple(question for question in asked if not found.get(question))

    # -- what they bring ----------------------------------------------------------------------

    def follow_all(self) -> bool:
        """Follow what is answered, offered and looked for; say whether any was new."""
        return self._follow_answers() or self._follow_probes()

    def _follow_answers(self) -> bool:
        """Follow what was answered about the computed imports of live code; say whether any was new."""
        new = False
        for key in list(self._follower.dynamics):
            site = self._site(key)
            answer = self._answers.get(site.id)
            if answer != "none":
                new = self._follow_given(site, self._offered.get(site.id, ())) or new
            if key in self._answered:
                continue
            if answer is None:
                new = self._follow_proxies(site) or new
                continue
            new = True
            self._answered.add(key)
            names = site.candidate_names() if answer == "all" else answer
            for target in () if answer == "none" else names:
                self._follow_computed(site, target, "dynamic glob")
        for site in self._open_probes:
            if site.id in self._answers and site.id not in self._found_by:
                self._found_by.add(site.id)
                answer = self._answers[site.id]
                names = site.candidate_names() if answer == "all" else answer
                for target in () if answer == "none" else names:
                    new = True
                    self._follow_computed(site, target, "probe")
        return new

    def _follow_probes(self) -> bool:
        """Read what the project's code looks for, and follow what is here; say whether any was new.

        It is read again where modules or functions were added, as either may look for more.
        """
        own = [self._table[name] for name, one in self._follower.decisions.items() if one.follow]
        own = [module for module in own if module.found.kind == "text" or self._is_own(module.name)]
        size = len(own), sum(len(module.live) for module in own)
        if size == self._read_at:
            return False
        self._read_at = size
        before = len(self._follower.decisions)
        for probe in self._reader.probes(own):
            if probe not in self._probed:
                self._probed[probe] = None
                if probe.kind == "module":
                    self._follower.follow_probe(self._table[probe.module], probe.line, probe.name)
        self._open_probes = list(map(self._looking, self._reader.open_probes()))
        return len(self._follower.decisions) > before or self._follow_answers()

    def _looking(self, probe: OpenProbe) -> Site:
        """Return the site of an open probe, in the function that begins where it says."""
        module = self._table[probe.module]
        blocks = enumerate(module.scan.blocks)
        at = [place for place, one in blocks if one.kind == "function" and one.line == probe.begins]
        block = at[0] if at else 0
        return Site(
            self._table,
            module,
            Dynamic(0, probe.line, block, "probe", probe.text, 0, probe.pattern, "package"),
        )

    def _follow_proxies(self, site: Site) -> bool:
        """Follow what the code of a computed import is given by name; say whether any was new."""
        if site.pattern or site.dynamic.kind != "import" or not site.function:
            return False
        from .proxies import modules_given  # most exports have none

        followed = [self._table[name] for name, one in self._follower.decisions.items() if one.follow]
        if self._looked_at.get(site.id) == len(followed):
            return False
        self._looked_at[site.id] = len(followed)
        names, is_whole = modules_given(self._table, site.module, site.function, followed)
        if is_whole:
            self._explained.add(site.id)
        else:
            self._explained.discard(site.id)
        return self._follow_given(site, names)

    def _follow_given(self, site: Site, names: Iterable[str]) -> bool:
        """Follow modules that a computed import is known to load; say whether any was new."""
        new = [name for name in names if (site.id, name) not in self._given]
        for name in new:
            self._given.add((site.id, name))
            self._follow_computed(site, name, "dynamic")
        return bool(new)

    def _follow_computed(self, site: Site, target: str, kind: str) -> None:
        name, _, asked = target.partition(":")
        names = (asked,) if asked else ()
        edge = Edge(
            site.module.name, name, kind, site.module.found.file, site.dynamic.line, names, site.function
        )
        module = self._follower.reach(name, edge)
        if not asked:
            self._name_uses.use_module(module)
        elif self._follower.is_followed(module):
            self._enter(module, names, edge)

    def _sites(self) -> list[Site]:
        return [*map(self._site, self._follower.dynamics), *self._open_probes]

    def _site(self, key: tuple[str, int]) -> Site:
        name, at = key
        module = self._table[name]
        return Site(self._table, module, module.scan.dynamics[at])
