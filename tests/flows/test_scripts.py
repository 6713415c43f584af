"""Twelve scripts as people write them: what they export comes back elsewhere, or the message leads to that.

With a main block and without, with arguments, globals and registries. Where one is refused, the message is
compared, and what it asks for is done: by other text in the script, with a golden call that shows it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.flows.scripts import Scripts


@dataclass(frozen=True)
class Case:
    """A script, and what `model(3)` gives there; `refused` is what it is told first.

    `mend` is what the author writes then, old text and new, `calls` the golden calls that show it.
    """

    script: str
    expected: str
    guarded: bool = True
    arguments: Sequence[str] = ()
    refused: str = ""
    mend: Mapping[str, str] = field(default_factory=dict)
    calls: Sequence[str] = ()


CASES = {
    "arguments without a main block": Case(
        """
        import argparse
        parser = argparse.ArgumentParser()
        parser.add_argument("--times", type=int, default=2)
        options = parser.parse_args()
        class Net:
            def __init__(self, times): self.times = times
            def __call__(self, x): return x * options.times
        model = Net(options.times)
        """,
        "15",
        guarded=False,
        arguments=["--times", "5"],
        refused="options is read by Net.__call__ (line 7): pass it to `__init__`",
        mend={"x * options.times": "x * self.times"},
    ),
    "arguments in a main block": Case(
        """
        import argparse
        class Net:
            def __init__(self, options): self.options = options
            def __call__(self, x): return x * self.options.times
        def parsed():
            parser = argparse.ArgumentParser()
            parser.add_argument("--times", type=int, default=2)
            return parser.parse_args()
        if __name__ == "__main__":
            model = Net(parsed())
        """,
        "12",
        arguments=["--times", "4"],
    ),
    "arguments that are a global of the main function": Case(
        """
        import argparse
        options = None
        class Net:
            def __call__(self, x): return x * options.times
        def main():
            global options
            options = argparse.Namespace(times=4)
            return Net()
        model = main()
        """,
        "12",
        refused="__main__.options.times is 4 here, but missing in the clean process",
        mend={
            "def __call__(self, x): return x * options": "def __call__(self, x): return x * self.options",
            "return Net()": "net = Net(); net.options = options; return net",
        },
    ),
    "a registry filled by decorators": Case(
        """
        STEPS = {}
        def step(name):
            def enter(function):
                STEPS[name] = function
                return function
            return enter
        @step("twice")
        def double(x): return 2 * x
        @step("more")
        def add(x): return x + 1
        class Net:
            def __call__(self, x):
                for name in STEPS: x = STEPS[name](x)
                return x
        model = Net()
        """,
        "7",
        guarded=False,
    ),
    "a registry filled by objects that decorate": Case(
        """
        class Registry(dict):
            def __call__(self, name):
                def enter(function):
                    self[name] = function
                    return function
                return enter
        class enter:
            def __init__(self, weight): self.weight = weight
            def __call__(self, function):
                WEIGHTS.append((self.weight, function))
                return function
        STEPS, WEIGHTS = Registry(), []
        TABLE = Registry()
        @TABLE("twice")
        def double(x): return 2 * x
        @enter(10)
        def add(x): return x + 1
        class Net:
            def __call__(self, x):
                return TABLE["twice"](x) + sum(weight * step(x) for weight, step in WEIGHTS)
        model = Net()
        """,
        "46",
        refused="`TABLE = Registry()` does not run when the archive is loaded; TABLE is read by Net.__call__",
        mend={
            """class Registry(dict):
            def __call__(self, name):
                def enter(function):
                    self[name] = function
                    return function
                return enter
""": "from board import Registry\n"
        },
    ),
    "subclasses that enter themselves": Case(
        """
        class Shape:
            kinds = []
            def __init_subclass__(cls, /, sides): Shape.kinds.append((sides, cls))
        class Square(Shape, sides=4):
            def area(self, x): return x * x
        class Line(Shape, sides=1):
            def area(self, x): return 0
        class Net:
            def __call__(self, x): return [(n, cls().area(x)) for n, cls in Shape.kinds]
        model = Net()
        """,
        "[(4, 9), (1, 0)]",
    ),
    "globals that training changes": Case(
        """
        import random
        random.seed(3)
        SEEN, STEPS, MEAN = {}, 0, None
        class Net:
            def fit(self, text):
                global STEPS, MEAN
                for letter in text:
                    SEEN[letter] = SEEN.get(letter, 0) + 1
                    STEPS += 1
                MEAN = STEPS / len(SEEN)
                return self
            def __call__(self, x): return sorted(SEEN.items())[:x], MEAN
        model = Net().fit("abracadabra")
        """,
        "([('a', 5), ('b', 2), ('c', 1)], 2.2)",
        guarded=False,
        refused="MEAN is 2.2 here and None in the clean process (__main__.py:3)",
        calls=('exporter.save_example("model", {"x": 3})',),
        mend={
            "return self\n": "self.seen, self.mean = dict(SEEN), MEAN\n                return self\n",
            "sorted(SEEN.items())[:x], MEAN": "sorted(self.seen.items())[:x], self.mean",
        },
    ),
    "steps with names, closures and partials": Case(
        """
        import functools
        by = lambda x, n: x ** n
        half = lambda x: x / 2
        def adding(n): return lambda x: x + n
        class Net:
            def __init__(self, *steps): self.steps = steps
            def __call__(self, x):
                for step in self.steps: x = step(x)
                return x
        model = Net(functools.partial(by, n=2), adding(1), half)
        """,
        "5.0",
        guarded=False,
    ),
    "a lambda without a name": Case(
        """
        class Net:
            def __init__(self, step): self.step = step
            def __call__(self, x): return self.step(x)
        model = Net(lambda x: x - 1)
        """,
        "2",
        refused="(define it by `def`, or give it a name in the script; or move it into a module)",
        mend={"model = Net(lambda x: x - 1)": "less = lambda x: x - 1\n        model = Net(less)"},
    ),
    "statements around what is stored": Case(
        """
        import sys
        try:
            import tomllib as toml
        except ModuleNotFoundError:
            toml = None
        if sys.version_info >= (3, 8):
            def read(text): return toml.loads(text)["n"]
        TABLE = []
        for n in range(3):
            TABLE.append(n * n)
        (LOW, *REST), HIGH = (1, 2, 3), 9
        print("trained", file=sys.stderr)
        class Net:
            if HIGH:
                extra = HIGH
            def __call__(self, x): return [read("n = 4"), TABLE, LOW, REST, self.extra + x]
        model = Net()
        """,
        "[4, [0, 1, 4], 1, [2, 3], 12]",
        guarded=False,
        refused="__main__.TABLE is [0, 1, 4] here and [] in the clean process (__main__.py:8)",
        mend={
            """TABLE = []
        for n in range(3):
            TABLE.append(n * n)
""": "TABLE = [n * n for n in range(3)]\n"
        },
    ),
    "a class in the main function": Case(
        """
        def main():
            class Net:
                def __call__(self, x): return x + 1
            return Net()
        if __name__ == "__main__":
            model = main()
        """,
        "4",
        refused="type 'main.<locals>.Net' cannot be imported: it is made inside a function",
        mend={
            "def main():\n            class Net:\n                def": "class Net:\n            def",
            "            return Net()": "        def main(): return Net()",
        },
    ),
    "a module that the script sets up": Case(
        """
        import board
        class Net:
            def __call__(self, x): return x * board.RATE
        board.set_rate(7)
        model = Net()
        """,
        "21",
        refused="board.RATE is 7 here and 1 in the clean process (board.py:1)",
        calls=('exporter.save_example("model", {"x": 3})',),
        mend={
            "class Net:": "class Net:\n            def __init__(self, rate): self.rate = rate",
            "x * board.RATE": "x * self.rate",
            "model = Net()": "model = Net(board.RATE)",
        },
    ),
}
BOARD = """
RATE = 1
def set_rate(rate):
    global RATE
    RATE = rate
class Registry(dict):
    def __call__(self, name):
        def enter(function):
            self[name] = function
            return function
        return enter
"""


@pytest.mark.long
@pytest.mark.parametrize("name", CASES)
def test_a_script_comes_back_or_is_led_to_that(tmp_path: Path, name: str) -> None:
    case = CASES[name]
    scripts = Scripts(tmp_path)
    scripts.write({"board.py": BOARD})
    script = case.script
    if case.refused:
        told = scripts.export(script, arguments=case.arguments, guarded=case.guarded)
        assert case.refused in told
        assert not scripts.file.exists()
        for old, new in case.mend.items():
            assert old in script
            script = script.replace(old, new)
    assert scripts.export(script, *case.calls, arguments=case.arguments, guarded=case.guarded) == ""
    assert scripts.load("model(3)") == case.expected
    assert list(scripts.elsewhere.iterdir()) == []


def test_there_are_twelve() -> None:
    assert len(CASES) == 12
