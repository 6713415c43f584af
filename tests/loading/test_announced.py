"""What a process says to those that it starts of the archives that it has open."""

from __future__ import annotations

import importlib
import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import pytest

from packager._archive import MIGRATIONS, ArchiveClosedError, ArchiveWriter, Manifest, ModuleRecord
from packager._loading import open_archives
from packager._loading.archive_migrations import ArchiveMigrations
from packager._loading.open_archives import (
    ENVIRONMENT_VARIABLE,
    ArchiveMovedError,
    _adopt,
    _announced,
    _put_into_environment,
    adopt_module,
)
from packager._migrations.archiving import pack_migrations
from tests import processes


@pytest.fixture(autouse=True)
def _own_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ENVIRONMENT_VARIABLE, "{}")


def test_what_is_announced_is_read_again() -> None:
    policies: dict[str, dict[str, Any]] = {"a": {"path": "ü"}, "b": {"path": "x"}}
    _put_into_environment(policies)
    assert json.loads(os.environ[ENVIRONMENT_VARIABLE]) == policies
    assert list(_announced()) == ["a", "b"]


@pytest.mark.parametrize("written", ["", "[]", "7", "{", '{"a": 1}', '{"a": {}, "b": []}', "[" * 100_000])
def test_what_another_program_wrote_announces_nothing(written: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ENVIRONMENT_VARIABLE, written)
    assert _announced() == {}


def test_the_latest_are_announced_that_a_variable_can_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    policies: dict[str, dict[str, Any]] = {name: {"path": name} for name in ("a", "b", "c")}
    one = len('"a": {"path": "a"}, ')
    for most, kept in (
        (3 * one, "abc"),
        (3 * one - 1, "bc"),
        (2 * one, "bc"),
        (2 * one - 1, "c"),
        (one - 1, ""),
    ):
        monkeypatch.setattr(open_archives, "_MOST_IN_ENVIRONMENT", most)
        _put_into_environment(policies)
        assert "".join(_announced()) == kept
        assert len(os.environ[ENVIRONMENT_VARIABLE]) <= max(most, 2)


def test_a_class_is_of_the_archive_that_its_module_and_its_functions_are_of(
    pack: Callable[..., Any],
) -> None:
    loaded = pack({"shop/__init__.py": "class Thing:\n    @staticmethod\n    def f(): pass\n"})
    archive, thing = loaded.archive, loaded.module("shop").Thing
    assert archive.defines(thing, None)
    assert not archive.defines(int, None)
    # A class of a module of the target that has the same name, and one that code gave that name.
    other = type("Other", (), {"__module__": "shop"})
    function: FunctionType = thing.f
    assert archive.defines(other, function)
    assert archive.defines(other, vars(thing)["f"].__get__(None, thing))
    for value in (None, len, _announced, classmethod(_announced)):
        assert not archive.defines(other, value)
    assert not archive.defines(type("Far", (), {"__module__": "elsewhere"}), function)


@pytest.mark.parametrize("policy", [None, {"path": "p"}])
def test_a_module_is_adopted_by_the_policy_that_its_line_was_written_with(
    policy: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []

    def adopt(top: str, known: Any) -> None:
        asked.append((top, known))

    monkeypatch.setattr(open_archives, "_adopt", adopt)
    with pytest.raises(ModuleNotFoundError, match=r"^no open archive has 'gone__w0_0\.part'$"):
        adopt_module("gone__w0_0.part", None if policy is None else json.dumps(policy))
    assert asked == [("gone__w0_0", policy)]


def test_stubs_are_written_anew_where_their_folder_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_archives, "_stub_folder", None)
    monkeypatch.setattr(open_archives, "_policies", {"a": {"path": "1"}, "b": {"path": "2"}})
    monkeypatch.setattr(sys, "path", [*sys.path])
    open_archives._write_stubs(["a"])  # the folder is new: all are written
    first = sys.path[-1]
    assert sorted(os.listdir(first)) == ["a.py", "b.py"]
    os.unlink(os.path.join(first, "b.py"))
    sys.path.remove(first)
    open_archives._write_stubs(["a"])
    assert sys.path[-1] == first
    assert os.listdir(first) == ["a.py"]
    shutil.rmtree(first)
    open_archives._write_stubs(["a"])
    second = sys.path[-1]
    assert second != first
    assert first not in sys.path
    assert sorted(os.listdir(second)) == ["a.py", "b.py"]
    with open(os.path.join(second, "b.py"), encoding="utf-8") as stub:
        assert stub.read() == open_archives._STUB.format(policy='{"path": "2"}')


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> Any:
    """What this process has said of archives: nothing yet."""
    monkeypatch.setattr(open_archives, "_stub_folder", None)
    monkeypatch.setattr(open_archives, "_policies", {})
    monkeypatch.setattr(open_archives, "_closed", {})
    monkeypatch.setattr(open_archives, "_loaded", {})
    monkeypatch.setattr(sys, "path", [*sys.path])
    return open_archives


def _announce(archive: Any, path: str = "p.kellet") -> None:
    open_archives.announce(archive, path, "crc", False, ("a:B",), ("shop.net",))


def test_what_is_announced_stands_in_the_environment_and_in_stubs_until_it_is_taken_back(
    pack: Callable[..., Any], said: Any
) -> None:
    archive = pack({"shop.py": "", "more/__init__.py": ""}).archive
    tops = archive.top_level_names
    said._closed.update(dict.fromkeys(tops, ""))
    assert not open_archives.is_announced(archive)
    _announce(archive)
    assert open_archives.is_announced(archive)
    policy = {
        "path": "p.kellet",
        "identity": archive.identity,
        "suffix": archive.rules.suffix,
        "digests": "crc",
        "mmap": False,
        "trust": ["a:B"],
        "admitted": ["shop.net"],
        "undeclared": "error",
        "bytecode": None,
        "process": os.getpid(),
    }
    assert _announced() == dict.fromkeys(tops, policy)
    assert said._closed == {}  # it was closed before, and is open again
    folder = sys.path[-1]
    assert sorted(os.listdir(folder)) == [f"{top}.py" for top in tops]
    with open(os.path.join(folder, f"{tops[0]}.py"), encoding="utf-8") as stub:
        assert stub.read() == (
            "from packager._loading.open_archives import adopt_module; "
            f"adopt_module(__name__, {json.dumps(policy)!r})\n"
        )
    del said._policies[tops[0]]
    assert not open_archives.is_announced(archive)
    said._policies[tops[0]] = policy
    open_archives.withdraw(archive)
    assert (said._policies, _announced(), os.listdir(folder)) == ({}, {}, [])
    assert said._closed == dict.fromkeys(tops, "p.kellet")


def test_what_was_not_announced_is_taken_back_without_a_word(pack: Callable[..., Any], said: Any) -> None:
    archive = pack({"shop.py": ""}).archive
    open_archives.withdraw(archive)
    assert (said._closed, _announced()) == (dict.fromkeys(archive.top_level_names, ""), {})
    _announce(archive)
    said._stub_folder = None  # it could not be made
    open_archives.withdraw(archive)
    assert said._policies == {}


def _written(path: Path, name: str = "shop", migrations: bytes | None = None) -> str:
    """Write an archive of one module, and return its identity."""
    with ArchiveWriter(path) as writer:
        writer.add(f"{name}.py", b"x = 1\n", kind="source")
        if migrations is not None:
            writer.add(MIGRATIONS, migrations, kind="migration")
        return writer.seal(Manifest(modules=(ModuleRecord(name, "intern", "r", "b", f"{name}.py"),)))


def _policy(path: Path, identity: str, suffix: str) -> dict[str, Any]:
    facts = {"path": str(path), "identity": identity, "suffix": suffix, "digests": "crc", "mmap": False}
    return {**facts, "trust": [], "admitted": [], "undeclared": "error", "bytecode": None}


def test_an_announced_archive_is_opened_again_by_the_policy_that_this_process_knows_best(
    tmp_path: Path, said: Any
) -> None:
    identity = _written(tmp_path / "net.kellet")
    policy = _policy(tmp_path / "net.kellet", identity, "__w1_0")
    gone = {**policy, "path": str(tmp_path / "gone")}
    assert _adopt("shop__w1_0") is None
    for known, told, announced in (
        ({}, policy, gone),
        ({}, None, policy),
        ({"shop__w1_0": policy}, gone, gone),
    ):
        said._policies.update(known)
        _put_into_environment({"shop__w1_0": announced})
        found = _adopt("shop__w1_0", told)
        assert found is not None
        assert (found.identity, found.top_level_names) == (identity, ["shop__w1_0"])
        assert open_archives.loaded_archive_of("shop__w1_0") is found
        assert _adopt("shop__w1_0", gone) is found  # it is open now
        open_archives.unregister(found)
        found.close()
    said._policies.clear()
    assert _adopt("other__w1_0", policy) is None  # the archive has nothing of this name
    open_archives.unregister(open_archives._loaded["shop__w1_0"])


@pytest.mark.parametrize("migrations", [True, False])
def test_classes_get_their_migrations_from_an_archive_that_is_opened_again(
    tmp_path: Path, said: Any, monkeypatch: pytest.MonkeyPatch, migrations: bool
) -> None:
    attached: list[str] = []
    monkeypatch.setattr(ArchiveMigrations, "attach", lambda self, name, module: attached.append(name))
    stored = pack_migrations({}) if migrations else None
    identity = _written(tmp_path / "net.kellet", migrations=stored)
    found = _adopt("shop__w1_0", _policy(tmp_path / "net.kellet", identity, "__w1_0"))
    assert found is not None
    try:
        assert importlib.import_module("shop__w1_0").x == 1
        assert attached == ["shop"] * migrations
    finally:
        sys.modules.pop("shop__w1_0", None)
        open_archives.unregister(found)
        found.close()


def test_a_module_takes_the_place_of_its_stub(tmp_path: Path, said: Any) -> None:
    policy = _policy(tmp_path / "net.kellet", _written(tmp_path / "net.kellet"), "__w1_0")
    sys.modules["shop__w1_0"] = stub = ModuleType("shop__w1_0")
    try:
        adopt_module("shop__w1_0", json.dumps(policy))
        assert sys.modules["shop__w1_0"] is not stub
        assert sys.modules["shop__w1_0"].x == 1
    finally:
        sys.modules.pop("shop__w1_0", None)
        open_archives.unregister(open_archives._loaded["shop__w1_0"])


def test_what_was_closed_here_is_not_opened_again(tmp_path: Path, said: Any) -> None:
    identity = _written(tmp_path / "net.kellet")
    policy = _policy(tmp_path / "net.kellet", identity, "__w1_0")
    found = _adopt("shop__w1_0", policy)
    said._closed["shop__w1_0"] = "net.kellet"
    assert _adopt("shop__w1_0", policy) is found
    assert found is not None
    open_archives.unregister(found)
    with pytest.raises(
        ArchiveClosedError, match=r"^the archive of 'shop__w1_0' \(net\.kellet\) is closed, and co"
    ):
        _adopt("shop__w1_0", policy)


def test_an_archive_that_is_another_one_now_or_gone_is_told(tmp_path: Path, said: Any) -> None:
    path = tmp_path / "net.kellet"
    policy = _policy(path, _written(path), "__w1_0")
    other = _written(path, "other")
    with pytest.raises(
        ArchiveMovedError, match=f"replaced since it was opened: its identity is {other}, exp"
    ):
        _adopt("shop__w1_0", policy)
    path.unlink()
    with pytest.raises(ArchiveMovedError, match=r"net\.kellet: the archive cannot be opened again in this"):
        _adopt("shop__w1_0", policy)
    os.mkfifo(path)
    with pytest.raises(ArchiveMovedError, match=r"this process: found a pipe or device in its place\. Keep"):
        _adopt("shop__w1_0", policy)


def test_the_finder_is_put_first_and_once(pack: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    finder = open_archives._finder
    monkeypatch.setattr(sys, "meta_path", [one for one in sys.meta_path if one is not finder])
    before = [*sys.meta_path]
    for name in ("shop.py", "more.py"):
        pack({name: ""})
        assert sys.meta_path == [finder, *before]


def test_an_archive_that_is_forgotten_leaves_the_names_of_others(pack: Callable[..., Any]) -> None:
    one, other = pack({"shop.py": ""}).archive, pack({"shop.py": ""}).archive
    open_archives.unregister(one)
    tops = one.top_level_names + other.top_level_names
    assert [open_archives.loaded_archive_of(top) for top in tops] == [None, other]
    other.rules.suffix = one.rules.suffix
    open_archives.register(one)
    open_archives.unregister(other)
    assert open_archives.loaded_archive_of(tops[0]) is one
    other.rules.suffix = tops[1].removeprefix("shop")


def test_what_is_announced_leaves_room_in_the_smallest_environment() -> None:
    """Windows takes 32,767 characters for all variables."""
    assert open_archives._MOST_IN_ENVIRONMENT == 1 << 14


@pytest.mark.parametrize("name", ["json", "colorsys"])
def test_names_that_can_be_imported_are_taken(name: str) -> None:
    """Whether the module is loaded or not."""
    sys.modules.pop("colorsys", None)
    open_archives.require_free(frozenset({"nowhere_at_all"}), "net.kellet")
    with pytest.raises(
        open_archives.NameTakenError, match=rf"^net\.kellet cannot be installed: {name} can be"
    ):
        open_archives.require_free(frozenset({name, "nowhere_at_all"}), "net.kellet")


@pytest.mark.parametrize("announced", [True, False])
def test_a_program_that_imports_the_importer_finds_what_its_parent_has_open(announced: bool) -> None:
    program = "import sys, packager.package_importer\n"
    program += "print([type(one).__name__ for one in sys.meta_path].count('_ArchiveFinder'))"
    environment = {name: value for name, value in os.environ.items() if name != ENVIRONMENT_VARIABLE}
    environment |= {ENVIRONMENT_VARIABLE: '{"a": {}}'} if announced else {}
    done = processes.run(
        [sys.executable, "-c", program],
        cold=True,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(done.stdout) == announced
