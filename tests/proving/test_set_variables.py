"""What comes of a variable of the environment does not come back: the proof runs without it."""

from __future__ import annotations

import numpy as np
import pytest

from packager import PackageExporter, PackageImporter, PackagingWarning
from packager._proving import ProofError

pytestmark = pytest.mark.processes(share=3)

TREE = {
    "lamp/__init__.py": "from os import environ as env\nSCALE = float(env.get('LAMP_SCALE', 1))\n",
    "lamp/net.py": """
        import os
        from . import SCALE
        MODES = {"up": 1, "down": -1}
        class Scaled:
            def __call__(self, x): return x * SCALE
        class Moded:
            def __call__(self, x): return x + MODES[os.environ["LAMP_MODE"]]
        class Leaning:
            def __call__(self, x): return x + len(os.getenv("LAMP_" + "LEAN", ""))
        class Prefixed:
            prefix = "lamp_"
            def __call__(self, x): return x + float(os.environ.get((self.prefix + "add").upper(), 0))
        class Gathering:
            def __call__(self, x):
                given = {key[5:]: value for key, value in os.environ.items() if key[:5] == "LAMP_"}
                return x * float(given.get("TIMES", 1))
        class Free:
            def __call__(self, x): return x
        """,
}
CHECK = {"arg0": np.ones(2)}


@pytest.fixture
def lit(export, monkeypatch, tmp_path):
    """Export an object with a golden call where variables are set; return the problem's text, "" for none."""

    def write(saved, variables, *answers):
        for name, value in variables.items():
            monkeypatch.setenv(name, value)

        def more(exporter: PackageExporter) -> None:
            exporter.save_example("model", CHECK)
            for answer in answers:
                exporter.allow_variable(answer)

        try:
            export(TREE, f"lamp.net:{saved}()", more)
        except ProofError as error:
            assert not (tmp_path / "net.kellet").exists()
            [problem] = error.problems
            told = " ".join(problem.suspects)
            return f"{problem.reason} {problem.context} {told} {problem.fix}"
        return ""

    return write


@pytest.mark.parametrize(
    ("saved", "name", "value", "line", "first"),
    [
        ("Scaled", "LAMP_SCALE", "4", "lamp/__init__.py:2", "output: off by 3 at most"),
        ("Moded", "LAMP_MODE", "down", "lamp/net.py:8", "KeyError: 'LAMP_MODE'"),
        ("Leaning", "LAMP_LEAN", "abc", "lamp/net.py:10", "output: off by 3 at most"),
        ("Prefixed", "LAMP_ADD", "2", "lamp/net.py:13", "output: off by 2 at most"),
    ],
)
def test_an_answer_that_hangs_on_a_variable_is_refused_until_it_is_said_to_be_set_there(
    lit, tmp_path, saved, name, value, line, first
):
    told = lit(saved, {name: value})
    assert told.startswith(f"An example fails or has other outputs in the clean process. {first}")
    assert f"the clean process lacks environment variables: {name} (read at {line}). Keep" in told
    assert told.endswith(f'exporter.allow_variable("{name}")')
    assert f" {value} " not in told.replace(f"off by {value} ", "")  # it may be a secret
    assert lit(saved, {name: value}, name) == ""
    with PackageImporter(tmp_path / "net.kellet") as importer:
        assert len(importer.check()) == 1


def test_an_answer_that_hangs_on_all_variables_is_refused_until_they_are_said_to_be_set_there(lit):
    told = lit("Gathering", {"LAMP_TIMES": "3"})
    assert told.startswith(
        "An example fails or has other outputs in the clean process. output: off by 2 at most"
    )
    assert "variables: all that only some machines set (read at lamp/net.py:16). Keep the value" in told
    assert told.endswith('exporter.allow_variable("*")')
    assert lit("Gathering", {"LAMP_TIMES": "3"}, "*") == ""


def test_what_libraries_read_for_themselves_is_there_as_here(export, monkeypatch):
    monkeypatch.setenv("NET_SHADE", "dark")
    tree = {
        "shades.py": "import os\ndef own(): return os.environ['NET_' + 'shade'.upper()]\n",
        "lamp/__init__.py": "",
        "lamp/net.py": """
            import shades
            class Shaded:
                def __call__(self, x): return x + len(shades.own())
            """,
    }

    def more(exporter: PackageExporter) -> None:
        exporter.extern("shades")
        exporter.save_example("model", CHECK)

    with pytest.warns(PackagingWarning, match="shades is required without a known distribution"):
        exporter = export(tree, "lamp.net:Shaded()", more)
    assert (exporter.proof.ok, exporter.proof.variables) == (True, ())


def test_a_global_that_comes_of_a_variable_is_told_beside_it(lit):
    told = lit("Scaled", {"LAMP_SCALE": "4"})
    assert "lamp.SCALE is 4.0 here and 1.0 in the clean process" in told
    # Where nothing is refused the variable is a warning.
    with pytest.warns(PackagingWarning) as caught:
        assert lit("Free", {"LAMP_SCALE": "4"}) == ""
    [one] = [str(warning.message) for warning in caught]
    assert "lamp.SCALE" not in one
    assert one.count("the environment variable LAMP_SCALE, which the clean process lacks") == 1
