"""The questions that code for PyTorch asks about any accelerator, answered for a machine without one."""

from __future__ import annotations

from typing import Any

__all__ = ["current_accelerator", "device_count", "is_available"]


def is_available() -> bool:
    """Return False: kellet computes on the CPU only.

    >>> kellet.accelerator.is_available()
    False
    """
    return False


def device_count() -> int:
    """Return 0, the number of accelerators.

    >>> kellet.accelerator.device_count()
    0
    """
    return 0


def current_accelerator(check_available: bool = False) -> Any:
    """Return None: no accelerator is current.

    >>> kellet.accelerator.current_accelerator() is None
    True
    """
    return None
