"""Questions as text, each with the line to paste that answers it as well as can be told here."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterable, Iterator

from packager.graph import Question
from packager.sizes import size_text
from packager.texts import counted

_MOST_NAMES = 8


def questions_text(questions: Iterable[Question], *, stored: Collection[str] | None = None) -> Iterator[str]:
    """Yield the questions and their candidates; with the modules that are `stored`, a line to paste, too."""
    for question in questions:
        named = f"{', '.join(question.named)}, and nothing else" if question.named else "nothing"
        taken = f"taken to load {named}"
        if question.kind == "probe":
            taken = "taken to find what is stored or left to the target, and nothing else"
        yield f"{question.id}  {question.text}  ({taken})"
        for candidate in question.candidates:
            modules = counted(candidate.modules, "module")
            yield f"    {candidate.name}: {modules}, {size_text(candidate.bytes)}"
        if stored is not None:
            yield f'  To paste: exporter.answer("{question.id}", {answer_to_paste(question, stored)}'


def answer_to_paste(question: Question, stored: Collection[str]) -> str:
    """Return the names of an answer with the bracket that ends it: the candidates, or what is loaded here.

    Where nothing is known, it says what is taken until another answer is given.
    """
    found = [candidate.name for candidate in question.candidates]
    if found and question.pattern:
        return '"all")'
    comment, others = "", f"or the modules that it {'finds' if question.kind == 'probe' else 'loads'}"
    if not found:
        found = list(question.named)
        comment = f"  # {others}"
    if not found:
        found = loaded_beside(question.importer, stored)[:_MOST_NAMES]
        comment = "  # loaded here, and not stored"
    if not found:
        return f'"none")  # {others}'
    spelt = ", ".join(f'"{name}"' for name in found)
    return f"[{spelt}]){comment}"


def loaded_beside(importer: str, stored: Collection[str]) -> list[str]:
    """Return the modules of the importer's package that are loaded here, and not stored.

    Beside a module of no package those of its folder.
    """
    top, dot, _ = importer.partition(".")
    loaded = {name: module for name, module in list(sys.modules.items()) if name not in stored}
    if dot or hasattr(sys.modules.get(top), "__path__"):
        return sorted(name for name in loaded if name.startswith(f"{top}."))
    folder = _folder_of(sys.modules.get(importer))
    beside = (name for name, module in loaded.items() if folder and _folder_of(module) == folder)
    return sorted(name for name in beside if "." not in name and name != "__main__")


def _folder_of(module: object) -> str:
    """Return the folder of a module's file; "" where it has none, or is of an installed package."""
    file = getattr(module, "__file__", None)
    folder = os.path.dirname(os.path.abspath(file)) if isinstance(file, str) else ""
    return "" if os.path.basename(folder) in ("site-packages", "dist-packages") else folder
