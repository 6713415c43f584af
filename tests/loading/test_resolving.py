"""The names of a stored object are resolved at once, after its audit and before it is built."""

import sys
from pathlib import Path
from typing import Any

import pytest

import kellet
from packager import PackageExporter, PackageImporter
from packager.loading import stored_objects
from packager.objects.auditing import MissingNameError

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


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An object of packaged classes, with a packaged function and a tensor."""
    (tmp_path / "resolvedshop.py").write_text(SHOP)
    monkeypatch.syspath_prepend(tmp_path)
    import resolvedshop

    file = tmp_path / "shop.kellet"
    with PackageExporter(file, policy="auto") as exporter:
        exporter.save_object("model", "net", resolvedshop.Net(kellet.ones(2, 3)))
    monkeypatch.delitem(sys.modules, "resolvedshop")
    return file


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The steps of loads, in order; below each, the modules of loading whose functions it enters."""
    entered: list[str] = []

    def watch(frame: Any, event: str, argument: object) -> None:
        module = frame.f_globals.get("__name__", "")
        if event == "call" and module.startswith(("packager.loading", "packager.package_importer")):
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
    assert "  packager.loading.opening.import_module" in steps[resolving:building]
    assert steps[building + 1 :] == []


def test_a_stored_module_that_is_gone_is_told_before_anything_is_built(
    archive: Path, steps: list[str]
) -> None:
    with PackageImporter(archive) as importer:
        del importer.import_module("resolvedshop").Step
        with pytest.raises(MissingNameError, match=r"resolvedshop:Step: module .* has no attribute 'Step'"):
            importer.load_object("model", "net")
    assert "build" not in steps
