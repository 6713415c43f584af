"""Names of modules that texts give to computed imports: those of the project, and those of stored libraries.

Of the project all that is named is stored. A library names far more of itself than a model needs, so of it
just what stands alone is stored; the rest are candidates of the question.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from packager.graph import Module, Walk
from packager.objects import EncodedObject

from .deciding import Decisions

if TYPE_CHECKING:
    from .named_targets import TextsOfCode

_MOST_BELOW: Final = 100
"""Modules of a folder that the beginning of their names stores; of a catalogue, as the 400 families of models
in transformers, a model needs a few."""


class OfferedNames:
    """What texts name, offered to the walks of one export; `is_own` tells modules of the project."""

    def __init__(self, decisions: Decisions, is_own: Callable[[str], bool]) -> None:
        self._decisions = decisions
        self._is_own = is_own
        self._known: dict[tuple[str, str], TextsOfCode] = {}

    def offer(self, walk: Walk, encoded: Sequence[Any]) -> bool:
        """Name to computed imports what code, files and objects name; say whether anything was new.

        `encoded` are the objects and state dicts that were saved.
        """
        questions = list(walk.name_questions())
        interned = [(asked, module) for asked, module in questions if self._is_interned(module)]
        if not interned:
            return False
        own = [asked for asked, module in interned if self._is_own(module)]
        others = [(asked, module) for asked, module in interned if not self._is_own(module)]
        new = bool(own) and self._offer_of_project(walk, own, encoded)
        return (bool(others) and self._offer_of_libraries(walk, others, encoded)) or new

    def _offer_of_project(self, walk: Walk, asking: Sequence[str], encoded: Sequence[Any]) -> bool:
        """Offer the project's modules that its code names, files beside it, and what is stored."""
        from .named_targets import NamedTargets, texts_of_file

        targets = NamedTargets(walk.find, self._is_own)
        own = self._own_modules(walk)
        texts = self._texts_in(own)
        for top in dict.fromkeys(one.name.partition(".")[0] for one in own):
            texts += chain.from_iterable(map(texts_of_file, walk.data_files(top, whole=True)))
        texts += chain.from_iterable(map(texts_of_file, walk.project_files(one.name for one in own)[0]))
        texts += _texts_of(encoded)
        found = [
            f"{name}:{asked}" if asked else name
            for name, asked in targets.of(texts)
            if asked or name not in walk.modules
        ]
        offered = {asked: walk.offer(asked, found) for asked in asking}  # to each of them
        return any(offered.values())

    def _offer_of_libraries(
        self, walk: Walk, asking: Sequence[tuple[str, str]], encoded: Sequence[Any]
    ) -> bool:
        """Offer modules of stored libraries that code and objects name, where they stand alone.

        `LEXERS = {"python": ("pygments.lexers.python", ...)}` stands in code of the library itself,
        `extensions=["jinja2.ext.do"]` in the project's, or in an object.
        """
        from .named_targets import NamedTargets, begins_texts_with

        questions: dict[str, list[str]] = {}
        for asked, module in asking:
            questions.setdefault(module.partition(".")[0], []).append(asked)
        given = [*self._texts_in(self._own_modules(walk)), *_texts_of(encoded)]
        stored = [one for one in walk.modules.values() if one.followed]
        new = False
        for top, of_library in questions.items():
            of_top = (one for one in stored if one.name.partition(".")[0] == top)
            inside = [one for one in of_top if begins_texts_with(top, one.source or b"")]
            texts = [text for text in (*self._texts_in(inside), *given) if text.startswith(f"{top}.")]
            found = NamedTargets(walk.find, top.__eq__).of(texts)
            named = [
                f"{name}:{asked}" if asked else name
                for name, asked in found
                if asked or name not in walk.modules
            ]
            for text in self._beginnings_in(inside):
                below = walk.below(text.rstrip(".")) if text.startswith(f"{top}.") else ()
                if len(below) <= _MOST_BELOW:
                    named += [name for name in below if name not in walk.modules]
            for asked in of_library:
                new = walk.offer_alone(asked, named) or new
        return new

    def _own_modules(self, walk: Walk) -> list[Module]:
        followed = (one for one in walk.modules.values() if one.followed)
        return [one for one in followed if self._is_interned(one.name) and self._is_own(one.name)]

    def _is_interned(self, name: str) -> bool:
        """Say whether a module is stored with its source; nothing is decided by it."""
        decision = self._decisions.standing.get(name)
        return decision is not None and decision.action == "intern"

    def _texts_in(self, modules: Iterable[Module]) -> list[str]:
        """Return the texts of modules that may be names of modules."""
        return [text for module in modules for text in self._read(module).names]

    def _beginnings_in(self, modules: Iterable[Module]) -> list[str]:
        """Return the texts of modules that may be beginnings of such names."""
        return list(dict.fromkeys(text for module in modules for text in self._read(module).beginnings))

    def _read(self, module: Module) -> TextsOfCode:
        """Return the texts of a module; each source is parsed once."""
        from .named_targets import TextsOfCode

        key = (module.name, module.digest)  # modules of an archive have no digest
        if key not in self._known:
            self._known[key] = TextsOfCode.of(module.source or b"")
        return self._known[key]


def _texts_of(encoded: Iterable[Any]) -> Iterator[str]:
    from .named_targets import texts_of_records

    for one in encoded:
        yield from texts_of_records(one.records if isinstance(one, EncodedObject) else one.extras)
