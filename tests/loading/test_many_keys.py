"""Many keys of a stored state dict at once: the same values as one by one, in fewer reads."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from packager import ArgumentError, IntegrityError, PackageExporter, PackageImporter
from packager.errors import KeyNotStoredError

BASE = np.arange(1024 * 700, dtype=np.float32).reshape(1024, 700)
STATE: dict[str, Any] = {
    **{f"layer{n}.weight": np.full((n * 37 + 1, 7), n, np.float32) for n in range(40)},
    "base": BASE,
    "turned": BASE.T,
    "rows": BASE[3:9],
    "flag": np.array([3], np.int8),
    "nothing": np.zeros((0, 3)),
    "config": {"heads": 8},
}


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("many") / "state.kellet"
    with PackageExporter(path, prove=False) as exporter:
        exporter.save_state_dict("weights", "net", STATE)
    return path


@pytest.fixture(params=["numpy", "kellet"])
def library(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.parametrize("digests", ["crc", "none", "sha256"])
@pytest.mark.parametrize("mmap", [True, False])
def test_many_keys_give_what_each_gives_in_the_order_asked_for(
    archive: Path, library: str, digests: str, mmap: bool
) -> None:
    keys = [*reversed(STATE), "base"]
    with PackageImporter(archive, digests=digests, mmap=mmap) as importer:
        loaded = importer.load_state_dict("weights", "net", as_=library)
        found = loaded.many(key for key in keys)
    assert list(found) == keys[:-1]
    assert found.pop("config") == {"heads": 8}
    for key, value in found.items():
        np.testing.assert_array_equal(np.asarray(value), STATE[key])
        assert np.asarray(value).dtype == STATE[key].dtype


@pytest.mark.parametrize("mmap", [True, False])
def test_tensors_that_are_trained_share_memory_as_one_by_one(archive: Path, mmap: bool) -> None:
    with PackageImporter(archive, mmap=mmap) as importer:
        loaded = importer.load_state_dict("weights", "net", as_="kellet")
        small = loaded["layer3.weight"]
        found = loaded.many(["turned", "layer3.weight"])
        found["turned"][0, 3] = -1.0
        small[0, 0] = -2.0
        assert loaded["base"][3, 0].item() == loaded["rows"][0, 0].item() == -1.0
        assert found["layer3.weight"][0, 0].item() == -2.0
        assert importer.load_state_dict("weights", "net", as_="kellet")["base"][3, 0].item() == BASE[3, 0]


def test_arrays_of_a_mapped_file_are_views_of_one_memory(archive: Path) -> None:
    with PackageImporter(archive) as importer:
        loaded = importer.load_state_dict("weights", "net")
        found = loaded.many(["base", "turned", "flag"])
        assert np.shares_memory(found["base"], loaded["turned"])
        assert np.shares_memory(found["base"], found["turned"])
        assert not found["flag"].flags.writeable


def test_all_unknown_keys_are_one_error_before_anything_is_read(archive: Path, library: str) -> None:
    with PackageImporter(archive) as importer:
        loaded = importer.load_state_dict("weights", "net", as_=library)
        seen: list[int] = []
        importer.archive.progress = lambda done, size: seen.append(done)
        unknown = ["bsae", "layer3.weigth", *(f"{n}" for n in range(6))]
        said = (
            r"weights/net has 46 keys, but lacks 8 requested keys:\n    'bsae'; did you "
            r"mean base\?\n    'layer3.weigth'; did you mean layer3.weight\?\n    '0'\n    '1'\n    '2'\n    "
            r"and 3 more"
        )
        with pytest.raises(KeyNotStoredError, match=said) as refused:
            loaded.many(["base", *unknown])
        assert refused.value.missing_keys == tuple(unknown)
        assert isinstance(refused.value, KeyError)
        assert seen == []


def test_names_are_compared_within_bounds(tmp_path: Path) -> None:
    with PackageExporter(tmp_path / "state.kellet", prove=False) as exporter:
        exporter.save_state_dict("weights", "net", {f"b{n}.w{n % 3}": np.int8(n % 9) for n in range(5000)})
    with (
        PackageImporter(tmp_path / "state.kellet") as importer,
        pytest.raises(KeyNotStoredError, match=r"'b47\.w9'; did you mean b47\.w2\?"),
    ):
        importer.load_state_dict("weights", "net").many(["b47.w9"])


@pytest.mark.parametrize("keys", ["base", b"base", 3, None])
def test_what_is_no_list_of_keys_is_refused(archive: Path, keys: Any) -> None:
    with (
        PackageImporter(archive) as importer,
        pytest.raises(ArgumentError, match="expected a list of keys, as"),
    ):
        importer.load_state_dict("weights", "net").many(keys)


def test_neighbours_are_read_at_once_and_others_not_at_all(
    archive: Path, library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from packager._archive import ArchiveReader

    reads: list[int] = []
    view = ArchiveReader.view

    def counted(self: ArchiveReader, name: str, start: int = 0, stop: int | None = None) -> memoryview:
        found = view(self, name, start, stop)
        reads.append(len(found))
        return found

    with PackageImporter(archive, mmap=False) as importer:
        loaded = importer.load_state_dict("weights", "net", as_=library)
        monkeypatch.setattr(ArchiveReader, "view", counted)
        loaded.many(f"layer{n}.weight" for n in range(40))
        # Storages at multiples of 64 bytes lie before the others; private ones of both kinds are read apart.
        assert len(reads) <= 2
        assert sum(reads) < BASE.nbytes


def test_damage_is_found_and_only_in_what_is_asked_for(archive: Path, library: str) -> None:
    data = bytearray(archive.read_bytes())
    data[data.index(BASE.tobytes()) + BASE.nbytes // 2] ^= 1
    with PackageImporter(bytes(data)) as importer:
        loaded = importer.load_state_dict("weights", "net", as_=library)
        assert len(loaded.many([f"layer{n}.weight" for n in range(40)])) == 40
        with pytest.raises(IntegrityError, match=r"bytes \d+ to \d+ do not have the crc"):
            loaded.many(["layer0.weight", "base"])


def test_no_keys_are_no_values(archive: Path) -> None:
    with PackageImporter(archive) as importer:
        assert importer.load_state_dict("weights", "net").many([]) == {}
