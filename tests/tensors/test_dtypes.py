"""One table of dtypes: what it says is what NumPy, ml_dtypes and safetensors say."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from packager import PackageExporter, PackageImporter, PackagingError
from packager._archive import ArchiveReader
from packager._tensors import (
    DTYPES,
    ITEMSIZE,
    SPELLED,
    WORDS,
    dtype_from_name,
    dtype_name,
    dtype_of_stored,
    itemsize_of,
    numpy_dtype,
    raw_dtype,
    stored_as,
)
from packager._weights import open_checkpoint, write_checkpoint
from tests import processes
from tests.tables import one_test

FLOAT8 = {
    "float8_e4m3fn": "F8_E4M3",
    "float8_e5m2": "F8_E5M2",
    "float8_e4m3fnuz": "F8_E4M3FNUZ",
    "float8_e5m2fnuz": "F8_E5M2FNUZ",
    "float8_e8m0fnu": "F8_E8M0",
}


@one_test
@pytest.mark.parametrize("name", sorted(set(DTYPES) - {"complex32"}))
def test_a_dtype_has_the_size_kind_and_names_that_numpy_says(name: str) -> None:
    dtype = DTYPES[name]
    found = numpy_dtype(name)
    assert found.name == name
    assert found.itemsize == dtype.itemsize == itemsize_of(name) == raw_dtype(name).itemsize
    assert dtype_name(found) == dtype.spelling
    if not dtype.is_extension:
        kinds = {"b": "bool", "i": "int", "u": "uint", "f": "float", "c": "complex"}
        assert (kinds[found.kind], found.str) == (dtype.kind, dtype.code)
    else:
        assert hasattr(ml_dtypes, name)
        assert dtype.kind in name.replace("bfloat", "float")


def test_what_numpy_has_no_form_of_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="NumPy has no dtype complex32"):
        itemsize_of("complex32")


def test_the_words_are_those_of_the_format_in_their_order() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "spec" / "archive-format.md").read_text("utf-8")
    listed = page.partition("Dtypes are those of safetensors: ")[2].partition(".\n")[0]
    assert list(WORDS) == listed.replace("\n", " ").split(", ")


@pytest.mark.parametrize("word", ["F4", "F6_E2M3", "F6_E3M2"])
def test_packed_elements_cannot_be_viewed(word: str) -> None:
    assert word not in ITEMSIZE
    assert stored_as(WORDS[word].name) == ("U8", 1)
    with pytest.raises(ValueError, match=f"no array can have the dtype {word}: its elements are packed"):
        dtype_of_stored(word)


def spelt(path: Path) -> dict[str, str]:
    """What the header of the safetensors file, alone or in an archive, calls the dtype of each tensor."""
    data = path.read_bytes()
    if path.suffix == ".kellet":
        with ArchiveReader(path) as reader:
            (record,) = reader.manifest.state_dicts
            data = bytes(reader.read(record.entry))
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    return {key: value["dtype"] for key, value in header.items() if key != "__metadata__"}


def arrays() -> dict[str, Any]:
    return {name: np.arange(1, 9).astype(getattr(ml_dtypes, name)).reshape(2, 4) for name in FLOAT8}


def test_float8_kinds_are_spelt_one_way_by_export_convert_and_safetensors(tmp_path: Path) -> None:
    exported, converted, plain = (tmp_path / name for name in ("a.kellet", "b.kellet", "c.safetensors"))
    with PackageExporter(exported, fsync=False, prove=False) as exporter:
        exporter.save_state_dict("m", "w", arrays())
    write_checkpoint(converted, arrays(), fsync=False)
    write_checkpoint(plain, arrays(), fsync=False)
    assert spelt(exported) == spelt(converted) == spelt(plain) == FLOAT8
    for path in (exported, converted, plain):
        again = open_checkpoint(path)
        assert {key: value.dtype for key, value in again.items()} == {name: name for name in FLOAT8}
        for key, value in arrays().items():
            assert again[key].numpy().tobytes() == value.tobytes()


def test_float8_kinds_come_back_as_they_were(tmp_path: Path) -> None:
    with PackageExporter(tmp_path / "a.kellet", fsync=False, prove=False) as exporter:
        exporter.save_state_dict("m", "w", arrays())
        exporter.save_object("m", "o", {"list": list(arrays().values())})
    with PackageImporter(tmp_path / "a.kellet") as importer:
        state, stored = importer.load_state_dict("m", "w"), importer.load_object("m", "o")["list"]
        for (name, value), other in zip(arrays().items(), stored, strict=True):
            for found in (np.asarray(state[name]), other):
                assert (found.dtype, found.shape, found.tobytes()) == (value.dtype, (2, 4), value.tobytes())


def test_the_table_needs_neither_numpy_nor_kellet() -> None:
    code = (
        "import sys, packager._tensors as t; t.DTYPES, t.lay_out, t.stored_as('<f4');"
        "print({'numpy', 'kellet'} & set(sys.modules))"
    )
    run = processes.run([sys.executable, "-c", code], cold=True, capture_output=True, text=True, check=True)
    assert run.stdout == "set()\n"


# What ml_dtypes 0.6 has, and the table leaves out; and one that is taken out of the table.
NEWER = [name for name in ("uint1", "int1", "complex32", "bcomplex32") if hasattr(ml_dtypes, name)]


@pytest.mark.parametrize("name", [*NEWER, "int2"])
def test_a_dtype_of_ml_dtypes_that_the_table_lacks_is_refused_and_not_stored_as_void(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = importlib.import_module("packager._tensors.dtypes")
    monkeypatch.setattr(known, "_EXTENSIONS", known._EXTENSIONS - {name})
    for table in (DTYPES, SPELLED):
        monkeypatch.delitem(table, name, raising=False)  # type: ignore[arg-type]  # a dict, not to be changed
    array = np.ones(2).astype(getattr(ml_dtypes, name))
    exporter = PackageExporter(tmp_path / "a.kellet", fsync=False, prove=False)
    exporter.save_object("m", "o", [array])
    with pytest.raises(PackagingError, match=f"dtype {name} cannot be stored"):
        exporter.close()


def test_a_dtype_that_the_installed_ml_dtypes_lacks_is_a_value_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(ml_dtypes, "float8_e3m4")
    dtype_from_name.cache_clear()
    with pytest.raises(ValueError, match="lacks the dtype 'float8_e3m4'"):
        dtype_from_name("float8_e3m4")
