"""packager uses what is public in kellet, and the names with an underscore that PyTorch has as well."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.architecture.rooms import statements_of

ROOT = Path(__file__).resolve().parents[2]

# What code written for PyTorch reads and sets, so that it is as good as public.
PYTORCH = set(
    "_parameters _buffers _modules _non_persistent_buffers_set _version _metadata _load_from_state_dict "
    "_backward_hooks _post_accumulate_grad_hooks".split()
)


def underscores_of(tree: ast.Module) -> set[str]:
    """Name what the files of kellet call by an underscore: attributes, methods, classes and functions."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.keyword) and node.arg:
            found.add(node.arg)
    return {name for name in found if name.startswith("_") and not name.startswith("__")}


def reached_into(tree: ast.Module, private: set[str]) -> list[str]:
    """List imports of underscores from kellet, and what takes one of `private` of another object."""
    found = []
    for node in ast.walk(tree) if private else statements_of(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "kellet":
            parts = [*(node.module or "").split("."), *(alias.name for alias in node.names)]
            found += [f"{node.lineno}: {part}" for part in parts if part.startswith("_")]
        elif isinstance(node, ast.Attribute) and node.attr in private:
            if not (isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")):
                found.append(f"{node.lineno}: {ast.unparse(node)}")
        elif isinstance(node, ast.Constant) and node.value in private:
            found.append(f"{node.lineno}: {node.value!r}")
    return found


def test_codecs_reach_into_no_underscore_of_kellet() -> None:
    private: set[str] = set()
    for path in (ROOT / "src" / "kellet").rglob("*.py"):
        private |= underscores_of(ast.parse(path.read_text(encoding="utf-8")))
    found = {}
    for path in sorted((ROOT / "packager").rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        codec = path.parent.name == "codecs" and path.name.startswith("module")
        knows = codec or path.name.startswith("kellet_")  # elsewhere only imports lead to kellet
        found[path.name] = reached_into(tree, private - PYTORCH if knows else set())
    # The words by which an archive tells the two functions of a Hook apart, and the end of names of
    # PyTorch Geometric.
    words = {"'_prehook'", "'_posthook'", "'_hooks'"}
    wrong = {n: [one for one in ones if one.split(": ")[1] not in words] for n, ones in found.items()}
    assert {name: ones for name, ones in wrong.items() if ones} == {}


@pytest.mark.parametrize(
    "source",
    [
        "from kellet.nn.hook import _Gate",
        "from kellet._x import y",
        "module._call_hooks",
        "vars(module).get('_call_hooks')",
        "f(module)._call_hooks",
    ],
)
def test_every_way_past_the_door_is_seen(source: str) -> None:
    assert len(reached_into(ast.parse(source), {"_call_hooks"})) == 1
