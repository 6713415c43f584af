"""Section 4: names alone, beside each other, and in order."""

from __future__ import annotations

import io

import pytest

from packager._archive import ArchiveReader, ArchiveWriter, Manifest, entry_names
from packager._archive.bounds import MAX_DIGEST_LINE, MAX_PACKED, MAX_SIGNATURE
from packager._archive.entry_names import (
    check_listed_order,
    check_name,
    check_names,
    check_order,
    check_reserved_size,
    is_reserved,
    name_problems,
)
from packager.errors import ArchiveError
from tests.tables import one_test

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


@one_test
@pytest.mark.parametrize("name", LEGAL)
def test_legal_name_is_written_and_read(name: str) -> None:
    check_name(name)
    file = io.BytesIO()
    with ArchiveWriter(file) as writer:
        writer.add(name, b"x", kind="resource")
        writer.seal(Manifest())
    assert ArchiveReader(file).names() == (name,)


@one_test
@pytest.mark.parametrize("name", ILLEGAL)
def test_illegal_name_is_refused(name: str) -> None:
    with pytest.raises(
        ArchiveError, match=r"^entry .*: this name is not allowed in an archive; expected a relative"
    ):
        check_name(name)
    with ArchiveWriter(io.BytesIO()) as writer, pytest.raises(ArchiveError, match="not allowed"):
        writer.add(name, b"", kind="resource")


@one_test
@pytest.mark.parametrize("names", [["x", name] for name in ILLEGAL])
def test_illegal_name_is_refused_among_others(names: list[str]) -> None:
    with pytest.raises(ArchiveError):
        check_names(names)


@one_test
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


@one_test
@pytest.mark.parametrize(
    "names",
    [
        [],
        ["a"],
        MANIFEST[::-1],
        [*MANIFEST, "a"],
        ["a", MANIFEST[0], "b", MANIFEST[1]],
        [*MANIFEST, ".data/signatures/b", ".data/signatures/a"],
        [MANIFEST[0]],
    ],
)
def test_other_orders_are_refused(names: list[str]) -> None:
    with pytest.raises(ArchiveError, match=r"out of order|do not follow them"):
        check_order(names)


@one_test
@pytest.mark.parametrize(
    ("names", "one", "other"),
    [
        (["x", "b", "B", "a", "A"], "b", "B"),
        (["é", "x", "É"], "é", "É"),
        (["x", "a/b", "A/c"], "A/", "a/"),
        (["b", "x", "b/c"], "b", "b/"),
        (["B", "x", "b/c/d"], "B", "b/"),
        (["é/x", "ﬁ", "fi"], "ﬁ", "fi"),
    ],
)
def test_the_first_two_names_that_collide_are_said(names: list[str], one: str, other: str) -> None:
    with pytest.raises(
        ArchiveError, match=f"entries '{one}' and '{other}': their names clash: on some file system"
    ):
        check_names(names)
    with pytest.raises(ArchiveError, match="would be one file"):
        check_names([*names, "größe"])


def test_names_are_so_many_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entry_names, "MAX_ENTRIES", 3)
    check_names(["a", "b", "c"])
    with pytest.raises(ArchiveError, match="archive of 4 entries: at most 3 are read; split it"):
        check_names(["a", "b", "c", "d"])


@pytest.mark.parametrize("letter", ["x", "é"])
def test_folders_are_so_many_at_most(monkeypatch: pytest.MonkeyPatch, letter: str) -> None:
    """Each counts once, however many names lie in it, and what lies in none has none."""
    monkeypatch.setattr(entry_names, "MAX_FOLDERS", 4)
    names = [f"a/b/{letter}", "a/b/2", "a/c/1", "d/1", "top"]
    check_names(names)
    with pytest.raises(ArchiveError, match="archive of at least 5 folders: at most 4 are read; split it"):
        check_names([*names, "e/1"])


def test_plain_names_are_not_looked_at_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of twenty thousand entries each would cost ten times as much."""
    monkeypatch.setattr(entry_names, "_check_alone", None)
    for names in ([], ["a"], ["a" * 1024, "a/" * 31 + "b", "c d", "e.f", "-", "~"]):
        check_names(names)


@pytest.mark.parametrize(
    ("name", "most"),
    [
        (".data/manifest.msgpack", MAX_PACKED),
        (".data/manifest.sha256", MAX_DIGEST_LINE),
        (".data/signatures/a", MAX_SIGNATURE),
    ],
)
def test_reserved_entries_have_so_many_bytes_at_most(name: str, most: int) -> None:
    assert is_reserved(name)
    check_reserved_size(name, most)
    with pytest.raises(ArchiveError, match=f"'{name}': found {most + 1} bytes; expected at most {most}"):
        check_reserved_size(name, most + 1)


@pytest.mark.parametrize(
    ("names", "problems"),
    [
        (["a", "b/c"], []),
        (
            ["net/a.txt", "net/a.", "net/A.txt"],
            [("net/a.", "not allowed"), ("net/A.txt", "'net/a.txt' and")],
        ),
        (["x", "a/b", "a"], [("x", "'a' and 'a/'")]),
        (["x", "a", "A", "a/b"], [("A", "'a' and 'A'")]),
    ],
)
def test_problems_of_names_are_told_by_name(names: list[str], problems: list[tuple[str, str]]) -> None:
    found = list(name_problems(names))
    assert [name for name, _ in found] == [name for name, _ in problems]
    assert all(said in message for (_, message), (_, said) in zip(found, problems, strict=True))


@pytest.mark.parametrize(("length", "shown"), [(118, "x" * 118 + "'"), (119, "x" * 116 + "...")])
def test_long_names_are_shown_in_part(length: int, shown: str) -> None:
    with pytest.raises(ArchiveError) as refused:
        check_name("x" * length + "\t" if length < 118 else "." * 0 + "x" * (length - 1) + "x" + ".")
    assert len(str(refused.value).split(": this name")[0]) <= len("entry ") + 120


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["a", *MANIFEST, "c"], "entry 'c': out of order"),
        ([*MANIFEST, ".data/signatures/b", ".data/signatures/a"], "entry '.data/signatures/b': out of order"),
        (["a", MANIFEST[0]], "archive of 2 entries: .* do not follow them"),
        (
            [".data/signature", ".data/signatures", ".data/signaturf"],
            "archive of 3 entries: .* do not follow",
        ),
    ],
)
def test_what_is_out_of_order_is_named(names: list[str], said: str) -> None:
    with pytest.raises(ArchiveError, match=said):
        check_order(names)
    assert check_order([".data/signature", ".data/signaturf", *MANIFEST]) == 2


def test_tensors_come_first_in_any_order_and_the_rest_is_sorted() -> None:
    check_listed_order([], 0)
    check_listed_order(["z", "a", ".data/x"], 3)
    check_listed_order(["z", "a", ".data/signature", ".data/signaturf", "Z", "a-b", "a/b", "é"], 2)


@one_test
@pytest.mark.parametrize(
    ("names", "tensors", "misplaced"),
    [
        (["b", "a"], 0, "b"),
        (["z", "a", "y", "x"], 2, "y"),
        (["b", "a"], 1, None),
        ([".data/signatures/a", "b"], 0, ".data/signatures/a"),
        (["z", ".data/signatures/a"], 2, ".data/signatures/a"),
        (["z", MANIFEST[0], "a"], 1, MANIFEST[0]),
        ([MANIFEST[1], "a"], 1, MANIFEST[1]),
    ],
)
def test_what_is_out_of_order_in_the_manifest_is_named(
    names: list[str], tensors: int, misplaced: str | None
) -> None:
    if misplaced is None:
        check_listed_order(names, tensors)
        return
    with pytest.raises(ArchiveError, match=f"entry '{misplaced}': out of order; expected tensors first"):
        check_listed_order(names, tensors)
