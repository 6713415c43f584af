"""The best of many candidates, again and again: each old and each new family is in one pair at most."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final, Literal

from packager.quick_dataclasses import replace

from .families import Family, Pair

_LEAST: Final = 0.2  # how alike names must be before they alone place a key
_NEIGHBOUR: Final = 0.15  # what it counts for that the modules beside it went the same way

Candidate = tuple[Pair, ...]


def best(candidates: Sequence[Candidate], *, are_all: bool = True) -> list[Pair]:
    """Return the candidates with the likest names, each old and each new one once.

    A candidate that has no rival on either side is taken whatever it is called, where these `are_all`: one
    that was not looked at may be a rival.
    """
    left = _Left(candidates, are_all)
    chosen: list[Pair] = []
    while (found := left.take()) is not None:
        candidate, score = found
        only = "" if score else ", and nothing else has these shapes"
        chosen += [replace(pair, score=score, because=pair.because + only) for pair in candidate]
    return chosen


class _Left:
    """The candidates that are left, by score; a score rises at most once, and rivals only become fewer."""

    def __init__(self, candidates: Sequence[Candidate], are_all: bool) -> None:
        self._all = candidates
        self._are_all = are_all
        self._left = [True] * len(candidates)
        self._parents: dict[str, str] = {}
        self._of_family: dict[int, list[int]] = {}
        self._of_parents: dict[tuple[str, str], list[int]] = {}
        self._of_name: dict[tuple[str, str], list[int]] = {}
        for at, one in enumerate(candidates):
            for pair in one:
                self._of_family.setdefault(id(pair.old), []).append(at)
                self._of_family.setdefault(id(pair.new), []).append(at)
            self._of_parents.setdefault(_parents(one), []).append(at)
            for name in _names(one):
                self._of_name.setdefault(name, []).append(at)
        self._rivals = Counter({name: len(found) for name, found in self._of_name.items()})
        self._by_score = [(-_score(one, self._parents), at) for at, one in enumerate(candidates)]
        heapq.heapify(self._by_score)
        self._alone: list[int] = []
        for at in range(len(candidates)):
            self._note_alone(at)

    def take(self) -> tuple[Candidate, float] | None:
        """Take the best candidate with its score, or with 0 one that has no rival; None for neither."""
        while self._by_score and not self._left[self._by_score[0][1]]:
            heapq.heappop(self._by_score)
        if not self._by_score:
            return None
        score, at = -self._by_score[0][0], self._by_score[0][1]
        if score < _LEAST:
            while self._alone and not self._left[self._alone[0]]:
                heapq.heappop(self._alone)
            if not self._alone:
                return None
            score, at = 0.0, self._alone[0]
        found = self._all[at]
        self._follow(*_parents(found))
        for family in {id(family) for pair in found for family in (pair.old, pair.new)}:
            for other in self._of_family[family]:
                self._leave_out(other)
        return found, score

    def _follow(self, old: str, new: str) -> None:
        """Raise the scores of what lies beside: the first of two modules to go one way shows it."""
        if old not in self._parents:
            self._parents[old] = new
            for at in self._of_parents[old, new]:
                heapq.heappush(self._by_score, (-_score(self._all[at], self._parents), at))

    def _leave_out(self, at: int) -> None:
        if not self._left[at]:
            return
        self._left[at] = False
        for name in _names(self._all[at]):
            self._rivals[name] -= 1
            if self._rivals[name] == 1:
                self._note_alone(next(other for other in self._of_name[name] if self._left[other]))

    def _note_alone(self, at: int) -> None:
        one = self._all[at]
        is_sure = len(one) > 1 or one[0].score > 0 or not one[0].transforms
        if self._are_all and is_sure and all(self._rivals[name] == 1 for name in _names(one)):
            heapq.heappush(self._alone, at)


def _names(pairs: Candidate) -> tuple[tuple[str, str], tuple[str, str]]:
    """Return what a candidate is about on each side: a module, or a single family."""
    return ("old", _name(pairs, "old")), ("new", _name(pairs, "new"))


def _name(pairs: Candidate, side: Literal["old", "new"]) -> str:
    family: Family = getattr(pairs[0], side)
    return family.parent if len(pairs) > 1 else family.pattern


def _parents(pairs: Candidate) -> tuple[str, str]:
    return _above(pairs[0].old), _above(pairs[0].new)


def _above(family: Family) -> str:
    return family.parent.rpartition(".")[0]


def _score(pairs: Candidate, parents: Mapping[str, str]) -> float:
    """Say how alike the names are, and whether what lies beside them went the same way."""
    mean = sum(pair.score for pair in pairs) / len(pairs)
    old, new = _parents(pairs)
    return mean + _NEIGHBOUR * (parents.get(old) == new)
