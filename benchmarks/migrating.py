"""A migration of 20,000 keys of 1,000 layers, planned and applied, beside a loop that was written for it."""

from __future__ import annotations

import re
import zlib
from typing import Any, Final

import numpy as np

from benchmarks.row import Row, Work

STEPS: Final = """
name = "bench"
[[step]]
rename = "module.{rest:any}"
to = "{rest}"
[[step]]
rename = "{p:any}.gamma"
to = "{p}.weight"
[[step]]
rename = "{p:any}.beta"
to = "{p}.bias"
[[step]]
rename = "encoder.layer.{n:int}.{rest:any}"
to = "blocks.{n+1}.{rest}"
[[step]]
drop = "{p:any}.attn_mask"
[[step]]
split = "{p:any}.in_proj_weight"
to = ["{p}.q.weight", "{p}.k.weight", "{p}.v.weight"]
"""
WHY: Final = "each step goes over all keys and keeps what it did, which is what a plan is made of"
_PARTS: Final = ("query", "out", "up", "down", "gate", "extra", "more")
_LAYER: Final = re.compile(r"encoder\.layer\.(0|[1-9][0-9]*)\.(.*)")


def rows() -> list[Row]:
    """List the one row."""
    return [
        Row(
            "migration of 20,000 keys, six steps, planned and applied",
            _ours,
            15,
            "by hand",
            _by_hand,
            why=WHY,
        )
    ]


def _state() -> dict[str, Any]:
    value, fused = np.zeros(2, np.float32), np.arange(6, dtype=np.float32)
    state = {}
    for layer in range(1_000):
        at = f"module.encoder.layer.{layer}."
        state[f"{at}attn.in_proj_weight"] = fused
        state[f"{at}attn.attn_mask"] = value
        for name in ("norm1", "norm2"):
            state[f"{at}{name}.gamma"], state[f"{at}{name}.beta"] = value, value
        for name in _PARTS:
            state[f"{at}mlp.{name}.weight"], state[f"{at}mlp.{name}.bias"] = value, value
    return state


def _ours() -> Work:
    from packager._migrations import migrate, parse_migration

    migration, state = parse_migration(STEPS), _state()
    return Work(lambda: dict(migrate(migration, state)), result=lambda: _told(migrate(migration, state)))


def _by_hand() -> Work:
    state = _state()

    def migrated() -> dict[str, Any]:
        new: dict[str, Any] = {}
        for key, value in state.items():
            name = key.removeprefix("module.")
            if name.endswith(".gamma"):
                name = name.removesuffix("gamma") + "weight"
            elif name.endswith(".beta"):
                name = name.removesuffix("beta") + "bias"
            found = _LAYER.fullmatch(name)
            if found is not None:
                name = f"blocks.{int(found[1]) + 1}.{found[2]}"
            if name.endswith(".attn_mask"):
                continue
            if name.endswith(".in_proj_weight"):
                prefix = name.removesuffix("in_proj_weight")
                for part, role in zip(np.split(value, 3), "qkv", strict=True):
                    new[f"{prefix}{role}.weight"] = part
            else:
                new[name] = value
        return new

    return Work(migrated, result=lambda: _told(migrated()))


def _told(state: Any) -> list[Any]:
    """Return the names, each as a number, and some values in their order."""
    names = sorted(state)
    numbers = np.array([zlib.crc32(name.encode()) for name in names])
    return [numbers, *(np.asarray(state[name]) for name in names[:50])]
