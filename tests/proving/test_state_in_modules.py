"""What the program made of a module's arrays, networks and objects is not in an archive: it is said."""

import textwrap

import pytest

from packager.proving.held_numbers import digest_of

pytestmark = pytest.mark.processes(share=3)

MODULES = {
    "brine/__init__.py": "",
    "brine/stats.py": """
        import numpy as np
        TABLE = np.zeros(3)
        SUMS = {"mean": 0.0}
        def learn(at, value):
            TABLE[at] += value
        def fit(values):
            SUMS["mean"] = sum(values) / len(values)
        def norm(x):
            return x - SUMS["mean"]
        def entry(at):
            return TABLE[at]
        """,
    "brine/scaling.py": """
        class Scaler:
            def __init__(self):
                self.mean = 0.0
            def adjust(self, values):
                self.mean = sum(values) / len(values)
            def __call__(self, x):
                return x - self.mean
        SCALER = Scaler()
        def bent(x):
            return x * bent.slope
        bent.slope = 1.0
        def bend(slope):
            bent.slope = slope
        """,
    "brine/shared.py": """
        import kellet
        from kellet import nn
        kellet.manual_seed(3)
        LAYER = nn.Linear(1, 1)
        """,
    "brine/model.py": """
        from . import scaling, stats
        class Table:
            def __call__(self, at): return stats.entry(at)
        class Scaled:
            def __call__(self, x): return scaling.SCALER(x)
            def prepare(self, values):
                scaling.SCALER.adjust(values)
                return self
        class Fitted:
            def __init__(self, values): stats.fit(values)
            def __call__(self, x): return stats.norm(x)
        class Bent:
            def __call__(self, x): return scaling.bent(x)
        """,
    "brine/kept.py": """
        from contextvars import ContextVar
        from dataclasses import dataclass
        import numpy as np
        from kellet import nn
        from numpy.polynomial import Polynomial
        FACTOR = ContextVar("factor", default=1.0)
        CURVE = Polynomial([1.0, 2.0])
        def meaning():
            mean = 0.0
            def fit(values):
                nonlocal mean
                mean = sum(values) / len(values)
            def norm(x): return x - mean
            return fit, norm
        fit, norm = meaning()
        @dataclass
        class Options:
            rate: float = 0.5
        class Net(nn.Module):
            table = np.zeros(3)
            options = Options()
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(1, 1)
            def learn(self, at, value):
                self.table[at] = value
                return self
            def bend(self): CURVE.coef[1] = 9
            def __call__(self, x):
                return norm(x) * FACTOR.get() * self.options.rate + self.table[1] + CURVE(x)
        """,
    "brine/layered.py": """
        import kellet
        from .shared import LAYER
        class Layered:
            def __call__(self, x): return LAYER(x)
            def bare(self, x): return self(kellet.tensor([x])).item()
        """,
}


@pytest.mark.parametrize(
    ("program", "subject", "told"),
    [
        (
            "from brine.stats import learn\nfrom brine.model import Table\nlearn(2, 1.5)\nmodel = Table()",
            "brine.stats:TABLE",
            "brine.stats.TABLE holds other numbers here than there (brine/stats.py:2)",
        ),
        (
            "import brine.stats as s\nfrom brine.model import Table\ns.TABLE[:] = 7\nmodel = Table()",
            "brine.stats:TABLE",
            "brine.stats.TABLE holds other numbers here than there (brine/stats.py:2)",
        ),
        (
            "from brine.model import Scaled\nmodel = Scaled().prepare([2.0, 4.0])",
            "brine.scaling:SCALER.mean",
            "brine.scaling.SCALER.mean is 3.0 here and 0.0 there",
        ),
        (
            "from brine.model import Fitted\nmodel = Fitted([2.0, 4.0])",
            "brine.stats:SUMS",
            "brine.stats.SUMS['mean'] is 3.0 here and 0.0 there",
        ),
        (
            "from brine.scaling import bend\nfrom brine.model import Bent\nbend(2.5)\nmodel = Bent()",
            "brine.scaling:bent.slope",
            "brine.scaling.bent.slope is 2.5 here and 1.0 there",
        ),
        (
            "from brine.layered import LAYER, Layered\nmodel = Layered()\nLAYER.weight.detach().zero_()",
            "brine.shared:LAYER",
            "brine.shared.LAYER.weight holds other numbers here than there",
        ),
        (
            "from brine.kept import Net\nmodel = Net().learn(1, 2.5)",
            "brine.kept:Net.table",
            "brine.kept.Net.table holds other numbers here than there",
        ),
        (
            "from brine.kept import Net\nmodel = Net()\nmodel.options.rate = 2.0",
            "brine.kept:Net.options.rate",
            "brine.kept.Net.options.rate is 2.0 here and 0.5 there",
        ),
        (
            "from brine.kept import FACTOR, Net\nFACTOR.set(3.0)\nmodel = Net()",
            "brine.kept:FACTOR",
            "brine.kept.FACTOR.value is 3.0 here, and not there at all",
        ),
        (
            "import brine.kept\nbrine.kept.fit([2.0, 4.0])\nmodel = brine.kept.Net()",
            "brine.kept:norm",
            "brine.kept.norm.mean is 3.0 here and 0.0 there",
        ),
        (
            "from brine.kept import Net\nmodel = Net()\nmodel.bend()",
            "brine.kept:CURVE",
            "brine.kept.CURVE.coef holds other numbers here than there",
        ),
        (
            "from brine.kept import Net, nn\nmodel = Net()\nnn.Linear.forward = lambda self, x: x",
            "kellet.nn.layers.linear:Linear.forward",
            "which objects in the archive are of",
        ),
    ],
)
def test_state_that_the_program_left_in_a_module_is_refused_with_its_line(scripts, program, subject, told):
    scripts.write(MODULES)
    said = scripts.export(program)
    assert "The running program changed a stored module" in said
    assert told in said
    assert "changed at script.py:" in said
    assert f'exporter.answer("{subject}", "none")' in said
    assert not scripts.file.exists()


@pytest.mark.parametrize(
    ("program", "call"),
    [
        ("from brine.model import Table\nmodel = Table()\nmodel(1)", "model(1)"),
        ("from brine.model import Scaled\nmodel = Scaled()\nmodel(1)", "model(3)"),
        ("from brine.layered import Layered\nmodel = Layered()", "model.bare(2.0)"),
    ],
)
def test_what_a_module_makes_alike_everywhere_is_not_told(scripts, program, call):
    scripts.write(MODULES)
    expected = scripts.export(f"{program}\nprint({call})")
    assert "\n" not in expected
    assert scripts.load(call) == expected


def test_an_array_of_a_script_that_is_changed_out_of_sight_is_refused(scripts):
    said = scripts.export(
        """
        import numpy as np
        TABLE = np.zeros(3)
        ORDER = np.array([3.0, 1.0])
        np.add(TABLE, 1, out=TABLE)
        class Net:
            def __call__(self, x): return TABLE[x] + ORDER[0]
        model = Net()
        """
    )
    assert "TABLE holds other numbers here than there (__main__.py:2)" in said
    assert 'exporter.answer("__main__:TABLE", "none")' in said
    assert "ORDER" not in said


def test_what_is_answered_is_written(scripts):
    scripts.write(MODULES)
    program = "from brine.layered import LAYER, Layered\nmodel = Layered()\nLAYER.weight.detach().zero_()"
    assert scripts.export(program, 'exporter.answer("brine.shared:LAYER", "none")') == ""
    assert scripts.load("model.bare(0.0) == model.bare(0.0)") == "True"


def test_numbers_that_a_module_draws_anew_are_a_warning(scripts):
    """Nobody changed them: another process has others."""
    scripts.write(
        {
            "loose.py": """
                import numpy as np
                NOISE = np.random.default_rng().random(3)
                SCRATCH = np.empty(3)
                def noisy(x): return x + NOISE
                def scratched(x):
                    SCRATCH[:] = x
                    return SCRATCH.sum()
                class Net:
                    def __call__(self, x): return noisy(x) + scratched(x)
                """
        }
    )
    said = scripts.export("from loose import Net\nmodel = Net()")
    assert "what may turn out wrong where it is loaded" in said
    assert "loose.NOISE holds other numbers here than there (loose.py:2)" in said
    assert "SCRATCH" not in said


def test_numbers_are_told_apart_by_type_shape_and_value():
    import numpy

    import kellet

    made = [
        numpy.ones(2),
        numpy.ones((2, 1)),
        numpy.ones(2, "f4"),
        numpy.array([1.0, 2.0]),
        kellet.ones(2),
        kellet.ones(2, dtype=kellet.float64),
        kellet.nn.Linear(1, 2).weight,
    ]
    digests = [digest_of(one) for one in made]
    assert all(digests)
    assert len(set(digests)) == len(made)
    assert digests[:3] == [
        digest_of(numpy.ones(2)),
        digest_of(numpy.ones((2, 1))),
        digest_of(numpy.ones(2, "f4")),
    ]


@pytest.mark.parametrize("text", ["[1.0]", "None", "numpy.array([object()])", "numpy.ma.masked_array([1])"])
def test_what_is_no_plain_array_has_no_digest(text):
    import numpy

    assert digest_of(eval(text, {"numpy": numpy})) == ""


# --- what a factory makes ---

FACTORY = textwrap.dedent(
    """
    from kellet import nn
    import kellet
    class Net(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.layer = nn.Linear(width, 1)
            self.drop = nn.Dropout(0.9)
            self.register_buffer("mask", kellet.ones(width), persistent=False)
            self.register_buffer("steps", kellet.zeros(1))
            self.scale, self.sizes, self.answers_cache = 1.0, [width], {}
        def forward(self, x):
            return self.drop(self.layer(x * self.mask)) * self.scale
    class Counter:
        def __init__(self, start): self.table, self.start = {}, start
        def learn(self, key): self.table[key] = self.start
    """
)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("net.scale = 2.0", ".scale is 2.0 here and 1.0 there;"),
        ("net.eval()", ".training is False here and True there;"),
        ("net.mask[1] = 0", ".mask holds other numbers here than there;"),
        ("net.sizes.append(7)", ".sizes holds 2 entries here and 1 entry there; not there: 7;"),
        ("net.layer.note = 'x'", ".layer.note is 'x' here, and not there at all;"),
        ("net = Counter(2); net.learn('a')", ".table holds 1 entry here and nothing there; not there: 'a';"),
    ],
)
def test_what_was_set_besides_a_factory_is_told(export, change, told):
    tree = {"made.py": FACTORY + f"\ndef given():\n    net = Net(3)\n    {change}\n    return net\n"}

    def more(exporter):
        import made

        net = made.given()
        config = {"width": 3} if isinstance(net, made.Net) else {"start": 2}
        exporter.save_object("model", "made", net, factory=type(net), config=config)

    with pytest.warns(UserWarning, match="does not come back") as found:
        export(tree, "made:1", more)
    text = str(found[0].message)
    assert f"does not come back: {told} let the factory set it" in text
    assert "object model/made is made anew by made:" in text


@pytest.mark.parametrize(
    "change",
    [
        "net.steps.add_(1)",
        "net.layer.weight.detach().zero_()",
        "net.answers_cache['x'] = 1",
        "net(kellet.ones(3))",
    ],
)
def test_what_a_state_dict_brings_back_and_what_a_cache_holds_is_not(export, change):
    tree = {"made.py": FACTORY + f"\ndef given():\n    net = Net(3)\n    {change}\n    return net\n"}

    def more(exporter):
        import made

        exporter.save_object("model", "made", made.given(), factory=made.Net, config={"width": 3})

    exporter = export(tree, "made:1", more)
    assert exporter.proof.notes == ()


def test_what_a_library_keeps_for_itself_is_not_told(scripts):
    scripts.write(
        {
            "told.py": """
                from rich.console import Console
                CONSOLE = Console(file=__import__("io").StringIO())
                def tell(text):
                    CONSOLE.print(text)
                    return text
                class Net:
                    def __call__(self, x): return tell(x)
                """
        }
    )
    program = "from told import CONSOLE, Net\nCONSOLE.print('begun')\nmodel = Net()\nmodel('a')\nprint('b')"
    assert scripts.export(program) == "b"
    assert scripts.load("model('c')") == "c"


def test_an_object_that_the_archive_holds_and_a_module_too_is_not_told_of_the_module(scripts):
    """So it is once the advice was followed: nothing that is stored comes to it by the module's name."""
    scripts.write(MODULES)
    program = """
        from brine.scaling import SCALER
        class Held:
            def __init__(self, scaler): self.scaler = scaler
            def __call__(self, x): return self.scaler(x)
        SCALER.adjust([2.0, 4.0])
        model = Held(SCALER)
        if __name__ == "__main__": print(model(1))
        """
    assert scripts.export(program) == "-2.0"
    assert scripts.load("model(1)") == "-2.0"


def test_a_patch_of_an_extern_that_nothing_needs_is_answered(scripts):
    scripts.write(MODULES)
    program = "from brine.kept import Net, nn\nmodel = Net()\nnn.Linear.forward = lambda self, x: x"
    paste = 'exporter.answer("kellet.nn.layers.linear:Linear.forward", "none")'
    assert scripts.export(program, paste) == ""
    assert scripts.file.exists()
