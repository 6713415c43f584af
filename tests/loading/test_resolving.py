"""The names of a stored object are resolved at once, after its audit and before it is built."""

import sys
from pathlib import Path
from typing import Any

import pytest

import kellet
from packager import PackageExporter, PackageImporter
from packager._audit.resolve import MissingNameError
from packager._loading import stored_objects

SHOP = """
import math

class Net:
    def __init__(self, weight):
        self.weight, self.scale, self.steps = weight, scaled, [Step(1), Step(2)]

    def area(self):
        return self.scale(math.pi)

class Step:
    def __init__(self, number):
        self.number = number

def scaled(value):
    return 2 * value
"""

FUNCTIONS = """
from resolvedhelpers import adder, calls

WORDS = ["one", "two"]
count = lambda: len(WORDS)

class Steps:
    def __init__(self, first):
        def shifted(value, *, by=first):
            def doubled(inner):
                return 2 * inner + by
            return doubled(value)

        self.shifted, self.last = shifted, lambda value: shifted(value) + first
        self.add, self.told, self.count = adder(3), calls(shifted), count
"""

HELPERS = """
import functools

def adder(number):
    total = number
    def add(value):
        nonlocal total
        total += value
        return total
    return add

def calls(function):
    @functools.wraps(function)
    def told(*args, **options):
        return "told", function(*args, **options)
    return told
"""


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An object of packaged classes, with a packaged function and a tensor."""
    (tmp_path / "resolvedshop.py").write_text(SHOP)
    monkeypatch.syspath_prepend(tmp_path)
    import resolvedshop

    file = tmp_path / "shop.kellet"
    with PackageExporter(file, policy="auto", prove=False) as exporter:
        exporter.save_object("model", "net", resolvedshop.Net(kellet.ones(2, 3)))
    monkeypatch.delitem(sys.modules, "resolvedshop")
    return file


@pytest.fixture
def archive_of_functions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Lambdas, closures over them, functions inside functions, and what decorators of two modules made."""
    (tmp_path / "resolvedsteps.py").write_text(FUNCTIONS)
    (tmp_path / "resolvedhelpers.py").write_text(HELPERS)
    monkeypatch.syspath_prepend(tmp_path)
    import resolvedsteps

    made = resolvedsteps.Steps(4)
    file = tmp_path / "steps.kellet"
    with PackageExporter(file, policy="auto", prove=False) as exporter:
        exporter.save_object("model", "steps", made)
        exporter.save_object("model", "last", made.last)
    for name in ("resolvedsteps", "resolvedhelpers"):
        monkeypatch.delitem(sys.modules, name)
    return file


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The steps of loads, in order; below each, the modules of loading whose functions it enters."""
    entered: list[str] = []

    def watch(frame: Any, event: str, argument: object) -> None:
        module = frame.f_globals.get("__name__", "")
        if event == "call" and module.startswith(("packager._loading", "packager.package_importer")):
            entered.append(f"  {module}.{frame.f_code.co_name}")

    def watched(name: str) -> Any:
        step = getattr(stored_objects, name)

        def run(*args: Any, **options: Any) -> Any:
            entered.append(name)
            sys.setprofile(watch)
            try:
                return step(*args, **options)
            finally:
                sys.setprofile(None)

        return run

    for name in ("audit", "resolve_names", "build"):
        monkeypatch.setattr(stored_objects, name, watched(name))
    return entered


def test_names_are_resolved_once_and_building_enters_nothing_of_loading(
    archive: Path, steps: list[str]
) -> None:
    with PackageImporter(archive) as importer:
        net = importer.load_object("model", "net")
        assert net.area() == pytest.approx(6.283185307)
        assert net.weight.tolist() == [[1.0] * 3] * 2
    assert [step for step in steps if step[0] != " "] == ["audit", "resolve_names", "build"]
    resolving, building = steps.index("resolve_names"), steps.index("build")
    assert steps[1:resolving] == []
    assert "  packager._loading.opening.import_module" in steps[resolving:building]
    assert steps[building + 1 :] == []


def test_building_functions_that_packaged_code_made_asks_no_loader_for_their_source(
    archive_of_functions: Path, steps: list[str]
) -> None:
    with PackageImporter(archive_of_functions) as importer:
        made = importer.load_object("model", "steps")
        assert [made.shifted(5), made.last(5), made.told(5), made.count()] == [14, 18, ("told", 14), 2]
        assert [made.add(1), made.add(1)] == [4, 5]
        module = importer.import_module("resolvedsteps")
        module.WORDS.append("three")
        assert made.count() == 3
        assert made.shifted.__globals__ is vars(module)
        assert made.add.__globals__ is vars(importer.import_module("resolvedhelpers"))
    assert [step for step in steps if step[0] != " "] == ["audit", "resolve_names", "build"]
    resolving, building = steps.index("resolve_names"), steps.index("build")
    asked = [step for step in steps if step.endswith(".get_source")]
    assert len(asked) == 2, "one source for each module of functions"
    assert [step for step in steps[resolving:building] if step.endswith(".get_source")] == asked
    assert steps[building + 1 :] == []


def test_one_lambda_alone_is_built_from_a_source_that_was_read_before(
    archive_of_functions: Path, steps: list[str]
) -> None:
    with PackageImporter(archive_of_functions) as importer:
        made = importer.load_object("model", "last")
        assert made(5) == 18
    assert "  packager._loading.module_loaders.get_source" in steps[: steps.index("build")]
    assert steps[steps.index("build") + 1 :] == []


def test_a_stored_module_that_is_gone_is_told_before_anything_is_built(
    archive: Path, steps: list[str]
) -> None:
    with PackageImporter(archive) as importer:
        del importer.import_module("resolvedshop").Step
        with pytest.raises(MissingNameError, match=r"resolvedshop:Step: module .* has no attribute 'Step'"):
            importer.load_object("model", "net")
    assert "build" not in steps


def test_what_relative_names_start_from_is_a_package_of_the_archive_or_as_it_says(pack):
    rules = pack({"shop/__init__.py": "", "shop/sub/__init__.py": ""}).archive.rules
    found = [rules.package_in_process(name) for name in ("shop", "shop.sub", "far", "far.shop", "")]
    assert found == [f"shop{rules.suffix}", f"shop{rules.suffix}.sub", "far", "far.shop", ""]


def test_what_cannot_be_found_below_a_module_is_told_by_its_true_name(pack):
    ask = "from importlib import util\ndef ask(name):\n    return util.find_spec(name)\n"
    shop = pack({"shop/__init__.py": ask}).module("shop")
    assert shop.ask("shop.gone") is None
    with pytest.raises(ModuleNotFoundError, match=r"^No module named 'shop\.gone'$") as caught:
        shop.ask("shop.gone.part")
    assert caught.value.name == "shop.gone"
