"""suggest-migration and then migrate, as the commands are printed, over checkpoints of PyTorch."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel

from packager._cli import main
from packager.migrations import migrate, read_migration
from packager.weights import open_checkpoint

Run = Callable[..., tuple[int, str, str]]
NET = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
KEYS = list(NET.state_dict())


def state(prefix: str, value: float) -> dict[str, torch.Tensor]:
    """A state of the net under other names, every floating value of it the same."""
    return {f"{prefix}{key}": torch.full_like(found, value) for key, found in NET.state_dict().items()}


def averaged(value: float) -> dict[str, torch.Tensor]:
    ema = AveragedModel(NET, use_buffers=True).state_dict()
    return {
        key: found if key == "n_averaged" else torch.full_like(found, value) for key, found in ema.items()
    }


def optimizer() -> dict[str, Any]:
    made = torch.optim.Adam(NET.parameters())
    NET(torch.ones(2, 3)).sum().backward()
    made.step()
    return made.state_dict()


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.chdir(tmp_path)
    torch.save(NET.state_dict(), "new.pt")

    def call(*arguments: str) -> tuple[int, str, str]:
        code = main(arguments)
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return call


def values(path: str) -> dict[str, float]:
    return {key: float(value.numpy().ravel()[0]) for key, value in open_checkpoint(path).items()}


# What the file holds, the flags of suggest-migration, what the draft says of the choice, and the values.
FILES: dict[str, tuple[dict[str, Any], list[str], tuple[str, ...], float]] = {
    "model beside ema": ({"model": state("net.", 2), "ema": averaged(3), "epoch": 1}, [], ("model",), 2),
    "the ema": ({"model": state("net.", 2), "ema": averaged(3)}, ["--unwrap", "ema"], ("ema",), 3),
    "one beside the optimizer": ({"state_dict": state("net.", 2), "optimizer": optimizer()}, [], (), 2),
    "one that is nested": ({"run": {"weights": state("net.", 2)}, "epoch": 1}, [], (), 2),
    "one of two that are nested": (
        {"run": {"net": state("net.", 2), "ema": {"module": averaged(3)}}},
        ["--unwrap", "run.ema.module"],
        ("run.ema.module",),
        3,
    ),
    "one under a name with a dot": (
        {"my.best": state("net.", 2), "other": state("net.", 3)},
        ["--unwrap", "my.best"],
        ("my.best",),
        2,
    ),
    "one of a usual name beside another": (
        {"weights": state("net.", 2), "epoch": 1, "late": {"decayed": averaged(3)}},
        [],
        ("weights",),
        2,
    ),
    "an average beside weights of an unusual name": (
        {"best": state("net.", 2), "ema": averaged(3)},
        ["--unwrap", "ema"],
        ("ema",),
        3,
    ),
    "one in a list": (
        {"models": [state("net.", 2), state("net.", 3)]},
        ["--unwrap", "models.1"],
        ("models.1",),
        3,
    ),
    "two players": (
        {"generator": state("net.", 2), "discriminator": state("d.", 3)},
        ["--unwrap", "generator"],
        ("generator",),
        2,
    ),
}


@pytest.mark.parametrize(("held", "flags", "choice", "value"), FILES.values(), ids=FILES)
def test_migrate_goes_on_with_what_a_draft_has_begun(
    run: Run, held: dict[str, Any], flags: list[str], choice: tuple[str, ...], value: float
) -> None:
    torch.save(held, "old.pt")
    code, _, errors = run("suggest-migration", "old.pt", "new.pt", *flags, "-o", "m.toml")
    told = [f"kellet: took {name!r} of the file; the draft lists the others" for name in choice]
    assert (code, read_migration("m.toml").unwrap) == (0, choice)
    assert [line.partition(" (--unwrap")[0] for line in errors.splitlines()] == told
    for more in ([], ["--with", "wrappers"]):
        code, _, errors = run("migrate", "old.pt", *more, "--with", "m.toml", "-o", "there.kellet")
        assert (code, errors) == (0, "")
        assert values("there.kellet") == dict.fromkeys(KEYS, value)
    # The whole checkpoint, as `torch.load` gives it, goes through the same draft.
    if choice:
        assert list(migrate(read_migration("m.toml"), torch.load("old.pt"))) == KEYS


def test_a_draft_says_what_lies_beside_its_choice_and_its_keys_go_back(run: Run) -> None:
    torch.save({"model": state("net.", 2), "ema": averaged(3), "epoch": 1}, "old.pt")
    run("suggest-migration", "old.pt", "new.pt", "-o", "m.toml")
    assert Path("m.toml").read_text().splitlines()[-3:] == [
        "# Other contents of the file (`unwrap` above names the state dict that is used):",
        "#     ema: dict of 8 with 8 tensors",
        "#     epoch: 1",
    ]
    run("migrate", "old.pt", "--with", "m.toml", "-o", "there.kellet")
    code, _, errors = run("migrate", "there.kellet", "--with", "m.toml", "--back", "-o", "back.kellet")
    assert (code, errors) == (0, "")
    assert values("back.kellet") == {f"net.{key}": 2 for key in KEYS}


def test_an_average_beside_the_model_loses_nothing_of_the_model(run: Run) -> None:
    ema = {f"ema_model.{key}": value for key, value in averaged(3).items()}
    torch.save({"state_dict": {**ema, **state("model.", 2)}}, "old.pt")
    assert run("suggest-migration", "old.pt", "new.pt", "-o", "m.toml")[0] == 0
    assert run("migrate", "old.pt", "--with", "m.toml", "-o", "there.kellet")[0] == 0
    assert values("there.kellet") == dict.fromkeys(KEYS, 2)
