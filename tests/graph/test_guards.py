"""Guards have three values, and each answer is a fact about this environment."""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Callable
from typing import Any

import pytest

from packager.graph.blocks import evaluate
from packager.graph.idioms import UNKNOWN, read_test
from tests.tables import one_test

WalkTree = Callable[..., Any]


def truth(test: str) -> bool | None:
    return evaluate(read_test(ast.parse(test, mode="eval").body), lambda form, name: (None, ""))[0]


@one_test
@pytest.mark.parametrize(
    ("test", "value"),
    [
        ("sys.version_info >= (3, 8)", True),
        ("sys.version_info < (3, 8)", False),
        ("sys.version_info[0] == 2", False),
        ("sys.version_info[:2] > (3, 0)", True),
        ("sys.version_info.major >= 3", True),
        (f"sys.platform == {sys.platform!r}", True),
        ("sys.platform.startswith('no-such')", False),
        ("sys.platform in ('no-such', 'other')", False),
        (f"os.name != {os.name!r}", False),
        ("TYPE_CHECKING", False),
        ("not TYPE_CHECKING and sys.version_info >= (3,)", True),
        ("False or sys.version_info[0] == 2", False),
        ("something() and sys.version_info[0] == 2", False),
        ("something() or sys.version_info[0] == 3", True),
        ("something() and sys.version_info[0] == 3", None),
        ("something()", None),
        ("version >= 3", None),
        ("sys.version_info >= version", None),
        ("0", False),
    ],
)
def test_a_test_is_true_false_or_cannot_be_told(test: str, value: bool | None) -> None:
    assert truth(test) is value


def test_a_test_without_anything_to_read_is_unknown() -> None:
    assert read_test(ast.parse("a(1) < b", mode="eval").body) == UNKNOWN


def test_an_absent_import_ends_its_try_and_runs_the_handler(walk_tree: WalkTree) -> None:
    walked = walk_tree(
        """
        == pkg/__init__.py
        try:
            import no_such_thing
            from . import fast
        except ImportError:
            from . import slow
        else:
            from . import after
        == pkg/fast.py
        == pkg/slow.py
        == pkg/after.py
        """
    )
    assert walked.followed == ["pkg", "pkg.slow"]
    assert [name for name, _ in walked.asked] == ["pkg", "pkg.slow"]
    absent = walked.edge("pkg", "no_such_thing")
    assert (absent.followed, absent.because, absent.kind) == (False, "no no_such_thing here", "try")
    (fact,) = walked.walk.facts
    assert (fact.file, fact.line, fact.guard, fact.value) == (
        "pkg/__init__.py", 1, "import no_such_thing", False
    )  # fmt: skip


def test_when_every_import_is_there_the_handler_is_dead(walk_tree: WalkTree) -> None:
    walked = walk_tree(
        """
        == pkg/__init__.py
        try:
            import other
            from . import fast
        except ImportError:
            from . import slow
        == pkg/fast.py
        == pkg/slow.py
        == other.py
        """.replace("            from . import fast\n", "")
    )
    assert walked.followed == ["pkg"]
    (fact,) = walked.walk.facts
    assert (fact.guard, fact.value, fact.because) == ("import other", True, "other is here")


def test_an_import_of_the_own_package_may_fail_so_its_handler_is_followed(walk_tree: WalkTree) -> None:
    walked = walk_tree(
        """
        == pkg/__init__.py
        try:
            from . import fast
        except ImportError:
            from . import slow
        == pkg/fast.py
        import no_such_thing
        == pkg/slow.py
        """
    )
    assert walked.followed == ["pkg", "pkg.fast", "pkg.slow"]


def test_a_name_that_is_not_seen_in_a_module_leaves_the_handler_open(walk_tree: WalkTree) -> None:
    walked = walk_tree(
        """
        == pkg/__init__.py
        try:
            from other import new_name
            from . import new
        except ImportError:
            from . import old
        == pkg/new.py
        == pkg/old.py
        == other.py
        globals()["new_" + "name"] = 1
        """
    )
    assert walked.followed == ["pkg", "pkg.new", "pkg.old"]


def test_suppress_is_a_try(walk_tree: WalkTree) -> None:
    walked = walk_tree(
        """
        == pkg/__init__.py
        import contextlib
        with contextlib.suppress(ImportError):
            import no_such_thing
            from . import extra
        == pkg/extra.py
        """
    )
    assert walked.followed == ["pkg"]


AVAILABLE = """
== pkg/__init__.py
from .utils import is_other_available, is_absent_available, is_odd_available, HAS_OTHER, HAS_ABSENT
if is_other_available():
    from . import a
else:
    from . import not_a
if is_absent_available():
    from . import b
if is_odd_available():
    from . import c
else:
    from . import not_c
if HAS_OTHER:
    from . import d
if not HAS_ABSENT:
    from . import e
else:
    from . import not_e
== pkg/utils.py
import importlib.util
def is_other_available(): return _is_package_available("other")
def is_absent_available(): return _absent_available
_absent_available, _version = _is_package_available("absent")
def is_odd_available(): return bool(compute())
try:
    import other
    HAS_OTHER = True
except ImportError:
    HAS_OTHER = False
HAS_ABSENT = importlib.util.find_spec("absent") is not None
== pkg/a.py
== pkg/b.py
== pkg/c.py
== pkg/d.py
== pkg/e.py
== pkg/not_a.py
== pkg/not_c.py
== pkg/not_e.py
== other.py
"""


def test_availability_is_read_off_the_listing(walk_tree: WalkTree) -> None:
    walked = walk_tree(AVAILABLE)
    assert walked.followed == ["pkg", "pkg.a", "pkg.c", "pkg.d", "pkg.e", "pkg.not_c", "pkg.utils"]
    facts = {fact.guard: (fact.value, fact.because) for fact in walked.walk.facts}
    assert facts["is_other_available()"] == (True, "other is here")
    assert facts["is_absent_available()"] == (False, "no absent here")
    assert facts["not HAS_ABSENT"] == (True, "no absent here")
    assert "is_odd_available()" not in facts


def test_guards_all_follows_every_branch_and_asks_about_absent_modules(walk_tree: WalkTree) -> None:
    walked = walk_tree(AVAILABLE + "== pkg/x.py\ntry:\n    import no_such_thing\n"
        "except ImportError:\n    pass\n",
                       "pkg", "pkg.x", guards="all")  # fmt: skip
    assert {"pkg.not_a", "pkg.b", "pkg.not_e"} <= set(walked.followed)
    assert "no_such_thing" in dict(walked.asked)
    assert not walked.walk.facts


def test_a_raise_that_surely_runs_takes_the_handler(walk_tree: WalkTree) -> None:
    walked = walk_tree(
        """
        == pkg/__init__.py
        import importlib.util
        class Missing(Exception): pass
        try:
            if importlib.util.find_spec("other") is None:
                raise Missing
        except Missing:
            from . import dummies
        else:
            from . import real
        try:
            if importlib.util.find_spec("absent") is None:
                raise Missing
        except Missing:
            from . import dummies2
        else:
            from . import real2
        == pkg/dummies.py
        == pkg/real.py
        == pkg/dummies2.py
        == pkg/real2.py
        == other.py
        """
    )
    assert walked.followed == ["pkg", "pkg.dummies2", "pkg.real"]


def test_a_distribution_under_another_name_leaves_the_answer_open(walk_tree: WalkTree) -> None:
    walked = walk_tree(
        """
        == pkg/__init__.py
        if is_package_available("odd_name"):
            from . import a
        else:
            from . import b
        == pkg/a.py
        == pkg/b.py
        == Odd.Name-1.0.dist-info/METADATA
        == odd_name-1.0.dist-info/METADATA
        """
    )
    assert walked.followed == ["pkg", "pkg.a", "pkg.b"]


def test_a_raise_that_may_run_leads_to_its_handler_and_past_it(walk_tree: WalkTree) -> None:
    walked = walk_tree(
        """
        == pkg/__init__.py
        import os
        from .settings import FAST
        try:
            if not FAST:
                raise RuntimeError("slow")
            from . import fast
        except RuntimeError:
            from . import slow
        try:
            if os.environ.get("PKG_PLAIN"):
                if not FAST:
                    raise ImportError
            from . import rich
        except ImportError:
            from . import plain
        try:
            from . import alone
        except ZeroDivisionError:
            from . import beside
        == pkg/settings.py
        FAST = len("x") > 0
        == pkg/fast.py
        == pkg/slow.py
        == pkg/rich.py
        == pkg/plain.py
        == pkg/alone.py
        == pkg/beside.py
        """
    )
    assert {"pkg.fast", "pkg.slow", "pkg.rich", "pkg.plain", "pkg.alone"} <= set(walked.followed)
