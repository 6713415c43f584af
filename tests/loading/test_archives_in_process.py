"""What an open archive leaves in a process, and takes out again; what is asked of it before its code runs."""

from __future__ import annotations

import hashlib
import io
import linecache
import mmap
import os
import subprocess
import sys
import types
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from packager import _kept_file as kept_file
from packager._archive import CheckRecord, ExternRecord, ModuleRecord
from packager._calls import running
from packager._loading import deep_checks, open_archives, opening, verifying
from packager._loading.bytecode import BytecodeCache
from packager._loading.module_loaders import MockedObject, PackageFolderFinder, fill_mock
from packager._loading.open_archives import (
    ENVIRONMENT_VARIABLE,
    NameTakenError,
    loaded_archive_of,
    register,
    require_free,
    unregister,
)
from packager._loading.packaged_code import DisallowedModuleError
from packager.errors import ArchiveError, NotStoredError, PackageError
from packager.package_exporter import PackageExporter

TREE = {"procpkg/__init__.py": "", "procpkg/part.py": "def f():\n    return 1\n"}


# --- what is left in the process ---


def test_an_archive_takes_its_own_out_of_the_process_and_nothing_else(pack: Callable[..., Any]) -> None:
    first, second = pack(TREE), pack(TREE)
    kept = second.module("procpkg.part")
    module = first.module("procpkg.part")
    folder, other = (str(one.archive.unpacker.root) for one in (first, second))
    assert linecache.getline(module.__file__, 1) == "def f():\n"
    assert linecache.getline(kept.__file__, 1) == "def f():\n"
    near = f"{folder}-near"  # a name that begins alike
    linecache.cache[near] = (0, None, [], near)
    sys.path_importer_cache[near] = None
    try:
        first.close()
        assert [name for name in sys.modules if name.endswith(first.archive.rules.suffix)] == []
        for cache in (linecache.cache, sys.path_importer_cache):
            assert [path for path in cache if path.startswith(folder)] == [near]
            assert any(path.startswith(other) for path in cache)
    finally:
        del linecache.cache[near], sys.path_importer_cache[near]
    assert second.archive.modules()[kept.__name__] is kept


def test_forgetting_one_archive_leaves_another_of_that_name(pack: Callable[..., Any]) -> None:
    one = pack(TREE, installed=True)
    two = SimpleNamespace(top_level_names=["procpkg"])
    register(two)  # type: ignore[arg-type]  # names are all that is asked
    try:
        unregister(one.archive)
        assert loaded_archive_of("procpkg") is two
    finally:
        unregister(two)  # type: ignore[arg-type]  # the same
    assert loaded_archive_of("procpkg") is None
    unregister(two)  # type: ignore[arg-type]  # the same


def test_archives_come_first_and_once(pack: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    finder = open_archives._finder
    monkeypatch.setattr(sys, "meta_path", [one for one in sys.meta_path if one is not finder])
    before = [*sys.meta_path]
    pack(TREE), pack(TREE)
    assert sys.meta_path == [finder, *before]


@pytest.mark.parametrize("announced", [True, False])
def test_a_process_that_was_told_of_archives_looks_for_them_first(announced: bool) -> None:
    program = (
        "import sys\nbefore = [*sys.meta_path]\nfrom packager._loading.open_archives import _finder\n"
        f"assert sys.meta_path == {'[_finder, *before]' if announced else 'before'}, sys.meta_path\n"
    )
    told = {name: value for name, value in os.environ.items() if name != ENVIRONMENT_VARIABLE}
    told |= {ENVIRONMENT_VARIABLE: "{}"} if announced else {}
    subprocess.run([sys.executable, "-c", program], env=told, check=True)


def test_all_names_that_are_taken_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "kellet_taken", sys)
    require_free(frozenset({"kellet_free", "kellet_free_too"}), "net.kellet")
    with pytest.raises(NameTakenError, match=r"^net\.kellet cannot be installed: json, kellet_taken can be "):
        require_free(frozenset({"kellet_taken", "kellet_free", "json"}), "net.kellet")


def test_an_archive_is_announced_when_all_its_names_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_archives, "_policies", {"a__w0_0": {"path": "a.kellet"}})
    for names, found in ((["a__w0_0"], True), (["a__w0_0", "b__w0_0"], False), (["b__w0_0"], False)):
        assert open_archives.is_announced(SimpleNamespace(top_level_names=names)) is found  # type: ignore[arg-type]  # the same


# --- what is asked before code runs ---


def _manifest(externs: list[str], modules: list[tuple[str, str]]) -> Any:
    return SimpleNamespace(
        externs=tuple(ExternRecord(name, "installed") for name in externs),
        modules=tuple(ModuleRecord(name, action, "r", "b") for name, action in modules),
    )


@pytest.mark.parametrize(
    ("externs", "modules", "allowed", "refused"),
    [
        (["numpy"], [], "numpy", None),
        (["numpy", "torch"], [], "numpy", " 'torch'"),
        (["torch", "numpy"], [], "", "s 'torch', 'numpy'"),
        ([], [("jax.numpy", "extern"), ("net", "intern")], "", " 'jax'"),
        ([], [("z.a", "extern"), ("b.a", "extern")], "", "s 'b', 'z'"),
        (["jax.numpy"], [("jax.lax", "extern")], "", " 'jax.numpy'"),
        (["jax.numpy"], [("jax.lax", "extern")], "jax.numpy", None),
        ([], [("net", "intern"), ("gone", "mock"), ("never", "deny")], "", None),
    ],
)
def test_externs_are_admitted_one_by_one_and_refused_together(
    externs: list[str], modules: list[tuple[str, str]], allowed: str, refused: str | None
) -> None:
    def check() -> None:
        opening.check_externs_allowed(_manifest(externs, modules), lambda name: name == allowed, "net.kellet")

    if refused is None:
        check()
        return
    with pytest.raises(DisallowedModuleError) as error:
        check()
    begins = f"package 'net.kellet' needs the external module{refused}, but module_allowed refuses that"
    assert str(error.value).startswith(begins)


@pytest.mark.parametrize(
    ("choice", "missing", "asked", "outcome"),
    [
        ("ignore", True, False, None),
        ("warn", False, True, "warned"),
        ("warn", True, True, "refused"),
        ("error", False, True, "refused"),
    ],
)
def test_a_difference_is_told_as_the_caller_chose(
    choice: str, missing: bool, asked: bool, outcome: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Report:
        differences = ("numpy",)

        def __init__(self) -> None:
            self.missing = missing

        def __str__(self) -> str:
            return "it differs"

    compared: list[Any] = []
    monkeypatch.setattr(opening, "environment_report", lambda given, **_: compared.append(given) or Report())
    manifest: Any = object()
    if outcome == "refused":
        with pytest.raises(opening.EnvironmentMismatchError, match=r"^net\.kellet: it differs"):
            opening.check_environment(manifest, choice, "net.kellet")
    elif outcome == "warned":
        with pytest.warns(opening.EnvironmentWarning, match=r"^net\.kellet: it differs$"):
            opening.check_environment(manifest, choice, "net.kellet")
    else:
        opening.check_environment(manifest, choice, "net.kellet")
    assert compared == ([manifest] if asked else [])


# --- mocks, folders and code that is kept ---


def test_a_mock_is_looked_into_and_not_used() -> None:
    module: Any = type(sys)("mocked_pkg")
    fill_mock(module, "pkg.sub")
    assert repr(module.thing) == "<mocked pkg.sub.thing>"
    assert repr(module.thing.deep.er) == "<mocked pkg.sub.thing.deep.er>"
    for name in ("__path__", "__all__", "__wrapped__", "__file__"):
        assert not hasattr(module, name)
    assert not hasattr(module.thing, "__wrapped__")
    assert repr(module.thing.__half) == "<mocked pkg.sub.thing.__half>"
    thing: Any = MockedObject("pkg.thing")
    uses: list[Callable[[], Any]] = [
        thing,
        lambda: thing + 1,
        lambda: [*thing],
        lambda: bool(thing),
        lambda: setattr(thing, "a", 1),
        lambda: types.new_class("Below", (thing,)),
    ]
    for use in uses:
        with pytest.raises(NotImplementedError, match=r"^'pkg\.thing' was mocked when the archive was"):
            use()


def test_a_mock_stands_in_annotations_that_are_run() -> None:
    thing, other = MockedObject("pkg.thing"), MockedObject("pkg.other")
    assert repr(thing | None) == "<mocked pkg.thing | NoneType>"
    assert repr(int | thing) == "<mocked int | pkg.thing>"  # type: ignore[operator]  # as code has it
    assert repr(None | thing | other) == "<mocked NoneType | pkg.thing | pkg.other>"  # type: ignore[operator]  # the same
    with pytest.raises(NotImplementedError, match=r"^'pkg\.thing \| pkg\.other' was mocked when"):
        (thing | other)()


def test_a_folder_of_an_archive_lists_what_may_be_imported() -> None:
    records = [
        ModuleRecord("pkg.a", "intern", "r", "b", "pkg/a.py"),
        ModuleRecord("pkg.b", "deny", "r", "b"),
        ModuleRecord("pkg.c", "mock", "r", "b", None, True),
        ModuleRecord("pkg.d", "intern", "namespace package", "b", None, True),  # as Python lists no folder
    ]
    code: Any = SimpleNamespace(
        children=lambda package: records if package == "pkg" else [],
        has_module=lambda name: name in {one.name for one in records},
        ask_for_file=lambda path, lists: None,
    )
    finder = PackageFolderFinder(code, "pkg", {"a": "spec of a"}.get)  # type: ignore[arg-type]  # enough to see it
    assert list(finder.iter_modules()) == [("a", False), ("c", True)]
    assert list(finder.iter_modules("pkg.")) == [("pkg.a", False), ("pkg.c", True)]
    found = [finder.find_spec(name) for name in ("pkg.a", "a", "pkg.b", "c", "d", "gone")]
    assert found == ["spec of a", "spec of a", None, None, None, None]
    assert finder.invalidate_caches() is None  # type: ignore[func-returns-value]  # an archive does not change


SOURCE = b"x = 1\n"
DIGEST = hashlib.sha256(SOURCE).hexdigest()


def test_code_is_kept_where_its_digest_is_known(tmp_path: Path) -> None:
    cache = BytecodeCache(tmp_path)
    cache.compiled(None, "net.py", SOURCE)
    assert os.listdir(tmp_path) == []
    first = cache.compiled(DIGEST, "net.py", SOURCE)
    assert len(os.listdir(tmp_path)) == 1
    assert cache.kept(DIGEST, "net.py") == first
    assert cache.kept(None, "net.py") is None


@pytest.mark.parametrize("size", [0, 3, 4])
def test_a_file_that_is_cut_short_is_compiled_anew(tmp_path: Path, size: int) -> None:
    cache = BytecodeCache(tmp_path)
    cache.compiled(DIGEST, "net.py", SOURCE)
    (path,) = tmp_path.iterdir()
    path.write_bytes(bytes(size))  # of four zeros and nothing more the checksum is right
    assert cache.kept(DIGEST, "net.py") is None
    assert cache.compiled(DIGEST, "net.py", SOURCE).code.co_consts[0] == 1


def test_a_folder_that_takes_no_file_is_not_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[str] = []

    def keep(path: str, data: bytes) -> None:
        tried.append(path)
        raise OSError("full")

    monkeypatch.setattr(kept_file, "append_own", keep)
    cache = BytecodeCache(tmp_path)
    for name in ("a.py", "b.py"):
        assert cache.compiled(DIGEST, name, SOURCE).code.co_filename == name
    assert len(tried) == 1


def test_files_of_an_archive_are_found_by_their_paths(pack: Callable[..., Any]) -> None:
    loaded = pack({**TREE, "procpkg/data.txt": "d"})
    loader = loaded.module("procpkg.part").__spec__.loader
    root = str(loaded.archive.unpacker.root)
    assert loader.get_data(os.path.join(root, "procpkg", "data.txt")) == b"d"
    assert (loader.get_filename("any"), loader.is_package("any")) == (loader.path, False)
    assert loader.get_code("any").co_filename == loader.path
    assert loader.get_resource_reader("any") is None
    for path in ("procpkg/data.txt", os.path.join(root, "procpkg", "none"), os.path.join(root, "procpkg")):
        with pytest.raises(FileNotFoundError, match=r"^no file '.*' in the archive$"):
            loader.get_data(path)
    package = loaded.module("procpkg").__spec__
    assert (package.has_location, package.loader.is_package("any")) == (True, True)
    assert (package.loader.get_resource_reader("any").files() / "data.txt").read_text() == "d"


# --- golden calls ---


def _opened(checks: list[CheckRecord]) -> Any:
    return SimpleNamespace(reader=SimpleNamespace(manifest=SimpleNamespace(checks=checks, traces=())))


CHECKS = [CheckRecord("one", "model", "a.in", "a.out"), CheckRecord("two", "model", "b.in", "b.out")]


def test_golden_calls_are_run_all_or_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "_run_check", lambda callee, record, limit: record.name)
    assert running.run_checks(_opened(CHECKS)) == ("one", "two")
    assert running.run_checks(_opened(CHECKS), "two") == ("two",)
    assert running.run_checks(_opened([])) == ()
    for checks, there in ((CHECKS, "one, two"), ([], "none; store one with .*")):
        with pytest.raises(NotStoredError, match=f"^no example 'three'; the archive has {there}$"):
            running.run_checks(_opened(checks), "three")
    twice = [CHECKS[0], CheckRecord("two", "model", "b.in", "a.in")]
    with pytest.raises(ArchiveError, match=r"^manifest, checks: 'one' and 'two' both name 'a\.in'; "):
        running.run_checks(_opened(twice), "one")
    with pytest.raises(ArchiveError, match=r"'one' and 'one' both name 'a\.in'"):
        running.run_checks(_opened([CheckRecord("one", "model", "a.in", "a.in")]))


# --- verifying ---


@pytest.fixture(scope="module")
def small() -> bytes:
    file = io.BytesIO()
    with PackageExporter(file, policy="auto", prove=False) as exporter:
        exporter.save_source_string("procpkg", "x = 1\n")
    return file.getvalue()


def test_a_file_that_is_verified_is_read_and_not_mapped(
    small: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "net.kellet").write_bytes(small)

    def mapped(*args: Any, **options: Any) -> None:
        raise AssertionError("mapped")

    monkeypatch.setattr(mmap, "mmap", mapped)
    assert verifying.verify(tmp_path / "net.kellet").ok


def test_what_is_wrong_with_trust_is_said_before_a_process_is_started(
    small: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deep_checks, "_started", lambda: pytest.fail("a process was started"))
    with pytest.raises(ValueError, match=r"^trust='\*': expected 'package\.module:Qualified\.Name'"):
        verifying.verify(small, deep=True, trust=["*"])
    with pytest.raises(PackageError, match="file"):
        verifying.verify(3)  # type: ignore[arg-type]  # what is refused
