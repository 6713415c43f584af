"""The table of dtypes is PyTorch's, and float8 kinds are spelt as the safetensors library spells them."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file, save_file

from packager import PackageExporter, PackageImporter
from packager._archive import ArchiveReader
from packager._tensors import DTYPES, cast, dtype_of, full, join, library_of, roll, tensor_of, to_numpy
from packager._weights import write_checkpoint

FLOAT8 = [name for name in DTYPES if name.startswith("float8") and DTYPES[name].in_torch]


@pytest.mark.parametrize("name", [name for name, dtype in DTYPES.items() if dtype.in_torch])
def test_a_dtype_has_the_size_and_names_that_torch_says(name: str) -> None:
    dtype = DTYPES[name]
    found = getattr(torch, name)
    assert (str(found), found.itemsize) == (f"torch.{name}", dtype.itemsize)
    assert found.is_complex == (dtype.kind == "complex")
    assert found.is_floating_point == (dtype.kind == "float")
    assert [getattr(torch, alias) for alias in dtype.aliases] == [found] * len(dtype.aliases)
    if dtype.storage:
        assert getattr(torch, dtype.storage)._dtype is found


def test_the_safetensors_library_reads_what_export_and_convert_wrote(tmp_path: Path) -> None:
    state = {name: torch.tensor([1.0, 2.0, 4.0]).to(getattr(torch, name)) for name in FLOAT8}
    with PackageExporter(tmp_path / "a.kellet", fsync=False, prove=False) as exporter:
        exporter.save_state_dict("m", "w", state)
    with ArchiveReader(tmp_path / "a.kellet") as reader:
        (tmp_path / "a.safetensors").write_bytes(reader.read(reader.manifest.state_dicts[0].entry))
    write_checkpoint(tmp_path / "b.safetensors", state, fsync=False)
    save_file(state, tmp_path / "c.safetensors")
    for name in ("a", "b", "c"):
        found = load_file(tmp_path / f"{name}.safetensors")
        assert {key: value.dtype for key, value in found.items()} == {k: v.dtype for k, v in state.items()}
        assert all(torch.equal(found[key].float(), state[key].float()) for key in state)
    with PackageImporter(tmp_path / "a.kellet") as importer:
        again = importer.load_state_dict("m", "w", as_="torch")
        assert {key: again[key].dtype for key in state} == {key: value.dtype for key, value in state.items()}


class Marked(torch.Tensor):
    """A tensor of a class that is not torch's own."""


@pytest.mark.parametrize(
    "value", [torch.arange(6.0).reshape(2, 3), torch.arange(6.0).reshape(2, 3).as_subclass(Marked)]
)
def test_the_verbs_of_a_library_give_what_torch_gives(value: torch.Tensor) -> None:
    assert (library_of(value), dtype_of(value)) == ("torch", "float32")
    assert torch.equal(join([value, value], 1, stack=False), torch.cat([value, value], 1))
    assert torch.equal(join([value, value], 1, stack=True), torch.stack([value, value], 1))
    assert torch.equal(roll(value, 1, 1), torch.roll(value, 1, 1))
    assert cast(value, "bfloat16").dtype is torch.bfloat16
    assert to_numpy(value.bfloat16()).dtype == np.uint16
    assert torch.equal(full("torch", (2,), 3, "int16"), torch.full((2,), 3, dtype=torch.int16))
    assert torch.equal(tensor_of("torch", value.numpy()), value)
