"""Computed imports in live code, as questions: the modules that the name could mean, with their sizes."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

from packager.graph.library import Library, Volume
from packager.graph.records import Candidate, Question
from packager.graph.scan import Dynamic

__all__ = ["candidate_names", "question_for", "question_id"]


def question_id(volume: Volume, dynamic: Dynamic) -> str:
    """File, line and function of a computed import: the same as long as the source is."""
    function = volume.scan.blocks[dynamic.block].function
    return f"{volume.found.file or volume.name}:{dynamic.line}" + (f":{function}" if function else "")


def question_for(
    library: Library, volume: Volume, dynamic: Dynamic, decided: set[str], measured: dict[str, Candidate]
) -> Question:
    """The question about one site; modules that are in already are no candidates.

    `measured` keeps candidates from one question to the next.
    """
    names = [name for name in candidate_names(library, volume, dynamic) if name not in decided]
    return Question(
        id=question_id(volume, dynamic),
        importer=volume.name,
        file=volume.found.file,
        line=dynamic.line,
        function=volume.scan.blocks[dynamic.block].function,
        text=dynamic.text,
        pattern=_absolute_pattern(volume, dynamic),
        candidates=tuple(_candidate(library, name, measured) for name in names),
    )


def candidate_names(library: Library, volume: Volume, dynamic: Dynamic) -> list[str]:
    """The modules that exist and whose names match the literal part of a computed one."""
    pattern = _absolute_pattern(volume, dynamic)
    first, *rest = pattern.split(".")
    if not first or "*" in first:
        return []  # nothing says where to look
    names = [first] if library.exists(first) else []
    for part in rest:
        if "*" in part:
            below = [child for name in names for child in library.submodules(name)]
            names = [child for child in below if fnmatchcase(child.rpartition(".")[2], part)]
        else:
            names = [f"{name}.{part}" for name in names if library.exists(f"{name}.{part}")]
    return names


def _absolute_pattern(volume: Volume, dynamic: Dynamic) -> str:
    if not dynamic.pattern or dynamic.level == 0:
        return dynamic.pattern
    base = volume.name if dynamic.anchor == "name" else volume.package
    parts = base.split(".") if base else []
    if len(parts) < dynamic.level:
        return ""
    return ".".join([*parts[: len(parts) - dynamic.level + 1], dynamic.pattern])


def _candidate(library: Library, name: str, measured: dict[str, Candidate]) -> Candidate:
    """A module and, where it is a package, everything below it."""
    if name in measured:
        return measured[name]
    waiting, modules, size = [name], 0, 0
    while waiting:
        current = waiting.pop()
        modules += 1
        size += library.size(current)
        waiting.extend(_below(library, current))
    measured[name] = Candidate(name, modules, size)
    return measured[name]


def _below(library: Library, name: str) -> Sequence[str]:
    return library.submodules(name) if library[name].found.is_package else ()
