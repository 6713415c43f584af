"""`save` and `load`: a file is written whole or not at all, and loading runs nothing that the file says."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

from ..autograd.bridge import wrap
from ..core.device import DeviceLike, check_device
from .description import Describing, restore
from .tensor_file import read, write
from .whole_file import whole_file

File: TypeAlias = "str | os.PathLike[str] | BinaryIO"
MapLocation: TypeAlias = "DeviceLike | dict[Any, Any] | Callable[..., Any]"

KEY = "kellet"
"""The text under `__metadata__` that describes what was saved."""


def save(obj: object, f: File) -> None:
    """Write tensors, arrays, numbers, texts and containers of them to `f`, a path or an open binary file.

    The file has the layout of safetensors: every program that reads it finds the tensors, by names like
    "model.layer.weight". `kellet.load` gives all back as it was: dicts, lists, tuples, sets, state dicts,
    parameters; tensors that share all of their memory share it again. A path is replaced when all is written;
    a symbolic link stays, and the file that it leads to is replaced.

    Raises TypeError for an object of another kind, and says where; ValueError for a container that holds
    itself; OSError for a path that cannot be written to, as a device, FIFO, socket or folder. A whole module
    is packed with `packager`.

    Source: torch.save, which pickles.

    >>> import io
    >>> file = io.BytesIO()
    >>> kellet.save({"w": kellet.ones(2), "epoch": 3}, file)
    >>> _ = file.seek(0)
    >>> kellet.load(file)
    {'w': tensor([1., 1.]), 'epoch': 3}
    """
    describing = Describing()
    texts = {KEY: json.dumps(describing.describe(obj, ""))}
    if not isinstance(f, str | os.PathLike):
        write(f, describing.arrays, texts)
        return
    with whole_file(f) as file:
        write(file, describing.arrays, texts)


def load(
    f: File, map_location: MapLocation = None, *, weights_only: bool = True, mmap: bool | None = None
) -> Any:
    """Return the objects saved in `f`, a path or an open file; of another safetensors file, its tensors.

    No code of the file runs; `weights_only` and `mmap` are accepted and ignored. `map_location` may only be
    the CPU.

    Raises FileFormatError for a damaged file or another format; ValueError for another device;
    FileNotFoundError for a missing file and for a URL.

    Source: torch.load, which unpickles.

    >>> import io
    >>> file = io.BytesIO()
    >>> kellet.save([kellet.zeros(1), (1, "a")], file)
    >>> kellet.load(io.BytesIO(file.getvalue()))
    [tensor([0.]), (1, 'a')]
    """
    if not callable(map_location) and not isinstance(map_location, dict):
        check_device(map_location)
    if isinstance(f, str | os.PathLike):
        if _is_address(os.fspath(f)):
            raise FileNotFoundError(f"load: {f}: addresses are not opened yet; fetch the file, give its path")
        data = bytearray(Path(f).read_bytes())
    else:
        data = bytearray(f.read())
    arrays, texts = read(data)
    if KEY not in texts:
        return {name: wrap(array) for name, array in arrays.items()}
    return restore(texts[KEY], arrays)


def _is_address(path: str) -> bool:
    """Say whether a path is an address ("https://..."), unless a folder has the name of its scheme."""
    scheme, found, _ = path.partition(":/")  # a Path has made one slash of two, and "C:/" is a drive
    return bool(found) and len(scheme) > 1 and scheme.isalnum() and not os.path.exists(f"{scheme}:")
