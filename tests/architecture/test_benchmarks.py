"""The benchmark runner: it compares results before times, and says by how much a goal is missed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import goals, history, table
from benchmarks.__main__ import FAMILIES, main, one_of_a_kind
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
    assert table.line(outcome).splitlines()[-1].strip() == "1.50 x torch; goal 0.8, missed by 88%"


def test_a_reached_goal_says_what_it_came_to() -> None:
    outcome = measure(row(Goal(0.8, "torch"), kellet=timed(0.001), torch=timed(0.002)), 1, 0.0)
    assert table.line(outcome).splitlines()[-1].strip() == "0.50 x torch; goal 0.8, reached"


def test_a_goal_without_a_peer_is_in_the_unit_of_the_row() -> None:
    outcome = measure(row(Goal(40), kellet=timed(0.050)), 1, 0.0)
    assert table.line(outcome).splitlines()[-1].strip() == "50; goal 40, missed by 25%"


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
        == "| torch is not here; goal 1 | title, ms | 1 | torch not here |"
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


def test_rows_of_one_subject_are_a_table_with_the_ratio_first() -> None:
    goals = (Goal(1.1, "torch"), Goal(5))
    outcomes = [
        Outcome(
            Row(
                "Files", f"{size}: {what}", "ms", {"kellet": absent_peer, "torch": absent_peer}, goals[:count]
            ),
            {"kellet": [0.004], "torch": [0.002]},
            (),
        )
        for size, what, count in [("1 MB", "save", 2), ("1 MB", "load", 0), ("2 MB", "save", 1)]
    ]
    assert (
        table.tables(outcomes)
        == """## Files

### 1 MB

| came to | what | kellet | beside it |
|---|---|---:|---|
| **2.00 x** torch; goal 1.1, missed by 82%<br>**4**; goal 5, reached | save, ms | 4 | torch 2 |
| 2.00 x torch | load, ms | 4 | torch 2 |

### 2 MB

| came to | what | kellet | beside it |
|---|---|---:|---|
| **2.00 x** torch; goal 1.1, missed by 82% | save, ms | 4 | torch 2 |
"""
    )


def test_one_reason_is_given_once() -> None:
    rows = [Row("S", f"{size}: save", "ms", {}, (Goal(0.5, "torch"),), why="copies") for size in "ab"]
    said = table.tables([Outcome(row, {"kellet": [1.0], "torch": [1.0]}, ()) for row in rows])
    assert said.endswith("\n- save: copies\n")


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
    whats = [section.splitlines()[-1].split(" | ")[1] for section in sections]
    assert whats == ["a, ms", "better, ms", "c, ms", "d, ms"]
    assert ["Measured now." in section for section in sections] == [False, True, False, True]
    assert again.endswith("|\n")


def test_the_history_tells_changes_of_more_than_a_fifth(tmp_path: Path) -> None:
    def run(file: Path, seconds: float, peer: float, alone: float, environment: str = "here") -> None:
        beside = Row("S", "save", "ms", {}, (Goal(1, "torch"),))
        outcomes = [
            Outcome(beside, {"kellet": [seconds], "torch": [peer], "numpy": [9.0]}, ()),
            Outcome(Row("S", "open", "ms", {}), {"kellet": [alone]}, ()),
        ]
        history.add_run(outcomes, environment, file)

    file = tmp_path / "history.jsonl"
    run(file, 1.0, 1.0, 0.001)
    run(file, 5.0, 1.0, 0.100, environment="elsewhere")
    run(file, 3.0, 2.5, 0.0011)  # all is slower there; the ratio is what it was, near enough
    runs = [json.loads(line) for line in file.read_text().splitlines()]
    assert history.changes(runs) == []
    run(file, 3.0, 2.0, 0.0005)
    runs = [json.loads(line) for line in file.read_text().splitlines()]
    today = runs[0]["date"]
    assert [str(change) for change in history.changes(runs)] == [
        f"+25%  S: save, ms, beside torch: 1.2 ({today}), 1.5 ({today})",
        f"-55%  S: open, ms: 1.1 ({today}), 0.5 ({today})",
    ]


def test_part_of_a_section_is_not_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.md"
    assert main(["--smoke", "--only", "300,000 times 1", "--write", str(page)]) == 2
    assert (
        "--write takes whole sections; '300,000 times 1' is in a part of: Plain objects."
        in capsys.readouterr().err
    )
    assert not page.exists()


def test_one_row_of_a_kind_is_started_for_each_subject_and_each_question() -> None:
    files = ["1 MB: save", "1 MB: open", "2 MB: save", "2 MB: open"]
    models = [("Time", "small"), ("Memory", "small"), ("Memory", "large"), ("Time", "large")]
    asked = [*(("Files", title) for title in files), ("Memory", "2 MB: open"), *models]
    kept = one_of_a_kind([Row(section, title, "ms", {}) for section, title in asked])
    left_out = {("Files", "2 MB: open"), ("Time", "large")}
    assert [(one.section, one.title) for one in kept] == [one for one in asked if one not in left_out]


def test_goals_name_peers_that_are_measured() -> None:
    rows = [row for family in FAMILIES for row in family.rows()]
    assert len(rows) > 0
    assert [r.title for r in rows for goal in r.goals if goal.peer and goal.peer not in r.contenders] == []


def test_a_list_of_goals_says_what_the_last_two_runs_came_to(tmp_path: Path) -> None:
    beside = Row("Files", "save", "ms", {}, (Goal(0.9, "torch", list=2), Goal(3, list=2), Goal(9)))
    alone, never = (Row("Plans", name, "ms", {}, (Goal(40, list=2),)) for name in ("again", "cold"))
    assert [goals.is_asked(one) for one in (beside, Row("Files", "open", "ms", {}, (Goal(1),)))] == [
        True,
        False,
    ]
    file = tmp_path / "history.jsonl"
    for seconds, environment in ((9.0, "here"), (0.0008, "here"), (0.002, "here"), (0.002, "there")):
        taken = {"kellet": [seconds], "torch": [0.001]}
        outcomes = [Outcome(beside, taken, ()), Outcome(alone, {"kellet": [0.02]}, ())]
        history.add_run(outcomes[: 1 if environment == "there" else 2], environment, file)
    found = goals.found_in(history.read_runs(file), [beside, alone, never])
    assert {name: [one.figures for one in of_it] for name, of_it in found.items()} == {
        "here": [(0.8, 2.0), (0.8, 2.0), (20.0, 20.0), ()],
        "there": [(2.0,), (2.0,), (), ()],
    }
    assert [one.verdict for one in found["here"]] == [
        "missed by 122% in one of 2",
        "reached",
        "reached",
        "not measured",
    ]
    assert found["there"][0].verdict == "missed by 122%"
    made = goals.section(history.read_runs(file), [beside, alone, never])
    assert "| missed by 122% in one of 2 | 0.9 x torch | 0.8 | 2 | save |\n" in made
    assert "| not measured | 40 ms | - | - | cold |\n\n### there\n" in made
    page = "# Benchmarks\n\nWords.\n\n## Files\n\nTables.\n"
    once = goals.with_section(page, made)
    assert once == f"# Benchmarks\n\nWords.\n\n{made}\n## Files\n\nTables.\n"
    assert goals.with_section(once, made) == once
    assert history.changes(history.read_runs(file))[0].row == "Files: save, ms"


def test_a_history_without_runs_says_so(tmp_path: Path) -> None:
    assert history.read_runs(tmp_path / "none.jsonl") == []
    assert goals.section([], []).endswith("\n\nNo run has been recorded.\n")
