"""Training goes on here from a state that torch's optimisers left."""

import pytest

pytest.importorskip("torch")

import numpy as np
import torch

import kellet
import kellet.optim
from packager import PackageImporter
from packager._cli import main
from tests.answers.optimizers import BY_NAME, stepped


@pytest.mark.parametrize(("name", "options"), BY_NAME)
def test_training_goes_on_from_a_state_of_torch(name, options):
    _, theirs = stepped(torch, name, options)
    state = theirs.state_dict()
    state["state"] = {
        key: {part: kellet.from_numpy(value.numpy().copy()) for part, value in values.items()}
        for key, values in state["state"].items()
    }
    expected, _ = stepped(torch, name, options, state=theirs.state_dict())
    found, _ = stepped(kellet, name, options, state=state)
    for a, b in zip(expected, found, strict=True):
        np.testing.assert_allclose(b.detach().numpy(), a.detach().numpy(), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(("name", "options"), BY_NAME)
def test_a_state_of_torch_goes_on_in_kellet_from_what_convert_writes(name, options, tmp_path):
    """Without a word about the library: values are tensors of torch here, and arrays where torch is not."""
    _, theirs = stepped(torch, name, options)
    torch.save({"optimizer": theirs.state_dict()}, tmp_path / "last.pt")
    old, new = str(tmp_path / "last.pt"), str(tmp_path / "o.kellet")
    assert main(["convert", old, new, "--unwrap", "optimizer"]) == 0
    expected, _ = stepped(torch, name, options, steps=3, state=theirs.state_dict())
    for as_ in (None, "torch", "numpy", "kellet"):
        with PackageImporter(tmp_path / "o.kellet") as importer:
            state = importer.load_state_dict("model", "weights", as_=as_)
            found, _ = stepped(kellet, name, options, steps=3, state=state)
        for a, b in zip(expected, found, strict=True):
            np.testing.assert_allclose(b.detach().numpy(), a.detach().numpy(), rtol=1e-10, atol=1e-12)
