"""From a comparison to its page: the differences that `kellet diff` prints, as tables and hunks."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence

from packager._differences import Differences, TextChange
from packager._texts import counted

from .archive_tensors import number
from .page_parts import Block, Cell, Code, Facts, Lines, Mark, Page, Section, Tone, section, table

_TONES: dict[str, Tone] = {
    "added": "good",
    "removed": "bad",
    "changed": "warning",
    "moved": "",
    "renamed": "",
}
_MOST_HUNKS = 200


def page_of_differences(found: Differences) -> Page:
    """Return the page of what differs between two files.

    >>> [section.name for section in page_of_differences(Differences("a", "b")).sections]
    ['about']
    """
    before, after = (os.path.basename(os.path.normpath(name)) for name in (found.before, found.after))
    sections = (
        _about(found, before, after),
        _changes(found),
        _keys(found),
        _tensors(found),
        _calls(found),
        _texts("files", "Files", found.files),
        _texts("code", "Code", found.code),
    )
    title = f"{before} → {after}"
    said = "what differs between two files" if found else "nothing differs"
    return Page(title, said, tuple(one for one in sections if one is not None))


def _about(found: Differences, before: str, after: str) -> Section | None:
    counts: tuple[tuple[str, Cell], ...] = (
        ("before", before),
        ("after", after),
        ("records", len(found.changes)),
        ("keys", len(found.keys)),
        ("tensors", len(found.tensors)),
        ("files of code", len(found.code)),
        ("other files", len(found.files)),
        ("examples repeated on both", found.calls_run),
    )
    verdict = Mark(found.summary, "warning") if found else Mark("Nothing differs.", "good")
    return section("about", "About", verdict, Facts(counts))


def _changes(found: Differences) -> Section | None:
    rows: list[tuple[Cell, ...]] = [
        (one.name, _kind(one.kind), one.before, one.after, one.section) for one in found.changes
    ]
    columns = ("what", "change", "before", "after", "section")
    return section(
        "records",
        "Records",
        table("decisions, environment, objects and the rest", columns, rows, most_bytes=120_000),
        count=f"{len(rows):,}",
    )


def _kind(kind: str) -> Mark:
    return Mark(kind, _TONES[kind])


def _keys(found: Differences) -> Section | None:
    rows: list[tuple[Cell, ...]] = [
        (Code(one.key), _kind(one.kind), " + ".join(one.old_keys), one.layout, one.because, one.state)
        for one in found.keys
    ]
    columns = ("key", "change", "was", "layout", "because", "state dict")
    return section(
        "keys", "Keys", table("keys", columns, rows, most=1000, most_bytes=150_000), count=f"{len(rows):,}"
    )


def _tensors(found: Differences) -> Section | None:
    rows: list[tuple[Cell, ...]] = [
        (
            Code(f"{one.old_key} → {one.key}" if one.old_key else one.key),
            one.before if one.before == one.after else f"{one.before} → {one.after}",
            number(one.norm) if one.size else None,
            _relative(one.relative) if one.size else None,
            number(one.largest) if one.size else None,
            one.near,
            f"{one.differing:,} of {one.size:,}" if one.size else None,
            one.note,
            one.state,
        )
        for one in found.tensors
    ]
    columns = ("tensor", "layout", "norm", "relative", "largest", "ulps", "differing", "note", "state dict")
    return section(
        "tensors",
        "Tensors",
        table("tensors with other values", columns, rows, most=1000, most_bytes=200_000),
        count=f"{len(rows):,}",
    )


def _relative(share: float) -> str:
    return "all zeros before" if share == math.inf else number(share)


def _calls(found: Differences) -> Section | None:
    rows: list[tuple[Cell, ...]] = [
        (Code(one.name), one.source, Mark(str(one), "bad")) for one in found.calls
    ]
    return section(
        "golden-calls",
        "Golden calls",
        table("examples with other outputs", ("call", "of", "what"), rows),
        count=f"{len(rows):,}",
    )


def _texts(name: str, title: str, changes: Sequence[TextChange]) -> Section | None:
    """Return the texts that differ, listed, and the hunks of those that have any."""
    known: list[tuple[Cell, ...]] = [
        (Code(one.name), _kind(one.kind), one.old_name, one.note) for one in changes
    ]
    hunks: list[Block] = [Lines(one.name, one.hunks, is_diff=True) for one in changes if one.hunks]
    return section(
        name,
        title,
        table("files", ("file", "change", "was", "note"), known, most_bytes=60_000),
        *hunks[:_MOST_HUNKS],
        *(
            (Mark(f"{len(hunks) - _MOST_HUNKS:,} more files have hunks."),)
            if len(hunks) > _MOST_HUNKS
            else ()
        ),
        count=counted(len(known), "file"),
    )
