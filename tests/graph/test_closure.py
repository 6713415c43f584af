"""The closure over import statements: what it stores, what is needed always, and how it tells why."""

from __future__ import annotations

import gc
import hashlib
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from packager._graph import Closure, Edge, Found, Sources, WalkDecision
from packager._graph.source_table import ScanCache
from tests import processes

Tree = Callable[[str], Path]
Close = Callable[..., Closure]


@pytest.fixture
def close(tree: Tree) -> Close:
    """Make the closure of a tree from its roots ("module" or "module:name,name"), which stores `pkg`."""

    def run(
        text: str, *roots: str, follow: Sequence[str] = ("pkg",), cache: ScanCache | None = None
    ) -> Closure:
        folder = tree(text)
        closure = Closure(
            lambda name, edges: WalkDecision(name.partition(".")[0] in follow),
            sources=Sources([str(folder)]),
            cache=cache,
        )
        for root in roots or ("pkg",):
            name, _, names = root.partition(":")
            closure.add_root(name, names=names.split(",") if names else None)
        closure.run()
        return closure

    return run


def stored(closure: Closure) -> list[str]:
    return sorted(module.name for module in closure.modules.values() if module.followed)


def left(closure: Closure) -> dict[str, bool]:
    """Return whether each module that is not stored is needed always."""
    modules = closure.modules.values()
    return {one.name: one.name in closure.always_needed for one in modules if not one.followed}


def told(edges: Sequence[Edge]) -> list[str]:
    return [f"{edge.importer}:{edge.line} {edge.kind} {edge.target}" for edge in edges]


PROJECT = """
== pkg/__init__.py
from .net import Net
== pkg/net.py
import numpy as np
from . import layers
class Net:
    def draw(self):
        from .plots import show
== pkg/layers.py
try:
    import fast
except ImportError:
    fast = None
== pkg/plots.py
import matplotlib.pyplot
== pkg/unused.py
import unused
== numpy.py
== matplotlib/__init__.py
== matplotlib/pyplot.py
"""


def test_a_project_is_stored_and_says_what_it_needs_always(close: Close) -> None:
    closure = close(PROJECT)
    assert stored(closure) == ["pkg", "pkg.layers", "pkg.net", "pkg.plots"]
    assert left(closure) == {
        "numpy": True,
        "fast": False,
        "matplotlib": False,
        "matplotlib.pyplot": False,
    }
    assert closure.problems == ()
    assert told(closure.why("numpy")) == [":0 root pkg", "pkg:1 top pkg.net", "pkg.net:1 top numpy"]
    assert told(closure.why("matplotlib")) == [
        ":0 root pkg",
        "pkg:1 top pkg.net",
        "pkg.net:5 function pkg.plots",
        "pkg.plots:1 top matplotlib.pyplot",
        "matplotlib.pyplot:1 parent matplotlib",
    ]
    assert [edge.detail for edge in closure.edges if edge.target == "pkg.plots"] == ["Net.draw"]
    assert [*closure.graph().successors("pkg.plots")] == ["pkg", "matplotlib.pyplot"]


@pytest.mark.parametrize(
    ("statement", "always"),
    [
        ("import gone.deep", True),
        ("class A:\n    import gone.deep", True),
        ("try:\n    import gone.deep\nexcept ImportError: pass", False),
        ("def f():\n    import gone.deep", False),
        ("if a:\n    import gone.deep", False),
        ("import_module('gone.deep')", True),
        ("from gone import deep", True),
        ("from gone import *", True),
    ],
)
def test_an_extern_is_needed_always_where_each_step_runs(close: Close, statement: str, always: bool) -> None:
    text = f"== pkg/__init__.py\nfrom . import a\n== pkg/a.py\n{statement}\n== gone/deep.py\n"
    closure = close(text)
    assert closure.always_needed >= {"pkg", "pkg.a"}
    assert ("gone" in closure.always_needed) is always
    text = text.replace("from . import a", "try: from . import a\nfinally: pass")
    assert left(close(text))["gone"] is False


def test_what_is_missing_is_a_problem_where_it_is_needed_always(close: Close) -> None:
    text = """
== pkg/__init__.py
from . import a
import pkg.gone
try:
    import pkg.perhaps
except ImportError:
    pass
def later():
    from . import b
== pkg/a.py
from pkg.lost.deep import x
== pkg/b.py
import pkg.never
"""
    closure = close(text)
    assert [(one.module, one.reason, one.file, one.line) for one in closure.problems] == [
        ("pkg.gone", "missing", "pkg/__init__.py", 2),
        ("pkg.lost", "missing", "pkg/a.py", 1),
        ("pkg.lost.deep", "missing", "pkg/a.py", 1),
    ]
    assert closure.problems[0].message == (
        "pkg.gone has no source to store: nothing on sys.path has this name"
    )
    assert told(closure.why("pkg.lost.deep")) == [
        ":0 root pkg",
        "pkg:1 top pkg.a",
        "pkg.a:1 top pkg.lost.deep",
    ]
    assert closure.modules["pkg.never"].kind == "missing"


def test_a_missing_module_is_a_problem_once_what_imports_it_is_asked_for(close: Close) -> None:
    closure = close("== pkg/__init__.py\ndef later():\n    from . import b\n== pkg/b.py\nimport pkg.never\n")
    assert closure.problems == ()
    closure.add_root("pkg.b")
    closure.run()
    assert [one.module for one in closure.problems] == ["pkg.never"]


@pytest.mark.parametrize(
    ("statement", "count"), [("import pkg.made", 1), ("try: import pkg.made\nfinally: pass", 0)]
)
def test_a_module_that_code_makes_is_a_problem_where_it_is_needed_always(
    tree: Tree, statement: str, count: int
) -> None:
    class Finder(Sources):
        def find(self, name: str) -> Found:
            is_made = name == "pkg.made"
            return Found(name, "unknown", problem="pkg makes it") if is_made else super().find(name)

    finder = Finder([str(tree(f"== pkg/__init__.py\n{statement}\n"))])
    closure = Closure(lambda name, edges: WalkDecision(True), sources=finder, cache=None)
    closure.add_root("pkg")
    closure.run()
    told = ["pkg.made has no source to store: pkg makes it"]
    assert [one.message for one in closure.problems] == told * count


def test_what_has_no_source_or_does_not_parse_is_a_problem(close: Close) -> None:
    text = """
== pkg/__init__.py
from . import fast, old, bad
from .. import above
def later():
    from .. import above
== pkg/fast.so
== pkg/old.pyc
== pkg/bad.py
x = 1
def (:
"""
    assert {(one.module, one.reason, one.file, one.line) for one in close(text).problems} == {
        ("pkg.fast", "extension", "pkg/__init__.py", 1),
        ("pkg.old", "bytecode", "pkg/__init__.py", 1),
        ("pkg.bad", "syntax", "pkg/bad.py", 2),
        ("pkg", "beyond top level", "pkg/__init__.py", 2),
    }


@pytest.mark.parametrize("content", [b"# coding: no-such-codec\n", b"x = '\xff'\n", b"x = 1\x00\n"])
def test_bytes_that_are_no_source_are_a_problem(close: Close, tree: Tree, content: bytes) -> None:
    text = "== pkg/__init__.py\nfrom . import bad, good\n== pkg/bad.py\n== pkg/good.py\nimport a\n"
    (tree(text) / "pkg" / "bad.py").write_bytes(content)
    closure = close("")
    assert [(one.module, one.reason) for one in closure.problems] == [("pkg.bad", "syntax")]
    assert left(closure) == {"a": True}


def test_a_root_that_does_not_exist_is_a_problem(close: Close) -> None:
    problems = close("", "nothing.here", follow=("nothing",)).problems
    assert [(one.module, one.reason) for one in problems] == [
        ("nothing", "missing"),
        ("nothing.here", "missing"),
    ]


def test_what_is_left_to_the_target_is_no_problem_however_it_is_made(close: Close) -> None:
    assert close("== pkg/__init__.py\nimport sys, absent, other\n== other.so\n").problems == ()


# -- names of packages ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("init", "asked", "expected"),
    [
        ("", "from pkg import sub", ["pkg.sub"]),
        ("from . import sub", "from pkg import sub", ["pkg.sub"]),
        ("from pkg import sub", "from pkg import sub", ["pkg.sub"]),
        ("def sub(): ...", "from pkg import sub", []),  # the function is there before
        ("if pkg:\n    sub = None", "from pkg import sub", ["pkg.sub"]),  # it may be
        ("from .sub import sub", "import pkg", ["pkg.sub"]),
        ("", "import pkg.sub", ["pkg.sub"]),
        ("", "from pkg.sub import name", ["pkg.sub"]),
        ("", "from pkg import name", []),
        ("", "from pkg import *", []),
        ("__all__ = ['sub', 'name']", "from pkg import *", ["pkg.sub"]),
        ("def sub(): ...\n__all__ = ['sub']", "from pkg import *", []),
        ("", "from pkg import space", ["pkg.space"]),
        ("", "from pkg.space import inner", ["pkg.space", "pkg.space.inner"]),
    ],
)
def test_a_name_of_a_package_is_a_submodule_or_an_attribute(
    close: Close, init: str, asked: str, expected: list[str]
) -> None:
    text = f"== pkg/__init__.py\n{init}\n== pkg/sub.py\n== pkg/space/inner.py\n== app.py\n{asked}\n"
    closure = close(text, "app", follow=("pkg", "app"))
    assert stored(closure) == sorted(["app", "pkg", *expected])


def test_a_package_that_tries_a_part_of_itself_needs_nothing_of_it(close: Close) -> None:
    text = """
== pkg/__init__.py
try:
    from . import gpu
except ImportError:
    gpu = None
== pkg/gpu.py
import cupy
== pkg/net.py
from pkg import gpu
"""
    closure = close(text, "pkg.net")
    assert left(closure) == {"cupy": False}
    assert closure.problems == ()


def test_packages_run_always_before_what_is_inside_them(close: Close) -> None:
    text = """
== pkg/__init__.py
== pkg/a/__init__.py
import numpy
== pkg/a/b/__init__.py
== pkg/a/b/c.py
== numpy.py
"""
    closure = close(text, "pkg.a.b.c")
    assert left(closure) == {"numpy": True}
    assert told(closure.why("numpy")) == [
        ":0 root pkg.a.b.c",
        "pkg.a.b.c:0 parent pkg.a.b",
        "pkg.a.b:0 parent pkg.a",
        "pkg.a:1 top numpy",
    ]


def test_submodules_of_an_extern_are_externs_by_their_names(close: Close) -> None:
    text = (
        "== pkg/__init__.py\nfrom lib import part, name\n== lib/__init__.py\nimport other\n== lib/part.py\n"
    )
    assert left(close(text)) == {"lib": True, "lib.part": True}


# -- lazy packages --------------------------------------------------------------------------------

TYPED = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    {}\nelse:\n    import sys\n"
LAZY = "    sys.modules[__name__] = load(__name__)\n"
GETATTR = "\ndef __getattr__(name): return find(name)\n"
ATTACH = "__getattr__, __dir__, __all__ = attach(__name__, ['b'], {'a': ['A']})"


@pytest.mark.parametrize(
    ("init", "asked", "expected"),
    [
        (TYPED.format("from .a import A"), "A", ["pkg.a"]),
        (TYPED.format("from .a import A as B"), "B", ["pkg.a"]),
        (TYPED.format("from .a import *") + LAZY, "A", ["pkg.a"]),
        (TYPED.format("from .b import *; from .a import *") + LAZY, "A", ["pkg.a"]),
        (TYPED.format("from .stars import *") + LAZY, "A", ["pkg.a", "pkg.stars"]),
        (TYPED.format("from .sub import *") + LAZY, "C", ["pkg.sub", "pkg.sub.c"]),
        (TYPED.format("from .sub import C"), "C", ["pkg.sub", "pkg.sub.c"]),
        ("_import_structure = {'a': ['A']}\nimport sys\n" + LAZY.strip(), "A", ["pkg.a"]),
        ("_where = {'A': '.a'}" + GETATTR, "A", ["pkg.a"]),
        ("_where = {'A': ('pkg.a', 'A')}" + GETATTR, "A", ["pkg.a"]),
        ("_where = {'C': 'pkg.sub:C'}" + GETATTR, "C", ["pkg.sub", "pkg.sub.c"]),
        ("def __getattr__(name):\n    return get({'A': '.a'}[name])", "A", ["pkg.a"]),
        (ATTACH, "A", ["pkg.a"]),
        (ATTACH, "b", ["pkg.a", "pkg.b"]),
        (ATTACH, "*", ["pkg.a"]),
        ("_where = {'A': '.a', 'B': '.b'}" + GETATTR, "*", ["pkg.a", "pkg.b"]),
        ("_where = {'A': '.a'}" + GETATTR, "other", []),
        ("_where = {'A': '.gone'}" + GETATTR, "A", []),
        ("_where = {'A': '.a'}", "A", []),
    ],
)
def test_a_name_of_a_lazy_package_leads_to_its_module(
    close: Close, init: str, asked: str, expected: list[str]
) -> None:
    text = f"""
== pkg/__init__.py
{init}
== pkg/a.py
__all__ = ["A"]
class A: ...
== pkg/b.py
__all__ = ["B"]
from .a import A
class B: ...
== pkg/stars.py
from .a import *
== pkg/sub/__init__.py
_where = {{"C": ".c"}}
def __getattr__(name): ...
== pkg/sub/c.py
class C: ...
== app.py
from pkg import {asked}
"""
    closure = close(text, "app", follow=("pkg", "app"))
    assert stored(closure) == sorted(["app", "pkg", *expected])
    assert closure.always_needed >= set(expected)
    assert stored(close(text, f"pkg:{asked}")) == ["pkg", *expected]  # as an object's class is asked for


def test_a_stub_says_what_a_lazy_package_gives_and_goes_along(close: Close) -> None:
    text = """
== pkg/__init__.py
__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
== pkg/__init__.pyi
from .a import A as A
== pkg/a.py
== pkg/a.pyi
== app.py
from pkg import A
"""
    closure = close(text, "app", follow=("pkg", "app"))
    assert stored(closure) == ["app", "pkg", "pkg.a"]
    assert [file.resource for file in closure.data_files("pkg")] == ["__init__.pyi"]
    plain = close(text.replace("__getattr__, __dir__, __all__", "x"), "app", follow=("pkg", "app"))
    assert stored(plain) == ["app", "pkg"]
    assert plain.data_files("pkg") == ()


def test_lazy_packages_that_lead_to_each_other_end(close: Close) -> None:
    text = """
== pkg/__init__.py
if TYPE_CHECKING:
    from .a import *
def __getattr__(name): ...
== pkg/a.py
from pkg import *
if TYPE_CHECKING:
    from pkg import Net
def __getattr__(name): ...
== app.py
from pkg import Net
"""
    assert stored(close(text, "app", follow=("pkg", "app"))) == ["app", "pkg", "pkg.a"]


# -- growing --------------------------------------------------------------------------------------


def test_a_served_module_joins_with_who_asked_and_is_not_needed_always(close: Close) -> None:
    text = """
== pkg/__init__.py
def load(name):
    return import_module(f"pkg.{name}")
== pkg/nets/__init__.py
== pkg/nets/unet.py
import numpy
from . import blocks
== pkg/nets/blocks.py
== numpy.py
"""
    closure = close(text)
    assert stored(closure) == ["pkg"]
    assert [str(one) for one in closure.computed_imports] == [
        "pkg/__init__.py:2: import_module(f'pkg.{name}')"
    ]
    closure.add_root("pkg.nets.unet", asked_by=Edge("pkg", "pkg.nets.unet", "served", "pkg/__init__.py", 2))
    closure.run()
    assert stored(closure) == ["pkg", "pkg.nets", "pkg.nets.blocks", "pkg.nets.unet"]
    assert left(closure) == {"numpy": False}
    assert told(closure.why("numpy")) == [
        ":0 root pkg",
        "pkg:2 served pkg.nets.unet",
        "pkg.nets.unet:1 top numpy",
    ]


def test_each_module_is_decided_once_and_its_packages_before_it(tree: Tree) -> None:
    text = "== pkg/__init__.py\n== pkg/a/__init__.py\n== pkg/a/b.py\nimport pkg.a, pkg.a.c\n== pkg/a/c.py\n"
    asked: list[tuple[str, list[str]]] = []

    def decide(name: str, edges: Sequence[Edge]) -> WalkDecision:
        asked.append((name, [edge.kind for edge in edges]))
        return WalkDecision(True)

    closure = Closure(decide, sources=Sources([str(tree(text))]), cache=None)
    closure.add_root("pkg.a.b")
    closure.run()
    closure.add_root("pkg.a.c")
    closure.run()
    assert asked == [
        ("pkg", ["parent"]),
        ("pkg.a", ["parent"]),
        ("pkg.a.b", ["root"]),
        ("pkg.a.c", ["top"]),
    ]


def test_a_decision_may_give_another_source(tree: Tree) -> None:
    given = {"pkg": WalkDecision(True, "import b\n"), "gone": WalkDecision(True, "import c\n")}
    closure = Closure(
        lambda name, edges: given.get(name, WalkDecision(False)),
        sources=Sources([str(tree("== pkg.py\nimport a\n"))]),
        cache=None,
    )
    closure.add_root("pkg")
    closure.add_root("gone")
    closure.run()
    assert left(closure) == {"b": True, "c": True}
    assert closure.modules["pkg"].source == b"import b\n"
    assert closure.problems == ()


def test_a_given_text_comes_before_a_file_and_its_packages_are_implied(close: Close) -> None:
    closure = close("== pkg/__init__.py\nimport a\n", follow=("pkg", "given"))
    closure.add_source("given.deep.net", "from . import part\nimport b\n")
    closure.add_source("given.deep.part", b"x = 1")
    closure.run()
    assert [closure.modules[name].kind for name in ("given", "given.deep")] == ["implicit", "implicit"]
    assert [*closure.below("given.deep")] == ["given.deep.net", "given.deep.part"]
    assert closure.find("given.deep.part").kind == "text"


def test_packages_without_init_and_with_data_alone_are_told_apart(close: Close) -> None:
    closure = close("== pkg/sub/mod.py\nfrom pkg import tables\n== pkg/tables/x.csv\n1\n", "pkg.sub.mod")
    assert {module.name: module.kind for module in closure.modules.values()} == {
        "pkg": "namespace",
        "pkg.sub": "namespace",
        "pkg.sub.mod": "source",
        "pkg.tables": "resources",
    }
    assert closure.problems == ()


def test_a_stored_module_carries_the_bytes_that_were_read(close: Close) -> None:
    module = close("== pkg/__init__.py\nx = 1\n").modules["pkg"]
    assert (module.file, module.is_package, module.source) == ("pkg/__init__.py", True, b"x = 1\n")
    assert module.digest == hashlib.sha256(b"x = 1\n").hexdigest()


def test_an_error_of_a_decision_comes_through_and_nothing_is_decided(tree: Tree) -> None:
    answers = iter([RuntimeError("no"), WalkDecision(True)])

    def decide(name: str, edges: Sequence[Edge]) -> WalkDecision:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    closure = Closure(decide, sources=Sources([str(tree("== pkg/__init__.py\n"))]), cache=None)
    closure.add_root("pkg")
    with pytest.raises(RuntimeError, match="no"):
        closure.run()
    assert not closure.modules
    closure.add_root("pkg")
    closure.run()
    assert list(closure.modules) == ["pkg"]


PROGRAM = """
import sys
from packager._graph import Closure, Sources, WalkDecision
sources = Sources([sys.argv[1]])
closure = Closure(lambda name, _: WalkDecision(name.startswith("pkg")), sources=sources, cache=None)
closure.add_root("pkg", names=["A", "b"])
closure.run()
print([*closure.modules], [*map(str, closure.edges)], [*closure.always_needed], closure.problems)
print(closure.computed_imports, closure.data_files("pkg"))
"""


def test_two_hash_seeds_give_the_same_answer_in_the_same_order(tree: Tree) -> None:
    root = tree(
        "== pkg/__init__.py\nfrom . import a, b\nfrom .c import *\nT = {'A': '.e', 'B': '.f'}\n"
        "def __getattr__(n): ...\n== pkg/a.py\ndef one():\n    from . import e, f\n== pkg/b.py\n"
        "def two():\n    from pkg import g, h, B\n    import_module(two)\n== pkg/c.py\nimport pkg.gone\n"
        "== pkg/e.py\n== pkg/f.py\n== pkg/g.py\n== pkg/h.py\n== pkg/x.csv\n== pkg/y.csv\n"
    )
    printed = {
        processes.run(
            [sys.executable, "-c", PROGRAM, str(root)],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "2")
    }
    assert len(printed) == 1
    assert "pkg.gone has no source" in printed.pop()


def test_edges_print_on_one_line(close: Close) -> None:
    closure = close("== pkg/__init__.py\nimport sys\ndef f():\n    import json\n")
    assert [str(edge) for edge in closure.edges] == [
        "pkg <- root (asked for, root)",
        "sys <- pkg (pkg/__init__.py:1, top)",
        "json <- pkg (pkg/__init__.py:3, function f)",
    ]


@pytest.mark.parametrize("frozen", [False, True])
def test_a_run_leaves_the_garbage_collector_as_it_was(close: Close, frozen: bool) -> None:
    gc.collect()  # what is frozen stays for good
    gc.unfreeze()  # as tests/conftest.py leaves it
    if frozen:
        gc.freeze()
    try:
        before = gc.isenabled(), gc.get_freeze_count() > 0
        close("== pkg/__init__.py\nimport json\n")
        assert (gc.isenabled(), gc.get_freeze_count() > 0) == before == (True, frozen)
    finally:
        gc.freeze()


# -- data and the cache ---------------------------------------------------------------------------


def test_files_lie_beside_the_code_as_in_a_wheel(close: Close) -> None:
    text = """
== pkg/__init__.py
import pkg.a
== pkg/a/__init__.py
== pkg/a/words.txt
== pkg/a/deep/table.csv
== pkg/a/.hidden
== pkg/a/notes.py
== pkg/a/types.pyi
== pkg/a/fast.dll
== pkg/a/fast.cpython-311-x86_64-linux-gnu.so
== pkg/b/__init__.py
== pkg/b/unreached.json
== pkg/.git/config
== pkg/.conf/x
"""
    closure = close(text)
    inside = {(f"{file.package}/{file.resource}", file.kind) for file in closure.data_files("pkg")}
    assert inside == {
        ("pkg.a/.hidden", "beside"),
        ("pkg.a/deep/table.csv", "beside"),
        ("pkg.a/fast.dll", "beside"),
        ("pkg.a/words.txt", "beside"),
    }
    whole = {(f"{file.package}/{file.resource}", file.kind) for file in closure.data_files("pkg", whole=True)}
    assert whole - inside == {("pkg/b/unreached.json", "beside"), ("pkg/.conf/", "hidden")}


def test_data_files_tell_their_size_and_content(close: Close) -> None:
    (file,) = close("== pkg/__init__.py\n== pkg/data/a.yaml\na\n").data_files("pkg")
    assert (file.package, file.resource, file.bytes, file.read()) == ("pkg", "data/a.yaml", 2, b"a\n")
    assert Path(file.path).read_bytes() == b"a\n"


def test_packages_that_are_left_to_the_target_have_no_data_files(close: Close) -> None:
    text = "== pkg/__init__.py\nimport other\n== other/__init__.py\n== other/x.csv\n"
    assert close(text).data_files("other") == ()


def test_a_second_closure_reads_records_and_parses_nothing(
    close: Close, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = close(PROJECT, cache=ScanCache(tmp_path / "cache"))
    monkeypatch.setattr("packager._graph.source_table.read_statements", None)
    again = close(PROJECT, cache=ScanCache(tmp_path / "cache"))
    assert (again.edges, again.modules) == (first.edges, first.modules)
    assert [*again.always_needed] == [*first.always_needed]
