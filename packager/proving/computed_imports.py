"""Computed imports that the proof came to or not: what they may load here and the archive lacks.

One that ran and went well is settled. One that did not is a note, unless something says that it loads what is
not stored: a module that its name means, a plugin that the project offers, or a module of its package that is
loaded here. Then the archive would do there what it does not do here.

In a library that is stored far more may be loaded than is needed: there only what is loaded here counts, and
has a name that the import may mean, or where the library lists its own modules to find them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Final

from packager.exporting import ExportPlan, loaded_beside
from packager.graph import Question
from packager.quick_dataclasses import dataclass, replace
from packager.texts import listed

from .proof import Proof, ProofFailure, ProofFrame

_BY_NAME: Final = ("import", "name")
_OF_FILES: Final = ("file", "run")
_OF_VALUES: Final = ("object", "differs", "call")
_LISTERS: Final = (b"iter_modules", b"walk_packages")


@dataclass(frozen=True)
class OpenImport:
    """A question of the plan about stored code, the place in the archive, and what it may load."""

    question: Question
    place: ProofFrame
    modules: tuple[str, ...]
    is_own: bool

    @property
    def line(self) -> tuple[str, int, str]:
        """The line of the archive's code, and the function that it is in."""
        return self.place.file, self.place.line, self.question.function


def open_imports(plan: ExportPlan, is_own: Callable[[str], bool]) -> Sequence[OpenImport]:
    """Return the questions about stored code that may load what is not stored.

    `is_own` says whether a module is the project's.
    """
    stored = {one.name: one.entry for one in plan.modules if one.entry is not None}
    decided = {one.name for one in plan.modules}
    listing = _listing_themselves(plan)
    found = []
    for question in (*plan.questions, *plan.library_questions):
        entry = stored.get(question.importer)
        if entry is None:
            continue
        of_project = is_own(question.importer)
        if of_project:
            modules = tuple(_may_load(question, stored, is_own))
        else:
            modules = tuple(_library_may_load(question, decided, listing))
        if modules:
            place = ProofFrame(
                entry, question.line, question.function or "<module>", question.text, stored=True
            )
            found.append(OpenImport(question, place, modules, of_project))
    return found


def _may_load(question: Question, stored: Mapping[str, str], is_own: Callable[[str], bool]) -> Iterator[str]:
    candidates = [one.name for one in question.candidates]
    if question.kind == "entry points":
        yield from (name for name in candidates if is_own(name) or name in sys.modules)
    elif question.kind in _OF_FILES:
        yield from filter(is_own, candidates)
    elif question.kind in _BY_NAME and not question.named:
        yield from filter(is_own, candidates)
        if not question.pattern and not candidates:
            yield from filter(is_own, loaded_beside(question.importer, stored))


def _library_may_load(
    question: Question, decided: Collection[str], listing: Collection[str]
) -> Iterator[str]:
    candidates = [one.name for one in question.candidates if one.name not in decided]
    yield from (name for name in candidates if name in sys.modules)
    if question.kind in _BY_NAME and not question.pattern and question.importer.partition(".")[0] in listing:
        yield from (name for name in loaded_beside(question.importer, decided) if name not in candidates)


def _listing_themselves(plan: ExportPlan) -> frozenset[str]:
    """Return the packages of which stored code lists modules: it finds others where some are not stored."""
    entries = {one.name: one for one in plan.entries}
    texts = ((one.name, entries[one.entry].read()) for one in plan.modules if one.entry in entries)
    return frozenset(
        name.partition(".")[0] for name, text in texts if any(word in bytes(text) for word in _LISTERS)
    )


def with_imports_asked(proof: Proof, asked: Sequence[OpenImport]) -> Proof:
    """Return a proof with what came of open imports.

    Where everything else came back, each that did not run is a failure. Where something did not, one that ran
    may be why: `pydoc.locate` gives None for what is not there.
    """
    if not proof.ok:
        ran = [one for one in asked if one.line in proof.ran]
        first = (ran or asked)[0]
        failures = tuple(
            _with_reason(failure, first, ran="ran" if ran else "never ran") for failure in proof.failures
        )
        return replace(proof, failures=failures)
    unrun = tuple(
        ProofFailure(
            "unrun",
            f"module {one.question.importer}",
            _told(one),
            (one.place,),
            advice=_ADVICE,
            fix=_fix(one),
        )
        for one in asked
        if one.line not in proof.ran
    )
    return replace(proof, failures=(*proof.failures, *unrun)) if unrun else proof


def _with_reason(failure: ProofFailure, one: OpenImport, *, ran: str) -> ProofFailure:
    """Return a failure of which nothing is known that helps, with an import that may be why."""
    if failure.module or failure.file or failure.advice or failure.kind not in _OF_VALUES:
        return failure
    if ran != "ran" and not failure.frames:
        return failure  # other values come of more than what was not imported
    names = ", ".join(one.modules)
    looked = "have looked for" if ran == "ran" else "load here"
    advice = f"{one.question.text} {ran} at {one.place}; it may {looked} what is not stored: {names}"
    return replace(failure, advice=advice, fix=_fix(one))


_ADVICE: Final = (
    'say what it loads (`"none"` where it loads nothing of these), or save a golden call that comes to it '
    "(save_check), so that the proof does"
)


def _told(one: OpenImport) -> str:
    what = "are its plugins here" if one.question.kind == "entry points" else "are loaded here"
    if one.question.pattern:
        what = "have a name that it may mean"
    elif one.question.kind in _OF_FILES:
        what = "are imported by files that it may run"
    return f"nothing in the proof came to it; of what is not stored, {listed(one.modules)} {what}"


def _fix(one: OpenImport) -> str:
    names = ", ".join(f'"{name}"' for name in one.modules)
    spelt = '"all"' if one.question.pattern and one.is_own else f"[{names}]"
    return f'exporter.answer("{one.question.id}", {spelt})'
