"""Scripts in processes of their own, exported with the proof: what is written comes back elsewhere."""

import textwrap

import pytest

pytestmark = pytest.mark.processes(share=3)


@pytest.mark.parametrize(
    ("definitions", "model"),
    [
        ("half = lambda x: x / 2", "Steps(half)"),
        ("shift = scale = lambda x: x + 1", "Steps(scale, shift)"),
        ("FACTOR = 3\ntriple = lambda x: x * FACTOR\nless = lambda x, by=2: x - by", "Steps(triple, less)"),
        ("def adding(by): return lambda x: x + by\nhalf = lambda x: x // 2", "Steps(adding(3), half)"),
    ],
)
def test_a_lambda_with_a_name_comes_back(scripts, definitions, model):
    chain = """
        class Steps:
            def __init__(self, *steps): self.steps = steps
            def __call__(self, x):
                for step in self.steps: x = step(x)
                return x
        """
    text = "\n".join([chain, *(f"        {line}" for line in definitions.splitlines())])
    expected = scripts.export(f"{text}\n        model = {model}\n        print(model(8))")
    assert expected.replace(".", "").isdigit()
    assert scripts.load("model(8)") == expected


def test_a_method_that_a_base_of_the_project_brings_finds_what_it_imports(scripts):
    """It is called from outside, by whoever loads the object, as its own methods are."""
    scripts.write(
        {
            "board/__init__.py": "from .base import Base\n",
            "board/base.py": """
                class Root:
                    def deep(self):
                        from . import deepest
                        return deepest.DEPTH

                class Base(Root):
                    def told(self):
                        from board.telling import tell
                        return tell(self.name)

                    def _hidden(self):
                        from board import never
                """,
            "board/telling.py": "def tell(name): return f'told of {name}'\n",
            "board/deepest.py": "DEPTH = 3\n",
            "board/never.py": "",
        }
    )
    expected = scripts.export(
        """
        from board import Base

        class Net(Base):
            name = "net"

        model = Net()
        print(model.told(), model.deep())
        """,
        "exporter.save_entry_point('told', 'model', 'model', 'told')",
        "exporter.save_example('told', {})",
    )
    assert expected == "told of net 3"
    assert scripts.load("model.told(), model.deep()") == "told of net 3"
    stored = scripts.load("*sorted(importer.manifest.stored_modules)")
    assert stored == "__main__ board board.base board.deepest board.never board.telling"


READS_NUMPY = """
    import numpy as np
    from numpy import pi

    class Net:
        def __call__(self, x): return float(np.asarray(x + pi - pi)) + np.SHIFT
    """


@pytest.mark.parametrize("change", ["numpy.UNREAD = 7", "numpy.random.seed(3)", "import compat"])
def test_what_is_done_there_too_or_read_by_nothing_is_not_told(scripts, change):
    scripts.write({"drill.py": "import compat\n" + textwrap.dedent(READS_NUMPY)})
    scripts.write({"compat.py": "import numpy\nif not hasattr(numpy, 'SHIFT'):\n    numpy.SHIFT = 4\n"})
    told = scripts.export(f"import numpy\nfrom drill import Net\n{change}\nmodel = Net()\n")
    assert told == ""
    assert scripts.load("model(3)") == "7.0"


SHUFFLED = """
    import random
    ORDER = [3, 1, 2]
    random.Random(1).shuffle(ORDER)
    class Net:
        def __call__(self, x): return x + ORDER[0]
    model = Net()
    print(model(1))
    """


def test_a_list_that_was_changed_in_place_is_told_where_nothing_is_called(scripts):
    told = scripts.export(SHUFFLED)
    assert "__main__.ORDER is [1, 2, 3] here and [3, 1, 2] in the clean process (__main__.py:2)" in told


def test_a_list_that_was_changed_in_place_is_the_suspect_of_a_call_that_differs(scripts):
    call = "exporter.save_example('model', {'x': 1})"
    told = scripts.export(SHUFFLED, call)
    assert "check model\n" in told
    assert "__main__.ORDER is [1, 2, 3] here and [3, 1, 2] in the clean process" in told
    assert scripts.export(SHUFFLED.replace("[0]", "[0] * 0"), call) == "1"


def test_a_generic_class_that_was_called_with_its_arguments_comes_back(scripts):
    """Python notes them on the object, as `__orig_class__`, which nobody who wrote it sees."""
    scripts.write(
        {
            "lines.py": """
                from typing import Generic, TypeVar, get_args
                Stage = TypeVar("Stage")
                class Line(Generic[Stage]):
                    def __init__(self, *stages): self.stages = stages
                    def kinds(self): return [one.__name__ for one in get_args(self.__orig_class__)]
                    def __call__(self, x):
                        for stage in self.stages: x = stage(x)
                        return x
                class Add:
                    def __init__(self, by): self.by = by
                    def __call__(self, x): return x + self.by
                """
        }
    )
    expected = scripts.export(
        """
        from lines import Add, Line
        class Twice(Add):
            def __call__(self, x): return 2 * x
        model = Line[Add](Add(2), Line[Twice](Twice(0)))
        print(model(4), model.kinds(), model.stages[1].kinds())
        """
    )
    assert expected == "12 ['Add'] ['Twice']"
    assert scripts.load("model(4), model.kinds(), model.stages[1].kinds()") == expected
