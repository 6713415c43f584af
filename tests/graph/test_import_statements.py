"""What one source says: its import statements, when each runs, and what it leaves to a run."""

from __future__ import annotations

import sys

import pytest

from packager._graph.import_statements import Statement, Statements, read_statements


def kinds(text: str) -> dict[str, str]:
    return {one.module: one.kind for one in read_statements(text.encode()).imports}


def test_each_statement_says_when_it_runs() -> None:
    text = """
import top
class Net:
    import in_class
    def go(self):
        import in_method
for one in (1, 2):
    import in_loop
else:
    import behind_loop
with open("x"):
    import in_with
async def later():
    import in_async
try:
    import in_try
except ImportError:
    import in_handler
else:
    import in_else
finally:
    import in_finally
if top:
    import in_if
elif top.x:
    import in_elif
else:
    import in_other
while top:
    import in_while
match top:
    case 1:
        import in_match
if __name__ == "__main__":
    import in_main
else:
    import not_in_main
"""
    assert kinds(text) == {
        "top": "top",
        "in_class": "top",
        "in_method": "function",
        "in_loop": "top",
        "behind_loop": "top",
        "in_with": "top",
        "in_async": "function",
        "in_try": "try",
        "in_handler": "except",
        "in_else": "try",
        "in_finally": "top",
        "in_if": "guard",
        "in_elif": "guard",
        "in_other": "guard",
        "in_while": "guard",
        "in_match": "guard",
        "not_in_main": "top",
    }


@pytest.mark.parametrize(
    "test", ["TYPE_CHECKING", "typing.TYPE_CHECKING", "t.TYPE_CHECKING", "TYPE_CHECKING or SLOW"]
)
def test_what_type_checkers_alone_see_is_apart_and_its_else_runs(test: str) -> None:
    assert kinds(
        f"if {test}:\n    import a\n    try: import b\n    finally: pass\nelse:\n    import c\n"
    ) == {
        "a": "type_checking",
        "b": "type_checking",
        "c": "top",
    }


def test_a_negated_type_checking_runs_its_body() -> None:
    assert kinds("if not TYPE_CHECKING:\n    import a\nelse:\n    import b\n") == {
        "a": "top",
        "b": "type_checking",
    }


@pytest.mark.parametrize("call", ["suppress(ImportError)", "contextlib.suppress(Exception)"])
def test_an_import_whose_error_is_suppressed_may_fail(call: str) -> None:
    assert kinds(f"with open('x') as x, {call}:\n    import a\n") == {"a": "try"}


def test_an_outer_circumstance_stays_inside_and_a_function_is_named() -> None:
    text = """
try:
    if x:
        import a
except ImportError:
    class Net:
        class Deep:
            def go(self):
                try:
                    def inner():
                        import b
                finally:
                    import c
"""
    read = read_statements(text.encode())
    assert [(one.module, one.kind, one.function) for one in read.imports] == [
        ("a", "try", ""),
        ("b", "function", "Net.Deep.go.inner"),
        ("c", "function", "Net.Deep.go"),
    ]


def test_names_are_kept_with_what_they_are_bound_as() -> None:
    read = read_statements(b"from ..a.b import c as d, e\nfrom . import *\nimport f.g as h, i\n")
    assert read.imports == (
        Statement(1, "top", "", 2, "a.b", (("c", "d"), ("e", "e"))),
        Statement(2, "top", "", 1, "", (("*", "*"),)),
        Statement(3, "top", "", 0, "f.g"),
        Statement(3, "top", "", 0, "i"),
    )


@pytest.mark.parametrize(
    ("call", "level", "module"),
    [
        ("import_module('a.b')", 0, "a.b"),
        ("importlib.import_module(name='a')", 0, "a"),
        ("import_module('.a', __package__)", 1, "a"),
        ("import_module('.a', __spec__.parent)", 1, "a"),
        ("import_module('..a', 'p.q')", 0, "p.a"),
        ("import_module('odd-name')", 0, "odd-name"),
        ("__import__('a.b')", 0, "a.b"),
        ("__import__('a', globals(), level=1)", 1, "a"),
        ("builtins.__import__('a')", 0, "a"),
    ],
)
def test_a_call_with_a_literal_name_is_a_statement(call: str, level: int, module: str) -> None:
    read = read_statements(f"import json\nx = [{call}]".encode())
    assert read.imports[1:] == (Statement(2, "top", "", level, module),)
    assert read.computed == ()


def test_names_of_a_from_list_are_asked_for() -> None:
    read = read_statements(b"__import__('a', None, None, ['b', c, 'd'])")
    assert read.imports == (Statement(1, "top", "", 0, "a", (("b", "b"), ("d", "d"))),)


def test_importlib_is_known_by_other_names() -> None:
    read = read_statements(
        b"import importlib as il\nfrom importlib import import_module as load\n"
        b"il.import_module('a')\n\nload('b')\nother.import_module('c')\nself.import_module(d)\n"
    )
    assert [(one.line, one.module) for one in read.imports[2:]] == [(3, "a"), (5, "b")]
    assert read.computed == ()


@pytest.mark.parametrize(
    ("code", "kind", "function"),
    [
        ("f = lambda: import_module('a')", "function", "<lambda>"),
        ("x = import_module('a') if y else None", "guard", ""),
        ("x = y or import_module('a')", "guard", ""),
        ("@deco(import_module('a'))\ndef f(): import json", "top", ""),
        ("def f(x=import_module('a')): pass", "top", ""),
        ("def f():\n    return import_module('a')", "function", "f"),
        ("if import_module('a').x: pass", "top", ""),
        ("try: pass\nexcept import_module('a').Error: pass", "top", ""),
    ],
)
def test_a_call_runs_when_its_expression_does(code: str, kind: str, function: str) -> None:
    (found,) = (one for one in read_statements(code.encode()).imports if one.module == "a")
    assert (found.kind, found.function) == (kind, function)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        ("import_module(f'pkg.{name}')", "import_module(f'pkg.{name}')"),
        ("import_module('.a', package)", "import_module('.a', package)"),
        ("import_module('.a')", "import_module('.a')"),
        ("import_module('...a', 'p.q')", "import_module('...a', 'p.q')"),
        ("import_module(__name__ + 'a')", "import_module(__name__ + 'a')"),
        ("import_module(name + '.a')", "import_module(name + '.a')"),
        ("import_module('..a', package=__name__)", "import_module('..a', package=__name__)"),
        ("import_module(f'{__package__}.a')", "import_module(f'{__package__}.a')"),
        ("__import__(__package__ + '.fft')", "__import__(__package__ + '.fft')"),
        ("__import__(name)", "__import__(name)"),
        ("metadata.entry_points(group='x')", "metadata.entry_points(group='x')"),
    ],
)
def test_a_computed_name_is_left_to_a_run(call: str, text: str) -> None:
    read = read_statements(f"def load(name):\n    return {call}".encode())
    assert (read.imports, read.computed) == ((), ((2, text, "load"),))


def test_statements_stand_in_the_order_of_the_source() -> None:
    some = "try:\n    import a{n}\nfinally: import b{n}\nif x:\n    import c{n}\ny = import_module('d{n}')\n"
    found = kinds("".join(some.replace("{n}", str(n)) for n in range(3)))
    assert list(found) == [f"{name}{n}" for n in range(3) for name in "abcd"]


def test_a_long_chain_of_branches_is_read_without_recursion() -> None:
    limit = sys.getrecursionlimit()
    text = "if x: import a0\n" + "".join(f"elif x == {n}: import a{n}\n" for n in range(1, 600))
    sys.setrecursionlimit(300)
    try:
        found = read_statements(text.encode()).imports
    finally:
        sys.setrecursionlimit(limit)
    assert [one.module for one in found] == [f"a{n}" for n in range(600)]


@pytest.mark.parametrize(
    ("source", "line"),
    [(b"x = 1\ndef (:\n", 2), (b"# coding: no-such-codec\n", 0), (b"x = '\xff'\n", 1), (b"x = 1\x00\n", 0)],
)
def test_what_python_cannot_parse_is_an_error_with_its_line(source: bytes, line: int) -> None:
    read = read_statements(source)
    assert read.error is not None
    assert (read.error[0], bool(read.error[1])) == (line, True)
    assert read == Statements(read.error)


def test_an_encoding_is_taken_from_the_source() -> None:
    (found,) = read_statements("# coding: latin-1\nimport é\n".encode("latin-1")).imports
    assert found.module == "é"


def test_a_doubtful_escape_in_a_source_warns_nobody() -> None:
    assert [one.module for one in read_statements(b"import a\nx = '\\d'\n").imports] == ["a"]


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_lines_end_in_any_way(end: bytes) -> None:
    read = read_statements(end.join([b"x = 1", b"def f():", b"    y = 1", b"    import a", b""]))
    assert [(one.line, one.module) for one in read.imports] == [(4, "a")]
