"""The one device there is."""

from __future__ import annotations

from typing import TypeAlias

DeviceLike: TypeAlias = "Device | str | None"


class Device:
    """`tensor.device`: equal to "cpu", for code that asks or passes it on.

    >>> Device("cpu") == "cpu", Device("cpu").type
    (True, 'cpu')
    """

    __slots__ = ("index", "type")

    def __init__(self, type: DeviceLike = "cpu", index: int | None = None) -> None:
        check_device(type)
        self.type = "cpu"
        self.index = index

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) or other == "cpu"

    def __hash__(self) -> int:
        return hash("cpu")

    def __repr__(self) -> str:
        return "device(type='cpu')"

    def __str__(self) -> str:
        return "cpu"


def get_default_device() -> Device:
    """Return the device that new tensors are on: the CPU.

    >>> kellet.get_default_device()
    device(type='cpu')
    """
    return Device("cpu")


def set_default_device(device: DeviceLike) -> None:
    """Do nothing for the CPU, or None: new tensors are there. Raises ValueError for another device.

    >>> kellet.set_default_device("cpu")
    """
    check_device(device)


def check_device(device: DeviceLike) -> None:
    """Raise ValueError unless `device` is None or means the CPU."""
    if device is not None and str(device) not in ("cpu", "cpu:0"):
        raise ValueError(f"there is no device {device!r}; kellet computes on 'cpu' alone")
