"""A room of packager has a face: its `__init__` lists what others use, and they take it from there alone.

Rooms of kellet take from a face what it offers, and the rest from few files.
"""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.architecture.rooms import PACKAGES, ROOT, modules_of, room_of, statements_of
from tests.tables import one_test

FILES = modules_of("packager", PACKAGES["packager"])
FACES = sorted(
    n
    for n, p in FILES.items()
    if p.name == "__init__.py" and n.count(".") == 1 and n != "packager._cli"  # and no folder of a library
)
KELLET = modules_of("kellet", PACKAGES["kellet"])
# A face of kellet is public, with PyTorch's names. What rooms need of one another and users do not is taken
# from the file that defines it: these are all such files.
SEAMS = {
    "kellet.autograd": "bridge modes node passes rule_node variable views wanted",
    "kellet.core": "axes checkpointing device dispatch matrix_arguments not_tensors wrong_arguments",
    "kellet.distributed": "comm_hook world",
    "kellet.nn": "backward_hooks",
    "kellet.rules": "convolution copying pooling quiet rule",
}
# Programs beside the packages, which take what they need from a room.
OUTSIDE = ("docs", "tests", "fixtures", "benchmarks", ".ci")


def names_taken(source: str, module: str) -> Iterator[tuple[int, str, str]]:
    """Yield the line, the module and the name of each import from another room."""
    for node in statements_of(ast.parse(source)):
        home = (node.module or "") if isinstance(node, ast.ImportFrom) and node.level == 0 else ""
        if (
            isinstance(node, ast.ImportFrom)
            and home.startswith("packager.")
            and room_of(home) != room_of(module)
        ):
            yield from ((node.lineno, home, alias.name) for alias in node.names)


def taken_inside(source: str, module: str, is_package: bool) -> Iterator[tuple[int, str, str]]:
    """Yield the line, the file and the name of each import out of a file of another room of kellet.

    The name is empty where the file itself is imported.
    """
    for node in statements_of(ast.parse(source)):
        if isinstance(node, ast.Import):
            found = [(alias.name, "") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            up = module.split(".")[: len(module.split(".")) - node.level + is_package]
            home = ".".join([*(up if node.level else []), *([node.module] if node.module else [])])
            found = [(home, alias.name) for alias in node.names]
        else:
            continue
        for home, name in found:
            if home.count(".") == 1 and f"{home}.{name}" in KELLET and name not in offered_by(home):
                home, name = f"{home}.{name}", ""
            if home.startswith("kellet.") and home.count(".") > 1 and room_of(home) != room_of(module):
                yield node.lineno, home, name


def offered_by(face: str) -> set[str]:
    """Return what the `__init__` of a room offers, nothing for a file at the top of the package."""
    return set(getattr(importlib.import_module(face), "__all__", ()))


def stars_of(path: Path) -> set[str]:
    """Return the modules that the `__init__` at `path` imports with a star."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {
        node.module or ""
        for node in statements_of(tree)
        if isinstance(node, ast.ImportFrom) and node.names[0].name == "*"
    }


def homes_of(path: Path) -> dict[str, str]:
    """Return what the `__init__` at `path` hands to `lazy_names`: modules, and names that live there."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "lazy_names":
            homes: dict[str, str] = ast.literal_eval(node.args[1])
            return homes
    raise AssertionError(f"{path} makes no lazy names")


@cache
def every_name_taken() -> list[tuple[str, int, str, str]]:
    """List the file, the line, the module and the name of each import from another room."""
    return [
        (module, *found)
        for module, path in FILES.items()
        for found in names_taken(path.read_text(encoding="utf-8"), module)
    ]


@pytest.fixture(scope="module")
def taken() -> dict[str, set[str]]:
    """Map each face to the names that other rooms take from it."""
    found: dict[str, set[str]] = {face: set() for face in FACES}
    for _, _, face, name in every_name_taken():
        found.setdefault(face, set()).add(name)
    return found


def test_no_room_reaches_behind_the_face_of_another() -> None:
    behind = [
        f"{module}:{line} takes {name} from {home}"
        for module, line, home, name in every_name_taken()
        if home.count(".") > 1
    ]
    assert behind == [], "import it from the room, whose __init__ lists what others use"


def test_rooms_of_kellet_take_what_a_face_offers_from_the_face_and_the_rest_from_few_files() -> None:
    passed, inside = [], dict.fromkeys(SEAMS, "")
    for module, path in KELLET.items():
        source, is_package = path.read_text(encoding="utf-8"), path.name == "__init__.py"
        for line, home, name in taken_inside(source, module, is_package) if module != "kellet" else ():
            face, _, file = home.rpartition(".")
            inside[face] = " ".join(sorted({*inside.get(face, "").split(), file}))
            if name in offered_by(f"kellet.{room_of(home)}"):
                passed.append(f"{module}:{line} takes {name} from {home}")
    assert passed == [], "import it from the room, whose __init__ offers it"
    assert inside == SEAMS


@pytest.mark.parametrize("face", FACES)
def test_a_face_binds_what_it_lists_and_knows_its_types(face: str) -> None:
    module, homes = importlib.import_module(face), homes_of(FILES[face])
    listed = " ".join(homes.values()).split()
    assert sorted(listed) == module.__all__
    assert len(set(listed)) == len(listed), f"{face} lists a name twice"
    assert stars_of(FILES[face]) == set(homes), f"{face} has other modules for type checkers"
    for home, names in homes.items():
        inner = importlib.import_module(f"{face}.{home}")
        assert [name for name in names.split() if getattr(module, name) is not getattr(inner, name)] == []


@pytest.mark.parametrize("face", [face for face in FACES if "._" in face])
def test_a_face_lists_what_others_use(face: str, taken: dict[str, set[str]]) -> None:
    offered = set(importlib.import_module(face).__all__)
    assert taken[face] <= offered, f"not listed in {face}"
    spoken = words_outside() if offered - taken[face] else set()
    assert offered - taken[face] - spoken == set(), f"listed in {face}, and used by nobody"


@cache
def words_outside() -> set[str]:
    """Return every word of the tests and programs beside the packages."""
    found: set[str] = set()
    for place in OUTSIDE:
        for path in (ROOT / place).rglob("*.py"):
            if "_build" not in path.parts and path.name != "reference.py":
                found.update(re.findall(r"\w+", path.read_text(encoding="utf-8")))
    return found


@one_test
@pytest.mark.parametrize("path", [FILES[n] for n in FILES if n.count(".") > 1], ids=str)
def test_a_file_of_a_room_leaves_the_list_to_its_face(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    assert "__all__" not in source or "__all__" not in {
        target.id
        for node in ast.parse(source).body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }


@pytest.mark.parametrize(
    ("source", "found"),
    [
        (
            "from packager._archive.reader import ArchiveReader",
            [(1, "packager._archive.reader", "ArchiveReader")],
        ),
        ("def f():\n    from packager._archive import pack", [(2, "packager._archive", "pack")]),
        ("from packager._graph.walk import Walk", []),
        ("from .walk import Walk", []),
    ],
)
def test_imports_from_other_rooms_are_seen(source: str, found: list[tuple[int, str, str]]) -> None:
    assert list(names_taken(source, "packager._graph.scan")) == found


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("from ..core.tensor import Tensor", [(1, "kellet.core.tensor", "Tensor")]),
        ("def f():\n    from kellet.core.axes import one", [(2, "kellet.core.axes", "one")]),
        ("from ..rules import kernels", [(1, "kellet.rules.kernels", "")]),
        ("import kellet.rules.kernels", [(1, "kellet.rules.kernels", "")]),
        ("from ..core import Tensor, tensor", []),
        ("from ..autograd import graph", []),
        ("from .tree import walk", []),
        ("from ..hooks import HookRegistry", []),
    ],
)
def test_imports_from_inside_other_rooms_of_kellet_are_seen(
    source: str, found: list[tuple[int, str, str]]
) -> None:
    assert list(taken_inside(source, "kellet.nn.module", False)) == found
