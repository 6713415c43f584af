"""Conjugated and negated views that PyTorch 2.13 saved: their values come out, in every format.

`fixtures/legacy/conjugated_files.py` made the files.
"""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import pytest

from packager import PackageImporter
from packager._cli import main
from packager._migrations import Migration, load_checkpoint, migrate, rename
from packager._migrations.transforms import Transpose
from packager._weights import CheckpointPickleError, array_of, open_checkpoint, write_checkpoint
from packager._weights.legacy_tensors import LegacyStorage, checked_tensor
from packager._weights.sign_bits import ShownStorage, SignBits, ViewedStorages, sign_bits_in
from packager.errors import LegacyFormatError
from tests.tables import one_test

FOLDER = Path(__file__).resolve().parents[2] / "fixtures" / "legacy"
FILES = [FOLDER / f"conjugated_{kind}.pt" for kind in ("zip", "stream", "package")]
WHOLE = np.array([[1 + 2j, 3 - 4j, 5], [-6 + 7j, 8 + 9j, complex(0, -1)]], "c8")
PLAIN = np.array([1.5, -2.5, 0.0, 4.0], "f4")
NUMBERS = np.array([0, 1, 2, 4])
VALUES = {
    "plain": WHOLE,
    "conj": WHOLE.conj(),
    "again": WHOLE.conj(),
    "transposed": WHOLE.conj().T,
    "column": WHOLE[:, 1].conj(),
    "negated": -WHOLE,
    "both": -WHOLE.conj(),
    "adjoint": WHOLE.conj().T,
    "imag": np.array([-2.0, 4.0], "f4"),
    "scalar": np.array(1 - 2j, "c8"),
    "empty": np.zeros((0, 2), "c8"),
    "expanded": np.full((2, 3), 2 + 1j, "c8"),
    "parameter": np.array([1j, -2j], "c8").conj(),
    "positive": PLAIN,
    "negative": -PLAIN,
    "wide": np.array([1 - 2j], "c16"),
    "attributes": np.array([3 - 4j], "c8"),
    **{
        f"neg.{name}": -NUMBERS.astype(name)
        for name in ("float16", "float64", "uint8", "int8", "int16", "int32", "int64")
    },
}
NEGATED_BFLOAT16 = [0x8000, 0xBF80, 0xC000, 0xC080]  # -0, -1, -2 and -4


@pytest.fixture(params=FILES, ids=lambda path: path.stem.partition("_")[2])
def path(request):
    return request.param


def same_bits(found, expected):
    """Whether two arrays are one bit for bit: minus zero is not zero."""
    return (
        found.dtype == expected.dtype
        and found.shape == expected.shape
        and found.tobytes() == expected.tobytes()
    )


def test_every_view_gives_its_values_bit_for_bit(path):
    checkpoint = open_checkpoint(path)
    assert set(checkpoint) == {*VALUES, "neg.bfloat16"}
    for key, expected in VALUES.items():
        found = checkpoint[key]
        assert same_bits(found.numpy(), expected), key
        assert b"".join(found.pieces()) == expected.tobytes(), key
        assert b"".join(found.pieces(16)) == expected.tobytes(), key
        assert np.array_equal(array_of(found), expected), key
    assert checkpoint["neg.bfloat16"].raw().tolist() == NEGATED_BFLOAT16


def test_parts_of_a_view_give_the_values_of_the_parts(path):
    conj = open_checkpoint(path)["conj"]
    assert conj[1].numpy().tolist() == WHOLE.conj()[1].tolist()
    assert conj[:, ::2].numpy().tolist() == WHOLE.conj()[:, ::2].tolist()
    assert conj.transpose().numpy().tolist() == WHOLE.conj().T.tolist()
    assert conj.reshape(3, 2).numpy().tolist() == WHOLE.conj().reshape(3, 2).tolist()
    assert conj[::-1].tolist() == WHOLE.conj()[::-1].tolist()
    assert (conj * 2).tolist() == (WHOLE.conj() * 2).tolist()


def test_views_that_show_one_storage_in_one_way_share_memory_and_others_do_not(path):
    checkpoint = open_checkpoint(path)
    arrays = {key: array_of(checkpoint[key]) for key in ("plain", "conj", "again", "column", "negated")}
    assert np.shares_memory(arrays["conj"], arrays["again"])
    assert np.shares_memory(arrays["conj"], arrays["column"])
    assert not any(np.shares_memory(arrays["plain"], arrays[key]) for key in ("conj", "negated"))
    assert not any(array.flags.writeable for array in arrays.values())


def lost(left_out):
    return {part.path: (part.what, part.why) for part in left_out if part.what.startswith("tie")}


@pytest.mark.parametrize("ending", ["safetensors", "kellet"])
def test_what_is_written_has_the_values_and_says_which_ties_are_lost(path, tmp_path, ending):
    checkpoint = open_checkpoint(path)
    kept = {key: checkpoint[key] for key in checkpoint if ending == "kellet" or key != "wide"}
    written = write_checkpoint(tmp_path / f"new.{ending}", kept, fsync=False)
    again = open_checkpoint(written.path)
    assert set(again) == set(kept)
    for key in VALUES.keys() & set(kept):
        assert same_bits(again[key].numpy(), VALUES[key]), key
    assert again["neg.bfloat16"].raw().tolist() == NEGATED_BFLOAT16
    assert written.tied == (("conj", "again", "transposed", "column", "adjoint"),)
    said = lost(written.left_out)
    how = ", and is written with values of its own"
    assert {key: why for key, (_, why) in said.items()} == {
        **dict.fromkeys(
            ("conj", "again", "transposed", "column", "adjoint"), f"it shows the same memory conjugated{how}"
        ),
        "negated": f"it shows the same memory negated{how}",
        "both": f"it shows the same memory conjugated and negated{how}",
        "negative": f"it shows the same memory negated{how}",
    }
    assert said["negative"][0] == "tie with 'positive'"


def test_a_lone_view_has_no_tie_to_lose(path, tmp_path):
    checkpoint = open_checkpoint(path)
    kept = {key: checkpoint[key] for key in ("conj", "again", "imag", "negative", "scalar")}
    assert write_checkpoint(tmp_path / "new.kellet", kept, fsync=False).left_out == ()


def test_ties_of_conjugated_views_are_kept_in_an_archive(path, tmp_path):
    checkpoint = open_checkpoint(path)
    kept = {key: checkpoint[key] for key in ("conj", "again", "plain")}
    write_checkpoint(tmp_path / "new.kellet", kept, fsync=False)
    with PackageImporter(tmp_path / "new.kellet") as importer:
        state = importer.load_state_dict("model", "weights")
        assert np.shares_memory(state["conj"], state["again"])
        assert not np.shares_memory(state["conj"], state["plain"])
        assert state["again"].tolist() == WHOLE.conj().tolist()


def test_a_migration_sees_the_values(path, tmp_path):
    turned = Migration("turned", [rename("conj", "new", Transpose()), rename("negative", "other")])
    checkpoint = open_checkpoint(path)
    migrated = migrate(turned, {key: checkpoint[key] for key in ("conj", "negative")})
    assert np.asarray(migrated["new"]).tolist() == WHOLE.conj().T.tolist()
    write_checkpoint(tmp_path / "new.safetensors", migrated, fsync=False)
    again = open_checkpoint(tmp_path / "new.safetensors")
    assert again["new"].numpy().tolist() == WHOLE.conj().T.tolist()
    assert again["other"].numpy().tolist() == (-PLAIN).tolist()


def test_the_command_migrate_writes_the_values(path, tmp_path, capsys):
    (tmp_path / "to.toml").write_text('[[step]]\nrename = "imag"\nto = "imaginary"\n')
    new = tmp_path / "new.kellet"
    assert main(["migrate", str(path), "--with", str(tmp_path / "to.toml"), "-o", str(new)]) == 0
    out = capsys.readouterr().out
    assert "left out negative: tie with 'positive': it shows the same memory negated, and is written" in out
    assert open_checkpoint(new)["imaginary"].numpy().tolist() == [-2.0, 4.0]


def test_the_command_convert_writes_the_values_and_names_the_lost_ties(path, tmp_path, capsys):
    new = tmp_path / "new.kellet"
    assert main(["convert", str(path), str(new), "--all"]) == 0
    out = capsys.readouterr().out
    assert "tie with 'plain'" in out
    assert "it shows the same memory conjugated" in out
    assert open_checkpoint(new)["conj"].numpy().tolist() == WHOLE.conj().tolist()


class Weights:
    """What takes a state dict, and belongs to no library."""

    def load_state_dict(self, state, strict=True):
        self.state = {key: np.asarray(state[key]).tolist() for key in state}


def test_values_are_loaded_into_what_takes_them(path):
    taken = Weights()
    load_checkpoint(taken, path, Migration("less", [rename("neg.bfloat16", "less", Transpose())]))
    assert taken.state["conj"] == WHOLE.conj().tolist()
    assert taken.state["imag"] == [-2.0, 4.0]
    assert taken.state["scalar"] == 1 - 2j


NET = """
import kellet
from kellet import nn

net = nn.Module()
net.register_buffer("imag", kellet.zeros(2))
net.register_buffer("negative", kellet.zeros(4))
net.register_buffer("conj", kellet.zeros(2, 3, dtype=kellet.complex64))
"""


def test_weights_of_an_export_are_the_values(project, tmp_path):
    project({"shop/__init__.py": "", "shop/net.py": NET})
    new = tmp_path / "net.kellet"
    index = FOLDER / "conjugated_shards" / "model.bin.index.json"
    assert main(["export", "--no-proof", "shop.net:net", "--weights", str(index), "-o", str(new)]) == 0
    with PackageImporter(new) as importer:
        net = importer.load_object("model", "model")
    assert net.imag.tolist() == [-2.0, 4.0]
    assert net.negative.tolist() == [-1.5, 2.5, 0.0, -4.0]
    assert net.conj.tolist() == WHOLE.conj().tolist()


def test_shards_give_the_values():
    checkpoint = open_checkpoint(FOLDER / "conjugated_shards" / "model.bin.index.json")
    for key in ("conj", "imag", "negative"):
        assert same_bits(checkpoint[key].numpy(), VALUES[key]), key


TEXT = b"\x04\x00\x00\x00"  # how long a text of four letters is


def changed(source: Path, target: Path, old: bytes, new: bytes) -> Path:
    """A file in the zip format with other text in its pickle."""
    with zipfile.ZipFile(source) as read, zipfile.ZipFile(target, "w") as write:
        for name in read.namelist():
            data = read.read(name)
            write.writestr(name, data.replace(old, new) if name.endswith("data.pkl") else data)
    return target


@pytest.mark.parametrize("skip_unknown", [False, True])
def test_metadata_of_another_kind_is_refused_by_its_key(tmp_path, skip_unknown):
    other = changed(FILES[0], tmp_path / "new.pt", TEXT + b"conj", TEXT + b"fake")
    with pytest.raises(
        CheckpointPickleError,
        match=r"torch\._utils\._rebuild_tensor_v2 with arguments that do not fit: the metadata of a tensor "
        r"has 'fake', and what that means for its values is not known; expected 'conj' and 'neg' alone",
    ):
        open_checkpoint(other, skip_unknown=skip_unknown)


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ([("conj", True)], "metadata of a tensor is list; expected a dict"),
        ({"conj": 1}, "'conj' in the metadata of a tensor is 1; expected true or false"),
        ({"neg": None}, "'neg' in the metadata of a tensor is None; expected true or false"),
        ({"neg": True, "backend": 3, "z": 1}, "has 'backend', 'z', and what that means"),
        ({3: True}, "has 3, and what that means"),
    ],
)
def test_metadata_that_is_not_two_bits_is_an_error(metadata, message):
    with pytest.raises(ValueError, match=message):
        sign_bits_in(metadata)


def test_bits_that_are_not_set_change_nothing():
    storage = memory(b"\0" * 8)
    views = ViewedStorages(False)
    for metadata in (None, {}, {"conj": False}, {"neg": False, "conj": False}):
        assert sign_bits_in(metadata) == SignBits()
        assert views.shown(storage, "int8", sign_bits_in(metadata)) is storage


def memory(data: bytes) -> LegacyStorage:
    return LegacyStorage("0", "uint8", len(data), lambda start, stop: memoryview(data)[start:stop])


@pytest.mark.parametrize(
    ("dtype", "bits", "message"),
    [
        ("float32", SignBits(conj=True), "a tensor of float32 is marked as conjugated; only complex ones"),
        ("int64", SignBits(conj=True, neg=True), "a tensor of int64 is marked as conjugated"),
        *((name, SignBits(neg=True), f"{name} is marked as negated, and that dtype has no negative")
          for name in ("bool", "uint16", "uint32", "uint64", "float8_e4m3fn", "float8_e4m3fnuz")),
    ],
)  # fmt: skip
def test_a_dtype_that_has_no_such_view_is_refused(dtype, bits, message):
    with pytest.raises(ValueError, match=message):
        ViewedStorages(False).shown(memory(b"\0" * 16), dtype, bits)


@one_test
@pytest.mark.parametrize(
    "dtype", ["float16", "float32", "float64", "complex64", "complex128", "int16", "int64"]
)
@pytest.mark.parametrize("big_endian", [False, True])
@pytest.mark.parametrize("bits", [SignBits(neg=True), SignBits(conj=True), SignBits(True, True)], ids=str)
def test_signs_turn_in_both_byte_orders_wherever_reading_starts(dtype, big_endian, bits):
    if bits.conj and not dtype.startswith("complex"):
        bits = SignBits(neg=True)
    numbers = np.array([0, 1, -2, 3], dtype)
    if dtype.startswith("complex"):
        numbers = numbers + np.array([1j, -0.0, 2j, -3j], dtype)
    stored = numbers.astype(numbers.dtype.newbyteorder(">")) if big_endian else numbers
    expected = numbers.conj() if bits.conj else numbers
    expected = -expected if bits.neg else expected
    shown = ViewedStorages(big_endian).shown(memory(stored.tobytes() + b"\x81"), dtype, bits)
    tensor = checked_tensor(shown, dtype, 0, (4,), (1,), big_endian)
    assert same_bits(tensor.numpy(), expected)
    whole = bytes(shown.read(0, shown.nbytes))
    assert whole[-1] == 0x81  # behind the last element
    assert all(bytes(shown.read(at, at + 3)) == whole[at : at + 3] for at in range(len(whole) - 2))
    with pytest.raises(LegacyFormatError, match="bytes 0 to 1000 were asked for"):
        shown.read(0, 1000)


def test_what_is_shown_says_how():
    shown = ViewedStorages(False).shown(memory(b"\0" * 16), "complex64", SignBits(True, True))
    assert isinstance(shown, ShownStorage)
    assert str(shown.bits) == "conjugated and negated"
    assert str(SignBits()) == "as it is"
