"""What meets each bound of files of weights, policies and migrations; see `bound_rows`."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from packager._globs import Glob
from packager._policy import parse_policy
from packager._toml_text import parse_toml
from packager._weights import writing
from packager._weights.checkpoint import _weight_map
from packager._weights.contents import state_dict_in
from packager._weights.legacy_tensors import LegacyFile, LegacyTensor
from packager._weights.pickle_opcodes import read_pickle
from packager._weights.torch_names import torch_names
from packager._weights.torch_packages import open_torch_package
from packager._weights.zip_files import ZipFile
from tests.attacks.bound_rows import Attempt, Row, one_byte


def repeated(count: int, folder: Path) -> object:
    tensor = LegacyTensor(one_byte(), "uint8", (count,), (0,), 0)
    return writing.write_checkpoint(folder / "a.kellet", {"w": tensor}, fsync=False)


def pickled(data: bytes) -> object:
    return read_pickle(io.BytesIO(b"\x80\x04" + data), torch_names(), opaque=True)


def sets(count: int, folder: Path) -> object:
    return pickled(b"\x8f0" * count + b"N.")


def claimed(count: int, folder: Path) -> object:
    """A zip file whose directory says that the 100 bytes of its entry unpack to so many."""
    with zipfile.ZipFile(folder / "a.pt", "w") as file:
        file.writestr("x", bytes(100))
    data = bytearray((folder / "a.pt").read_bytes())
    for first, method, size in ((0, 8, 22), (data.index(b"PK\1\2"), 10, 24)):
        data[first + method : first + method + 2] = b"\x08\0"
        data[first + size : first + size + 4] = count.to_bytes(4, "little")
    (folder / "a.pt").write_bytes(data)
    with LegacyFile(folder / "a.pt") as opened:
        return len(ZipFile(opened))


def state(depth: int) -> object:
    """Dicts inside each other, a tensor in the last."""
    value: Any = LegacyTensor(one_byte(), "uint8", (1,), (1,), 0)
    for _ in range(depth):
        value = {"a": value}
    return state_dict_in(value, "x", unwrap=None, everything=True)


def wrapped(depth: int) -> object:
    """A state dict, the only one, below so many other dicts."""
    value: Any = {"w": LegacyTensor(one_byte(), "uint8", (1,), (1,), 0)}
    for _ in range(depth):
        value = {"a": value}
    return state_dict_in(value, "x", unwrap=None, everything=False)


def parts(count: int, folder: Path) -> object:
    """A dict of a tensor and numbers: each is looked at once, and the dict."""
    root = {"w": LegacyTensor(one_byte(), "uint8", (1,), (1,), 0), **{f"n{n}": n for n in range(count)}}
    return state_dict_in(root, "x", unwrap=None, everything=True)


def index(count: int, folder: Path) -> object:
    """An index of so many bytes."""
    path = folder / "a.index.json"
    path.write_text('{"weight_map": {"k": "a.safetensors"}}'.ljust(count))
    return _weight_map(path)


def fields(count: int, folder: Path) -> object:
    path = folder / "a.index.json"
    others = {f"f{number}": 0 for number in range(count)}
    path.write_text(json.dumps({**others, "weight_map": {"k": "a.safetensors"}}))
    return _weight_map(path)


def directory(count: int, folder: Path) -> object:
    """A zip file of one entry, whose record has so many bytes."""
    with zipfile.ZipFile(folder / "a.pt", "w") as file:
        file.writestr("x" * (count - 46), b"")
    with LegacyFile(folder / "a.pt") as opened:
        return len(ZipFile(opened))


def resource(count: int, folder: Path) -> object:
    with zipfile.ZipFile(folder / "a.pt", "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("a/.data/extern_modules", b"")
        file.writestr("a/text.txt", bytes(count))
    return open_torch_package(folder / "a.pt").load_binary("", "text.txt")


def rules(count: int, folder: Path) -> object:
    return parse_policy("rules = [" + '{ action = "deny", include = "a" },' * count + "]")


def globs(count: int, folder: Path) -> object:
    return parse_policy(f"exclude_data = {json.dumps([f'f{n}' for n in range(count)])}")


def toml(text: Callable[[int], str]) -> Attempt:
    return lambda count, folder: parse_toml(text(count))


LEGACY: dict[str, Row] = {
    "MAX_NAME": Row(
        lambda n, folder: pickled(b"c" + b"a" * n + b"\nb\n."), 1000, "a name of 1001 bytes and more"
    ),
    "MAX_UNKNOWN_NAMES": Row(
        lambda n, folder: pickled(b"".join(b"cm%d\nx\n0" % k for k in range(n)) + b"N."),
        1000,
        "names 1001 things and more",
    ),
    "FREE_MEMORY": Row(
        sets,
        6,
        "1625 bytes of memory and more, at most 1576",
        {"weights.pickle_opcodes.FREE_MEMORY": 1000},
        (1625, 1576),
    ),
    "MAX_MEMORY": Row(
        sets,
        4,
        "1161 bytes of memory and more, at most 1000",
        {"weights.pickle_opcodes.MAX_MEMORY": 1000},
        (1161, 1000),
    ),
    "MAX_EXPANSION": Row(
        claimed, 1032 * 100, "100 bytes cannot hold 103201, 1032 for each at most", figures=(103201, 1032)
    ),
    "MAX_INT_BYTES": Row(
        lambda n, folder: pickled(b"\x8b" + n.to_bytes(4, "little") + b"\1" * n + b"."),
        256,
        "a number of 257 bytes; no data has one of more than 256",
    ),
    "MAX_TUPLE_KEY": Row(
        lambda n, folder: pickled(b"}(" + b"K\1" * n + b"tNs."), 8, "a tuple of 9; .* of more than 8"
    ),
    "MAX_DEPTH": Row(lambda n, folder: state(n), 64, "nested 65 deep; at most 64"),
    "MAX_CONTAINER_DEPTH": Row(
        lambda n, folder: wrapped(n), 4, "a state dict lies 5 levels deep, and 4 are searched"
    ),
    "MAX_PARTS": Row(
        parts, 98, "101 parts and more; at most 100", {"weights.contents.MAX_PARTS": 100}, (101, 100)
    ),
    "FREE_INFLATED": Row(
        resource,
        1000,
        "unpack to a resource of 1001; the limit for this file is 1000",
        {"weights.zip_files.FREE_INFLATED": 1000, "weights.zip_files.INFLATED_PER_BYTE": 0},
    ),
    "MAX_SHARD_INDEX": Row(
        index, 100, "101 bytes; an index has at most 100", {"weights.checkpoint.MAX_SHARD_INDEX": 100}
    ),
    "MAX_SHARD_FIELDS": Row(
        fields, 1000, "1001 entries and more; expected at most 1000 beside the weight_map"
    ),
    "MAX_ZIP_DIRECTORY": Row(
        directory, 100, "a directory of 101 bytes; at most 100", {"weights.zip_files.MAX_ZIP_DIRECTORY": 100}
    ),
    "FREE_WRITTEN": Row(
        repeated, 100, "written as 101 bytes; the limit is 100", {"weights.writing.FREE_WRITTEN": 36}
    ),
}

FILES: dict[str, Row] = {
    "MAX_TOML": Row(toml(lambda n: "#" * n), 100, "101 characters; at most 100", {"toml_text.MAX_TOML": 100}),
    "MAX_KEY_PARTS": Row(toml(lambda n: ".".join("a" * n) + " = 1"), 16, "17 parts of one key; at most 16"),
    "MAX_BRACKETS": Row(
        toml(lambda n: "".join(f"[a{k}]\n" for k in range(n))),
        10,
        "11 brackets, and dots of keys; at most 10",
        {"toml_text.MAX_BRACKETS": 10},
    ),
    "MAX_VALUES": Row(
        toml(lambda n: "a = [" + "1," * (n - 1) + "]"),
        10,
        "11 keys and values; at most 10",
        {"toml_text.MAX_VALUES": 10},
    ),
    "MAX_NESTING": Row(
        toml(lambda n: "a = " + "[" * n + "]" * n), 16, "17 brackets inside each other; at most 16"
    ),
    "MAX_BARE": Row(toml(lambda n: "a" * n + " = 1"), 200, "201 characters without quotes; at most 200"),
    "MAX_PATTERN": Row(
        lambda n, folder: Glob("*" + "a" * (n - 1)), 4096, "a pattern of 4,097 characters.*at most 4,096"
    ),
    "MAX_RULES": Row(rules, 10, "11 rules; at most 10", {"policy.policy.MAX_RULES": 10}),
    "MAX_PATTERNS": Row(globs, 10, "11 patterns; at most 10", {"policy.policy.MAX_PATTERNS": 10}),
}
