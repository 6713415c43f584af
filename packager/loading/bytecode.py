"""Compiled code kept between loads, on the loading side only.

A file's name is a digest over everything that compiling depends on: the source, the file name that
tracebacks show, the interpreter's tag and magic number, the optimisation level. So nothing is ever
stale, and nothing of it is ever taken from an archive. Files are written aside and renamed, so that
processes can share the folder.
"""

from __future__ import annotations

import hashlib
import marshal
import os
import sys
import tempfile
from importlib.util import MAGIC_NUMBER
from pathlib import Path
from types import CodeType

__all__ = ["BytecodeCache"]


class BytecodeCache:
    """Compiles sources, and keeps the result in `folder`; `None` compiles and keeps nothing.

    A folder that cannot be written, or a damaged file in it, costs the compile and nothing else.
    """

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder

    def compile(self, source: bytes, filename: str) -> CodeType:
        """The code of `source`; SyntaxError as from `compile`."""
        if self.folder is None:
            return _compiled(source, filename)
        path = self.folder / _key(source, filename)
        code = _read(path)
        if code is None:
            code = _compiled(source, filename)
            _write(path, code)
        return code


def _compiled(source: bytes, filename: str) -> CodeType:
    code: CodeType = compile(source, filename, "exec", dont_inherit=True)
    return code


def _key(source: bytes, filename: str) -> str:
    digest = hashlib.sha256(hashlib.sha256(source).digest())
    for part in (filename.encode(), str(sys.implementation.cache_tag).encode(), MAGIC_NUMBER):
        digest.update(len(part).to_bytes(4, "little") + part)
    digest.update(str(sys.flags.optimize).encode())
    return digest.hexdigest()


def _read(path: Path) -> CodeType | None:
    """The cached code; the file carries its own digest, since marshal trusts what it reads."""
    try:
        data = path.read_bytes()
    except OSError:
        return None
    if hashlib.sha256(data[32:]).digest() != data[:32]:
        return None
    code = marshal.loads(data[32:])
    return code if isinstance(code, CodeType) else None


def _write(path: Path, code: CodeType) -> None:
    data = marshal.dumps(code)
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle, name = tempfile.mkstemp(dir=path.parent)
    except OSError:
        return  # a read-only home: the next load compiles again
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(hashlib.sha256(data).digest() + data)
        os.replace(name, path)
    except OSError:
        os.unlink(name)
