"""Functions that torch.compile made: refused as that, and stored where a module's own text makes them."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

import sys
from types import ModuleType
from typing import Any

import torch

from packager._objects import encode

TEXT = """
import torch
def slow(x): return x * 2
class Net:
    def __init__(self):
        self.fast = torch.compile(slow, backend="eager")
    def go(self, x): return x
    def bound(self):
        self.fast = torch.compile(self.go, backend="eager")
        return self
@torch.compile(backend="eager")
def quick(x): return x + 1
"""


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Any:
    module = ModuleType("compiled_functions_made")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(compile(TEXT, "compiled_functions_made.py", "exec"), vars(module))
    return module


@pytest.mark.parametrize("make", ["Net()", "Net().bound()"])
def test_one_that_an_attribute_holds_is_refused_with_what_to_keep(made: Any, make: str) -> None:
    [refusal] = encode(eval(make, vars(made))).refusals
    assert refusal.path == "obj.fast"
    assert refusal.reason == ("a function made by torch.compile, whose compiled code belongs to this process")
    assert refusal.options == (
        "keep the original function or method, and call torch.compile where it is used",
        "compile a whole module in place, module.compile(): then it is stored uncompiled",
    )


def test_one_that_its_module_makes_by_name_is_stored_by_it(made: Any) -> None:
    encoded = encode({"quick": made.quick})
    assert not encoded.refusals
    assert "compiled_functions_made:quick" in {str(name) for name in encoded.names}
    assert torch.equal(made.quick(torch.ones(1)), torch.full((1,), 2.0))
