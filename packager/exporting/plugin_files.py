"""Questions about files that code runs by their paths: what those among the stored files import."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from packager.graph import Candidate, Question, source_text
from packager.quick_dataclasses import replace

from .plan import PlannedEntry

_LOADERS = ("spec_from_file_location", "SourceFileLoader", "run_path")


def with_imports_of_files(
    questions: Iterable[Question], files: Sequence[PlannedEntry], is_missing: Callable[[str], bool]
) -> Iterator[Question]:
    """Yield questions; those about files have the modules as candidates that the stored files import.

    Where a module runs files in one place, names them itself, and all that they import is in, none is asked.
    `is_missing` says of a module that it is here, and neither stored nor left to the target.
    """
    asked = list(questions)
    places = Counter(question.importer for question in asked if _runs_files(question))
    for question in asked:
        named = [
            file for file in files if file.name.endswith(".py") and question.file in _files_of(file.because)
        ]
        if not _runs_files(question) or places[question.importer] > 1 or not named:
            yield question
            continue
        imported = [_imported_by(file) for file in named]
        missing = sorted({name for names in imported for name in names or () if is_missing(name)})
        if missing or None in imported:
            yield replace(question, candidates=tuple(Candidate(name, 1, 0) for name in missing))


def _runs_files(question: Question) -> bool:
    return any(loader in question.text for loader in _LOADERS)


def _files_of(because: str) -> set[str]:
    """Return the files whose lines a sentence names: of "kit/plug.py:3", that is "kit/plug.py"."""
    return {word.rpartition(":")[0] for word in because.split()}


def _imported_by(file: PlannedEntry) -> set[str] | None:
    """Return the modules that a file may import; None where its text does not tell."""
    try:
        tree = ast.parse(source_text(bytes(file.read()), file.name))
    except (SyntaxError, ValueError):
        return None
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            if node.level or node.module is None:
                return None  # relative to a package that the one who runs the file gives it
            found.add(node.module)
            found.update(f"{node.module}.{alias.name}" for alias in node.names if alias.name != "*")
    return found
