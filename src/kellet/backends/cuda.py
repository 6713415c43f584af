"""NVIDIA's GPUs, which are not computed on."""

__all__ = ["is_built"]


def is_built() -> bool:
    """Return False: kellet has no code for such GPUs.

    >>> kellet.backends.cuda.is_built()
    False
    """
    return False
