"""Every public name is on a page of the reference, and no inner one; pages and examples do with them."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

import packager
from packager.errors import PackageError
from tests.architecture.public import MODULES, NAMES, OF_PACKAGER, reference
from tests.architecture.rooms import PACKAGES, ROOT, modules_of

PAGES = {page.module: page for page in reference.pages_of(MODULES)}
FROM_A_ROOM = re.compile(r"^\W*(?:from packager\._|import packager\._)", re.MULTILINE)
INNER = set("absent core dtype_table dtypes files hooks limits listing public_names rules".split())


@pytest.mark.parametrize("module", MODULES)
def test_every_public_name_is_on_a_page(module: str) -> None:
    page, text = PAGES[module], PAGES[module].text()
    assert sorted([*page.own, *page.elsewhere]) == sorted(NAMES[module])
    described = re.findall(r"^\.\. (?:auto\w+|py:data):: ([\w.]+)$", text, re.MULTILINE)
    assert {f"{module}.{name}" for name in page.own} <= set(described)
    assert [name for name in NAMES[module] if f":py:obj:`{name} <" not in text] == []


def test_the_public_modules_of_packager_are_those_without_an_underscore() -> None:
    spelt = [name for name in modules_of("packager", PACKAGES["packager"]) if "._" not in name]
    apart = {"packager.package_exporter", "packager.package_importer"}  # where torch.package has the classes
    parts_of_testing = {name for name in spelt if name.startswith("packager.testing.")}
    assert sorted(OF_PACKAGER) == sorted({*spelt} - apart - parts_of_testing - {"packager.__main__"})


def test_inner_rooms_of_kellet_have_no_page() -> None:
    assert [name for name in MODULES if name.split(".")[:2] in [["kellet", room] for room in INNER]] == []


@pytest.mark.parametrize("module", reference.GROUPS)
def test_groups_of_a_page_name_what_is_public_once(module: str) -> None:
    named = " ".join(reference.GROUPS[module].values()).split()
    assert len(named) == len(set(named))
    assert set(named) <= set(NAMES[module])
    assert [title for title in PAGES[module].groups if title == "Others"] == []


def test_a_constant_is_not_described_as_one_of_its_name_in_another_room() -> None:
    said = reference._said_of
    assert said("packager.libraries", "PLAIN", packager.libraries.PLAIN) == "`'plain data'`"
    assert said("packager.migrations", "WRAPPERS", packager.migrations.WRAPPERS).startswith("What Distrib")


def test_methods_of_inner_bases_are_described_with_the_class_that_users_know() -> None:
    text = PAGES["kellet.nn"].text()
    assert ":: kellet.nn.Module\n   :members:\n   :inherited-members: object\n" in text
    assert ":: kellet.nn.Linear\n   :members:\n```" in text
    inherited = "Module, ModuleCall, ModuleTree, StateLoading, StateSaving, Members, object"
    assert f":: kellet.nn.ReLU\n   :members:\n   :inherited-members: {inherited}\n" in text


# --- what calls give ---

CLASSES = {
    node.name
    for path in modules_of("packager", PACKAGES["packager"]).values()
    for node in ast.parse(path.read_text(encoding="utf-8")).body
    if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
}


def given_by(node: ast.stmt) -> Iterator[str]:
    """Yield the annotations of what a function, or the public methods and fields of a class, give."""
    for part in [node, *(node.body if isinstance(node, ast.ClassDef) else ())]:
        if isinstance(part, ast.FunctionDef) and part.returns and not part.name.startswith("_"):
            yield ast.unparse(part.returns)
        elif isinstance(part, ast.AnnAssign) and not ast.unparse(part.target).startswith("_"):
            yield ast.unparse(part.annotation)


@pytest.mark.parametrize("module", [one for one in OF_PACKAGER if one != "packager.errors"])
def test_what_public_calls_give_is_described(module: str) -> None:
    public = {name for one in OF_PACKAGER for name in NAMES[one]}
    listed = [names for homes in reference.GIVEN.values() for names in homes.values()]
    known, unknown = public | set(" ".join(listed).split()), []
    for name in PAGES[module].own:
        thing = getattr(importlib.import_module(module), name)
        if inspect.isclass(thing) or inspect.isroutine(thing):
            node = ast.parse(textwrap.dedent(inspect.getsource(thing))).body[0]
            words = {word for text in given_by(node) for word in re.findall(r"\b[A-Z]\w+", text)}
            unknown += [f"{name}: {word}" for word in sorted(words & CLASSES - known)]
    assert unknown == [], "make it public, or describe it beside the call: GIVEN of docs/reference.py"


def test_every_error_and_warning_of_packager_is_found_in_its_errors() -> None:
    errors = importlib.import_module("packager.errors")
    for home in errors._OF_ROOMS:
        importlib.import_module(f"packager.{home}")
    for module, path in modules_of("packager", PACKAGES["packager"]).items():
        if re.search(r"^class \w+(?:Error|Warning)\(", path.read_text(encoding="utf-8"), re.MULTILINE):
            importlib.import_module(module)
    left: list[type] = [PackageError]
    inner = []
    while left:
        cls = left.pop()
        left += cls.__subclasses__()
        if cls.__module__.split(".")[0] == "packager" and getattr(errors, cls.__name__, None) is not cls:
            inner.append(cls)
        assert cls.__module__ in ("packager.errors", *MODULES) or not cls.__module__.startswith("packager")
    assert inner == []
    assert {"CacheWarning", "EnvironmentWarning"} <= set(errors.__all__)


# --- public names are enough ---


def pages() -> list[Path]:
    found = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [path for path in found if not {"_build", "modules"} & set(path.parts)]


def test_pages_import_public_names_alone() -> None:
    assert [str(path) for path in pages() if FROM_A_ROOM.search(path.read_text(encoding="utf-8"))] == []


@pytest.mark.parametrize("module", OF_PACKAGER)
def test_examples_of_public_names_import_public_names_alone(module: str) -> None:
    offered = importlib.import_module(module)
    wrong = []
    for name in NAMES[module]:
        thing = getattr(offered, name)
        members = vars(thing).values() if inspect.isclass(thing) else ()
        texts = [inspect.getdoc(one) or "" for one in (thing, *members)]
        wrong += [name for text in texts if re.search(r"^\s*(?:>>>|\.\.\.).*packager\._", text, re.MULTILINE)]
    assert wrong == []


def test_flows_take_what_is_public_from_where_users_find_it() -> None:
    public = {id(getattr(importlib.import_module(one), name)) for one in OF_PACKAGER for name in NAMES[one]}
    wrong = []
    for path in sorted((ROOT / "tests" / "flows").glob("*.py")):
        text = path.read_text(encoding="utf-8")
        for room, names in re.findall(r"from (packager\._[\w.]+) import (\([^)]*\)|[\w, ]+)", text):
            taken = [n for n in re.findall(r"\w+", names) if id(_of(room, n)) in public]
            wrong += [f"{path.name}: {name}" for name in taken]
    assert wrong == []


def _of(room: str, name: str) -> object:
    return getattr(importlib.import_module(room), name, None)
