"""Weights from a file into a module, before it is exported: `.npz`, `.safetensors`, files of torch.save.

Nothing of a file is executed, and PyTorch is not needed to read one of its own.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from packager.errors import PackageError

from .calls import load_arrays

__all__ = ["WeightsError", "load_weights"]

_TORCH_SUFFIXES = (".pt", ".pth", ".bin")


class WeightsError(PackageError, ValueError):
    """A file that holds no weights, or an object that takes none."""


def load_weights(module: Any, path: str | os.PathLike[str]) -> None:
    """Load the state dict in a file into `module`, strictly, by its own `load_state_dict`.

    Raises WeightsError for other kinds of files and objects, and what `load_state_dict` raises for
    keys and shapes that do not fit.
    """
    if not callable(getattr(module, "load_state_dict", None)):
        raise WeightsError(f"{type(module).__name__} takes no weights: it has no load_state_dict()")
    library = _library_of(module)
    suffix = Path(path).suffix
    if suffix == ".npz":
        state = _from_arrays(load_arrays(os.fspath(path)), library)
    elif suffix == ".safetensors":
        state = _from_safetensors(Path(path), library)
    elif suffix in _TORCH_SUFFIXES:
        state = _from_arrays(_torch_arrays(path), library)
    else:
        known = ", ".join((".npz", ".safetensors", *_TORCH_SUFFIXES))
        raise WeightsError(f"{os.fspath(path)}: expected one of {known}; convert it first")
    module.load_state_dict(state)


def _library_of(module: Any) -> str:
    tops = {cls.__module__.partition(".")[0] for cls in type(module).__mro__}
    return next((library for library in ("torch", "kedge") if library in tops), "numpy")


def _from_arrays(arrays: Mapping[str, Any], library: str) -> dict[str, Any]:
    if library == "torch":
        import torch

        return {key: torch.as_tensor(array) for key, array in arrays.items()}
    if library == "kedge":
        import kedge

        return {key: kedge.tensor(array) for key, array in arrays.items()}
    return dict(arrays)


def _torch_arrays(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The state dict in a file of torch.save. Raises LegacyFormatError where it is more than data."""
    from packager.migrations.legacy import LegacyTensor, array_of, read_torch_file

    found = read_torch_file(path)
    tensors = isinstance(found, Mapping) and all(isinstance(value, LegacyTensor) for value in found.values())
    if not tensors:
        held = ", ".join(map(str, found)) if isinstance(found, Mapping) else type(found).__name__
        raise WeightsError(f"{os.fspath(path)}: expected a state dict, found {held[:200]}; convert it first")
    return {str(key): array_of(value).copy() for key, value in found.items()}


def _from_safetensors(path: Path, library: str) -> dict[str, Any]:
    from packager.archive.safetensors import parse_header
    from packager.codecs.base import StoredTensor
    from packager.codecs.tensors import tensor_in
    from packager.objects.storages import contiguous

    # Writable memory: modules may take the tensors as they are.
    data = memoryview(bytearray(path.read_bytes()))
    header = parse_header(data, len(data), what=path.name)
    state = {}
    for key, tensor in header.tensors.items():
        content = data[header.data_start + tensor.start : header.data_start + tensor.stop]
        stored = StoredTensor(tensor.dtype, tensor.shape, contiguous(tensor.shape), 0, content)
        state[key] = tensor_in(stored, None, library)
    return state
