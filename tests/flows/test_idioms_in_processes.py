"""Each of the 28 idioms that packaged code uses, in a fresh process where the original cannot be found.

The fixture package holds one module for each. It is exported once; then every Python at hand loads it,
in isolation and installed, from another folder, and its answers are compared with those below. "At
hand" is the Python that runs the tests, and whatever other supported one is on PATH or under pyenv.
"""

from __future__ import annotations

import json
import os
import sys
import textwrap
from collections.abc import Callable, Mapping
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from packager import PackageImporter
from tests import processes
from tests.flows.pythons import Python, pythons_at_hand

pytestmark = pytest.mark.processes(share=2)

FIXTURE = Path(__file__).resolve().parents[2] / "fixtures" / "packages" / "idioms"
WORDS = "cat dog\n"

# Module of the fixture -> what its `use()` answers, in plain Python as in an archive.
IDIOMS: Mapping[str, Any] = {
    "dataclass_annotations": [["width", "names"], {"width": 4, "names": []}],
    "import_relative": ["one", "two"],
    "import_absolute": ["one", "two"],
    "module_getattr": ["one", "one", False, ["lazy", "use"]],
    "computed_getattr": ["one", "two", True],
    "finding_specs": [True] * 5,
    "listing_modules": [["one", "two"], ["one", "two"]],
    "registry_by_module": ["tiny", ["tiny"], True],
    "type_hints": [True] * 3,
    "pickled_enum": [True] * 3,
    "pickled_namedtuple": [True, [1, 2], True, {"name": "a", "size": 2}],
    "resource_files": [WORDS, WORDS, WORDS, ["config.json", "words.txt"], False],
    "package_data": [WORDS, WORDS],
    "file_beside": [WORDS, {"width": 3}, True],
    "spawned_workers": [[2, 4], [3, 6], True, 4],
    "source_text": [
        "    def forward(self, x):\n        return x + 1  # this very line\n",
        "class Net:",
        4,
    ],
    "module_of_object": [True, True, True, "module_of_object"],
    "star_imports": ["two", "named in __all__", False, ["idiompkg"]],
    "namespace_packages": ["a leaf below two folders without __init__", "beside two", None],
    "typing_only": ["(1, 2)", False],
    "optional_present": [[1, 2]],
    "optional_absent": [None, "a_distribution_that_is_not_here"],
    "own_version": ["4.5.6", "A package of idioms", "a-distribution-that-is-not-here", "4.5.6"],
    "import_cycle": ["other", ["own", "own"]],
    "logging_names": [False, True, "logging_names"],
    "init_before_leaf": [True],
    "abstract_classes": ["ran", True, True, ["dog", "cat"]],
    "single_dispatch": ["a net", "a number or text", "a number or text", "anything", "a net"],
}

ANSWERS = """
    import importlib, json, sys, traceback

    def answers(import_module):
        found = {}
        for name in json.loads(sys.argv[2]):
            try:
                found[name] = import_module(f"idiompkg.{name}").use()
            except BaseException:
                found[name] = traceback.format_exc()
        return found
"""
EXPORT = """
    if __name__ == "__main__":
        from packager import PackageExporter

        with PackageExporter(sys.argv[1], policy="auto") as exporter:
            exporter.intern(["idiompkg.**", "idiomspace.**"])
            for name in json.loads(sys.argv[2]):
                exporter.save_module(f"idiompkg.{name}")
        print(json.dumps(answers(importlib.import_module)))
"""
LOAD = """
    import warnings
    from importlib.util import find_spec

    if __name__ == "__main__":
        from packager import PackageImporter

        assert find_spec("idiompkg") is None, "the original must not be there"
        with PackageImporter(sys.argv[1], environment="ignore") as importer:
            if sys.argv[3] == "installed":
                importer.install()
            print(json.dumps(answers(importer.import_module)))
        assert not [name for name in sys.modules if name.startswith(("idiompkg", "idiomspace"))]
"""

EXPORT_AGAIN = """
    import warnings
    from packager import PackageExporter, PackageImporter, PackagingWarning, sys_importer

    warnings.simplefilter("ignore", PackagingWarning)  # of computed imports among the idioms
    with PackageImporter(sys.argv[1]) as importer:
        if sys.argv[3] == "installed":
            importer.install()
        importer.import_module("idiompkg.star_imports")
        sources = (importer, sys_importer)
        with PackageExporter(sys.argv[4], importer=sources, policy="auto") as exporter:
            exporter.intern(["idiompkg.**", "idiomspace.**"])
            for name in json.loads(sys.argv[2]):
                exporter.save_module(f"idiompkg.{name}")
    print("null")
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Any]:
    folder = tmp_path_factory.mktemp("elsewhere")

    def run(python: Python, program: str, *arguments: str, path: str = "") -> Any:
        script = folder / "program.py"
        script.write_text(textwrap.dedent(ANSWERS) + textwrap.dedent(program))
        done = processes.run(
            [python.executable, *processes.STRICT, str(script), *arguments],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=120,
            env={**os.environ, **python.environment(path), "KELLET_CACHE": str(folder / "cache")},
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


@pytest.fixture(scope="module")
def archive(run: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The fixture package, exported in a process that also says what plain Python answers."""
    target = tmp_path_factory.mktemp("idioms") / "idioms.kellet"
    plain = run(Python.running(), EXPORT, str(target), json.dumps(list(IDIOMS)), path=str(FIXTURE))
    assert plain == dict(IDIOMS)
    return target


@pytest.fixture(scope="module")
def loaded(run: Callable[..., Any], archive: Path) -> Callable[[Python, str], dict[str, Any]]:
    """What the modules of the archive answer in one Python and mode: one fresh process for all of them."""

    @lru_cache
    def loaded(python: Python, mode: str) -> dict[str, Any]:
        answers: dict[str, Any] = run(python, LOAD, str(archive), json.dumps(list(IDIOMS)), mode)
        return answers

    return loaded


def test_each_idiom_answers_as_in_plain_python(
    loaded: Callable[[Python, str], dict[str, Any]], subtests: pytest.Subtests
) -> None:
    """The Pythons are looked for here: to collect the test starts none of them."""
    for python, mode, idiom in product(pythons_at_hand(), ["isolated", "installed"], IDIOMS):
        with subtests.test(f"{python}-{mode}-{idiom}"):
            assert loaded(python, mode)[idiom] == IDIOMS[idiom]


def test_all_28_idioms_are_tried() -> None:
    assert len(IDIOMS) == 28


def test_what_only_type_checkers_see_is_not_in_the_archive(archive: Path) -> None:
    with PackageImporter(archive) as importer:
        names = {module.name for module in importer.manifest.modules}
    assert "idiompkg.typing_only" in names
    assert not names & {"idiompkg.seen_by_type_checkers", "a_stub_only_package"}


def test_the_python_that_runs_the_tests_is_tried() -> None:
    assert sys.executable in [python.executable for python in pythons_at_hand()]


@pytest.mark.parametrize("mode", ["isolated", "installed"])
def test_exported_again_where_the_original_is_not_it_is_the_same_bit_for_bit(
    run: Callable[..., Any], archive: Path, tmp_path: Path, mode: str
) -> None:
    again = tmp_path / "again.kellet"
    run(Python.running(), EXPORT_AGAIN, str(archive), json.dumps(list(IDIOMS)), mode, str(again))
    assert again.read_bytes() == archive.read_bytes()
