"""NVIDIA's library of layers, which is not used: its switches can be set, and nothing reads them."""

__all__ = ["is_available"]

benchmark = False
deterministic = False
enabled = True
allow_tf32 = True


def is_available() -> bool:
    """Return False: the library is not used.

    >>> kellet.backends.cudnn.is_available()
    False
    """
    return False
