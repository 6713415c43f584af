"""A migration against a loop written by hand: 20,000 keys of 1,000 layers, planned and applied."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.row import Contender, Goal, Row

SECTION = "Migrations"
LAYERS = 1_000
WHY = (
    "every step goes over all keys, in columns, and keeps what it did, which is what a plan is made of; the "
    "loop does all of it in one pass and knows nothing afterwards."
)
STEPS = """
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
# The same with gates, which look at the keys that entered: here all stand open, for every match.
GATES = {
    'rename = "{p:any}.gamma"': 'unless = "module.{p}.weight"',
    'rename = "{p:any}.beta"': 'unless = "module.{p}.bias"',
    'rename = "encoder.layer': 'if_all = "module.encoder.layer.{n}.attn.in_proj_weight"',
    "drop =": 'if_all = ["{kept:any}.norm1.gamma", "{kept:any}.in_proj_weight"]',
    "split =": 'unless = "{p}.q.weight"',
}
_PARTS = ("query", "out", "up", "down", "gate", "extra", "more")


def rows() -> list[Row]:
    title, goals = "20,000 keys, six steps", (Goal(15, "by hand", list=2),)
    works = {
        "planned": {"kellet": _plan, "by hand": _by_hand},
        "planned and applied": {"kellet": _kellet, "by hand": _by_hand},
        "planned, all rows looked at": {"kellet": _rows, "by hand": _by_hand},
        "with gates, planned and applied": {"kellet": _gated, "by hand": _gated_by_hand},
    }
    return [Row(SECTION, f"{title}: {what}", "ms", sides, goals, why=WHY) for what, sides in works.items()]


def _state() -> dict[str, Any]:
    value, fused = np.zeros(2, np.float32), np.arange(6, dtype=np.float32)
    state = {}
    for layer in range(LAYERS):
        at = f"module.encoder.layer.{layer}."
        state[f"{at}attn.in_proj_weight"] = fused
        state[f"{at}attn.attn_mask"] = value
        for name in ("norm1", "norm2"):
            state[f"{at}{name}.gamma"], state[f"{at}{name}.beta"] = value, value
        for name in _PARTS:
            state[f"{at}mlp.{name}.weight"], state[f"{at}mlp.{name}.bias"] = value, value
    return state


def _kellet() -> Contender:
    return _migrating(STEPS)


def _gated() -> Contender:
    text = STEPS
    for line, gate in GATES.items():
        text = text.replace(line, f"{gate}\n{line}")
    return _migrating(text)


def _migrating(text: str) -> Contender:
    from packager.migrations import migrate, migration_from_text

    migration, state = migration_from_text(text), _state()
    return Contender(lambda: dict(migrate(migration, state)), result=lambda: _told(migrate(migration, state)))


def _plan() -> Contender:
    return _planning(lambda plan: plan)


def _rows() -> Contender:
    return _planning(lambda plan: plan.rows)


def _planning(looked_at: Callable[[Any], Any]) -> Contender:
    from packager.migrations import migration_from_text, plan_migration

    migration, state = migration_from_text(STEPS), _state()

    def told() -> list[Any]:
        from packager.migrations import MigratedDict

        return _told(MigratedDict(plan_migration(migration, state).values, state))

    return Contender(lambda: looked_at(plan_migration(migration, state)), result=told)


_LAYER = re.compile(r"encoder\.layer\.(0|[1-9][0-9]*)\.(.*)")


def _by_hand() -> Contender:
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

    return Contender(migrated, result=lambda: _told(migrated()))


def _gated_by_hand() -> Contender:
    state = _state()

    def migrated() -> dict[str, Any]:
        new: dict[str, Any] = {}
        has_norm = any(key.endswith(".norm1.gamma") for key in state)
        has_fused = any(key.endswith(".in_proj_weight") for key in state)
        for key, value in state.items():
            name = key.removeprefix("module.")
            if name.endswith(".gamma"):
                renamed = name.removesuffix("gamma") + "weight"
                name = name if f"module.{renamed}" in state else renamed
            elif name.endswith(".beta"):
                renamed = name.removesuffix("beta") + "bias"
                name = name if f"module.{renamed}" in state else renamed
            found = _LAYER.fullmatch(name)
            if found is not None and f"module.encoder.layer.{found[1]}.attn.in_proj_weight" in state:
                name = f"blocks.{int(found[1]) + 1}.{found[2]}"
            if has_norm and has_fused and name.endswith(".attn_mask"):
                continue
            if name.endswith(".in_proj_weight"):
                prefix = name.removesuffix("in_proj_weight")
                if f"{prefix}q.weight" not in state:
                    for part, role in zip(np.split(value, 3), "qkv", strict=True):
                        new[f"{prefix}{role}.weight"] = part
                    continue
            new[name] = value
        return new

    return Contender(migrated, result=lambda: _told(migrated()))


def _told(state: Any) -> list[Any]:
    """The values in the order of their names: equal where names and values are."""
    names = sorted(state)
    return [np.array([_number_of(name) for name in names]), *(np.asarray(state[name]) for name in names[:50])]


def _number_of(name: str) -> int:
    """A number for a name, the same in every process."""
    return zlib.crc32(name.encode())
