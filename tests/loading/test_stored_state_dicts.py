"""State dicts of an archive on disk: lazy, mapped, read alone, trainable, valid after `close()`."""

import gc
import hashlib
import io
import os
import warnings
from pathlib import Path

import numpy as np
import pytest

import kellet
from kellet import nn
from packager import IntegrityError, PackageExporter, PackageImporter

MIB = 1 << 20


@pytest.fixture
def state() -> dict[str, np.ndarray]:
    """Tensors of several chunks, so that one can be damaged and the others are not."""
    rng = np.random.default_rng(0)
    return {
        "encoder.first": rng.standard_normal((768, 1024), dtype=np.float32),
        "encoder.second": rng.standard_normal((1024, 1024), dtype=np.float32),
        "head.weight": np.arange(12, dtype=np.float64).reshape(3, 4),
    }


@pytest.fixture
def archive(tmp_path: Path, state: dict[str, np.ndarray]) -> Path:
    with PackageExporter(tmp_path / "state.kellet", prove=False) as exporter:
        exporter.save_state_dict("weights", "net", state)
    return tmp_path / "state.kellet"


def damage(path: Path, tensor: np.ndarray, at: int) -> None:
    """Flip a bit of the byte `at` of a tensor inside the file."""
    data = bytearray(path.read_bytes())
    start = data.index(tensor.tobytes()[:64])
    data[start + at] ^= 1
    path.write_bytes(data)


def maps_of(path: Path) -> list[str]:
    """The parts of this process's memory that are maps of the file."""
    with open("/proc/self/maps") as maps:
        return [line for line in maps if line.rstrip().endswith(str(path))]


@pytest.mark.parametrize("as_", ["numpy", "kellet"])
def test_one_tensor_is_read_alone(archive: Path, state: dict[str, np.ndarray], as_: str) -> None:
    damage(archive, state["encoder.first"], 5)
    with PackageImporter(archive) as importer:
        loaded = importer.load_state_dict("weights", "net", as_=as_)
        np.testing.assert_array_equal(np.asarray(loaded["head.weight"]), state["head.weight"])
        with pytest.raises(IntegrityError, match=r"bytes \d+ to \d+ do not have the crc"):
            loaded["encoder.first"]


def test_a_slice_is_read_alone(archive: Path, state: dict[str, np.ndarray]) -> None:
    damage(archive, state["encoder.second"], 2 * MIB)
    with PackageImporter(archive) as importer:
        loaded = importer.load_state_dict("weights", "net")
        np.testing.assert_array_equal(
            loaded.rows("encoder.second", 900, 910), state["encoder.second"][900:910]
        )
        with pytest.raises(IntegrityError, match="do not have the crc"):
            loaded.rows("encoder.second", 512, 513)


def test_a_pattern_of_keys_is_read_alone(archive: Path, state: dict[str, np.ndarray]) -> None:
    damage(archive, state["encoder.second"], 2 * MIB)
    with PackageImporter(archive) as importer:
        loaded = importer.load_state_dict("weights", "net")
        assert list(loaded.matching("head.*", "*.first")) == ["encoder.first", "head.weight"]
        with pytest.raises(IntegrityError, match="do not have the crc"):
            loaded.matching("encoder.*")


def test_keys_shapes_and_dtypes_are_known_before_a_tensor_is_read(
    archive: Path, state: dict[str, np.ndarray]
) -> None:
    for tensor in state.values():
        damage(archive, tensor, 0)
    with PackageImporter(archive) as importer:
        loaded = importer.load_state_dict("weights", "net")
        assert list(loaded) == list(state)
        assert [(loaded.spec(key).shape, loaded.spec(key).dtype) for key in loaded] == [
            ((768, 1024), "F32"),
            ((1024, 1024), "F32"),
            ((3, 4), "F64"),
        ]


def test_without_digests_no_byte_is_checked(archive: Path, state: dict[str, np.ndarray]) -> None:
    damage(archive, state["head.weight"], 0)
    with PackageImporter(archive, digests="none") as importer:
        assert importer.load_state_dict("weights", "net")["head.weight"].shape == (3, 4)
    with (
        PackageImporter(archive, digests="sha256") as importer,
        pytest.raises(IntegrityError, match="sha256"),
    ):
        importer.load_state_dict("weights", "net")["head.weight"]


def test_arrays_are_read_only_views_of_the_map(archive: Path) -> None:
    with PackageImporter(archive) as importer:
        array = importer.load_state_dict("weights", "net")["head.weight"]
        assert not array.flags.writeable
        assert not array.flags.owndata
        assert array.ctypes.data % 64 == 0
        with pytest.raises(ValueError, match="read-only"):
            array[0, 0] = 1
        with pytest.raises(ValueError, match="cannot set WRITEABLE"):
            array.flags.writeable = True


def test_kellet_tensors_train_on_a_private_map_without_a_warning(tmp_path: Path) -> None:
    net = nn.Linear(64, 8)
    path = tmp_path / "net.kellet"
    with PackageExporter(path, prove=False) as exporter:
        exporter.save_state_dict("weights", "net", net)
    before = hashlib.sha256(path.read_bytes()).hexdigest()
    with PackageImporter(path) as importer, warnings.catch_warnings():
        warnings.simplefilter("error")
        other = nn.Linear(64, 8)
        other.load_state_dict(importer.load_state_dict("weights", "net", as_="kellet"), assign=True)
        assert len(maps_of(path)) > 1
        optimizer = kellet.optim.SGD(other.parameters(), lr=0.1)
        other(kellet.ones(2, 64)).sum().backward()
        optimizer.step()
        assert not np.array_equal(other.weight.detach().numpy(), net.weight.detach().numpy())
        again = importer.load_state_dict("weights", "net")["weight"]
        np.testing.assert_array_equal(again, net.weight.detach().numpy())
    assert hashlib.sha256(path.read_bytes()).hexdigest() == before


@pytest.mark.parametrize("as_", ["numpy", "kellet"])
def test_values_outlive_close_and_the_file_is_let_go_with_the_last(
    archive: Path, state: dict[str, np.ndarray], as_: str
) -> None:
    importer = PackageImporter(archive)
    loaded = importer.load_state_dict("weights", "net", as_=as_)
    kept, other = loaded["head.weight"], loaded["encoder.first"]
    importer.close()
    del loaded, other, importer
    gc.collect()
    np.testing.assert_array_equal(np.asarray(kept), state["head.weight"])
    assert maps_of(archive)
    del kept
    gc.collect()
    assert maps_of(archive) == []
    assert str(archive) not in [os.path.realpath(f"/proc/self/fd/{n}") for n in os.listdir("/proc/self/fd")]


def test_values_outlive_a_deleted_and_a_replaced_file(archive: Path, state: dict[str, np.ndarray]) -> None:
    with PackageImporter(archive) as importer:
        loaded = importer.load_state_dict("weights", "net")
        kept = loaded["encoder.first"]
        other = archive.with_name("other.kellet")
        other.write_bytes(b"something else")
        os.replace(other, archive)
        np.testing.assert_array_equal(loaded["encoder.second"], state["encoder.second"])
    np.testing.assert_array_equal(kept, state["encoder.first"])


def test_load_hooks_see_versions_and_extras(tmp_path: Path) -> None:
    class Net(nn.Module):
        _version = 3

        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(2, 2)
            self.extra = {"words": ["cat"], "count": 1}

        def get_extra_state(self) -> object:
            return self.extra

        def set_extra_state(self, state: object) -> None:
            self.extra = state  # type: ignore[assignment]  # what was stored

    seen = []
    with PackageExporter(tmp_path / "net.kellet", prove=False) as exporter:
        exporter.save_state_dict("weights", "net", Net())
    with PackageImporter(tmp_path / "net.kellet") as importer:
        other = Net()
        other.extra = {}
        other.register_load_state_dict_pre_hook(
            lambda module, state, prefix, metadata, *rest: seen.append((prefix, metadata.get("version")))
        )
        state = importer.load_state_dict("weights", "net", as_="kellet")
        assert state.versions == {"": 3, "layer": 1}
        other.load_state_dict(state)
    assert seen == [("", 3)]
    assert other.extra == {"words": ["cat"], "count": 1}


def test_opening_reads_none_of_the_tensors(tmp_path: Path) -> None:
    big = {"big": np.ones(16 * MIB, np.float32), "small": np.ones(4, np.float32)}
    with PackageExporter(tmp_path / "big.kellet", prove=False) as exporter:
        exporter.save_state_dict("weights", "big", big)
    with PackageImporter(tmp_path / "big.kellet") as importer:
        loaded = importer.load_state_dict("weights", "big")
        list(loaded)
        before = resident_bytes(tmp_path / "big.kellet")
        loaded["small"]
        after_one = resident_bytes(tmp_path / "big.kellet")
        loaded["big"].sum()
        assert before < 4 * MIB
        assert after_one < 8 * MIB
        assert resident_bytes(tmp_path / "big.kellet") > 60 * MIB


def resident_bytes(path: Path) -> int:
    """How much of the maps of a file this process has touched."""
    with open("/proc/self/smaps") as file:
        lines = file.read().splitlines()
    maps = [number for number, line in enumerate(lines) if line.endswith(str(path))]
    entries = [entry for number in maps for entry in lines[number + 1 : number + 6]]
    return sum(int(entry.split()[1]) << 10 for entry in entries if entry.startswith("Rss:"))


@pytest.mark.parametrize(
    "array",
    [
        np.arange(4) + 1j,
        np.array(["2020-01-01", "2021-01-01"], "M8[D]"),
        np.array([1, 2, 3], "m8[s]"),
        np.array(["abc", "d"]),
        np.ones(3, ">f8"),
        np.zeros((0, 3)),
        np.zeros(0, "M8[D]"),
    ],
    ids=lambda array: f"{array.dtype}-{array.shape}",
)
def test_arrays_of_every_kind_come_back_aligned_and_read_only(array: np.ndarray) -> None:
    """A state of odd sizes moves what safetensors has no word for to places of any kind."""
    file = io.BytesIO()
    odd = {"a": np.ones(3, np.int8), "bool": np.ones(5, bool), "z": np.ones(7, np.int8)}
    with PackageExporter(file, prove=False) as exporter:
        exporter.save_state_dict("weights", "net", {**odd, "value": array, "view": array[::-1]})
    with PackageImporter(file) as importer:
        loaded = importer.load_state_dict("weights", "net")
        for found, expected in ((loaded["value"], array), (loaded["view"], array[::-1])):
            assert (found.dtype, found.tolist()) == (expected.dtype, expected.tolist())
            assert (found.flags.aligned, found.flags.writeable) == (True, False)
