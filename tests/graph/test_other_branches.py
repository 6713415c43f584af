"""Modules of branches of the project that do not run here, for what is installed: they go where they can."""

from __future__ import annotations

import pytest

from .conftest import WalkTree

TREE = """
== lib.py
== pkg/slow.py
import json
from . import deeper
== pkg/deeper.py
DEEP = 1
def later():
    from .deepest import X
    return X
== pkg/deepest.py
X = 1
== pkg/asking.py
import importlib
def find(name): return importlib.import_module(name)
== pkg/reading.py
TEXT = open("words.txt").read()
== pkg/wanting.py
import absent
== pkg/other_lib.py
import unknown_lib
== unknown_lib.py
== pkg/broken.py
def (
"""

TAKEN = {
    "what a handler imports": "try:\n    import lib\nexcept ImportError:\n    from . import slow\n",
    "what another test leaves out": """
from importlib.util import find_spec
if find_spec("lib"):
    A = 1
else:
    from .slow import json
""",
    "what comes behind an absent module": """
try:
    import absent
    from . import slow
except ImportError:
    pass
""",
    "an else": "try:\n    import absent\nexcept ImportError:\n    pass\nelse:\n    import pkg.slow\n",
    "a flag": """
try:
    import absent
    HAS_ABSENT = True
except ImportError:
    HAS_ABSENT = False
if HAS_ABSENT:
    from .slow import deeper as d
""",
}
LEFT = {
    "what computes imports": "asking",
    "what opens a file": "reading",
    "what wants an absent module": "wanting",
    "what wants a distribution": "other_lib",
    "what cannot be parsed": "broken",
    "what is not there": "nothing",
}
NEVER = {
    "what only type checkers see": "if TYPE_CHECKING:\n    from . import slow\n",
    "what a script imports": "if __name__ == '__main__':\n    from . import slow\n",
    "what another system imports": "import sys\nif sys.platform == 'none':\n    from . import slow\n",
    "what a function imports that does not run": "def unused():\n    from . import slow\n__all__ = []\n",
}


def followed(walk_tree: WalkTree, text: str, *, own: bool = True) -> list[str]:
    walked = walk_tree(
        f"== pkg/__init__.py\n{text}{TREE}",
        is_own=lambda name: own and name.partition(".")[0] == "pkg",
        takes_in=lambda name: name.partition(".")[0] == "pkg",
    )
    assert walked.reasons() == []
    return [name for name in walked.followed if name != "pkg"]


@pytest.mark.parametrize("text", TAKEN.values(), ids=TAKEN)
def test_the_modules_of_the_other_branch_go_along_with_what_they_need(walk_tree: WalkTree, text: str) -> None:
    assert followed(walk_tree, text) == ["pkg.deeper", "pkg.deepest", "pkg.slow"]


@pytest.mark.parametrize("name", LEFT.values(), ids=LEFT)
def test_what_would_bring_something_else_stays(walk_tree: WalkTree, name: str) -> None:
    text = f"try:\n    import lib\nexcept ImportError:\n    from .{name} import Y\n"
    assert followed(walk_tree, text) == []


@pytest.mark.parametrize("text", NEVER.values(), ids=NEVER)
def test_what_hangs_on_nothing_that_is_installed_stays(walk_tree: WalkTree, text: str) -> None:
    assert followed(walk_tree, text) == []


def test_libraries_bring_no_other_branches(walk_tree: WalkTree) -> None:
    assert followed(walk_tree, TAKEN["an else"], own=False) == []
