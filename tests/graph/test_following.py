"""Following imports: parents, what `from X import n` runs, lazy tables, stars, blocks that never run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

WalkTree = Callable[..., Any]


def test_parents_run_first_and_are_decided_first(walk_tree: WalkTree) -> None:
    walked = walk_tree("== pkg/__init__.py\n== pkg/a/__init__.py\n== pkg/a/b.py\n", "pkg.a.b")
    assert [name for name, _ in walked.asked] == ["pkg", "pkg.a", "pkg.a.b"]
    assert walked.edge("pkg.a.b", "pkg.a").kind == "parent"


def test_each_module_is_decided_once_with_the_edges_so_far(walk_tree: WalkTree) -> None:
    walked = walk_tree("== pkg/__init__.py\nimport json\nfrom . import a\n== pkg/a.py\nimport json\n")
    edges = dict(walked.asked)["json"]
    assert [(edge.importer, edge.file, edge.line, edge.kind) for edge in edges] == [
        ("pkg", "pkg/__init__.py", 1, "top")
    ]
    assert [name for name, _ in walked.asked].count("json") == 1


def test_a_name_that_the_package_binds_runs_no_submodule(walk_tree: WalkTree) -> None:
    walked = walk_tree(
        """
        == pkg/__init__.py
        from .core import tool
        == pkg/core.py
        def tool(): pass
        == pkg/tool.py
        raise RuntimeError
        == app.py
        from pkg import tool
        """,
        "app",
        follow=("pkg", "app"),
    )
    assert walked.followed == ["app", "pkg", "pkg.core"]


def test_a_name_that_nothing_binds_is_a_submodule(walk_tree: WalkTree) -> None:
    walked = walk_tree(
        "== pkg/__init__.py\n== pkg/sub.py\n== app.py\nfrom pkg import sub\n", "app", follow=("pkg", "app")
    )
    assert walked.followed == ["app", "pkg", "pkg.sub"]


def test_a_package_that_imports_a_submodule_from_itself_runs_it(walk_tree: WalkTree) -> None:
    walked = walk_tree(
        "== pkg/__init__.py\nfrom . import sub\n== pkg/sub.py\n== app.py\nfrom pkg import sub\n",
        "app",
        follow=("pkg", "app"),
    )
    assert walked.followed == ["app", "pkg", "pkg.sub"]


def test_a_binding_in_a_branch_that_does_not_run_is_none(walk_tree: WalkTree) -> None:
    walked = walk_tree(
        """
        == pkg/__init__.py
        import sys
        if sys.version_info < (3, 0):
            sub = None
        == pkg/sub.py
        == app.py
        from pkg import sub
        """,
        "app",
        follow=("pkg", "app"),
    )
    assert "pkg.sub" in walked.followed


def test_relative_imports_go_up_from_the_package(walk_tree: WalkTree) -> None:
    walked = walk_tree(
        """
        == pkg/__init__.py
        == pkg/a/__init__.py
        == pkg/a/b.py
        from ..c import d
        from . import e
        == pkg/a/e.py
        == pkg/c/__init__.py
        == pkg/c/d.py
        """,
        "pkg.a.b",
    )
    assert walked.followed == ["pkg", "pkg.a", "pkg.a.b", "pkg.a.e", "pkg.c", "pkg.c.d"]


LAZY = """
== pkg/__init__.py
import sys
from typing import TYPE_CHECKING
{table}
== pkg/net.py
class Net: pass
== pkg/other.py
class Other: pass
== pkg/loader.py
class LazyModule: pass
== app.py
from pkg import Net
"""


def lazy_tree(table: str) -> str:
    return LAZY.replace("{table}", table)


def test_only_the_requested_name_of_a_lazy_package_is_followed(walk_tree: WalkTree) -> None:
    tables = {
        "names under TYPE_CHECKING": "if TYPE_CHECKING:\n    from .net import Net\n"
        "    from .other import Other\n"
        "else:\n    from .loader import LazyModule\n    sys.modules[__name__] = LazyModule()\n",
        "module to names": "from .loader import LazyModule\n"
        "_structure = {'net': ['Net'], 'other': ['Other']}\nsys.modules[__name__] = LazyModule(_structure)\n",
        "names added": "from .loader import LazyModule\n_structure = {}\n"
        "_structure['net'] = ['Net']\n_structure['other'] = ['Other']\n"
        "sys.modules[__name__] = LazyModule(_structure)\n",
        "name to module": "from .loader import LazyModule\n_where = {'Net': '.net', 'Other': '.other'}\n"
        "def __getattr__(name): return _load(_where[name])\n",
        "attach": "import lazy_loader as lazy\nfrom .loader import LazyModule\n"
        "__getattr__, __dir__, __all__ = lazy.attach(__name__, "
        "submod_attrs={'net': ['Net'], 'other': ['Other']})\n",
    }
    for name, table in tables.items():
        walked = walk_tree(lazy_tree(table), "app", follow=("pkg", "app"))
        assert walked.followed == ["app", "pkg", "pkg.loader", "pkg.net"], name
        lazy = [edge for edge in walked.walk.edges if edge.kind == "lazy"]
        assert [(edge.target, edge.names, edge.file) for edge in lazy] == [
            ("pkg.net", ("Net",), "pkg/__init__.py")
        ]
        lines = ("== pkg/__init__.py" + lazy_tree(table)).partition("== pkg/net.py")[0].splitlines()
        assert "Net" in lines[lazy[0].line + 1], name


def test_lazy_tables_lead_through_each_other_and_through_stars(walk_tree: WalkTree) -> None:
    walked = walk_tree(
        """
        == pkg/__init__.py
        import sys
        from typing import TYPE_CHECKING
        if TYPE_CHECKING:
            from .models import *
        else:
            sys.modules[__name__] = object()
        == pkg/models/__init__.py
        import sys
        from typing import TYPE_CHECKING
        if TYPE_CHECKING:
            from .bert import *
            from .llama import *
        else:
            sys.modules[__name__] = object()
        == pkg/models/bert.py
        __all__ = ["Bert"]
        class Bert: pass
        == pkg/models/llama.py
        __all__ = ["Llama"]
        class Llama: pass
        """,
        "pkg:Llama",
    )
    assert walked.followed == ["pkg", "pkg.models", "pkg.models.llama"]


def test_what_a_function_imports_for_type_checkers_is_in_no_table(walk_tree: WalkTree) -> None:
    walked = walk_tree(
        """
        == pkg/__init__.py
        import sys
        from typing import TYPE_CHECKING
        if TYPE_CHECKING:
            from .net import Net
        else:
            sys.modules[__name__] = object()
        def helper():
            if TYPE_CHECKING:
                from .other import Net
        == pkg/net.py
        class Net: pass
        == pkg/other.py
        class Net: pass
        """,
        "pkg:Net",
    )
    assert walked.followed == ["pkg", "pkg.net"]


def test_an_attribute_of_a_lazy_package_is_a_request_too(walk_tree: WalkTree) -> None:
    walked = walk_tree(
        lazy_tree("_where = {'Net': '.net', 'Other': '.other'}\ndef __getattr__(name): return 1\n")
        + "== tool.py\nimport pkg\ndef make():\n    return pkg.Other()\n",
        "tool:make",
        follow=("pkg", "tool"),
    )
    assert walked.followed == ["pkg", "pkg.other", "tool"]


def test_a_name_that_no_table_explains_runs_the_getattr(walk_tree: WalkTree) -> None:
    walked = walk_tree(
        """
        == pkg/__init__.py
        def __getattr__(name):
            if name == "Net":
                from .net import Net
                return Net
            raise AttributeError(name)
        == pkg/net.py
        class Net: pass
        == app.py
        from pkg import Net
        """,
        "app",
        follow=("pkg", "app"),
    )
    assert walked.followed == ["app", "pkg", "pkg.net"]


@pytest.mark.parametrize(
    "where",
    ["{'Net': '.net'}", "{'Net': 'pkg.net:Net'}", "{'Net': '.mid'}"],
    ids=["relative", "module:name", "through another lazy module"],
)
def test_a_lazy_name_that_is_asked_for_is_live_where_it_is_defined(walk_tree: WalkTree, where: str) -> None:
    walked = walk_tree(
        f"""
        == pkg/__init__.py
        _where = {where}
        def __getattr__(name):
            from ._find import find
            return find(_where[name], name)
        == pkg/_find.py
        def find(module, name): pass
        == pkg/mid.py
        _where = {{'Net': '.net'}}
        def __getattr__(name): return _where[name]
        == pkg/net.py
        class Net:
            def forward(self):
                from .late import work
        == pkg/late.py
        """,
        "pkg:Net",
    )
    assert set(walked.followed) - {"pkg.mid"} == {"pkg", "pkg._find", "pkg.late", "pkg.net"}
    assert walked.walk.questions() == ()


def test_a_submodule_of_a_lazy_package_is_imported_by_its_name(walk_tree: WalkTree) -> None:
    tree = """
        == pkg/__init__.py
        import importlib
        {getattr}
        == pkg/io/__init__.py
        from . import fmt
        == pkg/io/fmt.py
        def width(): from .. import wide
        == pkg/wide.py
        == pkg/net.py
        import pkg
        class Net:
            def __call__(self): return pkg.io.fmt.width()
        """
    lazy = "def __getattr__(name): return importlib.import_module(f'{__name__}.{name}')"
    walked = walk_tree(tree.replace("{getattr}", lazy), "pkg.net:Net")
    assert walked.followed == ["pkg", "pkg.io", "pkg.io.fmt", "pkg.net", "pkg.wide"]
    edge = walked.edge("pkg", "pkg.io")
    assert (edge.kind, edge.file, edge.line) == ("lazy", "pkg/__init__.py", 2)
    assert walked.walk.questions() == ()
    plain = walk_tree(tree.replace("{getattr}", ""), "pkg.net:Net")
    assert plain.followed == ["pkg", "pkg.net"]


def test_a_name_beside_the_table_asks_what_the_getattr_imports(walk_tree: WalkTree) -> None:
    tree = """
        == pkg/__init__.py
        import importlib
        _where = {'Net': '.net'}
        def __getattr__(name):
            def load(): return importlib.import_module(_where[name], __name__)
            return load()
        == pkg/net.py
        class Net: pass
        == app.py
        from pkg import {names}
        """
    explained = walk_tree(tree.replace("{names}", "Net"), "app", follow=("pkg", "app"))
    assert explained.walk.questions() == ()
    asked = walk_tree(tree.replace("{names}", "Net, other"), "app", follow=("pkg", "app"))
    assert [question.id for question in asked.walk.questions()] == ["pkg/__init__.py:4:__getattr__.load"]


def test_a_star_takes_the_submodules_that_all_names(walk_tree: WalkTree) -> None:
    walked = walk_tree(
        "== pkg/__init__.py\n__all__ = ['a']\n__all__ += ['b']\n== pkg/a.py\n== pkg/b.py\n== pkg/c.py\n"
        "== app.py\nfrom pkg import *\n",
        "app",
        follow=("pkg", "app"),
    )
    assert walked.followed == ["app", "pkg", "pkg.a", "pkg.b"]
    assert walked.edge("app", "pkg.a").kind == "star"


def test_a_star_on_a_lazy_package_takes_the_whole_table(walk_tree: WalkTree) -> None:
    text = lazy_tree("_where = {'Net': '.net', 'Other': '.other'}\ndef __getattr__(name): return 1\n")
    walked = walk_tree(text.replace("import Net\n", "import *\n"), "app", follow=("pkg", "app"))
    assert walked.followed == ["app", "pkg", "pkg.net", "pkg.other"]


def test_names_come_through_stars_of_stars(walk_tree: WalkTree) -> None:
    walked = walk_tree(
        """
        == pkg/__init__.py
        from .mid import *
        == pkg/mid.py
        from .low import *
        == pkg/low.py
        def work():
            from . import late
        == pkg/late.py
        == app.py
        from pkg import work
        work()
        """,
        "app",
        follow=("pkg", "app"),
    )
    assert "pkg.late" in walked.followed


def test_type_checking_and_main_blocks_are_shown_and_not_followed(walk_tree: WalkTree) -> None:
    walked = walk_tree(
        """
        == pkg/__init__.py
        import typing
        if typing.TYPE_CHECKING:
            from . import hints
        else:
            from . import real
        if __name__ == "__main__":
            from . import script
        == pkg/hints.py
        == pkg/real.py
        == pkg/script.py
        """
    )
    assert walked.followed == ["pkg", "pkg.real"]
    silent = {
        (edge.names, edge.kind, edge.followed)
        for edge in walked.walk.edges
        if edge.target == "pkg" and edge.line
    }
    assert silent >= {(("hints",), "type_checking", False), (("script",), "main", False)}


def test_submodules_of_what_is_not_followed_are_decided_when_named(walk_tree: WalkTree) -> None:
    walked = walk_tree(
        "== pkg/__init__.py\nfrom other import sub, thing\n== other/__init__.py\nthing = 1\n== other/sub.py\n"
    )
    assert [name for name, _ in walked.asked] == ["pkg", "other", "other.sub"]


def test_import_cycles_end(walk_tree: WalkTree) -> None:
    walked = walk_tree(
        "== pkg/__init__.py\nfrom .a import x\n== pkg/a.py\nfrom .b import y\nx = 1\n"
        "== pkg/b.py\nfrom .a import x\ny = 1\n"
    )
    assert walked.followed == ["pkg", "pkg.a", "pkg.b"]


def test_a_chain_of_three_thousand_modules_does_not_exhaust_the_stack(walk_tree: WalkTree) -> None:
    count = 3000
    text = "== pkg/__init__.py\nfrom .m0 import end\n" + "".join(
        f"== pkg/m{n}.py\nfrom .m{n + 1} import end\n" for n in range(count)
    )
    walked = walk_tree(text + f"== pkg/m{count}.py\ndef end():\n    from . import last\n== pkg/last.py\n")
    assert len(walked.followed) == count + 3


def test_a_deep_expression_does_not_exhaust_the_stack(walk_tree: WalkTree) -> None:
    deep = " + ".join(["x"] * 2000)
    walked = walk_tree(f"== pkg/__init__.py\nx = 1\ny = {deep}\nfrom . import a\n== pkg/a.py\n")
    assert walked.followed == ["pkg", "pkg.a"]
