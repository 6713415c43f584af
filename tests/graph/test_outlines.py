"""The outline of a source says what the whole scan says from outside of functions, or is not used."""

from __future__ import annotations

import argparse
import json.decoder
import logging
import pickle
import py_compile
import types
import typing
from pathlib import Path
from typing import Any

import pytest

from packager import seen
from packager.graph import Found
from packager.graph.module_table import SourceModule
from packager.graph.outlines import class_text, read_outline
from packager.graph.scan import Binding, ClassScan, Import, Scan
from packager.graph.scanner import scan_source
from tests.tables import one_test

from .conftest import WalkTree


def outside(scan: Scan) -> tuple[Any, ...]:
    """Return what of a scan is asked from outside of functions and classes, without numbers."""

    def around(at: int) -> list[Any]:
        """Return what is said of the blocks around a place, and, but for the outermost, what is in them."""
        found: list[Any] = []
        while at > 0:
            one = scan.blocks[at]
            imports = [(scan.imports[number].line, scan.imports[number].sure) for number in one.imports]
            inside = (imports, [scan.blocks[child].line for child in one.children], one.raises < 0, one.plain)
            found.append((one.kind, one.line, one.test, one.function or inside))
            at = -1 if one.kind == "function" else one.parent
        return found

    def told(one: Binding) -> Any:
        if one.kind == "def":
            function = scan.blocks[one.at]
            return function.line, function.detail, function.test, function.decorators, function.owner
        if one.kind == "class":
            klass = scan.classes[one.at]
            return klass.name, klass.bases, klass.decorators
        if one.kind == "import":
            statement = scan.imports[one.at]
            return statement.line, statement.module, statement.names, statement.level, statement.sure
        return one.value

    bound = [(one.order, name, one) for name, found in scan.bindings.items() for one in found]
    in_order = [
        (name, one.kind, told(one), around(one.block), one.part, one.sure)
        for _, name, one in sorted(bound, key=lambda row: row[0])
    ]

    def is_taken(one: Import) -> bool:
        kinds = [row[0] for row in around(one.block)]
        return ("*", "*") in one.names or ("type_checking" in kinds and "function" not in kinds)

    taken = [(one.line, one.module, one.names, around(one.block)) for one in scan.imports if is_taken(one)]
    return list(scan.bindings), in_order, taken, scan.exports, scan.lazy, scan.rewritable


def asked_in(klass: ClassScan, blocks: Any) -> list[tuple[Any, ...]]:
    return [
        (name, blocks[at].attrs, blocks[at].own_attrs, blocks[at].globs, blocks[at].own_globs)
        for name, at in klass.methods
    ]


@pytest.mark.parametrize("module", [typing, argparse, pickle, logging, json.decoder])
def test_an_outline_says_what_the_scan_of_a_library_says(module: types.ModuleType) -> None:
    source = Path(str(module.__file__)).read_bytes()
    whole, outline = scan_source(source), read_outline(source)
    assert outline is not None
    assert outside(outline.scan) == outside(whole)
    assert len(outline.scan.uses) < len(whole.uses)
    told = 0
    for klass in whole.classes:
        text = class_text(source, outline, klass.name)
        if text is not None:
            part = scan_source(text)
            (found,) = (one for one in part.classes if one.name == klass.name)
            assert (found.names, asked_in(found, part.blocks)) == (klass.names, asked_in(klass, whole.blocks))
            told += 1
    assert told >= sum("." not in klass.name for klass in whole.classes) - 4


HARD = (
    """
def f():
    ###
def g():
class C:
    x = 1
###
    a
y = 1
----
def f():
    '''
def g(): ...
'''
def h(x='def f(', *, y=(1, (2, 3))):  # it's
    b
class D: pass
----
def f(
    a,  # )'
    b=")",
) -> dict:
    c

# at the left
    d
e = 1
----
def f():
    x = [
1, 2
]
    y
z = 2
----
def f():
    return 1 + \\
2
z = 2
----
def f(): return 1
class C:
    a = 1
    def m(self): return 2
    b = 3
    def n(self):
        c
----
def f():
    global a, b
    import a
    b = 1
def g():
    if x: global c; c = 1
def h():
    y
----
def f():
    x; global \\
  c
    c = 1
def g():
    y
----
class A:
    if x:
        def m(self):
            y
    else:
        def m(self):
            z
    w = 1
    def n(self):
        class B: v = 2
----
if x:
    def f():
        y
    import b
else:
    def f():
        return y
    import c
try:
    d
except E:
    e = 1
----
try:
    import a
    def f():
        raise b
    raise c
except ImportError:
    d = 1
----
async def f():
    await g
async  def h():
    async with g: pass
k = 1
----
@a
@b.c(
d)
def f():
    x


@e
class G(H):
    @property
    def m(self):
        y
z = 1
----
def f():
    a
BLANK
  # less
b = 1
class C:
    def m(self):
        a
  # less
    c = 1
----
def is_thing_here():
    return find_spec('thing')
def f():
    def is_it_available():
        x
----
def f():
    return f"{'#'} {x['a']}" f'{{' rf'{y}' r'\\'' + u'"'
z = '''
def q():
    x
'''
----
def f():
    return '\\
def g():\\
'
z = 1
----
def f():
    if"#": return"'"
z = 1
----
def \u00e9t\u00e9():
    x
def f():
    y
----
def f():
    x;
    y
if f: g = 1; h = 2
else: k = 3
for l in m: n = 1
with o as p: q = 1
""".replace("BLANK", " ")
    .replace("###", '"""')
    .split("----\n")
)


@one_test
@pytest.mark.parametrize("source", HARD)
def test_an_outline_of_what_is_hard_to_read_says_the_same(source: str) -> None:
    whole, outline = scan_source(source.encode()), read_outline(source.encode())
    assert whole.error is None, whole.error
    assert outline is None or outside(outline.scan) == outside(whole)


def test_most_of_what_is_hard_to_read_is_cut_all_the_same() -> None:
    assert sum(read_outline(source.encode()) is None for source in HARD) <= 4


@one_test
@pytest.mark.parametrize(
    "source",
    [
        "def f():\n    x\n\f\nclass C:\n    y\n",
        "def f():\n\tx\ny = 1\n",
        "# coding: latin-1\ndef f():\n    x\n",
        "def f():\r\n    x\r\ny = 1\r\n",
        "def f():\n    x = (\n1)\ny = 1\n",
        "def f():\n    # nothing\n    f'''\n{1}'''\ny = 1\n",
        "x = 1\n",
    ],
)
def test_a_source_of_another_kind_is_read_whole(source: str) -> None:
    assert scan_source(source.encode()).error is None
    assert read_outline(source.encode()) is None


def test_a_class_whose_names_hang_on_what_stands_outside_is_read_with_it() -> None:
    source = (
        b"NAMES = ['one', 'two']\nclass A:\n    def m(self):\n        for n in NAMES: getattr(self, n)()\n"
        b"class B:\n    def m(self, n):\n        return getattr(self, n)\nx = 1\n"
    )
    outline = read_outline(source)
    assert outline is not None
    assert class_text(source, outline, "A") is None
    assert class_text(source, outline, "absent") is None
    assert class_text(source, outline, "B") == (
        b"class B:\n    def m(self, n):\n        return getattr(self, n)\n"
    )


@pytest.mark.parametrize(
    "head", ["class A:", "class A(\n    B,\n):", "class A(B,\nC):  # two", "class A(B, k=f((1, 2))):"]
)
def test_the_text_of_a_class_begins_with_all_of_its_head(head: str) -> None:
    text = f"{head}\n    def m(self):\n        self.x(\\\n'y')\n    z = 1\n".encode()
    source = b"def f():\n    a\n" + text + b"@b\ndef g():\n    c\n"
    outline = read_outline(source)
    assert outline is not None
    assert class_text(source, outline, "A") == text


@one_test
@pytest.mark.parametrize("body", ["def m(self):\n            self.x()", "def m(self): self.x()", "m = 1"])
@pytest.mark.parametrize(
    "head",
    ["class A(B[int]):", "if a:\n  class A:", "class A(B):  # :", "class A :", "class A(f(g(h(i())))):"],
)
def test_a_class_is_read_also_where_its_text_cannot_be_told(head: str, body: str) -> None:
    depth = "  " if head.startswith("if") else ""
    source = f"# {'-' * 5000}\ndef f():\n    a\n{head}\n{depth}    {body}\nb = 1\n".encode()
    found = Found("a", "text", False, "a.py", None, (), lambda: source)
    left = SourceModule(found, None, lambda name: True)
    whole = scan_source(source)
    read, blocks = left.whole_class(0)
    assert (read.name, read.names) == ("A", whole.classes[0].names)
    assert asked_in(read, blocks) == asked_in(whole.classes[0], whole.blocks)


@pytest.mark.parametrize("again", ["class A:\n    pass\n", "if x:\n    class A:\n        def m(self): a\n"])
def test_classes_that_share_a_name_are_read_whole(again: str) -> None:
    source = b"class A:\n    def m(self):\n        b\n"
    assert read_outline(source) is not None
    assert read_outline(source + again.encode()) is None


@pytest.mark.parametrize(
    "body",
    ["global x; x = 1", "if TYPE_CHECKING:\n        from a import b", "__all__ = []; __all__ += ['a']"],
)
def test_a_class_whose_body_says_something_of_the_module_is_read(body: str) -> None:
    source = f"class A:\n    {body}\n    def m(self):\n        b\nclass B:\n    c = 1\n".encode()
    outline = read_outline(source)
    assert outline is not None
    assert [one.methods for one in outline.scan.classes] == [(("m", len(outline.scan.blocks) - 1),), ()]
    assert outside(outline.scan) == outside(scan_source(source))


LONG = "# " + "-" * 5000 + "\n"
LEFT = f"""
== pkg/__init__.py
try:
    from left import thing, other
except Exception:
    from . import instead
import left
class Mine(left.Base):
    def _wanted(self):
        from . import wanted
    def _drawn(self):
        from . import drawn
    def _unwanted(self):
        from . import unwanted
Mine()
== pkg/instead.py
== pkg/wanted.py
== pkg/drawn.py
== pkg/unwanted.py
== left.py
{LONG}NAMES = ["_drawn"]
thing = 1
def other():
    global more
    more = BODY
class Base(
    object,
):
    def call(self, hook):
        self._wanted()
        for name in NAMES:
            getattr(self, name)()
"""


@pytest.mark.parametrize("body", ["1", "(", "1 1"])
def test_a_walk_over_outlines_is_the_walk_over_whole_sources(walk_tree: WalkTree, body: str) -> None:
    text = LEFT.replace("BODY", body)
    plain = walk_tree(text).walk
    walk = walk_tree(text, leaves_out=lambda name: name == "left").walk
    assert (dict(walk.modules), walk.edges, walk.facts) == (dict(plain.modules), plain.edges, plain.facts)
    found = {name for name, module in walk.modules.items() if module.followed}
    read = {"pkg.wanted", "pkg.drawn"} if body == "1" else {"pkg.instead"}
    assert found == {"pkg", *read}


def test_a_module_that_is_followed_after_all_is_read_whole(walk_tree: WalkTree) -> None:
    text = f"""
== pkg/__init__.py
try:
    from left import thing
except ImportError:
    thing = None
import left
left.other()
== left/__init__.py
{LONG}def first():
    try:
        import a
    except ImportError:
        import b
try:
    from .c import thing
except ImportError:
    pass
def other():
    if later:
        from . import d
    first()
class Klass:
    def m(self):
        from . import d
== left/c.py
thing = 1
== left/d.py
"""
    plain = walk_tree(text, follow=("pkg", "left")).walk
    walk = walk_tree(text, follow=("pkg", "left"), leaves_out=lambda name: name == "left").walk
    assert (dict(walk.modules), walk.edges, walk.facts) == (dict(plain.modules), plain.edges, plain.facts)
    assert "left.d" in walk.modules


def test_the_head_of_bytecode_says_whether_a_source_was_compiled_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "one.py"
    path.write_text("a = 1\n")
    assert not seen.is_compiled(str(path), 6)
    kept = Path(str(py_compile.compile(str(path), doraise=True)))
    assert seen.is_compiled(str(path), 6)
    assert not seen.is_compiled(str(path), 7)
    kept.write_bytes(b"\0" + kept.read_bytes()[1:])  # of another Python
    assert not seen.is_compiled(str(path), 6)
    py_compile.compile(str(path), invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
    assert not seen.is_compiled(str(path), 6)
    path.unlink()
    assert not seen.is_compiled(str(path), 6)
