"""`kellet convert`: reports, exit codes, and nothing half-written."""

from __future__ import annotations

import json
import sys
import zipfile
from argparse import Namespace
from pathlib import Path
from pickle import dumps

import numpy as np
import pytest

from packager._cli.main import main
from packager.weights import open_checkpoint
from tests import processes

GOLDEN = Path(__file__).resolve().parents[2] / "fixtures" / "legacy"


def test_the_report_says_what_was_read_written_tied_and_left_out(tmp_path, capsys):
    assert main(["convert", str(GOLDEN / "zip.pt"), str(tmp_path / "new.kellet")]) == 0
    out = capsys.readouterr().out
    assert "tensors, the first 20 of 33 (--all lists them):" in out
    assert "fc.weight               float32   [4, 3]  48 B" in out
    assert "tied, again, transposed, row, step" in out
    assert "optimizer  dict of 2" in out
    assert "zip.pt: torch (under 'model')" in out
    assert "33 tensors" in out
    assert f"written  {tmp_path / 'new.kellet'}: " in out
    assert len(open_checkpoint(tmp_path / "new.kellet")) == 33


def test_every_key_is_listed_on_request(tmp_path, capsys):
    assert main(["convert", str(GOLDEN / "zip.pt"), str(tmp_path / "new.kellet"), "--all"]) == 0
    assert "dtypes.float8_e5m2fnuz" in capsys.readouterr().out


def test_the_report_for_machines(tmp_path, capsys):
    target = tmp_path / "new.kellet"
    arguments = ["convert", str(GOLDEN / "stream.pt"), str(target), "--json", "--name", "net/best"]
    assert main(arguments) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["format"] == "torch"
    assert report["tensors"]["fc.weight"] == {"dtype": "float32", "shape": [4, 3], "bytes": 48}
    assert report["versions"]["bn"] == {"version": 2}
    assert {part["path"] for part in report["left_out"]} >= {"optimizer", "epoch"}
    assert (report["size"], len(report["tied"])) == (target.stat().st_size, 1)
    assert open_checkpoint(target).container == "net/best"


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["missing.pt", "new.kellet"], 3, "there is no such file"),
        (["text.pt", "new.kellet"], 3, r"text.pt: found b'hello' at its start"),
        (["golden.pt", "new.zip"], 1, "new.zip: which format?"),
        (["old.pt", "new.kellet"], 3, "'argparse.Namespace', which is not plain data"),
        (["old.pt", "new.kellet", "--skip-unknown", "--unwrap", "x"], 3, "nothing lies under 'x'"),
        (["golden.pt", "new.safetensors"], 1, "'dtypes.complex128': complex128"),
        (["golden.pt", "new.kellet", "--name", "x"], 1, "--name 'x': expected PACKAGE/RESOURCE"),
        (["golden.pt", "missing/new.kellet"], 3, "there is no such folder"),
    ],
)
def test_exit_codes_and_nothing_left_behind(tmp_path, monkeypatch, capsys, arguments, code, message):
    monkeypatch.chdir(tmp_path)
    Path("text.pt").write_text("hello")
    Path("golden.pt").write_bytes((GOLDEN / "zip.pt").read_bytes())
    with zipfile.ZipFile("old.pt", "w") as file:
        file.writestr("old/data.pkl", dumps({"w": np.ones(2), "args": Namespace()}, 2))
    assert main(["convert", *arguments]) == code
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.out == ""
    assert sorted(path.name for path in tmp_path.iterdir()) == ["golden.pt", "old.pt", "text.pt"]


def test_unknown_objects_are_left_out_on_request(tmp_path, capsys):
    with zipfile.ZipFile(tmp_path / "old.pt", "w") as file:
        file.writestr("old/data.pkl", dumps({"w": np.ones(2), "args": Namespace()}, 2))
    target = tmp_path / "new.safetensors"
    assert main(["convert", str(tmp_path / "old.pt"), str(target), "--skip-unknown"]) == 0
    assert "args   object of argparse.Namespace  not a tensor and not plain data" in capsys.readouterr().out
    assert open_checkpoint(target)["w"].numpy().tolist() == [1, 1]


@pytest.mark.parametrize("option", [[], ["--skip-unknown"]])
def test_a_plain_pickle_is_not_told_to_skip_what_is_unknown(tmp_path, capsys, option):
    (tmp_path / "old.pkl").write_bytes(dumps({"w": np.ones(2)}, 2))
    assert main(["convert", str(tmp_path / "old.pkl"), str(tmp_path / "new.safetensors"), *option]) == 3
    said = capsys.readouterr().err
    assert "old.pkl: a pickle that torch.save did not write, with these names:" in said
    assert "'numpy.ndarray'" in said
    assert "save the model with packager.save(), or its arrays with numpy.savez()" in said
    assert "--skip-unknown" not in said


def test_usage_errors_are_those_of_argparse(capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["convert", "a.pt"])
    with pytest.raises(SystemExit, match="2"):
        main(["convert", "a.pt", "b.kellet", "--unwrap", "x", "--everything"])
    assert "not allowed with argument" in capsys.readouterr().err


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="Linux alone says the peak of a process")
def test_a_large_tensor_takes_little_memory(tmp_path):
    """64 MB in one tensor, transposed on the way: the process holds some pieces of it, not the whole."""
    with open(tmp_path / "big.npy", "wb") as file:
        np.lib.format.write_array_header_1_0(
            file, {"descr": "<f4", "fortran_order": True, "shape": (4_000, 4_000)}
        )
        file.truncate(file.tell() + 64_000_000)
    script = (
        "import sys\nfrom packager._cli.main import main\n"
        f"code = main(['convert', {str(tmp_path / 'big.npy')!r}, {str(tmp_path / 'a.safetensors')!r}])\n"
        # Not ru_maxrss, in which a new process starts from the peak of the one that made it.
        "peak = next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM'))\n"
        "print(code, peak, file=sys.stderr)"
    )
    done = processes.run(
        [sys.executable, "-c", script], cold=True, capture_output=True, text=True, check=True
    )
    code, peak = map(int, done.stderr.split())
    assert (code, peak < 128_000) == (0, True), peak
