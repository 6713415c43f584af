"""Where stored tensors of PyTorch are put: `map_location`, as `torch.load` has it.

What a device is called, and what puts a storage there, is PyTorch's own registry
(`torch.serialization.default_restore_location`), so that its answers are PyTorch's: also for a device that
is not here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from packager.errors import ArgumentError, DeviceNotHereError


def placed(storage: Any, location: str, map_location: Any) -> Any:
    """Return a storage on the CPU where `map_location` says, from the device that it was saved on.

    Raises DeviceNotHereError where PyTorch cannot put it there, ArgumentError where a function answers with
    something else than a storage or None.

    Source: torch.load. There a `map_location` of another kind fails when it is called.
    """
    if callable(map_location):
        answer = map_location(storage, location)
        if answer is not None:
            return _untyped(answer)
    elif map_location is not None:
        location = str(
            map_location.get(location, location) if isinstance(map_location, Mapping) else map_location
        )
    return storage if location == "cpu" else _restored(storage, location)


def place_of(location: str, map_location: Any) -> str:
    """Return where `placed` puts a storage: for tensors that have no memory."""
    import torch

    nothing = torch.empty(0, dtype=torch.uint8).untyped_storage()
    return str(placed(nothing, location, map_location).device)


def _restored(storage: Any, location: str) -> Any:
    from torch.serialization import default_restore_location

    try:
        return default_restore_location(storage, location)
    except (RuntimeError, AssertionError, ValueError) as error:
        raise DeviceNotHereError(
            f"tensors lie on {location!r}, which is not here ({error}); pass map_location='cpu'"
        ) from error


def _untyped(answer: Any) -> Any:
    """Return the storage that a function gave, of either kind. Raises ArgumentError for what is none."""
    import torch

    if isinstance(answer, torch.storage.TypedStorage):
        return answer.untyped()
    if not isinstance(answer, torch.UntypedStorage):
        raise ArgumentError(
            f"the function of map_location returned {type(answer).__name__}; expected a storage, or None"
        )
    return answer
