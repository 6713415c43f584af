"""Functions that look for modules of their package answer in an archive as they do without one."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import pytest

from packager import PackageExporter

FORMS = """
import functools, importlib
from importlib.util import find_spec
from .tools import PREFIX, shared

def f_string(name): return find_spec(f"helped.{name}") is not None
def added(name): return find_spec("helped." + name) is not None
def percent(name): return find_spec("%s.%s" % (__package__, name)) is not None
def formatted(name): return find_spec("helped.{}".format(name)) is not None
def joined(name): return find_spec(".".join(("helped", name))) is not None
def relative(name): return find_spec(f".{name}", __package__) is not None
def by_default(name="by_default"): return find_spec(f"helped.{name}") is not None
def by_prefix(name): return find_spec(PREFIX + name) is not None
def outer(name): return added("sub." + name)
def again(name):
    name = f"helped.{name.lower()}"
    return find_spec(name) is not None
def tried(name):
    try: importlib.import_module("helped.%s" % name)
    except ImportError: return False
    return True
in_lambda = lambda name: find_spec(f"helped.{name}") is not None
TABLE, NAMES = {"of_keys": 1}, ("of_tuple",)

def use():
    found = {}
    found["f_string"] = f_string("in_f_string")
    found["added"] = added(name="in_sum")
    found["percent"] = percent("in_percent")
    found["formatted"] = formatted("in_format")
    found["joined"] = joined("in_join")
    found["relative"] = relative("in_relative")
    found["by_default"] = by_default()
    found["by_prefix"] = by_prefix("in_prefix")
    found["outer"] = outer("in_outer")
    found["again"] = again("IN_AGAIN")
    found["tried"] = tried("in_try")
    found["in_lambda"] = in_lambda("of_lambda")
    found["shared"] = shared("of_another_module")
    for one in ["in_loop"]:
        found["loop"] = f_string(one)
    found["comprehension"] = [f_string(one) for one in ("in_comprehension",)] == [True]
    found["keys"] = all(find_spec(f"helped.{one}") for one in TABLE)
    found["tuple"] = all(added(one) for one in NAMES)
    found["map"] = all(map(added, ["in_map"]))
    found["partial"] = functools.partial(added, "in_partial")()
    return found
"""
TOOLS = (
    "from importlib.util import find_spec\n"
    'PREFIX = "helped."\n'
    'def shared(name): return find_spec(f"{PREFIX}{name}") is not None\n'
)
NAMES = """
    in_f_string in_sum in_percent in_format in_join in_relative by_default in_prefix sub.in_outer in_again
    in_try of_lambda of_another_module in_loop in_comprehension of_keys of_tuple in_map in_partial
"""


@pytest.fixture
def helped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"forms": FORMS, "tools": TOOLS, "sub.__init__": "", "__init__": "", "beside": ""}
    for name, text in {**dict.fromkeys(NAMES.split(), ""), **files}.items():
        path = tmp_path / "project" / "helped" / f"{name.replace('.', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path / "project"))


def test_each_form_finds_in_an_archive_what_it_found_here(
    helped: None, run: Callable[..., str], tmp_path: Path
) -> None:
    here = import_module("helped.forms").use()
    assert set(here.values()) == {True}
    with PackageExporter(tmp_path / "helped.kellet", policy="auto") as exporter:
        exporter.save_object("main", "main", import_module("helped.forms").use)
        exporter.save_entry_point("main", "main", "main")
        exporter.save_example("main", {})
    loaded = run(f"""
        import json
        from packager import PackageImporter
        with PackageImporter({str(tmp_path / "helped.kellet")!r}) as importer:
            found = importer.load_object("main", "main")()
            print(json.dumps([found, list(importer.manifest.stored_modules)]))
    """)
    there, stored = json.loads(loaded)
    assert there == here
    assert "helped.beside" not in stored


def teardown_module() -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "helped"]:
        del sys.modules[name]
