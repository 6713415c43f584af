"""What globals of stored modules hold here and not in the clean process is said at its line."""

import sys
import textwrap

import pytest

from packager import PackageExporter, PackagingWarning
from tests import processes

pytestmark = pytest.mark.processes(share=3)

MEND = (
    "it is computed anew there, or other code changed it here; keep it in the object, or let a stored module "
    "make it"
)


@pytest.fixture
def told(project, tmp_path):
    """Import a module, run `change` on it, export an object of it, and return what the warning says of it."""

    def tell(source, change, *, more=None):
        project({"layered.py": textwrap.dedent(source), **(more or {})})
        import layered

        exec(textwrap.dedent(change), {"layered": layered})
        exporter = PackageExporter(tmp_path / "net.kellet", policy="auto")
        exporter.save_object("model", "model", layered.Net())
        lines = exporter.plan(prove=True).warnings
        if lines:
            with pytest.warns(PackagingWarning):
                exporter.close()
        else:
            exporter.close()
        assert len(exporter.proof.differences) == len(lines)
        return lines

    return tell


NET = """
    import json
    LAYERS = {}
    RATE = 0.5
    names = ["first"]
    chosen = None
    def register(cls):
        LAYERS[cls.__name__] = cls
        return cls
    class Net:
        kinds = {"plain"}
        def forward(self, x):
            return x * RATE * len(LAYERS) * len(self.kinds)
"""


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ("layered.RATE = 0.1", "layered.RATE is 0.1 here and 0.5 there (layered.py:4)"),
        (
            "layered.register(type('Wide', (), {})); layered.register(type('Deep', (), {}))",
            "layered.LAYERS holds 2 entries here and nothing there; not there: 'Deep', 'Wide' (layered.py:3)",
        ),
        (
            "layered.names += ['second']",
            "layered.names holds 2 entries here and 1 entry there; not there: 'second' (layered.py:5)",
        ),
        (
            "layered.chosen = [1, 2]",
            "layered.chosen is a list of 2 entries here and None there (layered.py:6)",
        ),
        (
            "layered.Net.kinds.add('late')",
            "layered.Net.kinds holds 2 entries here and 1 entry there; not there: 'late' (layered.py:10)",
        ),
        ("layered.Net.scale = 3", "layered.Net.scale is 3 here, and not there at all (layered.py:10)"),
        ("layered.added = {'x': 1}", "layered.added is a dict of 1 entry here, and not there at all"),
    ],
)
def test_what_other_code_changed_is_told_with_both_values(told, change, expected):
    assert told(NET, change) == (f"{expected}: {MEND}",)


@pytest.mark.parametrize(
    "change",
    ["", "layered._cache = {1: 2}", "layered.json = None", "layered.memoised = [1]", "layered.__doc__ = 'x'"],
)
def test_what_is_equal_imported_or_a_cache_is_not(told, change):
    assert told(NET, change) == ()


def test_paths_beside_the_code_names_of_modules_and_variables_of_loops_are_equal(told):
    source = """
        import os, pkgutil
        HERE = os.path.abspath(os.path.dirname(__file__))
        DATA = [os.path.join(os.path.dirname(os.path.realpath(__file__)), "data"), "file://" + __file__]
        FOLDERS = {os.path.join(HERE, "conf"): __name__ + ".conf"}
        for finder, name, _ in pkgutil.iter_modules([HERE]):
            last = (name, "x")[1]
        class Net:
            home = HERE
        """
    assert told(source, "layered.name = 'late'") == ()


def test_a_path_above_the_code_is_told(told):
    source = "import os\nUP = os.path.dirname(os.path.dirname(__file__))\nclass Net:\n    up = UP\n"
    [up, of_class] = told(source, "")
    assert up.startswith("layered.UP is '/")
    assert of_class.startswith("layered.Net.up is '/")


def test_a_registry_that_a_module_fills_which_nothing_stored_imports_is_told(told):
    plugin = "import layered\n@layered.register\nclass Wide: pass\n"
    [line] = told(NET, "import layered_plugin", more={"layered_plugin.py": plugin})
    assert line.startswith("layered.LAYERS holds 1 entry here and nothing there; not there: 'Wide'")


def test_values_are_compared_and_never_run(told):
    source = """
        class Loud:
            def __repr__(self): raise RuntimeError("shown")
            def __eq__(self, other): raise RuntimeError("compared")
            __hash__ = None
            def __len__(self): raise RuntimeError("counted")
        loud, many = Loud(), [Loud()]
        class Net: pass
    """
    change = "Louder = type('Louder', (layered.Loud,), {'__module__': 'layered'})\nlayered.loud = Louder()\n"
    change += "layered.many.append(layered.loud)"
    first, second = told(source, change)
    assert first.startswith("layered.loud is a layered.Louder here and a layered.Loud there (layered.py:7)")
    assert second.startswith("layered.many holds 2 entries here and 1 entry there (layered.py:7)")


def test_a_script_whose_stored_globals_differ_is_refused(tmp_path):
    script = tmp_path / "train.py"
    script.write_text(
        textwrap.dedent(
            """
            import sys
            import settings
            from packager import PackageExporter, PackagingError

            SIZES = dict(width=4)

            class Net:
                def forward(self, x):
                    return x * len(SIZES)

            if __name__ == "__main__":
                settings.widen()
                try:
                    with PackageExporter(sys.argv[1], policy="auto") as exporter:
                        exporter.save_object("model", "model", Net())
                except PackagingError as error:
                    print(error)
            """
        )
    )
    (tmp_path / "settings.py").write_text(
        "def widen():\n    import __main__\n    __main__.SIZES.update(depth=2)\n"
    )
    target = tmp_path / "net.kellet"
    done = processes.run([sys.executable, script, target], capture_output=True, text=True, check=True)
    assert "* A script or notebook does not have there what it has here." in done.stdout
    assert "SIZES holds 2 entries here and 1 entry there; not there: 'depth'" in done.stdout
    assert 'say so: exporter.answer("__main__:SIZES", "none")' in done.stdout
    assert not target.exists()
