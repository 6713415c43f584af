"""Texts of a file never forge a line or a colour: not in commands, not in errors that reach a terminal."""

from __future__ import annotations

import io
import json
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from packager import PackageImporter
from packager._archive import (
    ArchiveWriter,
    CheckRecord,
    EntryPoint,
    ExternRecord,
    ImportSite,
    Manifest,
    ModuleRecord,
    ObjectRecord,
    StateDictRecord,
    TensorSpec,
    TypeUse,
    add_tensors,
)
from packager._archive.archive_errors import ArchiveIOError, MissingEntryError
from packager._cli import main
from packager._loading.opening import EnvironmentWarning
from packager._texts import HIDDEN, in_lines, one_line, printable
from packager.errors import PackageError
from tests.tables import one_test

EVIL = (
    "x\nFORGED: all is well\r\x1b[32mgreen\x9b2J\u202egnp.exe\u2028FORGED\x85FORGED\u200b\u061c\U000e0041\x7f"
)
"""A text that begins lines of its own, moves the cursor, colours, reorders and hides."""


def assert_harmless(printed: str) -> None:
    """Fail where a line is not ours, or a character is obeyed or hidden."""
    assert re.search(f"[{HIDDEN}]", printed) is None, ascii(printed)
    assert not any(line.lstrip().startswith("FORGED") for line in printed.split("\n")), ascii(printed)


def test_each_hidden_character_is_spelled_out_wherever_it_stands() -> None:
    hidden = re.findall(f"[{HIDDEN}]", "".join(map(chr, range(0x110000))))
    assert len(hidden) > 6000
    for one in hidden:
        assert one_line(f"a{one}\u2500") == f"a{ascii(one)[1:-1]}\u2500"
        assert printable(f"a\n{one}\u2500\t") == f"a\n{ascii(one)[1:-1]}\u2500\t"
    assert one_line("\u2500 gr\xf6\xdfe \u6a21\u578b\t") == "\u2500 gr\xf6\xdfe \u6a21\u578b\t"


def hostile(evil: str = EVIL, *, readable: bool = False, module: str = "net") -> bytes:
    """An archive with a hostile text in every field of the manifest that takes any, or is read well."""
    file = io.BytesIO()
    with ArchiveWriter(file) as writer:
        writer.add("net.py", b"answer = 42\n", kind="source")
        tensors = [TensorSpec(evil, "F32", (2,), (1,), 0, 0)]
        add_tensors(writer, "weights.safetensors", tensors, [b"12345678"])
        writer.seal(
            Manifest(
                modules=(
                    ModuleRecord(module, "intern", evil, evil, "net.py", False, (ImportSite(evil, evil, 1),)),
                    ModuleRecord("mocked", "mock", evil, evil),
                ),
                externs=(
                    ExternRecord("absent", evil, "absent", "1.0", "absent>=1.0", False)
                    if readable
                    else ExternRecord("absent", evil, evil, evil, f"absent{evil}", False),
                ),
                objects=()
                if readable
                else (ObjectRecord(evil, evil, evil, evil, evil, (TypeUse(evil, "value"),), ((evil, 1),)),),
                state_dicts=(
                    StateDictRecord(evil, evil, "weights.safetensors", None, ((evil, 1),), (evil,)),
                ),
                entry_points=(EntryPoint("model", evil, evil, evil), EntryPoint(evil, evil, evil)),
                checks=(CheckRecord(evil, evil, evil, evil),),
                environment={
                    "python": evil,
                    "platform": evil,
                    "implementation": evil,
                    "byteorder": evil,
                    "distributions": {"absent": "1.0"} if readable else {evil: evil, "absent": evil},
                    evil: evil,
                },
            )
        )
    return file.getvalue()


COMMANDS = (
    ("inspect", "{}"),
    ("inspect", "{}", "--tensors"),
    ("inspect", "{}", "--json"),
    ("verify", "{}"),
    ("verify", "{}", "--deep"),
    ("verify", "{}", "--json"),
    ("why", "{}", "net"),
    ("why", "{}", EVIL),
    ("why", "{}", "net", "--json"),
    ("run", "{}", "--input", "{npz}"),
    ("run", "{}", "--input", "{npz}", "--entry", EVIL),
    ("check", "{}"),
    ("check", "{}", "--environment", "ignore"),
    ("extract", "{}", "{out}", EVIL),
    ("convert", "{}", "{out}.safetensors"),
    ("env", "check", "{}"),
    ("env", "check", "{}", "--json"),
    ("env", "lock", "{}"),
)


@pytest.mark.parametrize("readable", [False, True])
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: ascii(" ".join(command))[1:40])
def test_no_command_prints_a_line_or_colour_of_the_manifest(
    command: tuple[str, ...], readable: bool, tmp_path: Path, capsys: Any
) -> None:
    file, npz = tmp_path / "evil.kellet", tmp_path / "x.npz"
    file.write_bytes(hostile(readable=readable))
    np.savez(npz, x=np.ones(1))
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        main([part.format(file, npz=npz, out=tmp_path / "out") for part in command])
    printed = capsys.readouterr()
    assert "green" in printed.out + printed.err or command[0] in ("verify", "extract", "env")
    assert_harmless(printed.out)
    assert_harmless(printed.err)


def test_json_gives_the_texts_back_as_they_are(tmp_path: Path, capsys: Any) -> None:
    (file := tmp_path / "evil.kellet").write_bytes(hostile(readable=True))
    assert main(["inspect", str(file), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["checks"][0]["name"] == EVIL


def made(cls: type) -> PackageError:
    """An error of any class, with a hostile text as its argument, whatever its own __init__ asks for."""
    for base in (OSError, ImportError, AttributeError, Exception):
        with suppress(TypeError):
            error = base.__new__(cls)
            error.args = (EVIL,)
            return error
    raise AssertionError(cls)


def subclasses(cls: type) -> Iterator[type]:
    for below in cls.__subclasses__():
        yield below
        yield from subclasses(below)


def test_every_error_shows_a_text_on_its_line() -> None:
    """The base class does it: no place that raises has to remember."""
    import packager._analysis
    import packager._exporting
    import packager._loading
    import packager._weights

    for room in (packager._analysis, packager._exporting, packager._loading, packager._weights):
        for name in room.__all__:
            getattr(room, name)
    found = [cls for cls in subclasses(PackageError) if cls.__module__.startswith("packager")]
    assert len(found) > 30
    for cls in found:
        error = made(cls)
        assert_harmless(str(error))
        assert "\n" not in str(error), cls
        error.add_note(EVIL)
        assert_harmless("".join(error.__notes__))


@pytest.mark.parametrize(
    "make", [lambda: MissingEntryError(EVIL), lambda: ArchiveIOError(EVIL, OSError(5, EVIL))]
)
def test_errors_that_are_also_of_python_do_so_too(make: Callable[[], PackageError]) -> None:
    assert str(make()) == one_line(EVIL)


def test_lines_of_ours_stay_lines() -> None:
    error = PackageError(in_lines("two problems:", f"one {EVIL}", "two", indent=" "))
    assert [line.split()[0] for line in str(error).split("\n")] == ["two", "one", "two"]
    assert_harmless(str(error))


@one_test
@pytest.mark.parametrize(
    "use",
    [
        lambda importer: importer.load_object("", EVIL),
        lambda importer: importer.load_object(EVIL, EVIL),
        lambda importer: importer.load_state_dict(EVIL, "w"),
        lambda importer: importer.load_state_dict(EVIL, EVIL)["no"],
        lambda importer: importer.load_binary("net", EVIL),
        lambda importer: importer.import_module("absent"),
        lambda importer: importer.import_module(EVIL),
        lambda importer: importer.run({}, EVIL),
        lambda importer: importer.run({}),
        lambda importer: importer.check(),
        lambda importer: importer.python_version() and importer.get_source(EVIL),
    ],
)
def test_no_error_of_the_importer_prints_them(use: Callable[[PackageImporter], Any]) -> None:
    with PackageImporter(hostile()) as importer:
        with pytest.raises((PackageError, ImportError, OSError)) as caught:
            use(importer)
        assert_harmless(str(caught.value))


@pytest.mark.parametrize("readable", [False, True])
def test_neither_do_differences_of_the_environment(readable: bool) -> None:
    with pytest.raises(PackageError) as caught:
        PackageImporter(hostile(readable=readable), environment="error")
    assert_harmless(str(caught.value))
    assert ("\n" in str(caught.value)) == readable


def test_a_warning_of_the_environment_does_not() -> None:
    warning = EnvironmentWarning(f"net.kellet: {EVIL}")
    assert_harmless(str(warning))


def test_names_with_accents_and_of_other_scripts_are_shown_as_they_are(tmp_path: Path, capsys: Any) -> None:
    (file := tmp_path / "honest.kellet").write_bytes(
        hostile("größe 模型 größer", readable=True, module="模型")
    )
    assert main(["inspect", str(file), "--tensors"]) == 0
    assert "größe 模型 größer" in capsys.readouterr().out
