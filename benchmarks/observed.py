"""What plans name and what runs: three numbers for each fixture, and which required externs are needed.

    python -m benchmarks.observed                          all fixtures whose packages are installed
    python -m benchmarks.observed registry bertmodel       those whose names hold one of these
    python -m benchmarks.observed --keep before.json       keep what was found
    python -m benchmarks.observed --against before.json    and say what got worse since

Plan A is what `plan()` names as stored, plan B what the written archive stores, and *observed* the modules of
the archive that a fresh process has loaded after it has loaded the object and called it. That process has the
file and its externs, and nothing else. It is started once more without the optional ones, and once more for
each required extern outside of Python, which is hidden there from stored code by its name: where it still
loads and answers the same, the extern is not needed. Versions and entry points of what is hidden are not.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.observed_cases import cases
from benchmarks.projects import Fixture, Place, ProcessFailed, read_projects, required_externs, site_with
from packager import PackageImporter

_HIDE = """
from packager.loading.packaged_code import ImportRules

def in_process(self, name, known=ImportRules.in_process):
    return "hidden_" + name if name.partition(".")[0] == {name!r} else known(self, name)

ImportRules.in_process = in_process
"""
HEADER = (
    "| fixture | plan A | plan B | observed | not in B | not in A | not observed | required | not needed |",
    "|---|---:|---:|---:|---:|---:|---:|---|---|",
)


@dataclass(frozen=True)
class Outcome:
    """What was found of a fixture; `trouble` is "" where it was exported and answered the same elsewhere."""

    name: str
    trouble: str = ""
    planned: tuple[str, ...] = ()
    stored: tuple[str, ...] = ()
    observed: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    unneeded: tuple[str, ...] = ()

    def not_in(self, names: Sequence[str]) -> list[str]:
        """Return the observed modules that are not among `names`."""
        return sorted(set(self.observed) - set(names))

    def row(self) -> str:
        """Return the line of the table."""
        if not self.stored:
            return f"| {self.name} | {self.trouble} |"
        cells: list[Any] = [
            self.name,
            len(self.planned),
            len(self.stored),
            len(self.observed),
            len(self.not_in(self.stored)),
            len(self.not_in(self.planned)),
            len(set(self.stored) - set(self.observed)),
            " ".join(self.required) or "-",
            " ".join(self.unneeded) or "-",
            *([self.trouble] if self.trouble else []),
        ]
        return f"| {' | '.join(map(str, cells))} |"

    def details(self) -> Iterator[str]:
        """Yield the names behind the numbers that are to be zero."""
        for where, names in (("plan B", self.stored), ("plan A", self.planned)):
            if self.stored and (missing := self.not_in(names)):
                yield f"{self.name}: observed and not in {where}: {', '.join(missing)}"

    def worse_than(self, before: Outcome) -> Iterator[str]:
        """Yield what may not be."""
        if self.trouble and not before.trouble:
            yield f"{self.name}: {self.trouble}"
        if len(self.not_in(self.planned)) > len(before.not_in(before.planned)) and not before.trouble:
            yield f"{self.name}: more modules are observed and not in plan A"
        if more := sorted(set(self.required) & set(self.unneeded) - set(before.required)):
            yield f"{self.name}: required, though neither needed nor required before: {', '.join(more)}"
        if before.stored and len(self.stored) > 1.15 * len(before.stored):
            yield f"{self.name}: {len(self.stored)} modules stored, {len(before.stored)} before"


def observe(fixture: Fixture, folder: Path) -> Outcome:
    """Export a fixture; load and call it with its externs, without the optional ones, and without each."""
    place = Place(folder)
    try:
        expected, planned = place.export(fixture, planned=True)
    except ProcessFailed as error:
        return Outcome(fixture.name, f"not exported: {_said(error)}")
    externs, required = required_externs(place.file, optional=True), required_externs(place.file)
    own = [place.here / name for name in fixture.path]
    site = site_with(externs.values(), folder / "site", own)
    alone = site_with(required.values(), folder / "alone", own)
    actions = _actions(place.file)
    stored = tuple(name for name, action in actions.items() if action == "intern")
    found = Outcome(fixture.name, "", tuple(planned), stored, (), tuple(required))
    try:
        answer, equal, observed = place.load(fixture.load, site)
    except ProcessFailed as error:
        return replace(found, trouble=f"not loaded: {_said(error)}")
    trouble = ""
    if not equal or answer != expected:
        trouble = f"gives {answer!r:.60}, expected {expected!r:.60}"
    elif not _answers(place, fixture.load, alone, answer):
        trouble = f"fails without its optional externs: {' '.join(sorted(externs.keys() - required.keys()))}"
    unneeded = tuple(name for name in required if _answers(place, without(name, fixture.load), site, answer))
    # C modules of a stored package are loaded from the environment under its name, and mocks are no code.
    loaded = tuple(name for name in observed if actions.get(name, "intern") == "intern")
    return replace(found, trouble=trouble, observed=loaded, unneeded=unneeded)


def without(name: str, program: str) -> str:
    """Return a program in which stored code cannot import a top-level name."""
    return _HIDE.format(name=name) + program


def _actions(file: Path) -> dict[str, str]:
    with PackageImporter(file, environment="ignore") as importer:
        return {module.name: module.action for module in importer.manifest.modules}


def _answers(place: Place, program: str, site: Sequence[Path], expected: Any) -> bool:
    try:
        answer, equal, _ = place.load(program, site)
    except ProcessFailed:
        return False
    return bool(equal) and answer == expected


def _said(error: ProcessFailed) -> str:
    """Return the message of a traceback's last exception in one line."""
    lines = str(error).splitlines()
    last = max((number for number, line in enumerate(lines) if line[:1].isalpha()), default=0)
    return " ".join(line.strip() for line in lines[last : last + 4])[:300]


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.observed", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("words", nargs="*", metavar="WORD")
    parser.add_argument("--keep", type=Path, metavar="FILE", help="write what was found, as JSON")
    parser.add_argument("--against", type=Path, metavar="FILE", help="say what is worse than was kept there")
    options = parser.parse_args(arguments)
    os.environ["PYTHONHASHSEED"] = "0"  # answers of some libraries come in the order of sets
    fixtures: list[Fixture] = [*read_projects(), *cases()]
    words = [word.lower() for word in options.words]
    wanted = [one for one in fixtures if not words or any(word in one.name.lower() for word in words)]
    outcomes = []
    print("\n".join(HEADER))
    for fixture in wanted:
        with tempfile.TemporaryDirectory(prefix="kellet-observed-") as folder:
            outcomes.append(observe(fixture, Path(folder).resolve()))
        print(outcomes[-1].row(), flush=True)
        if options.keep:
            options.keep.write_text(json.dumps([asdict(outcome) for outcome in outcomes]), encoding="utf-8")
    for outcome in outcomes:
        print("\n".join(outcome.details()), end="\n" if any(outcome.details()) else "")
    worse = list(_worse(outcomes, options.against)) if options.against else []
    print("\n".join(["Worse than before:", *worse]) if worse else "")
    return 1 if worse else 0


def _worse(outcomes: Sequence[Outcome], file: Path) -> Iterator[str]:
    before = {found["name"]: Outcome(**found) for found in json.loads(file.read_text(encoding="utf-8"))}
    for outcome in outcomes:
        if outcome.name in before:
            yield from outcome.worse_than(before[outcome.name])


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
