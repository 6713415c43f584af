"""What is otherwise here than in a clean process: suspects of an answer that differs, else a few warnings."""

from __future__ import annotations

import abc
import io
import textwrap
from importlib import import_module

import numpy as np
import pytest

from packager import PackageExporter, PackageImporter, PackagingWarning
from packager._calls import DEFAULT_TOLERANCE
from packager._environment import Distributions
from packager._proving import Difference, ProofError, differences

pytestmark = pytest.mark.processes(share=3)

STATE = """
    import abc, contextvars, decimal, functools, random, threading, types
    import numpy as np
    WIDTH, LAYERS, ORDER, SPACE = 4, {}, ["a"], types.SimpleNamespace
    TABLE = np.zeros(3)
    CONFIG = types.SimpleNamespace(rate=0.5)
    DRAWN, DICE = np.random.default_rng(3), random.Random(3)
    FACTOR = contextvars.ContextVar("factor", default=1.0)
    EXACT = decimal.Context(prec=9)
    class Threads(threading.local):
        def __init__(self): self.depth = 0
    THREADS = Threads()
    class Options:
        clip = 1.0
        def limit(self): return self.clip
    OPTIONS = Options()
    def configure(width):
        global WIDTH
        WIDTH = width
    def register(name):
        def enter(value):
            LAYERS[name] = value
            return value
        return enter
    def keep(value, history=[]):
        history.append(value)
        return len(history)
    @functools.lru_cache
    def numbered(name): return next(NUMBERS)
    NUMBERS = iter(range(100))
    def bent(x): return x * bent.slope
    bent.slope = 1.0
    def meaning():
        mean = 0.0
        def fit(value):
            nonlocal mean
            mean = value
        def norm(x): return x - mean
        return fit, norm
    fit, norm = meaning()
    class Shape:
        made, kinds = 0, []
        def __init__(self): Shape.made += 1
        def __init_subclass__(cls): Shape.kinds.append(cls.__name__)
        def act(self, x): return x
        @property
        def size(self): return 1
    class Served(abc.ABC): pass
    class Once:
        _one = None
        def __new__(cls):
            if cls._one is None: cls._one = super().__new__(cls)
            return cls._one
    @functools.singledispatch
    def shown(value): return 0
"""
NET = """
    from . import state
    class Net:
        def __init__(self, asked): self.asked = asked
        def __call__(self, x): return x + float(getattr(self, "ask_" + self.asked)(x))
        def ask_global(self, x): return state.WIDTH
        def ask_layers(self, x): return len(state.LAYERS)
        def ask_order(self, x): return ord(state.ORDER[-1])
        def ask_array(self, x): return state.TABLE.sum()
        def ask_space(self, x): return state.CONFIG.rate
        def ask_drawn(self, x): return state.DRAWN.bit_generator.state["state"]["state"] % 9973
        def ask_dice(self, x): return state.DICE.getstate()[1][0] % 9973
        def ask_variable(self, x): return state.FACTOR.get()
        def ask_exact(self, x): return state.EXACT.divide(1, 3)
        def ask_thread(self, x): return state.THREADS.depth
        def ask_object(self, x): return state.OPTIONS.limit()
        def ask_default(self, x): return state.keep.__defaults__[0][0] if state.keep.__defaults__[0] else 0
        def ask_cached(self, x): return state.numbered("b")
        def ask_slope(self, x): return state.bent(x)[0]
        def ask_closure(self, x): return state.norm(x)[0]
        def ask_made(self, x): return state.Shape.made
        def ask_kinds(self, x): return len(state.Shape.kinds)
        def ask_below(self, x): return len(state.Shape.__subclasses__())
        def ask_method(self, x): return state.Shape.act(self, x)[0]
        def ask_property(self, x): return state.Shape.size.fget(self)
        def ask_served(self, x): return issubclass(complex, state.Served)
        def ask_once(self, x): return getattr(state.Once(), "width", 1)
        def ask_shown(self, x): return state.shown(3)
        def ask_function(self, x): return state.numbered.__wrapped__ is None or state.helper(x)[0]
        def ask_swapped(self, x): return state.types.SimpleNamespace is state.SPACE
        def ask_deeper(self, x): return state.np.linalg.norm(x)
        def ask_extern(self, x):
            import numpy
            return numpy.MINE if hasattr(numpy, "MINE") else 0
"""
TREE = {
    "shop/__init__.py": "",
    "shop/state.py": STATE + "    def helper(x): return x * 1\n",
    "shop/net.py": NET,
}
ONE = {"arg0": np.ones(1)}
# What was done here, what asks for it, and the place that is told.
CHANGES = {
    "a global": ("state.configure(8)", "global", "shop.state.WIDTH"),
    "a registry filled by a loop": (
        "for name in ('b', 'c'): state.register(name)(print)",
        "layers",
        "shop.state.LAYERS",
    ),
    "a list": ("state.ORDER.append('z')", "order", "shop.state.ORDER"),
    "an array": ("state.TABLE[:] = 7", "array", "shop.state.TABLE"),
    "a namespace": ("state.CONFIG.rate = 2.5", "space", "shop.state.CONFIG.rate"),
    "a generator of NumPy": ("state.DRAWN.random(9)", "drawn", "shop.state.DRAWN"),
    "a generator of Python": ("state.DICE.random()", "dice", "shop.state.DICE"),
    "a context variable": ("state.FACTOR.set(3.0)", "variable", "shop.state.FACTOR"),
    "a context of decimals": ("state.EXACT.prec = 2", "exact", "shop.state.EXACT"),
    "a thread local": ("state.THREADS.depth = 3", "thread", "shop.state.THREADS"),
    "an object": ("state.OPTIONS.clip = 9.0", "object", "shop.state.OPTIONS.clip"),
    "a default": ("state.keep(5)", "default", "shop.state.keep(history=)"),
    "a cache": ("state.numbered('a')", "cached", "shop.state.numbered.cache_info()"),
    "an attribute of a function": ("state.bent.slope = 2.5", "slope", "shop.state.bent.slope"),
    "a closure": ("state.fit(2.0)", "closure", "shop.state.norm.mean"),
    "a counter of a class": ("state.Shape(), state.Shape()", "made", "shop.state.Shape.made"),
    "a registry of subclasses": (
        "type('Round', (state.Shape,), {})",
        "kinds",
        "shop.state.Shape.kinds",
    ),
    "subclasses": (
        "state.Round = type('Round', (state.Shape,), {})",
        "below",
        "shop.state.Shape.__subclasses__()",
    ),
    "a method": ("state.Shape.act = lambda self, x: -x", "method", "shop.state.Shape.act"),
    "a property": ("state.Shape.size = property(lambda self: 7)", "property", "shop.state.Shape.size"),
    "a virtual subclass": ("state.Served.register(complex)", "served", "shop.state.Served.register()"),
    "a singleton": ("state.Once().width = 6", "once", "shop.state.Once._one.width"),
    "a type of a generic function": (
        "state.shown.register(int, lambda value: 5)",
        "shown",
        "shop.state.shown.registry",
    ),
    "a function": ("state.helper = lambda x: x * 9", "function", "shop.state.helper"),
    "a module": ("state.types = state.abc; state.abc.SimpleNamespace = 3", "swapped", "shop.state.types"),
    "a function deep in an extern": (
        "state.np.linalg.norm = lambda x: 7.0",
        "deeper",
        "numpy.linalg.norm",
    ),
    "a value of an extern": ("state.np.MINE = 4", "extern", "numpy.MINE"),
}


@pytest.fixture
def changed(project):
    """Write the project, and change it here; return the object that is saved."""

    def change(name):
        program, asked, _ = CHANGES[name]
        project({path: textwrap.dedent(text) for path, text in TREE.items()})
        state = import_module("shop.state")
        exec(program, {"state": state, "__name__": "script"})
        return import_module("shop.net").Net(asked)

    norm = np.linalg.norm
    yield change
    vars(np).pop("MINE", None)
    vars(abc).pop("SimpleNamespace", None)
    np.linalg.norm = norm


@pytest.mark.parametrize("name", CHANGES)
def test_an_answer_that_hangs_on_it_is_refused_with_it_among_the_first_three(changed, tmp_path, name):
    exporter = PackageExporter(tmp_path / "net.kellet", policy="auto")
    exporter.save_object("model", "model", changed(name))
    exporter.save_example("model", ONE)
    with pytest.raises(ProofError) as caught:
        exporter.close()
    [problem] = caught.value.problems
    assert problem.reason == "An example fails or has other outputs in the clean process."
    place = CHANGES[name][2]
    first = [one.partition(" is ")[0] for one in problem.suspects[:3]]
    assert place in first, problem.suspects
    [told] = [str(one) for one in caught.value.proof.differences if one.place == place]
    assert told in problem.suspects
    assert told in str(caught.value)
    assert not (tmp_path / "net.kellet").exists()
    assert len(str(caught.value).splitlines()) <= 40


@pytest.mark.parametrize("name", ["a global", "a registry filled by a loop", "an object", "a thread local"])
def test_with_a_call_that_agrees_it_is_silent(changed, tmp_path, name):
    net = changed(name)
    net.asked = "shown"
    with PackageExporter(tmp_path / "net.kellet", policy="auto") as exporter:
        exporter.save_object("model", "model", net)
        exporter.save_example("model", ONE)
    assert exporter.proof.differences == ()
    assert exporter.plan().warnings == ()


# Without a call: plain values that stored code reads by name.
TOLD = {
    "a global": "shop.state.WIDTH is 8 here and 4 in the clean process (shop/state.py:4)",
    "a registry filled by a loop": (
        "shop.state.LAYERS is {'b': builtin print, 'c': builtin print} here and {} in the clean process "
        "(shop/state.py:4)"
    ),
    "a list": "shop.state.ORDER is ['a', 'z'] here and ['a'] in the clean process (shop/state.py:4)",
    "a namespace": "shop.state.CONFIG.rate is 2.5 here and 0.5 in the clean process (shop/state.py:6)",
    "an object": "shop.state.OPTIONS.clip is 9.0 here, but missing in the clean process (shop/state.py:16)",
    "a default": "shop.state.keep(history=) is [5] here and [] in the clean process (shop/state.py:25)",
    "a closure": "shop.state.norm.mean is 2.0 here and 0.0 in the clean process (shop/state.py:38)",
    "a counter of a class": "shop.state.Shape.made is 2 here and 0 in the clean process (shop/state.py:42)",
}


@pytest.mark.parametrize("name", TOLD)
def test_without_a_call_it_is_a_warning(changed, tmp_path, name):
    exporter = PackageExporter(tmp_path / "net.kellet", policy="auto")
    exporter.save_object("model", "model", changed(name))
    with pytest.warns(PackagingWarning) as caught:
        exporter.close()
    [warning] = [one for one in caught if one.category is PackagingWarning]
    assert TOLD[name] in str(warning.message)
    assert TOLD[name] in map(str, exporter.proof.differences)
    assert len(exporter.plan().warnings) <= 5


def test_without_a_call_there_are_five_lines_at_most(project, tmp_path):
    names = [f"VALUE_{number}" for number in range(9)]
    text = "\n".join([*(f"{name} = 0" for name in names), "class Net:", "    def __call__(self, x):"])
    project({"many.py": f"{text}\n        return [{', '.join(names)}]\n"})
    many = import_module("many")
    vars(many).update(dict.fromkeys(names, 1))
    exporter = PackageExporter(tmp_path / "net.kellet", policy="auto")
    exporter.save_object("model", "model", many.Net())
    with pytest.warns(PackagingWarning):
        exporter.close()
    *told, last = exporter.plan().warnings
    assert [one.partition(";")[0] for one in told] == [
        f"many.{name} is 1 here and 0 in the clean process (many.py:{number})"
        for number, name in enumerate(names[:4], 1)
    ]
    assert told[0].endswith("; an example shows whether it matters: example=x (--example x.npz)")
    assert last == "and 5 more"
    assert len(exporter.proof.differences) == 9


@pytest.mark.parametrize(
    "change",
    [
        "",
        "state._cache = {1: 2}",  # a cache may be filled or not
        "state.UNREAD = 3",
        "state.WIDTH = 4",
    ],
)
def test_what_no_stored_code_reads_by_name_is_no_warning(project, tmp_path, change):
    project({path: textwrap.dedent(text) for path, text in TREE.items()})
    exec(change, {"state": import_module("shop.state")})
    with PackageExporter(tmp_path / "net.kellet", policy="auto") as exporter:
        exporter.save_object("model", "model", import_module("shop.net").Net("global"))
    assert exporter.plan().warnings == ()


def test_a_failing_call_lists_them_too_and_a_subprocess_first(project, tmp_path):
    tree = {
        "press.py": """
            import subprocess, sys
            KINDS = {}
            class Net:
                def __call__(self, x):
                    subprocess.run([sys.executable, "-c", ""], check=True)
                    return x * KINDS["wide"]
            """
    }
    project({path: textwrap.dedent(text) for path, text in tree.items()})
    press = import_module("press")
    press.KINDS["wide"] = 2
    exporter = PackageExporter(tmp_path / "net.kellet", policy="auto")
    exporter.save_object("model", "model", press.Net())
    exporter.save_example("model", ONE)
    with pytest.raises(ProofError) as caught:
        exporter.close()
    [problem] = caught.value.problems
    assert problem.context.startswith("KeyError: 'wide'")
    started, kinds = problem.suspects[:2]
    assert started.startswith("stored code started")
    assert started.endswith("at press.py:6 in Net.__call__")
    assert kinds == "press.KINDS is {'wide': 2} here and {} in the clean process (press.py:3)"


def test_where_nothing_differs_there_are_no_suspects(project, tmp_path):
    fails = """
        def ask_fails(self, x):
            import os
            if "kellet-proving-" in os.getcwd(): raise ValueError("not here")
            return state.Shape().size
        """
    tree = {**TREE, "shop/net.py": NET + textwrap.indent(textwrap.dedent(fails), " " * 8)}
    project({path: textwrap.dedent(text) for path, text in tree.items()})
    exporter = PackageExporter(tmp_path / "net.kellet", policy="auto")
    exporter.save_object("model", "model", import_module("shop.net").Net("fails"))
    exporter.save_example("model", ONE)
    with pytest.raises(ProofError) as caught:
        exporter.close()
    [problem] = caught.value.problems
    assert problem.context.startswith("ValueError: not here")
    # What calls have counted up here and there.
    assert [one.partition(" is ")[0] for one in problem.suspects] == ["shop.state.Shape.made"]


def test_a_list_has_ten_items_and_the_problem_all(project, tmp_path):
    names = [f"V{number}" for number in range(14)]
    text = "\n".join([*(f"{name} = 0" for name in names), "class Net:", "    def __call__(self, x):"])
    project({"more.py": f"{text}\n        return x + sum([{', '.join(names)}])\n"})
    more = import_module("more")
    vars(more).update(dict.fromkeys(names, 1))
    exporter = PackageExporter(tmp_path / "net.kellet", policy="auto")
    exporter.save_object("model", "model", more.Net())
    exporter.save_example("model", ONE)
    with pytest.raises(ProofError) as caught:
        exporter.close()
    [problem] = caught.value.problems
    assert len(problem.suspects) == len(caught.value.proof.differences) == 14
    assert "        and 4 more" in str(caught.value).splitlines()
    assert str(caught.value).count(" is 1 here and 0 in the clean process") == 10


# --- modules that are imported for their effects ---

EFFECTS = {
    "gear/__init__.py": "",
    "gear/base.py": """
        import abc
        KINDS = {}
        class Kind(abc.ABC): pass
        def kinds(): return len(Kind.__subclasses__())
        """,
    "gear/square.py": "from gear.base import KINDS, Kind\nKINDS['square'] = 2\nclass Square(Kind): pass\n",
    "gear/virtual.py": "from gear.base import Kind\nKind.register(float)\n",
    "gear/train.py": "import gear.square, gear.virtual\nfrom gear.net import Net, Below, Virtual\n",
    "gear/net.py": """
        from gear import base
        class Net:
            def __call__(self, x): return x ** base.KINDS["square"]
        class Below:
            def __call__(self, x): return x + base.kinds()
        class Virtual:
            def __call__(self, x): return x + isinstance(1.0, base.Kind)
        """,
}


@pytest.mark.parametrize(
    ("saved", "imported"),
    [("Net", "gear.square"), ("Below", "gear.square"), ("Virtual", "gear.virtual")],
)
def test_a_module_that_is_imported_for_its_effect_is_imported_before_the_object(
    project, tmp_path, saved, imported
):
    project({path: textwrap.dedent(text) for path, text in EFFECTS.items()})
    train = import_module("gear.train")
    exporter = PackageExporter(tmp_path / "net.kellet", policy="auto")
    exporter.save_object("model", "model", vars(train)[saved]())
    exporter.save_example("model", ONE)
    told = rf"before object model/model is loaded, {imported} is imported: without this import"
    with pytest.warns(PackagingWarning, match=told):
        exporter.close()
    with PackageImporter(tmp_path / "net.kellet") as importer:
        assert importer.manifest.imports_of("model", "model") == (imported,)
        assert sorted(importer.manifest.stored_modules) == ["gear", "gear.base", "gear.net", imported]
        assert all(
            one.within(DEFAULT_TOLERANCE) for outcome in importer.check() for one in outcome.deviations
        )


def test_without_a_call_a_module_is_told_that_has_something_of_a_stored_one(project, tmp_path):
    head = "from __future__ import annotations\nfrom typing import Final\n"
    apart = {
        "gear/rows.py": f"{head}import abc, numpy\nclass Rows: pass\n",
        "gear/script.py": "from gear.rows import Rows\n",
    }
    tree = {path: textwrap.dedent(text) for path, text in {**EFFECTS, **apart}.items()}
    project({**tree, "gear/base.py": head + tree["gear/base.py"]})
    import_module("gear.script")
    net = import_module("gear.net")
    with PackageExporter(tmp_path / "net.kellet", policy="auto") as exporter:
        exporter.save_object("model", "model", net.Below())
    assert exporter.plan().warnings == ()
    import_module("gear.square")
    exporter = PackageExporter(tmp_path / "again.kellet", policy="auto")
    exporter.save_object("model", "model", net.Net())
    with pytest.warns(PackagingWarning, match="modules that only this process has loaded: gear.square"):
        exporter.close()


def test_only_the_object_that_needs_it_imports_it(project, tmp_path):
    project({path: textwrap.dedent(text) for path, text in EFFECTS.items()})
    train = import_module("gear.train")
    exporter = PackageExporter(tmp_path / "net.kellet", policy="auto")
    for name in ("Net", "Virtual"):
        exporter.save_object("model", name, vars(train)[name]())
        exporter.save_entry_point(name, "model", name)
        exporter.save_example(name, ONE)
    exporter.save_object("model", "other", train.Below())
    with pytest.warns(PackagingWarning, match="model/Net is loaded, gear.square, gear.virtual are imported"):
        exporter.close()
    with PackageImporter(tmp_path / "net.kellet") as importer:
        assert [one.resource for one in importer.manifest.imports] == ["Net", "Virtual"]
        assert len(importer.check()) == 2


def test_one_whose_effect_does_not_mend_it_is_not_kept(project, tmp_path):
    tree = {**EFFECTS, "gear/net.py": EFFECTS["gear/net.py"].replace('"square"', '"late"')}
    project({path: textwrap.dedent(text) for path, text in tree.items()})
    train = import_module("gear.train")
    import_module("gear.base").KINDS["late"] = 3
    exporter = PackageExporter(tmp_path / "net.kellet", policy="auto")
    exporter.save_object("model", "model", train.Net())
    exporter.save_example("model", ONE)
    with pytest.raises(ProofError) as caught:
        exporter.close()
    [problem] = caught.value.problems
    assert problem.suspects[0] == (
        "gear.base.KINDS is {'late': 3, 'square': 2} here and {} in the clean process (gear/base.py:3)"
    )
    assert "gear.train is imported here, but missing in the clean process (gear/train.py)" in problem.suspects
    assert sorted(exporter.interned_modules()) == ["gear", "gear.base", "gear.net"]


# --- one line ---


@pytest.mark.parametrize(
    ("here", "there", "line"),
    [
        ("1", "2", "net.A is 1 here and 2 in the clean process (net.py:3)"),
        ("1", "", "net.A is 1 here, but missing in the clean process (net.py:3)"),
        ("", "2", "net.A is 2 in the clean process, but missing here (net.py:3)"),
        ("a" * 70, "b", f"net.A is {'a' * 57}... here and b in the clean process (net.py:3)"),
        (
            "a" * 100 + "b" * 100,
            "a" * 100 + "c",
            f"net.A is ...{'a' * 20}{'b' * 34}... here and ...{'a' * 56}c in the clean process (net.py:3)",
        ),
    ],
)
def test_a_line_shows_where_two_values_part(here, there, line):
    assert str(Difference("net.A", here, there, "net.py", 3)) == line


LOOKS = """
    import functools, os
    RATES = {"a": 1.0}
    @functools.lru_cache
    def rate(name): return RATES[name]
    class Net:
        def __init__(self, kind): self.kind = kind
        def __call__(self, x):
            if self.kind == "cache":
                return x * rate("a")
            name = "looks.json" if self.kind == "relative" else os.path.expanduser("~/.looks")
            return x * (2 if os.path.exists(name) else 1)
"""


@pytest.mark.parametrize(
    ("kind", "suspect"),
    [
        ("cache", "looks.rate.cache_info() is 1 entry here and 1 entry in the clean process (looks.py:5)"),
        (
            "relative",
            "stored code looked for 'looks.json', relative to the working directory, at looks.py:12",
        ),
    ],
)
def test_a_cache_of_as_many_entries_and_a_file_that_is_looked_for_are_suspects(
    export, tmp_path, monkeypatch, kind, suspect
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "looks.json").touch()

    def call(exporter):
        rates = import_module("looks").RATES
        rates["a"] = 3.0
        import_module("looks").rate("a")
        rates["a"] = 1.0
        exporter.save_example("model", {"x": np.ones(1)})

    with pytest.raises(ProofError) as caught:
        export({"looks.py": LOOKS}, f"looks:Net({kind!r})", call)
    [problem] = caught.value.problems
    assert any(one.startswith(suspect) for one in problem.suspects[:3]), problem.suspects


def test_a_file_of_the_home_folder_that_is_looked_for_is_told(export, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".looks").touch()
    told = r"stored code looked for .*[/\\]\.looks, at looks\.py:12 in Net\.__call__"
    with pytest.warns(PackagingWarning, match=told):
        export(
            {"looks.py": LOOKS},
            "looks:Net('home')",
            lambda exporter: exporter.save_example("model", {"x": np.ones(1)}),
        )


def test_what_a_class_has_is_read_by_its_own_name_and_what_an_object_has_by_that_too(project):
    project({"readnet.py": "class Net:\n    SIZE = 1\nNET = Net()\ndef both(): return Net, NET\n"})
    exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    exporter.save_module("readnet")
    import_module("readnet")
    there, here = ({"readnet": {f"{name}.SIZE": (text, "value") for name in ("Net", "NET")}} for text in "12")
    found = differences._compared(there, here, exporter.plan(), Distributions())
    assert {one.place: int(rank) for rank, one in found} == {"readnet.NET.SIZE": 2, "readnet.Net.SIZE": 5}
