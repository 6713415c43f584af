"""A codec for blank pipelines of spaCy: the language, a sentencizer, and words that were met.

A pipeline is made anew by spaCy itself, as `spacy.blank` does. Its own form names functions of a registry,
which are looked up and called, so that no bytes of it are stored: what differs from a blank pipeline is
refused, and told. Since spaCy asks its registry, and whoever is installed beside it, also for a blank one,
the class is named, and data alone needs `trust=` for it. Trained pipelines are packages of their own.
"""

from __future__ import annotations

import re
from importlib.util import find_spec
from typing import Any, Final

from packager._codecs import CannotStore, Library, Node, PartsCodec, expect, kinds
from packager._texts import listed

_LANGUAGE: Final = re.compile(r"[a-z]{2,3}")
_PIPE: Final = "sentencizer"
_MARKS: Final = 1 << 16
_INSTEAD: Final = (
    "make a package of it with the command spacy package, and load it by name: spacy.load(name)",
    "save nlp.to_bytes(), and load it in your code: nlp.from_bytes(data)",
)


def _taken_apart(obj: Any) -> Node:
    """Return the language and what was added. Raises CannotStore for more than a blank pipeline."""
    lang = obj.lang
    if not _is_language(lang):
        raise CannotStore(f"a pipeline of the language {lang!r}, which spaCy lacks", *_INSTEAD)
    if obj.pipe_names not in ([], [_PIPE]):
        raise CannotStore(f"a pipeline of spaCy with {listed(obj.pipe_names)}", *_INSTEAD)
    marks = sorted(obj.get_pipe(_PIPE).punct_chars) if obj.pipe_names else None
    fresh = _made(lang, marks)
    for what, of in _PARTS.items():
        if of(obj) != of(fresh):
            raise CannotStore(f"a blank pipeline of spaCy with {what} of its own", *_INSTEAD)
    known = set(fresh.vocab.strings)
    words = [word for word in obj.vocab.strings if word not in known]
    return Node([lang, None if marks is None else "".join(marks)], (type(obj), words))


def _are_language_and_marks(literal: Any) -> bool:
    known = kinds(str, str)(literal) or kinds(str, type(None))(literal)
    return known and _LANGUAGE.fullmatch(literal[0]) is not None and len(literal[1] or "") <= _MARKS


def _pipeline(literal: Any, cls: Any, words: list[Any]) -> Any:
    lang, marks = literal
    expect(_is_language(lang), "a language of spaCy", lang)
    expect(all(type(word) is str for word in words), "words")
    made = _made(lang, None if marks is None else list(marks))
    expect(type(made) is cls, f"the class of {lang}", getattr(cls, "__name__", "?"))
    for word in words:
        made.vocab.strings.add(word)
    return made


def _is_language(lang: Any) -> bool:
    """Return whether spaCy itself has a language of this code; none of another distribution is asked."""
    known = type(lang) is str and _LANGUAGE.fullmatch(lang) is not None
    return known and find_spec(f"spacy.lang.{lang}") is not None


def _made(lang: str, marks: list[str] | None) -> Any:
    import spacy

    made = spacy.blank(lang)
    if marks is not None:
        made.add_pipe(_PIPE, config={"punct_chars": marks})
    return made


def _tables(lookups: Any) -> Any:
    return sorted((name, len(lookups.get_table(name))) for name in lookups.tables)


def _config(nlp: Any) -> Any:
    found = {name: part for name, part in nlp.config.items() if name != "components"}
    return {**found, "components": sorted(nlp.config["components"])}


_PARTS: Final[dict[str, Any]] = {
    "a class": type,
    "a tokenizer": lambda nlp: (type(nlp.tokenizer), nlp.tokenizer.to_bytes(exclude=["vocab"])),
    "a configuration": _config,
    "vectors": lambda nlp: nlp.vocab.vectors.shape,
    "look-up tables": lambda nlp: _tables(nlp.vocab.lookups),
    "a description": lambda nlp: dict(nlp.meta),
}


CODECS: Final = (
    # The language, and the marks of the sentencizer or None; then the class, and words that were met.
    PartsCodec("spacy.blank", ("spacy.language:Language",), "global list",
          "a language, marks, a class and words",
          _taken_apart, _pipeline, _are_language_and_marks, creates=True, is_data="library",
          claimed=lambda cls: cls.__module__.startswith("spacy.lang.") or cls.__module__ == "spacy.language"),
)  # fmt: skip

LIBRARY: Final = Library("spacy", "spacy", codecs=CODECS)
