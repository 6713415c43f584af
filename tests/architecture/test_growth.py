"""The figures of growth: what is recorded is what the page and the picture show."""

import json
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree

import pytest

from benchmarks import growth, plot

RECORDED: dict[str, Any] = json.loads(growth.RECORDED.read_text(encoding="utf-8"))
SVG = "{http://www.w3.org/2000/svg}"


def test_the_page_shows_the_recorded_figures() -> None:
    page = growth.PAGE.read_text(encoding="utf-8")
    assert growth.with_table(page, RECORDED) == page


def test_the_picture_shows_the_recorded_figures() -> None:
    assert growth.PICTURE.read_text(encoding="utf-8") == plot.drawn(RECORDED)


def test_every_axis_is_recorded_at_1_4_and_16_times() -> None:
    assert {
        name: (figures["unit"], tuple(figures["sizes"])) for name, figures in RECORDED["grown"].items()
    } == {axis.name: (axis.unit, axis.sizes) for axis in growth.AXES}
    assert all(axis.sizes == (axis.sizes[0], 4 * axis.sizes[0], 16 * axis.sizes[0]) for axis in growth.AXES)
    assert {len(ms) for figures in RECORDED["grown"].values() for ms in figures["ms"].values()} == {3}


def test_another_figure_is_another_picture() -> None:
    other = json.loads(json.dumps(RECORDED))
    other["grown"]["bytes"]["ms"]["save, sha256"][1] *= 2
    assert plot.drawn(other) != plot.drawn(RECORDED)
    assert growth.table(other) != growth.table(RECORDED)


def test_points_lie_where_their_logarithms_say() -> None:
    scale = plot.Scale(1, 100, 0, 200)
    assert [scale.place(value) for value in (1, 10, 100)] == [0, 100, 200]
    picture = ElementTree.fromstring(plot.drawn(RECORDED))
    lines = [line.attrib["points"].split() for line in picture.iter(f"{SVG}polyline")]
    assert [len(points) for points in lines] == [3] * 6
    for points in lines:  # each size is four times the one before
        first, second, third = (float(point.partition(",")[0]) for point in points)
        assert second - first == pytest.approx(third - second, abs=0.2)


def test_names_of_lines_do_not_lie_on_each_other() -> None:
    picture = ElementTree.fromstring(plot.drawn(RECORDED))
    names = [text for text in picture.iter(f"{SVG}text") if text.text in {"save", "load", "open"}]
    assert len(names) == 6
    heights = sorted(float(text.attrib["y"]) for text in names)
    assert all(after - before >= 14.9 for before, after in pairwise(heights))
