"""Apple's GPUs, which are not computed on."""

__all__ = ["is_available", "is_built"]


def is_available() -> bool:
    """Return False: kellet computes on the CPU only.

    >>> kellet.backends.mps.is_available()
    False
    """
    return False


def is_built() -> bool:
    """Return False: kellet has no code for such GPUs.

    >>> kellet.backends.mps.is_built()
    False
    """
    return False
