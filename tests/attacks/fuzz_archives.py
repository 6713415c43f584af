"""What is fuzzed: honest archives, how bytes change them, and everything that is then asked of them.

An input is a few bytes: the first chooses an archive, the second a layer of it, the rest are edits of
that layer, six bytes each. Layers from the file itself inwards: the bytes of the file; those of the
manifest, its facts, the index, the extras, the records of an object, a safetensors member; and the
values in those that are msgpack. Below the first every digest is made right again, so that parsers
are reached that a wrong digest would hide. The same bytes always make the same archive.
"""

from __future__ import annotations

import collections
import dataclasses
import decimal
import fractions
import hashlib
import io
import uuid
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from struct import Struct
from typing import Any

import msgpack
import numpy as np

import kellet
from kellet import nn
from packager._archive import (
    ArchiveReader,
    ArchiveWriter,
    CheckRecord,
    EntryPoint,
    ExternRecord,
    ImportSite,
    Manifest,
    ModuleRecord,
    ObjectRecord,
    StateDictRecord,
    TensorReader,
    TensorSpec,
    TypeUse,
    add_tensors,
    pack,
    unpack,
    verify,
)
from packager._archive.entries import crc32, crcs_of, sha256s_of
from packager._archive.entry_names import DIGEST, MANIFEST, MIGRATIONS, digest_line
from packager._archive.zip_container import ZipEntry, central_directory, local_header
from packager._audit import TrustContext, names_in
from packager._environment import Distributions, Fingerprint
from packager._loading import load_object, load_state_dict
from packager._loading.opening import environment_report
from packager._loading.stored_states import LoadContext
from packager._migrations import Migration, drop, rename
from packager._migrations.archiving import pack_migrations, unpack_migrations
from packager._objects import encode
from packager._state_dicts import encode_state_dict
from packager.errors import PackageError

MSGPACK_KINDS = ("index", "extras", "migration", "object")


@dataclass(frozen=True)
class Honest:
    """An honest archive, taken apart: its bytes, its entries, and the values of its manifest."""

    file: bytes
    contents: Mapping[str, bytes]
    kinds: Mapping[str, str]
    top: Mapping[str, Any]

    @classmethod
    def of(cls, file: bytes) -> Honest:
        with ArchiveReader(file) as reader:
            contents = {name: reader.read(name) for name in reader.names()}
            kinds = {name: reader.entry(name).kind for name in reader.names()}
            top = unpack(reader.reserved()[MANIFEST], what="manifest")
        return cls(file, contents, kinds, top)

    @property
    def layers(self) -> int:
        """The file; manifest and facts as bytes and as values; each entry as bytes, and as values."""
        return 5 + 2 * len(self.contents)


def forged(honest: Honest, layer: int, edits: bytes) -> bytes:
    """The archive with one layer changed, and the digests of what lies around it made right."""
    if layer == 0:
        return edited(honest.file, edits)
    if layer == 1:
        return sealed(honest, honest.contents, edited(pack(dict(honest.top)), edits))
    if layer == 2:
        return sealed(
            honest, honest.contents, packed(edited_value(msgpack.unpackb(pack(dict(honest.top))), edits))
        )
    if layer in (3, 4):
        facts = honest.top["facts"]
        facts = edited(facts, edits) if layer == 3 else packed(edited_value(msgpack.unpackb(facts), edits))
        return sealed(honest, honest.contents, pack({**honest.top, "facts": facts}))
    name = list(honest.contents)[(layer - 5) // 2]
    data = honest.contents[name]
    if layer % 2 and honest.kinds[name] in MSGPACK_KINDS:
        data = packed(edited_value(msgpack.unpackb(data, strict_map_key=False), edits))
    else:
        data = edited(data, edits)
    contents = {**honest.contents, name: data}
    return sealed(honest, contents, pack({**honest.top, "entries": _columns(honest, contents)}))


def _columns(honest: Honest, contents: Mapping[str, bytes]) -> list[Any]:
    names, kinds, _, aligns, _, _ = honest.top["entries"]
    views = [memoryview(data) for data in contents.values()]
    sizes = b"".join(len(view).to_bytes(8, "little") for view in views)
    return [names, kinds, sizes, aligns, b"".join(map(crcs_of, views)), b"".join(map(sha256s_of, views))]


def sealed(honest: Honest, contents: Mapping[str, bytes], manifest: bytes) -> bytes:
    """The file around these entries and this manifest, with the digests of both in their places."""
    digest = digest_line(hashlib.sha256(manifest).hexdigest())
    body, records = bytearray(), []
    for name, data in [*contents.items(), (MANIFEST, manifest), (DIGEST, digest)]:
        align = 64 if honest.kinds.get(name) == "tensors" else 1
        records.append(ZipEntry(name.encode(), len(data), crc32(data), align, len(body)))
        body += local_header(records[-1])
        body += data
    return bytes(body) + central_directory(records, len(body))


# --- edits ---

_EDIT = Struct("<BHBH")
TOKENS = (
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
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, 2, 5, 31, 64, 255, 2**31, 2**32, 2**63, 2**64 - 1),
    *(-1, -2, -3, -5, -8, -(2**63), 0.0, 1.5, -0.0, float("nan"), float("inf")),
    *("", "a", "x" * 65, "__class__", "os:system", "os", "builtins", "\0", "\ud7ff", "../x", "weight", "1.0"),
    *(b"", b"x", b"\xff" * 8, [], [1], ["x", -1], [[]], {}, {"a": 1}),
)


def edited(data: bytes, edits: bytes) -> bytes:
    """Bytes with a few of them flipped, overwritten, inserted, removed, doubled or moved."""
    changed = bytearray(data)
    for at in range(0, len(edits) - _EDIT.size + 1, _EDIT.size):
        what, place, length, value = _EDIT.unpack_from(edits, at)
        place %= len(changed) + 1
        token = TOKENS[value % len(TOKENS)]
        match what % 7:
            case 0 if place < len(changed):
                changed[place] ^= 1 << value % 8
            case 1 if place < len(changed):
                changed[place] = value & 255
            case 2:
                changed[place : place + len(token)] = token
            case 3:
                changed[place:place] = token
            case 4:
                del changed[place : place + length]
            case 5:
                changed[place:place] = changed[place : place + length]
            case _:
                other = value % (len(changed) + 1)
                changed[place : place + length] = changed[other : other + length]
    return bytes(changed)


def edited_value(value: Any, edits: bytes) -> Any:
    """Plain data with a few of its values replaced, inserted, removed, doubled, moved or nudged."""
    for at in range(0, len(edits) - _EDIT.size + 1, _EDIT.size):
        what, place, length, number = _EDIT.unpack_from(edits, at)
        places = _places(value)
        if not places:
            break
        holder, key = places[place % len(places)]
        new = VALUES[number % len(VALUES)]
        match what % 7:
            case 0:
                holder[key] = new
            case 1 if isinstance(holder, list):
                holder.insert(key, new)
            case 2 if isinstance(holder, list):
                holder[key : key + 1] = []
            case 3:
                other, there = places[number % len(places)]
                holder[key] = other[there] if type(other[there]) not in (list, dict) else list(other[there])
            case 4 if isinstance(holder, list):
                holder.insert(key, holder[number % len(holder)])
            case 5 if type(holder[key]) is int:
                holder[key] = max(-(2**63), min(2**64 - 1, holder[key] + length - 128))
            case _ if type(holder[key]) in (str, bytes):
                text = holder[key]
                cut = number % (len(text) + 1)
                holder[key] = text[:cut] + text[cut + 1 :] if what & 64 else text[:cut] * 2 + text[cut:]
    return value


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Every place in plain data where a value stands: what holds it, and its key there."""
    places: list[tuple[Any, Any]] = []
    holders = [value]
    while holders:
        holder = holders.pop()
        items = list(enumerate(holder) if type(holder) is list else holder.items()) if holder else []
        places += [(holder, key) for key, _ in items]
        holders += [inner for _, inner in items if type(inner) in (list, dict)]
        if len(places) > 5000:
            break
    return places


def packed(value: Any) -> bytes:
    """Plain data as msgpack; what edits have made too deep or too wide for it is an empty value."""
    try:
        return bytes(msgpack.packb(value))
    except (ValueError, OverflowError, TypeError, UnicodeEncodeError):
        return b""


# --- honest archives ---


def _environment() -> dict[str, Any]:
    return {**dataclasses.asdict(Fingerprint.here()), "tags": [1, None]}


def _with_everything() -> bytes:
    file = io.BytesIO()
    with ArchiveWriter(file) as writer:
        writer.add("net/__init__.py", b"answer = 42\n", kind="source")
        writer.add("net/no", b"", kind="resource")
        steps = [drop("mask"), rename("a.{name}", "b.{name}")]
        migrations = pack_migrations({"net:Net": [Migration("old", steps, to=2)]})
        writer.add(MIGRATIONS, migrations, kind="migration")
        tensors = [
            TensorSpec("w", "F32", (2, 3), (3, 1), 0, 0),
            TensorSpec("w.T", "F32", (3, 2), (1, 3), 0, 0),
            TensorSpec("v", "U8", (3,), (-1,), 4, 1),
            TensorSpec("e", "BF16", (0,), (1,), 0, 2),
        ]
        add_tensors(writer, "net/w", tensors, [bytes(24), b"12345", b""], metadata={"format": "pt"})
        site = (ImportSite("net", "net/__init__.py", 1),)
        writer.seal(
            Manifest(
                modules=(
                    ModuleRecord("json", "extern", "implicit", "standard library", importers=site),
                    ModuleRecord("net", "intern", "r", "b", "net/__init__.py", True),
                    ModuleRecord("seen", "mock", "r", "b"),
                ),
                externs=(
                    ExternRecord("json", "stdlib"),
                    ExternRecord("nolib", "installed", "nolib", "1.2", "nolib>=1.2,<2"),
                    ExternRecord("numpy", "installed", "numpy", "1.26.4", "numpy>=1.26.4,<9"),
                ),
                state_dicts=(StateDictRecord("net", "w", "net/w", versions=(("", 1),), migrations=("m",)),),
                entry_points=(EntryPoint("model", "net", "model", "forward"),),
                checks=(CheckRecord("model", "model", "net/w", "net/w"),),
                environment=_environment(),
            )
        )
    return file.getvalue()


def _with_object(obj: Any) -> bytes:
    """An archive of data alone: one object, and its tensors where it has any."""
    encoded = encode(obj)
    assert not encoded.refusals, encoded.refusals
    file = io.BytesIO()
    with ArchiveWriter(file) as writer:
        writer.add("m/o", encoded.records, kind="object")
        if encoded.storages:
            specs = [
                TensorSpec(one.name, one.dtype, tuple(one.shape), _strides(one.shape), 0, number)
                for number, one in enumerate(encoded.storages)
            ]
            add_tensors(writer, "m/o.safetensors", specs, [one.buffer for one in encoded.storages])
        types = tuple(TypeUse(str(use), use.role) for use in encoded.names)
        tensors = "m/o.safetensors" if encoded.storages else None
        record = ObjectRecord("m", "o", "m/o", tensors, types=types)
        writer.seal(Manifest(objects=(record,), environment=_environment()))
    return file.getvalue()


def _with_states(*states: Any) -> bytes:
    """An archive of state dicts: what they have in common lies with the first."""
    file, records = io.BytesIO(), []
    with ArchiveWriter(file) as writer:
        for name, encoded in zip("st", map(encode_state_dict, states), strict=False):
            add_tensors(writer, f"m/{name}", encoded.tensors, encoded.storages)
            if encoded.extras:
                writer.add(f"m/{name}.extras", encoded.extras, kind="extras")
            extras = f"m/{name}.extras" if encoded.extras else None
            records.append(StateDictRecord("m", name, f"m/{name}", extras))
        writer.seal(Manifest(state_dicts=tuple(records), environment=_environment()))
    return file.getvalue()


def _strides(shape: Any) -> tuple[int, ...]:
    strides = [1]
    for extent in reversed(list(shape)[1:]):
        strides.insert(0, strides[0] * extent)
    return tuple(strides) if len(shape) else ()


def _objects() -> list[Any]:
    """Small objects, which together use most kinds of records and most codecs."""
    ring: list[Any] = [1, {"a": (2.5, None)}]
    ring.append(ring)
    layer = nn.Linear(2, 2)
    return [
        {"plain": [1, -5, 2**70, 1.5, "x" * 70, b"x", {1, "a"}, frozenset({2})], "ring": ring},
        collections.OrderedDict(a=decimal.Decimal("1.5"), b=fractions.Fraction(1, 3), c=uuid.UUID(int=5)),
        [np.arange(6, dtype="f4").reshape(2, 3).T, np.array([1, "a", None], object), np.float32(2)],
        [np.zeros(2, [("a", "f4"), ("b", "i8")]), np.random.default_rng(0), slice(1, None), range(3), 1j],
        [collections.deque([1, 2], 5), collections.Counter("ab"), collections.defaultdict(list), Ellipsis],
        nn.Sequential(layer, nn.ReLU(), layer),
        [kellet.ones(2, 2), nn.Parameter(kellet.ones(2)), kellet.float32, np.dtype("i4")],
    ]


def _states() -> list[Any]:
    base = np.arange(12, dtype="f4")
    mixed = {"w": base.reshape(3, 4), "tied": base, "step": 3, "name": "x", "half": np.ones(2, "f2")}
    rows_of_bytes = {"text": np.ones(2, "U3"), "when": np.zeros(3, "M8[s]"), "more": [1, {"a": base[:2]}]}
    return [mixed, rows_of_bytes, nn.Linear(2, 1)]


def _checkpoints() -> list[Any]:
    """Two state dicts that have one storage in common, in which the second has a view besides."""
    frozen = np.arange(1024, dtype="f4")
    return [{"w": frozen, "step": np.zeros(1)}, {"step": np.ones(1), "w": frozen, "half": frozen[::2]}]


HONEST = [
    Honest.of(file)
    for file in (
        _with_everything(),
        *map(_with_object, _objects()),
        *map(_with_states, _states()),
        _with_states(*_checkpoints()),
    )
]


# --- the target ---

INSTALLED = Distributions()  # looking through the disk is no part of what is fuzzed


SOUND = "sound"


def check(data: bytes) -> str:
    """Open, verify and use an archive; "sound", or what refused it. Raises everything but PackageErrors."""
    try:
        with ArchiveReader(data) as reader:
            verified = verify(reader).ok
            refused = sum(not _succeeds(step) for step in _steps(reader))
    except PackageError as error:
        return f"refused when opened: {type(error).__name__}"
    if refused:
        return "refused when used" if verified else "refused when verified and when used"
    return SOUND if verified else "refused when verified"


def _succeeds(step: Callable[[], object]) -> bool:
    """One thing that is asked; what one of them refuses says nothing of the others."""
    try:
        step()
    except PackageError:
        return False
    return True


def _steps(reader: ArchiveReader) -> list[Callable[[], object]]:
    manifest = reader.manifest
    steps: list[Callable[[], object]] = [
        reader.signatures,
        lambda: str(environment_report(manifest, INSTALLED)),
    ]
    for name in reader.names():
        kind = reader.entry(name).kind
        steps.append(lambda name=name: reader.read(name))
        if kind == "migration":
            steps.append(lambda name=name: unpack_migrations(reader.read(name)))
        if kind == "tensors":
            steps.append(lambda name=name: _use_tensors(TensorReader(reader, name)))
    steps += [lambda record=record: _use_object(reader, record) for record in manifest.objects]
    steps += [lambda record=record: _use_state(reader, record) for record in manifest.state_dicts]
    return steps


def _use_tensors(tensors: TensorReader) -> None:
    list(tensors.contiguous())
    list(tensors.strided())
    for key in tensors:
        tensors.data(key)
        tensors.data(key, private=True)


# The archive's own code is left alone: whoever imports it runs it, and would run what was forged.
DATA = TrustContext.data_only()


class _DataContext(LoadContext):
    trust_context = DATA  # type: ignore[assignment]  # there it is worked out
    owned = frozenset()  # type: ignore[assignment]  # as above


def _context(reader: ArchiveReader) -> LoadContext:
    """Names are those of this process; the audit has let them pass."""
    return _DataContext(reader, (), lambda name: True, import_module)


def _use_object(reader: ArchiveReader, record: ObjectRecord) -> None:
    if record.tensors is None:
        names_in(reader.read(record.entry))
    load_object(_context(reader), record.package, record.resource)


def _use_state(reader: ArchiveReader, record: StateDictRecord) -> None:
    for library in ("numpy", "kellet"):
        state = load_state_dict(_context(reader), record.package, record.resource, as_=library)
        len(state), state._metadata
        for key in state:
            if library == "numpy":
                state[key]
            _succeeds(lambda key=key, state=state: state[key])  # kellet has no dates and texts
        for key, spec in state._tensors.items():
            if spec.shape and spec.shape[0] and key in state:
                _succeeds(lambda key=key, state=state: _first_row(state, key))


def _first_row(state: Any, key: str) -> None:
    try:
        state.rows(key, 0, 1)
    except ValueError as error:  # what rows() documents for a tensor without rows side by side
        if isinstance(error, PackageError) or "rows are not contiguous" in str(error):
            return
        raise


def archive_of(data: bytes) -> bytes:
    """The archive that the bytes of an input describe."""
    if len(data) < 2:
        return data
    honest = HONEST[data[0] % len(HONEST)]
    return forged(honest, data[1] % honest.layers, data[2:])


def one_input(data: bytes) -> str:
    """Make the archive that the input describes, use it, and return the outcome: what every engine calls."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPy warns of odd numbers, which forged data may hold
        return check(archive_of(data))
