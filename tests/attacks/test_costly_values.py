"""Values that cost far more than their bytes to build, hash or print: each is refused, and twins load."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Sequence
from pathlib import PurePosixPath
from types import GenericAlias
from typing import Any

import numpy as np
import pytest

from packager._objects import encode
from packager._objects.records import Kind as K
from packager.errors import PackageError
from tests.attacks import object_forger as forge
from tests.tables import one_test

Records = list[list[Any]]


def _twice(kind: int, levels: int = 60) -> Records:
    """Records of which each holds the one before twice."""
    records: Records = [[kind, 1]]
    for _ in range(levels):
        records.append([kind, -len(records), -len(records)])
    return records


def _load(records: Records, codecs: Sequence[str] = ()) -> Any:
    return forge.load(forge.archive_of(forge.table_of(records, codecs=codecs)))


@one_test
@pytest.mark.parametrize(
    "pattern",
    [
        "[\0-\uffff]" * 3000,
        r"[\0-\uffff]" * 3000,
        r"[-\0-\U0010ffff]" * 3000,
        r"[\\uffff-\uffff]" * 3000,
        r"[\x00-\N{LATIN SMALL LETTER A}]" * 3000,
        "a" * 600_000,
    ],
    ids=range(6),
)
def test_patterns_that_take_long_to_compile_are_refused_on_both_sides(pattern: str) -> None:
    with pytest.raises(PackageError, match="expected patterns that compile in at most 4194304 steps"):
        _load([[K.CODEC, 1, [pattern, int(re.IGNORECASE)]]], ["re.pattern"])


def test_many_patterns_together_are_refused() -> None:
    records: Records = [[K.CODEC, 1, [r"[\0-\uffff]" + "x" * count, 2]] for count in range(80)]
    with pytest.raises(PackageError, match="expected patterns that compile in at most"):
        _load([*records, [K.LIST, *range(-80, 0)]], ["re.pattern"])


@pytest.mark.parametrize(
    "make",
    [
        lambda: re.compile(r"(?u)\b\w\w+\b"),
        lambda: re.compile("[\u4e00-\u9fff]|[^\0-\x7f]+|\\d-\\d", re.IGNORECASE),
        lambda: re.compile("|".join(f"word{number}" for number in range(20_000))),
        lambda: re.compile("[" + "".join(f"{chr(at)}-{chr(at + 8)}" for at in range(256, 55_000, 80)) + "]"),
        lambda: re.compile(rb"[\x00-\xff]+\-[a-z]"),
    ],
    ids=range(5),
)
def test_patterns_in_use_load(make: Callable[[], re.Pattern[Any]]) -> None:
    twin = make()
    assert forge.load(forge.archive_of(forge.encoded(twin))) == twin


@pytest.mark.long
def test_a_pattern_that_no_reader_compiles_is_refused_when_it_is_stored() -> None:
    (refusal,) = encode(re.compile("x" * 600_000)).with_sources(lambda module: False).refusals
    assert "expected patterns that compile in at most 4194304 steps" in refusal.reason


def test_a_pattern_that_is_no_text_is_refused_when_it_is_stored() -> None:
    (refusal,) = encode(re.compile("[\ud800-\udfff]")).with_sources(lambda module: False).refusals
    assert "a pattern with an unpaired surrogate" in refusal.reason
    twin = re.compile(r"[\ud800-\udfff]")
    assert forge.load(forge.archive_of(forge.encoded(twin))) == twin


@one_test
@pytest.mark.parametrize("kind", [K.LIST, K.TUPLE])
@pytest.mark.parametrize(
    "name",
    [f"IPv{version}{what}" for version in (4, 6) for what in ("Address", "Network", "Interface")],
)
def test_addresses_are_made_of_texts_and_numbers(name: str, kind: int) -> None:
    records = _twice(kind)
    records += [[K.GLOBAL, "ipaddress", name], [K.CALL, -len(records) - 1, -len(records)]]
    with pytest.raises(PackageError, match=f"ipaddress:{name} with arguments other than texts and numbers"):
        _load(records)


@pytest.mark.parametrize(
    ("module", "name", "attribute"),
    [
        ("pathlib", "PurePosixPath", "_cached_cparts"),
        ("pathlib", "PurePosixPath", "_parts"),
        ("pathlib", "PureWindowsPath", "_hash"),
        ("ipaddress", "IPv6Address", "_scope_id"),
        ("ipaddress", "IPv4Network", "network_address"),
    ],
)
def test_attributes_that_are_hashed_are_not_those_of_the_archive(
    module: str, name: str, attribute: str
) -> None:
    records = _twice(K.TUPLE)
    deep = -len(records)
    records.append([K.GLOBAL, module, name])
    records.append([K.SHAPE, -len(records), None, attribute])
    records.append([K.OBJ, -len(records), deep])
    records.append([K.DICT, -len(records), 1])
    with pytest.raises(PackageError, match=f"{attribute}, an attribute of {module}:{name}"):
        _load(records)


def test_an_alias_as_a_key_is_measured_with_what_it_stands_for() -> None:
    records = _twice(K.TUPLE)
    deep = -len(records)
    records += [[K.GLOBAL, "types", "GenericAlias"], [K.TUPLE]]
    records.append([K.CALL, deep - 1, deep, deep - 2])
    records.append([K.SET, -len(records)])
    with pytest.raises(PackageError, match=r"keys or members of sets have \d+ parts in all"):
        _load(records)


def test_addresses_paths_and_aliases_load() -> None:
    twin = {
        ipaddress.ip_address("10.1.2.3"): 1,
        ipaddress.ip_network("10.0.0.0/8"): 2,
        ipaddress.ip_interface("::1/64"): 3,
        PurePosixPath("a/b"): 4,
        GenericAlias(list, (int,)): 5,
    }
    assert forge.load(forge.archive_of(forge.encoded(twin))) == twin


def _dtypes(fields: Sequence[str], levels: int) -> Records:
    """Records of a dtype whose fields all are the one before, and so on."""
    records: Records = [[K.CODEC, 1, "<f4"]]
    literal = ["struct", 4, False, *(part for name in fields for part in (name, 0, None))]
    for _ in range(levels):
        records.append([K.CODEC, 1, literal, *([-len(records)] * len(fields))])
    return records


def test_dtypes_are_bounded_in_depth_and_fields() -> None:
    with pytest.raises(PackageError, match="expected dtypes nested at most 32 deep"):
        _load(_dtypes("a", 50_000), ["numpy.dtype"])
    with pytest.raises(PackageError, match="expected dtypes of at most 65536 fields"):
        _load(_dtypes("ab", 30), ["numpy.dtype"])
    assert _load(_dtypes("a", 31), ["numpy.dtype"]).itemsize == 4
    assert _load(_dtypes("ab", 14), ["numpy.dtype"]).itemsize == 4


def test_a_dtype_that_is_too_deep_is_refused_when_it_is_stored() -> None:
    dtype = np.dtype("<f4")
    for _ in range(31):
        dtype = np.dtype([("a", dtype)])
    assert forge.load(forge.archive_of(forge.encoded(dtype), externs=["numpy"])) == dtype
    refusals = encode(np.dtype([("a", dtype)])).with_sources(lambda module: False).refusals
    assert "expected dtypes nested at most 32 deep" in refusals[0].reason


# --- what never ends, where a library makes a tuple of it, or hashes it ---

ENDLESS: list[Any] = [K.CODEC, 2, "count", 0, 1]


@pytest.mark.parametrize("name", ["SyntaxError", "IndentationError", "TabError"])
def test_the_place_of_an_error_in_a_source_is_a_tuple(name: str) -> None:
    records: Records = [[K.GLOBAL, "builtins", name], ENDLESS, [K.CODEC, 1, None, -1, "text", -2]]
    with pytest.raises(PackageError, match="expected the place of an error in a source, as a tuple"):
        _load(records, ["exception", "itertools"])


@pytest.mark.parametrize(
    "twin",
    [
        SyntaxError("text"),
        SyntaxError("text", ("file.py", 1, 2, "line")),
        SyntaxError("text", "other", "more"),
        OSError(2, "text", "file"),
        ValueError("text", [1, 2]),
    ],
    ids=range(5),
)
def test_errors_load(twin: BaseException) -> None:
    loaded = forge.load(forge.archive_of(forge.encoded(twin)))
    assert (type(loaded), repr(loaded)) == (type(twin), repr(twin))


@pytest.mark.parametrize("width", [2, 60], ids=["many times", "wide"])
def test_a_label_is_measured_before_it_is_hashed(width: int) -> None:
    records: Records = [[K.PACKED_TUPLE, 1]]
    for _ in range(14):
        records.append([K.TUPLE, *[-len(records)] * width])
    records.append([K.CODEC, 1, ["RangeIndex"], -len(records), 0, 3, 1])
    with pytest.raises(PackageError, match="tuples of them, at most 4096 in all, found tuple"):
        _load(records, ["pandas.index"])


def test_labels_of_some_parts_load() -> None:
    import pandas as pd

    label = (("a", 1), ("b", (2.5, None)))
    twin = pd.RangeIndex(3, name=label)
    loaded = forge.load(forge.archive_of(forge.encoded(twin), externs=("pandas",)))
    assert (loaded.name, len(loaded)) == (label, 3)
