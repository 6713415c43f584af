"""What the text of an error cuts is whole in an attribute of it: names, problems, shapes and notes."""

from __future__ import annotations

import argparse
import copy
import datetime
import io
import json
import os
import pickle
import struct
import traceback
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import kellet
from kellet import distributed as dist
from kellet.errors import RankMismatchError, StateDictError
from kellet.nn.parallel.agreement import require_same_model
from packager import PackageExporter, PackageImporter
from packager._arguments import check_names
from packager._calls import CallError, fitted_inputs, learnt_schema, write_answer
from packager._calls.array_calls import call_with_arrays
from packager._calls.call_files import AnswerFileError
from packager._calls.value_types import Misfit, fitted, type_of
from packager._cli.main import main
from packager._environment.wheel_contents import require_names_alone
from packager._migrations import Migration, attach, chain, drop, read_migration
from packager._policy import Rule, require_matched
from packager._policy.policy import GlobGroup
from packager._weights import CheckpointPickleError, open_checkpoint
from packager._weights.sign_bits import sign_bits_in
from packager.errors import ArchiveError, PackageError, PackagingWarning
from tests.tables import one_test

MANY = [f"name{number:02}" for number in range(25)]
"""More than a list in an error tells."""


def _height(error: BaseException) -> int:
    """Return how many lines of a terminal a traceback ends with for an error and its notes."""
    text = "".join(traceback.format_exception_only(error)).rstrip("\n")
    return sum(-(-max(1, len(line)) // 80) for line in text.split("\n"))


# --- state dicts of kellet ---


def test_shapes_that_do_not_fit_are_all_in_problems() -> None:
    net = kellet.nn.Sequential(*(kellet.nn.Linear(1, 1, bias=False) for _ in range(25)))
    given = {f"{number}.weight": kellet.ones(number + 2, 3) for number in range(25)}
    with pytest.raises(StateDictError, match=r"size mismatch for 9\.weight.*\n\tand 15 more$") as told:
        net.load_state_dict(given)
    assert told.value.problems == tuple(
        f"size mismatch for {number}.weight: copying a param with shape ({number + 2}, 3) from checkpoint, "
        "the shape in current model is (1, 1)."
        for number in range(25)
    )
    assert told.value.mismatched == list(given)
    assert told.value.messages == []  # as in PyTorch
    assert pickle.loads(pickle.dumps(told.value)).problems == told.value.problems


class _Exchanging(dist.AloneTransport):
    """The transport of rank 0 of 25, where the others say other things."""

    size = 25

    def exchange(self, data: bytes) -> list[bytes]:
        return [data, *(b"another %d" % rank for rank in range(1, 25))]


def test_ranks_with_another_model_are_told_by_ten_and_held_in_problems() -> None:
    group = dist.ProcessGroup(_Exchanging())
    group._agree = lambda description: None  # type: ignore[method-assign]  # the others agree until they tell their models
    with pytest.raises(RankMismatchError, match="different models; rank 0 has 1 ") as told:
        require_same_model(group, [("w", kellet.nn.Parameter(kellet.ones(1)))])
    assert "\nand 14 more\nBuild the module in the same way" in str(told.value)
    assert [one.partition(",")[0] for one in told.value.problems] == [f"  rank {at}" for at in range(1, 25)]


def test_ranks_that_ask_for_another_operation_are_held_in_problems() -> None:
    with pytest.raises(RankMismatchError, match="do not ask for the same operation") as told:
        dist.ProcessGroup(_Exchanging()).barrier()
    assert "  rank 9: another 9\nand 15 more\nEvery rank" in str(told.value)
    assert told.value.problems[1:] == tuple(f"  rank {rank}: another {rank}" for rank in range(1, 25))


# --- migrations ---


def test_problems_of_a_chain_are_held() -> None:
    with pytest.raises(PackageError, match=r"both reach version 2 of the checkpoint.*\nand 14 more$") as told:
        chain(Migration(name, [], to=2) for name in MANY)
    assert len(told.value.problems) == 24
    assert told.value.problems[-1].startswith("migration 'name23' and migration 'name24' both reach version")


def test_problems_of_attached_migrations_are_held() -> None:
    class Net(kellet.nn.Module):
        _version = 2

    with pytest.raises(PackageError, match=r"has no version.*\nand 15 more$") as told:
        attach(Net, *(Migration(name, [drop("mask")]) for name in MANY))
    assert told.value.problems == tuple(
        f"migration {name!r} has no version; write Migration(..., to=2)" for name in MANY
    )


def test_problems_of_a_file_of_migrations_are_held(tmp_path: Any) -> None:
    file = tmp_path / "m.toml"
    file.write_text('name = "net"\n' + "".join(f'[[step]]\nrenam = "{name}"\n' for name in MANY))
    with pytest.raises(PackageError, match=r"\nand 15 more$") as told:
        read_migration(file)
    assert len(told.value.problems) == 25
    assert told.value.problems[-1].startswith(f"{file}:50: ")


def test_keys_that_a_table_does_not_know_are_told_by_ten(tmp_path: Any) -> None:
    file = tmp_path / "m.toml"
    file.write_text('name = "net"\n' + "".join(f"{name} = 1\n" for name in MANY))
    with pytest.raises(PackageError, match=r":2: unknown 'name00'; did you mean name\?, ") as told:
        read_migration(file)
    assert "name10" not in str(told.value)
    assert told.value.problems == tuple(f"{file}:2: unknown {name!r}" for name in MANY)


def test_steps_that_have_no_way_back_are_told_by_ten() -> None:
    with pytest.raises(PackageError, match=r"no inverse for drop name00; .*drop name09 and 15 more$") as told:
        Migration("net", [drop(name) for name in MANY]).inverse()
    assert told.value.problems == tuple(f"drop {name}" for name in MANY)


# --- lists on one line ---


def _no_object() -> None:
    file = io.BytesIO()
    with PackageExporter(file) as exporter:
        for name in MANY:
            exporter.save_object("net", name, [])
    with PackageImporter(file) as importer:
        importer.load_object("net", "none")


def _no_state_dict() -> None:
    file = io.BytesIO()
    with PackageExporter(file) as exporter:
        for name in MANY:
            exporter.save_state_dict("net", name, {"w": np.ones(1)})
    with PackageImporter(file) as importer:
        importer.load_state_dict("net", "none")


def _no_module() -> None:
    file = io.BytesIO()
    with PackageExporter(file) as exporter:
        for name in ("net", *(f"net.{name}" for name in MANY)):
            exporter.save_source_string(name, "", is_package=name == "net")
    with PackageImporter(file) as importer:
        importer.import_module("net.none")


def _disallowed() -> None:
    file = io.BytesIO()
    with PackageExporter(file) as exporter, warnings.catch_warnings(action="ignore"):
        exporter.extern(MANY)
        exporter.save_source_string("net", "".join(f"import {name}\n" for name in MANY))
        exporter.close()
    PackageImporter(file, module_allowed=lambda name: name not in MANY, environment="ignore")


def _answers() -> None:
    write_answer(dict.fromkeys(MANY), os.devnull + ".npz", as_arrays=True)


def _schema() -> None:
    schema = learnt_schema("model", lambda **named: None, [], dict.fromkeys(MANY, "int"), {}, exact=True)
    assert schema is not None
    fitted_inputs(schema, dict.fromkeys(MANY, "text"))


ONE_LINE: dict[str, tuple[Callable[[], Any], str, Any]] = {
    "objects": (_no_object, "the archive holds net/name00, ", tuple(f"net/{name}" for name in MANY)),
    "state dicts": (_no_state_dict, "the archive holds net/name00, ", tuple(f"net/{one}" for one in MANY)),
    "modules": (_no_module, "below 'net' there are ", tuple(f"net.{name}" for name in MANY)),
    "modules that are not allowed": (_disallowed, "external modules 'name00', ", tuple(MANY)),
    "parts of an answer": (_answers, "name00, name01", tuple(MANY)),
    "inputs": (_schema, "do not fit, and it was not called", [f"{name}: found" for name in MANY]),
    "inputs without a first": (
        lambda: call_with_arrays(print, {"arg1": np.ones(1), **dict.fromkeys(MANY, np.ones(1))}),
        "inputs arg1, name00",
        ("arg1", *MANY),
    ),
    "rules": (
        lambda: require_matched([Rule("mock", GlobGroup(name)) for name in MANY]),
        r"did not match any modules to mock\('name00'\), ",
        tuple(f"mock({name!r})" for name in MANY),
    ),
    "keys": (
        lambda: check_names("state", dict.fromkeys(range(25))),
        "found 0, 1, 2, 3, 4 and 20 more",
        tuple(range(25)),
    ),
    "requirements": (
        lambda: require_names_alone("a.whl", [f"{name} @ https://a.example/x" for name in MANY]),
        "it requires 'name00 @ https",
        tuple(f"{name} @ https://a.example/x" for name in MANY),
    ),
}


@one_test
@pytest.mark.parametrize("case", ONE_LINE)
def test_names_of_a_list_on_one_line_are_told_by_ten_and_held(case: str) -> None:
    fail, said, expected = ONE_LINE[case]
    with pytest.raises(PackageError, match=said) as told:
        fail()
    text = str(told.value)
    assert " more" in text
    assert "name11" not in text
    assert _height(told.value) <= 40
    if isinstance(expected, tuple):
        assert told.value.problems == expected
    else:
        assert len(told.value.problems) == len(expected)
        assert all(map(str.startswith, told.value.problems, expected))


def test_keys_in_the_metadata_of_a_tensor_are_told_by_ten_and_held() -> None:
    with pytest.raises(ArchiveError, match=r"has 'name00', .*'name09' and 15 more, and what that") as told:
        sign_bits_in(dict.fromkeys(MANY, 1))
    assert told.value.problems == tuple(map(repr, MANY))


def test_keys_that_are_not_those_of_a_type_are_told_by_ten_and_held() -> None:
    with pytest.raises(Misfit, match=r"x: found the keys name00, .*name09 and 15 more, expected a") as told:
        fitted("x", dict.fromkeys(MANY, 1.0), type_of({"a": 1.0}))
    assert told.value.problems == tuple(MANY)


def test_members_that_hold_the_tensors_of_a_file_are_told_by_ten(tmp_path: Any) -> None:
    header = json.dumps({"__metadata__": {"kellet.elsewhere": "\n".join(MANY)}}).encode()
    file = tmp_path / "x.safetensors"
    file.write_bytes(struct.pack("<Q", len(header)) + header)
    with pytest.raises(PackageError, match=r"lie in 'name00', .*'name09' and 15 more; read") as told:
        open_checkpoint(file)
    assert told.value.problems == tuple(MANY)


def test_names_of_a_pickle_are_all_in_problems(tmp_path: Any) -> None:
    path = tmp_path / "a.pt"
    held = {"a": argparse.Namespace(x=1), "b": datetime.date}
    path.write_bytes(pickle.dumps(held, 2))
    with pytest.raises(CheckpointPickleError) as told:
        open_checkpoint(path)
    assert [one.partition(": ")[2] for one in told.value.problems] == [
        "'argparse.Namespace'",
        "'datetime.date'",
    ]
    path.write_bytes(pickle.dumps({"a": argparse.Namespace(x=1)}, 2))
    with pytest.raises(CheckpointPickleError, match=r"offset 13: 'argparse\.Namespace'") as told:
        open_checkpoint(path)
    assert told.value.problems == ("offset 13: 'argparse.Namespace'",)


def test_ranges_of_damaged_bytes_are_told_by_five_and_held() -> None:
    file = io.BytesIO()
    with PackageExporter(file) as exporter:
        exporter.save_binary("net", "x.bin", bytes(1 << 26))
    data = bytearray(file.getvalue())
    start = data.index(bytes(1 << 20))
    for at in range(start, start + (1 << 26), 1 << 20):
        data[at] = 1
    with PackageImporter(bytes(data)) as importer, pytest.raises(ArchiveError, match="bytes 0 to ") as told:
        importer.load_binary("net", "x.bin")
    chunks = len(told.value.problems)
    assert chunks > 10  # of which five are told
    assert f" and {chunks - 5} more do not have the " in str(told.value)


# --- notes ---


@pytest.mark.parametrize("note", ["in step {}", "in step {} " + "x" * 500], ids=["short", "long"])
@pytest.mark.parametrize("text", ["failed", "failed\n" * 200 + "last"], ids=["short", "long"])
def test_an_error_with_its_notes_fits_on_a_screen(note: str, text: str) -> None:
    notes = [note.format(number) for number in range(100)]
    error = PackageError.listing("all failed:", [text] * 30, "last")
    for one in notes:
        error.add_note(one)
    assert _height(error) <= 40
    assert str(error).startswith("all failed:\n")
    assert str(error).endswith("last")
    assert error.notes == tuple(notes)
    assert error.__notes__[0].startswith("in step 0")
    assert error.__notes__[-1].endswith(note.format(99)[-20:])
    assert any("more lines, which are in `notes` of the error" in one for one in error.__notes__)
    for again in (pickle.loads(pickle.dumps(error)), copy.deepcopy(error)):
        assert (str(again), again.notes, again.__notes__) == (str(error), error.notes, error.__notes__)


def test_few_notes_are_told_as_they_are() -> None:
    warning = PackagingWarning("slow")
    warning.add_note("while net was saved\x1b[2J")
    warning.add_note("in Net")
    assert warning.__notes__ == list(warning.notes) == ["while net was saved\\x1b[2J", "in Net"]
    assert str(warning) == "slow"


@pytest.mark.parametrize("kind", [PackageError, OSError, ImportError])
def test_command_shows_an_error_and_its_notes_on_a_screen(
    kind: type[Exception], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*arguments: object, **options: object) -> None:
        error = kind("no disk\n" * 100)
        for number in range(200):
            error.add_note(f"in step {number}")
        raise error

    monkeypatch.setattr("packager._archive.ArchiveReader.__init__", refuse)
    assert main(["inspect", "net.kellet"]) > 0
    lines = capsys.readouterr().err.splitlines()
    assert 15 < len(lines) <= 40
    assert lines[-1] == "  in step 199"


def test_command_names_few_of_many_arguments_that_it_does_not_know(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["verify", "net.kellet", *MANY])
    assert "unrecognized arguments: name00 name01 " in (told := capsys.readouterr().err)
    assert told.rstrip().endswith("name09 and 15 more")


def test_honest_list_of_ten_is_told_in_full() -> None:
    with pytest.raises(CallError, match="arg1, a0, a1, a2, a3, a4, a5, a6, a7, a8: arg0") as told:
        call_with_arrays(print, {"arg1": 1, **dict.fromkeys(f"a{number}" for number in range(9))})
    assert len(told.value.problems) == 10
    assert AnswerFileError("x").problems == ()
