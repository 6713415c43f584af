"""Attributes of a lazy package by a name that is drawn from a literal: whatever stands there is asked for."""

from __future__ import annotations

import pytest

from .conftest import WalkTree

LAZY = """
== pkg/__init__.py
from . import user
== pkg/auto/__init__.py
import sys
from types import ModuleType

class Lazy(ModuleType):
    def __init__(self, name, table):
        super().__init__(name)
        self._table = table
    def __getattr__(self, name):
        return load(self._table[name])

sys.modules[__name__] = Lazy(__name__, {"images": ["IMAGES"], "texts": ["TEXTS"], "sounds": ["SOUNDS"]})
== pkg/auto/images.py
IMAGES = {}
== pkg/auto/texts.py
TEXTS = {}
== pkg/auto/sounds.py
SOUNDS = {}
== pkg/user.py
"""


def reached(walk_tree: WalkTree, text: str) -> list[str]:
    walked = walk_tree(LAZY + text)
    return [name.removeprefix("pkg.auto.") for name in walked.followed if name.startswith("pkg.auto.")]


DRAWN = {
    "a text beside another one in the values of a dict": """
PLACES = {"image": ("images", "IMAGES"), "text": ("texts", "TEXTS")}
def find(kind):
    from pkg import auto
    return getattr(getattr(auto, PLACES[kind][0]), PLACES[kind][1])
found = find(KIND)
""",
    "a default": """
from pkg import auto
PLACES: dict[str, str] = {"image": "images"}
found = getattr(auto, PLACES.get(kind, "texts"))
""",
    "a variable that is set once": """
from pkg import auto
PLACES = ["images", "texts"]
def find(number):
    name = PLACES[number]
    return getattr(auto, name, None)
find(1)
""",
    "a loop over a literal": """
import pkg.auto
for name in ("images", "texts"):
    getattr(pkg.auto, name)
""",
    "a loop over the values of a dict": """
import pkg.auto as auto
PLACES = {"sounds": "images", "image": "texts"}
def find():
    for name in PLACES.values():
        yield getattr(auto, name)
every = list(find())
""",
    "names that a module in between gives": """
from pkg import auto
PLACES = {"image": "IMAGES", "text": "TEXTS"}
found = getattr(auto, PLACES[kind])
""",
}


@pytest.mark.parametrize("text", DRAWN.values(), ids=DRAWN)
def test_what_the_literal_holds_there_is_followed(walk_tree: WalkTree, text: str) -> None:
    assert reached(walk_tree, text) == ["images", "texts"]


NOT_DRAWN = {
    "a literal that is set twice": """
from pkg import auto
PLACES = {"image": "images"}
PLACES = load()
getattr(auto, PLACES["image"])
""",
    "a variable that is set twice": """
from pkg import auto
def find(kind):
    name = "images"
    name = kind
    return getattr(auto, name)
find(KIND)
""",
    "a key": """
from pkg import auto
PLACES = {"images": "IMAGE"}
getattr(auto, PLACES[kind])
""",
    "another place of a pair": """
from pkg import auto
PLACES = {"image": ("image", "images")}
getattr(auto, PLACES[kind][0])
""",
    "a function that nothing calls": """
from pkg import auto
def _find():
    return getattr(auto, ["images"][0])
""",
}


@pytest.mark.parametrize("text", NOT_DRAWN.values(), ids=NOT_DRAWN)
def test_nothing_else_is(walk_tree: WalkTree, text: str) -> None:
    assert reached(walk_tree, text) == []


def test_a_long_table_is_no_list_of_names(walk_tree: WalkTree) -> None:
    table = {f"name{number}": "images" if number == 7 else f"other{number}" for number in range(300)}
    assert reached(walk_tree, f"from pkg import auto\nPLACES = {table}\ngetattr(auto, PLACES[kind])\n") == []
