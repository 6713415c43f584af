"""What a walk tells: problems, reasons, chains, data, and how it grows."""

from __future__ import annotations

import gc
import hashlib
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from packager.graph import Edge, Sources, Walk, WalkDecision
from tests import processes

Tree = Callable[[str], Path]
WalkTree = Callable[..., Any]


# -- problems -------------------------------------------------------------------------------------


def test_a_followed_module_without_source_is_a_problem_with_its_place(walk_tree: WalkTree) -> None:
    walked = walk_tree(
        "== pkg/__init__.py\nfrom . import fast, old\nimport pkg.gone\n== pkg/fast.so\n== pkg/old.pyc\n"
    )
    problems = {problem.module: problem for problem in walked.walk.problems}
    assert {name: problem.reason for name, problem in problems.items()} == {
        "pkg.fast": "extension",
        "pkg.old": "bytecode",
        "pkg.gone": "missing",
    }
    assert (problems["pkg.fast"].file, problems["pkg.fast"].line) == ("pkg/__init__.py", 1)
    assert problems["pkg.fast"].message == (
        "pkg.fast has no source to store: it is compiled code (a C extension)"
    )


def test_a_syntax_error_is_a_problem_and_the_rest_is_walked(walk_tree: WalkTree) -> None:
    walked = walk_tree(
        "== pkg/__init__.py\nfrom . import bad, good\n== pkg/bad.py\nx = 1\ndef (:\n== pkg/good.py\n"
    )
    (problem,) = walked.walk.problems
    assert (problem.module, problem.reason, problem.file, problem.line) == (
        "pkg.bad",
        "syntax",
        "pkg/bad.py",
        2,
    )
    assert walked.followed == ["pkg", "pkg.bad", "pkg.good"]


@pytest.mark.parametrize("content", [b"# coding: no-such-codec\n", b"x = '\xff'\n", b"x = 1\x00\n"])
def test_bytes_that_are_no_source_are_a_problem(tree: Tree, content: bytes) -> None:
    root = tree("== pkg/__init__.py\n")
    (root / "pkg" / "__init__.py").write_bytes(content)
    walk = Walk(lambda name, edges: WalkDecision(True), sources=Sources([str(root)]), cache=None)
    walk.add_root("pkg")
    walk.run()
    assert [problem.reason for problem in walk.problems] == ["syntax"]


def test_an_import_beyond_the_top_level_is_a_problem(walk_tree: WalkTree) -> None:
    walked = walk_tree("== pkg/__init__.py\nfrom . import a\n== pkg/a.py\nx = 1\nfrom ...up import y\n")
    (problem,) = walked.walk.problems
    assert (problem.module, problem.reason, problem.line) == ("pkg.a", "beyond top level", 2)
    assert problem.message == "attempted relative import beyond top-level package: ...up in pkg.a"


def test_a_root_that_does_not_exist_is_a_problem(walk_tree: WalkTree) -> None:
    assert walk_tree("", "nothing.here", follow=("nothing",)).reasons() == [
        ("nothing", "missing"),
        ("nothing.here", "missing"),
    ]


def test_what_is_not_followed_is_no_problem_however_it_is_made(walk_tree: WalkTree) -> None:
    assert not walk_tree("== pkg/__init__.py\nimport sys, absent, other\n== other.so\n").walk.problems


# -- modules of every kind ------------------------------------------------------------------------


def test_packages_without_init_and_with_data_alone_are_told_apart(walk_tree: WalkTree) -> None:
    walked = walk_tree("== pkg/sub/mod.py\nfrom pkg import tables\n== pkg/tables/x.csv\n1\n", "pkg.sub.mod")
    kinds = {module.name: module.kind for module in walked.walk.modules.values()}
    assert kinds == {
        "pkg": "namespace",
        "pkg.sub": "namespace",
        "pkg.sub.mod": "source",
        "pkg.tables": "resources",
    }
    assert not walked.walk.problems


def test_a_followed_module_carries_the_bytes_that_were_read(walk_tree: WalkTree) -> None:
    module = walk_tree("== pkg/__init__.py\nx = 1\n").walk.modules["pkg"]
    assert module.source == b"x = 1\n"
    assert module.digest == hashlib.sha256(b"x = 1\n").hexdigest()
    assert (module.file, module.is_package, module.uses_path) == ("pkg/__init__.py", True, False)


def test_code_that_asks_where_it_lies_is_marked(walk_tree: WalkTree) -> None:
    assert walk_tree("== pkg/__init__.py\nhere = __file__\n").walk.modules["pkg"].uses_path
    assert walk_tree("== pkg/__init__.py\nimport pkg\nhere = pkg.__path__[0]\n").walk.modules["pkg"].uses_path


def test_texts_come_before_files_and_imply_their_parents(tree: Tree) -> None:
    root = tree("== pkg/__init__.py\nfrom . import on_disk\n== pkg/on_disk.py\n")
    walk = Walk(
        lambda name, edges: WalkDecision(name.startswith(("pkg", "made"))),
        sources=Sources([str(root)]),
        cache=None,
    )
    walk.add_source("pkg", "from . import given\n", is_package=True)
    walk.add_source("pkg.given", "import made.up.thing\n")
    walk.add_source("made.up.thing", "")
    walk.run()
    kinds = {module.name: module.kind for module in walk.modules.values()}
    assert kinds == {
        "pkg": "text", "pkg.given": "text", "made": "implicit", "made.up": "implicit", "made.up.thing": "text"
    }  # fmt: skip
    assert not walk.problems


def test_a_verdict_may_bring_another_source(tree: Tree) -> None:
    root = tree("== pkg/__init__.py\nimport pkg.a\n== pkg/a.py\n== pkg/b.py\n")

    def decide(name: str, edges: Sequence[Edge]) -> WalkDecision:
        return WalkDecision(True, "import pkg.b\n" if name == "pkg" else None)

    walk = Walk(decide, sources=Sources([str(root)]), cache=None)
    walk.add_root("pkg")
    walk.run()
    assert list(walk.modules) == ["pkg", "pkg.b"]
    assert walk.modules["pkg"].source == b"import pkg.b\n"


# -- growing --------------------------------------------------------------------------------------


def test_later_roots_extend_the_walk_and_ask_only_about_new_modules(tree: Tree) -> None:
    root = tree(
        "== pkg/__init__.py\n== pkg/a.py\nfrom . import c\n== pkg/b.py\nfrom . import c\n== pkg/c.py\n"
    )
    asked: list[str] = []

    def decide(name: str, edges: Sequence[Edge]) -> WalkDecision:
        asked.append(name)
        return WalkDecision(True)

    walk = Walk(decide, sources=Sources([str(root)]), cache=None)
    walk.add_root("pkg.a")
    walk.run()
    walk.add_root("pkg.b")
    walk.run()
    walk.run()
    assert asked == ["pkg", "pkg.a", "pkg.c", "pkg.b"]
    assert [edge.importer for edge in walk.edges if edge.target == "pkg.c"] == ["pkg.a", "pkg.b"]


def test_an_error_in_the_callback_comes_through_and_nothing_is_decided(tree: Tree) -> None:
    root = tree("== pkg/__init__.py\n")
    answers = iter([RuntimeError("no"), WalkDecision(True)])

    def decide(name: str, edges: Sequence[Edge]) -> WalkDecision:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    walk = Walk(decide, sources=Sources([str(root)]), cache=None)
    walk.add_root("pkg")
    with pytest.raises(RuntimeError, match="no"):
        walk.run()
    assert not walk.modules
    walk.add_root("pkg")
    walk.run()
    assert list(walk.modules) == ["pkg"]


PROGRAM = """
import sys
from packager.graph import Walk, WalkDecision
from packager.graph import Sources
sources = Sources([sys.argv[1]])
walk = Walk(lambda name, edges: WalkDecision(name.startswith("pkg")), sources=sources, cache=None)
walk.add_root("pkg")
walk.run()
print(list(walk.modules), [str(edge) for edge in walk.edges], walk.facts, walk.problems, walk.questions())
"""


def test_two_hash_seeds_give_the_same_answer_in_the_same_order(tree: Tree) -> None:
    root = tree(
        "== pkg/__init__.py\nfrom . import a, b\nfrom .c import *\n"
        "def go(x):\n    a.one(); b.two(); x.three(); x.four()\n"
        "== pkg/a.py\ndef one():\n    from . import e, f\n== pkg/b.py\ndef two():\n    from . import g, h\n"
        "== pkg/c.py\nclass A:\n    def three(self):\n        from . import e\n"
        "class B:\n    def four(self):\n        import pkg.gone\n"
        "REGISTRY = {'a': A, 'b': B}\n== pkg/e.py\n== pkg/f.py\n== pkg/g.py\n== pkg/h.py\n"
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
    assert "pkg.gone" in printed.pop()


# -- looking back ---------------------------------------------------------------------------------


CHAINS = """
== app.py
import pkg.a
def run():
    from pkg import long
    return long
== pkg/__init__.py
== pkg/a.py
from . import b
== pkg/b.py
import target
== pkg/long.py
from . import longer
== pkg/longer.py
import target
"""


def test_why_is_the_shortest_chain_with_file_line_and_kind(walk_tree: WalkTree) -> None:
    walked = walk_tree(CHAINS, "app", follow=("app", "pkg"))
    chain = walked.walk.why("target")
    assert [(e.importer, e.target, e.kind, e.file, e.line) for e in chain] == [
        ("", "app", "root", "", 0),
        ("app", "pkg.a", "top", "app.py", 1),
        ("pkg.a", "pkg.b", "top", "pkg/a.py", 1),
        ("pkg.b", "target", "top", "pkg/b.py", 1),
    ]
    assert [e.kind for e in walked.walk.why("pkg")] == ["root", "function"]
    assert walked.walk.why("unheard.of") == ()


def test_the_graph_holds_every_followed_edge(walk_tree: WalkTree) -> None:
    graph = walk_tree(CHAINS, "app", follow=("app", "pkg")).walk.graph()
    assert sorted(graph.predecessors("target")) == ["pkg.b", "pkg.longer"]
    assert '"app" -> "pkg.a";' in graph.all_paths("app", "target")


def test_edges_print_on_one_line(walk_tree: WalkTree) -> None:
    walked = walk_tree("== pkg/__init__.py\nimport sys\nif sys.version_info >= (3,):\n    import json\n")
    assert str(walked.edge("pkg", "json")) == (
        "json <- pkg (pkg/__init__.py:3, guard sys.version_info >= (3,))"
    )


# -- data files -----------------------------------------------------------------------------------

DATA = """
== pkg/__init__.py
import os
from importlib.resources import files
from pathlib import Path
table = open(os.path.join(os.path.dirname(__file__), "data", "table.csv"))
text = files(__name__).joinpath("notes.txt").read_text()
config = Path(__file__).parent / "configs" / "a.yaml"
every = Path(__file__).parent.glob("shapes/*.json")
other = load(f"{name}/lost.bin")
from . import sub
== pkg/sub/__init__.py
own = read("own.txt")
source = open(HERE / "template.py").read()
== pkg/data/table.csv
1
== pkg/notes.txt
n
== pkg/configs/a.yaml
a
== pkg/configs/b.yaml
b
== pkg/shapes/x.json
{}
== pkg/deep/lost.bin
l
== pkg/unnamed.txt
u
== pkg/sub/own.txt
o
== pkg/sub/template.py
t
== pkg/py.typed
== pkg/unread/__init__.py
== pkg/unread/never.txt
x
"""


def test_data_files_are_found_where_literals_allow_and_suggested_where_not(walk_tree: WalkTree) -> None:
    walked = walk_tree(DATA)
    files = {
        (file.package, file.resource): (file.kind, file.because) for file in walked.walk.data_files("pkg")
    }
    assert files == {
        ("pkg", "data/table.csv"): ("found", "pkg/__init__.py:4"),
        ("pkg", "notes.txt"): ("found", "pkg/__init__.py:5"),
        ("pkg", "configs/a.yaml"): ("found", "pkg/__init__.py:6"),
        ("pkg", "configs/b.yaml"): ("suggested", "pkg/__init__.py:6"),
        ("pkg", "shapes/x.json"): ("found", "pkg/__init__.py:7"),
        ("pkg", "deep/lost.bin"): ("suggested", "pkg/__init__.py:8"),
        ("pkg", "unnamed.txt"): ("beside", ""),
        ("pkg.sub", "own.txt"): ("found", "pkg/sub/__init__.py:1"),
        ("pkg.sub", "template.py"): ("found", "pkg/sub/__init__.py:2"),
    }


def test_data_files_tell_their_size_and_content(walk_tree: WalkTree) -> None:
    file = walk_tree(DATA).walk.data_files("pkg")[0]
    assert (file.resource, file.bytes, file.read()) == ("configs/a.yaml", 2, b"a\n")
    assert Path(file.path).read_bytes() == b"a\n"


def test_packages_that_are_not_followed_have_no_data_files(walk_tree: WalkTree) -> None:
    assert (
        walk_tree("== pkg/__init__.py\nimport other\n== other/__init__.py\n== other/x.csv\n").walk.data_files(
            "other"
        )
        == ()
    )


@pytest.mark.parametrize("frozen", [False, True])
def test_a_walk_leaves_the_garbage_collector_as_it_was(walk_tree: WalkTree, frozen: bool) -> None:
    gc.unfreeze()  # as tests/conftest.py leaves it
    if frozen:
        gc.freeze()
    try:
        before = gc.isenabled(), gc.get_freeze_count() > 0
        walk_tree("== pkg/__init__.py\nimport json\n")
        assert (gc.isenabled(), gc.get_freeze_count() > 0) == before == (True, frozen)
    finally:
        gc.freeze()


def test_the_record_of_one_module_makes_no_others(
    walk_tree: WalkTree, monkeypatch: pytest.MonkeyPatch
) -> None:
    walked = walk_tree("== pkg/__init__.py\n== pkg/a.py\nimport pkg.b\n== pkg/b.py\n", "pkg.a")
    made: list[str] = []
    record = Walk._record
    monkeypatch.setattr(Walk, "_record", lambda self, name: (made.append(name), record(self, name))[1])
    modules = walked.walk.modules
    assert modules["pkg.b"].followed
    assert "pkg.a" in modules
    assert "pkg.c" not in modules
    assert made == ["pkg.b"]
    with pytest.raises(KeyError, match=r"pkg\.c"):
        modules["pkg.c"]
    assert sorted(modules) == ["pkg", "pkg.a", "pkg.b"]
    assert len(modules) == 3
