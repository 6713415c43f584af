"""The sources of functions: where they are found, which definition is meant, and what changes its digest."""

from __future__ import annotations
import __future__

import hashlib
import linecache
import sys
from collections.abc import Iterator
from types import CodeType, FunctionType, ModuleType, SimpleNamespace
from typing import Any

import pytest

from packager._codecs import CannotStore
from packager._graph import same_code
from packager._objects.naming import (
    FunctionHome,
    _definitions,
    _innermost,
    digest_of_live,
    name_in_script,
    source_of,
)
from tests.tables import one_test

SOURCE = """\
def outer(n):
    def inner(x=1):
        return x + n
    @str
    @len
    def wrapped():
        return 2
    return inner, (lambda: 1), lambda: 2

one = lambda: 1; two = lambda: 2
three = [
    lambda: 1,
    lambda: 3,
]
async def later():
    def inner():
        return 3
    return inner
"""


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def made(source: str = SOURCE, name: str = "function_sources_made") -> ModuleType:
    """A module of that source, whose loader gives it, as it is imported."""
    module = ModuleType(name)
    loader = SimpleNamespace(get_source=lambda asked: source if asked == name else None)
    module.__spec__ = SimpleNamespace(loader=loader, name=name)  # type: ignore[assignment]  # two fields are asked
    exec(compile(source.replace("@str\n    @len\n", "\n\n"), "<made>", "exec"), vars(module))
    return module


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    module = made()
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return module


def _digests(qualname: str) -> list[str]:
    return [digest for _, digest in _definitions(SOURCE, qualname)]


def test_a_source_is_compiled_as_it_says_and_not_as_ours_is() -> None:
    code, _ = _definitions("def scaled(x: int) -> float: ...\n", "scaled")[0]
    assert not code.co_flags & __future__.annotations.compiler_flag
    code, _ = _definitions("from __future__ import annotations\ndef scaled(x: int): ...\n", "scaled")[0]
    assert code.co_flags & __future__.annotations.compiler_flag


def test_the_digest_of_a_definition_is_that_of_its_lines() -> None:
    lines = SOURCE.splitlines(keepends=True)
    assert _digests("outer") == [sha256("".join(lines[:8]))]
    assert _digests("outer.<locals>.inner") == [sha256("".join(lines[1:3]))]
    assert _digests("outer.<locals>.wrapped") == [sha256("".join(lines[3:7]))]
    assert _digests("later") == [sha256("".join(lines[14:]))]
    assert _digests("later.<locals>.inner") == [sha256("".join(lines[15:17]))]
    assert _digests("outer.<locals>.none") == []


def test_a_lambda_has_the_digest_of_its_statement_and_its_number_there() -> None:
    lines = SOURCE.splitlines(keepends=True)
    assert _digests("outer.<locals>.<lambda>") == [sha256(f"{lines[7]}\0{n}") for n in (0, 1)]
    several = "".join(lines[10:14])
    assert _digests("<lambda>") == [
        *(sha256(f"{lines[9]}\0{n}") for n in (0, 1)),
        *(sha256(f"{several}\0{n}") for n in (0, 1)),
    ]


@one_test
@pytest.mark.parametrize(
    ("line", "found"), [(1, (1, 9)), (2, (2, 5)), (3, (3, 3)), (5, (2, 5)), (6, (1, 9)), (10, (10, 10))]
)
def test_the_innermost_statement_around_a_line(line: int, found: tuple[int, int]) -> None:
    assert _innermost([(1, 9), (2, 5), (3, 3)], line) == found


def _code(source: str) -> CodeType:
    (code,) = (one for one in compile(source, "a.py", "exec").co_consts if isinstance(one, CodeType))
    return code


BASE = "def f(a):\n    return a.b + 1"


@one_test
@pytest.mark.parametrize(
    ("other", "same"),
    [
        (BASE, True),
        ("\n\n" + BASE, True),
        ("def f(a):\n    return a.c + 1", False),
        ("def f(c):\n    return c.b + 1", False),
        ("def f(a):\n    return a.b + 2", False),
        ("def f(a):\n    return a.b + 1.0", False),
        ("def f(a):\n    return a.b + True", False),
        ("def f(a):\n    return a.b - 1", False),
        ("def f(a):\n    'says'\n    return a.b + 1", False),
    ],
)
def test_code_that_does_the_same(other: str, same: bool) -> None:
    assert same_code(_code(BASE), _code(other)) is same
    outer = "def g():\n    def f(a):\n        {}\n    return f"
    inner = [
        outer.format(text.strip().partition("\n")[2].strip().replace("\n", "\n    "))
        for text in (BASE, other)
    ]
    arguments_differ = "def f(c)" in other
    if not arguments_differ:
        assert same_code(*map(_code, inner)) is same


def test_a_free_name_is_part_of_what_code_does() -> None:
    one, other = (
        FunctionType(
            _code(f"def f():\n    {name} = 1\n    def g():\n        return {name}\n    return g"), {}
        )()
        for name in ("a", "b")
    )
    assert not same_code(one.__code__, other.__code__)


# --- functions that live ---


def test_a_live_function_is_found_in_the_source_of_its_module(module: Any) -> None:
    inner, first, second = module.outer(3)
    assert digest_of_live(inner) == _digests("outer.<locals>.inner")[0]
    assert [digest_of_live(one) for one in (first, second)] == _digests("outer.<locals>.<lambda>")
    assert [digest_of_live(one) for one in (module.one, module.two)] == _digests("<lambda>")[:2]


def _refused(function: FunctionType) -> str:
    with pytest.raises(CannotStore) as refused:
        digest_of_live(function)
    return refused.value.reason


def test_a_function_without_a_source_is_refused(module: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    inner, *_ = module.outer(3)
    says = "function function_sources_made:outer.<locals>.inner"
    module.__spec__.loader.get_source = lambda name: None
    assert _refused(inner) == says + ": the source of its module is not available"
    monkeypatch.delitem(sys.modules, module.__name__)
    assert _refused(inner) == says + ": the source of its module is not available"
    moved = made("\n" + SOURCE)
    monkeypatch.setitem(sys.modules, module.__name__, moved)
    assert _refused(inner) == says + " is not as in the source of its module"
    changed = made(SOURCE.replace("x + n", "x - n"))
    monkeypatch.setitem(sys.modules, module.__name__, changed)
    assert _refused(inner) == says + " is not as in the source of its module"
    assert digest_of_live(changed.outer(3)[0]) != _digests("outer.<locals>.inner")[0]


def test_code_is_found_again_by_its_name_and_digest(module: Any) -> None:
    home = FunctionHome.of(module)
    assert (home.namespace is vars(module), home.source, home.file) == (True, SOURCE, None)
    (digest,) = _digests("outer.<locals>.inner")
    found = home.code_of("outer.<locals>.inner", digest)
    assert found is not None
    assert (found.co_qualname, found.co_filename) == ("outer.<locals>.inner", "<module>")
    assert home.code_of("outer.<locals>.inner", sha256("")) is None
    assert home.code_of("outer.<locals>.none", digest) is None
    assert FunctionHome({}, None, None).code_of("outer.<locals>.inner", digest) is None
    filed = FunctionHome({}, SOURCE, "net.py").code_of("outer.<locals>.inner", digest)
    assert filed is not None
    assert filed.co_filename == "net.py"


# --- where a source is ---


@pytest.fixture
def lines() -> Iterator[str]:
    linecache.cache["<kellet lines>"] = (6, None, ["x = 1\n"], "<kellet lines>")
    yield "<kellet lines>"
    del linecache.cache["<kellet lines>"]


def _raising(error: Exception) -> Any:
    def get_source(name: str) -> str:
        raise error

    return SimpleNamespace(loader=SimpleNamespace(get_source=get_source), name="m")


def test_a_source_comes_from_the_loader_or_from_where_tracebacks_find_it(lines: str) -> None:
    module: Any = ModuleType("m")
    assert (source_of(None), source_of(module)) == (None, None)
    module.__file__ = lines
    assert source_of(module) == "x = 1\n"
    odd: list[Any] = [
        None,
        SimpleNamespace(loader=None, name="m"),
        SimpleNamespace(loader=SimpleNamespace(get_source=lambda name: None), name="m"),
        SimpleNamespace(loader=SimpleNamespace(get_source=lambda name: b"x"), name="m"),
        _raising(ImportError("gone")),
        _raising(OSError("gone")),
    ]
    for spec in odd:
        module.__spec__ = spec
        assert source_of(module) == "x = 1\n"
    module.__spec__ = SimpleNamespace(loader=SimpleNamespace(get_source=lambda name: f"# {name}"), name="m")
    assert source_of(module) == "# m"
    module.__spec__, module.__file__ = None, 3
    assert source_of(module) is None
    module.__file__ = "/nowhere/at/all.py"
    assert source_of(module) is None


# --- functions of a script ---


def _of_script(names: list[str], home: str = "__main__", source: str = "f = lambda: 1") -> FunctionType:
    namespace: dict[str, Any] = {"__name__": home}
    exec(source, namespace)
    function: FunctionType = namespace.pop("f")
    namespace.update(dict.fromkeys(names, function))
    return function


@pytest.mark.parametrize(
    ("names", "found"),
    [(["f"], "f"), (["_", "f"], "f"), (["a", "f"], "a"), (["_"], "_"), (["_", "_1"], "_")],
)
def test_a_lambda_of_a_script_has_the_first_public_name(names: list[str], found: str) -> None:
    assert name_in_script(_of_script(names)) == found


def test_a_lambda_of_a_script_without_a_name_is_refused_and_others_need_none() -> None:
    with pytest.raises(CannotStore, match="a lambda at the top level of a script"):
        name_in_script(_of_script([]))
    assert name_in_script(_of_script([], home="net")) is None
    nested = "def g():\n    return lambda: 1\nf = g()"
    assert name_in_script(_of_script([], source=nested)) is None
    assert name_in_script(_of_script(["f"], source="def f(): pass")) is None


@pytest.mark.parametrize("file", ["<string>", "<kernel 3>"])
def test_a_function_that_was_made_of_a_text_is_refused_as_that(module: Any, file: str) -> None:
    names = vars(module)
    names["__file__"] = "function_sources_made.py"
    exec(compile("def outer(): return lambda x: x * 2", file, "exec"), names)
    assert _refused(names["outer"]()) == (
        "function function_sources_made:outer.<locals>.<lambda> was made by `exec` or `eval` of a text: "
        "the source of function_sources_made lacks it"
    )
    assert "was made by" in _refused(eval(compile("lambda: 3", file, "eval"), names))
