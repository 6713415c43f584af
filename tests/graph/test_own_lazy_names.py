"""A lazy package that asks itself for its own lazy names, and helpers that import what they are given."""

from __future__ import annotations

import pytest

from .conftest import WalkTree

LAZY = """
== pkg/a.py
A = 1
== pkg/b.py
B = 2
== pkg/c.py
C = 3
== pkg/__init__.py
import sys
from importlib import import_module

_TABLE = {"A": "a", "B": "b", "C": "c"}

def __getattr__(name):
    if name in _TABLE:
        return getattr(import_module("." + _TABLE[name], __name__), name)
    raise AttributeError(name)
"""

ASKED = {
    "sys.modules, kept in a variable": """
def both():
    me = sys.modules[__name__]
    return me.A, getattr(me, "B")
""",
    "sys.modules, kept by the module": """
_me = sys.modules[__name__]
def both():
    return _me.A, _me.B
""",
    "sys.modules at once": """
def both():
    return sys.modules[__name__].A, getattr(sys.modules[__name__], "B")
""",
    "its own name": """
def both():
    import pkg
    return pkg.A, pkg.B
""",
    "its own name, at the top": """
import pkg as me
def both():
    return me.A, getattr(me, "B", None)
""",
    "an import of the name": """
def both():
    from . import A
    from pkg import B
    return A, B
""",
}


@pytest.mark.parametrize("text", ASKED.values(), ids=ASKED)
def test_a_lazy_package_that_asks_itself_gets_what_it_asks_for(walk_tree: WalkTree, text: str) -> None:
    walked = walk_tree(LAZY + text, "pkg:both")
    assert walked.followed == ["pkg", "pkg.a", "pkg.b"]


def test_a_bare_name_and_another_module_of_the_process_are_no_requests(walk_tree: WalkTree) -> None:
    text = """
def both(name, A=None, B=None):
    sys.modules[name].A
    sys.modules["json"].B
    return C
"""
    assert walk_tree(LAZY + text, "pkg:both").followed == ["pkg"]


def test_replacing_itself_is_no_request(walk_tree: WalkTree) -> None:
    assert walk_tree(LAZY + "sys.modules[__name__] = make()\n", "pkg:absent").followed == ["pkg"]


STUB = """
== pkg/__init__.py
import lazy_loader as lazy
__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
== pkg/__init__.pyi
from . import a as a
from .b import B as B, C
from .deep.d import D
== pkg/a.py
== pkg/b.py
B = C = 1
== pkg/deep/__init__.py
== pkg/deep/d.py
D = 1
== pkg/deep/e.py
== pkg/deep/__init__.pyi
from .e import E
== lazy_loader.py
== pkg/user.py
"""


@pytest.mark.parametrize(
    ("text", "followed"),
    [
        ("import pkg\npkg.B\n", ["pkg.b"]),
        ("from pkg import D\n", ["pkg.deep", "pkg.deep.d"]),
        ("from . import a\n", ["pkg.a"]),
        ("from pkg import *\n", ["pkg.a", "pkg.b", "pkg.deep", "pkg.deep.d"]),
        ("import pkg.deep\npkg.deep.E\n", ["pkg.deep"]),
    ],
)
def test_a_table_is_read_from_the_stub_that_the_package_reads(
    walk_tree: WalkTree, text: str, followed: list[str]
) -> None:
    walked = walk_tree(STUB + text, "pkg.user")
    assert walked.followed == sorted(["pkg", "pkg.user", *followed])
    files = [(file.resource, file.kind, file.because) for file in walked.walk.data_files("pkg")]
    assert files == [("__init__.pyi", "found", "pkg/__init__.py")]


def test_a_stub_that_is_not_there_is_no_table(walk_tree: WalkTree) -> None:
    text = STUB.replace("__init__.pyi", "other.pyi") + "import pkg\npkg.B\n"
    walked = walk_tree(text, "pkg.user")
    assert (walked.followed, walked.walk.data_files("pkg")) == (["pkg", "pkg.user"], ())


HELPER = """
== pkg/__init__.py
== pkg/tools.py
from importlib import import_module

def optional(name, default=None):
    try:
        return import_module(name)
    except ImportError:
        return default
== pkg/a.py
== pkg/b.py
== pkg/c.py
== other.py
== pkg/user.py
"""
GIVEN = {
    "by its name": """
from .tools import optional
a, b = optional("pkg.a"), optional(name="pkg.b")
""",
    "as an attribute": """
from pkg import tools
from . import tools as helpers
a, b = tools.optional("pkg.a"), helpers.optional(__package__ + ".b")
""",
    "behind a comment": """
from .tools import optional
a = (optional  # (by its name)
)("pkg.a")
b = optional ("pkg.b")
""",
}


@pytest.mark.parametrize("text", GIVEN.values(), ids=GIVEN)
def test_a_function_that_imports_is_followed_to_what_it_is_given(walk_tree: WalkTree, text: str) -> None:
    text += "absent, o, json = map(make, ('pkg.c', 'x')), tools_of('pkg.c'), self.optional('pkg.c')\n"
    walked = walk_tree(HELPER + text, "pkg.user")
    assert walked.followed == ["pkg", "pkg.a", "pkg.b", "pkg.tools", "pkg.user"]
    assert [question.function for question in walked.walk.questions()] == ["optional"]


def test_a_row_of_hashes_behind_a_name_is_passed_at_once(walk_tree: WalkTree) -> None:
    text = f"from .tools import optional\noptional  {'#' * 200}\na = optional('pkg.a')\n"
    assert "pkg.a" in walk_tree(HELPER + text, "pkg.user").followed


def test_a_function_is_not_followed_to_other_packages_that_it_is_given(walk_tree: WalkTree) -> None:
    text = "from .tools import optional\no, n = optional('other'), optional('pkg.absent')\n"
    walked = walk_tree(HELPER + text, "pkg.user")
    assert [name for name, _ in walked.asked if not name.startswith("pkg")] == ["importlib"]


def test_a_module_that_is_reached_later_is_asked_what_it_gives(walk_tree: WalkTree) -> None:
    text = """
from .tools import optional
a = optional("pkg.a")
== pkg/a.py
from .tools import optional
b = optional("pkg.b")
"""
    assert "pkg.b" in walk_tree(HELPER + text, "pkg.user").followed
