"""Imports by name: literal ones are followed, computed ones are one question each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

WalkTree = Callable[..., Any]

TREE = """
== pkg/__init__.py
== pkg/sub/__init__.py
== pkg/sub/a.py
== pkg/sub/b.py
x = 12345
== pkg/sub/deep/__init__.py
== pkg/sub/deep/c.py
== pkg/odd-name.py
"""


def with_code(code: str) -> str:
    return TREE + "== pkg/main.py\nimport importlib\nfrom importlib import import_module\n" + code


@pytest.mark.parametrize(
    "code",
    [
        "importlib.import_module('pkg.sub.a')",
        "import_module('.sub.a', __package__)",
        "import_module('.sub.a', package='pkg')",
        "import_module('..sub.a', 'pkg.sub')",
        "from importlib import import_module as load\nload('pkg.sub.a')",
        "import importlib as il\nil.import_module('pkg.sub.a')",
        "import_module(__package__ + '.sub.a')",
        "import_module(f'{__package__}.sub.a')",
        "import_module('pkg.' + 'sub.a')",
        "__import__('pkg.sub.a')",
        "__import__('pkg.sub', globals(), locals(), ['a'])",
        "__import__('sub.a', globals(), level=1)",
        "__import__('sub', globals(), None, fromlist=('a',), level=1)",
    ],
)
def test_a_literal_name_is_followed(walk_tree: WalkTree, code: str) -> None:
    walked = walk_tree(with_code(code + "\n"), "pkg.main")
    assert walked.followed == ["pkg", "pkg.main", "pkg.sub", "pkg.sub.a"]
    assert not walked.walk.questions()
    assert {edge.kind for edge in walked.walk.edges if edge.target == "pkg.sub.a"} == {"dynamic"}


@pytest.mark.parametrize(
    "code",
    [
        "from importlib import resources\nresources.files('pkg.words') / 'a.txt'",
        "import importlib.resources\nimportlib.resources.read_text('pkg.words', 'a.txt')",
        "from importlib.resources import files\ndef load():\n    return files('pkg.words')",
        "import importlib.resources as r\nr.files('pkg.words')",
        "from importlib import resources as given\ndef load():\n    return given.files('pkg.words')",
        "import pkgutil\npkgutil.get_data('pkg.words', 'a.txt')",
    ],
)
def test_a_package_whose_resources_are_read_is_imported(walk_tree: WalkTree, code: str) -> None:
    walked = walk_tree(f"== pkg/__init__.py\n{code}\n== pkg/words/a.txt\nalpha\n")
    assert walked.walk.modules["pkg.words"].kind == "resources"
    assert walked.edge("pkg", "pkg.words").kind == "dynamic"


def test_other_functions_of_those_names_import_nothing(walk_tree: WalkTree) -> None:
    walked = walk_tree(
        "== pkg/__init__.py\ndef files(name): pass\nfiles('pkg.words')\nopen.path('pkg.words')\n"
    )
    assert list(walked.walk.modules) == ["pkg"]


def test_a_name_that_is_no_identifier_can_be_imported(walk_tree: WalkTree) -> None:
    assert "pkg.odd-name" in walk_tree(with_code("import_module('pkg.odd-name')\n"), "pkg.main").followed


@pytest.mark.parametrize(
    ("code", "pattern", "candidates"),
    [
        ("import_module(f'pkg.sub.{n}')", "pkg.sub.*", ["pkg.sub.a", "pkg.sub.b", "pkg.sub.deep"]),
        ("import_module('pkg.sub.' + n)", "pkg.sub.*", ["pkg.sub.a", "pkg.sub.b", "pkg.sub.deep"]),
        (("import_module('.sub.%s' "
            "% n, __package__)"), "pkg.sub.*", ["pkg.sub.a", "pkg.sub.b", "pkg.sub.deep"]),
        ("import_module('pkg.sub.{}.c'.format(n))", "pkg.sub.*.c", ["pkg.sub.deep.c"]),
        ("import_module(f'.odd{n}', 'pkg')", "pkg.odd*", ["pkg.odd-name"]),
        ("m = f'pkg.sub.{n}'\n    import_module(m)", "pkg.sub.*", ["pkg.sub.a", "pkg.sub.b", "pkg.sub.deep"]),
        ("import_module(n + '.deep.c')", "*.deep.c", ["pkg.sub.deep.c"]),  # of the package that asks
        ("import_module(f'{n}.b')", "*.b", ["pkg.sub.b"]),
        ("import_module(n)", "", []),
        ("import_module('.' + n, n)", "", []),
    ],
)  # fmt: skip
def test_a_computed_name_is_a_question_with_its_candidates(
    walk_tree: WalkTree, code: str, pattern: str, candidates: list[str]
) -> None:
    walked = walk_tree(with_code(f"def load(n):\n    {code}\n"), "pkg.main")
    assert walked.followed == ["pkg", "pkg.main"]
    (question,) = walked.walk.questions()
    assert (question.importer, question.file, question.function) == ("pkg.main", "pkg/main.py", "load")
    assert question.pattern == pattern
    assert [candidate.name for candidate in question.candidates] == candidates
    assert question.id == f"pkg/main.py:{question.line}:load"


@pytest.mark.parametrize(
    ("code", "pattern", "candidates"),
    [
        ("return import_module(TABLE[n])", "pkg.sub.a|pkg.sub.none", ["pkg.sub.a"]),
        ("return import_module(TABLE.get(n, 'pkg.sub.b'))", "pkg.sub.a|pkg.sub.none|pkg.sub.b",
            ["pkg.sub.a", "pkg.sub.b"]),
        ("name = INNER[n][0]\n    return importlib.import_module(name, __package__)", "pkg.sub.a|pkg.sub.b",
            ["pkg.sub.a", "pkg.sub.b"]),
        ("return import_module(INNER[n][0], package='pkg')", "pkg.sub.a|pkg.sub.b|json",
            ["pkg.sub.a", "pkg.sub.b"]),
        ("for name in ('pkg.sub.deep', 'pkg.sub.b'):\n        import_module(name)", "pkg.sub.deep|pkg.sub.b",
            ["pkg.sub.deep", "pkg.sub.b"]),
        ("return __import__(TABLE[n])", "pkg.sub.a|pkg.sub.none", ["pkg.sub.a"]),
    ],
)  # fmt: skip
def test_a_name_that_is_drawn_from_a_literal_has_what_stands_there_as_candidates(
    walk_tree: WalkTree, code: str, pattern: str, candidates: list[str]
) -> None:
    table = "TABLE = {'a': 'pkg.sub.a', 'none': 'pkg.sub.none', 'no': 'no name'}\n"
    inner = "INNER = {'a': ('.sub.a', 'A'), 'b': ('.sub.b', 'B'), 'other': ('json', 'C')}\n"
    walked = walk_tree(with_code(f"{table}{inner}def load(n):\n    {code}\n"), "pkg.main")
    assert walked.followed == ["pkg", "pkg.main"]
    (question,) = walked.walk.questions()
    assert (question.pattern, [one.name for one in question.candidates]) == (pattern, candidates)
    walked.walk.answer(question.id, "all")
    walked.walk.run()
    assert set(candidates) <= walked.walk.modules.keys()


def test_candidates_tell_their_size(walk_tree: WalkTree) -> None:
    (question,) = walk_tree(
        with_code("def load(n):\n    import_module('pkg.sub.' + n)\n"), "pkg.main"
    ).walk.questions()
    assert [(c.name, c.modules, c.bytes) for c in question.candidates] == [
        ("pkg.sub.a", 1, 0),
        ("pkg.sub.b", 1, 10),
        ("pkg.sub.deep", 2, 0),
    ]


def test_code_that_is_not_live_asks_nothing(walk_tree: WalkTree) -> None:
    walked = walk_tree(
        with_code("def entry(): pass\ndef load(n):\n    import_module('pkg.sub.' + n)\n"), "pkg.main:entry"
    )
    assert not walked.walk.questions()


@pytest.mark.parametrize(
    ("answer", "added"),
    [
        ("all", ["pkg.sub", "pkg.sub.a", "pkg.sub.b", "pkg.sub.deep"]),
        ("none", []),
        (["pkg.sub.b"], ["pkg.sub", "pkg.sub.b"]),
    ],
)
def test_an_answer_is_followed_and_ends_the_question(
    walk_tree: WalkTree, answer: Any, added: list[str]
) -> None:
    code = with_code("def load(n):\n    import_module('pkg.sub.' + n)\n")
    line = code.partition("== pkg/main.py\n")[2].splitlines().index("    import_module('pkg.sub.' + n)") + 1
    walked = walk_tree(code, "pkg.main", answers={f"pkg/main.py:{line}:load": answer})
    assert sorted(walked.followed) == sorted(["pkg", "pkg.main", *added])
    assert not walked.walk.questions()
    assert all(
        edge.kind == "dynamic glob"
        for edge in walked.walk.edges
        if edge.importer == "pkg.main" and edge.target.startswith("pkg.sub.")
    )


def test_a_question_ends_with_its_answer_and_tells_what_is_offered(walk_tree: WalkTree) -> None:
    walk = walk_tree(with_code("def load(n):\n    import_module(n)\n"), "pkg.main").walk
    (question,) = walk.questions()
    assert (question.named, walk.questions()) == ((), (question,))
    assert walk.offer(question.id, ["pkg.sub.b"])
    assert [one.named for one in walk.questions()] == [("pkg.sub.b",)]
    walk.answer(question.id, "none")
    assert walk.questions() == ()


def test_what_runs_text_or_looks_for_plugins_asks_too(walk_tree: WalkTree) -> None:
    walked = walk_tree(
        with_code(
            "from importlib.metadata import entry_points\n"
            "def load(n):\n    exec(n)\n    entry_points(group=n)\n"
            "    importlib.util.spec_from_file_location(n, n)\n"
        ),
        "pkg.main",
    )
    assert [question.text.partition("(")[0] for question in walked.walk.questions()] == [
        "exec",
        "entry_points",
        "importlib.util.spec_from_file_location",
    ]


@pytest.mark.parametrize(
    ("code", "asked"),
    [
        ('exec("def f(x):\\n    return x + 1", globals())', []),
        ('def load():\n    text = "y = 3"\n    exec(text)\n', []),
        ('exec("import os")', ['exec("import os")']),
        ("exec(\"__import__('os')\")", ["exec(\"__import__('os')\")"]),
        ('exec("exec(given)")', ['exec("exec(given)")']),
        ('exec("y = %d" % 3)', ['exec("y = %d" % 3)']),
        ('def load(n):\n    exec(f"y = {n}")\n', ['exec(f"y = {n}")']),
    ],
)
def test_a_text_that_stands_there_and_imports_nothing_is_no_question(
    walk_tree: WalkTree, code: str, asked: list[str]
) -> None:
    walked = walk_tree(with_code(code), "pkg.main")
    assert [question.text for question in walked.walk.questions()] == asked


@pytest.mark.parametrize(
    ("loop", "pattern", "candidates"),
    [
        (
            "for _, n, _ in pkgutil.walk_packages(__path__, prefix=__name__ + '.'): import_module(n)",
            "pkg.**",
            ["pkg.a", "pkg.sub", "pkg.sub.b"],
        ),
        (
            "for m in iter_modules(__path__, f'{__name__}.'): import_module(m.name)",
            "pkg.*",
            ["pkg.a", "pkg.sub"],
        ),
        (
            "def f():\n  for m in iter_modules(p, 'pkg.sub.'):\n    n = m.name\n    import_module(n)",
            "",
            [],
        ),
        (
            "def load():\n    for _, n, _ in pkgutil.walk_packages(p, 'pkg.sub.'): import_module(n)\nload()",
            "pkg.sub.**",
            ["pkg.sub.b"],
        ),
        (
            "for m in iter_modules(__path__): import_module(f'{__name__}.{m.name}')",
            "pkg.*",
            ["pkg.a", "pkg.sub"],
        ),
        ("for m in iter_modules(__path__): import_module(m.name)", "", []),
    ],
)
def test_a_loop_over_listed_modules_has_them_as_candidates(
    walk_tree: WalkTree, loop: str, pattern: str, candidates: list[str]
) -> None:
    head = "import pkgutil\nfrom pkgutil import iter_modules\nfrom importlib import import_module\n"
    files = "== pkg/a.py\n== pkg/sub/__init__.py\n== pkg/sub/b.py\n"
    (question,) = walk_tree(f"== pkg/__init__.py\n{head}{loop}\n{files}").walk.questions()
    assert (question.pattern, [one.name for one in question.candidates]) == (pattern, candidates)
    everything = walk_tree(f"== pkg/__init__.py\n{head}{loop}\n{files}", answers={question.id: "all"})
    assert set(candidates) <= set(everything.followed)


PROXY = """
from importlib import import_module
class Lazy:
    def __init__(self, name, other=None): self._name = name
    def __getattr__(self, name): return getattr(import_module(self._name), name)
"""


@pytest.mark.parametrize(
    ("made", "elsewhere", "followed", "asked"),
    [
        ("a = Lazy(__name__ + '.a')", "", ["pkg.a"], False),
        ("a = Lazy('pkg.a')\nb = Lazy(name=f'{__package__}.sub.b')", "", ["pkg.a", "pkg.sub.b"], False),
        ("a = Lazy(other='label', name='.a')", "", ["pkg.a"], False),
        ("", "from . import Lazy\nb = Lazy('.sub.b')", ["pkg.sub.b"], False),
        ("a = Lazy('pkg.a')\nc = Lazy(input())", "", ["pkg.a"], True),
        ("a = Lazy('pkg.gone')", "", [], True),
        ("", "class Lazy: pass\na = Lazy('pkg.a')", [], True),
    ],
)
def test_an_object_that_stands_for_a_module_brings_the_one_that_it_is_given(
    walk_tree: WalkTree, made: str, elsewhere: str, followed: list[str], asked: bool
) -> None:
    files = f"== pkg/user.py\nimport pkg\n{elsewhere}\ndef use(x): return x.thing\n"
    files += "== pkg/a.py\n== pkg/sub/__init__.py\n== pkg/sub/b.py\n"
    walked = walk_tree(f"== pkg/__init__.py\n{PROXY}{made}\n{files}", "pkg", "pkg.user")
    assert {"pkg.a", "pkg.sub.b"}.intersection(walked.followed) == set(followed)
    assert bool(walked.walk.questions()) == asked
