"""What stored code looks for with `find_spec`, without importing it."""

from __future__ import annotations

import pytest

from .conftest import WalkTree

OTHERS = """
== other.py
== apart/__init__.py
== apart/part.py
"""

LOOKS = {
    "the whole name": "import importlib.util\nHAS = importlib.util.find_spec('other') is not None\n",
    "a name from the library": "from importlib.util import find_spec\nHAS = bool(find_spec('other'))\n",
    "a name from importlib": "from importlib import util\nif util.find_spec('other'):\n    HAS = True\n",
    "in a try": """
from importlib.util import find_spec
try:
    find_spec("other")
except ValueError:
    pass
""",
    "in a function that runs": """
import importlib.util
def look():
    return importlib.util.find_spec("other")
look()
""",
    "in a method of a class that is made": """
from importlib.util import find_spec
class Net:
    def __init__(self):
        self.has = find_spec("other") is not None
""",
    "an older function": "import pkgutil\nHAS = pkgutil.find_loader('other')\n",
}


def probed(walk_tree: WalkTree, text: str) -> list[tuple[str, int]]:
    walked = walk_tree(f"== pkg/__init__.py\n{text}{OTHERS}", leaves_out=lambda name: name != "apart")
    return [(edge.target, edge.line) for edge in walked.walk.edges if edge.kind == "probe"]


@pytest.mark.parametrize("text", LOOKS.values(), ids=LOOKS)
def test_a_module_that_is_looked_for_is_reached(walk_tree: WalkTree, text: str) -> None:
    lines = text.replace("'", '"').splitlines()
    line = 1 + next(number for number, one in enumerate(lines) if '"other"' in one)
    assert probed(walk_tree, text) == [("other", line)]


OWN = {
    "the whole name": "HAS = find_spec('pkg.deep.leaf') is not None",
    "in a function": "def has():\n    return find_spec('pkg.deep.leaf') is not None",
    "below its own name": "HAS = find_spec(__name__ + '.deep.leaf') is not None",
    "an f-string": "HAS = find_spec(f'{__package__}.deep.leaf') is not None",
    "a relative name": "HAS = find_spec('.deep.leaf', __name__) is not None",
    "a relative name of a keyword": "HAS = find_spec('.deep.leaf', package=__package__) is not None",
    "names of a loop": "HAS = [n for n in ('leaf', 'gone') if find_spec(f'{__name__}.deep.{n}')]",
    "relative names of a loop": "for n in ('gone', 'leaf'):\n    find_spec('.deep.' + n, __package__)",
}


@pytest.mark.parametrize("text", OWN.values(), ids=OWN)
def test_a_module_of_the_own_package_that_is_looked_for_is_followed(walk_tree: WalkTree, text: str) -> None:
    tree = "== pkg/deep/__init__.py\n== pkg/deep/leaf.py\nimport pkg.deep.more\n== pkg/deep/more.py\n"
    walked = walk_tree(
        f"== pkg/__init__.py\nfrom importlib.util import find_spec\n{text}\n{tree}", is_own=lambda name: True
    )
    assert walked.followed == ["pkg", "pkg.deep", "pkg.deep.leaf", "pkg.deep.more"]
    (edge,) = (edge for edge in walked.walk.edges if edge.target == "pkg.deep.leaf")
    assert (edge.kind, edge.importer) == ("probe", "pkg")


UNSEEN = {
    "what is absent": "find_spec('no_such_thing_anywhere')",
    "what is part of Python": "find_spec('json')",
    "the package itself": "find_spec('pkg')",
    "what would be stored": "find_spec('apart')",
    "a module in a package": "find_spec('other.part')",
    "a name that nothing tells": "find_spec('oth' + input())",
    "what lies above the top": "find_spec('...other', __package__)",
    "a finder's method": "finder.find_spec('other')",
    "a function that does not run": "def unused():\n    return find_spec('other')",
    "what only type checkers run": "if TYPE_CHECKING:\n    find_spec('other')",
}


@pytest.mark.parametrize("text", UNSEEN.values(), ids=UNSEEN)
def test_nothing_is_reached_for(walk_tree: WalkTree, text: str) -> None:
    beside = "from importlib.util import find_spec\nfrom typing import TYPE_CHECKING\n__all__ = []\n"
    assert probed(walk_tree, f"{beside}{text}\n") == []


def test_what_no_rule_leaves_to_the_target_is_not_even_decided(walk_tree: WalkTree) -> None:
    walked = walk_tree(
        f"== pkg/__init__.py\nfrom importlib.util import find_spec\nHAS = find_spec('other')\n{OTHERS}"
    )
    assert "other" not in dict(walked.asked)
