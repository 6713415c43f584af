"""Imports go down the list of rooms or stay in the room; where they stand matters for cycles alone."""

from __future__ import annotations

import graphlib
import sys
from runpy import run_path

import pytest

from tests.architecture.rooms import ROOT, Import, heights, imports_of, read_imports, room_of

# What a file may import at its top, besides the standard library and its own package. Everything
# else is optional: inside a function, or in a `try` that catches ImportError.
REQUIRED = {"kellet": {"numpy"}, "packager": {"numpy", "msgpack", "importlib_metadata"}}
# Archives are read where neither NumPy nor kellet is installed.
BARE_ROOMS = {
    "packager._texts",
    "packager._arguments",
    "packager.errors",
    "packager._names",
    "packager._atomic",
    "packager._process",
    "packager._archive",
}
# Contract tests are made of these.
TESTING_ROOMS = {"kellet.testing": {"pytest", "hypothesis"}, "packager.testing": {"pytest", "hypothesis"}}


def upward(module: str, imports: list[Import]) -> list[str]:
    """Name every import of `module` that goes up the list, or from kellet to packager."""
    package = module.split(".")[0]
    height = heights(package)
    wrong = []
    for each in imports:
        target = each.target.split(".")[0]
        if package == "kellet" and target == "packager":
            wrong.append(f"{module}:{each.line} imports {each.target}: kellet never imports packager")
        elif target == package and height[room_of(each.target)] > height[room_of(module)]:
            wrong.append(
                f"{module}:{each.line} imports {each.target}: "
                f"{room_of(each.target)} stands above {room_of(module)}; move what both need down"
            )
    return wrong


def foreign(module: str, imports: list[Import]) -> list[str]:
    """Name every third-party import of `module` that its room may not make where it stands."""
    package = module.split(".")[0]
    room = f"{package}.{room_of(module)}"
    allowed = REQUIRED[package] | TESTING_ROOMS.get(room, set())
    wrong = []
    for each in imports:
        target = each.target.split(".")[0]
        if target == package or target == "packager" or target in sys.stdlib_module_names:
            continue
        if room in BARE_ROOMS and target in {"numpy", "kellet"}:
            wrong.append(f"{module}:{each.line} imports {target}: this room works without it")
        elif each.at_top and not (target in allowed or each.guarded or each.typing_only):
            wrong.append(f"{module}:{each.line} imports {target} at the top: import it where it is used")
    return wrong


STORED_AS_TEXT = {"packager._pretrained.packaged_pretrained", "packager._pretrained.packaged_diffusion"}


@pytest.fixture(scope="module")
def house() -> dict[str, list[Import]]:
    return read_imports()


def test_every_file_belongs_to_a_room(house: dict[str, list[Import]]) -> None:
    homeless = [name for name in house if room_of(name) not in heights(name.split(".")[0])]
    assert homeless == []


def test_imports_go_down_or_stay_in_the_room(house: dict[str, list[Import]]) -> None:
    assert [line for name, imports in house.items() for line in upward(name, imports)] == []


def test_third_party_packages_are_imported_where_they_are_used(house: dict[str, list[Import]]) -> None:
    # What is stored as a module of the archive is read as text, and imported nowhere here.
    imported = {name: imports for name, imports in house.items() if name not in STORED_AS_TEXT}
    assert len(imported) == len(house) - len(STORED_AS_TEXT)
    assert [line for name, imports in imported.items() for line in foreign(name, imports)] == []
    users = {one.target for imports in house.values() for one in imports}
    assert users.isdisjoint(STORED_AS_TEXT)


def test_files_do_not_import_in_a_circle(house: dict[str, list[Import]]) -> None:
    graph = {
        name: {
            i.target
            for i in imports
            if i.at_top and not i.typing_only and i.target in house and i.target != name
        }
        for name, imports in house.items()
    }
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        pytest.fail("files import each other: " + " <- ".join(error.args[1]))


def test_no_import_of_kellet_is_put_off_to_break_a_circle(house: dict[str, list[Import]]) -> None:
    # The lazy `__getattr__`s of the `__init__`s spell their names with `import_module` and are not meant.
    put_off = [
        f"{name}:{i.line} imports {i.target} inside a function"
        for name, imports in house.items()
        if name.startswith("kellet")
        for i in imports
        if not i.at_top and not i.typing_only and i.target in house
    ]
    assert put_off == [], "move what both files need down, or to where both are"


def circles(graph: dict[str, set[str]]) -> list[set[str]]:
    """Sets of more than one file, of which each leads to each other."""
    reached: dict[str, set[str]] = {}
    for name in graph:
        found: set[str] = set()
        left = [name]
        while left:
            new = graph[left.pop()] - found
            found |= new
            left += new
        reached[name] = found
    rings = {frozenset(o for o in found if name in reached[o]) for name, found in reached.items()}
    return sorted((set(ring) for ring in rings if len(ring) > 1), key=sorted)


def test_circles_for_types_are_within_autograd_core_and_nn(house: dict[str, list[Import]]) -> None:
    # Imports inside functions and those for type checkers count too.
    graph = {
        name: {i.target for i in house[name] if i.target in house and i.target != name} for name in house
    }
    rooms = [{f"{name.split('.')[0]}.{room_of(name)}" for name in ring} for ring in circles(graph)]
    assert rooms == [{"kellet.autograd"}, {"kellet.core"}, {"kellet.nn"}]


KNOWN = {"kellet", "kellet.core", "kellet.core.tensor", "kellet.nn", "kellet.nn.module", "packager"}


@pytest.mark.parametrize(
    "source",
    [
        "import kellet.nn",
        "from kellet import nn",
        "from ..nn import Module",
        "def f():\n    from kellet.nn.module import Module",
        "if TYPE_CHECKING:\n    from kellet.nn import Module",
        "importlib.import_module('kellet.nn')",
        "import_module('..nn', __package__)",
        "import kellet",
        "import packager",
    ],
)
def test_an_upward_import_is_seen_in_every_spelling(source: str) -> None:
    imports = imports_of(source, "kellet.core.tensor", False, KNOWN)
    assert len(upward("kellet.core.tensor", imports)) == 1


@pytest.mark.parametrize(
    "source", ["from kellet.core import tensor", "from . import Tensor", "from .tensor import ones"]
)
def test_an_import_within_the_room_is_fine(source: str) -> None:
    assert upward("kellet.core.tensor", imports_of(source, "kellet.core.tensor", False, KNOWN)) == []


@pytest.mark.parametrize(
    "around",
    [
        "match 1:\n    case 1:\n        {}",
        "async def f():\n    async with f():\n        {}",
        "try:\n    pass\nexcept* OSError:\n    {}",
        "try:\n    pass\nfinally:\n    {}",
        "for _ in ():\n    pass\nelse:\n    {}",
        "class C:\n    while f():\n        {}",
    ],
)
def test_an_import_is_seen_wherever_it_stands(around: str) -> None:
    upwards = [
        upward("kellet.core.x", imports_of(around.format(text), "kellet.core.x", False, KNOWN))
        for text in ("import kellet.nn", "__import__('kellet.nn')")
    ]
    assert [len(found) for found in upwards] == [1, 1]


def test_an_optional_package_at_the_top_is_seen() -> None:
    source = (
        "import torch\ntry:\n    import isal\nexcept ImportError:\n    isal = None\ndef f():\n    import rich"
    )
    imports = imports_of(source, "packager._codecs.torch", False, KNOWN)
    assert [line.split(":")[1] for line in foreign("packager._codecs.torch", imports)] == [
        "1 imports torch at the top"
    ]


def test_numpy_in_the_archive_room_is_seen_even_inside_a_function() -> None:
    imports = imports_of("def f():\n    import numpy", "packager._archive.zip", False, KNOWN)
    assert foreign("packager._archive.zip", imports) == [
        "packager._archive.zip:2 imports numpy: this room works without it"
    ]


def test_the_drawing_of_the_rooms_is_what_the_imports_say(
    house: dict[str, list[Import]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    drawing = run_path(str(ROOT / "docs" / "draw_rooms.py"))
    monkeypatch.setitem(drawing["main"].__globals__, "read_imports", lambda: house)
    assert (drawing["main"](["--check"]), capsys.readouterr().out) == (0, "")
    monkeypatch.setitem(drawing["main"].__globals__, "read_imports", lambda: {name: [] for name in house})
    assert drawing["main"](["--check"]) == 1
    assert "run: python docs/draw_rooms.py" in capsys.readouterr().out
