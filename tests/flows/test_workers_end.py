"""Workers end with an error, and do not hang, where the archive or the folder of stubs is gone."""

from __future__ import annotations

import pickle
import re
import sys
from pathlib import Path

import pytest

from packager import PackageExporter, PackageImporter
from packager.errors import ArchiveClosedError
from tests import processes

pytestmark = pytest.mark.processes(share=3)

PARENT = """
import concurrent.futures, multiprocessing, os, shutil, sys
from packager.package_exporter import PackageExporter
from packager.package_importer import PackageImporter
from packager._loading import open_archives

def delete(path):
    os.unlink(path)

def replace(path):
    with PackageExporter(path) as exporter:
        exporter.save_source_string("workpkg", "def double(x): return 'replaced'")

def damage(path):
    with open(path, "r+b") as file:
        file.truncate(100)

def clean(path):
    # What a cleaner of temporary files does while the parent lives.
    shutil.rmtree(open_archives._stub_folder.path)

def nothing(path):
    pass

def say(ask):
    try:
        print(ask(), flush=True)
    except Exception as error:
        print(type(error).__name__, str(error).partition(";")[0], flush=True)

if __name__ == "__main__":
    path, method, harm, way = sys.argv[1:]
    importer = PackageImporter(path)
    double = importer.import_module("workpkg").double
    context = multiprocessing.get_context(method)
    globals()[harm](path)
    if way == "process":
        process = context.Process(target=double, args=(21,))
        process.start()
        process.join(60)
        print("exit code", process.exitcode, flush=True)
    elif way == "pool":
        with context.Pool(1) as pool:
            say(lambda: pool.apply_async(double, (21,)).get(timeout=60))
            say(lambda: pool.map(double, [1, 2], chunksize=1))
    else:
        with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as executor:
            say(lambda: executor.submit(double, 21).result(timeout=60))
            say(lambda: list(executor.map(double, [1, 2])))
    importer.close()
"""


def outcome(tmp_path: Path, *arguments: str) -> processes.CompletedProcess[str]:
    with PackageExporter(tmp_path / "work.kellet") as exporter:
        exporter.save_source_string("workpkg", "def double(x): return 2 * x")
    (tmp_path / "parent.py").write_text(PARENT)
    command = [sys.executable, str(tmp_path / "parent.py"), str(tmp_path / "work.kellet"), *arguments]
    return processes.run(command, capture_output=True, text=True, timeout=120, check=False)


FORK, FORKSERVER = (pytest.param(one, marks=pytest.mark.unix) for one in ("fork", "forkserver"))
METHODS = ["spawn", FORKSERVER]
WAYS = ["pool", "executor"]
REPLACE = pytest.param("replace", marks=pytest.mark.unix)  # Windows replaces no file that somebody has open
HARMS = {
    "delete": r"the archive cannot be opened again in this process: \[Errno 2\] No such file",
    "damage": "the archive cannot be opened again in this process: \\S*work.kellet, end of the archive",
    "replace": "the archive was replaced since it was opened: its identity is",
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("harm", ["delete", "damage", REPLACE])
@pytest.mark.parametrize("way", WAYS)
def test_who_waits_for_an_answer_is_told_that_the_archive_is_gone(
    method: str, harm: str, way: str, tmp_path: Path
) -> None:
    done = outcome(tmp_path, method, harm, way)
    assert re.fullmatch(rf"(ArchiveMovedError \S*work\.kellet: {HARMS[harm]}.*\n){{2}}", done.stdout), done


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("harm", ["delete", "damage", REPLACE])
def test_a_process_ends_where_the_archive_is_gone(method: str, harm: str, tmp_path: Path) -> None:
    done = outcome(tmp_path, method, harm, "process")
    assert done.stdout == "exit code 1\n", done.stderr
    assert re.search(HARMS[harm], done.stderr), done.stderr


@pytest.mark.parametrize("method", [*METHODS, FORK])
@pytest.mark.parametrize("way", WAYS)
def test_a_worker_works_where_nothing_is_gone(method: str, way: str, tmp_path: Path) -> None:
    assert outcome(tmp_path, method, "nothing", way).stdout == "42\n[2, 4]\n"


@pytest.mark.unix
@pytest.mark.parametrize("harm", ["delete", "replace", "clean"])
@pytest.mark.parametrize("way", WAYS)
def test_a_forked_worker_has_everything_already(harm: str, way: str, tmp_path: Path) -> None:
    assert outcome(tmp_path, "fork", harm, way).stdout == "42\n[2, 4]\n"


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("way", WAYS)
def test_a_worker_whose_program_imports_packager_works_without_the_stubs(
    method: str, way: str, tmp_path: Path
) -> None:
    assert outcome(tmp_path, method, "clean", way).stdout == "42\n[2, 4]\n"


AGAIN = """
import multiprocessing, shutil, sys
from packager.package_importer import PackageImporter
from packager._loading import open_archives

if __name__ == "__main__":
    first = PackageImporter(sys.argv[1])
    double = first.import_module("workpkg").double
    removed = open_archives._stub_folder.path
    shutil.rmtree(removed)
    second = PackageImporter(sys.argv[1])
    again = second.import_module("workpkg").double
    assert removed not in sys.path
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(pool.apply_async(double, (1,)).get(timeout=60), pool.apply_async(again, (2,)).get(timeout=60))
    first.close()
    second.close()
"""


def test_stubs_removed_by_another_process_are_written_again_with_the_next_archive(tmp_path: Path) -> None:
    with PackageExporter(tmp_path / "work.kellet") as exporter:
        exporter.save_source_string("workpkg", "def double(x): return 2 * x")
    (tmp_path / "again.py").write_text(AGAIN)
    command = [sys.executable, str(tmp_path / "again.py"), str(tmp_path / "work.kellet")]
    done = processes.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout == "2 4\n", done.stderr


OBJECTS = """
import multiprocessing, os, sys
from packager.package_importer import PackageImporter

def kind(x):
    return type(x).__name__

def used(x):
    return x.weight

def ask(what, *task):
    try:
        print(what, pool.apply_async(*task).get(timeout=60), flush=True)
    except Exception as error:
        print(what, type(error).__name__, flush=True)

if __name__ == "__main__":
    importer = PackageImporter(sys.argv[1])
    module = importer.import_module("workpkg")
    box = module.Box()
    box.weight = box.children = 3
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        ask("first", abs, (-1,))
        os.unlink(sys.argv[1])
        ask("an object", used, (box,))
        ask("one that is not used", kind, (box,))
        ask("its method", box.look)
        ask("a class", module.Box)
        ask("a method of a class", module.Box.make)
        ask("a class inside", module.Box.Inner)
        ask("a list with state", used, (module.Many([box, box]),))
        ask("a dict", used, (module.Table({1: box}),))
        ask("one of a call", used, (module.Reduced(),))
        ask("one that has a member", used, (module.Enum.A,))
    importer.close()
"""
SHAPES = """
import enum
class Box:
    class Inner: pass
    @classmethod
    def make(cls): return cls()
    def look(self): return "seen"
class Many(list): pass
class Table(dict): pass
class Reduced:
    def __reduce__(self): return Reduced, ()
class Enum(enum.Enum):
    A = 1
"""


def test_objects_of_an_archive_that_is_gone_are_read_and_their_use_raises(tmp_path: Path) -> None:
    with PackageExporter(tmp_path / "work.kellet") as exporter:
        exporter.save_source_string("workpkg", SHAPES)
    (tmp_path / "objects.py").write_text(OBJECTS)
    command = [sys.executable, str(tmp_path / "objects.py"), str(tmp_path / "work.kellet")]
    done = processes.run(command, capture_output=True, text=True, timeout=240, check=False)
    first, *others = done.stdout.splitlines()
    assert first == "first 1", done.stderr
    assert others == [
        "an object ArchiveMovedError",
        "one that is not used Box",
        *(
            f"{what} ArchiveMovedError"
            for what in (
                "its method",
                "a class",
                "a method of a class",
                "a class inside",
                "a list with state",
                "a dict",
                "one of a call",
                "one that has a member",
            )
        ),
    ]


ANSWER = """
import multiprocessing, sys, time
from packager.errors import ArchiveClosedError
from packager.package_importer import PackageImporter

if __name__ == "__main__":
    importer = PackageImporter(sys.argv[1])
    make = importer.import_module("workpkg").make
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        answer = pool.apply_async(make, (sys.argv[2],))
        while not __import__("os").path.exists(sys.argv[2]):
            time.sleep(0.01)
        importer.close()
        box = answer.get(timeout=60)
        try:
            box.weight
        except ArchiveClosedError as error:
            print(error)
        print(pool.apply(abs, (-1,)))
"""


def test_an_answer_whose_archive_was_closed_meanwhile_is_read_too(tmp_path: Path) -> None:
    with PackageExporter(tmp_path / "work.kellet", policy="auto") as exporter:
        exporter.save_source_string(
            "workpkg",
            "import time\nclass Box: pass\n"
            "def make(path):\n    open(path, 'w').close()\n    time.sleep(2)\n    return Box()\n",
        )
    (tmp_path / "answer.py").write_text(ANSWER)
    command = [sys.executable, str(tmp_path / "answer.py"), str(tmp_path / "work.kellet")]
    done = processes.run(
        [*command, str(tmp_path / "begun")], capture_output=True, text=True, timeout=120, check=False
    )
    said, answered = done.stdout.splitlines()
    assert re.match(r"the archive of 'workpkg' \(\S*work\.kellet\) is closed, and code", said), done.stderr
    assert answered == "1"


def test_elsewhere_an_archive_that_is_gone_is_an_error_of_the_import(tmp_path: Path) -> None:
    with PackageExporter(tmp_path / "work.kellet") as exporter:
        exporter.save_source_string("workpkg", SHAPES)
    with PackageImporter(tmp_path / "work.kellet") as importer:
        pickled = pickle.dumps(importer.import_module("workpkg").Box())
    with pytest.raises(
        ArchiveClosedError, match=r"the archive of 'workpkg' .* is closed, and code or objects"
    ):
        pickle.loads(pickled)
