"""What a program changes in a stored module, and stored code reads, is refused with the line that did."""

import sys
import textwrap
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from packager.environment import Distributions
from packager.proving.module_globals import differences, globals_here
from packager.proving.running_changes import with_changes
from tests import processes

pytestmark = pytest.mark.processes(share=3)

NET = """
    import functools
    from types import SimpleNamespace
    if SimpleNamespace is None:
        from decimal import Decimal
    WIDTH, STEPS, TOLD, CHOSEN = 4, 0, set(), None
    LAYERS = {}
    ORDER = ["first"]
    SIZES = {"net": {"depth": 2}, "head": 1}
    CFG = SimpleNamespace(rate=0.5)
    HISTORY = []
    class Options:
        def __init__(self): self.clip, self.names = 1.0, {}
        def add(self, name):
            def enter(value): self.names[name] = value; return value
            return enter
        def limit(self): return self.clip * len(self.names)
    options = Options()
    def register(cls):
        LAYERS[cls.__name__] = cls
        return cls
    def entered(name): return register(type(name, (), {}))
    def step():
        global STEPS
        STEPS += 1
    def counted(): return STEPS
    def choose(value):
        global CHOSEN
        CHOSEN = value
    def warn(text):
        if text not in TOLD: TOLD.add(text)
    def log(value): HISTORY.append(value)
    def show(): return list(HISTORY)
    @functools.cache
    def squared(x): return x * x
    def act(x): return x
    class Net:
        kinds = {"plain"}
        def forward(self, x):
            sizes = x * WIDTH * SIZES["net"]["depth"] * CFG.rate * options.clip
            return act(sizes), CHOSEN, ORDER, len(LAYERS), len(self.kinds)
        @property
        def size(self): return WIDTH
        @staticmethod
        def scale(x): return x
    TABLE, OPENED = None, {}
    def table():
        global TABLE
        if TABLE is None: TABLE = {"a": 1}
        return TABLE
    def opened(name): return OPENED.setdefault(name, 3)
    @functools.singledispatch
    def show_one(value): return "?"
    class Shown(Net):
        @functools.singledispatchmethod
        def weigh(self, value): return 0
        def all(self, values): return [show_one(value) + self.weigh(value) for value in values], self.twice()
"""
PATCHES = """
import functools, net
from net import Net
def act(x): return -x
def wide(self): return 9
def twice(self): return 2 * self.size
def apply_act(): net.act = act
def apply_size(): Net.size = property(wide)
def apply_scale():
    for name in ("scale",): setattr(Net, name, staticmethod(act))
def apply_twice(): net.Shown.twice = twice
def apply_unread(): Net.unread_by_all = twice
def apply_types(): net.show_one.register(int, act)
def apply_out_of_sight(): exec("net.Shown.all = act")
"""
OTHER = "from net import WIDTH\ndef wide(): return WIDTH\n"


@pytest.fixture
def blamed(project):
    """Run the text of a program on `net`, and return the differences that are told of it."""

    def blame(program, is_live=lambda module, line: True):
        net = textwrap.dedent(NET)
        lines = textwrap.indent(textwrap.dedent(program), "    ")
        text = (
            f"import net, other\nfrom net import LAYERS, ORDER\ndef main(end):\n{lines}\n    return end()\n"
        )
        project({"net.py": net, "other.py": OTHER, "program.py": text, "patches.py": PATCHES})
        modules = {name: import_module(name) for name in ("net", "other")}
        sources = {"net": net.encode(), "other": OTHER.encode()}
        fresh = {}
        for name in sources:
            fresh[name] = ModuleType(name)
            exec(sources[name], vars(fresh[name]))

        def end():
            found = list(differences(globals_here(modules, sources), fresh))
            files = {name: f"{name}.py" for name in sources}
            return with_changes(found, sources, files, is_live, sys._getframe(), Distributions())

        return import_module("program").main(end)

    return blame


@pytest.mark.parametrize(
    ("program", "subject", "what", "statement"),
    [
        ("net.WIDTH = 128", "net:WIDTH", "is 128 here and 4 there", "net.WIDTH = 128"),
        ("import net as n\nn.WIDTH *= 2", "net:WIDTH", "is 8 here and 4 there", "n.WIDTH *= 2"),
        ("other.WIDTH = 9", "other:WIDTH", "is 9 here and 4 there", "other.WIDTH = 9"),
        ("setattr(net, 'WIDTH', 3)", "net:WIDTH", "is 3 here and 4 there", "setattr(net, 'WIDTH', 3)"),
        (
            "for name, value in {'WIDTH': 3}.items():\n    setattr(net, name, value)",
            "net:WIDTH",
            "is 3 here and 4 there",
            "setattr(net, name, value)",
        ),
        ("vars(net)['WIDTH'] = 3", "net:WIDTH", "is 3 here and 4 there", "vars(net)['WIDTH'] = 3"),
        (
            "net.__dict__.update(WIDTH=3)",
            "net:WIDTH",
            "is 3 here and 4 there",
            "net.__dict__.update(WIDTH=3)",
        ),
        (
            "net.LAYERS['x'] = int",
            "net:LAYERS",
            "holds 1 entry here and nothing there; not there: 'x'",
            "net.LAYERS['x'] = int",
        ),
        (
            "ORDER.append('last')",
            "net:ORDER",
            "holds 2 entries here and 1 entry there; not there: 'last'",
            "ORDER.append('last')",
        ),
        (
            "ORDER[0] = 'other'",
            "net:ORDER",
            "holds 1 entry here and 1 entry there; not there: 'other'; not here: 'first'",
            "ORDER[0] = 'other'",
        ),
        (
            "net.SIZES['net']['depth'] = 6",
            "net:SIZES",
            "is 6 here and 2 there",
            "net.SIZES['net']['depth'] = 6",
        ),
        ("net.CFG.rate = 0.1", "net:CFG.rate", "is 0.1 here and 0.5 there", "net.CFG.rate = 0.1"),
        (
            "from net import options\noptions.clip = 3.0",
            "net:options.clip",
            "is 3.0 here and 1.0 there",
            "options.clip = 3.0",
        ),
        (
            "@net.options.add('mine')\ndef mine(): pass",
            "net:options.names",
            "holds 1 entry here and nothing there; not there: 'mine'",
            "net.options.add('mine')",
        ),
        (
            "net.Net.kinds.add('late')",
            "net:Net.kinds",
            "holds 2 entries here and 1 entry there; not there: 'late'",
            "net.Net.kinds.add('late')",
        ),
        (
            "@net.register\nclass Mine: pass",
            "net:LAYERS",
            "holds 1 entry here and nothing there; not there: 'Mine'",
            "net.register",
        ),
        (
            "net.entered('Made')",
            "net:LAYERS",
            "holds 1 entry here and nothing there; not there: 'Made'",
            "net.entered('Made')",
        ),
        ("net.choose('deep')", "net:CHOSEN", "is 'deep' here and None there", "net.choose('deep')"),
        (
            "def mine(x): return 2 * x\nnet.act = mine",
            "net:act",
            "is function program:main.<locals>.mine here and function net:act there",
            "net.act = mine",
        ),
        (
            "net.Net.forward = lambda self, x: x",
            "net:Net.forward",
            "is function program:main.<locals>.<lambda> here and function net:Net.forward there",
            "net.Net.forward = lambda self, x: x",
        ),
    ],
)
def test_a_change_that_stored_code_reads_has_the_line_that_made_it(blamed, program, subject, what, statement):
    [found] = [one for one in blamed(program) if one.changed]
    assert (found.id, found.what) == (subject, what)
    place, _, text = found.changed.partition(": ")
    assert text == statement
    file, _, line = place.rpartition(":")
    assert statement in Path(file).read_text().splitlines()[int(line) - 1]
    assert found.read.partition(":")[0] in ("net.py", "other.py")


@pytest.mark.parametrize(
    "program",
    [
        "net.step()\nnet.step()",  # a counter
        "net.warn('slow')",  # what was warned of
        "net.squared(3)",  # a cache
        "net.log(0.5)",  # read by what nothing that is stored calls
        "net.SEEN = {1: 2}",  # read by nobody
        "net._cache = {1: 2}",
        "net.WIDTH = 4\nnet.SIZES['head'] = 1",  # as it was
    ],
)
def test_counters_caches_and_what_nothing_reads_are_no_error(blamed, program):
    line_of_show = textwrap.dedent(NET).splitlines().index("def show(): return list(HISTORY)") + 1
    found = blamed(program, lambda module, line: (module, line) != ("net", line_of_show))
    assert [one for one in found if one.changed] == []


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "subject", "what", "statement"),
    [
        ("act", "net:act", "is function patches:act here and function net:act there", "net.act = act"),
        (
            "size",
            "net:Net.size",
            "is function patches:wide here and function net:Net.size there",
            "Net.size = property(wide)",
        ),
        (
            "scale",
            "net:Net.scale",
            "is function patches:act here and function net:Net.scale there",
            "setattr(Net, name, staticmethod(act))",
        ),
        (
            "twice",
            "net:Shown.twice",
            "is function patches:twice here, and not there at all",
            "net.Shown.twice = twice",
        ),
    ],
)
def test_a_function_that_another_module_of_the_project_replaces_has_the_line_that_does(
    blamed, name, subject, what, statement
):
    [found] = [one for one in blamed(f"import patches\npatches.apply_{name}()") if one.changed]
    assert (found.id, found.what) == (subject, what)
    place, _, text = found.changed.partition(": ")
    assert text == statement
    assert statement in PATCHES.splitlines()[int(place.rpartition(":")[2]) - 1]
    assert found.read.startswith("net.py:")


@pytest.mark.long
def test_a_function_that_is_replaced_out_of_sight_is_told(blamed):
    [found] = blamed("import patches\npatches.apply_out_of_sight()")
    assert (found.name, found.changed, found.quiet) == ("Shown.all", "", False)
    assert found.what == "is function patches:act here and function net:Shown.all there"


@pytest.mark.long
@pytest.mark.parametrize(
    "program",
    ["import patches\npatches.apply_unread()", "net.Net.unread_by_all = lambda self: 1", "import patches"],
)
def test_a_method_that_is_added_and_never_called_is_not_told(blamed, program):
    assert blamed(program) == ()


@pytest.mark.parametrize(
    ("program", "subject", "statement"),
    [
        ("@net.show_one.register\ndef _(value: int): return 'int'", "net:show_one", "net.show_one.register"),
        ("net.show_one.register(int, str)", "net:show_one", "net.show_one.register(int, str)"),
        (
            "@net.Shown.weigh.register\ndef _(self, value: int): ...",
            "net:Shown.weigh",
            "net.Shown.weigh.register",
        ),
    ],
)
def test_a_type_that_is_registered_with_a_stored_function_is_told(blamed, program, subject, statement):
    [found] = blamed(program)
    assert found.what == "holds 2 entries here and 1 entry there; not there: builtins.int"
    assert (found.id, found.name) == (subject, f"{subject.partition(':')[2]}[registry]")
    assert found.changed.endswith(f": {statement}")
    assert found.read.endswith("in Shown.all")


def test_a_type_that_other_code_registers_is_told_without_a_line(blamed):
    [found] = blamed("import patches\npatches.apply_types()")
    assert (found.name, found.changed, found.quiet) == ("show_one[registry]", "", False)


@pytest.mark.parametrize("program", ["net.table()", "net.opened('a')", "net.table(); net.table()"])
def test_what_each_reader_makes_first_is_not_told(blamed, program):
    assert blamed(program) == ()


def test_a_change_of_other_code_is_told_without_a_line(blamed):
    [found] = blamed("exec('net.WIDTH = 7')")
    assert (found.name, found.changed, found.read) == ("WIDTH", "", "")


def test_a_script_that_fills_a_module_is_refused_and_led_to_both_ways_out(tmp_path):
    (tmp_path / "loom.py").write_text("COLOURS = ['red']\ndef add(colour): COLOURS.append(colour)\n")
    script = tmp_path / "weave.py"
    script.write_text(
        textwrap.dedent(
            """
            import sys
            import loom
            from packager import PackageExporter, PackageImporter, PackagingError

            class Loom:
                def weave(self): return loom.COLOURS[-1]

            loom.add("blue")

            if __name__ == "__main__":
                for paste in ("", 'exporter.answer("loom:COLOURS", "none")'):
                    try:
                        with PackageExporter(sys.argv[1], policy="auto") as exporter:
                            exec(paste)
                            exporter.save_object("model", "model", Loom())
                    except PackagingError as error:
                        print(error)
                with PackageImporter(sys.argv[1]) as importer:
                    print("loaded:", importer.load_object("model", "model").weave())
            """
        )
    )
    command = [sys.executable, *processes.STRICT, "weave.py", "net.kellet"]
    done = processes.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    expected = """
        * The running program changed a stored module, and code in the archive reads what it changed.
            loom:COLOURS
              Context: loom.COLOURS holds 2 entries here and 1 entry there; not there: 'blue' (loom.py:1)
                changed at weave.py:9: loom.add('blue')
                read at __main__.py:7 in Loom.weave
                do it in loom.py, or in a module that stored code imports, or let the object hold the value
    """
    assert textwrap.dedent(expected).strip() in done.stdout.replace(" that its code needs", "\n")
    assert 'To paste: exporter.answer("loom:COLOURS", "none")\nloaded: red' in done.stdout
