"""What `packager.load` imported leaves the process with the last thing that needs it, and not before."""

from __future__ import annotations

import gc
import os
import sys
import threading
import typing
import weakref
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import packager
from tests import processes

SHOP = {
    "shop": "from .net import Net\n",
    "shop.net": """
import dataclasses, logging, typing

logger = logging.getLogger(__name__)

class Part:
    def size(self) -> "Size":
        return 1

@dataclasses.dataclass
class Size:
    width: int = 2

class Net:
    def __init__(self):
        self.part, self.size = Part(), Size()

    def __call__(self, x):
        from . import late
        return late.twice(x)

    def own_importer(self):
        import torch_package_importer
        return torch_package_importer
""",
    "shop.late": "def twice(x):\n    return 2 * x\n",
    "shop.settings": "import sys\nclass _Settings:\n    width = 4\nsys.modules[__name__] = _Settings()\n",
}


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("shop")
    for name, source in SHOP.items():
        file = place / (name.replace(".", "/") + ("/__init__.py" if name == "shop" else ".py"))
        file.parent.mkdir(exist_ok=True)
        file.write_text(source)
    script = (
        "import packager, shop, shop.late, shop.settings\n"
        "with packager.PackageExporter('shop.kellet', policy='auto', prove=False) as exporter:\n"
        "    exporter.save_object('model', 'model', shop.Net())\n"
        "    exporter.save_module('shop.late'), exporter.save_module('shop.settings')\n"
    )
    processes.run([sys.executable, *processes.STRICT, "-c", script], cwd=place, check=True)
    return place / "shop.kellet"


def modules_of(thing: Any) -> list[str]:
    top = type(thing).__module__.partition(".")[0]
    return sorted(name for name in sys.modules if name.partition(".")[0] == top)


def are_gone(names: list[str]) -> bool:
    gc.collect()
    return not any(name in sys.modules for name in names)


def test_modules_are_collected_when_nothing_needs_them(archive: Path) -> None:
    net = packager.load(archive)
    assert net(2) == 4
    names = modules_of(net)
    held = [weakref.ref(sys.modules[name]) for name in names]
    assert [name.partition(".")[2] for name in names] == ["", "late", "net"]
    assert not are_gone(names)
    assert net(2) == 4
    assert [type(sys.modules[name]) for name in names] == [ModuleType] * 3
    del net
    assert are_gone(names)
    assert [one() for one in held] == [None] * 3


@pytest.mark.parametrize("part", ["part", "size", "__call__", "__class__"])
def test_a_part_of_the_object_keeps_them(archive: Path, part: str) -> None:
    net = packager.load(archive)
    names, kept = modules_of(net), [getattr(net, part)]
    del net
    assert not are_gone(names)
    kept.clear()
    assert are_gone(names)


def test_the_file_is_closed_with_them(archive: Path) -> None:
    def descriptors() -> list[str]:
        numbers = os.listdir("/proc/self/fd")
        places = [f"/proc/self/fd/{number}" for number in numbers]
        return [place for place in places if os.path.exists(place) and os.readlink(place) == str(archive)]

    net = packager.load(archive)
    assert descriptors()
    assert net.own_importer().load_object() is not net
    del net
    gc.collect()
    assert not descriptors()


def test_an_object_in_the_place_of_a_module_leaves_too(archive: Path) -> None:
    net = packager.load(archive)
    assert net.own_importer().import_module("shop.settings").width == 4
    names = modules_of(net)
    assert any(name.endswith(".settings") for name in names)
    assert not are_gone(names)
    del net
    assert are_gone(names)


def test_loading_many_times_leaves_nothing(archive: Path) -> None:
    assert packager.load(archive)(1) == 2  # imports what loading needs
    gc.collect()
    before = len(sys.modules)
    for _ in range(20):
        assert packager.load(archive)(1) == 2
    gc.collect()
    assert len(sys.modules) == before


def test_an_importer_that_is_closed_by_hand_is_no_concern_of_it(archive: Path) -> None:
    with packager.PackageImporter(archive) as importer:
        net = importer.load_object()
        names = modules_of(net)
        del net
        assert not are_gone(names)
    assert are_gone(names)


def test_a_load_that_fails_leaves_no_module(archive: Path) -> None:
    before = set(sys.modules)
    with pytest.raises(packager.PackageError, match="module_allowed refuses"):
        packager.load(archive, module_allowed=lambda name: name != "shop.net")
    assert {name for name in sys.modules if name not in before and "__w" in name} == set()


class Looks:
    """Is collected beside, and looks at a module meanwhile, as another thread may."""

    def __init__(self, name: str, seen: list[Any]) -> None:
        self.name, self.seen, self.myself = name, seen, self

    def __del__(self) -> None:
        module: Any = sys.modules[self.name]
        module.mark = 3
        found = isinstance(module, ModuleType), module.__name__, sorted(vars(module).keys() & {"Net", "mark"})
        del module.mark
        self.seen += [*found, typing.get_type_hints(module.Part.size)["return"].__name__]


def test_a_module_answers_while_the_collector_looks(archive: Path) -> None:
    net, seen = packager.load(archive), list[Any]()
    name = type(net).__module__
    Looks(name, seen)
    gc.collect()
    assert seen == [True, name, ["Net", "mark"], "Size"]
    assert not hasattr(sys.modules[name], "mark")


def test_threads_load_and_drop_while_others_collect(archive: Path) -> None:
    failures: list[BaseException] = []
    done = threading.Event()

    def loads() -> None:
        try:
            for number in range(6):
                net = packager.load(archive)
                assert net(number) == 2 * number
                assert typing.get_type_hints(type(net.part).size)["return"] is type(net.size)
        except BaseException as error:
            failures.append(error)

    def collects() -> None:
        while not done.is_set():
            gc.collect()

    collector = threading.Thread(target=collects)
    workers = [threading.Thread(target=loads) for _ in range(4)]
    collector.start()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    done.set()
    collector.join()
    assert failures == []
    gc.collect()
    assert not [name for name in sys.modules if name.startswith("shop__w")]


FORKS = """
import gc, multiprocessing, os, pickle, sys, threading
import packager

def main(archive):
    net = packager.load(archive)
    if child := os.fork():
        assert os.waitpid(child, 0)[1] == 0
    else:
        assert net(1) == 2 and packager.load(archive)(2) == 4
        del net
        gc.collect()
        os._exit(any(name.startswith("shop__w") for name in sys.modules))
    assert net(3) == 6
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(pool.map(net, [4]))
    stop = threading.Event()
    def loads():
        while not stop.is_set():
            packager.load(archive)
    threads = [threading.Thread(target=loads) for _ in range(2)]
    for thread in threads:
        thread.start()
    children = []
    for _ in range(12):
        child = os.fork()
        if not child:
            os._exit(packager.load(archive)(5) != 10)
        children.append(child)
    codes = [os.waitpid(child, 0)[1] for child in children]
    stop.set()
    for thread in threads:
        thread.join()
    print(set(codes))

if __name__ == "__main__":
    main(sys.argv[1])
"""


def test_a_fork_loads_drops_and_leaves_its_parent_alone(archive: Path, tmp_path: Path) -> None:
    (tmp_path / "forks.py").write_text(FORKS)
    command = [sys.executable, str(tmp_path / "forks.py"), str(archive)]
    done = processes.run(command, capture_output=True, text=True, timeout=120, cold=True)
    assert (done.stdout, done.returncode) == ("[8]\n{0}\n", 0), done.stderr
