"""Hostile pickles and files of torch.save: a typed error, bounded memory and time, and nothing executed."""

from __future__ import annotations

import contextlib
import io
import pickle
import pickletools
import random
import struct
import subprocess
import sys
import tarfile
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packager._weights import CheckpointPickleError, open_checkpoint
from packager._weights.pickle_machine import Opaque
from packager._weights.pickle_opcodes import _OPERATIONS, read_pickle
from packager._weights.torch_names import torch_names
from packager.errors import LegacyFormatError, PackageError
from tests import processes
from tests.tables import one_test

GOLDEN = Path(__file__).resolve().parents[2] / "fixtures" / "legacy"
ZIP = (GOLDEN / "zip.pt").read_bytes()
STREAM = (GOLDEN / "stream.pt").read_bytes()


def read(data: bytes, opaque: bool = False) -> object:
    return read_pickle(io.BytesIO(data), torch_names(), opaque=opaque)


def text(value: str) -> bytes:
    return b"X" + struct.pack("<I", len(value.encode())) + value.encode()


def number(value: int) -> bytes:
    return b"\x8a\x09" + value.to_bytes(9, "little", signed=True)


def tensor(
    storage: bytes = b"ctorch\nFloatStorage\n",
    key: str = "0",
    count: int = 3,
    offset: int = 0,
    shape: tuple[int, ...] = (3,),
    strides: tuple[int, ...] = (1,),
) -> bytes:
    """A state dict of one tensor, as torch.save spells it."""
    pid = b"(" + text("storage") + storage + text(key) + text("cpu") + number(count) + b"tQ"
    sizes = [b"(" + b"".join(map(number, values)) + b"t" for values in (shape, strides)]
    made = b"ctorch._utils\n_rebuild_tensor_v2\n(" + pid + number(offset) + b"".join(sizes)
    return b"\x80\x02}" + text("w") + made + b"\x89ccollections\nOrderedDict\n)RtRs."


@pytest.fixture
def archive(tmp_path: Path) -> Callable[..., Path]:
    """Write a file in the zip format around a pickle and storages."""

    def write(pickled: bytes, storages: dict[str, bytes] | None = None, **more: bytes) -> Path:
        path = tmp_path / "hostile.pt"
        with zipfile.ZipFile(path, "w") as file:
            file.writestr("hostile/data.pkl", pickled)
            for key, data in (storages if storages is not None else {"0": bytes(12)}).items():
                file.writestr(f"hostile/data/{key}", data)
            for name, data in more.items():
                file.writestr(f"hostile/{name}", data)
        return path

    return write


def test_the_honest_file_that_the_others_are_made_from_is_read(archive: Callable[..., Path]) -> None:
    assert open_checkpoint(archive(tensor()))["w"].numpy().tolist() == [0, 0, 0]


# --- opcodes ---

ARGUMENTS = {
    "GLOBAL": b"os\nsystem\n",
    "INST": b"os\nsystem\n",
    "INT": b"1\n",
    "LONG": b"1L\n",
    "FLOAT": b"1\n",
    "STRING": b"'a'\n",
    "UNICODE": b"a\n",
    "PERSID": b"a\n",
    "PUT": b"0\n",
    "GET": b"0\n",
}
OUTSIDE = [
    op for op in pickletools.opcodes if op.code.encode("latin-1") not in _OPERATIONS and op.name != "STOP"
]


@one_test
@pytest.mark.parametrize("opcode", OUTSIDE, ids=lambda op: op.name)
def test_every_opcode_outside_the_list_is_refused_by_name_and_offset(
    opcode: pickletools.OpcodeInfo,
) -> None:
    pickled = b"\x80\x02N(" + opcode.code.encode("latin-1") + ARGUMENTS.get(opcode.name, bytes(8)) + b"."
    with pytest.raises(CheckpointPickleError, match=f"offset 4: opcode {opcode.name} is not among those"):
        read(pickled)


def test_the_list_of_opcodes_is_the_one_that_was_thought_through() -> None:
    names = {op.name for op in pickletools.opcodes if op.code.encode("latin-1") in _OPERATIONS}
    assert names == set(
        "PROTO FRAME NONE NEWTRUE NEWFALSE BININT BININT1 BININT2 BINFLOAT LONG1 LONG4 BINUNICODE "
        "SHORT_BINUNICODE BINUNICODE8 BINBYTES SHORT_BINBYTES BINBYTES8 BYTEARRAY8 BINSTRING SHORT_BINSTRING "
        "MARK POP BINPUT LONG_BINPUT MEMOIZE BINGET LONG_BINGET EMPTY_TUPLE TUPLE1 TUPLE2 TUPLE3 TUPLE "
        "EMPTY_LIST LIST EMPTY_DICT DICT EMPTY_SET FROZENSET APPEND APPENDS SETITEM SETITEMS ADDITEMS GLOBAL "
        "STACK_GLOBAL REDUCE NEWOBJ NEWOBJ_EX BUILD BINPERSID".split()
    )


def test_every_byte_that_is_no_opcode_is_refused() -> None:
    known = {op.code.encode("latin-1") for op in pickletools.opcodes}
    for byte in range(256):
        if bytes([byte]) not in known:
            with pytest.raises(CheckpointPickleError, match=f"offset 2: byte {byte:#04x} is no opcode"):
                read(b"\x80\x02" + bytes([byte]) + b".")


class Attack:
    """An object whose pickle calls a function."""

    def __init__(self, function: Callable[..., object], *arguments: object) -> None:
        self.call = function, arguments

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        return self.call


@one_test
@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize(
    ("call", "name"),
    [
        ((print, "attacked"), r"print"),
        ((eval, "1"), r"eval"),
        ((getattr, object, "__subclasses__"), "getattr"),
        ((__import__, "os"), "__import__"),
        ((pickle.loads, b"N."), r"_?pickle\.loads"),
        ((subprocess.check_output, "true"), r"(subprocess|commands)\.check_output"),
    ],
)
def test_calls_are_refused_by_name(protocol: int, call: tuple[object, ...], name: str) -> None:
    attack = pickle.dumps({"w": Attack(*call)}, protocol)
    with pytest.raises(CheckpointPickleError, match=rf"names '[\w.]*{name}'|opcode \w+ is not among"):
        read(attack)


@one_test
@pytest.mark.parametrize("opaque", [False, True])
@pytest.mark.parametrize(
    "pickled",
    [
        b"\x80\x02cos\nsystem\nX\x04\x00\x00\x00true\x85R.",
        b"\x80\x02cos\nsystem\n)\x81}b.",
        b"\x80\x04cos\nsystem\n)}\x92.",
        b"\x80\x02cos\nsystem\n)R]ba.",
        b"\x80\x02ccollections\nOrderedDict\n)R}X\x0c\x00\x00\x00__setstate__cos\nsystem\nsb.",
        b"\x80\x02ccollections\nOrderedDict\n)R}X\x09\x00\x00\x00__class__cos\nsystem\nsb.",
        b"\x80\x02ccollections\nOrderedDict\n)RcX\nY\nb.",
        b"\x80\x02cbuiltins\ngetattr\ncos\nsystem\nX\x04\x00\x00\x00true\x86R)R.",
        b"\x80\x02cos\nsystem\n(lp0\n.",
        b"\x80\x02c__builtin__\neval\nX\x01\x00\x00\x001\x85Rc__builtin__\neval\n\x85R.",
        b"\x80\x02cos\nsystem\nN.",
        b"\x80\x02cos\nsystem\n]\x90.",
    ],
)
def test_tricks_with_objects_execute_nothing(pickled: bytes, opaque: bool) -> None:
    """Refused; or, where the caller takes unknown objects, something that stands for them."""
    try:
        found = read(pickled, opaque)
    except CheckpointPickleError:
        return
    assert opaque
    assert isinstance(found, (Opaque, dict, list))


# --- CVE-2026-24747: item assignment on what is no dict; a storage that is not as long as is said ---


@one_test
@pytest.mark.parametrize(
    ("target", "found"),
    [
        (b"]", "list"),
        (b")", "tuple"),
        (b"N", "NoneType"),
        (b"\x8f", "set"),
        (b"X\x01\x00\x00\x00a", "str"),
        (b"C\x08aaaaaaaa", "bytes"),
        (b"\x96\x08\x00\x00\x00\x00\x00\x00\x00aaaaaaaa", "bytes"),
        (b"ctorch\nFloatStorage\n", "Named"),
    ],
)
@pytest.mark.parametrize("items", [b"K\x00K\x01s", b"(K\x00K\x01u", b"(K\x00K\x01K\x02K\x03u"])
def test_items_are_set_in_dicts_only(target: bytes, found: str, items: bytes) -> None:
    with pytest.raises(CheckpointPickleError, match=rf"SETITEMS? on {found}"):
        read(b"\x80\x05" + target + items + b".")


def test_items_are_not_set_in_tensors(archive: Callable[..., Path]) -> None:
    bare = tensor()[len(b"\x80\x02}" + text("w")) : -2]  # the tensor alone
    with pytest.raises(CheckpointPickleError, match="SETITEM on LegacyTensor"):
        open_checkpoint(archive(b"\x80\x02" + bare + b"K\x00K\x01s."))
    with pytest.raises(CheckpointPickleError, match="APPEND on LegacyTensor"):
        open_checkpoint(archive(b"\x80\x02" + bare + b"K\x01a."))
    with pytest.raises(CheckpointPickleError, match="BUILD on LegacyTensor"):
        open_checkpoint(archive(b"\x80\x02" + bare + b"}b."))


@pytest.mark.parametrize("opaque", [False, True])
@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"count": 4}, "storage '0' has 12 bytes in the file, and the pickle says 4 of float32"),
        ({"count": 2}, "has 12 bytes in the file, and the pickle says 2 of float32"),
        ({"count": -3}, "says -3 of float32"),
        ({"count": 1 << 62}, "says 4611686018427387904 of float32"),
        ({"storage": b"ctorch\nDoubleStorage\n"}, "says 3 of float64"),
        ({"storage": b"ctorch\nByteStorage\n"}, "says 3 of uint8"),
        ({"storage": b"ctorch\nfloat32\n"}, "the storage of a tensor cannot be read"),
        ({"storage": b"K\x01"}, "int is no class of storages"),
        ({"key": "1"}, "storage '1' is not in the file"),
        ({"key": "../data.pkl"}, r"storage '\.\./data\.pkl' is not in the file"),
        ({"shape": (4,)}, "reaches element 3 of storage '0', which has 12 bytes"),
        ({"shape": (2,), "strides": (3,)}, "reaches element 3"),
        ({"offset": 1}, "reaches element 3"),
        ({"offset": -1}, "numbers that are not negative"),
        ({"shape": (-3,)}, "numbers that are not negative"),
        ({"strides": (-1,)}, "numbers that are not negative"),
        ({"shape": (2, 2)}, "2 axes with 1 strides"),
        ({"shape": (3,) + (1,) * 70, "strides": (1,) * 71}, "71 dimensions; expected at most 64"),
        ({"shape": (1 << 40,), "strides": (0,)}, "bytes; the limit is "),
        ({"shape": (1 << 62, 1 << 62), "strides": (0, 0)}, "bytes; the limit is "),
        ({"shape": (1 << 62, 1 << 62), "strides": (1, 1)}, "reaches element"),
        ({"offset": (1 << 63)}, "below 2"),
    ],
)
def test_wrong_storages_and_tensors_are_refused(
    archive: Callable[..., Path], changed: dict[str, object], message: str, opaque: bool
) -> None:
    with pytest.raises(CheckpointPickleError, match=message):
        open_checkpoint(archive(tensor(**changed)), skip_unknown=opaque)


def test_a_storage_described_in_two_ways_gives_two_readings_of_the_same_bytes_or_none(
    archive: Callable[..., Path],
) -> None:
    half = b"ctorch\nHalfStorage\n"
    both = tensor()[:-1] + text("v") + tensor(storage=half, count=6, shape=(6,))[9:-2] + b"s."
    found = open_checkpoint(archive(both))
    assert (found["w"].shape, found["v"].dtype, found["v"].shape) == ((3,), "float16", (6,))


def test_empty_tensors_with_huge_shapes_cost_nothing(archive: Callable[..., Path]) -> None:
    found = open_checkpoint(archive(tensor(shape=(0, 1 << 60), strides=(1, 1))))
    assert found["w"].nbytes == 0
    assert list(found["w"].pieces()) == []


# --- memory and time ---


def peak_of(pickled: bytes) -> int:
    """Peak of memory while a pickle is read; errors must be typed."""
    tracemalloc.start()
    with contextlib.suppress(CheckpointPickleError):
        read(pickled)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


@pytest.mark.parametrize(
    "pickled",
    [
        b"\x80\x02" + b"\x8f" * 60_000 + b".",
        b"\x80\x02" + b"}" * 60_000 + b".",
        b"\x80\x02" + b"(" * 60_000 + b".",
        b"\x80\x02]" + b"\x94" * 60_000 + b".",
        b"\x80\x02" + b"]\x85" * 30_000 + b".",
        b"\x80\x02" + b"ccollections\nOrderedDict\nq\x00" + b"h\x00)R" * 15_000 + b".",
        b"\x80\x02" + b"".join(b"]r" + struct.pack("<I", n) for n in range(10_000)) + b".",
        b"\x80\x02(" + b"(" + b"K\x01" * 20_000 + b"tq\x00" + b"h\x00K\x01" * 5_000 + b"d.",
    ],
    ids="sets dicts marks memo tuples ordered numbered tuple-keys".split(),
)
def test_memory_is_bounded_by_the_size_of_the_pickle(pickled: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("packager._weights.pickle_opcodes.FREE_MEMORY", 1 << 20)
    assert peak_of(pickled) < (2 << 20) + 33 * len(pickled)


def test_a_pickle_that_makes_too_much_of_its_bytes_is_refused() -> None:
    with pytest.raises(CheckpointPickleError, match="far more objects than a checkpoint of its size has"):
        read(b"\x80\x02" + b"\x8f" * 350_000 + b".")


@one_test
@pytest.mark.parametrize(
    "pickled",
    [
        b"\x80\x02X\xff\xff\xff\x7f.",
        b"\x80\x02B\xff\xff\xff\xff.",
        b"\x80\x02T\xff\xff\xff\xff.",
        b"\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\x7f.",
        b"\x80\x04\x8e\xff\xff\xff\xff\xff\xff\xff\xff.",
        b"\x80\x05\x96\xff\xff\xff\xff\xff\xff\xff\xff.",
        b"\x80\x04\x8b\xff\xff\xff\x7f.",
        b"\x80\x04\x8b\xff\xff\xff\xff.",
        b"\x80\x02c" + b"a" * 100_000,
        b"\x80\x02c" + b"a" * 100_000 + b"\nb\n.",
        b"\x80\x02r\xff\xff\xff\xff.",
    ],
)
def test_claims_of_size_take_no_memory(pickled: bytes) -> None:
    assert peak_of(pickled) < 4 << 20
    with pytest.raises(CheckpointPickleError):
        read(pickled)


def test_long_numbers_are_refused() -> None:
    with pytest.raises(
        CheckpointPickleError, match="a number of 257 bytes; no data has one of more than 256"
    ):
        read(b"\x80\x04\x8b\x01\x01\x00\x00" + b"\x01" * 257 + b".")
    assert read(b"\x80\x02\x8a\xff" + b"\x01" * 255 + b".") == int.from_bytes(b"\x01" * 255, "little")


def test_keys_that_collide_are_refused() -> None:
    prime = (1 << 61) - 1  # what Python takes hashes of numbers modulo
    clash = [number(prime * n) + b"N" for n in range(1, 602)]
    assert len(read(b"\x80\x02}(" + b"".join(clash[:500]) + b"u.")) == 500
    with pytest.raises(
        CheckpointPickleError, match="601 keys whose hashes collide, so that each would be compared"
    ):
        read(b"\x80\x02}(" + b"".join(clash) + b"u.")
    tuples = [b"M" + struct.pack("<H", n) + b"\x85N" for n in range(2001)]
    assert len(read(b"\x80\x02}(" + b"".join(tuples) + b"u.")) == 2001
    for size, refused in ((8, False), (9, True)):
        with (
            pytest.raises(CheckpointPickleError, match="a tuple of 9; no")
            if refused
            else contextlib.nullcontext()
        ):
            read(b"\x80\x02}(" + b"K\x01" * size + b"tNs.")
    with pytest.raises(CheckpointPickleError, match="a key of type complex"):
        read(b"\x80\x02}cbuiltins\ncomplex\nK\x01K\x01\x86RNs.")


@pytest.mark.parametrize("opener", [b"]", b"(", b"}"])
def test_deep_nesting_is_no_depth_for_the_reader(opener: bytes) -> None:
    closing = {b"]": b"a", b"(": b"t", b"}": b"s"}[opener]
    key = b"N" if opener == b"}" else b""
    depth = 20_000
    pickled = b"\x80\x02" + (opener + key) * depth + b"N" + closing * depth + b"."
    found = read(pickled)
    for _ in range(depth - 1):
        found = found[None] if opener == b"}" else found[0]
    assert found in ([None], (None,), {None: None})


def test_a_deep_or_endless_state_dict_is_refused(archive: Callable[..., Path]) -> None:
    deep = b"\x80\x02" + (b"}" + text("a")) * 5000 + tensor()[2:-1] + b"s" * 5000 + b"."
    with pytest.raises(LegacyFormatError, match=r"nested 65 deep; at most 64|found no state dict"):
        open_checkpoint(archive(deep), everything=True)
    with pytest.raises(LegacyFormatError):
        open_checkpoint(archive(deep))
    endless = b"\x80\x02}q\x00" + text("a") + b"h\x00s" + text("w") + tensor()[9:-2] + b"s."
    with pytest.raises(LegacyFormatError, match="nested 65 deep; at most 64"):
        open_checkpoint(archive(endless), everything=True)
    with pytest.raises(LegacyFormatError, match="found no state dict, but dict of 2 with 1 tensor"):
        open_checkpoint(archive(endless))


def test_shared_parts_are_not_written_out(
    archive: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each dict holds the one before twice: two to the power of 60 paths."""
    monkeypatch.setattr("packager._weights.contents.MAX_PARTS", 100_000)
    doubled = text("w") + tensor()[9:-2] + text("inner") + b"}" + b"q\x00"
    for n in range(60):
        doubled += (
            b"0}(" + text("a") + b"h" + bytes([n]) + text("b") + b"h" + bytes([n]) + b"uq" + bytes([n + 1])
        )
    path = archive(b"\x80\x02}(" + doubled + b"u.")
    with pytest.raises(LegacyFormatError, match="100001 parts and more; at most 100000 are looked at"):
        open_checkpoint(path, everything=True)
    with pytest.raises(LegacyFormatError, match="100001 parts and more; at most 100000 are looked at"):
        open_checkpoint(path)


# --- names ---


def test_unknown_names_are_told_all_at_once() -> None:
    pickled = b"\x80\x02](cos\nsystem\ncargparse\nNamespace\ncos\nsystem\ne."
    with pytest.raises(CheckpointPickleError) as caught:
        read(pickled)
    lines = str(caught.value).splitlines()
    assert lines[0] == "pickle, offset 4: the pickle names 'os.system', which is not plain data"
    assert lines[1] == "    offset 15: 'argparse.Namespace', neither"
    assert "--skip-unknown" in lines[2]


def test_thousands_of_names_are_not_gathered() -> None:
    names = b"".join(b"cmod%d\nname\n0" % n for n in range(2000))
    with pytest.raises(CheckpointPickleError, match="and 990 more\n"):
        read(b"\x80\x02" + names + b"N.")


@one_test
@pytest.mark.parametrize(
    "pickled",
    [
        b"ctorch._utils\n_rebuild_tensor_v2\nN\x85R",
        b"ctorch._utils\n_rebuild_tensor_v2\n)R",
        b"ctorch._utils\n_rebuild_tensor_v3\n(NNNNNNNtR",
        b"ctorch._utils\n_rebuild_parameter\nN\x85R",
        b"ctorch._tensor\n_rebuild_from_type_v2\n(cos\nsystem\nN)NtR",
        b"ctorch._tensor\n_rebuild_from_type_v2\n(ctorch\nSize\nN)NtR",
        b"ctorch\nSize\nX\x01\x00\x00\x00a\x85R",
        b"ctorch\ndevice\n]\x85R",
        b"ctorch\ndevice\nX\x04\x00\x00\x00cuda]\x86R",
        b"ctorch.serialization\n_get_layout\n]\x85R",
        b"ctorch.serialization\n_get_layout\nK\x01\x85R",
        b"ccollections\nOrderedDict\nK\x05\x85R",
        b"ccollections\nCounter\n]\x85R",
        b"ccollections\ndefaultdict\nK\x01\x85R",
        b"c_codecs\nencode\nX\x01\x00\x00\x00aX\x03\x00\x00\x00hex\x86R",
        b"c_codecs\nencode\nX\x03\x00\x00\x00\xe2\x82\xacX\x06\x00\x00\x00latin1\x86R",
        b"c_codecs\nencode\nX\x01\x00\x00\x00aX\x0a\x00\x00\x00utf8\x00\x00\x00\x00\x00\x00\x86R",
        b"cbuiltins\nbytearray\n\x8a\x05\x00\x00\x00\x00\x10\x85R",  # a size, as bytearray() takes one
        b"cbuiltins\nset\n]]a\x85R",
        b"cbuiltins\ncomplex\nX\x01\x00\x00\x001K\x01\x86R",
        b"cbuiltins\nbytes\nK\x05\x85R",
        b"cbuiltins\nint\nX\x01\x00\x00\x001\x85R",
        b"cnumpy\ndtype\nX\x01\x00\x00\x00O\x85R",
        b"cnumpy\ndtype\nX\x02\x00\x00\x00V8\x85R",
        b"cnumpy\ndtype\nX\x02\x00\x00\x00f4\x85RK\x01b",
        b"cnumpy.core.multiarray\n_reconstruct\ncos\nsystem\nK\x00\x85C\x01b\x87R",
        (
            b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85C\x01b\x87R(K\x01\x8a\x05\x00\x00\x00\x00\x10"
            b"\x85cnumpy\ndtype\nX\x02\x00\x00\x00f4\x85R\x89C\x04aaaatb"
        ),
        b"cnumpy.core.multiarray\nscalar\ncnumpy\ndtype\nX\x02\x00\x00\x00f8\x85RC\x01a\x86R",
        (
            b"cnumpy.core.numeric\n_frombuffer\n(C\x04aaaacnumpy\ndtype\nX\x02\x00\x00\x00f4\x85R"
            b"K\x05\x85X\x01\x00\x00\x00CtR"
        ),
    ],
)
def test_names_on_the_list_take_their_arguments_alone(pickled: bytes) -> None:
    with pytest.raises(CheckpointPickleError):
        read(b"\x80\x02" + pickled + b".")


def test_persistent_ids_are_storages_alone(archive: Callable[..., Path]) -> None:
    for pid in (b"N", b"K\x01", text("storage"), b"]", b"(" + text("module") + b"cos\nsystem\nNNNt", b")"):
        with pytest.raises(CheckpointPickleError):
            open_checkpoint(archive(b"\x80\x02" + pid + b"Q."))


# --- files around pickles ---


def test_a_tar_file_is_refused_by_name(tmp_path: Path) -> None:
    """CVE-2025-32434: torch.load read tar files with Python's own unpickler, whatever it was told."""
    with tarfile.open(tmp_path / "old.pt", "w") as tar:
        for name in ("storages", "tensors", "pickle"):
            data = pickle.dumps(Attack(print, "attacked"))
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    with pytest.raises(LegacyFormatError, match=r"a tar file; PyTorch before 0\.1\.10"):
        open_checkpoint(tmp_path / "old.pt")


def test_a_stream_behind_which_another_program_lies_is_refused(tmp_path: Path) -> None:
    (tmp_path / "s.pt").write_bytes(STREAM + pickle.dumps(Attack(print, "attacked")))
    with pytest.raises(LegacyFormatError, match="bytes behind the last storage"):
        open_checkpoint(tmp_path / "s.pt")


def test_no_part_of_a_stream_may_hold_names(tmp_path: Path) -> None:
    attack = pickle.dumps(Attack(print, "attacked"), 2)
    parts = []
    rest = io.BytesIO(STREAM)
    for _ in range(5):
        start = rest.tell()
        for opcode, _, _ in pickletools.genops(rest):
            if opcode.name == "STOP":
                break
        parts.append(STREAM[start : rest.tell()])
    for place in range(5):
        changed = [*parts[:place], attack, *parts[place + 1 :]]
        (tmp_path / "s.pt").write_bytes(b"".join(changed) + STREAM[rest.tell() :])
        with pytest.raises(CheckpointPickleError, match=r"(__builtin__|builtins)\.print"):
            open_checkpoint(tmp_path / "s.pt")


def test_two_pickles_and_torchscript_are_refused(archive: Callable[..., Path]) -> None:
    with pytest.raises(LegacyFormatError, match="an archive of TorchScript"):
        open_checkpoint(archive(tensor(), **{"constants.pkl": b"."}))
    with pytest.raises(LegacyFormatError, match=r"2 entries called data\.pkl"):
        open_checkpoint(archive(tensor(), **{"other/data.pkl": tensor()}))
    with pytest.raises(LegacyFormatError, match="byte order b'middle'"):
        open_checkpoint(archive(tensor(), byteorder=b"middle"))


def test_a_pickle_with_another_crc_is_refused(archive: Callable[..., Path]) -> None:
    path = archive(tensor())
    data = bytearray(path.read_bytes())
    place = data.index(b"X\x01\x00\x00\x00w")
    data[place + 5] = ord("v")
    path.write_bytes(data)
    with pytest.raises(LegacyFormatError, match=r"'hostile/data\.pkl' does not have its CRC-32"):
        open_checkpoint(path)


def test_nothing_is_executed_whatever_the_file(tmp_path: Path) -> None:
    """An audit hook sees every import, compile, call of the system and opened file of the process."""
    hostile = {
        f"{name}-{protocol}.pt": pickle.dumps(Attack(*call), protocol)
        for protocol in range(6)
        for name, call in {"print": (print, "x"), "eval": (eval, "1"), "import": (__import__, "this")}.items()
    }
    for name, data in hostile.items():
        (tmp_path / name).write_bytes(data)
        with zipfile.ZipFile(tmp_path / f"zip-{name}", "w") as file:
            file.writestr("a/data.pkl", data)
    script = f"""
import glob, sys
import ast, atexit, json, pickletools, tempfile, numpy  # what readers import when they need it
from packager.errors import PackageError
from packager._weights import open_checkpoint
files = sorted(glob.glob({str(tmp_path / "*.pt")!r}))
seen = []
sys.addaudithook(lambda event, args: seen.append((event, str(args))))
for file in files:
    for options in ({{}}, {{"skip_unknown": True}}, {{"everything": True}}):
        try:
            open_checkpoint(file, **options)
        except PackageError:
            continue
        raise SystemExit(f"{{file}} was read")
bad = {{"exec", "compile", "import", "os.system", "subprocess.Popen", "pickle.find_class", "os.exec"}}
print(len(files), sorted(event for event in seen if event[0] in bad))
print(sorted({{args for event, args in seen if event == "open" and not args.startswith("('{tmp_path}")}}))
"""
    done = processes.run(
        [sys.executable, "-W", "error", "-c", script], cold=True, capture_output=True, text=True, check=True
    )
    assert done.stdout == "36 []\n[]\n"


# --- changed at random ---


def mutated(data: bytes, seed: int) -> bytes:
    """A few bytes changed, cut, doubled or moved; half of them near the end, where the zip directory is."""
    dice = random.Random(seed)
    changed = bytearray(data)
    for _ in range(dice.randint(1, 6)):
        at = dice.choice(
            (dice.randrange(len(changed)), len(changed) - 1 - dice.randrange(min(600, len(changed))))
        )
        kind = dice.randrange(6)
        if kind == 0:
            changed[at] = dice.randrange(256)
        elif kind == 1:
            changed[at] ^= 1 << dice.randrange(8)
        elif kind == 2:
            changed[at : at + 4] = struct.pack(
                "<I", dice.choice((0, 1, 0xFFFFFFFF, 0x7FFFFFFF, len(changed), at))
            )
        elif kind == 3:
            del changed[at : at + dice.randint(1, 8)]
        elif kind == 4:
            other = dice.randrange(len(changed))
            changed[at:at] = changed[other : other + dice.randint(1, 40)]
        else:
            changed[at : at + 1] = bytes([dice.choice(b"\x80()]}aeustR.bcQq\x93\x81\x85\x86\x87NK")])
    return bytes(changed)


def check(data: bytes, path: Path) -> bool:
    """Open, and read everything of what opens; only typed errors may come out. Whether it could be read."""
    path.write_bytes(data)
    try:
        for options in ({}, {"everything": True, "skip_unknown": True}):
            checkpoint = open_checkpoint(path, **options)
            for value in checkpoint.tensors.values():
                for _ in value.pieces():
                    pass
    except PackageError:
        return False
    return True


@settings(max_examples=300)
@given(seed=st.integers(0, 1 << 32), which=st.sampled_from(["zip", "stream", "package"]))
@pytest.mark.long
def test_mutated_files_of_torch_give_data_or_typed_errors(
    seed: int, which: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / "mutated.pt"
    check(mutated((GOLDEN / f"{which}.pt").read_bytes(), seed), path)


def test_the_honest_files_pass_the_same_check(tmp_path: Path) -> None:
    assert all(
        check((GOLDEN / f"{which}.pt").read_bytes(), tmp_path / "a.pt")
        for which in ("zip", "stream", "package")
    )
