"""Pages as they are seen: in Chromium, on phones and wide screens, light and dark, without JavaScript."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from packager import PackageExporter
from packager._archive import ArchiveReader
from packager._differences import compare_files
from packager._report import page_html, page_of_archive, page_of_differences, page_of_plan

from .browser import Browser, browser
from .hostile import hostile_archive

pytestmark = [pytest.mark.long, pytest.mark.unix]

MODELS = Path(__file__).resolve().parents[2] / "fixtures" / "models"
NAMES = ("bert", "pipeline", "hostile", "plan", "differences")


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with pages: of a language model, a pipeline, a hostile archive, a plan and a comparison."""
    folder = tmp_path_factory.mktemp("pages")
    sys.path.insert(0, str(MODELS))
    try:
        import bert  # type: ignore[import-not-found]  # found by the line above

        with PackageExporter(folder / "bert.kellet", policy="auto", prove=False) as exporter:
            exporter.save_object("model", "model", bert.build())
            exporter.save_example("model", bert.tokenize(["one", "another"]))
            plan = exporter.plan()
    finally:
        sys.path.remove(str(MODELS))
    with PackageExporter(folder / "pipeline.kellet", policy="auto", prove=False) as exporter:
        exporter.save_object("model", "model", _pipeline())
    hostile_archive(folder / "hostile.kellet", modules=100_000, tensors=20_000)
    for name in NAMES[:3]:
        with ArchiveReader(folder / f"{name}.kellet") as reader:
            _write(folder / f"{name}.html", page_of_archive(reader))
    _write(folder / "plan.html", page_of_plan(plan, "bert:build"))
    found = compare_files(folder / "pipeline.kellet", folder / "bert.kellet")
    _write(folder / "differences.html", page_of_differences(found))
    return folder


def _pipeline() -> Any:
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    values = np.random.default_rng(0).normal(size=(200, 5))
    labels = (values[:, 0] > 0).astype(int)
    return make_pipeline(StandardScaler(), RandomForestClassifier(5)).fit(values, labels)


def _write(path: Path, page: Any) -> None:
    html = "".join(page_html(page))
    assert len(html.encode()) < 1_000_000
    path.write_text(html, encoding="utf-8")


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("chromium")) as one:
        yield one


@pytest.mark.parametrize("name", NAMES)
def test_a_page_is_seen_everywhere_and_asks_for_nothing(pages: Path, chromium: Browser, name: str) -> None:
    page = pages / f"{name}.html"
    for width in (360, 800, 1440):
        for dark in (False, True):
            took = chromium.open(page, width=width, dark=dark)
            where = f"{name}, {width} pixels, {'dark' if dark else 'light'}"
            assert took < 30, where  # a tenth of a second where nothing else runs
            wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
            assert chromium.evaluate(wide) == 0, where
            assert chromium.requests == [page.as_uri()], where
            assert chromium.complaints == [], where
        if width == 1440 or name != "hostile":  # which is large: its colours are those of the others
            assert chromium.look(contrast=name != "hostile") == [], where
    chromium.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true })")
    assert chromium.evaluate(wide) == 0
    assert chromium.complaints == []


def test_search_shows_what_is_found_alone(pages: Path, chromium: Browser) -> None:
    chromium.open(pages / "bert.html")
    seen = "Array.from(document.querySelectorAll('.searched tbody tr, .module'))"
    everything = chromium.evaluate(f"{seen}.length")
    search = "const box = document.getElementById('search'); box.value = '{}'; look();"
    chromium.evaluate(search.format("attention.qkv.bias"))
    found = chromium.evaluate(
        f"{seen}.filter(row => row.checkVisibility()).map(row => row.cells[0].innerText)"
    )
    assert found == [f"layers.{number}.attention.qkv.bias" for number in range(6)]
    assert chromium.evaluate("document.getElementById('found').value") == "6 rows"
    chromium.evaluate("box.value = ''; look()")
    assert chromium.evaluate(f"{seen}.filter(row => !row.hidden).length") == everything
    assert chromium.evaluate("document.getElementById('found').value") == ""


def test_everything_is_there_without_javascript_and_on_paper(pages: Path, chromium: Browser) -> None:
    chromium.open(pages / "bert.html", script=False)
    assert chromium.evaluate("document.querySelector('.tools').checkVisibility()") is False
    assert chromium.evaluate("document.querySelectorAll('tbody tr').length") > 100
    chromium.call("Emulation.setEmulatedMedia", media="print")
    folded = "Array.from(document.querySelectorAll('details:not([open]) tbody tr'))"
    assert chromium.evaluate(f"{folded}.length") > 50
    assert chromium.evaluate(f"{folded}.every(row => row.getBoundingClientRect().height > 0)") is True
    assert chromium.print().startswith(b"%PDF")


def test_no_text_of_a_hostile_archive_is_markup(pages: Path, chromium: Browser) -> None:
    chromium.open(pages / "hostile.html")
    for tag, count in (("script", 1), ("style", 1), ("img", 0), ("i", 0), ("b", 0), ("iframe", 0)):
        assert chromium.evaluate(f"document.getElementsByTagName('{tag}').length") == count, tag
    handlers = "Array.from(document.querySelectorAll('*')).flatMap(one => one.getAttributeNames())"
    assert chromium.evaluate(f"{handlers}.filter(name => name.startsWith('on') || name == 'style')") == []
    assert chromium.evaluate("document.body.innerText.includes('<script>alert(1)</script>')") is True
    assert chromium.evaluate(r"/[\u202a-\u202e\u2066-\u2069]/.test(document.body.textContent)") is False
