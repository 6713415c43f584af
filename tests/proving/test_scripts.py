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
