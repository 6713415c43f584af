"""Workers end with an error, and do not hang, where the archive or the folder of stubs is gone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from packager import PackageExporter

PARENT = """
import concurrent.futures, multiprocessing, os, shutil, sys
from packager.package_exporter import PackageExporter
from packager.package_importer import PackageImporter
from packager.loading import loaded_archive

def delete(path):
    os.unlink(path)

def replace(path):
    with PackageExporter(path) as exporter:
        exporter.save_source_string("workpkg", "def double(x): return 'replaced'")

def stop(path):
    os.unlink(path)
    os.mkfifo(path)  # whoever opened it would wait for a writer

def damage(path):
    with open(path, "r+b") as file:
        file.truncate(100)

def clean(path):
    # What a cleaner of temporary files does while the parent lives.
    shutil.rmtree(loaded_archive._stub_folder.path)

def nothing(path):
    pass

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
    else:
        with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as pool:
            try:
                print(pool.submit(double, 21).result(timeout=60), flush=True)
            except concurrent.futures.process.BrokenProcessPool as error:
                print("broken pool", flush=True)
    importer.close()
"""


def outcome(tmp_path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    with PackageExporter(tmp_path / "work.kellet") as exporter:
        exporter.save_source_string("workpkg", "def double(x): return 2 * x")
    (tmp_path / "parent.py").write_text(PARENT)
    command = [sys.executable, str(tmp_path / "parent.py"), str(tmp_path / "work.kellet"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
@pytest.mark.parametrize(
    ("harm", "said"),
    [
        ("delete", "the archive cannot be opened again in this process"),
        ("stop", "found a pipe or device in its place"),
        ("damage", "the archive cannot be opened again in this process"),
        ("replace", "the archive was replaced since it was opened"),
    ],
)
@pytest.mark.parametrize(("way", "printed"), [("process", "exit code 1"), ("pool", "broken pool")])
def test_a_worker_says_that_the_archive_is_gone(
    method: str, harm: str, said: str, way: str, printed: str, tmp_path: Path
) -> None:
    done = outcome(tmp_path, method, harm, way)
    assert done.stdout.strip() == printed, done.stderr
    assert said in done.stderr


@pytest.mark.parametrize("method", ["spawn", "forkserver", "fork"])
def test_a_worker_works_where_nothing_is_gone(method: str, tmp_path: Path) -> None:
    assert outcome(tmp_path, method, "nothing", "pool").stdout.strip() == "42"


@pytest.mark.parametrize("harm", ["delete", "replace", "clean"])
def test_a_forked_worker_has_everything_already(harm: str, tmp_path: Path) -> None:
    done = outcome(tmp_path, "fork", harm, "pool")
    assert done.stdout.strip() == "42", done.stderr


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
@pytest.mark.parametrize(("way", "printed"), [("process", "exit code"), ("pool", "")])
def test_a_worker_without_the_stubs_ends(method: str, way: str, printed: str, tmp_path: Path) -> None:
    done = outcome(tmp_path, method, "clean", way)
    assert done.stdout.strip() in ("exit code 0", "exit code 1", "42", "broken pool"), done.stderr
    assert printed in done.stdout


AGAIN = """
import multiprocessing, shutil, sys
from packager.package_importer import PackageImporter
from packager.loading import loaded_archive

if __name__ == "__main__":
    first = PackageImporter(sys.argv[1])
    double = first.import_module("workpkg").double
    removed = loaded_archive._stub_folder.path
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
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout == "2 4\n", done.stderr
