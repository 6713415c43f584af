"""The fuzz target for archives, also for long runs: `python tests/attacks/fuzz_archive.py 1000000`.

With atheris installed, `... fuzz_archive.py atheris -runs=1000000` lets it choose the bytes.
Bytes choose what is changed: a mutated archive has wrong digests soon; a resealed one has other
bytes inside the manifest, the index or the safetensors header, and all digests right.
"""

from __future__ import annotations

import hashlib
import io
import random
import sys
import time

from packager.archive import (
    ArchiveReader,
    ArchiveWriter,
    EntryPoint,
    Manifest,
    ModuleRecord,
    StateDictRecord,
    TensorReader,
    TensorSpec,
    add_tensors,
    index_name,
    pack,
    unpack,
    verify,
)
from packager.archive.digests import crc32
from packager.archive.entry_names import DIGEST, MANIFEST, digest_line
from packager.archive.zip_records import ZipEntry, central_directory, local_header
from packager.errors import PackageError


def _honest() -> bytes:
    file = io.BytesIO()
    with ArchiveWriter(file) as writer:
        writer.add("net/__init__.py", b"answer = 42\n", kind="source")
        writer.add(".data/extras/w", pack({"a": [1, 2.5, None, "text"], "b": b"bytes"}), kind="extras")
        writer.add(".data/objects/m", pack([[["records", 1]], [[1, -1, "x"]], -1]), kind="object")
        tensors = [
            TensorSpec("w", "F32", (2, 3), (3, 1), 0, 0),
            TensorSpec("w.T", "F32", (3, 2), (1, 3), 0, 0),
            TensorSpec("v", "U8", (3,), (-1,), 4, 1),
            TensorSpec("e", "BF16", (0,), (1,), 0, 2),
        ]
        add_tensors(writer, "net/w", tensors, [bytes(24), b"12345", b""], metadata={"format": "pt"})
        writer.seal(
            Manifest(
                modules=(ModuleRecord("net", "intern", "r", "b", "net/__init__.py", True),),
                state_dicts=(StateDictRecord("net", "w", "net/w", ".data/extras/w", (("", 1),)),),
                entry_points=(EntryPoint("model", "net", "model"),),
                environment={"python": "3.11", "tags": [1, None]},
            )
        )
    return file.getvalue()


HONEST = _honest()
_TOKENS = (
    b"\0",
    b"\xff",
    b"\x80",
    b"\x90",
    b"\xc1",
    b"\xdd\xff\xff\xff\xff",
    b"\xff" * 4,
    b"\xff" * 8,
    b"PK\x03\x04",
    b"PK\x01\x02",
    b"PK\x05\x06",
    b"PK\x06\x06",
    b"../",
    b'{"',
    b"[[",
    b"\n",
)


def check(data: bytes) -> bool:
    """Open, verify and use an archive; whether it is sound. Raises everything but PackageErrors."""
    try:
        with ArchiveReader(data) as reader:
            sound = verify(reader).ok
            for name in reader.names():
                reader.read(name)
                if reader.entry(name).kind == "tensors":
                    tensors = TensorReader(reader, name)
                    list(tensors.contiguous())
                    list(tensors.strided())
                    for key in tensors:
                        tensors.data(key)
    except PackageError:
        return False
    return sound


def mutate(data: bytes, chooser: random.Random) -> bytes:
    """Change a few bytes: flips, tokens, cuts, repeats and moves."""
    changed = bytearray(data)
    for _ in range(chooser.randint(1, 4)):
        place = chooser.randrange(len(changed) + 1)
        length = chooser.choice((1, 1, 2, 4, 8, 30, 100))
        match chooser.randrange(6):
            case 0 if place < len(changed):
                changed[place] ^= 1 << chooser.randrange(8)
            case 1:
                token = chooser.choice(_TOKENS)
                changed[place : place + len(token)] = token
            case 2:
                changed[place:place] = chooser.choice(_TOKENS)
            case 3:
                del changed[place : place + length]
            case 4:
                changed[place:place] = changed[place : place + length]
            case _:
                other = chooser.randrange(len(changed) + 1)
                changed[place : place + length] = changed[other : other + length]
    return bytes(changed)


def mutated(seed: bytes) -> bytes:
    """The honest archive with bytes changed anywhere."""
    return mutate(HONEST, random.Random(seed))


def resealed(seed: bytes) -> bytes:
    """The honest archive with bytes changed inside what it holds, and every digest right again."""
    chooser = random.Random(seed)
    with ArchiveReader(HONEST) as reader:
        contents = {name: reader.read(name) for name in reader.names()}
        kinds = {name: reader.entry(name).kind for name in reader.names()}
        manifest = reader._container.reserved(MANIFEST)
    choice = chooser.choice(
        ["manifest", "facts", index_name("net/w"), "net/w", ".data/extras/w", ".data/objects/m"]
    )
    if choice in contents:
        contents[choice] = mutate(contents[choice], chooser)
        file = io.BytesIO()
        with ArchiveWriter(file) as writer:
            for name, content in contents.items():
                writer.add(name, content, kind=kinds[name], align=64 if kinds[name] == "tensors" else 1)
            writer.seal(ArchiveReader(HONEST).manifest)
        return file.getvalue()
    if choice == "facts":
        top = unpack(manifest, what="manifest")
        return _with_manifest(contents, kinds, pack({**top, "facts": mutate(top["facts"], chooser)}))
    return _with_manifest(contents, kinds, mutate(manifest, chooser))


def _with_manifest(contents: dict[str, bytes], kinds: dict[str, str], manifest: bytes) -> bytes:
    digest = digest_line(hashlib.sha256(manifest).hexdigest())
    body, records = bytearray(), []
    for name, content in [*contents.items(), (MANIFEST, manifest), (DIGEST, digest)]:
        align = 64 if kinds.get(name) == "tensors" else 1
        records.append(ZipEntry(name.encode(), len(content), crc32(content), align, len(body)))
        body += local_header(records[-1]) + content
    return bytes(body) + central_directory(records, len(body))


def main(arguments: list[str]) -> None:
    """Run the target many times, with our own mutations or those of atheris."""
    if arguments[0] == "atheris":
        import atheris

        atheris.Setup(arguments, lambda data: (check(data), check(mutated(data)), check(resealed(data))))
        atheris.instrument_all()
        atheris.Fuzz()
        return
    count, started, sound = int(arguments[0]), time.monotonic(), 0
    first = int(arguments[1]) if len(arguments) > 1 else 0
    for number in range(first, first + count):
        seed = number.to_bytes(8, "little")
        make = mutated if number % 2 else resealed
        try:
            sound += check(make(seed))
        except BaseException:
            sys.stderr.write(f"execution {number}, {make.__name__}({seed!r})\n")
            raise
    seconds = time.monotonic() - started
    refused = count - sound
    sys.stdout.write(
        f"{count} executions in {seconds:.0f} s: {sound} sound, {refused} refused, no stray error\n"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
