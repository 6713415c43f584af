"""The docstrings of both packages: a function's opens with a verb, and names what the function raises.

Read with `ast`, so that neither a decorator nor an import hides a function. Properties and classes say what
they are.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.architecture.rooms import PACKAGES, modules_of

VERBS = set(
    """Accumulate Act Add Bring Call Carry Change Compute Convert Copy Count Decorate Describe Divide
    Do Draw Drop Fetch Fill Find Forget Give Keep Leave Let Make Move Multiply Note Pack Pad Pick Plan
    Promote Prove Put Raise Record Register Remove Repeat Replace Return Reverse Round Run Save Say Send
    Set Sort Split Stack Start Store Stretch Sum Swap Switch Take Tell Transpose Turn View Walk
    Write Yield
    Answer Append Apply Ask Attach Begin Bound Build Check Choose Claim Clear Close Collect Come Compare
    Compile Create Cut Decide Declare Decode Demand Digest Encode End Enter Evaluate Exclude Expect Export
    Follow Forbid Format Freeze Gather Group Guard Hand Hold Import Include Install Intern Iterate Join
    Judge Lay List Load Locate Look Lower Map Mark Match Measure Merge Migrate Mock Name Offer Open Order
    Parse Pause Permit Pickle Print Prune Query Quote Reach Read Rebuild Recognise Refuse Release Remember
    Rename Render Report Require Reserve Resolve Restore Scan Show Spell Suggest Trace Translate Try Undo
    Unpack Use Verify Wait Warn Watch Wrap""".split()
)


@dataclass(frozen=True)
class Documented:
    """One public function, the text that speaks for it, and the exceptions that it raises itself."""

    where: str
    text: str
    verb_first: bool
    raises: tuple[str, ...]


def documented(tree: ast.Module, file: str) -> Iterator[Documented]:
    """Yield the public functions and methods of a file; `__init__` is spoken for by its class."""
    yield from _of(tree.body, file, None)


def _of(body: list[ast.stmt], file: str, cls: ast.ClassDef | None) -> Iterator[Documented]:
    getters: dict[str, str] = {}
    for node in body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield from _of(node.body, file, node)
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        words = {name for d in node.decorator_list for name in ast.unparse(d).split(".")}
        attribute = bool(words & {"property", "cached_property", "setter", "deleter"})
        text = ast.get_docstring(node) or ""
        if words & {"property", "cached_property"}:
            getters[node.name] = text
        if node.name == "__init__" and cls is not None:
            text = ast.get_docstring(cls) or ""
        elif node.name.startswith("_") or "overload" in words:
            continue
        whole = getters.get(node.name, "") + text
        plain = bool(text) and not attribute and node.name != "__init__"
        yield Documented(f"{file}:{node.lineno} {node.name}", whole, plain, tuple(sorted(_raised(node))))


def _raised(function: ast.AST) -> set[str]:
    """Name the classes of what a function raises itself, not by what it calls or defines."""
    found = set()
    for node in ast.iter_child_nodes(function):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            continue
        if isinstance(node, ast.Raise) and node.exc is not None:
            kind = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
            if isinstance(kind, ast.Name) and kind.id[:1].isupper():
                found.add(kind.id)
        found |= _raised(node)
    return found - {"NotImplementedError"}  # what a subclass has to define


FILES = {
    name: path for package, folder in PACKAGES.items() for name, path in modules_of(package, folder).items()
}


@pytest.fixture(scope="module")
def every() -> list[Documented]:
    """All public functions of both packages."""
    return [one for f, p in FILES.items() for one in documented(ast.parse(p.read_text(encoding="utf-8")), f)]


def test_what_a_function_says_opens_with_a_verb(every: list[Documented]) -> None:
    wrong = [
        f"{one.where}: {one.text.split()[0]}"
        for one in every
        if one.verb_first and one.text.split()[0] not in VERBS
    ]
    assert wrong == [], "say what it does; a new verb goes into the list above"


def test_a_function_names_what_it_raises(every: list[Documented]) -> None:
    wrong = [f"{one.where}: {name}" for one in every for name in one.raises if name not in one.text]
    assert wrong == []


@pytest.mark.parametrize(
    ("source", "raises", "verb_first"),
    [
        ("def f():\n    'Do it.'\n    raise ValueError('x')", ("ValueError",), True),
        ("def f():\n    'Do it.'\n    if x:\n        raise KeyError from e", ("KeyError",), True),
        ("def f():\n    'Do it.'\n    def g():\n        raise KeyError", (), True),
        ("def f():\n    'Do it.'\n    raise", (), True),
        ("class C:\n    'A C.'\n    def __init__(self):\n        raise TypeError", ("TypeError",), False),
        (
            "class C:\n    @property\n    def p(self):\n        'The p.'\n        raise TypeError",
            ("TypeError",),
            False,
        ),
    ],
)
def test_the_reader_sees_what_is_raised(source: str, raises: tuple[str, ...], verb_first: bool) -> None:
    (one,) = documented(ast.parse(source), "x.py")
    assert (one.raises, one.verb_first) == (raises, verb_first)
    assert one.text
