"""Which tests are near to a fault: those that speak of the same things as the function it is in."""

from __future__ import annotations

import ast
import inspect
import math
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from .faults import Fault

_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_NAME = re.compile(r"\w+")
# So many of the nearest test functions, and so many cases of each: the very nearest well, then many a little.
ROUNDS = ((40, 10), (250, 4))


def _words(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(text) if len(word) > 1]


class Nearness:
    """Orders tests by the words that they share with the code around a fault, the rarer the better."""

    def __init__(self, root: Path, items: Sequence[pytest.Item]) -> None:
        self._root = root
        self._functions: dict[str, list[str]] = {}
        self._words: dict[str, Counter[str]] = {}
        self._cases_said: dict[str, str] = {}
        for item in items:
            name = item.nodeid.partition("[")[0]
            if name not in self._functions:
                self._functions[name] = []
                self._words[name] = Counter(_words(name) + _words(_source(item)))
            self._functions[name].append(item.nodeid)
            self._cases_said[item.nodeid] = _said(item, name)
            for word in _words(self._cases_said[item.nodeid]):  # of the table that its cases come from
                self._words[name].setdefault(word, 1)
        frequency = Counter(word for words in self._words.values() for word in words)
        self._weights = {word: math.log(len(self._words) / n) for word, n in frequency.items()}

    def tests_of(self, fault: Fault) -> list[str]:
        """Return the tests, the nearest first: a few cases of each, then all others."""
        wanted = Counter(dict.fromkeys(_words(self._around(fault)), 1))
        for word in _words(Path(fault.file).stem):
            wanted[word] += 2
        room = f"tests/{fault.room}/"
        own = f"{room}test_{Path(fault.file).stem}"  # and others that begin so
        scores = {
            name: sum(
                times * self._weights[word] * (1 + math.log(words[word]))
                for word, times in wanted.items()
                if word in words
            )
            / math.sqrt(30 + words.total())
            * (1.3 if name.startswith(room) else 1.0)
            * (2.0 if name.startswith(own) else 1.0)
            for name, words in self._words.items()
        }
        ordered = sorted(self._functions, key=lambda name: -scores[name])
        first = [
            case
            for functions, n in ROUNDS
            for name in ordered[:functions]
            for case in self._cases(name, wanted, n)
        ]
        others = [case for name in ordered for case in self._functions[name]]
        return list(dict.fromkeys([*self._named_for(fault), *first, *others]))

    def _named_for(self, fault: Fault) -> list[str]:
        """A few cases that bear the name of the constant that a fault outside of functions is in."""
        constant = "" if fault.where else fault.before.partition(":")[0].partition("=")[0].strip()
        cases = (case for cases in self._functions.values() for case in cases)
        return [case for case in cases if constant in _NAME.findall(self._cases_said[case])][:10]

    def _cases(self, name: str, wanted: Counter[str], most: int) -> list[str]:
        """Half of them by the words of their names, and half spread over all; more of very many."""
        cases = self._functions[name]
        most = max(most, math.isqrt(len(cases)))
        if len(cases) <= most:
            return cases
        near = {case: sum(wanted[word] for word in {*_words(self._cases_said[case])}) for case in cases}
        spread = cases[:: -(-len(cases) // (most // 2))]
        return list(dict.fromkeys([*sorted(cases, key=lambda case: -near[case])[: most // 2], *spread]))

    def _around(self, fault: Fault) -> str:
        source = (self._root / fault.file).read_text(encoding="utf-8")
        found, names = "", []
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and (
                node.lineno <= fault.line <= (node.end_lineno or 0)
            ):
                names.append(node.name)
                if isinstance(node, ast.FunctionDef) and not found:
                    found = ast.get_source_segment(source, node) or ""
        lines = source.splitlines()
        near = "\n".join(lines[fault.line - 1 : fault.last_line])
        return f"{found} {' '.join(names)} {near}"


def _said(item: pytest.Item, name: str) -> str:
    """The label of a case; of a test that goes through a whole table, the labels of all its cases."""
    return "\n".join([item.nodeid[len(name) :], *getattr(getattr(item, "obj", None), "labels", ())])


def _source(item: pytest.Item) -> str:
    function = getattr(item, "obj", None)
    try:
        return inspect.getsource(inspect.unwrap(function)) if function is not None else ""
    except (OSError, TypeError, ValueError):
        return ""
