from __future__ import annotations

import ast
from pathlib import Path

from tests.mutants.faults import faults_in
from tests.mutants.judged import JUDGED, Judged

ROOT = Path(__file__).resolve().parents[2]

SOURCE = '''\
"""Nothing of this text is a fault: 1 < 2."""

LIMIT: int = 1 << 20


def check(size: int, names: list[str]) -> bool:
    if size > LIMIT and names:
        raise ValueError(f"{size + 1} is more than {LIMIT - 1}")
    audit("größe", size)
    return not (size == 0)
'''


def _written(tmp_path: Path) -> Path:
    file = tmp_path / "module.py"
    file.write_text(SOURCE, encoding="utf-8")
    return file


def test_each_comparison_check_constant_and_condition_has_its_fault(tmp_path: Path) -> None:
    found = [(fault.line, fault.old, fault.new) for fault in faults_in(tmp_path, _written(tmp_path))]
    assert found == [
        (3, "1", "2"),
        (3, "20", "21"),
        (7, "size > LIMIT", "(size >= LIMIT)"),
        (7, "size > LIMIT and names", "(False)"),
        (7, "size > LIMIT and names", "(size > LIMIT or names)"),
        (9, 'audit("größe", size)', "pass"),
        (10, "not (size == 0)", "size == 0"),
        (10, "size == 0", "(size != 0)"),
        (10, "0", "1"),
    ]


def test_a_fault_changes_its_place_alone_and_leaves_a_file_that_compiles(tmp_path: Path) -> None:
    for fault in faults_in(tmp_path, _written(tmp_path)):
        applied = fault.applied(SOURCE)
        assert applied != SOURCE
        assert len(applied.encode()) - len(SOURCE.encode()) == len(fault.new.encode()) - len(
            fault.old.encode()
        )
        ast.parse(applied)


def test_a_fault_says_the_function_and_the_lines_that_it_is_in(tmp_path: Path) -> None:
    faults = {fault.new: fault for fault in faults_in(tmp_path, _written(tmp_path))}
    assert (faults["21"].where, faults["pass"].where) == ("", "check")
    assert faults["pass"].before == 'audit("größe", size)'
    assert faults["(size != 0)"].before == "return not (size == 0)"
    assert faults["(size != 0)"].after == "return not ((size != 0))"


def test_what_a_reader_has_judged_is_found_by_its_text(tmp_path: Path) -> None:
    judged = tmp_path / "equivalent.toml"
    judged.write_text(
        "[[mutant]]\nfile = 'module.py'\nwhere = 'check'\nbefore = 'return not (size == 0)'\n"
        "after = 'return not (size == 1)'\nwhy = 'a size is never 0 or 1'\n",
        encoding="utf-8",
    )
    found = [fault for fault in faults_in(tmp_path, _written(tmp_path)) if fault in Judged(judged)]
    assert [(fault.line, fault.new) for fault in found] == [(10, "1")]


def test_every_judged_mutant_is_one_of_the_code() -> None:
    judged = Judged(JUDGED)
    files = {file for file, *_ in judged.texts}
    found = {(f.file, f.where, f.before, f.after) for file in files for f in faults_in(ROOT, ROOT / file)}
    assert judged.texts - found == set()
