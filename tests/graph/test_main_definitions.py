"""Which statements of a script go along with the names that are stored, and which stand against it."""

from __future__ import annotations

import pytest

from packager.graph.main_source import needed_definitions
from tests.tables import one_test


def kept(script: str, *names: str) -> list[str]:
    """The lines that are kept; there is no problem."""
    found = needed_definitions([script], names or ["Net"])
    assert found.problems == ()
    return [line for line in found.text.splitlines() if line]


def problems(script: str, *names: str) -> list[tuple[int, str]]:
    """Lines and reasons, up to the way out."""
    found = needed_definitions([script], names or ["Net"]).problems
    assert all(": " in one.reason for one in found)
    return [(one.line, one.reason) for one in found]


@one_test
@pytest.mark.parametrize(
    ("cells", "names", "kept"),
    [
        (["a = 1\nb = a\nc = 3"], ["b"], "a = 1\nb = a\n"),
        (["a = 1\na += 1\nb = 2"], ["a"], "a = 1\na += 1\n"),
        (["a = 1", "b = 2", "c = a"], ["c"], "a = 1\nc = a\n"),
        (["x = 1\n@x\ndef f(): pass"], ["f"], "x = 1\n@x\ndef f(): pass\n"),
        (["def f(): pass\nif 1:\n    g = 2"], ["g"], "\nif 1:\n    g = 2\n"),
        (
            ["from os import *\na = 1\ndef f(): return getcwd()"],
            ["f"],
            "from os import *\n\ndef f(): return getcwd()\n",
        ),
        (["from os import *\na = 1"], ["a"], "\na = 1\n"),
        (["if __name__ == '__main__':\n    a = 2\na = 1"], ["a"], "\n\na = 1\n"),
        (["this is no python", "a = 1"], ["a"], "a = 1\n"),
        (["a = 1"], [], ""),
        ([], ["a"], ""),
    ],
)
def test_only_what_is_needed_is_kept(cells: list[str], names: list[str], kept: str) -> None:
    assert needed_definitions(cells, names).text == kept


NET = "class Net:\n    def forward(self, x):\n        "
LOOP = "data = open('x.csv').read()\nfor batch in data:\n    loss = print(batch)\n    total = loss\n"


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
    assert kept(LOOP + NET + body) == (NET + body).splitlines()


@pytest.mark.parametrize("line", ["loss = 3", "loss: int = 3", "def loss(self): pass", "loss = total = 2"])
def test_an_attribute_of_a_class_needs_nothing_of_the_same_name(line: str) -> None:
    net = f"class Net:\n    {line}\n    def forward(self): return self.loss"
    assert kept(LOOP + net) == net.splitlines()


@one_test
@pytest.mark.parametrize(
    "net",
    [
        "class Net:\n    def forward(self): return loss",
        "class Net:\n    loss = loss",
        "class Net:\n    loss = 3\n    def forward(self): return loss",
        "class Net:\n    def forward(self, x=loss): return x",
        "class Net:\n    def forward(self): return [loss for x in self]",
        "class Net:\n    def forward(self):\n        global loss\n        loss += 1",
        "class Net:\n    def forward(self):\n        def inner(): return loss\n        return inner",
        "class Net:\n    value = lambda self: loss",
        "def wrap(f): return f\nclass Net:\n    @wrap\n    def forward(self, x: loss): pass",
    ],
)
def test_a_training_loop_that_is_needed_is_a_problem_with_its_place(net: str) -> None:
    found = problems(LOOP + net)
    assert [line for line, _ in found] == [2]  # `data`, which the loop alone needs, goes with it
    assert "`for batch in data:` runs code, and would run it again where it is loaded" in found[0][1]
    assert "is needed by Net: move it into a module" in found[0][1]


NEEDS = "class Net:\n    def forward(self, x): return TABLE, x, Base\n"


@one_test
@pytest.mark.parametrize(
    ("before", "line"),
    [
        ("TABLE = 1\ndel TABLE\n", 2),
        ("TABLE = []\ndef fill():\n    TABLE.append(1)\nfill()\n", 3),
        ("TABLE = []\ndef fill(to):\n    to.append(1)\nfill(TABLE)\n", 4),
        ("TABLE = []\ndef one():\n    TABLE.append(1)\ndef two(): one()\nx = two()\n", 3),
        ("TABLE = None\ndef start():\n    global TABLE\n    TABLE = 3\nstart()\n", 4),
        ("TABLE = []\nif __name__ == '__main__':\n    TABLE.append(1)\n", 3),
        ("TABLE = []\ndef main():\n    TABLE.append(1)\nif __name__ == '__main__':\n    main()\n", 3),
        ("TABLE = {}\nTABLE['x'] = 1\nTABLE.update(y=open('y'))\n", 3),
        ("TABLE = None\nTABLE = []\nTABLE.append(input())\n", 3),
        ("TABLE = []\nfor n in open('x'):\n    TABLE.append(n)\n", 3),
        ("TABLE = []\nfor n in 'ab':\n    TABLE.append(n)\n    print(n)\n", 3),
        ("import random\nTABLE = []\nfor n in 'ab': TABLE.append(random.random())\n", 3),
        ("import numpy as np\nTABLE = []\nfor n in range(9): TABLE.append(np.ones(3))\n", 3),
        ("TABLE = []\nw = 3\nfor n in range(9):\n    w = w - 1\n    TABLE.append(w)\n", 5),
        ("TABLE = []\nw = 3\nfor n in range(9):\n    w -= 1\n    TABLE.append(w)\n", 5),
        ("TABLE = []\nw = 3\nfor n in range(9):\n    TABLE.append(w @ w)\n", 4),
        ("TABLE = []\nfor n in range(9): TABLE.append(n)\nelse: print(1)\n", 2),
        ("class Log:\n    def append(self, x): print(x)\nTABLE = Log()\nTABLE.append(3)\n", 4),
        ("class Base:\n    def __setattr__(self, n, v): print(n)\nsetattr(Base, 'x', 1)\nTABLE = 1\n", 3),
        ("class TABLE: pass\nTABLE.rows = 1\nTABLE.register(2)\n", 3),
        ("TABLE = []\nwhile not TABLE: TABLE.insert(0, 1)\n", 2),
        ("TABLE = []\nwith open('x') as f: TABLE.extend(f)\n", 2),
        ("TABLE = []\n[TABLE.append(x) for x in range(3)]\n", 2),
        ("TABLE = []\nrows = TABLE\nrows.append(1)\n", 3),
        ("TABLE = []\none = TABLE\ntwo = one\ntwo.append(1)\n", 4),
        ("class Base: pass\nfor cls in (Base, int):\n    cls.x = 3\nTABLE = 1\n", 3),
        ("class Base: pass\ndef patch(c): c.x = 3\npatch(Base)\nTABLE = 1\n", 3),
        ("class Base:\n    @classmethod\n    def add(cls): cls.x = 1\nBase.add()\nTABLE = 1\n", 4),
        ("from helper import register\nclass Base: pass\nregister(Base)\nTABLE = 1\n", 3),
        ("import helper\nclass Base: pass\nhelper.TABLE.append(Base)\nTABLE = 1\n", 3),
        ("import functools\n@functools.singledispatch\ndef TABLE(x): pass\nTABLE.register(int, print)\n", 4),
        (
            (
                "TABLE = {}\nclass enter:\n    def __init__(self, name): self.name = name\n"
                "    def __call__(self, f): TABLE[self.name] = f\nenter('a')(len)\n"
            ),
            4,  # run from line 5
        ),
        (
            (
                "class Kinds:\n    def __init__(self): self.all = {}\n"
                "    def enter(self, name): self.all[name] = 1\nTABLE = Kinds()\nTABLE.enter('a')\n"
            ),
            5,
        ),
    ],
)
def test_an_effect_on_what_is_stored_is_a_problem_with_its_place(before: str, line: int) -> None:
    found = problems(before + NEEDS)
    assert [at for at, _ in found] == [line]
    assert "which is stored, and would be lost" in found[0][1]


@pytest.mark.parametrize(
    ("script", "line", "said"),
    [
        (
            "TABLE = {}\ndef main():\n    global TABLE\n    print()\n    TABLE = dict(a=1)\nmain()\n",
            5,
            "`TABLE = dict(a=1)` (run from line 6)",
        ),
        (
            (
                "TABLE = {}\ndef put(n): TABLE[n] = input()\ndef main():\n    print()\n    put('a')\n"
                "if __name__ == '__main__':\n    import sys\n    sys.exit(main())\n"
                "class Base:\n    def m(self): return put\n"
            ),
            5,
            "`put('a')` (run from line 8)",
        ),
        (
            "TABLE = []\nclass Run:\n    def __init__(self):\n        pass\n        TABLE.append(1)\nRun()",
            5,
            "`TABLE.append(1)` (run from line 6)",
        ),
        (
            "TABLE = []\ndef put():\n    TABLE.append(1)\nput()\nclass Base:\n    def m(self): return put\n",
            4,
            "`put()`",
        ),
    ],
)
def test_the_line_of_an_effect_is_the_innermost_that_is_not_stored(script: str, line: int, said: str) -> None:
    [(at, reason)] = problems(f"{script}\n{NEEDS}")
    assert at == line
    assert reason.startswith(f"{said} changes TABLE, which is stored, and would be lost: ")


@one_test
@pytest.mark.parametrize(
    "fills",
    [
        "TABLE = []\nTABLE.append(3)",
        "TABLE = {}\nTABLE.update(a=1)\nTABLE.setdefault('b', 2)",
        "TABLE = {'a': []}\nTABLE['a'].extend(range(3))",
        "TABLE = {}\nfor name in 'ab':\n    TABLE[name] = 1",
        "TABLE = {}\nfor key, one in {'a': 1}.items():\n    short = key[:1]\n    TABLE[short.upper()] = one",
        "TABLE = [1]\ndel TABLE[0]",
        "TABLE = []\nif len('x') > 0:\n    TABLE.append(1)",
        "TABLE = []\nfor x in range(4):\n    if x % 2: continue\n    for y in 'ab': TABLE.append((x, y))",
        "TABLE = {}\nTABLE['x'] = 1\nTABLE.update(y=2)",
        "TABLE = set()\nmore = [3]\nmore.append(4)\nTABLE.update(more)",
        "class Base: pass\nTABLE = [Base]\nsetattr(Base, 'x', 3)\nTABLE.append(1)",
        "class Base: pass\nTABLE = [Base]\nfor n in 'ab': setattr(Base, n, 3)\nTABLE.append(1)",
        "def relu(x): return x\nTABLE = {}\nfor f in (relu, abs): TABLE[f.__name__] = f",
    ],
)
def test_what_fills_tables_with_plain_values_is_kept_in_order(fills: str) -> None:
    assert kept(f"{fills}\nprint('once')\n{NEEDS}") == [*fills.splitlines(), *NEEDS.splitlines()]
    assert needed_definitions([f"{fills}\n{NEEDS}"], ["Net"], running={"TABLE": object()}).problems == ()


def test_a_filled_table_brings_what_fills_it_or_its_problem() -> None:
    script = "import time\nrate = time.time()\nTABLE = []\nfor n in range(3):\n    TABLE.append(n * rate)\n"
    found = problems(script + NEEDS)
    assert [line for line, _ in found] == [2]
    assert found[0][1].startswith(
        "`rate = time.time()` runs code, and would run it again where it is loaded; rate is needed by "
    )
    assert "let the object that needs it hold its value" in found[0][1]


@one_test
@pytest.mark.parametrize(
    "between",
    [
        "np.random.seed(0)",
        "print(TABLE, Base)",
        "net = Base(3)\nnet.x = 3\nnet.fit(TABLE)",
        "rows = []\nrows.append(3)",
        "def fill(): rows.append(1)\nrows = []\nfill()",
        "for name in TABLE: print(name)",
        "result = TABLE.get('x')",
        "logger.setLevel(10)",
        "np.seterr(all='ignore')",
        "def other():\n    TABLE = []\n    TABLE.append(1)\nother()",
        "if __name__ == '__main__':\n    rows = []\n    rows += [1]\n    print(Base)",
        "@np.vectorize\ndef unused(x): return x",
        "class Other(Base): pass",
    ],
)
def test_what_changes_nothing_that_is_stored_is_left_out(between: str) -> None:
    head = "import numpy as np, logging\nlogger = logging.getLogger('x')\nTABLE = {}\n"
    head += "class Base:\n    def __init__(self, x): self.x = x, np, logger\n"
    assert kept(f"{head}{between}\n{NEEDS}") == [*head.splitlines(), *NEEDS.splitlines()]


@one_test
@pytest.mark.parametrize(
    ("script", "missing"),
    [
        ("TABLE = {}\ndef reg(f):\n    TABLE[f.__name__] = f\n    return f\n@reg\ndef a(): pass\n", ""),
        (
            (
                "TABLE = {}\ndef reg(name):\n    def deco(f):\n        TABLE[name] = f\n        return f\n"
                "    return deco\n@reg('a')\ndef a(): pass\n@reg('b')\nclass B: pass\n"
            ),
            "",
        ),
        (
            (
                "import functools\n@functools.singledispatch\ndef TABLE(x): pass\n"
                "@TABLE.register\ndef _(x: int): pass\n@TABLE.register\ndef _(x: str): pass\n"
            ),
            "",
        ),
        (
            (
                "class Base:\n    all = []\n    def __init_subclass__(cls): Base.all.append(cls)\n"
                "class A(Base): pass\nTABLE = 1\n"
            ),
            "",
        ),
        (
            (
                "class Meta(type):\n    all = []\n    def __init__(cls, *a): Meta.all.append(cls)\n"
                "class Base(metaclass=Meta): pass\nclass A(Base): pass\nTABLE = 1\n"
            ),
            "",
        ),
        ("TABLE = {}\ndef f(): pass\nTABLE['f'] = f\n", ""),
        ("class Base: pass\nBase.width = 3\nTABLE = [1]\nTABLE += [2]\n", ""),
        ("TABLE = {}\n@TABLE.setdefault\ndef never(): pass\n", ""),
        ("a, *TABLE = b = [1, 2]\n", ""),
        ("TABLE = 1\nprint('a')\nx = TABLE\n", "print('a')\nx = TABLE\n"),
        (
            (
                "TABLE = {}\nclass enter:\n    def __init__(self, name): self.name = name\n"
                "    def __call__(self, f):\n        TABLE[self.name] = f\n        return f\n"
                "@enter('a')\ndef a(): pass\n@enter(name='b')\nclass B: pass\n"
            ),
            "",
        ),
        (
            (
                "class Registry:\n    def __init__(self): self.all = []\n"
                "    def __call__(self, f):\n        self.all.append(f)\n        return f\n"
                "    def named(self, name):\n        def enter(f):\n            self.all.append((name, f))\n"
                "        return enter\n"
                "TABLE = Registry()\n@TABLE\ndef a(): pass\n@TABLE.named('b')\ndef b(): pass\n"
            ),
            "",
        ),
        (
            (
                "class quiet:\n    def __call__(self, f): return f\nTABLE = quiet()\n"
                "@TABLE\ndef a(): pass\n@quiet()\ndef b(): pass\n"
            ),
            "@TABLE\ndef a(): pass\n@quiet()\ndef b(): pass\n",
        ),
    ],
)
def test_definitions_that_register_themselves_are_kept_in_order(script: str, missing: str) -> None:
    lines = [line for line in (script + NEEDS).splitlines() if line not in missing.splitlines()]
    assert kept(script + NEEDS) == lines


@one_test
@pytest.mark.parametrize(
    "value",
    [
        "3",
        "-1.5e3",
        "'a' 'b'",
        "f'{3:>4}'",
        "[1, (2, {3}), {'a': None}]",
        "1 if 2 else 3",
        "[x * 2 for x in range(3)]",
        "dict(a=1, b=sorted([3, 1]))",
        "'a b'.split()",
        "', '.join(['a'])",
        "lambda x: open(x)",
        "re.compile('a+')",
        "Path(__file__).resolve().parent / 'x'",
        "os.environ.get('HOME', '')",
        "os.path.join('a', 'b')",
        "logging.getLogger(__name__)",
        "namedtuple('P', 'x y')",
        "Enum('E', 'A B')",
        "TypeVar('T', bound=int)",
        "np.float32(3)",
        "np.arange(3).reshape(3, 1)",
        "np.array([1.0, 2.0])",
        "torch.device('cpu')",
        "torch.device('cuda' if torch.cuda.is_available() else 'cpu')",
        "torch.float32",
        "torch.tensor([1.0])",
        "nn.ReLU()",
        "nn.CrossEntropyLoss()",
        "functools.partial(sorted, reverse=True)",
        "Config(width=3)",
        "double(4)",
        "list(map(double, [1]))",
        "sorted([1], key=lambda x: -x)",
        "tuple(map(str, filter(None, [1])))",
        "max([1], key=abs)",
        "Color.RED",
        "defaultdict(list)",
        "deque(maxlen=3)",
        "threading.Lock()",
    ],
)
def test_plain_constants_are_kept(value: str) -> None:
    head = (
        "import re, os, logging, functools, threading, dataclasses, torch\nimport numpy as np\n"
        "from torch import nn\nfrom pathlib import Path\nfrom enum import Enum\nfrom typing import TypeVar\n"
        "from collections import namedtuple, defaultdict, deque\n"
        "@dataclasses.dataclass\nclass Config:\n    width: int = 1\n"
        "class Color(Enum):\n    RED = 1\n"
        "def double(x):\n    y = []\n    y.append(x)\n    return y[0] * 2\n"
    )
    assert f"VALUE = {value}" in kept(f"{head}VALUE = {value}\nclass Net:\n    def f(self): return VALUE\n")


@one_test
@pytest.mark.parametrize(
    "value",
    [
        "open('x').read()",
        "input()",
        "np.random.randn(3)",
        "np.load('x.npy')",
        "torch.randn(3)",
        "torch.load('x.pt')",
        "nn.Linear(3, 3)",
        "Net2()",
        "pd.read_csv('x.csv')",
        "train()",
        "json.load(f)",
        "[open(x) for x in 'ab']",
        "{'a': time.time()}",
        "requests.get('x')",
        "SummaryWriter()",
        "noisy(3)",
        "AutoTokenizer.from_pretrained('x')",
        "random.choice([1])",
        "Path('x').read_text()",
        "rows.pop()",
        "(lambda: 3)()",
        "f'{open(1)}'",
        "MNIST('data', download=True)",
        "model.eval()",
        "argparse.parse_args()",
        "counted()",
        "list(map(noisy, rows))",
        "sorted(rows, key=print)",
        "max(rows, key=lambda row: open(row))",
        "[*filter(random.getrandbits, rows)]",
    ],
)
def test_what_computes_reads_or_trains_is_a_problem_where_it_is_needed(value: str) -> None:
    head = (
        "import json, time, random, requests, torch, pandas as pd, numpy as np, argparse\n"
        "from torch import nn\n"
        "from pathlib import Path\nfrom transformers import AutoTokenizer\nfrom mnist import MNIST\n"
        "from board import SummaryWriter\n"
        "class Net2(nn.Module):\n    def __init__(self):\n        self.a = nn.Linear(1, 1)\n"
        "def train(): return Net2().fit()\ndef noisy(x):\n    print(x)\n    return x\n"
        "N = 0\ndef counted():\n    global N\n    N += 1\n    return N\nrows = [1]\nmodel = 1\nf = 2\n"
    )
    line = head.count("\n") + 1
    found = problems(f"{head}VALUE = {value}\nclass Net:\n    def f(self): return VALUE\n")
    assert any(at == line and f"`VALUE = {value}`"[:50] in why for at, why in found), found


@pytest.mark.parametrize(
    "block",
    [
        "try:\n    import fast\nexcept ImportError:\n    fast = None\n",
        "try:\n    import fast\nexcept ImportError as error:\n    raise RuntimeError('x') from error\n",
        "if TYPE_CHECKING:\n    from x import fast\nelse:\n    fast = 3\n",
        "import sys\nif sys.version_info >= (3, 12):\n    def fast(): pass\nelse:\n    fast = 1\n",
        "import torch\nif torch.cuda.is_available():\n    fast = 'cuda'\nelse:\n    fast = 'cpu'\n",
    ],
)
def test_blocks_of_definitions_are_kept_whole(block: str) -> None:
    script = f"TYPE_CHECKING = False\n{block}class Net:\n    def f(self): return fast\n"
    lines = script.splitlines()
    assert kept(script) == (lines if "TYPE_CHECKING:" in block else lines[1:])


@one_test
@pytest.mark.parametrize(
    ("block", "line"),
    [
        ("try:\n    import fast\nexcept ImportError:\n    print('slow')\n    fast = 1\n", 4),
        ("if 1:\n    fast = 3\n    train()\n", 3),
        ("with open('x') as fast: pass\n", 1),
        ("while (fast := 1) > 2: pass\n", 1),
        ("(fast := len(open('x').read()))\n", 1),
        ("def g(x=open('x')): return x\nfast = g\n", 1),
        ("class fast:\n    text = open('x').read()\n", 2),
        ("class fast:\n    print('made')\n", 2),
        ("x, fast = 1, open('x')\n", 1),
        ("fast = []\nfast += open('x')\n", 2),
        ("fast = {}\nfast['a'] = open('x')\n", 2),
        ("if __name__ == '__main__':\n    fast = 1\n", 1),
    ],
)
def test_what_runs_in_a_needed_statement_is_a_problem(block: str, line: int) -> None:
    found = problems(f"{block}class Net:\n    def f(self): return fast\n")
    assert [at for at, _ in found] == [line]


def test_the_last_definition_of_a_name_counts() -> None:
    cells = ["def f(): return data", "data = open('x')", "def f(): return g()", "def g(): return 2"]
    found = needed_definitions(cells, ["f"])
    assert (found.text, found.problems) == ("def f(): return g()\ndef g(): return 2\n", ())


def test_a_definition_that_is_used_before_it_is_replaced_stays() -> None:
    assert kept("def A(): pass\nclass B: a = A\nA = 3\nclass Net(B):\n    x = A") == [
        "def A(): pass",
        "class B: a = A",
        "A = 3",
        "class Net(B):",
        "    x = A",
    ]
    assert kept("def f(): pass\nf = staticmethod(f)", "f") == ["def f(): pass", "f = staticmethod(f)"]


def test_a_needed_name_that_no_statement_binds_is_a_problem() -> None:
    script = "globals()['X'] = 3\n\ndef f(): return X + Y\n"
    (problem,) = needed_definitions([script], ["f"], running={"X": 3, "f": 4}).problems
    assert (problem.line, problem.reason.partition(":")[0]) == (
        3,
        (
            "f needs X, and no statement binds it that could be stored (it was made by `exec`, `%run`, a "
            "magic, or under another name)"
        ),
    )


def test_statements_that_share_a_line_are_taken_apart() -> None:
    script = "import math; print('hello'); n = 2\ndef f(): return math.pi * n\n"
    assert kept(script, "f") == ["import math; n = 2", "def f(): return math.pi * n"]


@one_test
@pytest.mark.parametrize(
    ("literal", "value", "told"),
    [
        ("[1, 2, 3]", [3, 1, 2], "a list of 3 here, and would be a list of 3"),
        ("[]", [1], "a list of 1 here, and would be a list of 0"),
        ("{'a': 1}", {"a": 2}, "a dict of 1 here, and would be a dict of 1"),
        ("{'a': [1]}", {"a": [1, 2]}, "a dict of 1 here"),
        ("0", 5, "5 here, and would be 0"),
        ("None", object(), "a object here, and would be None"),
        ("1", True, "True here, and would be 1"),
        ("(1, {2})", (1, {3}), "a tuple of 2 here"),
    ],
)
def test_a_literal_that_something_has_changed_is_a_problem(literal: str, value: object, told: str) -> None:
    script = f"\nX = {literal}\nchange()\ndef f(): return len(X) + 1 if X else X * 2\n"
    found = needed_definitions([script.replace("len(X)", "X[0]")], ["f"], running={"X": value}).problems
    assert [one.line for one in found] == [2]
    assert f"X is {told}" in found[0].reason
    same = needed_definitions([script], ["f"], running={"X": eval(literal)})
    assert same.problems == ()


@one_test
@pytest.mark.parametrize(
    "body",
    [
        "X.append(a)",
        "X[a] = 1",
        "fill(X)",
        "rows = X; rows.append(a)",
        "def inner(): X.append(a)",
        "global X; X = a",
    ],
)
def test_state_that_stored_functions_look_after_is_left_alone(body: str) -> None:
    script = f"X = []\ndef f(a):\n    {body}\n"
    assert needed_definitions([script], ["f"], running={"X": [1]}).problems == ()


MEMORY = """
from __future__ import annotations
import math
class Net:
    def area(self, r: float) -> float:
        return math.pi * r
    @property
    def name(self): return "net"
    class Inner:
        def deep(self): return [1 for x in self]
def free(x): return math.floor(x)
"""


@pytest.mark.parametrize(
    ("old", "new", "line", "told"),
    [
        ("math.pi * r", "math.pi * r * r", 4, "Net.area"),
        ('"net"', '"other"', 4, "Net.name"),
        ("math.floor(x)", "math.ceil(x)", 11, "free"),
    ],
)
def test_a_definition_that_is_another_one_in_memory_is_a_problem(
    old: str, new: str, line: int, told: str
) -> None:
    running: dict[str, object] = {"__name__": "__main__"}
    exec(MEMORY, running)
    assert needed_definitions([MEMORY], ["Net", "free"], running=running).problems == ()
    found = needed_definitions([MEMORY.replace(old, new)], ["Net", "free"], running=running).problems
    assert [one.line for one in found] == [line]
    assert found[0].reason.startswith(f"{told} is not the one in memory: this text has changed since")


@one_test
@pytest.mark.parametrize(
    "cells",
    [
        ["import math", "def f(x):\n    return math.sin(x)"],
        ["def f(x): return 1\n", "def f(x): return 2\n"],
        ["import functools\n@functools.cache\ndef f(x): return 1\n"],
        ["if 1 > 2:\n    def f(x): return 1\nelse:\n    def f(x): return 2\n"],
        ["try:\n    import nothing_of_that_name\nexcept ImportError:\n    def f(x): return 2\n"],
        ["def g(x): return 1\nf = g"],
        ["import math; f = lambda x: math.cos(x)"],
        ["try:\n    import math as m\nexcept ImportError:\n    m = None\ndef f(x): return m.cos(x)"],
        ["if 2 > 1:\n    from os import path\ndef f(x): return path.join(x)"],
    ],
)
def test_definitions_as_they_ran_are_those_in_memory(cells: list[str]) -> None:
    running: dict[str, object] = {"__name__": "__main__"}
    for cell in cells:
        exec(cell, running)
    assert needed_definitions(["", *cells], ["f"], running=running).problems == ()


def test_a_later_cell_that_did_not_run_is_told_where_it_stands() -> None:
    running: dict[str, object] = {"__name__": "__main__"}
    exec("class Net:\n    def size(self): return 1", running)
    cells = ["class Net:\n    def size(self): return 1", "1 / 0\nclass Net:\n    def size(self): return 2"]
    (problem,) = needed_definitions(cells, ["Net"], running=running).problems
    assert (problem.cell, problem.line, problem.reason.partition(":")[0]) == (
        1,
        2,
        "Net.size is not the one in memory",
    )


@pytest.mark.parametrize(
    ("script", "line", "told"),
    [
        ("exec('class Net: pass')", 0, "Net is stored, and no statement binds it that could be stored"),
        ("if __name__ == '__main__':\n    class Net: pass", 1, "Net is bound in the main block alone"),
    ],
)
def test_a_stored_name_that_no_statement_binds_is_a_problem(script: str, line: int, told: str) -> None:
    (problem,) = needed_definitions([script], ["Net"], running={"Net": object}).problems
    assert problem.line == line
    assert problem.reason.startswith(told)


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (
            "display(self)",
            "Net needs display, which is there in notebooks alone: `from IPython.display import",
        ),
        (
            "get_ipython().system('ls')",
            "Net needs a magic or get_ipython(), which is there in notebooks alone",
        ),
        ("return Out[3]", "Net needs Out, which is there in notebooks alone: give the result a name"),
        ("return len(In)", "Net needs In, which is there in notebooks alone: give the cell's text a name"),
    ],
)
def test_what_notebooks_alone_have_is_a_problem_where_it_is_needed(body: str, told: str) -> None:
    script = f"class Net:\n    def show(self):\n        {body}\n"
    (problem,) = needed_definitions([script], ["Net"], running={"Net": object}).problems
    assert problem.line == 3
    assert problem.reason.startswith(told)
    tried = script.replace(body, f"try:\n            {body}\n        except NameError: pass")
    assert needed_definitions([tried], ["Net"], running={"Net": object}).problems == ()


@pytest.mark.parametrize("name", ["_", "__", "_3", "_i", "_oh"])
def test_a_result_that_a_notebook_keeps_is_told_as_one(name: str) -> None:
    cells = ["", f"BEST = {name}\nclass Net:\n    def best(self): return BEST\n"]
    (problem,) = needed_definitions(cells, ["Net"], running={"In": cells, "BEST": 3, name: 3}).problems
    assert (problem.cell, problem.line) == (1, 1)
    assert problem.reason == (
        f"BEST needs {name}, a result or a text that notebooks alone keep: give it a name where it is made"
    )


def test_a_future_of_a_later_cell_comes_first() -> None:
    cells = ["import math", "from __future__ import annotations\ndef f(x: Y): return math.pi"]
    found = needed_definitions(cells, ["f"])
    assert found.text == ("from __future__ import annotations\nimport math\n\ndef f(x: Y): return math.pi\n")
    assert compile(found.text, "<main>", "exec")


def test_a_form_feed_ends_no_line() -> None:
    script = "TEXT = 1\n\x0c\ndef f():\n    return TEXT\n"
    assert kept(script, "f") == ["TEXT = 1", "def f():", "    return TEXT"]


def test_the_names_between_a_problem_and_what_is_stored_are_told() -> None:
    script = (
        "import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('--width')\n"
        "args = parser.parse_args()\nWIDTH = args.width\nclass Net:\n    def size(self): return WIDTH\n"
    )
    ((line, reason),) = problems(script)
    assert line == 4
    assert "args is needed by WIDTH, WIDTH is needed by Net: let the object that needs it hold" in reason
    assert reason.endswith("; WIDTH is read by Net.size (line 7)")


def test_the_functions_that_read_a_computed_value_are_told() -> None:
    """An attribute that `__init__` takes from the global is no way out; one that it is given is."""
    script = (
        "import time\nrate = time.time()\nclass Net:\n    def __init__(self):\n        self.rate = rate\n"
        "    def size(self, rate): return rate\n    def three(self):\n        return [rate for _ in 'abc']\n"
    )
    ((line, reason),) = problems(script)
    assert line == 2
    assert reason.endswith("; rate is read by Net.__init__ (line 5), Net.three (line 8)")
    assert (
        problems(script.replace("__init__(self)", "__init__(self, rate)").replace("[rate", "[self.rate"))
        == []
    )


def test_functions_of_other_cells_are_told_by_their_cell() -> None:
    cells = ["rate = open('x').read()", "def one(): return rate", "def two(): return one(), rate"]
    (problem,) = needed_definitions(cells, ["two"]).problems
    assert problem.reason.endswith("; rate is read by one (In[1]:1), two (In[2]:1)")


@one_test
@pytest.mark.parametrize(
    "look",
    [
        "globals()[x](self)",
        "globals().get(x)(self)",
        "getattr(sys.modules[__name__], x)(self)",
        "vars(sys.modules['__main__'])[x](self)",
        "getattr(importlib.import_module(__name__), x)(self)",
        "eval(x + '(self)')",
        "eval(f'{x}(self)', globals())",
    ],
)
def test_where_names_are_found_by_their_text_definitions_stay(look: str) -> None:
    script = (
        "import sys, importlib\n"
        "from math import tau\n"
        "def plus(net): return RATE\n"
        "RATE = 3\n"
        "STEPS = ['plus']\n"
        "KINDS = ['STEPS']\n"
        "LAYERS = 9\n"
        "data = open('x.csv').read()\n"
        "def train(): return data\n"
        "class Tree: pass\n"
        f"class Net:\n    def forward(self, x): return {look}\n"
    )
    everything = kept(script)
    assert [line for line in script.splitlines()[1:] if line not in everything] == [
        "from math import tau",
        "KINDS = ['STEPS']",
        "LAYERS = 9",
        "data = open('x.csv').read()",
        "def train(): return data",
    ]


def test_a_definition_that_a_text_names_stays_with_its_problem() -> None:
    script = (
        "data = open('x.csv').read()\n"
        "def train(): return data\n"
        "class Net:\n    def forward(self): return globals()['train']()\n"
    )
    [(line, reason)] = problems(script)
    assert line == 1
    assert "data is needed by train, train is needed by Net" in reason


@pytest.mark.parametrize("look", ["self.eval()", "eval('1 + 1')", "sys.modules", "modules[x]", "'globals'"])
def test_where_nothing_is_found_by_its_text_definitions_are_left_out(look: str) -> None:
    script = (
        f"import sys\nmodules = {{}}\ndef plus(): pass\nclass Net:\n    def forward(self, x): return {look}\n"
    )
    assert "def plus(): pass" not in kept(script)
