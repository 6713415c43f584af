"""The view of Windows itself, in fresh processes: what our modules see, and how processes are started."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests import processes

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import os, sys
sys.path.insert(0, sys.argv[1])
from tests.windows_view import put_on

def pid(_=None):
    return os.getpid()

if __name__ == "__main__":
    put_on()
    put_on()
"""


def printed(tmp_path: Path, program: str) -> list[str]:
    text = PROGRAM + "".join(f"    {line}\n" for line in program.strip().splitlines())
    (tmp_path / "program.py").write_text(text)
    command = [sys.executable, str(tmp_path / "program.py"), str(ROOT)]
    # It puts the view on by itself, once: also where these tests run under it.
    alone = {name: value for name, value in os.environ.items() if name != "KELLET_VIEW"}
    done = processes.run(
        command, cold=True, capture_output=True, text=True, timeout=120, check=False, env=alone
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    "way", ["import multiprocessing", "from concurrent import futures; import multiprocessing"]
)
def test_processes_are_spawned_and_nothing_else(tmp_path: Path, way: str) -> None:
    program = f"""
{way}
print(multiprocessing.get_start_method(), multiprocessing.get_all_start_methods())
for method in ("fork", "forkserver"):
    try:
        multiprocessing.get_context(method)
    except ValueError as error:
        print(error)
with multiprocessing.Pool(1) as pool:
    print(pool.apply_async(pid).get(60) != pid(), type(pool._pool[0]).__name__)
"""
    assert printed(tmp_path, program) == [
        "spawn ['spawn']",
        "cannot find context for 'fork'",
        "cannot find context for 'forkserver'",
        "True SpawnProcess",
    ]


def test_what_is_set_on_a_module_is_set_on_the_one_of_the_process(tmp_path: Path) -> None:
    program = """
from packager import _atomic as atomic
before = os._exit
atomic.os._exit = "held"
print(os._exit, atomic.os._exit, hasattr(atomic.os, "fork"), hasattr(os, "fork"))
os._exit = before
print(atomic.os._exit is before)
own = atomic.os.replace
atomic.os.replace = "own"
print(os.replace is own, atomic.os.replace, callable(os.replace))
"""
    assert printed(tmp_path, program) == [
        "held held False True",
        "True",
        "False own True",
    ]


CASED = """
import contextlib, io, json, pathlib, warnings
os.chdir(pathlib.Path(sys.argv[0]).parent)
os.environ["KELLET_CACHE"] = str(pathlib.Path("Cache").resolve())
from packager import PackageExporter, PackageImporter
from packager._cli import main
def said(*words):
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(out):
        code = main(list(words))
    return code, out.getvalue().splitlines()[0]
CODE = (
    "import os\\nHERE = os.path.dirname(__file__)\\n"
    "def read():\\n    return open(HERE + '/Word.txt').read()"
)
def pack(path, text):
    with PackageExporter(path, policy="auto", prove=False) as exporter:
        exporter.save_source_string("twin", CODE, is_package=True)
        exporter.save_text("twin", "Word.txt", text)
pack("Net.kellet", "first")
"""


def cased(tmp_path: Path, program: str) -> list[str]:
    return printed(tmp_path, CASED + program)


def test_an_archive_is_replaced_by_one_that_is_called_so_in_capitals(tmp_path: Path) -> None:
    program = """
pack("NET.KELLET", "second")
print(*sorted(os.listdir(".")))
with PackageImporter(pathlib.Path("net.Kellet")) as importer:
    print(importer.load_text("twin", "Word.txt"))
"""
    listed, text = cased(tmp_path, program)
    assert (listed, text) == ("Cache Net.kellet program.py", "second")


def test_an_archive_whose_arrays_are_in_use_is_not_replaced_and_the_error_says_why(tmp_path: Path) -> None:
    program = """
import numpy
def save(scale):
    with PackageExporter("weights.kellet", policy="auto", prove=False) as exporter:
        exporter.save_state_dict("run", "last", {"scale": numpy.full((100, 100), scale)})
save(1.0)
importer = PackageImporter("weights.kellet")
loaded = importer.load_state_dict("run", "last")["scale"]
def refused():
    try:
        save(2.0)
    except Exception as error:
        return type(error).__name__, str(error)
print(refused()[0])
importer.close()
print(*refused(), sep=": ")
print(loaded.sum(), *sorted(os.listdir(".")))
del loaded
print(refused())
with PackageImporter("weights.kellet") as importer:
    print(importer.load_state_dict("run", "last")["scale"].sum())
"""
    opened, lived, old, done, new = cased(tmp_path, program)
    assert opened == "ArchiveIOError"
    assert lived == (
        "ArchiveIOError: weights.kellet: the archive could not be written: The process cannot access the "
        "file because it is being used; nothing was left behind and an old file is as it was; close what has "
        "it open (arrays that were loaded from an archive keep it open), give permission, or write "
        "elsewhere, then save again"
    )
    assert old == "10000.0 Cache Net.kellet program.py weights.kellet"
    assert (done, new) == ("None", "20000.0")


def test_a_cache_in_capitals_is_the_cache(tmp_path: Path) -> None:
    program = """
with PackageImporter("Net.kellet") as importer:
    print(importer.import_module("twin").read())
before = sorted(map(str, pathlib.Path("Cache").rglob("*")))
os.environ["KELLET_CACHE"] = str(pathlib.Path("CACHE").absolute())
with PackageImporter("net.KELLET") as importer:
    print(importer.import_module("twin").read())
print(sorted(map(str, pathlib.Path("Cache").rglob("*"))) == before, os.path.exists("CACHE"))
print(said("cache", "clear"), os.listdir("Cache"))
"""
    *read, same, cleared = cased(tmp_path, program)
    assert (read, same) == (["first", "first"], "True False")
    assert cleared.startswith("(0, ")
    assert cleared.endswith("[]")


def test_files_are_extracted_beside_none_that_are_called_so_in_capitals(tmp_path: Path) -> None:
    program = """
os.mkdir("Out")
print(said("extract", "NET.kellet", "OUT"))
print(*sorted(os.listdir(".")))
print(said("extract", "net.kellet", "out"))
print(said("convert", "NET.kellet", "new.kellet")[0])
with PackageImporter("OUT") as importer:
    print(importer.import_module("twin").read())
"""
    done, listed, again, _, text = cased(tmp_path, program)
    assert done.startswith("(0, 'OUT: ")
    assert listed == "Cache Net.kellet OUT program.py"
    assert again == "(1, 'kellet: out: not an empty folder; name one that does not exist')"
    assert text == "first"


def test_names_that_differ_in_capitals_alone_are_in_no_archive(tmp_path: Path) -> None:
    program = """
for names in (["a.txt", "A.txt"], ["sub/x", "Sub/y"], ["stra\\u00dfe", "strasse"], ["K", "\\u212a"]):
    try:
        with PackageExporter("two.kellet", policy="auto", prove=False) as exporter:
            for name in names:
                exporter.save_text("twin", name, name)
    except Exception as error:
        print(type(error).__name__, os.path.exists("two.kellet"))
"""
    assert cased(tmp_path, program) == ["RefusedPlanError False"] * 4
