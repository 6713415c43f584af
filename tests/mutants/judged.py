"""Faults that a reader has judged to change nothing that matters: they are not asked about again."""

from __future__ import annotations

import tomllib
from pathlib import Path

from .faults import Fault

JUDGED = Path(__file__).with_name("equivalent.toml")


class Judged:
    """The judgements of a file, found by the text of the code, wherever in its function it stands."""

    def __init__(self, file: Path) -> None:
        rows = tomllib.loads(file.read_text(encoding="utf-8"))["mutant"]
        if not all(row["why"] for row in rows):
            raise ValueError(f"{file}: a judgement without a reason")
        self.texts = {(row["file"], row["where"], row["before"], row["after"]) for row in rows}

    def __contains__(self, fault: Fault) -> bool:
        return (fault.file, fault.where, fault.before, fault.after) in self.texts
