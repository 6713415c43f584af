"""What came of many archives: counts, and each finding once as a line."""

from __future__ import annotations

import re
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

_EVERY_SECONDS = 30.0
_HEAD = "# library | class | attribute | kind of value | call | what (times)\n"


class Report:
    """Counts outcomes, and writes findings to a file as they come.

    Lines of other libraries there are kept.
    """

    def __init__(self, target: Path | None) -> None:
        self._target = target
        self.outcomes: Counter[str] = Counter()
        self.reasons: Counter[str] = Counter()
        self.findings: Counter[str] = Counter()
        self.told: Counter[str] = Counter()
        self._kinds: dict[str, str] = {}
        self._start = self._last = time.monotonic()
        self._library, self._again, self._slowest, self._most = "", 0, 0.0, 0

    def begin(self, library: str, harvest: Any, files: int) -> None:
        """Say what will be tried."""
        self._library, self._files = library, files
        self._start = self._last = time.monotonic()
        classes = len(set(harvest.classes))
        self._say(
            f"{library}: {len(harvest.objects)} honest objects, {classes} names, "
            f"{len(harvest.left_out)} left out"
        )

    def add(self, result: Any, swaps: list[Any]) -> None:
        """Count what came of one archive."""
        outcome = "finding" if result.findings else "slow in use" if result.told else result.outcome
        self.outcomes[outcome] += 1
        self._again += result.draw
        self._slowest = max(self._slowest, result.seconds)
        self._most = max(self._most, result.memory)
        if result.reason:
            self.reasons[f"{result.outcome}: {result.reason}"] += 1
        for found, counter in ((result.findings, self.findings), (result.told, self.told)):
            for call, what in found:
                self._count(counter, swaps, call, what)
        if time.monotonic() - self._last > _EVERY_SECONDS:
            self._last = time.monotonic()
            self._say(self.line())
            self.write()

    def _count(self, counter: Counter[str], swaps: list[Any], call: str, what: str) -> None:
        owners = " & ".join(swap.owner for swap in swaps)
        attributes = " & ".join(swap.attribute for swap in swaps)
        kind = " & ".join(swap.kind for swap in swaps)
        sort = _sort_of(what)
        key = f"{self._library} | {owners} | {attributes} | {{}} | {call} | {sort}"
        self._kinds.setdefault(key, kind)
        counter[key] += 1

    def line(self) -> str:
        """Return how far it is, in a line."""
        done = sum(self.outcomes.values())
        seconds = time.monotonic() - self._start
        counts = ", ".join(f"{count} {name}" for name, count in self.outcomes.most_common())
        return (
            f"{self._library}: {done} of {self._files} in {seconds:.0f} s, {done / max(seconds, 1):.1f}/s: "
            f"{counts}; {len(self.findings)} findings; {self._again} drawn again; "
            f"load {self._slowest:.2f} s, {self._most >> 20} MiB at most"
        )

    def lines(self, counter: Counter[str]) -> list[str]:
        """Return the lines of findings, by name."""
        return sorted(f"{key.format(self._kinds[key])} ({count})" for key, count in counter.items())

    def write(self) -> None:
        """Write the findings anew, beside those of other runs."""
        if self._target is None:
            return
        ours = [*self.lines(self.findings), *(f"in use: {line}" for line in self.lines(self.told))]
        known = {_place_of(line) for line in ours}
        others = self._target.read_text().splitlines() if self._target.exists() else []
        kept = [line for line in others if line and not line.startswith("#") and _place_of(line) not in known]
        lines = sorted([*kept, *ours], key=lambda line: (line.startswith("in use: "), line))
        self._target.write_text(_HEAD + "".join(f"{line}\n" for line in lines))

    def end(self) -> None:
        """Say everything."""
        if not self._library:
            return
        self.write()
        self._say(self.line())
        for reason, count in self.reasons.most_common(40):
            self._say(f"  {count:6} {reason}")
        for line in self.lines(self.findings):
            self._say(f"FINDING {line}")

    def _say(self, line: str) -> None:
        sys.stdout.write(line + "\n")
        sys.stdout.flush()


def _place_of(line: str) -> tuple[str, ...]:
    """Return what makes two lines one: library, class, attribute, call and what, without kind and count."""
    parts = line.rpartition(" (")[0].split(" | ")
    return tuple(parts[:3] + parts[4:])


def _sort_of(what: str) -> str:
    """Return a finding without its numbers."""
    return re.sub(r"\b\d{2,}\b", "#", what).replace("{", "(").replace("}", ")")[:140]
