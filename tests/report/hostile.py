"""An archive whose every text would do something on a page that did not escape it; it has much of all."""

from __future__ import annotations

import dataclasses
import io
from pathlib import Path

import numpy as np

from packager import PackageExporter
from packager._archive import (
    ArchiveReader,
    ArchiveWriter,
    ExternRecord,
    ImportSite,
    ModuleRecord,
)

__all__ = ["ODD_TEXTS", "hostile_archive"]

ODD_TEXTS = (
    "<script>alert(1)</script>",
    "</script><script>alert(2)</script>",
    "</style><style>*{display:none}</style>",
    "<img src=x onerror=alert(3)>",
    '"><svg/onload=alert(4)>',
    "' onmouseover='alert(5)",
    "javascript:alert(6)",
    "<!-- ",
    "]]>",
    "</table></details></section></main></body></html>",
    "&lt;b&gt;&amp;",
    "\u202egnp.exe\u202c",
    "\u2066\u2067mixed\u2069",
    "שלום عربى",
    "a\nb\x1b[31mred\x00",
    "{{7*7}} ${7*7} %s {0}",
    "x" * 5000,
    "<" * 3000,
    "\U000e0041" * 900,
    "🜁" * 2000,
)


def hostile_archive(target: Path, *, modules: int, tensors: int) -> Path:
    """Write the archive; return its path."""
    buffer = io.BytesIO()
    values = np.arange(2 * tensors, dtype="f4").reshape(tensors, 2)
    state = {f"{_odd(n)}.{n}".replace("\0", ""): values[n].copy() for n in range(tensors)}  # no key has a NUL
    with PackageExporter(buffer, prove=False) as exporter:
        exporter.save_state_dict("weights", "odd", state)
        exporter.save_object("model", "odd", {text: text for text in ODD_TEXTS})
        exporter.save_text("model", "a & b' onload='alert(7).txt", "<script>alert(8)</script>")
    with ArchiveReader(buffer) as reader, ArchiveWriter(target, fsync=False) as writer:
        for name in reader.names():
            entry = reader.entry(name)
            writer.add(name, reader.read(name), kind=entry.kind, align=entry.align)
        writer.seal(
            dataclasses.replace(
                reader.manifest,
                entries=(),
                modules=tuple(_module(number) for number in range(modules)),
                externs=tuple(
                    ExternRecord(f"pkg{number}", odd, odd, odd, odd) for number, odd in enumerate(ODD_TEXTS)
                ),
            )
        )
    return target


def _odd(number: int) -> str:
    """Return an odd text; after the first thousand mostly short ones, so that the file is made in seconds."""
    return ODD_TEXTS[number % len(ODD_TEXTS)] if number < 1000 or not number % 100 else f"<i>{number:060}"


def _module(number: int) -> ModuleRecord:
    odd = _odd(number)
    name = f"pkg{number % 500}.m{number}.größe" if number % 7 else f"top{number}"
    # A manifest may have one value for each sixteen bytes, beside some that are free.
    above = (number // 2, number // 3) if number < 1000 or not number % 8 else ()
    importers = tuple(dict.fromkeys(ImportSite(f"top{n - n % 7}", odd, n) for n in above))
    return ModuleRecord(name, "extern" if number % 3 else "mock", odd, odd, importers=importers)
