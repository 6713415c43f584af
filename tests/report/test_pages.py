"""Pages about archives: what stands on them, that every text is escaped, and that they stay short."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Mapping
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import packager
from docs import draw_pictures
from packager import PackageExporter
from packager._archive import ArchiveReader
from packager._cli import main
from packager._exporting import ExportPlan, PlanProblem
from packager._report import page_html, page_of_archive, page_of_plan

Project = Callable[[Mapping[str, str]], Path]


class Parsed(HTMLParser):
    """What a page holds: the text below each title, tags, attributes, and tags that are not closed."""

    VOID = ("meta", "input", "br")

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.open: list[str] = []
        self.texts: list[str] = []
        self.rows: list[list[str]] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in self.VOID:
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not {"script", "style"} & set(self.open):
            self.texts.append(data)
        if {"td", "th"} & set(self.open):
            self.rows[-1][-1] += data

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())


def page_of(file: Path, **options: Any) -> str:
    with ArchiveReader(file) as reader:
        return "".join(page_html(page_of_archive(reader, **options)))


@pytest.fixture
def net(project: Project, tmp_path: Path) -> Path:
    """An archive of two modules, weights with ties and a NaN, and a golden call."""
    project(
        {
            "pagenet/__init__.py": "from .layers import Net\n",
            "pagenet/layers.py": (
                "import json\nfrom kellet import nn\n"
                "class Net(nn.Module):\n"
                "    def __init__(self):\n        super().__init__()\n        self.layer = nn.Linear(2, 1)\n"
                "    def forward(self, x):\n        return self.layer(x)\n"
            ),
        }
    )
    import pagenet  # type: ignore[import-not-found]  # the project of the test

    target = tmp_path / "net.kellet"
    tied = np.arange(4, dtype="f4")
    with PackageExporter(target, policy="auto", prove=False) as exporter:
        exporter.save_object("model", "model", pagenet.Net())
        exporter.save_example("model", {"x": np.ones((3, 2), "f4")})
        exporter.save_state_dict("model", "best", {"a": tied, "b": tied, "c": np.array([1, np.nan, np.inf])})
        exporter.save_text("model", "words.txt", "one two")
    return target


def test_the_page_shows_identity_modules_and_tensors(net: Path) -> None:
    with ArchiveReader(net) as reader:
        identity = reader.identity
    page = Parsed(page_of(net))
    assert page.open == []
    assert f"identity {identity}" in page.text
    assert "pagenet.layers stored" in page.text
    assert "preset auto: project code" in page.text
    assert "pagenet pagenet/__init__.py:1 pagenet.layers" in page.text
    rows = {row[0]: row[1:] for row in page.rows}
    assert rows["model/best: b"] == ["F32", "[4]", "16 B", "", "0", "3", "1.5", "", "memory of a"]
    assert rows["model/best: c"][4:6] == ["1, and NaN or infinities", "1"]
    assert ["c", "model/best", "1", "1", "3"] in page.rows
    assert "1 of 5 tensors hold NaN or infinities." in page.text
    assert ["model", "model", "takes", "x", "float32 [3, 2]", "1, 1, 1, 1, 1, 1"] in page.rows
    assert rows["pagenet.layers:Net"] == ["create", "its code is stored in the archive", "model/model"]
    assert rows["model/words.txt"][:2] == ["resource", "7 B"]
    assert any(row[0] == "kellet" and row[1].startswith("kellet>=") for row in page.rows)


def test_the_first_screen_says_what_it_is_how_to_load_it_and_what_it_runs(net: Path, tmp_path: Path) -> None:
    shown = Parsed(page_of(net)).text
    assert shown.index("what it is") < shown.index("identity (sha256)")
    assert "what it is 1 object, 1 state dict, with classes of kellet, pagenet" in shown
    assert 'load it packager.load("net.kellet")' in shown
    assert "code of 2 modules; it does not import subprocess, ctypes or socket" in shown
    with PackageExporter(tmp_path / "out.kellet", policy="auto", prove=False) as exporter:
        exporter.save_source_string("outside", "import socket\nimport subprocess\n")
    shown = Parsed(page_of(tmp_path / "out.kellet")).text
    assert "subprocess (in outside), socket (in outside)" in shown
    assert 'load it PackageImporter("out.kellet")' in shown


def test_a_call_by_position_has_the_names_of_parameters(net: Path, tmp_path: Path) -> None:
    import pagenet  # the project of the fixture

    target = tmp_path / "placed.kellet"
    packager.save(pagenet.Net(), target, example=np.ones((3, 2), "f4"), prove=False)
    page = Parsed(page_of(target))
    assert ["model", "model", "takes", "x", "float32 [3, 2]", "1, 1, 1, 1, 1, 1"] in page.rows
    assert "all files" in page.text
    assert "shares" not in page.text


def test_without_values_the_bytes_of_tensors_are_not_read(net: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ArchiveReader(net) as reader:
        seen: list[str] = []
        view = reader.view

        def watched(name: str, *where: int) -> memoryview:
            seen.append(name)
            return view(name, *where)

        monkeypatch.setattr(reader, "view", watched)
        page = Parsed("".join(page_html(page_of_archive(reader, values=False))))
    assert [name for name in seen if "checks" not in name and name.startswith("model/")] == [
        "model/words.txt"
    ]
    assert ["model/best: a", "F32", "[4]", "16 B", "30.77 %", ""] in page.rows


def test_the_same_archive_is_the_same_page(net: Path) -> None:
    assert page_of(net) == page_of(net)


def test_the_policy_allows_the_script_and_the_stylesheet_of_the_page_alone(net: Path) -> None:
    html = page_of(net)
    found = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', html)
    assert found is not None
    digests = {
        tag: base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        for tag, content in re.findall(r"<(script|style)>(.*?)</\1>", html, re.DOTALL)
    }
    assert found[1].replace("&#x27;", "'") == (
        f"default-src 'none'; style-src 'sha256-{digests['style']}'; "
        f"script-src 'sha256-{digests['script']}'; base-uri 'none'; form-action 'none'"
    )
    assert html.count("<script") == html.count("<style") == 1


def test_nothing_on_the_page_asks_for_anything(net: Path) -> None:
    page = Parsed(page_of(net))
    names = {name for name, _ in page.attributes}
    assert names.isdisjoint({"src", "srcset", "style", "action", "data", "background", "poster"})
    assert not [name for name in names if name.startswith("on")]
    assert {value[0] for name, value in page.attributes if name == "href" and value} == {"#"}
    assert {"img", "iframe", "object", "embed", "link", "base", "form"}.isdisjoint(page.tags)


def test_every_link_leads_somewhere(net: Path) -> None:
    page = Parsed(page_of(net))
    ids = [value for name, value in page.attributes if name == "id"]
    assert len(ids) == len(set(ids))
    assert {value.removeprefix("#") for name, value in page.attributes if name == "href" and value} <= set(
        ids
    )


# --- the command ---


def test_the_command_writes_the_page(net: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "net.html"
    assert main(["report", str(net), "-o", str(target)]) == 0
    assert target.read_text(encoding="utf-8") == page_of(net)
    said = capsys.readouterr().out
    assert said == f"{target}: a page about {net}, {target.stat().st_size:,} bytes\n"


def test_what_is_no_archive_leaves_the_page_that_was_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "net.kellet").write_bytes(b"no archive")
    (tmp_path / "net.html").write_text("before")
    assert main(["report", str(tmp_path / "net.kellet"), "-o", str(tmp_path / "net.html")]) == 3
    assert capsys.readouterr().err.startswith("kellet: ")
    assert (tmp_path / "net.html").read_text() == "before"


def test_the_pictures_in_the_guides_are_of_today() -> None:
    assert draw_pictures.main(["--check"]) == 0


# --- plans and comparisons ---


def test_the_page_of_a_plan_shows_what_is_wrong_and_what_to_paste(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    source = (
        "import importlib\nimport numpy\nimport not_here_at_all\n"
        "def load(name): return importlib.import_module(name)\n"
    )
    monkeypatch.chdir(project({"planshop.py": source}))
    assert main(["plan", "planshop", "--html", "plan.html"]) == 1
    assert "not_here_at_all" in capsys.readouterr().out
    page = Parsed(Path("plan.html").read_text(encoding="utf-8"))
    assert page.open == []
    problem = next(row for row in page.rows if row[0] == "not_here_at_all")
    assert problem[3] == "planshop (asked for) → not_here_at_all (planshop.py:3)"
    assert ["planshop.py:4", "load", "importlib.import_module(name)"] in page.rows
    assert "Plan for planshop" in page.text
    assert "From the standard library: importlib. " in page.text
    assert main(["plan", "planshop", "--mock", "not_here_at_all", "--html", "plan.html"]) == 0
    html = Path("plan.html").read_text(encoding="utf-8")
    assert '<span class="mark ">not yet proved</span>' in html
    assert "Warnings 1 licences to look at 1" in Parsed(html).text


def test_the_page_of_a_plan_shows_what_is_otherwise_in_the_clean_process() -> None:
    problem = PlanProblem("A golden call differs.", "check model", suspects=("net.WIDTH is 8 here", "b"))
    page = Parsed("".join(page_html(page_of_plan(ExportPlan(problems=(problem,)), "net"))))
    assert ["check model", "net.WIDTH is 8 here"] in page.rows
    assert ["check model", "b"] in page.rows


def test_the_page_of_a_comparison_shows_hunks_and_values(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, line, values in (("old", "x = 1", [1.0, 2.0]), ("new", "x = 2", [1.0, 2.5])):
        with PackageExporter(tmp_path / f"{name}.kellet", policy="auto", prove=False) as exporter:
            exporter.save_source_string("diffnet", f"{line}\n")
            exporter.save_state_dict("net", "state", {"w": np.array(values), "<b>": np.ones(1)})
    target = tmp_path / "diff.html"
    files = [str(tmp_path / "old.kellet"), str(tmp_path / "new.kellet")]
    assert main(["diff", *files, "--html", str(target)]) == 1
    page = Parsed(target.read_text(encoding="utf-8"))
    assert page.open == []
    assert ["w", "float64 [2]", "0.5", "0.2236", "0.5"] in [row[:5] for row in page.rows]
    assert {"ins", "del"} <= set(page.tags)
    assert "-x = 1 +x = 2" in page.text
    assert str(tmp_path) not in page.text
    assert main(["diff", files[0], files[0], "--html", str(target)]) == 0
    assert "Nothing differs." in Parsed(target.read_text(encoding="utf-8")).text
