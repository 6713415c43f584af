"""Section 5: what the manifest says, and that there is one way to say it."""

from __future__ import annotations

import dataclasses
import hashlib
import io
from typing import Any

import pytest

from packager._archive import (
    ArchiveReader,
    ArchiveWriter,
    CheckRecord,
    EntryPoint,
    EntryRecord,
    ExternRecord,
    ImportSite,
    Manifest,
    ModuleRecord,
    ObjectRecord,
    StateDictRecord,
    TypeUse,
    manifest,
    pack,
    unpack,
    verify,
)
from packager._archive.manifest import dump_manifest, load_manifest
from packager._archive.manifest_records import TABLES
from packager.errors import ArchiveError
from tests.tables import one_test

FULL = Manifest(
    modules=(
        ModuleRecord("net", "intern", "intern net.**", "yours", "net/__init__.py", True),
        ModuleRecord(
            "numpy", "extern", "auto", "installed", importers=(ImportSite("net", "__init__.py", 3),)
        ),
        ModuleRecord("secret", "mock", "mock secret", "asked for"),
    ),
    externs=(ExternRecord("numpy", "installed", "numpy", "2.1.0", ">=2.1,<3"), ExternRecord("os", "stdlib")),
    objects=(
        ObjectRecord(
            "net", "model", ".data/o", "net/w", "net:build", (TypeUse("net:Net", "create"),), (("plain", 1),)
        ),
    ),
    state_dicts=(StateDictRecord("net", "w", "net/w", None, (("", 1), ("layer", 2)), ("rename-1",)),),
    entry_points=(EntryPoint("model", "net", "model", "forward"),),
    checks=(CheckRecord("first", "model", "net/in", "net/out"),),
    environment={
        "python": "3.11",
        "platform": {"system": "Linux", "bits": 64},
        "tags": ["a", None, True, 1.5],
    },
    entries=(
        EntryRecord("b", "tensors", 0, 64, b"", b""),
        EntryRecord("a", "source", 3, 1, b"1234", b"s" * 32),
    ),
)


def imported_at(line: int) -> ModuleRecord:
    return ModuleRecord("a", "deny", "", "", importers=(ImportSite("b", "b.py", line),))


def test_everything_survives_the_way_through_bytes() -> None:
    data = dump_manifest(FULL)
    assert load_manifest(data).open() == FULL
    assert dump_manifest(load_manifest(data).open()) == data


def test_a_number_may_be_zero() -> None:
    least = Manifest(
        state_dicts=(StateDictRecord("net", "w", "net/w", None, (("", 0),)),),
        modules=(imported_at(0),),
    )
    assert load_manifest(dump_manifest(least)).open() == least


def test_rows_are_stored_sorted_whatever_order_they_are_given_in() -> None:
    shuffled = dataclasses.replace(FULL, modules=FULL.modules[::-1], externs=FULL.externs[::-1])
    assert dump_manifest(shuffled) == dump_manifest(FULL)


def test_stored_modules_are_those_whose_source_is_there() -> None:
    modules = (
        ModuleRecord("net", "intern", "r", "b", "net.py"),
        ModuleRecord("far", "extern", "r", "b", "net.py"),
        ModuleRecord("folder", "intern", "r", "b"),
        ModuleRecord("gone", "intern", "r", "b", "gone.py"),
        ModuleRecord("text", "intern", "r", "b", "text.py"),
    )
    entries = (
        EntryRecord("net.py", "source", 0, 1, b"", b""),
        EntryRecord("text.py", "resource", 0, 1, b"", b""),
    )
    assert Manifest(modules=modules, entries=entries).stored_modules == {"net"}


def test_mocks_are_the_modules_that_were_mocked() -> None:
    assert [module.name for module in FULL.mocks] == ["secret"]


@one_test
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"modules": (FULL.modules[0], FULL.modules[0])}, "none twice"),
        ({"modules": (ModuleRecord("a", "steal", "", ""),)}, "one of deny, extern, intern, mock"),
        ({"modules": (ModuleRecord(b"a", "deny", "", ""),)}, "expected a string"),
        ({"modules": (imported_at(-1),)}, "a number that is not negative"),
        ({"modules": (imported_at(True),)}, "a number that is not negative"),
        ({"externs": (ExternRecord("a", "stdlib", optional=1),)}, "true or false"),
        (
            {"checks": (CheckRecord("a", "\ud800", "b", "c"),)},
            r"text '\\ud800' cannot be stored: it has an unpaired surrogate",
        ),
        ({"objects": (ObjectRecord("a", "b", None),)}, "manifest, objects, entry of row 0: found None"),
        ({"state_dicts": (StateDictRecord("a", "b", "c", versions=(("", 1, 2),)),)}, "expected a list of 2"),
        ({"state_dicts": (StateDictRecord("a", "b", "c", versions=(("",),)),)}, "expected a list of 2"),
        (
            {"state_dicts": (StateDictRecord("a", "b", "c", versions=(("", 1), ("", 2))),)},
            "expected none twice",
        ),
        ({"objects": (ObjectRecord("a", "b", "c", codecs=(("x", 1), ("x", 2))),)}, "none twice"),
        (
            {"objects": (ObjectRecord("a", "b", "c", types=(TypeUse("a:b", "call"),) * 2),)},
            "expected none twice",
        ),
    ],
)
def test_what_a_reader_would_refuse_is_not_written(change: dict[str, Any], message: str) -> None:
    file = io.BytesIO()
    with ArchiveWriter(file) as writer, pytest.raises(ArchiveError, match=message):
        writer.seal(dataclasses.replace(FULL, **change))
    assert file.getvalue() == b""


def with_facts(change: Any) -> bytes:
    top = unpack(dump_manifest(FULL), what="test")
    facts = unpack(top["facts"], what="test")
    change(top, facts)
    return pack({**top, "facts": pack(facts)} if type(top["facts"]) is bytes else top)


@one_test
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda top, facts: facts.pop("checks"), "missing keys: checks"),
        (lambda top, facts: facts.update(extra=[]), "missing keys: extra"),
        (lambda top, facts: top.pop("digests"), "missing keys: digests"),
        (lambda top, facts: top.update(extra=1), "missing keys: extra"),
        (lambda top, facts: top.update(digests="md5"), "found digests 'md5'"),
        (lambda top, facts: top.update(facts="text"), "facts as bytes"),
        (lambda top, facts: facts.update(environment=[]), "found no map"),
        (lambda top, facts: facts["modules"].pop(), "a list of 7 columns"),
        (lambda top, facts: facts["modules"][0].pop(), "columns of one length"),
        (lambda top, facts: facts["modules"][0].reverse(), "rising keys"),
        (lambda top, facts: facts["modules"][1].__setitem__(0, "run"), "one of deny"),
        (lambda top, facts: facts["modules"][6].__setitem__(0, [["a", "b"]]), "a list of 3"),
        (lambda top, facts: facts["externs"][3].__setitem__(0, 2), "expected a string"),
        (lambda top, facts: facts["state_dicts"][4].__setitem__(0, [["", -1]]), "not negative"),
        (lambda top, facts: top["entries"].pop(), "six columns"),
        (lambda top, facts: top["entries"].__setitem__(0, "a"), "1 names"),
        (lambda top, facts: top["entries"].__setitem__(0, "a\nb\nc"), "3 names"),
        (lambda top, facts: top["entries"].__setitem__(1, b"\x07\x63"), "an unknown code"),
        (lambda top, facts: top["entries"].__setitem__(3, b"\x01\x01"), "not aligned"),
        (lambda top, facts: top["entries"].__setitem__(3, b"\x02\x40"), "an unknown code"),
        (lambda top, facts: top["entries"].__setitem__(4, b"12"), "2 bytes of CRC; expected 4"),
        (lambda top, facts: top["entries"].__setitem__(5, b"12"), "2 bytes of sha256"),
        (lambda top, facts: top["entries"].__setitem__(2, b"\xff" * 16), "bytes of CRC; expected"),
    ],
)
def test_other_manifests_are_refused(change: Any, message: str) -> None:
    with pytest.raises(ArchiveError, match=message):
        load_manifest(with_facts(change)).open()


@one_test
@pytest.mark.parametrize("version", [0, 2, "1", None, 1.0, True])
def test_unknown_format_is_named(version: object) -> None:
    data = pack({**unpack(dump_manifest(FULL), what="test"), "format": version})
    with pytest.raises(
        ArchiveError, match=rf"the archive has format {version!r}, this packager reads 1; install"
    ):
        load_manifest(data)


@pytest.mark.parametrize("value", [None, [], "x", 5, {"form": 1}])
def test_something_else_than_a_manifest_is_refused(value: object) -> None:
    with pytest.raises(ArchiveError, match="the archive has format None"):
        load_manifest(pack(value))


@one_test
@pytest.mark.parametrize("size", [0, 1, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 3 << 20, 5_000_000])
def test_digests_of_an_entry_follow_from_its_chunks(size: int) -> None:
    content = hashlib.shake_128(b"kellet").digest(size)
    file = io.BytesIO()
    with ArchiveWriter(file) as writer:
        writer.add("x", content, kind="resource")
        writer.add("y", iter([content[:7], content[7:]]), size=size, kind="resource")
        writer.seal(Manifest())
    reader = ArchiveReader(file, digests="sha256")
    entry = reader.entry("x")
    chunks = [content[start : start + (1 << 20)] for start in range(0, size, 1 << 20)]
    assert entry.chunks == len(chunks)
    assert entry.sha256s == b"".join(hashlib.sha256(chunk).digest() for chunk in chunks)
    whole = content if len(chunks) < 2 else entry.sha256s
    assert entry.sha256 == hashlib.sha256(whole).hexdigest()
    assert reader.read("x") == content
    assert dataclasses.replace(reader.entry("y"), name="x") == entry


def test_crc_mode_without_tensors_has_one_spelling() -> None:
    file = io.BytesIO()
    with ArchiveWriter(file, digests="crc") as writer:
        writer.add("code.py", b"pass", kind="source")
        writer.seal(Manifest())
    with ArchiveReader(file) as reader:
        assert reader.digests == reader.manifest.digests == "sha256"
    top = unpack(dump_manifest(Manifest()), what="manifest")
    with pytest.raises(ArchiveError, match='digests="crc" without tensors; expected digests'):
        load_manifest(pack({**top, "digests": "crc"}))


def test_crc_mode_leaves_the_sha256_of_aligned_entries_out() -> None:
    file = io.BytesIO()
    with ArchiveWriter(file, digests="crc") as writer:
        writer.add("code.py", b"pass", kind="source")
        writer.add("big", bytes(3_000_000), kind="tensors", align=64)
        writer.add("small", bytes(3), kind="tensors", align=64)
        writer.seal(Manifest())
    reader = ArchiveReader(file)
    assert reader.digests == reader.manifest.digests == "crc"
    assert [reader.entry(name).sha256 is None for name in ("code.py", "big", "small")] == [False, True, True]
    assert verify(reader).digests == "crc"
    reader = ArchiveReader(file, digests="sha256")
    assert reader.read("code.py") == b"pass"
    with pytest.raises(ArchiveError, match=r"entry 'big': it has no sha256, as the archive was written with"):
        reader.view("big", 0, 10)


def test_a_manifest_has_so_many_bytes_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    data = dump_manifest(FULL)
    monkeypatch.setattr(manifest, "MAX_PACKED", len(data))
    assert load_manifest(data).open() == FULL
    monkeypatch.setattr(manifest, "MAX_PACKED", len(data) - 1)
    with pytest.raises(ArchiveError, match=f"manifest: {len(data)} bytes; at most {len(data) - 1} are read"):
        load_manifest(data)


@pytest.mark.parametrize(("length", "shown"), [(78, f"'{'x' * 78}'"), (79, f"'{'x' * 76}...")])
def test_a_long_value_is_shown_in_part(length: int, shown: str) -> None:
    rows = (ModuleRecord("a", "x" * length, "", ""),)
    with pytest.raises(ArchiveError) as refused:
        dump_manifest(dataclasses.replace(FULL, modules=rows))
    assert str(refused.value) == (
        f"manifest, modules, action of row 0: found {shown}; expected one of deny, extern, intern, mock"
    )


SECTIONS = ("modules", "externs", "objects", "state_dicts", "entry_points", "checks")


@one_test
@pytest.mark.parametrize("section", SECTIONS)
def test_each_column_of_each_section_holds_its_kind_of_value_alone(section: str) -> None:
    """A value of another kind in any row of any column is refused by its place."""
    count = len(unpack(unpack(dump_manifest(FULL), what="x")["facts"], what="x")[section])
    for column in range(count):
        for wrong in (3.5, {}, [1], [["a"]]):

            def change(top: Any, facts: Any, column: int = column, wrong: Any = wrong) -> None:
                facts[section][column][-1] = wrong

            row = len(getattr(FULL, section)) - 1
            with pytest.raises(ArchiveError, match=rf"manifest, {section}, \w+ of row {row}: found "):
                load_manifest(with_facts(change)).open()


@one_test
@pytest.mark.parametrize("section", SECTIONS)
def test_the_columns_of_a_section_are_as_many_and_as_long_as_they_have_to_be(section: str) -> None:
    def changed(change: Any) -> Any:
        return load_manifest(with_facts(lambda top, facts: change(facts[section], facts))).open()

    for change in (lambda columns, facts: columns.append([]), lambda columns, facts: columns.pop()):
        with pytest.raises(ArchiveError, match=rf"manifest, {section}: found .* a list of \d columns"):
            changed(change)
    columns = len(unpack(unpack(dump_manifest(FULL), what="x")["facts"], what="x")[section])
    for place in range(columns):
        for wrong in ("text", {}):
            with pytest.raises(ArchiveError, match=rf"manifest, {section}: found .* columns of one length"):
                changed(lambda columns, facts, place=place, wrong=wrong: columns.__setitem__(place, wrong))
        with pytest.raises(ArchiveError, match=rf"manifest, {section}: found .* columns of one length"):
            changed(lambda columns, facts, place=place: columns[place].append(None))


def test_a_row_that_is_not_rising_is_named() -> None:
    def twice(top: Any, facts: Any) -> None:
        for column in facts["modules"]:
            column[2] = column[1]

    with pytest.raises(
        ArchiveError, match=r"manifest, modules: row 2 has the key \('numpy',\) after \('numpy',\); expected"
    ):
        load_manifest(with_facts(twice)).open()


def test_every_field_of_the_manifest_with_records_has_its_table() -> None:
    fields = {one.name for one in dataclasses.fields(Manifest)}
    assert {*TABLES} == fields - {"environment", "entries", "digests", "format"}
