"""No error is longer than a screen, and no list in one than ten items; all of it stays in attributes."""

from __future__ import annotations

import io
import re
import traceback
from pathlib import Path

import numpy as np
import pytest

import kellet
from kellet.errors import HookError, RankMismatchError, StateDictError
from packager import PackageExporter, PackageImporter, verify
from packager._archive import ArchiveReader
from packager._audit.refused_names import refusal
from packager._audit.trust import TrustContext
from packager._cli.main import main
from packager._exporting import RefusedPlanError
from packager._migrations import Migration, migrate, plan_migration, rename
from packager._objects.naming import FormUse, NameUse
from packager._policy.policy_file import parse_policy
from packager._ranks import RanksDisagreeError
from packager._texts import Lines, few_of, in_lines, listed, on_screen
from packager._weights import write_checkpoint
from packager.errors import ArchiveError, CheckpointError, KeyNotStoredError, MigrationError, PackageError

MANY = [f"layers.{number}.weight" for number in range(20_000)]


def _height(error: BaseException) -> int:
    """Return how many lines of a terminal a traceback ends with for an error."""
    text = "".join(traceback.format_exception_only(error)).rstrip("\n")
    return sum(-(-max(1, len(line)) // 80) for line in text.split("\n"))


def test_list_of_ten_is_told_in_full_and_of_eleven_one_is_counted() -> None:
    ten = list("abcdefghij")
    assert few_of(ten) == ten
    assert few_of([*ten, "k"]) == [*ten, "and 1 more"]
    assert listed(ten) == "a, b, c, d, e, f, g, h, i, j"
    assert listed(MANY) == ", ".join(MANY[:10]) + " and 19,990 more"


def test_long_item_of_a_list_is_cut_and_says_its_length() -> None:
    long = "k" * 9_990 + ": no float"
    assert few_of([long]) == ["k" * 160 + "... (10,000 characters) ..." + "k" * 150 + ": no float"]
    assert listed(["k" * 400]) == "k" * 400


@pytest.mark.parametrize("text", ["a" * 10_000, "a\n" * 500, "a" * 79 + "\n" + "b" * 3500, "\n" * 80])
def test_long_text_keeps_its_beginning_and_its_end(text: str) -> None:
    error = PackageError(Lines(f"first {text} last"))
    assert _height(error) <= 40
    assert str(error).startswith("first")
    assert str(error).endswith("last")
    assert re.search(r"more lines, which are in `args` of the error|\d characters\) \.\.\.", str(error))
    assert error.args == (f"first {text} last",)


def test_text_of_a_screen_is_told_as_it_is() -> None:
    text = in_lines(*map(str, range(38)))
    assert on_screen(text) == text
    assert str(PackageError(text)) == text


def test_what_is_hidden_in_a_long_text_is_still_spelled_out() -> None:
    told = str(PackageError("\x1b[2J\n" * 2_000))
    assert "\x1b" not in told
    assert told.startswith("\\x1b[2J\\n")
    assert isinstance(told, Lines)  # what it is put into keeps its lines


def test_refused_plan_tells_a_few_problems_of_each_reason_and_holds_all() -> None:
    imports = "\n".join(f"import no_such_module_{number}" for number in range(300))
    exporter = PackageExporter(io.BytesIO(), prove=False)
    exporter.save_source_string("net", f"{imports}\nfrom .gone import y\n", is_package=True)
    exporter.deny("json")
    exporter.save_source_string("other", "import json")
    with pytest.raises(RefusedPlanError) as told:
        exporter.close()
    assert _height(told.value) <= 40
    assert len(told.value.problems) > 300
    text = str(told.value)
    reasons = {problem.reason for problem in told.value.problems}
    assert len(reasons) > 1
    assert all(f"* {reason}" in text for reason in reasons)
    assert " more\n" in text
    assert told.value.plan.text().count("no_such_module_299") >= 1


def test_untrusted_names_are_told_by_tens_and_held_in_full() -> None:
    uses = [NameUse("zoo", f"C{number}", "create", f".x{number}") for number in range(60)]
    forms = [FormUse(f".y{number}", "a lambda") for number in range(60)]
    error = refusal(uses, TrustContext.data_only(), "object m/o", forms)
    assert _height(error) <= 40
    assert str(error).count("    and 50 more") == 2
    assert "trust=('zoo:C0', " in str(error)
    assert "this error lists all in `names` and `forms`" in str(error)
    assert (len(error.names), len(error.uses), len(error.forms)) == (60, 60, 60)
    few = refusal(uses[:10], TrustContext.data_only(), "object m/o")
    assert " more" not in str(few)
    assert str(few).endswith("'zoo:C9',)), or --trust of the command")


def test_load_state_dict_tells_ten_of_many_keys_and_holds_all() -> None:
    net = kellet.nn.Sequential(*(kellet.nn.Linear(1, 1) for _ in range(2_000)))
    given = {f"{number}.weight": kellet.ones(2, 2) for number in range(1_000)}
    with pytest.raises(StateDictError) as told:
        net.load_state_dict({**given, **{f"old.{key}" * 40: kellet.ones(1) for key in MANY}})
    error = told.value
    assert _height(error) <= 40
    assert (
        str(error).splitlines()[1].startswith('\tMissing key(s) in state_dict: "0.bias", "1.bias", "2.bias",')
    )
    assert str(error).endswith("\tand 990 more")
    assert (len(error.missing_keys), len(error.unexpected_keys)) == (3_000, 20_000)
    assert len(error.mismatched) == 1_000


def test_load_state_dict_tells_ten_keys_as_pytorch_does() -> None:
    net = kellet.nn.Sequential(*(kellet.nn.Linear(1, 1) for _ in range(5)))
    with pytest.raises(StateDictError) as told:
        net.load_state_dict({})
    keys = ", ".join(f'"{number}.{name}"' for number in range(5) for name in ("weight", "bias"))
    said = f"Error(s) in loading state_dict for Sequential:\n\tMissing key(s) in state_dict: {keys}. "
    assert str(told.value) == said


@pytest.mark.parametrize(
    "kind", [HookError, RankMismatchError, StateDictError], ids=lambda kind: kind.__name__
)
def test_long_text_of_kellet_keeps_its_beginning_and_its_end(kind: type[Exception]) -> None:
    error = kind("first " + "a" * 10_000 + "\n" + "b\n" * 200 + "last")
    assert _height(error) <= 40
    assert str(error).startswith("first aaa")
    assert str(error).endswith("b\nlast")
    assert len(error.args[0]) > 10_000


def test_keys_that_no_step_knows_are_told_by_ten_and_held_in_problems() -> None:
    with pytest.raises(MigrationError, match=r"matches 20,001 keys:\n    layers\.0\.weight\n") as told:
        migrate(Migration("few", [], unknown="error"), dict.fromkeys([*MANY, "z" * 10_000], np.ones(1)))
    assert _height(told.value) <= 40
    assert "\n    and 19,991 more\nWrite steps for them" in str(told.value)
    assert told.value.problems == (*MANY, "z" * 10_000)


def test_steps_that_match_no_key_are_told_by_ten_and_held_in_problems() -> None:
    steps = [rename(f"old{number}.weight", f"new{number}.weight") for number in range(70)]
    plan = plan_migration(Migration("names", steps), {"a": np.ones(1)})
    with pytest.raises(MigrationError) as told:
        plan.require_matched()
    assert _height(told.value) <= 40
    assert "    and 60 more\nCorrect the key" in str(told.value)
    assert len(told.value.problems) == 70


def test_tensors_that_safetensors_has_no_place_for_are_told_by_ten(tmp_path: Path) -> None:
    state = {f"z{number}": np.ones(1, "complex128") for number in range(70)}
    with pytest.raises(CheckpointError, match="cannot store 70 tensors") as told:
        write_checkpoint(tmp_path / "x.safetensors", state)
    assert "\n    and 60 more" in str(told.value)
    assert len(told.value.problems) == 70


def test_problems_of_a_policy_are_told_by_ten_and_held_in_problems() -> None:
    with pytest.raises(PackageError, match=r"<policy> cannot be used:") as told:
        parse_policy("".join(f"key{number} = 1\n" for number in range(80)))
    assert "\n    and 70 more" in str(told.value)
    assert len(told.value.problems) == 80


def test_what_ranks_do_not_agree_on_is_told_by_ten_and_held_in_problems() -> None:
    error = RanksDisagreeError("exporting", [f"rank {number}: {number}" for number in range(512)])
    assert str(error).endswith("\n  rank 9: 9\n  and 502 more")
    assert len(error.problems) == 512


def test_keys_that_a_state_dict_lacks_are_told_by_few_and_held_in_full() -> None:
    file = io.BytesIO()
    with PackageExporter(file, prove=False) as exporter:
        exporter.save_state_dict("net", "weights", {"w": np.ones(1)})
    with PackageImporter(file) as importer, pytest.raises(KeyNotStoredError) as told:
        importer.load_state_dict("net", "weights").many([*MANY, "k" * 10_000])
    assert _height(told.value) <= 40
    assert len(told.value.missing_keys) == 20_001


def _damaged_archive() -> bytes:
    """Return an archive with a wrong byte in each of forty files."""
    file = io.BytesIO()
    with PackageExporter(file, prove=False) as exporter:
        for number in range(40):
            exporter.save_text("net", f"{number}.txt", f"text of the file {number}.")
    data = bytearray(file.getvalue())
    for number in range(40):
        data[data.index(f"text of the file {number}.".encode())] ^= 1
    return bytes(data)


def test_problems_of_a_damaged_archive_are_raised_by_ten_and_held_in_problems() -> None:
    outcome = verify(_damaged_archive())
    assert len(outcome.problems) == 40
    with pytest.raises(ArchiveError, match=r"has 40 problems:\n    entry 'net/0\.txt'") as told:
        outcome.raise_for_problems()
    assert _height(told.value) <= 40
    assert str(told.value).endswith("\n    and 30 more")
    assert told.value.problems == tuple(problem.message for problem in outcome.problems)


def test_error_of_another_library_is_cut_by_the_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*arguments: object, **options: object) -> None:
        raise OSError("no disk\x1b[2J\n" * 3_000)

    monkeypatch.setattr(ArchiveReader, "__init__", refuse)
    assert main(["inspect", "net.kellet"]) == 3
    lines = capsys.readouterr().err.splitlines()
    assert 20 < len(lines) <= 40
    assert lines[0] == "kellet: no disk\\x1b[2J"
