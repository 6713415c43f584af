"""Pages about archives that were made to do harm: nothing of them is markup, and pages stay short."""

from __future__ import annotations

import html

import pytest

from packager._archive import ArchiveReader
from packager._report import page_html, page_of_archive
from packager._report.html_text import MOST_BYTES, text
from packager._report.page_parts import (
    Area,
    Code,
    Facts,
    Lines,
    Mark,
    ModuleFacts,
    Modules,
    Page,
    Section,
    Site,
    Table,
    Treemap,
)
from packager._texts import HIDDEN

from .hostile import ODD_TEXTS, hostile_archive
from .test_pages import Parsed

ALLOWED = set(
    "html head meta title style script body header h1 h2 p div label input button output nav ul ol li a main "
    "section dl dt dd details summary table thead tbody tr th td small span code pre svg g rect path "
    "text".split()
)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> str:
    file = hostile_archive(tmp_path_factory.mktemp("hostile") / "net.kellet", modules=1500, tensors=1200)
    with ArchiveReader(file) as reader:
        return "".join(page_html(page_of_archive(reader)))


def test_the_page_is_well_formed_and_has_no_tag_of_the_archive(hostile: str) -> None:
    page = Parsed(hostile)
    assert page.open == []
    assert set(page.tags) <= ALLOWED
    assert page.tags.count("script") == page.tags.count("style") == 1
    names = {name for name, _ in page.attributes}
    assert not [name for name in names if name.startswith("on")]
    assert "style" not in names
    assert "<script>alert(1)</script>" in page.text


def test_the_page_is_short_and_says_what_it_leaves_out(hostile: str) -> None:
    assert len(hostile.encode()) < MOST_BYTES
    page = Parsed(hostile)
    assert "of 1,200" in page.text
    assert "the page shows" in page.text


@pytest.mark.parametrize("odd", ODD_TEXTS, ids=range(len(ODD_TEXTS)))
def test_every_text_is_escaped_and_nothing_in_it_is_hidden(odd: str) -> None:
    shown = text(odd)
    assert not {"<", ">", '"', "'"} & set(shown.replace("&#x27;", "").replace("&quot;", ""))
    plain = html.unescape(shown)
    assert not [one for one in plain if one == "\n" or _is_hidden(one)]
    assert len(plain) <= 600
    assert (f"… ({len(odd):,} characters)" in plain) == (len(odd) > 240)


def _is_hidden(character: str) -> bool:
    import re

    return re.match(f"[{HIDDEN}]", character) is not None


def test_a_page_that_is_full_of_everything_is_short() -> None:
    """The most that each kind of block may take, many times over."""
    long = "&" * 5000
    modules = tuple(
        ModuleFacts(f"{'🜁' * 230}{n}.{'&' * 240}", long, long, long, n, (Site(long, long),) * 20)
        for n in range(3000)
    )
    table = Table(long, (long,) * 9, [[Mark(long, "bad"), Code(long), *[long] * 7]] * 900, 900)
    inner = tuple(Area(f"{n}{long}", 1000, "code") for n in range(120))
    areas = tuple(Area(f"{n}{long}", 120_000, "code", inner) for n in range(120))
    blocks = (
        Facts(((long, long),) * 12),
        Treemap(areas, long),
        *[table] * 60,
        Modules(modules),
        *[Lines(long, (long,) * 3000, is_diff=True)] * 60,
        *[Mark(long)] * 60,
    )
    page = Page(long, long, tuple(Section(f"s{number}", long, blocks, long, long) for number in range(2)))
    found = "".join(page_html(page)).encode()
    assert len(found) < MOST_BYTES
    assert b"Left out: the page has no room for it." in found
