"""The conversation with a clean process: it opens an archive, is served what that lacks, says what it did.

Questions are answered in the thread that holds the conversation. Each is asked once: what is absent stays
absent in all runs. What fails and names something is a question, too: it is added, and a new run is made.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, Protocol

from packager._names import demangle_text
from packager._quick_dataclasses import replace

from .clean_process import MOST_TO_BEGIN, CleanProcess, ProofStartError
from .proof import Proof, ProofFailure, ProofFrame, ProofOrder, Question, QuestionKind, Run, Served
from .search_places import places_of
from .watching import CodePlaces

MOST_RUNS: Final = 6
"""Runs that are made because the failures of others name something."""

_SAID_LINES: Final = 5
_LINES_KEPT: Final = 400
_NOT_FOUND: Final = re.compile(r"No module named '([\w.]+)'")
_NO_NAME: Final = re.compile(
    r"cannot import name '(?P<name>\w+)' from (?:partially initialized module )?'(?P<home>[\w.]+)'"
)
_NO_ATTRIBUTE: Final = re.compile(r"module '?(?P<home>[\w.]+\w)'? has no attribute '?(?P<name>\w+)")
"""So say lazy packages that list their folders."""

Tell = Callable[[int], Any]
"""Is told how many steps of a run have begun, as each begins."""


class Answers(Protocol):
    """What answers a conversation, in the thread of it: questions of a run, and what its failures name.

    What it raises ends the conversation.
    """

    def module(self, question: Question) -> Served | None:
        """Return a module that is imported or probed; None where it is not known, which is remembered."""

    def files(self, question: Question) -> Served | None:
        """Return a file, or what a listing of a folder has to show besides; None where there is nothing.

        A folder is there where a file in it is served: one that a listing shows, and one that is asked for
        as a file.
        """

    def added(self, questions: Sequence[Question]) -> ProofOrder | None:
        """Add what is known of these, and all that it needs; return the order of a new run.

        None if nothing is known. An "import" names a module, or an attribute of one: "net.parts.Part".
        """


def converse(
    order: ProofOrder,
    process: CleanProcess,
    answers: Answers | None = None,
    *,
    timeout: float,
    tell: Tell = lambda done: None,
    absent: set[tuple[str, str]] | None = None,
) -> Run:
    """Carry out an order in one run of a clean process, and return what it did.

    Without `answers` it asks nothing. `absent` are the kinds and names of questions that were not answered in
    other runs: they are not asked of `answers` again, and those of this run are added.

    A run that ends without its own answer is a failure of the kind "died"; so is one that takes longer than
    `timeout` seconds. Raises ProofStartError where the process came to no step, and what `answers` raises.
    """
    heard = _Heard(
        replace(order, asks=answers is not None), answers, set() if absent is None else absent, tell
    )
    ended = process.run(heard.hear, timeout)
    code = os.path.join(process.folder, "cache", "code")
    return replace(
        heard.run or Run(_died(heard, process.folder, code, ended, timeout)),
        served=tuple(heard.served),
        absent=tuple(heard.not_served),
        code=code,
        said=demangle_text("\n".join(_lines_in(process.folder, "said", _LINES_KEPT))),
    )


def converse_until_nothing_is_named(
    order: ProofOrder,
    process: CleanProcess,
    answers: Answers,
    *,
    timeout: float,
    tell: Tell = lambda done: None,
) -> tuple[Run, ...]:
    """Hold a conversation, and return its runs: until the failures of one name nothing new, six at most.

    A run that sets variables of the environment is made again in a new process, which has imported nothing
    early. Raises what `converse` does.
    """
    deadline = time.monotonic() + timeout
    runs: list[Run] = []
    tried: set[tuple[str, str]] = set()
    absent: set[tuple[str, str]] = set()
    next_order: ProofOrder | None = order
    with contextlib.ExitStack() as ending:
        while next_order is not None and len(runs) < MOST_RUNS:
            order, left = next_order, max(deadline - time.monotonic(), 0)
            runs.append(converse(order, process, answers, timeout=left, tell=tell, absent=absent))
            if runs[-1].sets and process.imported:
                process = ending.enter_context(contextlib.closing(process.anew()))
                continue
            named = [one for one in questions_of(runs[-1]) if one.key not in tried]
            tried.update(one.key for one in named)
            next_order = answers.added(named) if named else None
    return tuple(runs)


class _Heard:
    """What a run says, and what it is answered: its order, what was served and what was not, its steps."""

    def __init__(
        self, order: ProofOrder, answers: Answers | None, absent: set[tuple[str, str]], tell: Tell
    ) -> None:
        self.served: list[tuple[Question, Served]] = []
        self.not_served: list[Question] = []
        self.steps: list[tuple[str, str]] = []
        self.end: tuple[str, ProofFrame | None] | None = None
        self.run: Run | None = None
        self._order = order
        self._answers = answers
        self._absent = absent
        self._tell = tell

    def hear(self, message: Any) -> Any:
        """Return the answer to a message of a run."""
        match message:
            case Question():
                return self._answer(message)
            case Run():
                self.run = message
            case ("step", kind, subject):
                self.steps.append((kind, subject))
                self._tell(len(self.steps))
            case ("end", how, place):
                self.end = (how, place)
            case "order":
                return self._order
        return None

    def _answer(self, question: Question) -> Served | None:
        found = None
        if self._answers is not None and question.key not in self._absent:
            about_modules = question.kind in ("import", "probe")
            found = (self._answers.module if about_modules else self._answers.files)(question)
        if found is None:
            self._absent.add(question.key)
            self.not_served.append(question)
            return None
        self.served.append((question, found))
        tops = {one.name.partition(".")[0] for one in found.modules if one.action == "extern"}
        return replace(found, places=places_of(tops, self._order.path))


def questions_of(run: Run) -> tuple[Question, ...]:
    """Return what the failures of a run name: missing modules, names in modules, files below its folder.

    So what no hook sees has a name: files that C opened, imports in a worker that was spawned.

    >>> from packager._proving import ProofFailure
    >>> failure = ProofFailure("call", "check c", "ImportError: cannot import name 'a' from 'net.parts' (x)")
    >>> [str(one) for one in questions_of(Run(Proof(failures=(failure,))))]
    ['import net.parts.a']
    """
    found: dict[tuple[str, str], Question] = {}
    texts: list[tuple[str, ProofFrame | None]] = []
    for failure in run.proof.failures:
        if failure.module and not _NO_NAME.search(failure.message):  # else it carries a module that is there
            found["import", failure.module] = Question("import", failure.module, failure.place)
        said = (f"{failure.message} '{failure.file}'", *failure.causes)
        texts += [(text, failure.place) for text in said]
    if run.proof.failures:
        texts.append((run.said, None))  # of workers that came to no answer
    for text, place in texts:
        for kind, name in _named_in(text, run.code):
            found.setdefault((kind, name), Question(kind, name, place))
    return tuple(found.values())


def _named_in(text: str, code: str) -> Iterator[tuple[QuestionKind, str]]:
    """Yield what a text names; `code` is the folder that the archive's code was unpacked below."""
    for pattern in (_NO_NAME, _NO_ATTRIBUTE):
        yield from (("import", f"{one['home']}.{one['name']}") for one in pattern.finditer(text))
    yield from (("import", module) for module in _NOT_FOUND.findall(text))
    below = re.escape(code) + r"[/\\][^/\\]+[/\\]"
    for quoted, plain in re.findall(rf"'{below}([^']+)'|{below}([^\s'\",;:)]+)", text) if code else ():
        yield "file", (quoted or plain).replace("\\", "/")


# --- a run that ended before its answer ---


def _died(heard: _Heard, folder: str, code: str, ended: int | None, timeout: float) -> Proof:
    """Return the proof of a process that ended before its answer: what it was at, and how it ended.

    Raises ProofStartError where it had not come to a step.
    """
    said = _said(folder)
    if not heard.steps:
        said = said or _said(os.path.dirname(folder)) or "it printed nothing"  # before the folder of the run
        if ended is None:
            how = f"did not begin within {min(timeout, MOST_TO_BEGIN):g} seconds"
        else:
            how = f"ended before it began (exit code {ended})"
        raise ProofStartError(f"the clean process {how}: {said}")
    kind, subject = heard.steps[-1]
    place, advice = (heard.end and heard.end[1]) or _crashed_at(folder, code), ""
    if ended is None:
        advice = "to allow an hour, set KELLET_PROOF_SECONDS=3600 in the environment"
        how = f"the clean process was not done after {timeout:g} seconds"
    elif ended < 0:
        names = {one.value: one.name for one in signal.Signals}
        how = f"signal {-ended} ({names.get(-ended, 'unknown here')}) ended the clean process"
    elif heard.end is not None:
        how = f"{heard.end[0]} ended the clean process"
    else:
        how = f"the clean process ended with exit code {ended}"
    message = f"{how} ({kind})" + (f"; it printed: {said}" if said else "")
    frames = () if place is None else (place,)
    return Proof(failures=(ProofFailure("died", subject, message, frames, advice=advice),))


def _crashed_at(folder: str, code: str) -> ProofFrame | None:
    """Return the innermost line of the archive's code that was running when a signal came, as far as said."""
    places = CodePlaces(code)
    for line in _lines_in(folder, "crash"):
        match = re.fullmatch(r' *File "(.+)", line (\d+) in (.+)', line)
        if match is not None and (entry := places.entry_of(match[1])):
            return ProofFrame(entry, int(match[2]), match[3], stored=True)
    return None


def _said(folder: str) -> str:
    """Return the last lines that a process printed, for people."""
    lines = [*_lines_in(folder, "said", _SAID_LINES), *_lines_in(folder, "crash", _SAID_LINES)]
    return " | ".join(line.strip() for line in lines)


def _lines_in(folder: str, name: str, count: int = 0) -> list[str]:
    """Return the last lines of a text, if there is one; all of them for a count of 0."""
    try:
        with open(os.path.join(folder, name), "rb") as said:
            return said.read().decode("utf-8", "replace").strip().splitlines()[-count:]
    except FileNotFoundError:
        return []
