"""`close()` and `with` free everything: a weak reference to every module dies, whatever was done with it."""

import gc
import linecache
import os
import pickle
import shutil
import sys
import traceback
import weakref
from collections.abc import Callable
from pathlib import Path

import pytest

from packager import PackageExporter, PackageImporter
from packager._archive import ArchiveClosedError

TREE = {
    "leakpkg/__init__.py": "from . import shapes, show, errors, workers, resources\n",
    "leakpkg/shapes.py": """
from __future__ import annotations

import abc
import dataclasses
import enum
import functools
import typing


class Mode(enum.Enum):
    TRAIN = 1


@dataclasses.dataclass
class Config:
    width: int = 3
    child: typing.Optional[Config] = None


class Base(abc.ABC):
    @abc.abstractmethod
    def run(self): ...


class Net(Base):
    def __init__(self, width=3):
        self.config = Config(width, Config())
        self.mode = Mode.TRAIN

    def run(self):
        return self.config.width

    @functools.cached_property
    def cached(self):
        return [self]

    @functools.lru_cache
    def remembered(self):
        return self


class Sized(typing.Protocol):
    def size(self) -> int: ...
""",
    "leakpkg/show.py": """
from __future__ import annotations

import functools
import typing

from .shapes import Config, Net


@functools.singledispatch
def show(value):
    return "anything"


@show.register
def _(value: Net):
    return "a net"


def hints(value: Config, other: typing.Optional[Net] = None) -> list[Net]: ...
""",
    "leakpkg/errors.py": """
class NetError(Exception):
    def __init__(self, message, net=None):
        super().__init__(message)
        self.net = net


def fail(net):
    try:
        {}["nothing"]
    except KeyError as error:
        raise NetError("on purpose", net) from error
""",
    "leakpkg/workers.py": """
import concurrent.futures
import contextvars
import queue
import threading

results = queue.Queue()
variable = contextvars.ContextVar("variable")


def work(n):
    import leakpkg.shapes

    results.put(leakpkg.shapes.Net(n))


def run():
    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return sorted([*pool.map(lambda n: n + 1, range(3)), results.qsize()])
""",
    "leakpkg/resources.py": """
import importlib.resources
import importlib.util
import inspect
import logging
import os
import pkgutil
import sys

logger = logging.getLogger(__name__)
text = (importlib.resources.files("leakpkg") / "words.txt").read_text()
beside = os.path.exists(os.path.join(os.path.dirname(__file__), "words.txt"))
specs = importlib.util.find_spec("leakpkg.shapes")
listed = [name for _, name, _ in pkgutil.iter_modules(sys.modules["leakpkg"].__path__)]
source = inspect.getsource(sys.modules[__name__])
""",
}


@pytest.fixture
def archive(project: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KELLET_CACHE", str(tmp_path / "cache"))
    folder = project({**TREE, "leakpkg/words.txt": "cat dog"})
    with PackageExporter(tmp_path / "leak.kellet", policy="auto", prove=False) as exporter:
        exporter.intern("leakpkg.**")
        exporter.save_module("leakpkg")
        import leakpkg

        exporter.save_object("leakpkg", "net", leakpkg.shapes.Net(5))
        exporter.save_pickle("leakpkg", "net.pkl", leakpkg.shapes.Config(5))
    for name in [name for name in sys.modules if name.partition(".")[0] == "leakpkg"]:
        del sys.modules[name]
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry != str(folder)])
    return tmp_path / "leak.kellet"


def use(importer: PackageImporter) -> None:
    """Do with packaged code what a service does in a day."""
    package = importer.import_module("leakpkg")
    net = importer.load_object("leakpkg", "net")
    assert net.run() == 5
    assert net.cached == [net]
    assert net.remembered() is net
    assert importer.load_pickle("leakpkg", "net.pkl").width == 5
    assert package.show.show(net) == "a net"
    assert package.show.show(1) == "anything"
    assert package.workers.run() == [1, 2, 3, 4]
    assert pickle.loads(pickle.dumps(net)).config.child.width == 3
    assert package.resources.text == "cat dog"
    assert not isinstance(1, package.shapes.Base)
    with pytest.raises(package.errors.NetError) as caught:
        package.errors.fail(net)
    text = "".join(traceback.format_exception(caught.value))
    assert "raise NetError" in text
    assert [key for key in linecache.cache if key.endswith("leakpkg/errors.py")]


def everything_of(importer: PackageImporter) -> dict[str, weakref.ref[object]]:
    """A weak reference to every module, class and function of the archive."""
    found: dict[str, weakref.ref[object]] = {}
    for name, module in importer.modules.items():
        found[name] = weakref.ref(module)
        for key, value in vars(module).items():
            if getattr(value, "__module__", None) == module.__name__ and callable(value):
                found[f"{name}.{key}"] = weakref.ref(value)
    return found


@pytest.mark.parametrize("mode", ["isolated", "installed"])
def test_nothing_of_the_archive_outlives_it(archive: Path, mode: str) -> None:
    before = set(sys.modules), set(sys.path_importer_cache)
    with PackageImporter(archive, allow_pickle=True) as importer:
        if mode == "installed":
            importer.install()
        use(importer)
        references = everything_of(importer)
    gc.collect()
    assert len(references) > 15
    assert [name for name, reference in references.items() if reference() is not None] == []
    assert not [name for name in set(sys.modules) - before[0] if name.startswith("leakpkg")]
    assert not [path for path in set(sys.path_importer_cache) - before[1] if "leakpkg" in str(path)]
    assert not [path for path in linecache.cache if path.startswith(os.environ["KELLET_CACHE"])]


def test_the_importer_itself_dies(archive: Path) -> None:
    importer = PackageImporter(archive, allow_pickle=True)
    use(importer)
    importer.close()
    gone = weakref.ref(importer), weakref.ref(importer.archive)
    del importer
    gc.collect()
    assert [reference() for reference in gone] == [None, None]


@pytest.mark.parametrize("written", ["no JSON {", "[]", '{"leakpkg": 3}', "[" * 100_000])
def test_it_closes_whatever_another_program_wrote_over_what_was_announced(
    archive: Path, written: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    importer = PackageImporter(archive)
    importer.import_module("leakpkg.shapes")
    monkeypatch.setenv("KELLET_OPEN_ARCHIVES", written)
    importer.close()
    assert os.environ["KELLET_OPEN_ARCHIVES"] == "{}"
    assert not [name for name in sys.modules if name.startswith("leakpkg")]


def test_many_loads_leave_nothing_behind(archive: Path) -> None:
    def load() -> None:
        with PackageImporter(archive) as importer:
            importer.import_module("leakpkg.show")

    load()
    gc.collect()
    before = len(gc.get_objects()), len(sys.modules), len(sys.path_importer_cache), len(os.listdir("/dev/fd"))
    for _ in range(20):
        load()
    gc.collect()
    after = len(gc.get_objects()), len(sys.modules), len(sys.path_importer_cache), len(os.listdir("/dev/fd"))
    assert after[1:] == before[1:]
    assert after[0] - before[0] < 200


def test_an_object_that_outlives_the_archive_keeps_its_class_and_no_more(archive: Path) -> None:
    with PackageImporter(archive) as importer:
        importer.import_module("leakpkg")
        net = importer.load_object("leakpkg", "net")
        gone = weakref.ref(importer.import_module("leakpkg.workers"))
        archive_gone = weakref.ref(importer.archive)
    del importer
    gc.collect()
    assert net.run() == 5
    assert gone() is None
    assert archive_gone() is None


def test_a_traceback_that_outlives_the_archive_still_prints(archive: Path) -> None:
    with PackageImporter(archive) as importer:
        errors = importer.import_module("leakpkg.errors")
        try:
            errors.fail(None)
        except Exception as error:
            kept = error
        del errors
    shutil.rmtree(os.environ["KELLET_CACHE"])
    text = "".join(traceback.format_exception(kept))
    assert "leakpkg/errors.py" in text
    assert "NetError: on purpose" in text


LATE = """
import importlib, pkgutil
from importlib import resources, util


class Net:
    def absolute(self):
        import latepkg.extra

    def relative(self):
        from . import extra

    def name_of_one(self):
        from .extra import ONE

    def imported_before(self):
        import latepkg.used

    def tried(self):
        try:
            from latepkg.extra import ONE
        except ImportError:
            return "as if it were absent"

    def by_name(self):
        importlib.import_module("latepkg.extra")

    def by_name_in_a_function(self):
        import importlib.util
        return importlib.util.find_spec("latepkg")

    def by_relative_name(self):
        importlib.import_module(".extra", __package__)

    def by_the_function(self):
        __import__("latepkg.extra")

    def by_text(self):
        exec("import latepkg.extra")

    def spec(self):
        return util.find_spec("latepkg.extra")

    def data(self):
        return pkgutil.get_data("latepkg", "words.txt")

    def files(self):
        return (resources.files("latepkg") / "words.txt").read_text()
"""
OF_LATE = [
    line.split()[1].removesuffix("(self):") for line in LATE.splitlines() if line.startswith("    def ")
]


@pytest.fixture(scope="module")
def late(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("late") / "net.kellet"
    with PackageExporter(path, policy="auto", prove=False) as exporter:
        exporter.save_source_string("latepkg", "", is_package=True)
        for name, text in (("core", LATE), ("extra", "ONE = 1"), ("used", "ONE = 1")):
            exporter.save_source_string(f"latepkg.{name}", text)
        exporter.save_text("latepkg", "words.txt", "one two")
    return path


@pytest.mark.parametrize("is_here_too", [False, True], ids=["alone", "namesake"])
@pytest.mark.parametrize("how", OF_LATE)
def test_a_closed_archive_says_so_where_its_code_imports_in_a_function(
    late: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str, is_here_too: bool
) -> None:
    """Also where the process has a package of that name, and where code takes a failure for an answer."""
    if is_here_too:
        (tmp_path / "latepkg").mkdir()
        for name in ("__init__", "extra", "used"):
            (tmp_path / "latepkg" / f"{name}.py").write_text("ONE = 'of another'\n")
        (tmp_path / "latepkg" / "words.txt").write_text("of another")
        monkeypatch.syspath_prepend(tmp_path)
    with PackageImporter(late) as importer:
        net = importer.import_module("latepkg.core").Net()
        net.imported_before()
    with pytest.raises(ArchiveClosedError) as raised:
        getattr(net, how)()
    assert str(raised.value) == (
        f"the archive of 'latepkg' ({late}) is closed, and code or objects of it import from it: "
        "keep the PackageImporter open as long as they are used"
    )
    assert not [name for name in sys.modules if name.startswith("latepkg")]
