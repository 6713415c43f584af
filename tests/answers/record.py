"""PyTorch's answers as files: written by `python -m tests.answers.write`, read where PyTorch is not."""

from __future__ import annotations

import hashlib
import json
import zlib
from functools import cache
from pathlib import Path
from typing import Any

import msgpack
import numpy as np

from tests.answers.telling import Raised

FOLDER = Path(__file__).parents[2] / "fixtures" / "answers"
DIGESTS = FOLDER / "digests.json"
ARRAY, COMPLEX, RAISED = 1, 2, 3


def pack(answers: dict[str, Any]) -> bytes:
    return zlib.compress(msgpack.packb(answers, default=_encoded), 9)


def unpack(data: bytes) -> dict[str, Any]:
    found: dict[str, Any] = msgpack.unpackb(zlib.decompress(data), ext_hook=_decoded)
    return found


def _encoded(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        parts = [value.dtype.str, value.shape, np.ascontiguousarray(value).tobytes()]
        return msgpack.ExtType(ARRAY, msgpack.packb(parts))
    if isinstance(value, complex):
        return msgpack.ExtType(COMPLEX, msgpack.packb([value.real, value.imag]))
    if isinstance(value, Raised):
        return msgpack.ExtType(RAISED, msgpack.packb([value.kinds, value.said]))
    raise TypeError(f"{type(value).__name__} cannot be recorded")


def _decoded(code: int, data: bytes) -> Any:
    parts = msgpack.unpackb(data)
    if code == ARRAY:
        return np.frombuffer(parts[2], parts[0]).reshape(parts[1])
    return complex(*parts) if code == COMPLEX else Raised(tuple(parts[0]), parts[1])


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def write(answers: dict[str, dict[str, Any]], torch_version: str) -> None:
    """Write a file for each subject, and their digests."""
    FOLDER.mkdir(exist_ok=True)
    packed = {subject: pack(found) for subject, found in answers.items()}
    for path in FOLDER.glob("*.bin"):
        path.unlink()
    for subject, data in packed.items():
        (FOLDER / f"{subject}.bin").write_bytes(data)
    digests = {subject: digest(data) for subject, data in sorted(packed.items())}
    DIGESTS.write_text(json.dumps({"torch": torch_version, "files": digests}, indent=1) + "\n")


@cache
def recorded(subject: str) -> dict[str, Any]:
    """Read PyTorch's answers about `subject`, by the names of cases."""
    return unpack((FOLDER / f"{subject}.bin").read_bytes())


def digests() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(DIGESTS.read_text())
    return found
