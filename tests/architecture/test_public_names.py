"""`__all__` is exactly what is public, and what is public says what it is for.

A public module is a package's `__init__`, a file at the top of a package, or one of the places where PyTorch
has a name (`kellet.utils`, `kellet.nn.modules`). An `__init__` of kellet lists what it offers, or gathers
what the files of its room define (`functions_of`, `classes_of`). Names that start with an underscore are not
public, nor is what lies under one: so begin the rooms of packager.
"""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from tests.tables import one_test

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = {"kellet": ROOT / "src" / "kellet", "packager": ROOT / "packager"}


SPELLINGS = ("kellet.utils", "kellet.nn.modules")


def public_modules() -> Iterator[tuple[str, Path]]:
    for package, folder in PACKAGES.items():
        for path in sorted(folder.rglob("*.py")):
            inner = path.relative_to(folder).with_suffix("").parts
            is_init = inner[-1] == "__init__"
            parts = inner[:-1] if is_init else inner
            name = ".".join((package, *parts))
            if any(part.startswith("_") for part in parts):
                continue
            is_room = is_init and name.count(".") < 3
            is_file = len(parts) == 1
            if is_room or is_file or name.startswith(SPELLINGS):
                yield name, path


def declared_all(tree: ast.Module, module: str = "") -> list[str] | None:
    """Read `__all__` from a file: names, the lists of other files (`*file.__all__`), and what is gathered."""
    files = _files_imported(tree, module)
    gathered = _gathered(tree, module)
    for node in _statements(tree.body):
        if isinstance(node, ast.Assign) and [ast.unparse(t) for t in node.targets] == ["__all__"]:
            assert isinstance(node.value, ast.List)
            found: list[str] = []
            for item in node.value.elts:
                if isinstance(item, ast.Starred) and ast.unparse(item.value) in gathered:
                    found += gathered[ast.unparse(item.value)]
                elif isinstance(item, ast.Starred):
                    file, _, attribute = ast.unparse(item.value).rpartition(".")
                    assert attribute == "__all__"
                    found += _all_of(files[file])
                else:
                    found.append(ast.literal_eval(item))
            return found
    return None


def _gathered(tree: ast.Module, module: str) -> dict[str, list[str]]:
    """Map the variables that hold what `functions_of` or `classes_of` gathers to the names in it."""
    return {
        ast.unparse(node.targets[0]): [
            name
            for file in ast.literal_eval(node.value.args[1]).split()
            for name in _bound(f"{module}.{file}", functions=ast.unparse(node.value.func) == "functions_of")
        ]
        for node in _statements(tree.body)
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Call)
        and ast.unparse(node.value.func) in ("functions_of", "classes_of")
    }


def _bound(module: str, *, functions: bool) -> list[str]:
    """List the public functions, or classes, of a file: defined, or a method under a name of its own."""
    path = importlib.import_module(module).__file__
    assert path is not None
    names = []
    for node in ast.parse(Path(path).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef if functions else ast.ClassDef):
            names.append(node.name)
        elif functions and isinstance(node, ast.Assign) and isinstance(node.value, ast.Attribute | ast.Name):
            names += [t.id for t in node.targets if isinstance(t, ast.Name) and not t.id.isupper()]
    return [name for name in names if not name.startswith("_")]


def _files_imported(tree: ast.Module, module: str) -> dict[str, str]:
    """Map the names given by `from . import file` to the files, as `module`, a package, sees them."""
    return {
        alias.asname or alias.name: f"{_above(module, node)}{alias.name}"
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and node.level and node.module is None
        for alias in node.names
    }


def _above(module: str, node: ast.ImportFrom) -> str:
    """What a relative import begins with, and a dot, as `module`, a package, sees it."""
    parts = module.split(".")
    return ".".join(parts[: len(parts) + 1 - node.level]) + "."


def _all_of(module: str) -> list[str]:
    names: list[str] = importlib.import_module(module).__all__
    return names


def offered_names(tree: ast.Module, module: str = "") -> tuple[set[str], set[str]]:
    """Split what a file binds at its top into what must be in `__all__` and what may be.

    Classes, functions, re-exports (`import x as x`) and what another file lists (`from .x import *`)
    must; constants may.
    """
    must: set[str] = set()
    may: set[str] = set()
    for node in _statements(tree.body):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            must.add(node.name)
        elif isinstance(node, ast.ImportFrom) and node.names[0].name == "*":
            starred = getattr(importlib.import_module(f"{_above(module, node)}{node.module}"), "__all__", ())
            must |= set(starred)  # the files whose names are gathered have none
            may |= set(starred)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            must |= {alias.name for alias in node.names if alias.asname == alias.name}
            # `from .sub import x` in an `__init__` also binds `sub`, which may be offered by name.
            may |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            may |= {n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)}
    return {n for n in must if not n.startswith("_")}, may


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Walk the top level, also inside `if` and `try`: names bound there are bound at the top."""
    for node in body:
        yield node
        for part in ("body", "orelse", "finalbody", "handlers"):
            if isinstance(node, ast.If | ast.Try):
                for child in getattr(node, part, []):
                    yield from _statements(child.body if isinstance(child, ast.ExceptHandler) else [child])


MODULES = dict(public_modules())
# Rooms whose `__init__` imports names when they are first used: test_faces.py holds what they list.
LISTED = [name for name, path in MODULES.items() if "lazy_names(" not in path.read_text(encoding="utf-8")]


@pytest.fixture(params=sorted(MODULES))
def module_name(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@one_test
@pytest.mark.parametrize("module_name", LISTED)
def test_all_lists_exactly_what_is_public(module_name: str) -> None:
    path = MODULES[module_name]
    tree = ast.parse(path.read_text(encoding="utf-8"))
    package = module_name if path.name == "__init__.py" else module_name.rpartition(".")[0]
    names = declared_all(tree, package)
    must, may = offered_names(tree, package)
    if names is None:
        assert must == set(), (
            f"{module_name} offers {sorted(must)}: list them in __all__, or begin them with _"
        )
        return
    assert len(names) == len(set(names)), f"{module_name}.__all__ names something twice"
    assert must - set(names) == set(), f"missing from {module_name}.__all__"
    module = importlib.import_module(module_name)
    assert sorted(names) == sorted(getattr(module, "__all__", None) or ())
    unbound = [name for name in names if not hasattr(module, name)]
    assert unbound == [], f"{module_name}.__all__ lists what the module does not have"
    submodules = {n for n in names if isinstance(getattr(module, n), ModuleType)}
    gathered = {n for found in _gathered(tree, package).values() for n in found}
    strangers = set(names) - must - may - submodules - gathered
    assert strangers == set(), f"{module_name}.__all__ lists what the file does not bind"


def test_public_things_say_what_they_are_for(module_name: str) -> None:
    module = importlib.import_module(module_name)
    assert inspect.getdoc(module), f"{module_name} has no docstring"
    silent = []
    for name in getattr(module, "__all__", ()):
        thing = getattr(module, name)
        if inspect.isclass(thing) or inspect.isroutine(thing):
            said = thing.__dict__.get("__doc__") if inspect.isclass(thing) else thing.__doc__
            silent += [] if said else [name]
    assert silent == [], f"{module_name}: public, but without a docstring"


def test_public_things_come_from_the_house(module_name: str) -> None:
    module = importlib.import_module(module_name)
    borrowed = []
    for name in getattr(module, "__all__", ()):
        thing = getattr(module, name)
        home = getattr(thing, "__module__", None) or ""
        if inspect.isclass(thing) or inspect.isfunction(thing):
            borrowed += [] if home.split(".")[0] in PACKAGES else [f"{name} is {home}'s"]
    assert borrowed == []


@pytest.mark.parametrize(
    ("source", "must"),
    [
        ("def f(): ...", {"f"}),
        ("def _f(): ...", set()),
        ("from .x import Y as Y", {"Y"}),
        ("from .x import Y", set()),
        ("if TYPE_CHECKING:\n    from .x import Y as Y", {"Y"}),
        ("try:\n    pass\nexcept ImportError:\n    class C: ...", {"C"}),
        ("LIMIT = 3", set()),
    ],
)
def test_the_reader_of_files_sees_what_is_offered(source: str, must: set[str]) -> None:
    assert offered_names(ast.parse(source))[0] == must


def test_the_reader_of_files_adds_the_lists_of_other_files() -> None:
    imports = "from . import dtype_table as d\nfrom .dtype_table import *\n"
    tree = ast.parse(imports + 'if not TYPE_CHECKING:\n    __all__ = ["x", *d.__all__]')
    listed = importlib.import_module("kellet.dtype_table").__all__
    assert declared_all(tree, "kellet") == ["x", *listed]
    assert offered_names(tree, "kellet")[0] == set(listed)
