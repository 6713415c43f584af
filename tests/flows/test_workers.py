"""Objects and functions of stored modules go to worker processes and come back, whatever starts them."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from packager import PackageExporter
from tests import processes

pytestmark = pytest.mark.long

WORK = """
import collections, dataclasses, enum, functools, multiprocessing
from concurrent.futures import ProcessPoolExecutor

state = None
Point = collections.namedtuple("Point", "x y", module="workpkg")
Kind = enum.Enum("Kind", "SMALL LARGE", module="workpkg")
same_type = lambda self, other: type(other) is type(self)
Flat = type("Flat", (), {"__module__": "workpkg.shapes", "__eq__": same_type})

class Color(enum.Enum):
    RED = 1

class Error(Exception):
    pass

@dataclasses.dataclass
class Box:
    size: int = 1
    def grown(self, by=1):
        return Box(self.size + by)

class Named(Box):
    class Inner:
        def __eq__(self, other):
            return type(other) is type(self)
        __module__ = "workpkg.shapes"
    Nested = enum.Enum("Nested", "A", module="workpkg.shapes", qualname="Named.Nested")

def offered(value):
    value.__module__ = "workpkg"
    return value

@offered
class Offered(Box):
    pass

@offered
def doubled(x):
    return 2 * x

@offered
@functools.lru_cache
def cached(x):
    return 3 * x

def begin(value):
    global state
    state = value

def begun(*_):
    return state

def echo(value):
    return value

def fails(text):
    raise Error(text)

def put(queue):
    queue.put([Point(1, 2), Kind.LARGE, Offered(3)])

class Job(multiprocessing.get_context("spawn").Process):
    def __init__(self, queue):
        super().__init__()
        self.queue = queue
    def run(self):
        put(self.queue)

def in_own_pool(method):
    with multiprocessing.get_context(method).Pool(1, begin, (5,)) as pool:
        return pool.map_async(doubled, [1, 2]).get(60), pool.apply_async(begun).get(60)

def in_own_executor(method):
    context = multiprocessing.get_context(method)
    with ProcessPoolExecutor(1, mp_context=context, initializer=begin, initargs=(5,)) as pool:
        return list(pool.map(cached, [1, 2])), pool.submit(begun).result(60)
"""
INIT = "from .shapes import Kind, Offered, Point, cached, doubled\n"
PARENT = """
import concurrent.futures, functools, json, multiprocessing, sys
from packager.package_importer import PackageImporter

def answers(method, importer):
    shapes = importer.import_module("workpkg.shapes")
    objects = {
        "namedtuple": shapes.Point(1, 2),
        "functional enum": shapes.Kind.LARGE,
        "enum": shapes.Color.RED,
        "class of type()": shapes.Flat(),
        "dataclass": shapes.Box(2),
        "decorated class": shapes.Offered(2),
        "class inside": shapes.Named.Inner(),
        "enum inside": shapes.Named.Nested.A,
        "class itself": shapes.Point,
        "function": shapes.doubled,
        "cached function": shapes.cached,
        "all together": [{"a": (shapes.Kind.SMALL, shapes.Point(shapes.Box(), None))}],
    }
    context = multiprocessing.get_context(method)
    with context.Pool(1, initializer=shapes.begin, initargs=(shapes.Offered(7),)) as pool:
        for name, value in objects.items():
            yield name, pool.apply_async(shapes.echo, (value,)).get(60) == value
        yield "initializer", pool.apply_async(shapes.begun).get(60) == shapes.Offered(7)
        yield "method", pool.apply_async(shapes.Box(2).grown, (3,)).get(60) == shapes.Box(5)
        yield "partial", pool.map_async(functools.partial(shapes.doubled), [1, 2]).get(60) == [2, 4]
        yield "imap", list(pool.imap_unordered(shapes.cached, [1])) == [3]
        try:
            pool.apply_async(shapes.fails, ("why",)).get(60)
        except shapes.Error as error:
            yield "error", error.args == ("why",)
    with context.Pool(1, maxtasksperchild=1) as pool:
        yield "workers in turn", pool.map_async(shapes.doubled, range(3), 1).get(60) == [0, 2, 4]
    with concurrent.futures.ProcessPoolExecutor(
        1, mp_context=context, initializer=shapes.begin, initargs=(shapes.Kind.SMALL,)
    ) as pool:
        yield "executor", list(pool.map(shapes.doubled, [shapes.Point(1, 2)])) == [(1, 2, 1, 2)]
        yield "its initializer", pool.submit(shapes.begun).result(60) is shapes.Kind.SMALL
    queue = context.Queue()
    process = context.Process(target=shapes.put, args=(queue,))
    process.start()
    yield "queue", queue.get(timeout=60) == [shapes.Point(1, 2), shapes.Kind.LARGE, shapes.Offered(3)]
    process.join(60)
    if method == "spawn":
        job = shapes.Job(queue)
        job.start()
        yield "subclass of Process", queue.get(timeout=60)[0] == shapes.Point(1, 2)
        job.join(60)
    yield "own pool", shapes.in_own_pool(method) == ([2, 4], 5)
    yield "own executor", shapes.in_own_executor(method) == ([3, 6], 5)

if __name__ == "__main__":
    path, method, mode = sys.argv[1:]
    with PackageImporter(path, environment="ignore") as importer:
        if mode == "installed":
            importer.install()
        print(json.dumps(dict(answers(method, importer))))
"""
FORK, FORKSERVER = (pytest.param(one, marks=pytest.mark.unix) for one in ("fork", "forkserver"))


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("workers") / "work.kellet"
    with PackageExporter(path, policy="auto") as exporter:
        exporter.save_source_string("workpkg", INIT, is_package=True)
        exporter.save_source_string("workpkg.shapes", WORK)
    return path


def program(folder: Path, text: str, *arguments: object) -> processes.CompletedProcess[str]:
    (folder / "parent.py").write_text(text)
    command = [sys.executable, str(folder / "parent.py"), *map(str, arguments)]
    return processes.run(command, capture_output=True, text=True, timeout=240, check=False)


@pytest.mark.parametrize("mode", ["isolated", "installed"])
@pytest.mark.parametrize("method", ["spawn", FORK, FORKSERVER])
def test_what_goes_to_workers_comes_back(archive: Path, tmp_path: Path, method: str, mode: str) -> None:
    done = program(tmp_path, PARENT, archive, method, mode)
    assert done.returncode == 0, done.stderr
    found: Mapping[str, Any] = json.loads(done.stdout)
    assert [name for name, is_right in found.items() if is_right is not True] == []
    assert len(found) == 23 + (method == "spawn")


JOBLIB = """
import sys
from joblib import Parallel, delayed
from packager.package_importer import PackageImporter

if __name__ == "__main__":
    with PackageImporter(sys.argv[1], environment="ignore") as importer:
        shapes = importer.import_module("workpkg.shapes")
        for backend in ("loky", "multiprocessing", "threading"):
            boxes = Parallel(2, backend=backend, timeout=120)(
                delayed(shapes.echo)(shapes.Offered(n)) for n in range(3)
            )
            print(backend, boxes == [shapes.Offered(n) for n in range(3)])
"""


def test_joblib_sends_them_to_workers_of_every_kind(archive: Path, tmp_path: Path) -> None:
    done = program(tmp_path, JOBLIB, archive)
    assert done.stdout == "loky True\nmultiprocessing True\nthreading True\n", done.stderr


# --- a worker that cannot import ends the wait with a message ---

WAITING = """
import concurrent.futures, multiprocessing, os, sys
from packager.package_importer import PackageImporter

def say(ask):
    try:
        print(ask(), flush=True)
    except Exception as error:
        print(type(error).__name__, error, flush=True)

if __name__ == "__main__":
    path, method, way, harm = sys.argv[1:]
    importer = PackageImporter(open(path, "rb") if "memory" in harm else path, environment="ignore")
    if "installed" in harm:
        importer.install()
    shapes = importer.import_module("workpkg.shapes")
    if "gone" in harm:
        os.unlink(path)
    if harm == "raises":
        os.environ["WORKPKG_RAISES"] = str(os.getpid())
    context = multiprocessing.get_context(method)
    if way == "pool":
        with context.Pool(1) as pool:
            say(lambda: pool.apply_async(shapes.doubled, (1,)).get(60))
            say(lambda: pool.map_async(shapes.doubled, [1, 2], 1).get(60))
            say(lambda: pool.apply_async(abs, (-1,)).get(60))
    elif way == "task of a submodule":
        with context.Pool(1) as pool:
            say(lambda: pool.apply_async(shapes.echo, (1,)).get(60))
            say(lambda: pool.apply_async(abs, (-1,)).get(60))
    elif way == "initializer":
        with context.Pool(2, shapes.begin, (1,)) as pool:
            say(lambda: pool.apply_async(abs, (-1,)).get(60))
            say(lambda: pool.map_async(abs, [1, 2, 3], 1).get(60))
    elif way == "executor":
        with concurrent.futures.ProcessPoolExecutor(1, context) as pool:
            say(lambda: pool.submit(shapes.doubled, 1).result(60))
            say(lambda: pool.submit(abs, -1).result(60))
    elif way == "its initializer":
        with concurrent.futures.ProcessPoolExecutor(1, context, shapes.begin, (1,)) as pool:
            say(lambda: pool.submit(abs, -1).result(60))
    else:
        process = shapes.Job(context.Queue()) if way == "subclass" else context.Process(target=shapes.doubled)
        process.start()
        process.join(60)
        print("exit code", process.exitcode, flush=True)
    importer.close()
"""
RAISES = 'import os\nif os.environ.get("WORKPKG_RAISES", str(os.getpid())) != str(os.getpid()):\n    {}\n'
GONE = "ArchiveMovedError .*work.kellet: the archive cannot be opened again in this process: .*"
IN_MEMORY = (
    "ArchiveMovedError the archive was opened from memory or a pipe, so no other process can open it. "
    "Write it to a file, and open that"
)
HARMS = {
    "gone": GONE,
    "gone, installed": GONE,
    "in memory": IN_MEMORY,
    "in memory, installed": IN_MEMORY,
    "raises": (
        r"WorkerImportError workpkg\S*: a worker process cannot import it: {error}, "
        r"at .*shapes.py:3; what is sent to workers, or comes back from them, needs its module to be .*"
    ),
}


@pytest.fixture
def wait(tmp_path: Path) -> Callable[..., processes.CompletedProcess[str]]:
    def wait(method: str, way: str, harm: str, statement: str = "raise ValueError('no such device')") -> Any:
        with PackageExporter(tmp_path / "work.kellet", policy="auto") as exporter:
            exporter.save_source_string("workpkg", INIT, is_package=True)
            exporter.save_source_string("workpkg.shapes", RAISES.format(statement) + WORK)
        return program(tmp_path, WAITING, tmp_path / "work.kellet", method, way, harm)

    return wait


@pytest.mark.parametrize("harm", HARMS)
@pytest.mark.parametrize("method", ["spawn", FORKSERVER])
def test_who_waits_for_a_worker_that_cannot_import_is_told(wait: Any, method: str, harm: str) -> None:
    told = HARMS[harm].format(error="ValueError: no such device")
    for way, lines in {
        "pool": [told, told, "1"],
        "initializer": [told, told],
        "task of a submodule": [told, "1"],
        "executor": [told, "1"],
        "its initializer": ["BrokenProcessPool .*"],
        "process": ["exit code 1"],
    }.items():
        done = wait(method, way, harm)
        assert_lines(done, lines)
        if way in ("its initializer", "process"):
            assert_says(done.stderr, told)


@pytest.mark.parametrize("harm", HARMS)
def test_a_process_of_a_stored_class_that_cannot_be_imported_ends_with_a_message(
    wait: Any, harm: str
) -> None:
    done = wait("spawn", "subclass", harm)
    assert_lines(done, ["exit code 1"])
    assert_says(done.stderr, HARMS[harm].format(error="ValueError: no such device"))


@pytest.mark.parametrize(
    ("statement", "error"),
    [
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("import workpkg.none", "ModuleNotFoundError: No module named 'workpkg.none'"),
        (
            "import surely_not_installed",
            "UndeclaredImportError: packaged code imports 'surely_not_installed'.*",
        ),
        ("from json import none", r"ImportError: cannot import name 'none' from 'json' \(.*\)"),
    ],
)
def test_however_a_stored_module_fails_in_a_worker(wait: Any, statement: str, error: str) -> None:
    told = HARMS["raises"].format(error=error)
    assert_lines(wait("spawn", "pool", "raises", f"exec(str({statement!r}))"), [told, told, "1"])


def assert_lines(done: processes.CompletedProcess[str], patterns: list[str]) -> None:
    lines = done.stdout.splitlines()
    assert len(lines) == len(patterns), (done.stdout, done.stderr)
    for line, pattern in zip(lines, patterns, strict=True):
        assert re.fullmatch(pattern, line), (line, pattern, done.stderr)


def assert_says(text: str, pattern: str) -> None:
    assert re.search(pattern.partition(" ")[2], text), text
