"""Docstrings as reStructuredText.

Docstrings here are plain text: paragraphs, lists, `names` between backticks, drawings and code set
in by spaces, `>>>` examples. Read as reStructuredText, a star or a trailing underscore would be
markup and a drawing an error, so each is rewritten block by block before Sphinx sees it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

ITEM = re.compile(r"^\s*(?:[-*]|\d+\.)\s+")
CODE = re.compile(r"(`+)(.+?)\1")
MARKUP = re.compile(r"([\\*|<>]|_(?!\w))")


def process(_app: object, _what: str, _name: str, _obj: object, _options: object, lines: list[str]) -> None:
    """Rewrite `lines` in place, as Sphinx asks of a listener."""
    lines[:] = to_rst(lines)


def to_rst(lines: list[str]) -> list[str]:
    """Rewrite a docstring, line by line; blocks are separated by blank lines.

    >>> to_rst(["Adds `x`, *twice*."])
    ['Adds ``x``, \\\\*twice\\\\*.', '']
    >>> to_rst(["A tree:", "", "    a", "    |-- b"])
    ['A tree:', '', '::', '', '    a', '    |-- b', '']
    """
    written: list[str] = []
    in_list = False
    for block in _blocks(lines):
        indent = _indent(block[0])
        if block[0].lstrip().startswith(">>>"):
            written += block
        elif ITEM.match(block[0]):
            in_list = True
            written += _items(block)
        elif indent and in_list:
            written += ["   " + escaped(line.strip()) for line in block]
        elif indent:
            written += ["::", "", *block]
        else:
            in_list = False
            written += _paragraph(block)
        written.append("")
    return written


def _blocks(lines: list[str]) -> Iterator[list[str]]:
    """Split at blank lines; also where an example begins, or a list, right under a paragraph.

    A literal block goes on over blank lines for as long as it stays set in: each part is its own
    block, which shows as one drawing after the other.
    """
    block: list[str] = []
    for line in [*lines, ""]:
        example_begins = line.lstrip().startswith(">>>") and block and not block[0].lstrip().startswith(">>>")
        list_begins = ITEM.match(line) and block and not ITEM.match(block[0]) and not _indent(block[0])
        if block and (not line.strip() or example_begins or (list_begins and not _is_example(block))):
            yield block
            block = []
        if line.strip():
            block.append(line)


def _is_example(block: list[str]) -> bool:
    return block[0].lstrip().startswith(">>>")


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _paragraph(block: list[str]) -> list[str]:
    """Join a paragraph's lines at one depth: a line set in under another is its continuation."""
    return [escaped(line.strip()) for line in block]


def _items(block: list[str]) -> list[str]:
    """Set each item's further lines under its text, whatever their depth in the docstring."""
    written = []
    width = 0
    for line in block:
        mark = ITEM.match(line)
        if mark:
            width = len(mark.group().strip()) + 1
            written += ["", f"{mark.group().strip()} {escaped(line[mark.end() :].strip())}"]
        else:
            written.append(" " * width + escaped(line.strip()))
    return written[1:]


def escaped(text: str) -> str:
    """Make code of what stands between backticks, and plain text of the rest."""
    written, last = [], 0
    for match in CODE.finditer(text):
        written += [MARKUP.sub(r"\\\1", text[last : match.start()]), f"``{match.group(2).strip()}``"]
        # reStructuredText ends code only before a space or punctuation.
        if text[match.end() : match.end() + 1].isalnum():
            written.append("\\ ")
        last = match.end()
    return "".join([*written, MARKUP.sub(r"\\\1", text[last:]).replace("`", "\\`")])
