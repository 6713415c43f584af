"""Every example runs: in docstrings, in the README, and on the pages of `docs/`.

A page is one program. Its ```python blocks run in order, in one process of its own, in an empty
folder; a block written with `>>>` also checks what is printed. A block under the comment
`<!-- not run: why -->` is left out.
"""

from __future__ import annotations

import doctest
import importlib
import inspect
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import is_dataclass
from pathlib import Path

import pytest

from tests import processes
from tests.architecture.public import NAMES, OF_PACKAGER

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = {"kellet": ROOT / "src" / "kellet", "packager": ROOT / "packager"}
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE

PYTHON_BLOCK = re.compile(r"^```(?:python|pycon)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
IMPORTS_TORCH = re.compile(r"^(?:>>> )?(?:import|from) torch\b", re.MULTILINE)
NOT_RUN = re.compile(r"<!-- not run: [^>]+ -->\s*\Z")


def modules_with_examples() -> list[str]:
    found = []
    for package, folder in PACKAGES.items():
        for path in sorted(folder.rglob("*.py")):
            if ">>>" in path.read_text(encoding="utf-8"):
                parts = (package, *path.relative_to(folder).with_suffix("").parts)
                found.append(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
    return found


def blocks_of(page: str) -> list[tuple[int, str]]:
    """List the blocks of a page that run, each with the line of the page where it starts."""
    return [
        (page.count("\n", 0, match.start(1)) + 1, match.group(1))
        for match in PYTHON_BLOCK.finditer(page)
        if not NOT_RUN.search(page[: match.start()])
    ]


def program_of(page: str) -> str:
    """Turn a page into one program whose lines have the numbers of the page's lines.

    What a `>>>` block prints cannot be compared line by line in a program; such a block becomes one
    call of `doctest` over the names that the page has so far.
    """
    lines = [""] * (page.count("\n") + 1)
    for start, block in blocks_of(page):
        if block.lstrip().startswith(">>>"):
            lines[start - 1] = f"__check__({block!r}, {start}, globals())"
        else:
            lines[start - 1 : start - 1 + block.count("\n")] = block.splitlines()
    return "\n".join(lines) + "\n"


# Runs in the page's own process. The page is `__main__` there, with a file, as for a reader who pastes it.
RUNNER = f"""
import doctest, runpy, sys

def __check__(block, line, names):
    test = doctest.DocTestParser().get_doctest(block, names, sys.argv[1], sys.argv[1], line - 1)
    result = doctest.DocTestRunner(optionflags={OPTIONS}).run(test, clear_globs=False)
    names.update(test.globs)
    if result.failed:
        sys.exit(1)

runpy.run_path(sys.argv[1], {{"__check__": __check__}}, "__main__")
"""


def run_page(name: str, page: str, folder: Path) -> processes.CompletedProcess[str]:
    program, runner, work = folder / Path(name).with_suffix(".py").name, folder / "runner", folder / "work"
    program.write_text(program_of(page), encoding="utf-8")
    runner.write_text(RUNNER, encoding="utf-8")
    work.mkdir()
    command = [sys.executable, "-W", "error", str(runner), str(program)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    return processes.run(command, cwd=work, env=environment, capture_output=True, text=True, check=False)


def pages(*, with_torch: bool = False) -> list[Path]:
    """The pages that have something to run, and import torch or do not."""
    folders = ROOT / "docs"
    found = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(folders.rglob("*.md"))]
    programs = {
        path: "".join(block for _, block in blocks_of(path.read_text(encoding="utf-8")))
        for path in found
        if "_build" not in path.parts
    }
    return [
        path
        for path, program in programs.items()
        if program and bool(IMPORTS_TORCH.search(program)) == with_torch
    ]


@pytest.mark.parametrize("name", modules_with_examples())
def test_docstring_examples_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    module = importlib.import_module(name)
    imported = {"kellet": importlib.import_module("kellet")} if name.startswith("kellet.") else {}
    result = doctest.testmod(module, optionflags=OPTIONS, extraglobs=imported)
    assert result.attempted > 0, f"{name} holds >>> that doctest does not find: is it in a docstring?"
    assert result.failed == 0


def public_things(package: str) -> Iterator[tuple[str, object]]:
    """Yield what the modules of a package list in `__all__`, by dotted name: classes and functions."""
    for path in sorted(PACKAGES[package].rglob("*.py")):
        parts = (package, *path.relative_to(PACKAGES[package]).with_suffix("").parts)
        module = importlib.import_module(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
        for name in getattr(module, "__all__", ()):
            thing = getattr(module, name)
            if inspect.isclass(thing) or inspect.isroutine(thing):
                yield f"{module.__name__}.{name}", thing


def test_every_public_class_and_function_of_kellet_has_an_example() -> None:
    assert [name for name, thing in public_things("kellet") if ">>>" not in (thing.__doc__ or "")] == []


EVERY_METHOD = ("PackageExporter", "PackageImporter", "Policy")


def public_methods(cls: type) -> dict[str, str]:
    """Map the public methods that a class defines itself, without properties, to their docstrings."""
    found = {name: getattr(cls, name) for name in vars(cls) if not name.startswith("_")}
    return {name: thing.__doc__ or "" for name, thing in found.items() if inspect.isroutine(thing)}


def needs_example(thing: object) -> bool:
    """Check whether a public object of packager is a class or function that an example can show.

    It is not for exceptions, and for records that a public call returns: frozen dataclasses and named
    tuples without methods of their own.
    """
    if not inspect.isclass(thing):
        return inspect.isroutine(thing)
    is_record = issubclass(thing, tuple) or (is_dataclass(thing) and thing.__dataclass_params__.frozen)
    return not issubclass(thing, BaseException) and not (is_record and not public_methods(thing))


def packager_api() -> dict[str, object]:
    """Map dotted names to the classes and functions of packager's public API that need an example."""
    found = {
        f"{module}.{name}": getattr(importlib.import_module(module), name)
        for module in OF_PACKAGER
        if module != "packager.mlflow"  # tests/mlflow runs its guide, where MLflow is
        for name in NAMES[module]
    }
    return {name: thing for name, thing in found.items() if needs_example(thing)}


def test_every_public_class_and_function_of_packager_has_an_example() -> None:
    missing = []
    for name, thing in packager_api().items():
        texts = [thing.__doc__ or "", *(public_methods(thing).values() if inspect.isclass(thing) else ())]
        if not any(">>>" in text for text in texts):
            missing.append(name)
    assert missing == []


@pytest.mark.parametrize("name", EVERY_METHOD)
def test_every_method_of_the_main_classes_of_packager_has_an_example(name: str) -> None:
    methods = public_methods(getattr(importlib.import_module("packager"), name))
    assert [method for method, text in methods.items() if ">>>" not in text] == []


@pytest.mark.parametrize("path", pages(), ids=lambda path: str(path.relative_to(ROOT)))
def test_pages_run(path: Path, tmp_path: Path) -> None:
    name = str(path.relative_to(ROOT))
    ran = run_page(name, path.read_text(encoding="utf-8"), tmp_path)
    assert ran.returncode == 0, f"{name} does not run:\n{ran.stdout}{ran.stderr}"


def test_the_readme_runs_without_torch(tmp_path: Path) -> None:
    """Its blocks stand alone; those that import torch run where torch is."""
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    for _, block in blocks_of(page):
        if IMPORTS_TORCH.search(block):
            page = page.replace(block, "\n" * block.count("\n"))
    ran = run_page("README.md", page, tmp_path)
    assert ran.returncode == 0, f"README.md does not run:\n{ran.stdout}{ran.stderr}"


def test_a_wrong_output_on_a_page_fails(tmp_path: Path) -> None:
    page = "# Title\n\n```python\nx = 2\n```\n\n```python\n>>> x + 1\n4\n```\n"
    ran = run_page("page.md", page, tmp_path)
    assert ran.returncode == 1
    assert 'page.py", line 8' in ran.stdout
    assert "Got:\n    3" in ran.stdout


def test_an_error_on_a_page_names_the_line_of_the_page(tmp_path: Path) -> None:
    ran = run_page("page.md", "text\n\n```python\nx = 1\nraise SystemError\n```\n", tmp_path)
    assert ran.returncode == 1
    assert 'page.py", line 5' in ran.stderr


def test_a_block_marked_as_not_run_is_left_out() -> None:
    page = "<!-- not run: needs a network -->\n```python\nraise SystemError\n```\n\n```python\nx = 1\n```\n"
    assert blocks_of(page) == [(7, "x = 1\n")]
