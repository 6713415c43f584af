"""Arrays, tensors and networks that globals hold: what their numbers are, by looking and never by asking.

Only the exact types of NumPy, PyTorch and kellet are looked into. Nothing is imported for it: where a library
is not loaded, no value is one of its types.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator
from typing import Any, Final

from packager.names import demangle

TABLES_OF_MODULES: Final = ("_parameters", "_buffers", "_modules")
_NETWORKS: Final = (
    ("torch.nn.modules.module", "Module"),
    ("kellet.nn.module", "Module"),
)
_MOST_BYTES: Final = 64 * 2**20


def digest_of(value: Any) -> str:
    """Return what stands for the type, shape and numbers of an array or a tensor; "" for everything else.

    It is "" for what is large, too, and for what lies on an accelerator or is no plain array in memory.

    >>> import numpy
    >>> digest_of(numpy.zeros(2)) == digest_of(numpy.zeros(2)), digest_of([0.0, 0.0])
    (True, '')
    """
    array = _array_of(value)
    if array is None or array.dtype.hasobject or array.nbytes > _MOST_BYTES:
        return ""
    head = f"{demangle(type(value).__module__)} {value.dtype} {tuple(value.shape)} "
    return hashlib.sha256(head.encode() + array.tobytes()).hexdigest()


def is_of_modules(value: Any) -> bool:
    """Say whether a value is a network of PyTorch or kellet."""
    for name, cls in _NETWORKS:
        found = getattr(sys.modules.get(name), cls, None)
        if isinstance(found, type) and found in type.__dict__["__mro__"].__get__(type(value)):
            return True
    return False


def parts_of_module(module: Any) -> Iterator[tuple[str, Any]]:
    """Yield the parameters, the buffers and the networks in a network, by their names in it."""
    for table in TABLES_OF_MODULES:
        found = vars(module).get(table)
        if isinstance(found, dict):
            yield from [(str(name), one) for name, one in list(found.items())]


def _array_of(value: Any) -> Any:
    """Return the array that a value is, or that shares its memory; None where it is none."""
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return None
    cls = type(value)
    if cls is getattr(numpy, "ndarray", None):
        return value
    torch = sys.modules.get("torch")
    if torch is not None and cls in (getattr(torch, "Tensor", None), torch.nn.Parameter):
        return _array_of_torch(value, torch)
    kellet = sys.modules.get("kellet")
    if kellet is not None and cls in (getattr(kellet, "Tensor", None), _parameter_of_kellet()):
        return value.detach().numpy()
    return None


def _array_of_torch(tensor: Any, torch: Any) -> Any:
    """Return the bytes of a dense tensor in memory as an array, with its shape; None for other tensors."""
    with torch.no_grad():
        plain = tensor.detach()
        if plain.device.type != "cpu" or plain.layout is not torch.strided or plain.is_quantized:
            return None
        flat = plain.resolve_conj().resolve_neg().contiguous()
        if not flat.numel():
            return None
        return flat.reshape(-1).view(torch.uint8).numpy()


def _parameter_of_kellet() -> Any:
    return getattr(sys.modules.get("kellet.nn"), "Parameter", None)
