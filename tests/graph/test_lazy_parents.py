"""parents="lazy": an `__init__` of imports alone becomes a table, and behaves as before."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests import processes

WalkTree = Callable[..., Any]

TREE = """
== pkg/__init__.py
\"\"\"The package.\"\"\"
from __future__ import annotations
import os; from .net import Net, build
from .other import Other
from . import tools
VERSION = "1.0"
__all__ = ["Net", "Other", "build"]
== pkg/net.py
class Net: pass
def build(): return Net()
== pkg/other.py
from . import heavy
class Other: pass
== pkg/tools.py
def tool(): return "tool"
== pkg/heavy.py
loaded = True
== app.py
from pkg import build
import pkg
def run():
    return build(), pkg.VERSION
"""


def write(walked: Any, folder: Path) -> None:
    for module in walked.walk.modules.values():
        if module.source is not None:
            path = folder / module.file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(module.source)


def run(folder: Path, program: str) -> str:
    command = [sys.executable, "-c", f"import sys; sys.path[:0] = [{str(folder)!r}]\n{program}"]
    return processes.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_only_what_is_asked_for_is_captured(walk_tree: WalkTree) -> None:
    eager = walk_tree(TREE, "app", follow=("app", "pkg"))
    lazy = walk_tree(TREE, "app", follow=("app", "pkg"), parents="lazy")
    assert eager.followed == ["app", "pkg", "pkg.heavy", "pkg.net", "pkg.other", "pkg.tools"]
    assert lazy.followed == ["app", "pkg", "pkg.net"]


@pytest.mark.parametrize(
    ("program", "printed"),
    [
        (
            "import pkg; print(pkg.build().__class__.__name__, pkg.VERSION, pkg.__doc__)",
            "Net 1.0 The package.",
        ),
        ("from pkg import Other; import sys; print('pkg.heavy' in sys.modules)", "True"),
        ("import pkg, sys; print('pkg.other' in sys.modules)", "False"),
        ("import pkg; print(pkg.tools.tool(), pkg.other.Other is pkg.Other)", "tool True"),
        ("from pkg import *; print(Other.__name__, build().__class__ is Net)", "Other True"),
        ("import pkg; print(hasattr(pkg, 'nothing'), 'Net' in dir(pkg))", "False True"),
    ],
)
def test_the_rewritten_package_behaves_as_the_original(
    walk_tree: WalkTree, tmp_path: Path, program: str, printed: str
) -> None:
    walked = walk_tree(TREE, "pkg:Net,Other,build,tools", parents="lazy")
    assert "pkg.heavy" in walked.followed
    write(walked, tmp_path / "alone")
    assert run(tmp_path / "alone", program) == printed


@pytest.mark.parametrize(
    "init",
    [
        "from .net import Net\nprint('side effect')\n",
        "from .net import Net\nx = compute()\n",
        "from .net import *\n",
        "from .net import Net as Other\n",
        "from .net import net\n",
        "import pkg.net\n",
    ],
)
def test_an_init_that_does_more_stays_as_it_is(walk_tree: WalkTree, init: str) -> None:
    text = f"== pkg/__init__.py\n{init}== pkg/net.py\nclass Net: pass\nnet = 1\n== app.py\nimport pkg\n"
    walked = walk_tree(text, "app", follow=("app", "pkg"), parents="lazy")
    assert walked.walk.modules["pkg"].source == init.encode()
    assert "pkg.net" in walked.followed


def test_a_star_imported_package_is_left_eager(walk_tree: WalkTree) -> None:
    text = (
        "== pkg/__init__.py\nfrom .net import Net\n== pkg/net.py\nclass Net: pass\n"
        "== app.py\nfrom pkg import *\n"
    )
    walked = walk_tree(text, "app", follow=("app", "pkg"), parents="lazy")
    assert walked.walk.modules["pkg"].source == b"from .net import Net\n"
    assert walked.followed == ["app", "pkg", "pkg.net"]


def test_statements_that_share_a_line_are_parted_by_column(walk_tree: WalkTree) -> None:
    source = walk_tree(TREE, "app", follow=("app", "pkg"), parents="lazy").walk.modules["pkg"].source
    assert b"import os; pass\n" in source
