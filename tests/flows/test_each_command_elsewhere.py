"""Every command from another folder, into a closed pipe, on an ASCII terminal, at 80 columns, and with names
and places that no file can have: what it should do, or one clear line and the documented exit code."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from packager._cli import main
from packager._cli.summary import COMMANDS
from tests import processes

from .test_each_command_ended import CASES, PARTS, folder, prepared, variables

pytestmark = pytest.mark.processes(share=3)

__all__ = ["folder", "prepared"]  # fixtures

# Commands that only read, and are told what they miss in this process; each of these is a file of theirs.
READS = [
    "inspect {}",
    "report {} -o net.html",
    "sbom {}",
    "diff {} net.kellet",
    "diff old.npz {}",
    "verify {}",
    "verify {} --deep",
    "check {}",
    "run {} --input x.npz",
    "run net.kellet --input {}",
    "extract {} out",
    "convert {} new.kellet",
    "migrate {} --with m.toml -o new.kellet",
    "migrate old.npz --with {} -o new.kellet",
    "suggest-migration {} new.npz",
    "cache compile {}",
    "env check {}",
    "env lock {} -o lock.txt",
    "env create {} made",
    "export collections:OrderedDict -o new.kellet --policy {}.toml",
    "export kellet.nn:Identity -o new.kellet --weights {}",
    "export collections:OrderedDict -o new.kellet --example {}",
    "export collections:OrderedDict -o new.kellet --trace --input {}",
    "export collections:OrderedDict -o new.kellet --vendor-wheels here --find-links {}",
    "suggest collections:OrderedDict --trace --input {}",
    "migrate old.npz --with m.toml --config {}.json --plan",
    "env lock tiny.kellet --find-links {}",
    "env lock tiny.kellet -o pylock.toml --find-links {}",
    "env create tiny.kellet made --offline --find-links {}",
]
# What no archive, module or environment is called is no file that cannot be read: it is not there.
ANSWERED_NO = {
    "why net.kellet {}": 1,
    "why json {}": 1,
    "extract net.kellet out {}": 1,
    "env check tiny.kellet --python {}": 1,
    "env lock tiny.kellet --python {}": 1,
    "env create tiny.kellet made --python {}": 1,
    "run net.kellet --input x.npz --entry {}": 1,
    "run net.kellet --input x.npz --callable {}": 1,
    "convert old.npz {}": 1,
    "cache clear {}": 1,
    "convert old.npz new.kellet --unwrap {}": 3,
}
# What cannot be meant by these words is a line that was not understood, which the usage stands above.
WRONG_USAGE = [
    "plan {}:f",
    "suggest {}:f",
    "export {}:f -o new.kellet",
    "why {}:f json",
    "suggest-migration old.npz {}:f",
    "migrate old.npz --with m.toml --plan --target {}:f",
    "completion {}",
    "verify net.kellet --deep --trust {}",
    "run net.kellet --input x.npz --identity {}",
]
WRITES = [
    "extract net.kellet {}",
    "report net.kellet -o {}",
    "plan json.decoder --html {}",
    "diff net.kellet net.kellet --html {}",
    "sbom net.kellet -o {}",
    "convert old.npz {}.kellet",
    "convert old.npz {}.safetensors",
    "migrate old.npz --with m.toml -o {}.kellet",
    "run net.kellet --input x.npz -o {}",
    "env lock tiny.kellet -o {}",
    "env create tiny.kellet {} --offline --installer pip",
    "export collections:OrderedDict -o {}",
    "suggest json.decoder -o {}.toml",
    "export collections:OrderedDict -o new.kellet --trace-policy {}",
    "suggest-migration old.npz x.npz -o {}",
    "env lock tiny.kellet -o lock.txt --wheels {}/wheels",
    "env lock tiny.kellet -o {}/pylock.toml",
]
LONG = "n" * 300
Said = Callable[[list[str]], tuple[int, str]]
Run = Callable[..., processes.CompletedProcess[str]]


@pytest.fixture
def said(
    prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Said:
    """Carry out a command in this process, in the folder with all files; gives its code and its errors."""
    monkeypatch.chdir(prepared)
    monkeypatch.setenv("KELLET_CACHE", str(tmp_path / "cache"))
    before = sorted(prepared.iterdir())

    def call(words: list[str]) -> tuple[int, str]:
        code = main(words)
        assert sorted(prepared.iterdir()) == before, "nothing is left"
        return code, capsys.readouterr().err

    return call


def words(case: str, name: str) -> list[str]:
    return [word.replace("{}", name) for word in shlex.split(case)]


@pytest.mark.parametrize("name", [LONG, "not\nthere", "no/such/folder", "net.kellet/inside"])
@pytest.mark.parametrize("case", READS)
def test_what_cannot_be_read_is_one_line(said: Said, case: str, name: str) -> None:
    code, errors = said(words(case, name))
    first, *more = errors.splitlines()
    assert code == 3, errors
    assert first.startswith("kellet: ")
    assert name.replace("\n", "\\n") in first
    assert [line for line in more if not line.startswith("  did you mean ")] == []


@pytest.mark.parametrize("name", [LONG, "not\nthere", "no/such/folder", "net.kellet/inside"])
@pytest.mark.parametrize("case", ANSWERED_NO)
def test_what_is_not_there_is_one_line(said: Said, case: str, name: str) -> None:
    code, errors = said(words(case, name))
    first, *more = errors.splitlines()
    assert code == ANSWERED_NO[case], errors
    assert first.startswith("kellet: ")
    assert more == []


@pytest.mark.parametrize("name", ["not\nthere", "no/such/folder", "net.kellet/inside", "./there.py"])
@pytest.mark.parametrize("case", WRONG_USAGE)
def test_what_is_not_understood_is_told_below_the_usage(
    prepared: Path,
    case: str,
    name: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(prepared)
    with pytest.raises(SystemExit) as ended:
        main(words(case, name))
    usage, *rest, last = capsys.readouterr().err.splitlines()
    assert ended.value.code == 2
    assert usage.startswith(f"usage: kellet {case.split()[0]}")
    assert all(line.startswith(" ") for line in rest)
    assert last.startswith(f"kellet {case.split()[0]}: error: argument ")
    assert name.replace("\n", "\\n") in last


@pytest.mark.parametrize("name", [LONG, "x.npz/inside", "/proc/kellet"])
@pytest.mark.parametrize("case", WRITES)
def test_what_cannot_be_written_is_told(said: Said, case: str, name: str) -> None:
    code, errors = said(words(case, name))
    first, *more = errors.splitlines()
    assert code == 3, errors
    assert first.startswith("kellet: ")
    assert name.rpartition("/")[0] in first
    assert "kellet-part" not in errors, "users know no name of a part"
    assert len(more) <= 1


@pytest.mark.parametrize("name", COMMANDS)
def test_help_is_no_wider_than_the_terminal(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for columns in (80, 60):
        monkeypatch.setenv("COLUMNS", str(columns))
        for part in ((), *((one,) for one in PARTS.get(name, ()))):
            with pytest.raises(SystemExit):
                main([name, *part, "--help"])
            wide = [line for line in capsys.readouterr().out.splitlines() if len(line) > columns]
            assert wide == []


# --- in processes of their own ---

ENDS_WITH = {"env check tiny.kellet": 1}  # tiny is not installed here


@pytest.fixture
def run(folder: Path) -> Run:
    def call(case: str, *, at: str = ".", **more: str) -> processes.CompletedProcess[str]:
        command = [sys.executable, "-m", "packager", *shlex.split(case)]
        return processes.run(
            command,
            capture_output=True,
            text=True,
            timeout=280,
            check=False,
            cwd=folder / at,
            env={**variables(folder), **more},
        )

    return call


@pytest.mark.long
@pytest.mark.parametrize("case", CASES)
def test_paths_are_seen_from_the_current_folder(case: str, run: Run, folder: Path) -> None:
    (folder / "sub").mkdir()
    there = {path.name for path in folder.iterdir()}
    words = enumerate(shlex.split(case))
    done = run(" ".join(f"../{w}" if w.split("/")[0] in there and n else w for n, w in words), at="sub")
    assert (done.returncode, done.stderr) == (ENDS_WITH.get(case, 0), "")
    written = () if case.startswith("sign ") else CASES[case]  # a signature lies beside its archive
    assert sorted(path.name for path in (folder / "sub").iterdir()) == sorted(written)


@pytest.mark.long
@pytest.mark.parametrize("case", CASES)
def test_names_may_have_line_feeds(case: str, run: Run, folder: Path) -> None:
    for path in [path for path in folder.iterdir() if path.is_file() and path.suffix != ".py"]:
        path.rename(path.with_name(f"a\n{path.name}"))
    there = {path.name for path in folder.iterdir()}
    done = run(shlex.join(f"a\n{w}" if f"a\n{w}" in there else w for w in shlex.split(case)))
    assert (done.returncode, done.stderr) == (ENDS_WITH.get(case, 0), "")
    assert not [
        line for line in done.stdout.splitlines() if line.startswith(tuple(w[2:] for w in there if "\n" in w))
    ]


@pytest.mark.long
@pytest.mark.parametrize("case", CASES)
def test_an_ascii_terminal_shows_everything(case: str, run: Run) -> None:
    done = run(case, PYTHONIOENCODING="ascii", LC_ALL="C", PYTHONUTF8="0")
    assert (done.returncode, done.stderr) == (ENDS_WITH.get(case, 0), "")
    assert done.stdout.isascii()


@pytest.mark.long
@pytest.mark.parametrize("case", CASES)
def test_a_reader_that_went_is_no_error_of_ours(case: str, folder: Path) -> None:
    command = [sys.executable, "-m", "packager", *shlex.split(case)]
    with processes.Popen(
        command, stdout=processes.PIPE, stderr=processes.PIPE, text=True, cwd=folder, env=variables(folder)
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == ""
    quiet = case.startswith(("suggest", "env lock")) and " -o " in case  # what they made is in a file then
    assert process.returncode == (0 if quiet else 3)


@pytest.mark.long
@pytest.mark.parametrize("case", CASES)
def test_the_keyboard_ends_each_with_one_line(case: str, folder: Path) -> None:
    """Interrupted as soon as it does anything but import: the command line is read by then."""
    program = (
        "import signal, sys\nfrom packager._cli import main\n"
        "module = sys.modules['packager._cli.main']\nunderstood = module._understood\n"
        "def interrupted(arguments):\n    options = understood(arguments)\n"
        "    signal.raise_signal(signal.SIGINT)\n    return options\n"
        "module._understood = interrupted\nsys.exit(main())\n"
    )
    command = [sys.executable, "-c", program, *shlex.split(case)]
    done = processes.run(
        command, capture_output=True, text=True, cwd=folder, env=variables(folder), check=False
    )
    assert (done.returncode, done.stderr) == (130, "kellet: interrupted; nothing is half-written\n")
