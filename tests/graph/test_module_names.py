"""What a source offers: the names it binds, its `__all__`, and the tables of lazy packages."""

from __future__ import annotations

import ast

import pytest

from packager._graph.import_statements import ModuleNames, names_of


def read(text: str) -> ModuleNames:
    return names_of(ast.parse(text))


def test_names_are_bound_that_are_there_always_or_by_an_import() -> None:
    text = """
def f(): inner = 1
class C: attribute = 1
a, (b) = 1, 2
c: int = 3
d: int
try:
    from x import e as g
except ImportError:
    g = h = None
with open("x"):
    i = 1
if a:
    import j.k
    l = 1
finally_ = 1
if TYPE_CHECKING:
    from x import m
else:
    n = 1
"""
    assert read(text).bound == ("f", "C", "a", "b", "c", "g", "i", "j", "finally_", "n")


@pytest.mark.parametrize(
    ("text", "exports"),
    [
        ("x = 1", None),
        (
            "__all__ = ['a', 'b']\n__all__ += ('c',)\n__all__.extend(['d'])\n__all__.append('e')",
            ("a", "b", "c", "d", "e"),
        ),
        ("__all__ = ['a'] + other.__all__", ("a", "*")),
        ("__all__: list[str] = []", ()),
        ("__all__ = list(table)", ("*",)),
        ("__getattr__, __dir__, __all__ = attach(__name__, ['a'])", ("*",)),
        ("if x:\n    __all__ = ['a']\nelse:\n    __all__ = ['b']", ("a", "b")),
        ("__all__ = [*x, 'a']", ("*", "a")),
    ],
)
def test_all_is_read_where_it_is_literal(text: str, exports: tuple[str, ...] | None) -> None:
    assert read(text).exports == exports


GETATTR = "\ndef __getattr__(name): ...\n"


@pytest.mark.parametrize(
    ("text", "entries"),
    [
        ("_table = {'a': '.b'}" + GETATTR, {("a", ".b"), (".b", "a")}),
        ("_table = {'b': ['a', 'c']}" + GETATTR, {("a", "b"), ("c", "b")}),
        ("_table = {'a': ('.b', 'c')}" + GETATTR, {("a", ".b:c"), (".b", "a"), ("c", "a")}),
        ("_table = dict(x={'a': '.b:c'})" + GETATTR, {("a", ".b:c"), (".b:c", "a")}),
        ("def __getattr__(name):\n    return load({'a': '.b'}[name])", {("a", ".b"), (".b", "a")}),
        (
            "t = {}\nt['b'] = ['a']\nt['c'].extend(['d'])\nsys.modules[__name__] = Lazy(t)",
            {("a", "b"), ("d", "c")},
        ),
        ("t = {'b': ['a']}\nsys.modules.update({__name__: Lazy(t)})", {("a", "b")}),
        ("__getattr__, __dir__, __all__ = attach(__name__, ['x'], {'b': ['a']})", {("a", "b")}),
    ],
)
def test_the_table_of_a_lazy_module_is_read(text: str, entries: set[tuple[str, str]]) -> None:
    lazy = read(text).lazy
    assert lazy is not None
    assert {(name, module) for name, module, _ in lazy} == entries


def test_a_dict_of_an_ordinary_module_is_no_table() -> None:
    assert read("_table = {'a': '.b'}\nclass A:\n    def __getattr__(self, name): ...\n").lazy is None
