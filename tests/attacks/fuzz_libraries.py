"""Objects of other libraries, changed at random: our checks refuse them, or the library takes them and works.

An input is a few bytes: the first chooses a sample of the contract tests of a library, the others how it is
changed. Changed are literals and operands of its table, numbers and bytes of its storages, and texts in JSON,
value by value. What loads is then used as its owner would use it: a fault of C code ends this process, which
`fuzz.py` notices. `KELLET_LIBRARIES=pandas` chooses among those that are installed.
"""

from __future__ import annotations

import copy
import json
import os
import random
import resource
import sys
import warnings
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import msgpack

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from packager._audit import TrustContext
from packager._objects import EncodedObject, encode, unpack_table
from packager._objects.records import Kind
from packager.errors import PackageError
from packager.testing.round_trips import load
from tests.contracts.libraries import installed_samples

SOUND = "works"
MOST_MEMORY = 8 << 30
ODD = (None, True, 0, 1, -1, 2, 7, 255, 1 << 15, (1 << 31) - 1, 1 << 31, 1 << 40, (1 << 63) - 1)
ODDER = (1.5, float("nan"), float("inf"), "", "a", "\0", b"", b"\xff", [], ["a", 1])


@dataclass(frozen=True)
class Sample:
    """An object as it is stored, and what its owner would do with it."""

    encoded: EncodedObject
    use: Any
    change: Any = None
    """How its bytes are changed, where the library has a format of its own: `(data, rng) -> data`."""
    trust: tuple[str, ...] = ()
    """What its owner would trust, so that the changes reach what comes behind."""


def installed() -> list[str]:
    """Return the libraries whose objects are changed here."""
    wanted = os.environ.get("KELLET_LIBRARIES", "").split(",")
    return [name for name in installed_samples() if wanted == [""] or name in wanted]


def samples_of(library: str) -> list[Sample]:
    """Return the samples of all contract tests of a library."""
    module = import_module(installed_samples()[library])
    contracts = [value() for name, value in vars(module).items() if name.startswith("Test")]
    change = getattr(module, "changed_bytes", None)
    return [
        Sample(encode(one).with_sources(lambda name: False), module.used, change, tuple(contract.trust))
        for contract in contracts
        for one in contract.samples()
    ]


SAMPLES = [sample for library in installed() for sample in samples_of(library)]


def changed(sample: Sample, rng: random.Random) -> EncodedObject:
    """Return an object with one to three changes in its table, its storages, or both."""
    encoded = sample.encoded
    table = copy.deepcopy(unpack_table(encoded.records, "sample"))
    buffers = [bytearray(storage.buffer) for storage in encoded.storages]
    for _ in range(rng.choice((1, 1, 2, 3))):
        if buffers and rng.random() < 0.6:
            number = rng.randrange(len(buffers))
            own = sample.change if sample.change is not None and rng.random() < 0.85 else _other_bytes
            buffers[number] = own(buffers[number], rng)
            storage = encoded.storages[number]
            _resize(table, storage.name, storage.dtype, len(buffers[number]))
        else:
            _change_table(table, rng)
    storages = tuple(
        replace(storage, buffer=memoryview(bytes(data)))
        for storage, data in zip(encoded.storages, buffers, strict=True)
    )
    return EncodedObject(msgpack.packb(table), storages, ())


def _other_bytes(data: bytearray, rng: random.Random) -> bytearray:
    if data[:1] in (b"{", b"[") and rng.random() < 0.9:
        with suppress(ValueError):
            value = json.loads(data.decode())
            for _ in range(rng.choice((1, 1, 2))):
                value = _other_json(value, rng)
            return bytearray(json.dumps(value).encode())
    kind = rng.randrange(5)
    if kind == 0 and data:
        size = rng.choice((1, 2, 4, 8))
        at = rng.randrange(0, len(data), 1) // size * size
        value = rng.choice((0, 1, 255, 2, 1 << 7, (1 << 63) - 1, 1 << 31, rng.getrandbits(64)))
        data[at : at + size] = (value & ((1 << 8 * size) - 1)).to_bytes(size, "little")[: len(data) - at]
    elif kind == 1 and data:
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    elif kind == 2:
        data = data[: rng.randrange(len(data) + 1)]
    elif kind == 3:
        data = data + data[: rng.randrange(len(data) + 1)]
    elif data:
        at, to, size = rng.randrange(len(data)), rng.randrange(len(data)), rng.randrange(16)
        data[at : at + size] = data[to : to + size]
    return data


def _other_json(value: Any, rng: random.Random) -> Any:
    """Return a value of JSON with one value in it exchanged, dropped or doubled."""
    path, at = [], value
    while type(at) in (dict, list) and at and (not path or rng.random() < 0.85):
        key = rng.choice(list(at)) if type(at) is dict else rng.randrange(len(at))
        path.append((at, key))
        at = at[key]
    if not path:
        return value
    holder, key = path[-1]
    kind = rng.randrange(6)
    if kind == 0:
        del holder[key]
    elif kind == 1 and type(holder) is list:
        holder.insert(rng.randrange(len(holder) + 1), holder[key])
    elif kind == 2 and type(at) is str:
        holder[key] = rng.choice((at * 2, at[:-1], at[::-1], "(" * 50, "a" * 5000, "(a{9}){9}", "\ud800"))
    elif kind == 3:
        other = holder[rng.choice(list(holder))] if type(holder) is dict else rng.choice(holder)
        holder[key] = copy.deepcopy(other)
    elif kind == 4 and type(at) in (int, float):
        holder[key] = rng.choice((0, 1, -1, at + 1, at * 2, 2**31, 2**32, 2**63, 2**64, -1e300, 0.5))
    else:
        holder[key] = copy.deepcopy(rng.choice((None, True, 0, 10**9, 0.1, "", "x", [], {}, [[1]])))
    return value


def _resize(table: Any, name: str, dtype: str, nbytes: int) -> None:
    """Let the only tensor of a storage be as long as the storage, where it is a row."""
    records = [record for record in table[1] if record[0] == Kind.TENSOR and record[1] == name]
    size = {"U8": 1, "I8": 1, "BOOL": 1}.get(dtype)
    row = len(records) == 1 and type(records[0][3]) is list and len(records[0][3]) == 1
    if size and row and records[0][4] is None:
        records[0][3] = [nbytes]


def _change_table(table: Any, rng: random.Random) -> None:
    kinds = (Kind.CODEC, Kind.OBJ, Kind.TENSOR, Kind.LIST, Kind.TUPLE, Kind.DICT, Kind.PACKED_LIST)
    records = [record for record in table[1] if record[0] in kinds and len(record) > 1]
    record = rng.choice(records or table[1])
    at = (
        rng.randrange(2 if record[0] == Kind.CODEC else 1, len(record))
        if len(record) > 2
        else len(record) - 1
    )
    value = record[at]
    if type(value) is list and value and rng.random() < 0.9:
        place = rng.randrange(len(value))
        value[place] = _other_value(value[place], rng)
        if rng.random() < 0.2:
            del value[place]
    elif type(value) is int and value < 0:
        record[at] = rng.choice((-1 - rng.randrange(len(table[1])), *ODD))
    else:
        record[at] = _other_value(value, rng)


def _other_value(value: Any, rng: random.Random) -> Any:
    if type(value) is int and rng.random() < 0.7:
        return max(0, value + rng.choice((-2, -1, 1, 2, 100)))
    if type(value) is bool:
        return not value
    if type(value) is str and value and rng.random() < 0.7:
        return _other_text(value, rng)
    return copy.deepcopy(rng.choice((*ODD, *ODDER)))


def _other_text(text: str, rng: random.Random) -> str:
    """Return a text with one of its words dropped, doubled, exchanged or written in another way."""
    words = text.split(" ")
    at = rng.randrange(len(words))
    other = rng.choice(
        (words[rng.randrange(len(words))], words[at][:-1], words[at] * 2, "self", "\u00e9", "")
    )
    words[at : at + 1] = rng.choice(([], [words[at]] * 2, [other], [other, words[at]]))
    return " ".join(words)


def check(sample: Sample, encoded: EncodedObject) -> str:
    """Load an object and use it; "works", or what refused it. Raises everything but PackageErrors.

    What a library says of an odd object that loaded is its own to say: an Exception there is an answer.
    """
    try:
        made = load(encoded, TrustContext.data_only(), trust=sample.trust)
    except PackageError as error:
        return f"refused: {type(error).__name__}"
    try:
        sample.use(made)
    except Exception as error:
        return f"the library says {type(error).__name__}"
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        return "the library says PanicException"
    return SOUND


def begin() -> None:
    """Let this process, which is of the fuzzer alone, have no more memory than a model may use."""
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))


def one_input(data: bytes) -> str:
    """Make the object that the input describes, load and use it; what every engine calls."""
    if not SAMPLES:
        return "no library is installed"
    sample = SAMPLES[data[0] % len(SAMPLES)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return check(sample, changed(sample, random.Random(data)))
