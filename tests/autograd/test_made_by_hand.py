"""Every place that makes a tensor without its constructor sets every slot; one left out fails much later."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import kellet
import kellet.nn
from kellet.autograd.variable import Variable

ROOT = Path(kellet.__file__).parent
SLOTS = {name for name in Variable.__slots__ if name != "__weakref__"}
KINDS = ("Tensor", "bridge.tensor", "kind", "bridge.tensor if cls is Variable else cls")


def makers(source: str) -> Iterator[tuple[str, set[str]]]:
    """Yield the functions that make a tensor by hand, and the slots that each leaves out."""
    for function in ast.walk(ast.parse(source)):
        if isinstance(function, ast.FunctionDef):
            for made in made_in(function):
                written = {
                    target.attr
                    for node in ast.walk(function)
                    if isinstance(node, ast.Assign | ast.AnnAssign)
                    for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
                    if isinstance(target, ast.Attribute) and ast.unparse(target.value) == made
                }
                yield function.name, SLOTS - written


def made_in(function: ast.FunctionDef) -> Iterator[str]:
    for node in ast.walk(function):
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Call):
            call = node.value
            is_new = ast.unparse(call.func) in ("_new", "object.__new__") and bool(call.args)
            if is_new and ast.unparse(call.args[0]) in KINDS:
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                yield next(ast.unparse(one) for one in targets if isinstance(one, ast.Name))


def test_each_sets_all() -> None:
    found = {
        (path.relative_to(ROOT).as_posix(), name): left
        for path in ROOT.rglob("*.py")
        for name, left in makers(path.read_text(encoding="utf-8"))
    }
    assert len(found) >= 8
    assert {place: left for place, left in found.items() if left} == {}


@pytest.mark.parametrize(
    ("source", "left"),
    [
        ("def f():\n    made = _new(Tensor)\n    made._array = made._edge = made._grad = None", 4),
        ("def f():\n    made: Any = object.__new__(kind)", 7),
        ("def f():\n    x._grad = made = _new(bridge.tensor)\n    made._hooks = None", 6),
    ],
)
def test_what_is_left_out_is_seen(source: str, left: int) -> None:
    ((name, slots),) = makers(source)
    assert (name, len(slots)) == ("f", left)


def test_the_constructor_sets_all() -> None:
    for made in (kellet.Tensor([1.0]), kellet.nn.Parameter(kellet.ones(1)), kellet.nn.Buffer(kellet.ones(1))):
        assert [name for name in SLOTS if not hasattr(made, name)] == []
