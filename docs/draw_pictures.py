"""Draws the pictures of README and guides: a page as Chromium shows it, two commands as a terminal does.

    python docs/draw_pictures.py            write report.png, diff.svg, plan.svg in docs/guides, and digests
    python docs/draw_pictures.py --check    exit 1 where one is not of what is shown today

The digest of what was drawn lies beside each picture (the HTML of the page, the text of the terminal with its
colours), so that a test can tell whether the picture is current. To draw the page takes the command chromium
and requirements/test.txt; the terminals take rich.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import chdir, contextmanager, redirect_stdout
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from packager import PackageExporter  # noqa: E402 - found only now
from packager._archive import ArchiveReader  # noqa: E402 - as above
from packager._cli import main as packager  # noqa: E402 - as above
from packager._report import page_html, page_of_archive  # noqa: E402 - as above

ARCHIVE = ROOT / "tests" / "golden" / "model-0.1.0.kellet"
GUIDES = ROOT / "docs" / "guides"
COLUMNS = 80


def main(arguments: Sequence[str]) -> int:
    """Draw what has changed, or say what has."""
    old = [name for name, (shown, _) in PICTURES.items() if _recorded(name) != _digest(name, shown())]
    if "--check" in arguments:
        for name in old:
            print(f"docs/guides/{name} is not of today; run: python docs/draw_pictures.py")
        return 1 if old else 0
    for name, (shown, draw) in PICTURES.items():
        text = shown()
        draw(text, GUIDES / name)
        _digest_file(name).write_text(_digest(name, text), encoding="utf-8")
    return 0


def _digest_file(name: str) -> Path:
    return (GUIDES / name).with_suffix(".sha256")


def _recorded(name: str) -> str:
    return _digest_file(name).read_text(encoding="utf-8") if _digest_file(name).exists() else ""


def _digest(name: str, text: str) -> str:
    """Return the line of a digest. The version of NumPy that is installed here is no part of it."""
    text = _NUMPY.sub("numpy", text)
    return f"{hashlib.sha256(text.encode()).hexdigest()}  what {name} shows\n"


# --- what is shown ---


def page() -> str:
    """Return the page of an archive that never changes."""
    with ArchiveReader(ARCHIVE) as reader:
        return "".join(page_html(page_of_archive(reader)))


def differences() -> str:
    """Return what `kellet diff` prints of a small model and its next version."""
    with _example_folder():
        for name, code, weights in (("old", _OLD_CODE, _OLD_WEIGHTS), ("new", _NEW_CODE, _NEW_WEIGHTS)):
            with PackageExporter(f"{name}.kellet", policy="auto", prove=False) as exporter:
                exporter.save_source_string("shop.net", code)
                exporter.save_state_dict("shop", "weights", weights)
        return _terminal("diff", "old.kellet", "new.kellet")


def plan() -> str:
    """Return what `kellet plan` prints of a small project with something to decide."""
    with _example_folder() as folder:
        Path("shop").mkdir()
        for name, text in _PROJECT.items():
            Path("shop", name).write_text(text, encoding="utf-8")
        sys.path.insert(0, str(folder))
        try:
            return _terminal("plan", "shop.net:Net")
        finally:
            sys.path.remove(str(folder))


@contextmanager
def _example_folder() -> Iterator[Path]:
    """Stand in an empty folder for a while, with a cache of its own."""
    with (
        tempfile.TemporaryDirectory(prefix="kellet-picture-") as folder,
        chdir(folder),
        _environment(XDG_CACHE_HOME=str(Path(folder, "cache"))),
    ):
        yield Path(folder)


@contextmanager
def _environment(**variables: str | None) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in variables}
    try:
        _set(variables)
        yield
    finally:
        _set(before)


def _set(variables: dict[str, str | None]) -> None:
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


class _Screen(io.StringIO):
    """What a terminal was sent."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def _terminal(*arguments: str) -> str:
    """Return what the command sends to a terminal of 80 columns and 256 colours, with its line on top."""
    screen = _Screen()
    looks = _environment(
        TERM="xterm-256color", COLUMNS=str(COLUMNS), COLORTERM=None, NO_COLOR=None, FORCE_COLOR=None
    )
    with looks, redirect_stdout(screen):
        code = packager(arguments)
    if code != 1:  # differences, and a plan with a problem
        raise SystemExit(f"kellet {' '.join(arguments)} ended with {code}")
    return f"$ kellet {' '.join(arguments)}\n{screen.getvalue().rstrip()}\n"


# --- drawing ---


def draw_page(html: str, picture: Path) -> None:
    """Write what a window of 1,000 pixels shows."""
    from tests.report.browser import browser

    with tempfile.TemporaryDirectory(prefix="kellet-page-") as folder:
        file = Path(folder) / "page.html"
        file.write_text(html, encoding="utf-8")
        with browser(Path(folder)) as chromium:
            chromium.open(file, width=1000, height=900)
            chromium.picture(picture)


def draw_terminal(text: str, picture: Path) -> None:
    """Write a terminal as SVG. It names no font of another place: one that is there shows it."""
    from rich.console import Console
    from rich.text import Text

    console = Console(record=True, width=COLUMNS, file=io.StringIO(), highlight=False)
    for line in Text.from_ansi(text).split("\n"):
        for part in line.divide(range(COLUMNS, len(line), COLUMNS)):  # as a terminal breaks a long line
            console.print(part)
    svg = console.export_svg(title="kellet", unique_id=picture.stem)
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)
    picture.write_text(re.sub(r"[ \t]+$", "", svg, flags=re.MULTILINE).rstrip() + "\n", encoding="utf-8")


PICTURES: dict[str, tuple[Callable[[], str], Callable[[str, Path], None]]] = {
    "report.png": (page, draw_page),
    "diff.svg": (differences, draw_terminal),
    "plan.svg": (plan, draw_terminal),
}

# --- the examples ---

_OLD_CODE = """\
def scale(x):
    return 2 * x


def predict(x, low=0.0):
    return scale(x) + low
"""
_NEW_CODE = _OLD_CODE.replace("2 * x", "x / 2").replace("low", "least")
_WEIGHT = np.arange(6, dtype=np.float32).reshape(2, 3)
_OLD_WEIGHTS = {
    "module.fc.weight": _WEIGHT,
    "module.fc.bias": np.zeros(2, "f4"),
    "module.norm.scale": np.ones(3, "f4"),
}
_NEW_WEIGHTS = {
    "fc.weight": _WEIGHT,
    "fc.bias": np.zeros(2, "f4"),
    "norm.scale": np.array([1, 1, 1.000001], "f4"),
}
_LICENCE = "# SPDX-License-Identifier: MIT\n"
_PROJECT = {
    "__init__.py": _LICENCE,
    "net.py": _LICENCE + "import json\n\nimport numpy\n\nfrom . import plots\n\n\nclass Net:\n    pass\n",
    "plots.py": "import colours\n",
}
_NUMPY = re.compile(r"numpy[ <>=,.\d]*\d")

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
