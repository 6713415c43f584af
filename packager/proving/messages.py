"""What the two processes of a proof leave for each other in its folder: plain data, whole or not at all.

They are spelt in msgpack, which archives are opened with anyway: `json` takes a millisecond to import, a
hundredth of a proof. Names of files may hold halves of surrogate pairs.
"""

from __future__ import annotations

import os

import msgpack

TYPE_CHECKING = False  # as in packager.lazy
if TYPE_CHECKING:
    from typing import IO, Any

_HALVES = "surrogatepass"
_MOST = 1 << 40
"""Bytes that a message may have; the memory of this machine is the limit."""


def write_message(file: str, value: Any) -> None:
    """Write plain data to a file that appears in one step."""
    with open(f"{file}.part", "wb") as part:
        part.write(msgpack.packb(value, unicode_errors=_HALVES))
    os.replace(f"{file}.part", file)


def read_message(file: str) -> Any:
    """Return what was written to a file; None where there is none. Tuples come back as lists.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_message(os.path.join(folder, "order"), {"path": ("caf\\udce9",), "rate": 0.5})
    ...     read_message(os.path.join(folder, "order")), read_message(os.path.join(folder, "answer"))
    ({'path': ['caf\\udce9'], 'rate': 0.5}, None)
    """
    try:
        with open(file, "rb") as whole:
            return msgpack.unpackb(whole.read(), unicode_errors=_HALVES)
    except FileNotFoundError:
        return None


def add_message(file: IO[bytes], value: Any) -> None:
    """Add plain data to an open file, at once."""
    file.write(msgpack.packb(value, unicode_errors=_HALVES))
    file.flush()


def unpacker() -> Any:
    """Return what takes bytes (`feed`) and gives the messages that are whole, when it is iterated."""
    return msgpack.Unpacker(unicode_errors=_HALVES, max_buffer_size=_MOST, strict_map_key=False)


def packed(value: Any) -> bytes:
    """Return plain data as the bytes of a message."""
    data: bytes = msgpack.packb(value, unicode_errors=_HALVES)
    return data


def messages_in(file: str) -> list[Any]:
    """Return what was added to a file, the last one once it is whole; nothing where there is no file.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "steps")
    ...     with open(path, "wb") as steps:
    ...         add_message(steps, ["import", "net"])
    ...         _ = steps.write(msgpack.packb(["object", "model/model"])[:-1])
    ...     messages_in(path), messages_in(path + ".part")
    ([['import', 'net']], [])
    """
    try:
        with open(file, "rb") as whole:
            return list(msgpack.Unpacker(whole, unicode_errors=_HALVES))
    except FileNotFoundError:
        return []
