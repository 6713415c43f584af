"""Files that torch.save wrote, in both its formats, give the values that torch gives, without torch."""

import subprocess
import sys

import numpy as np
import pytest
import torch

from packager.weights import LegacyTensor, array_of, read_torch_file


@pytest.fixture(params=[True, False], ids=["zip", "stream"])
def save(request, tmp_path):
    def save(obj):
        torch.save(obj, tmp_path / "old.pt", _use_new_zipfile_serialization=request.param)
        return tmp_path / "old.pt"

    return save


DTYPES = ["float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool"]


@pytest.mark.parametrize("dtype", [*DTYPES, "complex64", "complex128"])
def test_every_dtype(save, dtype):
    tensor = torch.tensor([[0, 1, 2], [3, 4, 5]]).to(getattr(torch, dtype))
    array = array_of(read_torch_file(save({"w": tensor}))["w"])
    assert str(array.dtype) == dtype
    wide = np.complex128 if "complex" in dtype else np.float64
    assert (
        array.astype(wide).tolist()
        == tensor.to(torch.complex128 if "complex" in dtype else torch.float64).tolist()
    )


def test_strided_and_tied_tensors(save):
    whole = torch.arange(12.0).reshape(3, 4)
    read = read_torch_file(
        save({"t": whole.T, "row": whole[1], "step": whole[:, ::2], "same": whole, "none": whole[:0]})
    )
    for key, expected in {"t": whole.T, "row": whole[1], "step": whole[:, ::2], "same": whole}.items():
        assert array_of(read[key]).tolist() == expected.tolist()
    assert array_of(read["none"]).shape == (0, 4)
    assert len({read[key].storage.key for key in ("t", "row", "step", "same")}) == 1
    assert np.shares_memory(array_of(read["t"]), array_of(read["row"]))


def test_a_training_checkpoint(save):
    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4))
    optimizer = torch.optim.Adam(net.parameters())
    net(torch.ones(2, 3)).sum().backward()
    optimizer.step()
    checkpoint = {
        "epoch": 3,
        "lr": 0.1,
        "model": net.state_dict(),
        "optimizer": optimizer.state_dict(),
        "none": None,
    }
    read = read_torch_file(save(checkpoint))
    assert (read["epoch"], read["lr"], read["none"]) == (3, 0.1, None)
    assert read["model"]._metadata["1"] == {"version": 2}
    for key, value in net.state_dict().items():
        assert array_of(read["model"][key]).tobytes() == value.numpy().tobytes()
    state = read["optimizer"]["state"][0]
    assert isinstance(state["exp_avg"], LegacyTensor)
    assert array_of(state["exp_avg"]).tolist() == optimizer.state_dict()["state"][0]["exp_avg"].tolist()


def test_parameters_and_sizes(save):
    read = read_torch_file(
        save({"p": torch.nn.Parameter(torch.ones(2)), "s": torch.Size([2, 3]), "n": np.float64(2.5)})
    )
    assert array_of(read["p"]).tolist() == [1, 1]
    assert (read["s"], read["n"]) == ((2, 3), 2.5)


def test_torch_is_not_needed(save):
    path = save({"w": torch.arange(3.0)})
    script = (
        "import sys; sys.modules['torch'] = None\n"
        "from packager.weights import array_of, read_torch_file\n"
        f"print(array_of(read_torch_file({str(path)!r})['w']).tolist())"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[0.0, 1.0, 2.0]\n"
