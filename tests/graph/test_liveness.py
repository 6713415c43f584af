"""Imports inside functions count where live code can come to them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

WalkTree = Callable[..., Any]

BASE = """
== pkg/__init__.py
== pkg/late.py
== pkg/main.py
"""


def late(walk_tree: WalkTree, code: str, more: str = "", root: str = "pkg.main:entry") -> bool:
    """Whether `pkg.late` is followed, when `entry` of `pkg/main.py` is what will be used."""
    walked = walk_tree(BASE + code.strip("\n") + "\n" + more, root)
    assert not walked.walk.problems
    return "pkg.late" in walked.followed


@pytest.mark.parametrize(
    "code",
    [
        "def entry():\n    from . import late",
        "def entry():\n    helper()\ndef helper():\n    from . import late",
        "def helper():\n    from . import late\ntable = {'x': helper}\ndef entry(): pass",
        "def entry():\n    def inner():\n        from . import late\n    return inner",
        "def entry():\n    return lambda: helper\ndef helper():\n    from . import late",
        "class A:\n    def __init__(self):\n        from . import late\ndef entry():\n    return A()",
        "class A:\n    def go(self):\n        from . import late\ndef entry(x):\n    A; return x.go()",
        ("class A:\n    def go(self):\n        from . import late\n"
            "def entry(x):\n    A; return getattr(x, 'go')()"),
        ("class A:\n    def visit_x(self):\n        from . import late\n"
        "def entry(x, y):\n    A; return getattr(x, 'visit_' + y)()"),
        ("class A:\n    def _low(self):\n        from . import late\n"
        "class B(A):\n    def top(self):\n        return self._low()\ndef entry():\n    return B().top()"),
        ("class A:\n    def top(self):\n        return self._low()\n"
        "class B(A):\n    def _low(self):\n        from . import late\ndef entry():\n    return B().top()"),
        ("class A:\n    def go(self):\n        from . import late\n"
        "class B(A):\n    def go(self):\n        super().go()\ndef entry():\n    return B().go()"),
        ("class A:\n    @classmethod\n    def make(cls):\n"
            "        from . import late\ndef entry():\n    return A.make()"),
        ("class A:\n    def __init_subclass__(cls):\n"
            "        from . import late\nclass B(A): pass\ndef entry(): pass"),
        ("registry = {}\ndef register(f):\n    registry[f.__name__] = f\n    return f\n"
        "@register\ndef model():\n    from . import late\ndef entry(): pass"),
        ("from functools import singledispatch\n@singledispatch\ndef entry(x): pass\n"
        "@entry.register\ndef _(x: int):\n    from . import late"),
        ("import framework\n@framework.group()\ndef group(): pass\n"
        "@group.command('run')\ndef _run():\n    from . import late\ndef entry(): pass"),
        ("registry = []\ndef register(cls):\n    registry.append(cls)\n    return cls\n"
        "@register\nclass A:\n    def __init__(self):\n        from . import late\ndef entry(): pass"),
        "class entry:\n    def run(self):\n        from . import late",
        ("class A: pass\nclass B(A):\n    def __init__(self):\n        from . import late\n"
            "def entry():\n    return [kind() for kind in A.__subclasses__()]"),
        ("class A:\n    @classmethod\n    def all(cls):\n"
            "        return [one() for one in cls.__subclasses__()]\n"
            "class B(A):\n    def __init__(self):\n        from . import late\n"
            "def entry():\n    return A.all()"),
        ("import functools\nclass A:\n    def go(self):\n        from . import late\n"
        "def entry():\n    return functools.partial(A.go, 1)"),
        ("def now(f):\n    f()\n    return f\n@now\ndef model():\n    from . import late\ndef entry(): pass"),
        ("def when(ready):\n    def decorate(f):\n        if ready:\n            f()\n        return f\n"
        "    return decorate\n@when(True)\ndef model():\n    from . import late\ndef entry(): pass"),
    ],
)  # fmt: skip
def test_what_live_code_can_come_to_is_live(walk_tree: WalkTree, code: str) -> None:
    assert late(walk_tree, code)


@pytest.mark.parametrize(
    "code",
    [
        "def entry(): pass\ndef helper():\n    from . import late",
        ("class A: pass\nclass B(A):\n    def __init__(self):\n        from . import late\n"
            "def entry():\n    return A()\ndef other():\n    A.__subclasses__()"),
        ("class A:\n    def __init__(self):\n        from . import late\n"
            "def entry():\n    return int.__subclasses__()"),
        "def entry(x: 'helper') -> helper: pass\ndef helper():\n    from . import late",
        "class A:\n    def go(self):\n        from . import late\ndef entry():\n    return A()",
        "class A:\n    def go(self):\n        from . import late\ndef entry(x):\n    return x.go()",
        (
            "class A:\n    def go(self):\n        from . import late\n"
            "class B:\n    def go(self): pass\n    def top(self):\n        return self.go()\n"
            "def entry():\n    A(); return B().top()"
        ),
        "def wrap(f):\n    return f\n@wrap\ndef model():\n    from . import late\ndef entry(): pass",
        ("def wrap(f):\n    def inner(*args):\n        return f(*args)\n    return inner\n"
        "@wrap\ndef model():\n    from . import late\ndef entry(): pass"),
        "helper = 1\ndef entry(helper):\n    return helper\ndef other():\n    from . import late",
        "class entry:\n    def _private(self):\n        from . import late",
    ],
)  # fmt: skip
def test_what_nothing_live_names_is_not(walk_tree: WalkTree, code: str) -> None:
    assert not late(walk_tree, code)


def test_a_name_resolves_through_re_exports(walk_tree: WalkTree) -> None:
    assert late(
        walk_tree,
        "from pkg import tools\ndef entry():\n    return tools.deep.helper()",
        "== pkg/tools/__init__.py\nfrom . import deep\n== pkg/tools/deep.py\nfrom .deeper import helper\n"
        "== pkg/tools/deeper.py\ndef helper():\n    from pkg import late\n",
    )


def test_an_import_inside_the_function_resolves_too(walk_tree: WalkTree) -> None:
    assert late(
        walk_tree,
        "def entry():\n    from .tools import helper as h\n    return h()",
        "== pkg/tools.py\ndef helper():\n    from pkg import late\n",
    )


def test_a_module_used_as_a_value_offers_its_functions_by_name(walk_tree: WalkTree) -> None:
    code = "from . import ops\ndef entry(name):\n    chosen = ops\n    return chosen.relu()"
    more = "== pkg/ops.py\ndef relu():\n    from . import late\n"
    assert late(walk_tree, code, more)
    assert not late(walk_tree, code.replace("relu()", "tanh()"), more)


def test_a_base_that_is_not_walked_calls_back_what_it_names(walk_tree: WalkTree) -> None:
    framework = """
== framework.py
class Module:
    def __call__(self, *args):
        return self.forward(*args)
"""
    code = (
        "import framework\nclass Net(framework.Module):\n    def forward(self):\n        from . import late\n"
    )
    assert late(walk_tree, code + "def entry():\n    return Net()", framework)
    assert not late(
        walk_tree, code.replace("forward", "unheard") + "def entry():\n    return Net()", framework
    )


def test_any_method_may_be_called_by_a_base_of_which_nothing_can_be_read(walk_tree: WalkTree) -> None:
    code = "import compiled\nclass Net(compiled.Base):\n    def step(self):\n        from . import late\n"
    assert late(walk_tree, code + "def entry():\n    return Net()", "== compiled.so\n")


def test_a_use_waits_for_a_module_that_is_followed_later(walk_tree: WalkTree) -> None:
    walked = walk_tree(
        BASE.replace("== pkg/main.py\n", "")
        + "== pkg/main.py\nimport pkg\ndef entry():\n    pkg.tools.helper()\n    return second()\n"
        "def second():\n    import pkg.tools\n"
        "== pkg/tools.py\ndef helper():\n    from . import late\n",
        "pkg.main:entry",
    )
    assert "pkg.late" in walked.followed


def test_public_names_of_a_root_are_used_and_private_ones_not(walk_tree: WalkTree) -> None:
    code = "def public():\n    from . import late\ndef _private():\n    from . import later\n"
    walked = walk_tree(BASE + code + "== pkg/later.py\n", "pkg.main")
    assert ("pkg.late" in walked.followed, "pkg.later" in walked.followed) == (True, False)


def test_an_import_in_a_function_that_is_not_live_is_shown_with_the_reason(walk_tree: WalkTree) -> None:
    walked = walk_tree(
        BASE + "def entry(): pass\nclass A:\n    def go(self):\n        import pkg.late\n", "pkg.main:entry"
    )
    edge = walked.edge("pkg.main", "pkg.late")
    assert (edge.kind, edge.detail, edge.followed) == ("function", "A.go", False)
    assert edge.because == "nothing that runs here uses A.go"
