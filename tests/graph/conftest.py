"""Packages to walk, written as text."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from packager.graph import Edge, Sources, Walk, WalkDecision

Tree = Callable[[str], Path]


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """Write files given as one text, each after a line `== path`; return their folder."""

    def write(text: str) -> Path:
        root = tmp_path / "tree"
        for part in re.split(r"^== ", textwrap.dedent(text), flags=re.MULTILINE)[1:]:
            name, _, content = part.partition("\n")
            path = root / name.strip()
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8")
        return root

    return write


class Walked:
    """A walk over a tree, with what tests ask most often."""

    def __init__(self, walk: Walk, asked: list[tuple[str, tuple[Edge, ...]]]) -> None:
        self.walk = walk
        self.asked = asked

    @property
    def followed(self) -> list[str]:
        return sorted(module.name for module in self.walk.modules.values() if module.followed)

    def edge(self, importer: str, target: str) -> Edge:
        found = [edge for edge in self.walk.edges if (edge.importer, edge.target) == (importer, target)]
        assert len(found) == 1, found
        return found[0]

    def reasons(self) -> list[tuple[str, str]]:
        return [(problem.module, problem.reason) for problem in self.walk.problems]


WalkTree = Callable[..., Walked]


@pytest.fixture
def walk_tree(tree: Tree) -> WalkTree:
    """Walk a tree from its roots, following the packages named (by default `pkg`)."""

    def run(
        text: str,
        *roots: str,
        follow: Sequence[str] = ("pkg",),
        path: Sequence[str] = (),
        answers: dict[str, Any] | None = None,
        **options: Any,
    ) -> Walked:
        folder = tree(text)
        asked: list[tuple[str, tuple[Edge, ...]]] = []

        def decide(name: str, edges: Sequence[Edge]) -> WalkDecision:
            asked.append((name, tuple(edges)))
            return WalkDecision(name.partition(".")[0] in follow)

        sources = Sources([str(folder), *path])
        walk = Walk(decide, sources=sources, cache=None, **options)
        for root in roots or ("pkg",):
            module, _, names = root.partition(":")
            walk.add_root(module, names=names.split(",") if names else None)
        for question, answer in (answers or {}).items():
            walk.answer(question, answer)
        walk.run()
        return Walked(walk, asked)

    return run
