"""Scripts in processes of their own, exported with the proof: what is written comes back elsewhere."""

import pytest


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
        """
    )
    assert expected == "told of net 3"
    assert scripts.load("model.told(), model.deep()") == "told of net 3"
    stored = scripts.load("*sorted(importer.manifest.stored_modules)")
    assert stored == "__main__ board board.base board.deepest board.telling"
