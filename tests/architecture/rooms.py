"""The rooms of both packages, from the ground up, and who imports whom; read with `ast`, nothing is imported.

An import counts wherever it stands: at the top, inside a function, under TYPE_CHECKING, or as a literal
`import_module`. `test_rooms.py` holds the imports to the order; `docs/draw_rooms.py` draws it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

__all__ = ["PACKAGES", "ROOMS", "Import", "heights", "imports_of", "modules_of", "read_imports", "room_of"]
__all__ += ["statements_of"]

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = {"kellet": ROOT / "src" / "kellet", "packager": ROOT / "packager"}

# From the ground up. A room may import itself and what stands before it; the package's own
# `__init__` stands on top of all. `utils` holds PyTorch's spellings of names that live elsewhere.
ROOMS = {
    "kellet": (
        (
            "absent listing errors public_names hooks futures dtype_table dtypes limits cuda "
            "accelerator backends"
        ),
        "rules",
        "autograd",
        "core",
        "distributed",
        "linalg nn",
        "files",
        "optim data",
        "testing",
        "utils",
        "__init__",
    ),
    "packager": (
        (
            "_picklable_errors _texts _lazy errors _names _arguments _quick_dataclasses "
            "_version _globs _toml_text _spelled_json _byte_ranges _without_locks _file_access _atomic _disk "
            "_caches _kept_file _process _notebook_line _notebook_page"
        ),
        "_tensors",
        "_remote",
        "_archive",
        "_signing",
        "_graph",
        "_policy",
        "_environment",
        "_licenses",
        "_codecs",
        "_objects",
        "_audit",
        "_libraries",
        "_state_dicts",
        "_ranks",
        "_weights",
        "_migrations",
        "_calls",
        "_pretrained",
        "_exporting",
        "_loading",
        "_drafting",
        "package_importer",
        "_serving",
        "_differences",
        "_report",
        "_proving",
        "package_exporter _load _save",
        "_analysis testing _cli",
        "analyze libraries migrations mlflow policy weights",
        "__init__ __main__",
    ),
}


@dataclass(frozen=True)
class Import:
    """One import statement, or literal `import_module` call: which module, and where it stands."""

    target: str
    line: int
    at_top: bool
    guarded: bool
    typing_only: bool


def modules_of(package: str, folder: Path) -> dict[str, Path]:
    """Map dotted names to files; a package's name stands for its `__init__`."""
    found = {}
    for path in sorted(folder.rglob("*.py")):
        parts = (package, *path.relative_to(folder).with_suffix("").parts)
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def statements_of(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield the statements of a file at any depth, without what stands in them: a tenth of all nodes."""
    left: list[ast.AST] = [tree]
    while left:
        node = left.pop()
        yield node
        left += _statements_in(node)


def _statements_in(node: ast.AST) -> Iterator[ast.AST]:
    for name in ("body", "orelse", "handlers", "finalbody", "cases"):
        if isinstance(held := getattr(node, name, None), list):
            yield from held


def imports_of(source: str, module: str, is_package: bool, known: set[str]) -> list[Import]:
    """List what `module` imports; `from a import b` names a.b where that is a module in `known`."""
    found: list[Import] = []
    has_typing = "TYPE_CHECKING" in source
    calls = "import_module" in source or "__import__" in source
    left: list[tuple[ast.AST, bool, bool, bool]] = [(ast.parse(source), True, False, False)]
    while left:
        node, at_top, guarded, typing_only = left.pop()
        found += [
            Import(target, getattr(node, "lineno", 0), at_top, guarded, typing_only)
            for target in _targets(node, module, is_package, known)
        ]
        at_top = at_top and not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        guarded = guarded or (isinstance(node, ast.Try) and _catches_import_error(node))
        typing_only = typing_only or (
            has_typing and isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        )
        inside = ast.iter_child_nodes(node) if calls else _statements_in(node)
        left += [(child, at_top, guarded, typing_only) for child in inside]
    return sorted(found, key=lambda each: each.line)


def _targets(node: ast.AST, module: str, is_package: bool, known: set[str]) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        base = _absolute(node.module or "", node.level, module, is_package)
        return [full if (full := f"{base}.{alias.name}") in known else base for alias in node.names]
    if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        name = node.args[0].value
        if called in {"import_module", "__import__"} and isinstance(name, str):
            level = len(name) - len(name.lstrip("."))
            return [_absolute(name.lstrip("."), level, module, is_package)]
    return []


def _absolute(name: str, level: int, module: str, is_package: bool) -> str:
    if level == 0:
        return name
    parts = module.split(".")
    base = parts[: len(parts) - (level - 1 if is_package else level)]
    return ".".join([*base, name] if name else base)


def _catches_import_error(node: ast.Try) -> bool:
    names = {"ImportError", "ModuleNotFoundError"}
    caught = [handler.type for handler in node.handlers if handler.type is not None]
    return any(isinstance(n, ast.Name) and n.id in names for t in caught for n in ast.walk(t))


def room_of(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


def heights(package: str) -> dict[str, int]:
    """Rooms on one line stand in their order, so the list is one line of rooms."""
    return {room: n for n, room in enumerate(" ".join(ROOMS[package]).split())}


def read_imports() -> dict[str, list[Import]]:
    """Return what each file of both packages imports, by dotted name.

    What `packager.errors` tells type checkers of the errors of rooms is no import.
    """
    files = {
        name: path
        for package, folder in PACKAGES.items()
        for name, path in modules_of(package, folder).items()
    }
    found = {
        name: imports_of(path.read_text(encoding="utf-8"), name, path.name == "__init__.py", set(files))
        for name, path in files.items()
    }
    found["packager.errors"] = [one for one in found["packager.errors"] if not one.typing_only]
    return found
