"""What a call really uses, in this process and in a fresh one, and how that compares with a plan."""

from __future__ import annotations

import io
import json
import textwrap
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from packager import PackageExporter, PackageImporter, analyze, is_from_package
from packager._analysis import Frame, TraceError, compare_trace, pruned, trace_call, trace_dependencies
from packager._policy import GlobGroup, Policy, Rule

Project = Callable[[Mapping[str, str]], Path]

TREE = {
    "zoo/__init__.py": "",
    "zoo/build.py": (
        "import importlib, os\n"
        "from . import cat, unused\n"
        "def build(kind='dog'):\n"
        "    print('building')\n"
        "    open(os.path.join(os.path.dirname(__file__), 'names' + '.txt')).close()\n"
        "    importlib.import_module('zoo.' + kind)\n"
        "    return cat.Cat()\n"
    ),
    "zoo/cat.py": "class Cat:\n    def __call__(self, x):\n        import zoo.late\n        return x\n",
    "zoo/unused.py": "",
    "zoo/dog.py": "",
    "zoo/late.py": "",
    "zoo/names.txt": "",
}


def test_modules_whose_code_ran_are_named_sorted() -> None:
    used = trace_dependencies(lambda text: json.loads(textwrap.dedent(text)), [("  [1]",), (" 2",)])
    assert {"json", "json.decoder", "textwrap"} <= set(used)
    assert used == sorted(used)
    assert "csv" not in used


def test_tracing_puts_an_earlier_profiler_back() -> None:
    import sys

    def profiler(*event: Any) -> None:
        pass

    sys.setprofile(profiler)
    try:
        with pytest.raises(ZeroDivisionError):
            trace_dependencies(lambda: 1 / 0, [()])
        assert sys.getprofile() is profiler
    finally:
        sys.setprofile(None)


def test_torch_packages_spelling_leads_to_the_same_functions() -> None:
    assert analyze.trace_dependencies is trace_dependencies
    assert analyze.is_from_package is is_from_package


def test_a_call_in_a_fresh_process_tells_its_modules_and_files(project: Project, tmp_path: Path) -> None:
    folder = project(TREE)
    np.savez(tmp_path / "x.npz", x=np.ones(2))
    without = trace_call("zoo.build:build", {"kind": "dog"})
    assert {"zoo", "zoo.build", "zoo.cat", "zoo.unused", "zoo.dog"} <= without.modules
    assert "zoo.late" not in without.modules
    assert str(folder / "zoo" / "names.txt") in without.files
    with_inputs = trace_call("zoo.build:build", {"kind": "dog"}, str(tmp_path / "x.npz"))
    assert "zoo.late" in with_inputs.modules


def test_a_traced_call_that_fails_is_told_with_its_last_words(project: Project) -> None:
    project({"bad.py": "def build():\n    raise ValueError('no such thing')\n"})
    with pytest.raises(
        TraceError, match=r"tracing bad:build: the call failed with exit code 1:\n(.|\n)*no such thing"
    ):
        trace_call("bad:build", {})


def test_a_traced_call_that_never_ends_is_given_up(project: Project) -> None:
    project({"slow.py": "import time\ndef build():\n    time.sleep(600)\n"})
    with pytest.raises(TraceError, match=r"tracing slow:build: the call took longer than 0\.5 seconds"):
        trace_call("slow:build", {}, timeout=0.5)


def test_a_plan_is_compared_with_a_trace(project: Project, tmp_path: Path) -> None:
    project(TREE)
    exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    exporter.save_module("zoo.build")
    exporter.exclude_data("zoo/*.txt")
    comparison = compare_trace(exporter.plan(), trace_call("zoo.build:build", {}))
    assert "zoo.late" in comparison.unused
    assert comparison.missed == ("zoo.dog",)
    assert comparison.missed_files == ("zoo/names.txt",)
    assert str(comparison).splitlines()[0] == "trace: 4 of 5 stored modules were used"
    assert "    used, but not stored: zoo.dog" in str(comparison)


@pytest.mark.parametrize(
    "line",
    [
        "exec(f'import zoo.{kind}')",
        "for_all = textwrap.wrap; [importlib.import_module(n) for n in for_all('zoo.' + kind)]",
        "getattr(importlib, 'import_' + 'module')('zoo.' + kind)",
    ],
)
def test_a_module_that_only_a_run_finds_is_told_at_its_place(project: Project, line: str) -> None:
    project(
        {**TREE, "zoo/load.py": f"import importlib\nimport textwrap\ndef load(kind='dog'):\n    {line}\n"}
    )
    exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    exporter.save_module("zoo.load")
    (place,) = compare_trace(exporter.plan(), trace_call("zoo.load:load", {})).imports
    assert (place.file, place.line) == ("zoo/load.py", 4)
    assert place.loaded == ("zoo.dog",)
    assert "to store it: exporter.save_module('zoo.dog')" in str(place)
    exporter.save_module("zoo.dog")
    assert compare_trace(exporter.plan(), trace_call("zoo.load:load", {})).missed == ()


AT_IMPORT = {
    "a computed name": ("importlib.import_module('zoo.' + KIND)\n", 4),
    "a class body": ("class Table:\n    pet = importlib.import_module('zoo.' + KIND)\n", 5),
    "a helper of another module": ("from zoo.helper import load\nload(KIND)\n", 3),
    "a table of a lazy package": ("import zoo.lazy\nPET = getattr(zoo.lazy, KIND)\n", 7),
}


@pytest.mark.parametrize(("text", "line"), AT_IMPORT.values(), ids=AT_IMPORT)
def test_what_a_stored_module_imports_while_it_is_imported_is_compared(
    project: Project, text: str, line: int
) -> None:
    project(
        {
            "zoo/__init__.py": "",
            "zoo/net.py": f"import importlib\nfrom zoo.kinds import KIND\n\n{text}class Net:\n    pass\n",
            "zoo/kinds.py": "KIND = ''.join(['d', 'o', 'g'])\n",
            "zoo/helper.py": "import importlib\ndef load(one):\n    importlib.import_module(f'zoo.{one}')\n",
            "zoo/lazy.py": (
                "import importlib\nfrom zoo import kinds\n\n\n\n"
                "def __getattr__(name):\n    return importlib.import_module('zoo.' + name)\n"
            ),
            "zoo/dog.py": "",
            "zoo/trained.py": "",
            "training.py": "import zoo.trained\nfrom zoo.net import Net\nmodel = Net()\n",
        }
    )
    from training import model  # type: ignore[import-not-found]  # written above

    exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    exporter.save_object("model", "model", model)
    comparison = compare_trace(exporter.plan(), trace_call("training:model", {}))
    assert comparison.missed == ("zoo.dog",)
    (place,) = comparison.imports
    assert (place.line, place.loaded) == (line, ("zoo.dog",))


def test_a_policy_for_one_call_mocks_what_it_did_not_import(project: Project) -> None:
    project(TREE)
    policy = Policy("auto", [Rule("deny", GlobGroup("zoo.never"))])
    exporter = PackageExporter(io.BytesIO(), policy=policy, prove=False)
    exporter.save_module("zoo.build")
    comparison = compare_trace(exporter.plan(), trace_call("zoo.build:build", {}))
    small = pruned(policy, comparison)
    assert [str(rule) for rule in small.rules] == ["mock('zoo.late')", "deny('zoo.never')"]
    assert (small.preset, small.exclude_data.include) == ("auto", ())


def test_a_module_under_two_names_counts_once(project: Project) -> None:
    project({"twice.py": "import sys\nsys.modules['other_name'] = sys.modules[__name__]\ndef go(): pass\n"})
    modules = trace_call("twice:go", {}).modules
    assert "twice" in modules
    assert "other_name" not in modules


def test_a_trace_says_who_imported_what(project: Project) -> None:
    folder = project({"top.py": "def go():\n    class A:\n        import below\n", "below.py": ""})
    frames = trace_call("top:go", {}).stacks["below"]
    assert frames[:2] == (Frame(str(folder / "top.py"), 3, "go.A"), Frame(str(folder / "top.py"), 2, "go"))


def test_files_that_are_written_are_not_read(project: Project, tmp_path: Path) -> None:
    project({"out.py": f"def go():\n    open({str(tmp_path / 'made.txt')!r}, 'w').close()\n"})
    assert str(tmp_path / "made.txt") not in trace_call("out:go", {}).files


def test_what_came_from_a_package_is_recognised() -> None:
    buffer = io.BytesIO()
    with PackageExporter(buffer, prove=False) as exporter:
        exporter.save_source_string("shop", "class Till:\n    pass\ndef pay():\n    pass\n")
    with PackageImporter(buffer) as importer:
        shop = importer.import_module("shop")
        assert all(is_from_package(thing) for thing in (shop, shop.Till, shop.Till(), shop.pay))
    assert not any(
        is_from_package(thing) for thing in (json, json.JSONDecoder, json.JSONDecoder(), json.loads, 3)
    )


def test_what_came_from_an_installed_archive_is_recognised() -> None:
    buffer = io.BytesIO()
    with PackageExporter(buffer, prove=False) as exporter:
        exporter.save_source_string("shop_of_its_own", "class Till:\n    pass\n")
    with PackageImporter(buffer) as importer:
        shop = importer.install().import_module("shop_of_its_own")
        assert shop.__name__ == "shop_of_its_own"
        assert is_from_package(shop)
        assert is_from_package(shop.Till())


def test_a_trace_does_not_read_the_standard_input_of_this_process() -> None:
    with pytest.raises(
        TraceError, match=r"tracing textwrap:dedent: .* standard input; give the inputs as a file"
    ):
        trace_call("textwrap:dedent", {"text": "a"}, "-")
