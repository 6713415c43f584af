"""One importer, many threads: 64 of them, and several processes, import and load at once."""

import sys
import textwrap
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from packager import ArchiveError, PackageImporter
from tests import processes

COUNT = 64
CHAIN = 12
SOURCES = {
    f"threadpkg.m{i}": "import time\n"
    f"from . import m{i + 1} as below\ntime.sleep(0.001)\nvalue = below.value + 1\n"
    for i in range(CHAIN)
}
SOURCES[f"threadpkg.m{CHAIN}"] = "import time\ntime.sleep(0.01)\nvalue = 0\nloaded = []\nloaded.append(1)\n"
SOURCES["threadpkg.net"] = """
import dataclasses

@dataclasses.dataclass
class Net:
    name: str
    weights: list
"""


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KELLET_CACHE", str(tmp_path / "cache"))
    (tmp_path / "project" / "threadpkg").mkdir(parents=True)
    for name, text in {"threadpkg.__init__": "", **SOURCES}.items():
        (tmp_path / "project" / f"{name.replace('.', '/')}.py").write_text(text)
    script = f"""
        import numpy as np
        from packager import PackageExporter
        from threadpkg.net import Net
        with PackageExporter({str(tmp_path / "net.kellet")!r}, policy="auto") as exporter:
            exporter.save_module("threadpkg.m0")
            for i in range(8):
                net = Net(str(i), [np.full(1000, i), np.arange(i)])
                exporter.save_object("threadpkg", f"net{{i}}", net)
                state = {{"a": np.full(1000, i), "b": np.arange(i)}}
                exporter.save_state_dict("threadpkg", f"state{{i}}", state)
    """
    processes.run([sys.executable, "-c", textwrap.dedent(script)], cwd=tmp_path / "project", check=True)
    return tmp_path / "net.kellet"


def at_once(work: Callable[[int], Any]) -> list[Any]:
    """What `work` gives in each of 64 threads that start together; errors are raised."""
    start = threading.Barrier(COUNT)
    results: list[Any] = [None] * COUNT
    errors: list[BaseException] = []

    def run(number: int) -> None:
        start.wait()
        try:
            results[number] = work(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(n,), daemon=True) for n in range(COUNT)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads), "threads wait for each other"
    if errors:
        raise errors[0]
    return results


def test_64_threads_import_one_chain_of_modules_from_every_end(archive: Path) -> None:
    with PackageImporter(archive) as importer:
        found = at_once(lambda n: importer.import_module(f"threadpkg.m{n % (CHAIN + 1)}").value)
        assert found == [CHAIN - n % (CHAIN + 1) for n in range(COUNT)]
        assert importer.import_module(f"threadpkg.m{CHAIN}").loaded == [1]


def test_64_threads_load_objects_states_and_modules_at_once(archive: Path) -> None:
    def work(n: int) -> tuple[object, ...]:
        which = n % 8
        net = importer.load_object("threadpkg", f"net{which}")
        state = importer.load_state_dict("threadpkg", f"state{which}")
        same = np.array_equal(net.weights[0], state["a"]) and np.array_equal(net.weights[1], state["b"])
        return net.name == str(which), same, type(net) is importer.import_module("threadpkg.net").Net

    with PackageImporter(archive) as importer:
        assert at_once(work) == [(True, True, True)] * COUNT


def test_64_importers_of_one_archive_are_64_worlds(archive: Path) -> None:
    def work(n: int) -> str:
        with PackageImporter(archive) as importer:
            module = importer.import_module("threadpkg.m8")
            assert module.value == CHAIN - 8
            return str(module.__name__)

    assert len(set(at_once(work))) == COUNT


def test_one_opening_of_the_world_for_threads_that_come_together(archive: Path) -> None:
    with PackageImporter(archive) as importer:
        assert len(set(at_once(lambda n: importer.id()))) == 1


def test_closing_while_others_import_ends_in_an_import_or_a_named_error(archive: Path) -> None:
    from packager import PackageError

    importer = PackageImporter(archive)

    def work(n: int) -> object:
        if n == 0:
            importer.close()
            return None
        try:
            return importer.import_module(f"threadpkg.m{n % CHAIN}").value
        except (PackageError, ImportError, KeyError) as error:
            return type(error)

    at_once(work)
    assert not [name for name in list(sys.modules) if name.startswith("threadpkg")]


def test_several_processes_share_the_archive_and_its_caches(archive: Path, tmp_path: Path) -> None:
    script = tmp_path / "load.py"
    script.write_text(
        textwrap.dedent(f"""
            import threading
            from packager import PackageImporter

            with PackageImporter({str(archive)!r}) as importer:
                found = []
                def work():
                    found.append(importer.load_object("threadpkg", "net3").weights[0].sum())
                    found.append(importer.import_module("threadpkg.m0").value)
                threads = [threading.Thread(target=work) for _ in range(8)]
                for thread in threads: thread.start()
                for thread in threads: thread.join()
                importer.materialize()
            print(sorted(map(int, found)) == [{CHAIN}] * 8 + [3000] * 8)
        """)
    )
    started = [
        processes.Popen([sys.executable, str(script)], stdout=processes.PIPE, text=True) for _ in range(4)
    ]
    assert [process.communicate(timeout=120)[0] for process in started] == ["True\n"] * 4


def test_bytes_read_while_the_archive_is_closed_are_whole_or_refused(archive: Path) -> None:
    for mmap in (True, False):
        importer = PackageImporter(archive, digests="none", mmap=mmap)
        reader = importer.archive
        name = next(name for name in reader.names() if reader.entry(name).kind == "tensors")
        expected = reader.read(name)

        def work(n: int, importer: PackageImporter = importer, name: str = name) -> bytes | None:
            if n == COUNT // 2:
                importer.close()
            try:
                return importer.archive.read(name)
            except ArchiveError:
                return None

        assert set(at_once(work)) <= {expected, None}
