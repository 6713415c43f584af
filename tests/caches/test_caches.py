"""The folder for what is kept between runs: used where this user alone may write, else left alone."""

from __future__ import annotations

import io
import marshal
import os
import stat
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from packager import PackageExporter, PackageImporter
from packager import _caches as caches
from packager._caches import (
    CacheWarning,
    keep_file,
    keep_folder,
    may_come_with,
    others_may_write,
    read_own,
    usable_cache,
)
from packager._graph.import_statements import read_statements
from packager._graph.source_table import ScanCache
from packager._kept_file import Kept, KeptFile
from packager.errors import ArchiveError
from tests import processes


@pytest.fixture(autouse=True)
def warned_of_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(caches, "_warned", set())


def open_to_all(folder: Path) -> None:
    folder.mkdir()
    folder.chmod(0o777)


def open_to_a_group(folder: Path) -> None:
    folder.mkdir()
    os.chown(folder, -1, 12345) if os.geteuid() == 0 else None
    folder.chmod(0o2770)


def sticky(folder: Path) -> None:
    folder.mkdir()
    folder.chmod(0o1777)  # others cannot rename what is in it, but add to it


def below_one_that_is_open(folder: Path) -> None:
    (folder.parent / "open").mkdir(mode=0o700)
    (folder.parent / "open" / "inner").mkdir(mode=0o700)
    (folder.parent / "open").chmod(0o777)
    folder.symlink_to(folder.parent / "open" / "inner")


def a_link_to_one_that_is_open(folder: Path) -> None:
    open_to_all(folder.parent / "elsewhere")
    folder.symlink_to(folder.parent / "elsewhere")


def of_another_user(folder: Path) -> None:
    folder.mkdir(mode=0o755)
    os.chown(folder, 12345, -1)


def linked(folder: Path, *, owner: int, target: str = "inner") -> Path:
    """A link in a folder where all may add and only owners rename, to a folder of this user's own."""
    sticky(folder)
    (folder / "inner").mkdir(mode=0o700)
    (folder / "link").symlink_to(target)
    if os.geteuid() == 0:
        os.chown(folder / "link", owner, -1, follow_symlinks=False)
    return folder / "link"


def by_a_link_of_another_user(folder: Path) -> None:
    folder.symlink_to(linked(folder.parent / "tmp", owner=12345))


def below_a_link_of_another_user(folder: Path) -> None:
    folder.symlink_to(linked(folder.parent / "tmp", owner=12345) / "not" / "there")


def by_a_link_of_another_user_to_nothing(folder: Path) -> None:
    folder.symlink_to(linked(folder.parent / "tmp", owner=12345, target="not/there"))


def by_two_links_and_back(folder: Path) -> None:
    """What `..` leads to is said by the link before it."""
    linked(folder.parent / "tmp", owner=12345)
    (folder.parent / "way").symlink_to("tmp/inner")
    folder.symlink_to("way/../link")


BAD = [open_to_all, open_to_a_group, sticky, below_one_that_is_open, a_link_to_one_that_is_open]
if os.geteuid() == 0:  # who alone can make what is another user's
    BAD += [of_another_user, by_a_link_of_another_user, below_a_link_of_another_user]
    BAD += [by_a_link_of_another_user_to_nothing, by_two_links_and_back]


@pytest.mark.unix
@pytest.mark.parametrize("make", BAD)
def test_a_folder_that_others_may_write_is_not_used_and_said_once(
    make: Callable[[Path], None], tmp_path: Path
) -> None:
    make(tmp_path / "cache")
    with pytest.warns(CacheWarning, match="nothing is kept between runs: .*set KELLET_CACHE"):
        assert usable_cache(tmp_path / "cache") is None
    assert usable_cache(tmp_path / "cache", "code", "5e1f") is None  # a second warning would be an error


def test_a_folder_of_ones_own_is_used(tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir(mode=0o755)
    (tmp_path / "link").symlink_to(tmp_path / "cache")
    assert usable_cache(tmp_path / "cache", "code") == tmp_path / "cache" / "code"
    assert usable_cache(tmp_path / "link") == tmp_path / "link"
    assert usable_cache(tmp_path / "not" / "there") == tmp_path / "not" / "there"


def test_the_folder_for_temporary_files_may_hold_one(tmp_path: Path) -> None:
    sticky(tmp_path / "tmp")
    (tmp_path / "tmp" / "cache").mkdir(mode=0o700)
    assert others_may_write(tmp_path / "tmp" / "cache") is None
    assert others_may_write(tmp_path / "tmp" / "not" / "there") is None


@pytest.mark.unix
def test_links_of_ones_own_may_lead_to_one(tmp_path: Path) -> None:
    link = linked(tmp_path / "tmp", owner=0)
    (tmp_path / "second").symlink_to(link)
    assert others_may_write(link) is None
    assert others_may_write(tmp_path / "second" / "not" / "there") is None


@pytest.mark.unix
def test_a_link_of_another_user_is_named(tmp_path: Path) -> None:
    link = linked(tmp_path / "tmp", owner=12345)
    expected = f"{link} belongs to another user (uid 12345)" if os.geteuid() == 0 else None
    assert others_may_write(link) == expected
    assert others_may_write(link / "code") == expected


@pytest.mark.unix
def test_a_file_that_others_may_write_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "kept").write_bytes(b"x")
    assert read_own(str(tmp_path / "kept")) == b"x"
    (tmp_path / "kept").chmod(0o666)
    with pytest.raises(PermissionError, match="another user"):
        read_own(str(tmp_path / "kept"))


def test_folders_are_made_for_this_user_alone(tmp_path: Path) -> None:
    before = os.umask(0o002)
    try:
        keep_file(tmp_path / "a" / "b" / "file", b"x")
        with keep_folder(tmp_path / "c" / "d" / "folder"):
            pass
    finally:
        os.umask(before)
    made = [tmp_path / "a", tmp_path / "a" / "b", tmp_path / "c", tmp_path / "c" / "d"]
    assert {stat.S_IMODE(folder.stat().st_mode) for folder in made} == {0o700}


@pytest.mark.unix
def test_a_folder_that_another_made_first_is_not_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between looking and making, in a folder that all may write to."""
    mkdir = os.mkdir

    def first(path: str, mode: int = 0o777) -> None:
        mkdir(path)
        os.chmod(path, 0o777)
        raise FileExistsError(path)

    monkeypatch.setattr(os, "mkdir", first)
    with pytest.raises(PermissionError, match="other users may write"):
        keep_file(tmp_path / "cache" / "file", b"x")


def archive() -> bytes:
    file = io.BytesIO()
    with PackageExporter(file, prove=False) as exporter:
        exporter.save_source_string("placed", "here = __file__\nopen(here).close()\nanswer = 42\n")
    return file.getvalue()


@pytest.mark.unix
def test_neither_code_nor_scans_are_kept_in_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = archive()
    open_to_all(tmp_path / "cache")
    monkeypatch.setenv("KELLET_CACHE", str(tmp_path / "cache"))
    with pytest.warns(CacheWarning):
        scans = ScanCache()
    scans.put("5e1f" * 16, read_statements(b"import a"))
    scans.flush()
    assert ScanCache().get("5e1f" * 16) is None
    with PackageImporter(data) as importer:
        module = importer.import_module("placed")
        assert module.answer == 42
        assert not module.here.startswith(str(tmp_path))
    assert list((tmp_path / "cache").iterdir()) == []


@pytest.mark.unix
def test_planted_code_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An honest first load fills the cache; then it is opened to others, and changed by one of them."""
    data = archive()
    monkeypatch.setenv("KELLET_CACHE", str(tmp_path / "cache"))
    script = (
        "import sys, warnings; warnings.simplefilter('ignore'); from packager import PackageImporter\n"
        "with PackageImporter(sys.argv[1]) as importer: print(importer.import_module('placed').answer)"
    )
    (tmp_path / "net.kellet").write_bytes(data)

    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}

    def load() -> str:
        command = [sys.executable, "-c", script, str(tmp_path / "net.kellet")]
        return processes.run(
            command, capture_output=True, text=True, check=True, timeout=60, env=kept
        ).stdout.strip()

    assert load() == "42"
    (compiled,) = (tmp_path / "cache" / "bytecode").iterdir()
    planted = marshal.dumps((compile("answer = 'planted'", "placed.py", "exec"), False))
    honest = KeptFile(str(compiled))
    (digest,) = [one.digest for one in honest.whole()]
    compiled.write_bytes(Kept(digest, planted).packed())
    assert load() == "planted"  # this user may do so
    (tmp_path / "cache").chmod(0o777)
    assert load() == "42"


@pytest.mark.parametrize("path", ["a" * 300, "a/" * 3000, "loop/in"])
def test_a_place_where_none_can_be_made_is_named_by_code_that_asks_for_its_files(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "loop").symlink_to("loop")
    monkeypatch.setenv("KELLET_CACHE", str(tmp_path / path))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    with (
        PackageImporter(archive()) as importer,
        pytest.raises(ArchiveError, match="set KELLET_CACHE to a folder that can be written"),
    ):
        importer.import_module("placed")
    assert [file.name for file in tmp_path.iterdir()] == ["loop"]


def test_one_of_ones_own_is_filled_without_a_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KELLET_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with PackageImporter(archive()) as importer:
            assert importer.import_module("placed").here.startswith(str(tmp_path / "cache"))
    assert {path.name for path in (tmp_path / "cache").iterdir()} >= {"bytecode", "code"}


@pytest.mark.parametrize(
    ("place", "archive", "came"),
    [
        (".config/kellet/signers.toml", "net.kellet", False),
        (".config/signers.toml", "net.kellet", False),
        (".config/kellet/signers.toml", "../net.kellet", False),
        ("conf/signers.toml", "models/net.kellet", False),
        ("signers.toml", "net.kellet", True),
        ("keys/team.pub", "net.kellet", True),
        (".config.old/signers.toml", "net.kellet", True),
        ("download/.config/kellet/signers.toml", "download/net.kellet", True),
        ("download/signers.toml", "download/net.kellet", True),
        (".config/kellet/signers.toml", ".config/net.kellet", True),
        (".config/kellet/signers.toml", ".config/kellet/net.kellet", True),
        (".config/net.kellet/signers.toml", ".config/net.kellet", True),
        (".config/kellet/signers.toml", ".config", True),
        (".config/kellet/signers.toml", "", True),
    ],
)
@pytest.mark.parametrize("by", ["home", "variable", "link"])
def test_settings_of_the_user_came_with_no_archive_above_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, archive: str, came: bool, by: str
) -> None:
    home = tmp_path / "home"
    for one in ("conf", "models", "keys", "download/.config/kellet", ".config/kellet", ".config.old"):
        (home / one).mkdir(parents=True)
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setenv("HOME", str(home))
    if by == "variable":
        monkeypatch.setenv("HOME", str(tmp_path / "other"))
        monkeypatch.setenv("XDG_CONFIG_HOME", str(home / ".config"))
    if by == "link":
        (tmp_path / "link").symlink_to("home")
        monkeypatch.setenv("HOME", str(tmp_path / "link"))
        home = tmp_path / "link" if len(archive) % 2 else home
    assert may_come_with(str(home / place), str(home / archive)) is came


def test_without_a_home_there_are_no_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", "relative")  # which is left alone, as the rule of XDG says
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    assert may_come_with(str(tmp_path / ".config" / "signers.toml"), str(tmp_path / "net.kellet"))
