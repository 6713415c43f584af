"""Pages at the end of a notebook's cell: what they show, escaped, folded where it is long, and cut."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from packager import PackageExporter, PackageImporter, open_checkpoint, verify
from packager._differences import compare_files
from packager._notebook_page import notebook_page
from packager._texts import size_text
from packager.migrations import Migration, drop, plan_migration, rename

TAGS = {"code", "details", "div", "p", "small", "strong", "style", "summary", "table", "td", "tr"}


class Read(HTMLParser):
    """Gathers tags and text, without the style."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.text: list[str] = []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        assert not [name for name, _ in attrs if name.startswith("on")]
        self.open.append(tag)
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.text += [data.strip()] if data.strip() else []


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("pages")
    for name, scale in (("a", 1.0), ("b", 2.0)):
        with PackageExporter(folder / f"{name}.kellet", policy="auto", prove=False) as exporter:
            exporter.save_source_string("net", f"import json\nscale = {scale}")
            exporter.save_object("model", "config", {"scale": scale})
            exporter.save_state_dict("model", "weights", {"<b>w": np.full((2, 3), scale), "step": 1})
    return folder / "a.kellet", folder / "b.kellet"


def test_a_plan_shows_what_its_text_has() -> None:
    exporter = PackageExporter(io.BytesIO())
    exporter.save_source_string("net", "import not_here, json")
    shown = Read(exporter.plan()._repr_html_()).text
    assert shown[:2] == ["Export plan", "1 module stored, 0 packages required, 21 B; 1 problem"]
    assert shown[2:5] == ["problems", "1", "not_here"]
    assert 'exporter.mock("not_here.**")  # unknown origin; use extern if the target has it' in shown
    assert "standard library: json" in shown


def test_a_proof_shows_its_steps(tmp_path: Path) -> None:
    with PackageExporter(tmp_path / "x.kellet", policy="auto") as exporter:
        exporter.save_object("model", "model", {"scale": 1})
    assert exporter.proof is not None
    shown = Read(exporter.proof._repr_html_()).text
    size = size_text((tmp_path / "x.kellet").stat().st_size)
    said = f"{tmp_path / 'x.kellet'}, {size}: loaded in this process"
    assert shown == ["Proof", said, "steps", "1", "object: object model/model"]


def test_an_importer_shows_what_the_archive_holds_and_runs_nothing(archives: tuple[Path, Path]) -> None:
    with PackageImporter(archives[0]) as importer:
        shown = Read(importer._repr_html_()).text
        assert shown[:2] == [
            f"Archive {archives[0]}",
            f"open; nothing of it has run; identity {importer.identity}",
        ]
        assert importer.modules == {}
        assert "model/config" in shown
        assert "net.py" in shown
        importer.import_module("net")
        assert "open; its code is imported" in importer._repr_html_()
    assert "closed; identity" in importer._repr_html_()


def test_a_state_dict_shows_its_tensors_escaped(archives: tuple[Path, Path]) -> None:
    with PackageImporter(archives[0]) as importer:
        html = importer.load_state_dict("model", "weights")._repr_html_()
    assert "<td>&lt;b&gt;w</td><td>F64</td><td>[2, 3]</td>" in html
    assert Read(html).text[-4:] == ["other values", "1", "step", "int"]


def test_differences_show_their_sections(archives: tuple[Path, Path]) -> None:
    shown = Read(compare_files(*archives)._repr_html_()).text
    assert shown[0] == f"{archives[0]} → {archives[1]}"
    assert "tensors of model/weights" in shown
    assert "+scale = 2.0" in shown


def test_a_long_list_is_folded_and_cut_and_says_so() -> None:
    html = notebook_page("x", "", [("some", [f"n{n}" for n in range(70)]), ("few", ["a  b", "   more", "c"])])
    assert "<details><summary>some <small>70</small>" in html
    assert "<small>and 20 more rows</small>" in html
    assert "<details open><summary>few <small>2</small>" in html
    assert "<td>a</td><td>b more</td>" in html
    assert '<td colspan="2">c</td>' in html


@pytest.mark.parametrize(
    "text", ["<script>x()</script>", '" onclick="x()', "\x1b[2J", "\u202etxt", "a" * 999]
)
def test_no_text_becomes_markup(text: str) -> None:
    html = notebook_page(text, text, [(text, [(text, text)])])
    assert set(Read(html).tags) <= TAGS
    assert len(html) < 5000
    assert not re.search("[\x1b\u202e]", html)


def test_nothing_is_imported_for_it_before_it_is_shown() -> None:
    script = (
        "import io, sys, packager\n"
        "exporter = packager.PackageExporter(io.BytesIO())\n"
        "exporter.save_text('net', 'words.txt', 'one')\n"
        "plan = exporter.plan()\n"
        "assert 'packager._notebook_page' not in sys.modules\n"
        "assert 'words.txt' not in plan._repr_html_()\n"
        "assert 'packager._report' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_verification_migrations_and_checkpoints_are_short_pages(tmp_path: Path) -> None:
    np.savez(tmp_path / "old.npz", **{"proj.bias": np.ones(2)})
    with open_checkpoint(tmp_path / "old.npz") as old:
        migration = Migration("fc", [rename("proj.{rest}", "fc.{rest}"), drop("mask")], to=2)
        plan = plan_migration(migration, old)
        assert Read(old._repr_html_()).text == [
            *("old.npz", "npz, 1 key", "tensors", "1", "proj.bias", "float64", "[2]")
        ]
    assert repr(migration) == "<migration 'fc': 2 steps>"
    assert Read(migration._repr_html_()).text[:4] == ["Migration fc", "2 steps to version 2", "steps", "2"]
    assert repr(plan) == "<MigrationPlan: 1 change, 1 skipped, 1 key afterwards>"
    assert Read(plan._repr_html_()).text[2:7] == ["changes", "1", "proj.bias", "-> fc.bias", "float64[2]"]


def test_a_verification_shows_what_is_wrong(archives: tuple[Path, Path], tmp_path: Path) -> None:
    whole = verify(archives[0])
    assert Read(whole._repr_html_()).text[-3:] == ["identity", "1", whole.identity]
    damaged = bytearray(archives[0].read_bytes())
    damaged[damaged.index(b"import json") + 1] ^= 1
    (tmp_path / "bad.kellet").write_bytes(damaged)
    shown = Read(verify(tmp_path / "bad.kellet")._repr_html_()).text
    assert shown[1].startswith("1 problem; ")
    assert shown[2:5] == ["problems", "1", "net.py"]


def test_numbers_alone_stand_on_the_right() -> None:
    html = notebook_page("x", "", [("sizes", [("net.py", "1.2 KiB"), ("7", "2 files")])])
    assert '<td>net.py</td><td class="number">1.2 KiB</td>' in html
    assert "<td>7</td><td>2 files</td>" in html
