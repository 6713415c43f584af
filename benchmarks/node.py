"""What the graph of objects is made of, in a file of its own, which is stored with them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass
class Node:
    """One object of a graph, which leads to another."""

    number: int
    weight: float
    name: str
    next: Any = None
