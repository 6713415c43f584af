"""Communication hooks beside PyTorch's own, on two ranks each, with the same gradients step by step."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch

import kellet
import kellet.distributed as dist
from kellet import nn
from kellet.distributed.algorithms.ddp_comm_hooks import (
    debugging_hooks,
    default_hooks,
    post_localSGD_hook,
    powerSGD_hook,
)
from kellet.nn.parallel import DistributedDataParallel
from tests.distributed.ranks import on_ranks
from tests.parity.comm_hooks_of_torch import NAMES

# Sums of half precision are rounded once here and there; PowerSGD multiplies in another order.
TOLERANCE = {"fp16": 3e-4, "bf16": 2e-3, "fp16 of allreduce": 3e-4, "powerSGD": 2e-5}
HOOKS = ("none", "allreduce", "fp16", "bf16", "fp16 of allreduce", "noop", "post-local", "powerSGD")


@pytest.fixture(scope="module")
def given() -> dict[str, Any]:
    draw = np.random.default_rng(11)
    shapes = {"0.weight": (12, 16), "0.bias": (12,), "2.weight": (8, 12), "2.bias": (8,)}
    shapes |= {"inputs": (4, 2, 5, 16), "q of 2.weight": (12, 1), "q of 0.weight": (16, 1)}
    return {name: draw.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}


@pytest.fixture(scope="module")
def theirs(given: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    folder = tmp_path_factory.mktemp("gloo")
    np.savez(folder / "given.npz", **given)
    script = Path(__file__).with_name("comm_hooks_of_torch.py")
    environment = os.environ | {"GLOO_SOCKET_IFNAME": "lo"}
    ranks = [
        subprocess.Popen(
            [sys.executable, str(script), str(folder), str(rank)],
            env=environment,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    errors = [rank.communicate(timeout=120)[1] for rank in ranks]
    assert [rank.returncode for rank in ranks] == [0, 0], (torch.__version__, *errors)
    return [np.load(folder / f"torch-{rank}.npz") for rank in range(2)]


@pytest.fixture(scope="module")
def ours(given: dict[str, Any]) -> list[dict[str, Any]]:
    return on_ranks(2, lambda group: gradients(given, group))


def gradients(given: dict[str, Any], group: dist.ProcessGroup) -> dict[str, Any]:
    found = {}
    for hook, (state, function) in {"none": (None, None), **hooks(given, group)}.items():
        net = nn.Sequential(nn.Linear(16, 12), nn.Tanh(), nn.Linear(12, 8))
        net.load_state_dict({name: kellet.from_numpy(given[name].copy()) for name in NAMES})
        model = DistributedDataParallel(net, group)
        if function is not None:
            model.register_comm_hook(state, function)
        for step in range(4):
            model.zero_grad()
            model(kellet.from_numpy(given["inputs"][step, group.rank()])).square().mean().backward()
            for name, parameter in model.module.named_parameters():
                found[f"{hook}/{step}/{name}"] = parameter.grad.numpy().copy()
    return found


def hooks(given: dict[str, Any], group: dist.ProcessGroup) -> dict[str, tuple[Any, Any]]:
    power = powerSGD_hook.PowerSGDState(
        group, matrix_approximation_rank=1, start_powerSGD_iter=2, min_compression_rate=1
    )
    power.q_memory_dict[0] = [given["q of 2.weight"].copy(), given["q of 0.weight"].copy()]
    single = [group.new_group([each]) for each in range(2)][group.rank()]
    return {
        "allreduce": (group, default_hooks.allreduce_hook),
        "fp16": (group, default_hooks.fp16_compress_hook),
        "bf16": (group, default_hooks.bf16_compress_hook),
        "fp16 of allreduce": (group, default_hooks.fp16_compress_wrapper(default_hooks.allreduce_hook)),
        "noop": (None, debugging_hooks.noop_hook),
        "post-local": (
            post_localSGD_hook.PostLocalSGDState(group, single, 2),
            post_localSGD_hook.post_localSGD_hook,
        ),
        "powerSGD": (power, powerSGD_hook.powerSGD_hook),
    }


@pytest.mark.parametrize("hook", HOOKS)
def test_gradients_of_every_step_are_those_of_torch(hook: str, ours: list[Any], theirs: list[Any]) -> None:
    for rank in range(2):
        for step in range(4):
            for name in NAMES:
                key = f"{hook}/{step}/{name}"
                np.testing.assert_allclose(
                    ours[rank][key], theirs[rank][key], rtol=0, atol=TOLERANCE.get(hook, 1e-6), err_msg=key
                )


def test_the_hooks_differ_from_each_other(ours: list[Any]) -> None:
    """So that agreement with torch says something of each one."""
    last = {hook: ours[0][f"{hook}/3/0.weight"] for hook in HOOKS if hook not in ("none", "allreduce")}
    exact = ours[0]["none/3/0.weight"]
    assert all(not np.array_equal(exact, found) for found in last.values())
    assert np.max(np.abs(exact - last["powerSGD"])) > 1e-2
    np.testing.assert_array_equal(last["noop"], last["post-local"])
