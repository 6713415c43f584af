"""The benchmark runner: it compares results before times, and says by how much a goal is missed."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import history, table
from benchmarks.__main__ import FAMILIES, main
from benchmarks.row import Contender, Goal, Outcome, Row
from benchmarks.timing import measure, ratio


def row(*goals: Goal, **contenders: Contender) -> Row:
    return Row("Section", "title", "ms", {name: lambda c=c: c for name, c in contenders.items()}, goals)


def timed(*seconds: float) -> Contender:
    left = list(seconds)
    return Contender(lambda: left.pop(0), times_itself=True)


def test_a_ratio_is_taken_within_each_round() -> None:
    seconds = {"kellet": [1.0, 2.0, 30.0], "torch": [2.0, 4.0, 60.0]}
    assert ratio(seconds, "kellet", "torch") == 0.5


def test_a_missed_goal_says_by_how_much() -> None:
    outcome = measure(row(Goal(0.8, "torch"), kellet=timed(0.003), torch=timed(0.002)), 1, 0.0)
    assert table.line(outcome).splitlines()[-1].strip() == "0.8 x torch: 1.50 x, missed by 88%"


def test_a_reached_goal_says_what_it_came_to() -> None:
    outcome = measure(row(Goal(0.8, "torch"), kellet=timed(0.001), torch=timed(0.002)), 1, 0.0)
    assert table.line(outcome).splitlines()[-1].strip() == "0.8 x torch: 0.50 x, reached"


def test_a_goal_without_a_peer_is_in_the_unit_of_the_row() -> None:
    outcome = measure(row(Goal(40), kellet=timed(0.050)), 1, 0.0)
    assert table.line(outcome).splitlines()[-1].strip() == "40: 50, missed by 25%"


def test_contenders_that_differ_are_not_timed() -> None:
    ours, theirs = Contender(list, result=lambda: [[1.0, 2.0]]), Contender(list, result=lambda: [[1.0, 2.5]])
    with pytest.raises(ValueError, match=r"title: result 0 of kellet and torch differ by 0\.5"):
        measure(row(kellet=ours, torch=theirs), 1, 0.0)


def absent_peer() -> Contender:
    raise ImportError("no such library")


def test_a_peer_that_is_not_installed_is_named() -> None:
    contenders = {"kellet": lambda: timed(0.001), "torch": absent_peer}
    outcome = measure(Row("Section", "title", "ms", contenders, (Goal(1, "torch"),)), 1, 0.0)
    assert outcome.absent == ("torch",)
    assert (
        table.tables([outcome]).splitlines()[-1]
        == "| title, ms | 1 | not here | 1 x torch: torch is not here |"
    )


def test_a_subject_that_cannot_be_imported_is_an_error() -> None:
    with pytest.raises(ImportError, match="no such library"):
        measure(Row("Section", "title", "ms", {"kellet": absent_peer}), 1, 0.0)


def test_an_added_cost_is_what_remains_without() -> None:
    calls: list[str] = []
    contender = Contender(lambda: calls.append("with"), without=lambda: calls.append("without"))
    measure(row(kellet=contender), 1, 0.0)
    assert calls == ["with", "without"]


def test_why_stands_under_the_table_only_where_a_goal_is_missed() -> None:
    explained = Row("Section", "title", "ms", {}, (Goal(0.5, "torch"),), why="copies twice")
    missed = Outcome(explained, {"kellet": [1.0], "torch": [1.0]}, ())
    reached = Outcome(explained, {"kellet": [0.1], "torch": [1.0]}, ())
    assert "- title: copies twice" in table.tables([missed])
    assert "copies twice" not in table.tables([reached])


def outcome_of(section: str, title: str) -> Outcome:
    return Outcome(Row(section, title, "ms", {}), {"kellet": [0.001]}, ())


def test_sections_are_measured_anew_by_themselves() -> None:
    page = "# Benchmarks\n\nWords.\n\n" + table.tables(
        [outcome_of("One", "a"), outcome_of("Two", "b"), outcome_of("Three", "c")]
    )
    assert table.with_sections(page, [], "") == page
    again = table.with_sections(page, [outcome_of("Two", "better"), outcome_of("Four", "d")], "Measured now.")
    start, *sections = again.split("\n## ")
    assert start == "# Benchmarks\n\nWords.\n"
    assert [section.splitlines()[0] for section in sections] == ["One", "Two", "Three", "Four"]
    assert [section.splitlines()[-1].split(",")[0] for section in sections] == [
        "| a",
        "| better",
        "| c",
        "| d",
    ]
    assert ["Measured now." in section for section in sections] == [False, True, False, True]
    assert again.endswith("|\n")


def test_part_of_a_section_is_not_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.md"
    assert main(["--smoke", "--only", "300,000 times 1", "--write", str(page)]) == 2
    assert (
        "--write takes whole sections; '300,000 times 1' is in a part of: Plain objects."
        in capsys.readouterr().err
    )
    assert not page.exists()


def test_goals_name_peers_that_are_measured() -> None:
    rows = [row for family in FAMILIES for row in family.rows()]
    assert len(rows) > 0
    assert [r.title for r in rows for goal in r.goals if goal.peer and goal.peer not in r.contenders] == []


def test_a_figure_that_changed_by_more_than_a_fifth_is_told(tmp_path: Path) -> None:
    row = Row("Saving", "few", "ms", {}, (Goal(1.0, "peer"),))
    alone = Row("Opening", "few", "ms", {})
    for ours, theirs in ((0.010, 0.010), (0.030, 0.020), (0.032, 0.020)):
        outcomes = [
            Outcome(row, {"kellet": [ours], "peer": [theirs]}, ()),
            Outcome(alone, {"kellet": [theirs]}, ()),
        ]
        history.append(outcomes, "2026-01-01", tmp_path / "history.jsonl")
    known = history.known(tmp_path / "history.jsonl")
    assert [one["ratios"] for one in known if one["row"] == "Saving: few"] == [
        {"peer": 1.0},
        {"peer": 1.5},
        {"peer": 1.6},
    ]
    assert history.changes(known[:4]) == [
        "Saving: few: 1.5 x peer, 1 before: 50% more",
        "Opening: few: 20 ms, 10 before: 100% more",
    ]
    assert history.changes(known) == []  # of the last two runs nothing has
    assert history.known(tmp_path / "none") == []
