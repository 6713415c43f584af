"""Section 10, the verifier: everything that is wrong, gathered, and nothing raised half-way."""

from __future__ import annotations

import dataclasses
import io
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from packager._archive import (
    ArchiveReader,
    ArchiveWriter,
    CheckRecord,
    EntryRecord,
    Manifest,
    ModuleRecord,
    ObjectRecord,
    StateDictRecord,
    TensorIndex,
    TensorSpec,
    Verification,
    index_name,
    pack,
    parse_header,
    plan_member,
    tensor_bytes,
    tensor_index,
    verify,
)
from packager._archive.entry_names import MIGRATIONS
from packager._archive.tensor_index import ELSEWHERE, METADATA
from packager.errors import ArchiveError, IntegrityError


def archive(manifest: Manifest | None = None, **entries: tuple[str, bytes]) -> ArchiveReader:
    file = io.BytesIO()
    with ArchiveWriter(file) as writer:
        for name, (kind, content) in entries.items():
            writer.add(name, content, kind=kind, align=64 if kind == "tensors" else 1)
        writer.seal(manifest or Manifest())
    return ArchiveReader(file)


def test_sound_archive_has_no_problems(small: bytes) -> None:
    outcome = verify(ArchiveReader(small))
    assert (outcome.ok, outcome.problems, outcome.entries, outcome.size) == (True, (), 4, len(small))
    assert outcome.digests == "sha256"
    assert outcome.identity == ArchiveReader(small).identity
    outcome.raise_for_problems()
    assert verify(ArchiveReader(small)) == outcome


def test_every_problem_is_gathered(small: bytes) -> None:
    damaged = bytearray(small)
    damaged[small.index(b"answer")] ^= 1
    damaged[small.index(bytes(range(24)))] ^= 1
    outcome = verify(ArchiveReader(bytes(damaged), digests="none"))
    assert [problem.entry for problem in outcome.problems] == ["net/weights", "net/__init__.py"]
    with pytest.raises(
        IntegrityError,
        match=r"2 problems:\n    entry 'net/weights': bytes .*\n    entry 'net/__init__.py': bytes 0 to 12 ",
    ):
        outcome.raise_for_problems()


MISSING = Manifest(
    modules=(ModuleRecord("net", "intern", "", "", "gone.py"), ModuleRecord("os", "extern", "", "")),
    objects=(ObjectRecord("net", "model", "text", "gone"),),
    state_dicts=(StateDictRecord("net", "w", "text", "text"),),
    checks=(CheckRecord("c", "model", "text", "gone"),),
)


def test_records_that_name_other_entries_are_problems() -> None:
    outcome = verify(archive(MISSING, text=("resource", b"")))
    assert sorted(problem.message for problem in outcome.problems) == [
        "check c names the entry 'gone', which the archive does not have",
        "check c names the entry 'text' of kind resource; expected tensors",
        "manifest, checks: 'model' is not an entry point of the archive; expected one of none",
        "module net names the entry 'gone.py', which the archive does not have",
        "object net/model names the entry 'gone', which the archive does not have",
        "object net/model names the entry 'text' of kind resource; expected object",
        "state dict net/w names the entry 'text' of kind resource; expected extras",
        "state dict net/w names the entry 'text' of kind resource; expected tensors",
    ]


def test_inner_formats_are_checked() -> None:
    outcome = verify(
        archive(
            extras=("extras", pack({"a": 1}) + b"x"),
            more=("extras", pack({"a": 1})),
            object=("object", b"\x93\x90"),
            weights=("tensors", b"not safetensors"),
            pickle=("pickle", b"cos\nsystem\n"),
            source=("source", b"this is not Python"),
        )
    )
    assert [problem.entry for problem in outcome.problems] == ["weights", "extras", "object"]


def test_callers_add_checks_by_kind() -> None:
    seen: list[str] = []

    def check(reader: ArchiveReader, entry: EntryRecord) -> None:
        seen.append(entry.name)
        raise ArchiveError(f"entry {entry.name!r}: not liked")

    reader = archive(a=("source", b""), b=("resource", b""), c=("object", b"\xc0"))
    outcome = verify(reader, checks={"source": check, "object": check})
    assert seen == ["a", "c"]
    assert [problem.message for problem in outcome.problems] == [
        "entry 'a': not liked",
        "entry 'c': not liked",
    ]


def test_progress_reaches_the_total(small: bytes) -> None:
    seen: list[tuple[int, int]] = []
    verify(ArchiveReader(small), progress=lambda done, total: seen.append((done, total)))
    assert seen[-1][0] == seen[-1][1] > 0
    assert len(seen) == 4


def test_sections_of_the_manifest_are_part_of_it(save_small: Callable[..., str]) -> None:
    from packager._archive.manifest import SealedManifest

    file = io.BytesIO()
    save_small(file)
    reader = ArchiveReader(file)
    assert isinstance(reader._sealed, SealedManifest)
    reader._sealed = dataclasses.replace(reader._sealed, facts=pack({"modules": []}))
    problems = verify(reader).problems
    assert [problem.entry for problem in problems] == [None]
    assert "missing keys" in problems[0].message


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (MIGRATIONS, pack([1]), None),
        (MIGRATIONS, pack([1]) + b"x", "the msgpack value ends at byte 2 of 3"),
        ("net/m", pack([1]), "entry 'net/m': migrations are allowed in '.data/migrations.msgpack' alone"),
    ],
)
def test_migrations_lie_in_one_place_and_are_msgpack(name: str, content: bytes, message: str | None) -> None:
    problems = verify(archive(None, **{name: ("migration", content)})).problems
    assert [problem.entry for problem in problems] == ([] if message is None else [name])
    assert message is None or message in problems[0].message


@pytest.mark.parametrize("name", ["net/i", ".data/index/w", ".data/index/text", "x.data/index/weights"])
def test_an_index_is_that_of_a_member(name: str) -> None:
    more = {"text": ("resource", b""), name: ("index", pack([]))}
    problems = verify(archive(None, **more)).problems
    assert [(problem.entry, "an index without a member" in problem.message) for problem in problems] == [
        (name, True)
    ]


def member(*tensors: TensorSpec, sizes: tuple[int, ...], metadata: dict[str, str]) -> Verification:
    plan = plan_member(TensorIndex.of(tensors, sizes, metadata))
    content = plan.header + bytes(sum(sizes))
    return verify(archive(**{"w": ("tensors", content), index_name("w"): ("index", plan.index)}))


KEYS = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=12)


@given(st.data())
def test_a_header_as_the_index_plans_it_is_one_that_is_read(draw: st.DataObject) -> None:
    """Such a header is not read by verifying: it is spelled as a reader takes it."""
    keys = draw.draw(st.lists(KEYS.filter(lambda key: key != METADATA), unique=True, max_size=5))
    metadata = draw.draw(st.dictionaries(KEYS.filter(lambda key: key != ELSEWHERE), KEYS, max_size=4))
    tensors, sizes = [], []
    for number, key in enumerate(keys):
        dtype = draw.draw(st.sampled_from(["U8", "BF16", "F4", "C64"]))
        rows = 2 * draw.draw(st.integers(0, 4))
        tensors.append(TensorSpec(key, dtype, (rows, 3), (3, 1), 0, number))
        sizes.append(tensor_bytes(dtype, (rows, 3)))
    plan = plan_member(TensorIndex.of(tensors, sizes, metadata))
    header = parse_header(plan.header, len(plan.header) + sum(sizes), what="x")
    assert sorted(header.tensors) == sorted(keys)
    assert header.metadata == metadata
    assert member(*tensors, sizes=tuple(sizes), metadata=metadata).problems == ()


def test_a_size_that_no_reader_takes_is_refused_although_the_index_has_it_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def written(size: int) -> Verification:
        tensor = TensorSpec("a", "U8", (0, size), (size, 1), 0, 0)
        tensor_index.layout_bits.cache_clear()
        with monkeypatch.context() as careless:
            careless.setattr(tensor_index, "shape_problem", lambda shape, bits: None)
            plan = plan_member(TensorIndex.of([tensor], [0]))
        tensor_index.layout_bits.cache_clear()
        return verify(archive(**{"w": ("tensors", plan.header), index_name("w"): ("index", plan.index)}))

    (problem,) = written(10**19).problems
    assert "as a size" in problem.message
    (problem,) = written(2**63).problems
    assert (
        "the shape (0, 9223372036854775808) is too large: expected fewer than 2**63 bytes" in problem.message
    )
    assert written(2**63 - 1).problems == ()
