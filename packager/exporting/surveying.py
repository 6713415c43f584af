"""The survey: request, decisions and walk brought up to date with each other.

Objects come first, because they say which frameworks are in use and which modules their classes
need; then the walk goes from everything that was asked for. Decisions stand from one survey to the
next, so that a survey may be made as often as somebody asks.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from packager.graph import Decide, Edge, Importer, Walk, WalkDecision
from packager.policy import Answer

from .contents import StoredObject, StoredState, Storing, frameworks_of
from .deciding import Decisions
from .migrations import StoredMigrations, store_migrations
from .plan import PlanProblem
from .request import (
    ModuleRequest,
    ObjectRequest,
    Request,
    ResourceRequest,
    SourceRequest,
    StateDictRequest,
)
from .sources import SourcesOfRequest
from .taking import Taken, changes_of, is_as_taken, is_steady, take


@dataclass(frozen=True)
class Use:
    """A name that something stored needs from the code: `label` says what needs it, and where."""

    module: str
    qualname: str
    label: str


@dataclass(frozen=True)
class Survey:
    """What is known once the walk is up to date with the request.

    `states` are the state dicts that were saved, and those of objects that a factory makes;
    `main_problems` what stands against storing definitions of `__main__`, each with file:line.
    """

    walk: Walk
    objects: tuple[StoredObject, ...]
    states: tuple[StoredState, ...]
    migrations: StoredMigrations
    uses: tuple[Use, ...]
    main_problems: tuple[str, ...] = ()

    @property
    def stored(self) -> tuple[StoredObject | StoredState, ...]:
        """Objects and state dicts together."""
        return (*self.objects, *self.states)


class Surveyor:
    """Makes surveys of one request; `touch()` says that the last one is out of date.

    `tell(count)` is called during a walk with the number of modules that it has come to.
    """

    def __init__(
        self,
        request: Request,
        decisions: Decisions,
        sources: SourcesOfRequest,
        importer: Importer,
        exporter: Any,
        *,
        guards: Literal["here", "all"],
        parents: Literal["eager", "lazy"],
        tell: Callable[[int], None],
        ids_given: Callable[[], int],
        sha256: bool,
    ) -> None:
        self._request = request
        self._decisions = decisions
        self._sources = sources
        self._storing = Storing(importer, exporter, ids_given)
        self._guards = guards
        self._parents = parents
        self._tell = tell
        self._sha256 = sha256
        self._answers: dict[str, Answer] = dict(decisions.policy.answers)
        self._taken: dict[int, Taken] = {}
        self._last: Survey | None = None

    def touch(self) -> None:
        """The request or the rules have changed."""
        self._last = None

    def answer(self, question: str, names: Answer) -> None:
        """Keep the answer to a question of the walk for this and every later survey."""
        self._answers[question] = names

    def take(self, request: ObjectRequest | StateDictRequest) -> None:
        """Take what is saved as it is now; see `taking.take`."""
        self._taken[id(request)] = take(request, self._storing, sha256=self._sha256)

    def changes(self) -> tuple[PlanProblem, ...]:
        """What changed between its save and now; reads all tensors."""
        takes = [self._taken[id(one)] for one in self._request if id(one) in self._taken]
        return tuple(changes_of(takes, sha256=self._sha256))

    def is_as_saved(self, request: ObjectRequest) -> bool:
        """Whether an object is as it was when it was saved; True where its encodings never agree."""
        taken = self._taken[id(request)]
        same = is_as_taken(taken, self._storing, sha256=self._sha256)
        return same or not is_steady(taken, self._storing)

    def survey(self) -> Survey:
        """The survey as things stand; made anew only where something has changed."""
        if self._last is None:
            objects: tuple[StoredObject, ...] = tuple(map(self._stored, self._request.of(ObjectRequest)))
            states: tuple[StoredState, ...] = (
                *map(self._stored, self._request.of(StateDictRequest)),
                *(stored.state for stored in objects if stored.state is not None),
            )
            contents: tuple[StoredObject | StoredState, ...] = (*objects, *states)
            migrations = store_migrations(self._request.saved(), self._storing.importer)
            uses = (*_uses((*contents, migrations)), *_codec_uses(contents), *_pickle_uses(self._request))
            self._sources.main_names = frozenset(
                use.qualname.partition(".")[0] for use in uses if use.module == "__main__"
            )
            self._decisions.policy.frameworks |= _frameworks(contents, uses)
            walk = self._walk(uses)
            while self._decisions.intern_parents():
                walk = self._walk(uses)
            self._last = Survey(walk, objects, states, migrations, uses, self._sources.main_problems)
        return self._last

    def _stored(self, request: ObjectRequest | StateDictRequest) -> Any:
        """What was taken of a request, by the decisions as they are now."""
        return self._taken[id(request)].stored.with_sources(self._decisions.is_interned)

    def _walk(self, uses: Sequence[Use]) -> Walk:
        self._decisions.forget_undecided()
        walk = Walk(
            self._counting(self._decisions.decide),
            sources=self._sources,
            guards=self._guards,
            parents=self._parents,
        )
        for source in self._request.of(SourceRequest):
            walk.add_source(
                source.name, source.text, is_package=source.is_package, dependencies=source.dependencies
            )
        for module in self._request.of(ModuleRequest):
            walk.add_root(module.name, names=module.names)
        for module_name, names in _by_module(uses).items():
            walk.add_root(module_name, names=names)
        for question, answer in self._answers.items():
            walk.answer(question, answer)
        walk.run()
        return walk

    def _counting(self, decide: Decide) -> Decide:
        """`decide`, telling how often it was asked: once for each module."""
        count = 0

        def counted(name: str, edges: Sequence[Edge]) -> WalkDecision:
            nonlocal count
            count += 1
            self._tell(count)
            return decide(name, edges)

        return counted


def _uses(contents: Sequence[StoredObject | StoredState | StoredMigrations]) -> list[Use]:
    return [
        Use(use.module, use.qualname, f"{stored.label}, at {use.path}")
        for stored in contents
        for use in stored.uses
    ]


def _codec_uses(contents: Sequence[StoredObject | StoredState]) -> list[Use]:
    """What decodes the contents is needed of the target, though no source may import it."""
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


def _frameworks(contents: Sequence[StoredObject | StoredState], uses: Sequence[Use]) -> frozenset[str]:
    """Frameworks of the codecs in use; for pickles, which need no codec, those that they name."""
    if not contents and not uses:
        return frozenset()
    from packager.codecs import default_registry

    codecs = {codec for stored in contents for codec in stored.codecs}
    known = frameworks_of((codec.name, codec.version) for codec in default_registry())
    pickled = {use.module.partition(".")[0] for use in uses if use.label.startswith("pickle ")}
    return frameworks_of(codecs) | (known & pickled)


def _by_module(uses: Sequence[Use]) -> Mapping[str, tuple[str, ...] | None]:
    """The names needed of each module, first parts alone; None where the module itself is used."""
    found: dict[str, set[str] | None] = {}
    for use in uses:
        names = found.setdefault(use.module, set())
        if not use.qualname:
            found[use.module] = None
        elif names is not None:
            names.add(use.qualname.partition(".")[0])
    return {module: None if names is None else tuple(sorted(names)) for module, names in found.items()}
