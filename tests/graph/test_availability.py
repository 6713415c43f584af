"""Functions that say whether a library is here: what they answer is read off what they do."""

from __future__ import annotations

import ast

import pytest

from packager.graph.availability import availability

from .conftest import WalkTree

HEAD = "import importlib.metadata\nfrom functools import lru_cache\nfrom importlib.util import find_spec\n"


def answered(walk_tree: WalkTree, function: str, here: str = "") -> list[str]:
    """Return which of the branches `yes` and `no` of `if is_thing_available():` are followed."""
    files = "".join(f"== {name}.py\n" for name in here.split())
    lines = f"{HEAD}\n{function}"
    walked = walk_tree(
        f"== pkg/__init__.py\nfrom .utils import is_thing_available\nif is_thing_available():\n"
        f"    from . import yes\nelse:\n    from . import no\n"
        f"== pkg/utils.py\n{lines}\n== pkg/yes.py\n== pkg/no.py\n{files}"
    )
    return [name.removeprefix("pkg.") for name in walked.followed if name in ("pkg.yes", "pkg.no")]


TRIES_TO_IMPORT = """
@lru_cache
def is_thing_available():
    try:
        import imaging.core
        return True
    except ImportError:
        return False
"""


def test_a_module_of_the_project_that_is_called_like_the_thing_is_not_what_is_looked_for(
    walk_tree: WalkTree,
) -> None:
    assert answered(walk_tree, TRIES_TO_IMPORT, "thing") == ["no"]
    assert answered(walk_tree, TRIES_TO_IMPORT, "thing imaging/core imaging/__init__") == ["yes"]


ABSENT = {
    "a cached function that asks for a version and a spec": """
@lru_cache
def is_thing_available():
    if find_spec("absent") is None:
        return False
    return importlib.metadata.version("absent") >= "1.0"
""",
    "the version of a distribution that is not here": """
def is_thing_available():
    try:
        importlib.metadata.version("absent")
    except importlib.metadata.PackageNotFoundError:
        return False
    return True
""",
    "one of a pair": """
def is_thing_available(min_version="2"):
    found, version = is_package_available("absent", return_version=True)
    return found and version >= min_version
""",
    "the first of a pair": "def is_thing_available(): return is_package_available('absent')[0] and check()",
    "a name for a spec": """
def is_thing_available():
    spec = find_spec("absent")
    return spec is not None
""",
    "an import that nothing catches": """
def is_thing_available():
    if not is_package_available("absent"):
        return False
    import absent
    return hasattr(absent, "thing")
""",
    "another such function": """
def is_thing_available(): return is_other_available() and compute()
def is_other_available(): return is_package_available("absent")
""",
    "the import in an else": """
def is_thing_available():
    try:
        import absent
    except ImportError:
        return False
    else:
        return absent.works()
""",
}


@pytest.mark.parametrize("function", ABSENT.values(), ids=ABSENT)
def test_what_needs_an_absent_library_is_false(walk_tree: WalkTree, function: str) -> None:
    assert answered(walk_tree, function) == ["no"]


UNKNOWN = {
    "either of two, where one is absent": """
def is_thing_available(): return is_package_available("absent")[0] or compute()
""",
    "one of two branches": """
def is_thing_available():
    if is_package_available("absent"):
        return True
    return compute()
""",
    "a call that may fail": """
def is_thing_available():
    try:
        run("thing --version")
    except Exception:
        return False
    else:
        return True
""",
    "a loop": """
def is_thing_available():
    for name in NAMES:
        if is_package_available("absent"):
            return False
    return True
""",
    "an argument": "def is_thing_available(absent=None): return absent",
    "a library that is here, and a version of it": """
def is_thing_available():
    import imaging
    return imaging.version >= "2"
""",
}


@pytest.mark.parametrize("function", UNKNOWN.values(), ids=UNKNOWN)
def test_what_cannot_be_told_is_followed_both_ways(walk_tree: WalkTree, function: str) -> None:
    assert answered(walk_tree, function, "imaging") == ["no", "yes"]


def test_either_of_two_is_true_where_the_other_one_is_here(walk_tree: WalkTree) -> None:
    function = (
        "def is_thing_available(): return find_spec('absent') is not None or is_package_available('imaging')"
    )
    assert answered(walk_tree, function, "imaging") == ["yes"]


def test_a_library_that_is_looked_for_by_its_name_and_is_here_is_taken_to_do(walk_tree: WalkTree) -> None:
    function = """
def is_thing_available():
    found, version = is_package_available("thing", return_version=True)
    return found and version >= "2"
"""
    assert answered(walk_tree, function) == ["no"]
    assert answered(walk_tree, function, "thing") == ["yes"]


def test_a_function_of_another_name_is_not_read_and_a_long_one_says_nothing() -> None:
    def read(text: str) -> object:
        (node,) = ast.parse(text).body
        assert isinstance(node, ast.FunctionDef)
        return availability(node)

    assert read("def thing(): return find_spec('absent')") is None
    assert read("def is_thing(): return find_spec('absent')") == (("find", "absent"), ("absent",))
    lines = "\n".join(f"    a{number} = {number}" for number in range(40))
    assert read(f"def is_thing():\n{lines}\n    return find_spec('absent')") == (None, ())
