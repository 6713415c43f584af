"""Section 4: names alone, beside each other, and in order."""

from __future__ import annotations

import io

import pytest

from packager.archive import ArchiveReader, ArchiveWriter, Manifest
from packager.archive.entry_names import check_name, check_names, check_order
from packager.errors import ArchiveError

LEGAL = [
    "a",
    "a/b.py",
    ".hidden/x",
    "net/größe.txt",
    "con.py",
    "a b/c",
    "scope:part",
    "a" * 1024,
    "a/" * 31 + "a",
    "é" * 512,
]
ILLEGAL = [
    "",
    "/a",
    "a/",
    "a//b",
    ".",
    "..",
    "a/../b",
    "./a",
    "a/..",
    "a.",
    "a ",
    "a./b",
    "C:x",
    "c:/windows",
    "a\\b",
    "a\0b",
    "a\nb",
    "a\rb",
    "\x7f",
    "\x85",
    "a\u2028b",
    "a\u202eb",
    "\ufeffa",
    "\ud800",
    "e\u0301",
    "a" * 1025,
    "é" * 513,
    "a/" * 32 + "a",
]


@pytest.mark.parametrize("name", LEGAL)
def test_legal_name_is_written_and_read(name: str) -> None:
    check_name(name)
    file = io.BytesIO()
    with ArchiveWriter(file) as writer:
        writer.add(name, b"x", kind="resource")
        writer.seal(Manifest())
    assert ArchiveReader(file).names() == (name,)


@pytest.mark.parametrize("name", ILLEGAL)
def test_illegal_name_is_refused(name: str) -> None:
    with pytest.raises(
        ArchiveError, match=r"^entry .*: this name is not allowed in an archive; expected a relative"
    ):
        check_name(name)
    with ArchiveWriter(io.BytesIO()) as writer, pytest.raises(ArchiveError, match="not allowed"):
        writer.add(name, b"", kind="resource")


@pytest.mark.parametrize("names", [["x", name] for name in ILLEGAL])
def test_illegal_name_is_refused_among_others(names: list[str]) -> None:
    with pytest.raises(ArchiveError):
        check_names(names)


@pytest.mark.parametrize(
    "names",
    [
        ["a", "A"],
        ["net/x.py", "net/X.py"],
        ["net/x", "Net/y"],
        ["a", "a/b"],
        ["A", "a/b"],
        ["x/a/b/c", "x/a/b"],
        ["é", "É"],
        ["straße", "STRASSE"],
        ["ﬁ", "fi"],
    ],
)
def test_colliding_names_are_refused(names: list[str]) -> None:
    with pytest.raises(ArchiveError, match="would be one file, or a file and a folder"):
        check_names(names)
    with ArchiveWriter(io.BytesIO()) as writer:
        for name in names:
            writer.add(name, b"", kind="resource")
        with pytest.raises(ArchiveError, match="would be one file"):
            writer.seal(Manifest())


def test_names_that_share_a_folder_do_not_collide() -> None:
    check_names(["a/b", "a/c", "ab", "a.b", "a-b/c", "é/x", "é/y"])


@pytest.mark.parametrize("name", [".data/manifest.msgpack", ".data/manifest.sha256", ".data/signatures/me"])
def test_reserved_names_are_not_for_entries(name: str) -> None:
    with ArchiveWriter(io.BytesIO()) as writer, pytest.raises(ArchiveError, match="belongs to the manifest"):
        writer.add(name, b"", kind="resource")


def test_a_name_is_given_once() -> None:
    with ArchiveWriter(io.BytesIO()) as writer:
        writer.add("a", b"", kind="resource")
        with pytest.raises(ArchiveError, match="'a': this name was added before"):
            writer.add("a", b"", kind="resource")


MANIFEST = [".data/manifest.msgpack", ".data/manifest.sha256"]


def test_order_counts_the_entries_before_the_manifest() -> None:
    assert check_order(MANIFEST) == 0
    assert (
        check_order(["Z", "a", "a-b", "a/b", "é", *MANIFEST, ".data/signatures/a", ".data/signatures/b"]) == 5
    )


@pytest.mark.parametrize(
    "names",
    [
        [],
        ["a"],
        MANIFEST[::-1],
        ["b", "a", *MANIFEST],
        [*MANIFEST, "a"],
        ["a", MANIFEST[0], "b", MANIFEST[1]],
        [".data/signatures/a", *MANIFEST],
        [*MANIFEST, ".data/signatures/b", ".data/signatures/a"],
        [MANIFEST[0]],
    ],
)
def test_other_orders_are_refused(names: list[str]) -> None:
    with pytest.raises(ArchiveError, match=r"out of order|do not stand behind them"):
        check_order(names)
