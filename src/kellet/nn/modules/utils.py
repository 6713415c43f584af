"""Helpers for state dicts that torch has in this place."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

__all__ = ["consume_prefix_in_state_dict_if_present"]


def consume_prefix_in_state_dict_if_present(state_dict: MutableMapping[str, Any], prefix: str) -> None:
    """Take `prefix` off the keys that start with it, and off the module paths in `_metadata`, in place.

    >>> state = {"module.weight": 1, "bias": 2}
    >>> consume_prefix_in_state_dict_if_present(state, "module.")
    >>> state
    {'bias': 2, 'weight': 1}

    Source: torch.nn.modules.utils.consume_prefix_in_state_dict_if_present.
    """
    for key in list(state_dict):
        if key.startswith(prefix):
            state_dict[key[len(prefix) :]] = state_dict.pop(key)
    metadata: dict[str, Any] = getattr(state_dict, "_metadata", {})
    for path in list(metadata):
        # The wrapped module's own path is the prefix without its dot; the wrapper's, "", gives way.
        if path == prefix.removesuffix("."):
            metadata[""] = metadata.pop(path)
        elif path.startswith(prefix):
            metadata[path[len(prefix) :]] = metadata.pop(path)
