"""What changes on the way to a saved object, and what nobody is seen to change, is said at its line."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.processes(share=3)

MODULES = {
    "depot/__init__.py": "",
    "depot/terms.py": """
        class Vocabulary:
            def __init__(self): self.words = {}
            def add(self, word): return self.words.setdefault(word, len(self.words))
        KNOWN = Vocabulary()
        SEEN = {}
        def number(word): return KNOWN.add(word)
        def see(word):
            if word not in SEEN: SEEN[word] = len(word)
            return SEEN[word]
        """,
    "depot/single.py": """
        class Once(type):
            _made = {}
            def __call__(cls, *args):
                if cls not in Once._made: Once._made[cls] = super().__call__(*args)
                return Once._made[cls]
        class Config(metaclass=Once):
            def __init__(self, width=1): self.width = width
        """,
    "depot/kept.py": """
        class Pool:
            _pool = None
            def __new__(cls):
                if cls._pool is None: cls._pool = super().__new__(cls)
                return cls._pool
            def __call__(self): return Pool() is self
        """,
    "depot/net.py": """
        from . import terms
        from .single import Config
        class Bag:
            def __init__(self, text): self.first = [terms.number(one) for one in text.split()]
            def __call__(self, word): return terms.number(word)
        class Late:
            def __call__(self, word): return terms.see(word)
        class Wide:
            def __init__(self): self.config = Config(5)
            def __call__(self): return Config().width
        """,
}


@pytest.fixture
def told(scripts):
    scripts.write(MODULES)

    def tell(program: str, *paste: str) -> str:
        return scripts.export(program, *paste)

    return tell


def test_what_a_constructor_fills_by_what_it_calls_is_told_with_the_constructor(told):
    assert (
        "depot.terms.KNOWN.words holds 2 entries here and nothing there; not there: 'moon', 'sun' "
        "(depot/terms.py:4): Bag.__init__ (depot/net.py:4) or what it calls did that, and does not run where "
        "the object is loaded: keep it in the object, or save_object(..., factory=) makes the object by a "
        "call"
    ) in told("from depot.net import Bag\nmodel = Bag('sun moon')")


def test_the_only_one_of_its_class_is_another_one_there(told):
    assert (
        "depot.single.Once._made holds 1 entry here and nothing there (depot/single.py:1): Once.__call__ "
        "(depot/single.py:3) or what it calls did that"
    ) in told("from depot.net import Wide\nmodel = Wide()")


def test_one_that_registers_itself_as_it_is_made_is_there_too(told, scripts):
    assert told("from depot.kept import Pool\nmodel = Pool()") == ""
    assert scripts.load("model()") == "True"


def test_what_each_caller_makes_first_is_not(told):
    program = "from depot.net import Late\nmodel = Late()\nmodel('sun')"
    assert told(program) == ""


PARTS = {
    "plant/__init__.py": "",
    "plant/stages.py": """
        class Stage:
            def __init__(self, width): self.width = width
        STAGES = [Stage(1), Stage(2)]
        TABLE = [{"gain": 1}, {"gain": 2}]
        ORDER = ["a", "b", "c"]
        """,
    "plant/net.py": """
        from . import stages
        class Net:
            def __call__(self): return sum(one.width for one in stages.STAGES), stages.TABLE, stages.ORDER
        """,
}


@pytest.mark.parametrize(
    ("change", "name", "what"),
    [
        ("stages.STAGES[1].width = 7", "STAGES", "STAGES[1].width is 7 here and 2 there"),
        ("for one in stages.STAGES: one.width = 7", "STAGES", "STAGES[0].width is 7 here and 1 there"),
        ("stages.TABLE[0]['gain'] = 7", "TABLE", "TABLE holds 2 entries here and 2 entries there; not there"),
        ("stages.ORDER.reverse()", "ORDER", "ORDER holds its 3 entries in another order"),
        ("stages.ORDER.sort(key=lambda one: -ord(one))", "ORDER", "ORDER holds its 3 entries in another"),
    ],
)
def test_a_change_inside_or_of_the_order_is_refused_with_its_line(scripts, change, name, what):
    scripts.write(PARTS)
    program = f"from plant import stages\nfrom plant.net import Net\n{change}\nmodel = Net()"
    said = scripts.export(program)
    assert "* The running program changed a stored module" in said
    assert f"Context: plant.stages.{what}" in said
    assert f"changed at script.py:3: {change.partition('STAGES: ')[2] or change}" in said
    assert not scripts.file.exists()
    assert scripts.export(program, f'exporter.answer("plant.stages:{name}", "none")') == ""


def test_what_nobody_is_seen_to_change_is_told_where_no_stored_code_does(scripts):
    scripts.write(PARTS)
    program = """
        import importlib, operator
        from plant.net import Net
        change = operator.methodcaller("__setattr__", "width", 7)
        change(vars(importlib.import_module("plant.stages"))["STAGES"][0])
        model = Net()
        """
    said = scripts.export(program)
    assert (
        "plant.stages.STAGES[0].width is 7 here and 1 there (plant/stages.py:3): it is computed anew" in said
    )
