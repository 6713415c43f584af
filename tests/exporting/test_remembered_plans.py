"""A plan that was made before is used where nothing has changed that it was made from, and is the same."""

from __future__ import annotations

import hashlib
import importlib
import importlib.machinery
import io
import os
import shutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgpack
import pytest

from packager import PackageExporter, seen
from packager.exporting import ExportPlan, remembered

pytestmark = pytest.mark.processes(share=12)

Project = Callable[[Mapping[str, str]], Path]
Change = Callable[[Path, pytest.MonkeyPatch], object]

NET = """
import os
from importlib import import_module
from importlib.util import find_spec
import tool
from . import layers
try:
    import fancy
except ImportError:
    fancy = None
with open(os.path.join(os.path.dirname(__file__), "words.txt")) as file:
    WORDS = file.read()
MODE = os.environ.get("NET_MODE")
FAST = find_spec("turbo") is not None
def kind(name):
    return import_module("net.kinds." + name)
"""
TREE = {
    "net/__init__.py": NET,
    "net/layers.py": "SIZE = 3\n",
    "net/words.txt": "one two",
    "net/kinds/__init__.py": "",
    "net/kinds/plain.py": "DEPTH = 1\n",
    "lib/tool.py": "",
    "lib/tool-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: tool\nVersion: 1.0\n",
    "lib/tool-1.0.dist-info/RECORD": "tool.py,,\ntool-1.0.dist-info/METADATA,,\n",
    "site/later.py": "",
}


@pytest.fixture
def net(project: Project, pythons_finders: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A project, in a process whose modules are found by Python alone, with a cache of its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    importlib.import_module("kellet.hooks")  # else the first hook brings it, and it would be another process
    folder = project(TREE)
    monkeypatch.syspath_prepend(folder / "lib")
    return folder


def asked(
    rules: Callable[[PackageExporter], object] = lambda exporter: None, **options: Any
) -> PackageExporter:
    exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False, **options)
    rules(exporter)
    exporter.save_module("net")
    return exporter


def walked() -> ExportPlan:
    """The plan by a walk, with nothing kept of it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KELLET_CACHE", os.path.join(os.environ["XDG_CACHE_HOME"], "none"))
        patch.setattr(remembered.RememberedPlans, "keep", lambda *given: None)
        plan = asked().plan()
    assert not plan.remembered
    return plan


def contents(plan: ExportPlan) -> list[bytes]:
    return [bytes(entry.read()) for entry in (*plan.entries, *plan.left_out)]


def require_same(plan: ExportPlan, other: ExportPlan) -> None:
    assert plan == other
    assert contents(plan) == contents(other)
    assert [entry.path for entry in plan.entries] == [entry.path for entry in other.entries]
    assert plan.text(whole=True) == other.text(whole=True)


def test_what_has_not_changed_is_remembered_and_is_the_same(net: Path) -> None:
    first, again = asked().plan(), asked().plan()
    assert [first.remembered, again.remembered] == [False, True]
    require_same(again, first)
    require_same(again, walked())
    assert [question.candidates[0].name for question in again.questions] == ["net.kinds.plain"]
    assert {"net/words.txt", "net/layers.py"} <= {entry.name for entry in again.entries}


def test_the_archive_has_the_same_bytes(net: Path) -> None:
    written = []
    for expected in (False, True):
        buffer = io.BytesIO()
        exporter = PackageExporter(buffer, policy="auto", prove=False)
        exporter.save_module("net")
        exporter.answer("net/__init__.py:16:kind", "none")
        assert exporter.plan().remembered is expected
        exporter.close()
        written.append(buffer.getvalue())
        assert exporter.interned_modules() == ["net", "net.layers"]
    assert written[0] == written[1]


def _rename_distribution(folder: Path, patch: pytest.MonkeyPatch) -> None:
    (folder / "lib/tool-1.0.dist-info").rename(folder / "lib/tool-1.1.dist-info")


def _import_layers(folder: Path, patch: pytest.MonkeyPatch) -> None:
    importlib.import_module("net.layers")


def _add_flag(folder: Path, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(sys, "flags", (*sys.flags, 1))


CHANGES: Mapping[str, Change] = {
    "text, of the same length": lambda at, _: (at / "net/layers.py").write_text("SIZE = 4\n"),
    "an import in a module": lambda at, _: (at / "net/layers.py").write_text("import json\n"),
    "a package that comes before a module": lambda at, _: _write(at / "net/layers/__init__.py", "SIZE = 9\n"),
    "what was absent": lambda at, _: (at / "fancy.py").write_text(""),
    "what was looked for": lambda at, _: (at / "turbo.py").write_text(""),
    "a module less": lambda at, _: (at / "net/layers.py").unlink(),
    "a data file": lambda at, _: (at / "net/words.txt").write_text("one two three"),
    "one more data file": lambda at, _: (at / "net/more.txt").write_text("four"),
    "a data file less": lambda at, _: (at / "net/words.txt").unlink(),
    "a candidate": lambda at, _: (at / "net/kinds/plain.py").write_text("DEPTH = 1 + 1\n"),
    "one more candidate": lambda at, _: (at / "net/kinds/other.py").write_text(""),
    "the version of a distribution": _rename_distribution,
    "metadata": lambda at, _: (at / "lib/tool-1.0.dist-info/METADATA").write_text(
        "Name: tool\nLicense: MIT\n"
    ),
    "what a distribution holds": lambda at, _: (at / "lib/tool-1.0.dist-info/RECORD").write_text(
        "tool.so,,\n"
    ),
    "a variable that the code reads": lambda at, patch: patch.setenv("NET_MODE", "fast"),
    "a folder on the path": lambda at, patch: patch.syspath_prepend(at / "site"),
    "the working directory": lambda at, patch: patch.chdir(at),
    "a module that is imported": _import_layers,
    "flags of Python": _add_flag,
    "its version": lambda at, patch: patch.setattr(sys, "version", sys.version.replace("3.", "3.9", 1)),
}


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)


@pytest.mark.parametrize("is_settled", [False, True], ids=["fresh", "settled"])
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_each_change_is_noticed(
    change: Change, is_settled: bool, net: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if is_settled:  # what was written just now counts as old: its stamp is believed
        monkeypatch.setattr(seen, "_FRESH", -1)
    assert not asked().plan().remembered
    assert asked().plan().remembered
    change(net, monkeypatch)
    plan = asked().plan()
    assert not plan.remembered
    require_same(plan, walked())


def test_a_new_time_alone_is_no_change(net: Path) -> None:
    first = asked().plan()
    for path in net.rglob("*"):
        os.utime(path, ns=(1, 1))
    plan = asked().plan()
    assert plan.remembered
    require_same(plan, first)


def test_a_variable_that_nothing_reads_is_no_change(net: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked().plan()
    monkeypatch.setenv("OTHER_MODE", "fast")
    assert asked().plan().remembered


def test_what_has_its_stamp_is_not_read_again_but_for_what_is_stored(
    net: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(seen, "_FRESH", -1)
    asked().plan()
    read: list[str] = []
    real = seen._file_digest
    monkeypatch.setattr(seen, "_file_digest", lambda path: read.append(path) or real(path))
    assert asked().plan().remembered
    assert [path for path in read if os.path.exists(path)] == []


@pytest.mark.unix  # elsewhere the third time is that of its creation
def test_a_file_that_took_its_old_time_again_is_noticed(net: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seen, "_FRESH", -1)
    asked().plan()
    path = net / "net/layers.py"
    before = path.stat()
    path.write_text("SIZE = 7\n")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    plan = asked().plan()
    assert not plan.remembered
    require_same(plan, walked())


REQUESTS: Mapping[str, Callable[[PackageExporter], object]] = {
    "a rule": lambda exporter: exporter.extern("net.kinds.**"),
    "another rule": lambda exporter: exporter.mock("net.kinds.**"),
    "its exception": lambda exporter: exporter.mock("net.kinds.**", exclude="net.kinds.plain"),
    "one that must match": lambda exporter: exporter.mock("net.kinds.**", allow_empty=False),
    "data left out": lambda exporter: exporter.exclude_data("net/*.txt"),
    "an answer": lambda exporter: exporter.answer("net/__init__.py:16:kind", "all"),
    "a text": lambda exporter: exporter.save_text("net", "more.txt", "one"),
    "another text": lambda exporter: exporter.save_text("net", "more.txt", "two"),
    "a source": lambda exporter: exporter.save_source_string("last", "import json"),
    "another source": lambda exporter: exporter.save_source_string("last", "import math"),
}


def test_each_request_has_a_plan_of_its_own(net: Path) -> None:
    plans = {}
    for name, rules in REQUESTS.items():
        plans[name] = asked(rules).plan()
        assert not plans[name].remembered, name
    for name, options in {"guards": {"guards": "all"}, "parents": {"parents": "lazy"}}.items():
        plans[name] = asked(**options).plan()
        assert not plans[name].remembered, name
        assert asked(**options).plan().remembered, name
    for name, rules in REQUESTS.items():
        again = asked(rules).plan()
        assert again.remembered, name
        require_same(again, plans[name])


def _decide_something(exporter: PackageExporter) -> None:
    exporter.save_source_string("last", "")
    assert exporter.interned_modules() == ["last"]


NOT_REMEMBERED: Mapping[str, Callable[[PackageExporter], object]] = {
    "a hook": lambda exporter: exporter.register_intern_hook(lambda exporter, name: None),
    "a golden call": lambda exporter: exporter.save_check("sizes", {"x": 1}),
    "a pickle": lambda exporter: exporter.save_pickle("net", "sizes.pkl", [1, 2]),
    "what was decided before": _decide_something,
    "much data": lambda exporter: exporter.save_binary("net", "zeros", bytes(2**20 + 1)),
}


@pytest.mark.parametrize("rules", NOT_REMEMBERED.values(), ids=NOT_REMEMBERED)
def test_what_may_come_out_otherwise_is_not_remembered(
    rules: Callable[[PackageExporter], object], net: Path
) -> None:
    for _ in range(2):
        assert not asked(rules).plan().remembered


def test_finders_of_others_are_asked_anew(net: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked().plan()

    class Finder:
        def find_spec(self, name: str, path: object = None, target: object = None) -> None:
            return None

    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, Finder()])
    plans = [asked().plan() for _ in range(2)]
    assert [plan.remembered for plan in plans] == [False, True]
    require_same(*plans)
    monkeypatch.setattr(Finder, "find_spec", lambda self, name, *given: _spec_of(name, "fancy"))
    plan = asked().plan()
    assert not plan.remembered
    require_same(plan, walked())
    assert not asked().plan().remembered  # what it finds, it may find otherwise


def _spec_of(name: str, found: str) -> Any:
    return importlib.machinery.ModuleSpec(name, None, is_package=True) if name == found else None


def test_what_was_changed_in_memory_is_noticed(net: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (net / "net/layers.py").write_text("def size():\n    return 3\nSIZE = size()\n")
    module = importlib.import_module("net.layers")
    assert [asked().plan().remembered for _ in range(2)] == [False, True]
    exec(compile("def size():\n    return 4\n", str(module.__file__), "exec"), space := {})
    monkeypatch.setattr(module, "size", space["size"])
    plan = asked().plan()
    assert (plan.remembered, [problem.subject for problem in plan.problems]) == (False, ["net.layers"])
    require_same(plan, walked())


@pytest.mark.long
def test_runnable_archives_are_planned_anew(net: Path) -> None:
    for _ in range(2):
        assert not asked(runnable=True).plan().remembered


@pytest.mark.parametrize(
    "late",
    [
        lambda exporter: exporter.deny("net.layers"),
        lambda exporter: exporter.register_intern_hook(lambda _, name, one: one.replace(action="deny")),
        lambda exporter: exporter.save_text("net", "late.txt", "text"),
        lambda exporter: exporter.save_source_string("net.layers", "SIZE = 8"),
    ],
    ids=["a rule", "a hook", "a text", "a source"],
)
def test_what_comes_after_a_remembered_plan_finds_all_decided(
    late: Callable[[PackageExporter], object], net: Path
) -> None:
    plans = []
    for expected in (False, True):
        exporter = asked()
        assert exporter.plan().remembered is expected
        late(exporter)
        plans.append(exporter.plan())
        assert not plans[-1].remembered
        assert exporter.interned_modules() == ["net", "net.layers"]
    require_same(*plans)


def _kept(net: Path) -> Path:
    asked().plan()
    [path] = Path(os.environ["XDG_CACHE_HOME"], "kellet", "plans").iterdir()
    return path


def _sealed(body: bytes) -> bytes:
    return hashlib.sha256(body).digest() + body


def _with(change: Callable[[list[Any]], object]) -> Callable[[bytes], bytes]:
    def changed(data: bytes) -> bytes:
        record = msgpack.unpackb(data[32:])
        change(record)
        return _sealed(msgpack.packb(record))

    return changed


def _in_plan(name: str, value: Any) -> Callable[[bytes], bytes]:
    return _with(lambda record: record[3].update({name: value}))


DAMAGE: Mapping[str, Callable[[bytes], bytes]] = {
    "nothing": lambda data: b"",
    "half of it": lambda data: data[: len(data) // 2],
    "one bit": lambda data: data[:100] + bytes([data[100] ^ 1]) + data[101:],
    "no msgpack": lambda data: _sealed(b"\xc1"),
    "deep lists": lambda data: _sealed(b"\x91" * 100_000),
    "another version": _with(lambda record: record.__setitem__(0, 0)),
    "another key": _with(lambda record: record.__setitem__(1, "0" * 64)),
    "no answers": _with(lambda record: record.__setitem__(2, {})),
    "answers of another type": _with(lambda record: record[2].update(files={"a": 1})),
    "stamps of another type": _with(lambda record: record[2]["stamps"].update(a=["x"])),
    "states of no kind": _with(lambda record: record[2]["states"].update(other="")),
    "no plan": _with(lambda record: record.__setitem__(3, None)),
    "modules of another type": _in_plan("modules", ["net"]),
    "a module too short": _in_plan("modules", [["net"]]),
    "texts of another type": _in_plan("warnings", [1]),
    "entries of another type": _in_plan("entries", [1]),
    "a file that was not asked for": _in_plan(
        "entries", [["net/a", "resource", 1, "x", "", ["file", "/etc/passwd"]]]
    ),
    "a source that was not read": _in_plan(
        "entries", [["net/a", "source", 1, "", "", ["source", "/etc/passwd", ""]]]
    ),
    "an environment that is none": _in_plan("environment", [False]),
    "an action that there is none of": _with(lambda record: record[3]["modules"][0].__setitem__(1, "run")),
    "an origin that there is none of": _with(
        lambda record: record[3]["modules"][0][4].__setitem__(0, "moon")
    ),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_what_is_no_kept_plan_is_not_used_and_is_replaced(
    damage: Callable[[bytes], bytes], net: Path
) -> None:
    path = _kept(net)
    path.write_bytes(damage(path.read_bytes()))
    plan = asked().plan()
    assert not plan.remembered
    require_same(plan, walked())
    assert asked().plan().remembered


def test_where_nothing_can_be_kept_plans_are_made_anew(net: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = net.parent / "file"
    file.write_text("")
    monkeypatch.setenv("KELLET_CACHE", str(file))
    for _ in range(2):
        assert not asked().plan().remembered


def test_the_oldest_go_where_there_are_many(net: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remembered, "_MOST_PLANS", 2)
    asked().plan()
    for name in ("a text", "another text"):
        asked(REQUESTS[name]).plan()
    assert asked(REQUESTS["a text"]).plan().remembered
    assert asked(REQUESTS["another text"]).plan().remembered
    assert not asked().plan().remembered


def test_a_plan_that_is_too_large_is_not_kept(net: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remembered, "_MOST_BYTES", 1000)
    for _ in range(2):
        assert not asked().plan().remembered


def test_what_changes_while_it_is_read_is_not_kept(net: Path) -> None:
    path = str(net / "net/layers.py")
    with seen.noting() as noted:
        seen.read_file(path)
        assert noted.unfit == ""
        Path(path).write_text("SIZE = 5\n")
        seen.read_file(path)
    assert noted.unfit == f"{path} was changed meanwhile"


def test_a_project_that_is_gone_is_an_error_as_ever(net: Path) -> None:
    asked().plan()
    shutil.rmtree(net / "net")
    with pytest.raises(ModuleNotFoundError, match="No module named 'net'"):
        asked()
