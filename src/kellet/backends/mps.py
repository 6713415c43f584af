"""Apple's GPUs, which are not computed on."""

__all__ = ["is_available", "is_built"]


def is_available() -> bool:
    """Return False: there is no such GPU to compute on.

    >>> kellet.backends.mps.is_available()
    False
    """
    return False


def is_built() -> bool:
    """Return False: there is no code for such GPUs.

    >>> kellet.backends.mps.is_built()
    False
    """
    return False
