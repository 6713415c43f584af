"""Types that a user's type checker goes by; `make types` asks two of them about a script and ten mistakes."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = {"kellet": ROOT / "src" / "kellet", "packager": ROOT / "packager"}
MOST = 200
"""Of so many parameters no more is said than Any: objects of libraries without types, values out of files."""
OF_CODECS = {"encode", "decode", "fill", "finish"}
"""What every codec has: its object is of the class that the codec is for, which only its entry names."""


def functions(body: list[ast.stmt]) -> Iterator[ast.FunctionDef]:
    """Yield the functions and methods whose names, and whose classes' names, have no underscore in front."""
    for node in body:
        if isinstance(node, ast.If | ast.Try):
            yield from functions([*node.body, *node.orelse])
        elif isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            if isinstance(node, ast.FunctionDef):
                yield node
            else:
                yield from functions(node.body)


def parameters_of_any_type() -> list[str]:
    return [
        f"{path.relative_to(ROOT)}:{function.lineno}: {function.name}({parameter.arg})"
        for folder in PACKAGES.values()
        for path in sorted(folder.rglob("*.py"))
        for function in functions(ast.parse(path.read_text(encoding="utf-8")).body)
        if function.name not in OF_CODECS
        for parameter in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)
        if parameter.annotation is not None and ast.unparse(parameter.annotation) == "Any"
    ]


def test_few_parameters_may_be_anything() -> None:
    found = parameters_of_any_type()
    assert len(found) <= MOST, "\n".join(found)


def test_no_module_answers_type_checkers_for_every_name() -> None:
    """A module-level `__getattr__` that checkers see makes every misspelt name one that is there."""
    seen = [
        str(path.relative_to(ROOT))
        for folder in PACKAGES.values()
        for path in sorted(folder.rglob("*.py"))
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef | ast.Assign) and "__getattr__" in bound(node)
    ]
    assert seen == []


def bound(node: ast.FunctionDef | ast.Assign) -> set[str]:
    if isinstance(node, ast.FunctionDef):
        return {node.name}
    return {name.id for target in node.targets for name in ast.walk(target) if isinstance(name, ast.Name)}


def test_both_packages_say_that_they_have_types() -> None:
    assert all((folder / "py.typed").is_file() for folder in PACKAGES.values())
