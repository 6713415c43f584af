"""What a script's wanted names need of it, and what stands against storing that.

Kept are functions, classes, imports, plain constants and what fills these, in their order. What is needed
and is none of these would run again wherever it is loaded; what is not kept but changes something that is
would be lost there; and what has another value or other code by now (`random.shuffle(LAYERS)`, `exec`, a file
that was edited since) would be what its text says. All of these are problems, with their place.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from packager.quick_dataclasses import dataclass
from packager.texts import listed

from .effects import Effects, FunctionNode, Way
from .fills import is_fill
from .live_code import differing_definitions
from .live_values import changed_values
from .looked_up import looks_names_up, texts_in
from .running_again import running_again
from .script_names import quiet_names, script_names
from .statements import (
    Statement,
    aliases_of,
    binds_anew,
    functions_reading,
    is_main_guard,
    names_of,
)

_WAY_OUT = (
    "move it into a module, or into the class or function that uses it; what only the program needs may "
    'stand under `if __name__ == "__main__":`'
)
_VALUE_WAY_OUT = (
    "let the object that needs it hold its value (an attribute that `__init__` is given), write it as a "
    "literal, or move it into a module"
)
_LOST_WAY_OUT = (
    "let the object that needs it hold it (an attribute that `__init__` is given), assign it where it is "
    "defined, or move both into a module"
)
_MOST_READERS = 4
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@dataclass(frozen=True, slots=True)
class MainProblem:
    """A statement that keeps definitions from being taken: the number of its cell, its line, and why."""

    cell: int
    line: int
    reason: str


class Script:
    """The statements of one script, and what the wanted names make of them; `running` is what it holds."""

    def __init__(
        self, statements: Sequence[Statement], names: Collection[str], running: Mapping[str, Any]
    ) -> None:
        self._statements = statements
        self._asked = frozenset(names)
        self._names = script_names(statements)
        self._effects = Effects(self._names, quiet_names(statements, self._names))
        self._changes = [self._effects.of(one.node) for one in statements]
        self._fills = {at for at, one in enumerate(statements) if is_fill(one.node, self._names)}
        self._binders: dict[str, list[int]] = {}
        for at, one in enumerate(statements):
            for name in one.names.binds:
                self._binders.setdefault(name, []).append(at)
        self._because: dict[str, str] = {}
        self._running_module = running

    def kept(self, leaves: Collection[int] = ()) -> set[int]:
        """Return the numbers of the statements that are needed, not counting what `leaves` need."""
        futures = {at for at, one in enumerate(self._statements) if is_future(one.node)}
        kept = self._with_needed(futures, leaves)
        for at in sorted(kept.difference(leaves)):
            if looks_names_up(self._statements[at].node):
                return self._with_looked_up(
                    kept, leaves, user=min(self._statements[at].names.binds, default="")
                )
        return kept

    def _with_looked_up(self, kept: set[int], leaves: Collection[int], user: str) -> set[int]:
        """Add what code may find by its text: functions, classes, and values that a text of the script names.

        What would bring a problem along stays out, but for functions and classes that a text names.
        """
        named = texts_in(one.node for one in self._statements)
        for at, one in enumerate(self._statements):
            is_named, defines = bool(one.names.binds & named), isinstance(one.node, _DEFINITIONS)
            if at in kept or not (is_named or defines):
                continue
            before = dict(self._because)
            for name in one.names.binds:
                self._because.setdefault(name, user)
            more = self._with_needed(kept | {at}, leaves)
            if (is_named and defines) or len([*self._standing(more)]) == len([*self._standing(kept)]):
                kept = more
            else:
                self._because = before
        return kept

    def _standing(self, kept: Collection[int]) -> Iterator[MainProblem]:
        """Yield the problems of these statements as they are."""
        for at in sorted(kept):
            yield from self._running_again(self._statements[at], kept)
        yield from self._lost(kept, ())
        yield from self._absent(kept, (), self._running_module)
        yield from self._changed(kept, self._running_module)
        yield from self._differing(kept, self._running_module)

    def _with_needed(self, kept: set[int], leaves: Collection[int]) -> set[int]:
        """Return these statements with all that they and the wanted names need, not counting `leaves`."""
        while True:
            wanted = self._wanted(kept.difference(leaves))
            more = {
                at for name in wanted for at in self._binders.get(name, ()) if at >= self._start(name, kept)
            }
            if any(name not in self._binders and not hasattr(builtins, name) for name in wanted):
                more |= set(self._binders.get("*", ()))  # it may come from any star
            more |= self._registrations(kept) | self._filling(kept)
            if more <= kept:
                return kept
            kept = kept | more

    def problems(self, kept: Collection[int]) -> Iterator[MainProblem]:
        """Yield what must not be kept, what would be lost, and what is not there to be kept."""
        running = self._running_module
        again = {at: [*self._running_again(self._statements[at], kept)] for at in kept}
        # What only these need goes when they go, and needs no mending of its own.
        kept = self.kept({at for at, problems in again.items() if problems})
        for at in sorted(kept):
            yield from again[at]
        told = {at for at in kept if again[at]}
        yield from self._lost(kept - told, told)
        yield from self._absent(kept, told, running)
        yield from self._changed(kept - told, running)
        yield from self._differing(kept - told, running)

    def _running_again(self, one: Statement, kept: Collection[int]) -> Iterator[MainProblem]:
        needed = sorted(name for name in one.names.binds if name in self._because)
        chain = self._chain(needed[0]) if needed else []
        links = [f"{name} is needed by {user}" for name, user in pairwise(chain)]
        why = f"; {', '.join(links)}" if links else ""
        for node in running_again(one.node, self._names):
            is_value = isinstance(node, ast.Assign | ast.AnnAssign)
            way_out = _VALUE_WAY_OUT if is_value else _WAY_OUT
            readers = self._readers(chain[-2], one, kept) if is_value and links else ""
            reason = f"`{_spelt(node)}` runs code, and would run it again where it is loaded{why}: {way_out}"
            yield MainProblem(one.cell, node.lineno, reason + readers)

    def _readers(self, name: str, bound_by: Statement, kept: Collection[int]) -> str:
        """Say which stored functions read a global: they have to take it from the object instead."""
        places = [
            f"{qualname} ({f'line {line}' if one.cell == bound_by.cell else f'In[{one.cell}]:{line}'})"
            for one in (self._statements[at] for at in sorted(kept))
            for qualname, line in functions_reading(one.node, name)
        ]
        return f"; {name} is read by {listed(places, _MOST_READERS)}" if places else ""

    def _chain(self, name: str) -> list[str]:
        """Return which names need a name, up to one that is stored."""
        chain = [name]
        while (user := self._because.get(chain[-1])) and user not in chain:
            chain.append(user)
        return chain

    def _wanted(self, kept: Collection[int]) -> set[str]:
        wanted = set(self._asked)
        for at in sorted(kept):
            one = self._statements[at]
            user = next(iter(sorted(one.names.binds)), "")
            for name in one.names.reads - wanted - one.names.binds:
                self._because.setdefault(name, user)
            wanted |= one.names.reads
        return wanted

    def _start(self, name: str, kept: Collection[int]) -> int:
        """Return where a name begins to be what is used: a later definition replaces earlier ones."""
        binders = self._binders.get(name, [])
        for position in range(len(binders) - 1, 0, -1):
            at, before = binders[position], binders[position - 1]
            if not binds_anew(self._statements[at].node, name):
                continue
            between = [one for one in kept if before < one < at and not self._is_bare_function(one)]
            if not any(name in self._statements[one].names.reads for one in between):
                return at
        return 0

    def _is_bare_function(self, at: int) -> bool:
        node = self._statements[at].node
        return isinstance(node, FunctionNode) and not node.decorator_list

    def _registrations(self, kept: Collection[int]) -> set[int]:
        """Find definitions that enter themselves somewhere kept: by a decorator, or a hook of their class."""
        own = self._own_names(kept)
        return {
            at
            for at, one in enumerate(self._statements)
            if isinstance(one.node, FunctionNode | ast.ClassDef)
            and any(name in own and at > self._start(name, kept) for name in self._changes[at])
        }

    def _filling(self, kept: Collection[int]) -> set[int]:
        """Find the statements that fill something kept, and may run again."""
        own = self._own_names(kept)
        return {
            at
            for at in self._fills
            if any(name in own and at > self._start(name, kept) for name in self._changes[at])
        }

    def _own_names(self, kept: Collection[int]) -> set[str]:
        """Return the names that kept statements bind, but for imported ones."""
        bound = {name for at in kept for name in self._statements[at].names.binds}
        return bound - {name for name in bound if name in self._names.imports}

    def _lost(self, kept: Collection[int], told: Collection[int]) -> Iterator[MainProblem]:
        own = self._own_names(kept)
        aliases: dict[str, frozenset[str]] = {}
        for at, one in enumerate(self._statements):
            if at in kept or at in told:
                continue
            aliases |= aliases_of(one.node, aliases)
            changes = (
                (named, way)
                for name, way in self._changes[at].items()
                for named in (name, *aliases.get(name, ()))
            )
            for name, way in changes:
                if name in own and at >= self._start(name, kept):
                    place, line = self._last_lost(way, kept)
                    first = way[0].lineno  # type: ignore[attr-defined]  # calls and statements have one
                    run = "" if (place, line) == (one, first) else f" (run from line {first})"
                    spelt = f"`{_spelt(place.node, line)}`{run}"
                    yield MainProblem(
                        place.cell,
                        line,
                        f"{spelt} changes {name}, which is stored, and would be lost: {_LOST_WAY_OUT}",
                    )

    def _last_lost(self, way: Way, kept: Collection[int]) -> tuple[Statement, int]:
        """Return the innermost line on the way to a change that stands in no kept function, and its place."""
        homes = [
            (at, node.lineno)  # type: ignore[attr-defined]  # calls and statements have one
            for node in way
            for at, one in enumerate(self._statements)
            if any(node is part for part in ast.walk(one.node))
        ]
        at, line = next((home for home in reversed(homes) if home[0] not in kept), homes[0])
        return self._statements[at], line

    def _absent(
        self, kept: Collection[int], told: Collection[int], running: Mapping[str, Any]
    ) -> Iterator[MainProblem]:
        """Yield needed names that only the program binds, or that code has put there."""
        bound = {name for at in kept for name in self._statements[at].names.binds}
        if "*" in bound:
            return
        guarded = {
            name: (one.cell, one.node.lineno)
            for one in self._statements
            if is_main_guard(one.node)
            for name in names_of(one.node).binds
        }
        for name in sorted(name for name in self._asked - bound if name.isidentifier()):
            if name in guarded:
                yield MainProblem(
                    *guarded[name],
                    f"{name} is bound in the main block alone, and is stored: bind it outside",
                )
            elif running:
                yield MainProblem(0, 0, f"{name} is stored, and {_NOWHERE}")
        for at in sorted(set(kept).difference(told)):
            one = self._statements[at]
            for name in sorted(one.names.reads - bound):
                user = next(iter(sorted(one.names.binds)), "")
                of_notebooks = _OF_NOTEBOOKS.get(name) or (
                    _OF_RESULTS.format("{}", name) if _RESULT.fullmatch(name) and "In" in running else ""
                )
                if of_notebooks and running and not _is_tried(one.node, name):
                    yield MainProblem(one.cell, _line_of(one.node, name), of_notebooks.format(user))
                elif hasattr(builtins, name) or name.startswith("__") or of_notebooks:
                    continue
                elif name in guarded:
                    yield MainProblem(
                        *guarded[name],
                        f"{name} is bound in the main block alone, and needed by {user}, which would not "
                        "find it: bind it outside, or pass it to what uses it",
                    )
                elif name in running:
                    yield MainProblem(
                        one.cell,
                        one.first,
                        f"{user} needs {name}, and {_NOWHERE}",
                    )

    def _changed(self, kept: Collection[int], running: Mapping[str, Any]) -> Iterator[MainProblem]:
        """Yield the literals that something has changed since."""
        cells = {id(self._statements[at].node): self._statements[at].cell for at in kept}
        nodes = [self._statements[at].node for at in sorted(kept)]
        filled = {name for at in kept if at in self._fills for name in self._changes[at]}
        for node, name, values in changed_values(nodes, self._effects, running, filled):
            reason = f"{name} is {values} where it is loaded: {_LOST_WAY_OUT}"
            yield MainProblem(cells[id(node)], node.lineno, reason)

    def _differing(self, kept: Collection[int], running: Mapping[str, Any]) -> Iterator[MainProblem]:
        """Yield the definitions that are other ones in memory."""
        cells = {id(self._statements[at].node): self._statements[at].cell for at in kept}
        nodes = [self._statements[at].node for at in sorted(kept)]
        for node, name in differing_definitions(nodes, running):
            yield MainProblem(
                cells[id(node)],
                node.lineno,
                f"{name} is not the one in memory: this text has changed since, or stopped before it came "
                "here; run it again, and make the objects again",
            )


_NOWHERE = (
    "no statement binds it that could be stored (it was made by `exec`, `%run`, a magic, or under another "
    "name): define it by `def`, `class` or `=` in the script or in a cell, or import it from a module"
)
_OF_NOTEBOOKS = {
    "display": "{} needs display, which is there in notebooks alone: `from IPython.display import display`",
    "get_ipython": "{} needs a magic or get_ipython(), which is there in notebooks alone: take it out of "
    "what is stored, or put it into a `try`",
    "In": "{} needs In, which is there in notebooks alone: give the cell's text a name",
    "Out": "{} needs Out, which is there in notebooks alone: give the result a name",
}
_OF_RESULTS = "{} needs {}, a result or a text that notebooks alone keep: give it a name where it is made"
_RESULT = re.compile(r"_{1,3}|_i{1,3}|_i?[0-9]+|_ih|_oh|_dh")


def _is_tried(node: ast.stmt, name: str) -> bool:
    """Say whether a name stands in a `try` wherever it is read."""
    tried = [inner for part in ast.walk(node) if isinstance(part, ast.Try) for inner in ast.walk(part)]
    here = [part for part in ast.walk(node) if isinstance(part, ast.Name) and part.id == name]
    return all(any(part is inner for inner in tried) for part in here)


def _line_of(node: ast.stmt, name: str) -> int:
    return min(part.lineno for part in ast.walk(node) if isinstance(part, ast.Name) and part.id == name)


def _spelt(node: ast.stmt, line: int = 0) -> str:
    """Return the beginning of a statement, or of the one at `line` inside of it, on one line."""
    inner = [
        part
        for part in ast.walk(node)
        if isinstance(part, ast.stmt) and part.lineno <= line <= (part.end_lineno or 0)
    ]
    text = ast.unparse(inner[-1] if inner else node).splitlines()[0]
    return text if len(text) <= 60 else f"{text[:57]}..."


def is_future(node: ast.stmt) -> bool:
    """Say whether this is an import from `__future__`."""
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"
