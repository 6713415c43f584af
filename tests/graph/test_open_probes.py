"""Functions that look for modules of their package: followed where names are known, asked about where not."""

from __future__ import annotations

import pytest

from .conftest import WalkTree

FORMS_TEXT = """
== an f-string
def has(name): return find_spec(f"pkg.{name}")
A = has("leaf")
== a sum
def has(name): return find_spec("pkg." + name)
A = has(name="leaf")
== a percent sign
def has(name): return find_spec("pkg.%s" % name)
A = has("leaf")
== two of them
def has(name): return find_spec("%s.%s" % (__name__, name))
A = has("leaf")
== format
def has(name): return find_spec("{0}.{1}".format("pkg", name))
A = has("leaf")
== join
def has(name): return find_spec(".".join(["pkg", name]))
A = has("leaf")
== a relative name
def has(name): return find_spec(f".{name}", __package__)
A = has("leaf")
== a name of its own
def has(name):
    whole = f"{__name__}.{name}"
    return find_spec(whole)
A = has("leaf")
== set again
def has(name):
    name = "pkg." + name.lower()
    return find_spec(name)
A = has("leaf")
== a default
def has(name="leaf"): return find_spec(f"pkg.{name}")
A = has()
== a default by keyword
def has(*, name="leaf"): return find_spec(f"pkg.{name}")
A = has()
== one of two
def has(name): return find_spec(f"pkg.{name or 'leaf'}")
A = has("gone")
== a prefix of the module
TOP = "pkg."
def has(name): return find_spec(TOP + name)
A = has("leaf")
== two functions
def top(n): return find_spec("pkg." + n)
def has(n): return top(f"le{n}")
A = has("af")
== a function of another module
from .tools import has
A = has('leaf')
== under another name
from .tools import has as here
A = [here(one) for one in ('leaf',)]
== a loop
def has(name): return find_spec(f"pkg.{name}")
for one in ["leaf"]:
    has(one)
== keys
TABLE = {"leaf": 1}
A = {key: find_spec(f"pkg.{key}") for key in TABLE}
== map
def has(name): return find_spec(f"pkg.{name}")
A = list(map(has, ("leaf",)))
== partial
from functools import partial
def has(x, name): return find_spec(f"pkg.{name}")
A = partial(has, 1, "leaf")()
== a lambda
has = lambda name: find_spec(f"pkg.{name}")
A = has("leaf")
== a function in a function
def use():
    def has(n): return find_spec("pkg." + n)
    return has("leaf")
A = use()
== a method
class Here:
    def has(self, n): return find_spec("pkg." + n)
here = Here()
A = here.has("leaf")
== an older finder
import pkgutil
def has(name): return pkgutil.find_loader("pkg." + name)
A = has("leaf")
== an import that is tried
import importlib
def has(name):
    try: importlib.import_module("pkg.%s" % name)
    except ImportError: return False
    return True
A = has("leaf")
"""
FORMS = {head: text for head, _, text in (one.partition("\n") for one in FORMS_TEXT.split("== ")[1:])}
TREE = """
== other/__init__.py
== other/part.py
== pkg/leaf.py
import pkg.more
== pkg/more.py
== pkg/other.py
== pkg/tools.py
from importlib.util import find_spec
def has(name): return find_spec(f"{__package__}.{name}")
"""


def walked(walk_tree: WalkTree, text: str):
    head = "== pkg/__init__.py\nfrom importlib.util import find_spec\n"
    return walk_tree(f"{head}{text}\n{TREE}", is_own=lambda name: name.partition(".")[0] == "pkg")


@pytest.mark.parametrize("text", FORMS.values(), ids=FORMS)
def test_what_a_function_is_given_is_followed_and_nothing_is_asked(walk_tree: WalkTree, text: str) -> None:
    found = walked(walk_tree, text)
    assert {"pkg.leaf", "pkg.more"} <= set(found.followed)
    assert "pkg.other" not in found.followed
    assert [one.text for one in found.walk.questions() if one.kind == "probe"] == []


OPEN = {
    "a name from outside": (
        'import os\ndef has(name): return find_spec(f"pkg.{name}")\nA = has(os.environ["NAME"])',
        "pkg/__init__.py:4",
        "has(os.environ['NAME'])",
    ),
    "one of two is unknown": (
        'def has(name): return find_spec("pkg." + name)\nA = has("leaf"), has(input())',
        "pkg/__init__.py:3",
        "has(input())",
    ),
    "in a loop": (
        'A = [find_spec("pkg.%s" % one) for one in input().split()]',
        "pkg/__init__.py:2",
        "find_spec('pkg.%s' % one)",
    ),
    "more than is written": (
        'def has(name): return find_spec("pkg." + name)\nA = has(*input())',
        "pkg/__init__.py:3",
        "has(*input())",
    ),
    "handed around": (
        'def has(name): return find_spec("pkg." + name)\nTESTS = {"x": has}\nA = has("leaf")',
        "pkg/__init__.py:2:has",
        "find_spec('pkg.' + name)",
    ),
    "more than is written, further on": (
        'def has(x, name): return find_spec("pkg." + name)\nA = has(*input())',
        "pkg/__init__.py:3",
        "has(*input())",
    ),
    "called by nothing that is seen": (
        'class Here:\n    def __init__(self, n): self.found = find_spec(f"{__name__}.{n}")\nA = Here("leaf")',
        "pkg/__init__.py:3:Here.__init__",
        "find_spec(f'{__name__}.{n}')",
    ),
    "through two functions": (
        'def top(n): return find_spec("pkg." + n)\ndef has(n): return top(n)\nA = has(input())',
        "pkg/__init__.py:4",
        "has(input())",
    ),
}


@pytest.mark.parametrize(("text", "place", "told"), OPEN.values(), ids=OPEN)
def test_a_name_that_is_not_known_is_a_question_where_it_is_given(
    walk_tree: WalkTree, text: str, place: str, told: str
) -> None:
    found = walked(walk_tree, text)
    (asked,) = found.walk.questions()
    assert (asked.id, asked.text, asked.pattern, asked.kind) == (place, told, "pkg.*", "probe")
    names = {one.name for one in asked.candidates}
    assert {"pkg.other"} <= names <= {"pkg.leaf", "pkg.more", "pkg.other", "pkg.tools"}
    found.walk.answer(asked.id, "all")
    found.walk.run()
    assert names <= set(found.walk.modules)
    assert (found.walk.questions(), found.walk.unused_answers, found.walk.empty_answers) == ((), (), ())


def test_a_name_of_which_nothing_is_known_has_no_candidates(walk_tree: WalkTree) -> None:
    found = walked(walk_tree, "def has(name): return find_spec(name)\nA = has(input())")
    (asked,) = found.walk.questions()
    assert (asked.id, asked.pattern, asked.candidates) == ("pkg/__init__.py:3", "", ())
    found.walk.answer(asked.id, "none")
    found.walk.run()
    assert found.walk.questions() == ()


NOT_OPEN = {
    "a function that does not run": 'def unused(name): return find_spec("pkg." + name)\n__all__ = []',
    "names of another package": 'A = find_spec("json." + input())',
    "names of a package that is left out": 'A = find_spec("other." + input())',
    "all of them are in": 'from . import leaf, more, other, tools\nA = find_spec(f"pkg.{input()}")',
}


@pytest.mark.parametrize("text", NOT_OPEN.values(), ids=NOT_OPEN)
def test_where_nothing_can_be_missing_nothing_is_asked(walk_tree: WalkTree, text: str) -> None:
    assert walked(walk_tree, text).walk.questions() == ()
