"""One of two processes of PyTorch over gloo: gradients under each communication hook, step by step.

    python comm_hooks_of_torch.py FOLDER RANK

FOLDER holds `given.npz`: the values of the model, inputs, and the first factors of PowerSGD.
"""

from __future__ import annotations

import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks import (
    debugging_hooks,
    default_hooks,
    post_localSGD_hook,
    powerSGD_hook,
)
from torch.nn.parallel import DistributedDataParallel

NAMES = ("0.weight", "0.bias", "2.weight", "2.bias")


def model_of(given: Any) -> torch.nn.Module:
    net = torch.nn.Sequential(torch.nn.Linear(16, 12), torch.nn.Tanh(), torch.nn.Linear(12, 8))
    net.load_state_dict({name: torch.from_numpy(given[name]) for name in NAMES})
    return net


def hooks(given: Any, rank: int) -> dict[str, tuple[Any, Any]]:
    power = powerSGD_hook.PowerSGDState(
        None, matrix_approximation_rank=1, start_powerSGD_iter=2, min_compression_rate=1
    )
    first = torch.from_numpy(np.concatenate([given["q of 2.weight"], given["q of 0.weight"]]).reshape(-1))
    power.q_memory_dict[0], power.p_memory_dict[0] = first, torch.empty(8 + 12)
    single = [dist.new_group([each]) for each in range(2)][rank]
    return {
        "allreduce": (None, default_hooks.allreduce_hook),
        "fp16": (None, default_hooks.fp16_compress_hook),
        # Under another name: by its own, torch refuses it to gloo, which can do it.
        "bf16": (None, lambda state, bucket: default_hooks.bf16_compress_hook(state, bucket)),
        "fp16 of allreduce": (None, default_hooks.fp16_compress_wrapper(default_hooks.allreduce_hook)),
        "noop": (None, debugging_hooks.noop_hook),
        "post-local": (
            post_localSGD_hook.PostLocalSGDState(None, single, 2),
            post_localSGD_hook.post_localSGD_hook,
        ),
        "powerSGD": (power, powerSGD_hook.powerSGD_hook),
    }


def main(folder: Path, rank: int) -> None:
    store = dist.FileStore(str(folder / "store"), 2)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=2, timeout=timedelta(seconds=60))
    given = np.load(folder / "given.npz")
    found = {}
    for hook, (state, function) in {"none": (None, None), **hooks(given, rank)}.items():
        model = DistributedDataParallel(model_of(given))
        if function is not None:
            model.register_comm_hook(state, function)
        for step in range(4):
            model.zero_grad()
            x = torch.from_numpy(given["inputs"][step, rank])
            model(x).square().mean().backward()
            for name, parameter in model.module.named_parameters():
                found[f"{hook}/{step}/{name}"] = parameter.grad.numpy().copy()
    np.savez(folder / f"torch-{rank}.npz", **found)
    dist.destroy_process_group()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
