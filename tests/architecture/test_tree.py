"""What lies in the tree: nothing half-done, nothing that a wheel would carry by mistake."""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import processes
from tests.architecture.rooms import statements_of

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = (ROOT / "src" / "kellet", ROOT / "packager")

UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX|HACK|[Pp]laceholder)\b")


def python_files() -> list[Path]:
    folders = [*PACKAGES, ROOT / "benchmarks", ROOT / "fixtures", ROOT / "docs", ROOT / "tests", ROOT / ".ci"]
    # Stored inputs are other people's code, or code made to be odd.
    inputs = {"_build", "packages", "golden"}
    return [
        path for folder in folders for path in sorted(folder.rglob("*.py")) if not inputs & set(path.parts)
    ]


def unfinished(source: str) -> Iterator[tuple[int, str]]:
    """Yield comments and docstrings that announce work not done."""
    if not UNFINISHED.search(source):
        return
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT and UNFINISHED.search(token.string):
            yield token.start[0], token.string
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node) or ""
            if UNFINISHED.search(text):
                yield getattr(node, "lineno", 1), text.splitlines()[0]


def changed_defaults(source: str) -> Iterator[int]:
    """Yield the lines that name the defaults of a function, other than to assert what they are."""
    if "defaults__" not in source:
        return
    tree = ast.parse(source)
    asserted = {
        id(node) for found in ast.walk(tree) if isinstance(found, ast.Assert) for node in ast.walk(found)
    }
    for node in ast.walk(tree):
        name = getattr(node, "attr", getattr(node, "value", None))
        if isinstance(name, str) and re.fullmatch("__(kw)?defaults__", name) and id(node) not in asserted:
            yield node.lineno


def empty_functions(source: str) -> Iterator[tuple[int, str]]:
    """Yield functions whose whole body is `...`, outside protocols, overloads and abstract methods."""
    if "..." not in source:
        return
    tree = ast.parse(source)
    functions = [n for n in statements_of(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    empty = [node for node in functions if _is_dots(node.body[-1])]
    if not empty:
        return
    protocols = [
        n
        for n in ast.walk(tree)
        if isinstance(n, ast.ClassDef) and any("Protocol" in ast.unparse(b) for b in n.bases)
    ]
    excused = {id(member) for protocol in protocols for member in ast.walk(protocol)}
    for node in empty:
        marks = {ast.unparse(mark).split(".")[-1] for mark in node.decorator_list}
        if id(node) not in excused and not marks & {"overload", "abstractmethod"}:
            yield node.lineno, node.name


def _is_dots(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and node.value.value is ...


def test_nothing_is_announced_as_unfinished() -> None:
    found = [
        f"{p.relative_to(ROOT)}:{n}: {s}"
        for p in python_files()
        for n, s in unfinished(p.read_text(encoding="utf-8"))
    ]
    assert found == []


def test_no_test_changes_the_defaults_of_a_function() -> None:
    """What a test says is what runs: with other defaults the same call would mean something else."""
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in sorted((ROOT / "tests").rglob("*.py"))
        for line in changed_defaults(path.read_text(encoding="utf-8"))
    ]
    assert found == []


def test_no_function_is_left_empty() -> None:
    product = [path for path in python_files() if any(path.is_relative_to(package) for package in PACKAGES)]
    found = [
        f"{p.relative_to(ROOT)}:{n}: {s}"
        for p in product
        for n, s in empty_functions(p.read_text(encoding="utf-8"))
    ]
    assert found == []


def test_pages_announce_nothing_unfinished() -> None:
    named = [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md"]
    pages = [*named, *(p for p in (ROOT / "docs").rglob("*.md") if "_build" not in p.parts)]
    assert [str(p.relative_to(ROOT)) for p in pages if UNFINISHED.search(p.read_text(encoding="utf-8"))] == []


def test_packages_hold_code_alone() -> None:
    """Whatever lies in them is in the wheel."""
    files = [path for package in PACKAGES for path in package.rglob("*") if path.is_file()]
    kept = [path for path in files if "__pycache__" not in path.parts]
    stray = [path for path in kept if path.suffix != ".py" and path.name != "py.typed"]
    assert stray == []


def test_a_folder_named_like_a_package_hides_nothing(tmp_path: Path) -> None:
    """As a checkout named like the package does for whoever stands beside it."""
    for name in ("kellet", "packager"):
        (tmp_path / name).mkdir()
    code = "import kellet, packager; print(kellet.nn.Linear.__name__, packager.PackageExporter.__name__)"
    done = processes.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout == "Linear PackageExporter\n"


def test_every_folder_with_code_is_a_package() -> None:
    folders = {path.parent for package in PACKAGES for path in package.rglob("*.py")}
    assert [str(f.relative_to(ROOT)) for f in sorted(folders) if not (f / "__init__.py").exists()] == []


def test_both_packages_are_marked_as_typed() -> None:
    assert [(package / "py.typed").read_bytes() for package in PACKAGES] == [b"", b""]


def test_every_silence_gives_its_reason() -> None:
    """`# type: ignore[code]` and `# noqa: code` are followed by why, in the same comment."""
    bare = re.compile(r"#\s*(?:type: ignore\[[\w\-, ]+\]|noqa: [A-Z0-9, ]+)\s*$")
    found = []
    for path in python_files():
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            found += [f"{path.relative_to(ROOT)}:{number}"] if bare.search(line) else []
    assert found == []


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("defaults = PackageExporter.__init__.__kwdefaults__\ndefaults['prove'] = False\n", [1]),
        ("f.__defaults__ = (1,)\nf.__kwdefaults__['a'] = 1\n", [1, 2]),
        ("monkeypatch.setattr(f, '__defaults__', (1,))\n", [1]),
        ("monkeypatch.setitem(f.__kwdefaults__, 'a', 1)\n", [1]),
        ("assert f.__defaults__ == (1,)\n", []),
        ("defaults = {}\n", []),
    ],
)
def test_changed_defaults_are_found(source: str, lines: list[int]) -> None:
    assert list(changed_defaults(source)) == lines


@pytest.mark.parametrize(
    ("source", "count"),
    [
        ("# TODO: later", 1),
        ('"""A placeholder."""', 1),
        ("todo = 1", 0),
        ("# says what is to do", 0),
    ],
)
def test_announcements_are_found_in_comments_and_docstrings(source: str, count: int) -> None:
    assert len(list(unfinished(source))) == count


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("def f(): ...", ["f"]),
        ('def f():\n    """Says much."""\n    ...', ["f"]),
        ("class P(Protocol):\n    def f(self): ...", []),
        ("@overload\ndef f(): ...", []),
        ("def f():\n    return 1", []),
    ],
)
def test_empty_functions_are_found(source: str, names: list[str]) -> None:
    assert [name for _, name in empty_functions(source)] == names


def test_pages_of_decisions_stay_short() -> None:
    words = {
        path.name: len(path.read_text(encoding="utf-8").split())
        for path in (ROOT / "docs/design").glob("*.md")
    }
    assert sum(words.values()) <= 12_000, words
    assert max(words.values()) <= 700, words  # one screen, and what is measured


def test_the_formats_can_be_read_in_one_sitting() -> None:
    words = {
        path.name: len(path.read_text(encoding="utf-8").split()) for path in (ROOT / "docs/spec").glob("*.md")
    }
    assert sum(words.values()) <= 10_000, words
