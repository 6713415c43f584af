"""What entry points take and give: learnt from golden calls or declared, stored, compared before a call."""

from __future__ import annotations

import dataclasses
import io
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
import pytest

import packager
from kellet import nn
from packager import PackageExporter, PackageImporter, PackagingError, ValueType
from packager._archive import ArchiveReader, ArchiveWriter, SchemaRecord, TakenValue, pack, unpack, verify
from packager._archive.manifest import load_manifest
from packager._calls import SchemaMismatchError
from packager.errors import ArchiveError, ArgumentError

Project = Callable[[Mapping[str, str]], Path]

SHOP = """
class Reader:
    calls = 0

    def __call__(self, words, scale=1.0, *, tags=None):
        Reader.calls += 1
        return {"words": [word.upper() for word in words], "lengths": [scale * len(word) for word in words]}

    def spell(self, word):
        return word.upper()
"""


@pytest.fixture
def reader(project: Project) -> Any:
    project({"shop/__init__.py": SHOP})
    import shop  # type: ignore[import-not-found]  # written above

    return shop.Reader()


def export(obj: Any, *checks: Mapping[str, Any], **entry: Any) -> io.BytesIO:
    file = io.BytesIO()
    with PackageExporter(file, policy="auto", prove=False) as exporter:
        exporter.save_object("model", "model", obj)
        if entry:
            exporter.save_entry_point("model", "model", "model", **entry)
        for number, inputs in enumerate(checks):
            exporter.save_example(f"model-{number}", inputs, entry="model")
    return file


def schema_of(file: io.BytesIO) -> SchemaRecord:
    with ArchiveReader(file) as archive:
        assert verify(archive).ok
        (schema,) = archive.manifest.schemas
    return schema


def test_golden_calls_show_what_a_module_takes_and_gives() -> None:
    file = export(nn.Linear(3, 2), {"arg0": np.ones((2, 3), "f4")}, {"input": np.ones((4, 5, 3), "f4")})
    assert str(schema_of(file)) == "model(input: real[...]) -> output: float32[...]"
    file = export(nn.Linear(3, 2), {"arg0": np.ones((2, 3), "f4")}, {"input": np.ones((5, 3), "f4")})
    assert str(schema_of(file)) == "model(input: real[*, 3]) -> output: float32[*, 2]"
    assert schema_of(file).origin == "calls"


def test_text_none_and_nested_answers_have_types(reader: Any) -> None:
    file = export(reader, {"words": ["a", "bc"]}, {"words": ["d"], "tags": {"kind": "x"}, "scale": 2})
    assert str(schema_of(file)) == (
        "model(words: list[text], scale: int (optional), tags: {kind: text} (optional)) -> "
        "output.words.*: text, output.lengths.*: real[]"
    )


def test_a_call_that_does_not_fit_is_refused_before_anything_is_built_or_called(reader: Any) -> None:
    file = export(reader, {"words": ["a"]})
    with PackageImporter(file) as importer:
        with pytest.raises(
            SchemaMismatchError, match=r"words: found int, expected list\[text\]; more: unknown input"
        ):
            importer.run({"words": 3, "more": 1})
        assert importer.modules == {}
        assert importer.run({"arg0": ["a", "b"]})["output.words.1"] == "B"


def test_another_method_than_that_of_the_entry_point_is_not_compared(reader: Any) -> None:
    with PackageImporter(export(reader, {"words": ["a"]})) as importer:
        assert importer.run({"word": "a"}, method="spell") == {"output": "A"}


def test_numbers_in_lists_become_arrays_of_the_declared_dtype() -> None:
    file = export(nn.Linear(2, 1), takes={"input": ValueType("array", "float32", (None, 2))})
    with PackageImporter(file) as importer:
        assert importer.run({"input": [[1, 2]]})["output"].dtype == np.float32
        with pytest.raises(
            SchemaMismatchError, match=r'found float64\[1, 2\].*astype\("float32"\) converts it'
        ):
            importer.run({"input": np.ones((1, 2))})


def test_declarations_are_stored_and_completed_by_calls(reader: Any) -> None:
    file = export(reader, {"words": ["a"]}, takes={"words": "list[ text ]"}, gives={"output.words.*": "text"})
    found = schema_of(file)
    assert found.origin == "declared"
    assert found.takes[0] == TakenValue("words", "list[text]")
    assert [one.name for one in found.gives] == ["output.words.*", "output.lengths.*"]


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (
            {"takes": {"word": "text"}},
            "takes= declares word; expected parameters: words, scale",
        ),
        ({"takes": {"words": "text"}}, r"words: found list\[text\], expected text"),
        ({"gives": {"output.words.0": "int"}}, "output.words.0: found text, expected int"),
        ({"gives": {"output": "text"}}, "output: missing, expected text; found output.words.0"),
    ],
)
def test_declarations_that_do_not_hold_are_problems(reader: Any, entry: Any, message: str) -> None:
    with pytest.raises(PackagingError, match=message) as caught:
        export(reader, {"words": ["a"]}, **entry)
    assert "Declared types of an entry point do not fit." in str(caught.value)


def test_a_declared_type_that_is_none_is_refused_at_once() -> None:
    exporter = PackageExporter(io.BytesIO(), prove=False)
    with pytest.raises(ArgumentError, match="the type 'float33'"):
        exporter.save_entry_point("model", "model", "model", takes={"x": "float33"})
    with pytest.raises(ArgumentError, match=r"takes=.*: expected a mapping, found list"):
        exporter.save_entry_point("model", "model", "model", takes=["x"])  # type: ignore[arg-type]  # what is refused


def test_a_second_call_of_an_entry_point_has_a_name_of_its_own(reader: Any) -> None:
    file = export(reader, {"words": ["a"]}, {"words": ["b", "c"]})
    with PackageImporter(file) as importer:
        assert [one.name for one in importer.check()] == ["model-0", "model-1"]
        assert all(one.within(0) for one in importer.check())
    exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    exporter.save_object("model", "model", reader)
    exporter.save_example("other", {"words": ["a"]}, entry="nothing")
    (problem,) = exporter.plan().problems
    assert "there is no entry point 'nothing' with an object; there is model" in problem.context


def test_the_plan_shows_what_entry_points_take_and_give(reader: Any) -> None:
    exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    exporter.save_object("model", "model", reader)
    assert "entry points:" not in str(exporter.plan())
    exporter.save_example("model", {"words": ["a"]})
    assert "entry points:\n    model(words: list[text], 2 optional) -> output.words.*: text" in str(
        exporter.plan()
    )


def test_an_archive_without_schemas_has_no_such_section() -> None:
    file = export(nn.Linear(2, 1))
    with ArchiveReader(file) as archive:
        assert archive.manifest.schemas == ()
    assert "schemas" not in unpack(load_manifest(manifest_in(file)).facts, what="facts")


def manifest_in(file: io.BytesIO) -> bytes:
    with ZipFile(file) as archive:
        return archive.read(".data/manifest.msgpack")


def sealed(file: io.BytesIO, *schemas: SchemaRecord) -> io.BytesIO:
    """Write an archive again, with other schemas."""
    written = io.BytesIO()
    with ArchiveReader(file) as archive, ArchiveWriter(written) as writer:
        for name in archive.names():
            entry = archive.entry(name)
            writer.add(name, archive.read(name), kind=entry.kind, align=entry.align)
        writer.seal(dataclasses.replace(archive.manifest, schemas=schemas))
    return written


def test_a_schema_of_no_entry_point_is_told_by_verify() -> None:
    file = sealed(export(nn.Linear(2, 1)), SchemaRecord("other"))
    with ArchiveReader(file) as archive:
        (problem,) = verify(archive).problems
    assert problem.message == (
        "manifest, schemas: 'other' is not an entry point of the archive; expected one of model"
    )


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        (
            SchemaRecord("model", (TakenValue("x", "i" * 65_537),)),
            "expected the type of a value in at most",
        ),
        (
            SchemaRecord("model", (TakenValue("x", "int"), TakenValue("x", "int"))),
            "names of their own",
        ),
        (
            SchemaRecord("model", tuple(TakenValue(f"x{i}", "int") for i in range(4097))),
            "expected at most 4096",
        ),
        (SchemaRecord("model", origin="elsewhere"), "expected one of calls, declared"),
    ],
)
def test_what_no_writer_spells_is_refused(schema: SchemaRecord, message: str) -> None:
    with pytest.raises(ArchiveError, match=message):
        sealed(export(nn.Linear(2, 1)), schema)


@pytest.mark.parametrize("text", ["float32[*,3]", "os:system"])
def test_a_type_that_no_writer_spells_is_refused_before_a_call_and_told_by_verify(text: str) -> None:
    file = sealed(export(nn.Linear(2, 1)), SchemaRecord("model", (TakenValue("input", text),)))
    told = f"manifest, schemas: found '{text}'; expected the type of a value, as section 5.6 spells it"
    (problem,) = packager.verify(file).problems
    assert (problem.entry, problem.message) == (None, told)
    with PackageImporter(file) as importer, pytest.raises(ArchiveError, match=re.escape(told)):
        importer.run({"input": np.ones((1, 2), "f4")})


def test_a_section_of_schemas_without_rows_is_refused() -> None:
    top = unpack(manifest_in(export(nn.Linear(2, 1))), what="manifest")
    facts = unpack(top["facts"], what="facts")
    top["facts"] = pack({**facts, "schemas": [[], [], [], [], []]})
    with pytest.raises(ArchiveError, match="manifest, schemas: the section is empty; expected rows"):
        load_manifest(pack(top)).open()
