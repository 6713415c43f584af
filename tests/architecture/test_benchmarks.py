"""The table of what a person waits for: results are compared first, and a missed goal says by how much."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from benchmarks.__main__ import PAGE, every_row, kept_runs, main, with_run
from benchmarks.page import page, told, verdict
from benchmarks.row import Outcome, Row, Work, measure


def timed(*seconds: float) -> Callable[[], Work]:
    left = list(seconds)
    return lambda: Work(lambda: left.pop(0))


def absent() -> Work:
    raise ImportError("no such library")


def outcome_of(row: Row) -> Outcome:
    return measure(row, 1)


def test_a_ratio_is_taken_within_each_round() -> None:
    # The first second of each goes to see that the figures are their own.
    row = Row("save", timed(9.0, 1.0, 2.0, 30.0), 1.0, "torch", timed(9.0, 2.0, 4.0, 60.0), rounds=3)
    assert measure(row, 3) == Outcome(0.5, 2000.0, 4000.0)


def test_a_goal_says_what_it_came_to() -> None:
    row = Row("save", timed(), 0.8, "torch", timed(), why="copies twice")
    assert verdict(row, []) == "not measured"
    assert verdict(row, [0.7, 0.8]) == "reached"
    assert verdict(row, [1.2, 1.0]) == "missed by 50%: copies twice"
    assert verdict(row, [1.0, 0.7]) == "missed by 25% in one of 2: copies twice"


def test_what_holds_is_met_within_a_fifth() -> None:
    row = Row("add", timed(), 0.5, "torch", timed(), holds=True)
    assert [verdict(row, [figure]) for figure in (0.59, 0.65)] == ["holds", "missed by 30%"]


def test_a_goal_without_a_peer_is_in_the_unit_of_the_row() -> None:
    row = Row("save", timed(0.005), 4.0, "joblib", timed(0.001), is_absolute=True)
    found = outcome_of(row)
    assert (found.figure, found.peer) == (5.0, 1.0)
    assert told(row, vars(found)) == "save: 5 ms (peer 1); missed by 25%"


def test_sides_that_differ_are_not_timed() -> None:
    def side(value: float) -> Callable[[], Work]:
        return lambda: Work(list, result=lambda: [[1.0, value]])

    with pytest.raises(ValueError, match=r"save: result 0 is not that of torch"):
        outcome_of(Row("save", side(2.0), 1.0, "torch", side(2.5)))


def test_a_peer_that_is_not_here_leaves_a_ratio_unmeasured_and_a_figure_alone() -> None:
    with pytest.raises(ImportError, match="no such library"):
        outcome_of(Row("save", timed(1.0), 1.0, "torch", absent))
    assert outcome_of(Row("save", timed(0.001), 4.0, "torch", absent, is_absolute=True)).peer is None


def test_an_added_cost_is_what_remains_without() -> None:
    calls: list[str] = []
    outcome_of(
        Row("hook", lambda: Work(lambda: calls.append("with"), without=lambda: calls.append("without")))
    )
    assert calls == ["with", "without"]


def test_a_page_has_both_runs_and_says_once_what_is_measured_once() -> None:
    rows = [
        Row("save", timed(), 1.4, "joblib", timed(), why="a"),
        Row("4 GB", timed(), unit="s", asked=True),
    ]
    runs = [
        {"save": {"figure": 1.5, "ours": 3.0, "peer": 2.0}},
        {"save": {"figure": 1.3, "ours": 2.6, "peer": 2.0}},
    ]
    once = {"4 GB": {"figure": 9.5, "ours": 9.5, "peer": None, "date": "2026-11-29"}}
    made = page(rows, runs, once, "Python 3.11")
    assert made.splitlines()[-2:] == [
        "| save | joblib | 1.4 x | 1.50 x (3, 2 ms) | 1.30 x (2.6, 2 ms) | missed by 7% in one of 2: a |",
        "| 4 GB | | | 9.5 s, 2026-11-29 | | |",
    ]


def test_two_runs_are_kept_and_some_rows_alone_change_the_last() -> None:
    kept = {"environment": "", "runs": [], "once": {}}
    for figure in (1, 2, 3):
        kept = with_run(kept, {"save": figure, "load": figure}, asked=False, partly=False)
    assert kept["runs"] == [{"save": 2, "load": 2}, {"save": 3, "load": 3}]
    assert with_run(kept, {"load": 4}, asked=False, partly=True)["runs"][1] == {"save": 3, "load": 4}
    assert with_run(kept, {"4 GB": 5}, asked=True, partly=True)["once"] == {"4 GB": 5}


def test_the_page_is_what_the_kept_runs_say() -> None:
    kept = kept_runs()
    assert PAGE.read_text("utf-8") == page(every_row(), kept["runs"], kept["once"], kept["environment"])


def test_each_row_has_a_title_of_its_own_and_a_goal_that_can_be_missed() -> None:
    rows = every_row()
    assert len({row.title for row in rows}) == len(rows) > 40
    assert [
        row.title for row in rows if row.goal is not None and not row.is_absolute and row.beside is None
    ] == []
    without = [row.title for row in rows if row.goal is None]
    assert all("yardstick" in title or "4 GB on disk" in title for title in without)


def test_a_word_that_no_title_holds_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--only", "no such row"]) == 2
    assert capsys.readouterr().err == "No row whose title holds 'no such row'.\n"


def test_a_row_is_started(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KELLET_BENCH_SMALL", "")  # put back after it
    assert main(["--smoke", "--only", "load a dict"]) == 0
    assert capsys.readouterr().out.startswith("load a dict: started\n1 of 1 rows in ")
