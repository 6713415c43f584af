"""Real pickles are ordinary pickles under true names, and the same bytes whatever they were loaded with."""

from __future__ import annotations

import io
import pickle
import sys
from collections import OrderedDict
from collections.abc import Callable, Mapping
from datetime import date
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from packager import Importer, PackageExporter, PackagingError, sys_importer
from packager._archive import ArchiveReader
from packager._exporting import Reduced, globals_in, make_pickle
from tests.tables import one_test

Project = Callable[[Mapping[str, str]], Path]
PROTOCOLS = range(pickle.HIGHEST_PROTOCOL + 1)


def pickled(obj: Any, protocol: int = 3, importer: Importer = sys_importer) -> bytes:
    return make_pickle(obj, importer, protocol, None, {})


VALUES = [
    None,
    ...,
    NotImplemented,
    {"a": [1, 2.5, "ü" * 300], "b": (b"x", {1, 2}, frozenset([3]))},
    Fraction(1, 3),
    date(2020, 1, 2),
    [Fraction, type(None), type(...), len, str.upper, Fraction.from_float, OrderedDict(a=1)],
]


@one_test
@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_a_pickle_is_read_by_pickle_itself(value: Any, protocol: int) -> None:
    assert pickle.loads(pickled(value, protocol)) == value


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_names_in_a_pickle_are_found_without_running_it(protocol: int) -> None:
    value = [Fraction(1, 3), Fraction(2, 3), OrderedDict, "fractions", "Fraction"]
    names = set(globals_in(pickled(value, protocol))) - {
        ("copyreg", "_reconstructor"),
        ("builtins", "object"),
    }
    assert names == {("collections", "OrderedDict"), ("fractions", "Fraction")}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_mangled_names_are_never_stored(protocol: int, monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("shop__w0123456789ab_0.things")
    exec("class Thing:\n    pass\ndef make():\n    pass\n", module.__dict__)
    monkeypatch.setitem(sys.modules, "shop__w0123456789ab_0", ModuleType("shop__w0123456789ab_0"))
    monkeypatch.setitem(sys.modules, module.__name__, module)

    class FromArchive(Importer):
        def import_module(self, module_name: str) -> ModuleType:
            return module if module_name == "shop.things" else sys_importer.import_module(module_name)

    data = pickled([module.Thing(), module.make, module.__name__], protocol, FromArchive())
    assert b"__w0123456789ab" not in data
    assert ("shop.things", "Thing") in globals_in(data)

    plain = ModuleType("shop.things")
    exec("class Thing:\n    pass\ndef make():\n    pass\n", plain.__dict__)
    monkeypatch.setitem(sys.modules, "shop", ModuleType("shop"))
    monkeypatch.setitem(sys.modules, "shop.things", plain)
    assert data == pickled([plain.Thing(), plain.make, plain.__name__], protocol)


def test_a_class_that_the_importer_does_not_find_is_a_pickling_error(project: Project) -> None:
    project({"shapes.py": "class Square:\n    pass\n"})
    import shapes  # type: ignore[import-not-found]  # written above

    square = shapes.Square()
    shapes.Square = type("Square", (), {"__module__": "shapes"})
    with pytest.raises(pickle.PicklingError, match="not the same object as the importer finds"):
        PackageExporter(io.BytesIO(), prove=False).save_pickle("p", "r", square)
    with pytest.raises(pickle.PicklingError, match=r"Can't pickle .*lambda"):
        PackageExporter(io.BytesIO(), prove=False).save_pickle("p", "r", lambda: 1)


class Resource:
    """Stored apart, and made again by a function that gets the importer."""

    asked = 0

    def __reduce_package__(self, exporter: Any) -> tuple[Any, tuple[Any, ...]]:
        Resource.asked += 1
        return Fraction, (exporter, 2)


def test_objects_may_say_how_they_are_stored_in_a_package() -> None:
    resource, reduced = Resource(), Reduced()
    data = make_pickle([resource, resource], sys_importer, 4, "exporter", reduced)
    make_pickle(resource, sys_importer, 4, "exporter", reduced)
    assert Resource.asked == 1
    seen = []

    class Reader(pickle.Unpickler):
        def persistent_load(self, pid: Any) -> Any:
            seen.append(pid)
            return "made"

    assert Reader(io.BytesIO(data)).load() == ["made", "made"]
    assert seen[0] == ("reduce_package", 0, Fraction, "exporter", 2)


def test_the_hook_for_packages_is_looked_up_on_the_type() -> None:
    class Answering:
        def __getattr__(self, name: str) -> Any:
            if name.startswith("__"):
                raise AttributeError(name)
            return lambda exporter: None

    assert globals_in(pickled([1])) == ()
    exporter = PackageExporter(io.BytesIO(), prove=False)
    with pytest.raises(pickle.PicklingError):  # a local class, and nothing worse
        exporter.save_pickle("p", "r", Answering())


def test_a_pickle_brings_the_modules_of_its_classes_and_is_marked(project: Project) -> None:
    project({"shapes.py": "import json\nclass Square:\n    pass\n"})
    import shapes

    buffer = io.BytesIO()
    with PackageExporter(buffer, policy="auto", prove=False) as exporter:
        exporter.save_pickle("model", "square.pkl", shapes.Square())
    assert exporter.interned_modules() == ["shapes"]
    with ArchiveReader(buffer) as reader:
        assert reader.entry("model/square.pkl").kind == "pickle"


def test_without_dependencies_a_pickle_brings_nothing(project: Project) -> None:
    project({"shapes.py": "class Square:\n    pass\n"})
    import shapes

    exporter = PackageExporter(io.BytesIO(), prove=False)
    exporter.save_pickle("model", "square.pkl", shapes.Square(), dependencies=False)
    exporter.close()
    assert exporter.interned_modules() == []


def test_the_protocol_is_the_one_asked_for() -> None:
    buffer = io.BytesIO()
    with PackageExporter(buffer, prove=False) as exporter:
        exporter.save_pickle("p", "two", [1], pickle_protocol=2)
        exporter.save_pickle("p", "five", [1], pickle_protocol=5)
    with ArchiveReader(buffer) as reader:
        assert [reader.read(f"p/{name}")[:2] for name in ("two", "five")] == [b"\x80\x02", b"\x80\x05"]


def test_a_module_of_a_mocked_class_in_a_pickle_is_refused(project: Project) -> None:
    project({"shapes.py": "class Square:\n    pass\n"})
    import shapes

    exporter = PackageExporter(io.BytesIO(), prove=False)
    exporter.mock("shapes")
    exporter.save_pickle("model", "square.pkl", shapes.Square())
    with pytest.raises(PackagingError, match=r"Context: Square is used by pickle model/square\.pkl"):
        exporter.close()
