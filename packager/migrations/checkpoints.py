"""A checkpoint as a whole: the container it comes in, and the module paths that its versions go by."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from packager.errors import MigrationError

from .declaring import Migration
from .renaming import Rename, drop, rename

_LEAF = "\0"  # stands for "some key of this module"; no key of a state dict holds it


WRAPPERS = Migration(
    "wrappers",
    [
        drop("n_averaged", if_all="n_averaged"),
        rename("module.{rest:any}", "{rest}", repeat=True),
        rename("_orig_mod.{rest:any}", "{rest}", repeat=True),
        rename("module.{rest:any}", "{rest}", repeat=True),
        rename("{a:any}._orig_mod.{b:any}", "{a}.{b}", repeat=True),
    ],
    unwrap=("state_dict_ema", "model_ema", "ema_state_dict", "state_dict", "model_state_dict", "model"),
)
"""What DistributedDataParallel, torch.compile, AveragedModel and training loops put around a state dict."""


def unwrapped(checkpoint: Mapping[str, Any], names: tuple[str, ...]) -> Mapping[str, Any]:
    """The state dict inside a checkpoint: under the first of `names` that is there, else itself.

    Raises MigrationError when what is there is no mapping.

    >>> unwrapped({"epoch": 3, "model": {"w": 1}}, ("state_dict", "model"))
    {'w': 1}
    """
    for name in names:
        if name in checkpoint:
            inner = checkpoint[name]
            if not isinstance(inner, Mapping):
                raise MigrationError(f"unwrap {name!r}: found {type(inner).__name__}, expected a state dict")
            return inner
    return checkpoint


def migrated_metadata(metadata: Mapping[str, Any], migration: Migration) -> dict[str, Any]:
    """Per-module versions under the module paths that renamed keys have.

    `metadata` maps module paths ("" is the root) to what is known of them, as `_metadata` of a state
    dict does. A path moves as the keys below it move.

    Source: consume_prefix_in_state_dict_if_present of PyTorch, for the prefix alone.

    >>> from packager.migrations import rename
    >>> ddp = Migration("ddp", [rename("module.{rest:any}", "{rest}")])
    >>> migrated_metadata({"": 1, "module": 2, "module.bn": 3}, ddp)
    {'': 2, 'bn': 3}
    """
    current = dict(metadata)
    for step in migration.steps:
        if isinstance(step, Rename):
            current = _renamed(current, step)
    return current


def _renamed(metadata: dict[str, Any], step: Rename) -> dict[str, Any]:
    stayed: dict[str, Any] = {}
    moved: dict[str, Any] = {}
    for path, entry in metadata.items():
        key = f"{path}.{_LEAF}" if path else _LEAF
        holes = step.old.match(key)
        new = key if holes is None else step.new.fill(holes)
        while step.repeat and (holes := step.old.match(new)) is not None:
            new = step.new.fill(holes)
        (stayed if new == key else moved)[new.removesuffix(_LEAF).removesuffix(".")] = entry
    return {**stayed, **moved}
