"""What `open_checkpoint` gives, as other code takes it: copied, pickled, loaded and saved again."""

from __future__ import annotations

import copy
import io
import pickle
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kellet import nn
from packager import PackageExporter, PackageImporter
from packager._weights import Checkpoint, LegacyTensor, open_checkpoint, write_checkpoint


@pytest.fixture(params=["npz", "safetensors", "kellet"])
def checkpoint(request: pytest.FixtureRequest, tmp_path: Path) -> Checkpoint:
    layer = nn.Linear(3, 2)
    arrays = {key: value.numpy() for key, value in layer.state_dict().items()}
    path = tmp_path / f"layer.{request.param}"
    if request.param == "npz":
        np.savez(path, **arrays)
    else:
        write_checkpoint(path, arrays, fsync=False)
    return open_checkpoint(path)


def values(state: Any) -> dict[str, Any]:
    return {key: np.asarray(value).tolist() for key, value in state.items()}


def test_copies_hold_what_the_file_holds(checkpoint: Checkpoint) -> None:
    lazy = [checkpoint.copy(), copy.copy(checkpoint), dict(checkpoint), checkpoint | {}]
    read = [copy.deepcopy(checkpoint), pickle.loads(pickle.dumps(checkpoint)), checkpoint.state_dict("numpy")]
    assert all(values(made) == values(checkpoint) for made in (*lazy, *read))
    assert all(type(made["weight"]) is LegacyTensor for made in lazy)
    assert all(type(made["weight"]) is np.ndarray for made in read)
    assert type(read[1]) is OrderedDict


def test_it_is_loaded_and_saved_as_it_is(checkpoint: Checkpoint) -> None:
    layer = nn.Linear(3, 2)
    layer.load_state_dict(checkpoint)
    assert values(layer.state_dict()) == values(checkpoint)
    file = io.BytesIO()
    with PackageExporter(file, prove=False) as exporter:
        exporter.save_state_dict("model", "weights", checkpoint)
    with PackageImporter(file) as importer:
        assert values(importer.load_state_dict("model", "weights")) == values(checkpoint)


def test_a_library_that_is_none_is_a_value_error(checkpoint: Checkpoint) -> None:
    with pytest.raises(ValueError, match=r"as_='jax': expected one of 'numpy', 'kellet', 'torch'"):
        checkpoint.state_dict("jax")


def test_ties_and_kinds_of_arrays_stay(tmp_path: Path) -> None:
    whole = np.arange(12.0).reshape(3, 4)
    state = {
        "a": whole,
        "row": whole[1],
        "turned": whole.T,
        "c": whole.astype(complex),
        "e": whole[:0],
        "n": [3],
    }
    write_checkpoint(tmp_path / "a.kellet", state, fsync=False)
    made = open_checkpoint(tmp_path / "a.kellet").state_dict("numpy")
    again = open_checkpoint(tmp_path / "a.kellet").state_dict("kellet")
    for key, value in state.items():
        assert np.asarray(made[key]).tolist() == np.asarray(again[key]).tolist() == np.asarray(value).tolist()
    np.save(tmp_path / "big.npy", whole.astype(">f8"))
    assert open_checkpoint(tmp_path / "big.npy").state_dict("kellet")["big"].tolist() == whole.tolist()
