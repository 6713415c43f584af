"""Reading sources never fails, whatever Python code they hold."""

from __future__ import annotations

import json
import sysconfig
from pathlib import Path

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from packager.graph.scan import NameUse
from packager.graph.scan_cache import pack_scan, unpack_scan
from packager.graph.scanner import scan_source

STDLIB = Path(sysconfig.get_path("stdlib"))


PACKAGES = ("asyncio", "importlib", "unittest", "xml/etree", "json", "logging")


@pytest.mark.parametrize("folder", [pytest.param(".", marks=pytest.mark.long), *PACKAGES])
def test_the_standard_library_can_be_read_and_kept(folder: str) -> None:
    sources = sorted((STDLIB / folder).glob("*.py"))
    assert len(sources) > 2
    for path in sources:
        scan = scan_source(path.read_bytes())
        assert scan.error is None, path
        assert unpack_scan(msgpack.unpackb(msgpack.packb(pack_scan(scan)), use_list=False)) == scan, path


@given(st.text(max_size=200) | st.binary(max_size=200))
def test_any_text_gives_a_scan_or_an_error(source: str | bytes) -> None:
    scan = scan_source(source)
    assert (scan.error is None) == bool(scan.blocks)


STATEMENTS = st.sampled_from(
    r"""
import a.b as c, d
from . import x
from .y import *
x = y.z(1)
global g
g = 1
del g
raise E from None
function = lambda q, *r, k=p, **s: [q for q in r if q.a]
@d.e(1)|def f(a, /, b: int = u, *c, d=v, **e): b.m; w
class C(B[int], metaclass=M):|    at: int = 1|    def m(self): self.n(super().o)
match v:|    case K(a=1): pass|    case {"k": w, **r}: pass|    case [*s]: pass
try:|    import t|except* E as e:|    u
try:|    import t|except (A, ImportError):|    pass|else:|    v|finally:|    w
if sys.version_info >= (3, 9) and not X:|    import n|elif is_a_available():|    import o|else:|    p
with suppress(E) as h, q() as (i, *j): k
for a.b[c] in d: e|else: f
while (n := next(i)): n.o
async def f():|    async with a as b: await c|    async for d in e: yield d
__all__ = ["a"] + b.__all__
__all__ += [*c]
importlib.import_module(f".{m}.x", __package__)
__import__("a" % b)
open(os.path.join(HERE, "a", "b.txt")); P / "c" / "d.json"
sys.modules[__name__] = L({"a": ["B"]})
""".strip().splitlines()
).map(lambda statement: statement.replace("|", "\n"))


@given(
    st.lists(STATEMENTS, max_size=8),
    st.lists(st.sampled_from(["if a:", "def f():", "class D:", "try:", "for i in j:"]), max_size=4),
)
def test_any_nesting_of_statements_can_be_read_and_kept(statements: list[str], around: list[str]) -> None:
    lines = "\n".join(["pass", *statements]).splitlines()
    for opening in around:
        lines = [opening, *(f"    {line}" for line in lines)]
        if opening == "try:":
            lines += ["except E:", "    pass"]
    scan = scan_source("\n".join(lines))
    assert scan.error is None
    assert unpack_scan(msgpack.unpackb(msgpack.packb(pack_scan(scan)), use_list=False)) == scan
    json.dumps(pack_scan(scan))  # plain values alone
    for index, block in enumerate(scan.blocks):
        assert block.parent < index
        assert all(scan.blocks[child].parent == index for child in block.children)
    for statement in scan.imports:
        assert scan.blocks[statement.block].imports.count(scan.imports.index(statement)) == 1


USES = """
import np
class Net:
    def run(self, given):
        import late as own
        from x import y
        self.a.b
        super().c.d
        given.e
        getattr(self, "f_" + given)
        getattr(given, f"g_{self}")
        getattr(np, given + "_h")
        own.i.j()
        y
        np.k
        np.k()
        __import__("z").l
        [m.n for m in given]
"""


def test_uses_of_names_are_told_apart_by_where_they_start_and_what_is_asked() -> None:
    scan = scan_source(USES)
    (block,) = (block for block in scan.blocks if block.detail == "Net.run")
    modules = [statement.module for statement in scan.imports]
    assert modules == ["np", "late", "x", "z"]
    assert [scan.uses[at] for at in block.uses] == [
        NameUse(("i", "j"), called=True, at=1),
        NameUse((), at=2, part=0),
        NameUse((), at=3),
        NameUse(("np",)),
        NameUse(("np",), glob="*_h"),
        NameUse(("np", "k")),
        NameUse(("np", "k"), called=True),
    ]
    assert (block.attrs, block.own_attrs) == (("b", "d", "e", "l", "n"), ("a", "c"))
    assert (block.globs, block.own_globs) == (("g_*",), ("f_*",))


def test_what_functions_of_a_module_use_alike_is_kept_once() -> None:
    scan = scan_source("import np\ndef a(): np.sum(1)\ndef b(): np.sum(2)\n")
    assert scan.uses == (NameUse(("np", "sum"), called=True),)
    assert [block.uses for block in scan.blocks if block.kind == "function"] == [(0,), (0,)]
