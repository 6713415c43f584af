"""Compiled code is kept on the loading side, by the digest of what it was compiled from."""

import stat
import sys
import zipfile
from pathlib import Path

import pytest

from packager import IntegrityError, PackageExporter, PackageImporter
from packager._loading.bytecode import BytecodeCache, Compiled

SOURCE = b"value = 5\n"


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KELLET_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    with PackageExporter(tmp_path / "net.kellet", policy="auto", prove=False) as exporter:
        exporter.save_source_string("bytepkg", "from .a import value\n", is_package=True)
        exporter.save_source_string("bytepkg.a", "value = 5\n")
    return tmp_path / "net.kellet"


def load(archive: Path, **options: object) -> int:
    with PackageImporter(archive, **options) as importer:  # type: ignore[arg-type]  # whichever is tried
        value: int = importer.import_module("bytepkg").value
        return value


def code_of(cache: BytecodeCache, digest: str, name: str, source: bytes) -> Compiled:
    return cache.kept(digest, name) or cache.compiled(digest, name, source)


def files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def test_code_is_kept_in_the_cache_and_used_again(archive: Path, tmp_path: Path) -> None:
    assert load(archive) == 5
    (kept,) = files(tmp_path / "cache" / "bytecode")
    before = kept.read_bytes()
    assert load(archive) == 5
    assert {path: path.read_bytes() for path in files(tmp_path / "cache" / "bytecode")} == {kept: before}
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600


def test_a_source_that_was_changed_is_refused_though_its_code_is_kept(archive: Path) -> None:
    load(archive)
    data = bytearray(archive.read_bytes())
    data[data.index(b"value = 5")] ^= 1
    archive.write_bytes(data)
    for options in ({}, {"bytecode": None}, {"digests": "none"}):
        with pytest.raises(IntegrityError, match=r"bytepkg/a\.py.* do not have the sha256"):
            load(archive, **options)


@pytest.mark.parametrize("is_folder", [False, True])
@pytest.mark.parametrize("mmap", [False, True])
def test_a_damaged_source_is_refused_whatever_the_archive_is_and_however_it_is_read(
    archive: Path, mmap: bool, is_folder: bool
) -> None:
    place = file = archive
    if is_folder:
        place = archive.with_suffix("")
        with zipfile.ZipFile(archive) as packed:
            packed.extractall(place)
        file = place / "bytepkg" / "a.py"
    assert load(place, mmap=mmap) == load(place, mmap=mmap) == 5
    file.write_bytes(file.read_bytes().replace(b"value = 5", b"value = 6"))
    with pytest.raises(IntegrityError, match=r"bytepkg/a\.py.* do not have the sha256"):
        load(place, mmap=mmap)


@pytest.mark.parametrize("folder", [None, "other"])
def test_the_folder_can_be_chosen_or_left_out(archive: Path, tmp_path: Path, folder: str | None) -> None:
    assert load(archive, bytecode=folder and tmp_path / folder) == 5
    assert not (tmp_path / "cache" / "bytecode").exists()
    assert len(files(tmp_path / "other")) == (1 if folder else 0)


def test_a_python_that_writes_no_bytecode_keeps_none_unless_told(
    archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    assert load(archive) == 5
    assert not (tmp_path / "cache" / "bytecode").exists()
    assert load(archive, bytecode=tmp_path / "other") == 5
    assert len(files(tmp_path / "other")) == 1


def test_a_python_that_writes_no_bytecode_uses_what_is_kept_and_compiles_all_when_asked(
    archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    with PackageImporter(archive) as importer:
        assert importer.compile_all() == 2
    assert len(files(tmp_path / "cache" / "bytecode")) == 1
    compiled: list[str] = []
    monkeypatch.setattr("packager._loading.bytecode._compiled", lambda source, name: compiled.append(name))
    assert load(archive) == 5
    assert compiled == []


def test_a_home_that_cannot_be_written_or_is_not_known_costs_the_compile(
    archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KELLET_CACHE", "/proc/nowhere")
    assert load(archive) == 5
    monkeypatch.delenv("KELLET_CACHE")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr("os.path.expanduser", lambda path: path)  # as where no home is known
    assert load(archive) == 5


@pytest.mark.parametrize("damage", [b"", b"abc", b"\x00" * 100])
def test_a_damaged_file_costs_the_compile_and_is_replaced(
    archive: Path, tmp_path: Path, damage: bytes
) -> None:
    load(archive)
    kept = {path: path.read_bytes() for path in files(tmp_path / "cache" / "bytecode")}
    for path in kept:
        path.write_bytes(damage)
    assert load(archive) == 5
    assert {path: path.read_bytes() for path in files(tmp_path / "cache" / "bytecode")} == kept


@pytest.mark.parametrize(
    ("source", "asks"),
    [
        ("import os\nhere = os.path.dirname(__file__)", True),
        ("def f():\n    class C:\n        def g(self): return lambda: __path__", True),
        ("import net\nhere = net.__file__", True),
        ("here = globals()['__file__']", True),
        ("# beside __file__", False),
        ("known = name in ('__file__', '__name__')", False),
        ("value = 5", False),
        ("value = 'text'", False),
        ("here = globals()['__fi' 'le__']", True),
    ],
)
def test_code_that_asks_where_it_lies_is_told_from_code_that_does_not(
    tmp_path: Path, source: str, asks: bool
) -> None:
    import hashlib

    data = source.encode()
    digest = hashlib.sha256(data).hexdigest()
    for folder in (None, tmp_path, tmp_path):  # compiled, compiled and kept, read again
        assert code_of(BytecodeCache(folder), digest, "net.py", data).names_its_file is asks


def test_one_source_is_kept_once_and_shows_the_file_it_is_loaded_as(tmp_path: Path) -> None:
    import hashlib

    source = b"class C:\n    def f(self): return lambda: 1\n"
    digest = hashlib.sha256(source).hexdigest()
    for name in ("a.py", "b.py", "a.py"):
        space: dict[str, object] = {}
        compiled = code_of(BytecodeCache(tmp_path), digest, name, source)
        exec(compiled.code, space)
        function = space["C"]().f()  # type: ignore[operator]  # the class that was just made
        assert (compiled.code.co_filename, function.__code__.co_filename) == (name, name)
    assert len(files(tmp_path)) == 1


def test_what_another_cache_holds_is_taken_over_by_digest_and_nothing_else_of_it(tmp_path: Path) -> None:
    import hashlib

    sources = (b"first = 1\n", b"second = 2\n")
    first, second = (hashlib.sha256(source).hexdigest() for source in sources)
    for digest, source in zip((first, second), sources, strict=True):
        BytecodeCache(tmp_path / "other").compiled(digest, "net.py", source)
    (tmp_path / "other" / "stray").write_bytes(b"")
    BytecodeCache(None).take_over(str(tmp_path / "other"), [("", first)])
    cache = BytecodeCache(tmp_path / "own")
    cache.take_over(str(tmp_path / "other"), [("", first), ("", hashlib.sha256(b"").hexdigest())])
    assert len(files(tmp_path / "own")) == 1
    kept = cache.kept(first, "net.py")
    assert kept is not None
    assert kept.code.co_names == ("first",)
    assert cache.kept(second, "net.py") is None


def test_what_was_compiled_is_written_when_imports_end_and_of_one_that_takes_long_on_the_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [100.0]
    monkeypatch.setattr("packager._loading.bytecode.monotonic", lambda: now[0])
    cache = BytecodeCache(tmp_path)

    def imported(digest: str, *, seconds: float) -> list[str]:
        """Import a module that takes so long; return what is kept then, by another process's look."""
        cache.begin_import()
        cache.compiled(digest, "net.py", SOURCE)
        now[0] += seconds
        cache.end_import()
        return [one for one in (first, second, third) if BytecodeCache(tmp_path).has(one)]

    first, second, third = ("1" * 64, "2" * 64, "3" * 64)
    cache.begin_import()  # one around them, which may never end
    assert imported(first, seconds=0.2) == []
    assert imported(second, seconds=0.2) == [first, second]
    assert imported(third, seconds=0) == [first, second]
    cache.end_import()
    assert BytecodeCache(tmp_path).has(third)
