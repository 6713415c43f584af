"""Each check of the readers of torch.save's files: one part that is wrong, next to the file that is read."""

from __future__ import annotations

import io
import pickle
import struct
import zipfile
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from packager._weights import CheckpointPickleError, open_checkpoint, read_torch_file
from packager._weights.pickle_machine import Opaque
from packager.errors import LegacyFormatError

MAGIC, PROTOCOL = 0x1950A86A20F9469CFC6C, 1001
SYSTEM = {"protocol_version": 1001, "little_endian": True}


def text(value: str) -> bytes:
    return b"X" + struct.pack("<I", len(value.encode())) + value.encode()


def number(value: Any) -> bytes:
    return pickle.dumps(value, 2)[2:-1]


FLOAT, LONG, BYTE = (f"ctorch\n{name}Storage\n".encode() for name in ("Float", "Long", "Byte"))
UNKNOWN = b"cmine\nStorage\n"


def pid(*parts: bytes, kind: bytes = b"t") -> bytes:
    """What a persistent id is made of, and the opcode that asks what lies under it."""
    return b"(" + b"".join(parts) + kind + b"Q"


def storage(
    key: bytes = text("0"),
    kind: bytes = FLOAT,
    count: bytes = number(3),
    view: bytes = b"N",
    what: str = "storage",
) -> bytes:
    return pid(text(what), kind, key, text("cpu"), count, view)


def tensor(storage: bytes, offset: int = 0, length: int = 3) -> bytes:
    sizes = number(offset) + number(length) + b"\x85" + number(1) + b"\x85"
    return b"ctorch._utils\n_rebuild_tensor_v2\n(" + storage + sizes + b"\x89}tR"


def listed(*values: bytes) -> bytes:
    return b"\x80\x02](" + b"".join(values) + b"e."


def elements(*values: float, order: str = "<", count: int | None = None) -> bytes:
    head = struct.pack(f"{order}q", len(values) if count is None else count)
    return head + struct.pack(f"{order}{len(values)}f", *values)


VALUES = elements(1.0, 2.0, 3.0)


def stream(
    held: bytes,
    keys: Any = ("0",),
    data: bytes = VALUES,
    magic: Any = MAGIC,
    protocol: Any = PROTOCOL,
    system: Any = SYSTEM,
) -> bytes:
    """A file as torch.save wrote it before it wrote zip files."""
    head = b"".join(pickle.dumps(part, 2) for part in (magic, protocol, system))
    return head + held + pickle.dumps(list(keys) if isinstance(keys, tuple) else keys, 2) + data


HONEST = listed(tensor(storage()))


@pytest.fixture
def opened(tmp_path: Path) -> Callable[..., Any]:
    def open_(data: bytes, **options: Any) -> Any:
        (tmp_path / "s.pt").write_bytes(data)
        return read_torch_file(tmp_path / "s.pt", **options)

    return open_


Opened = Callable[..., Any]


def lists(found: list[Any]) -> list[Any]:
    return [one.numpy().tolist() for one in found]


def test_honest_streams_are_read(opened: Opened) -> None:
    assert lists(opened(stream(HONEST))) == [[1.0, 2.0, 3.0]]
    assert lists(opened(stream(HONEST, system={}))) == [[1.0, 2.0, 3.0]]
    big = elements(1.0, 2.0, 3.0, order=">")
    assert lists(opened(stream(HONEST, data=big, system={"little_endian": False}))) == [[1.0, 2.0, 3.0]]
    assert opened(stream(listed(), keys=(), data=b"")) == []


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"magic": MAGIC + 1}, "a pickle that torch.save did not write"),
        ({"protocol": 1000}, "in a protocol that is not known"),
        ({"protocol": "1001"}, "in a protocol that is not known"),
        ({"system": [1]}, "in a protocol that is not known"),
        ({"system": {"little_endian": 1}}, "a file of torch.save without a byte order"),
        ({"system": {"little_endian": None}}, "a file of torch.save without a byte order"),
        ({"keys": {"0": 1}}, "the list of storages is not a list of names"),
        ({"keys": [0]}, "the list of storages is not a list of names"),
        ({"keys": ["0", "0"]}, "the list of storages is not the one that the tensors need"),
        ({"keys": []}, "the list of storages is not the one that the tensors need"),
        ({"keys": ["1"]}, "the list of storages is not the one that the tensors need"),
        ({"keys": ["1", "0"]}, "storage '1' belongs to no readable tensor"),
        ({"data": b""}, r"byte \d+: the file ends before storage '0'"),
        ({"data": VALUES[:7]}, r"byte \d+: the file ends before storage '0'"),
        ({"data": VALUES[:8]}, r"the file is cut short: storage '0' ends at byte \d+, the file at \d+"),
        ({"data": VALUES[:-1]}, r"the file is cut short: storage '0' ends at byte \d+, the file at \d+"),
        ({"data": elements(1.0, 2.0, 3.0, count=2)}, "storage '0' has 2 elements, expected 3"),
        ({"data": elements(1.0, 2.0, 3.0, count=-3)}, "storage '0' has -3 elements, expected 3"),
        (
            {"data": elements(1.0, 2.0, 3.0, order=">")},
            "storage '0' has 216172782113783808 elements, expected 3",
        ),
        ({"data": VALUES + b"x"}, r"byte \d+: 1 bytes behind the last storage"),
    ],
)
def test_each_part_of_a_stream_is_what_it_has_to_be(
    opened: Opened, parts: dict[str, Any], message: str
) -> None:
    with pytest.raises(LegacyFormatError, match=message):
        opened(stream(HONEST, **parts))


@pytest.mark.parametrize("part", ["magic number", "protocol", "system", "object", "storage keys"])
def test_a_stream_that_ends_inside_of_a_part_says_how_many_bytes_are_there(opened: Opened, part: str) -> None:
    """Each part counts the bytes that are left for it, and not those of the whole file."""
    names = ["magic number", "protocol", "system", "object", "storage keys"]
    whole = [pickle.dumps(one, 2) for one in (MAGIC, PROTOCOL, SYSTEM)]
    whole += [listed(), pickle.dumps([], 2)]
    before = b"".join(whole[: names.index(part)])
    with pytest.raises(
        CheckpointPickleError, match=f"{part}, offset 2: expected 100 bytes, there are 7; it is cut"
    ):
        opened(before + b"\x80\x02X" + struct.pack("<I", 100) + b"too few")


@pytest.mark.parametrize(
    ("size", "message"), [(512, "a tar file; PyTorch before"), (511, "magic number, offset")]
)
def test_a_tar_file_has_a_block_at_least(opened: Opened, tmp_path: Path, size: int, message: str) -> None:
    data = bytearray(size)
    data[257:262] = b"ustar"
    with pytest.raises(LegacyFormatError, match=message):
        opened(bytes(data))
    with pytest.raises(LegacyFormatError, match=message):
        open_checkpoint(tmp_path / "s.pt")


# --- persistent ids ---

NAMES = [b"ccollections\nOrderedDict\n", text("m.py"), text("class Net: ...")]


def test_a_class_beside_its_source_is_a_name_like_any_other(opened: Opened) -> None:
    made = opened(stream(listed(pid(text("module"), *NAMES) + b")R"), keys=(), data=b""))
    assert made == [OrderedDict()]
    net = pid(text("module"), b"cmine\nNet\n", *NAMES[1:]) + b")R"
    (found,) = opened(stream(listed(net), keys=(), data=b""), opaque=True)
    assert (type(found), found.name, found.arguments) == (Opaque, "mine.Net", ())
    with pytest.raises(CheckpointPickleError, match=r"the pickle names 'mine\.Net', which is not plain data"):
        opened(stream(listed(net), keys=(), data=b""))


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (pid(text("module"), *NAMES[:2]), "expected 6, got 3"),
        (pid(text("module"), *NAMES, b"N"), "expected 6, got 5"),
        (pid(text("modules"), *NAMES), "expected 6, got 4"),
        (pid(text("module"), text("a"), *NAMES[1:]), "expected 6, got 4"),
        (pid(text("module"), *NAMES, kind=b"l"), "expected 6, got 4"),
        (pid(text("module"), *NAMES, b"K\1N"), "a persistent id that is not that of a storage"),
        (b"NQ", "cannot unpack|NoneType"),
        (text("storage") + b"Q", "expected 6|not that of a storage"),
        (storage(what="storages"), "a persistent id that is not that of a storage"),
        (storage(key=number(0)), "a persistent id that is not that of a storage"),
        (storage(key=b"N"), "a persistent id that is not that of a storage"),
        (storage(count=number(-1)), "a persistent id that is not that of a storage"),
        (storage(count=b"\x88"), "a persistent id that is not that of a storage"),
        (storage(count=text("3")), "a persistent id that is not that of a storage"),
        (storage(kind=text("FloatStorage")), "str is no class of storages"),
        (storage(kind=b"ctorch\nSize\n"), "'Size'"),
        (storage() + storage(count=number(2)), "storage '0' is described in two ways"),
        (storage() + storage(kind=LONG), "storage '0' is described in two ways"),
        (storage(view=number(1)), "cannot unpack"),
        (storage(view=text("0") + number(0) + b"\x86"), r"expected 3, got 2"),
        (
            storage(view=text("0") + number(1) + number(3) + b"\x87"),
            "a view of storage '0' reaches behind it",
        ),
        (
            storage(view=text("0") + number(0) + number(4) + b"\x87"),
            "a view of storage '0' reaches behind it",
        ),
        (storage(view=text("0") + number(-1) + number(2) + b"\x87"), "a view of storage '0' reaches behind"),
        (storage(view=text("0") + number(1) + number(-1) + b"\x87"), "a view of storage '0' reaches behind"),
        (storage(view=text("0") + number(1.0) + number(1) + b"\x87"), "a view of storage '0' reaches behind"),
        (storage(view=text("0") + number(1) + b"\x88" + b"\x87"), "a view of storage '0' reaches behind"),
    ],
)
def test_persistent_ids_of_streams_are_storages_and_classes(
    opened: Opened, asked: bytes, message: str
) -> None:
    with pytest.raises(
        CheckpointPickleError,
        match=f"object, offset \\d+: the storage of a tensor cannot be read: .*({message})",
    ):
        opened(stream(listed(asked)))


def test_views_of_storages_are_runs_of_them(opened: Opened) -> None:
    def viewed(start: int, count: int) -> bytes:
        return storage(view=text("0") + number(start) + number(count) + b"\x87")

    parts = [viewed(start, count) for start, count in ((0, 3), (1, 2), (1, 2), (3, 0), (2, 1))]
    found = opened(stream(listed(*parts, tensor(viewed(1, 2), length=2), tensor(storage()))))
    read = [struct.unpack(f"<{one.nbytes // 4}f", one.data()) for one in found[:5]]
    assert read == [(1.0, 2.0, 3.0), (2.0, 3.0), (2.0, 3.0), (), (3.0,)]
    assert (found[1] is found[2], found[0] is found[6].storage, found[1] is found[5].storage) == (True,) * 3
    assert lists(found[5:]) == [[2.0, 3.0], [1.0, 2.0, 3.0]]


def test_storages_of_a_stream_lie_in_the_order_of_their_list(opened: Opened) -> None:
    held = listed(*(tensor(storage(text(key), kind), 0, 1) for key, kind in (("a", FLOAT), ("b", LONG))))
    held = held.replace(number(3), number(1))
    data = struct.pack("<qqqf", 1, 7, 1, 0.5)
    assert lists(opened(stream(held, keys=("b", "a"), data=data))) == [[0.5], [7]]
    with pytest.raises(LegacyFormatError, match=r"cut short: storage 'b' ends at byte \d+, the file at"):
        opened(stream(held, keys=("a", "b"), data=struct.pack("<qfq", 1, 0.5, 1) + bytes(7)))


@pytest.mark.parametrize("kind", ["t", "l"])
def test_a_storage_of_an_unknown_class_is_noted_where_that_is_asked_for(opened: Opened, kind: str) -> None:
    asked = pid(text("storage"), UNKNOWN, text("0"), text("cpu"), number(3), b"N", kind=kind.encode())
    data = stream(listed(asked), keys=(), data=b"")
    if kind == "t":
        (found,) = opened(data, opaque=True)
        assert (found.name, len(found.arguments)) == ("a storage of an unknown class", 6)
    else:
        with pytest.raises(CheckpointPickleError, match="the storage of a tensor cannot be read: 'Storage'"):
            opened(data, opaque=True)
    with pytest.raises(
        CheckpointPickleError, match=r"the pickle names 'mine\.Storage', which is not plain data"
    ):
        opened(data)


# --- the zip format ---


def zipped(held: bytes, more: dict[str, bytes] | None = None, root: str = "old") -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(f"{root}/data.pkl", held)
        for name, data in (more if more is not None else {"old/data/0": VALUES[8:]}).items():
            archive.writestr(name, data)
    return file.getvalue()


def in_zip(
    key: bytes = text("0"), kind: bytes = FLOAT, count: bytes = number(3), what: str = "storage"
) -> bytes:
    return pid(text(what), kind, key, text("cpu"), count)


ZIPPED = listed(tensor(in_zip()))


def test_honest_zip_files_are_read(opened: Opened) -> None:
    assert lists(opened(zipped(ZIPPED))) == [[1.0, 2.0, 3.0]]
    for order, form in ((b"little", "<3f"), (b"little\n", "<3f"), (b"big", ">3f"), (b" big \r\n", ">3f")):
        data = {"old/data/0": struct.pack(form, 1, 2, 3), "old/byteorder": order}
        assert lists(opened(zipped(ZIPPED, data))) == [[1.0, 2.0, 3.0]]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (b"NQ", "cannot unpack|NoneType"),
        (pid(text("storage"), FLOAT, text("0"), text("cpu")), "expected 5, got 4"),
        (pid(text("storage"), FLOAT, text("0"), text("cpu"), number(3), b"N"), "expected 5"),
        (in_zip(what="storages"), "a persistent id that is not that of a storage"),
        (in_zip(key=number(0)), "a persistent id that is not that of a storage"),
        (in_zip(key=text("1")), "storage '1' is not in the file"),
        (in_zip(key=text("/0")), "storage '/0' is not in the file"),
        (in_zip(kind=text("a")), "str is no class of storages"),
        (in_zip(kind=b"ctorch\nfloat32\n"), "'float32'"),
        (in_zip(count=number(2)), "storage '0' has 12 bytes in the file, and the pickle says 2 of float32"),
        (in_zip(count=number(4)), "storage '0' has 12 bytes in the file, and the pickle says 4 of float32"),
        (in_zip(count=number(3.0)), r"and the pickle says 3\.0 of float32"),
        (in_zip(kind=LONG), "storage '0' has 12 bytes in the file, and the pickle says 3 of int64"),
    ],
)
def test_persistent_ids_of_zip_files_are_storages(opened: Opened, asked: bytes, message: str) -> None:
    with pytest.raises(
        CheckpointPickleError,
        match=f"data.pkl, offset \\d+: the storage of a tensor cannot be read: .*({message})",
    ):
        opened(zipped(listed(asked)))


def test_a_count_is_no_flag(opened: Opened) -> None:
    data = {"old/data/0": bytes(4)}
    assert opened(zipped(listed(in_zip(count=number(1))), data))[0].nbytes == 4
    with pytest.raises(
        CheckpointPickleError, match="has 4 bytes in the file, and the pickle says True of float32"
    ):
        opened(zipped(listed(in_zip(count=b"\x88")), data))


def test_tensors_share_the_storages_of_a_file(opened: Opened) -> None:
    found = opened(zipped(listed(in_zip(), in_zip(), in_zip(kind=BYTE, count=number(12)))))
    assert (found[0] is found[1], found[0] is found[2]) == (True, False)
    assert [(one.key, one.dtype, one.nbytes) for one in found[1:]] == [
        ("0", "float32", 12),
        ("0", "uint8", 12),
    ]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"old/constants.pkl": b"N."}, "an archive of TorchScript, whose tensors belong to compiled code"),
        ({"older/data.pkl": b"N."}, r"2 entries called data\.pkl; a file of torch\.save has one"),
        ({"old/byteorder": b"middle"}, "byte order b'middle'; expected little or big"),
        ({"old/byteorder": b""}, "byte order b''; expected little or big"),
        ({"old/byteorder": b"little endian"}, "byte order b'little end'; expected little or big"),
        ({"old/byteorder": b"big     and more"}, "byte order b'big     an'; expected little or big"),
    ],
)
def test_what_lies_beside_a_pickle_may_make_it_something_else(
    opened: Opened, more: dict[str, bytes], message: str
) -> None:
    with pytest.raises(LegacyFormatError, match=message):
        opened(zipped(ZIPPED, {"old/data/0": VALUES[8:], **more}))
    harmless = {
        "old/data/0": VALUES[8:],
        "constants.pkl": b"",
        "old/data/constants.pkl": b"",
        "old/version": b"3",
    }
    assert lists(opened(zipped(ZIPPED, harmless))) == [[1.0, 2.0, 3.0]]


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["old/constants.pkl"], "an archive of TorchScript"),
        (["old/.data/extern_modules"], r"an archive of torch\.package; open it with open_torch_package\(\)"),
        (["old/.data/python_version"], r"an archive of torch\.package; open it with open_torch_package\(\)"),
        ([".data/manifest.msgpack"], "a kellet archive; open it with PackageImporter"),
        (["old/text.txt"], r"0 entries called data\.pkl; a file of torch\.save has one"),
        (["old/data.pkl.bak"], r"0 entries called data\.pkl; a file of torch\.save has one"),
    ],
)
def test_zip_files_of_other_programs_are_called_by_their_names(
    opened: Opened, names: list[str], message: str
) -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name in names:
            archive.writestr(name, b"")
    with pytest.raises(LegacyFormatError, match=message):
        opened(file.getvalue())


def test_a_pickle_without_a_crc_is_not_checked_and_one_with_another_is_refused(opened: Opened) -> None:
    """torch.save may be told to write none."""
    data = bytearray(zipped(ZIPPED))
    records = [data.index(b"PK\x03\x04") + 14, data.index(b"PK\x01\x02") + 16]
    for crc, message in ((0, ""), (1, r"entry 'old/data\.pkl' does not have its CRC-32")):
        for at in records:
            struct.pack_into("<I", data, at, crc)
        if message:
            with pytest.raises(LegacyFormatError, match=message):
                opened(bytes(data))
        else:
            assert lists(opened(bytes(data))) == [[1.0, 2.0, 3.0]]
