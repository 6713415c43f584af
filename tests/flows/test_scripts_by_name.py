"""Scripts and notebooks of all kinds: what is stored of them by name comes back, or is told by its line.

Each makes `model`, which is saved and called where only the archive is; or it says what it is refused for.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.flows.scripts import Scripts

NET = "class Net:\n    def __call__(self, x): return {}\nmodel = Net()\n"
"""A class that reads what stands in the place."""
WAYS = "pass it to `__init__` and keep it as an attribute, or move it into a module and import it"
NOT_RUN = "does not run when the archive is loaded"
NOWHERE = "but only a main block, `exec`, a magic or the notebook defines it, and these are not stored"
OTHER = (
    "differs from the code in memory: this text was changed, or has not run up to here. Run it again, "
    "and make the objects again"
)

SCRIPTS = {
    "bases, decorators, defaults and properties": (
        """
        import functools
        from abc import ABC, abstractmethod
        STEP = 2
        def twice(function):
            @functools.wraps(function)
            def doubled(*given): return 2 * function(*given)
            return doubled
        class Base(ABC):
            @abstractmethod
            def size(self): ...
        class Net(Base):
            def __init__(self, by=STEP): self.by = by
            @property
            def half(self): return self.by / 2
            @staticmethod
            def least(x): return max(x, LEAST)
            @classmethod
            def named(cls): return cls.__name__
            @twice
            def size(self): return self.by
            def __call__(self, x): return [self.size(), self.half, self.least(x), self.named()]
        LEAST = 5
        model = Net()
        """,
        "[4, 1.0, 5, 'Net']",
    ),
    "dataclasses, enumerations and named tuples": (
        """
        from __future__ import annotations
        import dataclasses
        import enum
        from collections import namedtuple
        from typing import ClassVar, NamedTuple
        class Kind(enum.Enum):
            LEFT = enum.auto()
            RIGHT = enum.auto()
        Pair = namedtuple("Pair", "first second")
        class Point(NamedTuple):
            x: int
            y: int = 3
        @dataclasses.dataclass
        class Net:
            kind: Kind
            sizes: list = dataclasses.field(default_factory=list)
            shared: ClassVar[int] = 7
            def __call__(self, x):
                return self.kind.name, self.sizes, Pair(x, Point(x)), len(dataclasses.fields(self))
        model = Net(Kind.RIGHT, [1])
        """,
        "('RIGHT', [1], Pair(first=3, second=Point(x=3, y=3)), 2)",
    ),
    "imports under other names, by star, and those that are tried": (
        """
        import os.path, json as j
        from math import *
        try:
            import nothing_of_that_name as fast
        except ImportError:
            fast = None
        if not fast:
            from colorsys import rgb_to_hsv as hsv
        else:
            hsv = fast.hsv
        class Net:
            def __call__(self, x):
                from string import digits
                return [os.path.basename("a/b"), j.dumps(x), floor(pi), fast, hsv(0, 0, x)[2], digits[x]]
        model = Net()
        """,
        "['b', '3', 3, None, 3, '3']",
    ),
    "constants that are literals, of imports, and what these give": (
        """
        import logging, re, pathlib
        import numpy as np
        SIZE, NAMES = (3, 4), ["a", "b"]
        WIDE: int = -8
        DTYPE = np.float32
        logger = logging.getLogger("shop")
        WORD = re.compile("[a-z]+", re.ASCII)
        RANDOM = np.random.default_rng(0)
        PLACE = pathlib.PurePosixPath("a") / "b"
        BOTH = {"size": SIZE, "act": np.tanh}
        SQUARES = [n * n for n in range(4)]
        UNREAD = open(__file__).read()
        class Net:
            def __call__(self, x):
                logger.debug("called")
                drawn = float(RANDOM.random()) < 1
                found = WORD.findall("a b"), str(PLACE), SQUARES
                return [BOTH["size"], NAMES, WIDE, DTYPE(x).item(), drawn, *found]
        model = Net()
        """,
        "[(3, 4), ['a', 'b'], -8, 3.0, True, ['a', 'b'], 'a/b', [0, 1, 4, 9]]",
    ),
    "a function that is defined again, and a base that is": (
        """
        class Base: name = "first"
        class Net(Base):
            def __call__(self, x): return step(x), self.name, Base.name
        def step(x): return x
        class Base: name = "second"
        def step(x): return x + 1
        model = Net()
        """,
        "(4, 'first', 'second')",
    ),
    "closures, lambdas and generators": (
        """
        import functools
        RATE = 3
        def power(n):
            def inner(x): return [m * RATE for m in range(x ** n)][-1]
            return inner
        half = lambda x, by=2: x / by
        def parts(x): yield from (half(n) for n in range(x))
        class Net:
            def __init__(self, *steps): self.steps = steps
            def __call__(self, x): return [step(x) for step in self.steps], sum(parts(x))
        model = Net(power(2), half, functools.partial(half, by=4))
        """,
        "([24, 1.5, 0.75], 1.5)",
    ),
    "methods that are put on the class": (
        """
        class Net: pass
        def _call(self, x): return x * self.rate
        Net.__call__ = _call
        Net.rate = 4
        model = Net()
        """,
        "12",
    ),
    "names of the program that are like local ones": (
        """
        import sys
        loss = open(__file__).read()
        for x in sys.argv: total = x
        with open(__file__) as file: data = file.read()
        class Net:
            total = 3
            def __call__(self, x):
                loss = x + self.total
                return [loss for data in range(2)]
        model = Net()
        """,
        "[6, 6]",
    ),
    "a computed constant": (
        "import numpy as np\nMEAN = float(np.arange(4).mean())\n" + NET.format("x * MEAN"),
        f"script.py:2: `MEAN = float(np.arange(4).mean())` {NOT_RUN}; MEAN is read by Net.__call__",
    ),
    "several at once": (
        """
        DATA = open(__file__).read()
        SIZES = [3, 1, 2]
        SIZES.sort()
        COUNT = 0
        for letter in DATA: COUNT += 1
        def first(): return SIZES[0], DATA
        class Net:
            def __call__(self, x): return first(), COUNT, SIZES
        model = Net()
        """,
        f"script.py:1: `DATA = open(__file__).read()` {NOT_RUN}; DATA is read by first (line 6): {WAYS}",
        f"script.py:5: `for letter in DATA:` {NOT_RUN}; COUNT is read by Net.__call__ (line 8): {WAYS}",
    ),
    "a table that a loop fills": (
        "TABLE = {}\nfor n in range(2): TABLE[n] = n * n\n" + NET.format("TABLE[x]"),
        "__main__.TABLE is {0: 0, 1: 1} here and {} in the clean process (__main__.py:1)",
    ),
    "a table that is written into": (
        "TABLE = {}\nTABLE['a'] = 1\n" + NET.format("TABLE[x]"),
        f"script.py:2: `TABLE['a'] = 1` {NOT_RUN}; TABLE is read by Net.__call__ (line 4): {WAYS}",
    ),
    "what the main block binds": (
        "if __name__ == '__main__':\n    rate = 3\n" + NET.format("x * rate"),
        f"script.py:1: `if __name__ == '__main__':` {NOT_RUN}; rate is read by Net.__call__ (line 4): {WAYS}",
    ),
    "a name that `exec` has made": (
        "exec('rate = 3')\n" + NET.format("x * rate"),
        f"script.py:3: Net.__call__ reads rate, {NOWHERE}: {WAYS}",
    ),
    "a file that was edited since it was started": (
        "from pathlib import Path\n" + NET.format("x + 1") + "file = Path(__file__)\n"
        "file.write_text(file.read_text().replace('x + 1', 'x + 2', 1))\n",
        f"script.py:2: Net.__call__ {OTHER}",
    ),
}

NOTEBOOKS = {
    "cells out of order": (
        [NET.format("helper(x) * WEIGHT"), "WEIGHT = 3\ndef helper(x): return x + OFFSET", "OFFSET = 10"],
        "39",
    ),
    "a constant that is changed and run again": (
        ["RATE = 3", "def rated(x): return x * RATE", "RATE = 5", NET.format("rated(x)")],
        "15",
    ),
    "a base that is run again alone": (
        [
            "class Base: width = 3",
            "class Net(Base):\n    def __call__(self, x): return x + self.width",
            "class Base: width = 3",
            "model = Net()",
        ],
        "6",
    ),
    "a class that is run again with its object": (
        [NET.format("x"), NET.format("x + 1"), NET.format("x + 2")],
        "5",
    ),
    "magics, shell lines and cells for others": (
        [
            "%matplotlib inline\nimport math",
            "%%bash\nls",
            "!pip list",
            "%%time\nRATE = 2",
            "%time SHIFT = 1",
            "this is *no* Python",
            NET.format("math.floor(x) * RATE + SHIFT"),
        ],
        "7",
    ),
    "closures and lambdas": (
        [
            "def power(n):\n    def inner(x): return x ** n * RATE\n    return inner",
            "RATE = 2\nhalf = lambda x: x / 2",
            (
                "class Net:\n    def __init__(self, *steps): self.steps = steps\n"
                "    def __call__(self, x): return [step(x) for step in self.steps]"
            ),
            "model = Net(power(2), half)",
        ],
        "[18, 1.5]",
    ),
    "a registry of decorated functions that is run twice": (
        [
            "STEPS = {}\ndef step(f):\n    STEPS[f.__name__] = f\n    return f",
            "@step\ndef more(x): return x + 1",
            "@step\ndef more(x): return x + 1",
            NET.format("STEPS['more'](x)"),
        ],
        "4",
    ),
    "methods that decorators put on a class": (
        [
            "def put_on(cls):\n    return lambda f: setattr(cls, f.__name__, f)",
            "class Net: pass",
            "@put_on(Net)\ndef __call__(self, x): return x * 2",
            "model = Net()",
        ],
        "6",
    ),
    "a future in a later cell": (
        [
            "import math",
            "from __future__ import annotations\ndef area(r: Unknown): return math.floor(r)",
            NET.format("area(x)"),
        ],
        "3",
    ),
    "a result that the notebook keeps": (
        ["3 + 4", "BEST = _", NET.format("BEST")],
        f"In[2]:1: BEST reads _, {NOWHERE}: {WAYS}",
    ),
    "an output by its number, and an input": (
        ["3", "def out(): return Out[1]\n" + NET.format("out(), len(In)")],
        f"In[2]:1: out reads Out, {NOWHERE}: {WAYS}",
        f"In[2]:3: Net.__call__ reads In, {NOWHERE}: {WAYS}",
    ),
    "a shell that stored code asks": (
        [NET.format("get_ipython().system(x)")],
        f"In[1]:2: Net.__call__ reads get_ipython, {NOWHERE}: {WAYS}",
    ),
    "a shell that it tries": (
        [
            (
                "class Net:\n    def __call__(self, x):\n        try: return get_ipython().system(x)\n"
                "        except NameError: return x"
            ),
            "model = Net()",
        ],
        "3",
    ),
    "a counter that ran thrice": (
        [
            "STEPS = []\nLEVEL = 1",
            "STEPS.append(1)\nLEVEL += 1",
            "STEPS.append(1)\nLEVEL += 1",
            NET.format("STEPS, LEVEL"),
        ],
        f"In[3]:2: `LEVEL += 1` {NOT_RUN}; LEVEL is read by Net.__call__ (In[4]:2): {WAYS}",
    ),
    "a cell that failed before it came to its class": (
        [NET.format("x + 1"), "1 / 0\n" + NET.format("x + 2")],
        "Net is stored as defined at In[1]:1, which is in memory, not as at In[2]:2",
    ),
    "a definition that is another one in memory": (
        [
            NET.format("x + 1"),
            (
                "other = (lambda self, x: x).__code__\n"
                "Net.__call__.__code__ = other.replace(co_qualname='Net.__call__')"
            ),
        ],
        f"In[1]:1: Net.__call__ {OTHER}",
    ),
}


@pytest.mark.long
@pytest.mark.parametrize("name", [*SCRIPTS, *NOTEBOOKS])
def test_what_a_script_stores_by_name(tmp_path: Path, name: str) -> None:
    scripts = Scripts(tmp_path)
    made, *expected = SCRIPTS.get(name) or NOTEBOOKS[name]
    told = scripts.export(made) if isinstance(made, str) else scripts.export_cells(*made)
    if told:
        assert [one for one in expected if one not in told] == [], told
        assert not scripts.file.exists()
    else:
        assert [scripts.load("model(3)")] == expected
        assert list(scripts.elsewhere.iterdir()) == []


MODULE = """
    import sys
    from importlib import import_module
    from .parts import WIDTH
    class Net:
        parts = import_module(".parts", __package__)
        def __call__(self, x):
            from . import more
            other = import_module(".more", package=__package__)
            return [self.parts.WIDTH, WIDTH, other.DEPTH, more.DEPTH, x]
    model = Net()
    """


def test_a_module_that_python_m_runs_keeps_its_package(tmp_path: Path) -> None:
    scripts = Scripts(tmp_path)
    scripts.write({"zoo/__init__.py": "", "zoo/parts.py": "WIDTH = 4\n", "zoo/more.py": "DEPTH = 2\n"})
    assert scripts.export(MODULE, module="zoo.train") == ""
    assert scripts.load("model(3)") == "[4, 4, 2, 2, 3]"
    assert scripts.load("sorted(importer.manifest.stored_modules)") == (
        "['__main__', 'zoo', 'zoo.more', 'zoo.parts']"
    )
