"""Zip files of other programs, with any number in any field."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from packager._weights.zip_files import ZipFile

LONG = 0xFFFFFFFF


@dataclass
class Entry:
    """An entry as a zip writer spells it; `local` and `central` say what stands there instead."""

    name: bytes
    data: bytes
    packed: bytes | None = None  # deflated, where it is given
    extra: bytes = b""
    note: bytes = b""
    local: Mapping[str, Any] = field(default_factory=dict)
    central: Mapping[str, Any] = field(default_factory=dict)

    def fields(self) -> dict[str, Any]:
        packed = self.data if self.packed is None else self.packed
        return {
            "flags": 0,
            "method": 0 if self.packed is None else 8,
            "crc": zlib.crc32(self.data),
            "packed": len(packed),
            "size": len(self.data),
            "name": self.name,
            "extra": self.extra,
        }

    def written(self) -> bytes:
        it = {"magic": b"PK\x03\x04", **self.fields(), **self.local}
        head = struct.pack("<4sHHHHH", it["magic"], 20, it["flags"], it["method"], 0, 0)
        sizes = struct.pack("<IIIHH", it["crc"], it["packed"], it["size"], len(it["name"]), len(it["extra"]))
        return head + sizes + it["name"] + it["extra"] + (self.data if self.packed is None else self.packed)

    def record(self, start: int) -> bytes:
        it = {"magic": b"PK\x01\x02", "disk": 0, "start": start, **self.fields(), **self.central}
        head = struct.pack("<4sHHHHHH", it["magic"], 20, 20, it["flags"], it["method"], 0, 0)
        sizes = (it["crc"], it["packed"], it["size"], len(it["name"]), len(it["extra"]), len(self.note))
        tail = struct.pack("<HHII", it["disk"], 0, 0, it["start"])
        return head + struct.pack("<IIIHHH", *sizes) + tail + it["name"] + it["extra"] + self.note


def zipped(
    *entries: Entry, long: Mapping[str, Any] | None = None, directory: bytes = b"", **end: Any
) -> bytes:
    """A zip file of these; `end` and `long` say what stands in the end records instead, `long` makes both."""
    body, records = b"", b""
    for entry in entries:
        records += entry.record(len(body))
        body += entry.written()
    records += directory
    it = {"magic": b"PK\x05\x06", "disk": 0, "first": 0, "here": len(entries), "count": len(entries)}
    it |= {"length": len(records), "start": len(body)}
    tail = b""
    if long is not None:
        place = len(body) + len(records)
        its = {**it, "magic": b"PK\x06\x06", "size": 44, "locator": b"PK\x06\x07", "place": place}
        its |= {"on": 0, "disks": 1, **long}
        head = struct.pack("<4sQHHII", its["magic"], its["size"], 45, 45, its["disk"], its["first"])
        tail = head + struct.pack("<QQQQ", its["here"], its["count"], its["length"], its["start"])
        tail += struct.pack("<4sIQI", its["locator"], its["on"], its["place"], its["disks"])
    it |= end
    short = struct.pack(
        "<4sHHHHII", *(it[n] for n in ("magic", "disk", "first", "here", "count", "length", "start"))
    )
    return body + records + tail + short + struct.pack("<H", it.get("comment", 0))


def deflated(data: bytes, level: int = 9) -> bytes:
    machine = zlib.compressobj(level, zlib.DEFLATED, -15)
    return machine.compress(data) + machine.flush()


A, B = Entry(b"a", b"first"), Entry(b"b", b"second one")


def words(*values: int) -> bytes:
    """A ZIP64 field."""
    return struct.pack(f"<HH{len(values)}Q", 1, 8 * len(values), *values)


Opened = Callable[[bytes], ZipFile]
"""Opens the bytes of a zip file: the fixture `opened_zip`."""


def contents(members: ZipFile) -> dict[str, bytes]:
    """What is in a zip file, by name, as our reader gives it."""
    return {name: bytes(members.read(name)) for name in members}
