"""What is forked from the server is, for the program that it runs, what a fresh interpreter is."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from tests import processes
from tests.processes import starting
from tests.processes.orders import ColdError, command_of

PYTHON = sys.executable
SAYS = """
import json, os, signal, sys, warnings
names = [name for name in globals() if name not in ("json", "os", "signal", "sys", "warnings")]
held = {name: repr(globals()[name]).partition(" object at")[0] for name in names if name != "__loader__"}
streams = (sys.stdin, sys.stdout, sys.stderr)
print(json.dumps({
    "names": held, "loader": type(__loader__).__name__, "main": vars(sys.modules["__main__"]) is globals(),
    "argv": sys.argv, "orig_argv": sys.orig_argv, "path": sys.path, "executable": sys.executable,
    "flags": repr(sys.flags), "cwd": os.getcwd(), "variables": sorted(os.environ.items()),
    "parent": os.getppid(), "leads": [os.getpgid(0) == os.getpid(), os.getsid(0) == os.getpid()],
    "warnoptions": sys.warnoptions, "descriptors": sorted(os.listdir("/proc/self/fd")),
    "signals": [str(signal.getsignal(number)) for number in sorted(signal.valid_signals())],
    "streams": [(s.name, s.mode, s.encoding, s.errors, s.line_buffering, s.fileno()) for s in streams],
    "meta_path": [getattr(one, "__name__", type(one).__name__) for one in sys.meta_path],
    "server": [name for name in sys.modules if name == "server" or name.startswith("tests.")],
}))
"""


@pytest.fixture(autouse=True)
def each_is_forked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have no test of these be the one in ten, and none all cold."""
    monkeypatch.setattr(starting, "_ONE_OF", 1 << 40)
    monkeypatch.delenv("KELLET_COLD", raising=False)


def both(*arguments: Any, **options: Any) -> list[subprocess.CompletedProcess[Any]]:
    """Run a command forked, and as a fresh interpreter."""
    options = {"capture_output": True, "text": True, "timeout": 120} | options
    done = [processes.run([PYTHON, *arguments], cold=cold, **options) for cold in (False, True)]
    lines = processes.how_started(starting._test()).splitlines()
    assert [line.partition(":")[0].partition(", its")[0] for line in lines[-2:]] == [
        "forked",
        "cold, as asked",
    ]
    return done


def require_alike(*arguments: Any, **options: Any) -> subprocess.CompletedProcess[Any]:
    forked, cold = both(*arguments, **options)
    for line, other in zip(forked.stdout.splitlines(), cold.stdout.splitlines(), strict=True):
        if line.startswith("{"):
            one, two = json.loads(line), json.loads(other)
            assert {name: (one[name], two[name]) for name in one if one[name] != two[name]} == {}
        else:
            assert line == other
    assert (forked.returncode, forked.stderr) == (cold.returncode, cold.stderr)
    return forked


@pytest.mark.parametrize(
    "flags",
    [(), ("-I",), ("-P",), ("-s", "-P"), ("-I", "-S"), ("-W", "error"), ("-I", "-Wignore", "-W", "error")],
)
def test_a_program_finds_what_it_finds_in_a_fresh_interpreter(flags, tmp_path):
    done = require_alike(*flags, "-c", SAYS, "one", "-c", cwd=tmp_path)
    said = json.loads(done.stdout)
    assert said["parent"] == os.getpid()
    assert said["argv"] == ["-c", "one", "-c"]
    assert said["server"] == []


def test_a_script_finds_its_neighbours_and_its_name(tmp_path):
    (tmp_path / "at").mkdir()
    (tmp_path / "at" / "beside.py").write_text("here = __file__\n")
    (tmp_path / "at" / "script.py").write_text(SAYS + "import beside; print(beside.here)")
    said, beside = require_alike("at/script.py", "x", cwd=tmp_path).stdout.splitlines()
    assert beside == str(tmp_path / "at" / "beside.py")
    assert json.loads(said)["argv"] == ["at/script.py", "x"]


def test_a_module_and_a_folder_are_run(tmp_path):
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "__init__.py").write_text("")
    (tmp_path / "pkg" / "__main__.py").write_text(SAYS)
    assert json.loads(require_alike("-m", "pkg", "x", cwd=tmp_path).stdout)["argv"][1:] == ["x"]
    assert require_alike("-m", "absent", cwd=tmp_path).returncode == 1


@pytest.mark.parametrize(
    ("program", "code"),
    [
        ("1 / 0", 1),
        ("def f(): raise KeyError('a')\ntry: f()\nexcept KeyError as e: raise ValueError('b') from e", 1),
        ("import sys; sys.exit()", 0),
        ("import sys; sys.exit(7)", 7),
        ("raise SystemExit('told')", 1),
        ("a b", 1),
        ("raise KeyboardInterrupt", -signal.SIGINT),
        ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", -signal.SIGTERM),
        ("import os; os._exit(3)", 3),
        ("import os; os.abort()", -signal.SIGABRT),
        ("import sys; sys.excepthook = lambda *a: print('mine', a[1]); 1 / 0", 1),
        ("import atexit; atexit.register(print, 'left'); print('at work')", 0),
        (
            "import threading, time\nthreading.Thread(target=lambda: (time.sleep(.1), print(1))).start()",
            0,
        ),
        ("class A:\n def __del__(self): print('gone')\na = A()", 0),
        ("import warnings; warnings.warn('so', DeprecationWarning)", 0),
        ("import sys; print(sys.stdin.read()); print('told', file=sys.stderr)", 0),
        (
            "import sys, kellet, numpy; print(sys._getframe(0).f_lineno, kellet.ones(2).tolist())",
            0,
        ),
    ],
)
def test_a_program_ends_as_it_ends_in_a_fresh_interpreter(program, code, tmp_path):
    assert require_alike("-c", program, cwd=tmp_path, input="given").returncode == code


@pytest.mark.parametrize("cold", [False, True])
def test_a_group_of_its_own_can_be_ended_at_once(cold):
    process = processes.Popen([PYTHON, "-c", "import time; time.sleep(60)"], cold=cold, process_group=0)
    assert os.getpgid(process.pid) == process.pid
    os.killpg(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    started = processes.how_started(starting._test())
    assert started.startswith("cold, as asked" if cold else ("forked", "cold, one test in 10"))


def test_options_of_a_process_are_kept(tmp_path):
    reading, writing = os.pipe()
    try:
        program = f"import os; os.write({writing}, b'%d %d' % (os.getsid(0) == os.getpid(), os.umask(0)))"
        before = os.umask(0o27)
        try:
            process = processes.Popen([PYTHON, "-c", program], pass_fds=[writing], start_new_session=True)
            assert process.wait(60) == 0
        finally:
            os.umask(before)
        assert os.read(reading, 32) == b"1 %d" % 0o27
    finally:
        os.close(reading)
        os.close(writing)


def test_a_process_can_be_waited_for_and_killed():
    with processes.Popen([PYTHON, "-c", "import time; time.sleep(60)"]) as process:
        assert process.poll() is None
        process.kill()
        assert process.wait(60) == -signal.SIGKILL
    with pytest.raises(processes.TimeoutExpired):
        processes.run([PYTHON, "-c", "import time; time.sleep(60)"], timeout=0.1)
    with pytest.raises(processes.CalledProcessError, match=r"returned non-zero exit status 4"):
        processes.run([PYTHON, "-c", "raise SystemExit(4)"], check=True)
    with pytest.raises(ProcessLookupError):
        os.kill(process.pid, 0)


def test_its_orphans_do_not_become_those_of_the_test():
    def children() -> set[int]:
        return {int(pid) for pid in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()}

    program = "import os, time\nif os.fork() == 0: time.sleep(0.3); os._exit(0)\nprint('left')"
    before = children()  # other tests leave trackers of resources
    assert processes.run([PYTHON, "-c", program], capture_output=True, text=True).stdout == "left\n"
    servers = {server._process.pid for server in starting._servers.values()}
    assert children() <= servers | before


def test_each_has_its_own_random_numbers():
    program = (
        "import random, numpy, kellet; print(random.random(), numpy.random.rand(), kellet.rand(1).tolist())"
    )
    said = [processes.run([PYTHON, "-c", program], capture_output=True, text=True).stdout for _ in range(2)]
    assert all(one != other for one, other in zip(*map(str.split, said), strict=True))


def test_variables_and_search_paths_are_those_that_are_given(tmp_path, monkeypatch):
    (tmp_path / "lent").mkdir()
    (tmp_path / "lent" / "lent.py").write_text("")
    monkeypatch.setenv("OF_THE_TEST", "1")
    env = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(["lent", str(tmp_path / "no")]),
        "PYTHONWARNINGS": "error",
    }
    said = json.loads(require_alike("-c", "import lent" + SAYS, cwd=tmp_path, env=env).stdout)
    assert said["path"][:3] == ["", str(tmp_path / "lent"), str(tmp_path / "no")]
    assert (dict(said["variables"])["OF_THE_TEST"], said["warnoptions"]) == ("1", ["error"])


@pytest.mark.parametrize(
    ("words", "options", "reason"),
    [
        (["-S", "-c", "0"], {}, "flags -S"),
        (["-X", "dev", "-c", "0"], {}, "flags -X"),
        (["-V"], {}, "no program"),
        (["absent.py"], {}, "its program is a folder or an archive"),
        (["-c", "0"], {"env": {"PYTHONOPTIMIZE": "1"}}, "variable PYTHONOPTIMIZE"),
        (["-c", "0"], {"preexec_fn": os.getpid}, "option preexec_fn"),
        (["-c", "0"], {"cold": True}, "as asked"),
    ],
)
def test_what_cannot_be_forked_starts_cold_by_itself(words, options, reason, tmp_path):
    if "env" in options:
        options = {**options, "env": {**os.environ, **options["env"]}}
    processes.run([PYTHON, *words], cwd=tmp_path, capture_output=True, **options)
    assert processes.how_started(starting._test()).startswith(f"cold, {reason}")


def test_a_process_that_inherits_an_ignored_signal_starts_cold():
    program = [PYTHON, "-c", "import signal; print(signal.getsignal(signal.SIGHUP) is signal.SIG_IGN)"]
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        done = processes.run(program, capture_output=True, text=True)
    finally:
        signal.signal(signal.SIGHUP, before)
    assert done.stdout == "True\n"
    assert processes.run(program, capture_output=True, text=True).stdout == "False\n"


@pytest.mark.parametrize("place", ["", "PYTHONPATH"])
@pytest.mark.parametrize("name", ["json.py", "numpy/__init__.py"])
def test_a_module_that_hides_one_of_the_servers_is_imported(place, name, tmp_path):
    folder = tmp_path / place
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("print('mine')")
    env = {**os.environ, place: str(folder)} if place else None
    program = f"import {name.partition('.')[0].partition('/')[0]}"
    done = processes.run([PYTHON, "-c", program], cwd=tmp_path, env=env, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("mine\n", "")
    assert "would be imported from" in processes.how_started(starting._test())


def test_one_test_in_so_many_starts_cold_and_all_where_a_variable_says_so(monkeypatch):
    monkeypatch.setattr(starting, "_ONE_OF", 1)
    assert starting._cold_by_choice() == "one test in 1"
    monkeypatch.setattr(starting, "_ONE_OF", 1 << 40)
    assert starting._cold_by_choice() == ""
    monkeypatch.setenv("KELLET_COLD", "1")
    assert starting._cold_by_choice() == "KELLET_COLD=1"


def test_a_proof_is_forked_and_ends_with_the_process_that_asked(tmp_path):
    from kellet import nn
    from packager import PackageExporter

    with PackageExporter(tmp_path / "x.kellet", policy="auto", prove=True) as exporter:
        exporter.save_object("model", "model", nn.Linear(2, 1))
    assert exporter.proof.ok
    assert processes.how_started(starting._test()).startswith(f"forked: ['{PYTHON}', '-s', '-P', '-c'")


@pytest.mark.parametrize("flags", [(), ("-P",), ("-I",), ("-W", "error")])
def test_the_clean_process_of_a_script_finds_what_a_fresh_one_finds(flags, tmp_path):
    (tmp_path / "script.py").write_text(f"""
import json, os, sys
from packager._proving.clean_process import subprocess
for process in range(2):
    plain = {{name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}}
    environment = {{**plain, "PYTHONHASHSEED": "0", "KELLET_CACHE": "there"}}
    command = [sys.executable, "-s", "-P", "-c", {SAYS!r}, "one"]
    done = subprocess.run(command, cwd="/", env=environment,
                          capture_output=True, text=True, start_new_session=True)
    said = json.loads(done.stdout)
    print(json.dumps({{**said, "parent": said["parent"] == os.getpid(), "stderr": done.stderr}}))
    print(done.returncode, sorted(os.listdir("/proc/self/fd")))
""")
    said = json.loads(require_alike(*flags, "script.py", cwd=tmp_path).stdout.splitlines()[0])
    assert (said["parent"], said["stderr"], said["flags"].count("no_user_site=1")) == (True, "", 1)
    assert processes.how_started(starting._test()).startswith("forked, its proofs too: ")


PROVES = """
import json, re, sys
from packager import PackageExporter
from packager._proving import ProofError, clean_process
from parts.net import {net}
try:
    with PackageExporter({file!r}, policy="auto", prove=True) as exporter:
        exporter.save_object("model", "model", {net}())
    print(repr(exporter.proof))
except ProofError as error:
    print(re.sub(r"0x[0-9a-f]+", "", str(error)))
print(clean_process.subprocess.__name__, file=sys.stderr)
"""
NETS = """
import os
from kellet import nn
class Net(nn.Linear):
    def __init__(self):
        super().__init__(2, 1)
class Ends(Net):
    def __setstate__(self, state):
        os._exit(3)
class Falls(Net):
    def __setstate__(self, state):
        raise ValueError("none today")
"""


@pytest.mark.parametrize("net", ["Net", "Ends", "Falls"])
def test_a_proof_in_a_script_says_what_it_says_where_it_starts_cold(net, tmp_path):
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "__init__.py").write_text("")
    (tmp_path / "parts" / "net.py").write_text(NETS)
    script = tmp_path / "script.py"
    script.write_text(PROVES.format(net=net, file=str(tmp_path / "x.kellet")))
    forked, cold = both(*processes.STRICT, script, cwd=tmp_path)
    assert (forked.stdout, forked.returncode) == (cold.stdout, 0)
    assert {"Net": "Proof(steps=", "Ends": "os._exit(3) ended", "Falls": "none today"}[net] in forked.stdout
    assert (forked.stderr, cold.stderr) == ("tests.processes\n", "subprocess\n")


def test_words_of_a_command_are_read_as_python_reads_them():
    command = command_of([PYTHON, "-Werror", "-W", "ignore", Path("a.py"), "-W"])
    assert (command.flags, command.warnings, command.kind) == ((), ("error", "ignore"), "")
    assert (command.program, command.arguments) == ("a.py", ("-W",))
    with pytest.raises(ColdError, match=r"^another program$"):
        command_of(["python3", "-c", textwrap.dedent("0")])
