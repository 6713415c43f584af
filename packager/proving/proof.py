"""What is asked of a clean process, and what was found there: frozen records, and their form as JSON."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Literal

from packager.quick_dataclasses import dataclass, field_names
from packager.texts import counted, few_of, in_lines

FailureKind = Literal["import", "object", "differs", "state dict", "pickle", "entry point", "call", "died"]
EffectKind = Literal["opened", "looked for", "written", "connected", "started"]
_LONGEST = 60
"""Characters of a value in a line."""


@dataclass(frozen=True)
class ProofOrder:
    """What the clean process is told: which archive, which modules to import, and where others lie.

    `path` are the folders of installed packages; `places` maps a name that lies elsewhere (an extern in
    the project's folder, or installed in place) to the folders that it alone is found in; `hidden` are
    the stored modules' first parts that nothing else brings to a target. `unread` are pickles that are not to
    be read; `asked` are lines of stored code, each with its file and function, of which it is noted if they
    run. `gone` are the folders of the project: code of the archive finds none of their files. `variables` are
    those of the environment that the modules in `own`, which are the project's, do not find. `keeps` says
    that what is compiled is left in its own cache. `line` is where questions are asked, "" for nowhere; if
    they are, no stored code finds those variables. `withheld` are externs that stored code does not find.
    """

    archive: str
    modules: tuple[str, ...]
    path: tuple[str, ...]
    places: Mapping[str, tuple[str, ...]]
    hidden: tuple[str, ...]
    unread: tuple[str, ...] = ()
    asked: tuple[tuple[str, int, str], ...] = ()
    gone: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    own: tuple[str, ...] = ()
    keeps: bool = False
    line: str = ""
    withheld: tuple[str, ...] = ()


@dataclass(frozen=True)
class ProofFrame:
    """A line that was running: `file` is an entry of the archive where `stored`, else a path."""

    file: str
    line: int
    function: str
    text: str = ""
    stored: bool = False

    def __str__(self) -> str:
        return f"{self.file}:{self.line} in {self.function}"


@dataclass(frozen=True)
class ProofFailure:
    """Something that did not come back: `subject` says what, as the plan does, `message` what was raised.

    `frames` lead from the outermost line of the archive inwards. `module` is the module that an import
    did not find, `file` the path that could not be opened; `advice` says what helps where the step knows,
    `fix` is the line to paste. `causes` are what it was raised for, the nearest first.
    """

    kind: FailureKind
    subject: str
    message: str
    frames: tuple[ProofFrame, ...] = ()
    module: str = ""
    file: str = ""
    advice: str = ""
    fix: str = ""
    causes: tuple[str, ...] = ()

    @property
    def place(self) -> ProofFrame | None:
        """The innermost line of the archive's own code, None where none was running."""
        return next((frame for frame in reversed(self.frames) if frame.stored), None)

    def __str__(self) -> str:
        """Return what failed, how, and where.

        >>> print(ProofFailure("object", "object model/net", "KeyError: 'x'", module="net"))
        object model/net: KeyError: 'x'
        """
        where = f", at {self.place}" if self.place is not None else ""
        return in_lines(f"{self.subject}: {self.message}{where}")


@dataclass(frozen=True)
class Effect:
    """Something that code of the archive did outside of it: what, and the line of its code."""

    kind: EffectKind
    what: str
    place: ProofFrame

    def __str__(self) -> str:
        return f"{self.kind} {self.what}, at {self.place}"


@dataclass(frozen=True)
class MissedImport:
    """A module that code of the archive imported in vain, and the line of its code."""

    module: str
    place: ProofFrame

    def __str__(self) -> str:
        return f"{self.place} went on without {self.module}"


@dataclass(frozen=True)
class Difference:
    """What is one thing here and another in the clean process: on a module or what it holds, or a setting.

    `place` is its dotted name, `here` and `there` are what it is, "" where it is not at all. `file` and
    `line` are those of the stored code that binds it, as far as that is known.
    """

    place: str
    here: str
    there: str
    file: str = ""
    line: int = 0

    def __str__(self) -> str:
        """Return one line: both values, cut to where they part, and the place.

        >>> print(Difference("net.WIDTH", "8", "4", "net.py", 3))
        net.WIDTH is 8 here and 4 there (net.py:3)
        """
        at = f":{self.line}" if self.line else ""
        where = f" ({self.file}{at})" if self.file else ""
        if not self.there:
            return f"{self.place} is {cut_to_differ(self.here, '')} here, and not there{where}"
        if not self.here:
            return f"{self.place} is {cut_to_differ(self.there, '')} there, and not here{where}"
        here, there = cut_to_differ(self.here, self.there), cut_to_differ(self.there, self.here)
        return f"{self.place} is {here} here and {there} there{where}"


def cut_to_differ(text: str, other: str) -> str:
    """Return at most 60 characters of a text, those where it parts from another one among them."""
    if len(text) <= _LONGEST:
        return text
    same = next(
        (at for at, (one, two) in enumerate(zip(text, other, strict=False)) if one != two), len(other)
    )
    first = max(min(same - _LONGEST // 3, len(text) - _LONGEST + 3), 0) if other else 0
    cut = f"{'...' * bool(first)}{text[first:]}"
    return cut if len(cut) <= _LONGEST else f"{cut[: _LONGEST - 3]}..."


@dataclass(frozen=True)
class Proof:
    """What came of opening an archive in a clean process.

    `steps` are what was done, in order; `trusted` are the names, and `pickles` the entries, that loaders
    refuse unless they are told to trust them, and that were granted here. `modules` are the stored modules
    that were imported, by their own names; `missed` are others that their code imported in vain and went on
    without; `differences` are what the exporting process has otherwise, most likely first: all of it where an
    answer differs or a step fails, and without a golden call what the stored code reads by name. `notes` say
    what could not be compared. `ran` are the lines that were asked about and ran, `variables` those of the
    environment that code of the project did not find, each with the file and line that looked for it.
    `in_process` says that nothing of the archive is run when it is loaded, so that it
    was loaded where it was made; `unproved` why no process could be started.
    """

    steps: tuple[str, ...] = ()
    failures: tuple[ProofFailure, ...] = ()
    effects: tuple[Effect, ...] = ()
    trusted: tuple[str, ...] = ()
    pickles: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    missed: tuple[MissedImport, ...] = ()
    differences: tuple[Difference, ...] = ()
    notes: tuple[str, ...] = ()
    ran: tuple[tuple[str, int, str], ...] = ()
    variables: tuple[tuple[str, str, int], ...] = ()
    in_process: bool = False
    unproved: str = ""

    @property
    def ok(self) -> bool:
        """Whether the archive was proved, and everything came back."""
        return not (self.failures or self.unproved)

    @property
    def is_plain(self) -> bool:
        """Whether everything came back, and there is nothing to tell of it."""
        told = (self.effects, self.differences, self.missed, self.trusted, self.pickles, self.notes)
        return self.ok and not any(told) and not self.variables

    def __str__(self) -> str:
        """Return what came of it: one line, and one for each failure.

        >>> print(Proof(steps=("object model/net", "check model")))
        proved: 2 steps in a clean process
        >>> print(Proof(unproved="no process can be started"))
        not proved: no process can be started
        """
        where = "in this process" if self.in_process else "in a clean process"
        if self.unproved:
            said = f"not proved: {self.unproved}"
        elif self.ok:
            said = f"proved: {counted(len(self.steps), 'step')} {where}"
        else:
            said = f"refused: {counted(len(self.failures), 'failure')} {where}"
        return in_lines(said, *(f"    {one}" for one in few_of([*map(str, self.failures)])))

    def as_plain(self) -> dict[str, Any]:
        """Return the proof as plain data, for JSON."""
        return plain_of(self)

    @classmethod
    def of_plain(cls, plain: Mapping[str, Any]) -> Proof:
        """Return the proof that `as_plain` was made of. Raises KeyError, TypeError for other data."""
        rest: dict[str, Any] = {
            name: tuple(plain[name]) for name in ("steps", "trusted", "pickles", "modules", "notes")
        }
        return cls(
            failures=tuple(
                ProofFailure(**{**one, "frames": frames_of_plain(one["frames"])}) for one in plain["failures"]
            ),
            effects=tuple(Effect(**{**one, "place": ProofFrame(**one["place"])}) for one in plain["effects"]),
            missed=tuple(MissedImport(one["module"], ProofFrame(**one["place"])) for one in plain["missed"]),
            differences=tuple(Difference(**one) for one in plain["differences"]),
            ran=tuple((file, line, function) for file, line, function in plain["ran"]),
            variables=tuple((name, file, line) for name, file, line in plain["variables"]),
            in_process=plain["in_process"],
            unproved=plain["unproved"],
            **rest,
        )


def plain_of(record: Any) -> dict[str, Any]:
    """Return a record as plain data, for JSON; so are the records in it, also in sequences and mappings.

    >>> plain_of(MissedImport("net.extra", ProofFrame("net/base.py", 3, "<module>", stored=True)))["place"]
    {'file': 'net/base.py', 'line': 3, 'function': '<module>', 'text': '', 'stored': True}
    """
    return {name: _plain(getattr(record, name)) for name in field_names(record)}


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, Mapping):
        return {name: _plain(one) for name, one in value.items()}
    return plain_of(value)


def frames_of_plain(plain: Any) -> tuple[ProofFrame, ...]:
    """Return frames that were written as plain data."""
    return tuple(ProofFrame(**frame) for frame in plain)


def bytecode_in(cache: str) -> str:
    """Return the folder of compiled code in the clean process's own cache, which is empty when it begins."""
    return os.path.join(cache, "bytecode")
