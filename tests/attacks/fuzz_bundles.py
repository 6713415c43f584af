"""Signatures changed at random: `python -m tests.attacks.fuzz_bundles 100000 [SEED [JOBS]]`.

Each is judged in a child that has limits of memory and time. One may be refused, by a judgement that says
why; it may count only where what was signed, and the signature, are as they were. All else is told.
"""

from __future__ import annotations

import json
import random
import resource
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from packager._archive import ArchiveReader
from packager._signing import Rule, Signer, Signers
from packager._signing.bundles import read_bundle, signed_bytes, spell_bundle
from packager._signing.keys import read_public
from packager._signing.statements import spell_statement

MEMORY, SECONDS, AT_ONCE = 1 << 30, 60, 2500
MARKS = [
    b"{",
    b"}",
    b"[",
    b"]",
    b'"',
    b",",
    b":",
    b"\\u0000",
    b"\\",
    b"null",
    b"1e999",
    b"NaN",
    b"=",
    b"\xff",
    b"\0",
]
MARKS += [
    b"A" * 300,
    b"[" * 100,
    b'"payload":',
    b'"sig":',
    b'"certificates":',
    b"-1",
    b"true",
    b"\xed\xa0\x80",
]


class Held:
    """An archive, as far as it is asked: with one signature."""

    def __init__(self, reader: ArchiveReader, data: bytes) -> None:
        self.manifest, self.identity, self._data = reader.manifest, reader.identity, data

    def signatures(self) -> dict[str, bytes]:
        return {"fuzzed": self._data}


def honest_bundles(folder: Path, reader: ArchiveReader) -> tuple[list[bytes], Signers]:
    """A bundle by a key, and one by certificates, with those who may sign."""
    from tests.signing.signed_files import Authority, pair, pem_of, root

    ours, authority = pair(folder, "ours"), root()
    between = pair(folder, "between")
    middle = Authority(authority.issue("between", between.key, ca=True), between.key)
    (folder / "chain.pem").write_bytes(pem_of(middle.issue("ci", ours.key), middle.certificate))
    payload = spell_statement(reader.manifest, reader.identity, "net.kellet", {"by": "us"})
    signers = [Signer.of(ours.pem), Signer.of(ours.pem, cert=folder / "chain.pem")]
    key: Any = read_public(ours.pub.read_bytes())
    rules = (Rule(keys=(key,)), Rule(authorities=pem_of(authority.certificate)))
    return [one.bundle(payload) for one in signers], Signers(rules)


def changed(data: bytes, other: bytes, chance: random.Random) -> bytes:
    """Change some bytes, or what they spell."""
    made = bytearray(data)
    for _ in range(chance.choice((1, 1, 1, 2, 4, 16))):
        at, kind = chance.randrange(len(made) or 1), chance.randrange(7)
        size = chance.choice((1, 1, 4, 64))
        if kind == 0:
            made[at : at + 1] = bytes([made[at] ^ 1 << chance.randrange(8)]) if made else b""
        elif kind == 1:
            made[at:at] = chance.choice(MARKS)
        elif kind == 2:
            del made[at : at + size]
        elif kind == 3:
            made[at : at + size] = chance.randbytes(size)
        elif kind == 4:
            start = chance.randrange(len(other))
            made[at : at + size] = other[start : start + size]
        elif kind == 5:
            made[at:at] = made[at : at + size]
        else:
            made[at:] = b"" if chance.random() < 0.1 else made[at:]
    return bytes(made)


def respelled(data: bytes, chance: random.Random) -> bytes:
    """Change a byte that base64 stands for (certificates, statement, signature), or a value of JSON."""
    top = json.loads(data)
    places = [*_places(top)]
    holder, name = chance.choice(places)
    value = holder[name]
    if type(value) is str and chance.random() < 0.8:
        import base64

        try:
            raw = bytearray(base64.b64decode(value, validate=True))
        except ValueError:
            raw = bytearray(value.encode())
        for _ in range(chance.choice((1, 1, 2, 8))):
            if raw:
                raw[chance.randrange(len(raw))] ^= 1 << chance.randrange(8)
        holder[name] = base64.b64encode(bytes(raw)).decode()
    else:
        holder[name] = chance.choice(
            [None, 0, -1, True, 1.5, "", "x", [], {}, [value], {"rawBytes": value}, value, [value] * 3]
        )
    return json.dumps(top).encode()


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    for name in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield value, name
        yield from _places(value[name])


def signed_anew(payload: bytes, signer: Signer, chance: random.Random) -> bytes:
    """Sign a statement that was changed: it is ours, and may say nothing else than what is so."""
    assert signer.key is not None
    text = changed(payload, payload, chance)
    return spell_bundle(text, signer.key.sign(signed_bytes(text)), hint=signer.key.public.fingerprint)


def child(first: int, count: int) -> dict[str, int]:
    """Judge so many, from a number on. Raises AssertionError with the number of one that counts wrongly."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    found: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as place:
        from tests.signing.signed_files import save

        folder = Path(place)
        with ArchiveReader(save(folder / "net.kellet", code="")) as reader:
            bundles, signers = honest_bundles(folder, reader)
            right = [read_bundle(one, "honest") for one in bundles]
            kept = {(one.payload, one.signature) for one in right}
            assert all(signers.judge(Held(reader, one), None).ok for one in bundles)
            for number in range(first, first + count):
                chance = random.Random(number)
                data, how = chance.choice(bundles), number % 5
                if how == 0:
                    made = signed_anew(right[0].payload, Signer.of(folder / "ours.pem"), chance)
                else:
                    made = (
                        respelled(data, chance) if how < 3 else changed(data, chance.choice(bundles), chance)
                    )
                judgement = signers.judge(Held(reader, made), None)
                found[judgement.state] += 1
                if judgement.ok:
                    bundle = read_bundle(made, "counted")
                    statement = judgement.statement
                    same = (bundle.payload, bundle.signature) in kept
                    assert same or (
                        how == 0 and statement is not None and statement.identity == reader.identity
                    ), number
                else:
                    assert judgement.state in ("broken", "foreign", "refused"), (number, judgement)
    return dict(found)


def judged(count: int, seed: int = 1, jobs: int = 2) -> tuple[dict[str, int], list[str]]:
    """Judge so many in children; return what became of them, and what went wrong."""
    starts = range(0, count, AT_ONCE)

    def run(start: int) -> subprocess.CompletedProcess[str]:
        numbers = [str(seed * 1_000_000_000 + start), str(min(AT_ONCE, count - start))]
        command = [
            sys.executable,
            "-W",
            "ignore",
            "-m",
            __name__ if __name__ != "__main__" else "tests.attacks.fuzz_bundles",
        ]
        return subprocess.run([*command, "child", *numbers], capture_output=True, text=True, check=False)

    found: Counter[str] = Counter()
    wrong = []
    with ThreadPoolExecutor(jobs) as pool:
        for start, done in zip(starts, pool.map(run, starts), strict=True):
            if done.returncode:
                wrong.append(f"from {start}: exit {done.returncode}: {done.stderr[-600:]}")
            else:
                found.update(json.loads(done.stdout))
    return dict(found), wrong


if __name__ == "__main__":
    if sys.argv[1] == "child":
        sys.stdout.write(json.dumps(child(int(sys.argv[2]), int(sys.argv[3]))))
    else:
        counts, odd = judged(*map(int, sys.argv[1:]))
        sys.stdout.write("\n".join([f"{sum(counts.values()):,} signatures judged: {counts}", *odd, ""]))
        sys.exit(1 if odd else 0)
