"""Files that torch.save wrote, in both its formats, give the values that torch gives, without torch."""

import pytest

pytest.importorskip("torch")

import subprocess
import sys

import numpy as np
import torch

import kellet
from kellet import nn
from packager import PackageImporter
from packager._migrations import load_checkpoint
from packager._weights import (
    CheckpointPickleError,
    LegacyTensor,
    array_of,
    open_checkpoint,
    read_torch_file,
    write_checkpoint,
)


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
        "from packager._weights import array_of, read_torch_file\n"
        f"print(array_of(read_torch_file({str(path)!r})['w']).tolist())"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[0.0, 1.0, 2.0]\n"


def resolved(tensor):
    return tensor.detach().resolve_conj().resolve_neg()


def bits(tensor):
    tensor = resolved(tensor).contiguous().reshape(-1)
    return bytes(tensor.view(torch.uint8).numpy()) if tensor.numel() else b""


COMPLEX = torch.tensor([[1 + 2j, 3 - 4j, 9 + 1j], [-5 + 6j, 7 - 1j, -2 - 8j]])
VIEWS = {
    "conj": lambda base: base.conj(),
    "neg": torch._neg_view,
    "both": lambda base: torch._neg_view(base.conj()),
    "twice": lambda base: base.conj().conj(),
    "transposed": lambda base: base.conj().T,
    "row": lambda base: base.conj()[1],
    "step": lambda base: base[:, ::2].conj(),
    "scalar": lambda base: base.conj()[0, 1],
    "empty": lambda base: base.conj()[:0],
    "expanded": lambda base: base.conj()[:1].expand(3, 3),
    "parameter": lambda base: torch.nn.Parameter(base.conj()),
    "buffer": lambda base: torch.nn.Buffer(base.conj()),
    "imag": lambda base: base.conj().imag,
    "part of imag": lambda base: base.conj().imag[:, 1],
}


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("view", VIEWS)
def test_conjugated_and_negated_views_give_the_values_that_torch_gives(save, tmp_path, dtype, view):
    shown = VIEWS[view](COMPLEX.to(getattr(torch, dtype)))
    path = save({"w": shown})
    again = torch.load(path)["w"]
    assert (again.is_conj(), again.is_neg()) == (shown.is_conj(), shown.is_neg())
    found = read_torch_file(path)["w"]
    assert b"".join(found.pieces()) == bits(shown)
    assert array_of(found).tolist() == resolved(shown).tolist()
    for library in (torch.nn, nn):
        module = library.Module()
        zeros = torch.zeros if library is torch.nn else kellet.zeros
        kind = getattr(torch if library is torch.nn else kellet, str(shown.dtype).removeprefix("torch."))
        module.register_buffer("w", zeros(tuple(shown.shape), dtype=kind))
        load_checkpoint(module, path)
        assert module.w.tolist() == resolved(shown).tolist()
    write_checkpoint(tmp_path / "new.kellet", open_checkpoint(path), fsync=False)
    with PackageImporter(tmp_path / "new.kellet") as importer:
        state = importer.load_state_dict("model", "weights", as_="torch")
        assert bits(state["w"]) == bits(shown)


@pytest.mark.parametrize(
    "dtype", ["float64", "float32", "float16", "bfloat16", "uint8", "int8", "int16", "int64"]
)
def test_negated_views_of_every_dtype_that_torch_negates(save, dtype):
    shown = torch._neg_view(torch.tensor([0, 1, 2, 100]).to(getattr(torch, dtype)))
    assert b"".join(read_torch_file(save({"w": shown}))["w"].pieces()) == bits(shown)


@pytest.mark.parametrize("dtype", ["bool", "uint16", "uint64", "float8_e4m3fn", "float8_e5m2"])
def test_what_torch_cannot_negate_is_refused(save, dtype):
    shown = torch._neg_view(torch.tensor([0, 1]).to(getattr(torch, dtype)))
    with pytest.raises(NotImplementedError):
        shown.resolve_neg()
    with pytest.raises(CheckpointPickleError, match=f"a tensor of {dtype} is marked as negated"):
        read_torch_file(save({"w": shown}))


def test_views_that_show_one_storage_with_other_signs_keep_their_own_values(save, tmp_path):
    path = save({"a": COMPLEX, "b": COMPLEX.conj(), "c": torch._neg_view(COMPLEX), "d": COMPLEX.conj()[0]})
    for ending in ("safetensors", "kellet"):
        written = write_checkpoint(tmp_path / f"new.{ending}", open_checkpoint(path), fsync=False)
        again = open_checkpoint(written.path)
        for key, value in torch.load(path).items():
            assert b"".join(again[key].pieces()) == bits(value), key
        assert [(part.path, part.what) for part in written.left_out] == [
            ("b", "tie with 'a'"),
            ("c", "tie with 'a'"),
            ("d", "tie with 'a'"),
        ]
        assert written.tied == (("b", "d"),)


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors:UserWarning")
@pytest.mark.filterwarnings("ignore:ComplexHalf support:UserWarning")
def test_tensors_that_are_made_of_others_are_refused_by_the_name_of_what_makes_them(save):
    whole = torch.tensor([[0.0, 1.0], [2.0, 0.0]])
    others = {
        "_rebuild_nested_tensor": torch.nested.nested_tensor([whole, whole]),
        "torch.complex32": COMPLEX.to(torch.complex32).conj(),
    }
    for name, tensor in others.items():
        with pytest.raises(CheckpointPickleError, match=name):
            read_torch_file(save({"w": tensor}))
        checkpoint = open_checkpoint(save({"w": tensor, "plain": whole}), skip_unknown=True)
        assert list(checkpoint) == ["plain"]
        assert [part.path for part in checkpoint.left_out] == ["w"]
