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
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

from packager.names import demangle_text
from packager.quick_dataclasses import replace

from .clean_process import CleanProcess, ProofStartError
from .messages import messages_in, read_message
from .proof import Proof, ProofFailure, ProofFrame, ProofOrder, plain_of
from .questions import (
    Answers,
    Question,
    Run,
    Served,
    plain_modules,
    probes_of_plain,
    question_of_plain,
    questions_of,
    seen_of_plain,
)
from .search_places import places_of
from .watching import CodePlaces

TIMEOUT: Final = 1800
"""Seconds that a conversation may take; a large model with its frameworks takes one or two minutes."""
MOST_RUNS: Final = 6
"""Runs that are made because the failures of others name something."""

_SAID_LINES: Final = 5
_LINES_KEPT: Final = 400

Tell = Callable[[int], Any]
"""Is told how many steps of a run have begun, every now and then."""


class Exporter(Answers, Protocol):
    """What answers a whole conversation: also what failures of a run name."""

    def added(self, questions: Sequence[Question]) -> ProofOrder | None:
        """Add what is known of these, and all that it needs; return the order of a new run.

        None if nothing is known. An "import" names a module, or an attribute of one: "net.parts.Part".
        """


def converse(
    order: ProofOrder,
    process: CleanProcess,
    answers: Answers | None = None,
    *,
    timeout: float = TIMEOUT,
    tell: Tell = lambda done: None,
    absent: set[tuple[str, str]] | None = None,
) -> Run:
    """Carry out an order in one run of a clean process, and return what it did.

    Without `answers` it asks nothing.

    `absent` are the kinds and names of questions that were not answered in other runs: they are not asked of
    `answers` again, and those of this run are added.

    A run that ends without its own answer is a failure of the kind "died"; so is one that takes longer than
    `timeout` seconds. Raises ProofStartError where the process came to no step, and what `answers` raises.
    """
    replies = _Replies(order, answers, set() if absent is None else absent)
    asked = None if answers is None else replies.answer
    ended = process.run(plain_of(order), timeout, lambda: tell(_steps_begun(process.folder)[0]), asked)
    told = read_message(os.path.join(process.folder, "answer"))
    if told is None:
        run = Run(_died(process.folder, ended, timeout))
    else:
        run = Run(
            Proof.of_plain(told["proof"]),
            probes=probes_of_plain(told.get("probes", ())),
            externs=tuple(question_of_plain(one) for one in told.get("externs", ())),
            opened=tuple(question_of_plain(one) for one in told.get("opened", ())),
            sets=probes_of_plain(told.get("sets", ())),
            seen=seen_of_plain(told["seen"]),
        )
    return replace(
        run,
        served=tuple(replies.served),
        absent=tuple(replies.not_served),
        code=_code_in(process.folder),
        said=demangle_text("\n".join(_lines_in(os.path.join(process.folder, "said"), _LINES_KEPT))),
    )


def converse_until_nothing_is_named(
    order: ProofOrder,
    process: CleanProcess,
    exporter: Exporter,
    *,
    timeout: float = TIMEOUT,
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
            runs.append(converse(order, process, exporter, timeout=left, tell=tell, absent=absent))
            if runs[-1].sets and process.has_imported:
                process = ending.enter_context(contextlib.closing(process.anew()))
                continue
            named = [one for one in questions_of(runs[-1]) if one.key not in tried]
            tried.update(one.key for one in named)
            next_order = exporter.added(named) if named else None
    return tuple(runs)


class _Replies:
    """The answers to the questions of one run, as plain data, and what was served and what was not."""

    def __init__(self, order: ProofOrder, answers: Answers | None, absent: set[tuple[str, str]]) -> None:
        self.served: list[tuple[Question, Served]] = []
        self.not_served: list[Question] = []
        self._path = order.path
        self._answers = answers
        self._absent = absent

    def answer(self, plain: Any) -> Any:
        """Return the answer to a question of a run."""
        assert self._answers is not None
        question = question_of_plain(plain)
        found = None
        if question.key not in self._absent:
            about_modules = question.kind in ("import", "probe")
            found = (self._answers.module if about_modules else self._answers.files)(question)
        if found is None:
            self._absent.add(question.key)
            self.not_served.append(question)
            return None
        self.served.append((question, found))
        tops = {one.name.partition(".")[0] for one in found.modules if one.action == "extern"}
        files = {name: bytes(data) for name, data in found.files.items()}
        return [plain_modules(found.modules), files, places_of(tops, self._path)]


def _code_in(folder: str) -> str:
    """Return the folder below which a run unpacks the code of its archive."""
    return os.path.join(folder, "cache", "code")


def _died(folder: str, code: int | None, timeout: float) -> Proof:
    """Return the proof of a process that ended before its answer: what it was at, and how it ended.

    Raises ProofStartError where it had not come to a step.
    """
    number, kind, subject = _steps_begun(folder)
    said = _said(folder)
    if not number:
        said = said or _said(os.path.dirname(folder))  # it had not come to the folder of the run
        how = f"did not begin within {timeout:g} seconds" if code is None else "ended before it began"
        shown = "" if code is None else f" (exit code {code})"
        raise ProofStartError(f"the process {how}{shown}: {said or 'it said nothing'}")
    ended = read_message(os.path.join(folder, "ended"))
    place = ProofFrame(**ended["place"]) if ended and ended["place"] else _crashed_at(folder)
    frames = () if place is None else (place,)
    if code is None:
        how = f"the process had not ended after {timeout:g} seconds"
    elif code < 0:
        how = f"signal {-code} ({_name_of_signal(-code)}) ended the process"
    elif ended is not None:
        how = f"{ended['how']} ended the process"
    else:
        how = f"the process ended with exit code {code}"
    message = f"{how} ({kind})" + (f"; it said: {said}" if said else "")
    return Proof(failures=(ProofFailure("died", subject, message, frames),))


def _crashed_at(folder: str) -> ProofFrame | None:
    """Return the innermost line of the archive's code that was running when a signal came, as far as said."""
    places = CodePlaces(_code_in(folder))
    try:
        with open(os.path.join(folder, "crash"), encoding="utf-8", errors="replace") as crash:
            found = [re.fullmatch(r'  File "(.+)", line (\d+) in (.+)', line.rstrip("\n")) for line in crash]
    except FileNotFoundError:
        return None
    for match in filter(None, found):
        if entry := places.entry_of(match[1]):
            return ProofFrame(entry, int(match[2]), match[3], stored=True)
    return None


def _steps_begun(folder: str) -> tuple[int, str, str]:
    """Return how many steps have begun, and the kind and the subject of the last one."""
    steps = messages_in(os.path.join(folder, "steps"))
    if not steps:
        return 0, "", ""
    kind, subject = steps[-1]
    return len(steps), kind, subject


def _said(folder: str) -> str:
    """Return the last lines that a process printed, for people."""
    lines: list[str] = []
    for name in ("said", "crash"):
        lines += _lines_in(os.path.join(folder, name), _SAID_LINES)
    return " | ".join(line.strip() for line in lines)


def _lines_in(file: str, count: int) -> list[str]:
    """Return the last lines of a text, if there is one."""
    try:
        with open(file, "rb") as said:
            return said.read().decode("utf-8", "replace").strip().splitlines()[-count:]
    except FileNotFoundError:
        return []


def _name_of_signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return "unknown here"
