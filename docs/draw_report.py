"""Draws the pictures of `docs/guides/report.md`: pages of a stored archive, as Chromium shows them.

    python docs/draw_report.py            write docs/guides/report.png and report.sha256
    python docs/draw_report.py --check    exit 1 where the page is not the one that was drawn

The digest of the page lies beside its picture, so that a test can tell whether the picture is of today's
page. To draw takes the command chromium, and the extra test.
"""

from __future__ import annotations

import hashlib
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from packager.archive import ArchiveReader  # noqa: E402 - found only now
from packager.report import page_html, page_of_archive  # noqa: E402 - found only now

ARCHIVE = ROOT / "tests" / "golden" / "model-1.kellet"
PICTURE = ROOT / "docs" / "guides" / "report.png"
DIGEST = PICTURE.with_suffix(".sha256")


def main(arguments: Sequence[str]) -> int:
    html = page()
    digest = (
        f"{hashlib.sha256(html.encode()).hexdigest()}  the page of {ARCHIVE.relative_to(ROOT).as_posix()}\n"
    )
    if "--check" in arguments:
        if DIGEST.read_text(encoding="utf-8") != digest:
            print(f"{PICTURE.relative_to(ROOT)} is not of today's page; run: python docs/draw_report.py")
            return 1
        return 0
    draw(html)
    DIGEST.write_text(digest, encoding="utf-8")
    return 0


def page() -> str:
    """Return the page of an archive that never changes."""
    with ArchiveReader(ARCHIVE) as reader:
        return "".join(page_html(page_of_archive(reader)))


def draw(html: str) -> None:
    """Write the picture: what a window of 1,200 pixels shows."""
    from tests.report.browser import browser

    with tempfile.TemporaryDirectory(prefix="kellet-page-") as folder:
        file = Path(folder) / "report.html"
        file.write_text(html, encoding="utf-8")
        with browser(Path(folder)) as chromium:
            chromium.open(file, width=1200, height=1500)
            chromium.picture(PICTURE)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
