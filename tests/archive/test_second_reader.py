"""The second reader, written from the specification alone, reads what packager writes, and finds the same."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kellet
from fixtures.second_reader import Archive, Refused
from kellet import nn
from packager import PackageExporter
from packager._archive import (
    ArchiveReader,
    ArchiveWriter,
    Manifest,
    StateDictRecord,
    TensorReader,
    TensorSpec,
    add_tensors,
    verify,
)
from packager._tensors import DTYPE_BITS

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = sorted((ROOT / "tests" / "golden").glob("*.kellet"))

BASE = np.arange(6000, dtype=np.float32).reshape(60, 100)
STATES: dict[str, dict[str, Any]] = {
    "views": {"all": BASE, "rows": BASE[3:9], "steps": BASE[::2, ::-3], "turned": BASE.T, "tied": BASE},
    "alone": {
        "odd": np.arange(7, dtype=np.int16)[1:6:2],
        "one": np.float64(3.0),
        "wide": np.zeros((2, 1))[::-1],
    },
    "dtypes": {code: np.arange(3).astype(code) for code in "? u1 i1 u2 i2 f2 u4 i4 f4 c8 f8 i8 u8".split()},
    "empty": {"none": np.zeros((0, 3)), "none too": np.zeros((2, 0), np.int8), "größe #1": np.ones(())},
    "extras": {"w": np.ones(3), "note": "text", "more": [1, (2.5, None)], "object": {"a": {1, 2}}},
    "nothing": {},
}


def saved(**options: Any) -> bytes:
    file = io.BytesIO()
    with PackageExporter(file, policy="auto", prove=False, **options) as exporter:
        for name, state in STATES.items():
            exporter.save_state_dict("net", name, state)
        exporter.save_state_dict("net", "again", {"elsewhere": BASE, "part": BASE[5:], "own": np.ones(2)})
        exporter.save_object("net", "model", nn.Sequential(nn.Linear(3, 2), nn.ReLU()))
        exporter.save_object(
            "net", "things", {"list": [*range(2000)], "arrays": [BASE[1], BASE.T], "set": {1, 2}}
        )
        exporter.save_text("net", "größe.txt", "text")
        exporter.save_pickle("net", "pickle", [1], dependencies=False)
        exporter.save_entry_point("model", "net", "model")
        exporter.save_example("model", {"input": kellet.ones(1, 3)})
    return file.getvalue()


def unusual() -> bytes:
    """Dtypes that NumPy lacks, elements of a few bits, and an entry that is aligned."""
    file = io.BytesIO()
    names = [name for name, bits in DTYPE_BITS.items() if bits]
    specs = [TensorSpec(name, name, (8,), (1,), 0, at) for at, name in enumerate(names)]
    specs.append(TensorSpec("view", "BF16", (2, 3), (-1, 2), 1, names.index("BF16")))
    specs.append(TensorSpec("bytes", "U8", (16,), (1,), 0, names.index("BF16")))
    with ArchiveWriter(file) as writer:
        add_tensors(
            writer,
            "net/w",
            specs,
            [bytes(range(DTYPE_BITS[name])) for name in names],
            metadata={"format": "x"},
        )
        writer.add("net/aligned", b"12", kind="resource", align=64)
        writer.add("net/large", bytes(2_500_000), kind="resource")
        writer.seal(Manifest(state_dicts=(StateDictRecord("net", "w", "net/w"),)))
    return file.getvalue()


CASES = {
    **{path.stem: path.read_bytes for path in GOLDEN},
    "saved": saved,
    "saved with CRC-32 alone": lambda: saved(digests="crc"),
    "runnable": lambda: saved(runnable=True),
    "unusual": unusual,
}


@pytest.mark.parametrize("make", CASES.values(), ids=CASES)
def test_both_readers_find_the_same(make: Any) -> None:
    data = make()
    with ArchiveReader(data, digests="crc") as reader:
        assert verify(reader, all_named=True).problems == ()
        found = Archive(data)
        found.verify()
        assert found.identity == reader.identity
        assert [*found.entries][: len(reader.names())] == [*reader.names()]
        members = 0
        for name in reader.names():
            entry = reader.entry(name)
            assert found.entries[name] == (entry.kind, entry.size)
            assert found.read(name) == bytes(reader.view(name))
            if entry.kind == "tensors":
                members += 1
                tensors = TensorReader(reader, name)
                assert [*map(shown, found.tensors(name).items())] == [
                    (spec.key, spec.dtype, spec.shape, elements(tensors, spec)) for spec in tensors.values()
                ]
        assert members > 0


def shown(item: tuple[str, Any]) -> tuple[str, str, tuple[int, ...], bytes]:
    """Key, dtype, shape and elements of what the second reader gives."""
    key, value = item
    if isinstance(value, tuple):
        return key, *value
    name = {"f": "F", "u": "U", "i": "I", "c": "C"}[value.dtype.kind] + str(8 * value.dtype.itemsize)
    return key, name, value.shape, value.tobytes()


def elements(tensors: TensorReader, spec: TensorSpec) -> bytes:
    """The elements of a tensor in C order, as packager's index says where they are."""
    bits, storage = DTYPE_BITS[spec.dtype], bytes(tensors.storage(spec.storage))
    if bits % 8 or 0 in spec.shape:
        return storage if bits % 8 else b""
    words = np.frombuffer(storage, f"V{bits // 8}")
    places = np.full(spec.shape, spec.offset)
    for axis, stride in enumerate(spec.strides):
        steps = np.arange(spec.shape[axis]) * stride
        places += steps.reshape([-1 if at == axis else 1 for at in range(len(spec.shape))])
    return words[places].tobytes()


def test_an_identity_is_compared() -> None:
    data = saved(digests="crc")
    for identity in (Archive(data).identity, "0" * 64):
        with pytest.raises(Refused, match=r"section 5\.1"):
            Archive(data, identity)
    whole = GOLDEN[0].read_bytes()
    assert Archive(whole, Archive(whole).identity).facts["environment"]
