"""An object that is being encoded: what is known of it so far, and where the encoder stands in it."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any, Final, TypeAlias

from packager.codecs import Role

from .records import Operand, Record

Steps: TypeAlias = Generator[Any, Operand, Operand]
"""Yields one child after the other, is sent the operand of each, and returns the object's own."""


class Frame:
    """One object on the encoder's stack.

    `operands` are those of the children that are done. An object that can be written before it is
    complete has `start`, which makes its record from the operands known by then; `step` is how many
    operands belong together, `ref` the record that was written, `written` how many operands it has.

    `at` and `style` say which child is being encoded (a style of `path_of`), `role` what is done with
    it, and `tables` which attributes are the tables of a module. `base` is the path of the object
    where the stack below does not tell it. `outer` is the frame of the same object that was entered
    before, `count` the number of records when this one was.
    """

    __slots__ = (
        "at", "base", "count", "obj", "operands", "outer", "ref", "role", "start", "step", "steps", "style",
        "tables", "written",
    )  # fmt: skip

    def __init__(self, obj: Any, outer: Frame | None = None, base: str | None = None) -> None:
        self.obj = obj
        self.outer = outer
        self.base = base
        self.steps: Steps
        self.operands: list[Operand] = []
        self.start: Callable[[list[Operand]], Record] | None = None
        self.step = 1
        self.ref: int | None = None
        self.written = 0
        self.at: Any = None
        self.style = "none"
        self.tables: frozenset[str] = frozenset()
        self.role: Role = "value"
        self.count = 0


def path_of(frames: Sequence[Frame], root: str) -> str:
    """The attribute path to the child at which these frames stand, as Python would write it.

    The tables in which a module keeps its parameters and children read as attributes.
    """
    parts, in_table = [root], False
    for frame in frames:
        if frame.base is not None:
            parts = [frame.base]
        if frame.style == "attr" and frame.at in frame.tables:
            in_table = True
            continue
        parts.append(_part(frame, in_table))
        in_table = in_table and frame.style == "none"
    return "".join(parts)


def _part(frame: Frame, in_table: bool) -> str:
    if frame.style == "attr" or (frame.style == "item" and in_table):
        return f".{frame.at}"
    if frame.style == "item":
        plain = isinstance(frame.at, (str, int, float, bytes, type(None)))
        return f"[{frame.at!r}]" if plain else f"[<{type(frame.at).__name__}>]"
    return _OTHER_PARTS[frame.style].format(frame.at)


_OTHER_PARTS: Final = {
    "none": "",
    "element": "<element>",
    "key": "<key>",
    "argument": "<argument {}>",
    "state": "",
    "cell": "<variable {}>",
}


def storage_path(path: str, root: str) -> str:
    """The name of a storage from the path of its owner: `obj.layers[0].weight` is `layers.0.weight`.

    >>> storage_path("obj.layers[0]['w'].weight", "obj"), storage_path("obj", "obj")
    ('layers.0.w.weight', 'value')
    """
    inside = path.removeprefix(root).replace("['", ".").replace("']", "").replace("[", ".").replace("]", "")
    return inside.lstrip(".") or "value"
