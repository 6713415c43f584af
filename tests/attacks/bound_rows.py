"""What meets each bound of archives: a row for each name of the table.

A row makes what has exactly so many, and is refused for one more. A lower figure stands in for the real one
where that would take more than 50 ms or 50 MB; the row says so in `lowered`.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from packager import ValueType
from packager._archive import Manifest, SchemaRecord, TakenValue, pack, unpack
from packager._archive.entry_names import _folders, check_names, check_reserved_size
from packager._archive.manifest import dump_manifest, load_manifest
from packager._archive.tensor_index import TensorIndex
from packager._audit.keys import KeyChecks
from packager._codecs import Child, arrays, c_state, frameworks, numpy_values, standard_values
from packager._codecs.registry import default_registry
from packager._environment import wheel_contents
from packager._environment.wheels import Wheel
from packager._migrations import Migration, Template, default, drop, plan_migration, rename
from packager._objects.checking import check_shape, checked_table, unpack_table
from packager._objects.records import Kind
from packager._weights.legacy_tensors import LegacyStorage, checked_tensor
from tests.codecs.parts import rows_of

Attempt = Callable[[int, Path], object]
INT, TUPLE = Child("scalar", None, 1), Child("tuple")


@dataclass(frozen=True)
class Row:
    """`attempt` takes a number and an empty folder; `most` passes, and one more is refused by `said`.

    The refusal gives two figures: what was found, and the limit. They are `most + 1` and `most`, but where
    the bound counts something else than the attempt does: then `figures` has them.
    """

    attempt: Attempt
    most: int
    said: str
    lowered: Mapping[str, int] = field(default_factory=dict)
    figures: tuple[int, int] | None = None


def codec(name: str, literal: Callable[[int], Any], *children: Child) -> Attempt:
    return lambda count, folder: default_registry().find(name).check(literal(count), children, 1)


def schema_of(count: int) -> Manifest:
    taken = tuple(TakenValue(f"x{number}", "int") for number in range(count))
    return load_manifest(dump_manifest(Manifest(schemas=(SchemaRecord("model", taken),)))).open()


def tuples(count: int) -> Any:
    value: Any = ()
    for _ in range(count - 1):
        value = (value,)
    return value


def dtype(fields: int, depth: int) -> Any:
    made: Any = np.dtype([(f"f{number}", "u1") for number in range(fields)])
    for _ in range(depth - 2):
        made = np.dtype([("a", made)])
    return made


def table(count: int, folder: Path) -> object:
    """A table of so many empty lists, of which the last is the root."""
    lists = [[Kind.LIST]] * (count - 1)
    records = [*lists, [Kind.LIST, *range(1 - count, 0)]]
    return checked_table(pack([[["records", 1]], records, -count]), {}, None, "x")


def one_byte() -> LegacyStorage:
    return LegacyStorage("0", "uint8", 1, lambda start, stop: memoryview(b"x")[start:stop])


TWO_ROWS = TensorIndex.of_columns(["w"], ["U8"], [(2, 1)], [3])
"""A tensor with a dimension of size 1, whose stride leads nowhere."""


class Tree:
    """Something with modules below it, as a framework has it."""

    def __init__(self, **below: Tree) -> None:
        self._modules = below


class Trees(frameworks.Framework):
    def base(self) -> Any:
        return Tree


def walked(root: Tree) -> object:
    return list(Trees.walk(object.__new__(Trees), root, strict=True))


def wide(count: int) -> Tree:
    """One module under as many names, and the one that holds it."""
    leaf = Tree()
    return Tree(**{f"n{number}": leaf for number in range(count - 1)})


def planned(state: dict[str, Any], *steps: Any, module: Any = None) -> object:
    return plan_migration(Migration("net", steps), state, module=module).values


def nested_dicts(count: int) -> Any:
    value: Any = 1
    for _ in range(count):
        value = {"a": value}
    return value


def matched(count: int, folder: Path) -> object:
    return planned({"k": 1}, *[drop("x")] * count)


def depth_of_tree(count: int) -> object:
    """A tree that is a chain: each node is above the next, and above a leaf."""
    inner = np.arange(0, 2 * count, 2)
    return c_state.met_nodes(inner, inner + 2, inner + 1, 2 * count + 1)


def threads(count: int, folder: Path) -> object:
    held = {"cluster_centers_": np.zeros((1, 1)), "n_features_in_": 1, "_n_threads": count}
    return rows_of("sklearn.cluster._kmeans:_BaseKMeans").check_made(SimpleNamespace(**held))


def entropy(count: int, folder: Path) -> object:
    return numpy_values._words([1] * (count - 1))


def wheel(name: str, data: bytes, files: tuple[str, ...] = ()) -> object:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as made:
        made.writestr("w-1.dist-info/METADATA", data)
        for one in files:
            made.writestr(one, b"")
    read = lambda start, stop: file.getvalue()[start:stop]  # noqa: E731  # two names for one line
    size = len(file.getvalue())
    return wheel_contents._contents(Wheel.parse(name), read, size, wheel_contents._Shared(size))


HEAD = b"Name: w\nVersion: 1\n"
READ_WHEEL = partial(wheel, "w-1-py3-none-any.whl")


ARCHIVE: dict[str, Row] = {
    "MAX_ENTRIES": Row(
        lambda n, folder: check_names([f"n{k}" for k in range(n)]),
        10,
        "archive of 11 entries: at most 10",
        {"archive.entry_names.MAX_ENTRIES": 10},
    ),
    "MAX_FOLDERS": Row(
        lambda n, folder: _folders([f"n{k}/x" for k in range(n)]),
        10,
        "archive of at least 11 folders: at most 10",
        {"archive.entry_names.MAX_FOLDERS": 10},
    ),
    "MAX_NAME_BYTES": Row(
        lambda n, folder: check_names(["x" * n]), 1024, "at most 1024 bytes .* found 1025 bytes and 1;"
    ),
    "MAX_NAME_PARTS": Row(
        lambda n, folder: check_names(["/".join("x" * n)]), 32, "and 32 parts, found 65 bytes and 33;"
    ),
    "MAX_PACKED": Row(
        lambda n, folder: check_reserved_size(".data/manifest.msgpack", n), 1 << 30, "at most 1073741824"
    ),
    "MAX_DIGEST_LINE": Row(
        lambda n, folder: check_reserved_size(".data/manifest.sha256", n), 1024, "1025 bytes; .*at most 1024"
    ),
    "MAX_SIGNATURE": Row(
        lambda n, folder: check_reserved_size(".data/signatures/me", n), 1 << 20, "at most 1048576"
    ),
    "MAX_DEPTH": Row(
        lambda n, folder: unpack(b"\x91" * n + b"\xc0", what="x"), 64, "nested 65 deep; the limit is 64"
    ),
    "FREE_VALUES": Row(
        lambda n, folder: unpack(pack([None] * (n - 1)), what="x"),
        105,
        r"holds at least 106 values; the limit for a file of this size is 105",
        {"archive.bounds.FREE_VALUES": 99},
    ),
    "MAX_STRIDE": Row(
        lambda n, folder: replace(TWO_ROWS, views={0: (0, (2, n - 1))})[0],
        1 << 62,
        "found strides .* of less than",
        figures=(1 << 62, 1 << 62),
    ),
    "FREE_VIEW": Row(
        lambda n, folder: checked_tensor(one_byte(), "uint8", 0, (n,), (0,)),
        (1 << 26) + 8,
        "expands to 67108873 bytes; the limit is 67108872",
    ),
    "MAX_RECORD_DEPTH": Row(
        lambda n, folder: unpack_table(b"\x91" * n + b"\xc0", "x"), 4, "nested 5 deep; the limit is 4"
    ),
    "FREE_RECORDS": Row(
        table, 36, "37 records in 133 bytes; the limit is 36", {"archive.bounds.FREE_RECORDS": 20}
    ),
    "FREE_WEIGHT": Row(
        lambda n, folder: unpack_table(pack([[0] * n]), "x"),
        94,
        "take at least 928 bytes of memory, beyond the limit of 920 for a table of 99 bytes",
        {
            "archive.bounds.FREE_WEIGHT": 920,
            "archive.bounds.WEIGHT_PER_BYTE": 0,
            "archive.packed._AT_ONCE": 0,
        },
        figures=(928, 920),
    ),
    "MAX_EXTENT": Row(
        lambda n, folder: check_shape([n - 1]),
        1 << 48,
        "a list of sizes from 0 to",
        figures=(1 << 48, (1 << 48) - 1),
    ),
    "MAX_NUMPY_EXTENT": Row(
        codec("numpy.dtype", lambda n: ["struct", n - 1, False]),
        1 << 31,
        "a size: ints",
        figures=(1 << 31, (1 << 31) - 1),
    ),
    "MAX_NUMPY_RANK": Row(
        lambda n, folder: arrays._check_elements([1] * n, [Child("codec", "numpy.dtype"), INT]),
        32,
        "a shape of at most 32 sizes, found 33",
    ),
    "MAX_DTYPE_DEPTH": Row(
        lambda n, folder: numpy_values._MeasuredDTypes().measure(dtype(1, n)), 32, "at most 32 deep, found 33"
    ),
    "MAX_DTYPE_FIELDS": Row(
        lambda n, folder: numpy_values._MeasuredDTypes().measure(dtype(n, 2)),
        10,
        "at most 10 fields, found 11",
        {"codecs.numpy_values.MAX_DTYPE_FIELDS": 10},
    ),
    "MAX_SCHEMA_VALUES": Row(
        lambda n, folder: schema_of(n),
        10,
        "11 values",
        {"archive.manifest_records.MAX_SCHEMA_VALUES": 10},
    ),
    "MAX_TYPE_TEXT": Row(
        lambda n, folder: ValueType.parse('{"' + "k" * (n - 9) + '": int}'),
        1 << 16,
        "found 65537 characters; the limit is 65536",
    ),
    "MAX_TYPE_DEPTH": Row(
        lambda n, folder: ValueType.parse("list[" * n + "int" + "]" * n),
        16,
        "found 17 levels; the limit is 16",
    ),
    "MAX_SEED_POOL": Row(
        codec("numpy.seed_sequence", lambda n: [n, 0], INT, TUPLE),
        4096,
        "a pool of 4 to 4096 words, found 4097",
    ),
    "MAX_SEED_WORDS": Row(entropy, 1024, "at most 1024 words, found 1025"),
    "MAX_TREE_DEPTH": Row(
        lambda n, folder: depth_of_tree(n),
        100,
        "101 nodes deep, expected at most 100",
        {"codecs.c_state.MAX_TREE_DEPTH": 100},
    ),
    "MAX_STORED_THREADS": Row(threads, 1024, "_n_threads is 1025, not an int from 1 to 1024"),
    "MAX_KEY_DEPTH": Row(
        lambda n, folder: KeyChecks(lambda: 0).check_keys([tuples(n)]),
        64,
        "nested 65 deep; its hash may take at most 64",
    ),
    "FREE_KEY_PARTS": Row(
        lambda n, folder: KeyChecks(lambda: 2).check_keys([tuple(range(n - 1))]),
        132,
        "have 133 parts in all; the limit is 132",
        {"audit.keys.FREE_KEY_PARTS": 100},
    ),
    "MAX_FRACTION_BYTES": Row(
        lambda n, folder: (
            default_registry().find("fraction").check(None, [INT, Child("scalar", None, bytes(n))], 1)
        ),
        1024,
        "ints of at most 1024 bytes, found 1025",
    ),
    "MAX_LOGGER_NAME": Row(
        codec("logging.logger", lambda n: "a" * n), 1024, "the name of a module, of at most 1024"
    ),
    "MAX_PATTERN_STEPS": Row(
        lambda n, folder: standard_values._Steps().add("a" * n),
        100,
        "at most 1600 steps, found 1616",
        {"codecs.standard_values.MAX_PATTERN_STEPS": 1600},
        (1616, 1600),
    ),
    "MAX_MODULE_PATH": Row(
        lambda n, folder: walked(Tree(**{"x" * n: Tree()})),
        10_000,
        "has 10001 characters; the limit is 10000",
    ),
    "FREE_MODULE_PATHS": Row(
        lambda n, folder: walked(wide(n)),
        42,
        "2 modules hold each other under at least 43 names; the limit is 42",
        {"codecs.frameworks.FREE_MODULE_PATHS": 10},
    ),
    "MAX_TEMPLATE": Row(
        lambda n, folder: Template.parse("x" * n), 10_000, "10,001 characters; at most 10,000"
    ),
    "MAX_TEMPLATE_HOLES": Row(
        lambda n, folder: Template.parse(".".join(f"{{h{k}}}" for k in range(n))),
        64,
        "65 holes and more; at most 64",
    ),
    "FREE_KEY_TEXT": Row(
        lambda n, folder: planned({"abcd": 1}, rename("{k}", "{k}" + "y" * (n - 4))),
        26,
        "makes 27 characters of keys; at most 26",
        {"archive.bounds.FREE_KEY_TEXT": 10},
    ),
    "MAX_MATCHING": Row(
        matched,
        10,
        "match 11,363 characters of keys; at most 10,330",
        {"migrations.applying.MAX_MATCHING": 10_330},
        (11_363, 10_330),
    ),
    "MAX_ASKED_PARTS": Row(
        lambda n, folder: planned(
            {"w": 1}, drop("w", if_module={".".join("a" * n): 1}), module=nested_dicts(n)
        ),
        64,
        "has 65 parts; at most 64",
    ),
    "MAX_MIGRATED_ROWS": Row(
        lambda n, folder: planned({f"k{k}": 1 for k in range(n)}, rename("{k}", "{k}x")),
        10,
        "makes 11 changes; at most 10",
        {"migrations.applying.MAX_MIGRATED_ROWS": 10},
    ),
    "FREE_MADE": Row(
        lambda n, folder: planned(
            {"a": np.zeros(100, "u1")}, default("w", 0, shape=(n - 64,), dtype="uint8")
        ),
        2600,
        "makes 2,601 bytes of arrays to make; at most 2,600",
        {"archive.bounds.FREE_MADE": 1000},
    ),
    "MAX_WHEEL_DIRECTORY": Row(
        lambda n, folder: READ_WHEEL(HEAD, ("x" * (n - 114),)),
        1000,
        "a part of 1001 bytes .*; the limit is 1000",
        {"environment.wheel_contents.MAX_WHEEL_DIRECTORY": 1000},
    ),
    "MAX_WHEEL_METADATA": Row(
        lambda n, folder: READ_WHEEL(HEAD.ljust(n)),
        1000,
        "has 1001 bytes and more; the limit is 1000",
        {"environment.wheel_contents.MAX_WHEEL_METADATA": 1000},
    ),
}
