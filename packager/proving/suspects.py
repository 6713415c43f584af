"""What is otherwise here than in the clean process, compared after a run, the likeliest cause first."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Collection, Iterator, Mapping
from types import ModuleType
from typing import Final

from packager.environment import Distributions
from packager.exporting import ExportPlan
from packager.names import demangle, source_path
from packager.texts import few_of

from .differences import EMPTY, SETTINGS, STANDS_IN, Seen, is_cache, look_at, words_of
from .proof import Difference
from .questions import Run
from .search_places import is_projects
from .values import Kind, names_of

_MOST_LOST: Final = 4
_NOWHERE: Final[tuple[str, Kind]] = ("", "object")
_RANKS: Final[Mapping[str, int]] = {"setting": 0, "code": 1, "value": 2, "object": 3, "size": 6}
_NOT_READ: Final = 3
"""How far behind what no stored code speaks of stands."""
_IMPORTED: Final = "imported"


def differences_of(run: Run, plan: ExportPlan, installed: Distributions) -> tuple[Difference, ...]:
    """Return what is otherwise here than it was in a run, most likely first.

    Where nothing failed there, it is only what may be told without a golden call: modules of the project that
    are loaded here and not there, other code and settings, and what the project's stored code reads by name.
    """
    if run.proof.failures:
        found = _compared(run.seen, _here(run.seen, plan), plan, installed)
        ranked = [*((2.5, one) for one in _left_behind(plan, run)), *found]
        return tuple(one for _, one in sorted(ranked, key=lambda pair: pair[0]))
    if any(check.outputs for check in plan.checks):
        return ()
    found = _compared(run.seen, _here(run.seen, plan), plan, installed)
    return (
        *_left_behind(plan, run),
        *(
            one
            for rank, one in found
            if rank <= _RANKS["object"]
            and (rank <= _RANKS["code"] or not is_cache(one.place.rpartition(".")[2]))
            and (one.file or rank != _RANKS["code"] or _is_of_project(one.here, installed))
        ),
    )


def _is_lone(home: str, mine: tuple[str, Kind], other: tuple[str, Kind]) -> bool:
    """Say whether one side alone has looked at something of a library; plain values differ so, too."""
    return _NOWHERE in (mine, other) and (home == SETTINGS or "value" not in (mine[1], other[1]))


def _is_of_project(function: str, installed: Distributions) -> bool:
    """Say whether the project has put a function there: libraries replace each other's by themselves."""
    home = re.match(r"function ([\w.]+):", function)
    return home is not None and (home[1] == "__main__" or is_projects(home[1], installed))


def left_behind(differences: Collection[Difference]) -> list[str]:
    """Return the modules of the project that are loaded here and not there."""
    return [one.place for one in differences if one.here == _IMPORTED]


def lost_by_factories(given: Seen, run: Run) -> Iterator[str]:
    """Say what was set on objects that factories make anew, and does not come back."""
    for label, here in given.items():
        there = run.seen.get(label, {})
        told = [
            str(Difference(path, here[path][0], there.get(path, _NOWHERE)[0]))
            for path in here
            if there and here[path][0] != there.get(path, _NOWHERE)[0]
        ]
        modes = [one for one in told if ".training is" in one]  # the whole network is in another mode
        told = [one for one in told if one not in modes[1:]]
        if told:
            yield (
                f"{label} is made anew by its factory, and what was set on the one that was saved does "
                f"not come back: {'; '.join(few_of(told, _MOST_LOST))}; let the factory set it, by config= "
                "where it differs, or keep it in the state dict"
            )


def _here(there: Seen, plan: ExportPlan) -> Seen:
    """Look here at what was looked at there."""
    modules = {name: sys.modules[name] for name in there if type(sys.modules.get(name)) is ModuleType}
    stored = {module.name for module in plan.modules if module.entry is not None}
    types = {use.name for record in plan.objects for use in record.types}
    return look_at({name: modules[name] for name in modules if name in stored}, types)


def _compared(
    there: Seen, here: Seen, plan: ExportPlan, installed: Distributions
) -> Iterator[tuple[float, Difference]]:
    """Yield what differs, with its rank: what stored code speaks of, and the project's, comes first."""
    files = {module.name: str(module.entry) for module in plan.modules if module.entry is not None}
    sources = {one.name: bytes(one.read()) for one in plan.entries if one.kind == "source"}
    texts = {name: sources.get(file, b"").decode("utf-8", "replace") for name, file in files.items()}
    own = {name for name in files if is_projects(name, installed)}
    read: set[str] | None = None
    told: list[tuple[int, Difference]] = []
    for home in (one for one in there if there[one] and here.get(one)):
        bound = {re.split(r"\W", name)[0] for name in there[home]}
        for name in sorted(there[home].keys() | here[home].keys()):
            mine, other = here[home].get(name, _NOWHERE), there[home].get(name, _NOWHERE)
            # A cache may hold other entries, as many here as there.
            is_same = mine[0] == other[0] and (mine[1] != "size" or home not in own or mine[0] == EMPTY)
            if is_same or (home == "__main__" and re.split(r"\W", name)[0] not in bound):
                continue  # the script holds much that nothing stored needs
            if STANDS_IN in (mine[0], other[0]) or (home not in files and _is_lone(home, mine, other)):
                continue  # of a library that is loaded in one of the two alone
            if read is None:
                read = {word for one in own if one in sys.modules for word in words_of(sys.modules[one])}
            kind = min((one[1] for one in (mine, other) if one is not _NOWHERE), key=_RANKS.__getitem__)
            rank = _RANKS[kind] + (home not in own and kind in ("value", "object"))
            words = re.findall(r"\w+", name)
            is_read = name.endswith("=)") or words[-1] in read
            # What hangs on a function or an object is read with it, and of a class by its own name.
            is_read = is_read or (words[0] in read and not isinstance(names_of(home).get(words[0]), type))
            if kind in ("value", "object") and not is_read:
                rank += _NOT_READ
            place = name if home == SETTINGS else f"{home}.{name}"
            line = line_of(texts.get(home, ""), name)
            told.append((rank, Difference(place, mine[0], other[0], files.get(home, ""), line)))
    yield from each_once(told)


def each_once(told: list[tuple[int, Difference]]) -> Iterator[tuple[int, Difference]]:
    """Yield differences, each of one object once: not where it is imported, or hangs deeper inside."""
    told.sort(key=lambda pair: (not pair[1].line, pair[1].place.count("."), pair[1].place))
    seen: set[tuple[str, ...]] = set()
    for rank, one in told:
        values = (one.place.rpartition(".")[2], one.here, one.there)
        inside = (one.file, str(one.line), *values)
        if inside not in seen and (one.line or values not in seen):
            seen |= {values, inside}
            yield rank, one


def line_of(text: str, name: str) -> int:
    """Return the line in which a source binds a name; of what is in a class, that in the class; 0 for none.

    >>> line_of("import os\\nclass Net:\\n    kinds = []\\n", "Net.kinds")
    3
    """
    line = at = 0
    for number, part in enumerate(re.findall(r"\w+", name)[:2]):
        binds = rf"^[ \t]*(?:(?:async )?def |(class ))?{part}\b|^[^#=(\n]*\b{part}\b(?![.\[])[^=\n]*=(?!=)"
        found = re.compile(binds, re.MULTILINE).search(text, at)
        if found is None:
            break
        line, at = text.count("\n", 0, found.start()) + 1, found.end()
        if number == 0 and not found[1]:
            break  # no class
    return line


def _left_behind(plan: ExportPlan, run: Run) -> Iterator[Difference]:
    """Yield the modules that this process has loaded beside stored ones, and the run has not."""
    stored = {module.name: str(module.entry) for module in plan.modules if module.entry is not None}
    if run.proof.failures and not run.seen:
        return  # it ended before it could look
    there = {*run.proof.modules} if run.proof.ok else run.seen.keys()
    tops = {name.partition(".")[0] for name in stored}
    files = {name: getattr(sys.modules.get(name), "__file__", None) for name in tops}
    homes = {os.path.dirname(os.path.abspath(file)) for file in files.values() if isinstance(file, str)}
    roots = tuple(os.path.join(home, "") for home in homes if "site-packages" not in home)
    for name, module in list(sys.modules.items()):
        if type(module) is not ModuleType or name in there or name in ("__main__", "__mp_main__"):
            continue
        file, spec = vars(module).get("__file__"), vars(module).get("__spec__")
        is_begun = getattr(spec, "_initializing", False)  # what exports may be one
        if is_begun or demangle(name) != name or type(file) is not str or not os.path.isfile(file):
            continue
        is_own = name.partition(".")[0] in tops or (roots and os.path.abspath(file).startswith(roots))
        if is_own and "site-packages" not in file:
            entry = stored.get(name, source_path(name, "__path__" in vars(module)))
            yield Difference(name, _IMPORTED, "", entry)
