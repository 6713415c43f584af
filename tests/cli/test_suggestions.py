"""What was meant by a command, an option, a file, a module or a name that is not there."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from packager import PackageExporter
from packager._cli import main
from packager._texts import did_you_mean

pytestmark = pytest.mark.processes(share=3)

EXPECTED = "expected package.module:name, or a module"
Run = Callable[..., tuple[int, str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> Run:
    """Run a command in a folder with a module, a package and an archive; gives code and last line."""
    (tmp_path / "meantshop.py").write_text("def build():\n    return []\n")
    (tmp_path / "nets").mkdir()
    (tmp_path / "nets" / "gate.py").write_text("class Net: pass\n")
    with PackageExporter(tmp_path / "net.kellet", prove=False) as exporter:
        exporter.save_source_string("shop", "x = 1\n")
    np.savez(tmp_path / "old.npz", a=np.ones(1))
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> tuple[int, str]:
        try:
            code = main(arguments)
        except SystemExit as ended:  # as argparse ends for wrong usage
            code = int(ended.code or 0)
        out, err = capsys.readouterr()
        assert out == ""
        return code, err.rstrip("\n").split("\n")[-1].strip()

    return call


@pytest.mark.parametrize("command", ["plan", "export", "suggest"])
@pytest.mark.parametrize(
    ("target", "told"),
    [
        ("./nets/gate:Net", "; did you mean nets.gate:Net?"),
        ("nets/gate.py:Net", "; did you mean nets.gate:Net?"),
        ("../{here}/nets/gate:Net", "; did you mean nets.gate:Net?"),
        ("{tmp_path}/nets/gate.py:Net", "; did you mean nets.gate:Net?"),
        ("nets/gate", "; did you mean nets.gate?"),
        ("meantshop.py:build", "; did you mean meantshop:build?"),
        ("meantshop:", "; did you mean meantshop?"),
        ("../x:Y", "; run it in the folder that the package lies in, as {above}"),
        ("meantshop::build", ""),
        ("meantshop:1", ""),
        ("a b:c", ""),
        (":x", ""),
        ("..", ""),
        ("", ""),
    ],
)
def test_a_target_that_is_spelled_as_a_path_is_wrong_usage(
    run: Run, tmp_path: Path, command: str, target: str, told: str
) -> None:
    target = target.format(here=tmp_path.name, tmp_path=tmp_path)
    more = ("-o", "new.kellet") if command == "export" else ()
    wanted = f"kellet {command}: error: argument TARGET: {target!r}: {EXPECTED}" + told.format(
        above=tmp_path.parent
    )
    assert run(command, target, *more) == (2, wanted)


@pytest.mark.parametrize(
    ("command", "code", "told"),
    [
        ("exprot meantshop:build", 2, "did you mean export?"),
        ("env chek net.kellet", 2, "did you mean check?"),
        ("check net.kellet --environment warm", 2, "did you mean warn?"),
        ("check net.kellet --tolerence=3", 2, "did you mean --tolerance?"),
        ("run net.kellet --imput x.npz", 2, "there is no --imput, did you mean --input?"),
        ("run net.kellet --txt=two", 2, "there is no --txt, did you mean --text?"),
        ("export meantshop:build --ouput=new.kellet", 2, "there is no --ouput, did you mean --output?"),
        ("migrate old.npz --wiht m.toml --plan", 2, "there is no --wiht, did you mean --with?"),
        ("convert old.npz new.kellet --skip-unknwon", 2, "did you mean --skip-unknown?"),
        ("env lock net.kellet --ouput x", 2, "did you mean --output?"),
        ("env create net.kellet made --of-line", 2, "did you mean --offline?"),
        ("check nett.kellet", 3, "did you mean net.kellet?"),
        ("check ../{here}/nett.kellet", 3, "did you mean ../{here}/net.kellet?"),
        ("convert odl.npz new.kellet", 3, "did you mean old.npz?"),
        ("plan meantshpo:build", 4, "did you mean meantshop?"),
        ("export meantshop:biuld -o new.kellet", 4, "did you mean build?"),
        ("why nett.kellet shop", 4, "did you mean net.kellet?"),
        ("why net.kellet shpo", 1, "did you mean shop?"),
    ],
)
def test_what_is_near_is_asked(run: Run, tmp_path: Path, command: str, code: int, told: str) -> None:
    found, said = run(*command.format(here=tmp_path.name).split())
    assert (found, said.rpartition("; ")[2]) == (code, told.format(here=tmp_path.name))


@pytest.mark.parametrize(
    ("command", "there", "told"),
    [
        ("migrate old.npz --with m.toml --plan", ["r.html", "s.toml", "mt.html"], ""),
        ("migrate old.npz --with m.toml --plan", ["r.html", "mm.toml"], "mm.toml"),
        ("convert last.pt new.kellet", ["last2.html", "lint.pt", "list.pt"], "list.pt"),
        ("convert last.pt new.kellet", ["mast.xyz", "last.pth"], "last.pth"),
        ("check a.safetensors", ["b.safetensors", "safetensors"], ""),
    ],
)
def test_a_file_of_another_name_and_kind_is_not_what_was_meant(
    run: Run, command: str, there: list[str], told: str
) -> None:
    for name in there:
        Path(name).touch()
    code, said = run(*command.split())
    assert (code, said.partition("did you mean ")[2]) == (3, f"{told}?" if told else "")


NO_DOTTED_NAMES = ["1zoo:A", "7:B", "zoo:1A", "zoo:A.2b", "my-zoo:A"]


@pytest.mark.parametrize("command", ["check", "verify --deep", "run --input x.npz"])
@pytest.mark.parametrize(
    "name",
    ["", "x", "a b", "numpy.ndarray", ":", "a:", "*", "**:*", "a:b:c", "a\n:b", *NO_DOTTED_NAMES],
)
def test_what_trust_cannot_name_is_wrong_usage(run: Run, command: str, name: str) -> None:
    first, *more = command.split()
    code, said = run(first, "net.kellet", *more, "--trust", name)
    assert code == 2
    assert said.startswith(f"kellet {first}: error: argument --trust: {name!r}: expected 'package.module:Qu")


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("verify net.kellet --deep --memory 0", "--memory: expected 1 to 4294967296 MiB, got 0"),
        ("verify net.kellet --deep --memory 99999999999999", "--memory: expected 1 to 4294967296 MiB, got 9"),
        ("verify net.kellet --deep --memory x", "--memory: expected 1 to 4294967296 MiB, got x"),
        ("verify net.kellet --deep --seconds nan", "--seconds: expected a number from 0 on, got nan"),
        ("check net.kellet --tolerance=-1", "--tolerance: expected a number from 0 on, got -1"),
        ("check net.kellet --tolerance x", "--tolerance: expected a number from 0 on, got x"),
    ],
)
def test_a_number_that_makes_no_sense_is_wrong_usage(run: Run, command: str, told: str) -> None:
    code, said = run(*command.split())
    assert code == 2
    assert said.partition("argument ")[2].startswith(told)


def test_a_folder_of_very_many_files_is_not_looked_through(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "listdir", lambda folder: ["net.kellet"] * 10_001)
    assert run("check", "nett.kellet") == (3, "kellet: [Errno 2] No such file or directory: 'nett.kellet'")


def test_the_name_itself_is_never_what_was_meant() -> None:
    assert did_you_mean("net", ["net"]) == ""
    assert did_you_mean("net", io.StringIO("nett")) == "; did you mean nett?"
