"""Count in how many files of a folder PyTorch's names are used, and write `fixtures/habits/counts.txt`.

    python docs/count_habits.py FOLDER ... --source "pytorch/examples 77f55b9" ...

The folders are checkouts of PyTorch's tutorials and examples; each `--source` is a line at the top of the
table. `docs/habits.py` has to have a line for each name that is used in LEAST files or more, which
tests/parity/test_habits.py holds. Files are read, and never run. Run it where torch is installed.

A name counts where it is reached from an import (`nn.Linear` after `from torch import nn`), and, as
`Tensor.name`, where a method that tensors have is called on anything that is not a module; names that
strings, lists, dictionaries and files have too are left out there, as nothing tells which of them is meant.
"""

from __future__ import annotations

import argparse
import ast
import io
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

COUNTS = Path(__file__).resolve().parents[1] / "fixtures" / "habits" / "counts.txt"

LEAST = 5
"""In how many files a name is used that has to be among the habits."""

OTHERS = (str, bytes, list, dict, set, tuple, int, io.StringIO, io.BytesIO, Path, Counter)
"""What is called besides tensors: a method that one of these has may be theirs."""


def names_in(source: str, known: dict[str, str] | None = None) -> set[str]:
    """Return the names of PyTorch that a text in Python uses, dotted, without the leading `torch.`.

    `known` maps the names that are there before the first line to dotted ones.

    Raises SyntaxError for what is no Python.
    """
    tree = ast.parse(source)
    bound = {**(known or {}), **dict(_imported(tree))}
    found = {name for node in ast.walk(tree) for name in _used(node, bound)}
    return {name for name in map(_public, found) if name}


def _imported(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "torch":
                    yield (alias.asname, alias.name) if alias.asname else ("torch", "torch")
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "torch":
            for alias in node.names:
                yield alias.asname or alias.name, f"{node.module}.{alias.name}"


def _used(node: ast.AST, bound: dict[str, str]) -> Iterator[str]:
    if isinstance(node, ast.Attribute | ast.Name) and isinstance(node.ctx, ast.Load):
        dotted = _dotted(node, bound)
        if dotted:
            yield dotted
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        method = node.func.attr
        if not _dotted(node.func, bound) and method in _methods():
            yield f"torch.Tensor.{method}"


def _dotted(node: ast.AST, bound: dict[str, str]) -> str:
    """The dotted name that a chain of attributes stands for, where its first name is an import of torch."""
    if isinstance(node, ast.Name):
        return bound.get(node.id, "")
    if isinstance(node, ast.Attribute):
        before = _dotted(node.value, bound)
        return f"{before}.{node.attr}" if before else ""
    return ""


@cache
def _methods() -> frozenset[str]:
    tensor = import_module("torch").Tensor
    taken = {name for other in OTHERS for name in dir(other)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        called = {name for name in dir(tensor) if name[0] != "_" and callable(getattr(tensor, name, None))}
    return frozenset(called - taken)


@cache
def _public(dotted: str) -> str:
    """The name as it is listed: where it ends in PyTorch, under its usual address; nothing for packages."""
    value: Any = import_module("torch")
    parts: list[str] = []
    for part in dotted.split(".")[1:]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if not hasattr(value, part):
                with suppress(ImportError):
                    import_module(".".join(["torch", *parts, part]))
            if not hasattr(value, part):
                return ""  # of another version
            value = getattr(value, part)
        parts.append(part)
        # `torch.ops` makes what is asked of it; of classes, the methods of tensors alone are told apart.
        if type(value) is not ModuleType and parts != ["Tensor"]:
            break
    if isinstance(value, ModuleType) or any(part.startswith("_") for part in parts):
        return ""
    name = ".".join(parts)
    for long, short in (("nn.modules.", "nn."), ("optim.adam.", "optim."), ("nn.parameter.", "nn.")):
        name = f"{short}{name.rpartition('.')[2]}" if name.startswith(long) else name
    return name


def counted(folders: Iterable[Path]) -> tuple[Counter[str], int]:
    """Return in how many files each name is used, and how many files were read."""
    counts: Counter[str] = Counter()
    files = 0
    for path in sorted(one for folder in folders for one in folder.rglob("*.py")):
        with suppress(SyntaxError, UnicodeDecodeError), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            counts.update(names_in(path.read_text(encoding="utf-8")))
            files += 1
    return counts, files


def table() -> dict[str, int]:
    """Read the table: names, and in how many files they are used."""
    lines = [line for line in COUNTS.read_text(encoding="utf-8").splitlines() if line and line[0] != "#"]
    return {name: int(count) for count, name in (line.split() for line in lines)}


def main() -> None:
    """Count, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument(
        "--source", action="append", default=[], help="where a folder is from, and its commit"
    )
    given = parser.parse_args()
    counts, files = counted(given.folders)
    head = [
        "# In how many files PyTorch's names are used; written by docs/count_habits.py.",
        *(f"# from {source}" for source in given.source),
        f"# {files} files; names that fewer than two of them use are left out",
        "",
    ]
    rows = sorted((-count, name) for name, count in counts.items() if count > 1)
    COUNTS.write_text(
        "\n".join([*head, *(f"{-count} {name}" for count, name in rows)]) + "\n", encoding="utf-8"
    )
    print(f"{len(rows)} names of {files} files in {COUNTS}")


if __name__ == "__main__":
    main()
