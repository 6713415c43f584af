"""Which statements of a script go along with the names that are stored, and which stand against it."""

from __future__ import annotations

import pytest

from packager._graph.definitions import Definitions
from tests.annotated import DEFERRED, defined
from tests.tables import one_test

LOOP = "data = open('x.csv').read()\nfor batch in data:\n    loss = print(batch)\n    total = loss\n"
NET = "class Net:\n    def forward(self, x):\n        "


def kept(script: str, *names: str) -> list[int]:
    """The first lines of what is kept; there is no problem."""
    found = Definitions([script], names or ["Net"], {})
    assert found.problems == ()
    return [one.first for one in found.kept]


@one_test
@pytest.mark.parametrize(
    "body",
    [
        "loss = x\n        return loss",
        "return [loss for loss in x]",
        "return {loss: total for loss, total in x}",
        "return (lambda loss, total=3: loss + total)(x)",
        "def inner(loss):\n            return loss\n        return inner(x)",
        "for loss in x:\n            pass\n        return loss",
        "with x as loss:\n            return loss",
        "try:\n            pass\n        except ValueError as loss:\n            return loss",
        "if (loss := x):\n            return loss",
        "import csv as loss\n        return loss",
        "total = 2\n        def inner():\n            nonlocal total\n            total = 3",
        "return x.loss + x.total(loss=3)",
        "match x:\n            case {'a': loss}:\n                return loss",
        "class loss:\n            total = 3\n        return loss.total",
    ],
)
def test_a_local_variable_needs_nothing_of_the_same_name(body: str) -> None:
    assert kept(LOOP + NET + body) == [5]


@pytest.mark.parametrize("line", ["loss = 3", "loss: int = 3", "def loss(self): pass", "loss = total = 2"])
def test_an_attribute_of_a_class_needs_nothing_of_the_same_name(line: str) -> None:
    assert kept(f"{LOOP}class Net:\n    {line}\n    def forward(self): return self.loss") == [5]


@one_test
@pytest.mark.parametrize(
    ("net", "reader"),
    [
        ("class Net:\n    def forward(self): return loss", "Net.forward (line 6)"),
        ("class Net:\n    loss = loss", "Net (line 6)"),
        ("class Net:\n    loss = 3\n    def forward(self): return loss", "Net.forward (line 7)"),
        ("class Net:\n    def forward(self, x=loss): return x", "Net (line 6)"),
        (
            "class Net:\n    def forward(self):\n        global loss\n        loss += 1",
            "Net.forward (line 8)",
        ),
        ("class Net:\n    value = lambda self: loss", "Net.<lambda> (line 6)"),
        (
            "def wrap(f): return f\nclass Net:\n    @wrap\n    def forward(self, x: loss): pass",
            "Net (line 8)",
        ),
        ("class Net:\n    size: loss", "Net (line 6)"),
        ("def Net(x: loss): pass", "Net (line 5)"),
        (
            "class Net:\n    def forward(self):\n        def inner(): return loss\n        return inner",
            "Net.forward.<locals>.inner (line 7)",
        ),
    ],
)
def test_what_is_needed_and_no_definition_is_told_with_its_reader(net: str, reader: str) -> None:
    (problem,) = Definitions([LOOP + net], ["Net"], {}, "net.py").problems
    assert problem == (
        "net.py:2: `for batch in data:` does not run when the archive is loaded; loss is read by "
        f"{reader}: pass it to `__init__` and keep it as an attribute, or move it into a module and import it"
    )


HEAD = (
    "import re, os, logging, functools, enum, torch\nimport numpy as np\nfrom pathlib import Path\n"
    "class Own: x = 1\nrows = [1]\ndef own(x): return x\n"
)


@one_test
@pytest.mark.parametrize(
    "value",
    [
        "-1.5e3",
        "f'{3:>4}'",
        "[1, (2, {3}), {'a': None}]",
        "[x * 2 for x in range(3)]",
        "dict(a=1, b=sorted([3, 1]))",
        "', '.join(['a'])",
        "lambda x: open(x)",
        "re.compile('a+')",
        "Path(__file__).parent / 'x'",
        "logging.getLogger(__name__)",
        "enum.Enum('E', 'A B')",
        "np.float32",
        "np.array([1.0, 2.0])",
        "torch.device('cuda' if torch.cuda.is_available() else 'cpu')",
        "functools.partial(own, 3)",
        "{'own': own, 'tanh': np.tanh}",
        "Own.x",
        "(rows, Own)",
    ],
)
def test_literals_and_what_imports_give_for_them_are_taken(value: str) -> None:
    assert 7 in kept(f"{HEAD}VALUE = {value}\nclass Net:\n    def f(self): return VALUE\n")


@one_test
@pytest.mark.parametrize(
    "line",
    [
        "VALUE = open('x').read()",
        "VALUE = input()",
        "VALUE = Own()",
        "VALUE = own(3)",
        "VALUE = (lambda: 3)()",
        "VALUE = rows.pop()",
        "VALUE = f'{open(1)}'",
        "VALUE = {'a': own(1)}",
        "VALUE = np.ones(3).mean()",
        "VALUE, other = 1, open('x')",
        "VALUE = other['a'] = 3",
        "with open('x') as VALUE: pass",
        "while (VALUE := 1) > 2: pass",
        "(VALUE := 3)",
        "if __name__ == '__main__': VALUE = 1",
        "try:\n    import fast as VALUE\nexcept ImportError:\n    VALUE = own(3)",
        "if own(1):\n    def VALUE(): pass",
    ],
)
def test_what_would_run_is_refused(line: str) -> None:
    (problem,) = Definitions(
        [f"{HEAD}{line}\nclass Net:\n    def f(self): return VALUE\n"], ["Net"], {}
    ).problems
    assert "does not run when the archive is loaded; VALUE is read by Net.f (In[0]:" in problem


def test_each_name_that_a_refused_statement_binds_is_told() -> None:
    script = "a, b, c = 1, input(), 2\ndef f(): return a, b\n"
    assert [one.partition(": pass")[0] for one in Definitions([script], ["f"], {}, "s.py").problems] == [
        f"s.py:1: `a, b, c = (1, input(), 2)` does not run when the archive is loaded; {name} is read by f "
        "(line 2)"
        for name in "ab"
    ]


def test_what_is_used_before_it_is_replaced_stays() -> None:
    assert kept("class A: pass\nclass B(A): pass\nclass A: x = 1\ndef f(): return B, A", "f") == [1, 2, 3, 4]
    assert kept("def f(): pass\nf = staticmethod(f)", "f") == [1, 2]
    assert kept("def f(): return data\ndef f(): return 2", "f") == [2]


def test_annotations_bring_what_they_name_and_no_other_variable() -> None:
    script = (
        "rate: float = 0.5\nwidth: int = 3\ndef f(x: int) -> int: return width\ndepth: int\nlast: int = 4"
    )
    assert kept(script, "f") == [2, 3]
    script = "class Net:\n    child: Later\n    def f(self) -> Other: ...\nclass Later: ...\nclass Other: ..."
    assert kept(script) == [1, 4, 5]


@pytest.mark.skipif(
    not DEFERRED, reason="before Python 3.14 a class does not keep the code of its annotations"
)
def test_a_class_with_other_annotations_is_not_the_one_in_memory() -> None:
    script = "class Net:\n    width: int\n    def f(self): return 1"
    for text in (script, script.replace("int", "float")):
        found = Definitions([script], ["Net"], {"Net": defined(text, "Net")})
        assert [one.partition(" differs")[0] for one in found.problems] == (
            ["In[0]:1: Net"] if text != script else []
        )


def test_a_star_import_stays_where_a_name_may_come_from_it() -> None:
    assert kept("from os import *\ndef f(): return getcwd()", "f") == [1, 2]
    assert kept("from os import *\ndef f(): return len", "f") == [2]
    script = "from numpy import *\ndef f(x): return sum(x)"
    found = Definitions([script], ["f"], {"sum": object})  # another one than Python's
    assert [one.first for one in found.kept] == [1, 2]


def test_what_stands_in_no_definition_that_is_stored_is_told_without_a_place() -> None:
    (problem,) = Definitions(["exec('class Net: pass')"], ["Net"], {"Net": object}).problems
    assert problem == (
        "Net is needed, but only a main block, `exec`, a magic or the notebook defines it, and these are not "
        "stored: define it by `def`, `class` or `=`"
    )


def test_what_was_deleted_is_deleted_there_too() -> None:
    script = (
        "class Base: pass\nlist = tuple\nspare = 1\nclass Net(Base):\n    def f(self): return list()\n"
        "del Base, list\ndel spare\n"
    )
    assert kept(script) == [1, 2, 4, 6]
    assert kept("x = 1\ndel x\nx = 2\nclass Net:\n    def f(self): return x\n") == [3, 4]
    (problem,) = Definitions([f"ROWS = [1]\n{NET}return ROWS\ndel ROWS[0]"], ["Net"], {}, "net.py").problems
    assert problem.startswith(
        "net.py:5: `del ROWS[0]` does not run when the archive is loaded; ROWS is read by"
    )


def test_what_a_star_import_brings_may_be_called() -> None:
    read = f"{NET}return HALF"
    assert kept(f"from fractions import *\nHALF = Fraction(1, 2)\n{read}") == [1, 2, 3]
    (problem,) = Definitions([f"from fractions import *\nHALF = half()\n{read}"], ["Net"], {}).problems
    assert problem.startswith("In[0]:2: `HALF = half()` does not run")
