"""The questions that code for PyTorch asks about GPUs, answered for the CPU.

There is nothing else under this name: what would work on a GPU fails as an attribute that is not there.
"""

from __future__ import annotations

__all__ = [
    "current_device",
    "device_count",
    "empty_cache",
    "get_device_capability",
    "is_available",
    "manual_seed",
    "manual_seed_all",
    "set_device",
    "synchronize",
]


def is_available() -> bool:
    """Return False: kellet computes on the CPU only.

    >>> kellet.cuda.is_available()
    False
    """
    return False


def device_count() -> int:
    """Return 0, the number of GPUs.

    >>> kellet.cuda.device_count()
    0
    """
    return 0


def current_device() -> int:
    """Raise RuntimeError: no GPU is current.

    >>> kellet.cuda.current_device()
    Traceback (most recent call last):
    RuntimeError: there is no GPU here: kellet computes on the CPU alone; ask cuda.is_available() first
    """
    raise RuntimeError(
        "there is no GPU here: kellet computes on the CPU alone; ask cuda.is_available() first"
    )


def manual_seed(seed: int) -> None:
    """Do nothing: as in PyTorch without a GPU, which has no generator to seed either.

    >>> kellet.cuda.manual_seed(0)
    """
    int(seed)


def manual_seed_all(seed: int) -> None:
    """Do nothing: as in PyTorch without a GPU, which has no generators to seed either.

    >>> kellet.cuda.manual_seed_all(0)
    """
    int(seed)


def empty_cache() -> None:
    """Do nothing: no memory of a GPU is held.

    >>> kellet.cuda.empty_cache()
    """


def synchronize(device: object = None) -> None:
    """Raise RuntimeError: there is no GPU to wait for.

    >>> kellet.cuda.synchronize()
    Traceback (most recent call last):
    RuntimeError: there is no GPU here: kellet computes on the CPU alone; ask cuda.is_available() first
    """
    current_device()


def set_device(device: object) -> None:
    """Raise RuntimeError: there is no GPU to choose.

    >>> kellet.cuda.set_device(0)
    Traceback (most recent call last):
    RuntimeError: there is no GPU here: kellet computes on the CPU alone; ask cuda.is_available() first
    """
    current_device()


def get_device_capability(device: object = None) -> tuple[int, int]:
    """Raise RuntimeError: there is no GPU to ask.

    >>> kellet.cuda.get_device_capability()
    Traceback (most recent call last):
    RuntimeError: there is no GPU here: kellet computes on the CPU alone; ask cuda.is_available() first
    """
    return current_device(), 0
