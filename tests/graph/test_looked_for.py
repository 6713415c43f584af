"""What the project's code looks for without importing it, read off its text: names computed and handed on."""

from __future__ import annotations

import pytest

from .conftest import WalkTree

OTHERS = """
== aside.py
== pkg/tables.py
NAMES = ["aside"]
OTHER = {"x": (1, "aside")}
== pkg/tools.py
from importlib.metadata import version as version_of
from importlib.util import find_spec
def is_here(label, *, module):
    return find_spec(module) is not None
def told(dist_name):
    return version_of(dist_name)
def through(name):
    return told(name.replace("_", "-"))
"""

MODULES = {
    "a function of its own": """
from importlib.util import find_spec
def present(name): return find_spec(name) is not None
A = present("aside")
""",
    "by keyword, from another module": 'from .tools import is_here as ih\nA = ih("x", module="aside")\n',
    "through a module": 'from . import tools\nA = tools.is_here("x", module="aside")\n',
    "drawn in a loop": """
import importlib.util
for one in ("aside",):
    importlib.util.find_spec(one)
""",
    "drawn from the keys of a table": """
import importlib.util as iu
NEEDS = {"aside": "1.0"}
FOUND = {key: iu.find_spec(key) is not None for key in NEEDS}
""",
    "drawn from a table of another module": """
from importlib.util import find_spec
from .tables import NAMES as names, OTHER
A = [find_spec(one) for one in names]
B = [find_spec(entry[1]) for entry in OTHER.values()]
""",
    "drawn from pairs": """
from importlib.util import find_spec as fs
for label, name in [("one", "aside")]:
    fs(name)
""",
    "handed to map": """
from importlib.util import find_spec
def present(name): return bool(find_spec(name))
A = any(map(present, ["aside"]))
""",
    "a method": """
from importlib.util import find_spec
class Here:
    def has(self, name): return find_spec(name) is not None
A = Here().has("aside") if False else None
here = Here()
B = here.has("aside")
""",
    "an import that is tried": """
import importlib
def can(name):
    try:
        importlib.import_module(name)
    except ImportError:
        return False
    return True
A = can("aside")
""",
    "a lambda": 'import importlib.util\nhas = lambda n: importlib.util.find_spec(n)\nA = has("aside")\n',
    "a decorator": """
from importlib.util import find_spec
def needs(name):
    def decorate(function):
        if find_spec(name) is None: raise ImportError(name)
        return function
    return decorate
@needs("aside")
def run(): pass
""",
}

DISTRIBUTIONS = {
    "by name": 'from importlib.metadata import version\nA = version("my-dist")\n',
    "under another name": 'from importlib import metadata as md\nA = md.distribution("my-dist")\n',
    "by the backport": 'import importlib_metadata\nA = importlib_metadata.version("my-dist")\n',
    "of the class": 'from importlib.metadata import Distribution as D\nA = D.from_name("my-dist")\n',
    "through two functions": 'from .tools import through\nA = through("my-dist")\n',
    "in a loop": """
from importlib.metadata import version, PackageNotFoundError
def versions():
    found = {}
    for label, (name, least) in {"x": ("my-dist", "1")}.items():
        pass
    for name in ("my-dist",):
        try: found[name] = version(name)
        except PackageNotFoundError: pass
    return found
A = versions()
""",
    "in a function that runs": 'import importlib.metadata\nA = importlib.metadata.version("my-dist")\n',
}


def looked_for(walk_tree: WalkTree, text: str) -> list[tuple[str, str]]:
    walked = walk_tree(
        f"== pkg/__init__.py\n{text}{OTHERS}",
        leaves_out=lambda name: name == "aside",
        is_own=lambda name: name.partition(".")[0] == "pkg",
    )
    reached = [edge.target for edge in walked.walk.edges if edge.kind == "probe"]
    probes = [(one.kind, one.name) for one in walked.walk.probes]
    assert reached == [name for kind, name in probes if kind == "module" and name == "aside"][: len(reached)]
    return list(dict.fromkeys(probes))


@pytest.mark.parametrize("text", MODULES.values(), ids=MODULES)
def test_a_module_that_is_looked_for_by_a_name_from_elsewhere_is_reached(
    walk_tree: WalkTree, text: str
) -> None:
    assert looked_for(walk_tree, text) == [("module", "aside")]


@pytest.mark.parametrize("text", DISTRIBUTIONS.values(), ids=DISTRIBUTIONS)
def test_a_distribution_that_is_asked_for_is_noted(walk_tree: WalkTree, text: str) -> None:
    assert looked_for(walk_tree, text) == [("distribution", "my-dist")]


NOTHING = {
    "a method of the same name elsewhere": 'A = finder.version("my-dist")\n',
    "a function that does not run": """
from .tools import told
def unused(): return told("my-dist")
__all__ = []
""",
    "another argument": 'from .tools import is_here\nA = is_here("aside", module=unknown)\n',
    "what only type checkers run": """
from importlib.metadata import version
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    version("my-dist")
""",
    "a script": """
from importlib.metadata import version
if __name__ == "__main__":
    version("my-dist")
""",
    "a computed name": 'from importlib.metadata import version\nA = version("my" + input())\n',
    "a function that only passes it on": 'def f(name): return print(name)\nA = f("aside")\n',
}


@pytest.mark.parametrize("text", NOTHING.values(), ids=NOTHING)
def test_nothing_is_noted(walk_tree: WalkTree, text: str) -> None:
    assert looked_for(walk_tree, text) == []


def test_functions_that_call_each_other_end(walk_tree: WalkTree) -> None:
    text = """
from importlib.util import find_spec
def one(name): return two(name)
def two(name): return one(name) or find_spec(name)
A = one("aside")
"""
    assert looked_for(walk_tree, text) == [("module", "aside")]


def test_of_code_of_others_nothing_is_noted(walk_tree: WalkTree) -> None:
    text = "== pkg/__init__.py\nfrom importlib.metadata import version\nA = version('my-dist')\n"
    assert walk_tree(text).walk.probes == ()
